"""The parser of every command and program, and how they report errors: one line, one exit status.

The line goes to standard error, begins with the program's name and says what would be right. The exit status
is 2 for bad input, for files that cannot be read or written and for an extra that is not installed, 130 after
Ctrl-C, 143 after SIGTERM and 129 after SIGHUP. Whatever else is raised is a bug of ours, and shows its
traceback. A reader of the output that goes away does not end a program.

The command-line library is argparse, for all commands and for the settings of training. It is in every
installation, loads in 10 ms (jsonargparse takes 70 to 120) and reports an error in one line that names option
and value. jsonargparse reports several lines that had to be rewritten, and does not tell a command line's
settings from a file's, which :meth:`TrainConfig.implied_settings` needs. click and typer lack options of
several words (`--seeds 1 2 3`); tyro reads no YAML and draws boxes around its errors.
"""

import argparse
import difflib
import functools
import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
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
SUPPRESS = argparse.SUPPRESS
"""The default of an option that the result lacks unless it is given."""

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


def nearest_option(word: str, options: Iterable[str]) -> str:
    """Return "; did you mean --games?" for an unknown option, or "" if no known option is similar."""
    near = difflib.get_close_matches(word.partition("=")[0], [*options], 1)
    return f"; did you mean {near[0]}?" if near else ""


def whole_number(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None


def finite_number(text: str) -> float:
    """Read a finite number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"must be a finite number, not {text!r}")
    return number


def whole_number_or(word: str) -> Callable[[str], int | str]:
    """Return what reads a whole number or one word, such as "match"."""

    def read(text: str) -> int | str:
        if text == word:
            return text
        try:
            return int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number or {word!r}, not {text!r}") from None

    return read


def true_or_false(text: str) -> bool:
    """Read a truth value."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"must be true or false, not {text!r}")
    return text.lower() == "true"


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help with the default of each option that has one, unless its text names it."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        is_named = "default" in (action.help or "") or f"({action.default})" in (action.help or "")
        has_none = action.default is None or action.default is False or action.default == []
        return action.help if is_named or has_none else super()._get_help_string(action)


class _HelpInLines(_Help, argparse.RawDescriptionHelpFormatter):
    """The same, and it does not rewrap the description."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that reports an error in one line, with the nearest option.

    Args:
        program: What an error line begins with; by default `prog`.
        args: As of ArgumentParser.
        kwargs: As of ArgumentParser.
    """

    def __init__(self, *args: Any, program: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", _HelpInLines if "\n" in kwargs.get("description", "") else _Help)
        super().__init__(*args, allow_abbrev=False, **kwargs)
        self.program = self.prog if program is None else program
        # What reads an argument with type=int or type=float.
        self.register("type", int, whole_number)
        self.register("type", float, finite_number)

    def add_switch(self, name: str, default: bool | None, help: str) -> None:
        """Add `--NAME` and `--no_NAME`."""
        self.add_argument(f"--{name}", action="store_true", default=default, help=help)
        no = f"turn --{name} off"
        self.add_argument(f"--no_{name}", action="store_false", dest=name, default=SUPPRESS, help=no)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Read a command line; an error ends the program."""
        words = list(sys.argv[1:] if args is None else args)
        # argparse reads "--folder=--" as an empty list.
        empty = next((word for word in words if word.startswith("--") and word.endswith("=--")), None)
        if empty is not None:
            self.error(f"{empty}: -- is no value")
        options, rest = self.parse_known_args(_joined(words), namespace)
        if rest:
            self.error(self.unknown(rest[0]))
        return options

    def unknown(self, word: str) -> str:
        """Return the error for a word that is neither an option nor an argument."""
        if not word.startswith("-"):
            return f"unexpected argument {word!r}; arguments go before the options"
        return f"no option {word.partition('=')[0]}{nearest_option(word, self._option_string_actions)}"

    def error(self, message: str) -> NoReturn:
        """Report an error and end the program."""
        refuse(self.program, plain_error(message), self.prog)


def plain_error(message: str) -> str:
    """Return argparse's "argument --games: must be ..." as "--games must be ..."."""
    return message.removeprefix("argument ").replace(": must be", " must be", 1)


def _joined(words: Sequence[str]) -> list[str]:
    """Join an option with the negative number after it: argparse takes -1e-4 and -inf for options."""
    joined: list[str] = []
    for word in words:
        if word.startswith("-") and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            try:
                float(word)
                joined[-1] += f"={word}"
                continue
            except ValueError:
                pass
        joined.append(word)
    return joined


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


class MissingPackage(ImportError):
    """A package that is not installed; the message names the pip command."""


def pip_command(extra: str) -> str:
    """Return the command that installs an extra, run in a checkout: the package is on no index."""
    return f'pip install ".[{extra}]"'


@contextmanager
def needing(what: str, extra: str | None, package: str | None = None) -> Iterator[None]:
    """Turn a failed import into an error that names the pip command.

    >>> with needing("training", "train"):
    ...     import mancala_env.training.run

    Args:
        what: What needs the package.
        extra: The extra of mancala-env that has it; None installs the package itself.
        package: Its name; by default that of the missing module.

    Raises:
        MissingPackage: A package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("mancala_env", ""):
            raise  # a bug of ours, or nobody knows what is missing
        package = package or missing
        command = f"pip install {package}" if extra is None else pip_command(extra)
        raise MissingPackage(f"{what} needs {package}: {command}") from error


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
    except (MancalaError, MissingPackage, OSError) as error:
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
