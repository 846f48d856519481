"""A disk that is full, as far as a test can have one."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the system refuse to write past so many bytes of any file, as it does past the end of a disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
