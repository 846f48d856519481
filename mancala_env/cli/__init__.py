"""The command line: `mancala COMMAND`, a file each; `mancala --help` lists them.

Tables go to standard output, progress and errors to standard error; `--json` prints one JSON document
and nothing else. :mod:`mancala_env._util.command_line` says what becomes of mistakes.
"""

import difflib
import re
import sys
from collections.abc import Sequence
from typing import Any

from mancala_env._util.command_line import in_one_line, refuse
from mancala_env.cli import (
    benchmark,
    evaluate,
    export,
    fit_value,
    grow_value,
    play,
    replay,
    rulesets,
    serve,
    show,
    solve,
    speed,
    train,
)
from mancala_env.cli.parser import PROGRAM, new_parser
from mancala_env.version import __version__

_COMMANDS: dict[str, Any] = {
    "evaluate": evaluate,
    "solve": solve,
    "speed": speed,
    "benchmark": benchmark,
    "show": show,
    "replay": replay,
    "play": play,
    "rulesets": rulesets,
    "serve": serve,
}
# These read their words themselves.
_PROGRAMS: dict[str, Any] = {
    "train": train,
    "fit-value": fit_value,
    "grow-value": grow_value,
    "export": export,
}


@in_one_line(PROGRAM)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        print(f"{PROGRAM} {__version__}")
        return 0
    nothing = next((word for word in words if re.fullmatch(r"--\w+=--", word)), None)
    if nothing is not None:  # argparse would make an empty list of it
        refuse(PROGRAM, f"{nothing}: -- is no value")
    if words and words[0] in _PROGRAMS:
        return _PROGRAMS[words[0]].run(words[1:])
    if words and not words[0].startswith("-") and words[0] not in _COMMANDS:
        refuse(PROGRAM, _no_command(words[0]))
    options = _parser().parse_args(words or ["--help"])
    return _COMMANDS[options.subcommand].run(options[options.subcommand])


def _no_command(word: str) -> str:
    commands = [*_COMMANDS, *_PROGRAMS]
    near = difflib.get_close_matches(word, commands, 1)
    said = f"{near[0]} is one" if near else f"there are {', '.join(commands)}"
    return f"there is no command {word!r}; {said}"


def _parser() -> Any:
    new = new_parser()
    parser = new(
        prog=PROGRAM,
        description="Measure, train, solve: the mancala games of the Horn of Africa.",
        version=__version__,
    )
    commands = parser.add_subcommands(required=True, title="commands")
    for name, command in _COMMANDS.items():
        its_parser = new(description=command.DESCRIPTION)
        command.add_arguments(its_parser)
        commands.add_subcommand(name, its_parser, help=command.HELP)
    for name, program in _PROGRAMS.items():
        commands.add_subcommand(name, new(description=program.HELP), help=program.HELP)
    return parser
