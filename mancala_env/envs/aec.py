"""The games for two learners, as a PettingZoo AEC environment."""

from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from mancala_env.arguments import one_of
from mancala_env.engine.episode import Rounds, encode_rounds
from mancala_env.engine.state import NORTH, SOUTH
from mancala_env.envs.arguments import FirstPlayer, Reward, frame, render_mode_of, reward_of_south
from mancala_env.envs.families import ruleset_of
from mancala_env.envs.spaces import metadata_of
from mancala_env.observation import ObservationKind, Observer
from mancala_env.position import Position
from mancala_env.rulesets import Ruleset

AGENTS = ("player_0", "player_1")
"""South and North."""


class Options(TypedDict, total=False):
    """The arguments of every PettingZoo environment here; see :class:`MancalaAEC`."""

    ruleset: str | Ruleset | None
    rounds: Rounds
    reward: Reward
    first_player: FirstPlayer
    observation: ObservationKind
    render_mode: str | None


class MancalaAEC(AECEnv[str, Any, Any]):
    """Two agents, ``player_0`` (South) and ``player_1`` (North), taking turns.

    The modules ``layli_goobalay_v0``, ``leyla_v0`` and ``gabata_v0`` document the environment a game at a
    time; this class plays all of them. It raises ``IllegalMove`` at an illegal action.

    Attributes:
        ruleset: The ruleset.
        rounds: Most rounds of an episode, or "match".
        observation_kind: What agents see; `metadata` names its version.
        render_mode: None or "ansi".
    """

    game: str | None = None

    def __init__(
        self,
        ruleset: str | Ruleset | None = None,
        rounds: Rounds = 1,
        reward: Reward = "outcome",
        first_player: FirstPlayer = 0,
        observation: ObservationKind = "board",
        render_mode: str | None = None,
    ) -> None:
        """Set up the game; nothing can be played before :meth:`reset`.

        Args:
            ruleset: Name of a ruleset, or your own; None: the game's default.
            rounds: Most rounds of an episode, or "match" to play until the match is over.
            reward: "outcome" (+1, 0, -1) or "margin" (lead in the last count over all seeds).
            first_player: Who starts round 1: 0 South, 1 North, or "random" for a draw at each reset.
            observation: What agents see: "board", or what each action leads to: "afterstates", "replies"
                or "lines"; see :mod:`mancala_env.observation`.
            render_mode: None or "ansi".

        Raises:
            InvalidRuleset: No such ruleset, or not one of the game.
            ValueError: Another argument is out of range; the message says what would be right.
        """
        super().__init__()
        self.ruleset = ruleset_of(self.game, ruleset)
        encode_rounds(rounds)  # raises what is to be raised
        self.rounds = rounds
        self._reward: Reward = one_of("reward", reward, ("outcome", "margin"))
        self._first_player = one_of("first_player", first_player, (SOUTH, NORTH, "random"))
        self._num_actions = self.ruleset.num_actions(rounds)
        self._observer = Observer(self.ruleset, observation, self._num_actions)
        self.observation_kind: ObservationKind = self._observer.kind
        self.metadata = metadata_of(getattr(type(self), "metadata", {}), self._observer)
        self.render_mode = render_mode_of(render_mode)
        self._rng = np.random.default_rng()
        self._position: Position | None = None
        self.possible_agents = list(AGENTS)
        self.agents = []
        self.action_spaces = {agent: spaces.Discrete(self._num_actions) for agent in AGENTS}
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": self._observer.space,
                    "action_mask": spaces.Box(0, 1, (self._num_actions,), np.int8),
                }
            )
            for agent in AGENTS
        }

    @property
    def position(self) -> Position:
        """The position, a copy; after the last step the one the episode ended in."""
        if self._position is None:
            raise AttributeError("position cannot be accessed before reset")
        return self._position.copy()

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return an agent's observation space, the same object at each call."""
        return self.observation_spaces[agent]  # pyright: ignore[reportReturnType]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return an agent's action space, the same object at each call."""
        return self.action_spaces[agent]  # pyright: ignore[reportReturnType]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        Args:
            seed: Seed of the draw of the first player; None goes on with the present generator.
            options: Not used.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        starter = int(self._rng.integers(2)) if self._first_player == "random" else self._first_player
        self._position = Position(self.ruleset, player=starter)
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._select()

    def step(self, action: Any) -> None:
        """Play the turn of `agent_selection`; None for an agent whose episode is over.

        Raises:
            IllegalMove: The action is not legal; nothing has changed.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        position = self._position
        assert position is not None
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action.item()
        position.play(action)  # pyright: ignore[reportArgumentType]
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if position.is_over:
            self._end_round(position)
        self._select()
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Return what an agent sees, and his mask: all zeros where it is not his turn.

        Where it is not his turn he sees the board all the same, but of his actions, none of which is
        legal, all zeros.
        """
        assert self._position is not None
        player = AGENTS.index(agent)
        observation = self._observer.observe(self._position.games, player)[0]
        return {"observation": observation, "action_mask": self._mask(player)}

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Draw the position as text (`render_mode="ansi"`)."""
        return frame(self.position, self.render_mode)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _end_round(self, position: Position) -> None:
        """Set up the next round of the episode, or end it (RULES 5)."""
        if self.rounds != 1 and position.round != self.rounds:
            following = position.next_round()
            if following is not None:
                self._position = position = following
        if not position.is_over:
            return
        winner = position.match_winner
        won = 0.0 if winner is None else (1.0 if winner == SOUTH else -1.0)
        south = float(reward_of_south(self._reward, won, np.array(position.counts), self.ruleset.total_seeds))
        self.rewards = dict(zip(AGENTS, (south, -south), strict=True))
        self.terminations = dict.fromkeys(AGENTS, True)

    def _select(self) -> None:
        """Select whoever moves next and renew the infos."""
        assert self._position is not None
        self.agent_selection = AGENTS[self._position.player]
        self.infos = {agent: {"action_mask": self._mask(player)} for player, agent in enumerate(AGENTS)}

    def _mask(self, player: int) -> np.ndarray:
        assert self._position is not None
        mask = np.zeros(self._num_actions, np.int8)
        if self._position.player == player and not any(self.terminations.values()):
            mask[list(self._position.legal_actions)] = 1
        return mask


def wrapped(env: AECEnv) -> AECEnv:
    """Return an environment in the wrappers of PettingZoo's classic games.

    An illegal action then loses the episode (reward -1) with a warning, one outside the action space is an
    AssertionError, and a method called before ``reset()`` says so.
    """
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=-1)
    env = wrappers.AssertOutOfBoundsWrapper(env)
    return wrappers.OrderEnforcingWrapper(env)
