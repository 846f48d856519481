"""The stored ladder: bundled ratings of scripted agents. Other agents are rated against these *anchors*.

`data/ladder.json` contains the pair counts of the anchors' round robin, from which the ratings are computed.
``python -m tools.make_ladders`` writes it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from mancala_env._util.tabular import Tabular
from mancala_env.errors import MancalaError
from mancala_env.evaluation.openings import Openings
from mancala_env.evaluation.ratings import PairCounts, Ratings, fit_ratings
from mancala_env.rulesets import Ruleset, lookup, names

STORED = Path(__file__).resolve().parent.parent / "data" / "ladder.json"
SLOW_ANCHORS = ("perfect", "perfect+traps")
"""Anchors that were rated over fewer games and that new agents do not play, because they are too slow."""
SCALE_ANCHORS = ("greedy", "minimax:4", "minimax:2", "random", "minimax:6")
"""Quick anchors that place agents on the ladder's scale, the most useful first."""
ANCHORS = ("random", "greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:100", "mcts:1000", *SLOW_ANCHORS)


class NoLadder(MancalaError):
    """A ruleset without a stored ladder."""


@dataclass(frozen=True, eq=False)
class Ladder(Tabular):
    """The stored ladder of a ruleset; `to_frame()` has one row per anchor, strongest first.

    Attributes:
        ruleset: Name of the ruleset.
        matches: Pair counts of every match between two anchors.
        opening_turns: Number of random turns in an opening; 0 for balanced openings.
        excluded: Excluded anchors: the reason by spec.
        opening_set: Set of openings; see :func:`~mancala_env.evaluation.openings`.
        openings: Hash of the balanced openings, which may be regenerated; "" for other sets.
    """

    ruleset: str
    matches: tuple[PairCounts, ...]
    opening_turns: int
    excluded: dict[str, str]
    opening_set: Openings = "all"
    openings: str = ""

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "ruleset": "Name of the ruleset",
        "opening_set": "Set of openings",
        "opening_turns": "Number of random turns in an opening",
        **Ratings.COLUMNS,
    }

    def _rows(self) -> Iterator[Sequence[Any]]:
        for row in self.ratings()._rows():
            yield self.ruleset, self.opening_set, self.opening_turns, *row

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


_fitted = lru_cache(fit_ratings)


def stored_ladder(ruleset: str | Ruleset) -> Ladder:
    """Return the stored ladder of a ruleset.

    >>> stored_ladder("leyla").anchors[:3]
    ('random', 'greedy', 'minimax:2')

    Raises:
        InvalidRuleset: If the ruleset is unknown.
        NoLadder: If no ladder is stored for it; the message lists the rulesets that have one.
    """
    ruleset = lookup(ruleset)
    stored = json.loads(STORED.read_text())["rulesets"]
    # Only rulesets of the catalogue have ladders, not other rulesets with the same name.
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
    parts = (entry[name] for name in ("opening_turns", "left_out", "opening_set", "openings"))
    return Ladder(ruleset.name, matches, *parts)
