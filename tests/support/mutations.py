"""Mutation testing: change one expression or statement at a time and see whether a test fails.

    python tests/support/mutations.py mancala_env/envs/*.py --number 40 --seed 0 --tests "tests/envs -x -q"

Each mutant runs on a copy of the checkout, at the same path each time, so the working tree never changes and
numba's cache keeps the kernels that a mutant does not change. Results are appended to a file, and an
interrupted run resumes. Docstrings, annotations and messages are not mutated.
"""

import argparse
import ast
import copy
import fnmatch
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = """
Lt LtE GtE, LtE Lt Gt, Gt GtE LtE, GtE Gt Lt, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In NotIn, NotIn In,
And Or, Or And, Add Sub, Sub Add, Mult Add, Div Mult, FloorDiv Mult, Mod FloorDiv, LShift RShift,
RShift LShift, BitAnd BitOr, BitOr BitAnd, BitXor BitOr"""
FLIPS = {row[0]: row[1:] for row in ([getattr(ast, n) for n in r.split()] for r in TABLE.split(","))}
SKIPPED = ("annotation", "returns", "decorator_list", "msg")
COPIES = ("array", "list", "dict", "deepcopy", "copy", "ascontiguousarray")


class Mutant(NamedTuple):
    """A change of a file. Its place is the line and column (in bytes) of its start and its end."""

    file: str
    place: tuple[int, int, int, int]
    before: str
    after: str

    def apply(self, source: str) -> str:
        """Return the mutated source."""
        lines = source.encode().splitlines(keepends=True)
        line, column, end_line, end_column = self.place
        head = b"".join(lines[: line - 1]) + lines[line - 1][:column]
        tail = lines[end_line - 1][end_column:] + b"".join(lines[end_line:])
        return (head + self.after.encode() + tail).decode()


def changes(node: Any) -> Iterator[str]:
    """Yield the replacements of a node."""
    match node:
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                for other in FLIPS[type(operator)]:
                    ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                    yield f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})"
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() | float() as value):
            yield from (f"({value + 1})", f"({value - 1})")
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign():
            for other in FLIPS.get(type(node.op), []):
                new = copy.copy(node)
                new.op = other()
                yield ast.unparse(new) if isinstance(new, ast.stmt) else f"({ast.unparse(new)})"
            yield from ["pass"] if isinstance(node, ast.AugAssign) else []
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield f"({ast.unparse(node.operand)})"
        case ast.Call(func=ast.Attribute(value=owner, attr="copy"), args=[]):
            yield ast.unparse(owner)
        case ast.Call(args=[only], keywords=[]) if ast.unparse(node.func).split(".")[-1] in COPIES:
            yield f"({ast.unparse(only)})"
        case ast.IfExp():
            yield f"({ast.unparse(ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse))})"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]) | ast.Expr(value=ast.Call()):
            yield "pass"
        case ast.Raise() | ast.Break() | ast.Continue():
            yield "pass"
        case ast.Return(value=ast.expr() as value):
            is_truth = isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp)
            yield f"return not ({ast.unparse(value)})" if is_truth else "return None"


def mutants_of(file: str, source: str, kernels: str = "all") -> list[Mutant]:
    """Return all mutants of a file: of "all" functions, or "skip" kernels, or "only" kernels."""
    found: list[Mutant] = []

    def add(node: Any, after: str) -> None:
        place = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        before = ast.get_source_segment(source, node) or ""
        found.extend([Mutant(file, place, before, after)] if after != before else [])

    def visit(node: ast.AST, is_kernel: bool) -> None:
        if isinstance(node, ast.FunctionDef):
            is_kernel = "kernel" in map(ast.unparse, node.decorator_list)
        if kernels == "all" or is_kernel == (kernels == "only"):
            for after in changes(node):
                add(node, after)
            if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Compare | ast.Constant):
                add(node.test, f"not ({ast.unparse(node.test)})")
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.JoinedStr | ast.Raise) or name in SKIPPED:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, is_kernel)

    visit(ast.parse(source), False)
    return found


