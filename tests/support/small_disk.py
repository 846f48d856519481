"""Simulate a disk that is full or read-only."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of any file to a number of bytes, so that writes fail as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# The start of a script that may not write under NUMBA_CACHE_DIR. Permissions would not stop root.
READ_ONLY = """
import errno, os, sys

def _refuse_to_write(event, arguments):
    is_written = event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.utime") or (
        event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    )
    if is_written and str(arguments[0]).startswith(os.environ["NUMBA_CACHE_DIR"]):
        raise OSError(errno.EROFS, "Read-only file system", str(arguments[0]))

sys.addaudithook(_refuse_to_write)
"""
