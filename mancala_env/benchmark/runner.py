"""Run a benchmark: every entry, task, ruleset, budget and seed that has no result yet.

    FOLDER/results.jsonl                            every measurement
    FOLDER/learners/leyla/board/1000000-steps/td-1a2b3c4d/seed-1/
                                                    the folder of one learner

A learner is measured while its clock stands still. Killed at any moment, a benchmark loses the measurement
under way, and what a learner has learned since it last stored itself.
"""

import itertools
import json
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from mancala_env import agents
from mancala_env._util.checks import is_whole, whole
from mancala_env.agents.registry import entrant_of
from mancala_env.benchmark.budget import LearningBudget, Limit, measuring_points
from mancala_env.benchmark.entries import Entry, InvalidEntry, Point, check_takes_part
from mancala_env.benchmark.results import LINE, RESULTS, Key, Results, Row, made_here
from mancala_env.benchmark.scoring import GAMES, Scoring, scoring_of
from mancala_env.benchmark.tasks import Refused, Task, task_named
from mancala_env.errors import InvalidArgument, MancalaError, printable
from mancala_env.evaluation.round_robin import rules_hash
from mancala_env.networks.value_files import NoValueNetwork, shipped_network
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.training.run_folder import git_revision, write_atomically

FEWEST_SEEDS = 5
"""Seeds below which an interval says little; a report notes it."""
POINTS = 5
LINES = ("random", "greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:100", "value+minimax:4")
"""Those who do not learn: lines across the plots, where they can play."""
_PENDING = "pending.json"
_MOST_SEEDS = 10_000
_MOST_WHY = 500  # letters of why a run was refused

Say = Callable[[str], Any]


class Run(NamedTuple):
    """A learner that is to be measured.

    Attributes:
        entry: The learning algorithm.
        task: What it is shown.
        ruleset: The game.
        limit: Its budget.
        points: Shares of that at which it is measured.
        seed: Its seed.
        scoring: How it is scored.
        folder: Its folder.
    """

    entry: Entry
    task: Task
    ruleset: Ruleset
    limit: Limit
    points: tuple[float, ...]
    seed: int
    scoring: Scoring
    folder: Path

    @property
    def key(self) -> Key:
        """What its results are filed under."""
        return Key(
            self.entry.name,
            self.entry.identity,
            self.task.name,
            self.ruleset.name,
            rules_hash(self.ruleset),
            self.limit,
            self.seed,
            self.scoring,
        )

    def __str__(self) -> str:
        return f"{self.entry.name}, {self.task.name}, {self.ruleset.name}, {self.limit}, seed {self.seed}"


class Line(NamedTuple):
    """Somebody who does not learn, to be measured once.

    Attributes:
        spec: Who it is.
        ruleset: The game.
        scoring: How it is scored.
    """

    spec: str
    ruleset: Ruleset
    scoring: Scoring

    @property
    def key(self) -> Key:
        """What its results are filed under."""
        player = agents.make(self.spec, self.ruleset, num_threads=1)
        identity, rules = entrant_of(player), rules_hash(self.ruleset)
        return Key(self.spec, identity, LINE, self.ruleset.name, rules, Limit("steps", 0), 0, self.scoring)


class Plan(NamedTuple):
    """What a benchmark is to measure.

    Attributes:
        folder: Where it lies.
        runs: The learners.
        lines: Those who do not learn.
    """

    folder: Path
    runs: tuple[Run, ...]
    lines: tuple[Line, ...]


