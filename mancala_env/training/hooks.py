"""Hooks of a run, called before each rollout in this order.

    check_weights       raises NotFinite if a weight is not a finite number
    LogMetrics          logs speed, pool scores and statistics of the games
    SaveCheckpoints     saves checkpoints, adds them to the pool and evaluates them
    hooks of the caller of ``train``
    call_callbacks      calls ``on_step`` of the user's Stable-Baselines3 callbacks

A hook is any callable that takes the :class:`TrainingRun`. ``run.stop(reason)`` ends the training.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from stable_baselines3.common.callbacks import BaseCallback, CallbackList

from mancala_env.training.config import TrainConfig
from mancala_env.training.policy import NotFinite
from mancala_env.training.pool import SnapshotPool
from mancala_env.training.ppo import SelfPlayPPO
from mancala_env.training.progress_bar import RunProgress
from mancala_env.training.rollout import opponent_name
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.run_report import evaluate
from mancala_env.training.schedule import CheckpointTimes, Clock
from mancala_env.training.selfplay_metrics import figures

A_CALLBACK = "a callback"
"""Reason for the end of a run that a callback stopped."""


class TrainingRun:
    """A training run in progress, which its hooks share.

    Attributes:
        config: The configuration.
        folder: The run's folder.
        model: The learner.
        env: The games it learns from.
        clock: Time spent, and the finished part of the run.
        progress: The progress bar.
        callbacks: The user's Stable-Baselines3 callbacks.
        hooks: The run's own hooks.
        stopped_by: Reason for ending the run early, such as "SIGINT"; None otherwise.
        last_checkpoint: The checkpoint that was saved or resumed last; None before the first.
    """

    def __init__(
        self,
        config: TrainConfig,
        folder: RunFolder,
        model: SelfPlayPPO,
        clock: Clock,
        progress: RunProgress,
        checkpoint: Path | None = None,
        callbacks: Sequence[BaseCallback] = (),
    ) -> None:
        """Set up a run; `checkpoint` is the one it resumes from, if any."""
        self.config, self.folder, self.clock, self.progress = config, folder, clock, progress
        self.model, self.env = model, model.env
        self.callbacks: BaseCallback = CallbackList(list(callbacks))
        self.last_checkpoint = checkpoint
        self.stopped_by: str | None = None
        self.hooks: list[Hook] = [check_weights, LogMetrics(), SaveCheckpoints(self)]
        self._is_new, self._has_games = checkpoint is None, False

    def start_games(self) -> None:
        """Start the games unless they are running, and bind the callbacks to the model."""
        if not self._has_games:
            self.callbacks = self.model.start_games(self.callbacks, self._is_new)
            self._has_games = True

    def stop(self, reason: str) -> None:
        """End the training before the next rollout; the first reason counts."""
        self.stopped_by = self.stopped_by or reason

    def is_over(self) -> bool:
        """Return whether the run is at its limit or was stopped."""
        return self.stopped_by is not None or self.clock.part_done(self.model.num_timesteps) >= 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the clock within a with statement; restore torch's random state at its end."""
        device = self.model.device
        with self.clock.pause(), torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield

    def save(self, name: str | None = None) -> Path:
        """Save a checkpoint; see RunFolder.save."""
        self.last_checkpoint = self.folder.save(self.model, self.config, self.clock.seconds, name)
        return self.last_checkpoint


Hook = Callable[[TrainingRun], object]
"""Called with the run before each rollout, and once after the last rollout."""


def check_weights(run: TrainingRun) -> None:
    """Raise NotFinite if a weight is not a finite number."""
    for name, weights in run.model.policy.named_parameters():
        if not torch.isfinite(weights).all():
            raise NotFinite(f"weight {name} is not finite")


class LogMetrics:
    """Logs speed, pool scores and statistics of the games, and updates the progress bar."""

    def __init__(self) -> None:
        self._start: tuple[int, float] | None = None

    def __call__(self, run: TrainingRun) -> None:
        """Log the metrics since the last call."""
        model, logger = run.model, run.model.logger
        steps, seconds = model.num_timesteps, run.clock.seconds
        first_steps, first_seconds = self._start = self._start or (steps, seconds)
        message = f"{steps:,} environment steps learned from"
        if steps > first_steps:  # the speed is unknown before the first update
            rate = (steps - first_steps) / max(1e-9, seconds - first_seconds)
            logger.record("time/environment_steps_per_second", rate)
            message += f", {rate:,.0f}/s"
            total = max(1e-9, sum(model.seconds.values()))
            for name, spent in model.seconds.items():
                logger.record(f"time/{name}", spent / total)
        for spec, score in run.env.pool_scores.items():
            logger.record(f"pool/{opponent_name(spec, run.config.pool.opponents)}", score)
        for name, value in figures(run.env.statistics.take()).items():
            logger.record(name, value)
        run.progress.update(run.clock.part_done(steps), message)


class SaveCheckpoints:
    """Saves a checkpoint whenever one is due, and evaluates it while the clock is paused."""

    def __init__(self, run: TrainingRun) -> None:
        self._times = CheckpointTimes(run.config, run.clock, run.folder.last_steps())
        self._pool = SnapshotPool(run.config, run.folder)
        # A resumed checkpoint is evaluated again: the metrics with its win rates were removed or not written.
        last = run.last_checkpoint
        is_evaluated = run.config.evaluation.checkpoint_games and run.model.num_timesteps
        is_own = last is not None and last.parent == run.folder.checkpoints
        self._resumed = last if is_evaluated and is_own else None

    def __call__(self, run: TrainingRun) -> None:
        """Save a checkpoint if one is due; the last one of a run is saved elsewhere."""
        if run.is_over():
            return
        if self._resumed is not None:
            self._evaluate(run, self._resumed)
            self._resumed = None
        if not self._times.is_due(run.model.num_timesteps):
            return
        checkpoint = run.save()
        if run.config.pool.share:
            with run.clock.pause():
                self._pool.add(checkpoint)
                run.env.set_pool(self._pool.specs)
                self._pool.keep(run.env.pool_scores)
        self._evaluate(run, checkpoint)

    def _evaluate(self, run: TrainingRun, checkpoint: Path) -> None:
        """Log and print the win rates of a checkpoint; print that it was saved if none are measured."""
        rates: dict[str, float] = {}
        if run.config.evaluation.checkpoint_games:
            with run.clock.pause():
                rates = measure(run.config, run.folder, checkpoint)
        for opponent, rate in rates.items():
            run.model.logger.record(f"evaluation/{opponent}", rate)
        message = ", ".join(f"{rate:.0%} against {opponent}" for opponent, rate in rates.items())
        run.progress.say(f"{run.model.num_timesteps:,} environment steps: {message or 'saved'}")


def call_callbacks(run: TrainingRun) -> None:
    """Call ``on_step`` of the user's callbacks; if one returns False, the run ends."""
    if not run.callbacks.on_step() and not run.is_over():
        run.stop(A_CALLBACK)


def measure(config: TrainConfig, folder: RunFolder, checkpoint: Path) -> dict[str, float]:
    """Store a checkpoint if it is the best against the opponents of the evaluation; return its win rates."""
    results = evaluate(config, checkpoint, config.evaluation.checkpoint_games)
    rates = {result.second: result.win_rate for result in results}
    if rates:
        folder.keep_best(checkpoint, sum(rates.values()) / len(rates), config.evaluation.opponents)
    return rates
