"""What commands print: tables and JSON on standard output."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from mancala_env.errors import printable
from mancala_env.position import Turn

PIP = 'pip install "mancala-env[arena]"'
# A pipe has no width of its own; nothing is cut off at this one.
PIPE_WIDTH = 200


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
    head: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None, **looks: Any
) -> None:
    """Print a table; a column whose cells are numbers is aligned to the right."""
    screen = console()
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE, **looks)
    for i, name in enumerate(head):
        numeric = all(row[i][:1] in "+-−0123456789" for row in rows if row[i])
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    screen.print(table)


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
