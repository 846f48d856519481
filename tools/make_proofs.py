"""Make, check and list the proof files of proofs/: ``python -m tools.make_proofs``.

Without arguments, every file is checked with the three checkers, and the tables of proofs/README.md and
proofs/fair_openings/README.md are written again. With ``--new``, files that a table has already are skipped.
With names of rulesets, the proofs of their starts are made first; with ``--actions`` instead those after each
first turn, and with ``--fair`` those of fair openings, without the files that are there.
"""

import hashlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from mancala_env.cli.prove import write_proof
from mancala_env.errors import MancalaError
from mancala_env.evaluation import fair_openings
from mancala_env.games.notation import turn_text
from mancala_env.games.position import Position
from mancala_env.games.speed import machine
from mancala_env.solver.certificate import Proof, verify
from mancala_env.solver.certificate_search import ProofPlan
from mancala_env.solver.exact import Solver

FOLDER = Path(__file__).resolve().parents[1] / "proofs"
FIRST_TURNS, FAIR = "first_turns", "fair_openings"
_HEAD = """\
# Proofs of exact values

Each file here proves the exact value of a round, or of the position after a first turn.
[Another folder](fair_openings/README.md) has the proofs of fair openings.
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

`mancala prove NAME` makes a file, most of them in less than a minute. `gabata_i` with
`--memory_mb 8192 --num_threads 2` takes 20 minutes. The files here are from an earlier search for small
proofs, so the command makes others now.
`make proofs` checks all files with all checkers and writes this page.
The times are processor seconds of one run on {machine}. A check that takes much longer is stopped.

"""
_FAIR_HEAD = """\
# Proofs of fair openings

Each file here proves how best play from a [fair opening][1] ends. `NAME-S6-N1.proof` is about the position of
the ruleset NAME after South's turn from hole 6 and North's from hole 1.

```bash
cc -std=c99 -O2 -o check ../check.c && ./check leyla-S1-N5.proof
python ../check.py leyla-S1-N5.proof
mancala verify leyla-S1-N5.proof
```

[1]: ../../docs/explanation/openings.md#fair-openings

## Files

The value is the margin for the player to move, without seeds in stores. So with a value of +3 a round ends
even if the opponent leads by 3 seeds in stores. [The table of starts](../README.md#files) explains the other
columns.
`mancala prove POSITION` makes a file. Those of `ludii_leyla_gobale_gabradarre` are large. With `--effort 4`
the command makes smaller ones. Large ones of `gabata_i` have a larger leaf, which makes them smaller.
To check one of these takes up to 12 minutes, and up to two gigabytes of memory.
`make proofs` checks all files with all checkers and writes this page.
The times are processor seconds of one run on {machine}. A check that takes much longer is stopped.

"""
_HEADS = {FOLDER / "README.md": _HEAD, FOLDER / FAIR / "README.md": _FAIR_HEAD}


def checked(file: Path, checker: Path, most_seconds: int) -> str:
    """Check a file with every checker, and return its line of the table.

    Raises:
        MancalaError: A checker rejects the file.
    """
    proof = Proof.read(file)
    started = time.process_time()
    found = verify(proof)
    own = f"{time.process_time() - started:.2f}"
    programs = [str(checker)], [sys.executable, str(FOLDER / "check.py")]
    seconds = [_run([*program, str(file)], most_seconds) for program in programs]
    lower, upper = found.bounds
    value = f"{lower:+d}" if lower == upper else f"{lower:+d} to {upper:+d}"
    cells = [value, f"{proof.claims[0].leaf}", f"{found.positions:,}", f"{file.stat().st_size:,}"]
    return f"| `{_name(file)}` | {' | '.join([*cells, *seconds, own])} |"


def _page_of(file: Path) -> Path:
    """Return the page that lists a file."""
    return (file.parent if file.parent.name == FAIR else FOLDER) / "README.md"


def _name(file: Path) -> str:
    """Return the name of a file on its page."""
    return file.relative_to(_page_of(file).parent).as_posix()


def _sum_of(file: Path) -> str:
    """Return the line of a file's SHA-256."""
    return f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {_name(file)}\n"


def kept(files: Sequence[Path]) -> dict[Path, str]:
    """Return the lines that the tables have for files that have not changed since."""
    lines = {}
    for file in files:
        text = _page_of(file).read_text(encoding="utf-8")
        row = re.search(rf"^\| `{re.escape(_name(file))}` \| [+-].*$", text, re.MULTILINE)
        if row and _sum_of(file) in text:
            lines[file] = row[0]
    return lines


