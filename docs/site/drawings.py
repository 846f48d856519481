"""Pictures of positions and turns for the generated pages."""

import html
from collections.abc import Sequence

from mancala_env import Position
from mancala_env.games.records import dials_of
from mancala_env.rulesets import names

APP = "app"
"""The folder of the site with the page that plays and studies."""


def board(
    position: Position, caption: str = "", values: dict[int, int] | None = None, to_root: str = "../"
) -> str:
    """Return a drawn position as a figure of a Markdown page, which opens it for study.

    Args:
        position: The position.
        caption: A line under the board.
        values: The exact value of each action, written beside its hole.
        to_root: From the page to the root of the site.
    """
    return _figure(position.to_svg(values=values), caption, app_link(position, "study", to_root))


def turn(position: Position, action: int, caption: str = "", to_root: str = "../") -> str:
    """Return a turn as a figure of a Markdown page: seed by seed, lap by lap."""
    return _figure(position.to_svg(action=action), caption, app_link(position, "study", to_root))


def play_button(position: Position, to_root: str = "../") -> str:
    """Return a link that begins a game from a position."""
    return (
        f'<p><a class="play" href="{app_link(position, "play", to_root)}">Play this in your browser</a></p>\n'
    )


def app_link(position: Position, view: str, to_root: str) -> str:
    """Return the address of a position on the page that plays and studies."""
    ruleset = position.ruleset
    own_dials = [] if ruleset.name in names() else dials_of(ruleset)
    place = ";".join((position.to_text().replace(" ", "+"), *own_dials))
    return html.escape(f"{to_root}{APP}/index.html#{view}/{place}")


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
