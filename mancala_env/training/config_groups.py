"""The groups of settings of :class:`mancala_env.training.config.TrainConfig`."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from mancala_env._util.settings import setting
from mancala_env.evaluation.openings import MAX_OPENING_TURNS

# A rollout is in memory as a whole; a step with the observation `leaves` takes up to ten kilobytes.
MOST_STEPS_OF_AN_UPDATE = 2**24

_fraction = partial(setting, low=0, high=1)
_count = partial(setting, low=1, high=10_000_000)
_num_games = partial(setting, low=0, high=10_000_000, is_even=True)
_opening_turns = partial(
    setting, "Number of random turns at the start of a game", 4, low=0, high=MAX_OPENING_TURNS
)
_temperature = partial(
    setting,
    "Temperature, in seeds, of the softmax over the search's values; 0 for the best actions only",
    low=0,
)
_SEARCHES = "value+minimax:DEPTH or minimax:DEPTH"


@dataclass(kw_only=True)
class SelfPlayConfig:
    """The games that the policy learns from."""

    games: int = setting("Number of games played in parallel", 512, low=1, high=2**20)
    opening_turns: int = _opening_turns()
    opening_share: float = _fraction(
        "Fraction of self-play games that start with random turns; all games against the pool do", 0.9
    )


@dataclass(kw_only=True)
class PoolConfig:
    """Games against a pool of opponents, in which only the learner's turns are environment steps."""

    share: float = _fraction("Fraction of games played against opponents of the pool", 0.0)
    opponents: list[str] = setting(
        "Agents that are always in the pool: specs, or paths of checkpoints", ["random", "greedy"]
    )
    snapshots: int = setting(
        "Maximum number of this run's checkpoints in the pool; the latest are kept", 10, low=0, high=1000
    )


@dataclass(kw_only=True)
class DistillationConfig:
    """Imitation of a search before self-play; see :mod:`mancala_env.training.distillation`."""

    positions: int = setting(
        "Number of positions that the search labels; 0 for no distillation", 0, low=0, high=1_000_000_000
    )
    spec: str = setting(f"Search that is imitated: {_SEARCHES}", "minimax:8")
    exploration: float = _fraction("Fraction of random turns in the search's games", 0.25)
    temperature: float = _temperature(1.0)
    epochs: int = setting("Number of passes over the positions", 10, low=1, high=100_000)
    batch_size: int = _count("Number of positions in a minibatch", 512)
    learning_rate: float = setting("Initial learning rate of Adam; it falls linearly to 0", 0.002, low=0)
    share: float = setting(
        "Maximum fraction of the run's minutes; a short run labels and learns less", 0.75, above=0, high=1
    )


@dataclass(kw_only=True)
class ExpertConfig:
    """Search labels in addition to PPO; see :mod:`mancala_env.training.labels`."""

    share: float = _fraction(
        "Fraction of environment steps, drawn at random, that a search labels; 0 for none. "
        "Ray, or --rounds other than 1, turns a file's value off",
        0.0,
    )
    spec: str = setting(f"Search that labels: {_SEARCHES}", "value+minimax:6")
    temperature: float = _temperature(1.0)
    search_share: float = _fraction(
        "Weight of the search's value in the target of the network's value; the rest is the game's outcome",
        0.7,
    )
    positions: int = _count("Maximum number of labelled positions stored; the latest are kept", 100_000)
    batch_size: int = _count("Number of labelled positions added to each minibatch of PPO", 2048)
    policy: float = setting(
        "Weight in the loss of the policy's cross-entropy on labelled positions", 2.0, low=0
    )
    value: float = setting(
        "Weight in the loss of the value's squared error on labelled positions", 0.5, low=0
    )


@dataclass(kw_only=True)
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017), as in sb3-contrib's MaskablePPO."""

    steps: int = setting("Number of environment steps per game in a rollout", 32, low=1, high=65_536)
    batch_size: int = setting(
        "Number of environment steps in a minibatch", 4096, low=2, high=MOST_STEPS_OF_AN_UPDATE
    )
    epochs: int = setting("Number of passes over a rollout", 3, low=1, high=10_000)
    learning_rate: float = setting("Initial learning rate of Adam; it falls linearly", 0.001, low=0)
    final_learning_rate: float = setting("Learning rate of Adam at the end of the run", 0.0001, low=0)
    gamma: float = _fraction("Discount factor per step; 1 for no discount", 1.0)
    gae_lambda: float = _fraction(
        "Lambda of generalised advantage estimation: 0 uses the next value, 1 the outcome alone", 0.9
    )
    clip_range: float = setting("Clip range of the probability ratio in PPO's loss", 0.2, above=0)
    entropy: float = setting("Weight of the entropy bonus in the loss", 0.01, low=0)
    value: float = setting("Weight of the value's squared error in the loss", 0.5, low=0)
    max_grad_norm: float = setting("Maximum norm of a gradient; longer ones are clipped", 0.5, above=0)


@dataclass(kw_only=True)
class EvaluationConfig:
    """Evaluation of the agent, at every checkpoint and at the end."""

    opponents: list[str] = setting("Specs of the opponents", ["random", "greedy"])
    games: int = _num_games(
        "Number of games against each opponent at the end, half from each seat", 1000, low=2
    )
    checkpoint_games: int = _num_games(
        "Number of games of a checkpoint against an opponent or an earlier checkpoint; 0 for none", 200
    )
    opening_turns: int = _opening_turns()


STABLE_BASELINES3 = {
    "steps": "n_steps",
    "batch_size": "batch_size",
    "epochs": "n_epochs",
    "gamma": "gamma",
    "gae_lambda": "gae_lambda",
    "clip_range": "clip_range",
    "entropy": "ent_coef",
    "value": "vf_coef",
    "max_grad_norm": "max_grad_norm",
}
"""Arguments of MaskablePPO, except the learning rate, which is a schedule."""

RLLIB = {
    "epochs": "num_epochs",
    "learning_rate": "lr",
    "gamma": "gamma",
    "gae_lambda": "lambda_",
    "clip_range": "clip_param",
    "entropy": "entropy_coeff",
    "value": "vf_loss_coeff",
    "max_grad_norm": "grad_clip",
}
"""Arguments of RLlib's PPOConfig.training; its processes share steps and minibatches."""


def renamed(ppo: PPOConfig, names: dict[str, str]) -> dict[str, Any]:
    """Return PPO's settings by a library's names."""
    return {theirs: getattr(ppo, ours) for ours, theirs in names.items()}
