"""Openings: the positions games of a match start from."""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from mancala_env._util.checks import is_whole, whole
from mancala_env.engine.holdout import (
    OPENING_SETS,
    OpeningSet,
    children,
    rows_in_set,
)
from mancala_env.engine.state import NUM_COLUMNS, encode
from mancala_env.errors import MancalaError
from mancala_env.evaluation.balanced import balanced_openings, has_balanced_openings
from mancala_env.games.batch import Batch
from mancala_env.rulesets import Ruleset, lookup

# Random play of the smallest board in the catalogue lasts 32 turns on average, the shortest rounds a third
# of that: past this many turns most openings would be endings.
MAX_OPENING_TURNS = 12
OPENING_TURNS = 4
"""Random turns of an opening where nothing else is said and none that are balanced are shipped."""
# A set of at most so many openings is listed. All positions of four turns on 2x8 are 4,096 at the most.
_MOST_LISTED = 5000
_DRAWN_AT_ONCE = 512
# Fewer would be the same few games again and again; four turns on the smallest boards hold out more.
_FEWEST_HELD_OUT = 20


Openings = Literal[OpeningSet, "balanced"]
"""Which openings a match has: those of a set, or the balanced ones that are shipped."""
OPENINGS: Sequence[str] = get_args(Openings)


class InvalidMatch(MancalaError):
    """Arguments of a match that do not go together or are out of range."""


def openings(
    ruleset: str | Ruleset,
    count: int,
    opening_turns: int,
    seed: int,
    start: int = 0,
    *,
    opening_set: Openings = "all",
) -> np.ndarray:
    """Draw openings: positions after some uniformly random turns from the start of round 1.

    Opening k of a seed is always the same, however many are drawn.

    "all" are drawn turn by turn; one that ended the round is drawn again. A fifth of all openings is held
    out for "evaluation", the others are for "training"; see :mod:`mancala_env.engine.holdout`. Where
    they are few (four turns on most boards) they are listed instead, and dealt like a shuffled deck: no
    opening comes again before each was there. Where they are many they are drawn as "all" are. "balanced"
    ones are dealt so from those shipped for the ruleset, whatever `opening_turns` says; see
    :mod:`mancala_env.evaluation.balanced`.

    Args:
        ruleset: The game.
        count: How many.
        opening_turns: Random turns, 0 to 12.
        seed: Seed of the openings.
        start: Index of the first one.
        opening_set: "all", "training", "evaluation" or "balanced".

    Returns:
        uint64 `[count, NUM_COLUMNS]`.

    Raises:
        InvalidMatch: opening_turns is out of range, or the set is empty.
        InvalidArgument: count, start or seed is no whole number of at least 0.
        NoBalancedOpenings: None are shipped for the ruleset.
    """
    count, start, seed = whole("count", count, 0), whole("start", start, 0), whole("seed", seed, 0)
    if (
        isinstance(opening_turns, bool)
        or not isinstance(opening_turns, int | np.integer)
        or not 0 <= opening_turns <= MAX_OPENING_TURNS
    ):
        raise _wrong_turns(opening_turns)
    if opening_set == "balanced":
        return _dealt(balanced_openings(lookup(ruleset)), seed, start, start + count)
    if opening_set not in OPENING_SETS:
        raise _wrong_set(opening_set)
    ruleset, turns = lookup(ruleset), int(opening_turns)
    if opening_set == "all":
        batch = Batch(ruleset, start + count, seed=seed, num_threads=1, opening_turns=turns)
        return batch.games[start:].copy()
    if turns == 0:
        raise InvalidMatch(
            "without opening_turns every game starts at the start, which is in no set; "
            'take opening_turns of 1 to 12 or opening_set="all"'
        )
    listed = every_opening(ruleset, turns)
    if listed is None:
        return _drawn(ruleset, turns, opening_set, seed, start + count)[start:]
    listed = listed[rows_in_set(ruleset, listed, opening_set)]
    if not len(listed):
        raise InvalidMatch(
            f"no opening of {turns} turns of {ruleset.name} is for {opening_set}; "
            'take more opening_turns or opening_set="all"'
        )
    return _dealt(listed, seed, start, start + count)


