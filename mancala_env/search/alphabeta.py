"""minimax: alpha-beta search of all turns to a depth, on the engine's kernels.

``minimax:6`` is worth exactly what plain minimax six turns deep is worth, whatever the table remembers,
so its choice depends on the position and the seed alone. The margin of counts (RULES 4) is the value of
a leaf; where the round is over it is final. The same kernels search with a small value network at the leaves
(:mod:`mancala_env.networks.value`); without one numba compiles them as if there were none.

**The steps.** The positions from the root to the one being searched lie in frames. The search goes one turn
deeper at a time, or two, and for each depth repeats:

1. *Select* the turn of the current position that promises most, unless none is left or its window is closed.
2. *Evaluate* the position after it where the round is over or the horizon reached; one turn before the
   horizon,
   evaluate all that its turns lead to; else take the value that the table remembers, if that settles it.
3. *Expand* it otherwise: it becomes the current position, its turns played and ordered by what a leaf after
   them is worth. Back to 1.
4. *Back up* the value to the position before, and remember it where the position was expanded.

A position's value never depends on what is already in the stores but for the sum, so the table keeps
values with the stores taken off: the same board reached with other captures is found again.

Symbols: W row width, B games, A actions, P turns of the deepest line.
"""

import math
from typing import NamedTuple

import numpy as np

from mancala_env._util.checks import is_whole
from mancala_env.agents.base import InvalidSpec
from mancala_env.agents.search_agent import ACTIVE, SearchAgent
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import random_below
from mancala_env.engine.state import (
    NUM_COLUMNS,
    RUNNING,
    SOUTH,
    TERRITORY_COLUMN,
    action_of,
    load,
    nth_bit,
    num_bits,
    num_seeds,
    save,
)
from mancala_env.engine.turn import STALL_LIMIT, legal_holes, play_turn
from mancala_env.engine.validation import check_array
from mancala_env.networks.value import leaf_value, unit_of
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import MOST_TURNS, Budget

ILLEGAL = -1000
"""What :func:`action_values` holds for an action that is not legal; no margin is below -255."""

_INFINITE = 1_000_000
_TAKEN = -_INFINITE
# Tried first: a turn the table remembers as best.
_REMEMBERED = 10_000
# Turns played between two looks at Ctrl-C: one or two milliseconds.
_PIECE = 20_000

# Columns of a frame: a position on the line being searched, seen by its player to move.
_PLAYER, _DEPTH, _ALPHA, _BETA, _FIRST_ALPHA = range(5)
_BEST, _BEST_HOLE, _OPEN, _COUNT, _LEFT, _CURRENT = range(5, 11)
FRAME_COLUMNS = 11
# Columns of progress: the frame the search stands at, and the seeds of its game.
_PLY, _TOTAL = 1, 2
PROGRESS_COLUMNS = 3
# What a remembered value says of the true one.
_EXACT, _AT_LEAST, _AT_MOST = 0, 1, 2
# Columns of the table, and where each field of what is remembered begins; a value takes 16 bits, biased.
_KEY, _PACKED = 0, 1
_DEPTH_SHIFT, _BOUND_SHIFT, _OPEN_SHIFT, _HOLE_SHIFT = 16, 24, 26, 27
_VALUE_BIAS = 1 << 15

_HASH1, _HASH2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_HASH3, _HASH4 = np.uint64(0x94D049BB133111EB), np.uint64(0xD6E8FEB86659FD93)
_U29, _U32 = np.uint64(29), np.uint64(32)


class Memory(NamedTuple):
    """What one thread needs to search.

    Attributes:
        frames: int64 `[P, FRAME_COLUMNS]`, the positions on the line being searched.
        keys: uint64 `[P]`, their keys in the table.
        children: uint64 `[P * A, NUM_COLUMNS]`, the positions after each turn of each frame.
        scores: int64 `[P * A]`, in which order they are tried, the highest first; _TAKEN once tried.
        holes: int64 `[P * A]`, the holes these turns start from.
        root_values: int64 `[A]`, value of each turn of the root in the running search.
        table: uint64 `[S, 2]`, key and packed value of positions met, S a power of two.
        progress: int64 `[PROGRESS_COLUMNS]`, where the search stands between two pieces.
    """

    frames: np.ndarray
    keys: np.ndarray
    children: np.ndarray
    scores: np.ndarray
    holes: np.ndarray
    root_values: np.ndarray
    table: np.ndarray
    progress: np.ndarray


