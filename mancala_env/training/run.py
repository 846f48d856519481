"""Train an agent by self-play: one command, one configuration, one folder of results.

mancala train layli_goobalay
mancala train leyla --minutes 30 --network.hidden 128
mancala train --config my.yaml
mancala train --resume runs/leyla --minutes 60
"""

import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback

from mancala_env import agents, observations
from mancala_env._util.command_line import in_one_line
from mancala_env._util.settings import flat
from mancala_env._util.stop_signals import STOP_SIGNALS, handled, is_ignored
from mancala_env.engine.jit.threads import default_num_threads
from mancala_env.errors import MancalaError
from mancala_env.networks.checkpoint import InvalidCheckpoint, read_identity
from mancala_env.rulesets import Ruleset
from mancala_env.training.callbacks import A_CALLBACK, Run, callbacks_of, load_callbacks, measure
from mancala_env.training.config import (
    CONFIG_FILE,
    InvalidConfig,
    TrainConfig,
    read_command,
    read_file,
    read_settings,
)
from mancala_env.training.distillation import distill, expert, is_distillation_ahead
from mancala_env.training.expert_iteration import ExpertPPO
from mancala_env.training.loggers import check_logs, logger_of
from mancala_env.training.parameter_names import STABLE_BASELINES3, renamed
from mancala_env.training.policy import NotFinite, SelfPlayPolicy
from mancala_env.training.pool import SnapshotPool
from mancala_env.training.progress_bar import RunProgress
from mancala_env.training.rollout import SelfPlayBuffer, SelfPlayEnv, SelfPlayPPO
from mancala_env.training.run_folder import FINAL, RunFolder, RunFolderError, write_atomically
from mancala_env.training.run_report import report
from mancala_env.training.schedule import Clock, LearningRate, Rates
from mancala_env.training.training_state import ProgressMade, read_learned

# What may differ where a run goes on.
_OF_ANY_RUN = ("minutes", "checkpoint_minutes", "checkpoint_steps", "folder", "name")


class TrainingDiverged(MancalaError):
    """The network no longer gives finite numbers."""


class Scheduled(SelfPlayPPO):
    """A learner whose schedules follow a clock.

    Attributes:
        clock: How far the run is.
    """

    clock: Clock

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "clock"]

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        self._current_progress_remaining = 1.0 - self.clock.part_done(num_timesteps)

    def go_on_from(self, environment_steps: int, progress: ProgressMade) -> None:
        """Count environment steps and updates on from those of a checkpoint."""
        self.num_timesteps = environment_steps
        self._n_updates = progress.updates


class ScheduledPPO(Scheduled):
    """Proximal policy optimisation alone."""


class ScheduledExpertPPO(Scheduled, ExpertPPO):
    """The same beside the labels of a search."""


