"""Mutation testing of JavaScript: change one operator, number or statement and see whether a test fails.

    python tests/support/javascript_mutations.py mancala_env/web/g*.js --number 40 --seed 0 \\
        --tests "python -m pytest tests/web/test_modules.py -x -q"

Each mutant runs on a copy of the checkout, so the working tree never changes. Regular expressions find the
operators outside of comments and texts. `--tests PATTERN=COMMAND` sets the tests of the files that match a
pattern. Results are appended to a file, and an interrupted run resumes.
"""

import argparse
import fnmatch
import hashlib
import json
import random
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mutations import copy_checkout, run_command

ROOT = Path(__file__).resolve().parents[2]
# Replacements in masked code: (pattern, replacements).
OPERATORS = [
    (r" === ", " !== "),
    (r" !== ", " === "),
    (r" <= ", " < "),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \+= ", " -= "),
    (r" -= ", " += "),
    (r" \* ", " / "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \?\? ", " && "),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\[\.\.\.(\w+(?:\.\w+)*)\]", r"\1"),
]
NUMBER = re.compile(r"(?<![\w.$])\d[\d_]*(?![\w.])")
STATEMENT = re.compile(
    r"^[ \t]*(?!const |let |var |import |export |return\b|else\b|\}|\))[\w#(\[][^\n{}]*;[ \t]*$", re.M
)
RETURN = re.compile(r"\breturn (?!undefined)([^;\n{}]+);")
CONDITION = re.compile(r"\b(?:if|while) \(")
# A text, a comment, or a regular expression after an operator.
UNSEEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|\$\{[^{}]*\}|[^`\\])*`"
    r"|(?<=[(,=:!&|?\[] )/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/\w*"
    r"|(?<=[(,=:!&|?\[])/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/\w*",
    re.S,
)


class Mutant(NamedTuple):
    """A change of a file: the characters from start to end are replaced."""

    file: str
    start: int
    end: int
    after: str

    def apply(self, source: str) -> str:
        """Return the mutated source."""
        return source[: self.start] + self.after + source[self.end :]

    def describe(self, source: str) -> str:
        """Return a line that describes the change and its place."""
        line = source.count("\n", 0, self.start) + 1
        low, high = source.rfind("\n", 0, self.start) + 1, source.find("\n", self.end)
        low, high = max(low, self.start - 40), min(high, self.end + 40)
        changed = f"{source[low : self.start]}[-{source[self.start : self.end]}-]{{+{self.after}+}}"
        return f"{self.file}:{line}  {' '.join((changed + source[self.end : high]).split())}"


def masked(source: str) -> str:
    """Return the source with comments, texts and regular expressions blanked out, with the same length."""
    return UNSEEN.sub(lambda found: re.sub(r"[^\n]", "\x00", found[0]), source)


def closing(code: str, start: int) -> int:
    """Return the index of the parenthesis that closes the one at `start`."""
    depth = 0
    for place in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"no parenthesis closes the one at {start}")


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return all mutants of a file."""
    return [Mutant(file, *change) for change in sorted(set(_changes(source, masked(source))))]


def _changes(source: str, code: str) -> Iterator[tuple[int, int, str]]:
    for pattern, after in OPERATORS:
        for found in re.finditer(pattern, code):
            yield found.start(), found.end(), found.expand(after)
    for found in NUMBER.finditer(code):
        yield found.start(), found.end(), str(int(found[0]) + 1)
    for found in STATEMENT.finditer(code):
        if found[0].count("(") == found[0].count(")"):
            yield found.start(), found.end(), ""
    for found in RETURN.finditer(code):
        yield found.start(1), found.end(1), "undefined"
    for found in CONDITION.finditer(code):
        end = closing(code, found.end() - 1)
        yield found.end(), end, f"!({source[found.end() : end]})"


def selected_tests(selections: list[str], file: str) -> str:
    """Return the tests of the first selection whose pattern the file matches."""
    pairs = [re.fullmatch(r"(?:([\w*?/.]+)=)?(.+)", one, re.S) for one in selections]
    return next(found[2] for found in pairs if found and fnmatch.fnmatch(file, found[1] or "*"))


def main() -> None:
    """Sample mutants, run the tests on each and print which ones they detect."""
    parser = argparse.ArgumentParser()
    option = parser.add_argument
    option("files", nargs="+", type=Path, help="JavaScript files to mutate.")
    option("--number", type=int, default=40, help="Number of mutants.")
    option("--seed", type=int, default=0, help="Seed of the sample.")
    option("--tests", action="append", required=True, help="Command, or PATTERN=command.")
    option("--timeout", type=float, default=300, help="Most seconds of a run.")
    option("--results", type=Path, default=ROOT / "build/javascript_mutations.jsonl", help="File of results.")
    option("--again", action="store_true", help="Run the recorded survivors of the sample again.")
    option("--unchecked", action="store_true", help="Do not run the tests without a mutation first.")
    given = parser.parse_args()
    sources = {str(path.resolve().relative_to(ROOT)): path.read_text("utf-8") for path in given.files}
    every = [one for file, text in sources.items() for one in mutants_of(file, text)]
    sample = sorted(random.Random(given.seed).sample(every, min(given.number, len(every))))
    keys = {one: hashlib.sha256(repr((one, sources[one.file])).encode()).hexdigest()[:16] for one in sample}
    rows = given.results.read_text(encoding="utf-8").splitlines() if given.results.exists() else []
    results = {row["key"]: row["result"] for row in map(json.loads, rows)}
    redone = {key for key, result in results.items() if given.again and result == "passed"}
    todo = [one for one in sample if keys[one] not in results.keys() - redone]
    given.results.parent.mkdir(parents=True, exist_ok=True)
    checkout = copy_checkout()
    for tests in sorted({selected_tests(given.tests, one.file) for one in todo if not given.unchecked}):
        if run_command(checkout, shlex.split(tests), 10 * given.timeout) != "passed":
            raise SystemExit(f"the tests {tests!r} fail without a mutation")
    for number, mutant in enumerate(todo, 1):
        path, original = checkout / mutant.file, sources[mutant.file]
        path.write_text(mutant.apply(original), "utf-8")
        command = shlex.split(selected_tests(given.tests, mutant.file))
        result = run_command(checkout, command, given.timeout)
        path.write_text(original, "utf-8")
        results[keys[mutant]] = result
        described = mutant.describe(original)
        with given.results.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"key": keys[mutant], "result": result, "change": described}) + "\n")
        print(f"{number} of {len(todo)}: {result}  {described}", file=sys.stderr, flush=True)
    shutil.rmtree(checkout)
    for mutant in sample:
        word = "SURVIVED" if results[keys[mutant]] == "passed" else "noticed "
        print(f"{word}  {mutant.describe(sources[mutant.file])}")
    num_noticed = sum(results[keys[mutant]] != "passed" for mutant in sample)
    print(f"{num_noticed} of {len(sample)} noticed ({num_noticed / max(1, len(sample)):.0%})")


if __name__ == "__main__":
    main()
