"""Reports of evaluations: a self-contained HTML file, or a PNG file of the plots."""

import os
from io import BytesIO
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mancala_env._util.files import check_can_be_written, write_whole
from mancala_env.evaluation.html_page import Page
from mancala_env.evaluation.matches import MatchResult
from mancala_env.evaluation.openings import InvalidMatch
from mancala_env.evaluation.plots import (
    READ_RATINGS,
    READ_REGRET,
    READ_WIN_RATES,
    matplotlib_or_why,
    plot_ratings,
    plot_regret,
    plot_win_rates,
    short,
)
from mancala_env.evaluation.ratings import Ratings
from mancala_env.evaluation.regret import Regret, RegretDifference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mancala_env.evaluation.agent_evaluation import Evaluation

__all__ = [
    "add_regret",
    "check_report_path",
    "plot_ratings",
    "plot_regret",
    "plot_win_rates",
    "write_report",
]

# Number of worst moves drawn for a single agent, and for each of several agents.
_BOARDS, _BOARDS_OF_SEVERAL = 4, 2


def check_report_path(path: str | Path) -> Path:
    """Check that a report can be written to a path, and return the path.

    Raises:
        InvalidMatch: If the suffix is neither .html nor .png, the path is a folder, or it cannot be written.
        MissingPackage: If matplotlib is not installed.
    """
    matplotlib_or_why()
    path = Path(path)
    if path.suffix.lower() not in (".html", ".png"):
        raise InvalidMatch(f"the name of a report must end in .html or .png, not {path.name!r}")
    if not path.parent.is_dir():
        raise InvalidMatch(f"no folder {str(path.parent)!r} to write {path.name!r} to")
    if isdir(path) or not os.access(path.parent, os.W_OK):
        why = "it is a folder" if isdir(path) else "its folder is read-only"
        raise InvalidMatch(f"a report cannot be written to {str(path)!r}: {why}")
    try:
        check_can_be_written(path)
    except OSError as error:
        raise InvalidMatch(f"a report cannot be written to {str(path)!r}: {error.strerror}") from None
    matplotlib_or_why()
    return path


def write_plots(plots: "Figure", path: Path) -> None:
    """Write plots as a PNG file, atomically."""
    drawn = BytesIO()
    plots.savefig(drawn, format="png", dpi=150)
    write_whole(path, drawn.getvalue())


def write_report(evaluation: "Evaluation", path: str | Path) -> Path:
    """Write an evaluation as a self-contained HTML file, or as a PNG file of its plots.

    Args:
        evaluation: Result of :func:`mancala_env.evaluation.agent_evaluation`.
        path: File to write; the suffix .html or .png selects the format.

    Returns:
        The path.

    Raises:
        InvalidMatch: If the path ends in neither .html nor .png, or its folder does not exist.
        ImportError: If matplotlib is not installed.
    """
    path = check_report_path(path)
    if path.suffix.lower() == ".png":
        write_plots(_all_plots(evaluation), path)
    else:
        write_whole(path, _page(evaluation).html())
    return path


def add_regret(page: Page, regrets: list[Regret]) -> None:
    """Add the regret of agents to a page: a plot, a table, and the worst moves as boards.

    Args:
        page: The page.
        regrets: Regrets of agents over one or more sources of positions.
    """
    for some in _by_source(regrets):
        page.heading(f"Regret against perfect play, {some[0].source}")
        if not _solved(some):
            page.text("None of the positions was solved in time.")
            continue
        page.plots((plot_regret(_solved(some)), READ_REGRET))
        page.table(*_regret_table(some))
        for regret in some:
            if regret.worst:
                page.heading(f"The worst moves of {short(regret.agent)}")
                page.text(
                    "The number beside a hole is the value of sowing it: the final lead of the player to "
                    "move with best play of both, without the seeds already in the stores. A dashed ring "
                    "marks the hole that was played."
                )
                page.boards(regret.worst[: _BOARDS if len(some) == 1 else _BOARDS_OF_SEVERAL])


def _solved(regrets: list[Regret]) -> list[Regret]:
    return [regret for regret in regrets if regret.overall.positions]


def _order(evaluation: "Evaluation") -> list[str]:
    if evaluation.ratings is not None:
        return [evaluation.ratings.names[i] for i in evaluation.ratings.order()]
    return list(evaluation.agents)


