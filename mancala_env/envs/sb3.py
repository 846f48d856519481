"""The games for one learner against an agent, as a native Stable-Baselines3 VecEnv.

>>> from mancala_env.envs.sb3 import MancalaVecEnv
>>> env = MancalaVecEnv(256, "layli_goobalay", opponent="greedy", seat="random", observation="afterstates")
>>> env.reset().shape, env.action_masks().shape
((256, 6, 34), (256, 6))

One call of the engine steps all games. SB3's ``make_vec_env`` would step them one after the other.
sb3-contrib's MaskablePPO calls `action_masks` itself.
"""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

from mancala_env import agents
from mancala_env._util.checks import cpu_array, refuse_swapped, seed_of, truth, whole
from mancala_env.agents import Agent, AgentLike
from mancala_env.engine.state import MOST_GAMES
from mancala_env.envs import kernels
from mancala_env.envs.drawing import seen_of, tiles_of
from mancala_env.envs.opponents import Duel
from mancala_env.envs.options import EnvOptions, OpponentOptions, UnknownRenderMode, reset_options
from mancala_env.envs.spaces import metadata_of
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position
from mancala_env.rulesets import RulesetLike


class NotAvailable(InvalidArgument, AttributeError):
    """An attribute that a VecEnv cannot set, or a method that it cannot call in every game."""


