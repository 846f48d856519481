"""Search labels in addition to PPO: expert iteration (Anthony et al. 2017).

After each rollout, a search labels a random share of its positions: it evaluates every legal action. One call
of the engine's kernels labels all of them. The policy's target is the Boltzmann distribution of these values.
The value's target is a mixture of the search's value, as a reward, and the outcome of the game.
:class:`mancala_env.training.ppo.SelfPlayPPO` adds the losses for these targets to its own.
"""

import math

import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from mancala_env.search.tree_search import reward_of
from mancala_env.training.config import TrainConfig
from mancala_env.training.distillation import boltzmann_targets, losses
from mancala_env.training.expert_labels import agreement, expert
from mancala_env.training.replay import Replay, Searched, ends_of
from mancala_env.training.rollout import SelfPlayBuffer, SelfPlayEnv


class SearchLabels:
    """Labels the learner's positions, stores the latest labels and samples them."""

    def __init__(self, config: TrainConfig, env: SelfPlayEnv, seed: int | None) -> None:
        """Set up the search and an empty replay; positions are labelled and sampled with a random seed.

        Raise InvalidConfig if the agent of `expert.spec` cannot label.
        """
        settings = config.expert
        self._config = config
        self._rng = np.random.default_rng(seed)
        self._search = expert(
            settings.spec, config.game, env.num_actions, env.num_threads, setting="expert.spec"
        )
        self.replay = Replay(env.observer, settings.positions, settings.search_share, seed)
        self.policy_weight, self.value_weight = settings.policy, settings.value

    def warm_up(self, games: np.ndarray) -> None:
        """Compile the search's kernels on some games, uint64 `[N, NUM_COLUMNS]`."""
        self._search(games)

    def label(self, rollout: SelfPlayBuffer, logger: Logger) -> None:
        """Label a random share of a rollout's positions, and log the agreement of its actions."""
        settings, config = self._config.expert, self._config
        candidates = np.flatnonzero(rollout.is_learned)
        chosen = self._rng.choice(candidates, math.ceil(settings.share * len(candidates)), replace=False)
        steps, rows = np.divmod(np.sort(chosen), rollout.n_envs)
        assert rollout.games is not None
        values = self._search(rollout.games[steps, rows])
        self.replay.add(
            Searched(
                rollout.games[steps, rows],
                rollout.observations[steps, rows],
                np.isfinite(values),
                boltzmann_targets(values, settings.temperature),
                reward_of(values.max(axis=1), 0.0, config.game),
            ),
            steps,
            rows,
            ends_of(rollout.rewards, rollout.dones, rollout.players[:-1]),
        )
        logger.record("expert/positions", len(self.replay))
        if len(values):
            played = agreement(values, rollout.actions[steps, rows, 0].astype(np.int64))
            logger.record("expert/accuracy", played.accuracy)
            logger.record("expert/regret", played.regret)

    def losses(self, network: nn.Module, device: torch.device) -> tuple[Tensor, Tensor] | None:
        """Return the losses of policy and value over a random minibatch; None without labels."""
        if not len(self.replay):
            return None
        examples = self.replay.sample(self._config.expert.batch_size, device)
        policy_loss, value_loss, _ = losses(network, examples)
        return policy_loss, value_loss
