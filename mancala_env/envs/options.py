"""EnvOptions, the checked arguments of every environment; shared checks of resets and render modes."""

import importlib.util
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from mancala_env._util.checks import cpu_array, one_of
from mancala_env._util.command_line import MissingPackage
from mancala_env._util.installation import pip_command
from mancala_env.agents import AgentLike
from mancala_env.agents.registry import kind_named, maker_hint
from mancala_env.engine.episode import EpisodeSettings, Rounds, encode_episode
from mancala_env.engine.holdout import OpeningSet, children, rows_in_set
from mancala_env.engine.state import NUM_COLUMNS, encode
from mancala_env.engine.validation import check_running
from mancala_env.envs.families import ruleset_of
from mancala_env.errors import IllegalMove, InvalidArgument, InvalidPosition, InvalidRuleset, did_you_mean
from mancala_env.games.position import Position
from mancala_env.observations import ObservationKind, Observer
from mancala_env.rulesets import Ruleset, RulesetLike

FirstPlayer = Literal[0, 1, "random"]
Reward = Literal["outcome", "margin"]
Seat = Literal["south", "north", "random"]
Illegal = Literal["raise", "lose", "random"]

BY_MASKS = "Choose by action_masks()"
"""Hint of an error about an illegal action."""
OR_ILLEGAL = ", or make the environment with illegal='random' or 'lose'"
"""End of the hint, if the action is in the action space."""
RENDER_MODES = ("ansi", "svg", "rgb_array", "human")
"""Render modes of every environment; :mod:`mancala_env.envs.drawing` draws them."""
_NEEDS = {
    "rgb_array": [("PIL", "pillow", "render")],
    "human": [("PIL", "pillow", "window"), ("pygame", "pygame-ce", "window")],
}


# Arguments that only other environments have.
_ELSEWHERE = {
    "opponent": "this environment is for two learners; gymnasium.make and MancalaVecEnv take an opponent",
    "num_envs": "gymnasium.make_vec and MancalaVecEnv play several games",
}


class GameOptions(TypedDict, total=False):
    """Keyword arguments of every environment; :class:`EnvOptions` describes them."""

    rounds: Rounds
    reward: Reward
    first_player: FirstPlayer
    opening_turns: int
    opening_set: OpeningSet
    observation: ObservationKind
    flatten: bool
    render_mode: str | None


class OpponentOptions(GameOptions, total=False):
    """Keyword arguments of the environments with one learner; :class:`EnvOptions` describes them."""

    opponent: AgentLike | Sequence[AgentLike]
    seat: Seat
    illegal: Illegal


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """The arguments that the constructors of environments share, checked.

    The environments for two learners lack `opponent`, `seat` and `illegal`.

    Attributes:
        ruleset: The ruleset; constructors also take its name or a ruleset file.
        rounds: Most rounds of an episode (1 by default), or "match" to play until the match is over.
        reward: "outcome" for +1, 0 or -1 (the default), or "margin" for the lead in the last count over all
            seeds.
        first_player: Player who starts round 1: 0 South (the default), 1 North, or "random" to draw one at
            each reset.
        opening_turns: Number of uniformly random turns before the episode begins: 4 by default, 0 in
            environments for two learners.
        opening_set: "all" openings (the default), only the "training" openings, which no evaluation uses, or
            only those held out for "evaluation". With "training" the learner's first board is not held out
            either, if opponents move before. Later boards can be any.
        observation: "board" (the default), or a kind that shows the result of each action: "afterstates",
            "replies", "lines", "leaves" or "values"; see :mod:`mancala_env.observations`.
        flatten: Whether to flatten every observation to one vector (False by default).
        render_mode: What ``render()`` returns: None (the default), "ansi", "svg", "rgb_array" or "human".
        opponent: An agent or its spec, such as "random" (the default), "greedy" or the path of a checkpoint.
            From a list, one opponent is drawn for each episode.
        seat: The learner's seat: "south" (the default), "north", or "random" to draw one at each reset.
        illegal: Effect of an illegal action: "raise" an IllegalMove (the default), "lose" the episode, or
            play a "random" legal action instead.

    Raises:
        UnknownOption: An argument is unknown; the message suggests a name.
        InvalidRuleset: The ruleset is unknown, or belongs to another game.
        InvalidSpec: An opponent is unknown, or cannot play the ruleset.
        NoValueNetwork: The observation is "values", and no value network of the ruleset is bundled.
        UnknownRenderMode: The render mode is unknown.
        MissingRenderer: A package that the render mode needs is not installed.
        InvalidArgument: Another argument is out of range; the message says what is valid.
    """

    ruleset: Ruleset
    rounds: Rounds = 1
    reward: Reward = "outcome"
    first_player: FirstPlayer = 0
    opening_turns: int = 4
    opening_set: OpeningSet = "all"
    observation: ObservationKind = "board"
    flatten: bool = False
    render_mode: str | None = None
    opponent: AgentLike | Sequence[AgentLike] = "random"
    seat: Seat = "south"
    illegal: Illegal = "raise"

    @classmethod
    def checked(
        cls,
        keywords: Mapping[str, Any],
        known: Iterable[str],
        ruleset: RulesetLike | None,
        game: str | None = None,
    ) -> "EnvOptions":
        """Return the options from the keywords of a constructor whose arguments are `known`."""
        refuse_unknown("unexpected keyword argument", keywords, known, _ELSEWHERE)
        if isinstance(ruleset, str) and kind_named(ruleset.partition(":")[0]) is not None:
            raise InvalidRuleset(f"{ruleset!r} is an agent, not a ruleset")
        return cls(ruleset=ruleset_of(game, ruleset), **keywords)

    def __post_init__(self) -> None:
        mode = self.render_mode
        if mode is not None and mode not in RENDER_MODES:
            modes = ", ".join(map(repr, RENDER_MODES))
            raise UnknownRenderMode(f"render_mode must be None or one of {modes}, not {mode!r}")
        for module, package, extra in _NEEDS.get(mode or "", ()):
            if importlib.util.find_spec(module) is None:
                raise MissingRenderer(f"render_mode {mode!r} needs {package}: {pip_command(extra)}")
        _ = self.episode  # raises an error for an option out of range
        self._check_openings()
        one_of("seat", self.seat, get_args(Seat))
        one_of("illegal", self.illegal, get_args(Illegal))
        for opponent in self.opponents:
            if not isinstance(opponent, AgentLike):
                hint = maker_hint(opponent)
                raise InvalidArgument(
                    f"opponent must be an agent or its spec, such as 'random', not {opponent!r}{hint}"
                )

    def _check_openings(self) -> None:
        """Raise InvalidArgument if no opening of one or two turns is in the set; longer ones are many."""
        if self.opening_set == "all" or not 1 <= self.opening_turns <= 2:
            return
        starters = (0, 1) if self.first_player == "random" else (int(self.first_player),)
        rules, level = encode(self.ruleset), [Position(self.ruleset, player=one).games for one in starters]
        games = np.concatenate(level)
        for _ in range(self.opening_turns):
            found = np.zeros((len(games) * self.ruleset.num_holes, NUM_COLUMNS), np.uint64)
            games = found[: children(rules, games, found)]
        if not rows_in_set(self.ruleset, games, self.opening_set).any():
            raise InvalidArgument(
                f"opening_set {self.opening_set!r} lacks openings of {self.ruleset.name} with "
                f"opening_turns={self.opening_turns}; choose more turns or 'all'"
            )

    @property
    def opponents(self) -> tuple[AgentLike, ...]:
        """The opponents, at least one."""
        is_several = isinstance(self.opponent, list | tuple) and self.opponent
        several: Any = self.opponent if is_several else (self.opponent,)
        return tuple(several)

    @property
    def episode(self) -> EpisodeSettings:
        """The settings of an episode for the engine."""
        first, turns = self.first_player, self.opening_turns
        return encode_episode(self.rounds, first, turns, self.reward, self.opening_set)

    def observer(self) -> Observer:
        """Return the :class:`Observer` that writes the observations; it raises the errors of its class."""
        num_actions = self.ruleset.num_actions(self.rounds)
        return Observer(self.ruleset, self.observation, num_actions, flatten=self.flatten)


