"""The stored ladder: ratings of scripted agents. Other agents are rated against these *anchors*.

`data/ladder.json` contains the pair counts of the anchors' round robin, from which the ratings are computed.
``python -m tools.make_ladders`` writes it. :func:`prepare_ladder` plays a ladder for a ruleset of your own.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from mancala_env._util.files import write_whole
from mancala_env._util.package_data import DATA, new_prepared_file, prepared_file
from mancala_env._util.tabular import Tabular
from mancala_env.errors import MancalaError
from mancala_env.evaluation.exploit import stored_exploitability
from mancala_env.evaluation.openings import Openings, openings_hash, openings_to_evaluate
from mancala_env.evaluation.ratings import PairCounts, Ratings, as_pair_counts, fit_ratings
from mancala_env.evaluation.round_robin import round_robin
from mancala_env.rulesets import Ruleset, RulesetLike, lookup

STORED = DATA / "ladder.json"
SLOW_ANCHORS = ("perfect", "perfect+traps")
"""Anchors that were rated over fewer games and that new agents do not play, because they are too slow."""
SCALE_ANCHORS = ("greedy", "minimax:4", "minimax:2", "random", "minimax:6")
"""Quick anchors that place agents on the ladder's scale, the most useful first."""
ANCHORS = ("random", "greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:100", "mcts:1000", *SLOW_ANCHORS)
OWN_ANCHORS = ("random", "greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:100")
"""Anchors of the ladder of a ruleset of your own."""
_LADDER_FILE, _GAMES = "ladder.json", 200


class NoLadder(MancalaError):
    """A ruleset without a stored ladder."""


@dataclass(frozen=True, eq=False)
class Ladder(Tabular):
    """The stored ladder of a ruleset; `to_frame()` has one row per anchor, strongest first.

    Attributes:
        ruleset: Name of the ruleset.
        matches: Pair counts of every match between two anchors.
        opening_turns: Number of random turns in an opening; 0 for balanced and fair openings.
        excluded: Excluded anchors: the reason by spec.
        opening_set: Set of openings; see :func:`~mancala_env.evaluation.openings`.
        openings: Hash of the balanced openings, which may be regenerated; "" for other sets.
        exploitability: Bounds on the exploitability of anchors, in seeds, by spec. Others are not measured.
    """

    ruleset: str
    matches: tuple[PairCounts, ...]
    opening_turns: int
    excluded: dict[str, str]
    opening_set: Openings = "all"
    openings: str = ""
    exploitability: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "ruleset": "Name of the ruleset",
        "opening_set": "Set of openings",
        "opening_turns": "Number of random turns in an opening",
        **Ratings.COLUMNS,
        "exploitability_lower": "Lower bound of the exploitability, in seeds; missing if not measured",
        "exploitability_upper": "Upper bound of the exploitability; equal to the lower one if exact",
    }

    def _rows(self) -> Iterator[Sequence[Any]]:
        for row in self.ratings()._rows():
            bounds = self.exploitability.get(row[0], (None, None))
            yield self.ruleset, self.opening_set, self.opening_turns, *row, *bounds

    @property
    def anchors(self) -> tuple[str, ...]:
        """Specs of the anchors, in the order of ANCHORS."""
        return tuple(dict.fromkeys(name for match in self.matches for name in match[:2]))

    @property
    def quick_anchors(self) -> tuple[str, ...]:
        """Specs of the anchors that new agents play: all but SLOW_ANCHORS."""
        return tuple(anchor for anchor in self.anchors if anchor not in SLOW_ANCHORS)

    def ratings(self) -> Ratings:
        """Return the ratings of the anchors, with read-only arrays; the random agent has 0 Elo."""
        return _fitted(self.matches)


@lru_cache
def _fitted(matches: tuple[PairCounts, ...]) -> Ratings:
    found = fit_ratings(matches)
    for array in (found.elo, found.low, found.high, found.games, found.replicates):
        array.setflags(write=False)
    return found


def stored_ladder(ruleset: RulesetLike) -> Ladder:
    """Return the stored ladder of a ruleset.

    >>> stored_ladder("leyla").anchors[:3]
    ('random', 'greedy', 'minimax:2')

    Raises:
        InvalidRuleset: If the ruleset is unknown.
        NoLadder: If no ladder is stored for it; the message lists the rulesets that have one.
    """
    ruleset = lookup(ruleset)
    stored, file = json.loads(STORED.read_text())["rulesets"], prepared_file(ruleset, _LADDER_FILE)
    # Only rulesets of the catalogue have bundled ladders, not other rulesets with the same name.
    if ruleset.name in stored and ruleset.is_bundled:
        return _ladder_of(ruleset, stored[ruleset.name])
    if file.is_file():
        with suppress(ValueError, KeyError, TypeError):  # a damaged file; prepare_ladder plays it again
            return _ladder_of(ruleset, json.loads(file.read_bytes()))
    raise NoLadder(
        f"no ladder is stored for {ruleset.name!r}, only for {', '.join(stored)}; mancala evaluate and "
        "mancala_env.evaluation.prepare play one, or switch the ladder off (ladder=False, --no_ladder) and "
        "name the opponents"
    )


def prepare_ladder(ruleset: RulesetLike, say: Callable[[str], object] = print) -> Ladder:
    """Return the ladder of a ruleset; play it first if it is missing. See :func:`prepare`."""
    ruleset = lookup(ruleset)
    try:
        return stored_ladder(ruleset)
    except NoLadder:
        file = new_prepared_file(ruleset, _LADDER_FILE)
    say(f"rating {', '.join(OWN_ANCHORS)} on {ruleset.name}, once; kept in {file}")
    chosen, turns = openings_to_evaluate(None, ruleset, None)
    matches = round_robin(OWN_ANCHORS, ruleset, games=_GAMES, opening_set=chosen, opening_turns=turns)
    counts = tuple(map(as_pair_counts, matches))
    played = Ladder(ruleset.name, counts, turns, {}, chosen, openings_hash(ruleset, chosen))
    write_whole(file, json.dumps(as_entry(played), indent=2))
    return played


def as_entry(ladder: Ladder) -> dict[str, Any]:
    """Return a ladder as plain data: its entry in a file."""
    return {
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


def _ladder_of(ruleset: Ruleset, entry: dict[str, Any]) -> Ladder:
    matches = tuple(
        PairCounts(match["first"], match["second"], tuple(match["pairs"]), match.get("repeats", 1.0))
        for match in entry["matches"]
    )
    parts = (entry[name] for name in ("opening_turns", "left_out", "opening_set", "openings"))
    return Ladder(ruleset.name, matches, *parts, exploitability=stored_exploitability(ruleset))
