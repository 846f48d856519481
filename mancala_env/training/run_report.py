"""The report of a finished run: its matches, a table, and a page with plots."""

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mancala_env.agents import make
from mancala_env.envs.families import FAMILIES
from mancala_env.evaluation.html_page import Page
from mancala_env.evaluation.matches import MatchResult, play_matches
from mancala_env.evaluation.openings import openings_in_words, openings_to_evaluate
from mancala_env.evaluation.prepared import prepare
from mancala_env.evaluation.ratings import Ratings, fit_ratings
from mancala_env.evaluation.regret import Regret, has_exact_positions, measure_regret
from mancala_env.evaluation.report import add_regret
from mancala_env.evaluation.round_robin import round_robin
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training import run_plots
from mancala_env.training.config import TrainConfig
from mancala_env.training.progress_bar import say
from mancala_env.training.run_folder import METRICS, RULESET_FILE, STEPS, RunFolder

REPORT = "report.html"
# Kinds of observation that look ahead: what they show, and the search of the same turns without training.
_LOOKAHEAD = {
    "afterstates": ("the turn of each action", "greedy"),
    "replies": ("each action and the best reply", "minimax:2"),
    "lines": ("the best play of four turns", "minimax:4"),
    "leaves": ("the best play of four turns", "minimax:4"),
    "values": ("the best play of four turns, by the bundled value network", "value+minimax:4"),
}
# Number of earlier checkpoints that show whether the agent forgot something.
_MOST_EARLIER = 10


@dataclass(frozen=True, eq=False)
class Past:
    """Matches between checkpoints of a run.

    `against` are those of the last checkpoint against each earlier one, the oldest first. `ratings` are from
    a round robin of all, the last one at the end, with mean 0; None without an earlier checkpoint.
    """

    against: list[MatchResult]
    ratings: Ratings | None

    def as_dict(self) -> list[dict[str, Any]]:
        """Return the ratings as plain data, ordered by environment steps."""
        if self.ratings is None:
            return []
        rated = {each["agent"]: each for each in self.ratings.as_dict()["agents"]}
        return [{**rated[name], STEPS: read_identity(name).environment_steps} for name in self.ratings.names]


def evaluate(config: TrainConfig, checkpoint: Path, games: int) -> list[MatchResult]:
    """Play a checkpoint against the opponents of the evaluation, from both seats and held-out openings."""
    return [
        play_matches(str(checkpoint), opponent, config.game, games=games, **_conditions(config))
        for opponent in config.evaluation.opponents
    ]