def _all_plots(evaluation: "Evaluation") -> "Figure":
    heights = []
    if evaluation.ratings is not None:
        heights += [0.9 + 0.4 * len(evaluation.ratings.names)]
        heights += [1.8 + 0.45 * len(evaluation.agents)]
    by_source = [_solved(some) for some in _by_source(evaluation.regrets) if _solved(some)]
    heights += [3.5] * len(by_source)
    figure = matplotlib_or_why().figure.Figure(figsize=(8, sum(heights) or 2), layout="constrained")
    figure.suptitle(_title(evaluation))
    panels = list(np.atleast_1d(figure.subplots(max(1, len(heights)), 1, height_ratios=heights or [1])))
    if not heights:
        panels[0].axis("off")
    if evaluation.ratings is not None:
        plot_ratings(evaluation.ratings, evaluation.agents, panels.pop(0))
        plot_win_rates(evaluation.matches, _order(evaluation), evaluation.agents, panels.pop(0))
    for regrets in by_source:
        plot_regret(regrets, panels.pop(0))
    return figure


def _by_source(regrets: list[Regret]) -> list[list[Regret]]:
    sources = dict.fromkeys(regret.source for regret in regrets)
    return [[regret for regret in regrets if regret.source == source] for source in sources]


def _title(evaluation: "Evaluation") -> str:
    played = f"{evaluation.ruleset}, {evaluation.openings}"
    if evaluation.rounds == "match":
        played += ", whole matches"
    elif evaluation.rounds > 1:
        played += f", {evaluation.rounds} rounds a game"
    return f"{', '.join(map(short, evaluation.agents))}: {played}"


def _page(evaluation: "Evaluation") -> Page:
    page = Page(_title(evaluation), evaluation.seed)
    for note in evaluation.notes:
        page.text(f"{note[0].upper()}{note[1:]}.")
    if evaluation.ratings is not None:
        page.heading("Ratings")
        page.plots((plot_ratings(evaluation.ratings, evaluation.agents), READ_RATINGS))
        page.table(*_ratings_table(evaluation.ratings), marked=evaluation.agents)
        page.heading("Matches")
        win_rates = plot_win_rates(evaluation.matches, _order(evaluation), evaluation.agents)
        page.plots((win_rates, READ_WIN_RATES))
        page.table(*_matches_table(evaluation.matches))
    add_regret(page, evaluation.regrets)
    if evaluation.regret_differences:
        page.heading("Regret, position by position")
        page.text("A difference below 0 means that the first agent loses fewer seeds in the same positions.")
        page.table(*_difference_table(evaluation.regret_differences))
    return page


Rows = tuple[list[str], list[list[str]]]


def _ratings_table(ratings: Ratings) -> Rows:
    rows = []
    for i in ratings.order():
        interval = f"{ratings.low[i]:z.0f} to {ratings.high[i]:z.0f}"
        rows.append([ratings.names[i], f"{ratings.elo[i]:z.0f}", interval, str(ratings.games[i])])
    return ["agent", "Elo", "95 % interval", "games"], rows


def _matches_table(matches: list[MatchResult]) -> Rows:
    rows = []
    for match in matches:
        low, high = match.interval
        record = f"{match.wins} / {match.draws} / {match.losses}"
        rate = f"{match.win_rate:.3f} ({low:.3f} to {high:.3f})"
        rows.append([match.first, match.second, record, rate, f"{match.mean_margin:+z.1f}"])
    return ["agent", "against", "won / drawn / lost", "win rate", "mean margin"], rows


def _regret_table(regrets: list[Regret]) -> Rows:
    rows = []
    for regret in regrets:
        for part in (*regret.phases, regret.overall):
            if part.positions:
                low, high = part.interval
                mean = f"{part.mean_regret:.2f} ({low:.2f} to {high:.2f})"
                share = f"{100 * part.optimal_share:.0f} %"
                rows.append([regret.agent, part.phase, str(part.positions), mean, share])
        if regret.unsolved:
            rows.append([regret.agent, "not solved in time", str(regret.unsolved), "", ""])
    return ["agent", "phase", "positions", "mean regret (seeds per move)", "optimal moves"], rows


def _difference_table(differences: list[RegretDifference]) -> Rows:
    rows = []
    for one in differences:
        low, high = one.interval
        better = f"{one.first_better} / {one.second_better}"
        rows.append([one.first, one.second, f"{one.mean:+z.2f} ({low:+z.2f} to {high:+z.2f})", better])
    return ["agent", "against", "difference of mean regret (seeds per move)", "better / worse in"], rows
