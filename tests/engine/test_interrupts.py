"""Ctrl-C during the compilation of a kernel is never lost."""

import signal
import subprocess
import sys
from types import FrameType
from typing import Any

import numba
import pytest

from mancala_env.engine.jit import interrupts
from mancala_env.engine.jit.interrupts import defer_stop_signals


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
    yield
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
