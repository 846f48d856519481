"""`mancala train`: train an agent by self-play.

Its words go to :mod:`mancala_env.training.run` as they are: a configuration has a hundred options.
"""

from collections.abc import Sequence

from mancala_env._util.command_line import needing

HELP = "train an agent by self-play"


def run(words: Sequence[str]) -> int:
    """Train; returns the exit status.

    Raises:
        ImportError: The extra "train" is not installed.
    """
    with needing("training", "train"):
        from mancala_env.training import run
    return run.main(list(words), program="mancala train")
