"""The configuration of a run, read from the command line and from files.

Every setting is a field below or in `config_groups`. This command generates configs/default.yaml from them:

    python -m tools.make_default_configs --write

The other files of configs/ override some settings, and the command line overrides the files.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import yaml

from mancala_env._util.command_line import SUPPRESS, Parser, plain_error
from mancala_env._util.settings import (
    InvalidSetting,
    Meaning,
    Setting,
    build,
    check,
    flat,
    from_text,
    in_yaml,
    setting,
    settings_of,
)
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.engine.jit.threads import MOST_THREADS
from mancala_env.errors import InvalidRuleset, MancalaError, did_you_mean
from mancala_env.networks.policy import NetworkConfig
from mancala_env.rulesets import Ruleset, is_ruleset_file, lookup, names, plain_yaml
from mancala_env.training.config_groups import (
    MOST_STEPS_OF_AN_UPDATE,
    DistillationConfig,
    EvaluationConfig,
    ExpertConfig,
    PoolConfig,
    PPOConfig,
    SelfPlayConfig,
)

_PACKAGE = Path(__file__).resolve().parent.parent
# The configurations are in the installed package, or beside it in a checkout.
CONFIGS = (_PACKAGE if (_PACKAGE / "configs").is_dir() else _PACKAGE.parent) / "configs"
CONFIG_FILE = "config.yaml"
# All settings with their comments are about 6,000 bytes.
_MOST_BYTES = 1 << 16

MAX_SEED = 2**31 - 1
"""The largest seed that all libraries accept."""

_OF_A_TEACHER = ["positions", "spec", "exploration", "temperature", "epochs", "batch_size", "learning_rate"]
OLD_NAMES = {f"teacher.{name}": f"distillation.{name}" for name in _OF_A_TEACHER}
OLD_NAMES["turns"] = "environment_steps"
"""New names of settings, by their old names in files of earlier versions, which are still accepted."""

REMOVED: dict[str, Any] = {"wandb": None, "selfplay.reward": "outcome", "pool.priority": 1.0}
"""Removed settings, by the value that they have always now; files of earlier versions may hold it."""

_OF_THE_GATE = ("pool.gating", "pool.gating_games", "pool.promotion", "pool.promotion_games")

_MOVED = "moved to training/benchmark/alphazero.py; mancala benchmark runs it"


class InvalidConfig(MancalaError):
    """Values of a configuration that are out of range or contradict each other."""


@dataclass(kw_only=True)
class TrainConfig:
    """All settings of a run; configs/default.yaml describes each.

    The same seed gives the same checkpoint, bit for bit, with `threads: 1`, `device: cpu`,
    `environment_steps` as the only limit and, if there is a pool, `checkpoint_steps`.
    """

    ruleset: str | dict | Ruleset = setting(
        "Ruleset: a name, rule options such as {like: leyla, row_width: 5}, or the path of a ruleset file",
        "layli_goobalay",
    )
    rounds: int | Literal["match"] = setting(
        "Maximum number of rounds in an episode, or match for a whole match", 1, low=1, high=MAX_ROUNDS
    )
    name: str | None = setting("Name of the run's folder; null for the name of the configuration", None)
    folder: str = setting("Folder in which the run's folder is created", "runs")
    seed: int = setting("Random seed", 1, low=0, high=MAX_SEED)
    environment_steps: int | None = setting(
        "Number of environment steps to train for; null for no limit", None, low=1
    )
    minutes: float | None = setting(
        "Minutes to train for, evaluation excluded; null for no limit. The rollout that reaches the first "
        "limit is the last",
        10.0,
        above=0,
    )
    clock: Literal["wall", "cpu"] = setting(
        "Time that minutes count: wall time, or CPU time of this process, added up over cores", "wall"
    )
    checkpoint_minutes: float = setting("Minutes between checkpoints", 1.0, low=0)
    checkpoint_steps: int | None = setting(
        "Number of environment steps between checkpoints; null to use checkpoint_minutes", None, low=1
    )
    threads: int = setting(
        "Number of CPU threads of torch and of the engine; 0 for all cores. Small networks need only 1",
        1,
        low=0,
        high=MOST_THREADS,
    )
    device: str = setting("Device of the network: cpu, cuda, or auto for a GPU if available", "auto")
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
        game = lookup(self.ruleset)
        # A ruleset of your own is stored with all rule options, so that a run needs no other file.
        self.ruleset = game.name if game.is_bundled else game.to_dict()
        check(self)
        self._check()

    @classmethod
    def implied_settings(cls, values: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that command-line options imply; they override settings from files.

        The files of the rulesets enable search labels. The option --rounds, unless it is 1, disables them,
        because a search values a single round.
        """
        searched = values.get("expert.search_share", ExpertConfig.search_share)
        return {"expert.share": 0.0} if asked.get("rounds", 1) != 1 and searched else {}

    @property
    def game(self) -> Ruleset:
        """The ruleset itself."""
        return lookup(self.ruleset)

    @property
    def place(self) -> Path:
        """Path of the folder of the configuration's name."""
        return Path(self.folder) / str(self.name)

    def as_dict(self) -> dict[str, Any]:
        """Return the configuration as plain data."""
        return asdict(self)

    def to_yaml(self) -> str:
        """Return the configuration as YAML, complete."""
        return yaml.safe_dump(self.as_dict(), sort_keys=False)

    def seed_after(self, environment_steps: int) -> int:
        """Return the random seed of a resumed run, which differs so that no games are repeated."""
        return (self.seed + environment_steps) % (MAX_SEED + 1)

    @property
    def limit_in_words(self) -> str:
        """The limits of the run, such as "1 minute or 2,048 environment steps"."""
        limits = {"minute": self.minutes, "environment step": self.environment_steps}
        found = {unit: limit for unit, limit in limits.items() if limit is not None}
        return " or ".join(f"{limit:,.12g} {unit}{'s' * (limit != 1)}" for unit, limit in found.items())

    def _check(self) -> None:
        """Check values that depend on each other; each is in range by itself."""
        if self.environment_steps is None and self.minutes is None:
            raise InvalidConfig("a run needs an end: set environment_steps or minutes")
        name, steps = self.name, self.ppo.steps * self.selfplay.games
        if name is not None and (name in ("", "..") or Path(name).name != name or not name.isprintable()):
            raise InvalidConfig(f"name must be that of a folder, without a path, not {name!r}")
        if steps > MOST_STEPS_OF_AN_UPDATE:
            most = f"{MOST_STEPS_OF_AN_UPDATE:,}, which are all in memory at once"
            raise InvalidConfig(f"ppo.steps times selfplay.games must be at most {most}, not {steps:,}")
        if steps == 1:
            why = "the advantage of a single step cannot be normalised"
            raise InvalidConfig(f"ppo.steps times selfplay.games must be 2 or more, not 1: {why}")
        share = self.expert.search_share
        if self.expert.share and share and self.rounds != 1:
            must = f"expert.search_share must be 0 where rounds is {self.rounds}, not {share:g}"
            raise InvalidConfig(f"a search values a round, not a match, so {must}")
        if self.pool.share and not self.pool.opponents:
            must = "pool.opponents must name at least one agent, such as random"
            raise InvalidConfig(f"pool.share is above 0, so {must}, not {self.pool.opponents}")


