"""Locks, and atomic writes: after a crash at any moment a file has its old content or its new content.

Written by hand, because the standard library lacks such a function and atomicwrites is unmaintained.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


def lock(file: IO[Any]) -> bool:
    """Lock a file until it is closed; return False if another process has locked it.

    Windows and some file systems lack this lock. Nothing is locked there.
    """
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        pass
    return True


class _Tried(Exception):
    """Ends :func:`check_can_be_written` before the file is replaced."""


def check_can_be_written(path: str | Path) -> None:
    """Create and remove a file's temporary file; raise OSError if that fails, for example for a long name.

    A pipe or device is not tried, because its reader would take that for the end of the file.
    """
    if not is_stream(path):
        with suppress(_Tried), written_whole(path):
            raise _Tried


def is_stream(path: str | Path) -> bool:
    """Return whether a path is neither a file nor a folder, but for example a pipe or /dev/null."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file as :func:`written_whole` does; characters that UTF-8 cannot encode are escaped."""
    with written_whole(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode(errors="backslashreplace"))


@contextmanager
def written_whole(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` at the end of a with statement, unless it raises an exception.

    Until then the file is ``.NAME.*.part`` in the same folder. Symbolic links are kept, and a replaced file
    keeps its permissions. If the file cannot be written, an existing file is unchanged. A pipe or device is
    not replaced, but written to.
    """
    if is_stream(path):
        with open(path, "wb") as file:
            yield file
        return
    target = Path(path).resolve()
    new = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        new.touch(exist_ok=False)  # mkstemp would ignore the user's umask
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with open(str(new), "wb") as file:  # whose name, a text, another program can open
            if target.exists():
                new.chmod(stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
