"""Descent with completion (Cohen-Solal 2020, 2023): minimax that descends to the end of the game.

"Learning to play two-player perfect-information games without knowledge" (2020), "Completeness of unbounded
best-first minimax and Descent minimax" (2023). Names are the paper's:

| name | meaning |
|---|---|
| `f` | adaptive evaluation: the network's estimate of South's final lead, in seeds |
| `v` | value of a state: `f` of a leaf, or the best value of the children |
| `r` | whether a state is resolved: its lead under perfect play is known |
| `D` | expanded states of the tree, each with its `v`: the network learns from all ("tree learning") |

An iteration follows the best unresolved action from the root until all are resolved, so it descends to the
end of the round. Then `v` and `r` are backed up. The tree is kept during a game. Actions are drawn by the
ordinal law: the best of n with probability `e + (1 - e) / n`, otherwise one of the others by the same law.
`e` grows from 0 to 1. The value of a final state is the lead, the paper's "score" heuristic.

Unlike in the paper, a state is resolved when its lead is known, not its winner, because regret is in seeds.
Bounds on the lead resolve states earlier. Final states are not learned, because the network never evaluates
them. After a game all values are backed up once more. The agent is `value+minimax:4` with the network, as
in value_loop. Turns inside the search are not environment steps.
"""

import math

import numpy as np
import torch

from mancala_env._util.tensors import SUFFIX
from mancala_env.benchmark import Point
from mancala_env.engine.episode import encode_episode, new_episode
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import next_random
from mancala_env.engine.state import NUM_COLUMNS, PLAYER_COLUMN, RUNNING, SOUTH, encode, num_seeds, save
from mancala_env.engine.turn import play_turn
from mancala_env.networks.value import UNIT, certain_leads, codes_of, leaf_value
from mancala_env.networks.value_files import ValueFile
from mancala_env.search import uct
from mancala_env.search.uct import COUNT, FIRST, HIGH, HOLE, LOW, VALUE, add_children, bounds, tighten
from mancala_env.training.value_fit import ValueNetwork

TASKS = ("anything",)

DEPTH = 4  # turns that the agent's search looks ahead
ITERATIONS = 16  # iterations of Descent for each turn
GAMES = 50  # games between two updates of the network
OPENING_TURNS = 12  # most random turns that start a game
MEMORY = 500_000  # number of latest states to learn from
PASSES, BATCH_SIZE = 1.0, 4096  # how often a state is learned from, on average
LEARNING_RATE, LAST_LEARNING_RATE = 0.01, 0.0005
HUBER = 8.0  # larger errors in seeds count linearly
LONGEST = 200  # most turns of a game, and of an iteration
NODES, STATES = 1 << 18, 1 << 16  # room for the tree of a game and for its expanded states


@kernel
def best_child(tree, v, s, player, is_unresolved):
    """Return the best child of a state for its player, or the best unresolved one if there is any, or -1."""
    best, most = -1, -np.inf
    for child in range(tree[s, FIRST], tree[s, FIRST] + tree[s, COUNT]):
        value = v[child, VALUE]
        if value == -np.inf or (is_unresolved and tree[child, LOW] == tree[child, HIGH]):  # -inf: pruned
            continue
        value = value if player == SOUTH else -value
        if value > most:
            best, most = child, value
    return best


@kernel
def back_up(tree, v, s, player):
    """Set the value and the bounds of a state by its children; it is resolved where the bounds are equal."""
    tighten(tree, v, s, player)
    value = v[best_child(tree, v, s, player, False), VALUE]
    v[s, VALUE] = min(max(value, np.float32(tree[s, LOW])), np.float32(tree[s, HIGH]))
    return v[s, VALUE]