def _dealt(listed: np.ndarray, seed: int, start: int, stop: int) -> np.ndarray:
    """Return openings `start` to `stop` of a list, dealt from one shuffled deck after another."""
    decks = range(start // len(listed), (stop - 1) // len(listed) + 1)
    dealt = [np.random.default_rng([seed, deck]).permutation(len(listed)) for deck in decks]
    first = start - decks.start * len(listed)
    return listed[np.concatenate([*dealt, np.empty(0, np.int64)])[first : first + stop - start]]


def set_to_learn_from(ruleset: str | Ruleset, opening_turns: int) -> OpeningSet:
    """Return the set of openings that are not held out; "all" where no others have so many turns."""
    if opening_turns:
        with suppress(InvalidMatch):
            openings(ruleset, 1, opening_turns, 0, opening_set="training")
            return "training"
    return "all"


def openings_to_evaluate(
    opening_set: Openings | None, ruleset: str | Ruleset, opening_turns: int | None
) -> tuple[Openings, int]:
    """Return which openings are meant where not all is said.

    Where neither is said they are the balanced ones that are shipped, and without such as with
    `opening_turns` of 4. Whoever says `opening_turns` means so many random turns: those held out for
    "evaluation", or "all" where hardly any are.

    Returns:
        The set, and the random turns of an opening, 0 for "balanced".

    Raises:
        InvalidMatch: "balanced" and opening_turns together, no such set, or opening_turns out of range.
    """
    ruleset = lookup(ruleset)
    if opening_set is not None and opening_set not in OPENINGS:
        raise _wrong_set(opening_set)
    if opening_set == "balanced" and opening_turns not in (None, 0):
        raise InvalidMatch(
            f"balanced openings are shipped positions, not {opening_turns!r} random turns; "
            'leave opening_turns out, or take opening_set="evaluation"'
        )
    if opening_set is None and opening_turns is None and has_balanced_openings(ruleset):
        opening_set = "balanced"
    if opening_set == "balanced":
        return "balanced", 0
    turns = OPENING_TURNS if opening_turns is None else opening_turns
    if opening_set is not None:
        return opening_set, turns
    if not is_whole(turns) or not 0 <= turns <= MAX_OPENING_TURNS:
        raise _wrong_turns(turns)
    if turns == 0:
        return "all", turns
    listed = every_opening(ruleset, int(turns))
    is_enough = listed is None or rows_in_set(ruleset, listed, "evaluation").sum() >= _FEWEST_HELD_OUT
    return ("evaluation" if is_enough else "all"), turns


def _wrong_turns(opening_turns: object) -> InvalidMatch:
    return InvalidMatch(f"opening_turns must be 0 to {MAX_OPENING_TURNS}, not {opening_turns!r}")


def _wrong_set(opening_set: object) -> InvalidMatch:
    return InvalidMatch(
        f'opening_set must be "all", "training", "evaluation" or "balanced", not {opening_set!r}'
    )


def openings_in_words(opening_set: Openings, opening_turns: int) -> str:
    """Return what readers are told of openings.

    >>> openings_in_words("evaluation", 4)
    'openings of 4 random turns (evaluation)'
    """
    if opening_set == "balanced":
        return "balanced openings"
    return f"openings of {opening_turns} random turns ({opening_set})" if opening_turns else "the start"


@lru_cache(maxsize=64)
def every_opening(ruleset: Ruleset, opening_turns: int) -> np.ndarray | None:
    """Return every position a number of turns from the start, or None where they are too many to list.

    Returns:
        uint64 `[N, NUM_COLUMNS]`, none twice; must not be written to.
    """
    games = Batch(ruleset, 1, num_threads=1).games
    for _ in range(opening_turns):
        found = np.zeros((len(games) * ruleset.num_holes, NUM_COLUMNS), np.uint64)
        games = np.unique(found[: children(encode(ruleset), games, found)], axis=0)
        if len(games) > _MOST_LISTED:
            return None
    return games


def _drawn(ruleset: Ruleset, turns: int, opening_set: OpeningSet, seed: int, count: int) -> np.ndarray:
    """Draw openings until enough are of the set, uint64 `[count, NUM_COLUMNS]`."""
    found = [np.empty((0, NUM_COLUMNS), np.uint64)]
    for draw in range(2**31):
        if sum(map(len, found)) >= count:
            break
        of_draw = int(np.random.SeedSequence([seed, draw]).generate_state(1, np.uint64)[0])
        drawn = Batch(ruleset, _DRAWN_AT_ONCE, seed=of_draw, num_threads=1, opening_turns=turns).games
        found.append(drawn[rows_in_set(ruleset, drawn, opening_set)])
    return np.concatenate(found)[:count]
