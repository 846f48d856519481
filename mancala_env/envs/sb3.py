"""The games for one learner against an agent as a Stable-Baselines3 VecEnv, at the engine's speed.

>>> from mancala_env.envs.sb3 import MancalaVecEnv
>>> env = MancalaVecEnv(256, "layli_goobalay", opponent="greedy", seat="random", observation="afterstates")
>>> env.reset().shape, env.action_masks().shape
((256, 6, 34), (256, 6))

``make_vec_env`` steps one environment after the other; here a step of all of them is one call of the engine.
sb3-contrib's MaskablePPO asks for `action_masks` by itself.
"""

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from stable_baselines3.common.vec_env import VecEnv

from mancala_env._util.checks import seed_of, whole
from mancala_env.agents import AgentLike
from mancala_env.engine.episode import Rounds
from mancala_env.engine.holdout import OpeningSet
from mancala_env.engine.state import MOST_GAMES
from mancala_env.envs.drawing import seen_of, tiles_of
from mancala_env.envs.families import ruleset_of
from mancala_env.envs.opponents import Illegal, Seat, make_duel
from mancala_env.envs.options import (
    FirstPlayer,
    Reward,
    UnknownRenderMode,
    render_mode_of,
    reset_options,
    starting_game,
)
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position
from mancala_env.observations import ObservationKind
from mancala_env.rulesets import Ruleset


