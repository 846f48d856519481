"""The ladder: scripted agents whose ratings are stored with the package, to measure others against.

These anchors of the scale played a round robin once; the pair counts of their matches are in
`data/ladder.json` (the ratings follow from them), so one agent is placed on the scale by playing the
anchors alone. Made with
``python -m tools.make_ladders``.
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
from mancala_env.evaluation.balanced import openings_hash
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
"""Anchors that were rated over fewer games, and that nobody plays to be placed: a game takes too long."""
SLOW_OPPONENTS = ("mcts:1000",)
"""Whom slow anchors play: the strongest of the quick ones, against which a game says most about them."""


class NoLadder(MancalaError):
    """A ruleset without a stored ladder."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The stored ladder of a ruleset.

    Attributes:
        ruleset: Its name.
        matches: Pair counts of every match between two anchors.
        opening_turns: Random turns that made an opening; 0 for balanced ones.
        left_out: Anchors that are missing here, and why.
        opening_set: Which openings; see :func:`~mancala_env.evaluation.openings`.
        openings: A hash of the balanced ones, which may be made anew; empty for others.
    """

    ruleset: str
    matches: tuple[PairCounts, ...]
    opening_turns: int
    left_out: dict[str, str]
    opening_set: Openings = "all"
    openings: str = ""

    @property
    def anchors(self) -> tuple[str, ...]:
        """Specs of the anchors, in the order of ANCHORS."""
        return tuple(dict.fromkeys(name for match in self.matches for name in match[:2]))

    @property
    def quick_anchors(self) -> tuple[str, ...]:
        """Specs of the anchors an agent plays to be placed: all but SLOW_ANCHORS."""
        return tuple(anchor for anchor in self.anchors if anchor not in SLOW_ANCHORS)

    def ratings(self) -> Ratings:
        """Return the ratings of the anchors; the random agent is at 0 Elo."""
        return _fitted(self.matches)


@lru_cache
def _fitted(matches: tuple[PairCounts, ...]) -> Ratings:
    return fit_ratings(matches)


def stored_ladder(ruleset: str | Ruleset) -> Ladder:
    """Return the ladder of a ruleset.

    >>> stored_ladder("leyla").anchors[:3]
    ('random', 'greedy', 'minimax:2')

    Raises:
        InvalidRuleset: No such ruleset.
        NoLadder: None is stored for it; the message lists the rulesets that have one.
    """
    ruleset = lookup(ruleset)
    stored = _stored(STORED)["rulesets"]
    # A ruleset of one's own may carry a name of the catalogue, but only the catalogue's was played.
    if ruleset.name not in stored or ruleset.name not in names() or lookup(ruleset.name) != ruleset:
        raise NoLadder(
            f"there is no stored ladder for {ruleset.name!r}, only for {', '.join(stored)}; leave the "
            "ladder out and name the agents to play against"
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
    left_out: dict[str, str] | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Ladder:
    """Let the anchors play a round robin; what `data/ladder.json` is made from.

    Args:
        ruleset: The game.
        games: Games of each match, even.
        slow_games: Games of each match of SLOW_ANCHORS with SLOW_OPPONENTS, even.
        opening_set: Which openings; None: balanced ones where they are shipped, else those held out for
            "evaluation".
        results: Results file, to resume.
        records: File the games that are played now are appended to, turn by turn.
        left_out: Anchors to leave out, and why.
        num_threads: CPU threads.
        progress: Called as progress(games over, games), for each group of matches anew.
    """
    left_out = dict(left_out or {})
    for name in left_out:
        if name not in ANCHORS:
            raise InvalidMatch(
                f"an anchor that is left out must be one of {', '.join(ANCHORS)}, not {name!r}"
            )
    if set(SLOW_OPPONENTS) <= set(left_out):
        listed = ", ".join(SLOW_OPPONENTS)
        left_out |= {slow: f"{listed} is left out" for slow in SLOW_ANCHORS if slow not in left_out}
    chosen, turns = openings_to_evaluate(opening_set, ruleset, None)
    anchors = [anchor for anchor in ANCHORS if anchor not in left_out]
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
    return Ladder(lookup(ruleset).name, counts, turns, left_out, chosen, openings)


def store(ladder: Ladder, path: Path = STORED) -> None:
    """Write a ladder into a file of ladders, in place of the ruleset's former one; the others are kept."""
    with _locked(path.parent):
        _store(ladder, path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other process stores a ladder in a folder."""
    try:
        import fcntl
    except ImportError:  # Windows: of two that store at once, one may lose its ladder
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
        "left_out": ladder.left_out,
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
    """Write one agent and one match a line, so that a new ladder is a readable diff."""
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
