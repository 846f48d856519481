"""Train an agent by self-play: one command, one configuration, one folder of results.

python training/train.py --config configs/layli_goobalay.yaml
python training/train.py --config configs/leyla.yaml --minutes 30 --network.hidden 128
python training/train.py --resume runs/leyla --minutes 60
"""

import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import LinearSchedule

from mancala_env import agents, observation
from mancala_env.agents.checkpoint import read_identity
from mancala_env.engine.threads import default_num_threads
from mancala_env.errors import MancalaError
from mancala_env.learning.config import CONFIG_FILE, InvalidConfig, TrainConfig, read_config
from mancala_env.learning.distillation import distill, is_distillation_ahead
from mancala_env.learning.policy import NotFinite, SelfPlayPolicy
from mancala_env.learning.pool import SnapshotPool
from mancala_env.learning.progress import RunProgress
from mancala_env.learning.report import evaluate, report
from mancala_env.learning.run_folder import (
    FINAL,
    METRICS,
    Events,
    JsonLines,
    RunFolder,
    RunFolderError,
    write_atomically,
)
from mancala_env.learning.selfplay import SelfPlayBuffer, SelfPlayEnv, SelfPlayPPO, opponent_name
from mancala_env.programs import in_one_line
from mancala_env.rulesets import Ruleset

# Signals that end a run early; each the first time only, so that a second one ends the process.
_STOPPING = (signal.SIGINT, signal.SIGTERM)


class TrainingDiverged(MancalaError):
    """The network no longer gives finite numbers."""


class Clock:
    """How far a run is, by turns or by minutes, whichever is further."""

    def __init__(self, config: TrainConfig, seconds_before: float) -> None:
        self._config = config
        self._before = seconds_before
        self._started = time.monotonic()
        self._paused = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of training, earlier starts of the run included, pauses left out."""
        return self._before + time.monotonic() - self._started - self._paused

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stand still while something other than training goes on."""
        start = time.monotonic()
        try:
            yield
        finally:
            self._paused += time.monotonic() - start

    def part_done(self, turns: int) -> float:
        """Return the part of the run that is done, 0 to 1."""
        by_turns = turns / self._config.turns if self._config.turns else 0.0
        by_time = self.seconds / (60 * self._config.minutes) if self._config.minutes else 0.0
        return min(1.0, max(by_turns, by_time))


class ScheduledPPO(SelfPlayPPO):
    """SelfPlayPPO whose schedules follow a clock.

    Attributes:
        seconds_trained: Seconds of training so far; saved in checkpoints.
    """

    seconds_trained: float = 0.0

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "clock"]

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        self._current_progress_remaining = 1.0 - self.clock.part_done(num_timesteps)  # type: ignore[attr-defined]


