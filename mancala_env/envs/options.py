"""Arguments that all environments take, checked alike."""

import difflib
import importlib.util
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from mancala_env._util.command_line import MissingPackage, pip_command
from mancala_env.engine.episode import Rounds
from mancala_env.engine.validation import check_running
from mancala_env.errors import InvalidArgument, InvalidPosition
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset

FirstPlayer = Literal[0, 1, "random"]
Reward = Literal["outcome", "margin"]

RENDER_MODES = ("ansi", "svg", "rgb_array", "human")
"""What every environment can draw; :mod:`mancala_env.envs.drawing` draws it."""
_NEEDS = {
    "rgb_array": [("PIL", "pillow", "render")],
    "human": [("PIL", "pillow", "window"), ("pygame", "pygame-ce", "window")],
}


class UnknownRenderMode(InvalidArgument, TypeError):
    """A render mode that no environment here has.

    A TypeError as well, because Stable-Baselines3's ``make_vec_env`` asks for a render mode unless told
    otherwise, and goes on without one at a TypeError alone.
    """


class MissingRenderer(MissingPackage, TypeError):
    """What a render mode needs is not installed; a TypeError as well for the same reason."""


class UnknownOption(InvalidArgument, TypeError):
    """An argument or a reset option that an environment does not have."""


def refuse_unknown(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are not known.

    Raises:
        UnknownOption: A name is not known; the message has the nearest ones and all that are.
    """
    names = tuple(known)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=2, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            raise UnknownOption(f"{what} {name!r}; {hint}there are: {', '.join(names)}")


def reset_options(options: Mapping[str, Any] | None, known: Iterable[str]) -> dict[str, Any]:
    """Return the options of a reset as a dict of those that are given.

    Raises:
        UnknownOption: One is not known.
        InvalidArgument: They are no mapping.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidArgument(f"options must be None or a dict, not {options!r}")
    refuse_unknown("no reset option", options, known)
    return {name: value for name, value in options.items() if value is not None}


def first_seed(seed: int | None, generator: np.random.Generator) -> int:
    """Return what an environment's first episode is seeded from where `reset` is given no seed.

    Args:
        seed: Its `np_random_seed`; None or -1 where somebody has put in a generator of their own.
        generator: Its `np_random`, which is drawn from then.
    """
    return int(generator.integers(2**63)) if seed is None or seed < 0 else seed


def starting_game(ruleset: Ruleset, rounds: Rounds, position: Any) -> np.ndarray:
    """Return the game of a position to start an episode from, uint64 `[1, NUM_COLUMNS]`.

    Args:
        ruleset: The environment's.
        rounds: The environment's.
        position: A Position, or its text.

    Raises:
        InvalidPosition: It is neither, is of another ruleset, is over, or an episode cannot go on from it.
    """
    if isinstance(position, str):
        position = Position.from_text(position, ruleset)
    if not isinstance(position, Position):
        raise InvalidPosition(f"position must be a Position or its text, not {position!r}")
    if position.ruleset != ruleset:
        raise InvalidPosition(
            f"position is of {position.ruleset.name}, but the environment plays {ruleset.name}"
        )
    missing = ruleset.total_seeds - sum(position.counts)
    if missing and rounds != 1:
        raise InvalidPosition(
            f"position misses {missing} of {ruleset.total_seeds} seeds, so no next round can be set up; "
            "put captured seeds in stores, or play with rounds=1"
        )
    return check_running(ruleset, rounds, position.games)


def render_mode_of(render_mode: str | None) -> str | None:
    """Return the render mode if environments can draw it.

    Raises:
        UnknownRenderMode: They cannot; the message lists what they can.
        MissingRenderer: What it needs is not installed.
    """
    if render_mode is not None and render_mode not in RENDER_MODES:
        modes = ", ".join(map(repr, RENDER_MODES))
        raise UnknownRenderMode(f"render_mode must be None or one of {modes}, not {render_mode!r}")
    for module, package, extra in _NEEDS.get(render_mode or "", ()):
        if importlib.util.find_spec(module) is None:
            raise MissingRenderer(f"render_mode {render_mode!r} needs {package}: {pip_command(extra)}")
    return render_mode


def warn_of_no_render_mode() -> None:
    """Say that nothing is drawn without a render mode."""
    warnings.warn(
        "render() draws nothing without a render mode; make the environment with one of "
        f"{list(RENDER_MODES)}",
        stacklevel=3,
    )
