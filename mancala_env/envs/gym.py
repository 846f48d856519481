"""The games for one learner against an agent, as a Gymnasium environment."""

from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from mancala_env._util.checks import is_whole, seed_of
from mancala_env.agents import Agent, AgentLike
from mancala_env.envs.drawing import DrawnEnv, Screen, Seen, seen_of
from mancala_env.envs.opponents import Duel
from mancala_env.envs.options import (
    BY_MASKS,
    OR_ILLEGAL,
    RENDER_MODES,
    EnvOptions,
    OpponentOptions,
    as_scalar,
    first_seed,
    reset_options,
)
from mancala_env.envs.spaces import LegalDiscrete, metadata_of
from mancala_env.errors import IllegalMove
from mancala_env.games.position import Position
from mancala_env.rulesets import RulesetLike


class MancalaEnv(DrawnEnv, gymnasium.Env[np.ndarray, Any]):
    """A mancala game against an agent, whose turns are part of the step.

    ``gymnasium.make`` makes it as ``mancala/LayliGoobalay-v0``, ``mancala/Leyla-v0`` and
    ``mancala/Gabata-v0``.

    ## Action Space
    ``Discrete(A)``: the hole to sow from, seen from the learner. Actions 0 to W-1 are their own row in sowing
    order. A is W, the number of holes in a row. In Gabata with several rounds A is 2W, because holes of the
    opponent's row can become the learner's. ``action_masks()`` (bool `[A]`) marks the legal actions.

    ## Illegal Actions
    An illegal action raises ``IllegalMove``, and nothing changes. With `illegal="random"` a random legal
    action is played instead. With `illegal="lose"` the episode ends with reward -1.
    ``action_space.sample()`` draws legal actions only.

    ## Observation Space
    By default an observation is the whole position, float32 `[F]`, seen from one player. Entry i of a part
    with a value for each hole belongs to that player's action i. ``mancala_env.observations.parts`` names the
    parts.

    Other kinds show the result of each action, int16 `[A, G]`. Rows of illegal actions are zeros.
    ``flatten=True`` makes every observation one vector.

    ## Rewards
    0 until the episode ends. Then `reward="outcome"` gives +1 for a win, 0 for a draw and -1 for a loss.
    `reward="margin"` gives the lead in the last count divided by all seeds of the game. Rewards sum to zero.

    ## Starting State
    Player `first_player` starts round 1. The first `opening_turns` turns are random.

    Then the opponent plays until the learner is to move. An opening that ends the episode is drawn again.
    ``reset(options={"position": ..., "seat": ...})`` starts from another position.

    ## Episode End
    The episode is terminated after `rounds` rounds, or after the match. A match of 1,000 rounds is truncated;
    the last count then decides the rewards.

    ## Info
    ``action_mask``, int8 `[A]`, and ``seat``, 0 South or 1 North. At the end also ``counts``, int16 `[2]`, of
    South and North; ``winner``, 0, 1 or -1 for a draw; and ``illegal``, whether an illegal action ended the
    episode.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        ruleset: RulesetLike | None = None,
        *,
        game: str | None = None,
        **options: Unpack[OpponentOptions],
    ) -> None:
        """Set up the game; nothing is played before :meth:`reset`.

        Args:
            ruleset: Name of a ruleset, or a Ruleset; None is the default of the game.
            game: "layli_goobalay", "leyla" or "gabata" allows only the rulesets of that game, as the
                registered ids do; None allows all.
            options: Attributes of :class:`mancala_env.envs.options.EnvOptions`, which has values, defaults
                and errors.
        """
        known = ("ruleset", "game", *OpponentOptions.__annotations__)
        checked = EnvOptions.checked(options, known, ruleset, game)
        self.ruleset = checked.ruleset
        self.render_mode = checked.render_mode
        self._duel = Duel(checked, 1)
        self._illegal = checked.illegal
        self.action_space = self._legal_actions = LegalDiscrete(self._duel.num_actions)
        self.observation_space = self._duel.observer.space
        self.metadata = metadata_of(type(self).metadata, self._duel.observer)
        self._screen = Screen(self.ruleset.title) if self.render_mode == "human" else None
        self._is_running = self._has_started = False

    @property
    def position(self) -> Position:
        """A copy of the position; after an episode, its final position."""
        if not self._has_started:
            raise ResetNeeded("there is no position before reset()")
        return Position.from_games(self.ruleset, self._duel.games)

    @property
    def seat(self) -> int:
        """The learner's seat in this episode: 0 South, 1 North."""
        return int(self._duel.seats[0])

    @property
    def opponent(self) -> Agent:
        """The learner's opponent in this episode; between episodes :meth:`set_opponent` replaces it."""
        return self._duel.opponents[int(self._duel.opponent_of[0])]

    def set_opponent(self, opponent: AgentLike | Sequence[AgentLike]) -> None:
        """Replace the opponent from the next :meth:`reset` on; values and errors as in the constructor."""
        self._duel.set_opponent(opponent)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Random seed of the environment and the opponent. None keeps the current generator; the first
                reset then uses `np_random_seed`.
            options: ``position``: the start, a Position or its text. ``seat``: "south", "north" or "random",
                for this episode.

        Returns:
            The observation, and an info with ``action_mask`` and ``seat``.

        Raises:
            InvalidPosition: An episode cannot start from `position`.
            InvalidArgument: An option is unknown or invalid, or the opponent ends every episode before the
                learner's first turn. The current episode continues.
        """
        seed = seed_of(seed)
        given = reset_options(options, ("position", "seat"))
        of_episode = seed
        if seed is None and not self._has_started:
            of_episode = first_seed(self.np_random_seed, self.np_random)
        self._duel.reset([of_episode], positions=[given.get("position")], seats=[given.get("seat")])
        super().reset(seed=seed)
        self._has_started = self._is_running = True
        self._show()
        return self._duel.observation[0], self._info()

    def step(self, action: int | np.integer) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's turn, then the opponent's until the learner is to move again.

        Raises:
            IllegalMove: The action is outside the action space, or it is illegal and `illegal` is "raise".
                Nothing has changed.
            ResetNeeded: No episode is running.
        """
        if not self._is_running:
            raise ResetNeeded("no episode is running; call reset()")
        duel = self._duel
        duel.play_one(self._checked(action))
        is_done, is_truncated, winner, is_forfeited, _, south, north = duel.results[0].tolist()
        self._is_running = not is_done
        info = self._info()
        if is_done:
            info["counts"] = np.array([south, north], np.int16)
            info["winner"] = np.int64(winner)
            info["illegal"] = bool(is_forfeited)
        reward = float(duel.reward[0])
        self._show()
        return duel.observation[0], reward, bool(is_done and not is_truncated), bool(is_truncated), info

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, bool `[A]`; sb3-contrib calls this method."""
        return self._duel.legal_mask[0] != 0

    def _seen(self) -> Seen:
        return seen_of(self._duel, 0, self.position)

    def _checked(self, action: Any) -> int:
        """Return an action as an int, or raise the error that says why it cannot be played."""
        action, mask = as_scalar(action), self._duel.legal_mask[0]
        in_space = is_whole(action) and 0 <= action < len(mask)
        if in_space and (mask[action] or self._illegal != "raise"):
            return int(action)
        try:
            self.position.play(action)  # pyright: ignore[reportArgumentType]
        except IllegalMove as error:
            why = str(error)
        else:  # the rules allow the hole, but the action space lacks it
            why = f"action {action} is not one of 0 to {len(mask) - 1}"
        raise IllegalMove(f"{why}. {BY_MASKS}{OR_ILLEGAL if in_space else ''}")

    def _info(self) -> dict[str, Any]:
        mask = self._duel.legal_mask[0]
        self._legal_actions.mask = mask.copy()
        return {"action_mask": mask.copy(), "seat": self._duel.seats[0]}
