"""Make, check and list the proof files of proofs/: ``python -m tools.make_proofs``.

Without arguments, every file is checked with the three checkers, and the table of proofs/README.md is written
again. With names of rulesets, their proofs are made first; ``--actions`` makes those after each first turn.
"""

import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from mancala_env.cli import main as mancala
from mancala_env.errors import MancalaError
from mancala_env.games.speed import machine
from mancala_env.solver.certificate import Proof, verify

FOLDER = Path(__file__).resolve().parents[1] / "proofs"
PAGE, FIRST_TURNS = FOLDER / "README.md", "first_turns"
_HEAD = """\
# Proofs of exact values

Each file here proves the exact value of a round, or of the position after a first turn.
[The format](../docs/reference/proofs.md) says what a file contains and why it proves its value.
Check them yourself:

```bash
cc -std=c99 -O2 -o check check.c && ./check leyla.proof
python check.py leyla.proof
mancala verify leyla.proof
```

| file | content |
|---|---|
| `NAME.proof` | the start of round 1 of a ruleset |
| `first_turns/NAME-S1.proof` | the position after South's turn from hole 1 |
| `check.c`, `check.py` | two checkers that share no code with the package or each other |

## Files

The value is the margin for the player to move, without seeds in stores. *Positions* are those that the proof
visits, without positions of at most *leaf* free seeds. The checkers search these themselves.

`mancala prove NAME` makes a file. `make proofs` checks all files with all checkers and writes this page.
The times are processor seconds of one run on {machine}.

"""


class Row(NamedTuple):
    """One line of the table."""

    file: str
    value: str
    leaf: int
    positions: int
    size: int
    seconds: tuple[float, ...]
    sha256: str


def checked(file: Path, checker: Path) -> Row:
    """Check a file with every checker; raise a MancalaError if one rejects it."""
    proof = Proof.read(file)
    started = time.process_time()
    found = verify(proof)
    own = time.process_time() - started
    lower, upper = found.bounds
    seconds = [
        _run([str(checker), str(file)]),
        _run([sys.executable, str(FOLDER / "check.py"), str(file)]),
        own,
    ]
    return Row(
        file.relative_to(FOLDER).as_posix(),
        f"{lower:+d}" if lower == upper else f"{lower:+d} to {upper:+d}",
        proof.claims[0].leaf,
        found.positions,
        file.stat().st_size,
        tuple(seconds),
        hashlib.sha256(file.read_bytes()).hexdigest(),
    )


def page(rows: Sequence[Row]) -> str:
    """Return the page of the files."""
    lines = [
        "| file | value | leaf | positions | bytes | C s | Python s | package s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| `{row.file}` | {row.value} | {row.leaf} | {row.positions:,} | {row.size:,} | "
        + " | ".join(f"{each:.2f}" for each in row.seconds)
        + " |"
        for row in rows
    ]
    sums = "".join(f"{row.sha256}  {row.file}\n" for row in rows)
    return _HEAD.format(machine=machine()) + "\n".join(lines) + f"\n\nSHA-256:\n\n```text\n{sums}```\n"


def _run(command: list[str]) -> float:
    """Run a checker and return its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise MancalaError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _build(folder: str) -> Path:
    """Compile the checker in C."""
    program = Path(folder) / "check"
    subprocess.run(["cc", "-std=c99", "-O2", "-o", str(program), str(FOLDER / "check.c")], check=True)
    return program


def _make(name: str, options: list[str], is_actions: bool) -> None:
    file = FOLDER / FIRST_TURNS / f"{name}.proof" if is_actions else FOLDER / f"{name}.proof"
    file.parent.mkdir(exist_ok=True)
    if mancala(["prove", name, "--out", str(file), *options, *["--actions"] * is_actions]):
        raise MancalaError(f"no proof of {name}")


@in_one_line("make_proofs")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return the exit status."""
    parser = Parser(prog="python -m tools.make_proofs", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rulesets", nargs="*", help="rulesets whose proofs to make first")
    parser.add_argument("--actions", action="store_true", help="make the proofs after each first turn")
    parser.add_argument("--leaf", default="8", help="as of mancala prove")
    parser.add_argument("--cap", default="255", help="as of mancala prove")
    parser.add_argument("--seeds", default="1", help="as of mancala prove")
    parser.add_argument("--memory_mb", default="1024", help="as of mancala prove")
    given = parser.parse_args(arguments)
    options = [w for key in ("leaf", "cap", "seeds", "memory_mb") for w in (f"--{key}", getattr(given, key))]
    for name in given.rulesets:
        _make(name, options, given.actions)
    with tempfile.TemporaryDirectory() as folder:
        checker = _build(folder)
        files = [*sorted(FOLDER.glob("*.proof")), *sorted((FOLDER / FIRST_TURNS).glob("*.proof"))]
        rows = []
        for file in files:
            rows.append(checked(file, checker))
            print(rows[-1].file, rows[-1].value, f"{sum(rows[-1].seconds):.1f} s", flush=True)
    write_whole(PAGE, page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
