"""What a benchmark says: tables of interquartile means, learning curves with the searches as lines across.

The unit is a *contest*: one task and one budget, on one ruleset or on all of them together. A run counts with
its last measurement once it is over, and on a curve with each of its measuring points.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mancala_env._util.files import write_whole
from mancala_env.benchmark.aggregates import Estimate, estimate_iqm, probability_of_improvement
from mancala_env.benchmark.budget import Limit
from mancala_env.benchmark.results import LINE, Results, Row
from mancala_env.benchmark.runner import FEWEST_SEEDS
from mancala_env.benchmark.scoring import Scoring, regret_of_random
from mancala_env.benchmark.tasks import TASKS
from mancala_env.errors import MancalaError
from mancala_env.evaluation.html_page import Page
from mancala_env.evaluation.plots import (
    ANCHOR,
    BARS,
    INK,
    figure_of,
    finish,
    matplotlib_or_why,
    new_axes,
)
from mancala_env.evaluation.report import check_report_path, write_plots
from mancala_env.rulesets import lookup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALL = "all rulesets"
"""What the contest is called that puts rulesets together."""
_WIDTH, _HEIGHT = 6.4, 4.2
# Of the height of a plot.
_LABEL_HEIGHT = 0.035
_READ_REGRET = (
    "How to read it: the seeds that an average move gives away against perfect play, lower is better, 0 is "
    "perfect. A line is the interquartile mean of the seeds of one entry, the band its 95 % interval; grey "
    "lines are players that do not learn."
)
_READ_ELO = (
    "How to read it: the rating on fixed anchors, random being at 0, higher is better; who is a hundred "
    "points ahead wins 64 % of the games."
)


class Contest(NamedTuple):
    """Entries that can be compared.

    Attributes:
        task: Name of the task.
        limit: The budget.
        ruleset: Name of the ruleset, or ALL.
        scoring: How players were scored.
    """

    task: str
    limit: Limit
    ruleset: str
    scoring: Scoring

    def __str__(self) -> str:
        return f"{self.ruleset}, {self.task}, {self.limit}"


def head_of(contest: Contest) -> tuple[str, ...]:
    """Return the head of a contest's table."""
    return (
        "entry",
        "seeds",
        "steps",
        "core minutes",
        _regret_of(contest),
        "optimal moves",
        "Elo",
        "less regret than the next",
    )


def _regret_of(contest: Contest) -> str:
    of = "share of random play's" if contest.ruleset == ALL else "seeds a move"
    return f"mean regret ({of})"


class Standing(NamedTuple):
    """How an entry did in a contest.

    Attributes:
        entry: Its name.
        seeds: Runs that are over, of the ruleset with fewest.
        steps: Median environment steps of a run.
        core_minutes: Median core minutes of a run.
        regret: Interquartile mean of mean regrets, seeds a move; over several rulesets in shares of what
            random play gives away.
        optimal_share: The same of the shares of optimal moves.
        elo: The same of ratings.
        better: How likely a run of it has less regret than one of the entry that stands next; None for the
            last.
    """

    entry: str
    seeds: int
    steps: int
    core_minutes: float
    regret: Estimate
    optimal_share: Estimate
    elo: Estimate
    better: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            name: (value._asdict() if isinstance(value, Estimate) else value)
            for name, value in self._asdict().items()
        }

    def cells(self) -> list[str]:
        """Return the row of a table; its columns are those of :func:`head_of`."""
        return [
            self.entry,
            str(self.seeds),
            f"{self.steps:,}",
            f"{self.core_minutes:.2f}",
            _cell(self.regret, "{:.2f}"),
            _cell(self.optimal_share, "{:.0%}"),
            _cell(self.elo, "{:z.0f}"),
            "" if self.better is None else _cell(self.better, "{:.2f}"),
        ]


def _cell(found: Estimate, form: str) -> str:
    number, low, high = (form.format(each) for each in found)
    return f"{number} ({low} to {high})" if found.low < found.high else number


