"""Build ``mancala.wasm``, the package's kernels for browsers: ``make wasm``.

The file and its description ``mancala.json`` lie in ``mancala_env/web/`` and travel with the package, so
nobody needs a linker but who edits a kernel. The description says

- which kernels the file was made of (a digest of their sources and of the constants they use), and by which
  versions of the tools: made twice by the same ones it is the same, byte for byte;
- what a caller has to know of memory (:mod:`tools.build_wasm.exports` says the rest);
- the rulesets and their dials, as people read them and as kernels take them, so that no page repeats them.
"""

import ast
import hashlib
import importlib.util
import inspect
import itertools
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
from mancala_env.errors import InvalidRuleset, MancalaError
from mancala_env.networks import value as value_network
from mancala_env.rulesets import (
    CHOICES,
    MAX_ROW_WIDTH,
    MAX_TOTAL_SEEDS,
    MIN_ROW_WIDTH,
    STALL_LIMIT,
    Ruleset,
    lookup,
    names,
)
from tools.build_wasm import exports

WEB = Path(mancala_env.web.__file__).resolve().parent
WASM, DESCRIPTION = "mancala.wasm", "mancala.json"

_COMPILE = Path(__file__).with_name("compile.py")
_PACKAGE = "mancala_env"
_STACK_BYTES = 1 << 20


class CannotBuild(MancalaError):
    """A tool that the build needs is missing, or failed."""


def linker() -> list[str]:
    """Return the command of a linker for WebAssembly.

    Raises:
        CannotBuild: There is none.
    """
    for name in ("wasm-ld", *(f"wasm-ld-{version}" for version in range(30, 13, -1))):
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "wasm-ld"]
    raise CannotBuild(
        "there is no linker for WebAssembly; `apt-get install lld` brings one on Debian and Ubuntu, "
        "`pip install ziglang` everywhere"
    )


def tools() -> dict[str, str]:
    """Return the versions of what decides on the bytes of the file."""
    version = subprocess.run([*linker(), "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numba": metadata.version("numba"),
        "llvmlite": metadata.version("llvmlite"),
        "linker": version.split("\n")[0].strip(),
    }


def compile_and_link() -> bytes:
    """Return the WebAssembly file of the kernels as they stand; about a minute.

    Raises:
        CannotBuild: There is no linker, or a step failed; the message has its last words.
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
    """Run a step, with this package as the one that is imported."""
    environment = os.environ | {"PYTHONPATH": str(WEB.parent.parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise CannotBuild(f"{Path(command[0]).name} failed: {' '.join(words)}")


def build(folder: Path = WEB) -> bool:
    """Write ``mancala.wasm`` and ``mancala.json`` into a folder; returns whether the kernels were compiled.

    Where the file that lies there is of these kernels, only what the description says of rulesets is written.

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
    """Return what the file in a folder was made of, nothing where there is none that is described."""
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
    """Return what ``mancala.json`` says beside where the file comes from."""
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
            "largest": value_network._LARGEST,
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
    """Return which dials do not go together: where `dial` is one of `values`, `needs` must be `allowed`.

    They are found by trying all combinations, and each is a pair of values that no ruleset has. `why` is what
    Ruleset says of a combination in which nothing else is wrong.
    """
    choices: dict[str, Sequence[Any]] = {
        "seeds_per_hole": (4, 3),  # four, or another number
        **CHOICES,
    }
    possible: set[_Pair] = set()
    refused: list[tuple[set[_Pair], str]] = []
    for values in itertools.product(*choices.values()):
        dials: dict[str, Any] = dict(zip(choices, values, strict=True))
        pairs = set(itertools.combinations(dials.items(), 2))
        try:
            Ruleset(**dials)
            possible |= pairs
        except InvalidRuleset as error:
            refused.append((pairs, str(error)))
    whys: dict[_Pair, str] = {}
    for pairs, why in refused:
        wrong = pairs - possible
        if len(wrong) == 1:
            whys.setdefault(wrong.pop(), why)
    found = []
    for ((one, first), (other, second)), why in sorted(whys.items(), key=repr):
        if one == "seeds_per_hole":
            one, first, other, second = other, second, one, first
            why = why.removesuffix(f", not {second}")
        allowed = [value for value in choices[other] if value != second]
        found.append({"dial": one, "values": [first], "needs": other, "allowed": allowed, "why": why})
    return found


_Pair = tuple[tuple[str, Any], tuple[str, Any]]


# What a file was made of. A digest of whole files (engine/kernel.py) would call it stale after an edit of a
# docstring or of host code beside a kernel; here only what is compiled counts.


def digest_of_kernels() -> str:
    """Hash the sources of the exports, of every kernel they call, and the constants these use."""
    parts: dict[str, str] = {}
    for file in (_COMPILE, Path(inspect.getfile(exports))):
        parts[file.name] = ast.unparse(_without_docstrings(ast.parse(file.read_text("utf-8"))))
    parts["kernel"] = ast.unparse(_without_docstrings(ast.parse(inspect.getsource(kernel))))
    for function in (*exports.EXPORTS, *exports.PROVIDED.values()):
        _add_function(function, parts)
    return _sha256(json.dumps(sorted(parts.items())).encode())[:20]


def _add_function(function: Any, parts: dict[str, str]) -> None:
    """Add a function's source, and whatever it names."""
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
    """Add what a global name of a kernel stands for."""
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
        raise AssertionError(f"{name} is {value!r}, which no digest covers")


def _is_known_elsewhere(value: Any) -> bool:
    """Tell whether a value is part of Python, numpy or numba, or of a file that is hashed whole."""
    module = getattr(value, "__module__", "") or ""
    known = ("builtins", "numpy", "numba", "typing")
    return isinstance(value, ModuleType) or module.partition(".")[0] in known or module == exports.__name__


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
    """Build into the package, or another folder; returns the exit status."""
    parser = Parser(
        prog="python -m tools.build_wasm.build", description="Build mancala.wasm from the kernels."
    )
    parser.add_argument("--out", type=Path, default=WEB, help="folder to write into")
    options = parser.parse_args(arguments)
    is_new = build(options.out)
    size = (options.out / WASM).stat().st_size
    print(f"{options.out / WASM}: {size:,} bytes{'' if is_new else ', as it was: no kernel has changed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
