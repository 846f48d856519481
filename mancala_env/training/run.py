"""Train an agent by self-play: one command, one configuration, one folder of results.

mancala train layli_goobalay
mancala train leyla --minutes 30 --network.hidden 128
mancala train --config my.yaml
mancala train --resume runs/leyla --minutes 60
mancala train leyla --seeds 5
"""

import itertools
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback

from mancala_env import agents, observations
from mancala_env._util.archives import first_line
from mancala_env._util.command_line import INTERRUPTED, in_one_line
from mancala_env._util.settings import flat
from mancala_env._util.stop_signals import STOP_SIGNALS, handled, is_ignored
from mancala_env.engine.jit.threads import default_num_threads
from mancala_env.errors import MancalaError
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.config import CONFIG_FILE, InvalidConfig, TrainConfig, read_config, read_settings
from mancala_env.training.config_groups import STABLE_BASELINES3, renamed
from mancala_env.training.distillation import distill, is_distillation_ahead
from mancala_env.training.expert_labels import expert
from mancala_env.training.hooks import Hook, TrainingRun, call_callbacks, check_weights, measure
from mancala_env.training.labels import SearchLabels
from mancala_env.training.loggers import logger_of
from mancala_env.training.policy import NotFinite, SelfPlayPolicy
from mancala_env.training.pool import SnapshotPool
from mancala_env.training.ppo import SelfPlayPPO
from mancala_env.training.progress_bar import RunProgress, say
from mancala_env.training.rollout import SelfPlayBuffer, SelfPlayEnv
from mancala_env.training.run_folder import FINAL, RunFolder, RunFolderError, identity_of, resuming_from
from mancala_env.training.run_report import REPORT, lookahead_in_words, report
from mancala_env.training.run_results import read_run
from mancala_env.training.schedule import Clock, LearningRate
from mancala_env.training.seeds import check_same_settings, configs_of, is_finished, print_means, take_seeds
from mancala_env.training.training_state import read_learned


class TrainingDiverged(MancalaError):
    """A weight or an output of the network is not finite."""


def check_device(config: TrainConfig) -> None:
    """Raise InvalidConfig unless torch can use the device; Stable-Baselines3 would silently use the CPU."""
    try:
        torch.zeros(1, device="cpu" if config.device == "auto" else config.device)
    except Exception as error:  # each backend of torch has its own
        valid, why = "auto, cpu, or a GPU that torch can use, such as cuda", first_line(error)
        raise InvalidConfig(f"device must be {valid}, not {config.device!r} ({why})") from error


def check_agents(config: TrainConfig, resumed: Path | None = None) -> None:
    """Create every agent that the configuration names, so that errors appear before training.

    The observation must exist for the ruleset, too. A resumed folder may be from an untrusted source, so its
    configuration must not name agents that run Python files.
    """
    observations.version(config.network.observation, config.game)
    for spec in (*config.pool.opponents, config.distillation.spec, config.expert.spec):
        agents.Spec.parse(spec)  # also if it is not used
    pool = config.pool.opponents if config.pool.share else []
    experts = {"distillation.spec": config.distillation.spec} if config.distillation.positions else {}
    experts |= {"expert.spec": config.expert.spec} if config.expert.share else {}
    opponents = config.evaluation.opponents
    for spec in (*pool, *experts.values(), *opponents):
        if resumed is not None and agents.Spec.parse(spec).runs_code:
            raise InvalidConfig(f"{resumed} names {spec}; a run that is resumed runs no file that it names")
    for setting, spec in experts.items():
        expert(spec, config.game, config.game.num_actions(config.rounds), 1, setting)
    for spec in (*pool, *opponents):
        agent = agents.make(spec, config.game, num_threads=1)
        if spec in pool:
            agent.check_rounds(config.rounds)
    duplicate = next((spec for spec in opponents if opponents.count(spec) > 1), None)
    if duplicate is not None and resumed is None:  # earlier versions allowed it
        raise InvalidConfig(f"evaluation.opponents must name each agent once, not {duplicate} twice")


def make_env(config: TrainConfig, folder: RunFolder, seed: int) -> SelfPlayEnv:
    """Create the games of a run."""
    pool = SnapshotPool(config, folder)
    return SelfPlayEnv(
        config.game,
        config.network.observation,
        config.selfplay.games,
        rounds=config.rounds,
        opening_turns=config.selfplay.opening_turns,
        opening_share=config.selfplay.opening_share,
        pool=pool.specs,
        pool_scores=pool.scores,
        pool_share=config.pool.share,
        seed=seed,
        num_threads=config.threads or default_num_threads(),
    )


