"""Compile kernels with numba and cache them on disk under the hash of all sources they depend on.

numba's own disk cache checks only the file that defines the function. After an edit in another file, a kernel
that calls code from that file would run the old code. Here a digest names the cache folder of a kernel. The
digest covers the file of the kernel, and every file of the package that it imports, directly or indirectly.
So an edit or an upgrade starts with an empty folder. :mod:`mancala_env.engine.jit.cache` manages its files.
"""

import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numba
import numba.core.config
from numba.core.event import Listener, register
from numba.core.options import DefaultOptions

from mancala_env.engine.jit.cache import KernelCache
from mancala_env.engine.jit.inner import InnerCompiler, canonical
from mancala_env.engine.jit.interrupts import defer_stop_signals

_numba_config: Any = numba.core.config
_PACKAGE = Path(__file__).resolve().parents[2]
_IMPORTED_MODULE = re.compile(
    rb"^\s*(?:from|import)\s+(mancala_env[\w.]*)(?:\s+import\s+(\([^)]*\)|[^(\n]+))?", re.M
)
# Kernels allocate no arrays, and their caller holds the arrays they use. So they need no reference counts.
# numba counts by default, with atomic instructions, in kernels with arrays and several returns. That took
# 10 % of the time of a search. The option is not public in numba.
_COUNTS_NO_REFERENCES: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
QUIET = "MANCALA_ENV_QUIET"
"""Environment variable that turns off the message about compiling."""
_SILENT_SECONDS = 1.0
# Folders of older sources are deleted a month after their last use.
_KEEP_SECONDS = 30 * 24 * 3600


def kernel_sources(path: Path) -> list[Path]:
    """Return a file and all files of the package that it imports, directly or indirectly.

    Their kernels and constants become part of the compiled code.
    """
    found: set[Path] = set()
    todo = [path]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        todo += _read(path)[1]
    return sorted(found)


@cache  # a file is a source of many files' kernels
def _read(path: Path) -> tuple[bytes, list[Path]]:
    """Return the hash of a file, and the files of the package that it imports directly."""
    content = path.read_bytes()
    imported: list[Path] = []
    for module, names in _IMPORTED_MODULE.findall(content):
        base = _PACKAGE.parent.joinpath(*module.decode().split("."))
        imported += [p for p in _files_of(base, re.findall(rb"\w+", names)) if p.is_file()]
    return hashlib.sha256(content).digest(), imported


def _files_of(base: Path, names: list[bytes]) -> list[Path]:
    """Return the files in which ``from base import names`` may find its names."""
    if not base.is_dir():
        return [base.with_suffix(".py")]
    inside = [base / f"{name.decode()}.py" for name in names]
    is_all_found = bool(names) and all(p.is_file() or p.with_suffix("").is_dir() for p in inside)
    return inside if is_all_found else [*inside, base / "__init__.py"]


def source_digest(path: Path) -> str:
    """Hash the sources of a file's kernels (paths and bytes), as a short hex string."""
    digest = hashlib.sha256()
    for source in kernel_sources(path):
        is_ours = source.is_relative_to(_PACKAGE)
        digest.update(str(source.relative_to(_PACKAGE) if is_ours else source.name).encode())
        digest.update(_read(source)[0])
    return digest.hexdigest()[:20]


@lru_cache
def cache_folder(path: Path) -> str | None:
    """Create and return the cache folder of a file's kernels; None if it cannot be created.

    Without a folder, each process compiles again. A read-only folder is still used.
    """
    try:
        base = _numba_config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        root = Path(base, "mancala_env")
        folder = root / source_digest(path)
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home folder, read-only disk, ...
        return None
    try:
        os.utime(folder)
        _drop_old_folders(root)
    except OSError:  # no permission, or another process deletes the same folders
        pass
    return str(folder)


@lru_cache  # once a process
def _drop_old_folders(root: Path) -> None:
    for folder in root.iterdir():
        if folder.is_dir() and time.time() - folder.stat().st_mtime > _KEEP_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a module-level function of integers and arrays, without the GIL, cached on disk.

    It may write into arrays, but not allocate or return them. With ``NUMBA_DISABLE_JIT=1`` the function
    stays plain Python.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
    options |= {"no_cfunc_wrapper": True, **_COUNTS_NO_REFERENCES}
    compiled: Any = numba.njit(**options)(function)
    if _numba_config.DISABLE_JIT:
        return compiled
    # The file of a closure does not determine its code.
    is_cached = function.__closure__ is None
    folder = cache_folder(Path(function.__code__.co_filename).resolve()) if is_cached else None
    if folder is not None:
        compiled._cache = KernelCache(function, folder)
    inner = lru_cache(lambda: _inner_version(function, options, folder))
    # Calls from other kernels use the inner version.
    compiled.get_overload = lambda signature: inner().get_overload(signature)
    compiled.get_call_template = lambda args, kws: inner().get_call_template(
        tuple(map(canonical, args)), {name: canonical(kind) for name, kind in kws.items()}
    )
    return defer_stop_signals(compiled)


def _inner_version(function: Callable[..., Any], options: dict[str, Any], folder: str | None) -> Any:
    """Return the version of a kernel for calls from other kernels; Python does not call it."""
    options = options | {"no_cpython_wrapper": True, "pipeline_class": InnerCompiler}
    version: Any = numba.njit(**options)(function)
    # The default registers machine code, which this version lacks.
    version.add_overload = lambda result: version.overloads.update({result.signature.args: result})
    if folder is not None:
        version._cache = KernelCache(function, folder, is_inner=True)
    return version


class _Announcer(Listener):
    """Print one message on standard error when the kernels of a process take over a second to compile.

    It is printed in files and pipes, too: a log that stops for many seconds needs the explanation most.
    """

    def __init__(self) -> None:
        self._depth, self._start, self._seconds = 0, 0.0, 0.0
        self.is_silent = bool(os.environ.get(QUIET))

    def on_start(self, event: Any) -> None:
        """Count a compilation that starts, and print the message if enough time has passed."""
        if not _is_ours(event):
            return
        now = time.perf_counter()
        if self._depth == 0:
            self._start = now
        self._depth += 1
        if not self.is_silent and self._seconds + now - self._start > _SILENT_SECONDS:
            self.is_silent = True
            if sys.stderr is not None:
                print(f"mancala_env: {_message()}", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Add the time of a compilation that no other one contains."""
        if _is_ours(event):
            self._depth -= 1
            if self._depth == 0:
                self._seconds += time.perf_counter() - self._start


def _is_ours(event: Any) -> bool:
    return event.data["dispatcher"].py_func.__module__.startswith("mancala_env")


def _message() -> str:
    folder = cache_folder(Path(__file__).resolve())
    if folder is not None and os.access(folder, os.W_OK):
        return "compiling kernels once, about 10 s; `mancala warmup` compiles all of them"
    return (
        f"compiling kernels in each process, because {folder or 'the cache folder'} cannot be written; "
        "set NUMBA_CACHE_DIR to a folder that can"
    )


# numba reports only kernels that are not in the cache, so cached kernels print nothing.
ANNOUNCER = _Announcer()
register("numba:compile", ANNOUNCER)