class RunCallback(BaseCallback):
    """What happens between two rollouts: figures, checkpoints, and the decision whether to go on."""

    def __init__(self, config: TrainConfig, folder: RunFolder, clock: Clock, progress: RunProgress) -> None:
        super().__init__()
        self.stopped_by: str | None = None
        self.last_checkpoint: Path | None = None
        self._config, self._folder, self._clock, self._progress = config, folder, clock, progress
        self._pool = SnapshotPool(config, folder)
        self._next_checkpoint = clock.seconds + 60 * config.checkpoint_minutes
        self._turns_before = 0

    def _on_training_start(self) -> None:
        self._turns_before = self.model.num_timesteps
        self._seconds_before = self._clock.seconds

    def _on_step(self) -> bool:
        """Look after the run before each rollout; False ends it."""
        turns = self.model.num_timesteps
        self._check_weights()
        self.model.seconds_trained = self._clock.seconds  # type: ignore[attr-defined]
        done = self._clock.part_done(turns)
        rate = (turns - self._turns_before) / max(1e-9, self._clock.seconds - self._seconds_before)
        self.logger.record("time/turns_per_second", rate)
        spent: dict[str, float] = self.model.seconds  # type: ignore[attr-defined]
        for name, seconds in spent.items():
            self.logger.record(f"time/{name}", seconds / max(1e-9, sum(spent.values())))
        for spec, score in self.training_env.pool_scores.items():  # type: ignore[attr-defined]
            self.logger.record(f"pool/{opponent_name(spec, self._config.pool.opponents)}", score)
        self._progress.update(done, f"{turns:,} turns learned, {rate:,.0f}/s")
        if self.stopped_by or done >= 1:
            return False
        if self._clock.seconds >= self._next_checkpoint:
            self._next_checkpoint += 60 * self._config.checkpoint_minutes
            with self._clock.pause():
                self._checkpoint(turns)
        return True

    def _checkpoint(self, turns: int) -> None:
        """Save, let the snapshot join the pool, and measure it."""
        path = self._folder.save(self.model, self._config)  # type: ignore[arg-type]
        self.last_checkpoint = path
        said = self._renew_pool(path) if self._config.pool.share else []
        if self._config.evaluation.checkpoint_games:
            for result in evaluate(self._config, path, self._config.evaluation.checkpoint_games):
                self.logger.record(f"evaluation/{result.second}", result.win_rate)
                said.append(f"{result.win_rate:.0%} against {result.second}")
        self._progress.say(f"{turns:,} turns: {', '.join(said) or 'saved'}")

    def _renew_pool(self, checkpoint: Path) -> list[str]:
        """Let a checkpoint join the pool if it may; returns what there is to say about it."""
        pool = self._pool
        match = pool.admit(checkpoint)
        env: SelfPlayEnv = self.training_env  # type: ignore[assignment]
        env.set_pool(pool.specs)
        pool.keep(env.pool_scores)
        self.logger.record("promotion/snapshots", len(pool.snapshots))
        if match is None:
            return []
        self.logger.record("promotion/win_rate", match.win_rate)
        joined = "joined the pool" if checkpoint in pool.snapshots else "did not join the pool"
        return [f"{joined} with {match.win_rate:.0%} against {Path(match.second).stem}"]

    def _check_weights(self) -> None:
        for name, weights in self.model.policy.named_parameters():
            if not torch.isfinite(weights).all():
                raise NotFinite(f"weight {name} is not finite")


def check_same_run(config: TrainConfig, checkpoint: Path) -> None:
    """Refuse to go on from a checkpoint whose network or game the configuration does not describe.

    Raises:
        InvalidConfig: They differ; the message names both values.
    """
    identity = read_identity(checkpoint)
    for key, theirs, ours in (
        ("ruleset", identity.ruleset, config.game),
        ("rounds", identity.rounds, config.rounds),
        ("network", identity.network, config.network),
        (
            "version of the observation",
            identity.observation_version,
            observation.version(config.network.observation),
        ),
    ):
        if theirs != ours:
            if isinstance(theirs, Ruleset) and isinstance(ours, Ruleset) and theirs.name != ours.name:
                theirs, ours = theirs.name, ours.name
            raise InvalidConfig(
                f"cannot go on from {checkpoint}: its {key} is {theirs}, the configuration's is {ours}"
            )


def check_device(config: TrainConfig) -> None:
    """Refuse a device that is not here; Stable-Baselines3 would take the CPU instead without a word.

    Raises:
        InvalidConfig: It names the device and what is wrong with it.
    """
    if config.device != "auto":
        try:
            torch.zeros(1, device=config.device)
        except Exception as error:  # each backend of torch has its own
            raise InvalidConfig(
                f"device must be auto, cpu, or a GPU that torch can use, such as cuda, not {config.device!r} "
                f"({str(error).partition(chr(10))[0]})"
            ) from error


