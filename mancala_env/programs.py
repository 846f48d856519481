"""What the programs of the package and of training/ share: an error is one line, and so is Ctrl-C."""

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec

from mancala_env.errors import MancalaError

_Arguments = ParamSpec("_Arguments")


def in_one_line(
    program: str, kept: str = ""
) -> Callable[[Callable[_Arguments, int]], Callable[_Arguments, int]]:
    """Make a program's `main` say what went wrong in one line on standard error.

    The exit status is then 2 for bad input and for files that cannot be read or written, 130 for Ctrl-C.

    Args:
        program: What the line begins with.
        kept: What becomes of the work after Ctrl-C.
    """

    def decorate(main: Callable[_Arguments, int]) -> Callable[_Arguments, int]:
        @functools.wraps(main)
        def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> int:
            try:
                return main(*args, **kwargs)
            except KeyboardInterrupt:
                said, status = "; ".join(filter(None, ("interrupted", kept))), 130
            except (MancalaError, OSError) as error:
                said, status = str(error), 2
            print(f"{program}: {' '.join(said.split())}", file=sys.stderr)
            return status

        return run

    return decorate