Config = TypeVar("Config", bound=TrainConfig)


def read_config(
    arguments: Sequence[str] | None = None, kind: type[Config] = TrainConfig, program: str = "mancala train"
) -> tuple[Config, Path | None]:
    """Read the command line of a run; None reads this process's arguments.

    Returns:
        The configuration, and the folder of the run to resume; None for a new run.

    Raises:
        InvalidConfig: An argument, a file or a value is invalid, or values contradict each other.
        SystemExit: The arguments contain `--help`.
    """
    known = {each.name: each for each in settings_of(kind)}
    options = make_parser(program, kind).parse_args(arguments)
    if "seeds" in vars(options):  # mancala train removes it first
        raise InvalidConfig(f"--seeds {options.seeds} needs mancala train; a configuration has one seed")
    files, values, own, name = [Path(file) for file in options.config], {}, {}, options.configuration
    resumed, file = _resumed_folder(options), CONFIGS / f"{name}.yaml"
    if resumed is not None:
        files.insert(0, resumed / CONFIG_FILE)
    elif name is not None:
        if is_ruleset_file(name) or name in names():
            own = {"ruleset": _own_ruleset(name)}
        elif not file.is_file():
            there = sorted({file.stem for file in CONFIGS.glob("*.yaml")} - {"default", "rllib"} | {*names()})
            hint = did_you_mean(name, there, cutoff=0.4) or f"; known: {', '.join(there)}"
            raise InvalidConfig(f"unknown configuration or ruleset {name!r}{hint}; name a file with --config")
        if file.is_file():
            files.insert(0, file)
    for file in files:
        values |= read_file(file, kind)
    values |= own
    asked = {}
    for name, text in vars(options).items():
        if name in known:
            if not text.strip():
                raise InvalidConfig(f"{name} must be {known[name].valid_values}, not {text!r}")
            asked[name] = from_text(known[name], text)
    values |= kind.implied_settings(values | asked, asked) | asked
    if values.get("name") is None:
        is_of_file = files and not own
        values["name"] = files[-1].stem if is_of_file else lookup(values.get("ruleset", kind.ruleset)).name
    return _build(kind, values), resumed


