"""Planning and running a benchmark: every entry, task, ruleset, budget and seed that has no result yet.

    FOLDER/results.jsonl                            all measurements
    FOLDER/learners/leyla/board/1000000-steps/td-1a2b3c4d/seed-1/
                                                    the folder of one learner

The clock of a learner stops while it is measured. If you kill a benchmark, it loses the current measurement
and the learner's progress since its last checkpoint.
"""

import itertools
import json
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from mancala_env import agents
from mancala_env._util.checks import is_whole, several, whole
from mancala_env.agents.registry import entrant_of
from mancala_env.benchmark.budget import BudgetLimit, LearningBudget, measuring_points
from mancala_env.benchmark.entries import Entry, InvalidEntry, Point
from mancala_env.benchmark.results import BASELINE, RESULTS, RULESETS, Results, Row, RunKey, made_here
from mancala_env.benchmark.scoring import Scoring, scoring_of
from mancala_env.benchmark.tasks import Refused, Task, task_named
from mancala_env.errors import InvalidArgument, MancalaError, printable
from mancala_env.evaluation.round_robin import rules_hash
from mancala_env.networks.value_files import has_bundled_network
from mancala_env.observations import version
from mancala_env.rulesets import Ruleset, RulesetLike, lookup
from mancala_env.training.run_folder import git_revision, write_atomically

FEWEST_SEEDS = 5
"""Number of seeds below which intervals are unreliable; reports mention it."""
POINTS = 5
BASELINES = ("random", "greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:100", "value+minimax:4")
"""Specs of the default baselines, which do not learn; plots show them as horizontal lines."""
_PENDING = "pending.json"
_MOST_SEEDS = 10_000
_MOST_WHY = 500  # characters of the reason why a run was refused

Say = Callable[[str], Any]


class LearnerRun(NamedTuple):
    """A learner to run and to measure at `points`, which are shares of its budget.

    `learners` is the folder of all learners.
    """

    entry: Entry
    task: Task
    ruleset: Ruleset
    limit: BudgetLimit
    points: tuple[float, ...]
    seed: int
    scoring: Scoring
    learners: Path

    @property
    def name(self) -> str:
        """Name of the entrant, such as td; with a fixed observation kind, such as ppo_mirror@board."""
        return f"{self.entry.name}@{self.task.observation}" if self.task.is_fixed else self.entry.name

    @property
    def folder(self) -> Path:
        """The learner's own folder."""
        name, own = f"{self.name}-{self.entry.identity}", f"-{self.ruleset.options_hash[:8]}"
        ruleset = f"{self.ruleset.name}{'' if self.ruleset.is_bundled else own}"
        return self.learners / ruleset / self.task.name / self.limit.slug / name / f"seed-{self.seed}"

    @property
    def key(self) -> RunKey:
        """The identity of the run in the results file."""
        names = self.name, self.entry.identity, self.task.name
        ruleset = self.ruleset.name, rules_hash(self.ruleset)
        return RunKey(*names, *ruleset, self.limit, self.seed, self.scoring)

    def __str__(self) -> str:
        return f"{self.name}, {self.task.name}, {self.ruleset.name}, {self.limit}, seed {self.seed}"


class Baseline(NamedTuple):
    """An agent that does not learn and is measured once."""

    spec: str
    ruleset: Ruleset
    scoring: Scoring

    @property
    def key(self) -> RunKey:
        """The identity of the baseline in the results file."""
        player = agents.make(self.spec, self.ruleset, num_threads=1)
        names = self.spec, entrant_of(player), BASELINE
        ruleset = self.ruleset.name, rules_hash(self.ruleset)
        return RunKey(*names, *ruleset, BudgetLimit("steps", 0), 0, self.scoring)


class BenchmarkPlan(NamedTuple):
    """The runs and baselines that a benchmark measures; `folder` is for results and learners' files."""

    folder: Path
    runs: tuple[LearnerRun, ...]
    baselines: tuple[Baseline, ...]


