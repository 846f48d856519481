"""Standard output and error that drop text they cannot write.

The reader of a pipe may end (`mancala train | head -1`), a terminal may close, or the disk of a log may be
full. The program then continues, because its results are files.
"""

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

# Errors of a closed pipe (on Windows EINVAL) or terminal.
_NO_READER = (errno.EPIPE, errno.EIO, errno.ENXIO, *([errno.EINVAL] if os.name == "nt" else []))


class OutputStream:
    """A text stream that drops text it cannot write."""

    def __init__(self, stream: Any) -> None:
        """Wrap a stream; from now on it escapes characters that it cannot encode."""
        self._stream = stream
        self.error: OSError | None = None  # the first one, such as a full disk
        self.has_reader = True  # until a write fails because the reader is gone
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

    def flush(self) -> None:
        """Flush the stream."""
        try:
            self._stream.flush()
        except OSError as error:
            self._drop(error)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after another."""
        for line in lines:
            self.write(line)

    def _drop(self, error: OSError) -> None:
        """Discard the stream's buffer and all later writes."""
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


def is_read() -> bool:
    """Return False once a write to standard output has failed because the reader is gone."""
    return getattr(sys.stdout, "has_reader", True)


@contextmanager
def lasting_output() -> Iterator[list[OutputStream]]:
    """Wrap standard output and error in a with statement unless already wrapped; yield the streams.

    `sys.__stdout__` and `sys.__stderr__` are wrapped too: Textual writes to the latter in a thread. If the
    terminal closed and a write raised, that thread would end and the program wait for it forever.
    """
    names = ("stdout", "stderr", "__stdout__", "__stderr__")
    before = {name: getattr(sys, name) for name in names}
    wrapped: dict[int, OutputStream] = {}  # by the stream, which two names may share
    for name, stream in before.items():
        if stream is not None and not isinstance(stream, OutputStream):
            setattr(sys, name, wrapped.setdefault(id(stream), OutputStream(stream)))
    try:
        yield [*wrapped.values()]
    finally:
        for stream in wrapped.values():
            stream.flush()
        for name, stream in before.items():
            if getattr(sys, name) is wrapped.get(id(stream)):
                setattr(sys, name, stream)
