"""Progress bars on standard error, if it is a terminal."""

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mancala_env.games.position import Position

if TYPE_CHECKING:
    from mancala_env.solver import Progress


@contextlib.contextmanager
def stages(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a progress bar for each stage on standard error, within a with statement.

    Yields:
        A function called as ``show(stage, done, total)``; None if there is no terminal to show bars on.
    """
    if quiet or not _has_bars():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show


def _has_bars() -> bool:
    """Return whether standard error is a terminal and rich, which draws the bars, is installed."""
    return sys.stderr.isatty() and importlib.util.find_spec("rich") is not None


def _progress_lines() -> Callable[["Progress"], None]:
    """Return a function that writes lines to standard error, the first after two seconds, then less often."""
    due = [2.0]

    def say(progress: "Progress") -> None:
        if progress.seconds >= due[0]:
            due[0] = progress.seconds + min(600.0, progress.seconds)
            print(
                f"{progress.seconds:.0f} s: value {progress.lower:+d} to {progress.upper:+d}, "
                f"{progress.nodes:,} nodes",
                file=sys.stderr,
                flush=True,
            )

    return say


@contextlib.contextmanager
def bounds(position: Position, quiet: bool) -> Iterator[Callable[["Progress"], None]]:
    """Show the bounds of a position's value on standard error, within a with statement.

    A terminal shows a bar; a file gets a line now and then.
    """
    if quiet:
        yield lambda progress: None
        return
    if not _has_bars():
        yield _progress_lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    most = 2 * position.ruleset.total_seeds
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("value", total=most)

        def show(progress: "Progress") -> None:
            open_seeds = min(most, progress.upper - progress.lower)
            bar.update(
                task,
                completed=most - open_seeds,
                description=f"value {progress.lower:+d} to {progress.upper:+d}, {progress.nodes:,} nodes",
            )

        yield show