class Outcome:
    """All that a benchmark has found so far.

    Attributes:
        rows: Every measurement that counts, of learners.
        lines: The measurements of those who do not learn.
        notes: What the reader should know.
    """

    def __init__(self, results: Results) -> None:
        """Take results that have been read.

        Where an entry's file was changed, or a run was made anew with another version of the package, what
        was measured last counts.
        """
        rows = results.all_rows()
        learned = [row for row in rows if row.key.task != LINE]
        newest = {row.key.entry: row.key.identity for row in learned}
        unchanged = [row for row in learned if newest[row.key.entry] == row.key.identity]
        self.lines = _made_last([row for row in rows if row.key.task == LINE])
        self.rows = _made_last(unchanged)
        self._final: dict[Any, Row] = {}
        for row in self.rows:
            if results.end(row.key) is not None:
                self._final[row.key] = row  # the last one
        self.notes = self._notes(results, len(learned) - len(unchanged), len(unchanged) - len(self.rows))

    def _notes(self, results: Results, outdated: int, made_anew: int) -> list[str]:
        notes = []
        fewest = min((len(runs) for runs in self._runs_of_entries().values()), default=FEWEST_SEEDS)
        if fewest < FEWEST_SEEDS:
            notes.append(
                f"some entries have fewer than {FEWEST_SEEDS} seeds, whose bootstrap intervals are too narrow"
            )
        if outdated:
            notes.append(f"{outdated} measurements are of entries whose files have changed since; left out")
        if made_anew:
            notes.append(f"{made_anew} measurements were made anew with another version; left out")
        titles = [str(contest) for contest in self.contests()]
        if len(set(titles)) < len(titles):
            notes.append(
                "tables of one title are of players scored in several ways (--games, --anchors), which are "
                "never compared; --json has the ways"
            )
        notes += [f"{key.entry}, seed {key.seed}, was refused: {why}" for key, why in results.refused()]
        return notes

    def _runs_of_entries(self) -> dict[tuple[Contest, str], list[Row]]:
        found: dict[tuple[Contest, str], list[Row]] = {}
        for key, row in self._final.items():
            found.setdefault((_contest(row), key.entry), []).append(row)
        return found

    def contests(self) -> list[Contest]:
        """Return the contests of single rulesets, and of all together where there are several."""
        single = dict.fromkeys(_contest(row) for row in self.rows)
        order = list(TASKS)
        several: dict[Contest, set[str]] = {}
        for one in single:
            several.setdefault(_together(one), set()).add(one.ruleset)
        found = [one for one, names in several.items() if len(names) > 1] + list(single)
        return sorted(found, key=lambda one: (order.index(one.task), one.limit, one.ruleset != ALL))

    def standings(self, contest: Contest) -> list[Standing]:
        """Return how every entry did whose runs are over, the least regret first.

        Over several rulesets only entries count that have runs on each of them.
        """
        # A seed that was scored twice, with other anchors, is one run all the same.
        by_entry: dict[str, dict[str, dict[int, Row]]] = {}
        for row in self._final.values():
            if _belongs(row, contest):
                by_entry.setdefault(row.key.entry, {}).setdefault(row.key.ruleset, {})[row.key.seed] = row
        rulesets = sorted({name for strata in by_entry.values() for name in strata})
        whole = {name: {each: [*seeds.values()] for each, seeds in strata.items()}
                 for name, strata in by_entry.items() if len(strata) == len(rulesets)}  # fmt: skip
        is_relative = contest.ruleset == ALL
        regrets = {name: [_regrets(strata[each], is_relative) for each in rulesets]
                   for name, strata in whole.items()}  # fmt: skip
        estimates = {name: estimate_iqm(strata) for name, strata in regrets.items()}
        order = sorted(whole, key=lambda name: estimates[name].value)
        standings = []
        for place, name in enumerate(order):
            strata = [whole[name][each] for each in rulesets]
            runs = [row for stratum in strata for row in stratum]
            better = None
            if place + 1 < len(order):
                following = regrets[order[place + 1]]
                better = probability_of_improvement(
                    [-part for part in regrets[name]], [-part for part in following]
                )
            standings.append(
                Standing(
                    name,
                    min(map(len, strata)),
                    int(np.median([row.steps for row in runs])),
                    float(np.median([row.core_minutes for row in runs])),
                    estimates[name],
                    estimate_iqm([np.array([row.score.optimal_share for row in part]) for part in strata]),
                    estimate_iqm([np.array([row.score.elo for row in part]) for part in strata]),
                    better,
                )
            )
        return standings

    def entries(self) -> list[str]:
        """Return all that learn, in every contest, in order: an entry has one colour in all plots."""
        return sorted({row.key.entry for row in self.rows})

    def lines_of(self, contest: Contest) -> list[Row]:
        """Return those who do not learn and were scored alike on its ruleset, the least regret first."""
        found = [
            row
            for row in self.lines
            if row.key.ruleset == contest.ruleset and row.key.scoring == contest.scoring
        ]
        return sorted(found, key=lambda row: row.score.regret)

    def curve(self, contest: Contest, entry: str) -> list[tuple[float, Estimate, Estimate]]:
        """Return the learning curve of an entry on one ruleset.

        Returns:
            For each measuring point the median of what was spent, in the unit of the budget, and the
            interquartile means of mean regret and rating. Once a run is over, the curve is of the runs that
            are, and of points at which all of them were measured: it is of the same seeds from end to end.
        """
        points: dict[float, list[Row]] = {}
        for row in self.rows:
            if row.key.entry == entry and _belongs(row, contest):
                is_last = self._final.get(row.key) is row
                points.setdefault(np.inf if is_last else row.point, []).append(row)
        over = {row.key for row in points.get(np.inf, [])}
        found = []
        for point in sorted(points):
            rows = [row for row in points[point] if row.key in over or not over]
            if len(rows) < len(over):
                continue
            spent = np.median([_spent(row) for row in rows])
            regret = estimate_iqm([np.array([row.score.regret for row in rows])])
            found.append((float(spent), regret, estimate_iqm([np.array([row.score.elo for row in rows])])))
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "contests": [
                {
                    "task": contest.task,
                    "budget": contest.limit._asdict(),
                    "ruleset": contest.ruleset,
                    "scoring": contest.scoring._asdict(),
                    "entries": [standing.as_dict() for standing in self.standings(contest)],
                    "lines": [
                        {"spec": row.key.entry, **row.score._asdict()} for row in self.lines_of(contest)
                    ],
                }
                for contest in self.contests()
            ],
            "notes": self.notes,
        }


