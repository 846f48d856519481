"""Build ``mancala.wasm``, the kernels of the package for browsers: ``make wasm``.

The file and its description ``mancala.json`` are bundled, in ``mancala_env/web/``. Only an edit of a kernel
needs a linker. The description has

- a digest of the kernels and of the constants they use, and the versions of the tools. The same versions
  build the same file, byte for byte;
- the layout of memory (:mod:`tools.build_wasm.exports` describes the functions);
- the rulesets and the rule options, so that the web page does not repeat them.
"""

import ast
import hashlib
import importlib.util
import inspect
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import mancala_env.web
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.engine import state
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.timeline import KINDS
from mancala_env.engine.turn import MAX_LAPS
from mancala_env.engine.validation import REASONS
from mancala_env.errors import MancalaError
from mancala_env.networks import value as value_network
from mancala_env.rulesets import (
    CHOICES,
    MAX_ROW_WIDTH,
    MAX_TOTAL_SEEDS,
    MIN_ROW_WIDTH,
    REQUIREMENTS,
    STALL_LIMIT,
    Ruleset,
    lookup,
    names,
)
from tools.build_wasm import exports, memory

WEB = Path(mancala_env.web.__file__).resolve().parent
WASM, DESCRIPTION = "mancala.wasm", "mancala.json"

_COMPILE = Path(__file__).with_name("compile.py")
_HASHED_WHOLE = (exports, memory)
_PACKAGE = "mancala_env"
_STACK_BYTES = 1 << 20


class CannotBuild(MancalaError):
    """A tool that the build needs is missing, or failed."""


def linker() -> list[str]:
    """Return the command of a linker for WebAssembly.

    Raises:
        CannotBuild: No linker is installed.
    """
    for name in ("wasm-ld", *(f"wasm-ld-{version}" for version in range(30, 13, -1))):
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "wasm-ld"]
    raise CannotBuild(
        "a linker for WebAssembly is missing; install one with `apt-get install lld` on Debian and Ubuntu, "
        "or with `pip install ziglang`"
    )


