"""AgileRL: masked DQN by self-play over turn_based_aec_to_parallel; install it by itself, and peft."""

import sys
import time

import torch
from agilerl.algorithms import DQN
from agilerl.components.replay_buffer import ReplayBuffer
from pettingzoo.utils import turn_based_aec_to_parallel
from tensordict import TensorDict

from mancala_env import agents, evaluation, layli_goobalay_v0

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
aec = layli_goobalay_v0.env(observation="afterstates", flatten=True, opening_turns=4)
spaces = aec.observation_space("player_0")["observation"], aec.action_space("player_0")
torch.set_num_threads(1), torch.manual_seed(0)
learner = DQN(*spaces, batch_size=256, lr=1e-3, gamma=1.0, tau=0.01)
env, memory = turn_based_aec_to_parallel(aec), ReplayBuffer(20_000)
fields, moved, start = ("obs", "action", "reward", "next_obs", "done"), {}, time.time()
seen, _ = env.reset(seed=0)
for step in range(steps):
    mover = next(player for player in seen if seen[player]["action_mask"].any())
    now, mask = seen[mover].values()
    moved[mover] = now, learner.get_action(now, 0.1, mask)[0]
    seen, rewards, ended, _, _ = env.step({mover: moved[mover][1]})
    for player in list(moved):  # a transition lasts until its player is to move again, or the end
        if ended[player] or seen[player]["action_mask"].any():
            row = (*moved.pop(player), rewards[player], seen[player]["observation"], ended[player])
            row = {name: torch.tensor(value).float()[None] for name, value in zip(fields, row)}
            memory.add(TensorDict(row, [1]))
    if ended[mover]:
        seen, _ = env.reset()
    if step % 8 == 0 and len(memory) > 256:
        learner.learn(memory.sample(256))
print(f"{steps / (time.time() - start):,.0f} steps/s")
choose = lambda seen, legal: learner.get_action(seen.reshape(-1, 204), 0, legal * 1)  # noqa: E731
agent = agents.from_function(choose, "layli_goobalay", observation="afterstates")
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, "layli_goobalay", games=1000, seed=1).win_rate)