class UnknownRenderMode(InvalidArgument, TypeError):
    """An unknown render mode; a TypeError, after which SB3's ``make_vec_env`` retries without a mode."""


class MissingRenderer(MissingPackage, TypeError):
    """A render mode needs a missing package; a TypeError for the same reason as UnknownRenderMode."""


class UnknownOption(InvalidArgument, TypeError):
    """An argument or a reset option that an environment does not have."""


def refuse_unknown(
    what: str, given: Iterable[str], known: Iterable[str], elsewhere: Mapping[str, str] | None = None
) -> None:
    """Raise an UnknownOption for the first unknown name, with a message that begins with `what`.

    `elsewhere` has the hints for names that other environments know.
    """
    names = tuple(known)
    for name in given:
        if name not in names:
            place = (elsewhere or {}).get(name)
            hint = f" ({place})" if place else did_you_mean(name, names)
            raise UnknownOption(f"{what} {name!r}{hint}; the names are: {', '.join(names)}")


def reset_options(options: Mapping[str, Any] | None, known: Iterable[str]) -> dict[str, Any]:
    """Return the options of a reset that are not None; raise InvalidArgument if one is unknown."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidArgument(f"options must be None or a dict, not {options!r}")
    refuse_unknown("no reset option", options, known)
    return {name: value for name, value in options.items() if value is not None}


def first_seed(seed: int | None, generator: np.random.Generator) -> int:
    """Return `np_random_seed` as the first seed, or draw one if a caller has replaced the generator."""
    return int(generator.integers(2**63)) if seed is None or seed < 0 else seed


def as_scalar(action: Any) -> Any:
    """Return the number in an array of any library, or raise IllegalMove if the array has axes.

    Other actions are returned unchanged.
    """
    if not isinstance(action, np.ndarray):
        if not hasattr(action, "__dlpack_device__"):
            return action
        action = cpu_array("action", action)
    if action.ndim:
        raise IllegalMove(f"an action is one number, not the array {action!r}; give action.item()")
    return action.item()


def starting_game(ruleset: Ruleset, rounds: Rounds, position: Any) -> np.ndarray:
    """Return the game of a Position or its text, uint64 `[1, NUM_COLUMNS]`, or raise InvalidPosition."""
    if isinstance(position, str):
        position = Position.from_text(position, ruleset)
    if not isinstance(position, Position):
        raise InvalidPosition(f"position must be a Position or its text, not {position!r}")
    if position.ruleset != ruleset:
        raise InvalidPosition(
            f"position is of {position.ruleset.name}, but the environment plays {ruleset.name}"
        )
    return check_running(ruleset, rounds, position.games)


def warn_of_no_render_mode() -> None:
    """Warn that an environment without a render mode draws nothing."""
    modes = list(RENDER_MODES)
    message = f"render() draws nothing without a render mode; make the environment with one of {modes}"
    warnings.warn(message, stacklevel=3)
