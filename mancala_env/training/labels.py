"""Search labels in addition to PPO: expert iteration (Anthony et al. 2017).

After each rollout, a search labels a random share of its positions: it evaluates every legal action. One call
of the engine's kernels labels all of them. The policy's target is the Boltzmann distribution of these values.
The value's target is a mixture of the search's value, as a reward, and the outcome of the game. So a position
becomes an example when its game is over. Values are from the view of the player to move.
:class:`mancala_env.training.ppo.SelfPlayPPO` adds the losses for these targets to its own.

Symbols: N positions, A actions, T steps of a rollout, B games.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from mancala_env.engine.state import NUM_COLUMNS, PLAYER_COLUMN, SOUTH
from mancala_env.observations import Observer
from mancala_env.search.tree_search import reward_of
from mancala_env.training.config import TrainConfig
from mancala_env.training.distillation import Examples, boltzmann_targets, losses
from mancala_env.training.expert_labels import agreement, expert
from mancala_env.training.rollout import SelfPlayBuffer, SelfPlayEnv


class Searched(NamedTuple):
    """Positions with the labels of a search.

    Attributes:
        games: uint64 `[N, NUM_COLUMNS]`, running games.
        observations: `[N, ...]`, observations of the players to move.
        is_legal: bool `[N, A]`, legal actions.
        targets: float32 `[N, A]`, targets of the policy.
        values: float32 `[N]`, the search's values for the players to move, as rewards.
    """

    games: np.ndarray
    observations: np.ndarray
    is_legal: np.ndarray
    targets: np.ndarray
    values: np.ndarray

    def select(self, rows: np.ndarray) -> "Searched":
        """Return the positions of some rows."""
        return Searched(*(each[rows] for each in self))


def ends_of(rewards: np.ndarray, dones: np.ndarray, players: np.ndarray) -> np.ndarray:
    """Return South's reward at the end of the game of each step, float32 `[T, B]`; NaN if it is not over.

    The arguments, `[T, B]`, are the players of the steps, their rewards, and whether the step ended its game.
    """
    souths = np.where(players == SOUTH, rewards, -rewards)
    ends, end = np.empty(rewards.shape, np.float32), np.full(rewards.shape[1], np.nan, np.float32)
    for step in reversed(range(len(rewards))):
        end = np.where(dones[step], souths[step], end)
        ends[step] = end
    return ends


class Replay:
    """The latest examples of finished games, and the positions of running games.

    The examples are the first `len(self)` rows of `examples`; their `values` are the value's targets.
    """

    def __init__(self, observer: Observer, most: int, search_share: float, seed: int | None) -> None:
        """Create a replay for `most` examples at most, whose samples are drawn with a random seed.

        `search_share` is the weight of the search's value in the value's target; the rest is the outcome.
        """
        self._most, self._search_share = most, search_share
        self._draw = np.random.default_rng(seed)
        games, actions = np.empty((most, NUM_COLUMNS), np.uint64), (most, observer.num_actions)
        is_legal, targets = np.empty(actions, np.bool_), np.empty(actions, np.float32)
        values = np.empty(most, np.float32)
        self.examples = Searched(games, observer.empty(most), is_legal, targets, values)
        self._added = 0
        self.forget_running_games()

    def __len__(self) -> int:
        return min(self._added, self._most)

    @property
    def num_waiting(self) -> int:
        """Number of positions of running games."""
        return len(self._waiting_rows)

    def forget_running_games(self) -> None:
        """Drop the positions of running games, which will not be finished."""
        self._waiting, self._waiting_rows = self.examples.select(np.arange(0)), np.arange(0)

    def add(self, searched: Searched, steps: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> None:
        """Add N positions of a rollout; all positions of games that it ended become examples.

        `steps` and `rows` `[N]` are their steps and games in the rollout; `ends` is from :func:`ends_of`.
        """
        # Waiting positions belong to the games that were running when the rollout began.
        end = np.concatenate([ends[0, self._waiting_rows], ends[steps, rows]])
        searched = Searched(*map(np.concatenate, zip(self._waiting, searched, strict=True)))
        rows = np.concatenate([self._waiting_rows, rows])
        is_over = np.isfinite(end)
        self._waiting, self._waiting_rows = searched.select(~is_over), rows[~is_over]
        over, end = searched.select(is_over), end[is_over]
        outcomes = np.where(over.games[:, PLAYER_COLUMN] == SOUTH, end, -end)
        values = self._search_share * over.values + (1 - self._search_share) * outcomes
        kept = slice(max(0, len(values) - self._most), None)
        at = (self._added + np.arange(len(values)))[kept] % self._most
        for stored, new in zip(self.examples, over._replace(values=values), strict=True):
            stored[at] = new[kept]
        self._added += len(values)

    def sample(self, size: int, device: torch.device) -> Examples:
        """Sample examples uniformly, with replacement."""
        rows = self._draw.integers(0, len(self), size)
        return Examples(*(torch.from_numpy(each[rows]).to(device) for each in self.examples[1:]))


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
        games, observations = rollout.games[steps, rows], rollout.observations[steps, rows]
        values = self._search(games)
        targets = boltzmann_targets(values, settings.temperature)
        worth = reward_of(values.max(axis=1), 0.0, config.game)
        searched = Searched(games, observations, np.isfinite(values), targets, worth)
        ends = ends_of(rollout.rewards, rollout.dones, rollout.players[:-1])
        self.replay.add(searched, steps, rows, ends)
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
