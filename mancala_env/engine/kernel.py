"""Compile kernels with numba and cache them on disk under the hash of every kernel source.

numba's own disk cache looks at one file: the one the function stands in. A kernel that calls into
another file keeps running the old rules after that file was edited. Here the cache folder is named
by a digest of *all* kernel sources, so an edit or an upgrade simply starts an empty folder.
"""

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.core.config

_numba_config: Any = numba.core.config
_PACKAGE = Path(__file__).resolve().parent.parent
_IMPORTED_MODULE = re.compile(
    rb"^\s*(?:from|import)\s+(mancala_env[\w.]*)(?:\s+import\s+(\([^)]*\)|[^(\n]+))?", re.M
)
# Folders of older sources are dropped once nothing has been compiled there for a month.
_KEEP_SECONDS = 30 * 24 * 3600


def kernel_sources() -> list[Path]:
    """Return every file of the package that kernels are compiled from.

    Those are the files with a kernel in them and whatever they import from the package: constants of
    any of these end up in compiled code.
    """
    paths = {path: path.read_bytes() for path in _PACKAGE.glob("**/*.py")}
    found: set[Path] = set()
    todo = [path for path, source in paths.items() if b"@kernel" in source]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        for module, names in _IMPORTED_MODULE.findall(paths[path]):
            base = _PACKAGE.parent.joinpath(*module.decode().split("."))
            inside = [base / f"{name.decode()}.py" for name in re.findall(rb"\w+", names)]
            todo += [p for p in (base.with_suffix(".py"), *inside) if p in paths]
    return sorted(found)


def source_digest() -> str:
    """Hash every kernel source (paths and bytes), as a short hex string."""
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(str(path.relative_to(_PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def _cache_root() -> Path:
    if _numba_config.CACHE_DIR:
        return Path(_numba_config.CACHE_DIR) / "mancala_env"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mancala_env"


def _prepare_cache() -> str | None:
    """Make the cache folder of the present sources; None where nothing can be written."""
    try:
        root = _cache_root()
        folder = root / source_digest()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
        for other in root.iterdir():
            if other.is_dir() and time.time() - other.stat().st_mtime > _KEEP_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
        return str(folder)
    except (OSError, RuntimeError):  # no home folder, read-only disk, ...
        return None


CACHE_FOLDER = _prepare_cache()
"""Where this process's compiled kernels lie, or None: then each process compiles anew."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a module-level function of integers and arrays, without the GIL, cached on disk.

    With ``NUMBA_DISABLE_JIT=1`` the function stays plain Python.
    """
    before = _numba_config.CACHE_DIR
    _numba_config.CACHE_DIR = CACHE_FOLDER or ""
    try:
        return numba.njit(cache=CACHE_FOLDER is not None, nogil=True, error_model="numpy", forceinline=True)(
            function
        )
    finally:
        _numba_config.CACHE_DIR = before
