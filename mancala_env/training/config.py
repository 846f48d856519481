"""The configuration of a run: its settings, and how command line and files are read.

Every setting is a field below. This command generates configs/default.yaml from them:

    python -m tools.make_default_configs --write

The other files of configs/ override some settings, and the command line overrides the files.
"""

import argparse
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, NoReturn, TypeVar

import yaml

from mancala_env._util import plain_yaml
from mancala_env._util.command_line import SUPPRESS, Parser, plain_error
from mancala_env._util.settings import (
    InvalidSetting,
    Setting,
    build,
    check,
    flat,
    from_text,
    in_words,
    setting,
    settings_of,
)
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.engine.jit.threads import MOST_THREADS
from mancala_env.errors import MancalaError
from mancala_env.evaluation.openings import MAX_OPENING_TURNS
from mancala_env.networks.policy import NetworkConfig
from mancala_env.rulesets import Ruleset, lookup, names

_PACKAGE = Path(__file__).resolve().parent.parent


def configs_folder() -> Path:
    """Return the folder of the configurations: in the installed package, or beside it in a checkout."""
    inside = _PACKAGE / "configs"
    return inside if inside.is_dir() else _PACKAGE.parent / "configs"


CONFIGS = configs_folder()
CONFIG_FILE = "config.yaml"
# All settings with their comments are 4,000 bytes.
_MOST_BYTES = 1 << 16

MAX_SEED = 2**31 - 1
"""The largest seed that all libraries accept."""
# A rollout is in memory as a whole; a step with the observation `leaves` takes up to ten kilobytes.
_MOST_STEPS_OF_AN_UPDATE = 2**24

OLD_NAMES = {
    "turns": "environment_steps",
    "pool.promotion": "pool.gating",
    "pool.promotion_games": "pool.gating_games",
    **{
        f"teacher.{name}": f"distillation.{name}"
        for name in (
            "positions",
            "spec",
            "exploration",
            "temperature",
            "epochs",
            "batch_size",
            "learning_rate",
        )
    },
}
"""New names of settings, by their names in files of earlier versions, which are still read."""


_MOVED = "moved to training/benchmark/alphazero.py; mancala benchmark runs it"


class InvalidConfig(MancalaError):
    """Values of a configuration that are out of range or contradict each other."""


@dataclass(kw_only=True)
class SelfPlayConfig:
    """The games that the policy learns from."""

    games: int = setting("Number of games played in parallel", 512, low=1, high=2**20)
    opening_turns: int = setting(
        "Uniformly random turns at the start of a game", 4, low=0, high=MAX_OPENING_TURNS
    )
    opening_share: float = setting(
        "Fraction of self-play games that start with random turns; all pool games do", 0.9, low=0, high=1
    )
    reward: Literal["outcome", "margin"] = setting(
        "Reward at the end of a game: outcome is +1, 0 or -1, margin is the lead divided by all seeds",
        "outcome",
    )


@dataclass(kw_only=True)
class PoolConfig:
    """Games against a pool of opponents; only the learner's turns are environment steps there."""

    share: float = setting("Fraction of games played against pool opponents", 0.0, low=0, high=1)
    opponents: list[str] = setting(
        "Agents that are always in the pool: specs, or paths of checkpoints", ["random", "greedy"]
    )
    snapshots: int = setting(
        "Largest number of this run's checkpoints in the pool; the latest stay", 10, low=0, high=1000
    )
    gating: float = setting(
        "Win rate against the latest snapshot that a checkpoint needs to join the pool; 0 for none",
        0.55,
        low=0,
        high=1,
    )
    gating_games: int = setting(
        "Number of games of the match that decides whether a checkpoint joins, half from each seat",
        200,
        low=2,
        high=1_000_000,
        is_even=True,
    )
    priority: float = setting(
        "Exponent of opponent sampling: an opponent's probability is proportional to its recent win rate "
        "raised to this; 0 for uniform",
        1.0,
        low=0,
        high=100,
    )