def plan(
    entries: Sequence[Entry],
    folder: str | Path,
    *,
    rulesets: Sequence[str | Ruleset] = ("layli_goobalay",),
    tasks: Sequence[str] = ("afterstates",),
    limits: Sequence[Limit],
    seeds: int = FEWEST_SEEDS,
    points: int = POINTS,
    games: int = GAMES,
    anchors: Sequence[str] | None = None,
    lines: Sequence[str] | None = None,
    scoring_seed: int = 0,
) -> Plan:
    """Say what is to be measured: every entry in every task that it takes part in.

    Args:
        entries: The learning algorithms.
        folder: Where results and learners lie.
        rulesets: The games.
        tasks: Names of tasks.
        limits: Budgets.
        seeds: So many seeds, 1 and on.
        points: Measuring points of a run, the last at its end, each at half of the next.
        games: Games against each anchor, even.
        anchors: Whom players are rated against; None: the ladder's quick anchors.
        lines: Specs of those who do not learn; None: LINES, without a value network where none is shipped.
        scoring_seed: Seed of the games that players are rated by.

    Raises:
        MancalaError: An argument is wrong, or an entry takes part in none of the tasks.
    """
    whole("seeds", seeds, 1, _MOST_SEEDS)
    for entry in entries:
        if not isinstance(entry, Entry):
            raise InvalidArgument(f"entries must be of read_entry, not {entry!r}")
    for limit in limits:
        if not isinstance(limit, Limit):
            raise InvalidArgument(f"limits must be of limit_of_steps or limit_of_minutes, not {limit!r}")
    if entries and not limits:
        raise InvalidArgument("name a budget: steps, such as 1000000, or core_minutes, such as 3")
    names = [entry.name for entry in entries]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidEntry(f"two entries are called {twice}; give one of the files another name")
    if not tasks:
        raise InvalidArgument("name a task, such as afterstates")
    if not rulesets:
        raise InvalidArgument("name a ruleset, such as layli_goobalay")
    folder, shares = Path(folder), measuring_points(points)
    # What is named twice is learned once.
    limits = tuple(dict.fromkeys(limits))
    games_of = tuple(dict.fromkeys(lookup(each) for each in rulesets))
    scored = {each: scoring_of(each, games, anchors, scoring_seed) for each in games_of}
    chosen = tuple(dict.fromkeys(task_named(name) for name in tasks))
    for entry in entries:
        if not any(task.name in entry.tasks for task in chosen):
            check_takes_part(entry, chosen[0])
    # Seed by seed, so that an interrupted benchmark has some of each entry.
    runs = tuple(
        Run(entry, task, ruleset, limit, shares, seed, scored[ruleset], _learners_folder(
            folder, entry, task, ruleset, limit, seed
        ))
        for limit, seed, ruleset, task, entry in itertools.product(
            limits, range(1, seeds + 1), games_of, chosen, entries
        )
        if task.name in entry.tasks
    )  # fmt: skip
    wanted = tuple(
        Line(spec, ruleset, scored[ruleset])
        for ruleset in games_of
        for spec in dict.fromkeys(_default_lines(ruleset) if lines is None else lines)
    )
    for line in wanted:
        agents.make(line.spec, line.ruleset, num_threads=1)  # a wrong one is found now
    return Plan(folder, runs, wanted)


def _default_lines(ruleset: Ruleset) -> tuple[str, ...]:
    try:
        shipped_network(ruleset)
    except NoValueNetwork:
        return tuple(spec for spec in LINES if not spec.startswith("value+"))
    return LINES


def _learners_folder(
    folder: Path, entry: Entry, task: Task, ruleset: Ruleset, limit: Limit, seed: int
) -> Path:
    name = f"{entry.name}-{entry.identity}"
    return folder / "learners" / ruleset.name / task.name / limit.slug / name / f"seed-{seed}"


class Void(NamedTuple):
    """What a run says where it begins anew, or goes on from before what was measured last.

    Attributes:
        after: Measurements beyond so many steps do not count.
    """

    after: int


class End(NamedTuple):
    """What a run says last.

    Attributes:
        refused: Why it was refused; "" where it was not.
        broken: Why it broke off, and is to be tried again; "" where it did not.
    """

    refused: str = ""
    broken: str = ""


Found = Row | Void | End
RunLearners = Callable[[Sequence[tuple[Run, list[Row]]]], Iterator[tuple[Run, Found]]]
"""Runs learners, here or on other machines: is given each with what an earlier start of it measured, and
yields what comes of them, in any order."""


def run_plan(wanted: Plan, say: Say = print, run_learners: RunLearners | None = None) -> int:
    """Measure all that has no result yet.

    Args:
        wanted: What is to be measured.
        say: Told how far it is.
        run_learners: What runs the learners; None runs one after the other here.
            :class:`mancala_env.benchmark.ray_learners.RayLearners` runs them on a Ray cluster.

    Returns:
        How many runs broke off; the same plan tries them again.

    Raises:
        InvalidResults: The file of results is none, or another process is writing it.
    """
    commit, num_broken = git_revision(), 0
    with Results(wanted.folder / RESULTS) as results:
        for line in wanted.lines:
            if not results.rows(line.key):
                score = line.scoring.score(line.spec, line.ruleset)
                results.measured(Row(line.key, 0, 0, 0.0, score, made_here(commit)))
                say(f"{line.spec}, {line.ruleset.name}: {_in_words(score)}")
        missing = [(run, results.rows(run.key)) for run in wanted.runs if results.end(run.key) is None]
        if len(missing) < len(wanted.runs):
            say(f"{len(wanted.runs) - len(missing)} of {len(wanted.runs)} runs are done already")
        for run, found in (run_learners or run_here)(missing):
            if isinstance(found, Row):
                results.measured(found)
                spent = f"{found.steps:,} steps, {found.core_minutes:.2f} core minutes"
                say(f"{run}: {_in_words(found.score)} after {spent}")
            elif isinstance(found, Void):
                results.void(run.key, found.after)
            elif found.broken:
                num_broken += 1
                say(f"{run}: broke off: {found.broken}")
            else:
                results.ended(run.key, printable(found.refused)[:_MOST_WHY])
                if found.refused:
                    say(f"{run}: refused: {found.refused}")
    return num_broken


