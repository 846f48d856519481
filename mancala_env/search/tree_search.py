"""Tree search guided by a network: PUCT (Silver et al. 2017, "AlphaGo Zero").

Each simulation has four steps:

1. *Select*: walk down the tree by the value and the prior of each turn, to a position whose turns are not in
   the tree yet.
2. *Evaluate* the position.
3. *Expand*: add its turns to the tree.
4. *Back up*: add the value to every node of the walk.

Endgames are proven as in :mod:`mancala_env.search.uct`. Positions are evaluated in one of two ways:

- A value network (:mod:`mancala_env.networks.value`) evaluates every turn of a position in the kernel. Priors
  are computed from these values, because the priors of a policy network made the play weaker.
- A function of yours, such as a torch network, returns logits and values of many positions at once. So all
  games are searched side by side, and several simulations of a tree run at once. A simulation in flight
  counts as a lost game ("virtual loss"), so the next simulation takes another path. The number of simulations
  in flight depends only on the tree. So the search of a game does not depend on the other games.

**Gumbel** (Danihelka et al. 2022, "Policy improvement by planning with Gumbel"). At a root, actions may be
selected by sequential halving instead: all considered actions get equally many simulations, then the better
half of them, and so on. An action's score is its Gumbel noise plus its logit plus its scaled value. The value
of an unvisited action is a mean of the network's value and the visited actions' values. The policy is
the softmax of logits plus scaled values. Constants are those of mctx.

:mod:`mancala_env.search.tree_growth` runs these kernels.

Symbols: B games, A actions, H holes, N nodes of all trees, S simulations in flight, P turns of the longest
line.
"""

import math
from typing import NamedTuple

import numpy as np

from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import SOUTH, action_of, load, num_seeds, save
from mancala_env.engine.turn import play_turn
from mancala_env.networks.value import UNIT, leaf_value
from mancala_env.rulesets import Ruleset
from mancala_env.search.uct import (
    COUNT,
    FIRST,
    HIGH,
    HOLE,
    LOW,
    VALUE,
    VISITS,
    add_children,
    bounds,
    choose,
    exact_reward,
    reward,
    tighten,
    within_bounds,
    write_node,
)

# Weight of the priors; chosen by matches.
_EXPLORATION = 1.0
# The assumed value of an unvisited turn is that of its position less this.
_UNVISITED_PENALTY = 0.2
MAX_IN_FLIGHT = 8
"""Most simulations of a tree in flight."""
MARGIN_SHARE = 0.3
"""Weight of the margin in the reward, as in UCT."""
DECISIVE_MARGIN = 6.0
"""Margin in seeds that nearly decides a game."""
PIECE = 200
"""Simulations of a tree at a time with a value network."""
# The temperature of a value network's priors.
_TEMPERATURE = 0.4
MAX_LINE = 200
"""Most turns of a simulation; its last position is evaluated."""
# Scale of the values in Gumbel's scores: _VALUE_SCALE * (_FIRST_VISITS + visits of the most visited action).
_VALUE_SCALE, _FIRST_VISITS = 0.1, 50.0

# Column of a node besides those of UCT: simulations in flight. Column of estimates: the prior.
_IN_FLIGHT, _PRIOR = 3, 1


class SearchTrees(NamedTuple):
    """Search trees of some games; the root of game b is node b."""

    tree: np.ndarray  # int32 `[N, NODE_COLUMNS]`, as in :mod:`mancala_env.search.uct`; bounds are for South
    # float32 `[N, 2]`, expected value of a node for the player who chooses it, and its prior. The value of a
    # pruned node is minus infinity. The value of a root is the function's, for its player to move.
    estimates: np.ndarray
    sums: np.ndarray  # float64 `[N]`, sum of the backed-up values, for South


