"""Comparison of training runs: `mancala compare "runs/a-seed-*" "runs/b-seed-*"`.

Runs that differ only in their seeds form a *group*. The results of a group are means over its runs, with 95 %
intervals over seeds. All runs are measured over the same solved positions, so groups are compared in pairs.
"""

import glob
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mancala_env._util.checks import several, whole
from mancala_env._util.tabular import TableRows, Tabular
from mancala_env.agents import make
from mancala_env.benchmark.aggregates import Estimate, probability_of_improvement
from mancala_env.errors import MancalaError
from mancala_env.evaluation import evaluate, regret
from mancala_env.evaluation.intervals import difference_interval
from mancala_env.evaluation.ladder import stored_ladder
from mancala_env.evaluation.matches import num_pairs
from mancala_env.evaluation.regret import Regret, has_exact_positions, measure_regret
from mancala_env.networks.checkpoint import read_identity
from mancala_env.networks.value_files import difference
from mancala_env.rulesets import Ruleset
from mancala_env.training import run_results
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.run_results import UNITS, Measured, RunResults, mean_of

CHECKPOINTS = 6
FEWEST_SEEDS = 4
"""Seeds of each group below which two groups may be disjoint by chance (p > 0.05, Mann-Whitney)."""
_PATTERN = re.compile(r"[*?\[]")
# Number of environment steps at which a curve of several runs is drawn.
_POINTS = 25


class CannotCompare(MancalaError):
    """Runs that cannot be compared, such as runs of different rulesets."""


