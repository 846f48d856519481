"""PPO's settings under their names in Stable-Baselines3 and RLlib."""

from typing import Any

from mancala_env.training.config import PPOConfig

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
