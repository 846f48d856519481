"""What a run's report plots: how strong it became, how it learned, what its games were like.

A plot is drawn where there are two points or more; each comes with a sentence that says how to read it.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mancala_env.evaluation.plots import ANCHOR, ASKED, INK, draw_intervals, figure_of, finish, new_axes
from mancala_env.evaluation.ratings import Ratings
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.run_folder import STEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mancala_env.training.run_report import Past

    Plot = tuple[Figure, str]

# More points than a plot has room for only make the page large, and a run of days makes half a million.
_MOST_POINTS = 2000
# A share below which nothing is seen of a line.
_SEEN = 0.01
# What figures are called in the files of earlier versions.
_OLD_FIGURES: dict[str, str] = {
    "turns": STEPS,
    "time/turns_per_second": "time/environment_steps_per_second",
    "promotion/win_rate": "gating/win_rate",
    "promotion/snapshots": "gating/snapshots",
}
_WIDTH, _HEIGHT = 5.2, 3.3


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the figures of a run: of updates evenly spread over it, and of all that were followed by games.

    Lines that hold no figures, as a file that was edited or damaged may have, are passed over.
    """
    with path.open(errors="replace") as lines:
        step = -(-sum(1 for _ in lines) // _MOST_POINTS)
    with path.open(errors="replace") as lines:
        found = [
            _figures_of(line)
            for number, line in enumerate(lines)
            if number % step == 0
            or any(f'"{kind}/' in line for kind in ("evaluation", "gating", "promotion"))
        ]
    return [_with_new_names(figures) for figures in found if figures]


def _figures_of(line: str) -> dict[str, Any]:
    try:
        figures = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return figures if isinstance(figures, dict) else {}


def _with_new_names(line: dict[str, Any]) -> dict[str, Any]:
    return {_OLD_FIGURES.get(key, key): value for key, value in line.items()}


def strength(metrics: list[dict[str, Any]], past: "Past") -> "list[Plot]":
    """Plot what checkpoints won during the run, and how they fare against each other."""
    plots: list[Plot] = []
    against = [key for key in _keys(metrics, "evaluation/") if len(_points(metrics, key)) > 1]
    if against:
        axes = new_axes(_WIDTH, _HEIGHT)
        for key in against:
            _draw(axes, metrics, key, key.removeprefix("evaluation/"), marker="o")
        finish(axes, "win rate at checkpoints", (0, 1))
        said = (
            "How to read it: the share of games a checkpoint wins against each opponent, a draw being half "
            "a win. It should rise; where it stays level the run has learned what it will."
        )
        plots.append((figure_of(axes), said))
    if past.ratings is not None and len(past.ratings.names) > 1:
        axes = new_axes(_WIDTH, _HEIGHT)
        draw_ratings(axes, past.ratings)
        finish(axes, "rating of each checkpoint, Elo (mean = 0)", None)
        said = (
            "How to read it: checkpoints of this run rated by games among themselves, with 95 % intervals. "
            "Rising means that later ones beat earlier ones; who is 100 ahead wins 64 %."
        )
        plots.append((figure_of(axes), said))
    if len(past.against) > 1:
        axes = new_axes(_WIDTH, _HEIGHT)
        draw_intervals(
            axes,
            [read_identity(match.second).environment_steps for match in past.against],
            [match.win_rate for match in past.against],
            [match.interval[0] for match in past.against],
            [match.interval[1] for match in past.against],
        )
        axes.axhline(0.5, color=ANCHOR, linewidth=1)
        finish(axes, "win rate of the last against earlier checkpoints", (0, 1))
        said = (
            "How to read it: a point below the line is an earlier checkpoint that the last one loses to, so "
            "something was forgotten."
        )
        plots.append((figure_of(axes), said))
    return plots


def learning(metrics: list[dict[str, Any]]) -> "list[Plot]":
    """Plot what the updates did to the network."""
    lines = {
        "train/value_loss": ("value loss", 1.0),
        "train/explained_variance": ("explained variance", 1.0),
        "train/entropy_loss": ("entropy", -1.0),
    }
    if not any(len(_points(metrics, key)) > 1 for key in lines):
        return []
    axes = new_axes(_WIDTH, _HEIGHT)
    for key, (label, scale) in lines.items():
        _draw(axes, metrics, key, label, scale=scale)
    finish(axes, "learning", None)
    said = (
        "How to read it: explained variance is how much of the outcome the network foresees, 1 being all "
        "of it. Entropy is how undecided its moves are; it falls as it makes up its mind, and near 0 it "
        "explores no more."
    )
    return [(figure_of(axes), said)]


def search(metrics: list[dict[str, Any]]) -> "list[Plot]":
    """Plot how near the policy is to the search that it learns from, where it learns from one."""
    lines = {
        "expert/accuracy": "one of the search's best actions, share of those drawn",
        "expert/regret": "mean regret of those drawn, seeds a move",
        "expert/policy_loss": "distance to the search's policy, nats",
    }
    if not any(len(_points(metrics, key)) > 1 for key in lines):
        return []
    axes = new_axes(_WIDTH, _HEIGHT)
    for key, label in lines.items():
        _draw(axes, metrics, key, label)
    finish(axes, "agreement with the search", None)
    said = (
        "How to read it: of the positions the search labelled, how often the action drawn was one of "
        "its best, and what it gave away. A distance that stays level is what the network cannot copy."
    )
    return [(figure_of(axes), said)]


def games(metrics: list[dict[str, Any]]) -> "list[Plot]":
    """Plot how the games of self-play ended."""
    shares = {
        "selfplay/south_win_rate": "South wins",
        "selfplay/north_win_rate": "North wins",
        "selfplay/draw_rate": "draw",
        "selfplay/stall_rate": "ended by 50 turns without change",
        "selfplay/endless_relay_rate": "ended by an endless relay",
    }
    drawn = {key: points for key in shares if len(points := _points(metrics, key)) > 1}
    seen = [key for key, points in drawn.items() if max(share for _, share in points) >= _SEEN]
    if not seen:
        return []
    axes = new_axes(_WIDTH, _HEIGHT)
    for key in seen:
        _draw(axes, metrics, key, shares[key])
    finish(axes, "how the games of self-play end", (0, 1))
    said = "How to read it: the share of games that end so; the seats differ as far as moving first matters."
    unseen = [shares[key] for key in drawn if key not in seen]
    if unseen:
        said += f" Never as many as one in a hundred: {' and '.join(unseen)}."
    return [(figure_of(axes), said)]


def speed(metrics: list[dict[str, Any]]) -> "list[Plot]":
    """Plot environment steps a second, from the second update on: the first compiles."""
    key = "time/environment_steps_per_second"
    later = [line for line in metrics[1:] if line.get(key)]
    if len(later) < 2:
        return []
    axes = new_axes(_WIDTH, _HEIGHT)
    _draw(axes, later, key)
    finish(axes, "environment steps a second", None)
    axes.set_ylim(bottom=0)
    said = (
        "How to read it: self-play and learning together. A dip is another program on the machine, or games "
        "played to evaluate."
    )
    return [(figure_of(axes), said)]


def pool(metrics: list[dict[str, Any]], opponents: Sequence[str]) -> "list[Plot]":
    """Plot the learner's score against everybody in the pool, and the matches at its gate."""
    keys = [key for key in _keys(metrics, "pool/") if len(_points(metrics, key)) > 1]
    if not keys:
        return []
    axes = new_axes(_WIDTH, _HEIGHT)
    for key in keys:
        name = key.removeprefix("pool/")
        if name in opponents:
            _draw(axes, metrics, key, name, linewidth=1)
        else:  # the run's own snapshots, too many for a legend
            _draw(axes, metrics, key, linewidth=1, color="#b7c0c8")
    _draw(axes, metrics, "gating/win_rate", "to join", marker="o", linestyle="", color=INK)
    finish(axes, "score against the pool", (0, 1))
    said = (
        "How to read it: the learner's score against each opponent it trains with; grey lines are its own "
        "earlier snapshots. Dots are matches against the last snapshot that joined; one above the gate "
        "joins."
    )
    return [(figure_of(axes), said)]


def draw_ratings(axes: "Axes", ratings: Ratings, label: str | None = None, color: str = ASKED) -> None:
    """Draw the ratings of checkpoints over their environment steps, with 95 % intervals."""
    steps = [read_identity(name).environment_steps for name in ratings.names]
    draw_intervals(axes, steps, ratings.elo, ratings.low, ratings.high, label, color)


def _keys(metrics: Iterable[dict[str, Any]], prefix: str) -> list[str]:
    return sorted({key for line in metrics for key in line if key.startswith(prefix)})


def _points(metrics: Iterable[dict[str, Any]], key: str) -> list[tuple[int, float]]:
    return [(line[STEPS], line[key]) for line in metrics if key in line]


def _draw(
    axes: "Axes",
    metrics: list[dict[str, Any]],
    key: str,
    label: str | None = None,
    scale: float = 1.0,
    **kwargs: Any,
) -> None:
    points = _points(metrics, key)
    if points:
        steps, values = zip(*points, strict=True)
        axes.plot(steps, [scale * value for value in values], label=label, **kwargs)
