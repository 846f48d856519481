"""Arguments that all environments take, checked alike."""

import warnings
from typing import Any, Literal

import numpy as np

from mancala_env.errors import InvalidArgument
from mancala_env.position import Position

FirstPlayer = Literal[0, 1, "random"]
Reward = Literal["outcome", "margin"]

RENDER_MODES = ["ansi"]
"""What every environment can draw; :func:`frame` draws it."""


class UnknownRenderMode(InvalidArgument, TypeError):
    """A render mode that no environment here has.

    A TypeError as well, because Stable-Baselines3's ``make_vec_env`` asks for "rgb_array" unless told
    otherwise, and goes on without a render mode at a TypeError alone.
    """


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
