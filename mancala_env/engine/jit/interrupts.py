"""Ctrl-C, SIGTERM and SIGHUP while a kernel is compiled: they wait where they would be lost.

LLVM tells llvmlite of what it compiled by calling back into Python. A signal that came during the seconds
before is handled in that call, and what is raised there has nobody to go to: ctypes prints "Exception
ignored", and the kernel begins to run for as long as it was asked to. A quarter of all interrupts during a
compilation went that way.
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
    """Handles a signal as `before` does, except inside of llvmlite, where it waits."""

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

    def let_go(self) -> None:
        """Handle a signal that waits."""
        if self.is_waiting:
            self.is_waiting = False
            self.before(self.number, None)


@contextmanager
def _waiting_in_llvmlite(number: signal.Signals) -> Iterator[None]:
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(number) if is_main else None
    if isinstance(before, _Handler):  # a kernel that is compiled for another
        yield
        before.let_go()
        return
    if not callable(before):  # not ours to handle
        yield
        return
    handler = _Handler(number, before)
    try:
        with handled({number: handler}):
            yield
    finally:
        handler.let_go()


def hearing_ctrl_c(dispatcher: Any) -> Any:
    """Let no Ctrl-C be lost while a function of numba is compiled or read from its cache; returns it."""
    compile_signature = dispatcher.compile

    def compiled(signature: Any) -> Any:
        with ExitStack() as waiting:
            for number in STOP_SIGNALS:
                waiting.enter_context(_waiting_in_llvmlite(number))
            return compile_signature(signature)

    dispatcher.compile = compiled
    return dispatcher
