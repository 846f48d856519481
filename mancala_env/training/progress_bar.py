"""The progress of a run: a bar in a terminal, occasional lines elsewhere."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 10.0


def say(console: Console, line: str) -> None:
    """Print a line without wrapping, markup or colours."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)


class RunProgress:
    """Shows the progress of a run, in a with statement."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_line = time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TimeRemainingColumn())
        is_hidden = not console.is_terminal
        self._bar = Progress(*columns, console=console, transient=True, disable=is_hidden)
        self._task = self._bar.add_task("training", total=1.0)

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, part_done: float, text: str) -> None:
        """Show the finished part, 0 to 1, and a text."""
        self._bar.update(self._task, completed=part_done, description=text)
        if self._bar.disable and time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.say(f"{part_done:4.0%}  {text}")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        say(self._console, line)
