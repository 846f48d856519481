"""The parser of the command line."""

from collections.abc import Callable
from typing import Any, NoReturn

from mancala_env.cli.tables import PIP
from mancala_env.programs import refuse

PROGRAM = "mancala"


def new_parser() -> Callable[..., Any]:
    """Return the class of the parsers, one of jsonargparse's whose mistakes are one line.

    Raises:
        ImportError: jsonargparse is missing.
    """
    try:
        from jsonargparse import ArgumentParser
    except ImportError as error:
        raise ImportError(f"the command line needs jsonargparse: {PIP}") from error

    class Parser(ArgumentParser):
        def error(self, message: str, ex: Exception | None = None) -> NoReturn:
            """Say what is wrong and end the program."""
            refuse(PROGRAM, message, self.prog.replace(" [options]", ""))

    return Parser


def add_common(parser: Any) -> None:
    """Add the options of commands that compute."""
    parser.add_argument("--num_threads", type=int, default=None, help="CPU threads; all cores by default")
    add_json(parser)


def add_json(parser: Any) -> None:
    """Add the option of commands that can print JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON only")
