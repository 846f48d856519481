"""`mancala show`: draw a position, a turn or a recorded game, or describe a checkpoint or an agent."""

import json
from contextlib import suppress
from functools import partial
from os.path import exists
from typing import Any

from mancala_env import agents, rulesets
from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser, needing
from mancala_env.agents import InvalidSpec, Spec
from mancala_env.agents.registry import kind_named
from mancala_env.cli.describe import show_agent, show_network
from mancala_env.cli.evaluate import ruleset_of
from mancala_env.cli.options import DEFAULT_RULESET, RULESET, add_outputs, is_ruleset, position_of
from mancala_env.cli.tables import describe_turn, keep_from_csv, print_json, put_result
from mancala_env.errors import InvalidArgument, InvalidPosition, printable
from mancala_env.games import pictures
from mancala_env.games.position import Position
from mancala_env.games.records import InvalidRecord, read_games

DESCRIPTION = (
    "Draw a position, a turn or a recorded game, as text or as a picture file. Or describe a checkpoint or "
    "an agent. With --csv, write the metrics of a training run."
)
_PICTURES = {
    "svg": "a position or a turn",
    "png": "a position",
    "gif": "a turn or a recorded game",
    "mp4": "a turn or a recorded game",
}


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "what",
        nargs="+",
        metavar="POSITION|RULESET|RECORDS|SPEC|RUN",
        help="position as a line of text, name of a ruleset, path of a file of a ruleset, of game records or "
        "of a checkpoint, spec of an agent, or, with --csv, folder of a run",
    )
    for kind, drawn in _PICTURES.items():
        add(f"--{kind}", metavar="FILE", help=f"{kind.upper()} file to draw {drawn} to")
    add("--action", type=int, help="action whose turn to draw")
    add("--game", type=int, help="number of the game in a file of records, from 1")
    add("--turn", type=int, help="number of the turn of a recorded game to show; 0 for the start")
    add("--width", type=int, metavar="PX", help="width of the picture in pixels")
    add("--theme", help="colours of the picture: light, dark or, for SVG, auto (the default)")
    add("--ruleset", help=f"{RULESET}, of a position or an agent; {DEFAULT_RULESET} by default")
    add("--all", action="store_true", help="print all settings of a checkpoint")
    add_outputs(parser, "json", "csv")


def run(options: Any) -> int:
    text = " ".join(options.what)
    if options.csv is not None:
        _show_metrics(text, options)
        return 0
    is_game, is_start = is_record(text), is_ruleset(text)
    if is_game or is_start:
        _refuse_ruleset(text, options)
    if is_game:
        _show_record(text, options)
        return 0
    if options.game is not None or options.turn is not None:
        raise InvalidArgument(f"--game and --turn need a file of game records, not {printable(text)!r}")
    first_word, is_drawn = text.partition(" ")[0], _picture(options) is not None or options.action is not None
    is_position = is_start or (first_word != text and ":" not in first_word and not exists(text))
    spec, kind = None if is_position or is_drawn else _spec_of(text), kind_named(text)
    if is_position or is_drawn:
        _show_position(Position(text) if is_start else position_of(text, options.ruleset), options)
    elif spec is not None and spec.kind == "checkpoint":
        _refuse_ruleset(text, options)
        show_network(text, options.all, options.json)
    elif spec is not None:
        ruleset = rulesets.lookup(ruleset_of([spec]) if options.ruleset is None else options.ruleset)
        if not spec.runs_code and spec.files:
            agents.make(spec, ruleset, num_threads=1)  # raises if a file of the spec is damaged
        show_agent(text, spec.meaning, spec.on(ruleset), options.json, ruleset)
    elif kind is not None:
        show_agent(text, kind, None, options.json)
    else:
        raise InvalidPosition(
            f"{text!r} is not a ruleset ({', '.join(rulesets.names())}), an agent, a file or a position"
        )
    return 0


