"""The plots of a run's report: strength and learning over environment steps.

TensorBoard shows the other metrics. A plot needs two points or more. Each comes with a text that says how to
read it.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mancala_env._util.checks import is_number
from mancala_env.evaluation.plots import draw_intervals, figure_of, finish, new_axes, plain
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.run_folder import OLD_STEPS, STEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mancala_env.training.run_report import Past

    Plot = tuple[Figure, str]
    Limits = tuple[float, float | None]

# A run of days has half a million updates; more points than this only make the page large.
_MOST_POINTS = 2000
_WIDTH, _HEIGHT = 6.2, 3.3


def read_metrics(path: Path, most: int | None = _MOST_POINTS) -> list[dict[str, Any]]:
    """Read metrics of a run: of `most` evenly spaced updates, and of all with games of an evaluation.

    With None, all updates are read. Lines of an edited or damaged file that are not metrics are skipped.
    """
    with path.open(errors="replace") as lines:
        step = 1 if most is None else -(-sum(1 for _ in lines) // most)
    found = []
    with path.open(errors="replace") as lines:
        for number, line in enumerate(lines):
            if number % step == 0 or '"evaluation/' in line:
                with suppress(ValueError, AttributeError, RecursionError):
                    figures = [(key, value) for key, value in json.loads(line).items() if is_number(value)]
                    found.append({STEPS if key == OLD_STEPS else key: value for key, value in figures})
    return [figures for figures in found if STEPS in figures]


def strength(metrics: list[dict[str, Any]], past: "Past") -> "list[Plot]":
    """Plot the win rates of checkpoints during the run, and the results of matches between them."""
    keys = sorted({key for line in metrics for key in line if key.startswith("evaluation/")})
    plots = _lines(
        metrics,
        {key: key.removeprefix("evaluation/") for key in keys},
        "win rate at checkpoints",
        "win rate of each checkpoint against each opponent; a draw counts as half a win. The last point is "
        "the final agent, measured by the games of the table. The line should rise. Where it stays level, "
        "the run has stopped improving.",
        (0, 1),
        marker="o",
    )
    if past.ratings is not None and len(past.ratings.names) > 1:
        axes, ratings = new_axes(_WIDTH, _HEIGHT), past.ratings
        steps = [read_identity(name).environment_steps for name in ratings.names]
        draw_intervals(axes, steps, ratings.elo, ratings.low, ratings.high)
        plots += _finished(
            axes,
            "rating of each checkpoint, Elo (mean = 0)",
            "ratings of this run's checkpoints from games against each other, with 95 % intervals. A rising "
            "line means that later ones beat earlier ones. A lead of 100 means a win rate of 64 %.",
        )
    return plots


def learning(metrics: list[dict[str, Any]]) -> "list[Plot]":
    """Plot losses, explained variance and entropy."""
    loss = "train/entropy_loss"
    entropies = [{STEPS: line[STEPS], "entropy": -line[loss]} for line in metrics if loss in line]
    return _lines(
        [*metrics, *entropies],
        {
            "train/value_loss": "value loss",
            "train/explained_variance": "explained variance",
            "entropy": "entropy",
        },
        "learning",
        "explained variance is the part of the outcomes that the network predicts; 1 is all. Entropy "
        "measures how random its actions are. It falls, and near 0 the network no longer explores.",
    )


def search(metrics: list[dict[str, Any]]) -> "list[Plot]":
    """Plot the agreement of the policy with the search that labels positions, if there is one."""
    return _lines(
        metrics,
        {
            "expert/accuracy": "share of drawn actions that are best",
            "expert/regret": "mean regret of drawn actions, seeds",
            "expert/policy_loss": "cross-entropy to the search's targets, nats",
        },
        "agreement with the search",
        "how often the policy's action in a labelled position is one of the search's best, and how many "
        "seeds it loses. A cross-entropy that stays level is what the network cannot copy.",
    )


def _points(metrics: Iterable[dict[str, Any]], key: str) -> list[tuple[int, float]]:
    return [(line[STEPS], line[key]) for line in metrics if key in line]


def _lines(
    metrics: list[dict[str, Any]],
    labels: Mapping[str, str | None],
    title: str,
    how_to_read: str,
    limits: "Limits | None" = None,
    **style: Any,
) -> "list[Plot]":
    """Plot those of some metrics that have two points or more; no plot without any."""
    keys = [key for key in labels if len(_points(metrics, key)) > 1]
    if not keys:
        return []
    axes = new_axes(_WIDTH, _HEIGHT)
    for key in keys:
        label = labels[key]
        shown = None if label is None else plain(label)
        axes.plot(*zip(*_points(metrics, key), strict=True), label=shown, **style)
    return _finished(axes, title, how_to_read, limits)


def _finished(axes: "Axes", title: str, how_to_read: str, limits: "Limits | None" = None) -> "list[Plot]":
    finish(axes, title, limits)
    axes.set_xlim(left=0)
    if axes.dataLim.y0 >= 0:
        axes.set_ylim(bottom=0)
    return [(figure_of(axes), f"How to read it: {how_to_read}")]
