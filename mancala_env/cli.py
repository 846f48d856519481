"""The command line: `mancala evaluate | solve | bench | show | rulesets`.

Tables go to standard output, progress and errors to standard error; `--json` prints one JSON document
and nothing else. Exit status: 0, 2 for bad input (one line says what would be right), 130 after Ctrl-C.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Union

from mancala_env import rulesets
from mancala_env.errors import InvalidPosition
from mancala_env.notation import turn_text
from mancala_env.position import Position

if TYPE_CHECKING:
    from mancala_env.arena.evaluation import Evaluation
    from mancala_env.arena.round_robin import PlayChunks
    from mancala_env.solver import Progress, Solution

DEFAULT_RULESET = "layli_goobalay"
_PIP = 'pip install "mancala-env[arena]"'
_BAD_INPUT, _INTERRUPTED = 2, 130
# A pipe has no width of its own; nothing is cut off at this one.
_PIPE_WIDTH = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    try:
        parser = _parser()
        options = parser.parse_args(list(sys.argv[1:] if arguments is None else arguments))
        return _COMMANDS[options.subcommand](options[options.subcommand])
    except KeyboardInterrupt:
        return _say("interrupted", _INTERRUPTED)
    except BrokenPipeError:  # `mancala rulesets | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ImportError, OSError, ValueError) as error:
        if isinstance(error, ImportError) and "pip install" not in str(error):
            raise  # not a missing extra: a bug of ours
        return _say(f"error: {error}", _BAD_INPUT)


def _say(message: str, status: int) -> int:
    print(f"mancala: {' '.join(message.split())}", file=sys.stderr)
    return status


def _parser() -> Any:
    try:
        from jsonargparse import ActionYesNo, ArgumentParser
    except ImportError as error:
        raise ImportError(f"the command line needs jsonargparse: {_PIP}") from error

    class Parser(ArgumentParser):
        def error(self, message: str, ex: Exception | None = None) -> NoReturn:
            """Print one line instead of the usage."""
            sys.exit(_say(f"error: {message}; see {self.prog.replace(' [options]', '')} --help", _BAD_INPUT))

    parser = Parser(prog="mancala", description="Measure, solve and look at the mancala games of the Horn.")
    commands = parser.add_subcommands(required=True, title="commands")

    evaluate = Parser(description="Rate agents on the ladder's scale and measure regret.")
    evaluate.add_argument(
        "specs", nargs="+", metavar="SPEC", help="random, greedy, minimax:4, mcts:100, perfect, run/final.zip"
    )
    evaluate.add_argument(
        "--ruleset", type=str, default=None, help="the game; a checkpoint's own, else layli_goobalay"
    )
    evaluate.add_argument("--games", type=int, default=100, help="games of each match, even")
    evaluate.add_argument("--opening_turns", type=int, default=4, help="random turns that make an opening")
    evaluate.add_argument(
        "--opening_set",
        type=Literal["all", "training", "evaluation"],
        default="all",
        help="which openings: all, or a fifth held out for evaluation (without the ladder)",
    )
    evaluate.add_argument(
        "--rounds",
        type=Union[int, Literal["match"]],  # noqa: UP007  (jsonargparse shows it in --help)
        default=1,
        help='rounds of a game, or "match" (without the ladder)',
    )
    evaluate.add_argument(
        "--ladder",
        action=ActionYesNo(yes_prefix="", no_prefix="no_"),
        default=None,
        help="play the stored ladder; by default where one agent is named",
    )
    evaluate.add_argument(
        "--regret",
        action=ActionYesNo(yes_prefix="", no_prefix="no_"),
        default=True,
        help="measure regret over the exact positions shipped with the package",
    )
    evaluate.add_argument(
        "--own_games", type=int, default=0, help="also measure regret over so many games against itself"
    )
    evaluate.add_argument("--results", type=str, default=None, help="file of games, to resume or add to")
    evaluate.add_argument("--report", type=str, default=None, help="report to write, .html or .png")
    evaluate.add_argument("--seed", type=int, default=0, help="seed of openings and agents")
    evaluate.add_argument(
        "--ray",
        type=str,
        default=None,
        metavar="ADDRESS",
        help='spread the games over a Ray cluster: "local" starts one here, "auto" joins this machine\'s, '
        "or HOST:6379; --num_threads is then the CPUs of a task",
    )
    _add_common(evaluate)
    commands.add_subcommand("evaluate", evaluate, help="rate agents and measure their regret")

    solve = Parser(description="Find the exact value of a position and of every turn in it.")
    solve.add_argument(
        "position",
        nargs="*",
        default=[],
        metavar="POSITION",
        help="a line of text (mancala show prints it), or a ruleset; without one, --ruleset's start",
    )
    solve.add_argument("--ruleset", type=str, default=None, help="solve the start of this game instead")
    solve.add_argument("--time_limit", type=float, default=None, help="seconds, after which bounds are given")
    solve.add_argument("--memory_mb", type=int, default=1024, help="size of the table of positions")
    _add_common(solve)
    commands.add_subcommand("solve", solve, help="exact value of a position")

    bench = Parser(description="Measure the engine on this machine (`make bench` measures everything).")
    bench.add_argument("--ruleset", type=str, default=DEFAULT_RULESET, help="the game")
    bench.add_argument("--seconds", type=float, default=2.0, help="how long to measure each")
    _add_common(bench)
    commands.add_subcommand("bench", bench, help="turns a second on this machine")

    show = Parser(description="Draw a position, or say what a checkpoint or an agent is.")
    show.add_argument(
        "what", nargs="+", metavar="POSITION|RULESET|SPEC", help="a line of text, a name or a path"
    )
    show.add_argument("--json", action="store_true", help="print JSON only")
    commands.add_subcommand("show", show, help="draw a position or describe a checkpoint")

    listing = Parser(description="List the rulesets.")
    listing.add_argument("--json", action="store_true", help="print JSON only")
    commands.add_subcommand("rulesets", listing, help="list the rulesets")
    return parser


def _add_common(parser: Any) -> None:
    parser.add_argument("--num_threads", type=int, default=None, help="CPU threads; all cores by default")
    parser.add_argument("--json", action="store_true", help="print JSON only")


def _evaluate(options: Any) -> int:
    from mancala_env.arena.evaluation import evaluate
    from mancala_env.arena.report import check_report_path, write_report

    if options.report is not None:
        check_report_path(options.report)
    for spec in options.specs:
        _refuse_folder(spec)
    ruleset = options.ruleset or _ruleset_of(options.specs)
    try:
        with _stages(quiet=options.json) as progress, _ray(options.ray, options.num_threads) as play_chunks:
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
                seed=options.seed,
                rounds=options.rounds,
                num_threads=options.num_threads,
                progress=progress,
                play_chunks=play_chunks,
            )
    except KeyboardInterrupt:
        kept = f"; finished games are in {options.results}, the same command goes on" * bool(options.results)
        return _say(f"interrupted{kept}", _INTERRUPTED)
    if options.report is not None:
        write_report(evaluation, options.report)
    if options.json:
        _print_json(evaluation.as_dict())
    else:
        _print_evaluation(evaluation)
        if options.report is not None:
            print(f"report: {options.report}")
    return 0


@contextlib.contextmanager
def _ray(address: str | None, num_cpus: int | None) -> "Iterator[PlayChunks | None]":
    """Give what plays chunks of games on a Ray cluster, or None where there is no address."""
    if address is None:
        yield None
        return
    from mancala_env.arena.on_ray import RayChunks, started_ray

    with started_ray(address):
        yield RayChunks(num_cpus or 1)


def _ruleset_of(specs: Sequence[str]) -> Any:
    """Return the ruleset of the first checkpoint among the specs, else the default."""
    for spec in specs:
        # A checkpoint stands alone or at the end of a spec: sample:PATH, policy+minimax:6:PATH.
        for path in (spec, *(spec.split(":", n)[-1] for n in (1, 2))):
            if Path(path).is_file():
                from mancala_env.agents.checkpoint import read_identity

                return read_identity(path).ruleset
    return DEFAULT_RULESET


def _refuse_folder(text: str) -> None:
    """Raise InvalidSpec where a run's folder stands for its checkpoint."""
    final = Path(text, "final.zip")
    if final.is_file():
        from mancala_env.agents import InvalidSpec

        raise InvalidSpec(f"{text} is the folder of a run; its checkpoint is {final}")