def check_agents(config: TrainConfig, resumed: Path | None = None) -> None:
    """Make every agent the configuration names once, so that a wrong one is found before the training.

    A run's folder may come from somebody else, so none that runs a file is taken from there.

    Args:
        config: The configuration.
        resumed: Folder of the run that it was read from; None: the user's own words.

    Raises:
        MancalaError: It says what would be right.
    """
    pool = config.pool.opponents if config.pool.share else []
    teacher = [config.teacher.spec] if config.teacher.positions else []
    for spec in (*pool, *teacher, *config.evaluation.opponents):
        if resumed is not None and agents.Spec.parse(spec).runs_code:
            raise InvalidConfig(f"{resumed} names {spec}; a run that is resumed runs no file that it names")
        agents.make(spec, config.game, num_threads=1)


def make_env(config: TrainConfig, folder: RunFolder, seed: int) -> SelfPlayEnv:
    """Set up the games of a run."""
    pool = SnapshotPool(config, folder)
    return SelfPlayEnv(
        config.game,
        config.network.observation,
        config.selfplay.games,
        rounds=config.rounds,
        reward=config.selfplay.reward,
        opening_turns=config.selfplay.opening_turns,
        opening_share=config.selfplay.opening_share,
        pool=pool.specs,
        pool_scores=pool.scores,
        pool_share=config.pool.share,
        pool_priority=config.pool.priority,
        seed=seed,
        num_threads=config.threads or default_num_threads(),
    )


def make_model(config: TrainConfig, env: SelfPlayEnv, checkpoint: Path | None) -> ScheduledPPO:
    """Make the learner anew, or as a checkpoint left it (which unpickles: resume only your own runs)."""
    ppo = config.ppo
    settings: dict[str, Any] = {
        "learning_rate": LinearSchedule(ppo.learning_rate, ppo.final_learning_rate, 1.0),
        "n_steps": ppo.steps,
        "batch_size": ppo.batch_size,
        "n_epochs": ppo.epochs,
        "gamma": ppo.gamma,
        "gae_lambda": ppo.gae_lambda,
        "clip_range": ppo.clip_range,
        "ent_coef": ppo.entropy,
        "vf_coef": ppo.value,
        "max_grad_norm": ppo.max_grad_norm,
    }
    if checkpoint is not None:
        settings["seed"] = config.seed + read_identity(checkpoint).turns
        try:
            return ScheduledPPO.load(checkpoint, env, device=config.device, custom_objects=settings)
        except Exception as error:  # what unpickling a foreign file raises can be anything
            raise RunFolderError(
                f"cannot go on from {checkpoint}, though it may still play: {error or type(error).__name__}; "
                "take it out of the folder to go on from the one before"
            ) from error
    return ScheduledPPO(
        SelfPlayPolicy,
        env,
        rollout_buffer_class=SelfPlayBuffer,
        policy_kwargs={"ruleset": asdict(config.game), "network": asdict(config.network)},
        seed=config.seed,
        device=config.device,
        **settings,
    )


