"""`mancala evaluate`: rate agents on the ladder's scale and measure their regret."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mancala_env._util.command_line import Interrupted, Parser, whole_number_or
from mancala_env.agents import Spec
from mancala_env.cli.options import add_common
from mancala_env.cli.progress import stages
from mancala_env.cli.tables import print_json, print_table
from mancala_env.rulesets import Ruleset

if TYPE_CHECKING:
    from mancala_env.evaluation.agent_evaluation import Evaluation
    from mancala_env.evaluation.regret import Regret
    from mancala_env.evaluation.round_robin import PlayChunks

HELP = "rate agents and measure their regret"
DESCRIPTION = (
    "Rate agents on the scale of the stored ladder, and measure their regret against perfect play "
    "(docs/evaluation.md)."
)
DEFAULT_RULESET = "layli_goobalay"
_INTERVAL = "95 % interval"


def add_arguments(parser: Parser) -> None:
    """Add the command's arguments and options."""
    parser.add_argument(
        "specs",
        nargs="+",
        metavar="SPEC",
        help="agents, such as random, greedy, minimax:4, mcts:100, perfect or run/final.zip",
    )
    parser.add_argument(
        "--ruleset", help="name of the ruleset; by default a checkpoint's own, else layli_goobalay"
    )
    parser.add_argument("--games", type=int, default=100, help="number of games per match; even")
    parser.add_argument(
        "--opening_turns",
        type=int,
        help="number of random turns in an opening, instead of balanced openings; needs --no_ladder if the "
        "ladder was rated from other openings",
    )
    parser.add_argument(
        "--opening_set",
        choices=("all", "training", "evaluation", "balanced"),
        help="set of openings; by default the ladder's, without the ladder the bundled balanced openings; "
        "with --opening_turns, or if none are bundled, the openings held out for evaluation",
    )
    parser.add_argument(
        "--rounds",
        type=whole_number_or("match"),
        default=1,
        help='number of rounds per game, or "match"; above 1 needs --no_ladder and excludes --own_games',
    )
    parser.add_switch("ladder", None, "play the stored ladder; by default if one agent is named")
    parser.add_switch("regret", True, "measure regret over the bundled solved positions")
    parser.add_argument(
        "--own_games",
        type=int,
        default=0,
        help="number of games each agent plays against itself to measure regret in its own positions",
    )
    parser.add_argument("--results", help="file of finished games, to resume from and to append to")
    parser.add_argument("--records", help="file to append the new games to, for mancala replay")
    parser.add_argument("--report", help="report file to write, .html or .png")
    parser.add_argument("--seed", type=int, default=0, help="random seed of openings and agents")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help='spread the games over a Ray cluster: "local" starts one here, "auto" joins this machine\'s '
        "cluster, HOST:6379 another; --num_threads then sets the CPUs per task",
    )
    add_common(parser)


def run(options: Any) -> int:
    """Run the command and return the exit status."""
    from mancala_env.evaluation.agent_evaluation import evaluate
    from mancala_env.evaluation.report import check_report_path

    if options.report is not None:
        check_report_path(options.report)
    specs = [Spec.parse(spec) for spec in options.specs]
    ruleset = ruleset_of(specs) if options.ruleset is None else options.ruleset
    so_far: list[Evaluation] = []
    try:
        with stages(quiet=options.json) as progress, _ray(options.ray, options.num_threads) as play_chunks:
            evaluation = evaluate(
                options.specs,
                ruleset,
                games=options.games,
                opening_turns=options.opening_turns,
                opening_set=options.opening_set,
                ladder=len(options.specs) == 1 if options.ladder is None else options.ladder,
                regret=options.regret,
                own_games=options.own_games,
                results=options.results,
                records=options.records,
                seed=options.seed,
                rounds=options.rounds,
                num_threads=options.num_threads,
                progress=progress,
                play_chunks=play_chunks,
                measured=so_far.append,
            )
    except BaseException as error:
        if so_far:  # an exception of an agent must not lose hours of measurements
            if not any(str(error) in note for note in so_far[-1].notes):
                so_far[-1].notes.append(f"incomplete: {type(error).__name__} ended the evaluation")
            _print_and_write(so_far[-1], options)
        if not isinstance(error, KeyboardInterrupt):
            raise
        kept = f"finished games are in {options.results}; run the same command to resume"
        raise Interrupted(kept * bool(options.results)) from None
    _print_and_write(evaluation, options)
    return 0


