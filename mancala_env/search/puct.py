"""Tree search guided by a network, PUCT (Silver et al. 2017, "AlphaGo Zero"): value+mcts and policy+mcts.

Each simulation has four steps:

1. *Select*: walk down the tree by the value of each turn and the chance that it is the right one, to a
   position
   whose turns are not in the tree yet.
2. *Evaluate* it.
3. *Expand*: add its turns to the tree.
4. *Back up*: add the value to every node of the walk.

There are no rollouts. As in :mod:`mancala_env.agents.mcts`, nodes also hold bounds on the final margin, so
endgames are proven. Who judges:

- A value network (:mod:`mancala_env.networks.value`), where there is one: it judges every turn of the
  position, in the kernel, at some 700 thousand simulations a second. Chances follow from these values. The
  policy's own, tried at the root, made the play weaker: it is surer of itself than it should be.
- Else the network of a checkpoint, which gives both chances and value, far slower than a kernel and only on
  many positions at once. So all games are searched side by side, and each tree sends out several
  simulations before it hears what the network says. A simulation under way counts as a lost game ("virtual
  loss"), so that the next one goes elsewhere. How many are under way depends on the tree alone: a game is
  searched alike alone and among others.

Self-play learns from :meth:`PuctAgent.search`: how often each action was tried, and what the position was
found worth. There the chances at the roots are mixed with random ones, so that none is left out for good.

Symbols: B games, A actions, N nodes of all trees, S simulations under way, P turns of the longest line.
"""

import math
from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np

from mancala_env.agents.base import Agent
from mancala_env.agents.mcts import (
    COUNT,
    FIRST,
    HIGH,
    HOLE,
    LOW,
    NODE_COLUMNS,
    VALUE,
    VISITS,
    bounds,
    choose,
    reward,
    sign,
    tighten,
    write_node,
)
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import NUM_COLUMNS, SOUTH, action_of, load, nth_bit, num_bits, num_seeds, save
from mancala_env.engine.turn import legal_holes, play_turn
from mancala_env.networks.value import UNIT, leaf_value
from mancala_env.rulesets import Ruleset
from mancala_env.search.limit import Budget

# Weight of the chances; chosen by matches.
_EXPLORATION = 1.0
# A turn that was not tried yet is thought to be so much worse than its position.
_UNTRIED = 0.2
# Simulations of a tree under way at once: one more for so many that came back, and at most so many.
_PER_SIMULATION, _MOST_AT_ONCE = 8, 8
MARGIN_SHARE = 0.3
"""The part of the margin in the reward, as in mcts."""
SEEDS_OF_DOUBT = 6.0
"""The margin that all but decides a game."""
# With a value network: simulations of a tree in one go, and how much more a turn is worth that has e times
# the chance.
_PIECE = 200
_TEMPERATURE = 0.4
# Games searched side by side, fewer where trees grow large.
_GAMES_AT_ONCE = 256
# Trees of so many nodes in all, 800 MB, grow no more: the search ends there.
_MOST_NODES = 1 << 24
# Simulations a second that there may be, several times over the usual: with a value network, and with one of
# torch, which needs many games side by side.
_WITH_VALUE_NETWORK, _WITH_TORCH = 2_000_000, 100_000
# A simulation goes no further; the network judges where it stands.
_MOST_TURNS = 200

# Columns of a node beside those of mcts: simulations under way. Column of promise: the policy's chance.
_UNDER_WAY, _CHANCE = 3, 1


class Forest(NamedTuple):
    """The trees of some games; the root of game b is node b.

    Attributes:
        tree: int32 `[N, NODE_COLUMNS]`, as in mcts; bounds are South's.
        promise: float32 `[N, 2]`, the value of a node to the player who may walk to it, minus infinity when
            hopeless, and the policy's chance that they do.
        sums: float64 `[N]`, sum of the values backed up, South's.
    """

    tree: np.ndarray
    promise: np.ndarray
    sums: np.ndarray

    def with_room(self, nodes: int) -> "Forest":
        """Return the same trees in arrays for at least so many nodes."""
        if nodes <= len(self.tree):
            return self
        return Forest(*(np.concatenate([part, np.zeros_like(part)], axis=0) for part in self)).with_room(
            nodes
        )


