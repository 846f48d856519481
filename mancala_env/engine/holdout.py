"""Openings for training, and openings that are held out for evaluation.

A hash of the board, seen from the player to move, selects 20 % of all boards. So no list is needed, and all
machines hold out the same boards. Stores, counters and the seat do not matter: the mirror image of a held-out
opening is also held out. Training never starts from a held-out board, except the start of the round and where
a tiny board lacks other openings. It does not learn from held-out boards within games.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from mancala_env._util.checks import one_of
from mancala_env.engine.board import seeds_in
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import next_random
from mancala_env.engine.state import RUNNING, encode, hole_of, load, owned_by, save
from mancala_env.engine.turn import is_start_board, legal_holes, play_turn
from mancala_env.rulesets import Ruleset

OpeningSet = Literal["all", "training", "evaluation"]
OPENING_SETS: Sequence[OpeningSet] = get_args(OpeningSet)
"""Names of the sets; kernels use their indices."""
ALL, TRAINING, EVALUATION = range(3)

_ONE_IN = np.uint64(5)
_U32 = np.uint64(32)
_U2 = np.uint64(2)


@kernel
def board_hash(rules, game):
    """Return a 64-bit hash of the seeds and owners of all holes, seen from the player to move."""
    mine, theirs = owned_by(game, game.player), owned_by(game, 1 - game.player)
    hashed = np.uint64(0)
    for action in range(2 * rules.width):
        hole = hole_of(rules, game.player, action)
        owner = np.uint64(((mine >> hole) & 1) + 2 * ((theirs >> hole) & 1))
        _, hashed = next_random(hashed + ((seeds_in(game.board, hole) << _U2) | owner))
    return hashed


@kernel
def is_held_out(rules, game):
    """Return whether an opening is held out for evaluation."""
    return ((board_hash(rules, game) >> _U32) * _ONE_IN) >> _U32 == np.uint64(0)


@kernel
def is_in_set(rules, game, opening_set):
    """Return whether an opening belongs to a set: ALL, TRAINING or EVALUATION."""
    return opening_set == ALL or is_held_out(rules, game) == (opening_set == EVALUATION)


@kernel
def _mark_in_set(rules, games, opening_set, with_start, marks):
    for b in range(len(games)):
        game = load(games, b)
        marks[b] = is_in_set(rules, game, opening_set) or (with_start and is_start_board(rules, game))


@kernel
def children(rules, games, found):
    """Write every running game one turn after `games` to `found`, actions ascending; return their number.

    `games` are uint64 `[B, NUM_COLUMNS]`, and `found` has room for 2W times as many.
    """
    count = 0
    for b in range(len(games)):
        game = load(games, b)
        legal = legal_holes(rules, game)
        for action in range(2 * rules.width):
            hole = hole_of(rules, game.player, action)
            if (legal >> hole) & 1:
                after = play_turn(rules, game, hole)[0]
                if after.end == RUNNING:
                    save(found, count, after)
                    count += 1
    return count


def encode_opening_set(opening_set: OpeningSet) -> int:
    """Return the index of a set, for kernels; an unknown set raises InvalidArgument."""
    return OPENING_SETS.index(one_of("opening_set", opening_set, OPENING_SETS))


def rows_in_set(
    ruleset: Ruleset, games: np.ndarray, opening_set: OpeningSet, *, with_start: bool = False
) -> np.ndarray:
    """Return whether each game of uint64 `[B, NUM_COLUMNS]` belongs to a set, bool `[B]`.

    If `with_start`, the start of a round without owned holes always belongs to the set.
    """
    marks = np.zeros(len(games), np.bool_)
    _mark_in_set(encode(ruleset), games, encode_opening_set(opening_set), with_start, marks)
    return marks


def rows_to_learn(ruleset: Ruleset, games: np.ndarray) -> np.ndarray:
    """Return whether a learner may learn from each game of uint64 `[B, NUM_COLUMNS]`, bool `[B]`.

    It may if the board is not held out, or is the start of a round without owned holes.
    """
    return rows_in_set(ruleset, games, "training", with_start=True)
