"""Compare runs: rate checkpoints of all runs on one scale.

python training/experiments/compare.py runs/mirror runs/pool --games 200 --out runs/compared.png

This takes evenly spaced checkpoints of every run. They all play each other and the anchors of the ladder.
The program prints a table of their ratings. With --out it plots the ratings over environment steps, and the
results of each run's last checkpoint against the earlier checkpoints of all runs.
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mancala_env._util.command_line import Parser, check_out, in_one_line
from mancala_env.evaluation.agent_evaluation import Evaluation, evaluate
from mancala_env.evaluation.matches import InvalidMatch, MatchResult
from mancala_env.evaluation.plots import BARS, draw_intervals, finish
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.run_plots import draw_ratings


def snapshots(run: Path, most: int) -> list[str]:
    """Return at most `most` checkpoints of a run, evenly spread, with the last one."""
    saved = [path for path in RunFolder(run).saved() if read_identity(path).environment_steps]
    if len(saved) < 2:
        raise InvalidMatch(f"{run} holds {len(saved)} checkpoints of a trained agent; two or more are needed")
    step = -(-(len(saved) - 1) // max(1, most - 1))
    return [str(path) for path in saved[::-1][::step][::-1]]


def named(runs: list[Path]) -> dict[str, Path]:
    """Return folders of runs by name. If two have the same name, the key is the path.

    Raises:
        InvalidMatch: If a folder is a duplicate.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise InvalidMatch("the folders of runs must differ")
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
                [read_identity(match.second).environment_steps for match in matches],
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
    """Run the command; returns the exit status."""
    parser = Parser(prog="training/experiments/compare.py", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs of one ruleset")
    parser.add_argument("--games", type=int, default=200, help="games of each match, an even number")
    parser.add_argument("--snapshots", type=int, default=6, help="maximum checkpoints of each run")
    parser.add_argument("--no_ladder", action="store_true", help="skip matches against the ladder")
    parser.add_argument(
        "--results", type=Path, help="file of finished games, to resume after an interruption"
    )
    parser.add_argument("--out", type=Path, help="PNG to write the plots to")
    words = parser.parse_args(arguments)
    if words.out:
        check_out(words.out)
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
            steps = f"{read_identity(spec).environment_steps:,}"
            table.add_row(name, steps, f"{elo:z.0f}", f"{low:z.0f} to {high:z.0f}", rate)
    Console().print(table)
    if words.out:
        plot(evaluation, runs, words.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
