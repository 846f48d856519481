"""`mancala replay`: check recorded games, and print them turn by turn."""

from collections.abc import Iterator
from typing import Any

from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser
from mancala_env._util.output_streams import is_read
from mancala_env.cli.options import add_outputs
from mancala_env.cli.show import position_as_dict
from mancala_env.cli.tables import describe_turn, print_json
from mancala_env.engine.state import PLAYERS
from mancala_env.errors import printable
from mancala_env.games.records import GameRecord, InvalidRecord, Step, read_games

DESCRIPTION = (
    "Check the games of a file by replaying them, and list them. A single game is printed turn by turn. "
    "The command reports an illegal turn or a wrong result in one line."
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="file of game records; docs/guides/records.md has the format"
    )
    parser.add_argument("--game", type=int, help="number of the game to print, from 1")
    parser.add_argument("--turn", type=int, help="turn after which to show the board; 0 for the start")
    add_outputs(parser, "json")


def run(options: Any) -> int:
    game = None if options.game is None else whole("--game", options.game, 1)
    count, chosen, turn, file = 0, None, options.turn, printable(options.file)
    listed: list[dict[str, Any]] = []
    for count, record in enumerate(read_games(options.file), 1):  # all: an error anywhere is reported
        if game in (None, count):
            chosen = record
        if game is None and options.json:
            listed.append(_as_dict(count, record))
        elif game is None and turn is None:
            print(f"game {count}: {record}", flush=True)
            if not is_read():  # mancala replay games.txt | head
                return 0
    if count == 0:
        raise InvalidRecord(f"{file} does not contain a game")
    if chosen is None:
        raise InvalidRecord(f"--game must be 1 to {count}, the number of games in {file}, not {game}")
    if game is None and count > 1 and turn is not None:
        raise InvalidRecord(f"{file} contains {count} games; choose one with --game")
    if turn is not None:
        _show_turn(chosen, turn, options.json)
    elif options.json:
        print_json(listed if game is None else [_as_dict(game, chosen)])
    elif game is not None or count == 1:
        for line in _game_lines(chosen):
            print(line)
    else:
        print(f"{count} games; every turn is legal")
    return 0


def _show_turn(record: GameRecord, number: int, as_json: bool) -> None:
    position, lines = record.start_position, []
    if whole("--turn", number, 0, len(record.turns)) > 0:
        step = next(step for step in record.replay() if step.number == number)
        position, lines = step.after, [_turn_line(step)]
    if as_json:
        print_json(position_as_dict(position))
    else:
        print(*lines, position, position.to_text(), sep="\n")


def _game_lines(record: GameRecord) -> Iterator[str]:
    yield ""
    for name, value in (("opening", record.opening), ("date", record.date), *record.headers.items()):
        if value:
            yield printable(f"{name}: {value}")
    if record.comment:
        yield printable(record.comment)
    yield str(record.start_position)
    for step in record.replay():
        yield from ("", _turn_line(step), str(step.after))
        if step.following.round != step.after.round:
            south, north = step.after.counts
            yield f"\nround {step.after.round} ends {south}-{north} ({step.after.end})"
            yield str(step.following)
    outcome = record.verify()
    yield ""
    if outcome.end == "resigned":
        yield f"{PLAYERS[1 - (outcome.winner or 0)]} resigned"
    else:
        yield f"result: {outcome}" if outcome.is_over else "the game is not over"


def _turn_line(step: Step) -> str:
    """Return a turn and what it did in one line."""
    comment = f"  {{{printable(step.turn.comment)}}}" if step.turn.comment else ""
    return f"{step.number}. {step.turn}: {describe_turn(step.did)}{comment}"


def _as_dict(number: int, record: GameRecord) -> dict[str, Any]:
    outcome = record.verify()
    return {
        "game": number,
        "ruleset": record.ruleset.name,
        "south": record.south,
        "north": record.north,
        "rounds": record.rounds,
        "start": record.start_position.to_text(),
        "seed": record.seed,
        "opening": record.opening,
        "date": record.date,
        "headers": dict(record.headers),
        "turns": [str(turn) for turn in record.turns],
        "comments": {str(i): turn.comment for i, turn in enumerate(record.turns, 1) if turn.comment},
        "result": str(outcome),
        "end": outcome.end,
    }
