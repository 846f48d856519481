"""AlphaZero (Silver et al. 2018): the network learns what a search that it guides finds.

Each turn of each game is searched by PUCT, the search of policy+mcts. The network that learns evaluates the
leaves of all trees at once. The first turns of a game are drawn from the visits; later turns are the most
visited. The policy is fitted to the visits, the value to a mean of the root's value and the game's outcome:

    loss = cross-entropy(visits, policy) + (value - target)^2

Values change sign with the player and not with the turn: a player whose opponent passes moves twice running.
The search knows the rules, so the task is "anything". The network is measured alone, without a search. Turns
that the search tries cost core minutes and do not count as environment steps.

Symbols: B games, A actions, H holes.
"""

import math
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from mancala_env import Batch, __version__, observations, search
from mancala_env.benchmark import LearningBudget, Point, limit_of_steps
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.networks.checkpoint import Identity, as_tensors
from mancala_env.networks.policy import NetworkConfig, build_network

TASKS = ("anything",)

GAMES, FEWEST_GAMES = 512, 4  # side by side
FEWEST_UPDATES = 50  # a small budget gets fewer games, so that it has this many updates
TURNS = 8  # of each game between two updates
OPENING_TURNS = 4  # random turns that start each game
SIMULATIONS = 16  # of the search for each turn
NOISE = 0.25  # share of a Dirichlet draw in the priors at a root
SAMPLED_TURNS = 12  # first turns of a game that are drawn from the visits
SEARCH_SHARE = 0.5  # of the root's value in a target; the rest is the outcome
POSITIONS = 100_000  # the latest positions of finished games, to learn from
PASSES, BATCH_SIZE = 4, 1024  # how often a position is learned from, on average
LEARNING_RATE, LAST_LEARNING_RATE = 0.002, 0.0002
MAX_GRAD_NORM = 1.0
HIDDEN, LAYERS, SEED_LEVELS = 128, 2, 10  # of the network


def evaluator(network):
    """Return the network as a function for :func:`mancala_env.search.puct`."""

    def evaluate(seen, is_legal):
        with torch.inference_mode():
            return network(torch.from_numpy(seen), torch.from_numpy(is_legal))

    return evaluate


class Turn(NamedTuple):
    """One turn of all games, arrays `[B, ...]`.

    Attributes:
        players: Players to move.
        is_learned: Whether the board may be learned from; boards held out for evaluation may not.
        seen: Observations.
        is_legal: Legal actions, bool `[B, A]`.
        visits: Shares of the visits, float32 `[B, A]`.
        values: Values of the roots to the players to move, float32 `[B]`.
    """

    players: np.ndarray
    is_learned: np.ndarray
    seen: np.ndarray
    is_legal: np.ndarray
    visits: np.ndarray
    values: np.ndarray


class Replay:
    """The latest positions of finished games, each with its visits and the target of its value."""

    def __init__(self, observer, rng, most=POSITIONS):
        self._rng, self.most, self.added = rng, most, 0
        self.seen = observer.empty(most)
        self.is_legal = np.empty((most, observer.num_actions), np.bool_)
        self.visits = np.empty((most, observer.num_actions), np.float32)
        self.targets = np.empty(most, np.float32)

    def __len__(self):
        return min(self.added, self.most)

    def add(self, turn, row, outcome):
        """Add the position of one game; `outcome` is the reward of its player to move at the end."""
        at = self.added % self.most
        self.seen[at], self.is_legal[at], self.visits[at] = (
            turn.seen[row],
            turn.is_legal[row],
            turn.visits[row],
        )
        self.targets[at] = SEARCH_SHARE * turn.values[row] + (1 - SEARCH_SHARE) * outcome
        self.added += 1

    def sample(self, size):
        """Draw positions with replacement, as tensors."""
        rows = self._rng.integers(0, len(self), size)
        arrays = (self.seen, self.is_legal, self.visits, self.targets)
        return [torch.from_numpy(each[rows]) for each in arrays]


