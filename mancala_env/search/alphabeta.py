"""Alpha-beta search to a fixed depth, on the engine's kernels.

Every value equals that of plain minimax to the same depth, regardless of the transposition table. So the
choice depends only on the position and the seed. The value of a leaf is the margin of counts (RULES 4), or
that of a value network (:mod:`mancala_env.networks.value`). Without a network, the compiled kernels contain
no network code.

**The steps.** The positions from the root to the current position lie in frames, so the search can stop
anywhere. It goes one or two turns deeper at a time. For each depth it repeats:

1. *Select* the most promising turn of the current position, unless no turn is left or its window is closed.
2. *Evaluate* the position after that turn if the round is over or the horizon is reached. One turn before the
   horizon, evaluate every position that its turns lead to. Elsewhere use the value in the table if it decides
   the position.
3. *Expand* the position otherwise: it becomes the current position. Its turns are played, and ordered by the
   leaf values after them. Return to step 1.
4. *Back up* the value to the previous position. If the position was expanded, store the value in the table.

The seeds in the stores only add to a position's value. So the table holds values without the stores. A board
that is reached again with other captures is found.

Symbols: W row width, B games, A actions, P turns of the deepest line.
"""

from typing import NamedTuple

import numpy as np

from mancala_env.engine.board import nth_bit, num_bits
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import random_below
from mancala_env.engine.state import NUM_COLUMNS, RUNNING, SOUTH, action_of, load, num_seeds, save
from mancala_env.engine.turn import STALL_LIMIT, legal_holes, play_turn
from mancala_env.networks.value import unbounded_leaf_value, unit_of, within_total
from mancala_env.search.limit import Limit
from mancala_env.search.piecewise import ACTIVE

ILLEGAL = -1000
"""The value of an illegal action; every margin is at least -255."""

_INFINITE = 1_000_000
_TAKEN = -_INFINITE
# Added to the score of the best turn in the table, so that it is tried first.
_REMEMBERED = 10_000
LARGEST_PIECE = 20_000
"""Most turns in one piece of a search: one or two milliseconds."""

# Columns of a frame: a position on the line being searched, seen by its player to move.
_PLAYER, _DEPTH, _ALPHA, _BETA, _FIRST_ALPHA = range(5)
_BEST, _BEST_HOLE, _OPEN, _COUNT, _LEFT, _CURRENT = range(5, 11)
FRAME_COLUMNS = 11
# Columns of progress: the current frame, and the seeds of its game.
_PLY, _TOTAL = 1, 2
PROGRESS_COLUMNS = 3
# Relation of a value in the table to the true value.
_EXACT, _AT_LEAST, _AT_MOST = 0, 1, 2
# Columns of the table, and the first bit of each packed field. A value takes 16 bits, biased.
_KEY, _PACKED = 0, 1
_DEPTH_SHIFT, _BOUND_SHIFT, _OPEN_SHIFT, _HOLE_SHIFT = 16, 24, 26, 27
_VALUE_BIAS = 1 << 15

_HASH1, _HASH2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_HASH3, _HASH4 = np.uint64(0x94D049BB133111EB), np.uint64(0xD6E8FEB86659FD93)
_U29, _U32 = np.uint64(29), np.uint64(32)


class AlphaBetaMemory(NamedTuple):
    """Memory of one thread."""

    frames: np.ndarray  # int64 `[P, FRAME_COLUMNS]`, the positions on the line being searched
    keys: np.ndarray  # uint64 `[P]`, their keys in the table
    children: np.ndarray  # uint64 `[P * A, NUM_COLUMNS]`, the positions after each turn of each frame
    scores: np.ndarray  # int64 `[P * A]`, order in which they are tried, the highest first; _TAKEN once tried
    holes: np.ndarray  # int64 `[P * A]`, the holes these turns start from
    root_values: np.ndarray  # int64 `[A]`, value of each turn of the root in the current depth
    table: np.ndarray  # uint64 `[S, 2]`, the transposition table: key and packed value; S is a power of two
    progress: np.ndarray  # int64 `[PROGRESS_COLUMNS]`, state of the search between two pieces


class AlphaBetaResults(NamedTuple):
    """Results of a search, by game."""

    actions: np.ndarray  # int64 `[B]`, the chosen actions
    values: np.ndarray  # int16 `[B, A]`, value of each action; written on request
    depths: np.ndarray  # int64 `[B]`, depth of the last finished search
    nodes: np.ndarray  # int64 `[B]`, turns played
    best: np.ndarray  # int64 `[B]`, value of the best action, in units of the search


