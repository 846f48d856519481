"""The games for one learner against an agent, many at a time: a native Gymnasium VectorEnv over Batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from mancala_env.agents import Agent
from mancala_env.engine.episode import Rounds
from mancala_env.envs.arguments import RENDER_MODES, FirstPlayer, Reward, frame, render_mode_of
from mancala_env.envs.duel import Duel, Illegal, Seat
from mancala_env.envs.families import ruleset_of
from mancala_env.envs.spaces import LegalDiscrete, LegalMultiDiscrete, metadata_of
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.observation import ObservationKind
from mancala_env.position import Position
from mancala_env.rulesets import Ruleset


class MancalaVectorEnv(VectorEnv):
    """B games against an agent, all stepped together.

    ``gymnasium.make_vec("mancala/Leyla-v0", num_envs=B)`` makes one; every game follows
    :class:`mancala_env.envs.single.MancalaEnv`, whose arguments it takes.

    A game that ends starts anew within the same step (``AutoresetMode.SAME_STEP``), so the learner has a
    legal action in every game at every step. Where ``terminations[b]`` is true, the returned observation
    and mask are those of the new episode, ``infos["final_obs"][b]`` is the last observation of the old
    one, and ``infos["final_info"]`` holds its ``counts`` `[B, 2]`, ``winner`` `[B]`, ``illegal`` `[B]`,
    ``action_mask`` `[B, A]` and ``seat`` `[B]`.

    Symbols: B games, A actions, F features of the board, G features of an action.
    """

    metadata = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": RENDER_MODES,
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        ruleset: str | Ruleset | None = None,
        *,
        game: str | None = None,
        opponent: str | Agent = "random",
        seat: Seat = "south",
        rounds: Rounds = 1,
        reward: Reward = "outcome",
        first_player: FirstPlayer = 0,
        opening_turns: int = 0,
        illegal: Illegal = "raise",
        observation: ObservationKind = "board",
        render_mode: str | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Set up the games; nothing is played before :meth:`reset`.

        Args:
            num_envs: B, at least 1.
            ruleset: See :class:`mancala_env.envs.single.MancalaEnv`, here and below.
            game: The game whose rulesets are admitted; None admits all.
            opponent: An agent or its spec; one agent plays all games.
            seat: The learner's seat; "random" draws it for each game and episode.
            rounds: Most rounds of an episode, or "match".
            reward: "outcome" or "margin".
            first_player: Who starts round 1; "random" draws it for each game and episode.
            opening_turns: Uniformly random turns before an episode begins.
            illegal: What an illegal action does: "raise" an IllegalMove, or "lose" the episode.
            observation: What the learner sees: "board", "afterstates", "replies" or "lines".
            render_mode: None or "ansi".
            num_threads: CPU threads; None takes every core this process may use.

        Raises:
            InvalidRuleset: No such ruleset, or not one of the game.
            InvalidSpec: No such opponent, or it cannot play the ruleset.
            ValueError: Another argument is out of range; the message says what would be right.
        """
        if isinstance(num_envs, bool) or not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise InvalidArgument(f"num_envs must be a whole number of at least 1, not {num_envs!r}")
        self.ruleset = ruleset_of(game, ruleset)
        self.render_mode = render_mode_of(render_mode)
        self.num_envs = int(num_envs)
        self._duel = Duel(
            self.ruleset,
            self.num_envs,
            opponent=opponent,
            seat=seat,
            rounds=rounds,
            reward=reward,
            first_player=first_player,
            opening_turns=opening_turns,
            illegal=illegal,
            observation=observation,
            num_threads=num_threads,
        )
        num_actions = self._duel.batch.num_actions
        self._legal_actions = LegalMultiDiscrete(self.num_envs, num_actions)
        self.action_space = self._legal_actions
        self.single_action_space = LegalDiscrete(num_actions)
        self.single_observation_space = self._duel.batch.observer.space
        self.metadata = metadata_of(type(self).metadata, self._duel.batch.observer)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._has_started = False

    @property
    def seats(self) -> np.ndarray:
        """The learner's seat in each game, int8 `[B]`: 0 South, 1 North; a copy."""
        return self._duel.seats.copy()

    @property
    def opponent(self) -> Agent:
        """The agent on the other side."""
        return self._duel.opponent

    def position(self, b: int) -> Position:
        """Return the position the learner sees in game b, a copy."""
        return Position.from_games(self.ruleset, self._duel.batch.games, b)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode in every game.

        Args:
            seed: Seed of everything random from here on, the opponent included; None goes on.
            options: Not used.

        Returns:
            The observations `[B, F]`, or `[B, A, G]`, and infos with ``action_mask`` `[B, A]` and ``seat``
            `[B]`.
        """
        if seed is not None and not isinstance(seed, int | np.integer):
            raise InvalidArgument(
                f"seed must be one whole number for all {self.num_envs} games, not {seed!r}"
            )
        super().reset(seed=None if seed is None else int(seed))
        self._duel.reset(self.np_random, reseed=seed is not None)
        self._has_started = True
        return self._duel.observation(), self._infos()

    def step(
        self, actions: np.ndarray | Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play the learner's turn in every game, then the opponent's until the learner is to move again.

        Args:
            actions: Integers `[B]`.

        Returns:
            Observations float32 `[B, F]`, or int16 `[B, A, G]`, rewards float64 `[B]`, terminations and
            truncations (never) bool `[B]`, and infos.

        Raises:
            IllegalMove: An action is not legal, and `illegal` is "raise", or it is not in the action space.
                Nothing has changed, and the message names the game.
            ResetNeeded: Nothing was reset yet.
        """
        if not self._has_started:
            raise ResetNeeded("no episode is running; call reset()")
        duel = self._duel
        duel.play(self._checked(actions))
        terminations = duel.done.copy()
        infos: dict[str, Any] = {}
        if terminations.any():
            infos = self._final_infos(np.flatnonzero(terminations))
            duel.begin(terminations)
        infos |= self._infos()
        truncations = np.zeros(self.num_envs, np.bool_)
        return duel.observation(), duel.reward.copy(), terminations, truncations, infos

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal now, bool `[B, A]`."""
        return self._legal_actions.mask.astype(np.bool_)

    def render(self) -> tuple[str, ...] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Draw the position of every game as text (`render_mode="ansi"`)."""
        frames = [frame(self.position(b), self.render_mode) for b in range(self.num_envs)]
        return tuple(text for text in frames if text is not None) or None

    def _checked(self, actions: Any) -> np.ndarray:
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or not np.issubdtype(chosen.dtype, np.integer):
            raise IllegalMove(
                f"actions must be {self.num_envs} integers, not {chosen.dtype} of shape {chosen.shape}"
            )
        return chosen.astype(np.int64, copy=False)

    def _infos(self) -> dict[str, Any]:
        self._legal_actions.mask[:] = self._duel.batch.legal_mask
        everywhere = np.ones(self.num_envs, np.bool_)
        return {
            "action_mask": self._legal_actions.mask.copy(),
            "_action_mask": everywhere,
            "seat": self._duel.seats.astype(np.int64),
            "_seat": everywhere.copy(),
        }

    def _final_infos(self, rows: np.ndarray) -> dict[str, Any]:
        """Return the infos about the episodes that just ended, as SyncVectorEnv would give them."""
        duel = self._duel
        ended = duel.done
        final_obs = np.full(self.num_envs, None, dtype=object)
        for b, observation in zip(rows, duel.final_observation(rows)):
            final_obs[b] = observation
        final_info: dict[str, Any] = {}
        for name, values in (
            ("action_mask", np.zeros_like(self._legal_actions.mask)),
            ("seat", duel.seats.astype(np.int64)),
            ("counts", duel.final_counts),
            ("winner", duel.winner.astype(np.int64)),
            ("illegal", duel.forfeited),
        ):
            # Zero where no episode ended, as SyncVectorEnv leaves it.
            final_info[name] = (values.T * ended).T
            final_info[f"_{name}"] = ended.copy()
        return {
            "final_obs": final_obs,
            "_final_obs": ended.copy(),
            "final_info": final_info,
            "_final_info": ended.copy(),
        }