def _print_and_write(evaluation: "Evaluation", options: Any) -> None:
    from mancala_env.evaluation.report import write_report

    if options.json:
        print_json(evaluation.as_dict())
    else:
        _print_evaluation(evaluation)
    if options.report is not None:  # last, because writing can fail
        write_report(evaluation, options.report)
        if not options.json:
            print(f"report: {options.report}")


@contextlib.contextmanager
def _ray(address: str | None, num_cpus: int | None) -> "Iterator[PlayChunks | None]":
    """Yield a PlayChunks for a Ray cluster, or None without an address."""
    if address is None:
        yield None
        return
    from mancala_env.evaluation.ray_matches import RayChunks, started_ray

    with started_ray(address):
        yield RayChunks(num_cpus or 1)


def ruleset_of(specs: Sequence[Spec]) -> Ruleset | str:
    """Return the ruleset of the first checkpoint among the specs, or the default ruleset."""
    return next((found for spec in specs if (found := spec.ruleset) is not None), DEFAULT_RULESET)


def _print_evaluation(evaluation: "Evaluation") -> None:
    _print_ratings(evaluation)
    _print_matches(evaluation)
    for source in dict.fromkeys(regret.source for regret in evaluation.regrets):
        _print_regrets([regret for regret in evaluation.regrets if regret.source == source], source)
    _print_differences(evaluation)
    for note in evaluation.notes:
        print(f"note: {note}")


def _print_ratings(evaluation: "Evaluation") -> None:
    ratings = evaluation.ratings
    if ratings is None:
        return
    rows = [
        [
            ">" * (ratings.names[i] in evaluation.agents),
            ratings.names[i],
            f"{ratings.elo[i]:z.0f}",
            f"{ratings.low[i]:z.0f} to {ratings.high[i]:z.0f}",
            str(ratings.games[i]),
        ]
        for i in ratings.order()
    ]
    scale = f"{ratings.zero} = 0" if ratings.zero else "mean = 0"
    head = ["", "agent", f"Elo ({scale})", _INTERVAL, "games"]
    print_table(head, rows, f"Ratings, {evaluation.ruleset}, {evaluation.openings}")


def _print_matches(evaluation: "Evaluation") -> None:
    rows = [
        [
            match.first,
            match.second,
            f"{match.wins}/{match.draws}/{match.losses}",
            f"{match.win_rate:.3f}",
            f"{match.interval[0]:.3f} to {match.interval[1]:.3f}",
            f"{match.mean_margin:+z.1f}",
        ]
        for match in evaluation.matches
    ]
    if rows:
        head = ["agent", "against", "won/drawn/\nlost", "win\nrate", _INTERVAL, "mean\nmargin"]
        print_table(head, rows, f"Matches from {evaluation.openings}")


def _print_regrets(regrets: "Sequence[Regret]", source: str) -> None:
    rows = []
    for regret in regrets:
        for part in (*regret.phases, regret.overall):
            if part.positions:
                low, high = part.interval
                mean = [f"{part.mean_regret:.2f}", f"{low:.2f} to {high:.2f}"]
                share = f"{100 * part.optimal_share:.0f} %"
                rows.append([regret.agent, part.phase, str(part.positions), *mean, share])
        if regret.unsolved:
            rows.append([regret.agent, "unsolved", str(regret.unsolved), "", "", ""])
    if rows:
        head = ["agent", "phase", "positions", "mean\nregret", _INTERVAL, "optimal\nmoves"]
        print_table(head, rows, f"Regret against perfect play, seeds per move, {source}")


def _print_differences(evaluation: "Evaluation") -> None:
    rows = [
        [
            one.first,
            one.second,
            f"{one.mean:+z.2f}",
            f"{one.interval[0]:+z.2f} to {one.interval[1]:+z.2f}",
            f"{one.first_better}/{one.second_better}/{one.positions}",
        ]
        for one in evaluation.regret_differences
    ]
    if rows:
        head = ["agent", "against", "mean\nregret", _INTERVAL, "better/worse/\nall"]
        print_table(head, rows, "Difference of regret over the same positions, seeds per move")
