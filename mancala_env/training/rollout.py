"""Self-play for Stable-Baselines3: the environment and the rollout buffer.

Both players of a game share one policy. Every turn is a step of the player who played it, and rewards and
values are from that player's view. So the next value changes its sign when the player changes:

    turn                      t         t+1        t+2        t+3 (South wins)
    player                  South      North      North      South
    reward                    0          0          0         +1
    next value counts as   -V(t+1)    +V(t+2)    -V(t+3)

If the opponent passes, a player moves twice, and the sign stays. In games against the pool only the learner's
turns are steps. They all belong to one player, so the sign never changes.

Training games never start from an opening that is held out for evaluation, but may reach a held-out board
later. The policy does not learn from such steps. They only affect the advantages of earlier steps.

Symbols: T steps of a rollout, B games, A actions.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples

from mancala_env import agents
from mancala_env.agents import Agent, AgentLike, Spec
from mancala_env.engine.state import NUM_COLUMNS
from mancala_env.envs.opponents import Duel
from mancala_env.envs.options import EnvOptions
from mancala_env.envs.sb3 import GamesVecEnv
from mancala_env.games.batch import Batch
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset
from mancala_env.training.selfplay_metrics import GameStatistics

# A score is a running mean over about the last 1 / 0.02 = 50 games.
_SCORE_RATE = 0.02
# An opponent that never wins is still sampled sometimes, so that its score stays up to date.
_LEAST_WEIGHT = 0.05


def opponent_name(spec: str, configured: Sequence[str]) -> str:
    """Return the name of a pool opponent in the metrics: its spec, or the stem of a checkpoint of the run."""
    parsed = Spec.parse(spec)
    is_own = parsed.kind == "checkpoint" and spec not in configured
    return parsed.files[0].stem if is_own else spec


class SelfPlayEnv(GamesVecEnv):
    """B games in parallel, in which every step is a turn of the learner.

    The first games are mirror games: the learner plays both sides. The others are pool games: the learner
    plays against an opponent of the pool, and its seat alternates from game to game.

    Attributes:
        players: int8 `[B]`, the player of the next step of each game.
        legal_mask: bool `[B, A]`, legal actions of the next step.
        observer: Computes the observations.
        statistics: Statistics of the mirror games since the last read.
    """

    render_mode = None

    def __init__(
        self,
        ruleset: Ruleset,
        kind: str,
        num_games: int,
        *,
        rounds: Any = 1,
        opening_turns: int = 0,
        opening_share: float = 0.0,
        pool: Sequence[AgentLike] = (),
        pool_scores: Mapping[str, float] | None = None,
        pool_share: float = 0.0,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Set up the games, with observations of a `kind` of observations.KINDS.

        The fraction `opening_share` of the mirror games, and all pool games, start with `opening_turns`
        uniformly random turns. The fraction `pool_share` of the games is played against `pool`: agents or
        their specs. `pool_scores` are known recent scores of the learner against them, by spec, 0 to 1.
        """
        self.ruleset, self.kind, self.num_threads = ruleset, kind, num_threads
        self.num_actions = ruleset.num_actions(rounds)
        self._seed_sequence = np.random.SeedSequence(seed)
        num_pool = round(num_games * pool_share) if len(pool) else 0
        num_opened = round((num_games - num_pool) * opening_share) if opening_turns else 0
        self.observer = observer = Observer(ruleset, kind, self.num_actions)
        options: dict[str, Any] = {"rounds": rounds, "opening_set": "training", "observation": kind}
        self._parts: list[tuple[slice, Batch | _PoolGames]] = []
        start = 0
        for size, turns in ((num_games - num_pool - num_opened, 0), (num_opened, opening_turns)):
            if size:
                of_mirror = options | {"opening_turns": turns, "num_threads": num_threads}
                batch = Batch(ruleset, size, seed=self._next_seed(), **of_mirror)
                self._parts.append((slice(start, start + size), batch))
                start += size
        self._pool = None
        if num_pool:
            of_pool = EnvOptions(ruleset=ruleset, opening_turns=opening_turns, **options)
            self._pool = _PoolGames(of_pool, num_pool, num_threads)
            self._parts.append((slice(start, num_games), self._pool))
            self.set_pool(pool, pool_scores)
            self._pool.reset(self._next_seed())
        self._observation = observer.empty(num_games)
        self._actions = np.zeros(num_games, np.int64)
        self.legal_mask = np.zeros((num_games, self.num_actions), np.bool_)
        self.players = np.zeros(num_games, np.int8)
        self.statistics = GameStatistics(num_games)
        self._infos: list[dict[str, Any]] = [{} for _ in range(num_games)]
        super().__init__(num_games, observer.space, spaces.Discrete(self.num_actions))

    def set_pool(self, pool: Sequence[AgentLike], scores: Mapping[str, float] | None = None) -> None:
        """Change the opponents of the pool, with known scores by spec; running games keep their opponents."""
        if self._pool is not None:
            self._pool.scores.update(scores or {})
            known, threads = {each.spec: each for each in self._pool.opponents}, self.num_threads
            self._pool.pool = [
                known.get(str(spec))
                or agents.make(spec, self.ruleset, seed=self._next_seed(), num_threads=threads)
                for spec in pool
            ]
            self._pool.weigh()

    @property
    def pool_scores(self) -> dict[str, float]:
        """Recent score of the learner against each pool opponent, by spec: 0 (all lost) to 1 (all won)."""
        if self._pool is None:
            return {}
        return {opponent.spec: self._pool.score(opponent) for opponent in self._pool.pool}

    def reset(self) -> np.ndarray:
        """Start new games in every row."""
        self.statistics.reset()
        for _, part in self._parts:
            part.reset(self._next_seed())
        return self._view()

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions of the next step."""
        self._actions[:] = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play a step; each reward belongs to the player of the action."""
        rewards = np.empty(self.num_envs, np.float32)
        dones = np.empty(self.num_envs, np.bool_)
        for rows, part in self._parts:
            part.step(self._actions[rows])
            rewards[rows], dones[rows] = part.reward, part.done
            if isinstance(part, Batch):
                self.statistics.note(rows, part)
        return self._view(), rewards, dones, self._infos

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, bool `[B, A]`; a copy."""
        return self.legal_mask.copy()

    @property
    def games(self) -> np.ndarray:
        """The games, uint64 `[B, NUM_COLUMNS]`; a copy."""
        return np.concatenate([part.games for _, part in self._parts])

    def _view(self) -> np.ndarray:
        """Update players and masks, and return a copy of the observations, which the buffer stores."""
        for rows, part in self._parts:
            self.players[rows] = part.player
            self.legal_mask[rows] = part.legal_mask
            self._observation[rows] = part.observation
        return self._observation.copy()

    def _next_seed(self) -> int:
        return int(self._seed_sequence.spawn(1)[0].generate_state(1, np.uint64)[0])

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Set the random seed of the next reset."""
        if seed is not None:
            self._seed_sequence = np.random.SeedSequence(seed)
        return [seed] * self.num_envs