@kernel
def expand(rules, total, game, s, network, tree, v, used):
    """Add the children of a state, each with `f` or its final lead; return the number of nodes in use."""
    first, used = used, add_children(rules, game, tree, v, s, used)
    for child in range(first, used):
        after = play_turn(rules, game, np.int64(tree[child, HOLE]))[0]
        low, high = bounds(rules, after, total)
        tree[child, LOW], tree[child, HIGH] = low, high
        f = leaf_value(rules, after, total, SOUTH, network) / UNIT
        v[child, VALUE] = min(max(f, np.float64(low)), np.float64(high))
    return used


@kernel
def descent_iteration(rules, total, game, s, network, memory, used, seen):
    """Descend from a state to a resolved one, and back up; return the nodes and the expanded states."""
    tree, v, path, states, nodes, _ = memory
    length = 0
    while length < LONGEST:
        path[length, 0], path[length, 1], length = s, game.player, length + 1
        if tree[s, COUNT] == 0:
            save(states, seen, game)
            nodes[seen], seen = s, seen + 1
            used = expand(rules, total, game, s, network, tree, v, used)
            back_up(tree, v, s, game.player)
        if tree[s, LOW] == tree[s, HIGH]:
            break
        s = best_child(tree, v, s, game.player, True)
        game = play_turn(rules, game, np.int64(tree[s, HOLE]))[0]
    for ply in range(length - 1, -1, -1):
        back_up(tree, v, path[ply, 0], path[ply, 1])
    return used, seen


@kernel
def ordinal_action(tree, v, s, player, e, random):
    """Draw a child of a state by the ordinal law; return the generator's state and the child."""
    first, left, best = np.int64(tree[s, FIRST]), np.int64((1 << tree[s, COUNT]) - 1), -1
    for n in range(tree[s, COUNT], 0, -1):
        best, most = -1, -np.inf
        for i in range(tree[s, COUNT]):
            value = np.float64(v[first + i, VALUE])
            value = value if player == SOUTH or value == -np.inf else -value
            if (left >> i) & 1 and (best < 0 or value > most):
                best, most = i, value
        random, bits = next_random(random)
        if n == 1 or np.float64(bits >> np.uint64(11)) * 2.0**-53 < e + (1.0 - e) / n:
            break
        left ^= 1 << best
    return random, first + best


@kernel
def play_game(rules, episode, random, network, iterations, e, memory):
    """Play one game by Descent, and write `D` to the memory; return the number of turns and of states."""
    tree, v, _, states, nodes, values = memory
    random, game = new_episode(rules, episode, random)
    total = num_seeds(game)
    tree[0, COUNT], v[0, VALUE] = 0, 0.0
    tree[0, LOW], tree[0, HIGH] = bounds(rules, game, total)
    s, used, seen, turns = 0, 1, 0, 0
    while game.end == RUNNING and turns < LONGEST:
        for _ in range(iterations):
            is_full = used + 2 * rules.width * LONGEST > len(tree) or seen + LONGEST > len(states)
            if is_full or (tree[s, COUNT] > 0 and tree[s, LOW] == tree[s, HIGH]):
                break
            used, seen = descent_iteration(rules, total, game, s, network, memory, used, seen)
        if tree[s, COUNT] == 0:  # no room: learn from the game so far
            break
        random, s = ordinal_action(tree, v, s, game.player, e, random)
        game = play_turn(rules, game, np.int64(tree[s, HOLE]))[0]
        turns += 1
    for i in range(seen - 1, -1, -1):  # children were expanded after their parents
        values[i] = back_up(tree, v, nodes[i], np.int64(states[i, PLAYER_COLUMN]))
    return turns, seen


