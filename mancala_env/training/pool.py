"""Gating: which of a run's own checkpoints are in its pool.

A checkpoint that plays no better than the last one that joined adds nothing to learn from, so it first has
to beat that one in a match, the gate. What joined, and how the learner fares against everybody in the pool,
is kept in the run's folder: a run that is resumed meets the same opponents as often as before.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from mancala_env.evaluation.matches import MatchResult
from mancala_env.evaluation.openings import set_to_learn_from
from mancala_env.networks.checkpoint import InvalidCheckpoint, read_identity
from mancala_env.training.config import TrainConfig
from mancala_env.training.run_folder import RunFolder, RunFolderError, write_atomically
from mancala_env.training.run_report import play

POOL_FILE = "pool.json"


class SnapshotPool:
    """The pool of a run: the configured opponents, and the checkpoints of the run that joined.

    Attributes:
        snapshots: Those checkpoints, the one that joined last at the end.
        scores: The learner's recent score against opponents, by spec, as of the last time it was kept.
    """

    def __init__(self, config: TrainConfig, folder: RunFolder) -> None:
        """Take the pool as the run's folder holds it; a new run starts without snapshots.

        Raises:
            RunFolderError: What the folder holds cannot be read.
        """
        self._config, self._folder = config, folder
        self.snapshots: list[Path] = []
        self.scores: dict[str, float] = {}
        path = folder.path / POOL_FILE
        if path.exists():
            try:
                kept = json.loads(path.read_text())
                found = [folder.checkpoints / name for name in kept["snapshots"]]
                self.scores = {
                    **{spec: float(score) for spec, score in kept["opponents"].items()},
                    **{
                        str(file): float(score)
                        for file, score in zip(found, kept["snapshots"].values(), strict=True)
                    },
                }
            except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
                raise RunFolderError(
                    f"{path} cannot be read ({error}); delete it to go on without the pool's snapshots"
                ) from error
            self._keep_latest([file for file in found if _is_readable(file)])

    @property
    def specs(self) -> list[str]:
        """Whom the pool holds."""
        return [*self._config.pool.opponents, *map(str, self.snapshots)]

    def gate(self, checkpoint: Path) -> MatchResult | None:
        """Let a checkpoint join if it passes the gate: a match with the one that joined last.

        Returns:
            The match that decided, from the checkpoint's side; None where none was played: the pool is
            not in use, or empty, or `pool.gating` is 0. Whether it joined, `snapshots` says.
        """
        pool = self._config.pool
        if not (pool.share and pool.snapshots):
            return None
        match = None
        if pool.gating and self.snapshots:
            openings = set_to_learn_from(self._config.game, self._config.evaluation.opening_turns)
            match = play(self._config, checkpoint, str(self.snapshots[-1]), pool.gating_games, openings)
        if match is None or match.win_rate >= pool.gating:
            self._keep_latest([*self.snapshots, checkpoint])
        return match

    def keep(self, scores: Mapping[str, float]) -> None:
        """Write the pool to the run's folder, with the learner's present scores, by spec.

        Raises:
            RunFolderError: It cannot be written.
        """
        self.scores = dict(scores)
        kept = {
            "opponents": {spec: scores.get(spec, 0.5) for spec in self._config.pool.opponents},
            "snapshots": {file.name: scores.get(str(file), 0.5) for file in self.snapshots},
        }
        write_atomically(self._folder.path / POOL_FILE, json.dumps(kept, indent=2).encode())

    def _keep_latest(self, snapshots: list[Path]) -> None:
        self.snapshots = snapshots[max(0, len(snapshots) - self._config.pool.snapshots) :]


def _is_readable(checkpoint: Path) -> bool:
    try:
        read_identity(checkpoint)
    except InvalidCheckpoint:
        return False
    return True