@dataclass(kw_only=True)
class DistillationConfig:
    """Imitation of a search before self-play; see :mod:`mancala_env.training.distillation`."""

    positions: int = setting(
        "Number of positions that the expert labels; 0 for no distillation", 0, low=0, high=1_000_000_000
    )
    spec: str = setting(
        "Expert agent: value+minimax:DEPTH, minimax:DEPTH, or perfect:SECONDSs, which skips positions it "
        "cannot solve",
        "minimax:8",
    )
    exploration: float = setting("Fraction of random turns in the expert's games", 0.25, low=0, high=1)
    temperature: float = setting(
        "Temperature of the Boltzmann targets, in seeds",
        1.0,
        low=0,
    )
    epochs: int = setting("Number of passes over the positions", 10, low=1, high=100_000)
    batch_size: int = setting("Number of positions in a minibatch", 512, low=1, high=10_000_000)
    learning_rate: float = setting("Initial learning rate of Adam; it falls linearly to 0", 0.002, low=0)
    share: float = setting(
        "Largest fraction of the run's minutes for distillation; it labels and trains less if time is short",
        0.75,
        above=0,
        high=1,
    )


@dataclass(kw_only=True)
class ExpertConfig:
    """Search labels beside PPO; see :mod:`mancala_env.training.labels`."""

    share: float = setting(
        "Fraction of environment steps, chosen at random, that a search labels; 0 for none; ignored in a "
        "file with --rounds above 1 and on Ray",
        0.0,
        low=0,
        high=1,
    )
    spec: str = setting(
        "Search agent: value+minimax:DEPTH, minimax:DEPTH, or perfect:SECONDSs, which skips positions it "
        "cannot solve",
        "value+minimax:6",
    )
    temperature: float = setting(
        "Temperature of the Boltzmann targets, in seeds",
        1.0,
        low=0,
    )
    search_share: float = setting(
        "Weight of the search's value in the value's target; the rest is the outcome of the game",
        0.7,
        low=0,
        high=1,
    )
    positions: int = setting(
        "Number of labelled positions stored; the latest stay", 100_000, low=1, high=10_000_000
    )
    batch_size: int = setting(
        "Number of labelled positions in a minibatch, beside each minibatch of PPO",
        2048,
        low=1,
        high=10_000_000,
    )
    policy: float = setting("Weight of the policy's cross-entropy to the targets in the loss", 2.0, low=0)
    value: float = setting("Weight of the value's squared error in the loss", 0.5, low=0)


@dataclass(kw_only=True)
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017), as in sb3-contrib's MaskablePPO."""

    steps: int = setting("Environment steps per game in a rollout", 32, low=1, high=65_536)
    batch_size: int = setting(
        "Number of environment steps in a minibatch", 4096, low=2, high=_MOST_STEPS_OF_AN_UPDATE
    )
    epochs: int = setting("Number of passes over a rollout", 3, low=1, high=10_000)
    learning_rate: float = setting("Initial learning rate of Adam", 0.001, low=0)
    final_learning_rate: float = setting("Final learning rate; it falls linearly", 0.0001, low=0)
    gamma: float = setting("Discount factor per step; 1 for no discount", 1.0, low=0, high=1)
    gae_lambda: float = setting(
        "Lambda of generalised advantage estimation: 0 uses the next value, 1 the outcome alone",
        0.9,
        low=0,
        high=1,
    )
    clip_range: float = setting("Clip range of the probability ratio in PPO's loss", 0.2, above=0)
    entropy: float = setting("Weight of the entropy bonus in the loss", 0.01, low=0)
    value: float = setting("Weight of the value's squared error in the loss", 0.5, low=0)
    max_grad_norm: float = setting("Largest norm of a gradient; longer ones are clipped", 0.5, above=0)


@dataclass(kw_only=True)
class EvaluationConfig:
    """Evaluation of the agent, at every checkpoint and at the end."""

    opponents: list[str] = setting("Specs of the opponents", ["random", "greedy"])
    games: int = setting(
        "Games against each opponent at the end, half from each seat",
        1000,
        low=2,
        high=10_000_000,
        is_even=True,
    )
    checkpoint_games: int = setting(
        "Games against each opponent at a checkpoint, and between checkpoints; 0 for none",
        200,
        low=0,
        high=10_000_000,
        is_even=True,
    )
    opening_turns: int = setting(
        "Uniformly random turns at the start of a game", 4, low=0, high=MAX_OPENING_TURNS
    )