def plan(
    entries: Sequence[Entry],
    folder: str | Path,
    *,
    rulesets: Sequence[RulesetLike] = ("layli_goobalay",),
    tasks: Sequence[str] = ("afterstates",),
    limits: Sequence[BudgetLimit],
    seeds: int = FEWEST_SEEDS,
    points: int = POINTS,
    lines: Sequence[str] | None = None,
    **scoring: Any,
) -> BenchmarkPlan:
    """Plan a benchmark: each of the `entries`, from :func:`read_entry`, on each of the tasks it declares.

    Args:
        entries: The learning algorithms.
        folder: Folder for the results and the learners' files.
        rulesets: The rulesets, or their names.
        tasks: Names of tasks. "anything@board" is a task with one kind of observation, so that kinds can be
            compared: an entry takes part in it under a name of its own, such as `ppo_mirror@board`.
        limits: Budgets.
        seeds: Number of seeds per entry (1..N).
        points: Number of measuring points of a run: its end, preceded by successive halves.
        lines: Specs of baselines, which do not learn. None for BASELINES that need no missing value network.
        scoring: `games`, `anchors` and `scoring_seed` of :func:`mancala_env.benchmark.scoring.scoring_of`.

    Raises:
        MancalaError: If an argument is invalid, or an entry declares none of the tasks.
    """
    whole("seeds", seeds, 1, _MOST_SEEDS)
    entries, limits = several("entries", entries, "a list"), several("limits", limits, "a list")
    rulesets, tasks = several("rulesets", rulesets, "a list"), several("tasks", tasks, "a list")
    lines = None if lines is None else several("lines", lines, "a list of specs")
    _check_entries(entries, limits)
    for name, given, example in (("task", tasks, "afterstates"), ("ruleset", rulesets, "layli_goobalay")):
        if not given:
            raise InvalidArgument(f"{name}s must name at least one {name}, such as {example}")
    folder, shares = Path(folder), measuring_points(points)
    chosen = list(dict.fromkeys(map(task_named, tasks)))
    known = dict.fromkeys(map(lookup, rulesets))
    _check_names([each.name for each in known], "rulesets", InvalidArgument)
    scorings = {each: scoring_of(each, **scoring) for each in known}
    for ruleset, task in itertools.product(scorings, (task for task in chosen if task.is_fixed)):
        version(task.observation, ruleset)  # raises now if the ruleset lacks this kind
    for entry in entries:
        if not any(task.name in entry.tasks for task in chosen):
            declared = " and ".join(entry.tasks)
            raise Refused(f"{entry.name} takes part in {declared}, not in {chosen[0].name}")
    # Seed by seed, so that an interrupted benchmark has results of each entry.
    runs = tuple(
        LearnerRun(entry, task, ruleset, limit, shares, seed, scorings[ruleset], folder / "learners")
        for limit, seed in itertools.product(dict.fromkeys(limits), range(1, seeds + 1))
        for ruleset, task, entry in itertools.product(scorings, chosen, entries)
        if task.name in entry.tasks
    )
    baselines = tuple(
        Baseline(spec, ruleset, scorings[ruleset])
        for ruleset in scorings
        for spec in dict.fromkeys(BASELINES if lines is None else lines)
        if lines is not None or has_bundled_network(ruleset) or not spec.startswith("value+")
    )
    for baseline in baselines:
        agents.make(baseline.spec, baseline.ruleset, num_threads=1)  # raises now if a spec is invalid
    return BenchmarkPlan(folder, runs, baselines)


def _check_entries(entries: Sequence[Entry], limits: Sequence[BudgetLimit]) -> None:
    for entry in entries:
        if not isinstance(entry, Entry):
            raise InvalidArgument(f"entries must come from read_entry, not {entry!r}")
    for limit in limits:
        if not isinstance(limit, BudgetLimit):
            raise InvalidArgument(f"limits must come from limit_of_steps or limit_of_minutes, not {limit!r}")
    if entries and not limits:
        raise InvalidArgument("name a budget: steps, such as 1000000, or core_minutes, such as 3")
    _check_names([entry.name for entry in entries], "entries", InvalidEntry)


def _check_names(names: Sequence[str], what: str, error: type[MancalaError]) -> None:
    # Results and folders are named after entries and rulesets.
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise error(f"two {what} are named {duplicate}; rename one of them")


class RunRestarted(NamedTuple):
    """A run that restarts after `after` environment steps; its later measurements are void."""

    after: int


class RunEnded(NamedTuple):
    """The end of a run, with the reason if it was refused or failed; a failed run must be repeated."""

    refused: str = ""
    broken: str = ""


def run_plan(wanted: BenchmarkPlan, say: Say = print) -> int:
    """Measure all runs and baselines of a plan that lack a result; return the number of failed runs.

    Running the plan again repeats failed runs. `say` is called with messages about the progress.

    Raises:
        InvalidResults: If the results file is invalid, or another process is writing it.
    """
    commit, num_broken = git_revision(), 0
    with Results(wanted.folder / RESULTS) as results:
        for ruleset in {run.ruleset for run in (*wanted.runs, *wanted.baselines)}:
            if not ruleset.is_bundled:
                (wanted.folder / RULESETS).mkdir(exist_ok=True)
                ruleset.save(wanted.folder / RULESETS / f"{ruleset.name}.yaml")
        for baseline in wanted.baselines:
            if not results.rows(baseline.key):
                score = baseline.scoring.score(baseline.spec, baseline.ruleset)
                results.measured(Row(baseline.key, 0, 0, 0.0, score, made_here(commit)))
                say(f"{baseline.spec}, {baseline.ruleset.name}: {_in_words(score)}")
        missing = [run for run in wanted.runs if results.end(run.key) is None]
        if len(missing) < len(wanted.runs):
            say(f"{len(wanted.runs) - len(missing)} of {len(wanted.runs)} runs are already done")
        for run in missing:
            for found in run_learner(run, results.rows(run.key)):
                if isinstance(found, Row):
                    results.measured(found)
                    spent = f"{found.steps:,} steps, {found.core_minutes:.2f} core minutes"
                    say(f"{run}: {_in_words(found.score)} after {spent}")
                elif isinstance(found, RunRestarted):
                    results.void(run.key, found.after)
                elif found.broken:
                    num_broken += 1
                    say(f"{run}: failed: {found.broken}")
                else:
                    results.ended(run.key, printable(found.refused)[:_MOST_WHY])
                    if found.refused:
                        say(f"{run}: refused: {found.refused}")
    return num_broken


