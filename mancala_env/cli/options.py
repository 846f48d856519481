"""Options that several commands share."""

from typing import Any

from mancala_env._util.command_line import Parser
from mancala_env.errors import InvalidPosition
from mancala_env.games.position import Position
from mancala_env.rulesets import is_ruleset_file, lookup, names

PROGRAM = "mancala"
DEFAULT_RULESET = "layli_goobalay"
RULESET = "ruleset name, or path of a ruleset file"
"""What every argument and option for a ruleset takes."""


def is_ruleset(text: str) -> bool:
    """Return whether a text is the name of a ruleset or the path of a ruleset file."""
    return text in names() or is_ruleset_file(text)


def position_of(text: str, ruleset: str | None) -> Position:
    """Return the position of a line of text; `ruleset` is needed if it is not in the catalogue."""
    if ruleset is None:
        return Position.from_text(text)
    known = lookup(ruleset)
    if text.split()[:1] != [known.name]:
        raise InvalidPosition(f"{text!r} is not of --ruleset {ruleset!r}, whose name is {known.name!r}")
    return Position.from_text(text, known)


def add_position(parser: Parser) -> None:
    """Add the argument POSITION and `--ruleset`, for :func:`position_given`."""
    form = f"position, as printed by mancala show, or {RULESET}, for its start position"
    parser.add_argument("position", nargs="*", default=[], metavar="POSITION", help=form)
    parser.add_argument("--ruleset", help=f"{RULESET}, of POSITION or of the start position to solve")


def position_given(options: Any) -> Position:
    """Return the position of the arguments of :func:`add_position`."""
    text = " ".join(options.position)
    if options.position and not text.strip():  # an unset shell variable
        raise InvalidPosition(f"{text!r} is not a position; mancala show prints positions")
    if not text:
        return Position(DEFAULT_RULESET if options.ruleset is None else options.ruleset)
    # One word without a board is a ruleset; a misspelled one gets a suggestion.
    if not is_ruleset_file(text) and (" " in text or "/" in text):
        return position_of(text, options.ruleset)
    if options.ruleset is not None:
        raise InvalidPosition(f"give a ruleset or --ruleset, not both: {text!r} and {options.ruleset!r}")
    return Position(text)


def add_common(parser: Parser, threads: str = "all cores") -> None:
    """Add `--num_threads` and `--json`; `threads` describes the default number of threads."""
    parser.add_argument("--num_threads", type=int, help=f"number of CPU threads; {threads} by default")
    add_outputs(parser, "json")


_OUTPUTS: dict[str, dict[str, Any]] = {
    "json": {"action": "store_true", "help": "print one JSON document and nothing else"},
    "csv": {"metavar": "FILE", "help": 'CSV file to write the table to; "-" prints only CSV'},
    "report": {"metavar": "FILE", "help": "report file to write, .html or .png"},
}


def add_outputs(parser: Parser, *names: str) -> None:
    """Add `--json`, `--csv` or `--report`, for :func:`mancala_env.cli.tables.put_result`."""
    for name in names:
        parser.add_argument(f"--{name}", **_OUTPUTS[name])
