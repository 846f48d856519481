"""Summaries of a benchmark: tables of interquartile means, and learning curves with baselines.

Entries are compared in a *contest*: one task and one budget, on one ruleset or on all rulesets together.
Tables use the last measurement of each ended run. Curves use all measuring points.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from mancala_env._util.tabular import Tabular, named_interval
from mancala_env.benchmark.aggregates import Estimate, estimate_iqm, probability_of_improvement
from mancala_env.benchmark.budget import BudgetLimit
from mancala_env.benchmark.results import BASELINE, RULESETS, Results, Row, RunKey
from mancala_env.benchmark.runner import FEWEST_SEEDS
from mancala_env.benchmark.scoring import Scoring, regret_of_random
from mancala_env.benchmark.tasks import TASKS
from mancala_env.errors import InvalidRuleset, MancalaError
from mancala_env.evaluation import plots
from mancala_env.evaluation.html_page import Page
from mancala_env.evaluation.regret import has_exact_positions
from mancala_env.evaluation.report import save_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALL = "all rulesets"
"""Name of the contest over all rulesets together."""
_WIDTH, _HEIGHT = 6.4, 4.2
# As a share of the height of a plot.
_LABEL_HEIGHT = 0.035
_READ_REGRET = (
    "How to read it: the seeds that an average move loses compared with perfect play. Lower is better, 0 is "
    "perfect. A line is the interquartile mean over the seeds of an entry, the band its 95 % interval. "
    "Grey lines are baselines that do not learn."
)
_READ_ELO = (
    "How to read it: the rating against fixed anchors. Higher is better, random has 0. A player that is 100 "
    "points ahead wins 64 % of the games."
)


class Contest(NamedTuple):
    """The conditions under which entries are compared; `ruleset` is its name, or ALL."""

    task: str
    limit: BudgetLimit
    ruleset: str
    scoring: Scoring

    def __str__(self) -> str:
        return f"{self.ruleset}, {self.task}, {self.limit}"


def head_of(contest: Contest) -> tuple[str, ...]:
    """Return the column titles of a contest's table."""
    spent = ("entry", "seeds", "steps", "core minutes")
    return (*spent, _regret_of(contest), "optimal moves", "Elo", "less regret than the next")


def _regret_of(contest: Contest) -> str:
    return f"mean regret ({_unit_of_regret(contest)})"


def _unit_of_regret(contest: Contest) -> str:
    return "share of random play's" if contest.ruleset == ALL else "seeds per move"