class GumbelRoots(NamedTuple):
    """What selects the actions of roots by sequential halving."""

    noise: np.ndarray  # float64 `[B, H]`, Gumbel noise of each legal action, in order
    # int32 `[H + 1, S]`, number of visits of the action to select, for each number of legal actions and each
    # simulation after the first
    schedule: np.ndarray


class PendingSimulations(NamedTuple):
    """Simulations that wait for the evaluation of their last positions."""

    leaves: np.ndarray  # uint64 `[S, NUM_COLUMNS]`, positions to evaluate
    nodes: np.ndarray  # int64 `[S]`, nodes of these positions
    paths: np.ndarray  # int32 `[S, P, 2]`, nodes from the root, and the player to move at each
    lengths: np.ndarray  # int64 `[S]`, lengths of the paths


@kernel
def _best_child(tree, estimates, node):
    """Return the child to walk to by PUCT; simulations in flight count as lost."""
    first, count = np.int64(tree[node, FIRST]), np.int64(tree[node, COUNT])
    tried = np.float64(tree[node, VISITS] + tree[node, _IN_FLIGHT])
    scale = _EXPLORATION * math.sqrt(tried)
    best, best_bound = first, -np.inf
    for child in range(first, first + count):
        visits, in_flight = np.float64(tree[child, VISITS]), np.float64(tree[child, _IN_FLIGHT])
        known = max(visits, 1.0)
        value = (estimates[child, VALUE] * known - in_flight) / (known + in_flight)
        bound = value + scale * estimates[child, _PRIOR] / (1.0 + visits + in_flight)
        if bound > best_bound:
            best, best_bound = child, bound
    return best


@kernel
def _back_up(trees, paths, walk, length, value, margin_share, total):
    """Add South's value to every node of a walk, from its end, and tighten the bounds above a change."""
    tree, estimates, sums = trees
    has_changed = True
    for ply in range(length - 1, -1, -1):
        node = np.int64(paths[walk, ply, 0])
        tree[node, VISITS] += 1
        tree[node, _IN_FLIGHT] -= 1
        sums[node] += value
        if has_changed and tree[node, COUNT] > 0:
            has_changed = tighten(tree, estimates, node, paths[walk, ply, 1])
        if ply > 0 and estimates[node, VALUE] > -np.inf:
            mean = within_bounds(sums[node] / tree[node, VISITS], tree, node, margin_share, total)
            estimates[node, VALUE] = mean if paths[walk, ply - 1, 1] == SOUTH else -mean


@kernel
def _scale_of_values(trees, root):
    """Return the value of unvisited actions of a root, the smallest value, and the scale of values."""
    tree, estimates, _ = trees
    first, count = np.int64(tree[root, FIRST]), np.int64(tree[root, COUNT])
    visits, most, priors, weighted = 0.0, 0.0, 0.0, 0.0
    low, high = np.inf, -np.inf
    for child in range(first, first + count):
        value, prior = np.float64(estimates[child, VALUE]), max(np.float64(estimates[child, _PRIOR]), 1e-30)
        if tree[child, VISITS] > 0 and value > -np.inf:
            visits += tree[child, VISITS]
            most = max(most, np.float64(tree[child, VISITS]))
            priors += prior
            weighted += prior * value
            low, high = min(low, value), max(high, value)
    unvisited = np.float64(estimates[root, VALUE])
    if priors > 0.0:
        unvisited = (unvisited + visits * weighted / priors) / (visits + 1.0)
    low, high = min(low, unvisited), max(high, unvisited)
    return unvisited, low, _VALUE_SCALE * (_FIRST_VISITS + most) / max(high - low, 1e-8)


@kernel
def _improved_logit(trees, child, unvisited, low, scale):
    """Return the logit of a root's action plus its scaled value; minus infinity if it is pruned."""
    value = np.float64(trees.estimates[child, VALUE])
    if value == -np.inf:
        return value
    if trees.tree[child, VISITS] == 0:
        value = unvisited
    return math.log(max(np.float64(trees.estimates[child, _PRIOR]), 1e-30)) + scale * (value - low)


