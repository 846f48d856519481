"""The games for one learner against an agent, as a Gymnasium environment."""

from collections.abc import Sequence
from inspect import signature
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from mancala_env._util.checks import is_whole, seed_of
from mancala_env.agents import Agent, AgentLike
from mancala_env.engine.episode import Rounds
from mancala_env.engine.holdout import OpeningSet
from mancala_env.envs.drawing import Screen, Seen, draw, seen_of
from mancala_env.envs.families import ruleset_of
from mancala_env.envs.opponents import Illegal, Seat, make_duel
from mancala_env.envs.options import (
    RENDER_MODES,
    FirstPlayer,
    Reward,
    first_seed,
    refuse_unknown,
    render_mode_of,
    reset_options,
    starting_game,
    warn_of_no_render_mode,
)
from mancala_env.envs.spaces import LegalDiscrete, metadata_of
from mancala_env.errors import IllegalMove
from mancala_env.games.position import Position
from mancala_env.observations import ObservationKind
from mancala_env.rulesets import Ruleset


class MancalaEnv(gymnasium.Env[np.ndarray, Any]):
    """A mancala game against an agent that answers within the step.

    ``gymnasium.make`` knows it as ``mancala/LayliGoobalay-v0``, ``mancala/Leyla-v0`` and
    ``mancala/Gabata-v0``.

    ## Action Space
    ``Discrete(A)``: the hole to sow from, seen from the learner. 0 to W-1 are their own row in sowing order;
    A is W, or 2W in Gabata when more than one round is played, where the opponent's holes can become theirs.
    ``action_masks()`` (bool `[A]`) and ``info["action_mask"]`` (int8 `[A]`) say which are legal. An illegal
    action raises ``IllegalMove`` and changes nothing; with ``illegal="random"`` a random legal one is played
    in its place, with ``illegal="lose"`` it ends the episode with reward -1. ``action_space.sample()``
    without a mask draws a legal action.

    ## Observation Space
    ``Box`` float32 `[F]`, everything about the position seen from the learner;
    ``mancala_env.observations.parts(ruleset)`` names the features. With ``observation="afterstates"``,
    ``"replies"``, ``"lines"``, ``"leaves"`` or ``"values"`` int16 `[A, G]`, what each action leads to,
    all zeros for one that is not legal and for all when the episode is over;
    ``mancala_env.observations.Observer`` names the features. With ``flatten=True`` the same as one vector.

    ## Starting State
    The start of round 1, `opening_turns` random turns (four, without which a learner meets a handful of
    games and learns them by heart), and the opponent's turns up to the learner's first. An episode that ends
    before that is played anew. ``reset(options={"position": ..., "seat": ...})`` starts elsewhere.

    ## Rewards
    0 until the episode ends; then +1, 0 or -1 (`reward="outcome"`), or the learner's lead in the last
    count over all seeds of the game (`reward="margin"`).

    ## Episode End
    Terminated when the round is over, or the last of `rounds` rounds, or the match; truncated where a match
    reaches 1,000 rounds, its reward then by the last count. The last info holds ``counts`` (int16 `[2]`, of
    South and North), ``winner`` (0 South, 1 North, -1 draw) and ``illegal`` (whether an illegal action ended
    it).

    ## Version History
    * v0: first release
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        ruleset: str | Ruleset | None = None,
        *,
        game: str | None = None,
        opponent: AgentLike | Sequence[AgentLike] = "random",
        seat: Seat = "south",
        rounds: Rounds = 1,
        reward: Reward = "outcome",
        first_player: FirstPlayer = 0,
        opening_turns: int = 4,
        opening_set: OpeningSet = "all",
        illegal: Illegal = "raise",
        observation: ObservationKind = "board",
        flatten: bool = False,
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        """Set up the game; nothing is played before :meth:`reset`.

        Args:
            ruleset: Name of a ruleset, or your own; None: the game's default.
            game: "layli_goobalay", "leyla" or "gabata" admits only that game's rulesets, as the registered
                ids do; None admits all.
            opponent: An agent or its spec, such as "random", "greedy" or the path of a checkpoint; of a list
                one is drawn for each episode.
            seat: The learner's seat: "south", "north", or "random" for a draw at each reset.
            rounds: Most rounds of an episode, or "match" to play until the match is over.
            reward: "outcome" or "margin".
            first_player: Who starts round 1: 0 South, 1 North, or "random" for a draw at each reset.
            opening_turns: Uniformly random turns before the episode begins.
            opening_set: "all" openings, or only those for "training", which the arena holds none of.
            illegal: What an illegal action does: "raise" an IllegalMove, "lose" the episode, or "random",
                play a random legal action in its place.
            observation: What the learner sees: "board", or what each action leads to: "afterstates",
                "replies", "lines", "leaves" or "values"; see :mod:`mancala_env.observations`.
            flatten: Whether the observation is one vector whatever is seen.
            render_mode: None, "ansi", "svg", "rgb_array" or "human"; see :meth:`render`.
            unknown: Refused, with the nearest names.

        Raises:
            InvalidRuleset: No such ruleset, or not one of the game.
            NoValueNetwork: The observation is "values", and no value network of the ruleset is shipped.
            InvalidSpec: No such opponent, or it cannot play the ruleset.
            ValueError: Another argument is out of range; the message says what would be right.
        """
        refuse_unknown("unexpected keyword argument", unknown, list(signature(type(self)).parameters)[:-1])
        self.ruleset = ruleset_of(game, ruleset)
        self.render_mode = render_mode_of(render_mode)
        self._duel = make_duel(
            self.ruleset,
            1,
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
        )
        self._illegal = illegal
        self._legal_actions = LegalDiscrete(self._duel.num_actions)
        self.action_space = self._legal_actions
        self.observation_space = self._duel.observer.space
        self.metadata = metadata_of(type(self).metadata, self._duel.observer)
        self._screen = Screen(self.ruleset.title) if self.render_mode == "human" else None
        self._is_running = self._has_started = False

    @property
    def position(self) -> Position:
        """The position the learner sees, a copy; after the last step the one the episode ended in."""
        if not self._has_started:
            raise ResetNeeded("there is no position before reset()")
        return Position.from_games(self.ruleset, self._duel.games)

    @property
    def seat(self) -> int:
        """The learner's seat in this episode: 0 South, 1 North."""
        return int(self._duel.seats[0])

    @property
    def opponent(self) -> Agent:
        """The agent on the other side."""
        return self._duel.opponents[int(self._duel.met[0])]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seed of everything random from here on, the opponent included; None goes on, the first time
                from `np_random_seed`.
            options: ``position``, a Position or its text, to start from, and ``seat``, "south", "north" or
                "random", for this episode.

        Returns:
            The observation, and an info with ``action_mask`` and ``seat``.

        Raises:
            InvalidPosition: An episode cannot start from `position`.
            InvalidArgument: No such option, or an opponent ends every episode before the learner's first
                turn. The episode goes on as it was.
        """
        seed = seed_of(seed)
        given = reset_options(options, ("position", "seat"))
        starts = seats = None
        if "position" in given:
            starts = [starting_game(self.ruleset, self._duel.rounds, given["position"])]
        if "seat" in given:
            seats = [given["seat"]]
        super().reset(seed=seed)
        if seed is None and not self._has_started:
            seed = first_seed(self.np_random_seed, self.np_random)
        self._duel.reset(None if seed is None else [seed], starts=starts, seats=seats)
        self._has_started = self._is_running = True
        if self._screen is not None:
            self._screen.show(self._seen(), self.metadata["render_fps"])
        return self._duel.observation[0], self._info()

    def step(self, action: int | np.integer) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's turn, then the opponent's until the learner is to move again.

        Raises:
            IllegalMove: The action is not legal, and `illegal` is "raise", or it is not in the action space.
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
        if self._screen is not None:
            self._screen.show(self._seen(), self.metadata["render_fps"])
        return duel.observation[0], reward, bool(is_done and not is_truncated), bool(is_truncated), info

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal now, bool `[A]`, under the name sb3-contrib asks for."""
        return self._duel.legal_mask[0] != 0

    def render(self) -> Any:
        """Draw the position, the last turn's holes marked.

        Returns:
            A text of `render_mode` "ansi", an SVG document of "svg", uint8 `[height, width, 3]` of
            "rgb_array". None of "human", which shows the turns of a step in a window as they are played.
        """
        if self.render_mode is None:
            return warn_of_no_render_mode()
        if self._screen is None:
            return draw(self.render_mode, self._seen())
        return self._screen.show(Seen(self.position), self.metadata["render_fps"])

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._screen is not None:
            self._screen.close()

    def _seen(self) -> Seen:
        return seen_of(self._duel, 0, self.position)

    def _checked(self, action: Any) -> int:
        """Return an action that may be played, or raise the error that says why not."""
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action.item()
        mask = self._duel.legal_mask[0]
        if is_whole(action) and 0 <= action < len(mask) and (mask[action] or self._illegal != "raise"):
            return int(action)
        try:
            self.position.play(action)  # pyright: ignore[reportArgumentType]
        except IllegalMove as error:
            why = f"{error}"
        else:  # a hole that can be sown from, but is no action of this environment
            why = f"action {action} is not one of 0 to {len(mask) - 1}"
        if self._illegal == "raise":
            why += ". Choose by action_masks(), or make the environment with illegal='random' or 'lose'"
        raise IllegalMove(why)

    def _info(self) -> dict[str, Any]:
        mask = self._duel.legal_mask[0]
        self._legal_actions.mask = mask.copy()
        return {"action_mask": mask.copy(), "seat": self._duel.seats[0]}
