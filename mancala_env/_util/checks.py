"""Argument checks shared by the public API: whole numbers, choices, masks, seeds."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from mancala_env.errors import IllegalMove, InvalidArgument

_Number = TypeVar("_Number", int, float)


def number_of(text: str, kind: type[_Number]) -> _Number:
    """Convert a text to a number; raise ValueError for other digits than those of ASCII, and underscores."""
    if not text.isascii() or "_" in text:
        raise ValueError(f"{text!r} is not a number in ASCII digits")
    return kind(text)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`; raise InvalidArgument for another value."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidArgument(f"{name} must be a whole number {allowed}, not {value!r}")
    return int(value)


def several(name: str, value: Any, meaning: str, size: int | None = None) -> list[Any]:
    """Return the elements of an iterable that is not a text; `size` is their required number, None for any.

    For another value raise InvalidArgument; the message says that it must be `meaning`.
    """
    elements = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else None
    if elements is None or (size is not None and len(elements) != size):
        raise InvalidArgument(f"{name} must be {meaning}, not {value!r}")
    return elements


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return the value if it is one of the choices; otherwise raise InvalidArgument."""
    is_plain = isinstance(value, str | int | np.integer | None) and not isinstance(value, bool)
    if not is_plain or value not in choices:
        raise InvalidArgument(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
    return value


def truth(name: str, value: Any) -> bool:
    """Return a value that is True or False; raise InvalidArgument for other values, such as "no"."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgument(f"{name} must be True or False, not {value!r}")
    return bool(value)


def seed_of(seed: Any) -> int | None:
    """Return a random seed: None, or a whole number of at least 0; otherwise raise InvalidArgument."""
    return None if seed is None else whole("seed", seed, 0)


def whole_actions(start: str, actions: Any, size: int) -> np.ndarray:
    """Return one action for each game, int64 `[size]`.

    If they are not `size` integers, raise IllegalMove with a message that begins with `start`.
    """
    array = np.asarray(actions)
    if array.shape != (size,) or not np.issubdtype(array.dtype, np.integer):
        raise IllegalMove(f"{start} {size} integers, not {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array, np.int64)


def mask(name: str, value: Any, size: int) -> np.ndarray:
    """Return a mask as bool `[size]`; raise InvalidArgument for another shape or type, such as indices."""
    array = np.asarray(value)
    if array.shape != (size,) or array.dtype != np.bool_:
        raise InvalidArgument(
            f"{name} must be {size} values of type bool, not {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array)