def _solve(options: Any) -> int:
    from mancala_env import solver

    position = _position_to_solve(options)
    last: list[Progress] = []

    try:
        with _bounds(position, quiet=options.json) as show:

            def remember(progress: "Progress") -> None:
                last[:] = [progress]
                show(progress)

            solution = solver.solve(
                position,
                memory_mb=options.memory_mb,
                time_limit=options.time_limit,
                num_threads=options.num_threads or 1,
                progress=remember,
            )
    except KeyboardInterrupt:
        known = f": the value is {last[0].lower:+d} to {last[0].upper:+d}" if last else ""
        return _say(f"interrupted{known}", _INTERRUPTED)
    if options.json:
        _print_json(_solution_as_dict(position, solution))
    else:
        _print_solution(position, solution)
    return 0


def _position_to_solve(options: Any) -> Position:
    text = " ".join(options.position)
    if text and options.ruleset is not None:
        raise InvalidPosition(f"give a position or --ruleset, not both: {text!r} and {options.ruleset!r}")
    if not text or text in rulesets.names():
        return Position(text or options.ruleset or DEFAULT_RULESET)
    return Position.from_text(text)


def _bench(options: Any) -> int:
    from mancala_env.bench import measure

    rows = measure(options.ruleset, seconds=options.seconds, num_threads=options.num_threads)
    if options.json:
        _print_json([row._asdict() for row in rows])
    else:
        _print_table(["what", "median", "unit"], [[row.name, f"{row.value:,.0f}", row.unit] for row in rows])
    return 0


