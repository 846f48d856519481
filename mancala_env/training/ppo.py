"""Proximal policy optimisation (Schulman et al. 2017) on self-play, with optional search labels.

The loss is::

    loss =   policy gradient, clipped
           - ent_coef * entropy
           + vf_coef * (V - return)^2
           + policy weight * cross-entropy(targets, policy) + value weight * (V - target)^2

The last line applies only with search labels; see :mod:`mancala_env.training.labels`.
"""

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBufferSamples
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.utils import explained_variance
from torch import Tensor, nn

from mancala_env.engine.holdout import rows_to_learn
from mancala_env.training.policy import SelfPlayPolicy
from mancala_env.training.rollout import SelfPlayBuffer, SelfPlayEnv
from mancala_env.training.schedule import Clock

if TYPE_CHECKING:
    from mancala_env.training.labels import SearchLabels


class PPOLosses(NamedTuple):
    """Losses and metrics of one minibatch, as scalar tensors; PPO minimises `loss`."""

    policy_gradient_loss: Tensor
    value_loss: Tensor
    entropy_loss: Tensor
    clip_fraction: Tensor
    approx_kl: Tensor
    loss: Tensor


class SelfPlayPPO(MaskablePPO):
    """MaskablePPO with rollouts in which each step belongs to the player who moved.

    A callback's ``on_step`` is called once before every rollout, not at every step. If it returns False,
    training ends there. All collected rollouts have then been used for learning.

    Attributes:
        clock: Measures the finished part of the run, for the learning rate; set it before training.
        labels: Additional search labels; None for PPO alone.
        seconds: Time spent so far in "environment", "inference", "learning" and, with labels, "labelling".
    """

    clock: Clock
    labels: "SearchLabels | None" = None
    env: SelfPlayEnv  # pyright: ignore[reportIncompatibleVariableOverride]
    policy: SelfPlayPolicy  # pyright: ignore[reportIncompatibleVariableOverride]
    rollout_buffer: SelfPlayBuffer  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Set up the algorithm; arguments as of MaskablePPO."""
        self.seconds: dict[str, float] = {"environment": 0.0, "inference": 0.0, "learning": 0.0}
        super().__init__(*args, **kwargs)

    def add_labels(self, labels: "SearchLabels") -> None:
        """Also learn from search labels."""
        self.labels = labels
        self.seconds["labelling"] = 0.0
        self.rollout_buffer.store_games()

    def warm_up(self, env: SelfPlayEnv) -> None:
        """Compile all kernels before the clock starts; plays one step of `env`."""
        rows_to_learn(env.ruleset, env.games)
        env.step(env.action_masks().argmax(axis=1))
        if self.labels is not None:
            self.labels.warm_up(env.games[:1])

    def start_games(self, callback: BaseCallback, reset_num_timesteps: bool) -> BaseCallback:
        """Start the games of a run and bind a callback, as ``learn`` of Stable-Baselines3 does."""
        steps = sys.maxsize - self.num_timesteps  # the run's clock ends it, no number of steps
        return self._setup_learn(steps, callback, reset_num_timesteps)[1]

    def collect_rollouts(  # type: ignore[override]
        self,
        env: SelfPlayEnv,
        callback: BaseCallback,
        rollout_buffer: SelfPlayBuffer,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Collect a rollout for ``learn`` of Stable-Baselines3; see MaskablePPO."""
        callback.update_locals(locals())
        if not callback.on_step():
            return False
        callback.on_rollout_start()
        self.collect(n_rollout_steps)
        callback.on_rollout_end()
        return True

    def collect(self, num_steps: int) -> None:
        """Play `num_steps` steps of every game into the buffer, and label some of the positions."""
        env, rollout = self.env, self.rollout_buffer
        self.policy.set_training_mode(False)
        rollout.reset()
        dones = np.zeros(env.num_envs, np.bool_)
        for step in range(num_steps):
            dones = self._collect_step(step)
        rollout.players[num_steps] = env.players
        with torch.no_grad():
            values = self.policy.predict_values(torch.as_tensor(self._last_obs, device=self.device))
        rollout.compute_returns_and_advantage(values, dones)
        if self.labels is not None:
            start = time.perf_counter()
            self.labels.label(rollout, self.logger)
            self.seconds["labelling"] += time.perf_counter() - start

    def _collect_step(self, step: int) -> np.ndarray:
        """Play a step of every game into the buffer; returns which games it ended, bool `[B]`."""
        env, rollout = self.env, self.rollout_buffer
        legal = env.action_masks()
        rollout.players[step] = env.players
        games = env.games
        rollout.is_learned[step] = rows_to_learn(env.ruleset, games)
        if rollout.games is not None:
            rollout.games[step] = games
        start = time.perf_counter()
        with torch.no_grad():
            observations = torch.as_tensor(self._last_obs, device=self.device)
            actions, values, log_probs = self.policy(observations, action_masks=legal)
        chosen = actions.cpu().numpy()
        inferred = time.perf_counter()
        next_observations, rewards, dones, _ = env.step(chosen)
        rollout.dones[step] = dones
        self.seconds["inference"] += inferred - start
        self.seconds["environment"] += time.perf_counter() - inferred
        self.num_timesteps += env.num_envs
        starts: Any = self._last_episode_starts
        rollout.add(self._last_obs, chosen, rewards, starts, values, log_probs, action_masks=legal)  # type: ignore[arg-type]
        self._last_obs, self._last_episode_starts = next_observations, dones  # type: ignore[assignment]
        return dones

    def train(self) -> None:
        """Learn from the rollout in minibatches, each with a minibatch of labels if there are any.

        A rollout with fewer than two steps to learn from changes nothing.
        """
        rollout = self.rollout_buffer
        if rollout.is_learned.sum() < 2:
            return
        start = time.perf_counter()
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        ppo_losses: list[PPOLosses] = []
        label_losses: list[tuple[Tensor, Tensor]] = []
        for _ in range(self.n_epochs):
            for minibatch in rollout.get(self.batch_size):
                losses = self._losses(minibatch)
                ppo_losses.append(PPOLosses(*(each.detach() for each in losses)))
                loss = losses.loss
                labels = self.labels
                if labels is not None and (sampled := labels.losses(self.policy.network, self.device)):
                    label_losses.append((sampled[0].detach(), sampled[1].detach()))
                    loss = loss + labels.policy_weight * sampled[0]
                    loss = loss + labels.value_weight * sampled[1]
                self.policy.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
                self.policy.optimizer.step()
            self._n_updates += 1
        self._log_means("train", PPOLosses._fields, ppo_losses)
        self._log_means("expert", ("policy_loss", "value_loss"), label_losses)
        explained = explained_variance(rollout.values.flatten(), rollout.returns.flatten())
        self.logger.record("train/explained_variance", float(explained))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.seconds["learning"] += time.perf_counter() - start

    def _losses(self, minibatch: MaskableRolloutBufferSamples) -> PPOLosses:
        """Return PPO's losses over a minibatch, as MaskablePPO has them."""
        clip: float = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        values, log_probs, entropies = self.policy.evaluate_actions(
            minibatch.observations, minibatch.actions.long().flatten(), minibatch.action_masks
        )
        advantages = minibatch.advantages
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        log_ratio = log_probs - minibatch.old_log_prob
        ratio = log_ratio.exp()
        policy_loss = -torch.min(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip)).mean()
        value_loss = nn.functional.mse_loss(minibatch.returns, values)
        entropy_loss = -entropies.mean()
        clip_fraction = ((ratio - 1).abs() > clip).float().mean()
        approx_kl = ((ratio - 1) - log_ratio).mean()
        loss = policy_loss + self.ent_coef * entropy_loss + self.vf_coef * value_loss
        return PPOLosses(policy_loss, value_loss, entropy_loss, clip_fraction, approx_kl, loss)

    def _log_means(self, section: str, names: tuple[str, ...], figures: list[Any]) -> None:
        for name, values in zip(names, zip(*figures, strict=True), strict=False):
            self.logger.record(f"{section}/{name}", float(torch.stack(values).mean()))

    def _setup_learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        reset_num_timesteps: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[int, BaseCallback]:
        starts_games = reset_num_timesteps or self._last_obs is None  # as Stable-Baselines3 does
        if self.labels is not None and starts_games:
            self.labels.replay.forget_running_games()
        return super()._setup_learn(total_timesteps, callback, reset_num_timesteps, *args, **kwargs)

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int = 0) -> None:
        """Set the remaining part of the run, which determines the learning rate."""
        self._current_progress_remaining = 1.0 - self.clock.part_done(num_timesteps)

    def _excluded_save_params(self) -> list[str]:
        """Exclude the current observations, which would be most of a checkpoint, and what a run sets."""
        names = ("_last_obs", "_last_episode_starts", "clock", "labels")
        return [*super()._excluded_save_params(), *names]
