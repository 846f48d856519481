"""mcts: Monte-Carlo tree search, UCT (Kocsis and Szepesvari 2006) with random rollouts and solved nodes.

Each simulation has four steps:

1. *Select*: walk down the tree by upper confidence bounds to a position that nobody has walked to yet.
2. *Expand*: add its turns to the tree, once somebody comes by again.
3. *Evaluate*: play the round to its end at random.
4. *Back up*: add the result to every node of the walk.

Nodes also hold bounds on the final margin: stores are safe, a
finished round is exact, and bounds travel up as in minimax (Winands et al. 2008, MCTS-Solver; Cazenave
and Saffidine 2010, score-bounded search). So endgames are proven, not estimated, and a turn that can no
longer be best is not tried again.

match+mcts (:mod:`mancala_env.agents.match_mcts`) is the same search for another end: it gives the kernels a
table of what each count at the end of the round is worth, and results and bounds are worths then, not
margins. A worth need not grow with the count, so bounds are taken from the table, not from margins.

Symbols: B games, N nodes of the tree, P turns of its longest line, T seeds in all.
"""

import math
from typing import NamedTuple

import numpy as np

from mancala_env.agents.search_agent import ACTIVE, SearchAgent
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
    nth_bit,
    num_bits,
    num_seeds,
    owned_by,
    seeds_within,
    store_of,
)
from mancala_env.engine.turn import legal_holes, play_turn
from mancala_env.rulesets import MAX_TOTAL_SEEDS, Ruleset
from mancala_env.search.limit import Budget

# A tree of this many nodes, 128 MB, grows no more; simulations then start their rollouts at its leaves.
_MOST_NODES = 1 << 22
# No line is longer: a free seed leaves the board at least every 50 turns.
MOST_TURNS = 50 * MAX_TOTAL_SEEDS + 2

# Weight of the exploration term, and of the margin beside the outcome; chosen by measurement.
_EXPLORATION = 1.0
_MARGIN_WEIGHT = 0.3
# The greatest worth, ten million of which sum up within 32 bits.
MOST_WORTH = 200
# Simulations between two looks at Ctrl-C: one or two milliseconds.
_PIECE = 1_000

# Columns of a node. Sums and bounds are South's.
FIRST, COUNT, VISITS, _OUTCOMES, _MARGINS, LOW, HIGH, HOLE = 0, 1, 2, 3, 4, 5, 6, 7
NODE_COLUMNS = 8
VALUE, _DOUBT = 0, 1
# Rows of a table of worths.
EXACT, LEAST, MOST = 0, 1, 2
# Columns of progress.
_USED = 1
PROGRESS_COLUMNS = 2


class Memory(NamedTuple):
    """What one thread needs to search.

    Attributes:
        tree: int32 `[N, NODE_COLUMNS]`; the root is node 0, the children of a node lie side by side.
        promise: float32 `[N, 2]`, what a node promises to the player who may walk to it: its value, infinite
            while not visited and minus infinite when hopeless, and how much doubt remains.
        path: int32 `[P, 2]`, nodes of the line being walked and who moves there.
        random: uint64 `[1]`, the generator.
        progress: int64 `[PROGRESS_COLUMNS]`, where the search stands between two pieces.
    """

    tree: np.ndarray
    promise: np.ndarray
    path: np.ndarray
    random: np.ndarray
    progress: np.ndarray


@kernel
def _safe_seeds(rules, game, player):
    """Return the seeds that will be in a player's count whatever happens."""
    safe = store_of(game, player)
    if rules.landing == UUR:  # nothing ever leaves an uur; other owned holes can be ransomed
        safe += seeds_within(game.board, owned_by(game, player))
    return safe


@kernel
def bounds(rules, game, total):
    """Return the least and the greatest final margin of South that a game allows for all we see."""
    if game.end != RUNNING:
        margin = margin_for(rules, game, total, SOUTH)
        return margin, margin
    return 2 * _safe_seeds(rules, game, SOUTH) - total, total - 2 * _safe_seeds(rules, game, NORTH)


@kernel
def _count_with(rules, margin):
    """Return South's count where South leads by a margin; seeds that a position lacks go to both alike."""
    return (2 * rules.width * rules.seeds + margin) // 2


@kernel
def _bounds(rules, game, total, worths, b):
    """Return the least and the greatest result that a game allows for all we see."""
    low, high = bounds(rules, game, total)
    if worths is None:
        return low, high
    if low == high:
        worth = np.int64(worths[b, EXACT, _count_with(rules, low)])
        return worth, worth
    least = np.int64(worths[b, LEAST, _count_with(rules, low)])
    return least, np.int64(worths[b, MOST, _count_with(rules, high)])


@kernel
def _result(rules, game, total, worths, b):
    """Return South's result of a finished round: the margin, or what the table of game b says it is worth."""
    margin = margin_for(rules, game, total, SOUTH)
    return margin if worths is None else np.int64(worths[b, EXACT, _count_with(rules, margin)])


