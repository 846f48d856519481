"""Run every benchmark and print one table; `--write FILE` also keeps it as Markdown.

python benchmarks/run.py [--only engine] [--write benchmarks/results.md]
"""

import argparse
import importlib
import os
import platform
import sys
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.timing import Row

MODULES = ("engine", "environments", "search", "training", "solve")


def machine() -> str:
    """Say what the numbers were measured on."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = named[0] if named else model
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f} before"


def formatted(row: Row) -> str:
    """Write a number with the digits it deserves."""
    digits = 2 if abs(row.value) < 100 else 0
    return f"{row.value:,.{digits}f}"


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=MODULES, help="modules to run; all by default")
    parser.add_argument("--write", type=Path, help="Markdown file to write the table to")
    arguments = parser.parse_args()
    where = machine()
    lines = [f"# {date.today()}: `{' '.join(['python', *sys.argv])}`", "", where, ""]
    lines += ["| what | value | unit |", "|---|---:|---|"]
    print("\n".join(lines), flush=True)
    for name in arguments.only or MODULES:
        for row in importlib.import_module(f"benchmarks.{name}").measure():
            lines.append(f"| {row[0]} | {formatted(Row(*row))} | {row[2]} |")
            print(lines[-1], flush=True)
    if arguments.write:
        arguments.write.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