def _show(options: Any) -> int:
    text = " ".join(options.what)
    _refuse_folder(text)
    if Path(text).suffix == ".zip" or Path(text).is_file():
        from mancala_env.agents.checkpoint import read_identity

        identity = json.loads(read_identity(text).to_json())
        if options.json:
            _print_json(identity)
        else:
            ruleset = identity.pop("ruleset")
            rows = [["checkpoint", text], ["ruleset", f"{ruleset['name']} ({ruleset['title']})"]]
            rows += [[key.replace("_", " "), _plain(value)] for key, value in identity.items()]
            _print_table(["", ""], rows, show_header=False)
        return 0
    meaning = _agent_form(text)
    if meaning is not None:
        form, what = meaning
        if ":" in text:  # not the bare name of a kind of agent, so it has to be right
            from mancala_env import agents

            agents.make(text, _ruleset_of([text]), num_threads=1)
        if options.json:
            _print_json({"spec": text, "form": form, "meaning": what})
        else:
            print(f"{text}: {what} (form of the spec: {form})")
        return 0
    if text not in rulesets.names() and len(options.what) == 1 and " " not in text:
        raise InvalidPosition(
            f"{text!r} is no ruleset ({', '.join(rulesets.names())}), no agent, no file and no position"
        )
    position = Position(text) if text in rulesets.names() else Position.from_text(text)
    if options.json:
        _print_json(_position_as_dict(position))
    else:
        print(f"{position}\n{position.to_text()}")
    return 0


def _agent_form(text: str) -> tuple[str, str] | None:
    """Return the form and the meaning of an agent's spec, or None where the text is none."""
    from mancala_env.agents import spec_forms

    for form, meaning in spec_forms().items():
        if text.partition(":")[0] == form.partition(":")[0]:
            return form, meaning
    return None


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(inner)}" for key, inner in value.items())
    return str(value)


def _list_rulesets(options: Any) -> int:
    every = [rulesets.lookup(name) for name in rulesets.names()]
    if options.json:
        from dataclasses import asdict

        _print_json([asdict(ruleset) for ruleset in every])
        return 0
    rows = [
        [f"2x{one.row_width}", str(one.seeds_per_hole), one.direction, one.landing, one.match, one.source]
        for one in every
    ]
    rows = [[one.name, *row] for one, row in zip(every, rows, strict=True)]
    _print_table(["ruleset", "board", "seeds a hole", "direction", "landing", "match", "source"], rows)
    return 0


_COMMANDS: dict[str, Callable[[Any], int]] = {
    "evaluate": _evaluate,
    "solve": _solve,
    "bench": _bench,
    "show": _show,
    "rulesets": _list_rulesets,
}


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


def _console(stderr: bool = False) -> Any:
    try:
        from rich.console import Console
    except ImportError as error:
        raise ImportError(f"tables need rich: {_PIP}") from error
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else _PIPE_WIDTH)


