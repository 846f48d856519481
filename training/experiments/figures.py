"""Train and evaluate every configuration, and write the results as a table.

python training/experiments/figures.py --minutes 10 --games 1000 --out docs/results/configurations.md
python training/experiments/figures.py configs/leyla.yaml --options "--expert.share 0.1" --seeds 1 2 3

This trains and evaluates each configuration with each seed. The default is all configurations for a ruleset.
After each run it writes a Markdown table with a row per configuration, and a JSON file with every number.

Results with the same minutes, games, options and seed are kept. If one of these differs, the configuration is
trained and evaluated again. An interrupted command resumes when you run it again. To start over, delete the
JSON file and the folder of the runs.
"""

import json
import re
import shlex
import sys
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml
from rich.console import Console

from mancala_env._util.command_line import Parser, check_out, in_one_line
from mancala_env.evaluation.matches import num_pairs
from mancala_env.games.speed import machine
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.config import CONFIGS, InvalidConfig, TrainConfig, read_config
from mancala_env.training.run import check_agents, train_or_resume
from mancala_env.training.run_folder import RunFolder, git_revision, write_atomically
from mancala_env.training.run_report import report
from tools import markdown

# Required keys of a result.
_FIGURES = (
    "config",
    "trained",
    "network",
    "seed",
    "games",
    "turns",
    "turns_per_second",
    "matches",
    "regret",
    "git",
)
OPPONENTS = ("random", "greedy", "minimax:2", "minimax:4")
# Options of mancala train that must be equal in all runs. These programs set them.
_IN_COMMON = {
    "config",
    "resume",
    "ruleset",
    "rounds",
    "name",
    "folder",
    "seed",
    "environment_steps",
    "minutes",
    "checkpoint_minutes",
    "checkpoint_steps",
    "evaluation",
}


def options(text: str, option: str) -> list[str]:
    """Parse a change of a configuration into arguments of mancala train.

    Args:
        text: Options such as "--ppo.epochs 4 --network.hidden 256" or "ppo.epochs=4". The second form exists
            because argparse reads a lone --ppo.epochs=4 as an option of this program.
        option: Name of the option that holds the text, for errors.

    Raises:
        InvalidConfig: If the text is not a valid command line, or sets an option that all runs share.
    """
    try:
        words = [f"--{word}" if re.match(r"[\w.]+=", word) else word for word in shlex.split(text)]
    except ValueError as error:
        raise InvalidConfig(f"{option} {text!r} is not a valid command line: {error}") from error
    for word in words:
        if word.startswith("--") and re.split(r"[=.]", word[2:])[0] in _IN_COMMON:
            name = word.partition("=")[0]
            raise InvalidConfig(f"{option} {text!r}: {name} has to be the same for all runs")
    return words


def ruleset_configs() -> list[Path]:
    """Return the files of configs/ that are for a ruleset. Their names begin with its name."""
    return [
        path
        for path in sorted(CONFIGS.glob("*.yaml"))
        if path.stem.startswith(str((yaml.safe_load(path.read_text("utf-8")) or {}).get("ruleset", "-")))
    ]


def make_figures(
    path: Path, minutes: float, games: int, changes: str, seed: int, folder: Path, console: Console
) -> dict[str, Any] | None:
    """Train and evaluate a configuration with some options and a seed, or resume its run.

    Returns:
        The results; None if a signal ended the training.

    Raises:
        InvalidConfig: If the folder holds a run with other options.
    """
    config = _config(path, minutes, games, changes, seed, folder)
    console.print(f"{config.name}: {minutes:g} minutes", highlight=False)
    run, checkpoint, stopped_by = train_or_resume(config, console)
    if stopped_by:
        return None
    report(config, run, checkpoint, console)
    found = _figures(config, run, checkpoint, minutes)
    return found | {"config": path.stem, "trained": trained_for(minutes, changes)}


