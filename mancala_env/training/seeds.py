"""Training of one configuration with several seeds: `mancala train leyla --seeds 5`.

The runs follow each other. Each has a folder of its own, such as runs/leyla-seed-3. The same command resumes
after an interruption, and trains only the seeds that are missing.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mancala_env._util.checks import number_of
from mancala_env._util.command_line import SUPPRESS, Parser
from mancala_env.networks.checkpoint import InvalidCheckpoint, read_identity
from mancala_env.training.config import (
    CONFIG_FILE,
    MAX_SEED,
    InvalidConfig,
    TrainConfig,
    read_config,
    read_file,
    read_settings,
    with_new_names,
)
from mancala_env.training.progress_bar import say
from mancala_env.training.run_folder import FINAL
from mancala_env.training.run_results import EVALUATION, means_of, read_run
from mancala_env.training.schedule import Clock
from mancala_env.training.training_state import read_learned

# Settings that may change when a run is resumed.
_MAY_DIFFER = ("minutes", "checkpoint_minutes", "checkpoint_steps", "folder", "name")
_MOST_SEEDS = 1000


def seeds_of(text: str) -> tuple[int, ...]:
    """Return the seeds of `--seeds`: a number N for 1 to N, or a list; raise InvalidConfig for others.

    >>> seeds_of("3"), seeds_of("4,7")
    ((1, 2, 3), (4, 7))
    """
    seeds: list[int] = []
    with suppress(ValueError):
        seeds = [number_of(part.strip(), int) for part in text.split(",")]
    if len(seeds) == 1 and "," not in text:
        seeds = [*range(1, seeds[0] + 1)[: _MOST_SEEDS + 1]]  # a huge number is not listed
    is_valid = 0 < len(seeds) <= _MOST_SEEDS and all(0 <= seed <= MAX_SEED for seed in seeds)
    if not is_valid or len(set(seeds)) < len(seeds):
        valid = f"a number of seeds up to {_MOST_SEEDS}, such as 5, or different seeds, such as 1,2,3"
        raise InvalidConfig(f"--seeds must be {valid}, not {text!r}")
    return tuple(seeds)


def take_seeds(words: Sequence[str]) -> tuple[tuple[int, ...], list[str]]:
    """Return the seeds of a command line of `mancala train`, and the other words; () without `--seeds`.

    Raise InvalidConfig if the seeds are invalid, or another option excludes `--seeds`.
    """
    parser = Parser(add_help=False, argument_default=SUPPRESS)
    parser.add_argument("--seeds", nargs="?", const="")
    options, rest = parser.parse_known_args(list(words))
    if not hasattr(options, "seeds"):
        return (), list(words)
    names = {word.partition("=")[0] for word in rest}
    other = next((name for name in ("--seed", "--resume") if name in names), None)
    if other is not None:
        hint = "; the same command resumes" if other == "--resume" else ""
        raise InvalidConfig(f"--seeds and {other} exclude each other{hint}")
    return seeds_of(options.seeds), rest


def configs_of(seeds: Sequence[int], words: Sequence[str], program: str) -> list[TrainConfig]:
    """Return the configuration of each seed; `words` are the other words of the command line.

    Raise InvalidConfig if a setting is invalid, or a folder holds a run with other settings.
    """
    configs = []
    for seed in seeds:
        config, _ = read_config([*words, "--seed", str(seed)], TrainConfig, program)
        configs.append(replace(config, name=f"{config.name}-seed-{seed}"))
    for config in configs:
        check_same_settings(config)
    return configs


def print_means(configs: Sequence[TrainConfig], console: Console) -> None:
    """Print the means of the results of runs that differ in their seeds, and the next command."""
    runs, game = [read_run(config.place) for config in configs], configs[0].game
    turns, count = configs[0].evaluation.opening_turns, len(runs)
    title = f"{game.title}: means over {count} seed{'s' * (count != 1)}, games after {turns} random turns"
    table = Table("measure", "mean", "95 % interval", "each seed", title=title, title_justify="left")
    results = [run.final() for run in runs]
    for mean in means_of(results):
        each = [next(one for one in found if one.key == mean.key) for found in results]
        table.add_row(mean.title, *mean.texts, ", ".join(one.texts[0] for one in each))
    console.print(table)
    name = str(configs[0].name).removesuffix(f"-seed-{configs[0].seed}")
    pattern = Path(configs[0].folder) / f"{name}-seed-*"
    say(console, "Compare it with other runs:")
    say(console, f'  mancala compare "{pattern}" "OTHER-seed-*"')


def is_finished(config: TrainConfig) -> bool:
    """Return whether the run of a configuration has reached its end and was evaluated with its settings."""
    final = config.place / FINAL
    if not (final.is_file() and (config.place / EVALUATION).is_file()):
        return False
    with suppress(InvalidCheckpoint):
        steps, seconds = read_identity(final).environment_steps, read_learned(final).progress.seconds
        run, wanted = read_run(config.place), config.evaluation
        if Clock(config, seconds).part_done(steps) < 1 or not run.final():
            return False
        games = [(match["second"], match.get("games")) for match in run.evaluation["matches"]]
        is_same = games == [(opponent, wanted.games) for opponent in wanted.opponents]
        return is_same and run.evaluation.get("opening_turns") == wanted.opening_turns
    return False


def check_same_settings(config: TrainConfig) -> None:
    """Raise InvalidConfig if the folder of the configuration's name holds a run with other settings."""
    if not (config.place / CONFIG_FILE).is_file():
        return
    stored = read_settings(read_file(config.place / CONFIG_FILE))
    before, wanted = (with_new_names(each.as_dict()) for each in (stored, config))
    for name, value in wanted.items():
        if name not in _MAY_DIFFER and not name.startswith("evaluation.") and before[name] != value:
            holds = f"{config.place} holds a run with {name} {before[name]}, not {value}"
            raise InvalidConfig(f"{holds}; name another --folder")