class Answers(NamedTuple):
    """What a search writes, by game.

    Attributes:
        actions: int64 `[B]`, the chosen actions.
        values: int16 `[B, A]`, margin after each action; filled where all of them are wanted.
        depths: int64 `[B]`, depth of the last finished search.
        nodes: int64 `[B]`, turns played.
        best: int64 `[B]`, value of the best action, in units of the search.
    """

    actions: np.ndarray
    values: np.ndarray
    depths: np.ndarray
    nodes: np.ndarray
    best: np.ndarray


@kernel
def _key_of(game, depth):
    """Hash all that the value of a position depends on, this many turns before the horizon.

    The stores are left out; see the module's docstring. So is the stall counter where no line is long
    enough to end the round by it.
    """
    stall = game.stall if game.stall + depth >= STALL_LIMIT else -1
    facts = game.owned_south | (game.owned_north << 24) | (game.player << 48) | ((stall + 1) << 49)
    key = (game.board.low ^ (np.uint64(facts) * _HASH1)) * _HASH2
    key = ((key ^ (key >> _U29)) + game.board.middle) * _HASH3
    key = ((key ^ (key >> _U32)) + (game.board.high ^ (np.uint64(game.territory) * _HASH1))) * _HASH4
    return key ^ (key >> _U29)


@kernel
def _lead_in_stores(game, network):
    """Return how far the store of the player to move leads, in units of a value."""
    lead = unit_of(network) * (game.store_south - game.store_north)
    return lead if game.player == SOUTH else -lead


@kernel
def _pack(value, depth, bound, is_open, hole):
    packed = (value + _VALUE_BIAS) | (depth << _DEPTH_SHIFT) | (bound << _BOUND_SHIFT)
    return np.uint64(packed | (is_open << _OPEN_SHIFT) | (hole << _HOLE_SHIFT))


@kernel
def _recall(table, key, game, depth, alpha, beta, network):
    """Look a position up.

    A value found to this very depth counts, and one that saw no horizon counts to any greater depth:
    so whatever the table holds, a value is what full-width search to the depth finds.

    Returns:
        Whether the value settles the position for the window, the value, whether it saw the horizon
        (0 or 1), and the hole of the best turn known or -1.
    """
    slot = np.int64(key & np.uint64(len(table) - 1))
    if table[slot, _KEY] != key:
        return False, 0, 0, -1
    packed = np.int64(table[slot, _PACKED])
    value = (packed & 0xFFFF) - _VALUE_BIAS + _lead_in_stores(game, network)
    found_depth = (packed >> _DEPTH_SHIFT) & 0xFF
    bound = (packed >> _BOUND_SHIFT) & 3
    is_open = (packed >> _OPEN_SHIFT) & 1
    hole = packed >> _HOLE_SHIFT
    is_deep_enough = found_depth == depth or (found_depth < depth and is_open == 0)
    is_settled = bound == _EXACT or (value >= beta if bound == _AT_LEAST else value <= alpha)
    if is_deep_enough and is_settled:
        return True, value, is_open, hole
    return False, 0, 0, hole


@kernel
def _evaluate_last_turn(rules, game, total, beta, network):
    """Search a position one turn before the horizon.

    Returns:
        The value for the player to move (a lower bound from beta on), whether it saw the horizon (0 or
        1), and the turns played.
    """
    mover = game.player
    legal = legal_holes(rules, game)
    best, is_open, played = -_INFINITE, 0, 0
    for i in range(num_bits(legal)):
        after = play_turn(rules, game, nth_bit(legal, i))[0]
        value = leaf_value(rules, after, total, mover, network)
        played += 1
        is_leaf = 1 if after.end == RUNNING else 0
        if value >= beta:
            return value, is_leaf, played
        best = max(best, value)
        is_open |= is_leaf
    return best, is_open, played


@kernel
def _expand(rules, game, total, first, remembered_hole, children, scores, holes, network):
    """Play every turn of a position; returns their number. The score is what a leaf there is worth."""
    legal = legal_holes(rules, game)
    count = num_bits(legal)
    for i in range(count):
        hole = nth_bit(legal, i)
        after = play_turn(rules, game, hole)[0]
        save(children, first + i, after)
        score = leaf_value(rules, after, total, game.player, network)
        scores[first + i] = score + (_REMEMBERED if hole == remembered_hole else 0)
        holes[first + i] = hole
    return count


