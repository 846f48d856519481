"""Options that several commands have."""

from mancala_env._util.command_line import Parser

PROGRAM = "mancala"


def add_common(parser: Parser, threads: str = "all cores") -> None:
    """Add the options of commands that compute, on so many threads by default."""
    parser.add_argument("--num_threads", type=int, help=f"CPU threads; {threads} by default")
    add_json(parser)


def add_json(parser: Parser) -> None:
    """Add the option of commands that can print JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON only")
