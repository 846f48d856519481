"""Ctrl-C during the compilation of a kernel or during parallel work is never lost."""

import gc
import signal
import subprocess
import sys
import time
from itertools import count
from types import FrameType
from typing import Any

import numba
import pytest
from error_checks import raises

from mancala_env.engine.jit import interrupts
from mancala_env.engine.jit.interrupts import defer_stop_signals
from mancala_env.engine.jit.threads import run_in_slices


def twice(n):
    return 2 * n


def interrupt_in(name: str) -> None:
    """Send SIGINT to this process at the next call of a function of this name."""

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == name:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(watch)


@pytest.fixture
def own_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # Python ignores an exception in a destructor, so also this Ctrl-C
    yield
    gc.enable()
    sys.setprofile(None)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "name", ["_raw_object_cache_notify", "_raw_object_cache_getbuffer", "type_inference_stage"]
)
def test_ctrl_c_while_a_function_is_compiled_is_handled(name: str, own_handler: None) -> None:
    """LLVM calls the first two functions through ctypes, which ignores their exceptions."""
    function = defer_stop_signals(numba.njit(twice))
    interrupt_in(name)
    with pytest.raises(KeyboardInterrupt):
        function(1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert function(1) == 2


def test_a_custom_handler_is_called(own_handler: None) -> None:
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    interrupt_in("_raw_object_cache_notify")
    assert defer_stop_signals(numba.njit(twice))(1) == 2
    assert heard == [signal.SIGINT]


def test_ctrl_c_while_a_function_is_compiled_for_another_is_handled(own_handler: None) -> None:
    inner = defer_stop_signals(numba.njit(twice))
    outer = defer_stop_signals(numba.njit(lambda n: inner(n) + 1))
    interrupt_in("_raw_object_cache_notify")
    with pytest.raises(KeyboardInterrupt):
        outer(1)
    assert outer(1) == 3


def test_every_kernel_of_the_package_hears() -> None:
    code = (
        "import mancala_env.games.batch as batch\n"
        "from mancala_env.engine import turn\n"
        f"assert turn.play_turn.compile.__module__ == {interrupts.__name__!r}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def interrupt_at(moment: int) -> None:
    """Send SIGINT to this process at the n-th call or return of another file, of Python or of C."""
    moments = count()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if frame.f_code.co_filename != __file__ and next(moments) == moment:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(watch)


@pytest.mark.timeout(60)
def test_ctrl_c_at_any_moment_of_parallel_work_is_handled(own_handler: None) -> None:
    """No thread waits for a lock that the main thread took when Ctrl-C arrived."""
    started: list[int] = []
    ended: list[int] = []

    def work(start: int, stop: int) -> None:
        started.append(start)
        time.sleep(0.002)
        ended.append(start)

    num_interrupts = 0
    while True:
        interrupt_at(num_interrupts)
        try:
            run_in_slices(work, 2, 2, fewest=1)
        except KeyboardInterrupt:
            num_interrupts += 1
        else:
            break
        finally:
            sys.setprofile(None)
        assert len(started) == len(ended), "a slice is still running"
        started.clear()
        ended.clear()
        run_in_slices(work, 2, 2, fewest=1)
        assert sorted(ended) == [0, 1]
        started.clear()
        ended.clear()
    assert num_interrupts > 10


def test_an_error_in_a_slice_ends_the_others() -> None:
    heard: list[int] = []

    def work(start: int, stop: int) -> None:
        if start == 0:
            raise ZeroDivisionError("slice 0")
        time.sleep(0.001)
        heard.append(start)

    with raises(ZeroDivisionError, "slice 0"):
        run_in_slices(work, 10**6, 2, most=1)
    num_heard = len(heard)
    assert num_heard < 1000
    time.sleep(0.01)
    assert len(heard) == num_heard