def _show_metrics(path: str, options: Any) -> None:
    """Write the metrics of a run as CSV, and describe its last checkpoint."""
    for name in ("ruleset", "action", "game", "turn", *_PICTURES):
        if getattr(options, name) is not None:
            raise InvalidArgument(f"--csv writes the metrics of a run and does not go with --{name}")
    with needing("the metrics of a run", "train"):
        from mancala_env.training.run_folder import METRICS
        from mancala_env.training.run_results import folder_of, read_run
    folder = folder_of(path)
    keep_from_csv(folder / METRICS, options)
    results = read_run(folder)
    show, as_json = partial(show_network, str(results.checkpoint), options.all), results.identity.to_json()
    put_result(results, options, show, as_json=json.loads(as_json))


def _refuse_ruleset(text: str, options: Any) -> None:
    if options.ruleset is not None:
        needs = "--ruleset needs an agent such as trained, or a position"
        raise InvalidArgument(f"{needs}, not {printable(text)!r}")


def _spec_of(text: str) -> Spec | None:
    """Return a parsed spec, or None if the text may be something else."""
    try:
        return Spec.parse(text)
    except InvalidSpec as error:
        kind, colon, _ = text.partition(":")
        if (colon and kind_named(kind) is not None) or "folder of a run" in str(error):
            raise
    return None


def _show_position(position: Position, options: Any) -> None:
    path = _picture(options)
    if path is not None:
        pictures.save(path, position, action=options.action, theme=options.theme, width=options.width)
        if not options.json:
            return
    turn = None if options.action is None else position.play(options.action)
    if options.json:
        print_json(position_as_dict(position))
        return
    if turn is not None:
        print(describe_turn(turn))
    print(f"{position}\n{position.to_text()}")


def _picture(options: Any) -> str | None:
    """Return the picture file to write, whose suffix is checked, or None."""
    given = [(kind, path) for kind in _PICTURES if (path := getattr(options, kind)) is not None]
    if not given:
        if options.width is not None or options.theme is not None:
            raise InvalidArgument("--width and --theme need a picture: add --svg, --png, --gif or --mp4 FILE")
        return None
    if len(given) > 1:
        raise InvalidArgument(f"give one picture file: --{given[0][0]} or --{given[1][0]}, not both")
    kind, path = given[0]
    if not path.lower().endswith(f".{kind}"):
        raise InvalidArgument(f"--{kind} must name a file that ends in .{kind}, not {printable(path)!r}")
    return path


def is_record(text: str) -> bool:
    """Return whether a text is the path of a file of game records."""
    with suppress(OSError, ValueError), open(text, "rb") as file:
        return file.read(9) == b"[Ruleset "
    return False


def _show_record(path: str, options: Any) -> None:
    """Draw a game of a file of records, one of its turns, or the position after a turn."""
    every = list(read_games(path))
    if options.game is None and len(every) > 1:
        raise InvalidRecord(f"{printable(path)} contains {len(every)} games; choose one with --game")
    number = whole("--game", 1 if options.game is None else options.game, 1, len(every))
    record = every[number - 1]
    if options.turn is None:
        if options.action is not None:
            raise InvalidArgument("--action needs a position: choose the turn before it with --turn")
        picture = _picture(options)
        if picture is None:
            hint = "`mancala replay` prints it as text"
            raise InvalidArgument(f"add --gif or --mp4 FILE to draw a game, or --turn; {hint}")
        if options.json:
            raise InvalidArgument("--json prints a position: choose one with --turn")
        pictures.save(picture, record, theme=options.theme, width=options.width)
        return
    turn, position = whole("--turn", options.turn, 0, len(record.turns)), record.start_position
    if turn > 0:
        step = next(step for step in record.replay() if step.number == turn)
        position = step.after
        if options.action is None and (options.gif or options.mp4) is not None:
            options.action, position = step.turn.action, step.before  # the turn itself
    _show_position(position, options)


def position_as_dict(position: Position) -> dict[str, Any]:
    """Return a position as plain data for JSON."""
    arrays = {name: getattr(position, name).tolist() for name in ("seeds", "owner", "territory")}
    return {
        "position": position.to_text(),
        "ruleset": position.ruleset.name,
        **arrays,
        "stores": list(position.stores),
        **{name: getattr(position, name) for name in ("player", "round", "end")},
        "counts": list(position.counts),
        "legal_actions": list(position.legal_actions),
    }
