"""Play the ladders of rulesets, and write them to `mancala_env/data/ladder.json`.

python -m tools.make_ladders [RULESET ...] [--games 400] [--slow_games 64] [--results ladder.jsonl]
    [--records games.txt] [--without ANCHOR WHY] [--opening_set SET]
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, Unpack

from mancala_env import rulesets
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from mancala_env.evaluation import ladder
from mancala_env.evaluation.ladder import Ladder
from mancala_env.evaluation.match_options import RoundRobinKeywords
from mancala_env.evaluation.openings import OPENINGS, InvalidMatch, openings_hash, openings_to_evaluate
from mancala_env.evaluation.ratings import as_pair_counts
from mancala_env.evaluation.round_robin import round_robin
from mancala_env.rulesets import Ruleset, lookup, names

SLOW_OPPONENTS = ("mcts:1000",)
"""Opponents of the slow anchors: the strongest quick anchor, whose games are the most informative."""
_FORMAT = 1


@in_one_line("make_ladders", "finished games are in the file of --results, if it is given")
def main(arguments: Sequence[str] | None = None) -> int:
    """Play the ladders of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.make_ladders", description="Play and store ladders of rulesets.")
    parser.add_argument(
        "rulesets", nargs="*", default=rulesets.names(), help="names of rulesets; by default all"
    )
    parser.add_argument("--games", type=int, default=400, help="number of games per match; even (400)")
    parser.add_argument(
        "--slow_games",
        type=int,
        default=64,
        help="number of games per match of perfect and perfect+traps; even (64)",
    )
    parser.add_argument("--results", type=Path, help="file of finished games, to resume from and append to")
    parser.add_argument("--records", type=Path, help="file to append the games to, for mancala replay")
    parser.add_argument(
        "--without",
        nargs=2,
        action="append",
        default=[],
        metavar=("ANCHOR", "WHY"),
        help="anchor to exclude, and the reason",
    )
    parser.add_argument(
        "--opening_set",
        choices=OPENINGS,
        help="set of openings; by default the bundled balanced openings or, without them, those held out for "
        "evaluation",
    )
    options = parser.parse_args(arguments)
    for name in [rulesets.lookup(name).name for name in options.rulesets]:
        played = play_ladder(
            name,
            games=options.games,
            slow_games=options.slow_games,
            opening_set=options.opening_set,
            results=options.results,
            records=options.records,
            excluded=dict(options.without),
        )
        store(played)
        rated = played.ratings().as_dict()["agents"]
        print(name, *(f"{row['agent']} {row['elo']:z.0f}" for row in rated), sep="  ", flush=True)
    return 0


def play_ladder(
    ruleset: str | Ruleset,
    *,
    slow_games: int = 64,
    excluded: dict[str, str] | None = None,
    **options: Unpack[RoundRobinKeywords],
) -> Ladder:
    """Play a round robin of the anchors and return the ladder.

    Args:
        ruleset: The ruleset, or its name.
        slow_games: Number of games per match of SLOW_ANCHORS with SLOW_OPPONENTS; even.
        excluded: Reasons by spec of the anchors to exclude.
        options: Arguments of :func:`round_robin`, but neither `rounds` nor `seed`, which a ladder does not
            store. `games` is 400 by default. Progress starts from 0 for each group of matches.

    Raises:
        InvalidMatch: If an argument is out of range, or an excluded spec is not an anchor.
    """
    ruleset, excluded = lookup(ruleset), dict(excluded or {})
    for name in excluded:
        if name not in ladder.ANCHORS:
            listed = ", ".join(ladder.ANCHORS)
            raise InvalidMatch(f"an excluded anchor must be one of {listed}, not {name!r}")
    if set(SLOW_OPPONENTS) <= set(excluded):
        listed = ", ".join(SLOW_OPPONENTS)
        excluded |= {slow: f"{listed} is excluded" for slow in ladder.SLOW_ANCHORS if slow not in excluded}
    anchors = [anchor for anchor in ladder.ANCHORS if anchor not in excluded]
    quick = [anchor for anchor in anchors if anchor not in ladder.SLOW_ANCHORS]
    groups = [(quick, options.get("games", 400))]
    for slow in ladder.SLOW_ANCHORS:
        if slow in anchors:
            groups += [([other, slow], slow_games) for other in quick if other in SLOW_OPPONENTS]
    chosen, turns = openings_to_evaluate(options.get("opening_set"), ruleset, options.get("opening_turns"))
    options |= {"opening_set": chosen, "opening_turns": turns}
    counts = []
    for group, num_games in groups:
        matches = round_robin(group, ruleset, **(options | {"games": num_games}))
        counts += map(as_pair_counts, matches)
    return Ladder(ruleset.name, tuple(counts), turns, excluded, chosen, openings_hash(ruleset, chosen))


def store(played: Ladder, path: Path = ladder.STORED) -> None:
    """Write a ladder into a file of ladders, replacing the previous one of its ruleset."""
    with _locked(path.parent):
        _store(played, path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder within a with statement."""
    try:
        import fcntl
    except ImportError:  # Windows lacks this lock: concurrent processes may overwrite each other's ladder
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _store(played: Ladder, path: Path) -> None:
    stored: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"rulesets": {}}
    stored["rulesets"][played.ruleset] = ladder.as_entry(played)
    order = [name for name in dict.fromkeys([*names(), *stored["rulesets"]]) if name in stored["rulesets"]]
    stored["rulesets"] = {name: stored["rulesets"][name] for name in order}
    stored["date"] = str(date.today())
    write_whole(path, _compact_json(stored))


def _compact_json(stored: dict[str, Any]) -> str:
    """Return JSON with one agent or match per line, so that diffs are readable."""
    text = [f'{{"format": {_FORMAT}, "date": {json.dumps(stored["date"])}, "rulesets": {{']
    blocks = []
    for name, entry in stored["rulesets"].items():
        rows = {
            key: ",\n".join("      " + json.dumps(row) for row in entry[key])
            for key in ("ratings", "matches")
        }
        blocks.append(
            f'  {json.dumps(name)}: {{\n    "opening_turns": {entry["opening_turns"]},\n'
            f'    "opening_set": {json.dumps(entry["opening_set"])},\n'
            f'    "openings": {json.dumps(entry["openings"])},\n'
            f'    "left_out": {json.dumps(entry["left_out"])},\n'
            f'    "ratings": [\n{rows["ratings"]}\n    ],\n    "matches": [\n{rows["matches"]}\n    ]\n  }}'
        )
    return "\n".join([*text, ",\n".join(blocks), "}}"]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
