"""The configuration of a run: what can be set, and how a command line and files are read.

Every setting is a field below; configs/default.yaml is generated from them by

    python -m tools.make_default_configs --write

The other files of configs/ override some of them, and the command line overrides those.
"""

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
    """Return where the configurations lie: in the installed package, or beside it in a checkout."""
    inside = _PACKAGE / "configs"
    return inside if inside.is_dir() else _PACKAGE.parent / "configs"


CONFIGS = configs_folder()
CONFIG_FILE = "config.yaml"
# All settings with their comments are 4,000 bytes.
_MOST_BYTES = 1 << 16

MAX_SEED = 2**31 - 1
"""The largest seed that every library below takes."""
# Steps of an update are all in memory at once; those of `leaves` take three to ten kilobytes each.
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
"""What settings were called in the files of earlier versions, which are still read."""


_MOVED = "moved to training/benchmark/alphazero.py; mancala benchmark runs it"


class InvalidConfig(MancalaError):
    """Values of a configuration that are out of range or do not go together."""


@dataclass(kw_only=True)
class SelfPlayConfig:
    """The games the policy learns from."""

    games: int = setting("played side by side", 512, low=1, high=2**20)
    opening_turns: int = setting(
        "uniformly random turns that start an opened game", 4, low=0, high=MAX_OPENING_TURNS
    )
    opening_share: float = setting(
        "share of the mirror games that are opened; pool games all are", 0.9, low=0, high=1
    )
    reward: Literal["outcome", "margin"] = setting(
        "+1, 0 or -1 at the end of a game, or the difference of the counts over all seeds", "outcome"
    )


@dataclass(kw_only=True)
class PoolConfig:
    """Games against others than oneself; only the learner's turns are environment steps there."""

    share: float = setting("of the games that are played against the pool", 0.0, low=0, high=1)
    opponents: list[str] = setting(
        "always in the pool: specs of scripted agents, or checkpoints", ["random", "greedy"]
    )
    snapshots: int = setting(
        "checkpoints of this run in the pool, the latest that passed the gate", 10, low=0, high=1000
    )
    gating: float = setting(
        "to join, a checkpoint has to score this much against the last that joined; 0 lets all join",
        0.55,
        low=0,
        high=1,
    )
    gating_games: int = setting(
        "of the match that decides it, half from either seat", 200, low=2, high=1_000_000, is_even=True
    )
    priority: float = setting(
        "an opponent is met in proportion to its recent win rate to this power; 0 meets all alike",
        1.0,
        low=0,
        high=100,
    )


@dataclass(kw_only=True)
class DistillationConfig:
    """What the network copies from a search before self-play; :mod:`mancala_env.training.distillation`."""

    positions: int = setting(
        "positions that the expert labels; 0 for no distillation", 0, low=0, high=1_000_000_000
    )
    spec: str = setting(
        "the expert: value+minimax:DEPTH, minimax:DEPTH, or perfect:SECONDSs, which leaves out what it "
        "cannot solve",
        "minimax:8",
    )
    exploration: float = setting("share of the turns of its games that are random", 0.25, low=0, high=1)
    temperature: float = setting(
        "of the Boltzmann targets, in seeds: what is worth this much less is copied e times less often",
        1.0,
        low=0,
    )
    epochs: int = setting("passes over the positions", 10, low=1, high=100_000)
    batch_size: int = setting("positions of a minibatch", 512, low=1, high=10_000_000)
    learning_rate: float = setting("Adam's step size at the start; it falls to nothing", 0.002, low=0)
    share: float = setting(
        "of the run's minutes, the most that it takes: then it copies fewer positions, fewer times",
        0.75,
        above=0,
        high=1,
    )


@dataclass(kw_only=True)
class ExpertConfig:
    """A search labels what the learner meets, beside PPO; :mod:`mancala_env.training.expert_iteration`."""

    share: float = setting(
        "of the environment steps learned from, drawn at random, whose positions a search labels; 0 for "
        "none; a file's gives way to --rounds above 1 and to Ray",
        0.0,
        low=0,
        high=1,
    )
    spec: str = setting(
        "the search: value+minimax:DEPTH, minimax:DEPTH, or perfect:SECONDSs, which leaves out what it "
        "cannot solve",
        "value+minimax:6",
    )
    temperature: float = setting(
        "of the Boltzmann targets, in seeds: what is worth this much less is copied e times less often",
        1.0,
        low=0,
    )
    search_share: float = setting(
        "of a value's target that the search says; the rest is how the game ended", 0.7, low=0, high=1
    )
    positions: int = setting("labelled positions remembered, the latest", 100_000, low=1, high=10_000_000)
    batch_size: int = setting(
        "remembered positions learned from beside each minibatch of PPO", 2048, low=1, high=10_000_000
    )
    policy: float = setting("weight of the policy's distance to the targets beside PPO's loss", 2.0, low=0)
    value: float = setting("weight of the value's error there", 0.5, low=0)


