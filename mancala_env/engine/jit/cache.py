"""Compiled kernels on disk, one file for each function, signature and processor.

This replaces numba's own cache. numba's cache raises an error when the disk is full or a file is damaged. It
needs a writable folder even if every kernel is already cached. Its index file loses entries when two
processes compile at once. Here, a cache that cannot be read or written costs only compile time.
"""

import hashlib
import pickle
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numba.core.config
import numpy as np
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from mancala_env.engine.jit import inner

_VERSIONS = (numba.__version__, llvmlite.__version__, np.__version__)
# Settings of numba that change the compiled code.
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")
_CHECKSUM_SIZE = 16


class KernelCache:
    """The compiled versions of one function, in a folder that belongs to the function's sources.

    It replaces ``numba.core.caching.FunctionCache`` in a dispatcher of numba. The function is not a closure.
    If `is_inner`, the versions are those that other kernels call.
    """

    def __init__(self, function: Callable[..., Any], folder: str, is_inner: bool = False) -> None:
        code, suffix = function.__code__, "-inner" if is_inner else ""
        self.cache_path = folder
        self._stem = f"{Path(code.co_filename).stem}.{function.__qualname__}-{code.co_firstlineno}{suffix}"
        self._code = hashlib.sha256(code.co_code).hexdigest()
        self._reduced = inner.reduced if is_inner else CompileResult._reduce
        self._rebuilt = inner.rebuilt if is_inner else CompileResult._rebuild

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled function of a signature; None if the file is missing or unusable."""
        context.refresh()
        key, path = self._place(signature, context.codegen())
        try:
            content = path.read_bytes()
            checksum, data = content[:_CHECKSUM_SIZE], content[_CHECKSUM_SIZE:]
            # Machine code with a few wrong bytes would crash the process.
            if checksum != _checksum(data):
                return None
            found, result = pickle.loads(data)
            return self._rebuilt(context, *result) if found == key else None
        except Exception:  # no file, no permission, or a pickle of unknown classes
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save the compiled function of a signature, or overwrite it; ignore errors."""
        if result.library.has_dynamic_globals or not all(lifted.can_cache for lifted in result.lifted):
            return
        key, path = self._place(signature, result.codegen)
        data = dumps((key, self._reduced(result)))
        new = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                new.write_bytes(_checksum(data) + data)
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)
        except OSError:  # a full disk, a quota, a folder that cannot be written
            pass

    def flush(self) -> None:
        """Do nothing: `recompile` overwrites the file."""

    def _place(self, signature: Any, codegen: Any) -> tuple[Any, Path]:
        """Return the key and the file of a compiled function."""
        settings = tuple(str(getattr(numba.core.config, name, None)) for name in _SETTINGS)
        key = (self._stem, self._code, signature, codegen.magic_tuple(), _VERSIONS, settings)
        name = f"{self._stem}-{hashlib.sha256(repr(key).encode()).hexdigest()[:20]}.nbc"
        return key, Path(self.cache_path, name.replace("<", "").replace(">", ""))


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM_SIZE).digest()
