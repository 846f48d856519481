"""Train an agent by self-play from a checkout: `python training/train.py --config configs/leyla.yaml`.

The same as `mancala train`. `--help` lists every option. The code is in :mod:`mancala_env.training`.
"""

import sys

from mancala_env._util.command_line import in_one_line, needing


@in_one_line("mancala train")
def main() -> int:
    """Train; returns the exit status. If the extra is missing, a message says how to install it."""
    with needing("training", "train"):
        from mancala_env.training.run import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
