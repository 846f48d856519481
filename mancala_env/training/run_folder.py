"""The folder of a run: configuration, checkpoints, metrics; docs/reference/files.md lists its files."""

import filecmp
import itertools
import json
import os
import platform
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any

from mancala_env import observations
from mancala_env._util.archives import InvalidArchive, first_line, opened
from mancala_env._util.files import lock, write_whole
from mancala_env.errors import MancalaError
from mancala_env.networks.checkpoint import IDENTITY_MEMBER, Identity, InvalidCheckpoint, read_identity
from mancala_env.training.config import CONFIG_FILE, TrainConfig
from mancala_env.training.ppo import SelfPlayPPO
from mancala_env.training.training_state import PROGRESS_MEMBER, ProgressMade

_LIBRARIES = ("mancala-env", "torch", "stable-baselines3", "sb3-contrib", "numba", "numpy")
FINAL, BEST, METRICS = "final.zip", "best.zip", "metrics.jsonl"
RULESET_FILE = "ruleset.yaml"
"""The rules of a run whose ruleset is not in the catalogue."""
STEPS = "environment_steps"
"""Key of the environment steps in a line of metrics."""
OLD_STEPS = "turns"


class RunFolderError(MancalaError):
    """A folder that cannot be written, or is not the folder of a run."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of writing a file into RunFolderError, within a with statement."""
    try:
        yield
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def reading(path: Path, without: str = "it") -> Iterator[None]:
    """Turn errors of reading a file that the run can do without into RunFolderError, in a with statement."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = f"delete it to resume without {without}"
        raise RunFolderError(f"{path} cannot be read ({error}); {hint}") from error


@contextmanager
def resuming_from(checkpoint: Path | None) -> Iterator[None]:
    """Turn InvalidCheckpoint into RunFolderError, within a with statement."""
    try:
        yield
    except InvalidCheckpoint as error:
        hint = "move it out of the folder to resume from the checkpoint before it"
        what = f"cannot resume from {checkpoint}, though it may still play"
        raise RunFolderError(f"{what}: {error}; {hint}") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically; raise RunFolderError if that fails, with an existing file unchanged."""
    with writing(path):
        write_whole(path, content)


def identity_of(config: TrainConfig, environment_steps: int) -> Identity:
    """Return the identity of a checkpoint of a run, after that many environment steps."""
    return Identity(
        ruleset=config.game,
        rounds=config.rounds,
        observation_version=observations.version(config.network.observation, config.game),
        network=config.network,
        environment_steps=environment_steps,
        config=config.as_dict(),
        versions=versions(),
    )


