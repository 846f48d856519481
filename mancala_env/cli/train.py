"""`mancala train`: train an agent by self-play.

:mod:`mancala_env.training.run` parses the arguments: a configuration has a hundred options.
"""

from collections.abc import Sequence

from mancala_env._util.command_line import needing

HELP = "train an agent by self-play"


def run(words: Sequence[str]) -> int:
    """Train an agent and return the exit status.

    Raises:
        ImportError: If the extra "train" is not installed.
    """
    with needing("training", "train"):
        from mancala_env.training import run
    return run.main(list(words), program="mancala train")
