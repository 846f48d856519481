"""Openings: the positions from which the games of a match start."""

import hashlib
import itertools
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from mancala_env._util.checks import is_whole, whole
from mancala_env._util.package_data import bundled_file_of
from mancala_env.engine.holdout import OpeningSet, children, rows_in_set
from mancala_env.engine.state import NUM_COLUMNS, encode
from mancala_env.errors import MancalaError
from mancala_env.evaluation.balanced_openings import balanced_openings
from mancala_env.evaluation.fair_openings import fair_games
from mancala_env.games.batch import Batch
from mancala_env.rulesets import Ruleset, RulesetLike, lookup

# On the smallest board of the catalogue a random round lasts 32 turns on average, and a short round about 11.
# More opening turns would often reach the end of the round.
MAX_OPENING_TURNS = 12
OPENING_TURNS = 4
"""Default number of random turns in an opening, if no balanced openings are bundled."""
# Larger sets of openings are sampled instead of listed. Four turns on 2x8 give at most 4,096 positions.
_MOST_LISTED = 5000
_DRAWN_AT_ONCE = 512
# With fewer held-out openings a match would repeat the same few games.
_FEWEST_HELD_OUT = 20


Openings = Literal[OpeningSet, "balanced", "fair"]
"""Names of the sets of openings."""
OPENINGS: Sequence[str] = get_args(Openings)
BUNDLED = {"balanced": balanced_openings, "fair": fair_games}
"""Sets that are read from files, without random turns."""


class InvalidMatch(MancalaError):
    """Arguments of a match that are out of range or cannot be combined."""


def openings(
    ruleset: RulesetLike,
    count: int,
    opening_turns: int,
    seed: int,
    start: int = 0,
    *,
    opening_set: Openings = "all",
) -> np.ndarray:
    """Return openings: positions after a number of uniformly random turns from the start of round 1.

    Opening k of a random seed does not depend on `start` and `count`. The sets:

    - "all": random turns from the start; an opening that ends the round is drawn again.
    - "evaluation": the 20 % of all openings that are held out (:mod:`mancala_env.engine.holdout`).
    - "training": the other openings.
    - "balanced", "fair": the bundled openings of that name; `opening_turns` is ignored.

    The set "all" and large sets are sampled, and may repeat. In small sets, no opening repeats before all
    have occurred.

    Args:
        ruleset: The ruleset, or its name.
        count: Number of openings.
        opening_turns: Number of random turns, 0 to 12.
        seed: Random seed of the openings.
        start: Index of the first opening.
        opening_set: One of the sets above.

    Returns:
        The games, uint64 `[count, NUM_COLUMNS]`.

    Raises:
        InvalidMatch: If `opening_turns` is out of range, or the set is empty.
        InvalidArgument: If `count`, `start` or `seed` is not a whole number of at least 0.
        NoBalancedOpenings, NoFairOpenings: If the set is not bundled for the ruleset.
    """
    ruleset, turns = lookup(ruleset), _checked_turns(opening_turns)
    count, start, seed = whole("count", count, 0), whole("start", start, 0), whole("seed", seed, 0)
    _check_set(opening_set)
    if opening_set == "balanced" or opening_set == "fair":  # pyright narrows the type
        return _dealt(BUNDLED[opening_set](ruleset), seed, start, start + count)
    if opening_set == "all":
        batch = Batch(ruleset, max(1, start + count), seed=seed, num_threads=1, opening_turns=turns)
        return batch.games[start : start + count].copy()
    if turns == 0:
        raise InvalidMatch(
            f"opening_turns=0 cannot be used with opening_set={opening_set!r}, because the start position is "
            'not in the set; use opening_turns of 1 to 12, or opening_set="all"'
        )
    listed = every_opening(ruleset, turns)
    if listed is None:
        return _drawn(ruleset, turns, opening_set, seed, start + count)[start:]
    listed = listed[rows_in_set(ruleset, listed, opening_set)]
    if not len(listed):
        raise InvalidMatch(
            f"no opening of {ruleset.name} of {turns} turns is in the set {opening_set!r}; "
            'use more opening_turns, or opening_set="all"'
        )
    return _dealt(listed, seed, start, start + count)


