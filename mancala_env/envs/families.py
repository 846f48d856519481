"""The three games as environments: which rulesets go through which door, and what all doors check alike.

Nothing here imports PettingZoo, so that ``import mancala_env`` can register the Gymnasium ids.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np

from mancala_env import rulesets
from mancala_env.errors import InvalidRuleset, MancalaError
from mancala_env.position import Position
from mancala_env.rulesets import Landing, Ruleset, lookup

Rounds = int | Literal["match"]
FirstPlayer = Literal[0, 1, "random"]
Reward = Literal["outcome", "margin"]

RENDER_MODES = ["ansi"]
"""What every environment can draw; :func:`frame` draws it."""


class InvalidArgument(MancalaError):
    """An argument of an environment that is out of range."""


class UnknownRenderMode(InvalidArgument, TypeError):
    """A render mode that no environment here has.

    A TypeError as well, because Stable-Baselines3's ``make_vec_env`` asks for "rgb_array" unless told
    otherwise, and goes on without a render mode at a TypeError alone.
    """


@dataclass(frozen=True)
class Door:
    """One game's environments: all rulesets with its landing, one of them the default.

    Attributes:
        game: The game's name in words.
        landing: What a finished lap does in every ruleset of the game.
        default: The ruleset that is played when none is named.
        module: The PettingZoo module.
        gym_id: The Gymnasium id.
    """

    game: str
    landing: Landing
    default: str
    module: str
    gym_id: str

    def ruleset(self, ruleset: str | Ruleset | None) -> Ruleset:
        """Return the ruleset of that name, the default for None; a Ruleset comes back as it is.

        Raises:
            InvalidRuleset: No such ruleset, or it belongs to another door; the message names that one.
        """
        wanted = lookup(self.default if ruleset is None else ruleset)
        if wanted.landing != self.landing:
            right = next(door for door in DOORS.values() if door.landing == wanted.landing)
            raise InvalidRuleset(
                f"ruleset {wanted.name!r} (landing={wanted.landing!r}) is played through {right.module} and "
                f"{right.gym_id!r}, not here; {self.module} and {self.gym_id!r} play "
                f"{', '.join(self.ruleset_names())} and your own with landing={self.landing!r}"
            )
        return wanted

    def ruleset_names(self) -> tuple[str, ...]:
        """Return the catalogue's rulesets that are played through this door, its default first."""
        names = [name for name in rulesets.names() if lookup(name).landing == self.landing]
        return tuple(sorted(names, key=lambda name: name != self.default))


DOORS = {
    "layli_goobalay": Door(
        "Layli Goobalay", "uur", "layli_goobalay", "layli_goobalay_v0", "mancala/LayliGoobalay-v0"
    ),
    "leyla": Door("Leyla", "pair", "leyla", "leyla_v0", "mancala/Leyla-v0"),
    "gabata": Door("Gabata", "weg", "gabata_i", "gabata_v0", "mancala/Gabata-v0"),
}
"""Every door by its short name, as `game=` of the environment classes takes it."""


def register() -> None:
    """Register the Gymnasium ids; a second call does nothing."""
    for game, door in DOORS.items():
        if door.gym_id not in gymnasium.registry:
            gymnasium.register(
                door.gym_id,
                entry_point="mancala_env.envs.single:MancalaEnv",
                vector_entry_point="mancala_env.envs.vector:MancalaVectorEnv",
                kwargs={"game": game},
            )


def ruleset_of(game: str | None, ruleset: str | Ruleset | None) -> Ruleset:
    """Return the ruleset to play in a game's environments; without a game any ruleset will do.

    Raises:
        InvalidRuleset: No such ruleset, or not one of the game; the message says what would be right.
        InvalidArgument: No such game.
    """
    if game is None:
        return lookup("layli_goobalay" if ruleset is None else ruleset)
    return DOORS[one_of("game", game, tuple(DOORS))].ruleset(ruleset)


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return the value if it is one of the choices.

    Raises:
        InvalidArgument: It is not; the message lists the choices.
    """
    is_plain = isinstance(value, str | int | np.integer | None) and not isinstance(value, bool)
    if not is_plain or value not in choices:
        raise InvalidArgument(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
    return value


def reward_of_south(reward: Reward, won: Any, counts: np.ndarray, total_seeds: int) -> Any:
    """Return South's reward at the end of episodes; North's is its negative.

    Args:
        reward: "outcome" or "margin".
        won: `[B]` +1 where South won, -1 where North did, 0 for a draw.
        counts: `[B, 2]`, the last counts of South and North.
        total_seeds: All seeds in the game.
    """
    return won if reward == "outcome" else (counts[..., 0] - counts[..., 1]) / total_seeds


def render_mode_of(render_mode: str | None) -> str | None:
    """Return the render mode if environments can draw it.

    Raises:
        UnknownRenderMode: They cannot; the message lists what they can.
    """
    if render_mode is not None and render_mode not in RENDER_MODES:
        modes = ", ".join(map(repr, RENDER_MODES))
        raise UnknownRenderMode(f"render_mode must be None or one of {modes}, not {render_mode!r}")
    return render_mode


def frame(position: Position, render_mode: str | None) -> str | None:
    """Draw a position as a render mode asks for; without one warn and draw nothing."""
    if render_mode is None:
        warnings.warn(
            f"render() draws nothing without a render mode; make the environment with one of {RENDER_MODES}",
            stacklevel=3,
        )
        return None
    return str(position)
