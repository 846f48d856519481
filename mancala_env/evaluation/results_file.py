"""Files of results: a line of JSON for each thing that is done, appended at once, so that a run can go on.

One process writes at a time. A line that cannot be written, on a full disk, is taken back. A process that is
killed can leave half a line at the end, which is cut off when the file is next opened.
"""

import json
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, Self

from mancala_env.errors import MancalaError


class InvalidResults(MancalaError):
    """A results file that is not one, or that another process is writing."""


class LinesFile(ABC):
    """A file of results; None keeps nothing. Opened, locked and read by ``with``."""

    def __init__(self, path: str | Path | None) -> None:
        """Name the file."""
        self.path = None if path is None else Path(path)
        self._file: FileIO | None = None

    def __enter__(self) -> Any:
        """Open, lock and read the file."""
        if self.path is not None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("a+b", buffering=0)
            except OSError as error:
                raise InvalidResults(f"cannot write results to {self.path}: {error.strerror}") from None
            try:
                self._lock()
                self._read()
            except BaseException:
                self._file.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, which gives the lock back."""
        if self._file is not None:
            self._file.close()

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Return what is in a file, which another process may be writing: half a line at the end is left out.

        Raises:
            InvalidResults: It cannot be read, or is none of this kind of file.
        """
        found = cls(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise InvalidResults(f"cannot read results from {path}: {error.strerror}") from None
        found._take_lines(content)
        return found

    @abstractmethod
    def take(self, line: bytes, number: int) -> None:
        """Take a line that is in the file; the first one has number 1.

        Raises:
            InvalidResults: It is none of this kind of file.
        """

    def append_line(self, line: dict[str, Any]) -> None:
        """Add a line, whole or not at all; `format` is its first field.

        Raises:
            OSError: It cannot be written, for instance on a full disk. The lines before it are kept.
        """
        if self._file is None:
            return
        text = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        end, rest = self._file.seek(0, os.SEEK_END), memoryview(text)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except BaseException as error:
            with suppress(OSError):
                # Ctrl-C may come after the last byte.
                if os.fstat(self._file.fileno()).st_size < end + len(text):
                    self._file.truncate(end)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            raise

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows: two processes would do the same work, and each count once
            return
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidResults(
                f"another process is writing {self.path}; wait for it or name another file"
            ) from None

    def _read(self) -> None:
        assert self._file is not None
        self._file.seek(0)
        content = self._file.read()
        whole = self._take_lines(content)
        if whole < len(content):
            os.truncate(self._file.fileno(), whole)

    def _take_lines(self, content: bytes) -> int:
        """Take all whole lines; returns how many bytes they are."""
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            self.take(line, number)
        half = content[len(whole) :]
        if not half.startswith(b'{"format"'[: len(half)]):
            raise InvalidResults(f"{self.path} is not a results file: it ends in text of another kind")
        return len(whole)
