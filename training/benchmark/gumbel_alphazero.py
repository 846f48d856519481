"""Gumbel AlphaZero (Danihelka et al. 2022, "Policy improvement by planning with Gumbel").

AlphaZero draws actions from the visits of a search, which improve a policy only after many simulations. This
search tries some actions at the root, drawn without replacement by Gumbel noise. It halves their number until
one is left ("sequential halving"), and plays that action. The policy learns `pi_improved` instead of visits:

| name | meaning |
|---|---|
| `n` | number of simulations of a search |
| `completed_q` | value of each action that was tried; for other actions, the value of the position |
| `pi_improved` | softmax of the logits plus `sigma(completed_q)`; better than the policy for any `n` |
| `z` | reward at the end of the game for the player to move |

    loss = cross-entropy(pi_improved, policy) + (value - target)^2

The target is a mean of `z` and the value of the root. The reward is the margin, because regret is in seeds.
The noise stays on during the game. `mancala_env.search.puct` is the search; `policy` of its results is
`pi_improved`.

The network sees turns and replies. It uses no bundled value network, so everything is learned. The agent
searches as in training, without noise. `gumbel_alphazero.safetensors` also plays without a search. Turns
inside the search are not environment steps.

Symbols: B games, A actions, N positions.
"""

import copy
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

import mancala_env
from mancala_env import agents, observations, search
from mancala_env.benchmark import LearningBudget, Point, limit_of_steps
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.engine.state import END_COLUMN, NUM_COLUMNS, PLAYER_COLUMN, RUNNING, SOUTH
from mancala_env.networks.checkpoint import Identity, as_tensors
from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.observations import Observer
from mancala_env.training.value_fit import openings_of_lengths

TASKS = ("anything",)

GAMES, LONGEST = 256, 200  # games side by side, and most turns of each
OPENING_TURNS = 12  # most random turns that start a game
SIMULATIONS = 16  # n, simulations of each search
REWARD = "margin"  # or "outcome"
SEARCH_SHARE = 0.5  # weight of the root's value in a target; the rest is z
POSITIONS = 100_000  # number of latest positions to learn from
PASSES, BATCH_SIZE = 4, 1024  # how often a position is learned from, on average
LEARNING_RATE, LAST_LEARNING_RATE = 0.002, 0.0002
MAX_GRAD_NORM = 1.0
HIDDEN, LAYERS, SEED_LEVELS = 128, 2, 10  # size of the network


def evaluator(network):
    """Return the network as a function for the search."""

    def evaluate(seen, is_legal):
        with torch.inference_mode():
            return network(torch.from_numpy(seen), torch.from_numpy(is_legal))

    return evaluate


class Replay:
    """The latest positions: games uint64 `[N, 16]`, `pi_improved` float32 `[N, A]`, targets float32 `[N]`."""

    def __init__(self, num_actions):
        self.games = np.zeros((POSITIONS, NUM_COLUMNS), np.uint64)
        self.pi_improved = np.zeros((POSITIONS, num_actions), np.float32)
        self.targets = np.zeros(POSITIONS, np.float32)
        self.added = 0

    def add(self, *arrays):
        """Add positions, in the order of the attributes."""
        at = (self.added + np.arange(len(arrays[0]))) % POSITIONS
        self.games[at], self.pi_improved[at], self.targets[at] = arrays
        self.added += len(at)

    def sample(self, rng):
        """Draw positions of a minibatch with replacement."""
        rows = rng.integers(0, min(self.added, POSITIONS), BATCH_SIZE)
        return self.games[rows], self.pi_improved[rows], self.targets[rows]


