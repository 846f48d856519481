"""Train on a Ray cluster from a checkout: `python training/rllib_train.py --config configs/rllib.yaml`.

docs/guides/cluster.md says how to start a cluster. `--help` lists every option. The code is in
`cluster_run.py` beside this file and in :mod:`mancala_env.training.rllib`.
"""

import sys

from mancala_env._util.command_line import in_one_line, needing


@in_one_line("rllib_train.py")
def main() -> int:
    """Train; returns the exit status. If Ray is missing, a message says how to install it."""
    with needing("training on Ray", "ray"):
        from cluster_run import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