class Standing(NamedTuple):
    """The result of an entry in a contest: medians of the amounts spent, interquartile means of the scores.

    `seeds` is the number of ended runs; over several rulesets the smallest number of a ruleset. `regret` is
    in seeds per move; over several rulesets it is a share of the mean regret of random play. `better` is the
    probability that a run has less regret than a run of the next entry; None for the last entry.
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
        plain = self._asdict()
        return plain | {name: one._asdict() for name, one in plain.items() if isinstance(one, Estimate)}

    def cells(self) -> list[str]:
        """Return the table row, with the columns of :func:`head_of`."""
        forms = {"regret": ".2f", "optimal_share": ".0%", "elo": "z.0f", "better": ".2f"}
        numbers = ((getattr(self, name), form) for name, form in forms.items())
        found = ["" if number is None else _cell(number, form) for number, form in numbers]
        return [self.entry, str(self.seeds), f"{self.steps:,}", f"{self.core_minutes:.2f}", *found]


def _cell(found: Estimate, form: str) -> str:
    number, low, high = (format(each, form) for each in found)
    return f"{number} ({low} to {high})" if found.low < found.high else number


class BenchmarkSummary(Tabular):
    """The results of a benchmark so far: `rows` of learners, rows of `baselines`, `notes` for reports.

    `to_frame()` has one row for each entry and baseline of each contest. A frame of all measurements is
    ``Results.read(path).to_frame()``.
    """

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "task": "Name of the task",
        "budget": "Size of the budget",
        "budget_kind": "Unit of budget: steps or core_minutes",
        "ruleset": f"Name of the ruleset, or {ALL!r}",
        "entry": "Name of the entry; spec of a baseline",
        "is_baseline": "Whether the row is a baseline, which does not learn",
        "seeds": "Number of ended runs; on all rulesets, the smallest number of a ruleset",
        "steps": "Median number of environment steps of a run",
        "core_minutes": "Median core minutes of a run",
        **named_interval("mean_regret", "Interquartile mean of the mean regret, in the unit of regret_unit"),
        "regret_unit": '"seeds per move"; on all rulesets, "share of random play\'s"',
        **named_interval("optimal_share", "Interquartile mean of the share of optimal moves, 0 to 1"),
        **named_interval("elo", "Interquartile mean of the rating in Elo (random = 0)"),
        **named_interval(
            "less_regret_than_next", "Probability that a run has less regret than one of the next entry"
        ),
    }

    def _rows(self) -> Iterator[Sequence[Any]]:
        nothing = (None, None, None)
        for contest in self.contests():
            limit, unit = contest.limit, _unit_of_regret(contest)
            where = (contest.task, limit.amount, limit.kind, contest.ruleset)
            for one in self.standings(contest):
                spent = (one.seeds, one.steps, one.core_minutes)
                rest = (*one.optimal_share, *one.elo, *(one.better or nothing))
                yield *where, one.entry, False, *spent, *one.regret, unit, *rest
            for row in self.baselines_of(contest):
                score = row.score
                regret, elo = (score.regret, *score.regret_interval), (score.elo, *score.elo_interval)
                share = (score.optimal_share, None, None)
                yield *where, row.key.entry, True, *nothing, *regret, unit, *share, *elo, *nothing

    def __init__(self, results: Results, seeds: float = np.inf) -> None:
        """Select the last measurements of entries and of runs that were repeated with another version.

        Runs of later seeds than the first `seeds` are excluded.
        """
        self._results = results
        rows = [row for row in results.all_rows() if row.key.seed <= seeds]
        rules = {row.key.ruleset: row.key.rules for row in rows}
        every, rows = len(rows), [row for row in rows if row.key.rules == rules[row.key.ruleset]]
        learned = [row for row in rows if row.key.task != BASELINE]
        newest = {row.key.entry: row.key.identity for row in learned}
        unchanged = [row for row in learned if newest[row.key.entry] == row.key.identity]
        self.baselines = _latest([row for row in rows if row.key.task == BASELINE])
        self.rows = _latest(unchanged)
        # The last row of each ended run.
        self._final = {row.key: row for row in self.rows if results.end(row.key) is not None}
        excluded = {
            "the rules of their rulesets have changed": every - len(rows),
            "the files of their entries have changed": len(learned) - len(unchanged),
            "they were repeated with another version": len(unchanged) - len(self.rows),
        }
        self.notes = self._notes(results, excluded)

    def _notes(self, results: Results, excluded: Mapping[str, int]) -> list[str]:
        notes = []
        num_seeds = Counter((_contest(row), row.key.entry) for row in self._final.values())
        if min(num_seeds.values(), default=FEWEST_SEEDS) < FEWEST_SEEDS:
            few = f"some entries have fewer than {FEWEST_SEEDS} seeds"
            notes.append(f"{few}, so their intervals are too narrow")
        notes += [f"{count} measurements are excluded: {why}" for why, count in excluded.items() if count]
        together = [names for names in self._together().values() if len(names) > 1]
        lacking = sorted({name for names in together for name in names if not self._has_scale(name)})
        if lacking:
            notes.append(
                f"the table of {ALL} is excluded: it needs the ruleset file (copy the folder {RULESETS}) and "
                f"solved positions (mancala_env.evaluation.prepare makes some) of {', '.join(lacking)}"
            )
        titles = [str(contest) for contest in self.contests()]
        if len(set(titles)) < len(titles):
            notes.append(
                "tables with equal titles differ in scoring (--games, --anchors) and cannot be compared; "
                "--json shows the scoring"
            )
        notes += [
            f"{key.entry}, {key.task}, {key.ruleset}, {key.limit}, seed {key.seed}, was refused: {why}"
            for key, why in results.refused()
        ]
        return notes

    def contests(self) -> list[Contest]:
        """Return the contests on single rulesets and, if there are several, on all rulesets together."""
        together = self._together().items()
        found = [one for one, names in together if len(names) > 1 and all(map(self._has_scale, names))]
        found += dict.fromkeys(_contest(row) for row in self.rows)
        return sorted(found, key=lambda one: ([*TASKS].index(one.task), one.limit, one.ruleset != ALL))

    def _together(self) -> dict[Contest, set[str]]:
        """Return the contests on all rulesets, with the names of their rulesets."""
        found: dict[Contest, set[str]] = {}
        for row in self.rows:
            found.setdefault(_together(_contest(row)), set()).add(row.key.ruleset)
        return found

    def _has_scale(self, name: str) -> bool:
        """Return whether the regret of random play is known on a ruleset, which may be from elsewhere."""
        with suppress(InvalidRuleset):
            return has_exact_positions(self._results.ruleset(name))
        return False

    def standings(self, contest: Contest) -> list[Standing]:
        """Return the results of all entries with ended runs, the least regret first.

        Over several rulesets, entries without runs on each of them are excluded.
        """
        # A run that was scored twice, with other anchors, counts once.
        found: dict[str, dict[str, dict[int, Row]]] = {}
        for row in self._final.values():
            if _belongs(row, contest):
                found.setdefault(row.key.entry, {}).setdefault(row.key.ruleset, {})[row.key.seed] = row
        rulesets = self._together().get(contest, {contest.ruleset})
        strata_of = {
            entry: [[*strata[name].values()] for name in sorted(rulesets)]
            for entry, strata in found.items()
            if len(strata) == len(rulesets)
        }
        regrets = {
            entry: [self._regrets(rows, contest.ruleset == ALL) for rows in strata]
            for entry, strata in strata_of.items()
        }
        estimates = {entry: estimate_iqm(strata) for entry, strata in regrets.items()}
        order = sorted(estimates, key=lambda entry: estimates[entry].value)
        standings = []
        for entry, following in zip(order, [*order, None][1:], strict=True):
            strata, better = strata_of[entry], None
            if following is not None:
                first, second = ([-part for part in regrets[one]] for one in (entry, following))
                better = probability_of_improvement(first, second)
            spent = np.median([(row.steps, row.core_minutes) for rows in strata for row in rows], axis=0)
            scores = (estimates[entry], _estimate("optimal_share", strata), _estimate("elo", strata))
            seeds = min(map(len, strata))
            standings.append(Standing(entry, seeds, int(spent[0]), float(spent[1]), *scores, better))
        return standings

    def entries(self) -> list[str]:
        """Return the names of all entries in a fixed order, so that each has one colour in all plots."""
        return sorted({row.key.entry for row in self.rows})

    def baselines_of(self, contest: Contest) -> list[Row]:
        """Return the baselines with a contest's ruleset and scoring, the least regret first."""
        of = (contest.ruleset, contest.scoring)
        found = [row for row in self.baselines if (row.key.ruleset, row.key.scoring) == of]
        return sorted(found, key=lambda row: row.score.regret)

    def _regrets(self, rows: Sequence[Row], is_relative: bool) -> np.ndarray:
        found = np.array([row.score.regret for row in rows])
        return found / regret_of_random(self._results.ruleset(rows[0].key.ruleset)) if is_relative else found

    def curve(self, contest: Contest, entry: str) -> list[tuple[float, Estimate, Estimate]]:
        """Return the learning curve of an entry on one ruleset.

        Its points are the median amount spent, in the unit of the budget, and the interquartile means of mean
        regret and rating. If any runs have ended, only ended runs count, and only points at which all of them
        were measured. So all points average the same seeds.
        """
        points: dict[float, dict[RunKey, Row]] = {}
        for row in self.rows:
            if row.key.entry == entry and _belongs(row, contest):
                is_last = self._final.get(row.key) is row
                # Not `point`: its meaning depends on the run's number of points.
                point = np.inf if is_last else math.frexp(row.budget_share or 0)[1]
                points.setdefault(point, {}).setdefault(row.key, row)
        over = points.get(np.inf, {})
        found = []
        for point in sorted(points):
            rows = [row for key, row in points[point].items() if key in over or not over]
            if len(rows) < len(over):
                continue
            has_steps = contest.limit.kind == "steps"
            spent = np.median([row.steps if has_steps else row.core_minutes for row in rows])
            found.append((float(spent), _estimate("regret", [rows]), _estimate("elo", [rows])))
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        contests = [
            {
                "task": one.task,
                "budget": one.limit._asdict(),
                "ruleset": one.ruleset,
                "scoring": one.scoring._asdict(),
                "entries": [standing.as_dict() for standing in self.standings(one)],
                "lines": [{"spec": row.key.entry, **row.score._asdict()} for row in self.baselines_of(one)],
            }
            for one in self.contests()
        ]
        return {"contests": contests, "notes": self.notes}


