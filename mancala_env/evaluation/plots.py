"""Plots of reports: ratings, win rates and regret, and functions that other plots share."""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mancala_env._util.command_line import needing
from mancala_env.errors import printable
from mancala_env.evaluation.matches import MatchResult
from mancala_env.evaluation.ratings import Ratings
from mancala_env.evaluation.regret import Regret

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ASKED, ANCHOR, INK = "#b5472f", "#7d8794", "#22303c"
"""Colours of the evaluated agents, of anchors, and of text."""
BARS = ("#b5472f", "#2f6f9f", "#c79a2b", "#4f8a5b", "#7a5c99", "#7d8794")
"""Colours of agents side by side."""
_NUMBER_STYLE: Any = {"textcoords": "offset points", "ha": "center", "color": INK}
# Maximum height of the plot of regret, as a multiple of the highest bar.
_HEADROOM = 2.5
# Longer names of agents are shortened.
_NAME_LETTERS = 28
# Longer labels of a legend beside a plot are wrapped.
_LEGEND_LETTERS = 20
# Cells darker than this have white numbers.
_DARK = 0.5

READ_RATINGS = (
    "How to read it: a dot is an agent's rating, the bar around it the 95 % interval. The strongest agent is "
    "on top. An agent that is 100 points ahead wins 64 % of the games."
)
READ_WIN_RATES = (
    "How to read it: a cell is the percentage of games that the agent of the row won against the agent of "
    "the column. A draw counts as half a win. Blue is above 50, red below."
)
READ_REGRET = (
    "How to read it: a bar is the number of seeds that an average move loses compared with perfect play, by "
    "phase of the round. Lower is better, perfect play has 0. The lines are 95 % intervals. An arrow gives "
    "the end of an interval that is too long for the plot."
)


def plot_ratings(ratings: Ratings, asked: tuple[str, ...] = (), axes: "Axes | None" = None) -> "Figure":
    """Plot ratings with their intervals, the strongest on top; the agents in `asked` are highlighted."""
    axes = axes if axes is not None else new_axes(7, 0.9 + 0.4 * len(ratings.names))
    names = [ratings.names[i] for i in reversed(ratings.order())]
    shown = short_names(names)
    for row, name in enumerate(names):
        elo, low, high = ratings.of(name)
        color = ASKED if name in asked else ANCHOR
        axes.plot([low, high], [row, row], color=color, linewidth=3, alpha=0.45, solid_capstyle="round")
        axes.plot(elo, row, "o", color=color)
        axes.annotate(f"{elo:z.0f}", (elo, row), (0, 6), fontsize=8, **_NUMBER_STYLE)
    axes.set_yticks(range(len(names)), [plain(shown[name]) for name in names])
    axes.set_ylim(-0.6, len(names) - 0.2)
    axes.set_xlabel(plain(f"Elo ({ratings.scale})"))
    axes.set_title("Ratings with 95 % intervals")
    axes.grid(axis="x", alpha=0.3)
    return figure_of(axes)


def plot_win_rates(
    matches: list[MatchResult], ratings: Ratings, asked: tuple[str, ...], axes: "Axes | None" = None
) -> "Figure":
    """Plot the win rates of the agents in `asked` (rows) against all rated agents (columns)."""
    order = [ratings.names[i] for i in ratings.order()]
    index, shown = {name: i for i, name in enumerate(order)}, short_names(order)
    rates = np.full((len(order), len(order)), np.nan)
    for match in (one for one in matches if one.first in index and one.second in index):
        i, j = index[match.first], index[match.second]
        rates[i, j], rates[j, i] = 100 * match.win_rate, 100 - 100 * match.win_rate
    rows = [index[name] for name in order if name in asked]
    axes = axes if axes is not None else new_axes(1.5 + 0.7 * len(order), 1.8 + 0.45 * len(rows))
    image = axes.imshow(rates[rows], cmap="RdYlBu", vmin=0, vmax=100, aspect="auto")
    for y, i in enumerate(rows):
        for x, rate in enumerate(rates[i]):
            if not np.isnan(rate):
                red, green, blue, _ = np.asarray(image.to_rgba(rate))
                ink = INK if 0.299 * red + 0.587 * green + 0.114 * blue > _DARK else "white"
                axes.text(x, y, f"{rate:.0f}", ha="center", va="center", fontsize=8, color=ink)
    axes.set_xticks(range(len(order)), [plain(shown[name]) for name in order], rotation=35, ha="right")
    axes.set_yticks(range(len(rows)), [plain(shown[order[i]]) for i in rows])
    axes.set_title("Win rate of the row against the column, %")
    figure = figure_of(axes)
    figure.colorbar(image, ax=axes, fraction=0.04)
    return figure


def plot_regret(regrets: list[Regret], axes: "Axes | None" = None) -> "Figure":
    """Plot mean regret by phase of the round, with 95 % intervals.

    Phases without solved positions are omitted. All regrets must be over the same source of positions.
    """
    axes = axes if axes is not None else new_axes(7, 3.5)
    kept = [i for i in range(len(regrets[0].phases)) if any(one.phases[i].positions for one in regrets)]
    phases = [*(regrets[0].phases[i].phase for i in kept), "all"]
    width, shown = 0.8 / len(regrets), short_names(regret.agent for regret in regrets)
    ends: list[tuple[float, float]] = []
    highest = 0.0
    for k, regret in enumerate(regrets):
        parts = [*(regret.phases[i] for i in kept), regret.overall]
        means = np.array([part.mean_regret for part in parts])
        low, high = np.array([part.interval for part in parts]).T
        beyond = np.nan_to_num(np.stack([means - low, high - means]))
        places = np.arange(len(phases)) + (k - (len(regrets) - 1) / 2) * width
        ends += zip(places, np.nan_to_num(means + beyond[1]), strict=True)
        highest = max(highest, *np.nan_to_num(means))
        style: Any = {"color": BARS[k % len(BARS)], "ecolor": INK, "capsize": 2}
        axes.bar(places, means, width * 0.92, yerr=beyond, label=plain(shown[regret.agent]), **style)
    axes.set_xticks(range(len(phases)), phases)
    axes.set_ylabel("mean regret (seeds per move)")
    axes.set_xlim(-0.6, len(phases) - 0.4)
    axes.set_ylim(bottom=0)
    _cut_long_intervals(axes, ends, highest)
    axes.set_title(plain(f"Regret against perfect play, {regrets[0].source}"), pad=14)
    legend_beside(axes)
    axes.grid(axis="y", alpha=0.3)
    return figure_of(axes)


def _cut_long_intervals(axes: "Axes", ends: list[tuple[float, float]], highest: float) -> None:
    """Limit the height of the plot, and mark longer intervals with an arrow."""
    top = _HEADROOM * highest
    if not 0 < top < max(end for _, end in ends):
        return
    axes.set_ylim(top=top)
    for place, end in ends:
        if end > top:
            axes.annotate(f"↑ {end:.1f}", (place, top), (0, 2), fontsize=7, **_NUMBER_STYLE)


def draw_intervals(axes: "Axes", x: Any, y: Any, low: Any, high: Any) -> None:
    """Draw points with their intervals."""
    if len(x):
        # An interval over few games may exclude its own mean.
        beyond = np.maximum(0, [np.subtract(y, low), np.subtract(high, y)])
        axes.errorbar(x, y, yerr=beyond, color=ASKED, marker="o", markersize=4, capsize=2, linewidth=1)


def draw_band(axes: "Axes", x: Any, found: np.ndarray, label: str, number: int) -> None:
    """Draw a curve with its 95 % intervals as a band.

    `found` `[N, 3]` has values and ends of intervals; `number` selects the colour.
    """
    color, dashes = BARS[number % len(BARS)], ("-", "--", ":")[number // len(BARS) % 3]
    axes.plot(x, found[:, 0], dashes, marker="o", markersize=3.5, color=color, label=plain(label))
    axes.fill_between(x, found[:, 1], found[:, 2], color=color, alpha=0.15, linewidth=0)


def finish(axes: "Axes", title: str, limits: tuple[float, float | None] | None) -> None:
    """Add title, limits, grid and legend to a plot over environment steps."""
    from matplotlib.ticker import EngFormatter

    axes.set_title(plain(title))
    axes.set_xlabel("environment steps")
    axes.xaxis.set_major_formatter(EngFormatter())  # 200 k, 1.5 M
    axes.locator_params(axis="x", nbins=6)
    axes.grid(alpha=0.3)
    if limits:
        axes.set_ylim(*limits)
    legend_beside(axes)


def legend_beside(axes: "Axes") -> None:
    """Put a legend right of the plot, where it hides nothing; lines are listed in the order of their ends."""
    from matplotlib.lines import Line2D

    def end(handle: Any) -> float:
        return np.asarray(handle.get_ydata())[-1] if isinstance(handle, Line2D) else 0

    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    names = sorted(handles, key=lambda name: -end(handles[name]))
    if names:
        style: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False, "fontsize": 8}
        texts = [textwrap.fill(name, _LEGEND_LETTERS) for name in names]
        axes.legend([handles[name] for name in names], texts, **style)


def matplotlib_or_why() -> Any:
    """Import and return matplotlib, or raise MissingPackage if it is not installed."""
    with needing("a report", "evaluation"):
        import matplotlib
        import matplotlib.figure
    return matplotlib


def new_axes(width: float, height: float) -> "Axes":
    """Return the axes of a new figure; width and height are in inches."""
    # Not a figure of pyplot, which has global state and needs a backend.
    return matplotlib_or_why().figure.Figure(figsize=(width, height), layout="constrained").add_subplot()


def figure_of(axes: "Axes") -> "Figure":
    """Return the figure that axes belong to."""
    figure: Any = axes.get_figure()
    return figure


def plain(text: str) -> str:
    """Return a text that matplotlib draws without formulas, and shows in legends."""
    text = printable(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return a short form of each name: its end, which distinguishes the paths of checkpoints.

    Different names have different forms: their ends are as long as that needs.
    """
    texts = {name: printable(name) for name in names}  # fonts lack glyphs for other characters
    most = _NAME_LETTERS
    while True:
        found = {name: text if len(text) <= most else f"…{text[1 - most :]}" for name, text in texts.items()}
        if len({*found.values()}) == len({*texts.values()}):
            return found
        most += 1
