"""`mancala grow-value`: train a value network for search from scratch.

:mod:`mancala_env.training.value_growth` parses the arguments.
"""

from collections.abc import Sequence

from mancala_env._util.command_line import needing

HELP = "train a value network for search from scratch"


def run(words: Sequence[str]) -> int:
    """Train the network and return the exit status.

    Raises:
        ImportError: If the extra "train" is not installed.
    """
    with needing("growing a value network", "train"):
        from mancala_env.training import value_growth
    return value_growth.main(list(words), program="mancala grow-value")
