"""`mancala solve`: find the exact value of a position and of every legal turn."""

from typing import Any

from mancala_env._util.command_line import Interrupted, Parser
from mancala_env._util.tabular import TableRows
from mancala_env.cli.options import add_common, add_outputs, add_position, position_given
from mancala_env.cli.progress import lines
from mancala_env.cli.tables import print_table, prints_tables, put_result
from mancala_env.engine.state import PLAYERS
from mancala_env.games.notation import turn_text
from mancala_env.games.position import Position
from mancala_env.solver import Progress, Solution, solve

DESCRIPTION = "Find the exact value of a position and of every legal turn."
_COLUMNS = {
    "action": "Action, from 0",
    "turn": "The turn in notation, such as S3",
    "lower": "Lower bound of its value, in seeds for the player to move",
    "upper": "Upper bound of its value; equal to lower if the value is exact",
}


def add_arguments(parser: Parser) -> None:
    add_position(parser)
    add = parser.add_argument
    add("--time_limit", type=float, help="time limit in seconds; bounds of the value are printed after it")
    add("--memory_mb", type=int, default=1024, help="size of the transposition table in MB")
    add_common(parser, threads="one")
    add_outputs(parser, "csv")


def run(options: Any) -> int:
    position = position_given(options)
    known, most = "", 2 * position.ruleset.total_seeds
    try:
        with lines(quiet=not prints_tables(options), total=most) as show:

            def remember(progress: Progress) -> None:
                nonlocal known
                bounds = f"{progress.lower:+d} to {progress.upper:+d}"
                known, done = f"the value is {bounds}", most - min(most, progress.upper - progress.lower)
                show(f"value {bounds}, {progress.nodes:,} nodes", progress.seconds, done)

            solution = solve(
                position,
                memory_mb=options.memory_mb,
                time_limit=options.time_limit,
                num_threads=1 if options.num_threads is None else options.num_threads,
                progress=remember,
            )
    except KeyboardInterrupt:
        raise Interrupted(known) from None
    plain = _solution_as_dict(position, solution)
    table = TableRows(_COLUMNS, ([*action.values()] for action in plain["actions"]))
    put_result(table, options, lambda: _print_solution(position, solution), as_json=plain)
    return 0


def _solution_as_dict(position: Position, solution: Solution) -> dict[str, Any]:
    return {
        "position": position.to_text(),
        "is_exact": solution.is_exact,
        "value": solution.value if solution.lower == solution.upper else None,
        "lower": solution.lower,
        "upper": solution.upper,
        "actions": [
            {"action": action, "turn": turn_text(position.player, action), "lower": low, "upper": high}
            for action, (low, high) in solution.action_bounds.items()
        ],
        "principal_variation": [turn_text(*turn) for turn in solution.principal_variation],
        "nodes": solution.nodes,
        "seconds": round(solution.seconds, 3),
    }


def _print_solution(position: Position, solution: Solution) -> None:
    print(position)
    who = PLAYERS[position.player]
    if solution.lower == solution.upper:
        print(f"\nvalue {solution.value:+d} for {who}: seeds gained on the opponent from this position on")
    else:
        print(f"\nvalue between {solution.lower:+d} and {solution.upper:+d} for {who}: time limit reached")
    rows, best = [], max((low for low, _ in solution.action_bounds.values()), default=0)
    for action, (low, high) in sorted(solution.action_bounds.items(), key=lambda one: (-one[1][0], one[0])):
        value = f"{low:+d}" if low == high else f"{low:+d} to {high:+d}"
        rows.append([turn_text(position.player, action), value, "best" * (low == high == best)])
    print_table(["turn", "value", ""], rows)
    if solution.principal_variation:
        print("best play:", " ".join(turn_text(*turn) for turn in solution.principal_variation))
    print(f"{solution.nodes:,} nodes in {solution.seconds:.2f} s")
