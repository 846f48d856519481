"""The configuration of a run: what can be set, what it means, and how it is read.

Values stand in configs/default.yaml; the other files of configs/ override some of them, and the command
line overrides those. A key that is not here is an error.
"""

import argparse
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import yaml
from jsonargparse import ArgumentParser

from mancala_env.agents.network import NetworkConfig
from mancala_env.errors import MancalaError
from mancala_env.rulesets import Ruleset, lookup

_PACKAGE = Path(__file__).resolve().parent.parent


def configs_folder() -> Path:
    """Return where the configurations lie: in the installed package, or beside it in a checkout."""
    inside = _PACKAGE / "configs"
    return inside if inside.is_dir() else _PACKAGE.parent / "configs"


CONFIGS = configs_folder()
CONFIG_FILE = "config.yaml"


class InvalidConfig(MancalaError):
    """Values of a configuration that are out of range or do not go together."""


@dataclass
class SelfPlayConfig:
    """The games the policy learns from.

    Attributes:
        games: Games played side by side.
        opening_turns: Uniformly random turns that start an opened game, so that more than one opening is
            seen.
        opening_share: Share of the mirror games that are opened, 0 to 1; pool games all are.
        reward: "outcome": +1, 0 or -1 at the end of a game. "margin": difference of the counts over all
            seeds.
    """

    games: int
    opening_turns: int
    opening_share: float
    reward: Literal["outcome", "margin"]


@dataclass
class PoolConfig:
    """Games against others than oneself. Only the learner's turns are steps there.

    Attributes:
        share: Share of the games that are played against the pool, 0 to 1.
        opponents: Specs of agents in the pool: scripted ones, or checkpoints.
        snapshots: How many checkpoints of this run are in the pool too, the latest that joined.
        promotion: A checkpoint joins if it scores at least this share, 0 to 1, against the one that
            joined last; the first joins in any case. 0 lets all of them join.
        promotion_games: Games of the match that decides it, half of them from either seat; even.
        priority: 0 meets all of them alike. Above, an opponent is met in proportion to its recent win
            rate to this power: the ones that win are met more.
    """

    share: float
    opponents: list[str]
    snapshots: int
    promotion: float
    promotion_games: int
    priority: float


@dataclass
class TeacherConfig:
    """What the network learns from a search before self-play; see :mod:`mancala_env.learning.distillation`.

    Attributes:
        positions: Positions the teacher values; 0 for no teacher. The time counts as training.
        spec: The teacher: minimax:DEPTH, or perfect:SECONDSs, which leaves out what it cannot solve.
        exploration: Share of the turns of its games that are random, 0 to 1.
        temperature: Seeds; an action that is worth this much less than another is copied e times less
            often. 0 copies the best actions alone.
        epochs: Passes over the positions.
        batch_size: Positions of a minibatch.
        learning_rate: Adam's step size at the start; it falls to nothing.
    """

    positions: int
    spec: str
    exploration: float
    temperature: float
    epochs: int
    batch_size: int
    learning_rate: float


