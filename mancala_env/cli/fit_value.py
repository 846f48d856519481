"""`mancala fit-value`: fit a small value network to a checkpoint, for searches such as policy+minimax.

:mod:`mancala_env.training.value_fit` parses the arguments.
"""

from collections.abc import Sequence

from mancala_env._util.command_line import needing

HELP = "fit a value network for search to a checkpoint"


def run(words: Sequence[str]) -> int:
    """Fit the network and return the exit status.

    Raises:
        ImportError: If the extra "train" is not installed.
    """
    with needing("fitting a value network", "train"):
        from mancala_env.training import value_fit
    return value_fit.main(list(words), program="mancala fit-value")
