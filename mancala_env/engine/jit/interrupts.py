"""Ctrl-C, SIGTERM and SIGHUP during a compilation: they are deferred, because they would be lost.

After some seconds of compilation, LLVM calls back into Python through llvmlite. Python handles a pending
signal in that call. An exception raised there is lost: ctypes prints "Exception ignored", and the kernel
starts to run. That happened to 25 % of all interrupts during a compilation.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import llvmlite.binding

from mancala_env._util.stop_signals import STOP_SIGNALS, handled

_BINDING = str(Path(llvmlite.binding.__file__).parent)


class _Handler:
    """A signal handler that calls `before`, but waits while llvmlite is running."""

    def __init__(self, number: int, before: Callable[[int, FrameType | None], Any]) -> None:
        self.number, self.before, self.is_waiting = number, before, False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        outer = frame
        while outer is not None:
            if outer.f_code.co_filename.startswith(_BINDING):
                self.is_waiting = True
                return
            outer = outer.f_back
        self.before(number, frame)

    def release(self) -> None:
        """Handle a deferred signal."""
        if self.is_waiting:
            self.is_waiting = False
            self.before(self.number, None)


@contextmanager
def _waiting_in_llvmlite(number: signal.Signals) -> Iterator[None]:
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(number) if is_main else None
    if isinstance(before, _Handler):  # another compilation needs this kernel
        yield
        before.release()
        return
    if not callable(before):  # Python does not handle this signal
        yield
        return
    handler = _Handler(number, before)
    try:
        with handled({number: handler}):
            yield
    finally:
        handler.release()


def hearing_ctrl_c(dispatcher: Any) -> Any:
    """Defer signals while a function of numba is compiled or read from the cache; return the function."""
    compile_signature = dispatcher.compile

    def compiled(signature: Any) -> Any:
        with ExitStack() as waiting:
            for number in STOP_SIGNALS:
                waiting.enter_context(_waiting_in_llvmlite(number))
            return compile_signature(signature)

    dispatcher.compile = compiled
    return dispatcher
