"""Run `python -m mancala_env.cli`, the same program as `mancala`."""

import sys

from mancala_env.cli import main

if __name__ == "__main__":
    sys.exit(main())
