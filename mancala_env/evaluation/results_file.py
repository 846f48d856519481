"""Results files: one JSON line per finished piece of work, appended at once, so that runs can resume.

Only one process writes at a time. If a line cannot be written completely, for example on a full disk, the
part is removed. A killed process may leave an incomplete last line. It is removed when the file is opened.
"""

import json
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, Self

from mancala_env._util.files import lock
from mancala_env.errors import MancalaError


class InvalidResults(MancalaError):
    """A results file that is invalid, cannot be written, or is being written by another process."""


class LinesFile(ABC):
    """A results file; a with statement opens, locks and reads it. With the path None nothing is stored."""

    formats: tuple[int, ...]  # valid values of the field `format` of a line
    kind: str  # what the file contains and what else to name, in a message about an invalid line

    def __init__(self, path: str | Path | None) -> None:
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
                if not lock(self._file):
                    raise InvalidResults(f"another process is writing {self.path}; wait or name another file")
                self._file.seek(0)
                content = self._file.read()
                whole = self._take_lines(content)
                if whole < len(content):
                    os.truncate(self._file.fileno(), whole)
            except BaseException:
                self._file.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, which releases the lock."""
        if self._file is not None:
            self._file.close()

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file that another process may be writing; an incomplete last line is ignored."""
        found = cls(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise InvalidResults(f"cannot read results from {path}: {error.strerror}") from None
        found._take_lines(content)
        return found

    @abstractmethod
    def take(self, fields: dict[str, Any]) -> None:
        """Check and store the fields of a line; raise any ValueError, KeyError or TypeError if invalid."""

    def append_line(self, line: dict[str, Any]) -> None:
        """Append a line completely, or raise OSError and keep the file; `format` must be its first field."""
        if self._file is None:
            return
        text = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        end, rest = self._file.seek(0, os.SEEK_END), memoryview(text)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except BaseException as error:
            with suppress(OSError):
                # After Ctrl-C the line may be complete.
                if os.fstat(self._file.fileno()).st_size < end + len(text):
                    self._file.truncate(end)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            raise

    def _take_lines(self, content: bytes) -> int:
        """Parse all complete lines and return their size in bytes."""
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            place = f"{self.path}, line {number}"
            try:
                fields = json.loads(line)
                found = fields["format"]
                if found in self.formats:
                    self.take(fields)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                raise InvalidResults(f"{place}: not a line of {self.kind}") from None
            if found not in self.formats:
                valid = " or ".join(map(str, self.formats))
                raise InvalidResults(f"{place}: format {repr(found)[:80]}, not {valid}")
        half = content[len(whole) :]
        if not half.startswith(b'{"format"'[: len(half)]):
            raise InvalidResults(f"{self.path} is not a results file: its last line is not JSON")
        return len(whole)
