"""Pictures of positions and turns for the generated pages."""

import html

from mancala_env import Position


def board(position: Position, caption: str = "", values: dict[int, int] | None = None) -> str:
    """Return a drawn position as a figure of a Markdown page.

    Args:
        position: The position.
        caption: A line under the board.
        values: The exact value of each action, written beside its hole.
    """
    return figure(position.to_svg(values=values), caption)


def turn(position: Position, action: int, caption: str = "") -> str:
    """Return a turn as a figure of a Markdown page: seed by seed, lap by lap."""
    return figure(position.to_svg(action=action), caption)


def figure(drawing: str, caption: str) -> str:
    """Return a drawing with its caption, as HTML that stands in a Markdown page."""
    under = f"\n<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f'<figure class="board">\n{drawing}{under}\n</figure>\n'
