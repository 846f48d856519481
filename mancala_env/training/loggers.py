"""Where the figures of each update go: a file of JSON lines, TensorBoard, Weights & Biases."""

import itertools
import json
import os
import socket
import time
import uuid
from io import BytesIO
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import KVWriter, Logger
from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.summary.writer.record_writer import RecordWriter

from mancala_env.training.config import InvalidConfig, TrainConfig
from mancala_env.training.run_folder import METRICS, STEPS, RunFolder, RunFolderError, write_atomically


def logger_of(config: TrainConfig, folder: RunFolder) -> Logger:
    """Return what writes the figures of a run.

    Raises:
        RunFolderError: A file cannot be written.
        InvalidConfig: Weights & Biases is asked for and not installed.
    """
    writers: list[KVWriter] = [Events(folder.path), JsonLines(folder.path / METRICS)]
    if config.wandb is not None:
        writers.append(WeightsAndBiases(config, folder))
    return Logger(str(folder.path), writers)  # type: ignore[arg-type]


def check_logs(config: TrainConfig) -> None:
    """Raise InvalidConfig if Weights & Biases is asked for and not installed."""
    if config.wandb is not None:
        _wandb()


def _wandb() -> Any:
    try:
        import wandb  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InvalidConfig("wandb needs Weights & Biases: pip install wandb") from error
    return wandb


class _Log(KVWriter):
    """A file that the figures of each update are added to, every time as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise self._cannot_write(error) from error

    def _add(self, content: bytes) -> None:
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: OSError) -> RunFolderError:
        return RunFolderError(f"cannot write {self._path}: {error.strerror or error}")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class JsonLines(_Log):
    """Add the figures of each update to a file, one JSON object a line; going on where it ends."""

    def __init__(self, path: Path) -> None:
        """Open the file; half a line that a killed process left is cut off.

        Raises:
            RunFolderError: It cannot be written.
        """
        super().__init__(path)
        if path.is_file():
            self._file.truncate(path.read_bytes().rfind(b"\n") + 1)

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Write one line."""
        self._add((json.dumps({STEPS: step} | _figures(key_values)) + "\n").encode())


class Events(_Log):
    """Add the figures of each update to a file that TensorBoard shows.

    TensorBoard's own writer works in a thread of its own, where a full disk ends nothing and says little.
    """

    _number = itertools.count()

    def __init__(self, folder: Path) -> None:
        """Start a new file in a folder.

        Raises:
            RunFolderError: It cannot be written.
        """
        name = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(self._number)}"
        super().__init__(folder / f"events.out.tfevents.{name}")
        self._add_event(file_version="brain.Event:2")

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Write the figures of one update."""
        figures = _figures(key_values).items()
        values = [Summary.Value(tag=key, simple_value=value) for key, value in figures]
        self._add_event(step=step, summary=Summary(value=values))

    def _add_event(self, **fields: Any) -> None:
        record = BytesIO()
        RecordWriter(record).write(Event(wall_time=time.time(), **fields).SerializeToString())
        self._add(record.getvalue())


def _figures(key_values: dict[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in sorted(key_values.items()) if isinstance(value, int | float)}


class WeightsAndBiases(KVWriter):
    """Log the figures of each update to a project of Weights & Biases as well.

    A run that is resumed goes on there too: it has the same id. Without a network,
    `WANDB_MODE=offline` keeps the figures in the run's folder.
    """

    def __init__(self, config: TrainConfig, folder: RunFolder) -> None:
        """Begin a run there, or go on with it.

        Raises:
            InvalidConfig: It is not installed.
            RunFolderError: Its id cannot be written to the run's folder.
        """
        wandb, kept = _wandb(), folder.path / "wandb.json"
        number = json.loads(kept.read_text())["id"] if kept.is_file() else uuid.uuid4().hex[:8]
        write_atomically(kept, json.dumps({"id": number}).encode())
        self._run = wandb.init(
            project=config.wandb,
            dir=str(folder.path),
            name=folder.path.name,
            id=number,
            resume="allow",
            config=config.as_dict(),
        )

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Log one update."""
        self._run.log({STEPS: step} | _figures(key_values))

    def close(self) -> None:
        """Send what is left, and end the run there."""
        self._run.finish()
