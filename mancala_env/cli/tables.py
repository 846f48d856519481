"""Tables, JSON, CSV and descriptions of turns, as commands print them to standard output."""

import io
import itertools
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from mancala_env._util.command_line import check_out
from mancala_env._util.files import write_whole
from mancala_env.errors import InvalidArgument, printable
from mancala_env.games.position import Turn

# Assumed width of a pipe or file; tables fit into it.
PIPE_WIDTH = 200
# Space between two table columns, and the minimum width of a column of names, in characters.
_BETWEEN, _NAME = 2, 10


def print_json(value: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(value, indent=2, allow_nan=False))


def check_outputs(options: Any) -> None:
    """Raise a MancalaError before the work if the file of `--csv` or `--report` cannot be written.

    The files of the options must differ: a table would replace stored games.
    """
    named: dict[Path, str] = {}
    for name in ("results", "records", "report", "csv"):
        given = getattr(options, name, None)
        if given not in (None, "-") and (other := named.setdefault(Path(given).resolve(), name)) != name:
            raise InvalidArgument(f"--{other} and --{name} must be two files, not both {str(given)!r}")
    report, csv = (getattr(options, name, None) for name in ("report", "csv"))
    if report is not None:
        from mancala_env.evaluation.report import check_report_path

        check_report_path(report)
    if csv == "-" and options.json:
        raise InvalidArgument("--csv - and --json both print to standard output: name a file, --csv FILE")
    if csv is not None and csv != "-":
        check_out(Path(csv), option="--csv")


def keep_from_csv(path: Path, options: Any) -> None:
    """Raise InvalidArgument if the file of `--csv` would replace a file that the command reads."""
    if options.csv not in (None, "-") and Path(options.csv).resolve() == path.resolve():
        raise InvalidArgument(f"--csv must not replace the file that the table is made from, {options.csv!r}")


def prints_tables(options: Any) -> bool:
    """Return whether a command prints text: neither `--json` nor `--csv -`."""
    return not options.json and options.csv != "-"


def put_result(
    result: Any,
    options: Any,
    show: Callable[[], Any],
    *,
    as_json: Any = None,
    write_report: Callable[[Any, str], Any] | None = None,
) -> None:
    """Print the result of a command, and write the files of `--csv` and `--report`.

    `show` prints the result as text. `as_json` is plain data for `--json`; None for ``result.as_dict()``.
    `write_report` writes the result to a report file.
    """
    if options.json:
        print_json(result.as_dict() if as_json is None else as_json)
    elif prints_tables(options):
        show()
    if options.csv == "-":
        result.write_csv(sys.stdout)
    elif options.csv is not None:
        text = io.StringIO()
        result.write_csv(text)
        write_whole(options.csv, text.getvalue())
        if prints_tables(options):
            print(f"table: {options.csv}")
    if write_report is not None and options.report is not None:  # last, because writing can fail
        write_report(result, options.report)
        if prints_tables(options):
            print(f"report: {options.report}")


def width() -> int:
    """Return the width of standard output in characters."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def print_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str | None = None,
    narrow: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
    show_header: bool = True,
) -> bool:
    """Print a table; columns of numbers are aligned to the right.

    If the table is wider than the terminal, `narrow` is printed, which has the head and rows of another
    table. If that is also too wide, or is not given, names are wrapped, but not numbers. Return whether the
    narrow table was printed.
    """
    is_narrow = narrow is not None and sum(_widths(head, rows)) > width()
    head, rows = narrow if narrow is not None and is_narrow else (head, rows)
    cells = [[printable(cell) for cell in row] for row in rows]
    numeric = [all(row[i][:1] in "+-−0123456789" for row in cells if row[i]) for i in range(len(head))]
    widths = _fitting([wide - _BETWEEN for wide in _widths(head, cells)], numeric)
    print("" if title is None else f"{printable(title)}\n")
    if show_header:
        _print_row([name.split("\n") for name in head], widths, numeric)
        print(" " + "─" * (sum(widths) + _BETWEEN * (len(widths) - 1)))
    for row in cells:
        # Words wider than the column are split.
        wrapped = (textwrap.wrap(cell, max(n, 1), break_on_hyphens=False) for cell, n in zip(row, widths))
        _print_row([lines or [""] for lines in wrapped], widths, numeric)
    print()
    return is_narrow


def _widths(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column, with the space between two columns."""
    lines = [[*name.split("\n"), *(row[i] for row in rows)] for i, name in enumerate(head)]
    return [_BETWEEN + max(map(len, column)) for column in lines]


def _fitting(widths: list[int], numeric: Sequence[bool]) -> list[int]:
    """Narrow the widest columns of names until the table fits the terminal or all are at their minimum."""
    widths = list(widths)
    while sum(widths) + _BETWEEN * len(widths) > width():
        names = [i for i, of_numbers in enumerate(numeric) if not of_numbers and widths[i] > _NAME]
        if not names:
            break
        widths[max(names, key=widths.__getitem__)] -= 1
    return widths


def _print_row(cells: list[list[str]], widths: list[int], numeric: Sequence[bool]) -> None:
    """Print a row; each cell is a list of lines."""
    for line in itertools.zip_longest(*cells, fillvalue=""):
        padded = [f"{text:{'>' if right else '<'}{wide}}" for text, wide, right in zip(line, widths, numeric)]
        print(f" {(' ' * _BETWEEN).join(padded)}".rstrip())


def print_notes(notes: Iterable[str]) -> None:
    """Print a paragraph for each note, which fits the terminal."""
    for note in notes:
        lines = [f"note: {note}"]
        if width() < PIPE_WIDTH:
            lines = textwrap.wrap(lines[0], width() - 2, break_long_words=False, break_on_hyphens=False)
        print("\n  ".join(lines))


def describe_turn(turn: Turn) -> str:
    """Describe the effect of a turn: laps, captured seeds, newly owned holes."""
    if turn.endless:
        return "an endless relay; every seed goes back"
    parts = [f"{turn.laps} lap{'s' * (turn.laps != 1)}"]
    if turn.captured:
        parts.append(f"captures {turn.captured}")
    if turn.new_owned:
        parts.append(f"takes {len(turn.new_owned)} hole{'s' * (len(turn.new_owned) != 1)}")
    return ", ".join(parts)