def _own_ruleset(path: str) -> Ruleset:
    try:
        return lookup(path)
    except InvalidRuleset as error:
        may_be_settings = "unknown rule option" in str(error) or not Path(path).is_file()
        hint = " (a configuration goes to --config)" * may_be_settings
        raise InvalidConfig(f"{error}{hint}") from error


def _resumed_folder(options: argparse.Namespace) -> Path | None:
    """Return the folder of `--resume`, if any, which must be that of a run."""
    if options.resume is None:
        return None
    if options.configuration is not None:
        why = "a run keeps its configuration"
        raise InvalidConfig(f"{options.configuration} and --resume exclude each other: {why}")
    folder = Path(options.resume)
    if not (folder / CONFIG_FILE).is_file():
        raise InvalidConfig(
            f"--resume {folder}: {CONFIG_FILE} is missing, so it is not the folder of a run"
            + f"; give the folder of the checkpoint: --resume {folder.parent}" * folder.is_file()
        )
    for name in ("name", "folder"):
        if name in vars(options):
            why = "a run stays in its folder, which names it"
            raise InvalidConfig(f"--{name} and --resume exclude each other: {why}")
    return folder


def read_file(path: Path, kind: type[TrainConfig] = TrainConfig) -> dict[str, Any]:
    """Return the settings of a file by dotted name; old names are replaced.

    Raise InvalidConfig if the file cannot be read, does not contain settings, or has an unknown setting.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
        content = plain_yaml.read(text.decode()) or {}
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InvalidConfig(f"the configuration {path} cannot be read: {error}") from error
    if not isinstance(content, Mapping):
        raise InvalidConfig(f"the configuration {path} must hold settings, such as ruleset: leyla")
    known = {each.name: each for each in settings_of(kind)}
    groups = {name.partition(".")[0] for name in known if "." in name}
    found = {}
    for name, value in with_new_names(content).items():
        if (name, value) == ("algorithm", "alphazero"):
            raise InvalidConfig(f"{path}: algorithm alphazero {_MOVED}")
        if name in REMOVED:
            fixed = in_yaml(REMOVED[name])
            raise InvalidConfig(f"{path}: {name} was removed and is always {fixed} now, not {value!r}")
        if name == "ruleset" and is_ruleset_file(value):
            found[name] = str(path.parent / value)
        elif name in known:
            found[name] = from_text(known[name], value) if isinstance(value, str) else value
        elif name not in groups:
            raise InvalidConfig(f"{path}: unknown setting {name}{did_you_mean(name, known)}")
        elif value is not None:
            raise InvalidConfig(f"{path}: {name} must be a group of settings, not {value!r}")
    return found


def read_settings(plain: Mapping[str, Any]) -> TrainConfig:
    """Return a configuration from plain data of any version without unknown settings; raise InvalidConfig."""
    known = {each.name for each in settings_of(TrainConfig)}
    if is_ruleset_file(plain.get("ruleset")):  # a file from elsewhere must not name a file of this machine
        raise InvalidConfig(f"ruleset must be a name or rule options, not {plain['ruleset']!r}")
    return _build(TrainConfig, {k: v for k, v in with_new_names(plain).items() if k in known})


def _build(kind: type[Config], values: Mapping[str, Any]) -> Config:
    try:
        return build(kind, values)
    except InvalidSetting as error:
        raise InvalidConfig(str(error)) from error


def with_new_names(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by dotted name as this version has them.

    Removed settings are skipped if they have the value that is fixed now. Files of version 0.1 also hold the
    settings of AlphaZero. They are skipped if PPO learned.
    """
    ruleset = {"ruleset": plain["ruleset"]} if "ruleset" in plain else {}
    others = flat({name: value for name, value in plain.items() if name != "ruleset"})
    named = {OLD_NAMES.get(name, name): value for name, value in (ruleset | others).items()}
    is_ppo = named.get("algorithm") == "ppo"
    return {
        name: value
        for name, value in named.items()
        if not _is_fixed(name, value) and not (is_ppo and _is_of_alphazero(name))
    }


