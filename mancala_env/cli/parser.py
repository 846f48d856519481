"""The parser of the command line."""

import re
from collections.abc import Callable
from typing import Any, NoReturn

from mancala_env._util.command_line import refuse, with_nearest_option
from mancala_env.cli.tables import PIP

PROGRAM = "mancala"
_OF_A_VALUE = re.compile(r'Parser key "(\w+)".*(?:Got|Given) value: (.*)', re.DOTALL)
_WANTED = {"<class 'int'>": "a whole number", "<class 'float'>": "a finite number"}
_CHOICES = re.compile(r"typing\.Literal\[(.*?)\]")


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
        def __init__(self, *args: Any, **options: Any) -> None:
            """Take options by their whole names only, as `mancala train` does."""
            super().__init__(*args, allow_abbrev=False, **options)

        def error(self, message: str, ex: Exception | None = None) -> NoReturn:
            """Say what is wrong and end the program."""
            message = with_nearest_option(plainly(message), self._option_string_actions)
            refuse(PROGRAM, message, self.prog.replace(" [options]", ""))

    return Parser


def plainly(message: str) -> str:
    """Return jsonargparse's word on a wrong value or a stray word as a user needs it; others as they are."""
    if re.match(r"unrecognized arguments: [^-]", message, re.IGNORECASE):
        return f"{message}; what has no -- goes before the options"
    found = _OF_A_VALUE.match(message)
    wanted = [words for kind, words in _WANTED.items() if kind in message]
    wanted += [f"one of {one}" if "," in one else one for one in _CHOICES.findall(message)[:1]]
    if found is None or not wanted:
        return re.sub(r"(are required: )\w+\.", r"\1", message)
    return f"--{found[1]} must be {' or '.join(wanted)}, not {found[2]}"


def add_common(parser: Any, threads: str = "all cores") -> None:
    """Add the options of commands that compute, on so many threads by default."""
    parser.add_argument("--num_threads", type=int, default=None, help=f"CPU threads; {threads} by default")
    add_json(parser)


def add_json(parser: Any) -> None:
    """Add the option of commands that can print JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON only")