class GamesVecEnv(VecEnv):
    """Base class of VecEnvs whose games are stepped together and share all attributes."""

    # Attributes that the method set_NAME sets for all games.
    _settable: tuple[str, ...] = ()

    @abstractmethod
    def action_masks(self) -> np.ndarray:
        """Return the legal actions, bool `[B, A]`."""

    def close(self) -> None:
        """Do nothing: no resource is open."""

    def _of_game(self, name: str, b: int) -> Any:
        """Return an attribute of game b."""
        return getattr(self, name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of each game of `indices`; most attributes have the same value in all games."""
        return [self._of_game(attr_name, b) for b in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all games.

        Raises:
            NotAvailable: It cannot be set.
            InvalidArgument: `indices` are not all games.
        """
        if attr_name not in self._settable:
            known = ", ".join(self._settable) or "nothing"
            raise NotAvailable(f"{attr_name!r} cannot be set in {type(self).__name__}; can be set: {known}")
        self._check_all(f"set_attr({attr_name!r})", indices)
        getattr(self, f"set_{attr_name}")(value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method and return its result for each game of `indices`.

        ``action_masks`` returns a mask for each game. Methods that change all games are called once, and
        return None for each.

        Raises:
            NotAvailable: The method is not one of these.
            InvalidArgument: The method changes all games, and `indices` are not all games.
        """
        if method_name == "action_masks":
            masks = self.action_masks()
            return [masks[b] for b in self._get_indices(indices)]
        setters = [f"set_{name}" for name in self._settable]
        if method_name not in setters:
            known = ", ".join(("action_masks", *setters))
            raise NotAvailable(f"env_method cannot call {method_name!r}; it can call: {known}")
        self._check_all(f"env_method({method_name!r})", indices)
        getattr(self, method_name)(*args, **kwargs)
        return [None] * self.num_envs

    def _check_all(self, what: str, indices: Any) -> None:
        if {int(b) for b in self._get_indices(indices)} != set(range(self.num_envs)):
            raise InvalidArgument(f"{what} is for all {self.num_envs} games at once, not for games {indices}")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))


class MancalaVecEnv(GamesVecEnv):
    """B games against an agent, all stepped together, for Stable-Baselines3.

    Every game behaves like a :class:`mancala_env.envs.gym.MancalaEnv`. The next episode starts within the
    step that ends one. The last info of an episode holds:

    - ``counts``, ``winner``, ``illegal`` and ``seat``, as in the single environment;
    - ``terminal_observation`` and ``TimeLimit.truncated``;
    - ``episode``: return, length and seconds in the format of SB3's Monitor, so that SB3 logs them.

    ``get_attr`` returns ``opponent``, ``seat`` and ``position`` of each game. ``set_attr("opponent", x)`` is
    :meth:`set_opponent`.
    """

    _settable = ("opponent",)

    def __init__(
        self,
        num_envs: int,
        ruleset: RulesetLike | None = None,
        *,
        seed: int | None = None,
        num_threads: int | None = None,
        **options: Unpack[OpponentOptions],
    ) -> None:
        """Set up the games.

        Args:
            num_envs: B, at least 1.
            ruleset: Name of a ruleset, or a Ruleset; None is Layli Goobalay.
            seed: Random seed; game b is seeded with `seed` + b. None draws a seed.
            num_threads: CPU threads; None uses every core that this process may use.
            options: The options of :class:`mancala_env.envs.gym.MancalaEnv`, with two differences:

                - ``seat``: "random" by default.
                - ``render_mode``: None or "rgb_array". `render()` and SB3's VecVideoRecorder then show all
                  games side by side, with the holes of the last turns marked.

                Algorithms without action masks learn with ``illegal="random"``.
        """
        refuse_swapped("MancalaVecEnv(num_envs, ruleset)", ruleset, num_envs)
        if (render_mode := options.get("render_mode")) not in (None, "rgb_array"):
            raise UnknownRenderMode(f"render_mode must be None or 'rgb_array', not {render_mode!r}")
        known = ("num_envs", "ruleset", "seed", "num_threads", *OpponentOptions.__annotations__)
        checked = EnvOptions.checked({"seat": "random", **options}, known, ruleset)
        self.ruleset = checked.ruleset
        self.render_mode = checked.render_mode
        num_envs = whole("num_envs", num_envs, 1, MOST_GAMES)
        self._duel = Duel(checked, num_envs, autoreset=True, num_threads=num_threads)
        space, num_actions = self._duel.observer.space, self._duel.num_actions
        super().__init__(num_envs, space, spaces.Discrete(num_actions))
        declared = {"render_modes": ["rgb_array"], "render_fps": 2}
        self.metadata = metadata_of(self.metadata | declared, self._duel.observer)
        self._actions = np.zeros(num_envs, np.int64)
        self._lengths = np.zeros(num_envs, np.int64)
        self._is_reset = False
        self._started = time.time()
        self.seed(np.random.SeedSequence().generate_state(1)[0] if seed is None else seed)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed game b with `seed` + b at the next reset, and return the seeds; None draws a seed.

        Raises:
            InvalidArgument: The seed is not a whole number of at least 0.
        """
        return super().seed(seed_of(seed))

    def reset(self) -> np.ndarray:
        """Start an episode in every game and return the observations `[B, *shape]`.

        The options of :meth:`set_options` apply to these episodes, one dict for all games or a list of B.
        :meth:`mancala_env.envs.gym.MancalaEnv.reset` has the options and errors.
        """
        seeds = [None if one is None else int(one) for one in self._seeds]
        given = self._options
        self._reset_options()  # invalid ones too, so that the next reset has no options
        options = [reset_options(one, ("position", "seat")) for one in given]
        if len(options) != self.num_envs:
            raise InvalidArgument(f"options must be one dict or {self.num_envs} of them, not {len(options)}")
        positions, seats = ([one.get(name) for one in options] for name in ("position", "seat"))
        self._duel.reset(seeds, positions=positions, seats=seats)
        self._lengths[:] = 0
        self._is_reset = True
        self._reset_seeds()
        return self._duel.observation

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions of the next step, integers `[B]`."""
        # A copy, because the caller may change the array before the step.
        self._actions = cpu_array("actions", actions).copy()

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play the step, and return observations, rewards, dones and infos.

        :meth:`mancala_env.envs.vector.MancalaVectorEnv.step` has the errors.
        """
        if not self._is_reset:
            raise ResetNeeded("no episode is running; call reset()")
        duel = self._duel
        duel.step(self._actions)
        done, rewards = duel.done, duel.reward.astype(np.float32)
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        seconds = round(time.time() - self._started, 6)
        for b in np.flatnonzero(done):
            result = duel.results[b]
            infos[b] = {
                "terminal_observation": duel.final_observation[b].copy(),
                "TimeLimit.truncated": bool(result[kernels.TRUNCATED]),
                "counts": result[kernels.SOUTH_COUNT :].astype(np.int16),
                "winner": result[kernels.WINNER],
                "illegal": bool(result[kernels.FORFEITED]),
                "seat": result[kernels.LAST_SEAT],
                "episode": {"r": float(rewards[b]), "l": int(self._lengths[b]), "t": seconds},
            }
        self._lengths[done] = 0
        return duel.observation, rewards, done, infos

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, bool `[B, A]`."""
        return self._duel.legal_mask != 0

    def set_opponent(self, opponent: AgentLike | Sequence[AgentLike]) -> None:
        """Replace the opponent: an agent, its spec, or a list from which each episode draws one.

        Running episodes keep their opponent. Each game meets the new one in its next episode.

        >>> env = MancalaVecEnv(8, "layli_goobalay", opponent="random", seed=0)
        >>> env.set_opponent(["greedy", "minimax:2"])
        >>> _ = env.reset()
        >>> sorted({agent.spec for agent in env.get_attr("opponent")})
        ['greedy', 'minimax:2']

        Raises:
            MancalaError: As in the constructor; the opponent stays.
        """
        self._duel.set_opponent(opponent)

    def _of_game(self, name: str, b: int) -> Any:
        if name == "opponent":
            return self._duel.opponents[int(self._duel.opponent_of[b])]
        if name == "seat":
            return int(self._duel.seats[b])
        return self.position(b) if name == "position" else super()._of_game(name, b)

    def position(self, b: int) -> Position:
        """Return a copy of the position of game b.

        Raises:
            ResetNeeded: :meth:`reset` was not called.
        """
        if not self._is_reset:
            raise ResetNeeded("no game has started; call reset()")
        return Position.from_games(self.ruleset, self._duel.games, b)

    def get_images(self) -> list[np.ndarray]:
        """Draw every game, uint8 `[height, width, 3]` each."""
        return tiles_of([seen_of(self._duel, b, self.position(b)) for b in range(self.num_envs)])

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return True for each game if the wrapper is a Monitor: steps return its ``episode`` infos."""
        is_monitor = getattr(wrapper_class, "__name__", "") == "Monitor"
        return [is_monitor] * len(list(self._get_indices(indices)))


class SelfPlayCallback(BaseCallback):
    """Let the learner play against frozen copies of itself.

    The callback copies the policy at the start of training and every `every` steps. Each episode meets a copy
    drawn uniformly from the `pool` latest ones. The environment is a :class:`MancalaVecEnv`, or made by
    ``make_vec_env`` of Stable-Baselines3 from a Gymnasium environment of this package, in one process: copies
    cannot be sent to those of ``SubprocVecEnv``. If a copy chooses an illegal action, it plays a random legal
    one.

    >>> from sb3_contrib import MaskablePPO
    >>> env = MancalaVecEnv(8, "layli_goobalay", observation="afterstates", flatten=True, seed=0)
    >>> model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=64, seed=0, device="cpu")
    >>> callback = SelfPlayCallback(every=64, pool=2)
    >>> _ = model.learn(256, callback=callback)
    >>> [agent.spec for agent in callback.opponents]
    ['MaskablePPO-192', 'MaskablePPO-256']

    Attributes:
        opponents: The copies, the oldest first.
    """

    def __init__(self, every: int = 100_000, pool: int = 10, *, deterministic: bool = False) -> None:
        """Set the schedule.

        Args:
            every: Number of environment steps between two copies, at least 1. A step of B games counts as B.
            pool: Number of copies to keep, at least 1. With 1 the opponent is always the latest copy.
            deterministic: Whether opponents play their most probable action instead of sampling one.

        Raises:
            InvalidArgument: An argument is out of range.
        """
        super().__init__()
        self.every = whole("every", every, 1)
        self.opponents: deque[Agent] = deque(maxlen=whole("pool", pool, 1))
        self._options: dict[str, Any] = {"deterministic": truth("deterministic", deterministic)}

    def _on_training_start(self) -> None:
        env = self.training_env
        if isinstance(env.unwrapped, SubprocVecEnv):
            raise InvalidArgument(
                "SelfPlayCallback needs games in one process, MancalaVecEnv or DummyVecEnv, not SubprocVecEnv"
            )
        ruleset = env.get_attr("ruleset")[0]
        # The number of actions says whether the episodes are single rounds.
        rounds = 1 if self.model.action_space.n == ruleset.num_actions(1) else "match"  # type: ignore[attr-defined]
        kind = env.get_attr("metadata")[0]["observation"]
        # Models without masks, such as DQN, choose illegal actions.
        self._options |= {"ruleset": ruleset, "rounds": rounds, "observation": kind, "illegal": "random"}
        self._add_copy()

    def _on_step(self) -> bool:
        if self.num_timesteps - self._copied_at >= self.every:
            self._add_copy()
        return True

    def _add_copy(self) -> None:
        self._copied_at = self.num_timesteps
        name = f"{type(self.model).__name__}-{self._copied_at}"
        self.opponents.append(agents.from_policy(self.model, name=name, **self._options))
        self.training_env.env_method("set_opponent", list(self.opponents))
