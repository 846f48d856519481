"""The pool of a run: configured opponents and snapshots, which are checkpoints of the run.

Every checkpoint joins the pool. The run's folder stores the snapshots and the learner's scores, so that a
resumed run continues with the same pool.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mancala_env.networks.checkpoint import InvalidCheckpoint, read_identity
from mancala_env.training.config import TrainConfig
from mancala_env.training.run_folder import RunFolder, reading

POOL_FILE = "pool.json"


class SnapshotPool:
    """The pool of a run: the opponents, the snapshots, latest last, and the learner's scores by spec."""

    def __init__(self, config: TrainConfig, folder: RunFolder) -> None:
        """Load the pool from the run's folder; raise RunFolderError if its file is invalid."""
        self._config, self._folder = config, folder
        self.snapshots: list[Path] = []
        self.scores: dict[str, float] = {}
        path = folder.path / POOL_FILE
        if path.exists():
            with reading(path, without="snapshots"):
                kept = json.loads(path.read_text())
                found = {folder.checkpoints / name: score for name, score in kept["snapshots"].items()}
                scores = kept["opponents"] | {str(file): score for file, score in found.items()}
                self.scores = {spec: float(score) for spec, score in scores.items()}
            for file in found:
                with suppress(InvalidCheckpoint):
                    read_identity(file)
                    self.add(file)

    @property
    def specs(self) -> list[str]:
        """Specs of all opponents in the pool."""
        return [*self._config.pool.opponents, *map(str, self.snapshots)]

    def add(self, checkpoint: Path) -> None:
        """Add a checkpoint, and drop the oldest snapshot if there are too many."""
        snapshots = [*self.snapshots, checkpoint]
        self.snapshots = snapshots[max(0, len(snapshots) - self._config.pool.snapshots) :]

    def keep(self, scores: Mapping[str, float]) -> None:
        """Write the pool and the learner's scores, by spec, or raise RunFolderError."""
        self.scores = dict(scores)
        kept = {
            "opponents": {spec: scores.get(spec, 0.5) for spec in self._config.pool.opponents},
            "snapshots": {file.name: scores.get(str(file), 0.5) for file in self.snapshots},
        }
        self._folder.write(POOL_FILE, json.dumps(kept, indent=2))
