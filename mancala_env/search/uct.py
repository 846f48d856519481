"""Monte-Carlo tree search: UCT (Kocsis and Szepesvari 2006) with random rollouts and solved nodes.

Each simulation has four steps:

1. *Select*: walk down the tree by upper confidence bounds to a position that has no visits.
2. *Expand*: add the turns of a position to the tree on its second visit.
3. *Evaluate*: play the round to its end at random.
4. *Back up*: add the result to every node of the walk.

Nodes also hold bounds on the final margin. Captured seeds are safe, and a finished round has an exact margin.
Bounds are backed up as in minimax (Winands et al. 2008, MCTS-Solver; Cazenave and Saffidine 2010,
score-bounded search). So endgames are proven, not estimated. A turn that can no longer be best is pruned.

:mod:`mancala_env.agents.match` gives the kernels a table: the value of the match for each final count of the
round. Results and bounds are then match values. These can fall as the count grows, so bounds are read from
the table.

Symbols: B games, N nodes of the tree, P turns of its longest line, T seeds in all.
"""

import math
from typing import NamedTuple

import numpy as np

from mancala_env.engine.board import nth_bit, num_bits, seeds_within
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import random_below, random_hole
from mancala_env.engine.state import (
    NORTH,
    RUNNING,
    SOUTH,
    UUR,
    action_of,
    load,
    margin_for,
    num_seeds,
    owned_by,
    store_of,
)
from mancala_env.engine.turn import legal_holes, play_turn
from mancala_env.rulesets import MAX_TOTAL_SEEDS
from mancala_env.search.piecewise import ACTIVE

# Most nodes of a tree (168 MB). Once it is full, rollouts start at its leaves.
MAX_NODES = 1 << 22
# Length of the longest line: a free seed leaves the board at least every 50 turns.
MAX_LINE = 50 * MAX_TOTAL_SEEDS + 2

# Weight of the exploration term, and of the margin in the reward; chosen by measurement.
_EXPLORATION = 1.0
_MARGIN_WEIGHT = 0.3
MAX_MATCH_VALUE = 200
"""The match value of a win. The sum of ten million match values fits in 32 bits."""
LARGEST_PIECE = 1_000
"""Most simulations in one piece of a search: one or two milliseconds."""

# Columns of a node. Sums and bounds are from South's point of view.
FIRST, COUNT, VISITS, _OUTCOMES, _MARGINS, LOW, HIGH, HOLE = 0, 1, 2, 3, 4, 5, 6, 7
NODE_COLUMNS = 8
# Columns of estimates.
VALUE, _UNCERTAINTY = 0, 1
# Rows of a table of match values.
EXACT, LEAST, MOST = 0, 1, 2
# Columns of progress.
_USED = 1
PROGRESS_COLUMNS = 2


class UctMemory(NamedTuple):
    """Memory of one thread."""

    tree: np.ndarray  # int32 `[N, NODE_COLUMNS]`; the root is node 0, and the children of a node are adjacent
    # float32 `[N, 2]`, expected value of a node for the player who chooses it, and its uncertainty. The value
    # is infinite before the first visit, and minus infinite once pruned.
    estimates: np.ndarray
    path: np.ndarray  # int32 `[P, 2]`, nodes of the current walk, and the player to move at each
    rng_state: np.ndarray  # uint64 `[1]`, state of the random number generator
    progress: np.ndarray  # int64 `[PROGRESS_COLUMNS]`, state of the search between two pieces


@kernel
def _safe_seeds(rules, game, player):
    """Return the seeds that stay in a player's count until the end of the round."""
    safe = store_of(game, player)
    if rules.landing == UUR:  # nothing ever leaves an uur; other owned holes can be ransomed
        safe += seeds_within(game.board, owned_by(game, player))
    return safe


@kernel
def bounds(rules, game, total):
    """Return bounds on South's final margin."""
    if game.end != RUNNING:
        margin = margin_for(rules, game, total, SOUTH)
        return margin, margin
    return 2 * _safe_seeds(rules, game, SOUTH) - total, total - 2 * _safe_seeds(rules, game, NORTH)


