"""Self-contained HTML pages for reports: headings, tables, plots and boards, without scripts."""

import html
import io
import re
import zlib
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from mancala_env.engine.coordinates import hole_of
from mancala_env.evaluation.regret import EvaluatedMove
from mancala_env.render.motion import turn_name
from mancala_env.render.scene import value_text
from mancala_env.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #22303c; background: #fff; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .25rem .8rem; text-align: right; }
th { border-bottom: 2px solid #22303c; } td { border-bottom: 1px solid #dde2e6; }
th:first-child, td:first-child { text-align: left; } svg { max-width: 100%; height: auto; }
.marked td:first-child { font-weight: 600; color: #b5472f; }
figure { margin: 1.5rem 0; } figcaption { color: #4a5763; font-size: .9rem; max-width: 46rem; }
.several { display: grid; gap: 0 1.5rem; }
.several { grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); }
pre { overflow-x: auto; } footer { color: #5d6874; margin-top: 3rem; }
"""
# Unused ids of matplotlib's SVG, which would repeat in the next plot of the page.
_NAMES = re.compile(r' id="[A-Za-z0-9.]+_\d+"')


class Page:
    """A report, written from top to bottom."""

    def __init__(self, title: str, seed: int | None = None) -> None:
        """Begin a page; the footer contains the date and the random seed, if given."""
        self.title, self.seed = title, seed
        self._parts = [f"<h1>{html.escape(title)}</h1>"]

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def notes(self, notes: Iterable[str]) -> None:
        """Add each note as a sentence of its own."""
        for note in notes:
            self.text(f"{note[0].upper()}{note[1:]}.")

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], marked: Sequence[str] = ()) -> None:
        """Add a table; rows whose first cell is in `marked` are highlighted."""
        lines = ['<div class="wide"><table>', _row("th", head)]
        lines += [_row("td", row, ' class="marked"' if row[0] in marked else "") for row in rows]
        self._parts.append("\n".join([*lines, "</table></div>"]))

    def plots(self, *plots: "tuple[Figure, str]") -> None:
        """Add plots, each with a caption; wide screens show them side by side."""
        self._figures([_figure(svg_of(plot), how) for plot, how in plots])

    def boards(self, moves: Iterable[EvaluatedMove]) -> None:
        """Add moves as boards with the exact value of every action; a ring marks the action played."""
        self._figures([_board(move) for move in moves])

    def details(self, summary: str, text: str) -> None:
        """Add a collapsed section of preformatted text."""
        folded = f"<summary>{html.escape(summary)}</summary><pre>{html.escape(text)}</pre>"
        self._parts.append(f"<details>{folded}</details>")

    def html(self) -> str:
        """Return the page as HTML."""
        made = f"mancala-env {__version__}, {date.today()}"
        made += f", seed {self.seed}" if self.seed is not None else ""
        body = "\n".join([*self._parts, f"<footer>{made}</footer>"])
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(self.title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
            f"<body>\n{body}\n</body>\n</html>\n"
        )

    def _figures(self, figures: Sequence[str]) -> None:
        if len(figures) > 1:
            figures = ['<div class="several">', *figures, "</div>"]
        self._parts += figures


def _row(cell: str, cells: Iterable[str], attributes: str = "") -> str:
    inside = "".join(f"<{cell}>{html.escape(text)}</{cell}>" for text in cells)
    return f"<tr{attributes}>{inside}</tr>"


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _board(move: EvaluatedMove) -> str:
    position, ruleset = move.position, move.position.ruleset
    holes = {action: hole_of(ruleset, position.player, action) for action in move.values}
    names = {action: turn_name(ruleset, position.player, hole) for action, hole in holes.items()}
    most = max(move.values.values())
    best = " or ".join(names[action] for action, value in move.values.items() if value == most)
    played = f"{names[move.action]} was played, worth {value_text(move.values[move.action])}"
    caption = f"{played}; {best} is worth {value_text(most)}. {move.regret} seeds lost."
    drawn = position.to_svg(values=move.values, last=(holes[move.action],), theme="light")
    return _figure(drawn, caption)


def svg_of(plot: "Figure") -> str:
    """Return a plot as SVG for a page; equal plots give equal texts."""
    import matplotlib

    title = ". ".join(axes.get_title() for axes in plot.axes if axes.get_title())
    # The salt makes the ids of the plots on a page distinct.
    salt = f"{zlib.crc32(title.encode(errors='backslashreplace')):x}"
    with matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        drawn = io.StringIO()
        plot.savefig(drawn, format="svg", metadata={"Date": None})
    text = _NAMES.sub("", drawn.getvalue())
    label = f'<svg role="img" aria-label="{html.escape(title)}"'
    return text[text.index("<svg") :].replace("<svg", label, 1)
