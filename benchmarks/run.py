"""Run every benchmark and print one table.

python benchmarks/run.py [--only engine] [--write benchmarks/results.md] [--history benchmarks/history.csv]

`--write` writes the table to a Markdown file. `--history` adds a row per figure to a CSV file, to compare
figures between commits.
"""

import csv
import importlib
import os
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.timing import Row
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.games.speed import machine

ROOT = Path(__file__).resolve().parent.parent
HISTORY_COLUMNS = ("date", "commit", "machine", "figure", "value", "unit")
MODULES = ("engine", "environments", "search", "network_search", "training", "solve", "browser", "gpu")


def measured_on() -> str:
    """Return a line about the machine, Python and the load."""
    load = os.getloadavg()[0]
    return f"{machine()}, Python {platform.python_version()}, load {load:.1f} before"


def formatted(row: Row) -> str:
    """Format a number with two decimals below 100, and none above."""
    digits = 2 if abs(row.value) < 100 else 0
    return f"{row.value:,.{digits}f}"


def commit() -> str:
    """Return the current commit, with a + if files have changed since."""
    git = ("git", "-C", str(ROOT), "describe", "--always", "--exclude", "*", "--abbrev=10", "--dirty=+")
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def append_history(path: Path, rows: list[Row], where: str, measured: str) -> None:
    """Add a row per figure to a CSV file. A new file gets HISTORY_COLUMNS as its header.

    Args:
        path: The file.
        rows: The figures.
        where: The machine, from `measured_on`.
        measured: The commit, from `commit`.
    """
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(HISTORY_COLUMNS)
        for row in rows:
            writer.writerow((date.today(), measured, where, row.name, f"{row.value:.10g}", row.unit))


@in_one_line("benchmarks/run.py")
def main(words: list[str] | None = None) -> int:
    """Measure, print, and write; returns the exit status."""
    parser = Parser(prog="python benchmarks/run.py", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=MODULES, help="modules to run (default: all)")
    parser.add_argument("--write", type=Path, help="Markdown file to write the table to")
    parser.add_argument("--history", type=Path, help="CSV file to add the figures to")
    arguments = parser.parse_args(words)
    where, measured = measured_on(), commit()
    rows: list[Row] = []
    lines = [f"# {date.today()}: `{' '.join(['python', *sys.argv])}`", "", where, ""]
    lines += ["| what | value | unit |", "|---|---:|---|"]
    print("\n".join(lines), flush=True)
    for name in arguments.only or MODULES:
        for row in importlib.import_module(f"benchmarks.{name}").measure():
            rows.append(Row(*row))
            lines.append(f"| {row[0]} | {formatted(rows[-1])} | {row[2]} |")
            print(lines[-1], flush=True)
    if arguments.write:
        arguments.write.write_text("\n".join(lines) + "\n")
    if arguments.history:
        append_history(arguments.history, rows, where, measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
