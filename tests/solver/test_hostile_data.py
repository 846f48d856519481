"""Malicious books and position sets are rejected at little cost, and none of their code runs."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_checks import raises

from mancala_env.rulesets import lookup
from mancala_env.solver.book import Book, InvalidBook, load_book
from mancala_env.solver.position_sets import InvalidPositions, PositionSet, positions

GABATA = lookup("gabata_five_holes")
DATA = Path(__file__).parent.parent.parent / "mancala_env" / "data"


class Planted:
    """Creates a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def arrays_of(name: str) -> dict[str, Any]:
    with np.load(DATA / f"{name}.npz") as data:
        return {key: data[key] for key in data.files}


def test_the_bundled_files_are_read_as_numpy_reads_them() -> None:
    data, book = arrays_of("book_gabata_five_holes"), load_book(GABATA)
    assert book is not None
    assert (book.rests == data["rests"]).all()
    assert book.line == tuple(data["line"])
    solved, data = positions("leyla"), arrays_of("positions_leyla")
    for name, array in data.items():
        assert (getattr(solved, name) == array).all()


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("rests", lambda rests: rests[:-1], []),
        ("rests", lambda rests: np.full_like(rests, 999), [999, 40]),
        ("rests", lambda rests: rests.astype(float), ["rests", "float64", "int16"]),
        ("rests", lambda rests: rests[None], []),
        ("turns", lambda turns: np.int64(10**9), [1000000000, 0, 15]),
        ("turns", lambda turns: np.int64(-1), -1),
        ("line", lambda line: np.array([99], np.int8), "turn 1"),
        ("line", lambda line: line[:2], []),
    ],
)
def test_a_book_that_cannot_be_is_refused(
    name: str, change: Callable[[np.ndarray], np.ndarray], said: str, tmp_path: Path
) -> None:
    data = arrays_of("book_gabata_five_holes")
    changed: dict[str, Any] = data | {name: change(data[name])}
    np.savez(tmp_path / "book.npz", **changed)
    with raises(InvalidBook, said):
        Book.of_file(GABATA, tmp_path / "book.npz")


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("games", lambda games: np.full_like(games, 2**64 - 1), ["game 0", "leyla"]),
        ("phase", lambda phase: phase[::-1], ["phases", 0, 4]),
        ("phase", lambda phase: phase[1:], "rows"),
        ("action_values", lambda values: np.full_like(values, 999), []),
        ("action_values", lambda values: values[:, ::-1], "position"),
    ],
)
def test_positions_that_cannot_be_are_refused(
    name: str, change: Callable[[np.ndarray], np.ndarray], said: str, tmp_path: Path
) -> None:
    data = arrays_of("positions_leyla")
    changed: dict[str, Any] = data | {name: change(data[name])}
    np.savez(tmp_path / "positions.npz", **changed)
    with raises(InvalidPositions, said):
        PositionSet.of_file(lookup("leyla"), tmp_path / "positions.npz")


def test_no_pickle_is_run(tmp_path: Path) -> None:
    planted: Any = np.array([Planted(tmp_path / "planted")], object)
    changed: dict[str, Any] = arrays_of("book_gabata_five_holes") | {"rests": planted}
    np.savez(tmp_path / "book.npz", **changed)
    with raises(InvalidBook, "rests"):
        Book.of_file(GABATA, tmp_path / "book.npz")
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize("shape", ["(157286400,)", "(10,)", "(-1,)", "(1.5,)", "__import__('os')", "(("])
def test_what_a_header_claims_is_not_believed(shape: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "whole.npz", **arrays_of("book_gabata_five_holes"))
    Book.of_file(GABATA, tmp_path / "whole.npz")
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    with (
        zipfile.ZipFile(tmp_path / "whole.npz") as whole,
        zipfile.ZipFile(tmp_path / "book.npz", "w") as archive,
    ):
        for name in set(whole.namelist()) - {"turns.npy"}:
            archive.writestr(name, whole.read(name))
        archive.writestr("turns.npy", b"\x93NUMPY\x01\x00v\x00" + header + bytes(8))
    with raises(InvalidBook, "turns"):
        Book.of_file(GABATA, tmp_path / "book.npz")


def test_a_large_member_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("turns.npy", bytes(40 << 20))
    (tmp_path / "book.npz").write_bytes(file.getvalue())
    with raises(InvalidBook, "turns.npy", 40 << 20):
        Book.of_file(GABATA, tmp_path / "book.npz")
