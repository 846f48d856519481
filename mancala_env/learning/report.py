"""How a run ended: its matches, a table, and a page with plots."""

import html
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from mancala_env.agents import make
from mancala_env.agents.checkpoint import read_identity
from mancala_env.arena.matches import MatchResult, play_matches
from mancala_env.arena.ratings import Ratings, fit_ratings
from mancala_env.arena.regret import Regret, has_exact_positions, measure_regret
from mancala_env.arena.round_robin import round_robin
from mancala_env.envs.families import FAMILIES
from mancala_env.learning.config import TrainConfig
from mancala_env.learning.run_folder import METRICS, STEPS, RunFolder, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REPORT = "report.html"
# More points than a plot has room for only make the page large, and a run of days makes half a million.
_MOST_POINTS = 2000
# Enough of the run's own past to see whether something was forgotten.
_MOST_EARLIER = 10
# What figures are called in the files of earlier versions.
_OLD_FIGURES: dict[str, str] = {
    "turns": STEPS,
    "time/turns_per_second": "time/environment_steps_per_second",
    "promotion/win_rate": "gating/win_rate",
    "promotion/snapshots": "gating/snapshots",
}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #22303c; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { padding: .25rem .8rem; text-align: right; }
th { border-bottom: 2px solid #22303c; } td { border-bottom: 1px solid #dde2e6; }
th:first-child, td:first-child { text-align: left; } svg { max-width: 100%; height: auto; }
"""


@dataclass(frozen=True, eq=False)
class Past:
    """How the snapshots of a run fare against each other.

    Attributes:
        against: The last one's matches against each earlier one, the oldest first.
        ratings: Of all of them, the last one at the end; fitted to the matches of everybody with
            everybody, 0 being the mean. None where there was nothing earlier.
    """

    against: list[MatchResult]
    ratings: Ratings | None

    def as_dict(self) -> list[dict[str, Any]]:
        """Return the ratings as plain data, the snapshot of fewest environment steps first."""
        if self.ratings is None:
            return []
        rated = {each["agent"]: each for each in self.ratings.as_dict()["agents"]}
        return [{**rated[name], STEPS: read_identity(name).turns} for name in self.ratings.names]


def evaluate(config: TrainConfig, checkpoint: Path, games: int) -> list[MatchResult]:
    """Play a checkpoint against the opponents of the evaluation, from both seats."""
    return [play(config, checkpoint, opponent, games) for opponent in config.evaluation.opponents]


def evaluate_past(config: TrainConfig, folder: RunFolder, checkpoint: Path) -> Past:
    """Let a checkpoint and earlier ones of its run, spread evenly over it, all play each other."""
    steps = read_identity(checkpoint).turns
    games = config.evaluation.checkpoint_games
    past = [path for path in folder.saved() if 0 < read_identity(path).turns < steps] if games else []
    if not past:
        return Past([], None)
    step = -(-len(past) // _MOST_EARLIER)
    matches = round_robin(
        [*map(str, past[::step]), str(checkpoint)],
        config.game,
        games=games,
        opening_turns=config.evaluation.opening_turns,
        seed=config.seed,
        rounds=config.rounds,
        num_threads=config.threads or None,
    )
    against = [match.flipped() for match in matches if match.second == str(checkpoint)]
    return Past(against, fit_ratings(matches))


def play(config: TrainConfig, checkpoint: Path, opponent: str, games: int) -> MatchResult:
    """Play a checkpoint against an agent, from both seats, after the evaluation's random openings."""
    return play_matches(
        str(checkpoint),
        opponent,
        config.game,
        games=games,
        opening_turns=config.evaluation.opening_turns,
        seed=config.seed,
        rounds=config.rounds,
        num_threads=config.threads or None,
    )


def report(config: TrainConfig, folder: RunFolder, checkpoint: Path, console: Console) -> list[MatchResult]:
    """Evaluate the checkpoint a run ended with; write evaluation.json and report.html, print the table.

    Returns:
        The matches against the opponents of the evaluation.
    """
    results = evaluate(config, checkpoint, config.evaluation.games)
    past = evaluate_past(config, folder, checkpoint)
    regret = None
    if has_exact_positions(config.game):
        regret = measure_regret(make(str(checkpoint), config.game, seed=config.seed), config.game)
    steps = read_identity(checkpoint).turns
    written = {
        "checkpoint": str(checkpoint),
        STEPS: steps,
        "opening_turns": config.evaluation.opening_turns,
        "matches": [result.as_dict() for result in results],
        "against_past": [result.as_dict() for result in past.against],
        "ratings_over_the_run": past.as_dict(),
        "regret": regret.as_dict() if regret else None,
    }
    write_atomically(folder.path / "evaluation.json", json.dumps(written, indent=2).encode())
    title = (
        f"{config.game.title}: the agent after {steps:,} environment steps, {config.evaluation.games:,} "
        f"games against each, from {config.evaluation.opening_turns} random turns"
    )
    page = _page(title, config, folder, results, past, regret)
    write_atomically(folder.path / REPORT, page.encode())
    console.print(_table(title, results))
    if regret:
        console.print(_regret_in_words(regret), highlight=False, soft_wrap=True)
    console.print(f"Checkpoint: {checkpoint}", highlight=False, soft_wrap=True)
    console.print(f"Report: {folder.path / REPORT}", highlight=False, soft_wrap=True)
    console.print("Play against it:", highlight=False)
    console.print(f"  {_how_to_play(config, checkpoint)}", highlight=False, markup=False, soft_wrap=True)
    return results


_HEADINGS = ("opponent", "win rate", "95 % interval", "as South", "as North", "mean lead in seeds")


def _row(result: MatchResult) -> tuple[str, ...]:
    low, high = result.interval
    return (
        result.second,
        f"{result.win_rate:.1%}",
        f"{low:.1%} to {high:.1%}",
        *(f"{_share(result.by_seat[seat]):.1%}" for seat in ("South", "North")),
        f"{result.mean_margin:+.1f}",
    )


def _share(counts: tuple[int, int, int]) -> float:
    wins, draws, _ = counts
    return (wins + draws / 2) / sum(counts)


def _table(title: str, results: list[MatchResult]) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == _HEADINGS[0] else "right")
    for result in results:
        table.add_row(*_row(result))
    return table


