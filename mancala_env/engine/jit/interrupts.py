"""Defer Ctrl-C, SIGTERM and SIGHUP during a compilation, in which they could be lost.

After some seconds of compilation, LLVM calls back into Python through llvmlite. Python handles a pending
signal in that call. An exception raised there is lost: ctypes prints "Exception ignored", and the kernel
starts to run. Without deferral this happened to 25 % of all interrupts during a compilation.
"""

import gc
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import llvmlite.binding

from mancala_env._util.stop_signals import STOP_SIGNALS, handled

_BINDING = str(Path(llvmlite.binding.__file__).parent)


@contextmanager
def _deferred_in_llvmlite() -> Iterator[None]:
    """Defer stop signals that arrive while llvmlite runs to the end of a with statement."""
    handlers: dict[signal.Signals, Any] = {
        number: handler for number in STOP_SIGNALS if callable(handler := signal.getsignal(number))
    }
    waiting: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        outer = frame
        while outer is not None:
            if outer.f_code.co_filename.startswith(_BINDING):
                waiting.append(number)
                return
            outer = outer.f_back
        handlers[signal.Signals(number)](number, frame)

    try:
        with handled(dict.fromkeys(handlers, handle)):
            yield
    finally:
        with ExitStack() as calls:  # every handler is called, even if one raises an exception
            for number in reversed(waiting):
                calls.callback(handlers[signal.Signals(number)], number, None)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Collect no garbage during a compilation; it then takes about 4 % less time."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


def defer_stop_signals(dispatcher: Any) -> Any:
    """Defer signals while a function of numba is compiled or read from the cache; return the function."""
    compile_signature = dispatcher.compile

    def compiled(signature: Any) -> Any:
        with _deferred_in_llvmlite(), _no_garbage_collection():
            return compile_signature(signature)

    dispatcher.compile = compiled
    return dispatcher
