"""Train an agent by self-play from a checkout: `python training/train.py --config configs/leyla.yaml`.

The same as `mancala train`; `--help` lists every option. What it does is in :mod:`mancala_env.learning`.
"""

import sys

from mancala_env.learning.loop import main

if __name__ == "__main__":
    sys.exit(main())