@kernel
def _open_frame(frames, ply, player, depth, alpha, beta, count):
    frames[ply, _PLAYER] = player
    frames[ply, _DEPTH] = depth
    frames[ply, _ALPHA] = alpha
    frames[ply, _FIRST_ALPHA] = alpha
    frames[ply, _BETA] = beta
    frames[ply, _BEST] = -_INFINITE
    frames[ply, _BEST_HOLE] = -1
    frames[ply, _OPEN] = 0
    frames[ply, _COUNT] = count
    frames[ply, _LEFT] = count


@kernel
def _select(scores, first, count):
    """Return the row of the turn that promises most."""
    best = first
    for i in range(first + 1, first + count):
        if scores[i] > scores[best]:
            best = i
    return best


@kernel
def _back_up(frames, ply, value, is_open, hole):
    """Let a frame know what its current turn is worth to its player."""
    if value > frames[ply, _BEST]:
        frames[ply, _BEST] = value
        frames[ply, _BEST_HOLE] = hole
    if value >= frames[ply, _BETA]:
        frames[ply, _OPEN] = is_open  # this turn alone proves the bound
    else:
        frames[ply, _OPEN] |= is_open
    frames[ply, _ALPHA] = max(frames[ply, _ALPHA], value)


@kernel
def _remember(table, key, game, depth, first_alpha, beta, value, is_open, hole, network):
    """Put a searched position into the table, over whatever was there."""
    bound = _EXACT
    if value >= beta:
        bound = _AT_LEAST
    elif value <= first_alpha:
        bound = _AT_MOST
    slot = np.int64(key & np.uint64(len(table) - 1))
    table[slot, _KEY] = key
    table[slot, _PACKED] = _pack(value - _lead_in_stores(game, network), depth, bound, is_open, hole)


@kernel
def _back_up_to_root(frames, root_values, row, value, is_open, wants_all):
    """Let the root know what its current turn is worth.

    Its window stays one below the best value, so that every turn as good as the best gets its exact
    value and the choice among them is fair; where all values are wanted it stays open.
    """
    root_values[row] = value
    frames[0, _OPEN] |= is_open
    if value > frames[0, _BEST]:
        frames[0, _BEST] = value
        if not wants_all:
            frames[0, _ALPHA] = value - 1


@kernel
def _search_depth(
    rules, network, total, wants_all, frames, keys, children, scores, holes, root_values, table, ply, budget
):
    """Search the root in frame 0 to its depth, or go on with that from the frame at `ply`.

    The line being searched lies in `frames` instead of on a call stack, so the search can stop anywhere.

    Returns:
        Whether the root is done, the frame the search stands at, and what is left of the budget of
        turns.
    """
    width = len(root_values)
    while True:
        if frames[ply, _LEFT] == 0 or frames[ply, _ALPHA] >= frames[ply, _BETA]:
            if ply == 0:
                return True, 0, budget
            # 4. Remember the position: its value is found.
            mover, depth = frames[ply, _PLAYER], frames[ply, _DEPTH]
            value, is_open, hole = frames[ply, _BEST], frames[ply, _OPEN], frames[ply, _BEST_HOLE]
            first_alpha, beta, key = frames[ply, _FIRST_ALPHA], frames[ply, _BETA], keys[ply]
            ply -= 1
            row = frames[ply, _CURRENT]
            child = load(children, row)
            _remember(table, key, child, depth, first_alpha, beta, value, is_open, hole, network)
        elif budget <= 0:
            return False, ply, budget
        else:
            # 1. Select a turn.
            row = _select(scores, ply * width, frames[ply, _COUNT])
            scores[row] = _TAKEN
            frames[ply, _CURRENT] = row
            frames[ply, _LEFT] -= 1
            child = load(children, row)
            mover, depth = child.player, frames[ply, _DEPTH] - 1
            alpha, beta = frames[ply, _ALPHA], frames[ply, _BETA]
            if mover != frames[ply, _PLAYER]:  # the same player moves on where the other passes
                alpha, beta = -beta, -alpha
            # 2. Evaluate the position after it.
            if child.end != RUNNING or depth == 0:
                value = leaf_value(rules, child, total, mover, network)
                is_open = 1 if child.end == RUNNING else 0
            elif depth == 1:
                value, is_open, played = _evaluate_last_turn(rules, child, total, beta, network)
                budget -= played
            else:
                key = _key_of(child, depth)
                is_known, value, is_open, hole = _recall(table, key, child, depth, alpha, beta, network)
                # 3. Expand it.
                if not is_known:
                    ply += 1
                    count = _expand(rules, child, total, ply * width, hole, children, scores, holes, network)
                    _open_frame(frames, ply, mover, depth, alpha, beta, count)
                    keys[ply] = key
                    budget -= count
                    continue
        # 4. Back up the value.
        value = value if mover == frames[ply, _PLAYER] else -value
        if ply == 0:
            _back_up_to_root(frames, root_values, row, value, is_open, wants_all)
        else:
            _back_up(frames, ply, value, is_open, holes[row])