def train(
    config: TrainConfig, folder: RunFolder, console: Console, resume: bool = False
) -> tuple[Path, str | None]:
    """Train until the run's end or a signal.

    Returns:
        The last checkpoint, and the name of the signal that ended the run, if one did.

    Raises:
        RunFolderError: Nothing to resume, or the disk does not take what the run writes.
        TrainingDiverged: The weights stopped being numbers.
    """
    checkpoint = None
    if resume:
        saved, faults = folder.examine()
        if not saved:
            why = f": {'; '.join(faults)}" if faults else ""
            raise RunFolderError(f"{folder.path} holds no checkpoint to resume from{why}")
        for fault in faults:
            console.print(f"Left out: {fault}", highlight=False, markup=False, soft_wrap=True)
        folder.clear()
        checkpoint = saved[-1]
        check_same_run(config, checkpoint)
        write_atomically(folder.path / CONFIG_FILE, config.to_yaml().encode())
    torch.set_num_threads(config.threads or default_num_threads())
    turns_before = read_identity(checkpoint).turns if checkpoint else 0
    env = make_env(config, folder, config.seed + turns_before)
    model = make_model(config, env, checkpoint)
    env.reset()
    env.step(env.action_masks().argmax(axis=1))  # compiles what is not compiled yet, before the clock starts
    clock = Clock(config, model.seconds_trained)
    model.clock = clock  # type: ignore[attr-defined]
    model.set_logger(
        Logger(
            str(folder.path),
            [Events(folder.path), JsonLines(folder.path / METRICS)],
        )
    )
    folder.note_start()
    if checkpoint is not None:
        line = f"Going on from {checkpoint} after {turns_before:,} turns."
        console.print(line, highlight=False, soft_wrap=True)
    with RunProgress(console) as progress:
        callback = RunCallback(config, folder, clock, progress)
        callback.last_checkpoint = checkpoint
        with stop_on_signals(callback):
            try:
                # The callback ends the run; no number of steps does.
                if is_distillation_ahead(config.teacher, folder, turns_before):
                    network: torch.nn.Module = model.policy.network  # type: ignore[assignment]
                    distill(network, config.teacher, config, model.logger, progress, callback)
                    model.seconds_trained = clock.seconds
                    if not callback.stopped_by:
                        callback.last_checkpoint = folder.save(model, config)
                model.learn(sys.maxsize, callback, reset_num_timesteps=checkpoint is None)
            except NotFinite as error:
                raise TrainingDiverged(
                    f"after {model.num_timesteps:,} turns {error}; the last good checkpoint is "
                    f"{callback.last_checkpoint or 'none'}; try a lower ppo.learning_rate"
                ) from error
            except RunFolderError:
                with suppress(RunFolderError):  # what cannot be written may be the log alone
                    folder.save(model, config)
                raise
            finally:
                model.logger.close()
    return folder.save(model, config, FINAL), callback.stopped_by


def train_or_go_on(config: TrainConfig, console: Console) -> tuple[RunFolder, Path, str | None]:
    """Train in the folder of the configuration's name, from where an earlier start of it stopped, if one did.

    Returns:
        The run's folder, and what :func:`train` returns.

    Raises:
        RunFolderError, TrainingDiverged: As :func:`train`.
        InvalidConfig: The folder holds a run of another network or game.
    """
    place = Path(config.folder) / str(config.name)
    run = RunFolder(place) if place.is_dir() else RunFolder.create(config)
    checkpoint, stopped_by = train(config, run, console, resume=bool(run.saved()))
    return run, checkpoint, stopped_by


@contextmanager
def stop_on_signals(run: Any) -> Iterator[None]:
    """Set `run.stopped_by` to the name of the first SIGINT or SIGTERM; a second one acts as usual."""
    before = {}

    def stop(number: int, _: FrameType | None) -> None:
        run.stopped_by = signal.Signals(number).name
        for each, handler in before.items():
            signal.signal(each, handler)

    for each in _STOPPING:
        before[each] = signal.signal(each, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@in_one_line("mancala train", "checkpoints are whole")
def main(arguments: list[str] | None = None, program: str = "mancala train") -> int:
    """Train as the command line says; returns the exit status."""
    console = Console()
    warnings.filterwarnings("ignore", message=".*GPU.*", module="stable_baselines3")
    config, resumed = read_config(arguments)
    check_device(config)
    check_agents(config, resumed)
    folder = RunFolder.create(config) if resumed is None else RunFolder(resumed)
    limit = f"{config.minutes:g} minutes" if config.minutes else f"{config.turns:,} turns"
    console.print(
        f"Training on {config.game.title} ({config.ruleset}) for {limit}; results in {folder.path}. "
        "Ctrl-C ends the run early and keeps what it learned.",
        highlight=False,
        soft_wrap=True,
    )
    checkpoint, stopped_by = train(config, folder, console, resume=resumed is not None)
    if stopped_by:
        line = f"Ended early by {stopped_by}; go on with --resume {folder.path}"
        console.print(line, highlight=False, soft_wrap=True)
    report(config, folder, checkpoint, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