@kernel
def write_node(tree, promise, node, hole, low, high):
    """Write a node that nobody has walked to yet."""
    tree[node, FIRST] = 0
    tree[node, COUNT] = 0
    tree[node, VISITS] = 0
    tree[node, _OUTCOMES] = 0
    tree[node, _MARGINS] = 0
    tree[node, LOW] = low
    tree[node, HIGH] = high
    tree[node, HOLE] = hole
    promise[node, VALUE] = np.inf
    promise[node, _DOUBT] = 0.0


@kernel
def _expand(rules, game, tree, promise, node, used):
    """Give a node its children, if the tree has room; returns the nodes used then."""
    legal = legal_holes(rules, game)
    count = num_bits(legal)
    if used + count <= len(tree):
        tree[node, FIRST] = used
        tree[node, COUNT] = count
        for i in range(count):
            write_node(tree, promise, used + i, nth_bit(legal, i), tree[node, LOW], tree[node, HIGH])
        used += count
    return used


@kernel
def _best_child(tree, promise, node, shift):
    """Return the child to walk to, by the highest upper confidence bound.

    `shift` says where to start among equals, such as children not visited yet.
    """
    first, count = np.int64(tree[node, FIRST]), np.int64(tree[node, COUNT])
    exploration = _EXPLORATION * math.sqrt(math.log(np.float64(tree[node, VISITS] + 1)))
    best = first + shift
    best_bound = promise[best, VALUE] + exploration * promise[best, _DOUBT]
    for child in range(first, first + count):
        bound = promise[child, VALUE] + exploration * promise[child, _DOUBT]
        if bound > best_bound:
            best, best_bound = child, bound
    return best


@kernel
def sign(number):
    """Return 1, 0 or -1."""
    return 1 if number > 0 else (-1 if number < 0 else 0)


@kernel
def reward(outcome, margin, margin_share, total):
    """Return what South gets for an outcome and a margin, or for means of them: -1 to 1."""
    return (1.0 - margin_share) * outcome + margin_share * margin / total


@kernel
def _value(tree, node, total, worths):
    """Return a visited node's mean reward of South, corrected by what is proven."""
    visits = np.float64(tree[node, VISITS])
    low, high = np.int64(tree[node, LOW]), np.int64(tree[node, HIGH])
    if worths is not None:
        mean = tree[node, _OUTCOMES] / visits
        return min(max(mean, np.float64(low)), np.float64(high)) / MOST_WORTH
    mean = reward(tree[node, _OUTCOMES] / visits, tree[node, _MARGINS] / visits, _MARGIN_WEIGHT, total)
    return min(
        max(mean, reward(sign(low), low, _MARGIN_WEIGHT, total)),
        reward(sign(high), high, _MARGIN_WEIGHT, total),
    )


@kernel
def _evaluate(rules, game, random):
    """Play a game to the end of its round at random; returns that and the generator."""
    while game.end == RUNNING:
        random, hole = random_hole(rules, game, random)
        game = play_turn(rules, game, hole)[0]
    return game, random


@kernel
def tighten(tree, promise, node, player):
    """Take a node's bounds from its children; returns whether they changed.

    A child that cannot be better than what is proven for the node's player is not tried again.
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
            is_hopeless = tree[child, HIGH] < low or (is_open and tree[child, HIGH] == low)
        else:
            is_hopeless = tree[child, LOW] > high or (is_open and tree[child, LOW] == high)
        if is_hopeless:
            promise[child, VALUE] = -np.inf
    return has_changed


@kernel
def _back_up(tree, promise, path, length, result, total, worths):
    """Add a result to every node of a line, from its end, and tighten the bounds above a change."""
    has_changed = True
    for ply in range(length - 1, -1, -1):
        node = path[ply, 0]
        tree[node, VISITS] += 1
        if worths is None:
            tree[node, _OUTCOMES] += sign(result)
            tree[node, _MARGINS] += result
        else:
            tree[node, _OUTCOMES] += result
        if has_changed and tree[node, COUNT] > 0:
            has_changed = tighten(tree, promise, node, path[ply, 1])
        if ply > 0:
            value = _value(tree, node, total, worths)
            promise[node, VALUE] = value if path[ply - 1, 1] == SOUTH else -value
            promise[node, _DOUBT] = 1.0 / math.sqrt(np.float64(tree[node, VISITS]))


@kernel
def _simulate(rules, root, total, worths, b, tree, promise, path, used, random):
    """Run one simulation; returns the nodes used and the generator."""
    game = root
    node, length = 0, 0
    while True:
        path[length, 0] = node
        path[length, 1] = game.player
        length += 1
        # A proven node needs no more.
        if tree[node, LOW] == tree[node, HIGH]:
            result = np.int64(tree[node, LOW])
            break
        # 2. Expand. (3. Evaluate here where the tree is full.)
        if tree[node, COUNT] == 0:
            used = _expand(rules, game, tree, promise, node, used)
        if tree[node, COUNT] == 0:
            game, random = _evaluate(rules, game, random)
            result = _result(rules, game, total, worths, b)
            break
        # 1. Select.
        random, shift = random_below(random, np.int64(tree[node, COUNT]))
        child = _best_child(tree, promise, node, shift)
        is_new = tree[child, VISITS] == 0
        game = play_turn(rules, game, np.int64(tree[child, HOLE]))[0]
        node = child
        # 3. Evaluate what nobody has walked to yet.
        if is_new:
            low, high = _bounds(rules, game, total, worths, b)
            tree[node, LOW] = low
            tree[node, HIGH] = high
            path[length, 0] = node
            path[length, 1] = game.player
            length += 1
            game, random = _evaluate(rules, game, random)
            result = _result(rules, game, total, worths, b)
            break
    # 4. Back up.
    _back_up(tree, promise, path, length, result, total, worths)
    return used, random


@kernel
def choose(tree, promise, root, player, random, win=1):
    """Return the child of a root to play; a result of `win` is as good as won.

    It is the child with the most visits, and of equals the better value, among those that can still be
    best. Where a win is proven only proven wins count, and where the value is, only what reaches it.
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
        value = np.float64(promise[child, VALUE]) if visits > 0 else 0.0
        if visits > best_visits or (visits == best_visits and value > best_value):
            best, best_visits, best_value = 0, visits, value
        if visits == best_visits and value == best_value:
            best |= 1 << (child - first)
    _, n = random_below(random, num_bits(best))
    return first + nth_bit(best, n)


