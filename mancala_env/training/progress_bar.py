"""The progress of a run: a bar in a terminal, occasional lines elsewhere."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 10.0


class RunProgress:
    """Shows the progress of a run, in a with statement."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._last_line = time.monotonic()
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )

    def __enter__(self) -> "RunProgress":
        if self._bar is not None:
            self._bar.start()
            if self._task is None:
                self._task = self._bar.add_task("training", total=1.0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, part_done: float, text: str) -> None:
        """Show the part that is done, 0 to 1, and a text."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=part_done, description=text)
        elif time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.say(f"{part_done:4.0%}  {text}")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._console.print(line, highlight=False, soft_wrap=True)