def run_here(runs: Sequence[tuple[Run, list[Row]]]) -> Iterator[tuple[Run, Found]]:
    """Run learners one after the other in this process; see RunLearners."""
    for run, rows in runs:
        for found in run_learner(run, rows):
            yield run, found


def run_learner(run: Run, rows: Sequence[Row]) -> Iterator[Found]:
    """Run one learner; yields its measurements and an End.

    Args:
        run: The learner.
        rows: What an earlier start of it measured.
    """
    try:
        yield from _measurements(run, rows)
    except Refused as why:
        yield End(refused=str(why))
    except Exception as error:  # a bug of the entry's, or a package it lacks: the others go on
        if not isinstance(error, ImportError | MancalaError):
            traceback.print_exc()
        yield End(broken=f"{error}" or type(error).__name__)
    except SystemExit as end:
        yield End(broken=f"it called sys.exit({end.code!r})")
    else:
        yield End()


def _measurements(run: Run, rows: Sequence[Row]) -> Iterator[Row | Void]:
    commit = git_revision()
    run.folder.mkdir(parents=True, exist_ok=True)
    check_takes_part(run.entry, run.task)
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
                        yield Void(budget.resumed_steps)
                    last = max((steps for steps in before if steps <= budget.resumed_steps), default=0)
                steps = _checked(point, last, budget)
                if steps == last:  # measured already: the end, or a point passed while setting up again
                    budget.note_measured(steps)
                    continue
                player, seconds = _seated(run, point), budget.seconds
                pending = json.dumps({"run": _filed(run), "steps": steps, "seconds": seconds})
                write_atomically(run.folder / _PENDING, pending.encode())
                score = run.scoring.score(player, run.ruleset)
                number = sum(share <= budget.part_spent(steps) for share in run.points)
                yield Row(run.key, max(0, number - 1), steps, seconds, score, made_here(commit))
                budget.note_measured(steps)
                last = steps
    if last is None:
        raise Refused("it yielded nothing to measure")


def _checked(point: Any, last: int, budget: LearningBudget) -> int:
    """Return the steps of a point, or refuse what broke the terms."""
    if not isinstance(point, Point):
        raise Refused(f"learn must yield Point(player, steps), not {point!r}")
    if is_whole(point.steps) and point.steps == last == 0:
        raise Refused(f"it learned from no step: a budget of {budget.limit} is too small for it")
    if not is_whole(point.steps) or point.steps < max(last, 1):
        raise Refused(
            f"the steps of a Point must be a whole number of at least 1 that never falls, not {point.steps!r}"
            + (f" after {last:,}" if last > 0 else "")
        )
    budget.check(int(point.steps))
    return int(point.steps)


def _seated(run: Run, point: Point) -> agents.Agent:
    try:
        player = point.player if isinstance(point.player, agents.Agent) else str(point.player)
        agent = agents.make(player, run.ruleset, num_threads=1)
    except MancalaError as error:
        raise Refused(f"what it yielded cannot play: {error}") from error
    run.task.check(agent)
    return agent


def _read_pending(run: Run) -> dict[int, float]:
    """Return after how many steps and core seconds a learner was about to be measured when it was killed.

    Nothing where the folder is of a run that was scored otherwise, or of another version: what that one
    learned has not been measured so.
    """
    try:
        said = json.loads((run.folder / _PENDING).read_text())
        return {int(said["steps"]): float(said["seconds"])} if said["run"] == _filed(run) else {}
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return {}


def _filed(run: Run) -> str:
    return json.dumps(run.key.as_dict())


def _in_words(score: Any) -> str:
    return f"regret {score.regret:.2f}, Elo {score.elo:z.0f}"