@kernel
def search_piece(rules, games, randoms, simulations, worths, actions, done, memory, start, stop, piece):
    """Search games from start to stop, each by so many simulations or until its value is proven.

    `worths` is None, or int32 `[B, 3, T + 1]`: for each count of South's at the end of the round its worth,
    -MOST_WORTH to MOST_WORTH, the least of all counts from there and the greatest of all up to there.

    Returns the game it stands at after about `piece` simulations; called again, it goes on from there.
    """
    tree, promise, path = memory.tree, memory.promise, memory.path
    random, progress = memory.random, memory.progress
    budget = piece
    b = start
    while b < stop and budget > 0:
        root = load(games, b)
        total = num_seeds(root)
        if not progress[ACTIVE]:
            low, high = _bounds(rules, root, total, worths, b)
            write_node(tree, promise, 0, 0, low, high)
            random[0] = randoms[b]
            progress[ACTIVE] = 1
            progress[_USED] = _expand(rules, root, tree, promise, 0, 1)
        used = progress[_USED]
        state = random[0]
        is_over = False
        while budget > 0 and not is_over:
            used, state = _simulate(rules, root, total, worths, b, tree, promise, path, used, state)
            done[b] += 1
            budget -= 1
            is_over = done[b] == simulations or tree[0, COUNT] == 1 or tree[0, LOW] == tree[0, HIGH]
        progress[_USED] = used
        random[0] = state
        child = choose(tree, promise, 0, root.player, state, 1 if worths is None else MOST_WORTH)
        actions[b] = action_of(rules, root.player, np.int64(tree[child, HOLE]))
        if is_over:
            progress[ACTIVE] = 0
            b += 1
    return b


class MctsAgent(SearchAgent):
    """Play the turn that a Monte-Carlo tree search tried most, or proved best.

    Attributes:
        last_simulations: int64 `[B]`, simulations run for each game of the last call; fewer than asked
            for where the value was proven, or nothing had to be chosen.
    """

    last_simulations: np.ndarray
    most_in_one_piece = _PIECE

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and a number of simulations or a time; see :class:`SearchAgent`."""
        super().__init__(ruleset, budget, spec=spec, seed=seed, num_threads=num_threads)
        self.last_simulations = np.zeros(0, np.int64)

    def act(self, games: np.ndarray) -> np.ndarray:
        """Choose an action in each game; see :meth:`Agent.act`."""
        games = self._running(games)
        actions, self.last_simulations = self.search(games, self.random_seeds(len(games)))
        return actions

    def search(self, games: np.ndarray, randoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Search every game by a seed of its own; the agent's random state stays, and threads may share it.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`; not looked at for what is impossible.
            randoms: Seeds, uint64 `[B]`.

        Returns:
            The chosen actions and the simulations run for them, int64 `[B]` each.
        """
        actions = np.zeros(len(games), np.int64)
        simulations = np.zeros(len(games), np.int64)
        worths = self._worths(games)

        def search_games(memory: Memory, start: int, stop: int, piece: int) -> int:
            return search_piece(
                self._rules,
                games,
                randoms,
                self.budget.steps,
                worths,
                actions,
                simulations,
                memory,
                start,
                stop,
                piece,
            )

        self._search(games, search_games)
        return actions, simulations

    def _worths(self, games: np.ndarray) -> np.ndarray | None:
        """Return the table of worths that games are searched with; None where results are margins."""
        return None

    def _new_memory(self) -> Memory:
        # A simulation adds at most the children of one node, and the root has its own.
        nodes = min(_MOST_NODES, 1 + (self.budget.steps + 1) * self.ruleset.num_holes)
        return Memory(
            tree=np.empty((nodes, NODE_COLUMNS), np.int32),
            promise=np.empty((nodes, 2), np.float32),
            path=np.empty((MOST_TURNS, 2), np.int32),
            random=np.zeros(1, np.uint64),
            progress=np.zeros(PROGRESS_COLUMNS, np.int64),
        )
