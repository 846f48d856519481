"""Train the same agent by the same self-play on a Ray cluster, or on one machine with several processes.

python training/rllib_train.py --config configs/rllib.yaml
python training/rllib_train.py --config configs/leyla.yaml --address auto --num_env_runners 32
python training/rllib_train.py --resume runs/rllib --minutes 60

docs/cluster.md says how to start a cluster.
"""

import json
import logging
import math
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

# Ray reads it when it is imported.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import torch
from rich.console import Console
from stable_baselines3.common.logger import Logger

from mancala_env import observation
from mancala_env.agents.checkpoint import (
    IDENTITY_MEMBER,
    WEIGHTS_MEMBER,
    WEIGHTS_PREFIX,
    Identity,
)
from mancala_env.agents.network import build_network
from mancala_env.arena import on_ray
from mancala_env.engine.threads import default_num_threads
from mancala_env.errors import MancalaError
from mancala_env.learning.config import CONFIG_FILE, InvalidConfig, TrainConfig, read_config
from mancala_env.learning.distillation import distill, is_distillation_ahead
from mancala_env.learning.loop import Clock, TrainingDiverged, check_agents, check_same_run, stop_on_signals
from mancala_env.learning.policy import NotFinite
from mancala_env.learning.pool import SnapshotPool
from mancala_env.learning.progress import RunProgress
from mancala_env.learning.report import evaluate, report
from mancala_env.learning.rllib.selfplay import (
    POOL,
    SHARED,
    SelfPlayLearner,
    SelfPlayRunner,
    always_shared,
    module_spec,
)
from mancala_env.learning.run_folder import (
    FINAL,
    METRICS,
    Events,
    JsonLines,
    RunFolder,
    RunFolderError,
    versions,
    write_atomically,
)
from mancala_env.learning.selfplay import opponent_name
from mancala_env.programs import in_one_line

# After mancala_env.learning.rllib.selfplay, which says how to install it.
import ray  # isort: skip
from ray.rllib.algorithms.ppo import PPOConfig  # isort: skip

_PROGRESS_FILE = "progress.json"
# Machines of a cluster can be replaced within this.
_MOST_IDLE_SECONDS = 600
# Warnings of RLlib 2.60 about its own defaults and code, and pages of numbers where a run diverges.
_KNOWN_WARNINGS = (
    "You are running PPO on the new API stack!",
    "DeprecationWarning: `RLModule(config=",
    "Install gputil",
    "Gradients Parameter containing:",
    "Setting `nan/inf` gradients to zero.",
)


class RunnersLost(MancalaError):
    """Nobody plays any more."""


@dataclass
class RayConfig(TrainConfig):
    """A run on Ray: everything in TrainConfig, and where it runs.

    `selfplay.games` is the number of games of all environment runners together, and `ppo.batch_size` the
    minibatch of all learners together, so a run learns the same on few machines and on many. `threads`
    are those of the process that is started here; `device` does not count: GPUs go to learners and
    runners by number.

    Attributes:
        address: null starts Ray on this machine and stops it at the end; "auto" joins the cluster this
            machine belongs to, "HOST:6379" or "ray://HOST:10001" another one.
        num_cpus: CPUs that Ray started here may use; null takes all cores.
        object_store_mb: Its shared memory in MiB; null lets Ray choose.
        num_env_runners: Processes that play, on any machine of the cluster; 0 plays in this one.
        num_envs_per_env_runner: Games of each, in place of an equal share of `selfplay.games`.
        num_cpus_per_env_runner: CPUs that each one takes, and threads of its engine.
        num_gpus_per_env_runner: GPUs, or part of one, that each one takes.
        num_learners: Processes that learn, their gradients averaged; 0 learns in this one.
        num_gpus_per_learner: GPUs of each learner; 0 learns on the CPU.
    """

    address: str | None
    num_cpus: int | None
    object_store_mb: int | None
    num_env_runners: int
    num_envs_per_env_runner: int | None
    num_cpus_per_env_runner: int
    num_gpus_per_env_runner: float
    num_learners: int
    num_gpus_per_learner: float

    @property
    def games_per_runner(self) -> int:
        """Games of one environment runner."""
        return self.num_envs_per_env_runner or self.selfplay.games // max(1, self.num_env_runners)

    @property
    def turns_per_update(self) -> int:
        """Turns that one update learns from."""
        return self.ppo.steps * self.games_per_runner * max(1, self.num_env_runners)

    @property
    def resources(self) -> dict[str, float]:
        """What environment runners and learners take, by Ray's names."""
        return {
            "CPU": self.num_env_runners * self.num_cpus_per_env_runner + self.num_learners,
            "GPU": self.num_env_runners * self.num_gpus_per_env_runner
            + max(1, self.num_learners) * self.num_gpus_per_learner,
        }

    def _check(self) -> None:
        super()._check()
        for key, low in (
            ("num_cpus", 1),
            ("object_store_mb", 75),  # Ray's own limit
            ("num_env_runners", 0),
            ("num_envs_per_env_runner", 1),
            ("num_cpus_per_env_runner", 1),
            ("num_gpus_per_env_runner", 0),
            ("num_learners", 0),
            ("num_gpus_per_learner", 0),
        ):
            value = getattr(self, key)
            if value is not None and value < low:
                raise InvalidConfig(f"{key} must be at least {low}, not {value}")
        if self.games_per_runner < 1:
            raise InvalidConfig(
                f"selfplay.games must be at least num_env_runners ({self.num_env_runners}), so that each has "
                f"a game to play, not {self.selfplay.games}"
            )
        if self.turns_per_update < self.ppo.batch_size:
            raise InvalidConfig(
                f"ppo.batch_size must be at most the {self.turns_per_update} turns of an update "
                f"(ppo.steps times all games), not {self.ppo.batch_size}"
            )


