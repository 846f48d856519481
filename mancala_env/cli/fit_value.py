"""`mancala fit-value`: fit the small value network that policy+minimax searches with to a checkpoint.

Its words go to :mod:`mancala_env.training.value_fit` as they are.
"""

from collections.abc import Sequence

from mancala_env._util.command_line import needing

HELP = "give a checkpoint a value network for search"


def run(words: Sequence[str]) -> int:
    """Fit; returns the exit status.

    Raises:
        ImportError: The extra "train" is not installed.
    """
    with needing("fitting a value network", "train"):
        from mancala_env.training import value_fit
    return value_fit.main(list(words), program="mancala fit-value")