def check_same_run(config: TrainConfig, checkpoint: Path) -> None:
    """Refuse to go on from a checkpoint whose network or game the configuration does not describe.

    Raises:
        InvalidConfig: They differ; the message names both values.
    """
    identity = read_identity(checkpoint)
    network = asdict(identity.network)
    for key, theirs, ours in (
        ("ruleset", identity.ruleset, config.game),
        ("rounds", identity.rounds, config.rounds),
        *((f"network.{name}", network[name], ours) for name, ours in asdict(config.network).items()),
        (
            "version of the observation",
            identity.observation_version,
            observations.version(config.network.observation, config.game),
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

    The one that learns is among them: what it is to see has to be there for the ruleset.

    A run's folder may come from somebody else, so none that runs a file is taken from there.

    Args:
        config: The configuration.
        resumed: Folder of the run that it was read from; None: the user's own words.

    Raises:
        MancalaError: It says what would be right.
    """
    observations.version(config.network.observation, config.game)
    for spec in (*config.pool.opponents, config.distillation.spec, config.expert.spec):
        agents.Spec.parse(spec)  # a slip is found where it is not asked for, too
    pool = config.pool.opponents if config.pool.share else []
    experts = {"distillation.spec": config.distillation.spec} if config.distillation.positions else {}
    experts |= {"expert.spec": config.expert.spec} if config.expert.share else {}
    for spec in (*pool, *experts.values(), *config.evaluation.opponents):
        if resumed is not None and agents.Spec.parse(spec).runs_code:
            raise InvalidConfig(f"{resumed} names {spec}; a run that is resumed runs no file that it names")
        agent = agents.make(spec, config.game, num_threads=1)
        if spec in pool:
            agent.check_rounds(config.rounds)
    met = config.evaluation.opponents
    twice = next((spec for spec in met if met.count(spec) > 1), None)
    if twice is not None and resumed is None:  # a run of before goes on
        raise InvalidConfig(f"evaluation.opponents must name each agent once, not {twice} twice")
    for setting, spec in experts.items():
        expert(spec, config.game, config.game.num_actions(config.rounds), 1, setting)


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


def make_model(config: TrainConfig, env: SelfPlayEnv, checkpoint: Path | None = None) -> Scheduled:
    """Make the learner, built from the configuration, with what a checkpoint learned, if there is one.

    Raises:
        RunFolderError: The checkpoint is no file to go on from; nothing in it has been run.
    """
    steps = read_identity(checkpoint).turns if checkpoint else 0
    kind: type[Scheduled] = ScheduledPPO
    settings: dict[str, Any] = renamed(config.ppo, STABLE_BASELINES3)
    if config.expert.share:
        kind = ScheduledExpertPPO
        settings |= {"config": config}
    model = kind(
        SelfPlayPolicy,
        env,
        learning_rate=LearningRate.of(config.ppo),
        rollout_buffer_class=SelfPlayBuffer,
        policy_kwargs={"ruleset": asdict(config.game), "network": asdict(config.network)},
        seed=config.seed_after(steps),
        device=config.device,
        **settings,
    )
    if checkpoint is None:
        model.clock = Clock(config, 0.0)
        return model
    try:
        learned = read_learned(checkpoint)
        learned.put_into(model.policy, model.policy.optimizer)
    except InvalidCheckpoint as error:
        raise RunFolderError(
            f"cannot go on from {checkpoint}, though it may still play: {error}; take it out of the folder "
            "to go on from the one before"
        ) from error
    model.go_on_from(steps, learned.progress)
    model.clock = Clock(config, learned.progress.seconds)
    model.learning_rate = LearningRate.going_on(
        config.ppo,
        rates_before(checkpoint, config.ppo),
        learned.learning_rate,
        model.clock.part_done(steps),
    )
    model._setup_lr_schedule()
    return model


def rates_before(checkpoint: Path, now: Rates) -> Rates:
    """Return the step sizes that a checkpoint was trained with; those of now if it does not say."""
    try:
        return read_settings(read_identity(checkpoint).config).ppo
    except MancalaError:
        return now


def newest(config: TrainConfig, folder: RunFolder, console: Console) -> Path:
    """Return a run's newest checkpoint that is whole, and say which ones are not.

    Raises:
        RunFolderError: There is none.
        InvalidConfig: It is of another network or game than the configuration.
    """
    saved, faults = folder.examine()
    if not saved:
        why = f": {'; '.join(faults)}" if faults else ""
        raise RunFolderError(f"{folder.path} holds no checkpoint to resume from{why}")
    for fault in faults:
        console.print(f"Left out: {fault}", highlight=False, markup=False, soft_wrap=True)
    folder.clear()
    check_same_run(config, saved[-1])
    return saved[-1]


def going_on(config: TrainConfig, checkpoint: Path, environment_steps: int, clock: Clock) -> str:
    """Say where a run goes on, and whether anything is left of it."""
    line = f"Going on from {checkpoint} after {environment_steps:,} environment steps."
    if clock.part_done(environment_steps) >= 1:
        line += f" Its end of {config.limit_in_words} is reached: set a later one to train on."
    return line


def train(
    config: TrainConfig,
    folder: RunFolder,
    console: Console,
    resume: bool = False,
    callbacks: Sequence[BaseCallback] = (),
    now: Callable[[], float] | None = None,
) -> tuple[Path, str | None]:
    """Train until the run's end or a signal.

    Args:
        config: The run's configuration.
        folder: The run's folder.
        console: Where the run shows itself.
        resume: Go on from the folder's newest checkpoint.
        callbacks: A user's own; their ``on_step`` is asked once before each rollout, and False ends the run.
        now: The clock of `minutes`, in seconds; None: as the configuration has it.

    Returns:
        The last checkpoint, and what ended the run early, such as the name of a signal, if anything did.

    Raises:
        RunFolderError: Nothing to resume, another process trains there, or the disk does not take what the
            run writes.
        TrainingDiverged: The weights stopped being numbers.
    """
    with closing(train_in_pieces(config, folder, console, resume, callbacks, now)) as pieces:
        return next(pieces)


def train_in_pieces(
    config: TrainConfig,
    folder: RunFolder,
    console: Console,
    resume: bool = False,
    callbacks: Sequence[BaseCallback] = (),
    now: Callable[[], float] | None = None,
) -> Generator[tuple[Path, str | None], None, None]:
    """Train as :func:`train` does, which describes it all; a callback of yours ends a piece, not the run.

    The learner lives on meanwhile, with the games under way, and the run's clock stands still. Close what
    this returns, as contextlib.closing does: until then nobody else can train in the folder.

    Yields:
        After each piece, what :func:`train` returns; the last is one that no callback ended.
    """
    with folder.locked():
        yield from _pieces(config, folder, console, resume, callbacks, now)


def _pieces(
    config: TrainConfig,
    folder: RunFolder,
    console: Console,
    resume: bool,
    callbacks: Sequence[BaseCallback],
    now: Callable[[], float] | None,
) -> Generator[tuple[Path, str | None], None, None]:
    checkpoint = newest(config, folder, console) if resume else None
    console.print(
        f"Training on {config.game.title} ({config.ruleset}) for {config.limit_in_words}; results in "
        f"{folder.path}. Ctrl-C ends the run early and keeps what it learned.",
        highlight=False,
        soft_wrap=True,
    )
    torch.set_num_threads(config.threads or default_num_threads())
    steps_before = read_identity(checkpoint).turns if checkpoint else 0
    env = make_env(config, folder, config.seed_after(steps_before))
    model = make_model(config, env, checkpoint)
    if resume:
        write_atomically(folder.path / CONFIG_FILE, config.to_yaml().encode())
        model.bring_back(folder.path)
    env.reset()
    model.warm_up(env)  # compiles what is not compiled yet, before the clock starts
    env.statistics.take()
    model.clock = clock = Clock(config, model.clock.seconds_before, now)
    begins_anew = checkpoint is None or is_distillation_ahead(config.distillation, folder, steps_before)
    folder.forget_figures_after(-1 if begins_anew else steps_before)
    model.set_logger(logger_of(config, folder))
    folder.note_start()
    if checkpoint is not None:
        line = going_on(config, checkpoint, steps_before, clock)
        console.print(line, highlight=False, soft_wrap=True)
    run = Run(config, folder, clock, RunProgress(console))
    run.last_checkpoint = checkpoint
    begins = checkpoint is None
    try:
        errands = callbacks_of(run, callbacks)
        while True:
            with run.progress, stop_on_signals(run):
                _learn(model, run, errands, begins)
            final = run.save(model, FINAL)
            # Who looks at it may draw, too.
            with clock.pause(), torch.random.fork_rng([model.device] if model.device.type == "cuda" else []):
                if config.evaluation.checkpoint_games:
                    measure(config, folder, final)
                yield final, run.stopped_by
            if run.stopped_by != A_CALLBACK:
                return
            run.stopped_by, begins = None, False
    finally:
        model.logger.close()


def _learn(model: Scheduled, run: Run, errands: BaseCallback, begins: bool) -> None:
    """Learn until the run's end, a signal or a callback; `begins` tells whether new games do."""
    config, folder = run.config, run.folder
    try:
        if is_distillation_ahead(config.distillation, folder, model.num_timesteps):
            network: torch.nn.Module = model.policy.network  # type: ignore[assignment]
            distill(network, config.distillation, config, model.logger, run.progress, run)
            if not run.stopped_by:
                run.save(model)
        # A callback ends the run; no number of steps does.
        model.learn(sys.maxsize - model.num_timesteps, errands, reset_num_timesteps=begins)
        if not run.is_over(model.num_timesteps):
            run.stopped_by = run.stopped_by or A_CALLBACK  # a signal may come here too
    except NotFinite as error:
        raise TrainingDiverged(
            f"after {model.num_timesteps:,} environment steps {error}; the last good checkpoint is "
            f"{run.last_checkpoint or 'none'}; try a lower ppo.learning_rate"
        ) from error
    except Exception:  # such as one of an opponent or a callback, or a log that cannot be written
        with suppress(RunFolderError):
            run.save_if_sound(model)
        raise


def train_or_go_on(config: TrainConfig, console: Console) -> tuple[RunFolder, Path, str | None]:
    """Train in the folder of the configuration's name, from where an earlier start of it stopped, if one did.

    Returns:
        The run's folder, and what :func:`train` returns.

    Raises:
        RunFolderError, TrainingDiverged: As :func:`train`.
        InvalidConfig: The folder holds a run of other settings: what it has learned would count as learned
            with these.
    """
    place = Path(config.folder) / str(config.name)
    if (place / CONFIG_FILE).is_file():
        before = flat(TrainConfig().as_dict()) | read_file(place / CONFIG_FILE)
        for name, value in flat(config.as_dict()).items():
            if name not in _OF_ANY_RUN and not name.startswith("evaluation.") and before[name] != value:
                raise InvalidConfig(
                    f"{place} holds a run with {name} {before[name]}, not {value}; name another --folder"
                )
    run = RunFolder(place) if place.is_dir() else RunFolder.create(config)
    checkpoint, stopped_by = train(config, run, console, resume=bool(run.saved()))
    return run, checkpoint, stopped_by


@contextmanager
def stop_on_signals(run: Any) -> Iterator[None]:
    """Set `run.stopped_by` to the name of the first signal that asks to stop; a second one acts as usual.

    Outside the main thread no signal is heard, and the run goes to its end.
    """
    with ExitStack() as listening:

        def stop(number: int, _: FrameType | None) -> None:
            run.stopped_by = signal.Signals(number).name
            listening.close()

        heard = [each for each in STOP_SIGNALS if each == signal.SIGINT or not is_ignored(each)]
        listening.enter_context(handled(dict.fromkeys(heard, stop)))
        yield


@in_one_line("mancala train", "checkpoints are whole")
def main(arguments: list[str] | None = None, program: str = "mancala train") -> int:
    """Train as the command line says; returns the exit status."""
    console = Console()
    warnings.filterwarnings("ignore", message=".*GPU.*", module="stable_baselines3")
    config, resumed, names = read_command(arguments, TrainConfig, program)
    check_device(config)
    check_agents(config, resumed)
    check_logs(config)
    callbacks = load_callbacks(names)
    folder = RunFolder.create(config) if resumed is None else RunFolder(resumed)
    checkpoint, stopped_by = train(config, folder, console, resumed is not None, callbacks)
    if stopped_by:
        line = f"Ended early by {stopped_by}; go on with {program} --resume {folder.path}"
        console.print(line, highlight=False, soft_wrap=True)
    report(config, folder, checkpoint, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