def _regret_in_words(regret: Regret) -> str:
    low, high = regret.overall.interval
    return (
        f"Against perfect play: {regret.overall.mean_regret:.2f} seeds a move of regret "
        f"({low:.2f} to {high:.2f}), {regret.overall.optimal_share:.0%} of the moves optimal"
    )


def _how_to_play(config: TrainConfig, checkpoint: Path) -> str:
    family = next(family for family in FAMILIES.values() if family.landing == config.game.landing)
    ruleset = "" if config.ruleset == family.default else f', ruleset="{config.ruleset}"'
    return f'gymnasium.make("{family.gym_id}"{ruleset}, opponent="{checkpoint}")'


def _page(
    title: str,
    config: TrainConfig,
    folder: RunFolder,
    results: list[MatchResult],
    past: Past,
    regret: Regret | None,
) -> str:
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _row(result)) + "</tr>"
        for result in results
    )
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<style>{_STYLE}</style><h1>{html.escape(str(folder.path.name))}</h1><p>{html.escape(title)}.</p>"
        f"<table><tr>{''.join(f'<th>{heading}</th>' for heading in _HEADINGS)}</tr>{rows}</table>"
        + (f"<p>{html.escape(_regret_in_words(regret))}.</p>" if regret else "")
        + _plots(config, folder, past)
        + f"<details><summary>Configuration</summary><pre>{html.escape(config.to_yaml())}</pre></details>"
        + "</html>\n"
    )


