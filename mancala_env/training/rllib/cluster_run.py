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
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

# Ray reads it when it is imported.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import torch
from rich.console import Console
from stable_baselines3.common.logger import Logger

from mancala_env import observations
from mancala_env._util.command_line import in_one_line
from mancala_env.engine.jit.threads import default_num_threads
from mancala_env.errors import MancalaError
from mancala_env.evaluation import ray_matches
from mancala_env.networks.checkpoint import (
    IDENTITY_MEMBER,
    WEIGHTS_PREFIX,
    Identity,
    InvalidCheckpoint,
    read_identity,
)
from mancala_env.networks.policy import build_network
from mancala_env.training.config import CONFIG_FILE, InvalidConfig, TrainConfig, read_command, read_settings
from mancala_env.training.distillation import distill, is_distillation_ahead
from mancala_env.training.hooks import measure
from mancala_env.training.loggers import check_logs, logger_of
from mancala_env.training.parameter_names import RLLIB, renamed
from mancala_env.training.policy import NotFinite
from mancala_env.training.pool import SnapshotPool
from mancala_env.training.progress_bar import RunProgress
from mancala_env.training.rllib.algorithm import (
    OPTIMIZER,
    POOL,
    SELFPLAY,
    SHARED,
    SelfPlayLearner,
    SelfPlayRunner,
    always_shared,
    module_spec,
)
from mancala_env.training.rllib.cluster_config import RayConfig
from mancala_env.training.rollout import opponent_name
from mancala_env.training.run import (
    TrainingDiverged,
    check_agents,
    newest_checkpoint,
    rates_before,
    resume_message,
    stop_on_signals,
)
from mancala_env.training.run_folder import (
    FINAL,
    RunFolder,
    RunFolderError,
    versions,
    write_atomically,
)
from mancala_env.training.run_report import report
from mancala_env.training.schedule import CheckpointTimes, Clock, LearningRate
from mancala_env.training.selfplay_metrics import figures as selfplay_figures
from mancala_env.training.training_state import (
    OPTIMIZER_MEMBER,
    Learned,
    ProgressMade,
    members,
    read_learned,
    read_weights,
)

# After mancala_env.training.rllib.algorithm, which says how to install it.
import ray  # isort: skip
from ray.rllib.algorithms.ppo import PPOConfig  # isort: skip

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
    with ray_matches.started_ray(config.address or "local", **settings):
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
            train_batch_size_per_learner=config.steps_per_update // learners,
            minibatch_size=max(1, ppo.batch_size // learners),
            vf_clip_param=float("inf"),
            use_kl_loss=False,
            grad_clip_by="global_norm",
            **renamed(ppo, RLLIB),
        )
        .debugging(seed=seed)
    )


