"""Exceptions for invalid input: subclasses of ValueError whose messages name the value and what is valid."""


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


def printable(text: str) -> str:
    r"""Return a text with all non-printable characters escaped, such as ``\x1b``.

    Texts of untrusted files may contain control sequences that move a terminal's cursor or change its title.
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )
