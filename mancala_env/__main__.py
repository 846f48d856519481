"""Run the command line: ``python -m mancala_env`` does the same as ``mancala``."""

import sys

from mancala_env.cli import main

if __name__ == "__main__":
    sys.exit(main())
