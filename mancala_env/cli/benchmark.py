"""`mancala benchmark`: which learning algorithm is how good, with how much."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mancala_env._util.command_line import Interrupted, MissingPackage, Parser, needing, say
from mancala_env.cli.evaluate import DEFAULT_RULESET
from mancala_env.cli.options import PROGRAM, add_json
from mancala_env.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from mancala_env.benchmark.entries import Entry
    from mancala_env.benchmark.runner import Plan, RunLearners
    from mancala_env.benchmark.summary import Outcome

HELP = "compare learning algorithms"
DESCRIPTION = (
    "Compare learning algorithms by mean regret and rating at equal budgets (docs/benchmark.md). Without "
    "entries the results so far are shown. The same command goes on after an interruption."
)
_FAILED = 1
_NARROW_HEAD = ("entry", "steps,\nminutes", "mean\nregret", "optimal\nmoves", "Elo", "less regret\nthan next")


def add_arguments(parser: Parser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "entries",
        nargs="*",
        default=[],
        metavar="FILE.py",
        help="entries, such as training/benchmark/*.py; they are run",
    )
    parser.add_argument("--folder", default="runs/benchmark", help="of results and learners")
    parser.add_argument("--rulesets", nargs="+", default=[DEFAULT_RULESET], help="the games")
    parser.add_argument(
        "--tasks",
        nargs="+",
        default=["afterstates"],
        help="what learners are shown: board, afterstates, anything; entries take part in those they name",
    )
    parser.add_argument("--steps", nargs="+", type=int, default=[], help="budgets in environment steps")
    parser.add_argument("--core_minutes", nargs="+", type=float, default=[], help="budgets in core minutes")
    parser.add_argument("--seeds", type=int, default=5, help="so many seeds of each, from 1 on")
    parser.add_argument(
        "--points", type=int, default=5, help="measuring points of a run, each at half of the next"
    )
    parser.add_argument("--games", type=int, default=200, help="games against each anchor, even")
    parser.add_argument(
        "--anchors",
        nargs="+",
        help="whom players are rated against; by default the ladder's, without perfect",
    )
    parser.add_argument(
        "--lines",
        nargs="*",
        help="specs of players that do not learn, to be drawn as lines; by default some searches",
    )
    parser.add_argument("--report", help="report to write, .html or .png")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help='spread learners over a Ray cluster: "local" starts one here, "auto" joins this machine\'s, or '
        "HOST:6379",
    )
    add_json(parser)


def run(options: Any) -> int:
    """Run the command; returns the exit status."""
    with needing("the benchmark", "train"):
        from mancala_env.benchmark.results import RESULTS, Results
        from mancala_env.benchmark.runner import run_plan
        from mancala_env.benchmark.summary import Outcome, check_report_path, write_report
    from mancala_env.errors import MancalaError

    if options.report is not None:
        check_report_path(options.report)
    if not options.folder.strip():  # a variable of a shell that is not set
        raise MancalaError(f"folder must be a folder to keep results in, not {options.folder!r}")
    folder = Path(options.folder)
    if not options.entries and not (folder / RESULTS).is_file():
        raise MancalaError(f"{folder} holds no results; name entries, such as training/benchmark/td.py")
    num_broken, wanted = 0, None
    entries, lacking = _entries(options.entries)
    if entries:
        wanted = _plan(_taking_part(entries, options.tasks), options)
        try:
            with _ray(options.ray) as run_learners:
                num_broken = run_plan(wanted, _say, run_learners)
        except KeyboardInterrupt:
            kept = f"measurements are in {folder / RESULTS}, the same command goes on"
            raise Interrupted(kept) from None
    elif lacking:
        raise MissingPackage("none of the entries can run here: " + "; ".join(lacking))
    # Another process may be measuring: what there is so far can be looked at.
    results = Results.read(folder / RESULTS)
    outcome = Outcome(results)
    if options.report is not None:
        write_report(outcome, options.report)
    if options.json:
        print_json(outcome.as_dict())
    else:
        _print(outcome)
        if options.report is not None:
            print(f"report: {options.report}")
    all_refused = wanted is not None and all(results.end(run.key) for run in wanted.runs)
    if all_refused:
        say(PROGRAM, "every run was refused, so none of them counts; the notes say why")
    return _FAILED if num_broken or lacking or all_refused else 0


def _entries(paths: list[str]) -> "tuple[list[Entry], list[str]]":
    """Read entries; those that lack a package are left out, and what they lack is said."""
    from mancala_env.benchmark.entries import read_entry

    entries, lacking = [], []
    for path in paths:
        try:
            entries.append(read_entry(path))
        except ImportError as error:
            lacking.append(str(error))
            _say(f"left out: {error}")
    return entries, lacking


def _taking_part(entries: "list[Entry]", tasks: list[str]) -> "list[Entry]":
    """Return the entries that take part in one of the tasks, or all where none does, for the error."""
    taking = [entry for entry in entries if set(entry.tasks) & set(tasks)]
    for entry in entries:
        if taking and entry not in taking:
            _say(f"left out: {entry.name} takes part in {' and '.join(entry.tasks)} alone")
    return taking or entries


def _plan(entries: "list[Entry]", options: Any) -> "Plan":
    from mancala_env.benchmark.budget import limit_of_minutes, limit_of_steps
    from mancala_env.benchmark.runner import plan

    limits = [*map(limit_of_steps, options.steps), *map(limit_of_minutes, options.core_minutes)]
    return plan(
        entries,
        options.folder,
        rulesets=options.rulesets,
        tasks=options.tasks,
        limits=limits,
        seeds=options.seeds,
        points=options.points,
        games=options.games,
        anchors=options.anchors,
        lines=options.lines,
    )


@contextlib.contextmanager
def _ray(address: str | None) -> "Iterator[RunLearners | None]":
    """Give what runs learners on a Ray cluster, or None where there is no address."""
    if address is None:
        yield None
        return
    from mancala_env.benchmark.ray_learners import RayLearners
    from mancala_env.evaluation.ray_matches import started_ray

    with started_ray(address):
        yield RayLearners()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print(outcome: "Outcome") -> None:
    from mancala_env.benchmark.summary import head_of, line_cells

    for contest in outcome.contests():
        rows = [standing.cells() for standing in outcome.standings(contest)]
        rows += [line_cells(row) for row in outcome.lines_of(contest)]
        narrow = _NARROW_HEAD, [line for row in rows for line in _in_two(row)]
        print_table(head_of(contest), rows, str(contest), narrow)
    if not outcome.contests():
        print("No learner has been measured yet.")
    for note in outcome.notes:
        print(f"note: {note}")


def _in_two(row: list[str]) -> list[list[str]]:
    """Return a row of the table as rows of a narrow one: numbers, and below them their intervals."""
    entry, seeds, steps, minutes, *numbers = row
    found, intervals = zip(*(number.rstrip(")").partition(" (")[::2] for number in numbers), strict=True)
    intervals = [interval.replace("% to", " to") for interval in intervals]
    if not seeds:  # it does not learn
        return [[entry, "", *found]]
    return [
        [entry, steps, *found],
        [f"  {seeds} seed{'s' * (seeds != '1')}", minutes, *intervals],
    ]