class Found(NamedTuple):
    """What a search found of some games.

    Attributes:
        policy: float32 `[B, A]`, the share of the simulations that tried each action; where something is
            proven, of those that can still be best.
        values: float32 `[B]`, what the position is worth to the player to move, as a reward.
    """

    policy: np.ndarray
    values: np.ndarray


class Walks(NamedTuple):
    """Simulations that wait for the network.

    Attributes:
        leaves: uint64 `[S, NUM_COLUMNS]`, the positions to judge.
        nodes: int64 `[S]`, the nodes they stand at.
        paths: int32 `[S, P, 2]`, nodes from the root and who moves there.
        lengths: int64 `[S]`.
    """

    leaves: np.ndarray
    nodes: np.ndarray
    paths: np.ndarray
    lengths: np.ndarray


@kernel
def _best_child(tree, promise, node):
    """Return the child to walk to: PUCT, simulations under way counting as lost."""
    first, count = np.int64(tree[node, FIRST]), np.int64(tree[node, COUNT])
    tried = np.float64(tree[node, VISITS] + tree[node, _UNDER_WAY])
    scale = _EXPLORATION * math.sqrt(tried)
    best, best_bound = first, -np.inf
    for child in range(first, first + count):
        visits, under_way = np.float64(tree[child, VISITS]), np.float64(tree[child, _UNDER_WAY])
        known = max(visits, 1.0)
        value = (promise[child, VALUE] * known - under_way) / (known + under_way)
        bound = value + scale * promise[child, _CHANCE] / (1.0 + visits + under_way)
        if bound > best_bound:
            best, best_bound = child, bound
    return best


@kernel
def _back_up(tree, promise, sums, paths, walk, length, value, margin_share, total):
    """Add a value of South's to every node of a walk, from its end, and tighten the bounds above a change."""
    has_changed = True
    for ply in range(length - 1, -1, -1):
        node = np.int64(paths[walk, ply, 0])
        tree[node, VISITS] += 1
        tree[node, _UNDER_WAY] -= 1
        sums[node] += value
        if has_changed and tree[node, COUNT] > 0:
            has_changed = tighten(tree, promise, node, paths[walk, ply, 1])
        if ply > 0 and promise[node, VALUE] > -np.inf:
            low, high = np.int64(tree[node, LOW]), np.int64(tree[node, HIGH])
            mean = sums[node] / tree[node, VISITS]
            mean = max(mean, reward(sign(low), low, margin_share, total))
            mean = min(mean, reward(sign(high), high, margin_share, total))
            promise[node, VALUE] = mean if paths[walk, ply - 1, 1] == SOUTH else -mean


@kernel
def _select(rules, game, total, tree, promise, root, paths, walk):
    """Walk from a root to a node that is proven or not in the tree yet; returns its game and the length."""
    node, length = root, 0
    while True:
        paths[walk, length, 0] = node
        paths[walk, length, 1] = game.player
        length += 1
        tree[node, _UNDER_WAY] += 1
        if tree[node, LOW] == tree[node, HIGH] or tree[node, COUNT] == 0 or length == _MOST_TURNS:
            return game, node, length
        node = _best_child(tree, promise, node)
        game = play_turn(rules, game, np.int64(tree[node, HOLE]))[0]
        if tree[node, VISITS] == 0:
            low, high = bounds(rules, game, total)
            tree[node, LOW] = low
            tree[node, HIGH] = high


@kernel
def _write_roots(rules, games, tree, promise, sums):
    """Write the roots."""
    for b in range(len(games)):
        game = load(games, b)
        low, high = bounds(rules, game, num_seeds(game))
        write_node(tree, promise, b, 0, low, high)
        sums[b] = 0.0


def reward_of(margins: np.ndarray, margin_share: float, ruleset: Ruleset) -> np.ndarray:
    """Return the rewards that go with expected margins, in Python.

    Args:
        margins: `[N]`, in seeds.
        margin_share: The part of the margin in the reward, 0 to 1; the rest is the outcome.
        ruleset: The game.

    Returns:
        float32 `[N]`, -1 to 1.
    """
    shares = np.clip(margins / ruleset.total_seeds, -1, 1)
    outcomes = np.tanh(margins / SEEDS_OF_DOUBT)
    return ((1 - margin_share) * outcomes + margin_share * shares).astype(np.float32)