def _made_last(rows: Sequence[Row]) -> list[Row]:
    """Leave out the rows of runs that were made anew with another version or other rules of the same name."""
    last = {row.key._replace(identity="", rules="", version=""): row.key for row in rows}
    kept = set(last.values())
    return [row for row in rows if row.key in kept]


def _contest(row: Row) -> Contest:
    return Contest(row.key.task, row.key.limit, row.key.ruleset, row.key.scoring)


def _together(contest: Contest) -> Contest:
    """Return the contest of all rulesets that a contest is part of: each has its own anchors and openings."""
    scoring = contest.scoring._replace(anchors=(), opening_turns=0, opening_set="")
    return contest._replace(ruleset=ALL, scoring=scoring)


def _belongs(row: Row, contest: Contest) -> bool:
    own = _contest(row)
    return contest in (own, _together(own))


def _regrets(rows: Sequence[Row], is_relative: bool) -> np.ndarray:
    found = np.array([row.score.regret for row in rows])
    return found / regret_of_random(lookup(rows[0].key.ruleset)) if is_relative else found


def _spent(row: Row) -> float:
    return float(row.steps) if row.key.limit.kind == "steps" else row.core_minutes


def line_cells(row: Row) -> list[str]:
    """Return the row of one who does not learn; its columns are those of :func:`head_of` up to Elo."""
    score = row.score
    return [
        row.key.entry,
        "",
        "",
        "",
        f"{score.regret:.2f}",
        f"{score.optimal_share:.0%}",
        f"{score.elo:z.0f}",
        "",
    ]


