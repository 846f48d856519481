"""The games for two learners, as a PettingZoo AEC environment."""

import warnings
from typing import Any, TypedDict, Unpack

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv

from mancala_env._util.checks import is_whole, one_of, seed_of
from mancala_env.engine.coordinates import hole_of
from mancala_env.engine.episode import Rounds, encode_episode
from mancala_env.engine.holdout import OpeningSet
from mancala_env.engine.state import NUM_COLUMNS
from mancala_env.envs import kernels
from mancala_env.envs.drawing import Screen, Seen, draw, seen_after
from mancala_env.envs.families import ruleset_of
from mancala_env.envs.guard import Guard
from mancala_env.envs.options import (
    FirstPlayer,
    Reward,
    UnknownOption,
    refuse_unknown,
    render_mode_of,
    reset_options,
    starting_game,
    warn_of_no_render_mode,
)
from mancala_env.envs.spaces import metadata_of
from mancala_env.games.position import Position
from mancala_env.observations import ObservationKind, Observer
from mancala_env.rulesets import Ruleset

AGENTS = ("player_0", "player_1")
"""South and North."""
_RESET_OPTIONS = ("position",)


class Options(TypedDict, total=False):
    """The keyword arguments of every PettingZoo environment here; see :class:`MancalaAEC`."""

    rounds: Rounds
    reward: Reward
    first_player: FirstPlayer
    opening_turns: int
    opening_set: OpeningSet
    observation: ObservationKind
    flatten: bool
    render_mode: str | None


