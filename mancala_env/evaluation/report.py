"""Reports of evaluations: a self-contained HTML file, a PNG file of the plots, or tables of text."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mancala_env._util.files import check_can_be_written, write_whole
from mancala_env.evaluation import plots
from mancala_env.evaluation.exploit import exploitability_text
from mancala_env.evaluation.html_page import Page
from mancala_env.evaluation.matches import MatchResult
from mancala_env.evaluation.openings import InvalidMatch
from mancala_env.evaluation.ratings import Ratings
from mancala_env.evaluation.regret import Regret, RegretDifference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mancala_env.evaluation.agent_evaluation import Evaluation

Table = tuple[list[str], list[list[str]]]
"""Column titles and rows of text."""
_INTERVAL = "95 % interval"
# Longer titles of a PNG file are wrapped.
_TITLE_LETTERS = 80
# Number of worst moves drawn for a single agent, and for each of several agents.
_BOARDS, _BOARDS_OF_SEVERAL = 4, 2


def check_report_path(path: str | Path) -> Path:
    """Return the path of a report, whose suffix must be .html or .png, if it can be written.

    Raise InvalidMatch if not, or MissingPackage if matplotlib is not installed.
    """
    plots.matplotlib_or_why()
    path = Path(path)
    if path.suffix.lower() not in (".html", ".png"):
        raise InvalidMatch(f"the name of a report must end in .html or .png, not {path.name!r}")
    if path.is_dir():
        raise InvalidMatch(f"a report cannot be written to {str(path)!r}, which is a folder")
    if not path.parent.is_dir():
        raise InvalidMatch(f"a report {path.name!r} cannot be written: no folder {str(path.parent)!r}")
    try:
        check_can_be_written(path)
    except OSError as error:
        raise InvalidMatch(f"a report cannot be written to {str(path)!r}: {error.strerror}") from None
    return path


def save_report(path: str | Path, page: Callable[[], Page], figure: Callable[[], "Figure"]) -> Path:
    """Write a page as an HTML file, or plots as a PNG file, and return the path; see :func:`write_report`."""
    path = check_report_path(path)
    if path.suffix.lower() == ".html":
        write_whole(path, page().html())
    else:
        drawn = BytesIO()
        figure().savefig(drawn, format="png", dpi=150)
        write_whole(path, drawn.getvalue())
    return path


def write_report(evaluation: "Evaluation", path: str | Path) -> Path:
    """Write an evaluation as a self-contained HTML file, or as a PNG file of its plots, and return the path.

    Args:
        evaluation: Result of :func:`mancala_env.evaluation.evaluate`.
        path: File to write; the suffix .html or .png selects the format.

    Raises:
        InvalidMatch: If the path ends in neither .html nor .png, or its folder does not exist.
        ImportError: If matplotlib is not installed.
    """
    return save_report(path, lambda: _page(evaluation), lambda: _all_plots(evaluation))


def add_regret(page: Page, regrets: list[Regret]) -> None:
    """Add the regret of agents to a page: for each source a plot, a table, and the worst moves as boards."""
    for some in by_source(regrets):
        page.heading(f"Regret against perfect play, seeds per move, {some[0].source}")
        solved = [regret for regret in some if regret.overall.positions]
        if not solved:
            page.text("None of the positions was solved in time.")
            continue
        page.plots((plots.plot_regret(solved), plots.READ_REGRET))
        page.table(*regret_table(some))
        shown = plots.short_names(regret.agent for regret in some)
        for regret in some:
            if regret.worst:
                page.heading(f"The worst moves of {shown[regret.agent]}")
                page.text(
                    "The number beside a hole is the value of sowing it: the final lead of the player to "
                    "move with best play of both, without the seeds already in the stores. A dashed ring "
                    "marks the hole that was played."
                )
                page.boards(regret.worst[: _BOARDS if len(some) == 1 else _BOARDS_OF_SEVERAL])


def _all_plots(evaluation: "Evaluation") -> "Figure":
    ratings, asked = evaluation.ratings, evaluation.agents
    panels: list[tuple[float, partial[Figure]]] = []
    if ratings is not None:
        win_rates = partial(plots.plot_win_rates, evaluation.matches, ratings, asked)
        panels.append((0.9 + 0.4 * len(ratings.names), partial(plots.plot_ratings, ratings, asked)))
        panels.append((1.8 + 0.45 * len(asked), win_rates))
    for regrets in by_source([regret for regret in evaluation.regrets if regret.overall.positions]):
        panels.append((3.5, partial(plots.plot_regret, regrets)))
    heights = [height for height, _ in panels] or [2]
    figure = plots.matplotlib_or_why().figure.Figure(figsize=(8, sum(heights)), layout="constrained")
    figure.suptitle(textwrap.fill(plots.plain(_title(evaluation)), _TITLE_LETTERS))
    places = np.atleast_1d(figure.subplots(len(heights), 1, height_ratios=heights))
    if not panels:
        places[0].axis("off")
    for (_, plot), axes in zip(panels, places):
        plot(axes=axes)
    return figure


def by_source(regrets: Sequence[Regret]) -> list[list[Regret]]:
    """Return regrets grouped by the source of their positions."""
    sources = dict.fromkeys(regret.source for regret in regrets)
    return [[regret for regret in regrets if regret.source == source] for source in sources]


def _title(evaluation: "Evaluation") -> str:
    played = f"{evaluation.ruleset}, {evaluation.openings}"
    if evaluation.rounds == "match":
        played += ", whole matches"
    elif evaluation.rounds > 1:
        played += f", {evaluation.rounds} rounds a game"
    return f"{', '.join(plots.short_names(evaluation.agents).values())}: {played}"


def _page(evaluation: "Evaluation") -> Page:
    ratings, asked = evaluation.ratings, evaluation.agents
    page = Page(_title(evaluation), evaluation.seed)
    page.notes(evaluation.notes)
    if ratings is not None:
        page.heading("Ratings")
        page.notes([evaluation.scale])
        page.plots((plots.plot_ratings(ratings, asked), plots.READ_RATINGS))
        page.table(*ratings_table(ratings, evaluation.exploitability), marked=asked)
    if evaluation.matches:
        page.heading("Matches")
        if ratings is not None:
            page.plots((plots.plot_win_rates(evaluation.matches, ratings, asked), plots.READ_WIN_RATES))
        page.table(*matches_table(evaluation.matches))
    add_regret(page, evaluation.regrets)
    if evaluation.regret_differences:
        page.heading("Difference of regret over the same positions, seeds per move")
        page.text("A difference below 0 means that the first agent loses fewer seeds in the same positions.")
        page.table(*differences_table(evaluation.regret_differences))
    return page


def ratings_table(ratings: Ratings, exploitability: Mapping[str, tuple[float, float]] | None = None) -> Table:
    """Return a table of ratings and, where an agent has one, of exploitability; the strongest agent first."""
    rows = [
        [name, f"{elo:z.0f}", f"{low:z.0f} to {high:z.0f}", str(games)]
        for name, elo, low, high, games, _ in ratings._rows()
    ]
    head = ["agent", f"Elo ({ratings.scale})", _INTERVAL, "games"]
    if exploitability:
        rows = [[*row, exploitability_text(exploitability.get(row[0]))] for row in rows]
        head.append("exploitability,\nseeds")
    return head, rows


def matches_table(matches: Sequence[MatchResult]) -> Table:
    """Return a table of the results of matches."""
    rows = []
    for match in matches:
        record = f"{match.wins}/{match.draws}/{match.losses}"
        rate = [f"{match.win_rate:.3f}", "{:.3f} to {:.3f}".format(*match.interval)]
        rows.append([match.first, match.second, record, *rate, f"{match.mean_margin:+z.1f}"])
    return ["agent", "against", "won/drawn/\nlost", "win\nrate", _INTERVAL, "mean\nmargin"], rows


def regret_table(regrets: Sequence[Regret]) -> Table:
    """Return a table of the regrets of agents, by phase of the round."""
    rows = []
    for regret in regrets:
        for part in (*regret.phases, regret.overall):
            if part.positions:
                mean = [f"{part.mean_regret:.2f}", "{:.2f} to {:.2f}".format(*part.interval)]
                share = f"{100 * part.optimal_share:.0f} %"
                rows.append([regret.agent, part.phase, str(part.positions), *mean, share])
        if regret.unsolved:
            rows.append([regret.agent, "not solved", str(regret.unsolved), "", "", ""])
    return ["agent", "phase", "positions", "mean\nregret", _INTERVAL, "optimal\nmoves"], rows


def differences_table(differences: Sequence[RegretDifference]) -> Table:
    """Return a table of differences of regret."""
    rows = []
    for one in differences:
        mean = [f"{one.mean:+z.2f}", "{:+z.2f} to {:+z.2f}".format(*one.interval)]
        better = f"{one.first_better}/{one.second_better}/{one.positions}"
        rows.append([one.first, one.second, *mean, better])
    return ["agent", "against", "mean\ndifference", _INTERVAL, "better/worse/\nall"], rows
