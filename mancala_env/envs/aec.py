"""The games for two learners, as a PettingZoo AEC environment."""

import warnings
from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv

from mancala_env._util.checks import is_whole, one_of, seed_of
from mancala_env.engine.coordinates import hole_of
from mancala_env.engine.episode import Rounds
from mancala_env.engine.state import NUM_COLUMNS
from mancala_env.envs import kernels
from mancala_env.envs.drawing import DrawnEnv, Screen, Seen, seen_after
from mancala_env.envs.guard import Guard
from mancala_env.envs.options import (
    RENDER_MODES,
    EnvOptions,
    GameOptions,
    UnknownOption,
    as_scalar,
    reset_options,
    starting_game,
)
from mancala_env.envs.spaces import metadata_of
from mancala_env.games.position import Position
from mancala_env.observations import ObservationKind
from mancala_env.rulesets import RulesetLike

AGENTS = ("player_0", "player_1")
"""South and North."""
# The position before the last turn, and the holes that it sowed from.
_NO_TURN: tuple[Position | None, tuple[int, ...]] = (None, ())


class MancalaAEC(DrawnEnv, AECEnv[str, Any, Any]):
    """Two agents, ``player_0`` (South) and ``player_1`` (North), that take turns.

    This class plays all rulesets. The modules ``layli_goobalay_v0``, ``leyla_v0`` and ``gabata_v0`` describe
    the actions, starts and rounds of each game.

    ## Illegal Actions
    ``env()`` ends the episode: reward -1 for the agent, 0 for the other, and a warning. ``raw_env()`` raises
    ``IllegalMove``, and nothing changes.

    ## Observation Space
    By default an observation is the whole position, float32 `[F]`, seen from one player. Entry i of a part
    with a value for each hole belongs to that player's action i. ``mancala_env.observations.parts`` names the
    parts.

    Other kinds show the result of each action, int16 `[A, G]`. Rows of illegal actions are zeros.
    ``flatten=True`` makes every observation one vector.

    An agent gets a dict of ``observation`` and ``action_mask``, int8 `[A]`, 1 for legal actions. For the
    agent who does not move, the mask and all rows of actions are zeros.

    ## Rewards
    0 until the episode ends. Then `reward="outcome"` gives +1 for a win, 0 for a draw and -1 for a loss.
    `reward="margin"` gives the lead in the last count divided by all seeds of the game. Rewards sum to zero.

    ## Starting State
    Player `first_player` starts round 1. The first `opening_turns` turns are random.

    ``reset(options={"position": ...})`` starts from another position.

    ## Episode End
    The episode is terminated after `rounds` rounds, or after the match. A match of 1,000 rounds is truncated;
    the last count then decides the rewards.

    ## Info
    ``infos[agent]["action_mask"]`` is the mask of the observation.

    Attributes:
        ruleset: The ruleset.
        rounds: Most rounds of an episode, or "match".
        observation_kind: Kind of observation; `metadata` has its version.
        render_mode: None, "ansi", "svg", "rgb_array" or "human".
    """

    game: str | None = None
    metadata = {  # noqa: RUF012 - as PettingZoo declares it
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(self, ruleset: RulesetLike | None = None, **options: Unpack[GameOptions]) -> None:
        """Set up the game; nothing can be played before :meth:`reset`.

        Args:
            ruleset: Name of a ruleset, or a Ruleset; None is the default of the game.
            options: ``rounds``, ``reward``, ``first_player``, ``opening_turns`` (0 by default),
                ``opening_set``, ``observation``, ``flatten`` and ``render_mode``:
                :class:`mancala_env.envs.options.EnvOptions` has values, defaults and errors.
        """
        super().__init__()
        known = ("ruleset", *GameOptions.__annotations__)
        checked = EnvOptions.checked({"opening_turns": 0, **options}, known, ruleset, self.game)
        self.ruleset = checked.ruleset
        self.rounds: Rounds = checked.rounds
        self._settings = kernels.encode_settings(self.ruleset, checked.episode)
        self._observer = checked.observer()
        self.observation_kind: ObservationKind = self._observer.kind
        self.metadata = metadata_of(type(self).metadata, self._observer)
        self.render_mode = checked.render_mode
        self._is_drawn = self.render_mode not in (None, "ansi")
        self._screen = Screen(self.ruleset.title) if self.render_mode == "human" else None
        self._random: np.uint64 | None = None
        self._games = np.zeros((1, NUM_COLUMNS), np.uint64)
        num_actions = self.ruleset.num_actions(self.rounds)
        self._mask_shape = (2, num_actions)
        self._masks = np.zeros(self._mask_shape, np.int8)
        self._boards = self._observer.for_kernels(self._observer.empty(2))
        self._is_started = False
        self.possible_agents = list(AGENTS)
        self.agents = []
        self.action_spaces = {agent: spaces.Discrete(num_actions) for agent in AGENTS}
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": self._observer.space,
                    "action_mask": spaces.Box(0, 1, (num_actions,), np.int8),
                }
            )
            for agent in AGENTS
        }

    @classmethod
    def make(cls, ruleset: RulesetLike | None = None, **options: Unpack[GameOptions]) -> Guard:
        """Make the environment, guarded like PettingZoo's classic games.

        An illegal action loses the episode: reward -1, 0 for the other agent, and a warning. An action
        outside the action space raises an IllegalMove, which is an AssertionError too.
        """
        return Guard(cls(ruleset, **options))

    @property
    def position(self) -> Position:
        """A copy of the position; after an episode, its final position."""
        if not self._is_started:
            raise AttributeError("position cannot be accessed before reset")
        return Position.from_games(self.ruleset, self._games)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return an agent's observation space, the same object at each call."""
        return self.observation_spaces[agent]  # pyright: ignore[reportReturnType]

    def action_space(self, agent: str) -> "spaces.Discrete[Any]":
        """Return an agent's action space, the same object at each call."""
        return self.action_spaces[agent]  # pyright: ignore[reportReturnType]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        Args:
            seed: Random seed of the first player and of the opening; None keeps the current generator.
            options: ``position``: the start, a Position or its text. Others are ignored with a warning.

        Raises:
            InvalidPosition: An episode cannot start from `position`. Nothing has changed.
            InvalidArgument: `seed` is invalid. Nothing has changed.
        """
        try:
            reset_options(options, ("position",))
        except UnknownOption as error:  # PettingZoo's api_test passes options of its own
            warnings.warn(f"{error}; it is ignored", stacklevel=2)
        position, seed = (options or {}).get("position"), seed_of(seed)
        games = np.zeros_like(self._games)
        if position is not None:
            games = starting_game(self.ruleset, self.rounds, position)
        random = self._random
        if seed is not None or random is None:
            random = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self._random = np.uint64(kernels.aec_reset(self._settings, games, random, position is not None))
        self._games = games
        self._is_started = True
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._skip_agent_selection = None
        self._last_turn = _NO_TURN
        self._turn(-1)
        self._show()

    def step(self, action: Any) -> None:
        """Play an action of `agent_selection`; pass None if the agent's episode is over.

        Raises:
            IllegalMove: The action is not legal; nothing has changed.
            ResetNeeded: No episode is running: :meth:`reset` was not called, or every agent has passed None.
        """
        if not self.agents:
            raise ResetNeeded("no episode is running; call reset()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if type(action) is not int:
            action = as_scalar(action)
            action = int(action) if is_whole(action) else self._refuse(action)
        if not 0 <= action < self._mask_shape[1]:  # the kernel takes 64 bits, and -1 for no turn
            self._refuse(action)
        before = self.position if self._is_drawn else None
        if not self._turn(action):
            self._refuse(action)
        if before is not None:
            self._last_turn = before, (hole_of(self.ruleset, before.player, action),)
            self._show()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Return the observation of an agent and their action mask, as the class describes them.

        Raises:
            InvalidArgument: The agent is unknown.
            ResetNeeded: :meth:`reset` was not called.
        """
        if not self._is_started:
            raise ResetNeeded("no episode is running; call reset()")
        player = 0 if agent == "player_0" else AGENTS.index(one_of("agent", agent, AGENTS))
        if self._boards is None:
            observation = self._observer.observe(self._games, player)[0]
        else:
            observation = self._boards[player].copy()
        return {"observation": observation, "action_mask": self._masks[player].copy()}

    def _seen(self) -> Seen:
        position = self.position  # raises an error before reset()
        return seen_after(*self._last_turn, position)

    def _turn(self, action: int) -> bool:
        """Play an action, or only refresh the state for -1; return whether the action was legal."""
        masks = np.empty(self._mask_shape, np.int8)
        boards = None if self._boards is None else np.empty_like(self._boards)
        is_legal, player, is_terminated, is_truncated, south = kernels.aec_turn(
            self._settings, self._games, action, masks, boards
        )
        if not is_legal:
            return False
        # Assigned only now, so that an exception in the kernel leaves a consistent environment.
        self._masks, self._boards = masks, boards
        self.agent_selection = "player_1" if player else "player_0"
        # Copies: the caller may edit an info, and neither legality nor observations change.
        own = masks.copy()
        self.infos = {"player_0": {"action_mask": own[0]}, "player_1": {"action_mask": own[1]}}
        if is_terminated or is_truncated:
            self.rewards = {"player_0": south, "player_1": 0.0 - south}
            self._cumulative_rewards = dict(self.rewards)
            self.terminations = dict.fromkeys(AGENTS, is_terminated)
            self.truncations = dict.fromkeys(AGENTS, is_truncated)
        return True

    def _refuse(self, action: Any) -> Any:
        """Raise the error that says why an action is not legal."""
        self.position.play(action)
        raise AssertionError(f"the kernel refuses action {action}, but it can be played")
