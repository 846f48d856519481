"""Progress bars on standard error, if it is a terminal, and the message after Ctrl-C."""

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any

from mancala_env._util.command_line import Interrupted


@contextlib.contextmanager
def resumable(kept: str, place: object) -> Iterator[None]:
    """After Ctrl-C, report what is `kept` at a place, such as "finished games are"; None reports nothing."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"{kept} in {place}; run the same command to resume" if place else "") from None


@contextlib.contextmanager
def _bars(quiet: bool, *columns: str) -> Iterator[Any]:
    """Yield progress bars with columns of rich; None if quiet, without a terminal or without rich."""
    if quiet or not sys.stderr.isatty() or importlib.util.find_spec("rich") is None:
        yield None
        return
    from rich import progress
    from rich.console import Console

    shown = [progress.TextColumn("{task.description}"), progress.BarColumn()]
    shown += [getattr(progress, column)() for column in columns]
    with progress.Progress(*shown, console=Console(stderr=True), transient=True) as bars:
        yield bars


@contextlib.contextmanager
def stages(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a function ``show(stage, done, total)``, which draws a bar for each stage; None without bars."""
    with _bars(quiet, "MofNCompleteColumn", "TimeRemainingColumn") as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield None if bars is None else show


@contextlib.contextmanager
def lines(quiet: bool, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Yield a function ``show(text, seconds, done=0)`` for the progress of a search.

    A terminal shows the last text, with a bar of `done` out of `total`. A file gets lines: the first after
    two seconds of each search, later lines at growing intervals.
    """
    due, last = 2.0, 0.0
    with _bars(quiet, "TimeElapsedColumn") as bars:
        task = None if bars is None else bars.add_task("", total=total)

        def show(text: str, seconds: float, done: int = 0) -> None:
            nonlocal due, last
            if seconds < last:  # another search has begun
                due = 2.0
            last = seconds
            if bars is not None:
                bars.update(task, completed=done, description=text)
            elif not quiet and seconds >= due:
                due = seconds + min(600.0, seconds)
                print(f"{seconds:.0f} s: {text}", file=sys.stderr, flush=True)

        yield show
