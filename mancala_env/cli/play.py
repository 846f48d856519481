"""`mancala play`: play against an agent or a person, on a board in the terminal or as plain text."""

import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper, UnsupportedOperation
from types import FrameType
from typing import Any

from mancala_env._util.command_line import Interrupted, Parser, needing, whole_number_or
from mancala_env._util.stop_signals import STOP_SIGNALS, Terminated, handled, is_ignored, undisturbed
from mancala_env.cli.options import DEFAULT_RULESET, RULESET, position_of
from mancala_env.errors import InvalidArgument, MancalaError
from mancala_env.games.position import Position
from mancala_env.games.records import check_appendable
from mancala_env.terminal.game import InteractiveGame
from mancala_env.terminal.plain import PlainPlay

DESCRIPTION = (
    "Play against an agent or a person, or watch two agents. "
    "docs/guides/terminal.md has the keys and commands."
)


def add_arguments(parser: Parser) -> None:
    add, player = parser.add_argument, "human, human:NAME, or the spec of an agent"
    add("--ruleset", help=f"{RULESET}; {DEFAULT_RULESET} by default")
    add("--south", default="human", help=f"player of South: {player}")
    add("--north", default="minimax:4", help=f"player of North: {player}")
    add(
        "--rounds",
        type=whole_number_or("match"),
        help='number of the last round, or "match"; by default 1, or the round of --start',
    )
    add("--start", metavar="POSITION", help="position to start from, as printed by mancala show")
    add("--seed", type=int, help="random seed of the agents; random by default")
    add("--record", metavar="FILE", help="file of game records to append the game to when it ends")
    limit = "time limit of the solver per position, in seconds"
    add("--values_seconds", type=float, default=10.0, help=limit)
    duration = "duration of the animation per sown seed, in seconds; 0 for no animation"
    add("--seed_seconds", type=float, default=0.12, help=duration)
    plain = "print lines of text instead of a board, for example for a screen reader; the default without a "
    plain += "terminal"
    add("--plain", action="store_true", help=plain)


def run(options: Any) -> int:
    for name in ("values_seconds", "seed_seconds"):
        value = getattr(options, name)
        least = "above 0" if name == "values_seconds" else "of at least 0"
        if not 0 <= value <= 3600 or (name == "values_seconds" and value == 0):
            raise InvalidArgument(f"--{name} must be a number of seconds {least} and up to 3600, not {value}")
    if options.record is not None:
        check_appendable(options.record)  # before the game rather than after it
    start = Position(DEFAULT_RULESET if options.ruleset is None else options.ruleset)
    if options.start is not None:
        start = position_of(options.start, options.ruleset)
    game = InteractiveGame(start, options.south, options.north, rounds=options.rounds, seed=options.seed)
    if options.record is not None:
        game.record()  # raises now if a record cannot hold the players' names
    try:
        return _play(game, options)
    except KeyboardInterrupt as stop:
        kept = options.record is not None and game.steps
        raise Interrupted(f"the game so far is in {options.record}" if kept else "") from stop
    finally:
        if options.record is not None and game.steps:
            _keep(game, options.record)


def _play(game: InteractiveGame, options: Any) -> int:
    can_move_cursor = os.environ.get("TERM", "") not in ("dumb", "")
    if options.plain or not (sys.stdin.isatty() and sys.stdout.isatty() and can_move_cursor):
        if isinstance(sys.stdin, TextIOWrapper):
            with suppress(UnsupportedOperation):  # it cannot change after the first read
                sys.stdin.reconfigure(errors="backslashreplace")  # shows bytes that are not UTF-8
        PlainPlay(game, iter(sys.stdin.readline, ""), sys.stdout, options.values_seconds).run()
        return 0
    with needing("the board in the terminal (not --plain)", "play"):
        from mancala_env.terminal.app import PlayApp
    app = PlayApp(game, options.seed_seconds, options.values_seconds, options.record)
    received: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        received.append(number)
        app.end_soon()

    # Textual handles Ctrl-C as a key.
    ending = [each for each in STOP_SIGNALS if each != signal.SIGINT and not is_ignored(each)]
    with handled(dict.fromkeys(ending, stop)):
        app.run()
    if received:
        raise Terminated(received[0])
    return app.return_code or 0


def _keep(game: InteractiveGame, path: str) -> None:
    """Append the game to a file; if that fails, print it, so that it is not lost."""
    with undisturbed():
        try:
            game.save(path)
        except (MancalaError, OSError):
            print(game.record().to_text())
            raise
