"""Simulate a disk that is full or read-only."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of any file to a number of bytes, so that writes fail as on a full disk.

    Python does not notice an incomplete file of bytecode, and could not read it later. So it writes none.
    """
    resource = pytest.importorskip("resource")
    before, usual = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = usual


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
