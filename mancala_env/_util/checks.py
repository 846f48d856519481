"""Argument checks shared by the public API: arrays, whole numbers, choices, masks, seeds."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from mancala_env.errors import IllegalMove, InvalidArgument, in_short
from mancala_env.rulesets import Ruleset, is_ruleset_file, names

# DLPack's codes of memory that the CPU can read: its own, and pinned memory of CUDA and ROCm.
_CPU_MEMORY = (1, 3, 11)

_Number = TypeVar("_Number", int, float)


def number_of(text: str, kind: type[_Number]) -> _Number:
    """Convert a text to a number; raise ValueError for other digits than those of ASCII, and underscores."""
    if not text.isascii() or "_" in text:
        raise ValueError(f"{text!r} is not a number in ASCII digits")
    return kind(text)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, which may be infinite or NaN; True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


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
    is_iterable = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    is_one = getattr(value, "ndim", 1) == 0  # an array of one number
    elements = list(value) if is_iterable and not is_one else None
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
    array = cpu_array("actions", actions)
    if array.shape != (size,) or not np.issubdtype(array.dtype, np.integer):
        raise IllegalMove(f"{start} {size} integers, not {array.dtype} of shape {array.shape}")
    return array.astype(np.int64, copy=False)


def mask(name: str, value: Any, size: int) -> np.ndarray:
    """Return a mask as bool `[size]`; raise InvalidArgument for another shape or type, such as indices."""
    array = cpu_array(name, value)
    if array.shape != (size,) or array.dtype != np.bool_:
        raise InvalidArgument(
            f"{name} must be {size} values of type bool, not {array.dtype} of shape {array.shape}"
        )
    return array


def cpu_array(name: str, value: Any) -> np.ndarray:
    """Return an array of NumPy, torch, JAX or another library as a NumPy array for kernels.

    The result is contiguous and writable, because numba compiles a kernel again for other arrays. It shares
    the memory of `value` if possible. Other values, such as lists, are passed to ``np.asarray``.

    Raises:
        InvalidArgument: The array is in the memory of another device, JAX traces it, or NumPy cannot read it.
    """
    if type(value) is np.ndarray and value.flags.carray:  # what np.require returns, but faster
        return value
    if not isinstance(value, np.ndarray):
        if any(kind.__name__ == "Tracer" for kind in type(value).__mro__):
            raise InvalidArgument(
                f"{name} must be an array of numbers, not {value!r} inside a JAX transformation; call the "
                "function through jax.pure_callback, as docs/examples/jax_mctx.py does"
            )
        if hasattr(value, "__dlpack_device__"):
            value = _from_dlpack(name, value)
    try:
        return np.require(value, requirements=["C", "W", "E"])
    except ValueError as error:  # a list of lists of unequal lengths
        raise InvalidArgument(f"{name} must be an array, not {in_short(repr(value))}") from error


def _from_dlpack(name: str, value: Any) -> Any:
    """Return an array of another library as a NumPy array; NumPy converts what DLPack cannot describe."""
    if hasattr(value, "detach"):  # a torch tensor with a gradient
        value = value.detach()
    try:
        if value.__dlpack_device__()[0] in _CPU_MEMORY:
            try:
                return np.from_dlpack(value)
            except (BufferError, RuntimeError, TypeError):
                return np.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:  # a meta or a sparse tensor of torch
        raise InvalidArgument(f"{name} must be an array that NumPy can read: {error}") from error
    device = getattr(value, "device", "another device")
    raise InvalidArgument(
        f"{name} must be an array on the CPU, not on {device}; move it with .cpu() (torch) or "
        "jax.device_get() (JAX)"
    )


def refuse_swapped(call: str, ruleset: Any, other: Any) -> None:
    """Raise InvalidArgument if `other` is a ruleset, and the argument `ruleset` is not.

    `call` shows the right order, such as "Batch(ruleset, num_games)".
    """
    if not _is_ruleset(ruleset) and _is_ruleset(other):
        other = other.name if isinstance(other, Ruleset) else other
        raise InvalidArgument(
            f"arguments are swapped: {other!r} is a ruleset, and {reprlib.repr(ruleset)} is not; write {call}"
        )


def _is_ruleset(value: Any) -> bool:
    if isinstance(value, Ruleset | Mapping):
        return True
    return (isinstance(value, str) and value in names()) or is_ruleset_file(value)
