"""Damaged and malicious books, position sets, results files and configurations.

Each must be accepted or rejected with one message, within about a second and 200 MB, without running its
code.
"""

import io
import json
import os
import random
import resource
import time
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mancala_env.errors import MancalaError
from mancala_env.evaluation.round_robin import ResultsFile
from mancala_env.rulesets import lookup
from mancala_env.solver.book import Book
from mancala_env.solver.position_sets import PositionSet
from mancala_env.training.config import CONFIGS, read_config

_DATA = CONFIGS.parent / "mancala_env" / "data"
_MOST_SECONDS = 5.0  # of processor time; the aim is one second
_MOST_MB = 200
_SHAPES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (1, 1), (0, 16), (3, 16), (10**6,), (2, 2, 2))
_DTYPES = ("int8", "int64", "float64", "bool", "U3", "S9", ">i2", "complex64", "M8[s]", "i4,f8")
_ODD: tuple[Any, ...] = (None, True, -1, 2**70, 0.5, float("nan"), "", "\x1b[31m", [], [[]], {}, "x" * 5000)


class Planted:
    """Creates a folder named in the environment when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["PLANTED"],)


def _packed(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    return file.getvalue()


def _scrambled(content: bytes, rng: random.Random) -> bytes:
    """Change some bytes, or remove or insert a piece."""
    changed = bytearray(content)
    if rng.random() < 0.5:
        for _ in range(rng.randrange(1, 8)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    else:
        start, size = rng.randrange(len(changed)), rng.randrange(1, 500)
        piece = changed[start : start + size]
        changed[start : start + size] = rng.choice((b"", piece + piece, rng.randbytes(size)))
    return bytes(changed)


@lru_cache
def _bomb() -> bytes:
    """Return a zip member of 300 MB, compressed to about 300 KB."""
    zeros = b"\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, 'shape': (157286400,), }"
    zeros = zeros.ljust(127) + b"\n" + bytes(300 << 20)
    return _packed({"rests.npy": zeros, "games.npy": zeros}, zipfile.ZIP_DEFLATED)


def _other_array(array: np.ndarray, rng: random.Random) -> bytes:
    """Return an array of another shape or type, a pickle, or an array with a false header."""
    how = rng.randrange(5)
    if how == 0:
        return _saved(np.array([Planted()], object))
    if how == 1:
        return _saved(np.zeros(rng.choice(_SHAPES), rng.choice(_DTYPES)))
    if how == 2:
        shape = rng.choice(
            (
                "(-1,)",
                "(10**9,)",
                "(99999999999999,)",
                "(True,)",
                "(1.5,)",
                "__import__('os')",
                "((",
            )
        )
        return _saved(array).replace(str(array.shape).encode(), shape.encode())
    if how == 3:
        changed = array.copy()
        if changed.size:
            low, high = np.iinfo(changed.dtype).min, np.iinfo(changed.dtype).max
            changed.reshape(-1)[rng.randrange(changed.size)] = rng.choice(
                (low, high, 0, 1, rng.randint(low, high))
            )
        return _saved(changed)
    return _scrambled(_saved(array), rng)


def _npz(honest: Path, rng: random.Random) -> bytes:
    content = honest.read_bytes()
    if rng.random() < 0.01:
        return _bomb()
    if rng.random() < 0.4:
        return _scrambled(content, rng)
    with np.load(honest) as data:
        arrays = {name: data[name] for name in data.files}
    members = {f"{name}.npy": _saved(array) for name, array in arrays.items()}
    name = rng.choice(list(arrays))
    if rng.random() < 0.1:
        del members[f"{name}.npy"]
    else:
        members[f"{name}.npy"] = _other_array(arrays[name], rng)
    return _packed(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)))


def _results(rng: random.Random) -> bytes:
    line: dict[str, Any] = {
        "format": 1, "package": "0.1.0", "ruleset": "leyla", "rules": "0" * 16, "rounds": 1,
        "opening_turns": 4, "seed": 0, "first": "greedy", "second": "random", "start": 0, "stop": 2,
        "margins": [[1, 2], [3, 4]], "seconds": 0.1,
    }  # fmt: skip
    if rng.random() < 0.5:
        line[rng.choice(list(line))] = rng.choice(_ODD)
    if rng.random() < 0.2:
        del line[rng.choice(list(line))]
    content = json.dumps(line).encode() + b"\n"
    if rng.random() < 0.05:
        content = b"[" * rng.randrange(1, 200_000) + b"\n"
    return _scrambled(content * rng.randrange(1, 4), rng) if rng.random() < 0.5 else content


_YAML = (
    "!!python/object/apply:os.mkdir [PLANTED]", "!!python/name:os.system ''", "[" * 20_000, "{" * 3_000,
    "*no", "&a [*a]", "!!binary x", "2001-99-99", "? [1]\n: 2", "\x00", "- " * 5_000, "0x" + "f" * 9_000,
    ".inf", "1e999", "!!set {a}",
)  # fmt: skip


def _configuration(rng: random.Random) -> bytes:
    lines = (CONFIGS / "default.yaml").read_text(encoding="utf-8").splitlines()
    how = rng.randrange(4)
    if how == 0:
        return _scrambled("\n".join(lines).encode(), rng)
    if how == 1:
        n = rng.choice([n for n, line in enumerate(lines) if ":" in line])
        value = rng.choice((*map(json.dumps, _ODD), *_YAML)).replace("PLANTED", os.environ["PLANTED"])
        lines[n] = lines[n].partition(":")[0] + ": " + value
        return "\n".join(lines).encode()
    if how == 2:  # each line is ten times as long as the one before
        laughs = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
        return "\n".join(laughs).encode()
    return rng.choice((rng.choice(_YAML).encode(), b"x" * 10**6, b"a: 1\n" * 10**5, rng.randbytes(1000)))


def _kinds(rng: random.Random) -> tuple[str, bytes, Callable[[Path], object]]:
    """Draw a kind of file, its content, and the function that reads it."""
    how = rng.randrange(4)
    if how == 0:
        name = rng.choice(("gabata_five_holes", "ludii_leyla", "leyla_gobale_ii"))
        content = _npz(_DATA / f"book_{name}.npz", rng)
        return "book.npz", content, lambda path: Book.of_file(lookup(name), path)
    if how == 1:
        name = rng.choice(("leyla", "gabata_i", "gabata_3"))
        content = _npz(_DATA / f"positions_{name}.npz", rng)
        return "positions.npz", content, lambda path: PositionSet.of_file(lookup(name), path)
    if how == 2:
        return "results.jsonl", _results(rng), _read_results
    return "config.yaml", _configuration(rng), lambda path: read_config(["--config", str(path)])


def _read_results(path: Path) -> None:
    with ResultsFile(path):
        pass


def try_files(seed: int, count: int, folder: Path) -> int:
    """Read a number of files; raises for the first that does harm or is not rejected correctly."""
    rng = random.Random(seed)
    planted = folder / "planted"
    os.environ["PLANTED"] = str(planted)
    _bomb()  # make it now, because its cost does not count for the reader
    for number in range(count):
        name, content, read = _kinds(rng)
        path = folder / name
        path.write_bytes(content)
        began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        case = f"file {number} of seed {seed}, {name}"
        try:
            read(path)
        except MancalaError as error:
            if not 0 < len(str(error).strip()) < 2_000:
                raise AssertionError(f"{case}: a message of {len(str(error))} characters") from error
        except Exception as error:
            raise AssertionError(f"{case}: {type(error).__name__}: {error}") from error
        assert not planted.exists(), f"{case} ran what was planted in it"
        spent = time.process_time() - began
        assert spent < _MOST_SECONDS, f"{case} took {spent:.1f} s"
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        assert grown < _MOST_MB, f"{case} took {grown:.0f} MB"
    return count
