"""The argument parser of all commands, and their error reports: one line and an exit status.

The line goes to standard error. It begins with the program's name and says what would be valid. Any other
exception is a bug of this package and prints a traceback. A program continues if its output pipe is closed.

| exit status | reason |
|---|---|
| 2 | invalid input, an unreadable or unwritable file, an optional dependency that is not installed |
| 130, 143, 129 | Ctrl-C, SIGTERM, SIGHUP |

All commands use argparse: it needs no installation, loads in 10 ms, and reports an error in one line.
"""

import argparse
import functools
import math
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, ParamSpec

from mancala_env._util.checks import number_of
from mancala_env._util.files import check_can_be_written
from mancala_env._util.installation import pip_command
from mancala_env._util.output_streams import lasting_output
from mancala_env._util.stop_signals import Terminated, terminated
from mancala_env.errors import MancalaError, did_you_mean, printable

BAD_INPUT, INTERRUPTED = 2, 130
"""Exit statuses after invalid input and after Ctrl-C."""
_SIGNALLED = 128
SUPPRESS = argparse.SUPPRESS
"""Default of an option that appears in the parsed result only if the user gives it."""

_Arguments = ParamSpec("_Arguments")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a message that says which work is saved."""


def say(program: str, message: str) -> None:
    """Print a message in one line on standard error."""
    print(f"{program}: {printable(' '.join(message.split()))}", file=sys.stderr)


def refuse(program: str, message: str, usage: str | None = None) -> NoReturn:
    """Report an invalid command line in one line that refers to `usage --help`, and end the program."""
    say(program, f"{message}; see {usage or program} --help")
    sys.exit(BAD_INPUT)


def whole_number(text: str, meaning: str = "a whole number") -> int:
    """Parse a whole number."""
    try:
        return number_of(text, int)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {meaning}, not {text!r}") from None


def finite_number(text: str) -> float:
    """Parse a finite number."""
    try:
        number = number_of(text, float)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"must be a finite number, not {text!r}")
    return number


def whole_number_or(word: str) -> Callable[[str], int | str]:
    """Return a function that parses a whole number or one word, such as "match"."""
    return lambda text: text if text == word else whole_number(text, f"a whole number or {word!r}")


def true_or_false(text: str) -> bool:
    """Parse "true" or "false"."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"must be true or false, not {text!r}")
    return text.lower() == "true"


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help texts followed by the option's default, unless the text already contains it."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        is_named = "default" in (action.help or "") or f"({action.default})" in (action.help or "")
        has_none = action.default is None or action.default is False or action.default == []
        return action.help if is_named or has_none else super()._get_help_string(action)


class _HelpInLines(_Help, argparse.RawDescriptionHelpFormatter):
    """The same, with the line breaks of the description kept."""