@dataclass(kw_only=True)
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017), as in sb3-contrib's MaskablePPO."""

    steps: int = setting("environment steps of each game between two updates", 32, low=1, high=65_536)
    batch_size: int = setting("environment steps of a minibatch", 4096, low=2, high=_MOST_STEPS_OF_AN_UPDATE)
    epochs: int = setting("passes over the steps of an update", 3, low=1, high=10_000)
    learning_rate: float = setting("Adam's step size at the start", 0.001, low=0)
    final_learning_rate: float = setting("the same at the end; a straight line in between", 0.0001, low=0)
    gamma: float = setting("discount per step; 1 for none", 1.0, low=0, high=1)
    gae_lambda: float = setting(
        "0 trusts the value of the next position, 1 the outcome alone", 0.9, low=0, high=1
    )
    clip_range: float = setting("how far the chance of an action may move in one update", 0.2, above=0)
    entropy: float = setting("weight of the reward for staying undecided", 0.01, low=0)
    value: float = setting("weight of the value's error", 0.5, low=0)
    max_grad_norm: float = setting("longer gradients are shortened to this", 0.5, above=0)


@dataclass(kw_only=True)
class EvaluationConfig:
    """How the agent is measured, at every checkpoint and at the end."""

    opponents: list[str] = setting("specs of the agents it meets", ["random", "greedy"])
    games: int = setting(
        "against each at the end, half from either seat", 1000, low=2, high=10_000_000, is_even=True
    )
    checkpoint_games: int = setting(
        "the same at a checkpoint, and of checkpoints against each other; 0 for none",
        200,
        low=0,
        high=10_000_000,
        is_even=True,
    )
    opening_turns: int = setting("uniformly random turns that start a game", 4, low=0, high=MAX_OPENING_TURNS)