def _config(path: Path, minutes: float, games: int, changes: str, seed: int, folder: Path) -> TrainConfig:
    name = path.stem if seed == 1 else f"{path.stem}-seed-{seed}"
    ours = {
        "config": path,
        "folder": folder,
        "name": name,
        "seed": seed,
        "minutes": minutes,
        "environment_steps": "null",
        "evaluation.opponents": f"[{', '.join(OPPONENTS)}]",
        "evaluation.games": games,
        "evaluation.checkpoint_games": 0,
    }
    words = [word for key, value in ours.items() for word in (f"--{key}", str(value))]
    config, _ = read_config([*words, *options(changes, "--options")], program="mancala train")
    check_agents(config)
    return config


def trained_for(minutes: float, changes: str) -> str:
    """Return the cell of a row that names the minutes and options of the training."""
    return f"{minutes:g} minutes" + (f", `{changes}`" if changes else "")


def _figures(config: TrainConfig, run: RunFolder, checkpoint: Path, minutes: float) -> dict[str, Any]:
    evaluation = json.loads((run.path / "evaluation.json").read_text())
    turns = read_identity(checkpoint).environment_steps
    return {
        "seed": config.seed,
        "ruleset": config.game.name,
        "rounds": config.rounds,
        "network": f"{config.network.observation}, {config.network.hidden} hidden",
        "minutes": minutes,
        "games": config.evaluation.games,
        "turns": turns,
        "turns_per_second": round(turns / (60 * minutes)),
        "matches": evaluation["matches"],
        "regret": evaluation["regret"],
        "git": git_revision(),
        "date": str(date.today()),
        "machine": machine(),
    }


def table(found: list[dict[str, Any]]) -> str:
    """Return results as a Markdown table with a row per configuration."""
    headings = [
        "configuration",
        "trained for",
        "network",
        "seeds",
        "steps",
        *OPPONENTS,
        "mean regret (seeds a move)",
    ]
    rows = [_row([each for each in found if each["config"] == name]) for name in _names(found)]
    return f"{markdown.table(headings, rows)}\n"


def read_figures(path: Path) -> list[dict[str, Any]]:
    """Read the results of earlier runs.

    Raises:
        InvalidConfig: If the file is not a file of results.
    """
    try:
        found = json.loads(path.read_text()) if path.exists() else []
        if not isinstance(found, list):
            raise ValueError
        found = [{"seed": 1} | each for each in found]  # old files do not name the seed
        if any(name not in each for each in found for name in _FIGURES):
            raise ValueError
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidConfig(
            f"{path} is not a file of this program's results; delete it or choose another --out"
        ) from error
    return found


def _names(found: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(each["config"] for each in found))


def _row(runs: list[dict[str, Any]]) -> list[str]:
    """Return the cells of a configuration: value and interval of one seed, or mean and values of several."""
    first = runs[0]
    matches = [{match["second"]: match for match in run["matches"]} for run in runs]
    if len(runs) == 1:
        rates = [rate_cell(matches[0][opponent]) for opponent in OPPONENTS]
        regret = regret_cell(first["regret"])
    else:
        rates = [
            _mean_cell([100 * each[opponent]["win_rate"] for each in matches], "{:.1f}")
            for opponent in OPPONENTS
        ]
        regrets = [run["regret"]["overall"]["mean_regret"] for run in runs if run["regret"]]
        regret = _mean_cell(regrets, "{:.2f}") if regrets else ""
    return [
        f"`{first['config']}`",
        first["trained"],
        first["network"],
        ", ".join(str(run["seed"]) for run in runs),
        f"{fmean(run['turns'] for run in runs) / 1e6:.1f} M",
        *rates,
        regret,
    ]


def _mean_cell(values: list[float], form: str) -> str:
    return f"{form.format(fmean(values))} ({', '.join(map(form.format, values))})"


def rate_cell(match: dict[str, Any]) -> str:
    """Return the win rate of a match and its interval for a table."""
    low, high = match["win_rate_interval"]
    return f"{match['win_rate']:.1%} ({100 * low:.1f} to {100 * high:.1f})"


def regret_cell(regret: dict[str, Any] | None) -> str:
    """Return a regret and its interval for a table; "" if it was not measured."""
    if regret is None:
        return ""
    overall = regret["overall"]
    low, high = overall["mean_regret_interval"]
    return f"{overall['mean_regret']:.2f} ({low:.2f} to {high:.2f})"


