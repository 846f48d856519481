"""Tianshou: masked DQN that judges each action by what it leads to."""

import sys
import time

import torch
from gymnasium import make, wrappers
from tianshou import algorithm, data, env, trainer
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy

from mancala_env import agents, evaluation

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
options = {"opponent": "greedy", "seat": "random", "observation": "afterstates"}


def masked():  # Tianshou looks for the mask in the observation
    game = make("mancala/LayliGoobalay-v0", **options)
    both = lambda seen: {"obs": seen, "mask": game.unwrapped.action_masks()}  # noqa: E731
    return wrappers.TransformObservation(game, both, None)


class Judge(torch.nn.Sequential):
    def forward(self, seen, state=None, info=None):
        return super().forward(torch.as_tensor(seen).float() / 10).squeeze(-1), state


torch.set_num_threads(1), torch.manual_seed(0)
envs = env.DummyVectorEnv([masked] * 32)
network = Judge(torch.nn.Linear(34, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
play = DiscreteQLearningPolicy(model=network, action_space=envs.action_space[0], eps_training=0.1)
dqn = DQN(policy=play, optim=algorithm.optim.AdamOptimizerFactory(lr=1e-3), gamma=1.0, target_update_freq=100)
collector = data.Collector(dqn, envs, data.VectorReplayBuffer(20_000, 32), exploration_noise=True)
params = {"max_epochs": 1, "epoch_num_steps": steps, "verbose": False, "show_progress": False}
start, more = time.time(), {"batch_size": 256, "update_step_num_gradient_steps_per_sample": 0.05}
dqn.run_training(trainer.OffPolicyTrainerParams(training_collector=collector, **params, **more))
print(f"{steps / (time.time() - start):,.0f} steps/s")
agent = agents.from_policy(network, "layli_goobalay", observation="afterstates")
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, "layli_goobalay", games=1000, seed=1).win_rate)
