"""Loading memory ahead of time: compiled to the processor's instruction, and without an effect on values."""

import platform

import numba
import numpy as np
import pytest

from mancala_env.engine.jit.prefetch import prefetch


@numba.njit
def _read_ahead(array, index):
    prefetch(array, index)
    return array[index]


def test_it_changes_no_value() -> None:
    array = np.arange(100, dtype=np.uint64)
    assert [_read_ahead(array, index) for index in (0, 57, 99)] == [0, 57, 99]
    assert _read_ahead(array[::3], 2) == 6
    assert array.tolist() == list(range(100))


def test_it_does_nothing_without_compilation() -> None:
    array = np.arange(3)
    prefetch(array, 1)
    assert array.tolist() == [0, 1, 2]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the name of the instruction")
def test_the_processor_is_asked_for_the_element() -> None:
    array = np.arange(8, dtype=np.uint64)
    _read_ahead(array, 1)
    code = "".join(_read_ahead.inspect_asm().values())
    assert "prefetcht0" in code
