"""Train on a Ray cluster from a checkout: `python training/rllib_train.py --config configs/rllib.yaml`.

docs/cluster.md says how to start a cluster; `--help` lists every option. What it does is in
:mod:`mancala_env.learning.rllib`.
"""

import sys

from mancala_env.learning.rllib.train import main

if __name__ == "__main__":
    sys.exit(main())