def tools() -> dict[str, str]:
    """Return the versions of the tools that determine the bytes of the file."""
    version = subprocess.run([*linker(), "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numba": metadata.version("numba"),
        "llvmlite": metadata.version("llvmlite"),
        "linker": version.split("\n")[0].strip(),
    }


def compile_and_link() -> bytes:
    """Return the WebAssembly file of the current kernels; this takes about a minute.

    Raises:
        CannotBuild: No linker is installed, or a step failed; the message ends with its last lines.
    """
    link = linker()
    names = [function.__name__ for function in exports.EXPORTS]
    with tempfile.TemporaryDirectory() as folder:
        made, linked = Path(folder, "mancala.o"), Path(folder, WASM)
        _run([sys.executable, str(_COMPILE), str(made)])
        _run(
            [
                *link,
                "--no-entry",
                "--strip-all",
                "--gc-sections",
                "-O2",
                "-z",
                f"stack-size={_STACK_BYTES}",
                "--export=__heap_base",
                *(f"--export={name}" for name in names),
                "-o",
                str(linked),
                str(made),
            ]
        )
        return linked.read_bytes()


def _run(command: list[str]) -> None:
    """Run a step that imports this copy of the package."""
    environment = os.environ | {"PYTHONPATH": str(WEB.parent.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise CannotBuild(f"{Path(command[0]).name} failed: {' '.join(words)}")


def build(folder: Path = WEB) -> bool:
    """Write ``mancala.wasm`` and ``mancala.json`` into a folder; return whether the kernels were compiled.

    If the folder has a file of the same kernels, only the description is written.

    Raises:
        CannotBuild: See :func:`compile_and_link`.
    """
    kernels = digest_of_kernels()
    origin = _origin(folder)
    is_stale = origin.get("kernels") != kernels
    if is_stale:
        made = compile_and_link()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / WASM).write_bytes(made)
        origin = {"kernels": kernels, "wasm": _sha256(made), "made_by": tools()}
    (folder / DESCRIPTION).write_text(json.dumps({**origin, **description()}, indent=1) + "\n")
    return is_stale


def _origin(folder: Path) -> dict[str, Any]:
    """Return digests and tools of the file in a folder; empty if a file or its description is missing."""
    try:
        described = json.loads((folder / DESCRIPTION).read_text())
        if described["wasm"] == _sha256((folder / WASM).read_bytes()):
            return {name: described[name] for name in ("kernels", "wasm", "made_by")}
    except (OSError, ValueError, KeyError):
        pass
    return {}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def description() -> dict[str, Any]:
    """Return the content of ``mancala.json`` except for the digests and the tools."""
    return {
        "layout": {
            "columns": {
                "owned": state.OWNED_COLUMN,
                "store": state.STORE_COLUMN,
                "player": state.PLAYER_COLUMN,
                "stall": state.STALL_COLUMN,
                "end": state.END_COLUMN,
                "territory": state.TERRITORY_COLUMN,
                "round": state.ROUND_COLUMN,
                "starter": state.STARTER_COLUMN,
                "debt": state.DEBT_COLUMN,
            },
            "game_bytes": 8 * state.NUM_COLUMNS,
            "rules_bytes": 8 * len(state.Rules._fields),
        },
        "events": list(KINDS),
        "network": {
            "version": value_network.VERSION,
            "codes": value_network.NUM_CODES,
            "units": value_network.NUM_UNITS,
            "unit": value_network.UNIT,
            "largest": value_network.LARGEST,
        },
        "ends": list(state.END_REASONS),
        "wrongs": list(REASONS),
        "stall_limit": STALL_LIMIT,
        "max_laps": MAX_LAPS,
        "max_total_seeds": MAX_TOTAL_SEEDS,
        "dials": [
            {"name": "row_width", "least": MIN_ROW_WIDTH, "most": MAX_ROW_WIDTH},
            {"name": "seeds_per_hole", "least": 1, "most": MAX_TOTAL_SEEDS // (2 * MIN_ROW_WIDTH)},
            *({"name": dial, "choices": choices} for dial, choices in CHOICES.items()),
        ],
        "conditions": conditions(),
        "defaults": asdict(Ruleset()),
        "rulesets": [asdict(lookup(name)) for name in names()],
    }


def conditions() -> list[dict[str, Any]]:
    """Return the conditions on rule options: if `dial` is in `values`, `needs` must be in `allowed`."""
    return [
        {
            "dial": each.option,
            "values": [each.value],
            "needs": each.needs,
            "allowed": each.allowed,
            "why": f"{each}: {each.reason}",
        }
        for each in REQUIREMENTS
    ]


# The digest of the kernels. A digest of whole source files (engine/jit/decorator.py) would change after an
# edit of a docstring or of Python code next to a kernel. This one covers compiled code only.


def digest_of_kernels() -> str:
    """Hash the sources of the exports, of every kernel they call, and the constants in them."""
    parts: dict[str, str] = {}
    for file in (_COMPILE, *(Path(inspect.getfile(module)) for module in _HASHED_WHOLE)):
        parts[file.name] = ast.unparse(_without_docstrings(ast.parse(file.read_text("utf-8"))))
    parts["kernel"] = ast.unparse(_without_docstrings(ast.parse(inspect.getsource(kernel))))
    for function in (*exports.EXPORTS, *exports.PROVIDED.values()):
        _add_function(function, parts)
    return _sha256(json.dumps(sorted(parts.items())).encode())[:20]


def _add_function(function: Any, parts: dict[str, str]) -> None:
    """Add the source of a function, and its global names."""
    name = f"{function.__module__}.{function.__qualname__}"
    if name in parts:
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []  # the decorator is hashed above
    parts[name] = ast.unparse(_without_docstrings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in function.__globals__:
            _add_value(f"{function.__module__}.{node.id}", function.__globals__[node.id], parts)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = function.__globals__.get(node.value.id)
            if isinstance(owner, ModuleType) and owner.__name__.startswith(_PACKAGE):
                _add_value(f"{owner.__name__}.{node.attr}", getattr(owner, node.attr), parts)


def _add_value(name: str, value: Any, parts: dict[str, str]) -> None:
    """Add the value of a global name of a kernel."""
    if inspect.isfunction(function := getattr(value, "py_func", value)):
        _add_function(function, parts)
    elif isinstance(value, np.ndarray):
        parts[name] = f"{value.dtype} {value.shape} {_sha256(np.ascontiguousarray(value).tobytes())}"
    elif isinstance(value, np.generic):
        parts[name] = f"{value.dtype} {value.item()!r}"
    elif isinstance(value, bool | int | float | str | tuple) or value is None:
        parts[name] = repr(value)
    elif isinstance(value, type) and issubclass(value, tuple):
        parts[name] = repr((value.__name__, value._fields, value._field_defaults))  # type: ignore[attr-defined]
    elif not _is_known_elsewhere(value):
        raise AssertionError(f"the digest cannot cover {name}: {value!r}")


def _is_known_elsewhere(value: Any) -> bool:
    """Return whether a value is part of Python, numpy or numba, or of a file that is hashed whole."""
    module = getattr(value, "__module__", "") or ""
    known, whole = ("builtins", "numpy", "numba", "typing"), [each.__name__ for each in _HASHED_WHOLE]
    return isinstance(value, ModuleType) or module.partition(".")[0] in known or module in whole


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return tree


@in_one_line("wasm")
def main(arguments: Sequence[str] | None = None) -> int:
    """Build into the package, or another folder; return the exit status."""
    parser = Parser(
        prog="python -m tools.build_wasm.build", description="Build mancala.wasm from the kernels."
    )
    parser.add_argument("--out", type=Path, default=WEB, help="folder to write into")
    options = parser.parse_args(arguments)
    is_new = build(options.out)
    size = (options.out / WASM).stat().st_size
    print(f"{options.out / WASM}: {size:,} bytes{'' if is_new else ', unchanged, because no kernel changed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