@dataclass
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017), as in sb3-contrib's MaskablePPO.

    Attributes:
        steps: Turns of each game between two updates.
        batch_size: Turns of a minibatch.
        epochs: Passes over the turns at each update.
        learning_rate: Adam's step size at the start.
        final_learning_rate: The same at the end; it falls in a straight line.
        gamma: Discount per turn; 1 for none.
        gae_lambda: From 0, trust the value of the next position, to 1, trust the outcome alone.
        clip_range: How far the chance of an action may move in one update.
        entropy: Weight of the reward for staying undecided.
        value: Weight of the value's error.
        max_grad_norm: Longer gradients are shortened to this.
    """

    steps: int
    batch_size: int
    epochs: int
    learning_rate: float
    final_learning_rate: float
    gamma: float
    gae_lambda: float
    clip_range: float
    entropy: float
    value: float
    max_grad_norm: float


@dataclass
class EvaluationConfig:
    """How the agent is measured, at every checkpoint and at the end.

    Attributes:
        opponents: Specs of the agents it meets.
        games: Games against each at the end, half of them from either seat; even.
        checkpoint_games: The same at a checkpoint; 0 for none.
        opening_turns: Uniformly random turns that start a game, 0 to 12.
    """

    opponents: list[str]
    games: int
    checkpoint_games: int
    opening_turns: int


@dataclass
class TrainConfig:
    """A run.

    Attributes:
        ruleset: Name of the ruleset; `mancala_env.rulesets.names()` lists them.
        rounds: Most rounds of an episode, or "match".
        name: Name of the run's folder; null takes the name of the configuration file.
        folder: Where the folders of runs lie.
        seed: Seed of everything random. With `threads: 1`, `device: cpu` and a run that ends by turns,
            the same seed gives the same checkpoint, bit for bit.
        turns: Turns to learn from; null for no limit.
        minutes: Minutes to train (without evaluation); null for no limit. The first limit reached counts.
        checkpoint_minutes: Minutes between checkpoints.
        threads: CPU threads of torch and of the engine; 0 takes every core. Networks this small gain little
            from a second thread, and on a busy machine threads that wait for each other lose a lot.
        device: Where the network runs: "cpu", "cuda", or "auto" for a GPU where there is one.
        network: What the network sees and how large it is.
        selfplay: The games it learns from.
        pool: Games against others.
        teacher: What it learns from a search before self-play.
        ppo: The learning algorithm.
        evaluation: How the agent is measured.
    """

    ruleset: str
    rounds: int | Literal["match"]
    name: str | None
    folder: str
    seed: int
    turns: int | None
    minutes: float | None
    checkpoint_minutes: float
    threads: int
    device: str
    network: NetworkConfig
    selfplay: SelfPlayConfig
    pool: PoolConfig
    teacher: TeacherConfig
    ppo: PPOConfig
    evaluation: EvaluationConfig

    def __post_init__(self) -> None:
        self._check()

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

    def _check(self) -> None:
        lookup(self.ruleset)
        if self.turns is None and self.minutes is None:
            raise InvalidConfig("a run needs an end: set turns or minutes")
        for key, value, low, high in (
            ("turns", self.turns, 1, None),
            ("threads", self.threads, 0, None),
            ("checkpoint_minutes", self.checkpoint_minutes, 0, None),
            ("selfplay.games", self.selfplay.games, 1, None),
            ("selfplay.opening_turns", self.selfplay.opening_turns, 0, 12),
            ("selfplay.opening_share", self.selfplay.opening_share, 0, 1),
            ("pool.share", self.pool.share, 0, 1),
            ("pool.snapshots", self.pool.snapshots, 0, None),
            ("pool.promotion", self.pool.promotion, 0, 1),
            ("pool.promotion_games", self.pool.promotion_games, 2, None),
            ("pool.priority", self.pool.priority, 0, None),
            ("teacher.positions", self.teacher.positions, 0, None),
            ("teacher.exploration", self.teacher.exploration, 0, 1),
            ("teacher.temperature", self.teacher.temperature, 0, None),
            ("teacher.epochs", self.teacher.epochs, 1, None),
            ("teacher.batch_size", self.teacher.batch_size, 1, None),
            ("ppo.steps", self.ppo.steps, 1, None),
            ("ppo.batch_size", self.ppo.batch_size, 2, None),
            ("ppo.epochs", self.ppo.epochs, 1, None),
            ("ppo.gamma", self.ppo.gamma, 0, 1),
            ("ppo.gae_lambda", self.ppo.gae_lambda, 0, 1),
            ("evaluation.games", self.evaluation.games, 2, None),
            ("evaluation.checkpoint_games", self.evaluation.checkpoint_games, 0, None),
            ("evaluation.opening_turns", self.evaluation.opening_turns, 0, 12),
        ):
            if value is not None and (value < low or (high is not None and value > high)):
                allowed = f"at least {low}" if high is None else f"{low} to {high}"
                raise InvalidConfig(f"{key} must be {allowed}, not {value}")
        if self.minutes is not None and not self.minutes > 0:
            raise InvalidConfig(f"minutes must be more than 0, or null for no limit, not {self.minutes}")
        for key, games in (
            ("evaluation.games", self.evaluation.games),
            ("evaluation.checkpoint_games", self.evaluation.checkpoint_games),
            ("pool.promotion_games", self.pool.promotion_games),
        ):
            if games % 2:
                raise InvalidConfig(f"{key} must be even (both seats), not {games}")
        if self.pool.share and not self.pool.opponents:
            raise InvalidConfig(
                "pool.share is above 0, so pool.opponents must name at least one agent, such as random; "
                "snapshots join it when there are some"
            )


Config = TypeVar("Config", bound=TrainConfig)


def read_config(
    arguments: list[str] | None = None,
    kind: type[Config] = TrainConfig,
    program: str = "train.py",
    defaults: tuple[str, ...] = ("default.yaml",),
) -> tuple[Config, Path | None]:
    """Read the command line of a run.

    Args:
        arguments: Its words; None takes those of this process.
        kind: What to make of it.
        program: The file of training/ whose command line it is.
        defaults: Files of configs/ that are read first, the last one counting most.

    Returns:
        The configuration, and the folder of the run to resume, if any.

    Raises:
        SystemExit: The command line or a file is wrong; what is wrong has been printed.
        InvalidConfig: The values do not go together.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    resumed = _resumed_folder(words)
    parser = _parser(kind, program, defaults)
    if resumed is not None:
        words = ["--config", str(resumed / CONFIG_FILE), *words]
    parsed = parser.parse_args(words)
    if parsed.name is None:
        parsed.name = Path(str(parsed.config[-1])).stem if parsed.config else parsed.ruleset
    config = parser.instantiate(parsed)
    return kind(**{key: config[key] for key in kind.__dataclass_fields__}), resumed


class _Parser(ArgumentParser):
    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Print one line instead of the usage, which is a page long."""
        print(f"{Path(self.prog).name}: {' '.join(message.split())}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


def _parser(kind: type[TrainConfig], program: str, defaults: tuple[str, ...]) -> ArgumentParser:
    parser = _Parser(
        prog=f"training/{program}",
        description="Train an agent by self-play. Every value of the configuration is an option.",
        default_config_files=[str(CONFIGS / name) for name in defaults],
        allow_abbrev=False,
    )
    parser.add_argument("--config", action="config", help="A file of configs/; the last one counts most.")
    parser.add_argument("--resume", type=str, help="Folder of a run to go on with, such as runs/first.")
    parser.add_class_arguments(kind)
    return parser


def _resumed_folder(words: list[str]) -> Path | None:
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--resume")
    known, _ = early.parse_known_args(words)
    if known.resume is None:
        return None
    folder = Path(known.resume)
    if not (folder / CONFIG_FILE).is_file():
        raise InvalidConfig(f"--resume {folder}: there is no {CONFIG_FILE} in it, so it is no run's folder")
    return folder
