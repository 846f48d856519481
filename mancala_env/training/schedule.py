"""Schedules of a run: its clock, its checkpoints and its learning rate."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mancala_env.training.config import TrainConfig
from mancala_env.training.config_groups import PPOConfig


class Clock:
    """Measures the finished part of a run, by environment steps or by minutes, whichever is larger.

    It starts after `seconds_before` seconds of training before the run was resumed. `now` returns the time
    in seconds; None is the clock of the configuration.
    """

    def __init__(
        self, config: TrainConfig, seconds_before: float, now: Callable[[], float] | None = None
    ) -> None:
        self._config = config
        self.seconds_before = seconds_before
        self._now = now or (time.process_time if config.clock == "cpu" else time.monotonic)
        self._started = self._now()
        self._paused = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of training, including earlier starts of the run and excluding pauses."""
        return self.seconds_before + self._now() - self._started - self._paused

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Pause the clock, in a with statement."""
        start = self._now()
        try:
            yield
        finally:
            self._paused += self._now() - start

    def part_done(self, environment_steps: int) -> float:
        """Return the finished part of the run, 0 to 1."""
        limit = self._config.environment_steps
        by_steps = environment_steps / limit if limit else 0.0
        by_time = self.seconds / (60 * self._config.minutes) if self._config.minutes else 0.0
        return min(1.0, max(by_steps, by_time))


class CheckpointTimes:
    """Reports when checkpoints are due: at intervals of minutes or of environment steps."""

    def __init__(self, config: TrainConfig, clock: Clock, last_steps: int) -> None:
        """Start now; the last checkpoint was saved after `last_steps` environment steps."""
        self._clock = clock
        self._seconds, self._steps = 60 * config.checkpoint_minutes, config.checkpoint_steps
        self._next, self._last = clock.seconds + self._seconds, last_steps

    def is_due(self, environment_steps: int) -> bool:
        """Return whether a checkpoint is due after `environment_steps`; True once for each checkpoint.

        With an interval of steps, a checkpoint is due at the first call at or after each multiple of it, even
        if the run was interrupted.
        """
        if self._steps is not None:
            is_due = environment_steps // self._steps > self._last // self._steps
            self._last = environment_steps if is_due else self._last
            return is_due
        late = self._clock.seconds - self._next
        if late < 0:
            return False
        # Times that have passed meanwhile, as in a distillation, are not made up for.
        self._next += self._seconds * (1 + late // self._seconds) if self._seconds else 0
        return True


@dataclass(frozen=True)
class LearningRate:
    """A learning rate that changes linearly, from the start of a run or a resumed run to its end.

    At the start, the part `done_before` of the run is finished, 0 to 1.
    """

    start: float
    final: float
    done_before: float = 0.0

    @classmethod
    def of(cls, ppo: PPOConfig) -> "LearningRate":
        """Return the schedule of a new run."""
        return cls(ppo.learning_rate, ppo.final_learning_rate)

    @classmethod
    def resumed(cls, ppo: PPOConfig, before: PPOConfig, rate: float, done: float) -> "LearningRate":
        """Return the schedule of a run that resumes after a finished part `done`, 0 to 1.

        It starts at the rate of the last update, or at the initial rate if the settings changed.
        """
        new = cls.of(ppo)
        return cls(rate if new == cls.of(before) else new.start, new.final, min(done, 1.0))

    def __call__(self, progress_remaining: float) -> float:
        """Return the rate, given the part of the run that is left, as Stable-Baselines3 asks for it."""
        return self.at(1 - progress_remaining)

    def at(self, done: float) -> float:
        """Return the rate after a finished part `done` of the run, 0 to 1."""
        if self.done_before >= 1:
            return self.final
        part = max(0.0, (done - self.done_before) / (1 - self.done_before))
        return self.start + part * (self.final - self.start)