def evaluate_past(config: TrainConfig, folder: RunFolder, checkpoint: Path) -> Past:
    """Play a round robin of a checkpoint and evenly spaced earlier checkpoints of its run."""
    steps = read_identity(checkpoint).environment_steps
    games = config.evaluation.checkpoint_games
    past = [path for path in folder.saved() if 0 < read_identity(path).environment_steps < steps]
    if not (games and past):
        return Past([], None)
    step = -(-len(past) // _MOST_EARLIER)
    specs = [*map(str, past[::step]), str(checkpoint)]
    matches = round_robin(specs, config.game, games=games, **_conditions(config))
    against = [match.flipped() for match in matches if match.second == str(checkpoint)]
    return Past(against, fit_ratings(matches))


def _conditions(config: TrainConfig) -> dict[str, Any]:
    return {
        "opening_turns": config.evaluation.opening_turns,
        "seed": config.seed,
        "rounds": config.rounds,
        "num_threads": config.threads or None,
    }


def report(
    config: TrainConfig, folder: RunFolder, checkpoint: Path, console: Console, *, is_brief: bool = False
) -> None:
    """Evaluate the last checkpoint of a run, write evaluation.json and report.html, and print a table.

    A brief report prints only the messages about solving positions.
    """
    if not is_brief:
        say(console, "Playing the games of the report.")
    results = evaluate(config, checkpoint, config.evaluation.games)
    past = evaluate_past(config, folder, checkpoint)
    regret = None
    try:
        prepare(config.game, partial(say, console), ladder=False)
    except OSError as error:
        say(console, f"regret is not measured: {error}")
    if has_exact_positions(config.game):
        regret = measure_regret(make(str(checkpoint), config.game, seed=config.seed), config.game)
    steps = read_identity(checkpoint).environment_steps
    written = {
        "checkpoint": str(checkpoint),
        STEPS: steps,
        "opening_turns": config.evaluation.opening_turns,
        "matches": [result.as_dict() for result in results],
        "against_past": [result.as_dict() for result in past.against],
        "ratings_over_the_run": past.as_dict(),
        "regret": regret.as_dict() if regret else None,
    }
    folder.write("evaluation.json", json.dumps(written, indent=2))
    turns = config.evaluation.opening_turns
    title = (
        f"{config.game.title}: agent after {steps:,} environment steps, {config.evaluation.games:,} games "
        f"against each opponent, after {turns} random turns"
    )
    folder.write(REPORT, write_page(title, config, folder, results, past, regret).html())
    if is_brief:
        return
    table = Table(_HEADINGS[0], title=title, title_justify="left")
    for heading in _HEADINGS[1:]:
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(*_row(result))
    console.print(table)
    openings = openings_to_evaluate(None, config.game, None)
    is_same = openings == openings_to_evaluate(None, config.game, turns)
    others = f"From {openings_in_words(*openings)}{'' if is_same else ', where win rates differ'}"
    lines = [f"These games start after {turns} random turns."]
    lines += [f"{others}, with ratings: mancala evaluate {checkpoint}"]
    lines += [_regret_in_words(regret), _scale_in_words(config, regret)] if regret else []
    lines += lookahead_in_words(config)
    lines += [f"Checkpoint: {checkpoint}", f"Report: {folder.path / REPORT}", "Play against it:"]
    for line in (*lines, f"  {_how_to_play(config, folder, checkpoint)}"):
        say(console, line)


_HEADINGS = ("opponent", "win rate", "95 % interval", "as South", "as North", "mean lead in seeds")


def _row(result: MatchResult) -> tuple[str, ...]:
    seats = [f"{share:.1%}" for share in (result.outcomes.mean(axis=0) + 1) / 2]
    interval = "{:.1%} to {:.1%}".format(*result.interval)
    return result.second, f"{result.win_rate:.1%}", interval, *seats, f"{result.mean_margin:+z.1f}"


def _regret_in_words(regret: Regret) -> str:
    low, high = regret.overall.interval
    return (
        f"Against perfect play: mean regret {regret.overall.mean_regret:.2f} seeds per move "
        f"({low:.2f} to {high:.2f}), {regret.overall.optimal_share:.0%} of moves optimal"
    )


def _scale_in_words(config: TrainConfig, regret: Regret) -> str:
    """Return where an agent stands between scripted agents and perfect play, which has regret 0."""
    specs = dict.fromkeys(["minimax:4", *_LOOKAHEAD.get(config.network.observation, ())[1:]])
    agents = {spec: make(spec, config.game, seed=config.seed) for spec in specs}
    found = {spec: measure_regret(agent, config.game) for spec, agent in agents.items()}
    found["this agent"] = regret
    scale = ", ".join(f"{name} {one.overall.mean_regret:.2f}" for name, one in found.items())
    return f"On this scale (one random seed): {scale}, perfect play 0"


def lookahead_in_words(config: TrainConfig) -> list[str]:
    """Return lines that say which part of an agent's strength is lookahead, and what a search taught it."""
    lines, taught, first, expert = [], [], config.distillation, config.expert
    if config.network.observation in _LOOKAHEAD:
        shown, same = _LOOKAHEAD[config.network.observation]
        lines.append(f"Lookahead: the network sees {shown}; {same} is that lookahead without training")
    if first.positions:
        taught.append(f"{first.spec} labelled up to {first.positions:,} positions first")
    if expert.share:
        taught.append(f"{expert.spec} labelled {expert.share:.0%} of the steps of self-play")
    return lines + [f"Search labels: {'; '.join(taught)}"] * bool(taught)


def _how_to_play(config: TrainConfig, folder: RunFolder, checkpoint: Path) -> str:
    family = next(family for family in FAMILIES.values() if family.landing == config.game.landing)
    file = folder.path / RULESET_FILE
    chosen = file if file.is_file() else config.ruleset
    ruleset = "" if chosen == family.default else f', ruleset="{chosen}"'
    return f'gymnasium.make("mancala_env:{family.gym_id}"{ruleset}, opponent="{checkpoint}")'


def write_page(
    title: str,
    config: TrainConfig,
    folder: RunFolder,
    results: list[MatchResult],
    past: Past,
    regret: Regret | None,
) -> Page:
    """Return the page of a run: its matches, plots, regret, worst moves and configuration."""
    page = Page(f"{config.game.title}: {folder.path.name}", config.seed)
    page.text(f"{title}.")
    page.table(_HEADINGS, map(_row, results))
    how = _how_to_play(config, folder, folder.path / "final.zip")
    page.text(f"The configuration is at the end. Play against it: {how}")
    page.heading("Strength over the run")
    metrics = run_plots.read_metrics(folder.path / METRICS)
    if results:
        rates = {f"evaluation/{result.second}": result.win_rate for result in results}
        metrics.append({STEPS: read_identity(results[0].first).environment_steps, **rates})
    if strength := run_plots.strength(metrics, past):
        page.plots(*strength)
    else:
        page.text("The run saved too few checkpoints for a curve.")
    if regret:
        page.text(f"{_regret_in_words(regret)}.")
        add_regret(page, [replace(regret, agent=Path(regret.agent).name)])
    learned = run_plots.learning(metrics) + run_plots.search(metrics)
    if learned:
        page.heading("Learning")
        page.plots(*learned)
    page.details("Configuration", config.to_yaml())
    return page
