"""Tree searches of many games side by side, guided by a network; the kernels are in `tree_search`.

Symbols: B games, A actions, H holes, N positions.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from time import perf_counter
from typing import NamedTuple

import numpy as np

from mancala_env.engine.state import NUM_COLUMNS, Rules, encode
from mancala_env.rulesets import Ruleset
from mancala_env.search import tree_search
from mancala_env.search.limit import Limit
from mancala_env.search.root_noise import gumbel_draws, noise_draws, uniform_draws
from mancala_env.search.tree_search import MAX_IN_FLIGHT, GumbelRoots, PendingSimulations, SearchTrees
from mancala_env.search.uct import COUNT, HIGH, LOW, NODE_COLUMNS

# Simulations of a tree in flight: one more for every eight visits, and at most MAX_IN_FLIGHT.
_VISITS_PER_FLIGHT = 8
# Most games searched side by side; fewer where trees grow large.
_MAX_GAMES_AT_ONCE = 256
# Most nodes of all trees (800 MB). The search ends there.
MAX_NODES = 1 << 24
# Upper estimates of simulations a second, for the size of trees: with a value network, and with a function,
# which needs many games side by side.
_RATE_WITH_VALUE_NETWORK, _RATE_WITH_FUNCTION = 2_000_000, 100_000
# Most actions that a Gumbel search considers at a root.
_MAX_CONSIDERED = 16


class Guide(NamedTuple):
    """Evaluator of positions: a packed value network or, if that is None, a function.

    The function maps running games, uint64 `[N, NUM_COLUMNS]`, to logits float32 `[N, A]`, ignored for
    illegal actions, and values float32 `[N]`, -1 to 1, for the players to move.
    """

    network: np.ndarray | None
    evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None
    margin_share: float  # weight of the margin in the values, 0 (outcomes) to 1 (margins)


class RootOptions(NamedTuple):
    """How actions are explored and chosen at the roots; see :class:`mancala_env.search.PuctOptions`."""

    noise: float = 0.0
    alpha: float | None = None
    temperature: float | np.ndarray = 0.0
    gumbel: bool = False


class PuctResults(NamedTuple):
    """Results of a search of B games.

    Attributes:
        actions: int64 `[B]`, the chosen actions.
        policy: float32 `[B, A]`, share of the simulations through each action, a target for a policy. With
            Gumbel it is the improved policy. Actions that cannot be best are excluded.
        values: float32 `[B]`, value of the position for the player to move, -1 to 1.
        simulations: int64 `[B]`, simulations of each game; fewer than the limit if the value is proven or
            only one action is legal, or the trees reach their largest size.
    """

    actions: np.ndarray
    policy: np.ndarray
    values: np.ndarray
    simulations: np.ndarray


def search_games(
    ruleset: Ruleset,
    games: np.ndarray,
    limit: Limit,
    guide: Guide,
    rng_states: np.ndarray,
    num_actions: int,
    root: RootOptions,
) -> PuctResults:
    """Search games, each within a limit, with a seed of its own, uint64 `[B]`.

    `games` are running games, uint64 `[B, NUM_COLUMNS]`. They are not checked.
    """
    size = len(games)
    results = PuctResults(
        np.zeros(size, np.int64),
        np.zeros((size, num_actions), np.float32),
        np.zeros(size, np.float32),
        np.zeros(size, np.int64),
    )
    temperature = np.broadcast_to(np.asarray(root.temperature, np.float64), size)
    rules = encode(ruleset)
    for part in slices(size, ruleset.row_width, limit, guide):
        seeds, gumbel = rng_states[part], None
        if root.gumbel:
            draws = temperature[part, None] * gumbel_draws(seeds, ruleset.num_holes)
            gumbel = GumbelRoots(draws, schedule(ruleset.num_holes, limit.max_simulations))
        actions, policy, values, simulations = (array[part] for array in results)
        trees = grow_trees(rules, games[part], limit, guide, simulations, root, seeds, gumbel)
        results_of_part = guide.margin_share, seeds, actions, policy, values
        tree_search.write_results(rules, games[part], trees, *results_of_part)
        if gumbel is not None:
            policy[:] = 0.0
            tree_search.write_gumbel_results(rules, games[part], trees, gumbel, actions, policy)
        elif (temperature[part] > 0).any():
            drawn = _drawn(policy, temperature[part], uniform_draws(seeds, 1))
            actions[:] = np.where(temperature[part] > 0, drawn, actions)
    return results


def _drawn(policy: np.ndarray, temperature: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draw an action from each row of a policy at a temperature; `uniform` is `[B, 1]`, 0 to 1."""
    scaled = policy.astype(np.float64) / policy.max(axis=1, keepdims=True)
    weights = scaled ** (1 / np.maximum(temperature, 1e-3))[:, None]
    cumulated = weights.cumsum(axis=1)
    return (cumulated <= uniform * cumulated[:, -1:]).sum(axis=1)