@kernel
def _gumbel_child(trees, root, gumbel, visits):
    """Return the child of a root with the best score of those with a number of visits, or nearest to it."""
    tree = trees.tree
    first, count = np.int64(tree[root, FIRST]), np.int64(tree[root, COUNT])
    unvisited, low, scale = _scale_of_values(trees, root)
    best, best_score, best_distance = first, -np.inf, 1 << 30
    for child in range(first, first + count):
        score = _improved_logit(trees, child, unvisited, low, scale) + gumbel.noise[root, child - first]
        distance = abs(np.int64(tree[child, VISITS] + tree[child, _IN_FLIGHT]) - visits)
        is_open = score > -np.inf
        if is_open and (distance < best_distance or (distance == best_distance and score > best_score)):
            best, best_score, best_distance = child, score, distance
    return best


@kernel
def _child_to_walk_to(trees, node, root, gumbel, simulation):
    """Return the child of a node that a simulation walks to."""
    if gumbel is not None:  # noqa: SIM102  (nested, so that numba removes it without Gumbel roots)
        if node == root:
            visits = np.int64(gumbel.schedule[np.int64(trees.tree[root, COUNT]), simulation - 1])
            return _gumbel_child(trees, root, gumbel, visits)
    return _best_child(trees.tree, trees.estimates, node)


@kernel
def _select(rules, game, total, trees, root, paths, walk, gumbel, simulation):
    """Walk from a root to a proven or unexpanded node; return its game, the node and the length."""
    tree = trees.tree
    node, length = root, 0
    while True:
        paths[walk, length, 0] = node
        paths[walk, length, 1] = game.player
        length += 1
        tree[node, _IN_FLIGHT] += 1
        if tree[node, LOW] == tree[node, HIGH] or tree[node, COUNT] == 0 or length == MAX_LINE:
            return game, node, length
        node = _child_to_walk_to(trees, node, root, gumbel, simulation)
        game = play_turn(rules, game, np.int64(tree[node, HOLE]))[0]
        if tree[node, VISITS] == 0:
            tree[node, LOW], tree[node, HIGH] = bounds(rules, game, total)


@kernel
def write_roots(rules, games, trees):
    """Write the roots of some trees."""
    for b in range(len(games)):
        game = load(games, b)
        low, high = bounds(rules, game, num_seeds(game))
        write_node(trees.tree, trees.estimates, b, 0, low, high)
        trees.sums[b] = 0.0


def reward_of(margins: np.ndarray, margin_share: float, ruleset: Ruleset) -> np.ndarray:
    """Return the rewards of expected margins in seeds, float32 `[N]`, -1 to 1.

    `margin_share`, 0 to 1, is the weight of the margin. The outcome has the remaining weight.
    """
    shares = np.clip(margins / ruleset.total_seeds, -1, 1)
    outcomes = np.tanh(margins / DECISIVE_MARGIN)
    return ((1 - margin_share) * outcomes + margin_share * shares).astype(np.float32)


@kernel
def _evaluate_and_expand(rules, network, game, total, trees, node, used):
    """Add a node's children, each with the value network's value and the prior that follows from it.

    Returns the number of nodes in use, and South's reward of the child that is best for the player to move.
    """
    tree, estimates, sums = trees
    first, used = used, add_children(rules, game, tree, estimates, node, used)
    best, best_south = -np.inf, 0.0
    for child in range(first, used):
        after = play_turn(rules, game, np.int64(tree[child, HOLE]))[0]
        low, high = bounds(rules, after, total)
        tree[child, LOW], tree[child, HIGH] = low, high
        sums[child] = 0.0
        if low < high:
            margin = leaf_value(rules, after, total, SOUTH, network) / UNIT
            south = reward(math.tanh(margin / DECISIVE_MARGIN), margin, MARGIN_SHARE, total)
        else:
            south = exact_reward(low, MARGIN_SHARE, total)
        value = south if game.player == SOUTH else -south
        estimates[child, VALUE] = value
        estimates[child, _PRIOR] = value
        if value > best:
            best, best_south = value, south
    _normalise_priors(estimates, first, used, best, _TEMPERATURE)
    return used, best_south