@kernel
def _expected(margin, total):
    """Return the reward of South that goes with the margin a value network expects, in seeds."""
    return reward(math.tanh(margin / SEEDS_OF_DOUBT), margin, MARGIN_SHARE, total)


@kernel
def _evaluate_and_expand(rules, network, game, total, tree, promise, sums, node, used):
    """Give a node its children, each with the value network's value and a chance that follows from it.

    Returns the nodes used then, and the reward of South: that of the child best for who moves there.
    """
    legal = legal_holes(rules, game)
    count = num_bits(legal)
    tree[node, FIRST] = used
    tree[node, COUNT] = count
    best, best_south = -np.inf, 0.0
    for i in range(count):
        hole = nth_bit(legal, i)
        after = play_turn(rules, game, hole)[0]
        low, high = bounds(rules, after, total)
        write_node(tree, promise, used + i, hole, low, high)
        sums[used + i] = 0.0
        margin = leaf_value(rules, after, total, SOUTH, network) / UNIT
        south = _expected(margin, total) if low < high else reward(sign(low), low, MARGIN_SHARE, total)
        value = south if game.player == SOUTH else -south
        promise[used + i, VALUE] = value
        if value > best:
            best, best_south = value, south
    sum_of = 0.0
    for child in range(used, used + count):
        chance = math.exp((promise[child, VALUE] - best) / _TEMPERATURE)
        promise[child, _CHANCE] = chance
        sum_of += chance
    for child in range(used, used + count):
        promise[child, _CHANCE] /= sum_of
    return used + count, best_south