def _estimate(number: str, strata: Sequence[Sequence[Row]]) -> Estimate:
    """Return the interquartile mean of a number of the scores of runs."""
    return estimate_iqm([np.array([getattr(row.score, number) for row in rows]) for rows in strata])


def _latest(rows: Sequence[Row]) -> list[Row]:
    """Exclude rows of runs that were repeated with another version, or other rules of the same name."""
    last = {row.key._replace(identity="", rules="", version=""): row.key for row in rows}
    kept = set(last.values())
    return [row for row in rows if row.key in kept]


def _contest(row: Row) -> Contest:
    return Contest(row.key.task, row.key.limit, row.key.ruleset, row.key.scoring)


def _together(contest: Contest) -> Contest:
    """Return the contest over all rulesets that includes a contest; it ignores anchors and openings."""
    scoring = contest.scoring._replace(anchors=(), opening_turns=0, opening_set="")
    return contest._replace(ruleset=ALL, scoring=scoring)


def _belongs(row: Row, contest: Contest) -> bool:
    own = _contest(row)
    return contest in (own, _together(own))


def baseline_cells(row: Row) -> list[str]:
    """Return the table row of a baseline, with the columns of :func:`head_of`."""
    score = row.score
    found = (f"{score.regret:.2f}", f"{score.optimal_share:.0%}", f"{score.elo:z.0f}")
    return [row.key.entry, "", "", "", *found, ""]


