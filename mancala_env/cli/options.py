"""Options that several commands share."""

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


def add_common(parser: Parser, threads: str = "all cores") -> None:
    """Add `--num_threads` and `--json`; `threads` describes the default number of threads."""
    parser.add_argument("--num_threads", type=int, help=f"number of CPU threads; {threads} by default")
    add_json(parser)


def add_json(parser: Parser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def add_csv(parser: Parser) -> None:
    """Add `--csv`, for :func:`mancala_env.cli.tables.put_result`."""
    parser.add_argument("--csv", metavar="FILE", help='CSV file to write the table to; "-" prints only CSV')


def add_report(parser: Parser) -> None:
    """Add `--report`."""
    parser.add_argument("--report", metavar="FILE", help="report file to write, .html or .png")
