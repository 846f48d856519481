"""The folder of a run: what it is, its checkpoints, its figures.

runs/NAME/
  config.yaml        every value as resolved; enough to do the run again
  run.json           versions, git revision, machine and command of each start
  metrics.jsonl      one line per update
  events.out.tfevents...   the same for TensorBoard
  checkpoints/0000049152.zip   after so many turns
  final.zip          the checkpoint the run ended with
  evaluation.json    how it played at the end
"""

import itertools
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import KVWriter
from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]
from tensorboard.summary.writer.record_writer import RecordWriter

from mancala_env import observation
from mancala_env.agents.checkpoint import IDENTITY_MEMBER, Identity, InvalidCheckpoint, read_identity
from mancala_env.errors import MancalaError
from mancala_env.learning.config import CONFIG_FILE, TrainConfig
from mancala_env.learning.selfplay import SelfPlayPPO

_LIBRARIES = ("mancala-env", "torch", "stable-baselines3", "sb3-contrib", "numba", "numpy")
FINAL, METRICS = "final.zip", "metrics.jsonl"


class RunFolderError(MancalaError):
    """A folder that cannot be written, or that holds no run."""


class RunFolder:
    """Where a run writes.

    Attributes:
        path: The folder.
        checkpoints: Its folder of checkpoints.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"

    @classmethod
    def create(cls, config: TrainConfig) -> "RunFolder":
        """Make the folder of a new run; a name that is taken gets a number: first, first-2, first-3.

        Raises:
            RunFolderError: The folder cannot be made.
        """
        number = 1
        while True:
            name = str(config.name) if number == 1 else f"{config.name}-{number}"
            path = Path(config.folder) / name
            try:
                path.mkdir(parents=True)
                break
            except FileExistsError:
                number += 1
            except OSError as error:
                raise RunFolderError(f"cannot make the folder {path} of the run: {error.strerror}") from error
        folder = cls(path)
        try:
            folder.checkpoints.mkdir()
        except OSError as error:
            raise RunFolderError(f"cannot make the folder {folder.checkpoints}: {error.strerror}") from error
        write_atomically(path / CONFIG_FILE, config.to_yaml().encode())
        return folder

    def note_start(self) -> None:
        """Add what this process is to run.json."""
        path = self.path / "run.json"
        starts = json.loads(path.read_text()) if path.exists() else []
        starts.append(
            {
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "command": sys.argv,
                "versions": versions(),
                "git": git_revision(),
                "python": platform.python_version(),
                "machine": f"{platform.platform()}, {os.cpu_count()} cores",
            }
        )
        write_atomically(path, json.dumps(starts, indent=2).encode())

    def save(self, model: SelfPlayPPO, config: TrainConfig, name: str | None = None) -> Path:
        """Write a checkpoint, whole or not at all, and return its path.

        Args:
            model: What to save.
            config: The run's configuration.
            name: File in the run's folder; None names it after its turns, in `checkpoints`.

        Raises:
            RunFolderError: It cannot be written.
        """
        path = self.path / name if name else self.checkpoints / f"{model.num_timesteps:010d}.zip"
        packed = BytesIO()
        model.save(packed)
        identity = Identity(
            ruleset=config.game,
            rounds=config.rounds,
            observation_version=observation.version(config.network.observation),
            network=config.network,
            turns=model.num_timesteps,
            config=config.as_dict(),
            versions=versions(),
        )
        with zipfile.ZipFile(packed, "a") as archive:
            archive.writestr(IDENTITY_MEMBER, identity.to_json())
        write_atomically(path, packed.getvalue())
        return path

    def saved(self) -> list[Path]:
        """Return the run's whole checkpoints, the one with most turns last."""
        return self.examine()[0]

    def examine(self) -> tuple[list[Path], list[str]]:
        """Look at every checkpoint of the run.

        Returns:
            Those that are whole, the one with most turns last, and what is wrong with each of the others.
        """
        found, faults = [], []
        for path in [*sorted(self.checkpoints.glob("*.zip")), *self.path.glob(FINAL)]:
            try:
                _check_whole(path)
                found.append((read_identity(path).turns, path))
            except InvalidCheckpoint as error:
                faults.append(str(error))
        return [path for _, path in sorted(found)], faults

    def clear(self) -> None:
        """Remove what a killed process was about to write; call it where no other one writes."""
        for folder in (self.path, self.checkpoints):
            for part in folder.glob(".*.part"):
                part.unlink(missing_ok=True)


def _check_whole(path: Path) -> None:
    """Raise InvalidCheckpoint where a member is not what was written."""
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, zlib.error) as error:
        raise InvalidCheckpoint(f"{path} cannot be read: {error}") from error
    if damaged:
        raise InvalidCheckpoint(f"{path}: {damaged} is damaged")


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
        self._add((json.dumps({"turns": step} | _figures(key_values)) + "\n").encode())


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


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that no crash at any moment leaves half of it.

    Raises:
        RunFolderError: It cannot be written; a file that was there is still whole.
    """
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", suffix=".part", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise RunFolderError(f"cannot write {path}: {error.strerror or error}") from error


def versions() -> dict[str, str]:
    """Return the versions of the libraries a checkpoint depends on."""
    found = {}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found


def git_revision() -> str:
    """Return the commit of the sources, with "+" where they were edited; "" outside a repository."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--dirty=+"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return said.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
