"""The package's own training as a learner of the benchmark: `mancala train`, paused where it is measured.

docs/guides/benchmark.md shows an entry for a configuration, which has three lines.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from mancala_env._util.settings import build, settings_of
from mancala_env._util.stop_signals import stop_of
from mancala_env.benchmark.budget import LearningBudget, core_seconds, limit_of_steps
from mancala_env.benchmark.entries import Point
from mancala_env.benchmark.tasks import Task
from mancala_env.networks.checkpoint import InvalidCheckpoint, read_identity
from mancala_env.networks.value_files import has_bundled_network
from mancala_env.rulesets import Ruleset
from mancala_env.training.config import CONFIGS, TrainConfig, read_file
from mancala_env.training.hooks import A_CALLBACK, TrainingRun
from mancala_env.training.pool import POOL_FILE
from mancala_env.training.run import started, train_further
from mancala_env.training.run_folder import FINAL, METRICS, RunFolder, write_atomically
from mancala_env.training.run_plots import read_metrics

_NAME = "run"
# Copy of the checkpoint that was measured last; the run's own checkpoint may be newer after a signal.
_MEASURED = "measured.zip"
# Copy of the pool, which a run rewrites with each checkpoint.
_MEASURED_POOL = f"measured_{POOL_FILE}"
# Groups of settings that are chosen by the entry rather than by the ruleset's configuration file.
_OF_AN_ENTRY = ("pool.", "distillation.", "expert.")
# Number of checkpoints of a run; each may join the pool.
_CHECKPOINTS = 10
# A run needs at least this number of updates to learn, so a small budget gets fewer parallel games.
_FEWEST_UPDATES = 50
_FEWEST_GAMES = 4
# Settings that `prepare` runs to compile everything: a pool and, for "anything", the searches.
_A_POOL: dict[str, Any] = {"pool.share": 0.5}
_SEARCH: dict[str, Any] = {"expert.share": 0.5, "distillation.positions": 1}
# Labelled positions for ten minutes of training, if a ruleset lacks a configuration file.
_POSITIONS = 120_000


def config_of(
    task: Task,
    ruleset: Ruleset,
    budget: LearningBudget,
    seed: int,
    folder: Path,
    changes: Mapping[str, Any] | None = None,
) -> TrainConfig:
    """Return the configuration of a run, in a folder below `folder`.

    It consists of the defaults and, for the task "anything", the configuration file of the ruleset. There,
    `expert.spec` is `minimax:4` if no value network is bundled for the ruleset. `changes` are settings by
    dotted name, as in configs/default.yaml, that override all others. Raise InvalidSetting if one is invalid.
    """
    values: dict[str, Any] = {"network.observation": task.observation}
    if not task.allowed:
        found = _file_of(ruleset)
        values |= {name: value for name, value in found.items() if not name.startswith(_OF_AN_ENTRY)}
        if not has_bundled_network(ruleset):
            values["expert.spec"] = "minimax:4"
    values |= {
        "ruleset": ruleset,
        "rounds": 1,
        "name": _NAME,
        "folder": str(folder),
        "seed": seed,
        "environment_steps": budget.steps,
        "minutes": budget.core_minutes,
        "checkpoint_minutes": (budget.core_minutes or 10) / _CHECKPOINTS,
        "checkpoint_steps": max(1, budget.steps // _CHECKPOINTS) if budget.steps else None,
        "threads": 1,
        "device": "cpu",
        "evaluation.checkpoint_games": 0,
    }
    values |= changes or {}
    if task.is_fixed:
        values["network.observation"] = task.observation
    if budget.steps is not None:
        defaults = {each.name: each.default for each in settings_of(TrainConfig)} | values
        games = budget.steps // (_FEWEST_UPDATES * defaults["ppo.steps"])
        values["selfplay.games"] = max(_FEWEST_GAMES, min(defaults["selfplay.games"], games))
        rollout = values["selfplay.games"] * defaults["ppo.steps"]
        values["ppo.batch_size"] = min(defaults["ppo.batch_size"], rollout)
    return build(TrainConfig, values)


def distillation_of(ruleset: Ruleset) -> dict[str, Any]:
    """Return the settings of distillation by dotted name, from the ruleset's file or for any ruleset."""
    found = {name: value for name, value in _file_of(ruleset).items() if name.startswith("distillation.")}
    return found or {"distillation.positions": _POSITIONS}