def make_model(config: TrainConfig, env: SelfPlayEnv, checkpoint: Path | None = None) -> SelfPlayPPO:
    """Create the learner that the configuration describes, with the weights of a checkpoint, if any.

    Raise RunFolderError if the run cannot be resumed from the checkpoint; no code in it has been run.
    """
    steps = read_identity(checkpoint).environment_steps if checkpoint else 0
    settings: dict[str, Any] = renamed(config.ppo, STABLE_BASELINES3)
    settings |= {"learning_rate": LearningRate.of(config.ppo), "rollout_buffer_class": SelfPlayBuffer}
    settings |= {"policy_kwargs": {"ruleset": asdict(config.game), "network": asdict(config.network)}}
    seed = config.seed_after(steps)
    model = SelfPlayPPO(SelfPlayPolicy, env, seed=seed, device=config.device, **settings)
    if config.expert.share:
        model.add_labels(SearchLabels(config, env, model.seed))
    model.clock = Clock(config, 0.0)
    if checkpoint is None:
        return model
    with resuming_from(checkpoint):
        learned = read_learned(checkpoint)
        learned.put_into(model.policy, model.policy.optimizer)
    model.num_timesteps, model._n_updates = steps, learned.progress.updates
    model.clock = Clock(config, learned.progress.seconds)
    before = config.ppo
    with suppress(MancalaError):  # a checkpoint whose configuration is invalid
        before = read_settings(read_identity(checkpoint).config).ppo
    done = model.clock.part_done(steps)
    model.learning_rate = LearningRate.resumed(config.ppo, before, learned.learning_rate, done)
    model._setup_lr_schedule()
    return model


def newest_checkpoint(config: TrainConfig, folder: RunFolder, console: Console) -> Path:
    """Return the newest intact checkpoint of a run, and print the damaged ones.

    Raise RunFolderError if none is intact, and InvalidConfig if it is of another network or game.
    """
    last, faults = folder.newest()
    for fault in faults:
        say(console, f"Skipped: {fault}")
    folder.clear()
    theirs, ours = (flat(asdict(each)) for each in (read_identity(last), identity_of(config, 0)))
    for key, value in ours.items():
        is_compared = key in ("rounds", "observation_version") or key.startswith(("ruleset.", "network."))
        if is_compared and theirs[key] != value:
            differs = f"its {key} is {theirs[key]}, the configuration's is {value}"
            raise InvalidConfig(f"cannot resume from {last}: {differs}")
    return last


def train(
    config: TrainConfig,
    folder: RunFolder,
    console: Console,
    *,
    resume: bool = False,
    hooks: Sequence[Hook] = (),
    callbacks: Sequence[BaseCallback] = (),
    now: Callable[[], float] | None = None,
) -> tuple[Path, str | None]:
    """Train until the run's end or a signal.

    Args:
        config: The run's configuration.
        folder: The run's folder.
        console: Where to print progress.
        resume: Whether to resume from the folder's newest checkpoint.
        hooks: Called with the run before each rollout; see :mod:`mancala_env.training.hooks`.
        callbacks: Stable-Baselines3 callbacks. Their ``on_step`` is called once before each rollout, and
            False ends the run.
        now: Returns the time that `minutes` counts, in seconds; None for the clock of the configuration.

    Returns:
        The last checkpoint, and the reason for an early end, such as the name of a signal, or None.

    Raises:
        RunFolderError: A checkpoint to resume from is missing, another process trains in the folder, or the
            disk is full.
        TrainingDiverged: A weight or an output of the network is not finite.
    """
    with started(config, folder, console, resume=resume, callbacks=callbacks, now=now) as run:
        return train_further(run, hooks)


@contextmanager
def started(
    config: TrainConfig,
    folder: RunFolder,
    console: Console,
    *,
    resume: bool = False,
    callbacks: Sequence[BaseCallback] = (),
    now: Callable[[], float] | None = None,
) -> Iterator[TrainingRun]:
    """Lock the folder and set up a run, within a with statement; see :func:`train` for the arguments."""
    with folder.locked():
        checkpoint = newest_checkpoint(config, folder, console) if resume else None
        what, where = f"{config.game.title} ({config.game.name}) for {config.limit_in_words}", folder.path
        ends = "Ctrl-C ends the run early and keeps what it learned."
        say(console, f"Training on {what}; results in {where}. {ends}")
        torch.set_num_threads(config.threads or default_num_threads())
        steps = read_identity(checkpoint).environment_steps if checkpoint else 0
        env = make_env(config, folder, config.seed_after(steps))
        model = make_model(config, env, checkpoint)
        # In a folder that exists, minutes and evaluation may differ.
        folder.write(CONFIG_FILE, config.to_yaml())
        env.reset()
        model.warm_up(env)  # the clock must not count the compilation of kernels
        env.statistics.take()
        model.clock = clock = Clock(config, model.clock.seconds_before, now)
        is_new = checkpoint is None or is_distillation_ahead(config.distillation, folder, steps)
        folder.forget_figures_after(-1 if is_new else steps)
        model.set_logger(logger_of(folder))
        folder.note_start()
        if checkpoint is not None:
            is_over = f" Its end of {config.limit_in_words} is reached: set a later one to train on."
            over = is_over if clock.part_done(steps) >= 1 else ""
            say(console, f"Resuming from {checkpoint} after {steps:,} environment steps.{over}")
        try:
            yield TrainingRun(config, folder, model, clock, RunProgress(console), checkpoint, callbacks)
        finally:
            model.logger.close()


