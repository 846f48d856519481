"""Tree search guided by a network: PUCT (Silver et al. 2017, "AlphaGo Zero").

Each simulation has four steps:

1. *Select*: walk down the tree by the value and the prior of each turn, to a position whose turns are not in
   the tree yet.
2. *Evaluate* the position.
3. *Expand*: add its turns to the tree.
4. *Back up*: add the value to every node of the walk.

There are no rollouts. As in :mod:`mancala_env.search.uct`, nodes also hold bounds on the final margin, so
endgames are proven. A :class:`Guide` evaluates positions in one of two ways:

- A value network (:mod:`mancala_env.networks.value`) evaluates every turn of a position in the kernel, at
  about 700,000 simulations a second. Priors are computed from these values. The policy's priors at the root
  made the play weaker, because the policy is overconfident.
- A function, such as a torch network, returns logits and values of many positions at once. So all games are
  searched side by side, and several simulations of a tree run at once. A simulation in flight counts as a
  lost game ("virtual loss"), so the next simulation takes another path. The number of simulations in flight
  depends only on the tree. So the search of a game does not depend on the other games.

Self-play trains on the results of :func:`write_results`: the share of each action, and the value of the
position. It mixes noise into the priors of the roots, so that every action is explored.

Symbols: B games, A actions, N nodes of all trees, S simulations in flight, P turns of the longest line.
"""

import math
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np

