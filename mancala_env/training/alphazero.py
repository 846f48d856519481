"""AlphaZero (Silver et al. 2018): the network learns from a search that it guides itself.

Every turn of every game is searched by policy+mcts (:mod:`mancala_env.search.puct`), the network being the
one that learns. All games are searched side by side, and the network judges the leaves of all trees at once.
The first turns of a game are drawn from the visits, and later ones are the most visited. The network's policy
is then fitted to the shares of the visits, its value to what the search found mixed with how the game ended:

    loss = cross-entropy(visits, policy) + value * (V - target)^2

Values change sign with the player and not with the turn: who is passed to moves twice running.
"""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mancala_env.agents.searchers import PuctAgent
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.observations import Observer
from mancala_env.search.limit import Budget
from mancala_env.training.config import TrainConfig
from mancala_env.training.distillation import losses
from mancala_env.training.policy import NotFinite
from mancala_env.training.ppo import SelfPlayPPO
from mancala_env.training.replay import REPLAY_FILE, Replay, Searched, ends_of
from mancala_env.training.rollout import SelfPlayEnv


class NetworkSearch(PuctAgent):
    """policy+mcts with a network that is being trained.

    Attributes:
        observer: What writes what the network sees.
        network: The network.
    """

    def __init__(
        self,
        observer: Observer,
        network: nn.Module,
        simulations: int,
        *,
        margin_share: float = 0.0,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the search to a network; `margin_share` is 1 where its values are about margins."""
        super().__init__(
            observer.ruleset, spec=f"policy+mcts:{simulations}", seed=seed, num_threads=num_threads
        )
        self.observer, self.network = observer, network
        self.budget = Budget(simulations)
        self.last_simulations = np.zeros(0, np.int64)
        self._network, self._margin_share = None, margin_share

    def evaluate(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return logits and values of games; see :meth:`PuctAgent.evaluate`.

        Raises:
            NotFinite: The network gives no numbers.
        """
        observations = self.observer.empty(len(games))
        is_legal = np.empty((len(games), self.observer.num_actions), np.bool_)
        self.observer.write(games, observations, is_legal, num_threads=self.num_threads)
        device = next(self.network.parameters()).device
        with torch.inference_mode():
            logits, values = self.network(
                torch.from_numpy(observations).to(device), torch.from_numpy(is_legal).to(device)
            )
        if not (torch.isfinite(logits).all() and torch.isfinite(values).all()):
            raise NotFinite("an output of the network is not finite")
        return logits.cpu().numpy(), values.cpu().numpy()


def drawn(policy: np.ndarray, temperature: np.ndarray, randoms: np.ndarray) -> np.ndarray:
    """Draw actions from visits.

    Args:
        policy: float `[B, A]`, shares of the visits.
        temperature: float `[B]`; 1 draws in proportion to them, 0 takes the most visited, of equal ones any.
        randoms: float `[B, A]`, uniform, 0 to 1.
    """
    is_drawn = temperature[:, None] > 0
    with np.errstate(divide="ignore", over="ignore"):
        # The largest of Gumbel-shifted logits falls on each action with its softmax probability. The most
        # visited action has 0, so that it stays finite at any temperature.
        chances = np.log(policy / policy.max(axis=1, keepdims=True)) / np.where(
            is_drawn, temperature[:, None], 1.0
        )
        shifted = chances - np.log(-np.log(np.maximum(randoms, np.finfo(np.float64).tiny)))
    is_most = policy == policy.max(axis=1, keepdims=True)
    return np.where(is_drawn, shifted, np.where(is_most, randoms, -1.0)).argmax(axis=1)


class AlphaZero(SelfPlayPPO):
    """Self-play of a search, and a network that learns from it.

    It is run, logged and saved as :class:`SelfPlayPPO` is, and shares nothing of PPO's objective.

    Attributes:
        replay: What there is to learn from.
        search: What plays.
    """

    replay: Replay

    def __init__(self, *args: Any, config: TrainConfig, **kwargs: Any) -> None:
        """Set up the algorithm; `config` is the run's, the other arguments are MaskablePPO's."""
        super().__init__(*args, **kwargs)
        env: SelfPlayEnv = self.env  # type: ignore[assignment]
        self._settings = settings = config.alphazero
        self.search = NetworkSearch(
            env.observer,
            self.policy.network,  # type: ignore[arg-type]
            settings.simulations,
            margin_share=float(config.selfplay.reward == "margin"),
            seed=self.seed,
            num_threads=env.num_threads,
        )
        self.replay = Replay(
            env.observer, config.rounds, settings.positions, settings.search_share, self.seed
        )
        self._draw = np.random.default_rng(self.seed)
        self._turn = np.zeros(env.num_envs, np.int64)
        self._num_added = 0
        self.seconds = {"environment": 0.0, "search": 0.0, "learning": 0.0}

    def warm_up(self, env: SelfPlayEnv) -> None:
        """Have all kernels compiled; see SelfPlayPPO."""
        super().warm_up(env)
        draws = np.ones((1, env.ruleset.num_holes))
        self.search.search(env.games[:1], env.num_actions, draws, self._settings.noise)

    def save_replay(self, folder: Path) -> None:
        """Write the positions of finished games to the run's folder."""
        self.replay.save(folder / REPLAY_FILE)

    def load_replay(self, folder: Path) -> None:
        """Go on with the positions of the run's folder."""
        self.replay.load(folder / REPLAY_FILE)

    def forget_running_games(self) -> None:
        """Forget the positions of the games under way, and count the turns of new ones."""
        self.replay.forget_running_games()
        self._turn[:] = 0

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "replay", "search", "_settings", "_draw", "_turn"]

    def collect(self, num_steps: int) -> None:
        """Play `num_steps` turns of every game, and store what the search found; the buffer stays empty."""
        env = self.env
        self.policy.set_training_mode(False)
        shape = (num_steps, env.num_envs)
        rewards, dones, players = (
            np.empty(shape, np.float32),
            np.empty(shape, np.bool_),
            np.empty(shape, np.int8),
        )
        parts, simulations = [], 0
        for step in range(num_steps):
            start = time.perf_counter()
            searched, actions = self._search_turn(env)
            simulations += int(self.search.last_simulations.sum())
            thought = time.perf_counter()
            players[step] = env.players
            self._last_obs, rewards[step], dones[step], _ = env.step(actions)
            self._turn = np.where(dones[step], 0, self._turn + 1)
            self.seconds["search"] += thought - start
            self.seconds["environment"] += time.perf_counter() - thought
            self.num_timesteps += env.num_envs
            parts.append(searched)
        steps, rows = np.divmod(np.arange(num_steps * env.num_envs), env.num_envs)
        played = Searched.joined(parts)
        is_learned = rows_to_learn(env.ruleset, played.games)
        ends = ends_of(rewards, dones, players)
        self.replay.add(played.select(is_learned), steps[is_learned], rows[is_learned], ends)
        self._num_added = int(is_learned.sum())
        self.logger.record("alphazero/positions", len(self.replay))
        self.logger.record("alphazero/simulations", simulations / len(steps))
        logs = np.log(played.targets, out=np.zeros_like(played.targets), where=played.targets > 0)
        self.logger.record("alphazero/target_entropy", float(-(played.targets * logs).sum(axis=1).mean()))

    def _search_turn(self, env: SelfPlayEnv) -> tuple[Searched, np.ndarray]:
        """Search the turn of every game; returns what was found, and actions."""
        settings, games, is_legal = self._settings, env.games, env.action_masks().copy()
        # Of gamma draws, divided by their sum, each with the same shape, comes a Dirichlet draw.
        shapes = settings.concentration / is_legal.sum(axis=1, keepdims=True)
        draws = self._draw.gamma(shapes, size=(len(games), env.ruleset.num_holes))
        found = self.search.search(games, env.num_actions, draws, settings.noise)
        temperature = np.where(self._turn < settings.sampled_turns, settings.temperature, 0.0)
        actions = drawn(found.policy, temperature, self._draw.random(found.policy.shape))
        seen: np.ndarray = self._last_obs  # type: ignore[assignment]
        return Searched(games, seen, is_legal, found.policy, found.values), actions

    def train(self) -> None:
        """Learn from what is remembered: as many minibatches as `alphazero.passes` asks for."""
        start = time.perf_counter()
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        settings, network = self._settings, self.policy.network
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        added = self._num_added
        for _ in range(math.ceil(settings.passes * added / settings.batch_size) if len(self.replay) else 0):
            examples = self.replay.sample(settings.batch_size, self.device)
            of_policy, of_value, logits = losses(network, examples)  # type: ignore[arg-type]
            self.policy.optimizer.zero_grad()
            (of_policy + settings.value * of_value).backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), settings.max_grad_norm)
            self.policy.optimizer.step()
            logs = torch.log_softmax(logits.detach(), dim=1)
            entropy = -(logs.exp() * logs).sum(dim=1).mean()
            found.append((of_policy.detach(), of_value.detach(), entropy))
        self._n_updates += 1
        for name, each in zip(
            ("policy_loss", "value_loss", "entropy_loss"), zip(*found, strict=True), strict=False
        ):
            value = float(torch.stack(each).mean())
            self.logger.record(f"train/{name}", -value if name == "entropy_loss" else value)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.seconds["learning"] += time.perf_counter() - start