class Learner:
    """The network, its optimizer, the states to learn from, and the games that fill them."""

    def __init__(self, ruleset, seed):
        self.ruleset, self._rng = ruleset, np.random.default_rng(seed)
        lengths = range(1, OPENING_TURNS + 1)
        self._episodes = [encode_episode(1, "random", n, opening_set="training") for n in lengths]
        self.network = ValueNetwork(ruleset.num_holes, torch.Generator("cpu").manual_seed(seed))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE)
        self._memory = (
            np.zeros((NODES, uct.NODE_COLUMNS), np.int32), np.zeros((NODES, 2), np.float32),
            np.zeros((LONGEST, 2), np.int64), np.zeros((STATES, NUM_COLUMNS), np.uint64),
            np.zeros(STATES, np.int64), np.zeros(STATES, np.float32),
        )  # fmt: skip
        self.codes = torch.zeros((MEMORY, ruleset.num_holes), dtype=torch.int16)
        self.targets, self.added = torch.zeros(MEMORY), 0  # targets: lead minus the certain lead

    def play(self, num_games, e):
        """Play games and remember `D`; return the number of turns."""
        network, steps, found = self.network.weights().packed(), 0, []
        *_, states, _, values = self._memory
        for _ in range(num_games):
            episode = self._episodes[self._rng.integers(len(self._episodes))]
            start = (encode(self.ruleset), episode, self._rng.integers(2**64, dtype=np.uint64))
            turns, seen = play_game(*start, network, ITERATIONS, float(e), self._memory)
            found.append((states[:seen].copy(), values[:seen].copy()))
            steps += turns
        states, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        is_learned = rows_to_learn(self.ruleset, states)  # not from boards held out for evaluation
        states, values = states[is_learned], values[is_learned]
        values = np.where(states[:, PLAYER_COLUMN] == SOUTH, values, -values)
        further = (values - certain_leads(self.ruleset, states)).astype(np.float32)
        at = torch.from_numpy((self.added + np.arange(len(states))) % MEMORY)
        self.codes[at] = torch.from_numpy(codes_of(self.ruleset, states).astype(np.int16))
        self.targets[at] = torch.from_numpy(further)
        self.added += len(states)
        return steps

    def fit(self, num_batches, rate):
        """Fit the network to minibatches of the remembered states."""
        self.optimizer.param_groups[0]["lr"] = rate
        for _ in range(num_batches):
            rows = torch.from_numpy(self._rng.integers(0, min(self.added, MEMORY), BATCH_SIZE))
            found = self.network(self.codes[rows].long())
            loss = torch.nn.functional.huber_loss(found, self.targets[rows], delta=HUBER)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def store(self, file, steps):
        """Write the state that `restore` needs."""
        networks = (self.network.state_dict(), self.optimizer.state_dict())
        torch.save((*networks, self.codes, self.targets, self.added, steps), file.with_suffix(".part"))
        file.with_suffix(".part").replace(file)

    def restore(self, file):
        """Read the state that `store` wrote; return the number of steps. Random numbers are new ones."""
        network, optimizer, self.codes, self.targets, self.added, steps = torch.load(file, weights_only=True)
        self.network.load_state_dict(network)
        self.optimizer.load_state_dict(optimizer)
        self._rng = np.random.default_rng((self.added, steps))
        return steps


def learn(task, ruleset, budget, seed, folder):
    """Play and fit in turn, and yield the network at each measuring point."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    file, stored = folder / f"descent{SUFFIX}", folder / "learner.pt"
    learner, steps = Learner(ruleset, seed), 0
    if stored.is_file():
        steps = learner.restore(stored)
        if not budget.resume(steps):
            learner, steps = Learner(ruleset, seed), 0
    num_games = min(GAMES, max(1, budget.steps // (100 * LONGEST))) if budget.steps else GAMES

    def point():
        file.write_bytes(ValueFile(ruleset, learner.network.weights(), {}).to_bytes())
        return Point(f"value+minimax:{DEPTH}:{file}", steps)

    while budget.allows(steps + num_games * LONGEST):
        added, done = learner.added, min(1.0, budget.part_spent(steps))
        steps += learner.play(num_games, done)
        rate = LEARNING_RATE * (LAST_LEARNING_RATE / LEARNING_RATE) ** done
        learner.fit(math.ceil(PASSES * (learner.added - added) / BATCH_SIZE), rate)
        if budget.is_due(steps):
            yield point()
            learner.store(stored, steps)
    yield point()


def prepare(task, ruleset):
    """Compile the kernels."""
    Learner(ruleset, 1).play(1, 0.5)
