"""AlphaZero in one file: a torch network learns from searches that it guides itself.

python docs/examples/alphazero.py [ENVIRONMENT_STEPS] [SEED]
"""

import sys
import time

import numpy as np
import torch
from torch import nn

from mancala_env import Batch, agents, evaluation, search

RULESET, KIND = "leyla", "afterstates"
SIMULATIONS = search.Limit(simulations=32)  # of the search for each turn
SAMPLED_TURNS = 10  # first turns of a game that are drawn from the visits; the later ones are the best
TURNS = 8  # of every game between two updates
PASSES, BATCH_SIZE = 4, 512  # how often a position is learned from, on average
MEMORY = 1 << 15  # latest positions

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
games = 128 if steps > 10_000 else 8
torch.set_num_threads(1)
torch.manual_seed(seed)
rng = np.random.default_rng(seed)


class Network(nn.Module):
    """Scores each action by what it leads to: observations [N, A, G] to logits [N, A] and values [N]."""

    def __init__(self, num_features):
        super().__init__()
        sizes = nn.Linear(num_features, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)
        self.layers = nn.Sequential(*sizes)

    def forward(self, observations, legal):
        logits, values = self.layers(observations.float() / 10).unbind(-1)
        logits = logits.masked_fill(~legal, -1e9)
        return logits, torch.tanh((logits.softmax(1) * values).sum(1))


class Memory:
    """The latest positions: what the network saw, the policy of the search, and the target of the value."""

    def __init__(self, shape, num_actions):
        self.observations = torch.zeros(MEMORY, *shape, dtype=torch.int16)
        self.legal = torch.zeros(MEMORY, num_actions, dtype=torch.bool)
        self.policy = torch.zeros(MEMORY, num_actions)
        self.values = torch.zeros(MEMORY)  # of the search, for the player to move
        self.targets = torch.full((MEMORY,), torch.nan)  # unknown until the game is over
        self.players = np.zeros(MEMORY, np.int64)
        self.written = 0

    def add(self, batch, found):
        """Store one position of every game and return their indices."""
        at = (self.written + np.arange(games)) % MEMORY
        self.observations[at] = torch.from_numpy(batch.observation)
        self.legal[at] = torch.from_numpy(batch.legal_mask != 0)
        self.policy[at], self.values[at] = torch.from_numpy(found.policy), torch.from_numpy(found.values)
        self.targets[at], self.players[at] = torch.nan, batch.player
        self.written += games
        return at

    def finish(self, at, rewards):
        """Set the targets of a finished game: half the value of the search, half the reward at the end."""
        self.targets[at] = (self.values[at] + torch.from_numpy(rewards[self.players[at]])) / 2

    def sample(self, known):
        at = torch.from_numpy(rng.choice(known, BATCH_SIZE))
        return self.observations[at], self.legal[at], self.policy[at], self.targets[at]


def evaluate(observations, legal):
    with torch.inference_mode():
        return network(torch.from_numpy(observations), torch.from_numpy(legal))


def play_turn(batch, memory, turns):
    """Search and play one turn of every game; `turns` has the indices of each game's positions."""
    found = search.puct(
        RULESET,
        batch,
        evaluate,
        SIMULATIONS,
        observation=KIND,
        noise=0.25,
        temperature=np.array([float(len(past) < SAMPLED_TURNS) for past in turns]),
        seed=rng,
        num_threads=1,
    )
    for past, index in zip(turns, memory.add(batch, found), strict=True):
        past.append(index)
    batch.step(found.actions)
    for row in np.flatnonzero(batch.done):
        memory.finish(np.array(turns[row]), batch.rewards[row])
        turns[row] = []


def learn(memory, optimizer):
    """Fit policy and value to positions of finished games."""
    known = np.flatnonzero(~memory.targets.isnan().numpy())
    for _ in range(PASSES * TURNS * games // BATCH_SIZE + 1 if len(known) else 0):
        observations, legal, policy, targets = memory.sample(known)
        logits, values = network(observations, legal)
        loss = -(policy * logits.log_softmax(1)).sum(1).mean() + (values - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


batch = Batch(RULESET, games, seed=seed, num_threads=1, observation=KIND, opening_turns=4)
network = Network(batch.observer.shape[-1])
optimizer = torch.optim.Adam(network.parameters())
memory, turns = Memory(batch.observer.shape, batch.num_actions), [[] for _ in range(games)]
start, total = time.time(), 0
while total < steps:
    for _ in range(TURNS):
        play_turn(batch, memory, turns)
    optimizer.param_groups[0]["lr"] = 2e-3 * (1 - total / steps) + 1e-4
    learn(memory, optimizer)
    total += TURNS * games
print(f"{total / (time.time() - start):,.0f} steps/s")
for simulations in (2, 32):  # two simulations play the network's first choice
    limit = search.Limit(simulations=simulations)
    agent = agents.from_network(evaluate, RULESET, limit, observation=KIND, seed=1, num_threads=1)
    print(f"{simulations} simulations" if simulations > 2 else "alone")
    for opponent in ("random", "greedy"):
        print(opponent, evaluation.play_matches(agent, opponent, RULESET, games=1000, seed=1).win_rate)