class ClusterRun:
    """A run under way.

    Attributes:
        steps: Environment steps learned from.
        stopped_by: Name of the signal that is to end the run.
        last_checkpoint: The last one written or resumed from.
    """

    def __init__(self, config: RayConfig, folder: RunFolder, checkpoint: Path | None = None) -> None:
        """Set up the algorithm, anew or with what a checkpoint learned; nothing in that is unpickled."""
        self.steps = 0
        self.stopped_by: str | None = None
        self.last_checkpoint = checkpoint
        self._idle_since: float | None = None
        self._config, self._folder = config, folder
        self._pool = SnapshotPool(config, folder)
        self._rates, self.clock, learned = LearningRate.of(config.ppo), Clock(config, 0.0), None
        if checkpoint is not None:
            self.steps = read_identity(checkpoint).environment_steps
            learned = read_learned_of(checkpoint, folder)
            self.clock = Clock(config, learned.progress.seconds)
            self._rates = LearningRate.going_on(
                config.ppo,
                rates_before(checkpoint, config.ppo),
                learned.learning_rate,
                self.clock.part_done(self.steps),
            )
        self.learning_rate = self._rates.at(self.clock.part_done(self.steps))
        self._algorithm: Any = algorithm_config(config, config.seed_after(self.steps)).build_algo()
        if learned is not None:
            self._put(learned)
            self._renew_pool(self._pool.scores)
        self.clock = Clock(config, self.clock.seconds_before)

    def close(self) -> None:
        """Stop runners and learners."""
        self._algorithm.stop()
        # RLlib makes a folder in ~/ray_results, and nothing writes to it.
        with suppress(OSError):
            Path(self._algorithm.logdir).rmdir()

    def train(self, progress: RunProgress) -> None:
        """Train until the run's end or a signal."""
        config, clock = self._config, self.clock
        self._folder.forget_figures_after(self.steps)
        logger = logger_of(config, self._folder)
        steps_before, seconds_before = self.steps, clock.seconds
        times = CheckpointTimes(config, clock, self._folder.last_steps())
        try:
            if is_distillation_ahead(config.distillation, self._folder, self.steps):
                self._distill(logger, progress)
            while not self.stopped_by and (done := clock.part_done(self.steps)) < 1:
                if times.is_due(self.steps):
                    with clock.pause():
                        self._report_checkpoint(self.save(), logger, progress)
                self._update(done, logger)
                rate = (self.steps - steps_before) / max(1e-9, clock.seconds - seconds_before)
                logger.record("time/environment_steps_per_second", rate)
                logger.dump(self.steps)
                progress.update(done, f"{self.steps:,} environment steps learned from, {rate:,.0f}/s")
        finally:
            logger.close()

    def _distill(self, logger: Logger, progress: RunProgress) -> None:
        """Copy a search before self-play, on this machine; see :mod:`mancala_env.training.distillation`."""
        config, algorithm = self._config, self._algorithm
        network = build_network(config.game, config.game.num_actions(config.rounds), config.network)
        weights = self._weights()
        network.load_state_dict({name.removeprefix(WEIGHTS_PREFIX): weights[name] for name in weights})
        distill(network, config.distillation, config, logger, progress, self)
        distilled = {WEIGHTS_PREFIX + name: value.numpy() for name, value in network.state_dict().items()}
        algorithm.learner_group.set_weights({SHARED: distilled})
        algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)
        if not self.stopped_by:
            self.save()

    def _update(self, done: float, logger: Logger) -> None:
        """Play, learn and hand the weights round, once."""
        self.learning_rate = rate = self._rates.at(done)
        self._algorithm.learner_group.foreach_learner(partial(_set_learning_rate, rate=rate))
        try:
            figures = self._algorithm.train()
            played = figures["env_runners"]
            # RLlib says not a number, or nothing at all, where no runner answered.
            steps = float(played.get("num_env_steps_sampled", math.nan))
            if math.isnan(steps):
                self._wait_for_runners()
                return
            self._idle_since = None
            self.steps += int(steps)
            learned = figures["learners"][SHARED]
            self._check_finite(float(learned["total_loss"]))
            self._note_scores(played.get(POOL, {}), logger)
        except NotFinite as error:
            raise TrainingDiverged(
                f"after {self.steps:,} environment steps {error}; the last good checkpoint is "
                f"{self.last_checkpoint or 'none'}; try a lower ppo.learning_rate"
            ) from error
        logger.record("rollout/games", float(played["num_episodes"]))
        counts = {name: int(count) for name, count in played.get(SELFPLAY, {}).items() if count == count}
        for name, value in selfplay_figures(counts).items() if counts else ():
            logger.record(name, value)
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
        match = self._pool.gate(path)
        if match is not None:
            logger.record("gating/win_rate", match.win_rate)
        self._renew_pool()
        if self._config.evaluation.checkpoint_games:
            for opponent, win_rate in measure(self._config, self._folder, path).items():
                logger.record(f"evaluation/{opponent}", win_rate)
                said.append(f"{win_rate:.0%} against {opponent}")
        progress.say(f"{self.steps:,} environment steps: {', '.join(said) or 'saved'}")

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
        """Write a checkpoint, to play and to go on from; return its path.

        Args:
            name: The checkpoint's file in the run's folder; None names it after its environment steps.

        Raises:
            RunFolderError: It cannot be written.
        """
        path = self._folder.path / (name or f"checkpoints/{self.steps:010d}.zip")
        state = self._algorithm.learner_group.get_state()["learner"]
        moments = state["optimizer"][OPTIMIZER]["state"]["state"]
        learned = Learned(
            weights=self._weights(),
            moments={
                number: {key: torch.as_tensor(value) for key, value in each.items()}
                for number, each in moments.items()
            },
            learning_rate=self.learning_rate,
            progress=ProgressMade(self.clock.seconds, 0),
        )
        write_atomically(path, export(learned, self._config, self.steps))
        self.last_checkpoint = path
        return path

    def _put(self, learned: Learned) -> None:
        """Give learners and runners what a checkpoint learned.

        Raises:
            RunFolderError: It is of another network.
        """
        config, algorithm = self._config, self._algorithm
        network = build_network(config.game, config.game.num_actions(config.rounds), config.network)
        learned = replace(
            learned,
            weights={name.removeprefix(WEIGHTS_PREFIX): value for name, value in learned.weights.items()},
        )
        optimizer = torch.optim.Adam(network.parameters())
        try:
            learned.put_into(network, optimizer)
        except InvalidCheckpoint as error:
            raise RunFolderError(f"cannot resume from {self.last_checkpoint}: {error}") from error
        state = algorithm.learner_group.get_state()
        learner = state["learner"]
        learner["weights_seq_no"] = 0  # as if they were the newest
        learner["rl_module"] = {
            SHARED: {WEIGHTS_PREFIX + name: value.numpy() for name, value in network.state_dict().items()}
        }
        learner["optimizer"][OPTIMIZER]["state"]["state"] = {
            number: {key: value.numpy() for key, value in each.items()}
            for number, each in learned.moments.items()
        }
        algorithm.learner_group.set_state(state)
        algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)


