"""Tables, plots and report pages of a comparison of training runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mancala_env.benchmark.run_comparison import FEWEST_SEEDS, GroupDifference, RunComparison, measured_at
from mancala_env.evaluation.html_page import Page
from mancala_env.evaluation.plots import draw_band, figure_of, finish, matplotlib_or_why, new_axes
from mancala_env.evaluation.report import Table, save_report
from mancala_env.training.run_results import UNITS, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 6.4, 4.2
# Maximum number of rows of a curve in a table.
_ROWS = 6
_READ = (
    "How to read it: a line is the mean over the runs of a group, the band its 95 % interval. The interval "
    "of a single run is over positions or games, not over seeds."
)


def final_table(comparison: RunComparison) -> Table:
    """Return a table of the last checkpoints: a row for each group, with its means."""
    head = ["group", "runs", "steps", *(title_of(key) for key in comparison.measures)]
    rows = [
        [group.name, str(len(group.runs)), f"{group.steps:,}"]
        + [next(one.text for one in group.final if one.key == key) for key in comparison.measures]
        for group in comparison.groups
    ]
    return head, rows


def narrow_final_table(comparison: RunComparison) -> Table:
    """Return the same table with a row for each mean, for a narrow terminal."""
    found = [(group, one) for group in comparison.groups for one in group.final]
    rows = [[group.name, str(len(group.runs)), one.title, *one.texts] for group, one in found]
    return ["group", "runs", "measure", "mean", "95 % interval"], rows


def narrow_differences_table(comparison: RunComparison) -> Table:
    """Return the table of differences without the intervals of probabilities."""
    head, rows = differences_table(comparison)
    return [*head[:-1], "better"], [[*row[:-1], row[-1].partition(" ")[0]] for row in rows]


def differences_table(comparison: RunComparison) -> Table:
    """Return a table of the differences of each two groups."""
    rows = []
    for one in comparison.differences:
        value, interval = one.difference.texts
        signed = f"{'+' * (not value.startswith('-'))}{value}"
        numbers = [one.difference.title, signed, interval, one.over, _probability(one)]
        rows.append([one.first, one.second, *numbers])
    head = ["group", "against", "measure", "difference", "95 % interval", "interval\nover"]
    return [*head, "probability\nof improvement"], rows


def _probability(one: GroupDifference) -> str:
    if one.improvement is None:
        return f"n/a (needs {FEWEST_SEEDS} seeds)" if one.over == "seeds" else ""
    value, low, high = (f"{each:.2f}" for each in one.improvement)
    return value if low == high else f"{value} ({low} to {high})"


def curve_table(comparison: RunComparison, key: tuple[str, str]) -> Table:
    """Return a table of a curve: a row for each number of environment steps, a column for each group."""
    curves = [group.curve(*key) for group in comparison.groups]
    steps = np.unique(np.concatenate([[point.steps for point in curve] for curve in curves]))
    chosen = steps[np.unique(np.linspace(0, len(steps) - 1, _ROWS).round().astype(int))]
    rows = [[f"{at:,.0f}"] for at in chosen]
    for at, row in zip(chosen, rows, strict=True):
        for curve in curves:
            is_inside = curve[0].steps <= at <= curve[-1].steps
            row.append(measured_at(curve, at).text if is_inside else "")
    return ["steps", *(group.name for group in comparison.groups)], rows


def plot_curves(comparison: RunComparison, key: tuple[str, str], axes: "Axes | None" = None) -> "Figure":
    """Plot the curves of a measure, with 95 % intervals as bands; if `axes` is None, in a new figure."""
    axes = axes if axes is not None else new_axes(_WIDTH, _HEIGHT)
    for number, group in enumerate(comparison.groups):
        curve = group.curve(*key)
        found = np.array([point.measured.numbers for point in curve], np.float64)
        draw_band(axes, [point.steps for point in curve], found, f"{group.name} ({len(group.runs)})", number)
    finish(axes, f"{comparison.ruleset.title}: {title_of(key)}", None)
    axes.set_ylabel(f"{title_of(key)} ({UNITS[key[0]]})")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0, top=1 if UNITS[key[0]] == "share" else None)
    return figure_of(axes)


def write_report(comparison: RunComparison, path: str | Path) -> Path:
    """Write a comparison as an HTML file, or its curves as a PNG file; see evaluation.report.save_report."""
    return save_report(path, lambda: _page(comparison), lambda: _all_curves(comparison))


def _all_curves(comparison: RunComparison) -> "Figure":
    columns = min(2, max(1, len(comparison.curves)))
    rows = -(-max(1, len(comparison.curves)) // columns)
    size = (_WIDTH * columns, _HEIGHT * rows)
    figure = matplotlib_or_why().figure.Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for key, axes in zip(comparison.curves, panels):
        plot_curves(comparison, key, axes)
    for axes in panels[len(comparison.curves) :]:
        axes.axis("off")
    return figure


def _page(comparison: RunComparison) -> Page:
    page = Page(f"Runs compared: {comparison.ruleset.title}")
    page.notes(comparison.notes)
    page.heading("Last checkpoints")
    page.table(*final_table(comparison))
    if comparison.differences:
        page.heading("Differences")
        page.text(
            "A difference is the mean of the first group minus the mean of the second. A negative difference "
            "of regret is an improvement."
        )
        page.table(*differences_table(comparison))
    if comparison.curves:
        page.heading("Learning curves")
        page.plots(*((plot_curves(comparison, key), _READ) for key in comparison.curves))
    page.heading("Runs")
    for group in comparison.groups:
        page.text(f"{group.name}: {', '.join(str(one.run.path) for one in group.runs)}")
    return page