def _print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None, **looks: Any
) -> None:
    """Print a table; a column whose cells are numbers is aligned to the right."""
    console = _console()
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE, **looks)
    for i, name in enumerate(head):
        numeric = all(row[i][:1] in "+-−0123456789" for row in rows if row[i])
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def _print_evaluation(evaluation: "Evaluation") -> None:
    ratings = evaluation.ratings
    if ratings is not None:
        rows = [
            [
                ("> " if ratings.names[i] in evaluation.agents else "  ") + ratings.names[i],
                f"{ratings.elo[i]:.0f}",
                f"{ratings.low[i]:.0f} to {ratings.high[i]:.0f}",
                str(ratings.games[i]),
            ]
            for i in ratings.order()
        ]
        scale = f"{ratings.zero} = 0" if ratings.zero else "mean = 0"
        _print_table(
            ["agent", f"Elo ({scale})", "95 % interval", "games"], rows, f"Ratings, {evaluation.ruleset}"
        )
    if evaluation.matches:
        rows = [
            [
                match.first,
                match.second,
                f"{match.wins} / {match.draws} / {match.losses}",
                f"{match.win_rate:.3f}",
                f"{match.interval[0]:.3f} to {match.interval[1]:.3f}",
                f"{match.mean_margin:+.1f}",
            ]
            for match in evaluation.matches
        ]
        head = ["agent", "against", "won / drawn / lost", "win rate", "95 % interval", "mean margin"]
        _print_table(head, rows, "Matches")
    rows = []
    for regret in evaluation.regrets:
        for part in (*regret.phases, regret.overall):
            if part.positions:
                low, high = part.interval
                mean = [f"{part.mean_regret:.2f}", f"{low:.2f} to {high:.2f}"]
                share = f"{100 * part.optimal_share:.0f} %"
                rows.append([regret.agent, regret.source, part.phase, str(part.positions), *mean, share])
        if regret.unsolved:
            rows.append([regret.agent, regret.source, "not solved in time", str(regret.unsolved), "", "", ""])
    if rows:
        head = [
            "agent",
            "source",
            "phase",
            "positions",
            "mean regret (seeds a move)",
            "95 % interval",
            "optimal moves",
        ]
        _print_table(head, rows, "Regret against perfect play")
    if evaluation.regret_differences:
        rows = [
            [
                one.first,
                one.second,
                f"{one.mean:+.2f}",
                f"{one.interval[0]:+.2f} to {one.interval[1]:+.2f}",
                f"{one.first_better} / {one.second_better} of {one.positions}",
            ]
            for one in evaluation.regret_differences
        ]
        head = ["agent", "against", "mean regret (seeds a move)", "95 % interval", "better / worse in"]
        _print_table(head, rows, "Difference of regret over the same positions")
    for note in evaluation.notes:
        print(f"note: {note}")


def _position_as_dict(position: Position) -> dict[str, Any]:
    return {
        "position": position.to_text(),
        "ruleset": position.ruleset.name,
        "seeds": position.seeds.tolist(),
        "owner": position.owner.tolist(),
        "territory": position.territory.tolist(),
        "stores": list(position.stores),
        "player": position.player,
        "round": position.round,
        "end": position.end,
        "counts": list(position.counts),
        "legal_actions": list(position.legal_actions),
    }


def _solution_as_dict(position: Position, solution: "Solution") -> dict[str, Any]:
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


def _print_solution(position: Position, solution: "Solution") -> None:
    print(position)
    who = ("South", "North")[position.player]
    if solution.lower == solution.upper:
        print(f"\nvalue {solution.value:+d} for {who}: the seeds he gains on his opponent from here")
    else:
        print(f"\nvalue between {solution.lower:+d} and {solution.upper:+d} for {who}: the time limit struck")
    rows = []
    best = max((low for low, _ in solution.action_bounds.values()), default=0)
    for action, (low, high) in sorted(
        solution.action_bounds.items(), key=lambda item: (-item[1][0], item[0])
    ):
        value = f"{low:+d}" if low == high else f"{low:+d} to {high:+d}"
        rows.append([turn_text(position.player, action), value, "best" * (low == high == best)])
    _print_table(["turn", "value", ""], rows)
    if solution.principal_variation:
        print("best play:", " ".join(turn_text(*turn) for turn in solution.principal_variation))
    print(f"{solution.nodes:,} nodes in {solution.seconds:.2f} s")


@contextlib.contextmanager
def _stages(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a progress bar for each stage on standard error, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    console = _console(stderr=True)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show


def _say_now_and_then() -> Callable[["Progress"], None]:
    """Return what writes a line to standard error, after two seconds first and then ever less often."""
    due = [2.0]

    def say(progress: "Progress") -> None:
        if progress.seconds >= due[0]:
            due[0] = progress.seconds + min(600.0, progress.seconds)
            print(
                f"{progress.seconds:.0f} s: value {progress.lower:+d} to {progress.upper:+d}, "
                f"{progress.nodes:,} nodes",
                file=sys.stderr,
                flush=True,
            )

    return say


@contextlib.contextmanager
def _bounds(position: Position, quiet: bool) -> Iterator[Callable[["Progress"], None]]:
    """Show the bounds of a search as they close in, on standard error; a line now and then in a file."""
    if quiet:
        yield lambda progress: None
        return
    if not sys.stderr.isatty():
        yield _say_now_and_then()
        return
    console = _console(stderr=True)
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    most = 2 * position.ruleset.total_seeds
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("value", total=most)

        def show(progress: "Progress") -> None:
            open_seeds = min(most, progress.upper - progress.lower)
            bar.update(
                task,
                completed=most - open_seeds,
                description=f"value {progress.lower:+d} to {progress.upper:+d}, {progress.nodes:,} nodes",
            )

        yield show


if __name__ == "__main__":
    sys.exit(main())
