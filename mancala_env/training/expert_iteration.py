"""Expert iteration beside PPO (Anthony et al. 2017): a search labels what the learner meets.

Of each rollout some positions are drawn, and a search, the expert, values every action there: all of a
rollout's in one call, in the engine's kernels. PPO's loss and the distance to these labels are then one loss:

    loss = PPO's + policy * cross-entropy(targets, policy) + value * (V - target)^2

The targets of the policy are the Boltzmann distribution of the expert's values, as in distillation. The
target of the value is what the search found, as a reward, mixed with how the learner's own game ended.
"""

import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from torch import Tensor, nn

from mancala_env.search.puct import reward_of
from mancala_env.training.config import TrainConfig
from mancala_env.training.distillation import agreement, boltzmann_targets, expert, losses
from mancala_env.training.policy import SelfPlayPolicy
from mancala_env.training.replay import REPLAY_FILE, Replay, Searched, ends_of
from mancala_env.training.rollout import SelfPlayBuffer, SelfPlayEnv, SelfPlayPPO


class _Losses(NamedTuple):
    """What a minibatch adds to the figures of an update, tensors without a gradient."""

    policy_gradient_loss: Tensor
    value_loss: Tensor
    entropy_loss: Tensor
    clip_fraction: Tensor
    approx_kl: Tensor
    loss: Tensor


class ExpertPPO(SelfPlayPPO):
    """SelfPlayPPO that learns from a search's labels too.

    Attributes:
        replay: The labelled positions.
    """

    replay: Replay

    def __init__(self, *args: Any, config: TrainConfig, **kwargs: Any) -> None:
        """Set up the algorithm; `config` is the run's, the other arguments are MaskablePPO's."""
        super().__init__(*args, **kwargs)
        env: SelfPlayEnv = self.env  # type: ignore[assignment]
        settings = config.expert
        self._config = config
        self._draw = np.random.default_rng(self.seed)
        self._label = expert(
            settings.spec, config.game, env.num_actions, env.num_threads, setting="expert.spec"
        )
        self.replay = Replay(
            env.observer, config.rounds, settings.positions, settings.search_share, self.seed
        )
        self.seconds["labelling"] = 0.0
        self.rollout_buffer.keep_games()  # type: ignore[attr-defined]

    def warm_up(self, env: SelfPlayEnv) -> None:
        """Have all kernels compiled; see SelfPlayPPO."""
        super().warm_up(env)
        self._label(env.games[:1])

    def keep(self, folder: Path) -> None:
        """Write the labelled positions to the run's folder."""
        self.replay.save(folder / REPLAY_FILE)

    def bring_back(self, folder: Path) -> None:
        """Go on with the labelled positions of the run's folder."""
        self.replay.load(folder / REPLAY_FILE)

    def games_begin(self) -> None:
        """Forget the labelled positions of the games under way."""
        self.replay.games_begin()

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "replay", "_config", "_draw", "_label"]

    def collect_rollouts(  # type: ignore[override]
        self,
        env: SelfPlayEnv,
        callback: BaseCallback,
        rollout_buffer: SelfPlayBuffer,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Fill the buffer, and have some of it labelled."""
        if not super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps, use_masking):
            return False
        start = time.perf_counter()
        self._label_some(rollout_buffer)
        self.seconds["labelling"] += time.perf_counter() - start
        return True

    def _label_some(self, rollout: SelfPlayBuffer) -> None:
        settings, config = self._config.expert, self._config
        learned = np.flatnonzero(rollout.is_learned)
        some = self._draw.choice(learned, math.ceil(settings.share * len(learned)), replace=False)
        steps, rows = np.divmod(np.sort(some), rollout.n_envs)
        assert rollout.games is not None
        found = self._label(rollout.games[steps, rows])
        is_labelled = np.isfinite(found).any(axis=1)
        steps, rows, found = steps[is_labelled], rows[is_labelled], found[is_labelled]
        self.replay.add(
            Searched(
                rollout.games[steps, rows],
                rollout.observations[steps, rows],
                np.isfinite(found),
                boltzmann_targets(found, settings.temperature),
                reward_of(found.max(axis=1), float(config.selfplay.reward == "margin"), config.game),
            ),
            steps,
            rows,
            ends_of(rollout.rewards, rollout.dones, rollout.players[:-1]),
        )
        self.logger.record("expert/positions", len(self.replay))
        if len(found):
            played = agreement(found, rollout.actions[steps, rows, 0].astype(np.int64))
            self.logger.record("expert/accuracy", played.accuracy)
            self.logger.record("expert/regret", played.regret)

    def train(self) -> None:
        """Learn from the buffer and from labels, a minibatch of each at a time."""
        if not self.rollout_buffer.teaches:  # type: ignore[attr-defined]
            return
        start = time.perf_counter()
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        found: list[_Losses] = []
        of_labels: list[tuple[Tensor, Tensor]] = []
        settings = self._config.expert
        for _ in range(self.n_epochs):
            for steps in self.rollout_buffer.get(self.batch_size):
                part = self._losses_of(steps)
                loss = part.loss
                if len(self.replay):
                    examples = self.replay.sample(settings.batch_size, self.device)
                    of_policy, of_value, _ = losses(self.policy.network, examples)  # type: ignore[arg-type]
                    loss = loss + settings.policy * of_policy + settings.value * of_value
                    of_labels.append((of_policy.detach(), of_value.detach()))
                self.policy.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
                self.policy.optimizer.step()
                found.append(_Losses(*(each.detach() for each in part)))
            self._n_updates += 1
        for name, each in zip(_Losses._fields, zip(*found, strict=True), strict=True):
            self.logger.record(f"train/{name}", float(torch.stack(each).mean()))
        for name, each in zip(("policy_loss", "value_loss"), zip(*of_labels, strict=True), strict=False):
            self.logger.record(f"expert/{name}", float(torch.stack(each).mean()))
        self.logger.record("train/explained_variance", self.rollout_buffer.explained_variance)  # type: ignore[attr-defined]
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.seconds["learning"] += time.perf_counter() - start

    def _losses_of(self, steps: Any) -> _Losses:
        """Return the losses of PPO over a minibatch; `loss` is the one to learn by, as in MaskablePPO."""
        clip: float = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        policy_of: SelfPlayPolicy = self.policy  # type: ignore[assignment]
        values, log_probs, entropies = policy_of.evaluate_actions(
            steps.observations, steps.actions.long().flatten(), steps.action_masks
        )
        advantages = (steps.advantages - steps.advantages.mean()) / (steps.advantages.std() + 1e-8)
        log_ratio = log_probs - steps.old_log_prob
        ratio = log_ratio.exp()
        policy = -torch.min(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip)).mean()
        value = nn.functional.mse_loss(steps.returns, values)
        entropy = -entropies.mean()
        return _Losses(
            policy_gradient_loss=policy,
            value_loss=value,
            entropy_loss=entropy,
            clip_fraction=((ratio - 1).abs() > clip).float().mean(),
            approx_kl=((ratio - 1) - log_ratio).mean(),
            loss=policy + self.ent_coef * entropy + self.vf_coef * value,
        )