@kernel
def _count_with(rules, margin):
    """Return South's count at a margin; missing seeds are divided equally."""
    return (2 * rules.width * rules.seeds + margin) // 2


@kernel
def _bounds(rules, game, total, match_values, b):
    """Return bounds on the result of a game: margins, or match values."""
    low, high = bounds(rules, game, total)
    if match_values is None:
        return low, high
    if low == high:
        value = np.int64(match_values[b, EXACT, _count_with(rules, low)])
        return value, value
    least = np.int64(match_values[b, LEAST, _count_with(rules, low)])
    return least, np.int64(match_values[b, MOST, _count_with(rules, high)])


@kernel
def write_node(tree, estimates, node, hole, low, high):
    """Write a node without visits."""
    tree[node, FIRST] = 0
    tree[node, COUNT] = 0
    tree[node, VISITS] = 0
    tree[node, _OUTCOMES] = 0
    tree[node, _MARGINS] = 0
    tree[node, LOW] = low
    tree[node, HIGH] = high
    tree[node, HOLE] = hole
    estimates[node, VALUE] = np.inf
    estimates[node, _UNCERTAINTY] = 0.0


@kernel
def add_children(rules, game, tree, estimates, node, used):
    """Add a node's children with its bounds if the tree has room; return the number of nodes in use."""
    legal = legal_holes(rules, game)
    count = num_bits(legal)
    if used + count <= len(tree):
        tree[node, FIRST] = used
        tree[node, COUNT] = count
        for i in range(count):
            write_node(tree, estimates, used + i, nth_bit(legal, i), tree[node, LOW], tree[node, HIGH])
        used += count
    return used


@kernel
def _best_child(tree, estimates, node, shift):
    """Return the child with the highest upper confidence bound, among equals the child `shift`."""
    first, count = np.int64(tree[node, FIRST]), np.int64(tree[node, COUNT])
    exploration = _EXPLORATION * math.sqrt(math.log(np.float64(tree[node, VISITS] + 1)))
    best = first + shift
    best_bound = estimates[best, VALUE] + exploration * estimates[best, _UNCERTAINTY]
    for child in range(first, first + count):
        bound = estimates[child, VALUE] + exploration * estimates[child, _UNCERTAINTY]
        if bound > best_bound:
            best, best_bound = child, bound
    return best


@kernel
def sign(number):
    """Return 1, 0 or -1."""
    return 1 if number > 0 else (-1 if number < 0 else 0)


@kernel
def reward(outcome, margin, margin_share, total):
    """Return South's reward, -1 to 1, for an outcome and a margin, or for their means."""
    return (1.0 - margin_share) * outcome + margin_share * margin / total


@kernel
def exact_reward(margin, margin_share, total):
    """Return South's reward of a final margin."""
    return reward(sign(margin), margin, margin_share, total)


@kernel
def within_bounds(value, tree, node, margin_share, total):
    """Return South's mean reward of a node, clipped to the node's proven bounds."""
    low, high = np.int64(tree[node, LOW]), np.int64(tree[node, HIGH])
    least, most = exact_reward(low, margin_share, total), exact_reward(high, margin_share, total)
    return min(max(value, least), most)


@kernel
def _value(tree, node, total, match_values):
    """Return South's mean reward of a visited node, clipped to its proven bounds."""
    visits = np.float64(tree[node, VISITS])
    if match_values is not None:
        mean = tree[node, _OUTCOMES] / visits
        return min(max(mean, np.float64(tree[node, LOW])), np.float64(tree[node, HIGH])) / MAX_MATCH_VALUE
    mean = reward(tree[node, _OUTCOMES] / visits, tree[node, _MARGINS] / visits, _MARGIN_WEIGHT, total)
    return within_bounds(mean, tree, node, _MARGIN_WEIGHT, total)