@kernel
def search_piece(
    rules, network, games, randoms, deepest, step, wants_all, piece, answers, memory, start, stop
):
    """Search games from start to stop, each `step` turns deeper at a time, to `deepest` turns or until
    the round is seen through.

    Returns the game it stands at after about `piece` turns; called again, it goes on from there.
    """
    frames, keys, children, scores = memory.frames, memory.keys, memory.children, memory.scores
    holes, root_values, table, progress = memory.holes, memory.root_values, memory.table, memory.progress
    actions, values, depths, nodes = answers.actions, answers.values, answers.depths, answers.nodes
    budget = piece
    b = start
    while b < stop and budget > 0:
        if not progress[ACTIVE]:
            game = load(games, b)
            total = num_seeds(game)
            count = _expand(rules, game, total, 0, -1, children, scores, holes, network)
            _open_frame(frames, 0, game.player, (deepest - 1) % step + 1, -_INFINITE, _INFINITE, count)
            progress[ACTIVE], progress[_PLY], progress[_TOTAL] = 1, 0, total
            budget -= count
            nodes[b] = count
        before = budget
        is_done, progress[_PLY], budget = _search_depth(
            rules,
            network,
            progress[_TOTAL],
            wants_all,
            frames,
            keys,
            children,
            scores,
            holes,
            root_values,
            table,
            progress[_PLY],
            budget,
        )
        nodes[b] += before - budget
        if is_done:
            depth, count, player = frames[0, _DEPTH], frames[0, _COUNT], frames[0, _PLAYER]
            depths[b] = depth
            answers.best[b] = frames[0, _BEST]
            _write_answer(rules, player, frames, holes, root_values, randoms, actions, values, b)
            if depth == deepest or not frames[0, _OPEN] or (count == 1 and not wants_all):
                progress[ACTIVE] = 0
                b += 1
            else:
                _open_frame(frames, 0, player, depth + step, -_INFINITE, _INFINITE, count)
                for i in range(count):
                    scores[i] = root_values[i]
    return b


@kernel
def _write_answer(rules, player, frames, holes, root_values, randoms, actions, values, b):
    """Write one of the best actions of a finished search, and the value of each."""
    best = 0
    for i in range(frames[0, _COUNT]):
        action = action_of(rules, player, holes[i])
        if root_values[i] == frames[0, _BEST]:
            best |= 1 << action
        if action < values.shape[1]:
            values[b, action] = root_values[i]
    _, n = random_below(randoms[b], num_bits(best))
    actions[b] = nth_bit(best, n)