from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import NUM_COLUMNS, SOUTH, Rules, action_of, load, num_seeds, save
from mancala_env.engine.turn import play_turn
from mancala_env.networks.value import UNIT, leaf_value
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import Budget
from mancala_env.search.uct import (
    COUNT,
    FIRST,
    HIGH,
    HOLE,
    LOW,
    NODE_COLUMNS,
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
# Simulations of a tree in flight: one more for every eight visits, and at most eight.
_VISITS_PER_FLIGHT, _MAX_IN_FLIGHT = 8, 8
MARGIN_SHARE = 0.3
"""Weight of the margin in the reward, as in UCT."""
DECISIVE_MARGIN = 6.0
"""Margin in seeds that nearly decides a game."""
# With a value network: simulations of a tree at a time, and the temperature of the priors.
_PIECE = 200
_TEMPERATURE = 0.4
# Most games searched side by side; fewer where trees grow large.
_MAX_GAMES_AT_ONCE = 256
# Most nodes of all trees (800 MB). The search ends there.
MAX_NODES = 1 << 24
# Upper estimates of simulations a second, for the size of trees: with a value network, and with a function,
# which needs many games side by side.
_RATE_WITH_VALUE_NETWORK, _RATE_WITH_FUNCTION = 2_000_000, 100_000
# Most turns of a simulation; its last position is evaluated.
_MAX_LINE = 200

# Column of a node besides those of UCT: simulations in flight. Column of estimates: the prior.
_IN_FLIGHT, _PRIOR = 3, 1


class SearchTrees(NamedTuple):
    """Search trees of some games; the root of game b is node b.

    Attributes:
        tree: int32 `[N, NODE_COLUMNS]`, as in :mod:`mancala_env.search.uct`; bounds are for South.
        estimates: float32 `[N, 2]`, expected value of a node for the player who chooses it, and its prior.
            The value of a pruned node is minus infinity.
        sums: float64 `[N]`, sum of the backed-up values, for South.
    """

    tree: np.ndarray
    estimates: np.ndarray
    sums: np.ndarray

    def with_room(self, nodes: int) -> "SearchTrees":
        """Return the same trees in arrays of at least `nodes` nodes."""
        if nodes <= len(self.tree):
            return self
        doubled = SearchTrees(*(np.concatenate([part, np.zeros_like(part)], axis=0) for part in self))
        return doubled.with_room(nodes)


class SearchResults(NamedTuple):
    """Policy and values of some games after a search.

    Attributes:
        policy: float32 `[B, A]`, share of the simulations through each action. Pruned actions are excluded.
        values: float32 `[B]`, value of the position for the player to move, as a reward.
    """

    policy: np.ndarray
    values: np.ndarray


Evaluate: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Maps running games, uint64 `[B, NUM_COLUMNS]`, to logits float32 `[B, A]` and values float32 `[B]`.

The values are for the players to move, -1 to 1. The logits of illegal actions are ignored.
"""


class Guide(NamedTuple):
    """Evaluator of positions: a packed value network or, if that is None, a function.

    `margin_share` is the weight of the margin in the values, 0 (outcomes) to 1 (margins).
    """

    network: np.ndarray | None
    evaluate: Evaluate | None
    margin_share: float


class PendingSimulations(NamedTuple):
    """Simulations that wait for the evaluation of their last positions.

    Attributes:
        leaves: uint64 `[S, NUM_COLUMNS]`, positions to evaluate.
        nodes: int64 `[S]`, nodes of these positions.
        paths: int32 `[S, P, 2]`, nodes from the root, and the player to move at each.
        lengths: int64 `[S]`, lengths of the paths.
    """

    leaves: np.ndarray
    nodes: np.ndarray
    paths: np.ndarray
    lengths: np.ndarray


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
def _select(rules, game, total, trees, root, paths, walk):
    """Walk from a root to a proven or unexpanded node; return its game, the node and the length."""
    tree, estimates, _ = trees
    node, length = root, 0
    while True:
        paths[walk, length, 0] = node
        paths[walk, length, 1] = game.player
        length += 1
        tree[node, _IN_FLIGHT] += 1
        if tree[node, LOW] == tree[node, HIGH] or tree[node, COUNT] == 0 or length == _MAX_LINE:
            return game, node, length
        node = _best_child(tree, estimates, node)
        game = play_turn(rules, game, np.int64(tree[node, HOLE]))[0]
        if tree[node, VISITS] == 0:
            tree[node, LOW], tree[node, HIGH] = bounds(rules, game, total)


@kernel
def _write_roots(rules, games, trees):
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
def _run_simulations(rules, network, games, rows, most, per_flight, margin_share, trees, done, pending, used):
    """Run simulations in the trees of some games, `most` in all; one more in flight for `per_flight` visits.

    Simulations that end at a proven node are backed up at once. With a value network, all are.

    Returns the number of positions that wait for evaluation, and the number of nodes in use.
    """
    tree, paths = trees.tree, pending.paths
    waiting = 0
    for b in rows:
        root = load(games, b)
        total = num_seeds(root)
        at_once = _PIECE
        if network is None:
            at_once = min(_MAX_IN_FLIGHT, 1 + done[b] // per_flight)
        at_once = min(at_once, most - done[b])
        for _ in range(at_once):
            game, node, length = _select(rules, root, total, trees, b, paths, waiting)
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
def _expand_and_back_up(rules, pending, waiting, logits, values, margin_share, trees, used):
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
        _back_up(trees, pending.paths, walk, length, south, margin_share, total)
    return used


@kernel
def _write_priors(rules, player, logits, row, trees, node):
    """Write the priors of a node's children from a row of logits.

    A network of single rounds does not know actions in territory that has changed hands. Such an action gets
    the lowest prior of the known ones. Where no action is known, all priors are equal.
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
def choose_actions(rules, games, trees, rng_states, actions):
    """Write the action to play in each game to `actions`, int64 `[B]`."""
    for b in range(len(games)):
        player = np.int64(load(games, b).player)
        child = choose(trees.tree, trees.estimates, b, player, rng_states[b])
        actions[b] = action_of(rules, player, np.int64(trees.tree[child, HOLE]))


@kernel
def _mix_in_noise(games, trees, draws, share):
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
def write_results(rules, games, trees, margin_share, policy, values):
    """Write the :class:`SearchResults` of some games; `policy` must contain zeros."""
    tree, estimates, sums = trees
    for b in range(len(games)):
        game = load(games, b)
        player = np.int64(game.player)
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


def slices(num_games: int, row_width: int, limit: Budget, guide: Guide) -> Iterator[slice]:
    """Yield slices of games to search side by side, so that their trees fit the memory."""
    a_second = _RATE_WITH_FUNCTION if guide.network is None else _RATE_WITH_VALUE_NETWORK
    simulations = min(float(limit.steps), limit.seconds * a_second)
    size = MAX_NODES / 2 / (max(1.0, simulations) * row_width)
    at_once = max(1, min(_MAX_GAMES_AT_ONCE, int(size)))
    for start in range(0, num_games, at_once):
        yield slice(start, start + at_once)


def grow_trees(
    rules: Rules,
    games: np.ndarray,
    limit: Budget,
    guide: Guide,
    done: np.ndarray,
    noise: tuple[np.ndarray, float] | None = None,
) -> SearchTrees:
    """Search games side by side, each within a limit, and return their trees.

    `games` are running games, uint64 `[B, NUM_COLUMNS]`. The number of simulations of each game is written to
    `done`, int64 `[B]` of zeros. `noise` has random numbers float64 `[B, H]` of at least 0, and the share of
    the noise in the priors at the roots, 0 to 1.
    """
    num_games, num_turns = len(games), 2 * rules.width
    waiting = num_games * _MAX_IN_FLIGHT
    pending = PendingSimulations(
        leaves=np.zeros((waiting, NUM_COLUMNS), np.uint64),
        nodes=np.zeros(waiting, np.int64),
        paths=np.zeros((waiting, _MAX_LINE, 2), np.int32),
        lengths=np.zeros(waiting, np.int64),
    )
    nodes = num_games + waiting * num_turns
    trees = SearchTrees(
        np.zeros((nodes, NODE_COLUMNS), np.int32), np.zeros((nodes, 2), np.float32), np.zeros(nodes)
    )
    _write_roots(rules, games, trees)
    used, rows, spent = num_games, np.arange(num_games), np.zeros(num_games)
    while len(rows):
        started = perf_counter()
        trees = trees.with_room(used + num_games * max(_MAX_IN_FLIGHT, _PIECE) * num_turns)
        share, most = guide.margin_share, limit.steps
        waits, used = _run_simulations(
            rules, guide.network, games, rows, most, _VISITS_PER_FLIGHT, share, trees, done, pending, used
        )
        if waits:
            assert guide.evaluate is not None
            logits, values = guide.evaluate(pending.leaves[:waits])
            used = _expand_and_back_up(rules, pending, waits, logits, values, share, trees, used)
            if noise is not None:  # the first simulation of each tree has just expanded its root
                _mix_in_noise(games, trees, *noise)
                noise = None
        roots = trees.tree[rows]
        is_settled = (roots[:, COUNT] == 1) | (roots[:, LOW] == roots[:, HIGH])
        # Each game is charged its share of the time, so no game profits from others that end early.
        spent[rows] += (perf_counter() - started) / len(rows)
        is_out = (done[rows] >= limit.steps) | (spent[rows] >= limit.seconds)
        rows = rows[~(is_settled | is_out)]
        if used + len(rows) * _PIECE * num_turns > MAX_NODES:
            break
    return trees