@kernel
def _run_simulations(
    rules, network, games, rows, simulations, margin_share, tree, promise, sums, done, walks, used
):
    """Run simulations in the trees of some games; those that end at something proven are backed up at once,
    and with a value network all are.

    Returns how many positions wait for the network, and the nodes used.
    """
    leaves, nodes, paths, lengths = walks.leaves, walks.nodes, walks.paths, walks.lengths
    waiting = 0
    for b in rows:
        root = load(games, b)
        total = num_seeds(root)
        at_once = _PIECE
        if network is None:
            at_once = min(_MOST_AT_ONCE, 1 + done[b] // _PER_SIMULATION)
        at_once = min(at_once, simulations - done[b])
        for _ in range(at_once):
            game, node, length = _select(rules, root, total, tree, promise, b, paths, waiting)
            done[b] += 1
            is_proven = tree[node, LOW] == tree[node, HIGH]
            if is_proven or network is not None:
                if is_proven:
                    margin = np.int64(tree[node, LOW])
                    value = reward(sign(margin), margin, margin_share, total)
                elif tree[node, COUNT] == 0:
                    used, value = _evaluate_and_expand(
                        rules, network, game, total, tree, promise, sums, node, used
                    )
                else:
                    value = sums[node] / tree[node, VISITS]
                _back_up(tree, promise, sums, paths, waiting, length, value, margin_share, total)
                if tree[b, LOW] == tree[b, HIGH]:
                    break
                continue
            save(leaves, waiting, game)
            nodes[waiting] = node
            lengths[waiting] = length
            waiting += 1
    return waiting, used


@kernel
def _expand_and_back_up(rules, walks, waiting, logits, values, margin_share, tree, promise, sums, used):
    """Give each evaluated position its turns, and back its value up; returns the nodes used then."""
    leaves, nodes, paths, lengths = walks.leaves, walks.nodes, walks.paths, walks.lengths
    for walk in range(waiting):
        game = load(leaves, walk)
        total = num_seeds(game)
        node = nodes[walk]
        value = np.float64(values[walk])
        if tree[node, COUNT] == 0:
            legal = legal_holes(rules, game)
            count = num_bits(legal)
            tree[node, FIRST] = used
            tree[node, COUNT] = count
            for i in range(count):
                write_node(tree, promise, used + i, nth_bit(legal, i), tree[node, LOW], tree[node, HIGH])
                promise[used + i, VALUE] = max(value - _UNTRIED, -1.0)
                sums[used + i] = 0.0
            used += count
            _write_chances(rules, game.player, logits, walk, tree, promise, node)
        south = value if game.player == SOUTH else -value
        _back_up(tree, promise, sums, paths, walk, lengths[walk], south, margin_share, total)
    return used


@kernel
def _write_chances(rules, player, logits, row, tree, promise, node):
    """Give the children of a node the policy's chances, from a row of logits.

    A network of single rounds knows no action in territory that has changed hands: such an action is as
    likely as the known one that it likes least, and all are alike where it knows none.
    """
    first, count, known = np.int64(tree[node, FIRST]), np.int64(tree[node, COUNT]), logits.shape[1]
    most, least, sum_of = -np.inf, np.inf, 0.0
    for child in range(first, first + count):
        action = action_of(rules, player, np.int64(tree[child, HOLE]))
        if action < known:
            logit = np.float64(logits[row, action])
            most, least = max(most, logit), min(least, logit)
    if most < least:  # it knows none
        most = least = 0.0
    for child in range(first, first + count):
        action = action_of(rules, player, np.int64(tree[child, HOLE]))
        logit = np.float64(logits[row, action]) if action < known else least
        chance = math.exp(logit - most)
        promise[child, _CHANCE] = chance
        sum_of += chance
    for child in range(first, first + count):
        promise[child, _CHANCE] /= sum_of


@kernel
def _choose_actions(rules, games, tree, promise, randoms, actions):
    """Write the action to play in each game."""
    for b in range(len(games)):
        player = np.int64(load(games, b).player)
        child = choose(tree, promise, b, player, randoms[b])
        actions[b] = action_of(rules, player, np.int64(tree[child, HOLE]))


@kernel
def _mix_in_noise(games, tree, promise, draws, share):
    """Mix random chances, in proportion to `draws`, into those of the children of roots."""
    for b in range(len(games)):
        first, count = np.int64(tree[b, FIRST]), np.int64(tree[b, COUNT])
        sum_of = 0.0
        for i in range(count):
            sum_of += draws[b, i]
        if count < 2 or sum_of <= 0.0:
            continue
        for i in range(count):
            random = draws[b, i] / sum_of
            promise[first + i, _CHANCE] = (1.0 - share) * promise[first + i, _CHANCE] + share * random


@kernel
def _write_found(rules, games, tree, promise, sums, margin_share, policy, values):
    """Write what the trees of some games found, as :class:`Found` has it; `policy` holds zeros."""
    for b in range(len(games)):
        game = load(games, b)
        player = np.int64(game.player)
        first, count = np.int64(tree[b, FIRST]), np.int64(tree[b, COUNT])
        tried, left = 0.0, 0.0
        for child in range(first, first + count):
            if promise[child, VALUE] > -np.inf:
                tried += tree[child, VISITS]
                left += 1.0
        for child in range(first, first + count):
            if promise[child, VALUE] > -np.inf:
                share = tree[child, VISITS] / tried if tried > 0.0 else 1.0 / left
                policy[b, action_of(rules, player, np.int64(tree[child, HOLE]))] = share
        low, high = np.int64(tree[b, LOW]), np.int64(tree[b, HIGH])
        total = num_seeds(game)
        south = sums[b] / max(tree[b, VISITS], 1)
        south = max(south, reward(sign(low), low, margin_share, total))
        south = min(south, reward(sign(high), high, margin_share, total))
        values[b] = south if player == SOUTH else -south


class PuctAgent(Agent):
    """Play the turn that a search guided by a network tried most, or proved best.

    A subclass sets the attributes.

    Attributes:
        budget: What the spec allows for each position.
        last_simulations: int64 `[B]`, simulations run for each game of the last call; fewer than asked
            for where the value was proven, or nothing had to be chosen.
    """

    budget: Budget
    last_simulations: np.ndarray
    # A packed value network, or None; and what its values are about: the outcome (0), or the margin (1).
    _network: np.ndarray | None
    _margin_share: float

    def judge(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return logits float32 `[B, A]` and values float32 `[B]` of running games, for the players to move.

        Asked only where there is no value network.
        """
        raise NotImplementedError

    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game; see :meth:`Agent.act`."""
        games = self._running(games)
        randoms = self.random_seeds(len(games))
        actions = np.zeros(len(games), np.int64)
        simulations = np.zeros(len(games), np.int64)
        for some in self._slices(len(games)):
            forest = self._search(games[some], simulations[some])
            _choose_actions(
                self._rules, games[some], forest.tree, forest.promise, randoms[some], actions[some]
            )
        self.last_simulations = simulations
        return actions

    def search(
        self, games: np.ndarray, num_actions: int, draws: np.ndarray | None = None, share: float = 0.0
    ) -> Found:
        """Search games to learn from what is found.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`.
            num_actions: A.
            draws: float64 `[B, H]`, random numbers, none negative: the chances at a root are mixed with
                chances in proportion to the first of them, one for each legal action; None mixes nothing in.
            share: How much of the chances is random, 0 to 1.
        """
        games = self._running(games)
        policy = np.zeros((len(games), num_actions), np.float32)
        values, simulations = np.zeros(len(games), np.float32), np.zeros(len(games), np.int64)
        for some in self._slices(len(games)):
            noise = None if draws is None else (draws[some], share)
            forest = self._search(games[some], simulations[some], noise)
            _write_found(self._rules, games[some], *forest, self._margin_share, policy[some], values[some])
        self.last_simulations = simulations
        return Found(policy, values)

    def _slices(self, num_games: int) -> Iterator[slice]:
        """Cut games into those that are searched side by side."""
        a_second = _WITH_TORCH if self._network is None else _WITH_VALUE_NETWORK
        simulations = min(float(self.budget.steps), self.budget.seconds * a_second)
        size = _MOST_NODES / 2 / (max(1.0, simulations) * self.ruleset.row_width)
        at_once = max(1, min(_GAMES_AT_ONCE, int(size)))
        for start in range(0, num_games, at_once):
            yield slice(start, start + at_once)

    def _search(
        self, games: np.ndarray, done: np.ndarray, noise: tuple[np.ndarray, float] | None = None
    ) -> Forest:
        """Grow the trees of some games.

        Args:
            games: The games.
            done: int64 `[B]`, zeros; counts the simulations.
            noise: Draws `[B, H]` and their share, as :meth:`search` takes them.
        """
        num_games, num_turns = len(games), self.ruleset.num_holes
        waiting = num_games * _MOST_AT_ONCE
        walks = Walks(
            leaves=np.zeros((waiting, NUM_COLUMNS), np.uint64),
            nodes=np.zeros(waiting, np.int64),
            paths=np.zeros((waiting, _MOST_TURNS, 2), np.int32),
            lengths=np.zeros(waiting, np.int64),
        )
        nodes = num_games + waiting * num_turns
        forest = Forest(
            np.zeros((nodes, NODE_COLUMNS), np.int32), np.zeros((nodes, 2), np.float32), np.zeros(nodes)
        )
        _write_roots(self._rules, games, forest.tree, forest.promise, forest.sums)
        used, rows, spent = num_games, np.arange(num_games), np.zeros(num_games)
        while len(rows):
            started = perf_counter()
            forest = forest.with_room(used + num_games * max(_MOST_AT_ONCE, _PIECE) * num_turns)
            parts = (self._margin_share, forest.tree, forest.promise, forest.sums)
            waits, used = _run_simulations(
                self._rules, self._network, games, rows, self.budget.steps, *parts, done, walks, used
            )
            if waits:
                logits, values = self.judge(walks.leaves[:waits])
                used = _expand_and_back_up(self._rules, walks, waits, logits, values, *parts, used)
                if noise is not None:  # the first simulation of each tree has just given its root children
                    _mix_in_noise(games, forest.tree, forest.promise, *noise)
                    noise = None
            roots = forest.tree[rows]
            is_settled = (roots[:, COUNT] == 1) | (roots[:, LOW] == roots[:, HIGH])
            # Each game pays its share of the time, so that no game profits from others that end early.
            spent[rows] += (perf_counter() - started) / len(rows)
            is_out = (done[rows] >= self.budget.steps) | (spent[rows] >= self.budget.seconds)
            rows = rows[~(is_settled | is_out)]
            if used + len(rows) * _PIECE * num_turns > _MOST_NODES:
                break
        return forest