def plot_curves(outcome: Outcome, contest: Contest, what: str, axes: "Axes | None" = None) -> "Figure":
    """Plot the learning curves of a contest on one ruleset.

    Args:
        outcome: What was found.
        contest: Of one ruleset.
        what: "regret" or "elo".
        axes: Where to; None makes a figure.
    """
    axes = axes if axes is not None else new_axes(_WIDTH, _HEIGHT)
    for number, entry in enumerate(outcome.entries()):
        curve = outcome.curve(contest, entry)
        if not curve:
            continue
        x = [spent for spent, _, _ in curve]
        found = np.array([regret if what == "regret" else elo for _, regret, elo in curve])
        color, dashes = BARS[number % len(BARS)], ("-", "--", ":")[number // len(BARS) % 3]
        axes.plot(x, found[:, 0], dashes, marker="o", markersize=3.5, color=color, label=entry)
        axes.fill_between(x, found[:, 1], found[:, 2], color=color, alpha=0.15, linewidth=0)
    lines = [
        (row.score.regret if what == "regret" else row.score.elo, row.key.entry)
        for row in outcome.lines_of(contest)
    ]
    for y, _ in lines:
        axes.axhline(y, color=ANCHOR, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    finish(axes, str(contest), None)
    axes.legend(fontsize=8, framealpha=0.9)
    axes.set_xlabel("environment steps" if contest.limit.kind == "steps" else "core minutes")
    axes.set_ylabel(_regret_of(contest) if what == "regret" else "Elo (random = 0)")
    if what == "regret":
        axes.set_ylim(bottom=0)
    _set_log_scale(axes, contest.limit.kind == "steps")
    _name_lines(axes, lines)
    return figure_of(axes)


def _set_log_scale(axes: "Axes", is_large: bool) -> None:
    """Make the x axis logarithmic, with numbers at 1, 2 and 5 of each power of ten: 200 k, or 0.2."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(EngFormatter() if is_large else StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _name_lines(axes: "Axes", lines: Sequence[tuple[float, str]]) -> None:
    """Write the names of lines at the right of a plot, those of near ones above each other."""
    low, high = axes.get_ylim()
    at = -1.0
    for y, name in sorted(lines):
        at = max((y - low) / (high - low), at + _LABEL_HEIGHT)
        axes.annotate(
            name,
            (1.0, at),
            (4, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=INK,
        )


def write_report(outcome: Outcome, path: str | Path) -> Path:
    """Write a benchmark as HTML (one file, nothing to fetch) or as a PNG of its curves.

    Raises:
        InvalidMatch: The path ends in neither .html nor .png, or its folder does not exist.
        MancalaError: Nothing has been measured.
        ImportError: matplotlib is missing.
    """
    path = check_report_path(path)
    if not outcome.rows:
        raise MancalaError(f"there is nothing to write to {path}: no learner has been measured yet")
    if path.suffix.lower() == ".png":
        write_plots(_all_curves(outcome), path)
    else:
        write_whole(path, _page(outcome).html())
    return path


def _all_curves(outcome: Outcome) -> "Figure":
    contests = [contest for contest in outcome.contests() if contest.ruleset != ALL]
    figure = matplotlib_or_why().figure.Figure(
        figsize=(2 * _WIDTH, _HEIGHT * len(contests)), layout="constrained"
    )
    panels = figure.subplots(len(contests), 2, squeeze=False)
    for contest, (left, right) in zip(contests, panels, strict=True):
        plot_curves(outcome, contest, "regret", left)
        plot_curves(outcome, contest, "elo", right)
    return figure


def _page(outcome: Outcome) -> Page:
    page = Page("Learners compared")
    for note in outcome.notes:
        page.text(f"{note[0].upper()}{note[1:]}.")
    for contest in outcome.contests():
        page.heading(str(contest))
        if contest.ruleset == ALL:
            page.text(
                "Regret is in shares of what random play gives away, so that rulesets can be put together."
            )
        rows = [standing.cells() for standing in outcome.standings(contest)]
        page.table(
            head_of(contest), [*rows, *map(line_cells, outcome.lines_of(contest))], [row[0] for row in rows]
        )
        if contest.ruleset != ALL:
            page.plots(
                (plot_curves(outcome, contest, "regret"), _READ_REGRET),
                (plot_curves(outcome, contest, "elo"), _READ_ELO),
            )
    page.text(
        "Numbers are interquartile means over seeds, in brackets 95 % intervals of a stratified bootstrap. "
        "Marked rows learned; the others are searches and scripted players."
    )
    return page