class MinimaxAgent(SearchAgent):
    """Play the turn with the best margin so many turns ahead; ties at random.

    Attributes:
        last_depth: int64 `[B]`, turns searched to the end for each game of the last call; fewer than
            asked for where the round was seen through, or nothing had to be chosen.
        last_nodes: int64 `[B]`, turns played in search of each.
        last_values: float64 `[B]`, what that search found each worth to its player to move, in seeds.
    """

    last_depth: np.ndarray
    last_nodes: np.ndarray
    last_values: np.ndarray
    most_in_one_piece = _PIECE

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
        network: np.ndarray | None = None,
    ) -> None:
        """Bind the agent to a ruleset and a depth or time; see :class:`SearchAgent`.

        `network` is a packed value network (:mod:`mancala_env.networks.value`) for the leaves, None for
        the margin of counts.
        """
        super().__init__(ruleset, budget, spec=spec, seed=seed, num_threads=num_threads)
        self.last_depth = self.last_nodes = np.zeros(0, np.int64)
        self.last_values = np.zeros(0)
        self._network = network

    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game; see :meth:`Agent.act`."""
        return self._answer(games, 0, self.random_seeds(len(check_array(games)))).actions

    def action_values(self, games: np.ndarray, num_actions: int | None = None) -> np.ndarray:
        """Search every legal action of each game; see :func:`action_values`.

        Raises:
            InvalidPosition: The array has another shape or type.
            IllegalMove, ValueError: As :func:`action_values`.
        """
        games = check_array(games)
        size = self.ruleset.row_width if num_actions is None else num_actions
        if size < self.ruleset.num_holes:
            rows = (1 << self.ruleset.row_width) - 1
            elsewhere = np.flatnonzero(games[:, TERRITORY_COLUMN] != rows)
            if len(elsewhere):
                raise ValueError(
                    f"num_actions={size} is too few: in game {elsewhere[0]} territory has changed hands; "
                    f"{self.ruleset.num_holes} would be right"
                )
        return self._answer(games, size, np.zeros(len(games), np.uint64)).values

    def _answer(self, games: np.ndarray, num_values: int, randoms: np.ndarray) -> Answers:
        games = self._running(games)
        unit, is_timed = unit_of(self._network), not math.isinf(self.budget.seconds)
        answers = Answers(
            actions=np.zeros(len(games), np.int64),
            values=np.full((len(games), num_values), unit * ILLEGAL, np.int16),
            depths=np.zeros(len(games), np.int64),
            nodes=np.zeros(len(games), np.int64),
            best=np.zeros(len(games), np.int64),
        )

        def search_games(memory: Memory, start: int, stop: int, piece: int) -> int:
            return search_piece(
                self._rules,
                self._network,
                games,
                randoms,
                self.budget.steps,
                1 if is_timed else 2,
                num_values > 0,
                piece,
                answers,
                memory,
                start,
                stop,
            )

        self._search(games, search_games)
        self.last_depth, self.last_nodes = answers.depths, answers.nodes
        self.last_values = answers.best / unit
        return answers

    def _new_memory(self) -> Memory:
        num_actions = self.ruleset.num_holes
        plies = self.budget.steps + 1
        rows = plies * num_actions
        return Memory(
            frames=np.zeros((plies, FRAME_COLUMNS), np.int64),
            keys=np.zeros(plies, np.uint64),
            children=np.zeros((rows, NUM_COLUMNS), np.uint64),
            scores=np.zeros(rows, np.int64),
            holes=np.zeros(rows, np.int64),
            root_values=np.zeros(num_actions, np.int64),
            table=np.zeros((1 << min(20, self.budget.steps + 4), 2), np.uint64),
            progress=np.zeros(PROGRESS_COLUMNS, np.int64),
        )


def action_values(
    ruleset: str | Ruleset,
    games: np.ndarray,
    depth: int,
    num_actions: int | None = None,
    *,
    num_threads: int | None = None,
) -> np.ndarray:
    """Search every legal action of each game, for distillation and analysis.

    A :class:`MinimaxAgent` does the same, keeps its memory from call to call, and takes a time.

    Args:
        ruleset: The ruleset of the games.
        games: Running games, uint64 `[B, NUM_COLUMNS]`, such as ``Batch.games``; not changed.
        depth: Turns to search, the action itself included.
        num_actions: A, such as ``Batch.num_actions``; None: W, right for single rounds.
        num_threads: CPU threads; None takes every core this process may use.

    Returns:
        int16 `[B, A]`, the margin of the player to move that plain minimax finds after the action, and
        ILLEGAL where it is not legal.

    Raises:
        InvalidSpec: No such depth.
        InvalidPosition: `games` has another shape or type.
        IllegalMove: A game is over.
        ValueError: `num_actions` is too few for a game.
    """
    if not is_whole(depth) or not 1 <= depth <= MOST_TURNS:
        raise InvalidSpec(f"depth must be a whole number from 1 to {MOST_TURNS}, not {depth!r}")
    agent = MinimaxAgent(ruleset, Budget(depth), spec=f"minimax:{depth}", seed=0, num_threads=num_threads)
    return agent.action_values(games, num_actions)