@dataclass(kw_only=True)
class TrainConfig:
    """A run. Every setting says what it means; see configs/default.yaml.

    With `threads: 1`, `device: cpu`, a run that ends by environment steps alone and, where there is a pool,
    `checkpoint_steps`, the same seed gives the same checkpoint, bit for bit.
    """

    ruleset: str = setting("its name", "layli_goobalay")
    rounds: int | Literal["match"] = setting(
        "most rounds of an episode, or a whole match", 1, low=1, high=MAX_ROUNDS
    )
    name: str | None = setting("of the run's folder; null takes the name of the configuration file", None)
    folder: str = setting("where the folders of runs lie", "runs")
    seed: int = setting("of everything random", 1, low=0, high=MAX_SEED)
    environment_steps: int | None = setting("to learn from; null for no limit", None, low=1)
    minutes: float | None = setting(
        "to train, evaluation left out; null for no limit; the first limit reached counts", 10.0, above=0
    )
    clock: Literal["wall", "cpu"] = setting(
        "what minutes count: time that passes, or time that this process computes, on all cores together",
        "wall",
    )
    checkpoint_minutes: float = setting("between checkpoints", 1.0, low=0)
    checkpoint_steps: int | None = setting(
        "environment steps between checkpoints; null to go by checkpoint_minutes", None, low=1
    )
    threads: int = setting(
        "of torch and of the engine; 0 for every core; networks this small gain little from a second",
        1,
        low=0,
        high=MOST_THREADS,
    )
    device: str = setting("where the network runs: cpu, cuda, or auto for a GPU where there is one", "auto")
    wandb: str | None = setting("project of Weights & Biases to log to as well; null for none", None)
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
    def given_up(cls, values: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what gives way to the mode of a run that the command line asks for, and cannot be had in it.

        The rulesets' files let a search label positions; runs of whole matches need not turn that off.
        What the command line itself says does not give way.

        Args:
            values: Of the files and the command line, by dotted name.
            asked: Of the command line.
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
        """Return the seed of a run that goes on after so many steps: it must not see the same games."""
        return (self.seed + environment_steps) % (MAX_SEED + 1)

    @property
    def limit_in_words(self) -> str:
        """When the run ends, such as "1 minute or 2,048 environment steps", of which the first counts."""
        found = []
        if self.minutes is not None:
            found.append(f"{self.minutes:g} minute{'s' * (self.minutes != 1)}")
        if self.environment_steps is not None:
            found.append(f"{self.environment_steps:,} environment step{'s' * (self.environment_steps != 1)}")
        return " or ".join(found)

    def _check(self) -> None:
        """Check what goes together; each value by itself is in range."""
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
                "ppo.steps times selfplay.games must be 2 or more, not 1: a single environment step has "
                "nothing to be compared with"
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
    """What the command line of a run asks for.

    Attributes:
        config: The configuration.
        resumed: Folder of the run to go on with; None starts a new one.
        callbacks: Callbacks of the user's own, as "module:Class".
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
        arguments: Its words; None takes those of this process.
        kind: What to make of it.
        program: Whose command line it is.

    Raises:
        InvalidConfig: A word, a file or a value is wrong, or values do not go together.
        SystemExit: `--help` was asked for, and given.
    """
    known = {each.name: each for each in settings_of(kind)}
    parser = _parser(kind, known, program)
    words = parser.parse_args(arguments)
    files, values = [Path(file) for file in words.config], {}
    if words.configuration is not None:
        if words.resume is not None:
            raise InvalidConfig(f"{words.configuration} and --resume do not go together: a run keeps its own")
        file = CONFIGS / f"{words.configuration}.yaml"
        if file.is_file():
            files.insert(0, file)
        elif words.configuration in names():
            values["ruleset"] = words.configuration
        else:
            raise _no_configuration(words.configuration)
    resumed = None
    if words.resume is not None:
        resumed = Path(words.resume)
        if not (resumed / CONFIG_FILE).is_file():
            raise InvalidConfig(f"--resume {resumed}: it has no {CONFIG_FILE}, so it is no run's folder")
        where = next((name for name in ("name", "folder") if name in vars(words)), None)
        if where is not None:
            raise InvalidConfig(
                f"--{where} and --resume do not go together: a run stays in its folder, which names it"
            )
        files.insert(0, resumed / CONFIG_FILE)
    for file in files:
        found = read_file(file, kind)
        groups = {name.partition(".")[0] for name in known if "." in name}
        found = {name: value for name, value in found.items() if value is not None or name not in groups}
        unknown = next((name for name in found if name not in known), None)
        if unknown in groups:
            one = next(name for name in known if name.startswith(f"{unknown}."))
            raise InvalidConfig(
                f"{file}: {unknown} must be a group of settings, such as {one}, not {found[unknown]!r}"
            )
        if unknown is not None:
            near = difflib.get_close_matches(unknown, known, 1, 0.6)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InvalidConfig(f"{file}: there is no setting {unknown}{hint}")
        values |= found
    asked = {name: _said(known[name], text) for name, text in vars(words).items() if name in known}
    values |= kind.given_up(values | asked, asked) | asked
    if values.get("name") is None:
        values["name"] = files[-1].stem if files else values.get("ruleset", kind.ruleset)
    try:
        return Command(build(kind, values), resumed, tuple(words.callbacks))
    except InvalidSetting as error:
        raise InvalidConfig(str(error)) from error


def _said(each: Setting, text: str) -> Any:
    """Return the value of a setting on the command line; an empty one is an error."""
    if not text.strip():
        raise InvalidConfig(f"{each.name} must be {in_words(each)}, not {text!r}")
    return from_text(each, text)


def read_file(path: Path, kind: type[TrainConfig] = TrainConfig) -> dict[str, Any]:
    """Return the settings of a file by dotted name; old names become today's, unknown ones stay text.

    Args:
        path: The file.
        kind: Whose settings they are.

    Raises:
        InvalidConfig: It cannot be read, or holds no settings.
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
    """Return a run's configuration from plain data, such as a checkpoint's, of any version; others' left out.

    Raises:
        InvalidConfig: A value is wrong.
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
        """Raise InvalidConfig: a configuration is also read by programs, from words of theirs."""
        raise InvalidConfig(plain_error(message))

    def unknown(self, word: str) -> str:
        """Name what an old option is called now, or the nearest option."""
        name = word.removeprefix("--").partition("=")[0]
        if name in OLD_NAMES:
            return f"no option --{name}; it is called --{OLD_NAMES[name]} now"
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
        "configuration", metavar="NAME", nargs="?", default=None, help="of a configuration or a ruleset"
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        action="append",
        default=[],
        help="a file of settings; may be given again, and the last one counts most",
    )
    parser.add_argument(
        "--resume", metavar="FOLDER", default=None, help="of a run to go on with, such as runs/first"
    )
    parser.add_argument(
        "--callbacks",
        metavar="MODULE:CLASS",
        nargs="+",
        default=[],
        help="callbacks of your own, made without arguments; no file can name them",
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
