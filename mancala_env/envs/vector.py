"""The games for one learner against an agent, many at a time: a native Gymnasium VectorEnv."""

import sys
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv, VectorObservationWrapper
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.vector import NormalizeObservation

from mancala_env._util.checks import is_whole, mask, one_of, refuse_swapped, seed_of, whole
from mancala_env.agents import Agent, AgentLike
from mancala_env.engine.state import MOST_GAMES
from mancala_env.envs import kernels
from mancala_env.envs.drawing import MOST_IN_A_WINDOW, Screen, Seen, draw, seen_of
from mancala_env.envs.opponents import Duel
from mancala_env.envs.options import (
    RENDER_MODES,
    EnvOptions,
    OpponentOptions,
    first_seed,
    reset_options,
    warn_of_no_render_mode,
)
from mancala_env.envs.spaces import LegalDiscrete, LegalMultiDiscrete, metadata_of
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position
from mancala_env.rulesets import RulesetLike


class MancalaVectorEnv(VectorEnv[np.ndarray, Any, np.ndarray]):
    """B games against an agent, all stepped together.

    ``gymnasium.make_vec("mancala/Leyla-v0", num_envs=B)`` makes it. Every game behaves like a
    :class:`mancala_env.envs.gym.MancalaEnv`: with seed s, game b plays like that environment with seed s + b.

    `autoreset_mode` decides when the next episode of a game starts:

    - ``SAME_STEP`` (the default): within the step that ends the episode, so that the learner always has a
      legal action. Observation and mask belong to the new episode. ``infos["final_obs"][b]`` is the last
      observation of the ended episode. ``infos["final_info"]`` has its ``counts`` `[B, 2]`, ``winner`` `[B]`,
      ``illegal`` `[B]`, ``action_mask`` `[B, A]` and ``seat`` `[B]`.
    - ``NEXT_STEP``: in the next step, which ignores the action for that game. `infos` has ``counts``,
      ``winner`` and ``illegal``.
    - ``DISABLED``: by ``reset(options={"reset_mask": ...})``. `infos` is the same as for ``NEXT_STEP``.

    Symbols: B games, A actions, F features of the board, G features of an action.
    """

    metadata = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }
    _screen: Screen | None = None  # close() needs it even if __init__ has failed

    def __init__(
        self,
        num_envs: int = 1,
        ruleset: RulesetLike | None = None,
        *,
        game: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        max_episode_steps: int | None = None,
        num_threads: int | None = None,
        **options: Unpack[OpponentOptions],
    ) -> None:
        """Set up the games; nothing is played before :meth:`reset`.

        Args:
            num_envs: B, at least 1.
            ruleset: As in :class:`mancala_env.envs.gym.MancalaEnv`.
            game: As there.
            autoreset_mode: An ``AutoresetMode``, or its value: "SameStep", "NextStep" or "Disabled".
            max_episode_steps: Number of steps after which an episode is truncated, as Gymnasium's
                ``TimeLimit`` does, at least 1; None for no limit. Its last info then lacks ``counts``,
                ``winner`` and ``illegal``, unless the episode ended in this step.
            num_threads: CPU threads; None uses every core that this process may use.
            options: As there. Draws are separate for each game.
        """
        refuse_swapped("MancalaVectorEnv(num_envs, ruleset)", ruleset, num_envs)
        own = ("num_envs", "ruleset", "game", "autoreset_mode", "max_episode_steps", "num_threads")
        known = (*own, *OpponentOptions.__annotations__)
        checked = EnvOptions.checked(options, known, ruleset, game)
        self.num_envs = whole("num_envs", num_envs, 1, MOST_GAMES)
        self.ruleset = checked.ruleset
        self.render_mode = checked.render_mode
        modes = [mode.value for mode in AutoresetMode]
        mode = one_of("autoreset_mode", getattr(autoreset_mode, "value", autoreset_mode), modes)
        self.autoreset_mode = AutoresetMode(mode)
        is_same_step = self.autoreset_mode == AutoresetMode.SAME_STEP
        self._duel = Duel(checked, self.num_envs, autoreset=is_same_step, num_threads=num_threads)
        num_actions = self._duel.num_actions
        self.action_space = self._legal_actions = LegalMultiDiscrete(self.num_envs, num_actions)
        self.single_action_space = LegalDiscrete(num_actions)
        self.single_observation_space = self._duel.observer.space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.metadata = _Metadata(metadata_of(type(self).metadata, self._duel.observer))
        self.metadata["autoreset_mode"] = self.autoreset_mode
        if self.render_mode == "human":
            self._screen = Screen(self.ruleset.title)
        self._most_steps = (
            None if max_episode_steps is None else whole("max_episode_steps", max_episode_steps, 1)
        )
        self._num_steps = np.zeros(self.num_envs, np.int64)  # of the current episodes
        self._is_late = np.zeros(self.num_envs, np.bool_)  # truncated by max_episode_steps, not restarted yet
        self._has_started = np.zeros(self.num_envs, np.bool_)
        self._seeds: tuple[int | None, ...] | None = None

    @property
    def seats(self) -> np.ndarray:
        """The learner's seat in each game, int64 `[B]`: 0 South, 1 North; a copy."""
        return self._duel.seats

    @property
    def opponents(self) -> tuple[Agent, ...]:
        """The learner's opponents."""
        return tuple(self._duel.opponents)

    @property
    def np_random_seed(self) -> Any:
        """The seed of the last seeded :meth:`reset`: one number, or one for each game."""
        return super().np_random_seed if self._seeds is None else self._seeds

    def set_opponent(self, opponent: AgentLike | Sequence[AgentLike]) -> None:
        """Replace the opponent in the next episode of each game; values and errors as in the constructor."""
        self._duel.set_opponent(opponent)

    def position(self, b: int) -> Position:
        """Return a copy of the position of game b.

        Raises:
            ResetNeeded: :meth:`reset` was not called.
            InvalidPosition: b is out of range.
        """
        if not self._has_started.all():
            raise ResetNeeded(f"no episode of game {b} has started; call reset()")
        return Position.from_games(self.ruleset, self._duel.games, b)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode in every game, or in some.

        Args:
            seed: Random seed of the games and the opponents: a number s seeds game b with s + b, a list seeds
                each game. None keeps the current generators; the first reset then uses `np_random_seed`.
            options: ``reset_mask``: bool `[B]`, the games to reset. ``position``: the start, a Position or
                its text. ``seat``: "south", "north" or "random", for this episode. ``position`` and ``seat``
                are one value for all games, or a list of B.

        Returns:
            The observations `[B, F]` or `[B, A, G]`, and infos with ``action_mask`` and ``seat``.

        Raises:
            MancalaError: As in :meth:`mancala_env.envs.gym.MancalaEnv.reset`. The current episodes continue.
            ResetNeeded: A game outside `reset_mask` was never reset.
        """
        given = reset_options(options, ("reset_mask", "position", "seat"))
        where = np.ones(self.num_envs, np.bool_)
        if "reset_mask" in given:
            where = mask("reset_mask", given["reset_mask"], self.num_envs)
            if not where.any():
                raise InvalidArgument("reset_mask must be true for at least one game")
            if not (where | self._has_started).all():
                raise ResetNeeded("no episode is running; call reset() without a reset_mask first")
        positions = self._each("position", given.get("position"))
        seats = self._each("seat", given.get("seat"))
        seeds = self._seeds_of(seed, where)
        self._duel.reset(seeds, where, positions, seats)
        self._num_steps[where], self._is_late[where] = 0, False
        if is_whole(seed):
            super().reset(seed=seeds[0])  # sets np_random and its seed
        if seed is not None:
            self._seeds = None if is_whole(seed) else tuple(seeds)
        self._has_started |= where
        self._show()
        return self._duel.observation, self._infos(where)

    def step(
        self, actions: np.ndarray | Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play the learner's turn in every game, then the opponent's until the learner is to move again.

        `actions` are integers `[B]`. Rewards are float64 `[B]`.

        Raises:
            IllegalMove: As in :meth:`mancala_env.envs.gym.MancalaEnv.step`. The message names the game.
            ResetNeeded: :meth:`reset` was not called, or an episode is over and autoreset is disabled.
        """
        if not self._has_started.all():
            raise ResetNeeded("no episode is running; call reset()")
        duel = self._duel
        restart = None
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            restart = duel.is_over | self._is_late
            if self.autoreset_mode == AutoresetMode.DISABLED and restart.any():
                raise ResetNeeded(
                    f"the episode of game {np.flatnonzero(restart)[0]} is over; call "
                    'reset(options={"reset_mask": ...}) for it'
                )
        num_steps, is_late = self._num_steps + 1, np.zeros(self.num_envs, np.bool_)
        last: dict[str, Any] = {}
        with duel.unchanged_on_error():
            duel.step(actions, restart)
            done, truncations, reward = duel.done, duel.truncated, duel.reward
            terminations = done & ~truncations
            ended = done
            if self._most_steps is not None:
                if restart is not None:
                    num_steps[restart] = 0
                truncations |= num_steps >= self._most_steps
                ended = done | truncations
                is_late = ended & ~done
            if restart is None and ended.any():
                last = self._final_infos(done, ended)
                if is_late.any():
                    duel.reset(where=is_late)
                num_steps[ended], is_late[:] = 0, False
            elif done.any():
                last = self._endings(done)
        self._num_steps, self._is_late = num_steps, is_late
        infos = self._infos(np.ones(self.num_envs, np.bool_)) | last
        self._show()
        return duel.observation, reward, terminations, truncations, infos

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, bool `[B, A]`."""
        return self._duel.legal_mask != 0

    def render(self) -> tuple[Any, ...] | None:
        """Return a picture of each game as :meth:`mancala_env.envs.gym.MancalaEnv.render` does.

        For "human" it returns None; a window shows the first 16 games.
        """
        if self.render_mode is None:
            return warn_of_no_render_mode()
        if self.render_mode == "human":
            return self._show()
        return tuple(draw(self.render_mode, self._seen(b)) for b in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window of `render_mode` "human"."""
        if self._screen is not None:
            self._screen.window.close()

    def _show(self) -> None:
        if self._screen is not None:
            shown = range(min(self.num_envs, MOST_IN_A_WINDOW))
            self._screen.show_many([self._seen(b) for b in shown], self.metadata["render_fps"])

    def _seen(self, b: int) -> Seen:
        return seen_of(self._duel, b, self.position(b))

    def _each(self, name: str, value: Any) -> Sequence[Any]:
        """Return the items of a list, or one value repeated for each game."""
        if not isinstance(value, list | tuple):
            return [value] * self.num_envs
        if len(value) != self.num_envs:
            raise InvalidArgument(f"{name} must be one for all games or {self.num_envs}, not {len(value)}")
        return value

    def _seeds_of(self, seed: Any, where: np.ndarray) -> list[int | None]:
        """Return the seed of each game for the argument of `reset`; None keeps the game's generator."""
        if is_whole(seed):
            return [whole("seed", seed, 0) + b for b in range(self.num_envs)]
        if seed is None:
            seeds: list[int | None] = [None] * self.num_envs
        elif (
            isinstance(seed, list | tuple | np.ndarray)
            and getattr(seed, "ndim", 1)
            and len(seed) == self.num_envs
        ):
            seeds = [seed_of(one) for one in seed]
        else:
            raise InvalidArgument(
                f"seed must be None, a whole number or a list of {self.num_envs} of them, not {seed!r}"
            )
        unseeded = [b for b in np.flatnonzero(where & ~self._has_started).tolist() if seeds[b] is None]
        if unseeded:  # games without a generator so far
            first = first_seed(super().np_random_seed, self.np_random)
            for b in unseeded:
                seeds[b] = first + b
        return seeds

    def _infos(self, where: np.ndarray) -> dict[str, Any]:
        self._legal_actions.mask = self._duel.legal_mask.copy()
        return self._named({"action_mask": self._duel.legal_mask, "seat": self._duel.seats}, where)

    def _endings(self, done: np.ndarray) -> dict[str, Any]:
        results = self._duel.results
        ending = {
            "counts": results[:, kernels.SOUTH_COUNT :].astype(np.int16),
            "winner": results[:, kernels.WINNER],
            "illegal": results[:, kernels.FORFEITED] != 0,
        }
        return self._named(ending, done)

    def _final_infos(self, done: np.ndarray, ended: np.ndarray) -> dict[str, Any]:
        """Return the last observations and infos of the games `ended`; all not `done` are out of steps."""
        duel, is_late = self._duel, ended & ~done
        final_obs = np.full(self.num_envs, None, dtype=object)
        for b in np.flatnonzero(ended):
            final_obs[b] = (duel.observation if is_late[b] else duel.final_observation)[b].copy()
        last = {
            "action_mask": duel.legal_mask * is_late[:, None],
            "seat": np.where(is_late, duel.seats, duel.results[:, kernels.LAST_SEAT]),
        }
        final_info = self._named(last, ended) | (self._endings(done) if done.any() else {})
        named = self._named({"final_obs": final_obs}, ended)
        return named | {"final_info": final_info, "_final_info": ended.copy()}

    def _named(self, values: dict[str, np.ndarray], where: np.ndarray) -> dict[str, Any]:
        """Return infos in the layout of SyncVectorEnv: 0 or None for games outside `where`."""
        infos: dict[str, Any] = {}
        for name, value in values.items():
            value = value.copy()
            if value.dtype != object:
                value[~where] = 0
            infos[name], infos[f"_{name}"] = value, where.copy()
        return infos


class _Metadata(dict[str, Any]):
    """Metadata that tell a wrapper of Gymnasium which mode of autoreset it needs.

    Gymnasium 1.2 asserts the mode without a message. So the mode's reader is looked at: if it is the
    constructor of such a wrapper, it gets an error that says what to do.
    """

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name == "autoreset_mode":
            wrapper = sys._getframe(1).f_locals.get("self")
            is_normalizing = isinstance(wrapper, NormalizeObservation)
            if isinstance(wrapper, VectorObservationWrapper) and (
                value == AutoresetMode.SAME_STEP or (is_normalizing and value != AutoresetMode.NEXT_STEP)
            ):
                also = "" if is_normalizing else " or 'Disabled'"
                raise InvalidArgument(
                    f"{type(wrapper).__name__} needs an environment made with "
                    f"autoreset_mode='NextStep'{also}, not {value.value!r}"
                )
        return value