class Parser(argparse.ArgumentParser):
    """ArgumentParser that reports an error in one line, which begins with `program` (by default `prog`)."""

    def __init__(self, *args: Any, program: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", _HelpInLines if "\n" in kwargs.get("description", "") else _Help)
        super().__init__(*args, allow_abbrev=False, **kwargs)
        self.program = self.prog if program is None else program
        # Arguments with type=int and type=float are parsed by these.
        self.register("type", int, whole_number)
        self.register("type", float, finite_number)
        # By default argparse takes -1e-4 and -inf for options.
        self._negative_number_matcher = re.compile(r"-(\.?\d|inf|nan)", re.IGNORECASE)

    def add_switch(self, name: str, default: bool | None, help: str) -> None:
        """Add `--NAME` and `--no_NAME`."""
        self.add_argument(f"--{name}", action="store_true", default=default, help=help)
        no = f"turn --{name} off"
        self.add_argument(f"--no_{name}", action="store_false", dest=name, default=SUPPRESS, help=no)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse a command line; an error ends the program."""
        words = list(sys.argv[1:] if args is None else args)
        # argparse reads "--folder=--" as an empty list.
        empty = next((word for word in words if word.startswith("--") and word.endswith("=--")), None)
        if empty is not None:
            self.error(f"{empty}: -- is not a value")
        options, rest = self.parse_known_args(words, namespace)
        if rest:
            self.error(self.unknown(rest[0]))
        return options

    def unknown(self, word: str) -> str:
        """Return the error message for an unknown option or an extra argument."""
        if not word.startswith("-"):
            return f"unexpected argument {word!r}; arguments go before the options"
        name = word.partition("=")[0]
        return f"unknown option {name}{did_you_mean(name, self._option_string_actions)}"

    def error(self, message: str) -> NoReturn:
        """Report an error and end the program."""
        refuse(self.program, plain_error(message), self.prog)


def plain_error(message: str) -> str:
    """Shorten argparse's "argument --games: must be ..." to "--games must be ..."."""
    return message.removeprefix("argument ").replace(": must be", " must be", 1)


def check_out(
    out: Path,
    suffix: str = "",
    option: str = "--out",
    read: Callable[[Path], object] | None = None,
    overwrite: bool = True,
) -> None:
    """Raise a MancalaError before the work if the file that `option` names cannot be written after it.

    `read` reads a file of the kind that is written, and raises a MancalaError for other files. Only a file of
    that kind, or an empty one, is then replaced; without `overwrite`, only an empty one.
    """
    if out.is_dir() or not out.parent.is_dir() or (suffix and out.suffix != suffix):
        kind = f"{suffix} file" if suffix else "file"
        raise MancalaError(f"{option} must be a {kind} in a folder that exists, not {out}")
    try:
        check_can_be_written(out)
    except OSError as error:
        raise MancalaError(
            f"{option} must be a file that can be written, not {out}: {error.strerror}"
        ) from None
    if not out.exists() or (out.is_file() and not out.stat().st_size):
        return
    try:
        if read is not None:
            read(out)
    except MancalaError as error:
        kinds = "a new file, or one of the same kind to replace"
        raise MancalaError(f"{option} must be {kinds}, not {out}") from error
    if not overwrite:
        raise MancalaError(f"{out} exists; replace it with --overwrite, or name another file with {option}")


class MissingPackage(ImportError):
    """A package that is not installed; the message contains the pip command."""


@contextmanager
def needing(what: str, extra: str | None, package: str | None = None) -> Iterator[None]:
    """Turn a failed import within a with statement into an error that contains the pip command.

    >>> with needing("training", "train"):
    ...     import mancala_env.training.run

    `extra` is the extra of mancala-env that includes the `package`, by default the missing module; None to
    install the package by itself.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("mancala_env", ""):
            raise  # a bug of this package, or an unknown module
        package = package or missing
        command = f"pip install {package}" if extra is None else pip_command(extra)
        raise MissingPackage(f"{what} needs {package}: {command}") from error


def run(program: str, main: Callable[[], int], kept: str = "") -> int:
    """Run a program's `main`, report an error in one line, and return the exit status.

    After Ctrl-C the line says which work is saved: `kept`, or the message of :class:`Interrupted`.
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
    try:
        return main()
    except KeyboardInterrupt as stop:
        number = signal_of(stop)
        reason, status = "interrupted", INTERRUPTED
        if number is not None:
            reason, status = f"ended by {number.name}", _SIGNALLED + number
        message = "; ".join(filter(None, (reason, str(stop) or kept)))
    except OSError as error:
        message, status = str(error).removeprefix(f"[Errno {error.errno}] "), BAD_INPUT
    except (MancalaError, MissingPackage) as error:
        message, status = str(error), BAD_INPUT
    say(program, message)
    return status


def signal_of(stop: BaseException | None) -> signal.Signals | None:
    """Return the signal that caused an exception; None for Ctrl-C."""
    while stop is not None:
        if isinstance(stop, Terminated):
            return stop.number
        stop = stop.__cause__ or stop.__context__
    return None


def in_one_line(
    program: str, kept: str = ""
) -> Callable[[Callable[_Arguments, int]], Callable[_Arguments, int]]:
    """Decorate a program's `main` as in :func:`run`; its keyword argument `program` overrides the name."""

    def decorate(main: Callable[_Arguments, int]) -> Callable[_Arguments, int]:
        @functools.wraps(main)
        def wrapped(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> int:
            return run(str(kwargs.get("program", program)), functools.partial(main, *args, **kwargs), kept)

        return wrapped

    return decorate