@contextmanager
def started_ray(config: RayConfig, console: Console) -> Iterator[None]:
    """Start Ray here or join a cluster; leave it, and stop what was started, at the end.

    Raises:
        NoCluster: There is no cluster at the address.
        InvalidConfig: This machine is too small for the run.
    """
    settings: dict[str, Any] = {}
    if config.address is None:
        size = config.object_store_mb
        settings = {
            "num_cpus": config.num_cpus,
            "object_store_memory": size * 2**20 if size else None,
        }
    with on_ray.started_ray(config.address or "local", **settings):
        for name in ("ray", "ray.rllib", "ray.tune"):
            for handler in logging.getLogger(name).handlers:
                handler.addFilter(lambda record: not record.getMessage().startswith(_KNOWN_WARNINGS))
        _check_resources(config, console)
        yield


def _check_resources(config: RayConfig, console: Console) -> None:
    """Say what is missing; Ray would wait for it without a word."""
    there = ray.cluster_resources()
    for name, wanted in config.resources.items():
        if wanted > there.get(name, 0):
            text = (
                f"num_env_runners and num_learners ask for {wanted:g} {name}s, and Ray has "
                f"{there.get(name, 0):g}"
            )
            if config.address is None:
                raise InvalidConfig(f"{text}; ask for fewer, or join a cluster with address")
            console.print(f"{text}; waiting for the cluster to grow", highlight=False)


