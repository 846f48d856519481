"""python -m mancala_env: the same as `mancala`."""

import sys

from mancala_env.cli import main

if __name__ == "__main__":
    sys.exit(main())
