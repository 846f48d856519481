"""The stored ladder: bundled ratings of scripted agents, the anchors, that other agents are rated against.

The anchors played a round robin. `data/ladder.json` contains the pair counts of their matches, from which the
ratings follow. So a new agent is rated on the same scale by playing only the anchors.
``python -m tools.make_ladders`` writes the file.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mancala_env._util.files import write_whole
from mancala_env.errors import MancalaError
from mancala_env.evaluation.balanced_openings import openings_hash
from mancala_env.evaluation.matches import Progress
from mancala_env.evaluation.openings import InvalidMatch, Openings, openings_to_evaluate
from mancala_env.evaluation.ratings import PairCounts, Ratings, fit_ratings
from mancala_env.evaluation.round_robin import FORMAT, round_robin
from mancala_env.rulesets import Ruleset, lookup, names

STORED = Path(__file__).resolve().parent.parent / "data" / "ladder.json"
ANCHORS = (
    "random",
    "greedy",
    "minimax:2",
    "minimax:4",
    "minimax:6",
    "mcts:100",
    "mcts:1000",
    "perfect",
    "perfect+traps",
)
SLOW_ANCHORS = ("perfect", "perfect+traps")
"""Anchors that were rated over fewer games and that new agents do not play, because they are too slow."""
SLOW_OPPONENTS = ("mcts:1000",)
"""Opponents of the slow anchors: the strongest quick anchor, whose games are the most informative."""


class NoLadder(MancalaError):
    """A ruleset without a stored ladder."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The stored ladder of a ruleset.

    Attributes:
        ruleset: Name of the ruleset.
        matches: Pair counts of every match between two anchors.
        opening_turns: Number of random turns in an opening; 0 for balanced openings.
        excluded: Reasons by spec of the anchors that are excluded.
        opening_set: Set of openings; see :func:`~mancala_env.evaluation.openings`.
        openings: Hash of the balanced openings, which may be regenerated; "" for other sets.
    """

    ruleset: str
    matches: tuple[PairCounts, ...]
    opening_turns: int
    excluded: dict[str, str]
    opening_set: Openings = "all"
    openings: str = ""

    @property
    def anchors(self) -> tuple[str, ...]:
        """Specs of the anchors, in the order of ANCHORS."""
        return tuple(dict.fromkeys(name for match in self.matches for name in match[:2]))

    @property
    def quick_anchors(self) -> tuple[str, ...]:
        """Specs of the anchors that new agents play: all but SLOW_ANCHORS."""
        return tuple(anchor for anchor in self.anchors if anchor not in SLOW_ANCHORS)

    def ratings(self) -> Ratings:
        """Return the ratings of the anchors; the random agent has 0 Elo."""
        return _fitted(self.matches)


@lru_cache
def _fitted(matches: tuple[PairCounts, ...]) -> Ratings:
    return fit_ratings(matches)


def stored_ladder(ruleset: str | Ruleset) -> Ladder:
    """Return the stored ladder of a ruleset.

    >>> stored_ladder("leyla").anchors[:3]
    ('random', 'greedy', 'minimax:2')

    Raises:
        InvalidRuleset: If the ruleset is unknown.
        NoLadder: If no ladder is stored for it; the message lists the rulesets that have one.
    """
    ruleset = lookup(ruleset)
    stored = _stored(STORED)["rulesets"]
    # Only rulesets of the catalogue have ladders, not others of the same name.
    if ruleset.name not in stored or ruleset.name not in names() or lookup(ruleset.name) != ruleset:
        raise NoLadder(
            f"no ladder is stored for {ruleset.name!r}, only for {', '.join(stored)}; switch the ladder off "
            "(ladder=False, --no_ladder) and name the opponents"
        )
    entry = stored[ruleset.name]
    matches = tuple(
        PairCounts(match["first"], match["second"], tuple(match["pairs"]), match.get("repeats", 1.0))
        for match in entry["matches"]
    )
    return Ladder(
        ruleset.name,
        matches,
        entry["opening_turns"],
        entry["left_out"],
        entry["opening_set"],
        entry["openings"],
    )


def _stored(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {"format": FORMAT, "rulesets": {}}
    return json.loads(path.read_text())


def play_ladder(
    ruleset: str | Ruleset,
    *,
    games: int,
    slow_games: int = 64,
    opening_set: Openings | None = None,
    results: str | Path | None = None,
    records: str | Path | None = None,
    excluded: dict[str, str] | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Ladder:
    """Play a round robin of the anchors and return the ladder.

    Args:
        ruleset: The ruleset, or its name.
        games: Number of games per match; even.
        slow_games: Number of games per match of SLOW_ANCHORS with SLOW_OPPONENTS; even.
        opening_set: Set of openings. None for the bundled balanced openings or, without them, those held out
            for "evaluation".
        results: Results file to resume from and to append to.
        records: File of game records that new games are appended to.
        excluded: Reasons by spec of the anchors to exclude.
        num_threads: Number of CPU threads.
        progress: Called as progress(finished games, games), from 0 for each group of matches.

    Raises:
        InvalidMatch: If an argument is out of range, or an excluded spec is not an anchor.
    """
    excluded = dict(excluded or {})
    for name in excluded:
        if name not in ANCHORS:
            raise InvalidMatch(f"an excluded anchor must be one of {', '.join(ANCHORS)}, not {name!r}")
    if set(SLOW_OPPONENTS) <= set(excluded):
        listed = ", ".join(SLOW_OPPONENTS)
        excluded |= {slow: f"{listed} is excluded" for slow in SLOW_ANCHORS if slow not in excluded}
    chosen, turns = openings_to_evaluate(opening_set, ruleset, None)
    anchors = [anchor for anchor in ANCHORS if anchor not in excluded]
    quick = [anchor for anchor in anchors if anchor not in SLOW_ANCHORS]
    groups = [(quick, games)]
    groups += [
        ([other, slow], slow_games)
        for slow in SLOW_ANCHORS
        if slow in anchors
        for other in quick
        if other in SLOW_OPPONENTS
    ]
    matches = [
        match
        for group, num_games in groups
        for match in round_robin(
            group,
            ruleset,
            games=num_games,
            opening_turns=turns,
            opening_set=chosen,
            results=results,
            records=records,
            num_threads=num_threads,
            progress=progress,
        )
    ]
    counts = tuple(
        PairCounts(match.first, match.second, tuple(match.pair_counts.tolist()), match.repeats)
        for match in matches
    )
    openings = openings_hash(lookup(ruleset), chosen)
    return Ladder(lookup(ruleset).name, counts, turns, excluded, chosen, openings)


def store(ladder: Ladder, path: Path = STORED) -> None:
    """Write a ladder into a file of ladders, replacing the previous one of its ruleset."""
    with _locked(path.parent):
        _store(ladder, path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder within a with statement."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock: concurrent processes may overwrite each other's ladder
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _store(ladder: Ladder, path: Path) -> None:
    stored = _stored(path)
    stored["rulesets"][ladder.ruleset] = {
        "opening_turns": ladder.opening_turns,
        "opening_set": ladder.opening_set,
        "openings": ladder.openings,
        "left_out": ladder.excluded,
        "ratings": ladder.ratings().as_dict()["agents"],
        "matches": [
            {"first": match.first, "second": match.second, "pairs": list(match.counts)}
            | ({"repeats": round(match.repeats, 3)} if match.repeats > 1 else {})
            for match in ladder.matches
        ],
    }
    order = [name for name in dict.fromkeys([*names(), *stored["rulesets"]]) if name in stored["rulesets"]]
    stored["rulesets"] = {name: stored["rulesets"][name] for name in order}
    write_whole(path, _compact_json(stored))


def _compact_json(stored: dict[str, Any]) -> str:
    """Return JSON with one agent or match per line, so that diffs are readable."""
    text = [f'{{"format": {FORMAT}, "rulesets": {{']
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
