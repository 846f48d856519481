"""What happens between two rollouts of a run, a callback an errand.

All are callbacks of Stable-Baselines3, whose ``on_step`` SelfPlayPPO asks once before each rollout. A run
has them in this order, with a user's own before the last two::

    WeightHealth    ends the run where the network no longer gives numbers
    Metrics         figures of speed, of the pool, of the games of self-play
    Stopping        ends the run at its limit or at a signal
    Checkpoints     saves now and then, and asks those that look at a checkpoint:
      Gating          may it join the pool?
      Evaluation      how does it play? Is it the best so far?
"""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, EventCallback

from mancala_env.training.config import InvalidConfig, TrainConfig
from mancala_env.training.policy import NotFinite
from mancala_env.training.pool import SnapshotPool
from mancala_env.training.progress_bar import RunProgress
from mancala_env.training.rollout import SelfPlayEnv, SelfPlayPPO, opponent_name
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.run_report import evaluate
from mancala_env.training.schedule import CheckpointTimes, Clock
from mancala_env.training.selfplay_metrics import figures

A_CALLBACK = "a callback"
"""What ended a run that neither its limit nor a signal did."""


class Run:
    """A run under way: what its callbacks share.

    Attributes:
        config: Its configuration.
        folder: Its folder.
        clock: How far it is.
        progress: Where it shows itself.
        stopped_by: What ends it early, such as "SIGINT"; None while it is to go on.
        last_checkpoint: The checkpoint saved last, or gone on from; None before the first.
        said: What is to be said of that checkpoint.
    """

    def __init__(self, config: TrainConfig, folder: RunFolder, clock: Clock, progress: RunProgress) -> None:
        self.config, self.folder, self.clock, self.progress = config, folder, clock, progress
        self.stopped_by: str | None = None
        self.last_checkpoint: Path | None = None
        self.said: list[str] = []

    def is_over(self, environment_steps: int) -> bool:
        """Tell whether it has to end after so many environment steps."""
        return self.stopped_by is not None or self.clock.part_done(environment_steps) >= 1

    def save(self, model: SelfPlayPPO, name: str | None = None) -> Path:
        """Save a checkpoint, and what going on needs beside it; see RunFolder.save."""
        self.last_checkpoint = self.folder.save(model, self.config, self.clock.seconds, name)
        model.keep(self.folder.path)
        return self.last_checkpoint

    def save_if_sound(self, model: SelfPlayPPO) -> None:
        """Save a checkpoint, unless a weight is not finite."""
        if all(torch.isfinite(weights).all() for weights in model.policy.parameters()):
            self.save(model)


class RunCallback(BaseCallback):
    """A callback of a run.

    Attributes:
        run: The run.
    """

    model: SelfPlayPPO  # pyright: ignore[reportIncompatibleVariableOverride]
    training_env: SelfPlayEnv  # pyright: ignore[reportIncompatibleMethodOverride]

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


class WeightHealth(RunCallback):
    """Raise NotFinite as soon as a weight is no number."""

    def _on_step(self) -> bool:
        for name, weights in self.model.policy.named_parameters():
            if not torch.isfinite(weights).all():
                raise NotFinite(f"weight {name} is not finite")
        return True


class Metrics(RunCallback):
    """Log the figures of speed, of the pool and of the games of self-play, and show how far the run is."""

    def _on_training_start(self) -> None:
        self._steps_before = self.model.num_timesteps
        self._seconds_before = self.run.clock.seconds

    def _on_step(self) -> bool:
        run, steps = self.run, self.model.num_timesteps
        said = f"{steps:,} environment steps learned from"
        if steps > self._steps_before:  # before the first update there is no speed to tell
            rate = (steps - self._steps_before) / max(1e-9, run.clock.seconds - self._seconds_before)
            self.logger.record("time/environment_steps_per_second", rate)
            said += f", {rate:,.0f}/s"
            spent = self.model.seconds
            for name, seconds in spent.items():
                self.logger.record(f"time/{name}", seconds / max(1e-9, sum(spent.values())))
        for spec, score in self.training_env.pool_scores.items():
            self.logger.record(f"pool/{opponent_name(spec, run.config.pool.opponents)}", score)
        for name, value in figures(self.training_env.statistics.take()).items():
            self.logger.record(name, value)
        run.progress.update(run.clock.part_done(steps), said)
        return True


