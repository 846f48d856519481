"""Self-play with RLlib's PPO, on a Ray cluster or in processes. See docs/guides/cluster.md."""

import math
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from mancala_env._util.command_line import in_one_line
from mancala_env.evaluation import ray_matches
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.config import CONFIG_FILE, InvalidConfig, read_config
from mancala_env.training.loggers import logger_of
from mancala_env.training.progress_bar import RunProgress, say
from mancala_env.training.rllib.algorithm import SHARED, algorithm_config
from mancala_env.training.rllib.cluster_config import RayConfig
from mancala_env.training.run import TrainingDiverged, check_agents, newest_checkpoint, stop_on_signals
from mancala_env.training.run_folder import FINAL, RunFolder, resuming_from, write_atomically
from mancala_env.training.run_report import report
from mancala_env.training.schedule import CheckpointTimes, Clock, LearningRate
from mancala_env.training.training_state import Learned, ProgressMade, read_learned

# Figures of metrics.jsonl, by RLlib's names.
_FIGURES = {
    "policy_loss": "policy_gradient_loss",
    "vf_loss": "value_loss",
    "vf_explained_var": "explained_variance",
    "entropy": "entropy",
    "default_optimizer_learning_rate": "learning_rate",
}


@contextmanager
def started_ray(config: RayConfig) -> Iterator[None]:
    """Start Ray here or join a cluster; leave it, and stop what was started, at the end."""
    settings = {} if config.address else {"num_cpus": config.num_cpus}
    with ray_matches.started_ray(config.address or "local", **settings):
        there = ray_matches.ray.cluster_resources()
        for name, wanted in config.resources.items() if config.address is None else ():
            if wanted > there.get(name, 0):
                raise InvalidConfig(
                    f"num_env_runners and num_learners ask for {wanted:g} {name}s, and Ray has "
                    f"{there.get(name, 0):g}; ask for fewer, or join a cluster with address"
                )
        yield


class ClusterRun:
    """A run in progress.

    Attributes:
        steps: Environment steps learned from.
        clock: Time spent on training.
        stopped_by: Name of the signal that ends the run.
        last_checkpoint: The checkpoint that was saved or resumed last.
    """

    def __init__(self, config: RayConfig, folder: RunFolder, checkpoint: Path | None = None) -> None:
        """Build the algorithm, with the weights of a checkpoint if there is one; nothing is unpickled."""
        self._config, self._folder = config, folder
        self.last_checkpoint, self.stopped_by = checkpoint, None
        self.steps = self._steps_before = read_identity(checkpoint).environment_steps if checkpoint else 0
        with resuming_from(checkpoint):
            learned = read_learned(checkpoint) if checkpoint else None
        self.clock = Clock(config, learned.progress.seconds if learned else 0.0)
        self._rates = LearningRate.of(config.ppo)
        with self.clock.pause():  # starting the processes does not count
            rate = self._rates.at(self.clock.part_done(self.steps))
            left = config.environment_steps and max(1, config.environment_steps - self.steps)
            settings = algorithm_config(config, config.seed_after(self.steps), rate, left)
            self._algorithm: Any = settings.build_algo()
            if learned is not None:
                group = self._algorithm.learner_group
                group.set_weights({SHARED: {name: value.numpy() for name, value in learned.weights.items()}})
                self._algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=group)

    def close(self) -> None:
        """Stop runners and learners."""
        self._algorithm.stop()
        # RLlib makes a folder in ~/ray_results, and nothing writes to it.
        with suppress(OSError):
            Path(self._algorithm.logdir).rmdir()

    def train(self, console: Console) -> None:
        """Train until the run's end or a signal, and save; the folder is locked."""
        config, folder = self._config, self._folder
        write_atomically(folder.path / CONFIG_FILE, config.to_yaml().encode())
        folder.note_start()
        folder.forget_figures_after(self.steps)
        say(console, f"Training {config.game.name} for {config.limit_in_words}; results in {folder.path}")
        steps_before, seconds_before = self.steps, self.clock.seconds
        times = CheckpointTimes(config, self.clock, folder.last_steps())
        with RunProgress(console) as progress, stop_on_signals(self), closing(logger_of(folder)) as logger:
            while not self.stopped_by and (done := self.clock.part_done(self.steps)) < 1:
                if times.is_due(self.steps):
                    self.save()
                    progress.say(f"{self.steps:,} environment steps: saved")
                if (figures := self.update()) is None:
                    time.sleep(1)  # RLlib restarts lost runners
                    continue
                speed = (self.steps - steps_before) / max(1e-9, self.clock.seconds - seconds_before)
                logger.record("time/environment_steps_per_second", speed)
                for key, name in _FIGURES.items():
                    logger.record(f"train/{name}", float(figures[key]))
                logger.dump(self.steps)
                progress.update(done, f"{self.steps:,} environment steps learned from, {speed:,.0f}/s")
            self.save(FINAL)

    def update(self) -> dict[str, Any] | None:
        """Play and learn once; returns RLlib's figures of the module, None if no runner answered."""
        found = self._algorithm.train()
        sampled = float(found["env_runners"].get("num_env_steps_sampled_lifetime", math.nan))
        figures = found.get("learners", {}).get(SHARED)
        if figures is None or not self._steps_before + sampled > self.steps:  # also not a number
            return None
        self.steps = self._steps_before + int(sampled)
        # RLlib replaces gradients that are not finite by zeros, so the loss is checked, too.
        wrong = [] if math.isfinite(figures["total_loss"]) else ["the loss"]
        wrong += [f"weight {name}" for name, value in self.weights().items() if not value.isfinite().all()]
        if wrong:
            raise TrainingDiverged(
                f"after {self.steps:,} environment steps {wrong[0]} is not finite; the last good checkpoint "
                f"is {self.last_checkpoint or 'none'}; try a lower ppo.learning_rate"
            )
        return figures

    def weights(self) -> dict[str, torch.Tensor]:
        """Return the weights of the module, by name."""
        weights = self._algorithm.learner_group.get_weights([SHARED])
        return {name: torch.as_tensor(value) for name, value in weights[SHARED].items()}

    def save(self, name: str | None = None) -> Path:
        """Write a checkpoint in the package's format; None names it after its environment steps."""
        rate = self._rates.at(self.clock.part_done(self.steps))
        members = Learned(self.weights(), {}, rate, ProgressMade(self.clock.seconds, 0)).members()
        self.last_checkpoint = self._folder.write_checkpoint(self._config, self.steps, members, name)
        return self.last_checkpoint


@in_one_line("rllib_train.py", "checkpoints are whole")
def main(arguments: list[str] | None = None, program: str = "rllib_train.py") -> int:
    """Train as the command line says; returns the exit status."""
    console = Console()
    config, resumed = read_config(arguments, RayConfig, program)
    check_agents(config, resumed)
    with started_ray(config):
        folder = RunFolder.create(config) if resumed is None else RunFolder(resumed)
        with folder.locked():
            checkpoint = newest_checkpoint(config, folder, console) if resumed else None
            torch.set_num_threads(max(1, config.threads))
            with closing(ClusterRun(config, folder, checkpoint)) as run:
                run.train(console)
    if run.stopped_by:
        say(console, f"Ended early by {run.stopped_by}; resume with --resume {folder.path}")
    report(config, folder, folder.path / FINAL, console)
    return 0
