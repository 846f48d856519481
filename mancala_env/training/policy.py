"""The networks of mancala_env as a policy for MaskablePPO."""

from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor

from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.rulesets import Ruleset


class NotFinite(ArithmeticError):
    """A network whose weights or outputs are no longer finite numbers."""


class SelfPlayPolicy(MaskableActorCriticPolicy):
    """Policy whose actor and critic are two outputs of one network; see :mod:`mancala_env.networks.policy`.

    Rollouts and the loss bypass the distribution objects of Stable-Baselines3, which are slow.
    """

    def __init__(
        self,
        observation_space: Any,
        action_space: Any,
        lr_schedule: Schedule,
        ruleset: dict[str, Any],
        network: dict[str, Any],
        **kwargs: Any,
    ) -> None:
        """Build the network; `ruleset` and `network` are Ruleset and NetworkConfig as plain data."""
        self._plain = {"ruleset": ruleset, "network": network}
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        ruleset, network = Ruleset(**self._plain["ruleset"]), NetworkConfig(**self._plain["network"])
        self.network = build_network(ruleset, int(self.action_space.n), network)  # type: ignore[attr-defined]
        options: dict[str, Any] = {"lr": lr_schedule(1), **self.optimizer_kwargs}
        self.optimizer = self.optimizer_class(self.network.parameters(), **options)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self._plain

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: np.ndarray | Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions int64 `[B]`, values `[B]` and the log-probabilities `[B]` of the actions.

        Raise NotFinite if an output of the network is not finite.
        """
        logits, values = self._evaluate(obs, action_masks)
        log_probs = torch.log_softmax(logits, dim=1)
        if deterministic:
            actions = log_probs.argmax(dim=1)
        else:
            if not torch.isfinite(log_probs).all():
                raise NotFinite("an output of the network is not finite")
            actions = torch.multinomial(log_probs.exp(), 1).squeeze(1)
        return actions, values, log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)

    def evaluate_actions(  # type: ignore[override]
        self, obs: Tensor, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return values, the log-probabilities of the actions and the entropies, `[B]` each."""
        logits, values = self._evaluate(obs, action_masks)
        log_probs = torch.log_softmax(logits, dim=1)
        chosen = log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)
        # The probability of an illegal action is exactly 0, so it does not contribute.
        return values, chosen, -(log_probs.exp() * log_probs).sum(dim=1)

    def get_distribution(
        self, obs: PyTorchObs, action_masks: np.ndarray | None = None
    ) -> MaskableDistribution:
        """Return the distribution over actions, for ``predict``."""
        logits, _ = self._evaluate(obs, action_masks)
        return self.action_dist.proba_distribution(action_logits=logits)  # type: ignore[call-arg]

    def predict_values(self, obs: PyTorchObs) -> Tensor:
        """Return the values `[B]` of positions for their players to move."""
        return self._evaluate(obs, None)[1]

    def _evaluate(self, obs: Any, action_masks: np.ndarray | Tensor | None) -> tuple[Tensor, Tensor]:
        legal = None
        if action_masks is not None:
            legal = torch.as_tensor(action_masks, device=obs.device).bool().view(len(obs), -1)
        return self.network(obs, legal)