def run_learner(run: LearnerRun, rows: Sequence[Row]) -> Iterator[Row | RunRestarted | RunEnded]:
    """Run one learner; yield its measurements, then a RunEnded.

    `rows` are the measurements of the run before it was interrupted.
    """
    try:
        yield from _measurements(run, rows)
    except Refused as why:
        yield RunEnded(refused=str(why))
    except Exception as error:  # a bug of the entry or a missing package; the other runs continue
        if not isinstance(error, ImportError | MancalaError):
            traceback.print_exc()
        yield RunEnded(broken=f"{error}" or type(error).__name__)
    except SystemExit as end:
        yield RunEnded(broken=f"it called sys.exit({end.code!r})")
    else:
        yield RunEnded()


def _measurements(run: LearnerRun, rows: Sequence[Row]) -> Iterator[Row | RunRestarted]:
    commit = git_revision()
    run.folder.mkdir(parents=True, exist_ok=True)
    run.entry.prepare(run.task, run.ruleset)
    before = {row.steps: row.core_seconds for row in rows}
    budget = LearningBudget(run.limit, run.points, before, _read_pending(run))
    learner = run.entry.learn(run.task, run.ruleset, budget, run.seed, run.folder)
    if not isinstance(learner, Generator):
        raise Refused(f"learn must be a generator that yields Points, and returned {learner!r}")
    last: int | None = None
    with closing(learner):
        for point in learner:
            with budget.paused():
                if last is None:
                    if any(row.steps > budget.resumed_steps for row in rows):
                        yield RunRestarted(budget.resumed_steps)
                    last = max((steps for steps in before if steps <= budget.resumed_steps), default=0)
                steps = _checked(point, last, budget)
                if steps == last:  # already measured: the end, or a point passed while resuming
                    budget.note_measured(steps)
                    continue
                player, seconds = _seated(run, point), budget.seconds
                key = json.dumps(run.key.as_dict())
                pending = json.dumps({"run": key, "steps": steps, "seconds": seconds})
                write_atomically(run.folder / _PENDING, pending.encode())
                score = run.scoring.score(player, run.ruleset)
                number = sum(share <= budget.part_spent(steps) for share in run.points)
                yield Row(run.key, max(0, number - 1), steps, seconds, score, made_here(commit))
                budget.note_measured(steps)
                last = steps
    if last is None:
        raise Refused("it yielded nothing to measure")


def _checked(point: Any, last: int, budget: LearningBudget) -> int:
    """Return the steps of a point; refuse it if it is invalid or exceeds the budget."""
    if not isinstance(point, Point):
        raise Refused(f"learn must yield Point(player, steps), not {point!r}")
    if is_whole(point.steps) and point.steps == last == 0:
        raise Refused(f"it made no environment steps: a budget of {budget.limit} is too small for it")
    if not is_whole(point.steps) or point.steps < max(last, 1):
        valid, after = "a whole number of at least 1 that never decreases", f" after {last:,}" * (last > 0)
        raise Refused(f"the steps of a Point must be {valid}, not {point.steps!r}{after}")
    budget.check(int(point.steps))
    return int(point.steps)


def _seated(run: LearnerRun, point: Point) -> agents.Agent:
    try:
        player = point.player if isinstance(point.player, agents.Agent) else str(point.player)
        agent = agents.make(player, run.ruleset, num_threads=1)
    except MancalaError as error:
        raise Refused(f"the player of its Point cannot play: {error}") from error
    run.task.check(agent)
    return agent


def _read_pending(run: LearnerRun) -> dict[int, float]:
    """Return the core seconds by steps at which a killed learner with this key was about to be measured."""
    with suppress(OSError, ValueError, KeyError, TypeError, OverflowError):
        said = json.loads((run.folder / _PENDING).read_text())
        if said["run"] == json.dumps(run.key.as_dict()):
            return {int(said["steps"]): float(said["seconds"])}
    return {}


def _in_words(score: Any) -> str:
    return f"regret {score.regret:.2f}, Elo {score.elo:z.0f}"