def algorithm_config(config: RayConfig, seed: int) -> PPOConfig:
    """Return the run as RLlib's PPOConfig."""
    ppo, learners = config.ppo, max(1, config.num_learners)
    settings = {
        "ruleset": asdict(config.game),
        "kind": config.network.observation,
        "rounds": config.rounds,
        "reward": config.selfplay.reward,
        "opening_turns": config.selfplay.opening_turns,
        "opening_share": config.selfplay.opening_share,
        "pool": config.pool.opponents,
        "pool_share": config.pool.share,
        "pool_priority": config.pool.priority,
        "threads": config.num_cpus_per_env_runner,
    }
    return (
        PPOConfig()
        .environment(env=None, env_config=settings)
        .env_runners(
            env_runner_cls=SelfPlayRunner,
            num_env_runners=config.num_env_runners,
            num_envs_per_env_runner=config.games_per_runner,
            num_cpus_per_env_runner=config.num_cpus_per_env_runner,
            num_gpus_per_env_runner=config.num_gpus_per_env_runner,
            rollout_fragment_length=ppo.steps,
            merge_env_runner_states=False,
            broadcast_env_runner_states=False,
        )
        .multi_agent(policies={SHARED}, policy_mapping_fn=always_shared)
        .rl_module(rl_module_spec=module_spec(config.game, config.network))
        .learners(
            learner_class=SelfPlayLearner,
            num_learners=config.num_learners,
            num_gpus_per_learner=config.num_gpus_per_learner,
        )
        .training(
            train_batch_size_per_learner=config.turns_per_update // learners,
            minibatch_size=max(1, ppo.batch_size // learners),
            num_epochs=ppo.epochs,
            lr=ppo.learning_rate,
            gamma=ppo.gamma,
            lambda_=ppo.gae_lambda,
            clip_param=ppo.clip_range,
            entropy_coeff=ppo.entropy,
            vf_loss_coeff=ppo.value,
            vf_clip_param=float("inf"),
            use_kl_loss=False,
            grad_clip=ppo.max_grad_norm,
            grad_clip_by="global_norm",
        )
        .debugging(seed=seed)
    )


class ClusterRun:
    """A run under way.

    Attributes:
        turns: Turns learned from.
        stopped_by: Name of the signal that is to end the run.
        last_checkpoint: The last one written or resumed from.
    """

    def __init__(self, config: RayConfig, folder: RunFolder, resume: bool) -> None:
        """Set up the algorithm, anew or as the run's last state left it."""
        self.turns, seconds = 0, 0.0
        self.stopped_by: str | None = None
        self.last_checkpoint: Path | None = None
        self._idle_since: float | None = None
        self._config, self._folder = config, folder
        self._pool = SnapshotPool(config, folder)
        self._states = folder.path / "rllib"
        state = None
        if resume:
            state = self._last_state()
            progress = json.loads((state / _PROGRESS_FILE).read_text())
            self.turns, seconds = progress["turns"], progress["seconds"]
            self.last_checkpoint = checkpoint = folder.path / progress["checkpoint"]
            check_same_run(config, checkpoint)
        self._algorithm: Any = algorithm_config(config, config.seed + self.turns).build_algo()
        if state is not None:
            self._algorithm.restore_from_path(str(state.resolve()))
            self._renew_pool(self._pool.scores)
        self.clock = Clock(config, seconds)

    def close(self) -> None:
        """Stop runners and learners."""
        self._algorithm.stop()
        # RLlib makes a folder in ~/ray_results, and nothing writes to it.
        with suppress(OSError):
            Path(self._algorithm.logdir).rmdir()

    def train(self, progress: RunProgress) -> None:
        """Train until the run's end or a signal."""
        config, clock = self._config, self.clock
        logger = Logger(
            str(self._folder.path),
            [
                Events(self._folder.path),
                JsonLines(self._folder.path / METRICS),
            ],
        )
        turns_before, seconds_before = self.turns, clock.seconds
        next_checkpoint = clock.seconds + 60 * config.checkpoint_minutes
        try:
            if is_distillation_ahead(config.teacher, self._folder, self.turns):
                self._distill(logger, progress)
            while not self.stopped_by and (done := clock.part_done(self.turns)) < 1:
                if clock.seconds >= next_checkpoint:
                    next_checkpoint += 60 * config.checkpoint_minutes
                    with clock.pause():
                        self._report_checkpoint(self.save(), logger, progress)
                self._update(done, logger)
                rate = (self.turns - turns_before) / max(1e-9, clock.seconds - seconds_before)
                logger.record("time/turns_per_second", rate)
                logger.dump(self.turns)
                progress.update(done, f"{self.turns:,} turns learned, {rate:,.0f}/s")
        finally:
            logger.close()

    def _distill(self, logger: Logger, progress: RunProgress) -> None:
        """Copy a search before self-play, on this machine; see :mod:`mancala_env.learning.distillation`."""
        config, algorithm = self._config, self._algorithm
        network = build_network(config.game, config.game.num_actions(config.rounds), config.network)
        weights = self._weights()
        network.load_state_dict({name.removeprefix(WEIGHTS_PREFIX): weights[name] for name in weights})
        distill(network, config.teacher, config, logger, progress, self)
        distilled = {WEIGHTS_PREFIX + name: value.numpy() for name, value in network.state_dict().items()}
        algorithm.learner_group.set_weights({SHARED: distilled})
        algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)
        if not self.stopped_by:
            self.save()

    def _update(self, done: float, logger: Logger) -> None:
        """Play, learn and hand the weights round, once."""
        ppo = self._config.ppo
        rate = ppo.learning_rate + done * (ppo.final_learning_rate - ppo.learning_rate)
        self._algorithm.learner_group.foreach_learner(partial(_set_learning_rate, rate=rate))
        try:
            figures = self._algorithm.train()
            played = figures["env_runners"]
            # RLlib says not a number, or nothing at all, where no runner answered.
            turns = float(played.get("num_env_steps_sampled", math.nan))
            if math.isnan(turns):
                self._wait_for_runners()
                return
            self._idle_since = None
            self.turns += int(turns)
            learned = figures["learners"][SHARED]
            self._check_finite(float(learned["total_loss"]))
            self._note_scores(played.get(POOL, {}), logger)
        except NotFinite as error:
            raise TrainingDiverged(
                f"after {self.turns:,} turns {error}; the last good checkpoint is "
                f"{self.last_checkpoint or 'none'}; try a lower ppo.learning_rate"
            ) from error
        logger.record("rollout/games", float(played["num_episodes"]))
        for name, key in (
            ("policy_gradient_loss", "policy_loss"),
            ("value_loss", "vf_loss"),
            ("explained_variance", "vf_explained_var"),
            ("entropy", "entropy"),
            ("gradient_norm", "gradients_default_optimizer_global_norm"),
        ):
            logger.record(f"train/{name}", float(learned[key]))
        logger.record("train/learning_rate", rate)
        for name, key in (("playing", "env_runner_sampling_timer"), ("learning", "learner_update_timer")):
            logger.record(f"time/{name}_seconds", float(figures["timers"][key]))

    def _wait_for_runners(self) -> None:
        """Give RLlib time to start runners again: all of them are gone."""
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        if now - self._idle_since > _MOST_IDLE_SECONDS:
            raise RunnersLost(
                f"no environment runner has answered for {_MOST_IDLE_SECONDS} seconds; the last checkpoint "
                f"is {self.last_checkpoint or 'none'}; what ended them stands in the logs of Ray, in "
                "/tmp/ray/session_latest/logs"
            )
        time.sleep(1)

    def _check_finite(self, loss: float) -> None:
        """Raise NotFinite where numbers ran away. RLlib turns gradients that are not finite into zeros."""
        if not math.isfinite(loss):
            raise NotFinite("the loss is not finite")
        for name, value in self._weights().items():
            if not torch.isfinite(value).all():
                raise NotFinite(f"weight {name} is not finite")

    def _weights(self) -> dict[str, torch.Tensor]:
        weights = self._algorithm.learner_group.get_weights([SHARED])[SHARED]
        return {name: torch.as_tensor(value) for name, value in weights.items()}

    def _report_checkpoint(self, path: Path, logger: Logger, progress: RunProgress) -> None:
        """Let the snapshot join the pool if it may, and measure it."""
        said = []
        match = self._pool.admit(path)
        if match is not None:
            logger.record("promotion/win_rate", match.win_rate)
        self._renew_pool()
        if self._config.evaluation.checkpoint_games:
            for result in evaluate(self._config, path, self._config.evaluation.checkpoint_games):
                logger.record(f"evaluation/{result.second}", result.win_rate)
                said.append(f"{result.win_rate:.0%} against {result.second}")
        progress.say(f"{self.turns:,} turns: {', '.join(said) or 'saved'}")

    def _renew_pool(self, scores: dict[str, float] | None = None) -> None:
        """Send the pool's snapshots to the runners; `scores`, by spec, where they have none of their own."""
        pool = self._config.pool
        if not pool.share:
            return
        self._pool.keep(self._pool.scores)
        snapshots = {file.name: file.read_bytes() for file in self._pool.snapshots}
        paths = {str(file): file.name for file in self._pool.snapshots}
        known = {paths.get(spec, spec): score for spec, score in (scores or {}).items()}
        self._algorithm.env_runner_group.foreach_env_runner(
            partial(SelfPlayRunner.set_pool, specs=pool.opponents, snapshots=snapshots, scores=known),
            local_env_runner=not self._config.num_env_runners,
        )

    def _note_scores(self, by_place: dict[str, dict[str, float]], logger: Logger) -> None:
        """Log the learner's score against each opponent of the pool, the mean of the runners'."""
        pool = self._config.pool
        for place, spec in enumerate(dict.fromkeys(self._pool.specs) if pool.share else []):
            scores = [float(score) for score in by_place.get(str(place), {}).values()]
            # RLlib goes on naming runners that are gone, whose score is then no number.
            scores = [score for score in scores if math.isfinite(score)]
            if scores:
                self._pool.scores[spec] = sum(scores) / len(scores)
                logger.record(f"pool/{opponent_name(spec, pool.opponents)}", self._pool.scores[spec])

    def save(self, name: str | None = None) -> Path:
        """Write a checkpoint that plays, and the state RLlib resumes from; return the checkpoint's path.

        Args:
            name: The checkpoint's file in the run's folder; None names it after its turns.

        Raises:
            RunFolderError: It cannot be written; the state before it is still whole.
        """
        number = f"{self.turns:010d}"
        path = self._folder.path / (name or f"checkpoints/{number}.zip")
        write_atomically(path, export(self._weights(), self._config, self.turns))
        self.last_checkpoint = path
        whole, part = self._states / number, self._states / f".{number}.part"
        if whole.exists():
            return path
        progress = {
            "turns": self.turns,
            "seconds": self.clock.seconds,
            "checkpoint": str(path.relative_to(self._folder.path)),
        }
        try:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            self._algorithm.save_to_path(str(part.resolve()))
            write_atomically(part / _PROGRESS_FILE, json.dumps(progress).encode())
            part.rename(whole)
            # One state is enough to resume; it goes last, so that there is one at any moment.
            for other in self._states.iterdir():
                if other != whole:
                    shutil.rmtree(other)
        except OSError as error:
            raise RunFolderError(
                f"cannot write RLlib's state to {part}: {error.strerror or error}"
            ) from error
        return path

    def _last_state(self) -> Path:
        states = sorted(self._states.glob("[0-9]*")) if self._states.is_dir() else []
        if not states:
            raise RunFolderError(
                f"{self._folder.path} holds no state of RLlib to resume from; runs of training/train.py are "
                "resumed by training/train.py"
            )
        return states[-1]


