"""SIGTERM and SIGHUP, handled like Ctrl-C.

`kill`, job queues and machines that shut down send SIGTERM. A terminal that closes sends SIGHUP. By default
both end Python at once, so a program cannot save its work.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOP_SIGNALS = [each for each in signal.Signals if each.name in ("SIGINT", "SIGTERM", "SIGHUP")]
"""SIGINT, SIGTERM and, if the system has it, SIGHUP."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, with its `number`; `except KeyboardInterrupt` also catches it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = signal.Signals(number)


def stop_of(name: str) -> KeyboardInterrupt:
    """Return the exception that a signal raises, given its name."""
    number = signal.Signals[name]
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated(number)


def is_ignored(number: signal.Signals) -> bool:
    """Return whether the program was started with a signal ignored, as `nohup` does with SIGHUP."""
    return signal.getsignal(number) is signal.SIG_IGN


@contextmanager
def handled(handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any]]) -> Iterator[None]:
    """Handle signals within a with statement; do nothing outside the main thread, where Python cannot."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    try:
        for number, handler in handlers.items():
            before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, handler in before.items():
            # None is a handler that was not set from Python and cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Drop stop signals within a with statement, for example during a short write."""
    with handled(dict.fromkeys(STOP_SIGNALS, lambda *_: None)):
        yield


def _terminate(number: int, _: FrameType | None) -> None:
    raise Terminated(number)


@contextmanager
def terminated() -> Iterator[None]:
    """Raise Terminated at SIGTERM and SIGHUP, within a with statement, unless they are already handled."""
    default = [number for number in STOP_SIGNALS if signal.getsignal(number) == signal.SIG_DFL]
    with handled({number: _terminate for number in default if number != signal.SIGINT}):
        yield
