"""Self-play in plain torch over `Batch`: advantage actor-critic, then win rates and regret.

    python batch_a2c.py [STEPS] [SEED]

Both players of a game are the same network. Every turn is a step of the player who made it.

The sign rule: the game is zero-sum, and a value is for the player to move. If the other player is to move
after a turn, the next value counts with a minus: their gain is the mover's loss. If the same player is to
move again, because the opponent must pass, it counts with a plus. So compare `batch.player`, always.
"""

import sys
import time

import numpy as np
import torch
from torch import nn

from mancala_env import Batch, agents, evaluation

torch.set_num_threads(1)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
B, T = (512, 16) if steps > 10_000 else (16, 4)  # B games, T steps of each between two updates
torch.manual_seed(seed)
options = {"first_player": "random", "opening_turns": 4, "opening_set": "training"}
batch = Batch("layli_goobalay", B, seed=seed, observation="replies", num_threads=1, **options)
A, G = batch.observer.shape  # a row of G numbers for each of A actions


class Network(nn.Module):
    """Score every action by its row. The value is the mean of the actions' values under the policy."""

    def __init__(self):
        super().__init__()
        layers = nn.Linear(G, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)
        self.layers = nn.Sequential(*layers)

    def forward(self, seen):
        logits, values = self.layers(seen.float() / 8).unbind(-1)
        logits = logits.masked_fill((seen == 0).all(-1), -1e8)  # rows of illegal actions are zero
        return logits, (torch.softmax(logits.detach(), -1) * torch.tanh(values)).sum(-1)


net = Network()
optimizer, start, cpu = torch.optim.Adam(net.parameters(), lr=1e-3), time.time(), time.process_time()
for _ in range(max(1, steps // (B * T))):
    seen, actions = torch.empty(T, B, A, G), torch.empty(T, B, dtype=torch.int64)
    values, rewards, dones = (torch.zeros(T + 1, B) for _ in range(3))
    players = np.zeros((T + 1, B), np.int8)
    for t in range(T):
        players[t], seen[t] = batch.player, torch.from_numpy(batch.observation)
        with torch.no_grad():
            logits, values[t] = net(seen[t])
        actions[t] = torch.distributions.Categorical(logits=logits).sample()
        batch.step(actions[t].numpy())  # a game that ends starts again within the step
        rewards[t], dones[t] = torch.from_numpy(batch.reward), torch.from_numpy(batch.done)
    players[T] = batch.player
    with torch.no_grad():
        values[T] = net(torch.from_numpy(batch.observation))[1]
    # Nothing is carried past the end of a game. Its reward is that of the player who moved last.
    sign = torch.from_numpy(np.where(players[1:] == players[:-1], 1, -1)) * (1 - dones[:T])
    advantages = torch.zeros(T + 1, B)
    for t in reversed(range(T)):  # generalised advantages, lambda 0.9
        error = rewards[t] + sign[t] * values[t + 1] - values[t]
        advantages[t] = error + 0.9 * sign[t] * advantages[t + 1]
    logits, value = net(seen.flatten(0, 1))
    policy, advantage = torch.distributions.Categorical(logits=logits), advantages[:T].flatten()
    gain = policy.log_prob(actions.flatten()) * (advantage - advantage.mean()) / advantage.std()
    error = (advantages + values)[:T].flatten() - value
    loss = (0.5 * error.square() - gain - 0.01 * policy.entropy()).mean()
    optimizer.zero_grad(), loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
print(f"{steps / (time.time() - start):,.0f} steps/s")
print(f"{steps / (time.process_time() - cpu):,.0f} steps a CPU second")
agent = agents.from_policy(net, "layli_goobalay", observation="replies")
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, "layli_goobalay", games=1000, seed=1).win_rate)
print("regret", round(evaluation.measure_regret(agent, "layli_goobalay").overall.mean_regret, 2))
