"""`mancala play`: play against an agent or a person in a terminal, or in plain lines of text."""

import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from mancala_env._util.command_line import Interrupted, Parser, needing, whole_number_or
from mancala_env._util.stop_signals import STOP_SIGNALS, Terminated, handled, is_ignored, undisturbed
from mancala_env.cli.evaluate import DEFAULT_RULESET
from mancala_env.errors import InvalidArgument, MancalaError
from mancala_env.games.position import Position
from mancala_env.games.records import check_appendable

if TYPE_CHECKING:
    from mancala_env.terminal.game import Game

HELP = "play in the terminal"
DESCRIPTION = (
    "Play against an agent or a person, or watch two agents. docs/play.md has the keys and commands."
)


def add_arguments(parser: Parser) -> None:
    """Add what the command takes."""
    parser.add_argument("--ruleset", help="the game; layli_goobalay by default")
    parser.add_argument("--south", default="human", help="human, human:NAME, or the spec of an agent")
    parser.add_argument("--north", default="minimax:4", help="likewise; minimax:4 by default")
    parser.add_argument(
        "--rounds",
        type=whole_number_or("match"),
        help='the round to play up to, or "match"; by default the first, or that of --start',
    )
    parser.add_argument("--start", help="a position to start from, as mancala show prints it")
    parser.add_argument("--seed", type=int, help="seed of the agents; drawn where there is none")
    parser.add_argument("--record", help="file to add the game to at the end")
    parser.add_argument("--values_seconds", type=float, default=10.0, help="seconds to look for exact values")
    parser.add_argument(
        "--seed_seconds", type=float, default=0.12, help="seconds a seed takes to fall; 0: no motion"
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="lines of text and no colour, for a screen reader; always so where it is not a terminal",
    )


def run(options: Any) -> int:
    """Run the command; returns the exit status."""
    from mancala_env.terminal.game import Game

    for name in ("values_seconds", "seed_seconds"):
        value = getattr(options, name)
        if not 0 <= value <= 3600 or (name == "values_seconds" and value == 0):
            raise InvalidArgument(f"--{name} must be a number of seconds up to 3600, not {value}")
    if options.record is not None:
        check_appendable(options.record)  # said now rather than after the game
    game = Game(_start(options), options.south, options.north, rounds=options.rounds, seed=options.seed)
    if options.record is not None:
        game.record()  # so is what no record can hold
    try:
        return _play(game, options)
    except KeyboardInterrupt as stop:
        kept = options.record is not None and game.steps
        raise Interrupted(f"the game so far is in {options.record}" if kept else "") from stop
    finally:
        if options.record is not None and game.steps:
            _keep(game, options.record)


def _play(game: "Game", options: Any) -> int:
    """Play the game; returns the exit status."""
    if options.plain or not is_screen():
        from mancala_env.terminal.plain import PlainPlay

        PlainPlay(game, _lines(), sys.stdout, options.values_seconds).run()
        return 0
    with needing("the board in the terminal (--plain goes without)", "play"):
        from mancala_env.terminal.app import PlayApp
    app = PlayApp(game, options.seed_seconds, options.values_seconds, options.record)
    heard: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        heard.append(number)
        app.end_soon()

    # Ctrl-C is a key there.
    ending = [each for each in STOP_SIGNALS if each != signal.SIGINT and not is_ignored(each)]
    with handled(dict.fromkeys(ending, stop)):
        app.run()
    if heard:
        raise Terminated(heard[0])
    return app.return_code or 0


def _keep(game: "Game", path: str) -> None:
    """Add the game to a file; where that fails, print it, so that it is not lost."""
    with undisturbed():
        try:
            game.save(path)
        except (MancalaError, OSError):
            print(game.record().to_text())
            raise


def is_screen() -> bool:
    """Tell whether the program talks to a terminal that can move its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")


def _lines() -> Iterator[str]:
    while line := sys.stdin.readline():
        yield line


def _start(options: Any) -> Position:
    if options.start is None:
        return Position(DEFAULT_RULESET if options.ruleset is None else options.ruleset)
    position = Position.from_text(options.start)
    if options.ruleset not in (None, position.ruleset.name):
        raise InvalidArgument(f"--start is of {position.ruleset.name}, not of --ruleset {options.ruleset}")
    return position