def train_further(run: TrainingRun, hooks: Sequence[Hook] = ()) -> tuple[Path, str | None]:
    """Train a run until its end, a signal, or a hook or callback that stops it.

    The run comes from :func:`started`; see :func:`train` for hooks and result. You can call it again after a
    hook or a callback has stopped the run: the games continue. Use ``run.paused()`` for work in between.
    """
    model, run.stopped_by = run.model, None
    with run.progress, stop_on_signals(run), save_on_error(run):
        if is_distillation_ahead(run.config.distillation, run.folder, model.num_timesteps):
            distill(run)
            if not run.stopped_by:
                run.save()
        run.start_games()
        run.callbacks.on_training_start(locals(), globals())
        for iteration in itertools.count(1):
            for hook in (*run.hooks, *hooks, call_callbacks):
                hook(run)
            if run.is_over():
                break
            run.callbacks.on_rollout_start()
            model.collect(model.n_steps)
            run.callbacks.on_rollout_end()
            model._update_current_progress_remaining(model.num_timesteps)
            model.dump_logs(iteration)
            model.train()
        run.callbacks.on_training_end()
    final = run.save(FINAL)
    if run.config.evaluation.checkpoint_games:
        with run.paused():
            measure(run.config, run.folder, final)
    return final, run.stopped_by


def train_or_resume(config: TrainConfig, console: Console) -> tuple[RunFolder, Path, str | None]:
    """Train in the folder of the configuration's name; a run that exists there is resumed.

    Return the run's folder, and what :func:`train` returns. Raise InvalidConfig if the folder holds a run
    with other settings.
    """
    check_same_settings(config)
    run = RunFolder(config.place)
    if not (run.path / CONFIG_FILE).is_file():  # also if a process was killed when it had made the folder
        run.set_up(config)
    checkpoint, stopped_by = train(config, run, console, resume=bool(run.saved()))
    return run, checkpoint, stopped_by


def train_seeds(configs: Sequence[TrainConfig], console: Console) -> int:
    """Train a run with each configuration, print the means of their results, and return the exit status.

    Finished runs are skipped, and unfinished ones resume. A signal ends the whole command.
    """
    for config in configs:
        if is_finished(config):
            say(console, f"Seed {config.seed}: {config.place} is already finished.")
            continue
        folder, checkpoint, stopped_by = train_or_resume(config, console)
        if stopped_by:
            say(console, f"Ended early by {stopped_by}; the same command resumes.")
            return INTERRUPTED
        report(config, folder, checkpoint, console, is_brief=True)
        results = [f"{one.title} {one.text}" for one in read_run(config.place).final()]
        say(console, f"Seed {config.seed}: {', '.join(results)}. Report: {folder.path / REPORT}")
    for line in lookahead_in_words(configs[0]):
        say(console, line)
    print_means(configs, console)
    return 0


@contextmanager
def save_on_error(run: TrainingRun) -> Iterator[None]:
    """Save a checkpoint if training raises an exception, for example in an opponent or a callback.

    If a weight or an output is not finite, nothing is saved, and TrainingDiverged is raised.
    """
    try:
        yield
    except NotFinite as error:
        last = f"the last good checkpoint is {run.last_checkpoint or 'none'}"
        steps, hint = f"{run.model.num_timesteps:,} environment steps", "try a lower ppo.learning_rate"
        raise TrainingDiverged(f"after {steps} {error}; {last}; {hint}") from error
    except Exception:
        with suppress(RunFolderError, NotFinite):
            # A checkpoint would end a distillation that is not complete.
            if not is_distillation_ahead(run.config.distillation, run.folder, run.model.num_timesteps):
                check_weights(run)
                run.save()
        raise


@contextmanager
def stop_on_signals(run: Any) -> Iterator[None]:
    """Set `run.stopped_by` to the name of the first stop signal; a second signal has its usual effect.

    Outside the main thread Python handles no signals, and the run continues to its end.
    """
    with ExitStack() as handlers:

        def stop(number: int, _: FrameType | None) -> None:
            run.stopped_by = signal.Signals(number).name
            handlers.close()

        signals = [each for each in STOP_SIGNALS if each == signal.SIGINT or not is_ignored(each)]
        handlers.enter_context(handled(dict.fromkeys(signals, stop)))
        yield


@in_one_line("mancala train", "checkpoints are whole")
def main(arguments: list[str] | None = None, program: str = "mancala train") -> int:
    """Run the command line and return the exit status."""
    console, words = Console(), sys.argv[1:] if arguments is None else arguments
    warnings.filterwarnings("ignore", message=".*GPU.*", module="stable_baselines3")
    seeds, words = take_seeds(words)
    if seeds:
        configs = configs_of(seeds, words, program)
        check_device(configs[0])
        check_agents(configs[0])
        return train_seeds(configs, console)
    config, resumed = read_config(words, TrainConfig, program)
    check_device(config)
    check_agents(config, resumed)
    folder = RunFolder.create(config) if resumed is None else RunFolder(resumed)
    checkpoint, stopped_by = train(config, folder, console, resume=resumed is not None)
    if stopped_by:
        say(console, f"Ended early by {stopped_by}; resume with {program} --resume {folder.path}")
    report(config, folder, checkpoint, console)
    return 0