class Stopping(RunCallback):
    """End the run at its limit, at a signal, or where another callback wants it."""

    def _on_step(self) -> bool:
        return not self.run.is_over(self.model.num_timesteps)


class Checkpoints(EventCallback):
    """Save a checkpoint every so many minutes or environment steps, and ask a callback to look at it.

    Attributes:
        run: The run. Its clock stands still meanwhile, and its `said` is printed at the end.
    """

    model: SelfPlayPPO  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, run: Run, callback: BaseCallback) -> None:
        """Set up the callback; `callback` is the one that is asked."""
        super().__init__(callback)
        self.run = run
        self._times = CheckpointTimes(run.config, run.clock, run.folder.last_steps())

    def _on_step(self) -> bool:
        run, steps = self.run, self.model.num_timesteps
        if run.is_over(steps) or not self._times.is_due(steps):
            return True
        run.save(self.model)
        run.said = []
        with run.clock.pause():
            goes_on = self._on_event()
        run.progress.say(f"{steps:,} environment steps: {', '.join(run.said) or 'saved'}")
        return goes_on


class Gating(RunCallback):
    """Let a checkpoint join the pool if it passes the gate."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._pool = SnapshotPool(run.config, run.folder)

    def _on_step(self) -> bool:
        pool, checkpoint = self._pool, self.run.last_checkpoint
        if not self.run.config.pool.share or checkpoint is None:
            return True
        match = pool.gate(checkpoint)
        self.training_env.set_pool(pool.specs)
        pool.keep(self.training_env.pool_scores)
        self.logger.record("gating/snapshots", len(pool.snapshots))
        if match is not None:
            self.logger.record("gating/win_rate", match.win_rate)
            joined = "joined the pool" if checkpoint in pool.snapshots else "did not join the pool"
            self.run.said.append(f"{joined} with {match.win_rate:.0%} against {Path(match.second).stem}")
        return True


class Evaluation(RunCallback):
    """Play a checkpoint against the configured opponents, and keep it if it is the best so far."""

    def _on_step(self) -> bool:
        run = self.run
        if run.last_checkpoint is not None and run.config.evaluation.checkpoint_games:
            for opponent, rate in measure(run.config, run.folder, run.last_checkpoint).items():
                self.logger.record(f"evaluation/{opponent}", rate)
                run.said.append(f"{rate:.0%} against {opponent}")
        return True


def measure(config: TrainConfig, folder: RunFolder, checkpoint: Path) -> dict[str, float]:
    """Play a checkpoint against the opponents of the evaluation, and keep it as the best if it is.

    Returns:
        Its win rate against each, by spec; without opponents none is the best.
    """
    results = evaluate(config, checkpoint, config.evaluation.checkpoint_games)
    rates = {result.second: result.win_rate for result in results}
    if rates:
        folder.keep_best(checkpoint, sum(rates.values()) / len(rates), config.evaluation.opponents)
    return rates


def callbacks_of(run: Run, own: Sequence[BaseCallback] = ()) -> CallbackList:
    """Return the callbacks of a run, a user's own among them."""
    looking = CallbackList([Gating(run), Evaluation(run)])
    return CallbackList([WeightHealth(run), Metrics(run), *own, Stopping(run), Checkpoints(run, looking)])


def load_callbacks(names: Sequence[str]) -> list[BaseCallback]:
    """Import callbacks and make one of each, without arguments.

    Args:
        names: Such as "my_module:MyCallback"; modules of the present folder are found.

    Raises:
        InvalidConfig: There is no such module or class, or it is no callback of Stable-Baselines3.
    """
    return [_load_callback(name) for name in names]


def _load_callback(name: str) -> BaseCallback:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InvalidConfig(f"--callbacks must name module:Class, such as my_module:MyCallback, not {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidConfig(f"--callbacks {name}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not (isinstance(kind, type) and issubclass(kind, BaseCallback)):
        raise InvalidConfig(f"--callbacks {name}: it is no subclass of stable_baselines3's BaseCallback")
    try:
        return kind()  # type: ignore[call-arg]
    except TypeError as error:
        raise InvalidConfig(f"--callbacks {name}: it cannot be made without arguments ({error})") from error