def plot_curves(
    outcome: BenchmarkSummary, contest: Contest, what: str, axes: "Axes | None" = None
) -> "Figure":
    """Plot the learning curves of a contest on one ruleset, "regret" or "elo"; None makes a new figure."""
    axes = axes if axes is not None else plots.new_axes(_WIDTH, _HEIGHT)
    for number, entry in enumerate(outcome.entries()):
        if curve := outcome.curve(contest, entry):
            found = np.array([regret if what == "regret" else elo for _, regret, elo in curve])
            plots.draw_band(axes, [spent for spent, _, _ in curve], found, entry, number)
    lines = [(getattr(row.score, what), row.key.entry) for row in outcome.baselines_of(contest)]
    for y, _ in lines:
        axes.axhline(y, color=plots.ANCHOR, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    plots.finish(axes, str(contest), None)
    axes.legend(fontsize=8, framealpha=0.9)
    axes.set_xlabel("environment steps" if contest.limit.kind == "steps" else "core minutes")
    axes.set_ylabel(_regret_of(contest) if what == "regret" else "Elo (random = 0)")
    if what == "regret":
        axes.set_ylim(bottom=0)
    _set_log_scale(axes, contest.limit.kind == "steps")
    _name_lines(axes, lines)
    return plots.figure_of(axes)


def _set_log_scale(axes: "Axes", is_large: bool) -> None:
    """Make the x axis logarithmic, with labels such as 200 k or 0.2 at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(EngFormatter() if is_large else StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _name_lines(axes: "Axes", lines: Sequence[tuple[float, str]]) -> None:
    """Write the names of horizontal lines at the right of a plot, without overlaps."""
    low, high = axes.get_ylim()
    at = -1.0
    for y, name in sorted(lines):
        at = max((y - low) / (high - low), at + _LABEL_HEIGHT)
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center"}
        axes.annotate(plots.plain(name), (1.0, at), (4, 0), fontsize=7, color=plots.INK, **place)


def write_report(outcome: BenchmarkSummary, path: str | Path) -> Path:
    """Write a report as an HTML file, or its curves as a PNG file; see evaluation.report.save_report.

    Raise MancalaError if no learner has been measured.
    """
    if not outcome.rows:
        raise MancalaError(f"cannot write {path}: no learner has been measured yet")
    return save_report(path, lambda: _page(outcome), lambda: _all_curves(outcome))


def _all_curves(outcome: BenchmarkSummary) -> "Figure":
    contests = [contest for contest in outcome.contests() if contest.ruleset != ALL]
    size = (2 * _WIDTH, _HEIGHT * len(contests))
    figure = plots.matplotlib_or_why().figure.Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(contests), 2, squeeze=False)
    for contest, (left, right) in zip(contests, panels, strict=True):
        plot_curves(outcome, contest, "regret", left)
        plot_curves(outcome, contest, "elo", right)
    return figure


def _page(outcome: BenchmarkSummary) -> Page:
    page = Page("Learners compared")
    page.notes(outcome.notes)
    for contest in outcome.contests():
        page.heading(str(contest))
        if contest.ruleset == ALL:
            why = "so that rulesets can be averaged"
            page.text(f"Regret is given as a share of the regret of random play, {why}.")
        rows = [standing.cells() for standing in outcome.standings(contest)]
        baselines = map(baseline_cells, outcome.baselines_of(contest))
        page.table(head_of(contest), [*rows, *baselines], [row[0] for row in rows])
        if contest.ruleset != ALL:
            kinds = {"regret": _READ_REGRET, "elo": _READ_ELO}
            page.plots(*((plot_curves(outcome, contest, kind), how) for kind, how in kinds.items()))
    page.text(
        "Numbers are interquartile means over random seeds, with 95 % intervals of a stratified bootstrap in "
        "brackets. Marked rows are learners; the others are searches and scripted agents."
    )
    return page
