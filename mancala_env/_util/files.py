"""Files that are written whole or not at all: after a crash at any moment the old one is there or the new.

Written by hand, because the standard library has no such function and atomicwrites is no longer maintained.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import IO


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