@kernel
def _evaluate(rules, game, total, match_values, b, rng_state):
    """Play a game to the end of its round at random; return the result and the generator's state."""
    while game.end == RUNNING:
        rng_state, hole = random_hole(rules, game, rng_state)
        game = play_turn(rules, game, hole)[0]
    return _bounds(rules, game, total, match_values, b)[0], rng_state


@kernel
def tighten(tree, estimates, node, player):
    """Tighten a node's bounds by those of its children; return whether they changed.

    A child that cannot improve the result proven for the node's player is pruned.
    """
    first, count = tree[node, FIRST], tree[node, COUNT]
    low, high = tree[first, LOW], tree[first, HIGH]
    for child in range(first + 1, first + count):
        if player == SOUTH:
            low, high = max(low, tree[child, LOW]), max(high, tree[child, HIGH])
        else:
            low, high = min(low, tree[child, LOW]), min(high, tree[child, HIGH])
    low, high = max(low, tree[node, LOW]), min(high, tree[node, HIGH])
    has_changed = low != tree[node, LOW] or high != tree[node, HIGH]
    tree[node, LOW] = low
    tree[node, HIGH] = high
    for child in range(first, first + count):
        is_open = tree[child, LOW] < tree[child, HIGH]
        if player == SOUTH:
            is_pruned = tree[child, HIGH] < low or (is_open and tree[child, HIGH] == low)
        else:
            is_pruned = tree[child, LOW] > high or (is_open and tree[child, LOW] == high)
        if is_pruned:
            estimates[child, VALUE] = -np.inf
    return has_changed


@kernel
def _back_up(memory, length, result, total, match_values):
    """Add a result to every node of a walk, from its end, and tighten the bounds above a change."""
    tree, estimates, path = memory.tree, memory.estimates, memory.path
    has_changed = True
    for ply in range(length - 1, -1, -1):
        node = path[ply, 0]
        tree[node, VISITS] += 1
        if match_values is None:
            tree[node, _OUTCOMES] += sign(result)
            tree[node, _MARGINS] += result
        else:
            tree[node, _OUTCOMES] += result
        if has_changed and tree[node, COUNT] > 0:
            has_changed = tighten(tree, estimates, node, path[ply, 1])
        if ply > 0:
            value = _value(tree, node, total, match_values)
            estimates[node, VALUE] = value if path[ply - 1, 1] == SOUTH else -value
            estimates[node, _UNCERTAINTY] = 1.0 / math.sqrt(np.float64(tree[node, VISITS]))


@kernel
def _simulate(rules, game, total, match_values, b, memory):
    """Run one simulation from the root."""
    tree, estimates, path, progress = memory.tree, memory.estimates, memory.path, memory.progress
    rng_state = memory.rng_state[0]
    node, length, is_new = 0, 0, False
    while True:
        path[length, 0] = node
        path[length, 1] = game.player
        length += 1
        if not is_new:
            # The result of a proven node is known.
            if tree[node, LOW] == tree[node, HIGH]:
                result = np.int64(tree[node, LOW])
                break
            # 2. Expand, if the tree has room.
            if tree[node, COUNT] == 0:
                progress[_USED] = add_children(rules, game, tree, estimates, node, progress[_USED])
        # 3. Evaluate on the first visit, and where the tree is full.
        if tree[node, COUNT] == 0:
            result, rng_state = _evaluate(rules, game, total, match_values, b, rng_state)
            break
        # 1. Select.
        rng_state, shift = random_below(rng_state, np.int64(tree[node, COUNT]))
        node = _best_child(tree, estimates, node, shift)
        game = play_turn(rules, game, np.int64(tree[node, HOLE]))[0]
        is_new = tree[node, VISITS] == 0
        if is_new:
            tree[node, LOW], tree[node, HIGH] = _bounds(rules, game, total, match_values, b)
    # 4. Back up.
    memory.rng_state[0] = rng_state
    _back_up(memory, length, result, total, match_values)