@kernel
def _key_of(rules, game, total, depth):
    """Hash everything that the value of a position depends on, `depth` turns before the horizon.

    The stores are excluded; see the module's docstring. The stall counter is excluded where no line is long
    enough to end the round by it. All seeds of the game bound the value of a network; a position without its
    captured seeds has fewer than the start.
    """
    stall = game.stall if game.stall + depth >= STALL_LIMIT else -1
    facts = game.owned_south | (game.owned_north << 24) | (game.player << 48) | ((stall + 1) << 49)
    facts |= (total ^ (2 * rules.width * rules.seeds)) << 56
    key = (game.board.low ^ (np.uint64(facts) * _HASH1)) * _HASH2
    key = ((key ^ (key >> _U29)) + game.board.middle) * _HASH3
    key = ((key ^ (key >> _U32)) + (game.board.high ^ (np.uint64(game.territory) * _HASH1))) * _HASH4
    return key ^ (key >> _U29)


@kernel
def _lead_in_stores(game, network):
    """Return the lead of the store of the player to move, in units of a value."""
    lead = unit_of(network) * (game.store_south - game.store_north)
    return lead if game.player == SOUTH else -lead


@kernel
def _recall(table, key, game, depth, alpha, beta, network):
    """Look a position up: a value searched to exactly this depth, or one that the horizon does not affect.

    Return whether the value settles the position for the window, the value, whether it depends on the horizon
    (0 or 1), and the hole of the best known turn or -1.
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

    Return the value for the player to move (a lower bound from beta on), whether it depends on the horizon
    (0 or 1), and the turns played.
    """
    mover = game.player
    legal = legal_holes(rules, game)
    best, is_open, played = -_INFINITE, 0, 0
    for i in range(num_bits(legal)):
        after = play_turn(rules, game, nth_bit(legal, i))[0]
        value = unbounded_leaf_value(rules, after, total, mover, network)
        played += 1
        is_leaf = 1 if after.end == RUNNING else 0
        if value >= beta:
            return value, is_leaf, played
        best = max(best, value)
        is_open |= is_leaf
    return best, is_open, played


@kernel
def _expand(rules, game, total, ply, remembered_hole, memory, network):
    """Play every turn of the position at `ply` and return their number. A score is the value of a leaf."""
    first = ply * len(memory.root_values)
    legal = legal_holes(rules, game)
    count = num_bits(legal)
    for i in range(count):
        hole = nth_bit(legal, i)
        after = play_turn(rules, game, hole)[0]
        save(memory.children, first + i, after)
        score = unbounded_leaf_value(rules, after, total, game.player, network)
        memory.scores[first + i] = score + (_REMEMBERED if hole == remembered_hole else 0)
        memory.holes[first + i] = hole
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
    """Return the row of the turn with the highest score."""
    best = first
    for i in range(first + 1, first + count):
        if scores[i] > scores[best]:
            best = i
    return best


@kernel
def _back_up(frames, ply, value, is_open, hole):
    """Write the value of a frame's current turn, for its player, to the frame."""
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
    """Write a searched position to the table, replacing the entry in its slot."""
    bound = _AT_LEAST if value >= beta else (_AT_MOST if value <= first_alpha else _EXACT)
    packed = (value - _lead_in_stores(game, network) + _VALUE_BIAS) | (depth << _DEPTH_SHIFT)
    packed |= (bound << _BOUND_SHIFT) | (is_open << _OPEN_SHIFT) | (hole << _HOLE_SHIFT)
    slot = np.int64(key & np.uint64(len(table) - 1))
    table[slot, _KEY] = key
    table[slot, _PACKED] = np.uint64(packed)


@kernel
def _back_up_to_root(frames, root_values, row, value, is_open, wants_all):
    """Write the value of the root's current turn.

    The window stays one below the best value. So every turn as good as the best gets its exact value, and
    the choice among them is fair. With `wants_all` the window stays open.
    """
    root_values[row] = value
    frames[0, _OPEN] |= is_open
    if value > frames[0, _BEST]:
        frames[0, _BEST] = value
        if not wants_all:
            frames[0, _ALPHA] = value - 1


