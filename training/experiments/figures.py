"""The figures every configuration reaches, as a table made by one command.

python training/experiments/figures.py --minutes 10 --games 1000 --out docs/figures.md
python training/experiments/figures.py configs/leyla.yaml --minutes 10 --options "--expert.share 0.1"

trains each configuration (all that are for a ruleset, unless some are named), evaluates it and writes a row
at once, to a Markdown table and, with every number, to a JSON file beside it. A row of as many minutes and
games and of the same options is kept, any other is made anew, and a run that was interrupted goes on, so the
command can be stopped and given again; delete the JSON file and the folder of the runs to start anew.
"""

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from mancala_env.agents.checkpoint import read_identity
from mancala_env.learning.config import CONFIGS, InvalidConfig, TrainConfig, read_config
from mancala_env.learning.loop import train_or_go_on
from mancala_env.learning.report import report
from mancala_env.learning.run_folder import RunFolder, git_revision, write_atomically
from mancala_env.programs import Parser, check_out, in_one_line

OPPONENTS = ("random", "greedy", "minimax:2", "minimax:4")


def ruleset_configs() -> list[Path]:
    """Return the files of configs/ that are for a ruleset: they bear its name."""
    return [
        path
        for path in sorted(CONFIGS.glob("*.yaml"))
        if path.stem.startswith(str((yaml.safe_load(path.read_text()) or {}).get("ruleset", "-")))
    ]


def make_row(
    path: Path, minutes: float, games: int, options: str, folder: Path, console: Console
) -> dict[str, Any] | None:
    """Train and evaluate a configuration with some options, or go on with that.

    Returns:
        Its figures; None where a signal ended the training.

    Raises:
        InvalidConfig: The folder holds a run of it with other options.
    """
    words = [
        "--config",
        str(path),
        "--folder",
        str(folder),
        "--minutes",
        str(minutes),
        "--environment_steps",
        "null",
        *shlex.split(options),
    ]
    words += ["--evaluation.opponents", f"[{', '.join(OPPONENTS)}]", "--evaluation.games", str(games)]
    config, _ = read_config([*words, "--evaluation.checkpoint_games", "0"])
    console.print(f"{path.stem}: {minutes:g} minutes", highlight=False)
    run, checkpoint, stopped_by = train_or_go_on(config, console)
    if stopped_by:
        return None
    report(config, run, checkpoint, console)
    return _figures(config, run, checkpoint, minutes) | {"trained": trained_for(minutes, options)}


def trained_for(minutes: float, options: str) -> str:
    """Return how long and with which options a configuration was trained, as a row says it."""
    return f"{minutes:g} minutes" + (f", `{options}`" if options else "")


def _figures(config: TrainConfig, run: RunFolder, checkpoint: Path, minutes: float) -> dict[str, Any]:
    evaluation = json.loads((run.path / "evaluation.json").read_text())
    turns = read_identity(checkpoint).turns
    return {
        "config": config.name,
        "ruleset": config.ruleset,
        "rounds": config.rounds,
        "network": f"{config.network.observation}, {config.network.hidden} hidden",
        "minutes": minutes,
        "games": config.evaluation.games,
        "turns": turns,
        "turns_per_second": round(turns / (60 * minutes)),
        "matches": evaluation["matches"],
        "regret": evaluation["regret"],
        "git": git_revision(),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    headings = [
        "configuration",
        "trained for",
        "network",
        "steps",
        "steps/s",
        *OPPONENTS,
        "mean regret (seeds a move)",
        "revision",
    ]
    lines = []
    for row in rows:
        matches = {match["second"]: match for match in row["matches"]}
        lines.append(
            [
                f"`{row['config']}`",
                row["trained"],
                row["network"],
                f"{row['turns'] / 1e6:.1f} M",
                f"{row['turns_per_second']:,}",
                *(rate_cell(matches[opponent]) for opponent in OPPONENTS),
                seeds_lost_cell(row["regret"]),
                row["git"],
            ]
        )
    return markdown(headings, lines)


def markdown(headings: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rate_cell(match: dict[str, Any]) -> str:
    """Return the win rate of a match and its interval for a table."""
    low, high = match["win_rate_interval"]
    return f"{match['win_rate']:.1%} ({100 * low:.1f} to {100 * high:.1f})"


def seeds_lost_cell(regret: dict[str, Any] | None) -> str:
    """Return a regret and its interval for a table; nothing where none was measured."""
    if regret is None:
        return ""
    overall = regret["overall"]
    # What is measured since the words changed, and what is kept from before.
    name = "mean_regret" if "mean_regret" in overall else "seeds_lost"
    low, high = overall[f"{name}_interval"]
    return f"{overall[name]:.2f} ({low:.2f} to {high:.2f})"


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page that holds the table."""
    games = " or ".join(f"{count:,}" for count in sorted({row["games"] for row in rows}))
    return (
        "# What the configurations reach\n\n"
        "Made by `python training/experiments/figures.py --minutes MINUTES --games GAMES --options OPTIONS`: "
        f"each configuration of `configs/` trained as its row says, then {games} games against each "
        "opponent, half of them from either seat, after 4 random turns. Win rates "
        "with 95 % intervals, a draw counting as half a win; mean regret, in seeds a move, against perfect "
        "play over the solved positions shipped with the revision named. The network plays alone, "
        "one evaluation a move. One seed each; steps depend on how busy the machine was. "
        "The JSON file beside this page holds every number.\n\n" + table(rows)
    )


@in_one_line("figures.py", "rows that are done are kept, and the same command goes on from there")
def main(arguments: list[str] | None = None) -> int:
    """Make the table as the command line says; returns the exit status."""
    parser = Parser(
        prog="training/experiments/figures.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("configs", nargs="*", type=Path, help="files; all of configs/ for a ruleset, if none")
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes to train each")
    parser.add_argument("--games", type=int, default=1000, help="games against each opponent, even")
    parser.add_argument("--options", default="", help="settings of all of them, as mancala train takes them")
    parser.add_argument("--folder", type=Path, default=Path("runs/figures"), help="where the runs lie")
    parser.add_argument("--out", type=Path, default=Path("runs/figures.md"), help="the table")
    words = parser.parse_args(arguments)
    console = Console()
    kept = words.out.with_suffix(".json")
    check_out(words.out, ".md")
    if not words.minutes > 0:
        raise InvalidConfig(f"--minutes must be more than 0, not {words.minutes}")
    found = json.loads(kept.read_text()) if kept.exists() else []
    asked = (trained_for(words.minutes, words.options), words.games)
    rows = {row["config"]: row for row in found}
    for path in words.configs or ruleset_configs():
        kept_row = rows.get(path.stem)
        if kept_row and asked == (kept_row["trained"], kept_row["games"]):
            continue
        row = make_row(path, words.minutes, words.games, words.options, words.folder, console)
        if row is None:
            console.print("Stopped; the same command goes on from here.")
            return 0
        rows[path.stem] = row
        ordered = [rows[name] for name in sorted(rows)]
        write_atomically(kept, (json.dumps(ordered, indent=2) + "\n").encode())
        write_atomically(words.out, page(ordered).encode())
    console.print(f"Rows in {words.out}: {len(rows)}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