def copy_checkout() -> Path:
    """Copy all files that git does not ignore to a fixed path."""
    to = Path(tempfile.gettempdir()) / f"mutations-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
    shutil.rmtree(to, ignore_errors=True)
    command = "git ls-files -z --cached --others --exclude-standard"
    names = subprocess.check_output(command.split(), cwd=ROOT, text=True)
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def run_tests(checkout: Path, tests: str, timeout: float | None) -> str:
    """Run pytest in a copy; returns "passed", "failed" or "timeout"."""
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    return run_command(checkout, [*pytest, *shlex.split(tests)], timeout)


def run_command(checkout: Path, command: list[str], timeout: float | None) -> str:
    """Run a command in a copy; returns "passed", "failed" or "timeout"."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    process = subprocess.Popen(command, cwd=checkout, env=environment, **quiet)
    try:
        return "failed" if process.wait(timeout) else "passed"
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # also ends the processes that tests started
        process.wait()


def selected_tests(selections: list[str], file: str) -> str:
    """Return the tests of the first selection whose pattern the file matches."""
    pairs = [one.split("=", 1) if "=" in one else ("*", one) for one in selections]
    return next(tests for pattern, tests in pairs if fnmatch.fnmatch(file, pattern))


def main() -> None:
    """Sample mutants, run the tests on each and print which ones they detect."""
    parser = argparse.ArgumentParser()
    option = parser.add_argument
    option("files", nargs="+", type=Path, help="Python files to mutate.")
    option("--number", type=int, default=40, help="Number of mutants.")
    option("--seed", type=int, default=0, help="Seed of the sample.")
    option("--tests", action="append", required=True, help="Arguments of pytest, or PATTERN=arguments.")
    option("--timeout", type=float, default=300, help="Most seconds of a run.")
    option("--results", type=Path, default=ROOT / "build/mutations.jsonl", help="File of results.")
    option("--kernels", choices=["all", "skip", "only"], default="all", help="Whether to mutate kernels.")
    option("--again", action="store_true", help="Run the recorded survivors of the sample again.")
    option("--unchecked", action="store_true", help="Do not run the tests without a mutation first.")
    given = parser.parse_args()
    sources = {
        str(path.resolve().relative_to(ROOT)): path.read_text(encoding="utf-8") for path in given.files
    }
    every = [one for file, text in sources.items() for one in mutants_of(file, text, given.kernels)]
    sample = random.Random(given.seed).sample(every, min(given.number, len(every)))
    keys = {one: hashlib.sha256(repr((one, sources[one.file])).encode()).hexdigest()[:16] for one in sample}
    rows = given.results.read_text(encoding="utf-8").splitlines() if given.results.exists() else []
    results = {row["key"]: row["result"] for row in map(json.loads, rows)}
    again = "passed" if given.again else None
    todo = [one for one in sample if results.get(keys[one], again) == again]
    given.results.parent.mkdir(parents=True, exist_ok=True)
    checkout = copy_checkout()
    for tests in sorted({selected_tests(given.tests, one.file) for one in todo if not given.unchecked}):
        if run_tests(checkout, tests, None) != "passed":
            raise SystemExit(f"the tests {tests!r} fail without a mutation")
    for i, mutant in enumerate(todo, 1):
        path, key, original = checkout / mutant.file, keys[mutant], sources[mutant.file]
        before = path.stat()
        path.write_text(mutant.apply(original), encoding="utf-8")
        results[key] = run_tests(checkout, selected_tests(given.tests, mutant.file), given.timeout)
        path.write_text(original, encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # numba's cache checks the time
        with given.results.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"key": key, "result": results[key], **mutant._asdict()}) + "\n")
        print(f"{i} of {len(todo)}: {results[key]}", file=sys.stderr, flush=True)
    shutil.rmtree(checkout)
    for mutant in sorted(sample):
        word = "SURVIVED" if results[keys[mutant]] == "passed" else "noticed "
        print(word, f"{mutant.file}:{mutant.place[0]} ", *mutant.before.split(), " -> ", mutant.after)
    share = sum(results[key] != "passed" for key in keys.values()) / max(1, len(sample))
    print(f"{share:.0%} of {len(sample)} noticed")


if __name__ == "__main__":
    main()
