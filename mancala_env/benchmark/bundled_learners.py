"""The package's own training as a learner of the benchmark: `mancala train` in pieces, measured in between.

An entry that is a configuration is three lines::

    def learn(task, ruleset, budget, seed, folder):
        config = config_of(task, ruleset, budget, seed, folder, {"pool.share": 0.25})
        yield from trained(config, budget)

and ``from mancala_env.benchmark.bundled_learners import prepare``, so that compiling is not charged to it.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback

from mancala_env._util.settings import build, settings_of
from mancala_env._util.stop_signals import stop_of
from mancala_env.benchmark.budget import LearningBudget, core_seconds, limit_of_steps
from mancala_env.benchmark.entries import Point
from mancala_env.benchmark.tasks import Task
from mancala_env.networks.checkpoint import InvalidCheckpoint, read_identity
from mancala_env.rulesets import Ruleset
from mancala_env.training.callbacks import A_CALLBACK
from mancala_env.training.config import CONFIGS, TrainConfig, read_file
from mancala_env.training.pool import POOL_FILE
from mancala_env.training.replay import REPLAY_FILE
from mancala_env.training.rollout import SelfPlayPPO
from mancala_env.training.run import train_in_pieces
from mancala_env.training.run_folder import FINAL, METRICS, RunFolder, write_atomically
from mancala_env.training.run_plots import read_metrics

_NAME = "run"
# The checkpoint that was measured last, beside that of the run: a signal ends a run elsewhere.
_MEASURED = "measured.zip"
# What a run keeps beside its checkpoint, and writes anew with each: copied when it is measured.
_KEPT_BESIDE = (REPLAY_FILE, POOL_FILE)
# What the configuration of a ruleset says of these belongs to an entry, not to all.
_OF_AN_ENTRY = ("pool.", "distillation.", "expert.")
# A checkpoint, which may join the pool, comes each time that such a part of the budget is spent.
_CHECKPOINTS = 10
# A run of fewer updates than so many learns next to nothing: a small budget gets fewer games side by side.
_FEWEST_UPDATES = 50
_FEWEST_GAMES = 4
# What `prepare` runs: a pool with its gate and, where anything goes, all that searches.
_A_POOL: dict[str, Any] = {"pool.share": 0.5, "pool.gating_games": 2}
_SEARCH: dict[str, Any] = {"expert.share": 0.5, "distillation.positions": 1}
# What ten minutes of training copy of the expert that needs no network, where a ruleset has no file.
_POSITIONS = 120_000


def config_of(
    task: Task,
    ruleset: Ruleset,
    budget: LearningBudget,
    seed: int,
    folder: Path,
    changes: Mapping[str, Any] | None = None,
) -> TrainConfig:
    """Return the configuration of a run: the defaults, and where anything goes the ruleset's own file.

    Args:
        task: What the network is shown.
        ruleset: The game, of the catalogue.
        budget: When the run ends.
        seed: Seed of everything random.
        folder: Where the run's folder is made.
        changes: Settings by dotted name, as in configs/default.yaml, that override all others.

    Raises:
        InvalidSetting: There is no such setting, or its value is wrong.
    """
    values: dict[str, Any] = {"network.observation": task.observation}
    if not task.allowed:
        found = _file_of(ruleset)
        values |= {name: value for name, value in found.items() if not name.startswith(_OF_AN_ENTRY)}
    values |= {
        "ruleset": ruleset.name,
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
    if budget.steps is not None:
        defaults = {each.name: each.default for each in settings_of(TrainConfig)} | values
        games = budget.steps // (_FEWEST_UPDATES * defaults["ppo.steps"])
        values["selfplay.games"] = max(_FEWEST_GAMES, min(defaults["selfplay.games"], games))
        rollout = values["selfplay.games"] * defaults["ppo.steps"]
        values["ppo.batch_size"] = min(defaults["ppo.batch_size"], rollout)
    return build(TrainConfig, values)


def distillation_of(ruleset: Ruleset) -> dict[str, Any]:
    """Return the settings of distillation by dotted name: a ruleset's own file's, or some that suit any."""
    found = _file_of(ruleset)
    settings = {name: value for name, value in found.items() if name.startswith("distillation.")}
    return settings or {"distillation.positions": _POSITIONS}


def _file_of(ruleset: Ruleset) -> dict[str, Any]:
    file = CONFIGS / f"{ruleset.name}.yaml"
    return read_file(file) if file.is_file() else {}


def prepare(task: Task, ruleset: Ruleset) -> None:
    """Compile what training runs, with a pool and with searches too, by a few updates of a few games."""
    for changes in [_A_POOL] if task.allowed else [_A_POOL, _SEARCH]:
        with tempfile.TemporaryDirectory() as folder:
            budget = LearningBudget(limit_of_steps(3 * _FEWEST_GAMES * 32), (1.0,))
            config = config_of(task, ruleset, budget, 1, Path(folder), changes)
            for _ in trained(config, budget):
                pass


def trained(config: TrainConfig, budget: LearningBudget) -> Iterator[Point]:
    """Train as configured, and yield the checkpoint wherever it is to be measured.

    The clock of the run is the budget's: core minutes, however busy the machine is. Where the run was
    killed, it goes on from the checkpoint that was measured last. The turns that distillation plays are
    environment steps, all of them: it plays the games to their end that are under way when it has enough.

    Args:
        config: From :func:`config_of`.
        budget: The budget.
    """
    place = Path(config.folder, _NAME)
    steps = _resumed_steps(place, budget)
    if steps is None:
        shutil.rmtree(place, ignore_errors=True)
        run = RunFolder.create(config)
    else:
        run = RunFolder(place)
        for path in run.saved():  # later than what was measured: nobody knows what they cost
            if read_identity(path).turns > steps:
                path.unlink()
    until = _UntilDue(budget, place)
    pieces = train_in_pieces(config, run, Console(quiet=True), steps is not None, [until], now=core_seconds)
    with closing(pieces):
        for checkpoint, stopped_by in pieces:
            if stopped_by not in (None, A_CALLBACK):
                raise stop_of(stopped_by)
            yield Point(checkpoint, read_identity(checkpoint).turns + _num_distilled(place))
            for name in _KEPT_BESIDE:  # before the checkpoint: who finds that finds these
                _copy_or_remove(place / name, place / f"measured_{name}")
            write_atomically(place / _MEASURED, checkpoint.read_bytes())
            if until.is_over:
                return


def _resumed_steps(place: Path, budget: LearningBudget) -> int | None:
    """Put the checkpoint that was measured last back as the run's, and return its steps; None: there is none.

    A run that a signal ended has learned beyond it, and nobody knows what that cost.
    """
    for name in (FINAL, _MEASURED):
        steps = _stored_steps(place / name)
        if steps is not None and budget.resume(steps + _num_distilled(place)):
            if name == _MEASURED:
                write_atomically(place / FINAL, (place / _MEASURED).read_bytes())
            if steps == _stored_steps(place / _MEASURED):  # else it was killed while it was measured
                for kept in _KEPT_BESIDE:
                    _copy_or_remove(place / f"measured_{kept}", place / kept)
            return steps
    return None


def _copy_or_remove(source: Path, target: Path) -> None:
    if source.is_file():
        write_atomically(target, source.read_bytes())
    else:
        target.unlink(missing_ok=True)


def _stored_steps(checkpoint: Path) -> int | None:
    try:
        return read_identity(checkpoint).turns
    except InvalidCheckpoint:
        return None


def _num_distilled(place: Path) -> int:
    """Return how many turns the distillation of a run has played, by the first line of its figures."""
    figures = read_metrics(place / METRICS) if (place / METRICS).is_file() else []
    return int(figures[0].get("distillation/turns", 0)) if figures else 0


class _UntilDue(BaseCallback):
    """Ends the training where it is to be measured, or an update more would be over the budget.

    Attributes:
        is_over: Whether the budget is spent.
    """

    model: SelfPlayPPO  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, budget: LearningBudget, place: Path) -> None:
        super().__init__()
        self._budget, self._place, self.is_over = budget, place, False
        self._num_distilled = 0

    def _on_training_start(self) -> None:
        self._num_distilled = _num_distilled(self._place)  # distillation is over by now

    def _on_step(self) -> bool:
        steps = self.model.num_timesteps + self._num_distilled
        update = self.model.n_steps * self.training_env.num_envs
        self.is_over = not self._budget.allows(steps + update)
        has_learned = self.model.num_timesteps > 0
        return not (self.is_over or (has_learned and self._budget.is_due(steps)))