class MancalaAEC(AECEnv[str, Any, Any]):
    """Two agents, ``player_0`` (South) and ``player_1`` (North), taking turns.

    The modules ``layli_goobalay_v0``, ``leyla_v0`` and ``gabata_v0`` document the environment a game at a
    time; this class plays all of them. It raises ``IllegalMove`` at an illegal action.

    A turn is one call of a kernel, which plays it and writes what both agents may do and see.

    Attributes:
        ruleset: The ruleset.
        rounds: Most rounds of an episode, or "match".
        observation_kind: What agents see; `metadata` names its version.
        render_mode: None, "ansi", "svg", "rgb_array" or "human".
    """

    game: str | None = None

    def __init__(self, ruleset: str | Ruleset | None = None, **options: Unpack[Options]) -> None:
        """Set up the game; nothing can be played before :meth:`reset`.

        Args:
            ruleset: Name of a ruleset, or your own; None: the game's default.
            options: ``rounds``: most rounds of an episode (1), or "match" to play until the match is over.
                ``reward``: "outcome" (+1, 0, -1; the default) or "margin" (lead in the last count over all
                seeds). ``first_player``: who starts round 1, 0 South (the default), 1 North, or "random" for
                a draw at each reset. ``opening_turns``: uniformly random turns before the episode begins (0).
                ``opening_set``: "all" of those openings (the default), or only those for "training", which
                the arena holds none of. ``observation``: what agents see, "board" (the default), or what
                each action leads to, "afterstates", "replies", "lines", "leaves" or "values"; see
                :mod:`mancala_env.observations`. ``flatten``: whether that is one vector whatever is seen.
                ``render_mode``: None, "ansi", "svg", "rgb_array" or "human"; see :meth:`render`.

        Raises:
            InvalidRuleset: No such ruleset, or not one of the game.
            NoValueNetwork: The observation is "values", and no value network of the ruleset is shipped.
            UnknownOption: No such argument; the message has the nearest.
            ValueError: Another argument is out of range; the message says what would be right.
        """
        super().__init__()
        refuse_unknown("unexpected keyword argument", options, ("ruleset", *Options.__annotations__))
        self.ruleset = ruleset_of(self.game, ruleset)
        self.rounds: Rounds = options.get("rounds", 1)
        episode = encode_episode(
            self.rounds,
            options.get("first_player", 0),
            options.get("opening_turns", 0),
            options.get("reward", "outcome"),
            options.get("opening_set", "all"),
        )
        self._settings = kernels.encode_settings(self.ruleset, episode)
        num_actions = self.ruleset.num_actions(self.rounds)
        self._observer = Observer(
            self.ruleset,
            options.get("observation", "board"),
            num_actions,
            flatten=options.get("flatten", False),
        )
        self.observation_kind: ObservationKind = self._observer.kind
        self.metadata = metadata_of(getattr(type(self), "metadata", {}), self._observer)
        self.render_mode = render_mode_of(options.get("render_mode"))
        self._screen = Screen(self.ruleset.title) if self.render_mode == "human" else None
        self._is_drawn = self.render_mode not in (None, "ansi")
        self._last_turn: tuple[np.ndarray, int] | None = None
        self._random: np.uint64 | None = None
        self._games = np.zeros((1, NUM_COLUMNS), np.uint64)
        self._mask_shape = (2, num_actions)
        self._masks = np.zeros(self._mask_shape, np.int8)
        both = (2, *self._observer.shape)
        passing = self._observer.passing(np.zeros(both, self._observer.dtype))
        self._seen: np.ndarray | None = passing
        self._seen_shape = None if passing is None else both
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

    @property
    def position(self) -> Position:
        """The position, a copy; after the last step the one the episode ended in."""
        if not self._is_started:
            raise AttributeError("position cannot be accessed before reset")
        return Position.from_games(self.ruleset, self._games)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return an agent's observation space, the same object at each call."""
        return self.observation_spaces[agent]  # pyright: ignore[reportReturnType]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return an agent's action space, the same object at each call."""
        return self.action_spaces[agent]  # pyright: ignore[reportReturnType]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        Args:
            seed: Seed of the draw of the first player and of the opening; None goes on with the present
                generator.
            options: ``position``, a Position or its text, to start from. Others are ignored with a warning.

        Raises:
            InvalidPosition: An episode cannot start from `position`. Nothing has changed.
            InvalidArgument: `seed` is no seed. Nothing has changed.
        """
        try:
            given = reset_options(options, _RESET_OPTIONS)
        except UnknownOption as error:  # PettingZoo's api_test wants any option to be taken
            warnings.warn(f"{error}; it is ignored", stacklevel=2)
            given = {name: value for name, value in dict(options or {}).items() if name in _RESET_OPTIONS}
        seed = seed_of(seed)
        games = np.zeros_like(self._games)
        if "position" in given:
            games = starting_game(self.ruleset, self.rounds, given["position"])
        random = self._random
        if seed is not None or random is None:
            random = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self._random = np.uint64(kernels.aec_reset(self._settings, games, random, "position" in given))
        self._games = games
        self._is_started = True
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._skip_agent_selection = None
        self._last_turn = None
        self._turn(-1)
        if self._screen is not None:
            self._show()

    def step(self, action: Any) -> None:
        """Play the turn of `agent_selection`; None for an agent whose episode is over.

        Raises:
            IllegalMove: The action is not legal; nothing has changed.
            ResetNeeded: No episode was started.
        """
        if not self._is_started:
            raise ResetNeeded("no episode is running; call reset()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if type(action) is not int:
            if isinstance(action, np.ndarray) and action.ndim == 0:
                action = action.item()
            action = int(action) if is_whole(action) else self._refuse(action)
        if not 0 <= action < self._mask_shape[1]:  # the kernel takes 64 bits, and -1 for no turn
            self._refuse(action)
        if self._is_drawn:
            self._step_drawn(action)
        elif not self._turn(action):
            self._refuse(action)

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Return what an agent sees, and their mask: all zeros where it is not their turn.

        Where it is not their turn they see the board all the same, but of their actions, none of which is
        legal, all zeros.

        Raises:
            InvalidArgument: There is no such agent.
            ResetNeeded: No episode was started.
        """
        if not self._is_started:
            raise ResetNeeded("no episode is running; call reset()")
        player = 0 if agent == "player_0" else AGENTS.index(one_of("agent", agent, AGENTS))
        if self._seen is None:
            observation = self._observer.observe(self._games, player)[0]
        else:
            observation = self._seen[player].copy()
        return {"observation": observation, "action_mask": self._masks[player].copy()}

    def render(self) -> Any:
        """Draw the position, the last turn's holes marked.

        Returns:
            A text of `render_mode` "ansi", an SVG document of "svg", uint8 `[height, width, 3]` of
            "rgb_array". None of "human", which shows each turn in a window as it is played.
        """
        if self.render_mode is None:
            return warn_of_no_render_mode()
        if self._screen is None:
            return draw(self.render_mode, self._seen_position())
        return self._screen.show(self._seen_position()._replace(turns=(), ends=()), self._fps)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._screen is not None:
            self._screen.close()

    @property
    def _fps(self) -> float:
        return self.metadata.get("render_fps", 2)

    def _show(self) -> None:
        assert self._screen is not None
        self._screen.show(self._seen_position(), self._fps)

    def _seen_position(self) -> Seen:
        now = self.position
        if self._last_turn is None:
            return Seen(now)
        games, hole = self._last_turn
        return seen_after(Position.from_games(self.ruleset, games), [hole], now)

    def _step_drawn(self, action: int) -> None:
        """Play a turn and remember it, for pictures."""
        games = self._games.copy()
        if not self._turn(action):
            self._refuse(action)
        player = Position.from_games(self.ruleset, games).player
        self._last_turn = games, hole_of(self.ruleset, player, action)
        if self._screen is not None:
            self._show()

    def _turn(self, action: int) -> bool:
        """Play an action, or none for -1, and renew what depends on the position; tells whether it was legal.

        Nothing is assigned before the kernel has played, so an exception finds a whole environment.
        """
        masks = np.empty(self._mask_shape, np.int8)
        seen = None if self._seen_shape is None else np.empty(self._seen_shape, np.float32)
        is_legal, player, is_terminated, is_truncated, south = kernels.aec_turn(
            self._settings, self._games, action, masks, seen
        )
        if not is_legal:
            return False
        self._masks, self._seen = masks, seen
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

    def _is_legal(self, agent: str, action: Any) -> bool:
        """Return whether an agent may play an action of the action space now, whatever `infos` says."""
        return bool(self._masks[AGENTS.index(agent)][action])

    def _refuse(self, action: Any) -> Any:
        """Raise the error that says why an action is not legal."""
        self.position.play(action)
        raise AssertionError(f"the kernel refuses action {action}, but it can be played")


def guarded(env: MancalaAEC) -> AECEnv:
    """Return an environment that behaves as in the wrappers of PettingZoo's classic games.

    An illegal action then loses the episode (reward -1) with a warning, one outside the action space is an
    AssertionError, and a method called before ``reset()`` says so.
    """
    return Guard(env)