class Learner:
    """The network, its optimizer, and the positions of its games."""

    def __init__(self, ruleset, kind, seed):
        torch.manual_seed(seed)
        self.ruleset, self._rng = ruleset, np.random.default_rng(seed)
        self.observer = Observer(ruleset, kind)
        self.size = NetworkConfig(observation=kind, hidden=HIDDEN, layers=LAYERS, seed_levels=SEED_LEVELS)
        self.network = build_network(ruleset, self.observer.num_actions, self.size)
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE)
        self.replay = Replay(self.observer.num_actions)

    def play(self, num_games):
        """Play games by the search and add their positions to the replay; return the number of turns."""
        ruleset, rng = self.ruleset, self._rng
        lengths = np.bincount(rng.integers(1, OPENING_TURNS + 1, num_games))
        games = openings_of_lengths(ruleset, lengths, int(rng.integers(2**62)))
        running, z_of_south, turns = np.arange(len(games)), np.zeros(len(games), np.float32), []
        while len(running) and len(turns) < LONGEST:
            before = games[running]
            found = search.puct(
                ruleset, before, evaluator(self.network), search.Limit(simulations=SIMULATIONS), gumbel=True,
                temperature=1.0, observation=self.observer.kind, margin_share=float(REWARD == "margin"),
                seed=rng, num_threads=1,
            )  # fmt: skip
            turns.append((running, before, found.policy, found.values))
            after = mancala_env.step(ruleset, before, found.actions, reward=REWARD, num_threads=1)
            games[running], z_of_south[running] = after.games, after.rewards[:, SOUTH]
            running = running[after.games[:, END_COLUMN] == RUNNING]
        rows, before, pi_improved, values = (np.concatenate(parts) for parts in zip(*turns, strict=True))
        z = np.where(before[:, PLAYER_COLUMN] == SOUTH, z_of_south[rows], -z_of_south[rows])
        targets = SEARCH_SHARE * values + (1 - SEARCH_SHARE) * z
        is_learned = rows_to_learn(ruleset, before)
        self.replay.add(before[is_learned], pi_improved[is_learned], targets[is_learned])
        return len(rows)

    def fit(self, num_batches, rate):
        """Fit the network to minibatches of the replay."""
        self._optimizer.param_groups[0]["lr"] = rate
        for _ in range(num_batches):
            games, pi_improved, targets = self.replay.sample(self._rng)
            seen = self.observer.empty(len(games))
            is_legal = np.empty((len(games), self.observer.num_actions), np.bool_)
            self.observer.write(games, seen, is_legal, num_threads=1)
            logits, values = self.network(torch.from_numpy(seen), torch.from_numpy(is_legal))
            log_policy = torch.log_softmax(logits, dim=1)
            policy_loss = -(torch.from_numpy(pi_improved) * log_policy).sum(dim=1).mean()
            value_loss = (values - torch.from_numpy(targets)).square().mean()
            self._optimizer.zero_grad()
            (policy_loss + value_loss).backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), MAX_GRAD_NORM)
            self._optimizer.step()

    def agent(self):
        """Return an agent that searches with a copy of the network, without noise."""
        return agents.from_network(
            evaluator(copy.deepcopy(self.network)), self.ruleset, search.Limit(simulations=SIMULATIONS),
            observation=self.observer.kind, gumbel=True, margin_share=float(REWARD == "margin"),
            name="gumbel_alphazero", num_threads=1,
        )  # fmt: skip

    def checkpoint(self, steps, seed):
        """Return the network as the content of a checkpoint."""
        kind = self.observer.kind
        identity = Identity(
            ruleset=self.ruleset, rounds=1, observation_version=observations.version(kind, self.ruleset),
            network=self.size, environment_steps=steps, versions={"mancala-env": mancala_env.__version__},
            config={"algorithm": "gumbel_alphazero", "seed": seed, "selfplay": {"reward": REWARD}},
        )  # fmt: skip
        return as_tensors(identity, self.network)

    def store(self, file, steps):
        """Write the state that `restore` needs."""
        state = {name: torch.from_numpy(each) for name, each in vars(self.replay).items() if name != "added"}
        state |= {"network": self.network.state_dict(), "optimizer": self._optimizer.state_dict()}
        torch.save(state | {"added": self.replay.added, "steps": steps}, file.with_suffix(".part"))
        file.with_suffix(".part").replace(file)

    def restore(self, file):
        """Read the state that `store` wrote; return the number of steps. Random numbers are new ones."""
        state = torch.load(file, weights_only=True)
        self.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        for name in ("games", "pi_improved", "targets"):
            setattr(self.replay, name, state[name].numpy())
        self.replay.added, steps = state["added"], state["steps"]
        self._rng = np.random.default_rng((self.replay.added, steps))
        return steps


def learn(task, ruleset, budget, seed, folder):
    """Play and fit in turn, and yield the agent at each measuring point."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    learner, file, steps = Learner(ruleset, task.observation, seed), folder / "learner.pt", 0
    if file.is_file():
        steps = learner.restore(file)
        if not budget.resume(steps):
            learner, steps = Learner(ruleset, task.observation, seed), 0
    num_games = min(GAMES, max(1, budget.steps // (10 * LONGEST))) if budget.steps else GAMES
    while budget.allows(steps + num_games * LONGEST):
        added, done = learner.replay.added, min(1.0, budget.part_spent(steps))
        steps += learner.play(num_games)
        rate = LEARNING_RATE + (LAST_LEARNING_RATE - LEARNING_RATE) * done
        learner.fit(math.ceil(PASSES * (learner.replay.added - added) / BATCH_SIZE), rate)
        if budget.is_due(steps):
            (folder / "gumbel_alphazero.safetensors").write_bytes(learner.checkpoint(steps, seed))
            yield Point(learner.agent(), steps)
            learner.store(file, steps)
    (folder / "gumbel_alphazero.safetensors").write_bytes(learner.checkpoint(steps, seed))
    yield Point(learner.agent(), steps)


def prepare(task, ruleset):
    """Compile the search and the observations, by a few games."""
    with tempfile.TemporaryDirectory() as folder:
        few = LearningBudget(limit_of_steps(2 * LONGEST), (1.0,))
        for _ in learn(task, ruleset, few, 1, Path(folder)):
            pass
