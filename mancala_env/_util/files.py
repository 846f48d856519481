"""Files that are written whole or not at all: after a crash at any moment the old one is there or the new.

Written by hand, because the standard library has no such function and atomicwrites is no longer maintained.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import IO


def check_can_be_written(path: str | Path) -> None:
    """Check that :func:`written_whole` can begin a file, by beginning one.

    Raises:
        OSError: It cannot, for example because the folder is read-only or the name is too long.
    """
    with suppress(_Tried), written_whole(path):
        raise _Tried


class _Tried(Exception):
    """Ends an attempt."""


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file, whole or not at all; a letter that UTF-8 does not have is escaped.

    Raises:
        OSError: It cannot be written; what was there is as it was.
    """
    with written_whole(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode(errors="backslashreplace"))


@contextmanager
def written_whole(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` at the end of a with statement, unless that is broken off.

    Until then it lies beside it as ``.NAME.*.part``. A link goes on pointing where it points, and a file that
    is replaced keeps its permissions.

    Args:
        path: The file, which need not exist yet.

    Raises:
        OSError: It cannot be written; what was there is as it was.
    """
    target = Path(path).resolve()
    try:
        handle, name = mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    new = Path(name)
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644)
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