class SelfPlay:
    """Games that the search plays against itself.

    Attributes:
        replay: The positions of finished games.
        age: Turns that each game under way has had, int64 `[B]`.
    """

    def __init__(self, ruleset, kind, network, num_games, seed):
        self.batch = Batch(
            ruleset, num_games, seed=seed, num_threads=1, observation=kind, first_player="random",
            opening_turns=OPENING_TURNS, opening_set="training",
        )  # fmt: skip
        self.evaluate, self.simulations = evaluator(network), SIMULATIONS
        self._rng = np.random.default_rng(seed)
        self.replay = Replay(self.batch.observer, self._rng)
        self.age = np.zeros(num_games, np.int64)
        self._turns = []  # since the oldest game under way began

    def play_turn(self):
        """Search and play one turn of every game; finished games go to the replay."""
        batch, rng = self.batch, self._rng
        is_legal = batch.legal_mask.astype(np.bool_)
        found = search.puct(
            batch.ruleset, batch.games, self.evaluate, search.Limit(simulations=self.simulations),
            observation=batch.observer.kind, noise=NOISE, seed=rng, num_threads=1,
            temperature=(self.age < SAMPLED_TURNS).astype(float),
        )  # fmt: skip
        is_learned = rows_to_learn(batch.ruleset, batch.games)
        seen = batch.observation.copy()
        self._turns.append(Turn(batch.player.copy(), is_learned, seen, is_legal, found.policy, found.values))
        self.age += 1
        batch.step(found.actions)
        for row in np.flatnonzero(batch.done):
            for turn in self._turns[-self.age[row] :]:
                if turn.is_learned[row]:
                    self.replay.add(turn, row, batch.rewards[row, turn.players[row]])
        self.age[batch.done] = 0
        self._turns = self._turns[len(self._turns) - self.age.max() :]


def fit(network, optimizer, replay, num_batches):
    """Fit the network to minibatches of the replay."""
    for _ in range(num_batches):
        seen, is_legal, visits, targets = replay.sample(BATCH_SIZE)
        logits, values = network(seen, is_legal)
        policy_loss = -(visits * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()
        value_loss = (values - targets).square().mean()
        optimizer.zero_grad()
        (policy_loss + value_loss).backward()
        nn.utils.clip_grad_norm_(network.parameters(), MAX_GRAD_NORM)
        optimizer.step()


def learn(task, ruleset, budget, seed, folder):
    """Play and fit in turn, and yield the network at each measuring point."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    kinds = observations.kinds_of(ruleset)
    kind = "values" if "values" in kinds else task.observation
    size = NetworkConfig(observation=kind, hidden=HIDDEN, layers=LAYERS, seed_levels=SEED_LEVELS)
    network = build_network(ruleset, ruleset.num_actions(1), size)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    num_games = GAMES
    if budget.steps:
        num_games = min(GAMES, max(FEWEST_GAMES, budget.steps // (FEWEST_UPDATES * TURNS)))
    selfplay, steps = SelfPlay(ruleset, kind, network, num_games, seed), 0

    def point():
        identity = Identity(
            ruleset=ruleset, rounds=1, observation_version=observations.version(kind, ruleset), network=size,
            environment_steps=steps, config={"algorithm": "alphazero", "seed": seed},
            versions={"mancala-env": __version__},
        )  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "alphazero.safetensors"
        path.write_bytes(as_tensors(identity, network))
        return Point(path, steps)

    while budget.allows(steps + TURNS * num_games):
        added = selfplay.replay.added
        for _ in range(TURNS):
            selfplay.play_turn()
        done = budget.part_spent(steps)
        optimizer.param_groups[0]["lr"] = LEARNING_RATE + (LAST_LEARNING_RATE - LEARNING_RATE) * min(1, done)
        fit(
            network,
            optimizer,
            selfplay.replay,
            math.ceil(PASSES * (selfplay.replay.added - added) / BATCH_SIZE),
        )
        steps += TURNS * num_games
        if budget.is_due(steps):
            yield point()
    yield point()


def prepare(task, ruleset):
    """Compile the search and the observations, by a few updates of a few games."""
    with tempfile.TemporaryDirectory() as folder:
        few = LearningBudget(limit_of_steps(6 * FEWEST_GAMES * TURNS), (1.0,))
        for _ in learn(task, ruleset, few, 1, Path(folder)):
            pass