class CurvePoint(NamedTuple):
    """A measured number of a run, or the mean of a group, after a number of environment steps."""

    steps: float
    measured: Measured


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run with the `final` results of its last checkpoint, and the `progress` of several checkpoints.

    The results of a measure are ordered by environment steps. `regret` is that of the last checkpoint in each
    position; None without solved positions.
    """

    run: RunResults
    final: list[Measured]
    progress: list[CurvePoint]
    regret: Regret | None


@dataclass(frozen=True, eq=False)
class RunGroup:
    """Runs that differ only in their seeds."""

    name: str
    runs: list[MeasuredRun]

    @cached_property
    def final(self) -> list[Measured]:
        """The means of the last checkpoints over the runs."""
        return run_results.means_of([one.final for one in self.runs])

    @property
    def steps(self) -> int:
        """Median number of environment steps of the runs."""
        return int(np.median([one.run.identity.environment_steps for one in self.runs]))

    def values(self, measure: str, against: str) -> list[Measured]:
        """Return a result of the last checkpoint of each run."""
        return [one for run in self.runs for one in run.final if one.key == (measure, against)]

    def curve(self, measure: str, against: str) -> list[CurvePoint]:
        """Return the mean curve of a measure, where every run has one; [] if a run lacks it.

        Runs save checkpoints after different numbers of environment steps. So their curves are interpolated
        linearly to common numbers of steps: those of the runs if all are equal, otherwise at most 25.
        """
        key = measure, against
        curves = [[one for one in run.progress if one.measured.key == key] for run in self.runs]
        if not all(curves):
            return []
        steps = [np.array([one.steps for one in curve], np.float64) for curve in curves]
        start, end = max(each[0] for each in steps), min(each[-1] for each in steps)
        if start > end:
            return []
        points = np.unique(np.linspace(start, end, _POINTS))
        if all(np.array_equal(each, steps[0]) for each in steps):
            points = steps[0]
        return [CurvePoint(float(at), mean_of([measured_at(curve, at) for curve in curves])) for at in points]


def measured_at(curve: Sequence[CurvePoint], steps: float) -> Measured:
    """Return the numbers of a curve after a number of environment steps, interpolated linearly."""
    own, key = [one.steps for one in curve], curve[0].measured.key
    numbers = (np.interp(steps, own, [one.measured.numbers[k] for one in curve]) for k in range(3))
    return Measured(*key, *map(float, numbers))


class GroupDifference(NamedTuple):
    """The difference of two groups in a measure: the mean of the first minus the mean of the second.

    The interval is over "seeds", "positions" or "games". A difference of regret over positions is paired: it
    compares both groups position by position. `improvement` is the probability that a run of the first group
    is better than a run of the second. It is None if the interval is not over seeds, or if a group has fewer
    than FEWEST_SEEDS runs.
    """

    first: str
    second: str
    difference: Measured
    over: str
    improvement: Estimate | None


_NUMBER_COLUMNS = {
    "measure": "mean_regret, optimal_share, win_rate or elo",
    "against": "Opponent of a win rate; else None",
    "unit": "Unit of value, low and high",
    "value": "The measured number, the mean over the runs, the difference of two means, or the probability",
    "low": "Lower end of its 95 % interval",
    "high": "Upper end of its 95 % interval",
}


@dataclass(frozen=True, eq=False)
class RunComparison(Tabular):
    """A comparison of groups of runs.

    `to_frame()` has a row for each number of the printed tables: final means, curves, differences and
    probabilities of improvement. `measurements.to_frame()` has the numbers of the single runs.
    """

    ruleset: Ruleset
    groups: list[RunGroup]
    notes: list[str] = field(default_factory=list)

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "ruleset": "Name of the ruleset",
        "kind": "final, curve, difference or probability_of_improvement",
        "group": "Name of the group of runs",
        "other": "The other group of a difference or a probability; else None",
        "runs": "Number of runs of the group",
        "environment_steps": "Number of environment steps; the median of the runs for the last checkpoint",
        **_NUMBER_COLUMNS,
        "over": "What the interval is over: seeds, positions or games",
    }

    def _rows(self) -> Iterator[Sequence[Any]]:
        name, runs = self.ruleset.name, {group.name: len(group.runs) for group in self.groups}
        found: list[tuple[str, RunGroup, float, Measured]] = [
            ("final", group, group.steps, one) for group in self.groups for one in group.final
        ]
        for group, key in itertools.product(self.groups, self.curves):
            found += [("curve", group, point.steps, point.measured) for point in group.curve(*key)]
        for kind, group, steps, one in found:
            where = (kind, group.name, None, runs[group.name], steps)
            yield name, *where, *_columns(one), _over(one.measure, runs[group.name])
        for one in self.differences:
            pair = (one.first, one.second, runs[one.first], None)
            measure, against, unit, *numbers = _columns(one.difference)
            yield name, "difference", *pair, measure, against, unit, *numbers, one.over
            if one.improvement is not None:
                kind = "probability_of_improvement"
                yield name, kind, *pair, measure, against, "share", *one.improvement, one.over

    @property
    def measures(self) -> list[tuple[str, str]]:
        """The measures that all groups have at the end, with the opponent of a win rate or ""."""
        found = [[one.key for one in group.final] for group in self.groups]
        return [key for key in found[0] if all(key in others for others in found)]

    @cached_property
    def curves(self) -> list[tuple[str, str]]:
        """The measures that have a curve of two points or more in every group."""
        keys = dict.fromkeys(one.measured.key for run in self.groups[0].runs for one in run.progress)
        return [key for key in keys if all(len(group.curve(*key)) > 1 for group in self.groups)]

    @cached_property
    def differences(self) -> list[GroupDifference]:
        """The differences of each two groups in each measure."""
        pairs = itertools.combinations(self.groups, 2)
        return [
            one for pair in pairs for key in self.measures for one in _differences(*pair, key, self.ruleset)
        ]

    @property
    def measurements(self) -> TableRows:
        """The numbers of the single runs, whose intervals are over positions or games, as a table."""
        columns = {
            "ruleset": "Name of the ruleset",
            "group": "Name of the group of runs",
            "run": "Folder of the run",
            "seed": "Random seed of the run",
            "environment_steps": "Number of environment steps of the checkpoint",
            "is_final": "Whether it is the last checkpoint",
        }
        return TableRows(columns | _NUMBER_COLUMNS, self._measurements())

    def _measurements(self) -> Iterator[Sequence[Any]]:
        for group in self.groups:
            for one in group.runs:
                last = one.run.identity.environment_steps
                run = (self.ruleset.name, group.name, str(one.run.path), one.run.seed)
                for point in one.progress:
                    if point.steps < last:
                        yield *run, point.steps, False, *_columns(point.measured)
                for measured in one.final:
                    yield *run, last, True, *_columns(measured)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        settings = {
            each.name: {str(one.run.path): one.run.settings for one in each.runs} for each in self.groups
        }
        tables = {"groups": self.as_rows(), "runs": self.measurements.as_rows()}
        return {"ruleset": self.ruleset.name, **tables, "settings": settings, "notes": self.notes}


def _columns(one: Measured) -> tuple[Any, ...]:
    return one.measure, one.against or None, UNITS[one.measure], *map(float, one.numbers)


def _over(measure: str, count: int) -> str:
    """Return what the interval of a measure is over, for a number of runs."""
    return "seeds" if count > 1 else "positions" if measure in ("mean_regret", "optimal_share") else "games"


def _differences(
    first: RunGroup, second: RunGroup, key: tuple[str, str], ruleset: Ruleset
) -> Iterator[GroupDifference]:
    """Yield the difference of two groups over seeds and, for regret, over positions."""
    sides = [group.values(*key) for group in (first, second)]
    values = [np.array([one.value for one in side]) for side in sides]
    names, apart = (first.name, second.name), float(values[0].mean() - values[1].mean())
    over = _over(key[0], max(map(len, sides)))
    regrets = [[one.regret.regrets for one in group.runs if one.regret] for group in (first, second)]
    is_paired = key[0] == "mean_regret" and all(regrets)
    if over == "seeds" or not is_paired:
        error = run_results.error_of([one for side in sides for one in side])
        interval = difference_interval(values[0], values[1], error)
        better = None
        if min(map(len, sides)) >= FEWEST_SEEDS:
            sign = -1.0 if key[0] == "mean_regret" else 1.0
            better = probability_of_improvement([sign * values[0]], [sign * values[1]])
        yield GroupDifference(*names, Measured(*key, apart, *interval), over, better)
    if is_paired:
        ours, theirs = (np.stack(one).mean(axis=0, dtype=np.float64) for one in regrets)
        interval = regret.paired_interval(ours - theirs, ruleset)
        yield GroupDifference(*names, Measured(*key, apart, *interval), "positions", None)


def group_runs(paths: Sequence[str | Path]) -> dict[str, list[RunResults]]:
    """Read runs and group them, with the name of each group.

    `paths` are folders of runs, or patterns such as ``runs/a-seed-*``. The runs of a pattern are a group.
    Other runs are grouped by their configurations. Seed, name and settings of the evaluation may differ.
    Raise InvalidArgument if `paths` is a single text, CannotCompare if a pattern matches nothing, a run is a
    duplicate, or rules or rounds differ, and RunFolderError if a folder is not that of a run, or lacks a
    checkpoint.
    """
    found: list[tuple[object, str, RunResults]] = []
    for path in map(str, several("paths", paths, "a list of folders or patterns")):
        if _PATTERN.search(path) and not Path(path).exists():
            matches = sorted(each for each in glob.glob(path) if Path(each).is_dir())
            if not matches:
                raise CannotCompare(f"no folder matches {path!r}")
            name = _PATTERN.split(Path(path).name)[0].rstrip("-_.").removesuffix("-seed")
            found += [(path, name or Path(path).name, run_results.read_run(each)) for each in matches]
        else:
            run = run_results.read_run(path)
            found.append((repr(sorted(run.settings.items())), run_results.stem(run.name), run))
    if not found:
        raise CannotCompare("name at least one folder of a run, such as runs/leyla-seed-1")
    _check_comparable([run for _, _, run in found])
    named: dict[str, list[RunResults]] = {}
    for group in dict.fromkeys(key for key, _, _ in found):
        runs = [run for key, _, run in found if key == group]
        names = [*dict.fromkeys(name for key, name, _ in found if key == group)]
        name = ", ".join(names[:2]) + ", ..." * (len(names) > 2)
        # Two groups of the same name are told apart by the folders of their first runs.
        choices = (name, str(runs[0].path), str(runs[0].path.resolve()))
        named[next(each for each in choices if each not in named)] = runs
    return named


def _check_comparable(runs: Sequence[RunResults]) -> None:
    seen: dict[Path, RunResults] = {}
    for run in runs:
        other = seen.setdefault(run.path.resolve(), run)
        if other is not run:
            raise CannotCompare(f"{other.path} and {run.path} are the same run; name each run once")
    first = runs[0]
    for run in runs[1:]:
        ours, theirs = first.identity, run.identity
        why = difference(theirs.ruleset, ours.ruleset)
        if why:
            raise CannotCompare(f"runs must have the same rules as {first.path}: {run.path} {why}")
        if ours.rounds != theirs.rounds:
            rounds = f"{first.path} has {ours.rounds}, {run.path} has {theirs.rounds}"
            raise CannotCompare(f"runs must have the same rounds: {rounds}")


def compare_runs(
    paths: Sequence[str | Path],
    *,
    checkpoints: int = CHECKPOINTS,
    games: int = 0,
    results: str | Path | None = None,
    progress: Callable[[str, int, int], Any] | None = None,
) -> RunComparison:
    """Compare training runs, with means over their seeds.

    Args:
        paths: Folders of runs, or patterns; see :func:`group_runs`.
        checkpoints: Maximum number of checkpoints of each run whose regret is measured, at least 1.
        games: Number of games of each run's last checkpoint against each anchor of the ladder, for its
            rating; even; 0 for no ratings.
        results: Results file of these games, to resume from.
        progress: Called as progress(stage, done, total).

    Raises:
        CannotCompare, RunFolderError: As :func:`group_runs`.
        InvalidArgument: If `checkpoints` is less than 1.
        InvalidMatch: If `games` is odd or negative.
        NoLadder: If `games` is given and no ladder is stored for the ruleset.
    """
    checkpoints = whole("checkpoints", checkpoints, 1)
    if games:
        num_pairs(games)
    groups = group_runs(paths)
    # Equal rules may have several names; a ruleset of the catalogue has solved positions and a ladder.
    ruleset = max(
        (run.identity.ruleset for runs in groups.values() for run in runs), key=lambda one: one.is_bundled
    )
    if games:
        stored_ladder(ruleset)
    show, total = progress or (lambda stage, done, total: None), sum(map(len, groups.values()))
    show("runs", 0, total)
    found: list[RunGroup] = []
    for name, runs in groups.items():
        found.append(RunGroup(name, []))
        for run in runs:
            found[-1].runs.append(_measure(run, ruleset, checkpoints, games, results))
            show("runs", sum(len(group.runs) for group in found), total)
    comparison = RunComparison(ruleset, found, _notes(found, ruleset))
    if not comparison.curves and checkpoints > 1:
        more = "mancala train --checkpoint_minutes saves more"
        comparison.notes.append(f"the runs saved too few checkpoints for a curve; {more}")
    return comparison


def spread_out(saved: Sequence[Path], most: int) -> list[Path]:
    """Return at most `most` checkpoints, evenly spread, with the last one.

    >>> [path.name for path in spread_out([Path(name) for name in "abcde"], 3)]
    ['a', 'c', 'e']
    """
    step = max(1, -(-(len(saved) - 1) // max(1, most - 1))) if most > 1 else len(saved)
    return list(saved[::-1][::step][::-1])


def _measure(
    run: RunResults, ruleset: Ruleset, checkpoints: int, games: int, results: str | Path | None
) -> MeasuredRun:
    final = run.final()
    progress: list[CurvePoint] = []
    last: Regret | None = None
    if has_exact_positions(ruleset):
        # The last one may be saved twice, in checkpoints/ and as final.zip.
        saved = {read_identity(path).environment_steps: path for path in RunFolder(run.path).saved()}
        learned = {path: steps for steps, path in saved.items() if steps}
        learned = learned or {run.checkpoint: run.identity.environment_steps}
        for path in spread_out([*learned], checkpoints):
            last = measure_regret(make(str(path), ruleset, seed=run.seed, num_threads=1), ruleset)
            progress += [CurvePoint(learned[path], one) for one in _of_regret(last)]
        win_rates = [one for one in final if one.measure == "win_rate"]
        final = [*(_of_regret(last) if last else []), *win_rates]
    progress += [CurvePoint(*one) for one in run.win_rates_over_time()]
    if games:
        options: dict[str, Any] = {"games": games, "regret": False, "results": results, "num_threads": 1}
        rated = evaluate(str(run.checkpoint), ruleset, **options).ratings
        assert rated is not None
        final.append(Measured("elo", "", *rated.of(str(run.checkpoint))))
    return MeasuredRun(run, final, progress, last)


def _of_regret(regret: Regret) -> list[Measured]:
    part = regret.overall
    return [
        Measured("mean_regret", "", part.mean_regret, *part.interval),
        Measured("optimal_share", "", part.optimal_share, *part.optimal_interval),
    ]


def _notes(groups: Sequence[RunGroup], ruleset: Ruleset) -> list[str]:
    notes = []
    for group in groups:
        unfinished = [one.run.name for one in group.runs if not one.run.final()]
        if unfinished:
            notes.append(f"{', '.join(unfinished)}: not evaluated at the end, so win rates are missing")
        settings = [one.run.settings for one in group.runs]
        every = dict.fromkeys(name for one in settings for name in one)
        names = [name for name in every if any(one.get(name) != settings[0].get(name) for one in settings)]
        if names:
            notes.append(f"the runs of {group.name} differ in {', '.join(names)}")
        seeds = [one.run.seed for one in group.runs]
        equal = next((seed for seed in seeds if seeds.count(seed) > 1), None)
        if equal is not None:
            same = f"several runs of {group.name} have the seed {equal}"
            notes.append(f"{same}, so its intervals are too narrow")
    if len({one.run.opening_turns for group in groups for one in group.runs}) > 1:
        notes.append("win rates cannot be compared: the runs differ in evaluation.opening_turns")
    if not has_exact_positions(ruleset):
        notes.append(regret.NO_POSITIONS.format(ruleset.name))
    if any(len(group.runs) == 1 for group in groups):
        notes.append("a group with one run has intervals over positions or games, not over seeds")
    return notes
