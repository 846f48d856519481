"""Standard output and error of a program that does its work whether or not it can print.

A reader may go away (`mancala train | head -1`), a terminal may close, a disk that a log goes to may fill up.
Nothing of that ends the work, whose results are files: what cannot be printed is dropped.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# The reader is gone: a pipe was closed (on Windows EINVAL), or the terminal.
_NO_READER = (errno.EPIPE, errno.EIO, errno.ENXIO, *([errno.EINVAL] if os.name == "nt" else []))


class OutputStream:
    """A text stream that drops what it cannot write.

    Attributes:
        error: The first error that is not the loss of a reader, such as a full disk; None without one.
        has_reader: Whether nothing has shown yet that the reader is gone.
    """

    def __init__(self, stream: Any) -> None:
        """Wrap a stream, which also prints any letter from now on: one it cannot encode is escaped."""
        self._stream = stream
        self.error: OSError | None = None
        self.has_reader = True
        if getattr(stream, "errors", None) == "strict":
            with suppress(AttributeError, ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._drop(error)
            return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Send what has been written."""
        try:
            self._stream.flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        """Discard what follows, and what the stream still holds."""
        if error.errno in _NO_READER:
            self.has_reader = False
        elif self.error is None:
            self.error = error
        with suppress(OSError, ValueError, AttributeError):
            discarded = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(discarded, self._stream.fileno())
            finally:
                os.close(discarded)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream)


def is_read() -> bool:
    """Tell whether standard output still has a reader, as far as has been noticed."""
    return getattr(sys.stdout, "has_reader", True)


@contextmanager
def lasting_output() -> Iterator[list[OutputStream]]:
    """Let `sys.stdout` and `sys.stderr` drop what they cannot write, in a with statement.

    Yields:
        The streams that were wrapped here; none inside of another such statement.
    """
    before = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    wrapped = {
        name: OutputStream(stream)
        for name, stream in before.items()
        if stream is not None and not isinstance(stream, OutputStream)
    }
    for name, stream in wrapped.items():
        setattr(sys, name, stream)
    try:
        yield [*wrapped.values()]
    finally:
        for name, stream in wrapped.items():
            stream.flush()
            if getattr(sys, name) is stream:
                setattr(sys, name, before[name])