def page(name: Path, lines: Mapping[Path, str]) -> str:
    """Return a page with the lines of its files."""
    lines = {file: line for file, line in lines.items() if _page_of(file) == name}
    head = "| file | value | leaf | positions | bytes | C s | Python s | package s |"
    table = "\n".join([head, "|---|---:|---:|---:|---:|---:|---:|---:|", *lines.values()])
    sums = "".join(map(_sum_of, lines))
    return f"{_HEADS[name].format(machine=machine())}{table}\n\nSHA-256:\n\n```text\n{sums}```\n"


def _run(command: list[str], most_seconds: int) -> str:
    """Run a checker and return its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    limits = most_seconds, most_seconds + 1
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limits),
    )
    if done.returncode == -signal.SIGXCPU:
        return f"> {most_seconds}"
    if done.returncode:
        raise MancalaError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return f"{after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.2f}"


def _build(folder: str) -> Path:
    """Compile the checker in C."""
    program = Path(folder) / "check"
    subprocess.run(["cc", "-std=c99", "-O2", "-o", str(program), str(FOLDER / "check.c")], check=True)
    return program


def file_of(name: str, turns: Sequence[int], kind: str = "") -> tuple[Path, Position]:
    """Return the proof file of the position after some turns of a ruleset, and the position."""
    position, words = Position(name), [name]
    for action in turns:
        words.append(turn_text(position.player, action))
        position.play(action)
    return FOLDER / kind / f"{'-'.join(words)}.proof", position


def _make(name: str, plan: ProofPlan, memory_mb: float, kind: str, is_shared: bool) -> None:
    """Make the proofs of a ruleset of a kind, if `is_shared` with one solver for all of them."""
    todo: list[tuple[int, ...]] = [()]
    if kind == FIRST_TURNS:
        todo = [(action,) for action in Position(name).legal_actions]
    elif kind == FAIR:  # a start that is fair has its proof in the folder above
        todo = [opening.turns for opening in fair_openings(name) if opening.turns]
    search: dict[str, Any] = {"memory_mb": memory_mb}
    if is_shared:
        search = {"solver": Solver(name, memory_mb=memory_mb, use_book=False)}
    for turns in todo:
        file, position = file_of(name, turns, kind)
        if position.is_over or (kind and file.exists()):
            continue
        file.parent.mkdir(exist_ok=True)
        proof = write_proof(position, plan, file, **search)
        print(f"{file}: value {proof.bounds[0]:+d}, {file.stat().st_size:,} bytes", flush=True)


@in_one_line("make_proofs")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return the exit status."""
    parser = Parser(prog="python -m tools.make_proofs", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rulesets", nargs="*", help="rulesets whose proofs to make first")
    parser.add_argument("--actions", action="store_true", help="make missing proofs after each first turn")
    parser.add_argument("--fair", action="store_true", help="make missing proofs of fair openings")
    for option, default in {"leaf": 8, "cap": 255, "seeds": 1, "effort": 2, "memory_mb": 1024}.items():
        parser.add_argument(f"--{option}", type=int, default=default, help="as of mancala prove")
    shared = "use one solver for all proofs of a ruleset, which saves searches"
    parser.add_argument("--shared", action="store_true", help=shared)
    parser.add_argument("--new", action="store_true", help="skip the files that the table has already")
    parser.add_argument(
        "--most_seconds", type=int, default=1800, help="most processor seconds of a checker in C or Python"
    )
    given = parser.parse_args(arguments)
    plan = ProofPlan(given.leaf, given.cap, given.seeds, given.effort)
    for name in given.rulesets:
        kind = FIRST_TURNS if given.actions else FAIR if given.fair else ""
        _make(name, plan, given.memory_mb, kind, given.shared)
    kinds = FOLDER, FOLDER / FIRST_TURNS, FOLDER / FAIR
    files = [file for kind in kinds for file in sorted(kind.glob("*.proof"))]
    lines = kept(files)
    with tempfile.TemporaryDirectory() as folder:
        checker = _build(folder)
        for file in files:
            if file not in lines or not given.new:
                lines[file] = checked(file, checker, given.most_seconds)
                print(lines[file], flush=True)
                listed = {each: lines[each] for each in files if each in lines}
                write_whole(_page_of(file), page(_page_of(file), listed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
