"""Exceptions for invalid input.

All are subclasses of ValueError. A message contains the invalid value and says what is valid.
"""

import difflib
from collections.abc import Iterable


class MancalaError(ValueError):
    """Base class of all exceptions for invalid input."""


class InvalidArgument(MancalaError):
    """An argument of the wrong type, shape or range."""


class InvalidRuleset(MancalaError):
    """An unknown ruleset, or an invalid combination of rule options."""


class InvalidPosition(MancalaError):
    """A position that cannot occur in a game of the ruleset."""


class IllegalMove(MancalaError):
    """An action that the player to move may not take."""


def did_you_mean(word: object, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a part of a message such as " (did you mean 'leyla'?)", or "" if no known name is similar."""
    near = difflib.get_close_matches(str(word), [*known], cutoff=cutoff)
    return f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""


def in_short(value: object, most: int = 60) -> str:
    """Return a value as an error message shows it, with at most `most` characters of it."""
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= most else text[: most - 3] + "..."
    return repr(text) if isinstance(value, str) else text


def printable(text: str) -> str:
    r"""Return a text with all non-printable characters escaped, such as ``\x1b``.

    Text from untrusted files may contain control sequences that move a terminal's cursor or change its title.
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )
