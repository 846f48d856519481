"""`mancala compare`: compare training runs, with means over their seeds."""

from typing import TYPE_CHECKING, Any

from mancala_env._util.command_line import Parser, needing
from mancala_env.cli.options import add_outputs
from mancala_env.cli.progress import resumable, stages
from mancala_env.cli.tables import print_notes, print_table, prints_tables, put_result

if TYPE_CHECKING:
    from mancala_env.benchmark.run_comparison import RunComparison

DESCRIPTION = (
    "Compare training runs. Runs that differ only in their seeds form a group. Each group gets the means of "
    "its results, with 95 % intervals over seeds, and learning curves. See docs/guides/compare.md."
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    run = 'folder of a run, or a quoted pattern such as "runs/a-seed-*", whose runs form a group'
    add("runs", nargs="+", metavar="RUN", help=run)
    add("--checkpoints", type=int, default=6, help="maximum number of checkpoints per run to measure")
    games = "number of games of each run's last checkpoint against each anchor of the ladder, for a rating; "
    add("--games", type=int, default=0, help=f"{games}even; 0 for no ratings")
    add("--results", metavar="FILE", help="file of finished games, to resume from and to append to")
    add_outputs(parser, "report", "json", "csv")


def run(options: Any) -> int:
    with needing("comparing runs", "train"):
        from mancala_env.benchmark.run_comparison import compare_runs
        from mancala_env.benchmark.run_comparison_report import write_report

    chosen = {name: getattr(options, name) for name in ("checkpoints", "games", "results")}
    quiet = not prints_tables(options)
    with resumable("finished games are", options.results), stages(quiet) as progress:
        comparison = compare_runs(options.runs, **chosen, progress=progress)
    put_result(comparison, options, lambda: _print(comparison), write_report=write_report)
    return 0


def _print(comparison: "RunComparison") -> None:
    from mancala_env.benchmark import run_comparison_report as report
    from mancala_env.training.run_results import title_of

    title, narrow = f"Last checkpoints, {comparison.ruleset.name}", report.narrow_final_table(comparison)
    print_table(*report.final_table(comparison), title, narrow)
    if comparison.differences:
        title, narrow = "Differences, first group minus second", report.narrow_differences_table(comparison)
        print_table(*report.differences_table(comparison), title, narrow)
    for key in comparison.curves[:1]:
        head, rows = report.curve_table(comparison, key)
        print_table(head, rows, f"Learning curve: {title_of(key)}")
    print_notes(comparison.notes)
