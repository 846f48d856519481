"""`mancala grow-value`: grow a value network for search from nothing.

Its words go to :mod:`mancala_env.training.value_growth` as they are.
"""

from collections.abc import Sequence

from mancala_env._util.command_line import needing

HELP = "grow a value network for search, without a checkpoint"


def run(words: Sequence[str]) -> int:
    """Grow; returns the exit status.

    Raises:
        ImportError: The extra "train" is not installed.
    """
    with needing("growing a value network", "train"):
        from mancala_env.training import value_growth
    return value_growth.main(list(words), program="mancala grow-value")