def _is_fixed(name: str, value: Any) -> bool:
    """Return whether a setting was removed, and is ignored or has the value that it always has now."""
    if name not in REMOVED:
        return name in _OF_THE_GATE
    fixed = REMOVED[name]
    if isinstance(value, str):
        value = from_text(Setting(name, type(fixed), fixed, Meaning("")), value)
    return value == fixed


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
        if name in _OF_THE_GATE:
            return f"no option --{name}; it was removed, and every checkpoint joins the pool"
        if name in REMOVED:
            return f"no option --{name}; it was removed and is always {in_yaml(REMOVED[name])} now"
        if _is_of_alphazero(name):
            return f"no option --{name}; AlphaZero {_MOVED}"
        return super().unknown(word)


def make_parser(program: str, kind: type[TrainConfig] = TrainConfig) -> Parser:
    """Return the parser of a run's command line, which raises InvalidConfig instead of exiting."""
    seeds = "[--seeds N] " * (kind is TrainConfig)
    parser = _Parser(
        prog=program,
        usage=f"{program} [NAME] [--config FILE] [--resume FOLDER] {seeds}[--SETTING VALUE ...]",
        description="Train an agent by self-play. Every setting of the configuration is an option.",
        argument_default=SUPPRESS,
    )
    parser.set_defaults(configuration=None, config=[], resume=None)
    add, form = parser.add_argument, "name of a configuration or a ruleset, or the path of a ruleset file"
    add("configuration", metavar="NAME", nargs="?", help=form)
    later = "configuration file; repeatable, later files override earlier ones"
    add("--config", metavar="FILE", action="append", help=later)
    add("--resume", metavar="FOLDER", help="folder of a run to resume, such as runs/first")
    if kind is TrainConfig:
        means = "number of seeds (1..N), or seeds such as 1,2,3: train with each, and print the means"
        add("--seeds", metavar="N", help=means)
    sections: dict[str, Any] = {"": parser.add_argument_group("settings of a run")}
    for each in settings_of(kind):
        group, _, last = each.name.rpartition(".")
        if group not in sections:
            sections[group] = parser.add_argument_group(group)
        text = f"{each.description} (default: {in_yaml(each.default)})".replace("%", "%%")
        sections[group].add_argument(f"--{each.name}", dest=each.name, metavar=last.upper(), help=text)
    return parser
