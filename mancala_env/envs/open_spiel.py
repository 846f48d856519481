"""All rulesets of the catalogue as OpenSpiel games, such as ``pyspiel.load_game("mancala_leyla")``.

>>> from mancala_env.envs import open_spiel
>>> game = open_spiel.load("layli_goobalay")
>>> state = game.new_initial_state()
>>> state.apply_action(2)
>>> state.current_player(), state.legal_actions()
(1, [0, 2, 3, 5])

Importing this module registers every ruleset as ``mancala_`` and its name. The games are sequential,
deterministic, zero-sum, and have perfect information. A game is one round, with the reward at its end. A
state is written as the text of its position (:mod:`mancala_env.games.notation`). The observation tensor has
the observation kind "board". Install OpenSpiel with ``pip install ".[openspiel]"``.
"""

from typing import Any

import numpy as np

from mancala_env import rulesets
from mancala_env._util.command_line import needing
from mancala_env.engine.validation import check_running
from mancala_env.envs.options import EnvOptions
from mancala_env.errors import InvalidRuleset
from mancala_env.games.notation import turn_text
from mancala_env.games.position import Position
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset, RulesetLike, lookup

with needing("mancala_env.envs.open_spiel", "openspiel", "open_spiel"):
    import pyspiel

_PREFIX = "mancala_"


def _game_type(ruleset: Ruleset) -> Any:
    return pyspiel.GameType(
        short_name=_PREFIX + ruleset.name,
        long_name=ruleset.title,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={"reward": "outcome"},
    )


class MancalaState(pyspiel.State):
    """A position of a round, and the actions that led to it."""

    def __init__(self, game: "MancalaGame", position: Position | None = None) -> None:
        """Start a round, or continue from a position."""
        super().__init__(game)
        self.position = Position(game.ruleset) if position is None else position

    def current_player(self) -> int:
        """Return the player to move, 0 South or 1 North, or OpenSpiel's TERMINAL."""
        return pyspiel.PlayerId.TERMINAL if self.position.is_over else self.position.player

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.position.legal_actions)

    def _apply_action(self, action: int) -> None:
        self.position.play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return turn_text(player, action)

    def is_terminal(self) -> bool:
        """Return whether the round is over."""
        return self.position.is_over

    def returns(self) -> list[float]:
        """Return the rewards of South and North; 0 while the round runs."""
        if not self.position.is_over:
            return [0.0, 0.0]
        south, north = self.position.counts
        lead = (south - north) / self.position.ruleset.total_seeds
        is_margin = self.get_game().get_parameters().get("reward", "outcome") == "margin"
        won = lead if is_margin else float(np.sign(south - north))
        return [won, 0.0 - won]

    def observation_string(self, player: int | None = None) -> str:
        """Return the position as text, the same for both players: nothing is hidden."""
        return self.position.to_text()

    def information_state_string(self, player: int | None = None) -> str:
        """Return the actions so far."""
        return self.history_str()

    def __str__(self) -> str:
        return self.position.to_text()


class _Tensor:
    """An observer for OpenSpiel, with the observation kind "board"."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._observer = Observer(ruleset)
        self.tensor = np.zeros(self._observer.shape, np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: MancalaState, player: int) -> None:
        self.tensor[:] = self._observer.observe(state.position.games, player)[0]

    def string_from(self, state: MancalaState, player: int) -> str:
        return state.observation_string(player)


class MancalaGame(pyspiel.Game):
    """A ruleset as an OpenSpiel game, with a subclass for each registered ruleset."""

    ruleset: Ruleset

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        """Make a game of the ruleset of the class; the parameter ``reward`` is "outcome" or "margin"."""
        params = params or {}
        ruleset = EnvOptions(ruleset=self.ruleset, **params).ruleset
        info = pyspiel.GameInfo(
            num_distinct_actions=ruleset.num_actions(),
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=ruleset.max_turns,
        )
        super().__init__(_game_type(ruleset), info, params)

    def new_initial_state(self, text: str | None = None) -> MancalaState:
        """Return the start of a round, or the position of a text.

        Raises:
            InvalidPosition: The text is not a position, or territory has changed hands. A game of one round
                has no actions for foreign holes, and OpenSpiel would write outside its masks.
        """
        position = None if text is None else Position.from_text(text, self.ruleset)
        if position is not None and not position.is_over:
            check_running(self.ruleset, 1, position.games)
        return MancalaState(self, position)

    def observation_tensor_shape(self) -> list[int]:
        """Return the shape of the observation tensor."""
        return list(Observer(self.ruleset).shape)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> _Tensor:
        """Return OpenSpiel's observer of the game."""
        return _Tensor(self.ruleset)


def register(ruleset: RulesetLike) -> str:
    """Register a ruleset and return its OpenSpiel name.

    Raises:
        InvalidRuleset: The ruleset is unknown, its name has parentheses, or another one is registered under
            its name.
    """
    ruleset = lookup(ruleset)
    if "(" in ruleset.name or ")" in ruleset.name:
        raise InvalidRuleset(f"OpenSpiel cannot load {ruleset.name!r}; choose a name without parentheses")
    name = _PREFIX + ruleset.name
    class_name = f"MancalaGame_{ruleset.name}"
    if name in pyspiel.registered_names():
        if globals()[class_name].ruleset != ruleset:
            raise InvalidRuleset(
                f"{name} is registered with other rules, and OpenSpiel cannot unregister a game; "
                "choose another name"
            )
    else:
        made = type(class_name, (MancalaGame,), {"ruleset": ruleset, "__module__": __name__})
        globals()[class_name] = made  # OpenSpiel serialises the class name of a game
        pyspiel.register_game(_game_type(ruleset), made)
    return name


def load(ruleset: RulesetLike, **parameters: Any) -> Any:
    """Return the OpenSpiel game of a ruleset, registered if necessary; see :func:`register` for errors.

    Raises:
        InvalidArgument: The parameter ``reward`` is not "outcome" or "margin".
    """
    return pyspiel.load_game(register(ruleset), parameters)


for _name in rulesets.names():
    register(_name)