@kernel
def _search_depth(rules, network, wants_all, memory, budget):
    """Search the root in frame 0 to its depth, or resume that search.

    Return whether the root is done, and the remaining budget of turns.
    """
    frames, keys, children, progress = memory.frames, memory.keys, memory.children, memory.progress
    width = len(memory.root_values)
    ply, total = progress[_PLY], progress[_TOTAL]
    while True:
        if frames[ply, _LEFT] == 0 or frames[ply, _ALPHA] >= frames[ply, _BETA]:
            if ply == 0:
                progress[_PLY] = 0
                return True, budget
            # 4. Store the position, whose value is known now.
            mover, depth = frames[ply, _PLAYER], frames[ply, _DEPTH]
            value, is_open, hole = frames[ply, _BEST], frames[ply, _OPEN], frames[ply, _BEST_HOLE]
            first_alpha, beta, key = frames[ply, _FIRST_ALPHA], frames[ply, _BETA], keys[ply]
            ply -= 1
            row = frames[ply, _CURRENT]
            child = load(children, row)
            _remember(memory.table, key, child, depth, first_alpha, beta, value, is_open, hole, network)
        elif budget <= 0:
            progress[_PLY] = ply
            return False, budget
        else:
            # 1. Select a turn.
            row = _select(memory.scores, ply * width, frames[ply, _COUNT])
            memory.scores[row] = _TAKEN
            frames[ply, _CURRENT] = row
            frames[ply, _LEFT] -= 1
            child = load(children, row)
            mover, depth = child.player, frames[ply, _DEPTH] - 1
            alpha, beta = frames[ply, _ALPHA], frames[ply, _BETA]
            if mover != frames[ply, _PLAYER]:  # unless the other player passes
                alpha, beta = -beta, -alpha
            # 2. Evaluate the position after it.
            if child.end != RUNNING or depth == 0:
                value = unbounded_leaf_value(rules, child, total, mover, network)
                is_open = 1 if child.end == RUNNING else 0
            elif depth == 1:
                value, is_open, played = _evaluate_last_turn(rules, child, total, beta, network)
                budget -= played
            else:
                key = _key_of(rules, child, total, depth)
                is_known, value, is_open, hole = _recall(
                    memory.table, key, child, depth, alpha, beta, network
                )
                # 3. Expand it.
                if not is_known:
                    ply += 1
                    count = _expand(rules, child, total, ply, hole, memory, network)
                    _open_frame(frames, ply, mover, depth, alpha, beta, count)
                    keys[ply] = key
                    budget -= count
                    continue
        # 4. Back up the value.
        value = value if mover == frames[ply, _PLAYER] else -value
        if ply == 0:
            _back_up_to_root(frames, memory.root_values, row, value, is_open, wants_all)
        else:
            _back_up(frames, ply, value, is_open, memory.holes[row])


@kernel
def search_piece(
    rules, network, games, rng_states, deepest, step, wants_all, piece, results, memory, start, stop
):
    """Search games `start` to `stop`, for about `piece` turns.

    Each game is searched `step` turns deeper at a time, to `deepest` turns or to the end of every line.
    `network` is None, or a packed value network.

    Returns the current game. Call the function again with that game to resume the search.
    """
    frames, progress = memory.frames, memory.progress
    budget = piece
    b = start
    while b < stop and budget > 0:
        if not progress[ACTIVE]:
            game = load(games, b)
            total = num_seeds(game)
            count = _expand(rules, game, total, 0, -1, memory, network)
            _open_frame(frames, 0, game.player, (deepest - 1) % step + 1, -_INFINITE, _INFINITE, count)
            progress[ACTIVE], progress[_PLY], progress[_TOTAL] = 1, 0, total
            budget -= count
            results.nodes[b] = count
        before = budget
        is_done, budget = _search_depth(rules, network, wants_all, memory, budget)
        results.nodes[b] += before - budget
        if is_done:
            _write_result(rules, network, memory, rng_states[b], results, b)
            depth, count = frames[0, _DEPTH], frames[0, _COUNT]
            if depth == deepest or not frames[0, _OPEN] or (count == 1 and not wants_all):
                progress[ACTIVE] = 0
                b += 1
            else:
                _open_frame(frames, 0, frames[0, _PLAYER], depth + step, -_INFINITE, _INFINITE, count)
                for i in range(count):
                    memory.scores[i] = memory.root_values[i]
    return b


@kernel
def _write_result(rules, network, memory, rng_state, results, b):
    """Write the depth of a finished search, one of the best actions, and the value of each action."""
    frames, root_values = memory.frames, memory.root_values
    results.depths[b] = frames[0, _DEPTH]
    results.best[b] = within_total(frames[0, _BEST], memory.progress[_TOTAL], network)
    best = 0
    for i in range(frames[0, _COUNT]):
        action = action_of(rules, frames[0, _PLAYER], memory.holes[i])
        if root_values[i] == frames[0, _BEST]:
            best |= 1 << action
        if action < results.values.shape[1]:
            results.values[b, action] = within_total(root_values[i], memory.progress[_TOTAL], network)
    _, n = random_below(rng_state, num_bits(best))
    results.actions[b] = nth_bit(best, n)


def new_memory(num_actions: int, limit: Limit) -> AlphaBetaMemory:
    """Allocate the memory of one thread for searches within a limit of depth, nodes or seconds."""
    deepest = limit.max_depth
    bits = min(20, deepest + 4)
    if limit.nodes is not None:  # each entry of the table costs a node
        bits = min(bits, limit.nodes.bit_length())
    plies = deepest + 1
    rows = plies * num_actions
    return AlphaBetaMemory(
        frames=np.zeros((plies, FRAME_COLUMNS), np.int64),
        keys=np.zeros(plies, np.uint64),
        children=np.zeros((rows, NUM_COLUMNS), np.uint64),
        scores=np.zeros(rows, np.int64),
        holes=np.zeros(rows, np.int64),
        root_values=np.zeros(num_actions, np.int64),
        table=np.zeros((1 << bits, 2), np.uint64),
        progress=np.zeros(PROGRESS_COLUMNS, np.int64),
    )