@kernel
def choose(tree, estimates, root, player, rng_state, win=1):
    """Return the child of a root to play; a result of at least `win` is a win.

    Of the children that can still be best, it is the one with the most visits. The value breaks ties. Once a
    win is proven, only proven wins are considered. Once the value of the root is proven, only children that
    reach it are considered.
    """
    first, count = np.int64(tree[root, FIRST]), np.int64(tree[root, COUNT])
    best_proven = -MAX_TOTAL_SEEDS
    for child in range(first, first + count):
        proven = tree[child, LOW] if player == SOUTH else -tree[child, HIGH]
        best_proven = max(best_proven, proven)
    least = -MAX_TOTAL_SEEDS
    if tree[root, LOW] == tree[root, HIGH]:
        least = best_proven
    elif best_proven >= win:
        least = win
    best, best_visits, best_value = 0, -1, 0.0
    for child in range(first, first + count):
        low = tree[child, LOW] if player == SOUTH else -tree[child, HIGH]
        high = tree[child, HIGH] if player == SOUTH else -tree[child, LOW]
        if high < best_proven or low < least:
            continue
        visits = np.int64(tree[child, VISITS])
        value = np.float64(estimates[child, VALUE]) if visits > 0 else 0.0
        if visits > best_visits or (visits == best_visits and value > best_value):
            best, best_visits, best_value = 0, visits, value
        if visits == best_visits and value == best_value:
            best |= 1 << (child - first)
    _, n = random_below(rng_state, num_bits(best))
    return first + nth_bit(best, n)


@kernel
def search_piece(
    rules, games, rng_states, simulations, match_values, actions, done, memory, start, stop, piece
):
    """Search games `start` to `stop`, for about `piece` simulations.

    A game is searched for `simulations` simulations, or until its value is proven. If only one action is
    legal, it is not searched. `match_values` is None, or int32 `[B, 3, T + 1]`. Its rows have, for each final
    count of South: the match value, -MAX_MATCH_VALUE to MAX_MATCH_VALUE; the smallest match value of this and
    all larger counts; the largest of this and all smaller counts.

    Returns the current game. Call the function again with that game to resume the search.
    """
    tree, estimates, progress = memory.tree, memory.estimates, memory.progress
    budget = piece
    b = start
    while b < stop and budget > 0:
        root = load(games, b)
        total = num_seeds(root)
        if not progress[ACTIVE]:
            low, high = _bounds(rules, root, total, match_values, b)
            write_node(tree, estimates, 0, 0, low, high)
            memory.rng_state[0] = rng_states[b]
            progress[ACTIVE] = 1
            progress[_USED] = add_children(rules, root, tree, estimates, 0, 1)
        is_over = False
        while budget > 0 and not is_over:
            _simulate(rules, root, total, match_values, b, memory)
            done[b] += 1
            budget -= 1
            is_over = done[b] == simulations or tree[0, COUNT] == 1 or tree[0, LOW] == tree[0, HIGH]
        win = 1 if match_values is None else MAX_MATCH_VALUE
        child = choose(tree, estimates, 0, root.player, memory.rng_state[0], win)
        actions[b] = action_of(rules, root.player, np.int64(tree[child, HOLE]))
        if is_over:
            progress[ACTIVE] = 0
            b += 1
    return b


def new_memory(num_holes: int, simulations: int) -> UctMemory:
    """Allocate the memory of one thread for searches of up to `simulations` simulations."""
    # A simulation adds at most the children of one node, and the root has its own.
    nodes = min(MAX_NODES, 1 + (simulations + 1) * num_holes)
    return UctMemory(
        tree=np.empty((nodes, NODE_COLUMNS), np.int32),
        estimates=np.empty((nodes, 2), np.float32),
        path=np.empty((MAX_LINE, 2), np.int32),
        rng_state=np.zeros(1, np.uint64),
        progress=np.zeros(PROGRESS_COLUMNS, np.int64),
    )
