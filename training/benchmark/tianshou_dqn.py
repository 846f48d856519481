"""Tianshou's DQN on the Gymnasium environment, as in its documentation.

It uses a replay buffer, a target network and epsilon-greedy exploration. The mask is in the observation. If
the task shows a row of features per action, the network evaluates one action at a time; from the board, it
evaluates all actions at once.
"""

from typing import Any

import gymnasium
import torch
from gymnasium import wrappers

from mancala_env import agents
from mancala_env._util.command_line import needing
from mancala_env.benchmark import Point
from mancala_env.envs.families import FAMILIES

with needing("tianshou_dqn", None):
    from tianshou import data, env, trainer
    from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory

TASKS = ("board", "afterstates", "anything")

OPPONENTS = ["random", "greedy", "minimax:2"]
ENVIRONMENTS = 32
HIDDEN = 128
COLLECTED = 320  # steps per update
EPOCH = 1600  # steps between checks of the budget


class QNetwork(torch.nn.Module):
    """An MLP that returns the value of each action.

    Args:
        space: Observation space, of shape `[F]`, or `[A, G]` with a row per action.
        num_actions: A.
    """

    def __init__(self, space, num_actions):
        super().__init__()
        self.is_per_action = len(space.shape) == 2
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(space.shape[-1], HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN, HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN, 1 if self.is_per_action else num_actions),
        )

    def forward(self, seen, state=None, info=None):
        """Return values `[B, A]` and the state, which is always None."""
        values = self.layers(torch.as_tensor(seen).float() / 10)
        return (values.squeeze(-1) if self.is_per_action else values), state


def make_environment(task, ruleset):
    """Return the environment. Tianshou expects the mask in the observation."""
    gym_id = next(family.gym_id for family in FAMILIES.values() if family.landing == ruleset.landing)
    game: Any = gymnasium.make(
        gym_id, ruleset=ruleset, opponent=OPPONENTS, seat="random", opening_set="training",
        observation=task.observation,
    )  # fmt: skip
    both = lambda seen: {"obs": seen, "mask": game.unwrapped.action_masks()}  # noqa: E731
    return wrappers.TransformObservation(game, both, None)


def prepare(task, ruleset):
    """Compile the environment and its opponents."""
    game = make_environment(task, ruleset)
    for seed in range(20):  # enough episodes to meet every opponent
        seen, _ = game.reset(seed=seed)
        game.step(seen["mask"].argmax())


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield the network at each measurement."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    envs = env.DummyVectorEnv([lambda: make_environment(task, ruleset)] * ENVIRONMENTS)
    envs.seed(seed)
    one: Any = make_environment(task, ruleset)
    space, actions = one.unwrapped.observation_space, one.action_space
    network = QNetwork(space, int(actions.n))
    policy = DiscreteQLearningPolicy(
        model=network, action_space=actions, observation_space=space, eps_training=0.1
    )
    adam = AdamOptimizerFactory(lr=1e-3)
    dqn = DQN(policy=policy, optim=adam, gamma=1.0, target_update_freq=100)
    buffer = data.VectorReplayBuffer(100_000, ENVIRONMENTS)
    collector = data.Collector(dqn, envs, buffer, exploration_noise=True)
    epoch = min(EPOCH, max(COLLECTED, budget.steps // 20)) if budget.steps else EPOCH
    training = dqn.create_trainer(
        trainer.OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=2**31,
            epoch_num_steps=epoch,
            collection_step_num_env_steps=COLLECTED,
            update_step_num_gradient_steps_per_sample=0.05,
            batch_size=256,
            verbose=False,
            show_progress=False,
        )
    )
    training.reset()
    steps = 0
    while budget.allows(steps + epoch + COLLECTED):
        training.execute_epoch()
        steps = collector.collect_step
        if budget.is_due(steps):
            yield Point(agents.from_policy(network, ruleset, observation=task.observation, name="dqn"), steps)
    yield Point(agents.from_policy(network, ruleset, observation=task.observation, name="dqn"), steps)