def _metrics(path: Path) -> list[dict[str, Any]]:
    """Read the figures of a run: of updates evenly spread over it, and of all that were followed by games."""
    with path.open() as lines:
        step = -(-sum(1 for _ in lines) // _MOST_POINTS)
    with path.open() as lines:
        return [
            _with_new_names(json.loads(line))
            for number, line in enumerate(lines)
            if number % step == 0
            or any(f'"{kind}/' in line for kind in ("evaluation", "gating", "promotion"))
        ]


def _with_new_names(line: dict[str, Any]) -> dict[str, Any]:
    return {_OLD_FIGURES.get(key, key): value for key, value in line.items()}


def _plots(config: TrainConfig, folder: RunFolder, past: Past) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    metrics = _metrics(folder.path / METRICS)
    measured = sorted({key for line in metrics for key in line if key.startswith("evaluation/")})
    pool_keys = sorted({key for line in metrics for key in line if key.startswith("pool/")})
    draws = ["strength", "rating", "history", "learning", "games", "speed"] + ["pool"] * bool(pool_keys)
    num_rows = -(-len(draws) // 2)
    figure = Figure(figsize=(9, 3.3 * num_rows), layout="constrained")
    plots = {name: figure.add_subplot(num_rows, 2, n) for n, name in enumerate(draws, 1)}
    strength, rating, history = (plots[name] for name in ("strength", "rating", "history"))
    for key in measured:
        _draw(strength, metrics, key, key.removeprefix("evaluation/"), marker="o")
    finish(strength, "win rate at checkpoints", (0, 1))
    if past.ratings is not None:
        draw_ratings(rating, past.ratings)
    finish(rating, "rating of each checkpoint, Elo (mean = 0)", None)
    steps = [read_identity(result.second).turns for result in past.against]
    draw_intervals(
        history,
        steps,
        [result.win_rate for result in past.against],
        [result.interval[0] for result in past.against],
        [result.interval[1] for result in past.against],
    )
    history.axhline(0.5, color="#7d8794", linewidth=1)
    finish(history, "win rate of the last against earlier checkpoints", (0, 1))
    losses, games, speed = (plots[name] for name in ("learning", "games", "speed"))
    for key in ("train/value_loss", "train/explained_variance"):
        _draw(losses, metrics, key, key.removeprefix("train/").replace("_", " "))
    _draw(losses, metrics, "train/entropy_loss", "entropy", scale=-1.0)
    finish(losses, "learning", None)
    for key in ("south_win_rate", "north_win_rate", "draw_rate", "stall_rate", "endless_relay_rate"):
        _draw(games, metrics, f"selfplay/{key}", key.removesuffix("_rate").replace("_", " "))
    finish(games, "games of self-play: share won by each seat, drawn, ended by rule", (0, 1))
    _draw(speed, metrics, "time/environment_steps_per_second", "environment steps a second")
    finish(speed, "speed", None)
    if pool_keys:
        _draw_pool(plots["pool"], metrics, pool_keys, config.pool.opponents)
    drawn = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": folder.path.name}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]


def _draw_pool(
    axes: "Axes", metrics: list[dict[str, Any]], keys: list[str], opponents: Sequence[str]
) -> None:
    """Draw the learner's score against everybody in the pool, and the matches at its gate."""
    for key in keys:
        name = key.removeprefix("pool/")
        if name in opponents:
            _draw(axes, metrics, key, name, linewidth=1)
        else:  # the run's own snapshots, too many for a legend
            _draw(axes, metrics, key, linewidth=1, color="#b7c0c8")
    _draw(axes, metrics, "gating/win_rate", "to join", marker="o", linestyle="", color="#22303c")
    finish(axes, "score against the pool", (0, 1))


def draw_ratings(axes: "Axes", ratings: Ratings, label: str | None = None, color: str = "#b5472f") -> None:
    """Draw the ratings of checkpoints over their environment steps, with 95 % intervals."""
    steps = [read_identity(name).turns for name in ratings.names]
    draw_intervals(axes, steps, ratings.elo, ratings.low, ratings.high, label, color)


def draw_intervals(
    axes: "Axes",
    x: Any,
    y: Any,
    low: Any,
    high: Any,
    label: str | None = None,
    color: str = "#b5472f",
    linestyle: str = "-",
) -> None:
    """Draw points with their intervals; none are fine."""
    if len(x):
        # An interval over few games can leave its own mean out.
        beyond = np.maximum(0, [np.subtract(y, low), np.subtract(high, y)])
        style = {"marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1, "linestyle": linestyle}
        axes.errorbar(x, y, yerr=beyond, color=color, label=label, **style)


def _draw(
    axes: "Axes",
    metrics: list[dict[str, Any]],
    key: str,
    label: str | None = None,
    scale: float = 1.0,
    **kwargs: Any,
) -> None:
    points = [(line[STEPS], scale * line[key]) for line in metrics if key in line]
    if points:
        axes.plot(*zip(*points, strict=True), label=label, **kwargs)


def finish(axes: "Axes", title: str, limits: tuple[float, float] | None) -> None:
    """Give a plot over environment steps its title, limits, grid and legend."""
    axes.set_title(title)
    axes.set_xlabel("environment steps")
    axes.grid(alpha=0.3)
    if limits:
        axes.set_ylim(*limits)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)