def _set_learning_rate(learner: SelfPlayLearner, rate: float) -> None:
    learner.learning_rate = rate


def export(weights: dict[str, torch.Tensor], config: TrainConfig, turns: int) -> bytes:
    """Pack what RLlib trained as a checkpoint that loads as an opponent.

    Args:
        weights: Those of SelfPlayModule, by name.
        config: The run's configuration.
        turns: Turns learned from.
    """
    assert all(name.startswith(WEIGHTS_PREFIX) for name in weights)
    identity = Identity(
        ruleset=config.game,
        rounds=config.rounds,
        observation_version=observation.version(config.network.observation),
        network=config.network,
        turns=turns,
        config=config.as_dict(),
        versions=versions() | {"ray": ray.__version__},
    )
    packed, tensors = BytesIO(), BytesIO()
    torch.save(weights, tensors)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(WEIGHTS_MEMBER, tensors.getvalue())
        archive.writestr(IDENTITY_MEMBER, identity.to_json())
    return packed.getvalue()


def train(
    config: RayConfig, folder: RunFolder, console: Console, resume: bool = False
) -> tuple[Path, str | None]:
    """Train until the run's end or a signal. Ray is running.

    Returns:
        The last checkpoint, and the name of the signal that ended the run, if one did.

    Raises:
        InvalidConfig: The run to resume is of another game or network.
        RunFolderError: Nothing to resume, or the disk does not take what the run writes.
        TrainingDiverged: The weights stopped being numbers.
    """
    torch.set_num_threads(config.threads or default_num_threads())
    run = ClusterRun(config, folder, resume)
    try:
        folder.note_start()
        if resume:
            line = f"Going on from {run.last_checkpoint} after {run.turns:,} turns."
            console.print(line, highlight=False, soft_wrap=True)
        with RunProgress(console) as progress, stop_on_signals(run):
            run.train(progress)
            return run.save(FINAL), run.stopped_by
    finally:
        run.close()


@in_one_line("rllib_train.py", "checkpoints are whole")
def main(arguments: list[str] | None = None) -> int:
    """Train as the command line says; returns the exit status."""
    console = Console()
    config, resumed = read_config(
        arguments, RayConfig, "rllib_train.py", defaults=("default.yaml", "rllib.yaml")
    )
    check_agents(config, resumed)
    with started_ray(config, console):
        if resumed is None:
            folder = RunFolder.create(config)
        else:
            folder = RunFolder(resumed)
            write_atomically(resumed / CONFIG_FILE, config.to_yaml().encode())
        limit = f"{config.minutes:g} minutes" if config.minutes else f"{config.turns:,} turns"
        console.print(
            f"Training on {config.game.title} ({config.ruleset}) for {limit}, "
            f"{config.num_env_runners or 'no'} environment runners of {config.games_per_runner} games; "
            f"results in {folder.path}. Ctrl-C ends the run early and keeps what it learned.",
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