class _PoolGames(Duel):
    """Games of the learner against a pool; opponents that win more are sampled more often."""

    def __init__(self, options: EnvOptions, num_games: int, num_threads: int | None) -> None:
        super().__init__(options, num_games, autoreset=True, alternates_seats=True, num_threads=num_threads)
        self.pool: list[Agent] = []
        self.scores: dict[str, float] = {}

    @property
    def player(self) -> np.ndarray:
        """The players to move: it is always the learner's turn."""
        return self.seats

    def score(self, opponent: Agent) -> float:
        """Return the learner's recent score against an opponent; 0.5 before their first game."""
        return self.scores.get(opponent.spec, 0.5)

    def reset(self, seed: int) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().reset(np.random.SeedSequence(seed).generate_state(self.num_games, np.uint64).tolist())

    def step(self, actions: Any, restart: Any = None) -> None:
        opponent_of, opponents = self.opponent_of, self.opponents
        super().step(actions, restart)
        ended = np.flatnonzero(self.done)
        for row in ended:
            opponent = opponents[opponent_of[row]]
            before = self.score(opponent)
            result = (1 + np.sign(self.reward[row])) / 2
            self.scores[opponent.spec] = before + _SCORE_RATE * (float(result) - before)
        if len(ended):
            self.weigh()

    def weigh(self) -> None:
        """Sample opponents that win more often."""
        wins = np.array([max(_LEAST_WEIGHT, 1 - self.score(opponent)) for opponent in self.pool])
        self.set_opponents(self.pool, wins)


class SelfPlayBuffer(MaskableRolloutBuffer):
    """A rollout whose steps belong to either player.

    Attributes:
        players: int8 `[T + 1, B]`, the player of each step, including the step after the rollout.
        dones: bool `[T, B]`, whether the step ended its game.
        is_learned: bool `[T, B]`, whether to learn from the step: its board is not held out for evaluation.
        games: uint64 `[T, B, NUM_COLUMNS]`, the games before each step; None unless they are stored.
    """

    games: np.ndarray | None = None

    def reset(self) -> None:
        """Clear the rollout."""
        self.players = np.zeros((self.buffer_size + 1, self.n_envs), np.int8)
        self.dones = np.zeros((self.buffer_size, self.n_envs), np.bool_)
        self.is_learned = np.ones((self.buffer_size, self.n_envs), np.bool_)
        super().reset()

    def store_games(self) -> None:
        """Also store the games before each step from now on."""
        self.games = np.zeros((self.buffer_size, self.n_envs, NUM_COLUMNS), np.uint64)

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: np.ndarray) -> None:
        """Compute generalised advantages (Schulman et al. 2016) and returns.

        If the opponent makes the next step, its value and its advantage count with the opposite sign.
        """
        same = np.where(self.players[1:] == self.players[:-1], 1, -1).astype(np.float32)
        over = np.concatenate([self.episode_starts[1:], dones[None].astype(np.float32)])
        carried = self.gamma * same * (1 - over)
        advantage = np.zeros(self.n_envs, np.float32)
        next_value = last_values.cpu().numpy().reshape(self.n_envs)
        for step in reversed(range(self.buffer_size)):
            error = self.rewards[step] + carried[step] * next_value - self.values[step]
            advantage = error + self.gae_lambda * carried[step] * advantage
            self.advantages[step] = advantage
            next_value = self.values[step]
        self.returns = self.advantages + self.values

    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:  # type: ignore[override]
        """Yield each step to learn from once, shuffled, in minibatches of about `batch_size` steps."""
        assert self.full
        size = self.buffer_size * self.n_envs
        learned = torch.from_numpy(np.flatnonzero(self.is_learned))
        stored = [self.observations, self.actions[:, :, 0], self.values, self.log_probs]
        stored += [self.advantages, self.returns, self.action_masks]
        columns = [torch.from_numpy(each.reshape(size, *each.shape[2:])).to(self.device) for each in stored]
        shuffled = learned[torch.randperm(len(learned), device="cpu")].to(self.device)
        # Minibatches have equal sizes, and two steps or more: a single advantage cannot be normalised.
        count = min(round(len(learned) / (batch_size or size)), len(learned) // 2)
        for rows in shuffled.tensor_split(max(1, count)):
            yield MaskableRolloutBufferSamples(*(column[rows] for column in columns))
