"""A loop in the style of CleanRL: advantage actor-critic that scores each action by what it leads to."""

import sys
import time

import gymnasium
import numpy as np
import torch

from mancala_env import agents, evaluation

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
B, T = (256, 16) if steps > 10_000 else (8, 4)
options = {"opponent": "greedy", "seat": "random", "observation": "afterstates"}
envs = gymnasium.make_vec("mancala/LayliGoobalay-v0", num_envs=B, **options)
net = torch.nn.Sequential(torch.nn.Linear(34, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2))
judge = lambda seen: net(torch.as_tensor(seen).float() / 10).unbind(-1)  # noqa: E731
optimizer, start = torch.optim.Adam(net.parameters(), lr=1e-3), time.time()
seen, infos = envs.reset(seed=0)
for _ in range(steps // (B * T)):
    history, rewards, dones = [], np.zeros((T, B), np.float32), np.zeros((T, B), np.float32)
    for t in range(T):
        mask = torch.as_tensor(infos["action_mask"]) > 0
        scores, values = judge(seen)
        policy = torch.distributions.Categorical(logits=scores.masked_fill(~mask, -1e9))
        action, value = policy.sample(), (values * mask).sum(1) / mask.sum(1)
        seen, rewards[t], dones[t], _, infos = envs.step(action.numpy())
        history.append((policy.log_prob(action), value, policy.entropy()))
    logp, value, entropy = (torch.stack(part) for part in zip(*history))
    targets = [value[-1].detach()]
    for r, d in zip(torch.as_tensor(rewards).flip(0), torch.as_tensor(dones).flip(0)):
        targets.insert(0, r + (1 - d) * targets[0])
    advantage = torch.stack(targets[:-1]) - value
    loss = (advantage**2 - advantage.detach() * logp - 0.01 * entropy).mean()
    optimizer.zero_grad(), loss.backward(), optimizer.step()
print(f"{steps / (time.time() - start):,.0f} steps/s")
choose = lambda seen, legal: judge(seen)[0].masked_fill(~torch.as_tensor(legal), -1e9).argmax(1)  # noqa: E731
agent = agents.from_function(choose, "layli_goobalay", observation="afterstates")
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, "layli_goobalay", games=1000, seed=1).win_rate)