class GamesVecEnv(VecEnv):
    """What Stable-Baselines3 asks of every VecEnv, for one whose games are stepped together.

    Its attributes are those of all games; only ``action_masks`` is one of each.
    """

    @abstractmethod
    def action_masks(self) -> np.ndarray:
        """Return the legal actions, bool `[B, A]`."""

    def close(self) -> None:
        """Do nothing; there is nothing to close."""

    def has_attr(self, attr_name: str) -> bool:
        """Tell whether the environment has an attribute."""
        return hasattr(self, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute once for each game asked for."""
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute, of all games together."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method: ``action_masks`` gives a mask for each game asked for, others are called once."""
        if method_name == "action_masks":
            masks = self.action_masks()
            return [masks[b] for b in self._get_indices(indices)]
        return [getattr(self, method_name)(*args, **kwargs)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Say that no game is wrapped."""
        return [False] * len(list(self._get_indices(indices)))


class MancalaVecEnv(GamesVecEnv):
    """B games against an agent, all stepped together, as Stable-Baselines3 takes them.

    Every game follows :class:`mancala_env.envs.gym.MancalaEnv`. An episode that ends is followed by the
    next one within the step. Its last info holds ``counts``, ``winner``, ``illegal`` and ``seat``, as that of
    the single environment does, ``terminal_observation`` and ``TimeLimit.truncated``. As a Monitor writes it,
    ``episode`` holds return, length and seconds, so that SB3 logs them.

    Attributes:
        ruleset: The ruleset.
    """

    def __init__(
        self,
        num_envs: int,
        ruleset: str | Ruleset | None = None,
        *,
        opponent: AgentLike | Sequence[AgentLike] = "random",
        seat: Seat = "random",
        rounds: Rounds = 1,
        reward: Reward = "outcome",
        first_player: FirstPlayer = 0,
        opening_turns: int = 4,
        opening_set: OpeningSet = "all",
        illegal: Illegal = "raise",
        observation: ObservationKind = "board",
        flatten: bool = False,
        seed: int | None = None,
        num_threads: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Set up the games.

        Args:
            num_envs: B, at least 1.
            ruleset: Name of a ruleset, or your own; None: Layli Goobalay.
            opponent: See :class:`mancala_env.envs.gym.MancalaEnv`, here and below.
            seat: The learner's seat, drawn for each episode unless told otherwise.
            rounds: Most rounds of an episode, or "match".
            reward: "outcome" or "margin".
            first_player: Who starts round 1.
            opening_turns: Uniformly random turns before an episode begins.
            opening_set: "all" openings, or only those for "training", which the arena holds none of.
            illegal: What an illegal action does; algorithms without masks learn with "random".
            observation: What the learner sees.
            flatten: Whether the observation of a game is one vector whatever is seen.
            seed: Seed of everything random; game b is seeded with `seed` + b. None draws one.
            num_threads: CPU threads; None takes every core this process may use.
            render_mode: None, or "rgb_array": `render()` and SB3's VecVideoRecorder then show all games side
                by side, the last turns' holes marked.

        Raises:
            InvalidRuleset: No such ruleset.
            NoValueNetwork: The observation is "values", and no value network of the ruleset is shipped.
            InvalidSpec: No such opponent, or it cannot play the ruleset.
            ValueError: Another argument is out of range; the message says what would be right.
        """
        self.ruleset = ruleset_of(None, ruleset)
        if render_mode not in (None, "rgb_array"):
            raise UnknownRenderMode(f"render_mode must be None or 'rgb_array', not {render_mode!r}")
        self.render_mode = render_mode_of(render_mode)
        self._duel = make_duel(
            self.ruleset,
            whole("num_envs", num_envs, 1, MOST_GAMES),
            opponent=opponent,
            seat=seat,
            rounds=rounds,
            reward=reward,
            first_player=first_player,
            opening_turns=opening_turns,
            opening_set=opening_set,
            illegal=illegal,
            observation=observation,
            flatten=flatten,
            autoreset=True,
            num_threads=num_threads,
        )
        space, num_actions = self._duel.observer.space, self._duel.num_actions
        super().__init__(num_envs, space, spaces.Discrete(num_actions))
        self.metadata |= {"render_modes": ["rgb_array"], "render_fps": 2}
        self._actions = np.zeros(num_envs, np.int64)
        self._lengths = np.zeros(num_envs, np.int64)
        self._is_reset = False
        self._started = time.time()
        seed = seed_of(seed)
        self.seed(np.random.SeedSequence().generate_state(1)[0] if seed is None else seed)

    def reset(self) -> np.ndarray:
        """Start an episode in every game and return the observations `[B, *shape]`.

        What :meth:`set_options` was given holds for these episodes: ``position`` and ``seat`` as in
        :meth:`mancala_env.envs.gym.MancalaEnv.reset`, in one dict for all games or a list of B.

        Raises:
            InvalidPosition: An episode cannot start from a position.
            InvalidArgument: No such option, or a value is wrong, or an opponent ends every episode before the
                learner's first turn. The episodes go on as they were.
        """
        seeds = [None if one is None else int(one) for one in self._seeds]
        given = self._options
        self._reset_options()  # those that are refused too: the next reset is an ordinary one
        options = [reset_options(one, ("position", "seat")) for one in given]
        if len(options) != self.num_envs:
            raise InvalidArgument(f"options must be one dict or {self.num_envs} of them, not {len(options)}")
        starts = [
            starting_game(self.ruleset, self._duel.rounds, one["position"]) if "position" in one else None
            for one in options
        ]
        seats = [one.get("seat") for one in options]
        self._duel.reset(seeds, starts=starts, seats=seats)
        self._lengths[:] = 0
        self._is_reset = True
        self._reset_seeds()
        return self._duel.observation

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions of the next step, integers `[B]`."""
        self._actions = np.array(actions)  # whoever gave them may write on theirs before the step

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play the step; returns observations, rewards, dones and infos.

        Raises:
            IllegalMove: An action is not legal, and `illegal` is "raise"; nothing has changed.
            ResetNeeded: Nothing was reset yet.
        """
        if not self._is_reset:
            raise ResetNeeded("no episode is running; call reset()")
        duel = self._duel
        duel.step(self._actions)
        done, rewards = duel.done, duel.reward.astype(np.float32)
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = np.flatnonzero(done)
        if len(ended):
            truncated, winner, seconds = duel.truncated, duel.winner, time.time() - self._started
            counts, forfeited, seats = duel.final_counts, duel.forfeited, duel.last_seats
            for b in ended:
                infos[b] = {
                    "terminal_observation": duel.final_observation[b].copy(),
                    "TimeLimit.truncated": bool(truncated[b]),
                    "counts": counts[b].copy(),
                    "winner": winner[b],
                    "illegal": bool(forfeited[b]),
                    "seat": seats[b],
                    "episode": {"r": float(rewards[b]), "l": int(self._lengths[b]), "t": round(seconds, 6)},
                }
            self._lengths[ended] = 0
        return duel.observation, rewards, done, infos

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, bool `[B, A]`."""
        return self._duel.legal_mask != 0

    def position(self, b: int) -> Position:
        """Return the position the learner sees in game b, a copy."""
        return Position.from_games(self.ruleset, self._duel.games, b)

    def get_images(self) -> list[np.ndarray]:
        """Draw every game, uint8 `[height, width, 3]` each."""
        return tiles_of([seen_of(self._duel, b, self.position(b)) for b in range(self.num_envs)])

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Say that no game is wrapped, but that each is monitored."""
        is_monitor = getattr(wrapper_class, "__name__", "") == "Monitor"
        return [is_monitor] * len(list(self._get_indices(indices)))
