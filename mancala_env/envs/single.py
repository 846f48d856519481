"""The games for one learner against an agent, as a Gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from mancala_env.agents import Agent
from mancala_env.engine.episode import Rounds
from mancala_env.envs.arguments import RENDER_MODES, FirstPlayer, Reward, frame, render_mode_of
from mancala_env.envs.duel import Duel, Illegal, Seat
from mancala_env.envs.families import ruleset_of
from mancala_env.envs.spaces import LegalDiscrete, metadata_of
from mancala_env.errors import IllegalMove
from mancala_env.observation import ObservationKind
from mancala_env.position import Position
from mancala_env.rulesets import Ruleset


class MancalaEnv(gymnasium.Env[np.ndarray, Any]):
    """A mancala game against an agent that answers within the step.

    ``gymnasium.make`` knows it as ``mancala/LayliGoobalay-v0``, ``mancala/Leyla-v0`` and
    ``mancala/Gabata-v0``.

    ## Action Space
    ``Discrete(A)``: the hole to sow from, seen from the learner. 0 to W-1 are his own row in sowing order;
    A is W, or 2W in Gabata when more than one round is played, where the opponent's holes can become his.
    ``action_masks()`` (bool `[A]`) and ``info["action_mask"]`` (int8 `[A]`) say which are legal. An illegal
    action raises ``IllegalMove`` and changes nothing; with ``illegal="lose"`` it ends the episode with
    reward -1. ``action_space.sample()`` without a mask draws a legal action.

    ## Observation Space
    ``Box`` float32 `[F]`, everything about the position seen from the learner;
    ``mancala_env.observation.parts(ruleset)`` names the features. With ``observation="afterstates"``,
    ``"replies"`` or ``"lines"`` int16 `[A, G]`, what each action leads to, all zeros for one that is not
    legal and for all when the episode is over; ``mancala_env.observation.Observer`` names the
    features.

    ## Starting State
    The start of round 1, `opening_turns` random turns, and the opponent's turns up to the learner's first.
    An episode that ends before that is played anew.

    ## Rewards
    0 until the episode ends; then +1, 0 or -1 (`reward="outcome"`), or the learner's lead in the last
    count over all seeds of the game (`reward="margin"`).

    ## Episode End
    Terminated when the round is over, or the last of `rounds` rounds, or the match. Never truncated. The
    last info holds ``counts`` (int16 `[2]`, of South and North), ``winner`` (0 South, 1 North, -1 draw) and
    ``illegal`` (whether an illegal action ended it).

    ## Version History
    * v0: first release
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 2}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
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
    ) -> None:
        """Set up the game; nothing is played before :meth:`reset`.

        Args:
            ruleset: Name of a ruleset, or your own; None: the game's default.
            game: "layli_goobalay", "leyla" or "gabata" admits only that game's rulesets, as the registered
                ids do; None admits all.
            opponent: An agent or its spec, such as "random", "greedy" or the path of a checkpoint.
            seat: The learner's seat: "south", "north", or "random" for a draw at each reset.
            rounds: Most rounds of an episode, or "match" to play until the match is over.
            reward: "outcome" or "margin".
            first_player: Who starts round 1: 0 South, 1 North, or "random" for a draw at each reset.
            opening_turns: Uniformly random turns before the episode begins.
            illegal: What an illegal action does: "raise" an IllegalMove, or "lose" the episode.
            observation: What the learner sees: "board", or what each action leads to: "afterstates",
                "replies" or "lines"; see :mod:`mancala_env.observation`.
            render_mode: None or "ansi".

        Raises:
            InvalidRuleset: No such ruleset, or not one of the game.
            InvalidSpec: No such opponent, or it cannot play the ruleset.
            ValueError: Another argument is out of range; the message says what would be right.
        """
        self.ruleset = ruleset_of(game, ruleset)
        self.render_mode = render_mode_of(render_mode)
        self._duel = Duel(
            self.ruleset,
            1,
            opponent=opponent,
            seat=seat,
            rounds=rounds,
            reward=reward,
            first_player=first_player,
            opening_turns=opening_turns,
            illegal=illegal,
            observation=observation,
        )
        self._illegal = illegal
        self._legal_actions = LegalDiscrete(self._duel.batch.num_actions)
        self.action_space = self._legal_actions
        self.observation_space = self._duel.batch.observer.space
        self.metadata = metadata_of(type(self).metadata, self._duel.batch.observer)
        self._is_running = self._has_started = False

    @property
    def position(self) -> Position:
        """The position the learner sees, a copy; after the last step the one the episode ended in."""
        if not self._has_started:
            raise ResetNeeded("there is no position before reset()")
        games = self._duel.batch.games if self._is_running else self._duel.final_games
        return Position.from_games(self.ruleset, games)

    @property
    def seat(self) -> int:
        """The learner's seat in this episode: 0 South, 1 North."""
        return int(self._duel.seats[0])

    @property
    def opponent(self) -> Agent:
        """The agent on the other side."""
        return self._duel.opponent

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seed of everything random from here on, the opponent included; None goes on.
            options: Not used.

        Returns:
            The observation, and an info with ``action_mask`` and ``seat``.
        """
        super().reset(seed=seed)
        self._duel.reset(self.np_random, reseed=seed is not None)
        self._is_running = self._has_started = True
        return self._duel.observation()[0], self._info()

    def step(self, action: int | np.integer) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's turn, then the opponent's until the learner is to move again.

        Raises:
            IllegalMove: The action is not legal, and `illegal` is "raise", or it is not in the action space.
                Nothing has changed.
            ResetNeeded: No episode is running.
        """
        if not self._is_running:
            raise ResetNeeded("no episode is running; call reset()")
        self._duel.play(np.array([self._checked(action)]))
        self._is_running = not self._duel.done[0]
        info = self._info()
        if self._is_running:
            observation = self._duel.observation()[0]
        else:
            observation = self._duel.final_observation(np.array([0]))[0]
            info["counts"] = self._duel.final_counts[0].copy()
            info["winner"] = int(self._duel.winner[0])
            info["illegal"] = bool(self._duel.forfeited[0])
        return observation, float(self._duel.reward[0]), not self._is_running, False, info

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal now, bool `[A]`, under the name sb3-contrib asks for."""
        return self._legal_actions.mask.astype(np.bool_)

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Draw the position as text (`render_mode="ansi"`)."""
        return frame(self.position, self.render_mode)

    def _checked(self, action: Any) -> int:
        """Return an action that may be played, or raise the error that says why not."""
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action.item()
        is_action = isinstance(action, int | np.integer) and 0 <= action < len(self._legal_actions.mask)
        if is_action and (self._legal_actions.mask[action] or self._illegal == "lose"):
            return int(action)
        try:
            self.position.play(action)  # pyright: ignore[reportArgumentType]
        except IllegalMove as error:
            raise IllegalMove(
                f"{error}. Choose by action_masks(), or make the environment with illegal='lose'"
            ) from None
        raise AssertionError(f"the mask forbids action {action}, but it can be played")

    def _info(self) -> dict[str, Any]:
        mask = self._legal_actions.mask
        mask[:] = self._duel.batch.legal_mask[0] if self._is_running else 0
        return {"action_mask": mask.copy(), "seat": self.seat}
