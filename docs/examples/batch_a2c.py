"""Self-play without a library: advantage actor-critic in plain torch over `Batch`, then win rates and regret.

    python batch_a2c.py [STEPS] [SEED]

Both players of a game are the same network. Every turn is a step of the player who made it.

The sign rule. The game is zero-sum: what is good for one player is as bad for the other. A network values a
position for the player to move. So the value of the next position counts with a minus where the other player
is to move in it. Count it with a plus where the same player is to move again, because the opponent had to
pass. `batch.player` says who is to move; do not assume that the players alternate.
"""

import sys
import time

import numpy as np
import torch
from torch import nn

from mancala_env import Batch, agents, evaluation

torch.set_num_threads(1)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
B, T = (512, 16) if steps > 10_000 else (16, 4)  # B games, T steps of each between two updates
torch.manual_seed(seed)
options = {"first_player": "random", "opening_turns": 4, "opening_set": "training"}
batch = Batch("layli_goobalay", B, seed=seed, observation="replies", num_threads=1, **options)
A, G = batch.observer.shape  # a row of G numbers for each action


class Network(nn.Module):
    """Score every action by its row, so all actions share the weights; the value is their mean."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(G, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.heads = nn.Linear(128, 2)

    def forward(self, seen):
        legal = (seen != 0).any(-1)  # rows of illegal actions are zero
        logits, values = self.heads(self.layers(seen.float() / 8)).unbind(-1)
        logits = logits.masked_fill(~legal, -1e8)
        probabilities = torch.softmax(logits.detach(), -1)
        return logits, (probabilities * torch.tanh(values)).sum(-1)


net = Network()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
start, cpu = time.time(), time.process_time()
for update in range(max(1, steps // (B * T))):
    seen, actions = torch.empty(T, B, A, G), torch.empty(T, B, dtype=torch.int64)
    values, rewards, dones = (torch.zeros(T + 1, B) for _ in range(3))
    players = np.zeros((T + 1, B), np.int8)
    for t in range(T):
        players[t], seen[t] = batch.player, torch.from_numpy(batch.observation)
        with torch.no_grad():
            logits, values[t] = net(seen[t])
        actions[t] = torch.distributions.Categorical(logits=logits).sample()
        batch.step(actions[t].numpy())  # ended games start again within the step
        rewards[t], dones[t] = torch.from_numpy(batch.reward), torch.from_numpy(batch.done)
    players[T] = batch.player
    with torch.no_grad():
        values[T] = net(torch.from_numpy(batch.observation))[1]
    # Generalised advantages. Nothing is carried past the end of a game, where the reward is the mover's.
    sign = torch.from_numpy(np.where(players[1:] == players[:-1], 1.0, -1.0)).float() * (1 - dones[:T])
    advantages = torch.zeros(T + 1, B)
    for t in reversed(range(T)):
        error = rewards[t] + sign[t] * values[t + 1] - values[t]
        advantages[t] = error + 0.9 * sign[t] * advantages[t + 1]
    logits, value = net(seen.flatten(0, 1))
    policy = torch.distributions.Categorical(logits=logits)
    advantage, target = advantages[:T].flatten(), (advantages + values)[:T].flatten()
    gain = policy.log_prob(actions.flatten()) * (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    loss = 0.5 * (target - value).square().mean() - gain.mean() - 0.01 * policy.entropy().mean()
    optimizer.zero_grad(), loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
print(f"{steps / (time.time() - start):,.0f} steps/s")
print(f"{steps / (time.process_time() - cpu):,.0f} steps a CPU second")

agent = agents.from_policy(net, "layli_goobalay", observation="replies")
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, "layli_goobalay", games=1000, seed=1).win_rate)
print("regret", round(evaluation.measure_regret(agent, "layli_goobalay").overall.mean_regret, 2))
