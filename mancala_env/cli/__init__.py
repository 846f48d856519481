"""The command line `mancala`. Each command is a module here, or a program in another package.

Tables go to standard output, progress and errors to standard error. With `--json` a command prints one JSON
document and nothing else. :mod:`mancala_env._util.command_line` reports errors.

The module of a command has a `DESCRIPTION`, `add_arguments` for its arguments and options, and `run`, which
returns the exit status.

| module | content |
|---|---|
| `play`, `serve` | play in the terminal; serve the browser page |
| `evaluate`, `exploit`, `compare` | rate agents; find the best replies to them; compare training runs |
| `benchmark`, `speed` | compare learning algorithms; measure the engine's speed |
| `prove`, `verify` | proof files of exact values |
| `solve`, `show`, `replay`, `rulesets` | exact values; positions and agents; recorded games; rulesets |
| `warmup` | compile the kernels once |
| `describe` | what `show` prints about agents, checkpoints and value networks |
| `options` | options that several commands share |
| `progress` | progress bars on standard error, and the message after Ctrl-C |
| `tables` | tables, JSON and CSV on standard output |
"""

import importlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from mancala_env._util.command_line import Parser, in_one_line, needing, refuse
from mancala_env.cli.options import PROGRAM
from mancala_env.cli.tables import check_outputs
from mancala_env.errors import did_you_mean
from mancala_env.version import __version__


class _Program(NamedTuple):
    """A command whose `main` and `make_parser` are in other packages, and need the extra "train"."""

    meaning: str
    feature: str
    module: str
    parser_module: str

    def load(self, module: str) -> Any:
        """Import a module."""
        with needing(self.feature, "train"):
            return importlib.import_module(f"mancala_env.{module}")


_GROWTH, _EXPORT = "training.value_growth", "networks.export"
_COMMANDS: dict[str, str | _Program] = {
    "evaluate": "rate agents and measure their regret",
    "exploit": "find the best reply to an agent, and how much it wins",
    "compare": "compare training runs, with means over their seeds",
    "solve": "find the exact value of a position",
    "prove": "find an exact value and write a proof file of it",
    "verify": "check proof files of exact values",
    "speed": "measure the engine's speed on this machine",
    "benchmark": "compare learning algorithms",
    "show": "draw a position, a turn or a recorded game; describe a checkpoint",
    "replay": "check and print recorded games",
    "play": "play in the terminal",
    "rulesets": "list the rulesets",
    "serve": "play and study in a browser",
    "warmup": "compile the kernels once, so that later programs start at once",
    "train": _Program("train an agent by self-play", "training", "training.run", "training.config"),
    "grow-value": _Program(
        "train a value network for search from scratch", "growing a value network", _GROWTH, _GROWTH
    ),
    "export": _Program(
        "write a checkpoint's network as ONNX or safetensors", "exporting a network", _EXPORT, _EXPORT
    ),
}


@in_one_line(PROGRAM)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    name = words[0]
    command = _COMMANDS.get(name)
    if isinstance(command, _Program):
        return command.load(command.module).main(words[1:], program=f"{PROGRAM} {name}")
    if command is not None:
        options = parser_of(name).parse_args(words[1:])
        check_outputs(options)
        return _module(name).run(options)
    if not name.startswith("-"):
        hint = did_you_mean(name, _COMMANDS)
        refuse(PROGRAM, f"unknown command {name!r}{hint}; commands: {', '.join(_COMMANDS)}")
    _parser().parse_args(words)  # --help, --version and an unknown option end the program
    refuse(PROGRAM, f"no command after {name}")


def commands() -> dict[str, str]:
    """Return the commands, with a phrase about each."""
    return {name: one if isinstance(one, str) else one.meaning for name, one in _COMMANDS.items()}


def _module(name: str) -> Any:
    """Import the module of a command; other commands may need packages that take long to load."""
    return importlib.import_module(f"mancala_env.cli.{name}")


def parser_of(name: str) -> Parser:
    """Return the parser of a command; those of training need the extra "train"."""
    command = _COMMANDS[name]
    if isinstance(command, _Program):
        return command.load(command.parser_module).make_parser(f"{PROGRAM} {name}")
    parser = Parser(prog=f"{PROGRAM} {name}", program=PROGRAM, description=_module(name).DESCRIPTION)
    _module(name).add_arguments(parser)
    return parser


def _parser() -> Parser:
    """Return the parser of `mancala --help`; each command has a parser of its own."""
    description = "Play, evaluate, train and solve the mancala games of the Horn of Africa."
    parser = Parser(prog=PROGRAM, description=description)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, meaning in commands().items():
        parsers.add_parser(name, help=meaning)
    return parser
