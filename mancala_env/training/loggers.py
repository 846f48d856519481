"""Writers of metrics: JSON lines and TensorBoard."""

import itertools
import json
import os
import socket
import time
from io import BytesIO
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import KVWriter, Logger
from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.summary.writer.record_writer import RecordWriter

from mancala_env.training.run_folder import METRICS, STEPS, RunFolder, writing


def logger_of(folder: RunFolder) -> Logger:
    """Return the logger of a run; raise RunFolderError if a file cannot be written."""
    return Logger(str(folder.path), [Events(folder.path), JsonLines(folder.path / METRICS)])  # type: ignore[arg-type]


class _Log(KVWriter):
    """A file that metrics are appended to; raises RunFolderError if it cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with writing(path):
            self._file = path.open("ab", buffering=0)

    def _add(self, content: bytes) -> None:
        rest = memoryview(content)
        with writing(self._path):
            while rest:
                rest = rest[self._file.write(rest) :]

    def close(self) -> None:
        self._file.close()


class JsonLines(_Log):
    """Appends the metrics of each update to a file, one JSON object a line."""

    def __init__(self, path: Path) -> None:
        """Open the file; a partial line of a killed process is removed."""
        super().__init__(path)
        if path.is_file():
            self._file.truncate(path.read_bytes().rfind(b"\n") + 1)

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Write one line."""
        self._add((json.dumps({STEPS: step} | _figures(key_values)) + "\n").encode())


class Events(_Log):
    """Appends the metrics of each update to a file that TensorBoard reads.

    TensorBoard's own writer runs in a thread and does not report a full disk.
    """

    _number = itertools.count()

    def __init__(self, folder: Path) -> None:
        """Create a new file in a folder."""
        name = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(self._number)}"
        super().__init__(folder / f"events.out.tfevents.{name}")
        self._add_event(file_version="brain.Event:2")

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Write the metrics of one update."""
        figures = _figures(key_values).items()
        values = [Summary.Value(tag=key, simple_value=value) for key, value in figures]
        self._add_event(step=step, summary=Summary(value=values))

    def _add_event(self, **fields: Any) -> None:
        record = BytesIO()
        RecordWriter(record).write(Event(wall_time=time.time(), **fields).SerializeToString())
        self._add(record.getvalue())


def _figures(key_values: dict[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in sorted(key_values.items()) if isinstance(value, int | float)}