def page(found: list[dict[str, Any]]) -> str:
    """Return the page with the table, in Markdown."""
    days = sorted({each["date"] for each in found if "date" in each})
    measured = ""
    if days:
        measured = (
            f"\n\nMeasured on {days[0]}."
            if days[0] == days[-1]
            else f"\n\nMeasured from {days[0]} to {days[-1]}."
        )
    games = " or ".join(f"{count:,}" for count in sorted({each["games"] for each in found}))
    return f"""# Strength of each configuration

With `--out docs/results/configurations.md` this command trains and evaluates the configurations of
`configs/` and writes this page. The JSON file beside it holds every number, the speed and the commit of
each run.{measured}

```text
python training/experiments/figures.py --minutes MINUTES --games GAMES --options OPTIONS --seeds SEEDS
```

The columns show:

- **random** to **minimax:4**: the win rate in percent against this opponent. A draw counts as half a win. The
  agent plays {games} games, half from each seat, after 4 random turns. It plays without search.
- **mean regret**: the seeds that an average move loses compared with perfect play, over the bundled solved
  positions.
- **steps**: environment steps of the training. They depend on the load of the machine.

With several seeds, a cell shows the mean and, in brackets, the value of each seed. With one seed, the
brackets hold a 95 % interval.

{table(found)}"""


@in_one_line("figures.py", "finished results are kept, and the same command resumes")
def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = Parser(prog="training/experiments/figures.py", description=__doc__)
    parser.add_argument(
        "configs",
        nargs="*",
        type=Path,
        help="configuration files (default: all of configs/ that are for a ruleset)",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes of training per run")
    parser.add_argument("--games", type=int, default=1000, help="games against each opponent, an even number")
    parser.add_argument("--options", default="", help="options of mancala train for all runs")
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[1], help="random seeds; one run per configuration and seed"
    )
    parser.add_argument("--folder", type=Path, default=Path("runs/figures"), help="folder of the runs")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/figures.md"), help="Markdown file of the table"
    )
    words = parser.parse_args(arguments)
    console = Console()
    if words.out == parser.get_default("out"):
        words.out.parent.mkdir(exist_ok=True)
    check_out(words.out, ".md")
    kept = words.out.with_suffix(".json")
    if not words.minutes > 0:
        raise InvalidConfig(f"--minutes must be more than 0, not {words.minutes}")
    num_pairs(words.games)
    read_figures(kept)
    asked = (trained_for(words.minutes, words.options), words.games)
    paths = {path.resolve(): path for path in words.configs or ruleset_configs()}.values()
    names = [path.stem for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidConfig(f"two configurations are called {twice}; rename one of the files")
    wanted = [(path, seed) for path in paths for seed in dict.fromkeys(words.seeds)]
    for path, seed in wanted:  # find errors before hours of training
        _config(path, words.minutes, words.games, words.options, seed, words.folder)
    for path, seed in wanted:
        found = _beside(read_figures(kept), path.stem, asked)
        if any((each["config"], each["seed"]) == (path.stem, seed) for each in found):
            continue
        made = make_figures(path, words.minutes, words.games, words.options, seed, words.folder, console)
        if made is None:
            console.print("Stopped. Run the same command again to resume.")
            return 0
        # Another process may have added results in the meantime.
        found = [*_beside(read_figures(kept), path.stem, asked), made]
        _write(sorted(found, key=lambda each: (each["config"], each["seed"])), words.out, kept)
    found = read_figures(kept)
    _write(found, words.out, kept)  # also if nothing is new: an earlier version may have written the page
    console.print(f"Configurations in {words.out}: {len(_names(found))}", highlight=False)
    return 0


def _beside(found: list[dict[str, Any]], name: str, asked: tuple[str, int]) -> list[dict[str, Any]]:
    """Return the results of other configurations, and those of this one with the same training and games."""
    return [each for each in found if each["config"] != name or asked == (each["trained"], each["games"])]


def _write(found: list[dict[str, Any]], out: Path, kept: Path) -> None:
    write_atomically(kept, (json.dumps(found, indent=2) + "\n").encode())
    write_atomically(out, page(found).encode())


if __name__ == "__main__":
    sys.exit(main())
