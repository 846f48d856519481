"""Pictures of positions and turns for the generated pages."""

import html
from collections.abc import Sequence

from pages import SITE

from mancala_env import Position
from mancala_env.web.address import page_address

APP = "app"
"""The folder of the site with the page that plays and studies."""


def turn(position: Position, action: int, caption: str, to_root: str) -> str:
    """Return a turn as a figure of a Markdown page: seed by seed, lap by lap."""
    return _figure(position.to_svg(action=action), caption, app_link(position, "study", to_root))


def site_link(position: Position, view: str) -> str:
    """Return the address of a position on the published page, for a file that is read in the repository."""
    return app_link(position, view, f"{SITE}/")


def app_link(position: Position, view: str, to_root: str) -> str:
    """Return the address of a position on the page that plays and studies."""
    return html.escape(f"{to_root}{APP}/index.html{page_address(position, view)}")


def study_line(positions: Sequence[Position], to_root: str) -> str:
    """Return a line of links that open positions for study, in the order in which a page shows them."""
    which = ("it",) if len(positions) == 1 else tuple(f"board {n + 1}" for n in range(len(positions)))
    links = (
        f'<a href="{app_link(position, "study", to_root)}">Study {name}</a>'
        for name, position in zip(which, positions, strict=True)
    )
    return f'<p class="study">{" · ".join(links)}</p>\n'


def _figure(drawing: str, caption: str, link: str) -> str:
    """Return a drawing with its caption, as HTML for a Markdown page."""
    under = f'{html.escape(caption)} <a href="{link}">Study it</a>'
    return f'<figure class="board">\n{drawing}\n<figcaption>{under}</figcaption>\n</figure>\n'
