"""What commands print: tables and JSON on standard output."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from mancala_env.errors import printable
from mancala_env.games.position import Turn

PIP = 'pip install "mancala-env[arena]"'
# A pipe has no width of its own; nothing is cut off at this one.
PIPE_WIDTH = 200
# Columns between two of a table, and of the least that is left for a name.
_BETWEEN, _NAME = 2, 10


def print_json(value: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(value, indent=2, allow_nan=False))


def console(stderr: bool = False) -> Any:
    """Return a rich Console on standard output or error.

    Raises:
        ImportError: rich is missing.
    """
    try:
        from rich.console import Console
    except ImportError as error:
        raise ImportError(f"tables need rich: {PIP}") from error
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else PIPE_WIDTH)


def print_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str | None = None,
    narrow: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
    **looks: Any,
) -> bool:
    """Print a table; a column whose cells are numbers is aligned to the right.

    Args:
        head: What the columns are called.
        rows: The cells.
        title: What stands above it.
        narrow: Head and rows to print instead where it is wider than the terminal.
        looks: What rich's Table takes.

    Returns:
        Whether it was the narrow one.
    """
    screen = console()
    is_narrow = narrow is not None and sum(_widths(head, rows)) > screen.width
    if narrow is not None and is_narrow:
        head, rows = narrow
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = _widths(head, rows)
    numeric = [all(row[i][:1] in "+-−0123456789" for row in rows if row[i]) for i in range(len(head))]
    least = sum(width if of_numbers else _NAME for width, of_numbers in zip(widths, numeric, strict=True))
    table = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False, **looks)
    for name, of_numbers in zip(head, numeric, strict=True):
        table.add_column(
            name,
            justify="right" if of_numbers else "left",
            no_wrap=of_numbers and least <= screen.width,  # names give way
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    if title is not None:  # one of rich's would be no wider than the table
        screen.print(Text(printable(title), "table.title"))
    screen.print(table)
    return is_narrow


def _widths(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return how wide the columns of a table are, with the space between them."""
    lines = [[*name.split("\n"), *(row[i] for row in rows)] for i, name in enumerate(head)]
    return [_BETWEEN + max(map(len, column)) for column in lines]


def said_of(turn: Turn) -> str:
    """Say what a turn did: laps, capture, holes taken."""
    if turn.endless:
        return "an endless relay; every seed goes back"
    parts = [f"{turn.laps} lap{'s' * (turn.laps != 1)}"]
    if turn.captured:
        parts.append(f"captures {turn.captured}")
    if turn.new_owned:
        parts.append(f"takes {len(turn.new_owned)} hole{'s' * (len(turn.new_owned) != 1)}")
    return ", ".join(parts)
