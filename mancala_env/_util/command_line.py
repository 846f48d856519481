"""What every program of the package and of training/ does with a mistake of its user: one line, one status.

The line goes to standard error, begins with the program's name and says what would be right. The exit status
is 2 for bad input, for files that cannot be read or written and for an extra that is not installed, 130 after
Ctrl-C, 143 after SIGTERM and 129 after SIGHUP. Whatever else is raised is a bug of ours, and shows its
traceback. A reader of the output that goes away does not end a program.
"""

import argparse
import difflib
import functools
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, ParamSpec

from mancala_env._util.files import check_can_be_written
from mancala_env._util.output_streams import lasting_output
from mancala_env._util.stop_signals import Terminated, terminated
from mancala_env.errors import MancalaError, printable

BAD_INPUT, INTERRUPTED = 2, 130
"""Exit statuses."""
_SIGNALLED = 128

_Arguments = ParamSpec("_Arguments")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what became of the work."""


def say(program: str, message: str) -> None:
    """Say something in one line on standard error."""
    print(f"{program}: {printable(' '.join(message.split()))}", file=sys.stderr)


def refuse(program: str, message: str, usage: str | None = None) -> NoReturn:
    """Say in one line what is wrong with a command line, and end the program.

    Args:
        program: What the line begins with.
        message: What is wrong.
        usage: The program whose `--help` says what would be right; None: `program`.
    """
    see = " See" if message.endswith("?") else "; see"
    say(program, f"{message}{see} {usage or program} --help")
    sys.exit(BAD_INPUT)


def with_nearest_option(message: str, options: Iterable[str]) -> str:
    """Return argparse's word on an option that there is not, with the nearest of those that there are."""
    found = re.match(r"unrecognized arguments: (--[^\s=]+)", message, re.IGNORECASE)
    near = difflib.get_close_matches(found[1], [*options], 1) if found else []
    return f"no option {found[1]}; did you mean {near[0]}?" if found and near else message


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, not {text!r}") from None


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that says in one line what is wrong and what would be right."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **kwargs)
        # What reads an argument with type=int or type=float.
        self.register("type", int, _whole_number)
        self.register("type", float, _number)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end the program."""
        refuse(self.prog, with_nearest_option(message, self._option_string_actions))


def check_out(
    out: Path,
    suffix: str = "",
    option: str = "--out",
    read: Callable[[Path], object] | None = None,
    overwrite: bool = True,
) -> None:
    """Check before the work that what an option names can be written after it, and replaces nothing else.

    Args:
        out: The file to write.
        suffix: What its name must end with; empty for anything.
        option: What named it.
        read: Reads a file of the kind that is written, and raises a MancalaError for others: only what is of
            that kind, or empty, may be replaced. None: anything.
        overwrite: Whether a file that is not empty may be replaced at all; False where `--overwrite` says so.

    Raises:
        MancalaError: It is a folder, in none that exists or may be written to, has another suffix than it
            must, is a file of another kind, or one that may not be replaced.
    """
    if out.is_dir() or not out.parent.is_dir() or (suffix and out.suffix != suffix):
        kind = f"{suffix} file" if suffix else "file"
        raise MancalaError(f"{option} must be a {kind} in a folder that exists, not {out}")
    if not os.access(out.parent, os.W_OK):
        raise MancalaError(f"{option} must be a file that can be written, not {out}: its folder is read-only")
    try:
        check_can_be_written(out)
    except OSError as error:
        raise MancalaError(
            f"{option} must be a file that can be written, not {out}: {error.strerror}"
        ) from None
    if not out.exists() or (out.is_file() and not out.stat().st_size):
        return
    if read is not None:
        try:
            read(out)
        except MancalaError as error:
            raise MancalaError(
                f"{option} must be a new file, or one of the same kind to replace, not {out}"
            ) from error
    if not overwrite:
        raise MancalaError(f"{out} exists; --overwrite replaces it, {option} FILE names another")


@contextmanager
def needing(what: str, extra: str | None) -> Iterator[None]:
    """Turn the lack of a package, one of an extra or any other, into an error that names the pip command.

    >>> with needing("training", "train"):
    ...     import mancala_env.training.run

    Raises:
        ImportError: A package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("mancala_env", ""):
            raise  # a bug of ours, or nobody knows what is missing
        command = package if extra is None else f'"mancala-env[{extra}]"'
        raise ImportError(f"{what} needs {package}: pip install {command}") from error


def run(program: str, main: Callable[[], int], kept: str = "") -> int:
    """Run a program's `main`; returns the exit status, and has said in one line what went wrong.

    Args:
        program: What the line begins with.
        main: The work; returns the exit status.
        kept: What becomes of the work after Ctrl-C, where an :class:`Interrupted` does not say it.
    """
    with lasting_output() as streams, terminated():
        status = _status_of(program, main, kept)
        for stream in streams:
            stream.flush()
        unwritten = next((stream.error for stream in streams if stream.error is not None), None)
        if unwritten is not None:
            say(program, f"not all output could be written: {unwritten.strerror}")
            status = status or BAD_INPUT
        return status


def _status_of(program: str, main: Callable[[], int], kept: str) -> int:
    """Run a program's `main`; returns the exit status."""
    try:
        return main()
    except KeyboardInterrupt as stop:
        number = signal_of(stop)
        word, status = ("interrupted", INTERRUPTED) if number is None else (number.name, _SIGNALLED + number)
        said = "; ".join(filter(None, (f"ended by {word}" if number else word, str(stop) or kept)))
    except ImportError as error:
        if "pip install" not in str(error):
            raise  # not a missing extra: a bug of ours
        said, status = str(error), BAD_INPUT
    except (MancalaError, OSError) as error:
        said, status = str(error), BAD_INPUT
    say(program, said)
    return status


def signal_of(stop: BaseException | None) -> signal.Signals | None:
    """Return the signal that led to an exception; None for Ctrl-C."""
    while stop is not None:
        if isinstance(stop, Terminated):
            return stop.number
        stop = stop.__cause__ or stop.__context__
    return None


def in_one_line(
    program: str, kept: str = ""
) -> Callable[[Callable[_Arguments, int]], Callable[_Arguments, int]]:
    """Make a program's `main` say what went wrong in one line; see :func:`run`.

    Args:
        program: What the line begins with, unless `main` is given a keyword `program`.
        kept: What becomes of the work after Ctrl-C.
    """

    def decorate(main: Callable[_Arguments, int]) -> Callable[_Arguments, int]:
        @functools.wraps(main)
        def wrapped(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> int:
            return run(str(kwargs.get("program", program)), functools.partial(main, *args, **kwargs), kept)

        return wrapped

    return decorate