def read_learned_of(checkpoint: Path, folder: RunFolder) -> Learned:
    """Read what a checkpoint of a run on Ray holds to go on from.

    Those of earlier versions hold the weights alone, and RLlib's pickles beside them are not read: their
    optimizer starts anew.

    Raises:
        RunFolderError: It cannot be gone on from.
    """
    earlier = sorted(folder.path.glob("rllib/[0-9]*/progress.json"))
    try:
        if not earlier or OPTIMIZER_MEMBER in members(checkpoint):
            return read_learned(checkpoint)
        seconds = float(json.loads(earlier[-1].read_text())["seconds"])
        identity = read_identity(checkpoint)
        before = read_settings(identity.config)
        rate = LearningRate.of(before.ppo).at(Clock(before, seconds).part_done(identity.environment_steps))
        return Learned(read_weights(checkpoint), {}, rate, ProgressMade(seconds, 0))
    except (MancalaError, OSError, KeyError, TypeError, ValueError) as error:
        raise RunFolderError(f"cannot resume from {checkpoint}, though it may still play: {error}") from error


def _set_learning_rate(learner: SelfPlayLearner, rate: float) -> None:
    learner.learning_rate = rate


def export(learned: Learned, config: TrainConfig, steps: int) -> bytes:
    """Pack what RLlib trained as a checkpoint that loads as an opponent.

    Args:
        learned: What was learned; its weights are those of SelfPlayModule.
        config: The run's configuration.
        steps: Environment steps learned from.
    """
    assert all(name.startswith(WEIGHTS_PREFIX) for name in learned.weights)
    identity = Identity(
        ruleset=config.game,
        rounds=config.rounds,
        observation_version=observations.version(config.network.observation, config.game),
        network=config.network,
        environment_steps=steps,
        config=config.as_dict(),
        versions=versions() | {"ray": ray.__version__},
    )
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, content in learned.members().items():
            archive.writestr(member, content)
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
    with folder.locked():
        checkpoint = newest_checkpoint(config, folder, console) if resume else None
        console.print(
            f"Training on {config.game.title} ({config.ruleset}) for {config.limit_in_words}, "
            f"{config.num_env_runners or 'no'} environment runners of {config.games_per_runner} games; "
            f"results in {folder.path}. Ctrl-C ends the run early and keeps what it learned.",
            highlight=False,
            soft_wrap=True,
        )
        torch.set_num_threads(config.threads or default_num_threads())
        run = ClusterRun(config, folder, checkpoint)
        try:
            write_atomically(folder.path / CONFIG_FILE, config.to_yaml().encode())
            folder.note_start()
            if checkpoint is not None:
                line = resume_message(config, checkpoint, run.steps, run.clock)
                console.print(line, highlight=False, soft_wrap=True)
            with RunProgress(console) as progress, stop_on_signals(run):
                run.train(progress)
                final = run.save(FINAL)
            if config.evaluation.checkpoint_games:
                measure(config, folder, final)
            return final, run.stopped_by
        finally:
            run.close()


@in_one_line("rllib_train.py", "checkpoints are whole")
def main(arguments: list[str] | None = None, program: str = "rllib_train.py") -> int:
    """Train as the command line says; returns the exit status."""
    console = Console()
    config, resumed, callbacks = read_command(arguments, RayConfig, program)
    if callbacks:
        raise InvalidConfig("--callbacks are for mancala train; RLlib's own algorithm runs here")
    check_agents(config, resumed)
    check_logs(config)
    with started_ray(config, console):
        folder = RunFolder.create(config) if resumed is None else RunFolder(resumed)
        checkpoint, stopped_by = train(config, folder, console, resume=resumed is not None)
    if stopped_by:
        line = f"Ended early by {stopped_by}; resume with --resume {folder.path}"
        console.print(line, highlight=False, soft_wrap=True)
    report(config, folder, checkpoint, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