@lru_cache(maxsize=4)
def schedule(num_holes: int, simulations: int) -> np.ndarray:
    """Return the schedule of sequential halving, int32 `[H + 1, S]`; see GumbelRoots.

    >>> schedule(4, 9)[4].tolist()  # one simulation of each of four actions, then two of the better two
    [0, 0, 0, 0, 1, 1, 2, 2]
    """
    num_left = max(simulations - 1, 1)
    table = np.zeros((num_holes + 1, num_left), np.int32)
    for count in range(1, num_holes + 1):
        table[count] = _visits_in_turn(min(count, _MAX_CONSIDERED), num_left)
    table.flags.writeable = False
    return table


def _visits_in_turn(considered: int, simulations: int) -> list[int]:
    """Return how often the action of each simulation has been visited before, as in mctx."""
    if considered == 1:
        return list(range(simulations))
    rounds = math.ceil(math.log2(considered))
    sequence: list[int] = []
    visits = [0] * considered
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (rounds * considered))):
            sequence += visits[:considered]
            visits[:considered] = [each + 1 for each in visits[:considered]]
        considered = max(2, considered // 2)
    return sequence[:simulations]


def slices(num_games: int, row_width: int, limit: Limit, guide: Guide) -> Iterator[slice]:
    """Yield slices of games to search side by side, so that their trees fit the memory."""
    a_second = _RATE_WITH_FUNCTION if guide.network is None else _RATE_WITH_VALUE_NETWORK
    simulations = min(float(limit.max_simulations), limit.max_seconds * a_second)
    size = MAX_NODES / 2 / (max(1.0, simulations) * row_width)
    at_once = max(1, min(_MAX_GAMES_AT_ONCE, int(size)))
    for start in range(0, num_games, at_once):
        yield slice(start, start + at_once)


def _with_room(trees: SearchTrees, nodes: int) -> SearchTrees:
    """Return the same trees in arrays of at least `nodes` nodes."""
    if nodes <= len(trees.tree):
        return trees
    size = max(nodes, 2 * len(trees.tree))
    larger = SearchTrees(*(np.zeros((size, *part.shape[1:]), part.dtype) for part in trees))
    for part, whole in zip(trees, larger, strict=True):
        whole[: len(part)] = part
    return larger


def grow_trees(
    rules: Rules,
    games: np.ndarray,
    limit: Limit,
    guide: Guide,
    done: np.ndarray,
    root: RootOptions,
    rng_states: np.ndarray,
    gumbel: GumbelRoots | None = None,
) -> SearchTrees:
    """Search games side by side, each within a limit, and return their trees.

    `games` are running games, uint64 `[B, NUM_COLUMNS]`. The number of simulations of each game is written to
    `done`, int64 `[B]` of zeros. The noise at the roots is drawn from seeds, uint64 `[B]`.
    """
    num_games, num_turns = len(games), 2 * rules.width
    simulations = num_games * MAX_IN_FLIGHT
    pending = PendingSimulations(
        leaves=np.zeros((simulations, NUM_COLUMNS), np.uint64),
        nodes=np.zeros(simulations, np.int64),
        paths=np.zeros((simulations, tree_search.MAX_LINE, 2), np.int32),
        lengths=np.zeros(simulations, np.int64),
    )
    nodes = num_games + simulations * num_turns
    trees = SearchTrees(
        np.zeros((nodes, NODE_COLUMNS), np.int32), np.zeros((nodes, 2), np.float32), np.zeros(nodes)
    )
    tree_search.write_roots(rules, games, trees)
    at_once = MAX_IN_FLIGHT if guide.network is None else tree_search.PIECE
    used, rows, spent = num_games, np.arange(num_games), np.zeros(num_games)
    share, most, wants_noise = guide.margin_share, limit.max_simulations, root.noise > 0
    while len(rows):
        started = perf_counter()
        trees = _with_room(trees, used + len(rows) * at_once * num_turns)
        terms = rules, guide.network, games, rows, most, _VISITS_PER_FLIGHT, share, gumbel
        waits, used = tree_search.run_simulations(*terms, trees, done, pending, used)
        if waits:
            assert guide.evaluate is not None
            logits, values = guide.evaluate(pending.leaves[:waits])
            used = tree_search.expand_and_back_up(rules, pending, waits, logits, values, share, trees, used)
            if wants_noise:  # the first simulation of each tree has just expanded its root
                draws = noise_draws(rng_states, trees.tree[:num_games, COUNT], root.alpha, num_turns)
                tree_search.mix_in_noise(games, trees, draws, root.noise)
                wants_noise = False
        roots = trees.tree[rows]
        is_settled = (roots[:, COUNT] == 1) | (roots[:, LOW] == roots[:, HIGH])
        # Each game is charged its share of the time, so no game profits from others that end early.
        spent[rows] += (perf_counter() - started) / len(rows)
        is_out = (done[rows] >= most) | (spent[rows] >= limit.max_seconds)
        rows = rows[~(is_settled | is_out)]
        if used + len(rows) * at_once * num_turns > MAX_NODES:
            break
    return trees
