"""Checks of the arguments of pictures."""

from collections.abc import Mapping, Sized
from typing import Any

import numpy as np

from mancala_env.errors import InvalidArgument


def refuse_for_animation(**shown: Any) -> None:
    """Refuse arguments that only the picture of a position has, for the animation of a turn or a game.

    Raises:
        InvalidArgument: An argument is not empty; the message names it.
    """
    is_nothing = {name: isinstance(value, Sized) and not len(value) for name, value in shown.items()}
    given = next((name for name, value in shown.items() if value is not None and not is_nothing[name]), None)
    if given is not None:
        raise InvalidArgument(f"{given} is for the picture of a position, not for a turn or a game")


def is_by_action(values: Any) -> bool:
    """Return whether values are a mapping to numbers or words."""
    known = str | int | float | np.integer | np.floating
    return isinstance(values, Mapping) and all(isinstance(value, known) for value in values.values())