@contextmanager
def _making(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a null character
        why = getattr(error, "strerror", None) or error
        raise RunFolderError(f"cannot make the folder {str(folder)!r} of the run: {why}") from error


class RunFolder:
    """The folder of a run; methods raise RunFolderError for files that cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"

    @classmethod
    def create(cls, config: TrainConfig) -> "RunFolder":
        """Create the folder of a new run; if the name exists, it gets a number: first, first-2, first-3."""
        place = config.place
        with _making(place.parent):
            place.parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(2):
            with _making(place), suppress(FileExistsError):
                place.mkdir()
                break
            place = config.place.with_name(f"{config.name}-{number}")
        folder = cls(place)
        folder.set_up(config)
        return folder

    def set_up(self, config: TrainConfig) -> None:
        """Create the folder unless it exists, and write its first files; the configuration is the last."""
        with _making(self.path):
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        if not config.game.is_bundled:
            with writing(self.path / RULESET_FILE):
                config.game.save(self.path / RULESET_FILE)
        self.write(CONFIG_FILE, config.to_yaml())

    def write(self, name: str, text: str) -> None:
        """Write a text file atomically."""
        write_atomically(self.path / name, text.encode(errors="backslashreplace"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; a killed process leaves no lock.

        Raise RunFolderError, which names the process, if another one trains here.
        """
        path = self.path / "lock"
        with writing(path):
            file = path.open("a+")
        with file:
            if not lock(file):
                file.seek(0)
                who = f"process {file.read().strip() or 'unknown'} is training in {self.path}"
                raise RunFolderError(f"{who}; wait until it has ended, or train in another folder (--name)")
            file.truncate(0)
            file.write(f"{os.getpid()} on {platform.node()}")
            file.flush()
            try:
                yield
            finally:
                file.truncate(0)

    def note_start(self) -> None:
        """Add versions, command and machine of this start to run.json."""
        path = self.path / "run.json"
        with reading(path):
            starts = list(json.loads(path.read_text())) if path.exists() else []
        start = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": sys.argv,
            "versions": versions(),
            "git": git_revision(),
            "python": platform.python_version(),
            "machine": f"{platform.platform()}, {os.cpu_count()} cores",
        }
        self.write("run.json", json.dumps([*starts, start], indent=2))

    def save(
        self, model: SelfPlayPPO, config: TrainConfig, seconds: float = 0.0, name: str | None = None
    ) -> Path:
        """Write a checkpoint after `seconds` of training, and return its path.

        The file is `name` in the run's folder; without a name, it is named after its steps in `checkpoints`.
        """
        packed = BytesIO()
        model.save(packed)
        progress = ProgressMade(seconds, model._n_updates)._asdict()
        members = {PROGRESS_MEMBER: json.dumps(progress).encode()}
        return self.write_checkpoint(config, model.num_timesteps, members, name, packed)

    def write_checkpoint(
        self,
        config: TrainConfig,
        steps: int,
        members: Mapping[str, bytes],
        name: str | None = None,
        packed: BytesIO | None = None,
    ) -> Path:
        """Write a checkpoint of `members`, added to the archive `packed`; otherwise as :meth:`save`."""
        path = self.path / name if name else self.checkpoints / f"{steps:010d}.zip"
        packed = packed or BytesIO()
        identity = identity_of(config, steps).to_json().encode()
        with zipfile.ZipFile(packed, "a") as archive:
            for member, content in {**members, IDENTITY_MEMBER: identity}.items():
                archive.writestr(member, content)
        write_atomically(path, packed.getvalue())
        return path

    def keep_best(self, checkpoint: Path, score: float, opponents: list[str]) -> bool:
        """Copy a checkpoint to `best.zip` if its mean win rate is the highest against the same opponents."""
        kept, best = self.path / "best.json", self.path / BEST
        if kept.is_file():
            with reading(kept):
                before = json.loads(kept.read_text())
                is_best = before["opponents"] != opponents or score > before["score"]
                known = self.checkpoints / before["checkpoint"]
            if not is_best and (known.is_file() or best.is_file()):
                # A killed process may have written only the first of the two files below.
                if known.is_file() and not (best.is_file() and filecmp.cmp(known, best, shallow=False)):
                    write_atomically(best, known.read_bytes())
                return False
        record = json.dumps({"checkpoint": checkpoint.name, "score": score, "opponents": opponents}, indent=2)
        if checkpoint.parent == self.checkpoints:
            self.write(kept.name, record)
            write_atomically(best, checkpoint.read_bytes())
        else:  # final.zip, which a longer run overwrites, so best.zip could not be repaired from it
            write_atomically(best, checkpoint.read_bytes())
            self.write(kept.name, record)
        return True

    def saved(self) -> list[Path]:
        """Return the intact checkpoints of the run, ordered by environment steps."""
        return self.examine()[0]

    def newest(self) -> tuple[Path, list[str]]:
        """Return the newest intact checkpoint, and the errors of damaged ones.

        Raises:
            RunFolderError: No checkpoint is intact.
        """
        saved, faults = self.examine()
        if not saved:
            why = f": {'; '.join(faults)}" if faults else ""
            raise RunFolderError(f"{self.path} holds no checkpoint yet{why}")
        return saved[-1], faults

    def last_steps(self) -> int:
        """Return the environment steps of the last intact file in checkpoints/; 0 without one."""
        for path in sorted(self.checkpoints.glob("*.zip"), reverse=True):
            with suppress(InvalidCheckpoint):
                _check_whole(path)
                return read_identity(path).environment_steps
        return 0

    def examine(self) -> tuple[list[Path], list[str]]:
        """Return the intact checkpoints, ordered by environment steps, and the errors of damaged ones."""
        found, faults = [], []
        for path in [*sorted(self.checkpoints.glob("*.zip")), *self.path.glob(FINAL)]:
            try:
                _check_whole(path)
                found.append((read_identity(path).environment_steps, path))
            except InvalidCheckpoint as error:
                faults.append(str(error))
        return [path for _, path in sorted(found)], faults

    def clear(self) -> None:
        """Remove partial files of a killed process; the folder must be locked."""
        for folder in (self.path, self.checkpoints):
            for part in folder.glob(".*.part"):
                part.unlink(missing_ok=True)

    def forget_figures_after(self, steps: int) -> None:
        """Remove the metrics after `steps` environment steps, because the run will write them again."""
        path = self.path / METRICS
        if not path.is_file():
            return
        lines = path.read_bytes().splitlines(keepends=True)
        kept = len(lines)
        while kept and (not lines[kept - 1].endswith(b"\n") or _steps_of(lines[kept - 1]) > steps):
            kept -= 1
        if kept < len(lines):
            write_atomically(path, b"".join(lines[:kept]))


def _steps_of(line: bytes) -> int:
    """Return the environment steps of a line of metrics; 0 if the line is invalid."""
    try:
        figures = json.loads(line)
        return int(figures.get(STEPS, figures.get(OLD_STEPS, 0)))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return 0


def _check_whole(path: Path) -> None:
    """Raise InvalidCheckpoint if a member is damaged."""
    try:
        with opened(path) as archive:
            for member in archive.names:
                archive.check(member)
    except (InvalidArchive, OSError) as error:
        raise InvalidCheckpoint(f"{path} cannot be read: {first_line(error)}") from error


def versions() -> dict[str, str]:
    """Return the versions of the libraries that a checkpoint depends on."""
    found: dict[str, str] = dict.fromkeys(_LIBRARIES, "not installed")
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[library] = version(library)
    return found


def git_revision() -> str:
    """Return the commit of the sources, with "+" if they were edited; "" outside a repository."""
    try:
        command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+"]
        options: dict[str, Any] = {"cwd": Path(__file__).parent, "timeout": 10, "stderr": subprocess.DEVNULL}
        return subprocess.check_output(command, text=True, **options).strip()
    except (OSError, subprocess.SubprocessError):
        return ""