@kernel
def _normalise_priors(estimates, first, end, most, temperature):
    """Turn the logits in the priors of some nodes into probabilities; `most` is the largest logit."""
    sum_of_priors = 0.0
    for node in range(first, end):
        prior = math.exp((estimates[node, _PRIOR] - most) / temperature)
        estimates[node, _PRIOR] = prior
        sum_of_priors += prior
    for node in range(first, end):
        estimates[node, _PRIOR] /= sum_of_priors


@kernel
def run_simulations(
    rules, network, games, rows, most, per_flight, margin_share, gumbel, trees, done, pending, used
):
    """Run simulations in the trees of some games, `most` in all; one more in flight for `per_flight` visits.

    `gumbel` is None, or the :class:`GumbelRoots` of all games. Simulations that end at a proven node are
    backed up at once. With a value network, all are.

    Returns the number of positions that wait for evaluation, and the number of nodes in use.
    """
    tree, paths = trees.tree, pending.paths
    waiting = 0
    for b in rows:
        root = load(games, b)
        total = num_seeds(root)
        at_once = PIECE
        if network is None:
            at_once = min(MAX_IN_FLIGHT, 1 + done[b] // per_flight)
        at_once = min(at_once, most - done[b])
        for _ in range(at_once):
            game, node, length = _select(rules, root, total, trees, b, paths, waiting, gumbel, done[b])
            done[b] += 1
            is_proven = tree[node, LOW] == tree[node, HIGH]
            if is_proven or network is not None:
                if is_proven:
                    value = exact_reward(np.int64(tree[node, LOW]), margin_share, total)
                elif tree[node, COUNT] == 0:
                    used, value = _evaluate_and_expand(rules, network, game, total, trees, node, used)
                else:
                    value = trees.sums[node] / tree[node, VISITS]
                _back_up(trees, paths, waiting, length, value, margin_share, total)
                if tree[b, LOW] == tree[b, HIGH]:
                    break
                continue
            save(pending.leaves, waiting, game)
            pending.nodes[waiting] = node
            pending.lengths[waiting] = length
            waiting += 1
    return waiting, used


@kernel
def expand_and_back_up(rules, pending, waiting, logits, values, margin_share, trees, used):
    """Expand each evaluated position and back its value up; return the number of nodes in use."""
    tree, estimates, sums = trees
    for walk in range(waiting):
        game = load(pending.leaves, walk)
        node = pending.nodes[walk]
        value = np.float64(values[walk])
        if tree[node, COUNT] == 0:
            first, used = used, add_children(rules, game, tree, estimates, node, used)
            for child in range(first, used):
                estimates[child, VALUE] = max(value - _UNVISITED_PENALTY, -1.0)
                sums[child] = 0.0
            _write_priors(rules, game.player, logits, walk, trees, node)
        south = value if game.player == SOUTH else -value
        length, total = pending.lengths[walk], num_seeds(game)
        if length == 1:
            estimates[node, VALUE] = value
        _back_up(trees, pending.paths, walk, length, south, margin_share, total)
    return used


@kernel
def _write_priors(rules, player, logits, row, trees, node):
    """Write the priors of a node's children from a row of logits.

    An action in territory that has changed hands, unknown to a network of single rounds, gets the lowest
    known prior. If no action is known, all priors are equal.
    """
    tree, estimates, _ = trees
    first, count, known = np.int64(tree[node, FIRST]), np.int64(tree[node, COUNT]), logits.shape[1]
    most, least = -np.inf, np.inf
    for child in range(first, first + count):
        action = action_of(rules, player, np.int64(tree[child, HOLE]))
        if action < known:
            logit = np.float64(logits[row, action])
            most, least = max(most, logit), min(least, logit)
    if most < least:  # no known action
        most = least = 0.0
    for child in range(first, first + count):
        action = action_of(rules, player, np.int64(tree[child, HOLE]))
        estimates[child, _PRIOR] = logits[row, action] if action < known else least
    _normalise_priors(estimates, first, first + count, most, 1.0)


@kernel
def mix_in_noise(games, trees, draws, share):
    """Mix random priors, in proportion to `draws`, into those of the children of roots."""
    tree, estimates, _ = trees
    for b in range(len(games)):
        first, count = np.int64(tree[b, FIRST]), np.int64(tree[b, COUNT])
        sum_of_priors = 0.0
        for i in range(count):
            sum_of_priors += draws[b, i]
        if count < 2 or sum_of_priors <= 0.0:
            continue
        for i in range(count):
            random = draws[b, i] / sum_of_priors
            estimates[first + i, _PRIOR] = (1.0 - share) * estimates[first + i, _PRIOR] + share * random


@kernel
def write_results(rules, games, trees, margin_share, rng_states, actions, policy, values):
    """Write the actions to play, the shares of the visits, and the values for the players to move.

    The other arrays are those of a PuctResults; `policy` must contain zeros. Pruned actions get no share.
    """
    tree, estimates, sums = trees
    for b in range(len(games)):
        game = load(games, b)
        player = np.int64(game.player)
        child = choose(tree, estimates, b, player, rng_states[b])
        actions[b] = action_of(rules, player, np.int64(tree[child, HOLE]))
        first, count = np.int64(tree[b, FIRST]), np.int64(tree[b, COUNT])
        tried, left = 0.0, 0.0
        for child in range(first, first + count):
            if estimates[child, VALUE] > -np.inf:
                tried += tree[child, VISITS]
                left += 1.0
        for child in range(first, first + count):
            if estimates[child, VALUE] > -np.inf:
                share = tree[child, VISITS] / tried if tried > 0.0 else 1.0 / left
                policy[b, action_of(rules, player, np.int64(tree[child, HOLE]))] = share
        mean = sums[b] / max(tree[b, VISITS], 1)
        south = within_bounds(mean, tree, b, margin_share, num_seeds(game))
        values[b] = south if player == SOUTH else -south


@kernel
def write_gumbel_results(rules, games, trees, gumbel, actions, policy):
    """Write the improved policy, and the best of the most visited actions if no win or value is proven.

    `actions` are those of :func:`write_results`. `policy`, float32 `[B, A]`, must contain zeros.
    """
    tree = trees.tree
    for b in range(len(games)):
        player = np.int64(load(games, b).player)
        first, count = np.int64(tree[b, FIRST]), np.int64(tree[b, COUNT])
        unvisited, low, scale = _scale_of_values(trees, b)
        is_proven = tree[b, LOW] == tree[b, HIGH] or (
            tree[b, LOW] > 0 if player == SOUTH else tree[b, HIGH] < 0
        )
        most, best, best_visits, best_score = -np.inf, first, -1, -np.inf
        for child in range(first, first + count):
            logit = _improved_logit(trees, child, unvisited, low, scale)
            score, visits = logit + gumbel.noise[b, child - first], np.int64(tree[child, VISITS])
            most = max(most, logit)
            if logit > -np.inf and (visits > best_visits or (visits == best_visits and score > best_score)):
                best, best_visits, best_score = child, visits, score
        if not is_proven:
            actions[b] = action_of(rules, player, np.int64(tree[best, HOLE]))
        weights = 0.0
        for child in range(first, first + count):
            weights += math.exp(_improved_logit(trees, child, unvisited, low, scale) - most)
        for child in range(first, first + count):
            weight = math.exp(_improved_logit(trees, child, unvisited, low, scale) - most) / weights
            policy[b, action_of(rules, player, np.int64(tree[child, HOLE]))] = weight
