"""Self-play with RLlib's PPO, on a Ray cluster or in processes. See docs/guides/cluster.md."""

import math
import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

# Ray reads it when it is imported.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import torch
from rich.console import Console

from mancala_env._util.command_line import in_one_line
from mancala_env.evaluation import ray_matches
from mancala_env.networks.checkpoint import IDENTITY_MEMBER, InvalidCheckpoint, read_identity
from mancala_env.training.config import CONFIG_FILE, InvalidConfig, read_config
from mancala_env.training.loggers import logger_of
from mancala_env.training.progress_bar import RunProgress, say
from mancala_env.training.rllib.algorithm import SHARED, algorithm_config
from mancala_env.training.rllib.cluster_config import RayConfig
from mancala_env.training.run import TrainingDiverged, check_agents, newest_checkpoint, stop_on_signals
from mancala_env.training.run_folder import FINAL, RunFolder, RunFolderError, identity_of, write_atomically
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
        try:
            learned = read_learned(checkpoint) if checkpoint else None
        except InvalidCheckpoint as error:
            raise RunFolderError(f"cannot resume from {checkpoint}: {error}") from error
        seconds = learned.progress.seconds if learned else 0.0
        self._rates = LearningRate.of(config.ppo)
        rate = self._rates.at(Clock(config, seconds).part_done(self.steps))
        left = config.environment_steps and max(1, config.environment_steps - self.steps)
        settings = algorithm_config(config, config.seed_after(self.steps), rate, left)
        self._algorithm: Any = settings.build_algo()
        if learned is not None:
            group = self._algorithm.learner_group
            group.set_weights({SHARED: {name: value.numpy() for name, value in learned.weights.items()}})
            self._algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=group)
        self.clock = Clock(config, seconds)  # starting the processes does not count

    def close(self) -> None:
        """Stop runners and learners."""
        self._algorithm.stop()
        # RLlib makes a folder in ~/ray_results, and nothing writes to it.
        with suppress(OSError):
            Path(self._algorithm.logdir).rmdir()

    def train(self, progress: RunProgress) -> None:
        """Train until the run's end or a signal."""
        self._folder.forget_figures_after(self.steps)
        steps_before, seconds_before = self.steps, self.clock.seconds
        times = CheckpointTimes(self._config, self.clock, self._folder.last_steps())
        with closing(logger_of(self._folder)) as logger:
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
        path = self._folder.path / (name or f"checkpoints/{self.steps:010d}.zip")
        rate = self._rates.at(self.clock.part_done(self.steps))
        learned = Learned(self.weights(), {}, rate, ProgressMade(self.clock.seconds, 0))
        identity = identity_of(self._config, self.steps).to_json().encode()
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for member, content in (learned.members() | {IDENTITY_MEMBER: identity}).items():
                archive.writestr(member, content)
        write_atomically(path, packed.getvalue())
        self.last_checkpoint = path
        return path


def train(config: RayConfig, folder: RunFolder, console: Console, resume: bool = False) -> ClusterRun:
    """Train until the run's end or a signal, and save; Ray is running."""
    with folder.locked():
        checkpoint = newest_checkpoint(config, folder, console) if resume else None
        torch.set_num_threads(max(1, config.threads))
        with closing(ClusterRun(config, folder, checkpoint)) as run:
            write_atomically(folder.path / CONFIG_FILE, config.to_yaml().encode())
            folder.note_start()
            line = f"Training {config.game.name} for {config.limit_in_words}; results in {folder.path}"
            say(console, line)
            with RunProgress(console) as progress, stop_on_signals(run):
                run.train(progress)
                run.save(FINAL)
        return run


@in_one_line("rllib_train.py", "checkpoints are whole")
def main(arguments: list[str] | None = None, program: str = "rllib_train.py") -> int:
    """Train as the command line says; returns the exit status."""
    console = Console()
    config, resumed = read_config(arguments, RayConfig, program)
    check_agents(config, resumed)
    with started_ray(config):
        folder = RunFolder.create(config) if resumed is None else RunFolder(resumed)
        run = train(config, folder, console, resume=resumed is not None)
    if run.stopped_by:
        line = f"Ended early by {run.stopped_by}; resume with --resume {folder.path}"
        say(console, line)
    report(config, folder, folder.path / FINAL, console)
    return 0
