"""The command line `mancala`; each command is a module.

Tables go to standard output, progress and errors to standard error. With `--json` a command prints one JSON
document and nothing else. :mod:`mancala_env._util.command_line` reports errors.

| module | content |
|---|---|
| `play`, `serve` | play in the terminal; serve the browser page |
| `evaluate`, `benchmark`, `speed` | rate agents; compare learning algorithms; measure the engine's speed |
| `solve`, `show`, `replay`, `rulesets` | exact values; positions and agents; recorded games; rulesets |
| `train`, `grow_value`, `export` | run programs of `training` and `networks` |
| `describe` | what `show` prints about agents, checkpoints and value networks |
| `options` | options that several commands share |
| `progress` | progress bars on standard error |
| `tables` | tables and JSON on standard output |
"""

import difflib
import sys
from collections.abc import Sequence
from typing import Any

from mancala_env._util.command_line import Parser, in_one_line, refuse
from mancala_env.cli import (
    benchmark,
    evaluate,
    export,
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
from mancala_env.cli.options import PROGRAM
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
# These parse their own arguments.
_PROGRAMS: dict[str, Any] = {
    "train": train,
    "grow-value": grow_value,
    "export": export,
}


@in_one_line(PROGRAM)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    name = words[0]
    if name in _PROGRAMS:
        return _PROGRAMS[name].run(words[1:])
    if name in _COMMANDS:
        command = _COMMANDS[name]
        parser = Parser(prog=f"{PROGRAM} {name}", program=PROGRAM, description=command.DESCRIPTION)
        command.add_arguments(parser)
        return command.run(parser.parse_args(words[1:]))
    if not name.startswith("-"):
        refuse(PROGRAM, _unknown_command(name))
    _parser().parse_args(words)  # --help, --version and an unknown option end the program
    refuse(PROGRAM, f"no command after {name}")


def _unknown_command(word: str) -> str:
    commands = [*_COMMANDS, *_PROGRAMS]
    near = difflib.get_close_matches(word, commands, 1)
    return f"unknown command {word!r}; " + (
        f"did you mean {near[0]}?" if near else f"commands: {', '.join(commands)}"
    )


def _parser() -> Parser:
    """Return the parser of `mancala --help`; each command has a parser of its own."""
    description = "Play, evaluate, train and solve the mancala games of the Horn of Africa."
    parser = Parser(prog=PROGRAM, description=description)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, command in (_COMMANDS | _PROGRAMS).items():
        commands.add_parser(name, help=command.HELP)
    return parser