@dataclass(kw_only=True)
class TrainConfig:
    """All settings of a run; configs/default.yaml describes each.

    The same seed gives the same checkpoint, bit for bit, with `threads: 1`, `device: cpu`,
    `environment_steps` as the only limit and, if there is a pool, `checkpoint_steps`.
    """

    ruleset: str = setting("Ruleset name", "layli_goobalay")
    rounds: int | Literal["match"] = setting(
        "Largest number of rounds in an episode, or match for a whole match", 1, low=1, high=MAX_ROUNDS
    )
    name: str | None = setting("Name of the run's folder; null for the name of the configuration file", None)
    folder: str = setting("Folder that holds the folders of runs", "runs")
    seed: int = setting("Random seed", 1, low=0, high=MAX_SEED)
    environment_steps: int | None = setting(
        "Number of environment steps to train for; null for no limit", None, low=1
    )
    minutes: float | None = setting(
        "Minutes to train for, without evaluation; null for no limit; the first limit reached ends the run",
        10.0,
        above=0,
    )
    clock: Literal["wall", "cpu"] = setting(
        "What minutes measure: wall time, or CPU time of this process on all cores",
        "wall",
    )
    checkpoint_minutes: float = setting("Minutes between checkpoints", 1.0, low=0)
    checkpoint_steps: int | None = setting(
        "Environment steps between checkpoints; null to use checkpoint_minutes", None, low=1
    )
    threads: int = setting(
        "CPU threads of torch and of the engine; 0 for every core; small networks gain little from a second",
        1,
        low=0,
        high=MOST_THREADS,
    )
    device: str = setting("Device of the network: cpu, cuda, or auto for a GPU if there is one", "auto")
    wandb: str | None = setting("Weights & Biases project to log to; null for none", None)
    network: NetworkConfig = field(
        default=NetworkConfig(observation="replies", hidden=64, layers=2, seed_levels=10)
    )
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    pool: PoolConfig = field(default_factory=PoolConfig)
    distillation: DistillationConfig = field(default_factory=DistillationConfig)
    expert: ExpertConfig = field(default_factory=ExpertConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        check(self)
        self._check()

    @classmethod
    def implied_settings(cls, values: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that the command line turns off implicitly.

        The files of the rulesets turn search labels on. Whole matches exclude them, so asking for matches
        turns the labels off, unless the command line sets them itself.

        Args:
            values: Settings of the files and the command line, by dotted name.
            asked: Settings of the command line.
        """
        searched = values.get("expert.search_share", ExpertConfig.search_share)
        if asked.get("rounds", 1) != 1 and searched:
            return {"expert.share": 0.0}
        return {}

    @property
    def game(self) -> Ruleset:
        """The ruleset itself."""
        return lookup(self.ruleset)

    def as_dict(self) -> dict[str, Any]:
        """Return the configuration as plain data."""
        return asdict(self)

    def to_yaml(self) -> str:
        """Return the configuration as YAML, complete."""
        return yaml.safe_dump(self.as_dict(), sort_keys=False)

    def seed_after(self, environment_steps: int) -> int:
        """Return the seed of a run that resumes after some steps, so that it does not repeat its games."""
        return (self.seed + environment_steps) % (MAX_SEED + 1)

    @property
    def limit_in_words(self) -> str:
        """The limits of the run, such as "1 minute or 2,048 environment steps"."""
        found = []
        if self.minutes is not None:
            found.append(f"{self.minutes:g} minute{'s' * (self.minutes != 1)}")
        if self.environment_steps is not None:
            found.append(f"{self.environment_steps:,} environment step{'s' * (self.environment_steps != 1)}")
        return " or ".join(found)

    def _check(self) -> None:
        """Check values that depend on each other; each is in range by itself."""
        lookup(self.ruleset)
        if self.environment_steps is None and self.minutes is None:
            raise InvalidConfig("a run needs an end: set environment_steps or minutes")
        if self.name is not None and (
            self.name in ("", "..") or Path(self.name).name != self.name or not self.name.isprintable()
        ):
            raise InvalidConfig(f"name must be that of a folder, without a path, not {self.name!r}")
        if self.ppo.steps * self.selfplay.games > _MOST_STEPS_OF_AN_UPDATE:
            raise InvalidConfig(
                f"ppo.steps times selfplay.games must be at most {_MOST_STEPS_OF_AN_UPDATE:,}, which are all "
                f"in memory at once, not {self.ppo.steps:,} times {self.selfplay.games:,}"
            )
        if self.ppo.steps * self.selfplay.games == 1:
            raise InvalidConfig(
                "ppo.steps times selfplay.games must be 2 or more, not 1: the advantage of a single step "
                "cannot be normalised"
            )
        if self.expert.share and self.expert.search_share and self.rounds != 1:
            raise InvalidConfig(
                "a search knows what a round is worth and not what a match is, so expert.search_share must "
                f"be 0 where rounds is {self.rounds}, not {self.expert.search_share:g}"
            )
        if self.pool.share and not self.pool.opponents:
            raise InvalidConfig(
                "pool.share is above 0, so pool.opponents must name at least one agent, such as random; "
                "snapshots join it when there are some"
            )


Config = TypeVar("Config", bound=TrainConfig)


class Command(NamedTuple, Generic[Config]):
    """The command line of a run.

    Attributes:
        config: The configuration.
        resumed: Folder of the run to resume; None for a new run.
        callbacks: The user's Stable-Baselines3 callbacks, as "module:Class".
    """

    config: Config
    resumed: Path | None
    callbacks: tuple[str, ...]


def read_config(
    arguments: Sequence[str] | None = None,
    kind: type[Config] = TrainConfig,
    program: str = "mancala train",
) -> tuple[Config, Path | None]:
    """Read the command line of a run; see :func:`read_command`.

    Returns:
        The configuration, and the folder of the run to resume, if any.
    """
    return read_command(arguments, kind, program)[:2]


def read_command(
    arguments: Sequence[str] | None = None,
    kind: type[Config] = TrainConfig,
    program: str = "mancala train",
) -> Command[Config]:
    """Read the command line of a run.

    Args:
        arguments: The arguments; None for those of this process.
        kind: The class of the configuration.
        program: Name of the program.

    Raises:
        InvalidConfig: An argument, a file or a value is invalid, or values contradict each other.
        SystemExit: The arguments contain `--help`.
    """
    known = {each.name: each for each in settings_of(kind)}
    options = _parser(kind, known, program).parse_args(arguments)
    files, values = [Path(file) for file in options.config], {}
    resumed = _resumed_folder(options)
    if resumed is not None:
        files.insert(0, resumed / CONFIG_FILE)
    elif options.configuration is not None:
        file = CONFIGS / f"{options.configuration}.yaml"
        if file.is_file():
            files.insert(0, file)
        elif options.configuration in names():
            values["ruleset"] = options.configuration
        else:
            raise _no_configuration(options.configuration)
    for file in files:
        values |= _known_settings(file, read_file(file, kind), known)
    asked = {name: _setting_value(known[name], text) for name, text in vars(options).items() if name in known}
    values |= kind.implied_settings(values | asked, asked) | asked
    if values.get("name") is None:
        values["name"] = files[-1].stem if files else values.get("ruleset", kind.ruleset)
    try:
        return Command(build(kind, values), resumed, tuple(options.callbacks))
    except InvalidSetting as error:
        raise InvalidConfig(str(error)) from error


def _resumed_folder(options: argparse.Namespace) -> Path | None:
    """Return the folder of `--resume`, if any.

    Raises:
        InvalidConfig: It is not the folder of a run, or another option excludes it.
    """
    if options.resume is None:
        return None
    if options.configuration is not None:
        raise InvalidConfig(
            f"{options.configuration} and --resume exclude each other: a run keeps its configuration"
        )
    folder = Path(options.resume)
    if not (folder / CONFIG_FILE).is_file():
        raise InvalidConfig(f"--resume {folder}: it has no {CONFIG_FILE}, so it is not the folder of a run")
    excluded = next((name for name in ("name", "folder") if name in vars(options)), None)
    if excluded is not None:
        raise InvalidConfig(
            f"--{excluded} and --resume exclude each other: a run stays in its folder, which names it"
        )
    return folder


def _known_settings(file: Path, found: dict[str, Any], known: Mapping[str, Setting]) -> dict[str, Any]:
    """Return the settings that a file has, without empty groups.

    Raises:
        InvalidConfig: A setting is unknown.
    """
    groups = {name.partition(".")[0] for name in known if "." in name}
    found = {name: value for name, value in found.items() if value is not None or name not in groups}
    unknown = next((name for name in found if name not in known), None)
    if unknown in groups:
        example = next(name for name in known if name.startswith(f"{unknown}."))
        raise InvalidConfig(
            f"{file}: {unknown} must be a group of settings, such as {example}, not {found[unknown]!r}"
        )
    if unknown is not None:
        near = difflib.get_close_matches(unknown, known, 1, 0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InvalidConfig(f"{file}: there is no setting {unknown}{hint}")
    return found


def _setting_value(each: Setting, text: str) -> Any:
    """Return the value of a setting on the command line.

    Raises:
        InvalidConfig: It is empty.
    """
    if not text.strip():
        raise InvalidConfig(f"{each.name} must be {in_words(each)}, not {text!r}")
    return from_text(each, text)


def read_file(path: Path, kind: type[TrainConfig] = TrainConfig) -> dict[str, Any]:
    """Return the settings of a file by dotted name; old names are replaced, unknown ones stay text.

    Args:
        path: The file.
        kind: The class of the configuration.

    Raises:
        InvalidConfig: The file cannot be read, or has no settings.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
        content = plain_yaml.read(text.decode())
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InvalidConfig(f"the configuration {path} cannot be read: {error}") from error
    if not isinstance(content or {}, Mapping):
        raise InvalidConfig(f"the configuration {path} must hold settings, such as ruleset: leyla")
    known = {each.name: each for each in settings_of(kind)}
    found = with_new_names(content or {})
    if found.get("algorithm") == "alphazero":
        raise InvalidConfig(f"{path}: algorithm alphazero {_MOVED}")
    return {
        name: from_text(known[name], value) if name in known and isinstance(value, str) else value
        for name, value in found.items()
    }


def read_settings(plain: Mapping[str, Any]) -> TrainConfig:
    """Return a configuration from plain data of any version; unknown settings are ignored.

    Raises:
        InvalidConfig: A value is invalid.
    """
    known = {each.name for each in settings_of(TrainConfig)}
    try:
        return build(TrainConfig, {k: v for k, v in with_new_names(plain).items() if k in known})
    except InvalidSetting as error:
        raise InvalidConfig(str(error)) from error


def with_new_names(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by dotted name as this version has them.

    Files of version 0.1 also hold the settings of AlphaZero. They are skipped if PPO learned.
    """
    found = {OLD_NAMES.get(name, name): value for name, value in flat(plain).items()}
    if found.get("algorithm") != "ppo":
        return found
    return {name: value for name, value in found.items() if not _is_of_alphazero(name)}


def _is_of_alphazero(name: str) -> bool:
    return name == "algorithm" or name.startswith("alphazero.")


class _Parser(Parser):
    def error(self, message: str) -> NoReturn:
        """Raise InvalidConfig instead of exiting, since programs read configurations, too."""
        raise InvalidConfig(plain_error(message))

    def unknown(self, word: str) -> str:
        """Suggest the new name of an old option, or a similar option."""
        name = word.removeprefix("--").partition("=")[0]
        if name in OLD_NAMES:
            return f"no option --{name}; its new name is --{OLD_NAMES[name]}"
        if _is_of_alphazero(name):
            return f"no option --{name}; AlphaZero {_MOVED}"
        return super().unknown(word)


def _parser(kind: type[TrainConfig], known: Mapping[str, Setting], program: str) -> Parser:
    parser = _Parser(
        prog=program,
        usage=f"{program} [NAME] [--config FILE] [--resume FOLDER] [--SETTING VALUE ...]",
        description="Train an agent by self-play. Every setting of the configuration is an option.",
        argument_default=SUPPRESS,
    )
    parser.add_argument(
        "configuration", metavar="NAME", nargs="?", default=None, help="name of a configuration or a ruleset"
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        action="append",
        default=[],
        help="path of a configuration file; repeatable, later files override earlier ones",
    )
    parser.add_argument(
        "--resume", metavar="FOLDER", default=None, help="folder of a run to resume, such as runs/first"
    )
    parser.add_argument(
        "--callbacks",
        metavar="MODULE:CLASS",
        nargs="+",
        default=[],
        help="your Stable-Baselines3 callbacks, created without arguments; only options can name them",
    )
    sections: dict[str, Any] = {"": parser.add_argument_group("settings of a run")}
    hints = {name.rpartition(".")[0]: name for name in known}
    for parent in hints:
        if parent:
            sections[parent] = parser.add_argument_group(parent)
    for name, each in known.items():
        default = "" if each.default is MISSING else f" (default: {_in_yaml(each.default)})"
        text = f"{each.meaning.text}; {in_words(each)}{default}".replace("%", "%%")
        sections[name.rpartition(".")[0]].add_argument(
            f"--{name}", dest=name, metavar=name.rpartition(".")[2].upper(), help=text
        )
    return parser


def _no_configuration(name: str) -> InvalidConfig:
    there = sorted({path.stem for path in CONFIGS.glob("*.yaml")} - {"default", "rllib"} | set(names()))
    near = [each for each in there if each.startswith(name)] or difflib.get_close_matches(name, there)
    said = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(there)}"
    return InvalidConfig(f"there is no configuration or ruleset {name!r}; {said}; a file is --config FILE")


def _in_yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True).partition("\n")[0]
