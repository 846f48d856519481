"""`mancala benchmark`: compare learning algorithms at equal budgets."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mancala_env._util.command_line import MissingPackage, Parser, needing, say
from mancala_env.cli.options import DEFAULT_RULESET, PROGRAM, RULESET, add_outputs
from mancala_env.cli.progress import resumable
from mancala_env.cli.tables import keep_from_csv, print_notes, print_table, put_result

if TYPE_CHECKING:
    from mancala_env.benchmark.entries import Entry
    from mancala_env.benchmark.runner import BenchmarkPlan
    from mancala_env.benchmark.summary import BenchmarkSummary

DESCRIPTION = (
    "Compare learning algorithms by mean regret and rating at equal budgets (docs/guides/benchmark.md). "
    "Without entries, print the results so far. The same command resumes after an interruption."
)
_FAILED = 1
_NARROW_HEAD = ("entry", "steps,\nminutes", "mean\nregret", "optimal\nmoves", "Elo", "less regret\nthan next")


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    entry = "entry: the Python file of a learning algorithm, as in training/benchmark/; its code is run"
    add("entries", nargs="*", default=[], metavar="FILE.py", help=entry)
    add("--folder", default="runs/benchmark", help="folder for the results and the learners' files")
    ruleset = f"rulesets, each a {RULESET}; {DEFAULT_RULESET} by default"
    add("--rulesets", "--ruleset", nargs="+", default=[DEFAULT_RULESET], help=ruleset)
    task = "what learners observe: board, afterstates (the default) or anything; an entry runs on the tasks "
    add("--tasks", nargs="+", default=["afterstates"], help=f"{task}it declares")
    kinds = "observation kinds to compare, such as board replies; each entry runs once with each"
    add("--observations", nargs="+", default=[], help=kinds)
    add("--steps", nargs="+", type=int, default=[], help="budgets in environment steps")
    add("--core_minutes", nargs="+", type=float, default=[], help="budgets in minutes of processor time")
    add("--seeds", type=int, default=5, help="number of seeds per entry (1..N)")
    add("--points", type=int, default=5, help="number of measuring points per run: the end, 1/2, 1/4, ...")
    add("--games", type=int, default=200, help="number of games against each anchor; even")
    add("--anchors", nargs="+", help="opponents with known ratings; by default the ladder's, without perfect")
    add("--lines", nargs="*", help="baselines: specs of agents that do not learn; by default some searches")
    add_outputs(parser, "report", "json", "csv")


def run(options: Any) -> int:
    with needing("the benchmark", "train"):
        from mancala_env.benchmark.results import RESULTS, Results
        from mancala_env.benchmark.runner import run_plan
        from mancala_env.benchmark.summary import BenchmarkSummary, write_report
    from mancala_env.errors import MancalaError

    if not options.folder.strip():  # an unset shell variable
        raise MancalaError(f"--folder must name a folder for the results, not {options.folder!r}")
    folder = Path(options.folder)
    keep_from_csv(folder / RESULTS, options)
    if not options.entries and not (folder / RESULTS).is_file():
        raise MancalaError(f"{folder} contains no results; name entries, such as training/benchmark/td.py")
    num_broken, wanted = 0, None
    # Standard output is for tables, JSON or CSV; learners print what they like.
    with redirect_stdout(sys.stderr):
        entries, lacking = _entries(options)
        if entries:
            wanted = _plan(entries, options)
            with resumable("measurements are", folder / RESULTS):
                num_broken = run_plan(wanted, _say)
    if not entries and lacking:
        raise MissingPackage("no entry can run here: " + "; ".join(lacking))
    # Another process may still be measuring; this reads the results so far.
    results = Results.read(folder / RESULTS)
    outcome = BenchmarkSummary(results)
    put_result(outcome, options, lambda: _print(outcome), write_report=write_report)
    all_refused = wanted is not None and all(results.end(run.key) for run in wanted.runs)
    if all_refused:
        say(PROGRAM, "every run was refused; the notes give the reasons")
    return _FAILED if num_broken or lacking or all_refused else 0


def _entries(options: Any) -> "tuple[list[Entry], list[str]]":
    """Read entries; report and exclude those that lack a package or run on other tasks.

    If none runs on the tasks, return all, so that planning reports the error. Return missing packages, too.
    """
    from mancala_env.benchmark.entries import read_entry

    entries, lacking = [], []
    for path in options.entries:
        try:
            entries.append(read_entry(path))
        except ImportError as error:
            lacking.append(str(error))
            _say(f"excluded: {error}")
    tasks = {task.partition("@")[0] for task in options.tasks}
    taking_part = [entry for entry in entries if tasks & set(entry.tasks)]
    for entry in entries:
        if taking_part and entry not in taking_part:
            _say(f"excluded: {entry.name} takes part in {' and '.join(entry.tasks)} only")
    return taking_part or entries, lacking


def _plan(entries: "list[Entry]", options: Any) -> "BenchmarkPlan":
    from mancala_env.benchmark.budget import limit_of_minutes, limit_of_steps
    from mancala_env.benchmark.runner import plan
    from mancala_env.evaluation import prepare

    for ruleset in options.rulesets:
        prepare(ruleset, _say)
    limits = [*map(limit_of_steps, options.steps), *map(limit_of_minutes, options.core_minutes)]
    names = ("rulesets", "tasks", "seeds", "points", "games", "anchors", "lines")
    chosen = {name: getattr(options, name) for name in names}
    if options.observations:
        chosen["tasks"] = [f"{task}@{kind}" for task in options.tasks for kind in options.observations]
    return plan(entries, options.folder, limits=limits, **chosen)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print(outcome: "BenchmarkSummary") -> None:
    from mancala_env.benchmark.summary import baseline_cells, head_of

    for contest in outcome.contests():
        rows = [standing.cells() for standing in outcome.standings(contest)]
        rows += [baseline_cells(row) for row in outcome.baselines_of(contest)]
        narrow = _NARROW_HEAD, [line for row in rows for line in _narrow_rows(row)]
        print_table(head_of(contest), rows, str(contest), narrow)
    if not outcome.contests():
        print("No learner has been measured yet.")
    print_notes(outcome.notes)


def _narrow_rows(row: list[str]) -> list[list[str]]:
    """Return a table row as rows of the narrow table: the numbers, and below them their intervals."""
    entry, seeds, steps, minutes, *numbers = row
    found, intervals = zip(*(number.rstrip(")").partition(" (")[::2] for number in numbers), strict=True)
    intervals = [interval.replace("% to", " to") for interval in intervals]
    if not seeds:  # a baseline, which does not learn
        return [[entry, "", *found]]
    return [[entry, steps, *found], [f"  {seeds} seed{'s' * (seeds != '1')}", minutes, *intervals]]
