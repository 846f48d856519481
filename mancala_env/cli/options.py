"""Options that several commands share."""

from mancala_env._util.command_line import Parser

PROGRAM = "mancala"
DEFAULT_RULESET = "layli_goobalay"


def add_common(parser: Parser, threads: str = "all cores") -> None:
    """Add `--num_threads` and `--json`; `threads` describes the default number of threads."""
    parser.add_argument("--num_threads", type=int, help=f"number of CPU threads; {threads} by default")
    add_json(parser)


def add_json(parser: Parser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def add_csv(parser: Parser) -> None:
    """Add `--csv`, for :func:`mancala_env.cli.tables.put_csv`."""
    parser.add_argument("--csv", metavar="FILE", help='CSV file to write the table to; "-" prints only CSV')


def add_report(parser: Parser) -> None:
    """Add `--report`."""
    parser.add_argument("--report", metavar="FILE", help="report file to write, .html or .png")