def _dealt(listed: np.ndarray, seed: int, start: int, stop: int) -> np.ndarray:
    """Return openings `start` to `stop` of a sequence that repeats a list in a new random order each time."""
    decks = range(start // len(listed), (stop - 1) // len(listed) + 1)
    dealt = [np.random.default_rng([seed, deck]).permutation(len(listed)) for deck in decks]
    first = start - decks.start * len(listed)
    return listed[np.concatenate([*dealt, np.empty(0, np.int64)])[first : first + stop - start]]


def set_to_learn_from(ruleset: RulesetLike, opening_turns: int) -> OpeningSet:
    """Return "training", or "all" if no opening of that many turns is for training."""
    if opening_turns:
        with suppress(InvalidMatch):
            openings(ruleset, 1, opening_turns, 0, opening_set="training")
            return "training"
    return "all"


def openings_to_evaluate(
    opening_set: Openings | None, ruleset: RulesetLike, opening_turns: int | None
) -> tuple[Openings, int]:
    """Return the set and the random turns of openings, with the defaults of MatchOptions for None.

    The number of random turns is 4 by default, and 0 for "balanced" and "fair".
    """
    ruleset = lookup(ruleset)
    if opening_set is not None:
        _check_set(opening_set)
    if opening_set in BUNDLED and opening_turns not in (None, 0):
        raise InvalidMatch(
            f"opening_turns={opening_turns!r} cannot be used with {opening_set} openings; omit it, "
            'or use opening_set="evaluation"'
        )
    if opening_set is None and opening_turns is None and bundled_file_of("openings", ruleset):
        opening_set = "balanced"
    if opening_set in BUNDLED:
        return opening_set, 0
    turns = _checked_turns(OPENING_TURNS if opening_turns is None else opening_turns)
    if opening_set is not None:
        return opening_set, turns
    if turns == 0:
        return "all", turns
    listed = every_opening(ruleset, turns)
    is_enough = listed is None or rows_in_set(ruleset, listed, "evaluation").sum() >= _FEWEST_HELD_OUT
    return ("evaluation" if is_enough else "all"), turns


def _checked_turns(opening_turns: Any) -> int:
    if not is_whole(opening_turns) or not 0 <= opening_turns <= MAX_OPENING_TURNS:
        raise InvalidMatch(f"opening_turns must be 0 to {MAX_OPENING_TURNS}, not {opening_turns!r}")
    return int(opening_turns)


def _check_set(opening_set: object) -> None:
    if opening_set not in OPENINGS:
        raise InvalidMatch(
            f'opening_set must be "all", "training", "evaluation", "balanced" or "fair", not {opening_set!r}'
        )


def openings_hash(ruleset: Ruleset, opening_set: Openings) -> str:
    """Return a hash of a bundled set of openings, which may be regenerated; "" for other sets."""
    if opening_set not in BUNDLED:
        return ""
    return hashlib.sha256(BUNDLED[opening_set](ruleset).tobytes()).hexdigest()[:16]


def openings_in_words(opening_set: Openings, opening_turns: int) -> str:
    """Return a description of openings for tables and reports.

    >>> openings_in_words("evaluation", 4)
    'openings of 4 random turns (evaluation)'
    """
    if opening_set in BUNDLED:
        return f"{opening_set} openings"
    return f"openings of {opening_turns} random turns ({opening_set})" if opening_turns else "the start"


@lru_cache(maxsize=64)
def every_opening(ruleset: Ruleset, opening_turns: int) -> np.ndarray | None:
    """Return all distinct positions after that many turns, uint64 `[N, NUM_COLUMNS]`; None if over 5,000.

    Callers share the array and must not change it.
    """
    games = Batch(ruleset, 1, num_threads=1).games
    for _ in range(opening_turns):
        found = np.zeros((len(games) * ruleset.num_holes, NUM_COLUMNS), np.uint64)
        games = np.unique(found[: children(encode(ruleset), games, found)], axis=0)
        if len(games) > _MOST_LISTED:
            return None
    return games


def _drawn(ruleset: Ruleset, turns: int, opening_set: OpeningSet, seed: int, count: int) -> np.ndarray:
    """Draw openings until `count` belong to the set, uint64 `[count, NUM_COLUMNS]`."""
    found, draws = [np.empty((0, NUM_COLUMNS), np.uint64)], itertools.count()
    while sum(map(len, found)) < count:
        of_draw = int(np.random.SeedSequence([seed, next(draws)]).generate_state(1, np.uint64)[0])
        drawn = Batch(ruleset, _DRAWN_AT_ONCE, seed=of_draw, num_threads=1, opening_turns=turns).games
        found.append(drawn[rows_in_set(ruleset, drawn, opening_set)])
    return np.concatenate(found)[:count]