def _file_of(ruleset: Ruleset) -> dict[str, Any]:
    file = CONFIGS / f"{ruleset.name}.yaml"
    return read_file(file) if ruleset.is_bundled and file.is_file() else {}


def prepare(task: Task, ruleset: Ruleset) -> None:
    """Compile the kernels of training, pools and searches by running a few small updates."""
    for changes in [_A_POOL] if task.allowed else [_A_POOL, _SEARCH]:
        with tempfile.TemporaryDirectory() as folder:
            budget = LearningBudget(limit_of_steps(3 * _FEWEST_GAMES * 32), (1.0,))
            config = config_of(task, ruleset, budget, 1, Path(folder), changes)
            for _ in trained(config, budget):
                pass


def trained(config: TrainConfig, budget: LearningBudget) -> Iterator[Point]:
    """Train with a configuration, and yield the checkpoint at each measuring point.

    The run uses the budget's clock, which counts core minutes. A killed run resumes from the checkpoint that
    was measured last. All turns that distillation plays count as environment steps. `config` comes from
    :func:`config_of`.
    """
    place = Path(config.folder, _NAME)
    steps = _resumed_steps(place, budget)
    if steps is None:
        shutil.rmtree(place, ignore_errors=True)
        run = RunFolder.create(config)
    else:
        run = RunFolder(place)
        for path in run.saved():  # later than the last measurement, so their cost is unknown
            if read_identity(path).environment_steps > steps:
                path.unlink()
    stop_when_due = _StopWhenDue(budget, place)
    with started(config, run, Console(quiet=True), resume=steps is not None, now=core_seconds) as training:
        stopped_by: str | None = A_CALLBACK
        while stopped_by == A_CALLBACK and not stop_when_due.is_over:
            checkpoint, stopped_by = train_further(training, [stop_when_due])
            if stopped_by not in (None, A_CALLBACK):
                raise stop_of(stopped_by)
            with training.paused():
                yield Point(checkpoint, read_identity(checkpoint).environment_steps + _num_distilled(place))
                # Before the checkpoint, which is only complete with it.
                _copy_or_remove(place / POOL_FILE, place / _MEASURED_POOL)
                write_atomically(place / _MEASURED, checkpoint.read_bytes())


def _resumed_steps(place: Path, budget: LearningBudget) -> int | None:
    """Restore the checkpoint that was measured last and return its steps; None without one.

    The run's own checkpoint may be newer, if a signal ended the run; the cost of that one is unknown.
    """
    for name in (FINAL, _MEASURED):
        steps = _stored_steps(place / name)
        if steps is not None and budget.resume(steps + _num_distilled(place)):
            if name == _MEASURED:
                write_atomically(place / FINAL, (place / _MEASURED).read_bytes())
            if steps == _stored_steps(place / _MEASURED):  # otherwise killed during its measurement
                _copy_or_remove(place / _MEASURED_POOL, place / POOL_FILE)
            return steps
    return None


def _copy_or_remove(source: Path, target: Path) -> None:
    if source.is_file():
        write_atomically(target, source.read_bytes())
    else:
        target.unlink(missing_ok=True)


def _stored_steps(checkpoint: Path) -> int | None:
    with suppress(InvalidCheckpoint):
        return read_identity(checkpoint).environment_steps


def _num_distilled(place: Path) -> int:
    """Return the number of turns played by a run's distillation, from the first line of its metrics."""
    figures = read_metrics(place / METRICS)[:1] if (place / METRICS).is_file() else []
    return sum(int(line.get("distillation/turns", 0)) for line in figures)


class _StopWhenDue:
    """Hook that stops the training when a measurement is due, or another update would exceed the budget."""

    def __init__(self, budget: LearningBudget, place: Path) -> None:
        self._budget, self._place, self.is_over = budget, place, False
        self._distilled: int | None = None

    def __call__(self, run: TrainingRun) -> None:
        trained_steps = run.model.num_timesteps
        if self._distilled is None:  # distillation is over when hooks are called
            self._distilled = _num_distilled(self._place)
        steps = trained_steps + self._distilled
        update = run.model.n_steps * run.env.num_envs
        self.is_over = not self._budget.allows(steps + update)
        if self.is_over or (trained_steps > 0 and self._budget.is_due(steps)):
            run.stop(A_CALLBACK)
