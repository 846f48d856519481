"""Check errors by their type and the values in the message, not by the wording."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

Error = TypeVar("Error", bound=BaseException)


def names(message: str, value: object) -> bool:
    """Return whether a message contains a value as a whole word or number.

    A list or a tuple stands for all of its values.
    """
    if isinstance(value, list | tuple):
        return all(names(message, each) for each in value)
    text = str(value)
    before = r"(?<![\w-])" if re.match(r"[\w-]", text) else ""
    after = r"(?!\w)(?!\.\d)" if re.search(r"\w$", text) else ""
    return re.search(before + re.escape(text) + after, message) is not None


@contextmanager
def raises(
    kind: type[Error] | tuple[type[Error], ...], *values: object
) -> Iterator[pytest.ExceptionInfo[Error]]:
    """Expect an error of this type with each of the values in its message.

    Example:
        >>> with raises(ValueError, "seed", -1):
        ...     raise ValueError("seed must be at least 0, not -1")
    """
    with pytest.raises(kind) as error:
        yield error
    missing = [value for value in values if not names(str(error.value), value)]
    assert not missing, f"{missing} not named in: {error.value}"
