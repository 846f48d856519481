"""`mancala evaluate`: rate agents on the ladder's scale and measure their regret."""

import contextlib
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from mancala_env._util.command_line import Parser, say, whole_number_or
from mancala_env.agents import Spec
from mancala_env.cli.options import DEFAULT_RULESET, PROGRAM, RULESET, add_common, add_outputs
from mancala_env.cli.progress import resumable, stages
from mancala_env.cli.tables import print_notes, print_table, prints_tables, put_result
from mancala_env.evaluation import report
from mancala_env.evaluation.agent_evaluation import Evaluation, evaluate
from mancala_env.evaluation.match_options import EvaluationOptions
from mancala_env.evaluation.matches import num_pairs
from mancala_env.evaluation.prepared import prepare
from mancala_env.rulesets import Ruleset, lookup

DESCRIPTION = (
    "Rate agents on the scale of the stored ladder, and measure their regret: the seeds that a move loses "
    "compared with perfect play. docs/guides/evaluate.md explains the numbers."
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("specs", nargs="+", metavar="SPEC", help="agent, such as greedy, minimax:4, perfect or run/final.zip")
    add("--ruleset", help=f"{RULESET}; by default the checkpoint's, else {DEFAULT_RULESET}")
    add("--games", type=int, default=100, help="number of games per match; even")
    add(
        "--opening_turns",
        type=int,
        help="number of random turns in an opening, instead of balanced openings; needs --no_ladder if the "
        "ladder was rated from other openings",
    )
    add(
        "--opening_set",
        choices=("all", "training", "evaluation", "balanced", "fair"),
        help="set of openings; with the ladder, by default the ladder's; otherwise balanced openings or, if "
        "none are bundled, openings held out for evaluation",
    )
    rounds = 'number of rounds per game, or "match"; above 1 needs --no_ladder and excludes --own_games'
    add("--rounds", type=whole_number_or("match"), default=1, help=rounds)
    parser.add_switch(
        "ladder",
        None,
        "play all anchors of the ladder; by default a single agent plays all, several agents play two each",
    )
    parser.add_switch("regret", True, "measure regret over the bundled solved positions")
    own = "number of games of each agent against itself, in which regret is measured; even"
    add("--own_games", type=int, default=0, help=own)
    add("--results", metavar="FILE", help="file of finished games, to resume from and to append to")
    add("--records", metavar="FILE", help="file of game records to append the new games to")
    add_outputs(parser, "report")
    add("--seed", type=int, default=0, help="random seed of openings and agents")
    add(
        "--ray",
        metavar="ADDRESS",
        help='Ray cluster that plays the games, with --num_threads CPUs per task: "local" starts a cluster '
        'on this machine, "auto" joins the running cluster of this machine, HOST:6379 joins another cluster',
    )
    add_common(parser)
    add_outputs(parser, "csv")


def run(options: Any) -> int:
    num_pairs(options.games)  # before positions are solved and a ladder is rated
    if options.own_games:
        num_pairs(options.own_games, "own_games")
    specs = [Spec.parse(spec) for spec in options.specs]
    ruleset = ruleset_of(specs) if options.ruleset is None else options.ruleset
    if options.ladder is None:
        start = options.rounds, options.opening_turns, options.opening_set
        options.ladder = len(specs) == 1 or start == (1, None, None)
        if options.ladder and len(specs) > 1:
            options.max_anchors = 2  # they keep the ladder's scale in little time
    for spec in specs:
        spec.on(lookup(ruleset))  # raises before the positions are solved if a network is missing
    if options.regret or options.ladder:
        prepare(ruleset, partial(say, PROGRAM), ladder=options.ladder)
    names = [field.name for field in fields(EvaluationOptions)]
    chosen: dict[str, Any] = {name: getattr(options, name, None) for name in names}
    so_far: list[Evaluation] = []
    with resumable("finished games are", options.results):
        try:
            with contextlib.ExitStack() as stack:
                chosen["progress"] = stack.enter_context(stages(quiet=not prints_tables(options)))
                chosen["measured"] = so_far.append
                if options.ray is not None:
                    from mancala_env.evaluation.ray_matches import RayChunks, started_ray

                    stack.enter_context(started_ray(options.ray))
                    chosen["play_chunks"] = RayChunks(options.num_threads or 1)
                so_far.append(evaluate(options.specs, ruleset, **chosen))
        except BaseException as error:
            if so_far and (not str(error) or not any(str(error) in note for note in so_far[-1].notes)):
                so_far[-1].notes.append(f"incomplete: {type(error).__name__} ended the evaluation")
            raise
        finally:
            if so_far:  # an exception of an agent must not lose hours of measurements
                show = partial(_print_evaluation, so_far[-1])
                put_result(so_far[-1], options, show, write_report=report.write_report)
    return 0


def ruleset_of(specs: Sequence[Spec]) -> Ruleset | str:
    """Return the ruleset of the first checkpoint among the specs, or the default ruleset."""
    return next((found for spec in specs if (found := spec.ruleset) is not None), DEFAULT_RULESET)


def _print_evaluation(evaluation: Evaluation) -> None:
    if evaluation.ratings is not None:
        head, rows = report.ratings_table(evaluation.ratings, evaluation.exploitability)
        rows = [[">" * (row[0] in evaluation.agents), *row] for row in rows]
        print_table(["", *head], rows, f"Ratings, {evaluation.ruleset}, {evaluation.openings}")
    if evaluation.matches:
        print_table(*report.matches_table(evaluation.matches), f"Matches from {evaluation.openings}")
    for regrets in report.by_source(evaluation.regrets):
        title = f"Regret against perfect play, seeds per move, {regrets[0].source}"
        print_table(*report.regret_table(regrets), title)
    if evaluation.regret_differences:
        title = "Difference of regret over the same positions, seeds per move"
        print_table(*report.differences_table(evaluation.regret_differences), title)
    notes = [evaluation.scale] if evaluation.ratings is not None else []
    trained = [spec for spec in evaluation.agents if Path(spec.rpartition(":")[2]).suffix == ".zip"]
    if evaluation.matches and trained and evaluation.opening_set in ("balanced", "fair"):
        why = "the win rates of mancala train differ, because its games start after random turns"
        notes.append(f"these games start from {evaluation.openings}; {why}")
    print_notes((*notes, *evaluation.notes))
