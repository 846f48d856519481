"""An evaluation as one file to look at: HTML with everything inside it, or a PNG of the plots."""

import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mancala_env.arena.matches import MatchResult
from mancala_env.arena.openings import InvalidMatch
from mancala_env.arena.ratings import Ratings
from mancala_env.arena.regret import Regret, RegretDifference
from mancala_env.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mancala_env.arena.evaluation import Evaluation

_ASKED, _ANCHOR, _INK = "#b5472f", "#7d8794", "#22303c"
_BARS = ("#b5472f", "#2f6f9f", "#c79a2b", "#4f8a5b", "#7a5c99", "#7d8794")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #22303c; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .25rem .8rem; text-align: right; }
th { border-bottom: 2px solid #22303c; } td { border-bottom: 1px solid #dde2e6; }
th:first-child, td:first-child { text-align: left; } svg { max-width: 100%; height: auto; }
.asked td:first-child { font-weight: 600; color: #b5472f; } footer { color: #7d8794; margin-top: 3rem; }
"""


def check_report_path(path: str | Path) -> Path:
    """Return where a report goes.

    Raises:
        InvalidMatch: The name ends in neither .html nor .png, or its folder does not exist.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".png"):
        raise InvalidMatch(f"a report ends in .html or .png, not {path.name!r}")
    if not path.parent.is_dir():
        raise InvalidMatch(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
    return path


def write_report(evaluation: "Evaluation", path: str | Path) -> Path:
    """Write an evaluation as HTML (one file, nothing to fetch) or as a PNG of its plots.

    Args:
        evaluation: What :func:`mancala_env.arena.evaluate` returned.
        path: File to write; its ending decides.

    Returns:
        The path.

    Raises:
        InvalidMatch: The path ends in neither .html nor .png, or its folder does not exist.
        ImportError: matplotlib is missing.
    """
    path = check_report_path(path)
    if path.suffix.lower() == ".png":
        _all_plots(evaluation).savefig(path, dpi=150)
    else:
        path.write_text(_page(evaluation), encoding="utf-8")
    return path


def plot_ratings(ratings: Ratings, asked: tuple[str, ...] = (), axes: "Axes | None" = None) -> "Figure":
    """Plot ratings with their intervals, strongest on top; the agents asked about stand out."""
    axes = axes if axes is not None else _axes(7, 0.6 + 0.4 * len(ratings.names))
    order = ratings.order()
    for row, i in enumerate(reversed(order)):
        elo, low, high = ratings.elo[i], ratings.low[i], ratings.high[i]
        color = _ASKED if ratings.names[i] in asked else _ANCHOR
        axes.plot([low, high], [row, row], color=color, linewidth=3, alpha=0.45, solid_capstyle="round")
        axes.plot(elo, row, "o", color=color)
        axes.annotate(
            f"{elo:.0f}", (elo, row), (0, 6), textcoords="offset points", ha="center", fontsize=8, color=_INK
        )
    axes.set_yticks(range(len(order)), [_short(ratings.names[i]) for i in reversed(order)])
    axes.set_ylim(-0.6, len(order) - 0.2)
    axes.set_xlabel("Elo" + (f" ({ratings.zero} = 0)" if ratings.zero else " (mean = 0)"))
    axes.set_title("Ratings with 95 % intervals")
    axes.grid(axis="x", alpha=0.3)
    return _figure_of(axes)


def plot_win_rates(
    matches: list[MatchResult], order: list[str], asked: tuple[str, ...], axes: "Axes | None" = None
) -> "Figure":
    """Plot the win rate of each agent asked about (a row) against everybody it met, a draw half a win."""
    index = {name: i for i, name in enumerate(order)}
    rates = np.full((len(order), len(order)), np.nan)
    for match in matches:
        i, j = index[match.first], index[match.second]
        rates[i, j], rates[j, i] = 100 * match.win_rate, 100 - 100 * match.win_rate
    rows = [index[name] for name in order if name in asked]
    axes = axes if axes is not None else _axes(1.5 + 0.7 * len(order), 1.8 + 0.45 * len(rows))
    image = axes.imshow(rates[rows], cmap="RdYlBu", vmin=0, vmax=100, aspect="auto")
    for y, i in enumerate(rows):
        for x, rate in enumerate(rates[i]):
            if not np.isnan(rate):
                axes.text(x, y, f"{rate:.0f}", ha="center", va="center", fontsize=8, color=_INK)
    axes.set_xticks(range(len(order)), [_short(name) for name in order], rotation=35, ha="right")
    axes.set_yticks(range(len(rows)), [_short(order[i]) for i in rows])
    axes.set_title("Win rate of the row against the column, %")
    _figure_of(axes).colorbar(image, ax=axes, fraction=0.04)
    return _figure_of(axes)


def plot_regret(regrets: list[Regret], axes: "Axes | None" = None) -> "Figure":
    """Plot mean regret by phase of the round, with 95 % intervals, a bar an agent; of one source."""
    axes = axes if axes is not None else _axes(7, 3.5)
    phases = [*(phase.phase for phase in regrets[0].phases), "all"]
    width = 0.8 / len(regrets)
    for k, regret in enumerate(regrets):
        parts = [*regret.phases, regret.overall]
        means = np.array([part.mean_regret for part in parts])
        low = means - [part.interval[0] for part in parts]
        high = np.array([part.interval[1] for part in parts]) - means
        axes.bar(
            np.arange(len(phases)) + (k - (len(regrets) - 1) / 2) * width,
            means,
            width * 0.92,
            yerr=np.nan_to_num(np.stack([low, high])),
            color=_BARS[k % len(_BARS)],
            ecolor=_INK,
            capsize=2,
            label=_short(regret.agent),
        )
    axes.set_xticks(range(len(phases)), phases)
    axes.set_ylabel("mean regret (seeds a move)")
    axes.set_xlim(-0.6, len(phases) - 0.4)
    axes.set_ylim(bottom=0)
    axes.set_title(f"Regret against perfect play, {regrets[0].source}")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(axis="y", alpha=0.3)
    return _figure_of(axes)


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise ImportError('reports need matplotlib: pip install "mancala-env[arena]"') from error
    return matplotlib


def _axes(width: float, height: float) -> "Axes":
    # A Figure of its own, not pyplot's: nothing global, no window, no backend to choose.
    return _matplotlib().figure.Figure(figsize=(width, height), layout="constrained").add_subplot()


def _figure_of(axes: "Axes") -> "Figure":
    figure: Any = axes.get_figure()
    return figure


def _short(name: str) -> str:
    """Return the end of a long path: the part that tells two checkpoints apart."""
    return name if len(name) <= 28 else "…" + name[-27:]


def _order(evaluation: "Evaluation") -> list[str]:
    if evaluation.ratings is not None:
        return [evaluation.ratings.names[i] for i in evaluation.ratings.order()]
    return list(evaluation.agents)


def _all_plots(evaluation: "Evaluation") -> "Figure":
    heights = []
    if evaluation.ratings is not None:
        heights += [0.8 + 0.4 * len(evaluation.ratings.names)]
        heights += [1.8 + 0.45 * len(evaluation.agents)]
    by_source = _by_source(evaluation.regrets)
    heights += [3.5] * len(by_source)
    figure = _matplotlib().figure.Figure(figsize=(8, sum(heights) or 2), layout="constrained")
    figure.suptitle(_title(evaluation))
    panels = list(np.atleast_1d(figure.subplots(max(1, len(heights)), 1, height_ratios=heights or [1])))
    if not heights:
        panels[0].axis("off")
    if evaluation.ratings is not None:
        plot_ratings(evaluation.ratings, evaluation.agents, panels.pop(0))
        plot_win_rates(evaluation.matches, _order(evaluation), evaluation.agents, panels.pop(0))
    for regrets in by_source:
        plot_regret(regrets, panels.pop(0))
    return figure


def _by_source(regrets: list[Regret]) -> list[list[Regret]]:
    sources = dict.fromkeys(regret.source for regret in regrets)
    return [[regret for regret in regrets if regret.source == source] for source in sources]


def _title(evaluation: "Evaluation") -> str:
    return f"{', '.join(map(_short, evaluation.agents))}: {evaluation.ruleset}"


def _svg(figure: "Figure", salt: str) -> str:
    # Several pictures share one page: without a salt of its own each would use the same ids.
    with _matplotlib().rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _page(evaluation: "Evaluation") -> str:
    parts = [f"<h1>{html.escape(_title(evaluation))}</h1>"]
    parts += [f"<p>{html.escape(note)}.</p>" for note in evaluation.notes]
    if evaluation.ratings is not None:
        parts += ["<h2>Ratings</h2>", _svg(plot_ratings(evaluation.ratings, evaluation.agents), "ratings")]
        parts.append(_ratings_table(evaluation.ratings, evaluation.agents))
        parts += ["<h2>Matches</h2>"]
        win_rates = plot_win_rates(evaluation.matches, _order(evaluation), evaluation.agents)
        parts.append(_svg(win_rates, "matches"))
        parts.append(_matches_table(evaluation.matches))
    for regrets in _by_source(evaluation.regrets):
        source = regrets[0].source
        parts += [f"<h2>Regret, {html.escape(source)}</h2>", _svg(plot_regret(regrets), source)]
        parts.append(_regret_table(regrets))
    if evaluation.regret_differences:
        parts += ["<h2>Regret, position by position</h2>", _difference_table(evaluation.regret_differences)]
    parts.append(f"<footer>mancala-env {__version__}</footer>")
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{html.escape(_title(evaluation))}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _table(head: list[str], rows: list[list[str]], asked: tuple[str, ...] = ()) -> str:
    lines = ["<table>", "<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
    for row in rows:
        mark = ' class="asked"' if row[0] in asked else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>")
    return "\n".join([*lines, "</table>"])


def _ratings_table(ratings: Ratings, asked: tuple[str, ...]) -> str:
    rows = []
    for i in ratings.order():
        interval = f"{ratings.low[i]:.0f} to {ratings.high[i]:.0f}"
        rows.append([ratings.names[i], f"{ratings.elo[i]:.0f}", interval, str(ratings.games[i])])
    return _table(["agent", "Elo", "95 % interval", "games"], rows, asked)


def _matches_table(matches: list[MatchResult]) -> str:
    rows = []
    for match in matches:
        low, high = match.interval
        record = f"{match.wins} / {match.draws} / {match.losses}"
        rate = f"{match.win_rate:.3f} ({low:.3f} to {high:.3f})"
        rows.append([match.first, match.second, record, rate, f"{match.mean_margin:+.1f}"])
    return _table(["agent", "against", "won / drawn / lost", "win rate", "mean margin"], rows)


def _regret_table(regrets: list[Regret]) -> str:
    rows = []
    for regret in regrets:
        for part in (*regret.phases, regret.overall):
            if part.positions:
                low, high = part.interval
                mean = f"{part.mean_regret:.2f} ({low:.2f} to {high:.2f})"
                share = f"{100 * part.optimal_share:.0f} %"
                rows.append([regret.agent, part.phase, str(part.positions), mean, share])
        if regret.unsolved:
            rows.append([regret.agent, "not solved in time", str(regret.unsolved), "", ""])
    return _table(["agent", "phase", "positions", "mean regret (seeds a move)", "optimal moves"], rows)


def _difference_table(differences: list[RegretDifference]) -> str:
    rows = []
    for one in differences:
        low, high = one.interval
        better = f"{one.first_better} / {one.second_better}"
        rows.append([one.first, one.second, f"{one.mean:+.2f} ({low:+.2f} to {high:+.2f})", better])
    return _table(["agent", "against", "difference of mean regret (seeds a move)", "better / worse in"], rows)
