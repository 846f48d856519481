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

import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any

from stable_baselines3.common.logger import KVWriter

from mancala_env import observation_kinds
from mancala_env.agents.checkpoint import IDENTITY_MEMBER, Identity, InvalidCheckpoint, read_identity
from mancala_env.errors import MancalaError
from training.config import CONFIG_FILE, TrainConfig
from training.selfplay import SelfPlayPPO

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
        folder.checkpoints.mkdir()
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
            observation_version=observation_kinds.version(config.network.observation),
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
        """Return the run's readable checkpoints, the one with most turns last."""
        found = []
        for path in [*sorted(self.checkpoints.glob("*.zip")), self.path / FINAL]:
            try:
                found.append((read_identity(path).turns, path))
            except InvalidCheckpoint:
                continue
        return [path for _, path in sorted(found)]


class JsonLines(KVWriter):
    """Add the figures of each update to a file, one JSON object a line; going on where it ends."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("a", buffering=1)
        except OSError as error:
            raise RunFolderError(f"cannot write {path}: {error.strerror or error}") from error

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Write one line."""
        figures = {
            key: float(value) for key, value in sorted(key_values.items()) if isinstance(value, int | float)
        }
        try:
            self._file.write(json.dumps({"turns": step} | figures) + "\n")
        except OSError as error:
            raise RunFolderError(f"cannot write {self._file.name}: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that no crash at any moment leaves half of it.

    Raises:
        RunFolderError: It cannot be written; a file that was there is still whole.
    """
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
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
