"""Compare runs: all their checkpoints in one arena, on one scale.

python training/experiments/compare.py runs/mirror runs/pool --games 200 --out runs/compared.png

rates checkpoints of every run, spread evenly over it, by matches of everybody with everybody and with the
ladder's anchors, prints a table, and plots rating over environment steps and how each run's last checkpoint
fares against the earlier ones of all runs.
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.errors import MancalaError
from mancala_env.evaluation.agent_evaluation import Evaluation, evaluate
from mancala_env.evaluation.matches import InvalidMatch, MatchResult
from mancala_env.evaluation.plots import BARS, draw_intervals, finish
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.run_plots import draw_ratings


def snapshots(run: Path, most: int) -> list[str]:
    """Return checkpoints of a run, at most so many, evenly spread, the last one among them."""
    saved = [path for path in RunFolder(run).saved() if read_identity(path).turns]
    if len(saved) < 2:
        raise InvalidMatch(f"{run} holds {len(saved)} checkpoints of a trained agent; two or more are needed")
    step = -(-(len(saved) - 1) // max(1, most - 1))
    return [str(path) for path in saved[::-1][::step][::-1]]


def named(runs: list[Path]) -> dict[str, Path]:
    """Return folders of runs by what they are called: their names, and their paths where two bear the same.

    Raises:
        InvalidMatch: A folder is there twice.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise InvalidMatch("each run can be named once only")
    names = [run.name for run in runs]
    return {run.name if names.count(run.name) == 1 else str(run): run for run in runs}


def last_against(evaluation: Evaluation, last: str, others: list[str]) -> list[MatchResult]:
    """Return the matches of a run's last checkpoint with others, from its side."""
    found = {(match.first, match.second): match for match in evaluation.matches}
    found |= {(match.second, match.first): match.flipped() for match in evaluation.matches}
    return [found[last, other] for other in others if other != last]


def plot(evaluation: Evaluation, runs: dict[str, list[str]], path: Path) -> None:
    """Write the plots as PNG."""
    from matplotlib.figure import Figure

    assert evaluation.ratings is not None
    figure = Figure(figsize=(10, 4), layout="constrained")
    rating, history = figure.subplots(1, 2)
    for (name, own), color in zip(runs.items(), BARS * len(runs)):
        draw_ratings(rating, evaluation.ratings.only(own), name, color)
        for other, theirs in runs.items():
            matches = last_against(evaluation, own[-1], theirs)
            draw_intervals(
                history,
                [read_identity(match.second).turns for match in matches],
                [match.win_rate for match in matches],
                [match.interval[0] for match in matches],
                [match.interval[1] for match in matches],
                f"last of {name} against {other}",
                color,
                linestyle="-" if other == name else ":",
            )
    anchor = evaluation.ratings.zero
    finish(rating, f"rating, Elo ({anchor} = 0)" if anchor else "rating, Elo (mean = 0)", None)
    history.axhline(0.5, color="#7d8794", linewidth=1)
    finish(history, "win rate against earlier checkpoints", None)
    figure.savefig(path, dpi=100)


@in_one_line("compare.py")
def main(arguments: list[str] | None = None) -> int:
    """Compare as the command line says; returns the exit status."""
    parser = Parser(
        prog="training/experiments/compare.py",
        description=__doc__,
    )
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs of one ruleset")
    parser.add_argument("--games", type=int, default=200, help="games of each match, even")
    parser.add_argument("--snapshots", type=int, default=6, help="checkpoints of each run")
    parser.add_argument("--no_ladder", action="store_true", help="let them play only each other")
    parser.add_argument("--results", type=Path, help="file of finished games, to go on after an interruption")
    parser.add_argument("--out", type=Path, help="PNG to write the plots to")
    words = parser.parse_args(arguments)
    if words.out and not words.out.parent.is_dir():
        raise MancalaError(f"there is no folder {words.out.parent} to write {words.out.name} to")
    runs = {name: snapshots(run, words.snapshots) for name, run in named(words.runs).items()}
    specs = [spec for own in runs.values() for spec in own]
    identity = read_identity(specs[0])
    evaluation = evaluate(
        specs,
        identity.ruleset,
        games=words.games,
        ladder=not words.no_ladder,
        regret=False,
        rounds=identity.rounds,
        results=words.results,
        num_threads=1,
    )
    assert evaluation.ratings is not None
    table = Table(
        "run",
        "environment steps",
        "Elo",
        "95 % interval",
        "last against it",
        title=f"{identity.ruleset.title}, {evaluation.openings}",
    )
    for name, own in runs.items():
        against = {match.second: match for match in last_against(evaluation, own[-1], own)}
        for spec in own:
            elo, low, high = evaluation.ratings.of(spec)
            rate = f"{against[spec].win_rate:.1%}" if spec in against else ""
            steps = f"{read_identity(spec).turns:,}"
            table.add_row(name, steps, f"{elo:z.0f}", f"{low:z.0f} to {high:z.0f}", rate)
    Console().print(table)
    if words.out:
        plot(evaluation, runs, words.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
