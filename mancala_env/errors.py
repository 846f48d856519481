"""Errors of bad input: each is a ValueError, names the value and what would be right."""


class MancalaError(ValueError):
    """Base of every error this package raises for bad input."""


class InvalidArgument(MancalaError):
    """An argument of a function or an environment that is of the wrong type, shape or range."""


class InvalidRuleset(MancalaError):
    """A ruleset that does not exist, or whose dials do not go together."""


class InvalidPosition(MancalaError):
    """A board, store or count that no game of the ruleset can hold."""


class IllegalMove(MancalaError):
    """An action that the player to move may not take."""


def printable(text: str) -> str:
    r"""Return a text with everything that is no printable character written out, such as ``\x1b``.

    Files that others made may carry what moves the cursor of a terminal or changes its title.
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )
