"""A scene as an SVG document, for light and dark pages, still or animated, without other libraries.

In the animation of a turn, CSS moves each *seed* along its path; the board is drawn once. Readers who prefer
reduced motion see the position after the turn.
"""

import zlib
from collections.abc import Sequence
from html import escape
from itertools import count
from math import inf
from typing import Any, Literal

from mancala_env._util.checks import is_number, one_of
from mancala_env.engine.state import NORTH, SOUTH, State
from mancala_env.engine.timeline import Timeline
from mancala_env.errors import InvalidArgument, printable
from mancala_env.render.colours import PALETTES
from mancala_env.render.motion import caption, steps
from mancala_env.render.motion import in_words as turn_in_words
from mancala_env.render.scene import (
    HOLE,
    LINE,
    MARGIN,
    NUMBER,
    SEED,
    Box,
    Disc,
    Outline,
    Scene,
    Shape,
    Words,
    describe,
    layout_of,
    shortened,
)
from mancala_env.rulesets import Ruleset

Theme = Literal["auto", "light", "dark"]
THEMES = ("auto", "light", "dark")

_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
_REST_SECONDS = 2.5  # pause after a turn, before the animation repeats
_FOOTER = ("caption", "score", "turn")

_Point = tuple[float, float]


def check_look(theme: Any, width: Any) -> None:
    """Raise InvalidArgument for a theme or width that an SVG document cannot have; the width may be None."""
    one_of("theme", theme, THEMES)
    if width is not None and not (is_number(width) and 0 < width < inf):
        raise InvalidArgument(f"width must be a positive number of pixels, not {width!r}")


def svg_of(
    scene: Scene, *, theme: Theme = "auto", width: float | None = None, inside: str = "", position: str = ""
) -> str:
    """Write a scene as an SVG document; :meth:`mancala_env.Position.to_svg` has `theme` and `width`.

    `inside` is more SVG, drawn over the shapes. A `position` as text is stored in `data-position`.
    """
    number = _name(scene, inside)
    shown = scene.width if width is None else width
    carried = f'data-position="{escape(position)}" ' if position else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mancala mancala-{theme}" role="img" {carried}'
        f'viewBox="0 0 {_n(scene.width)} {_n(scene.height)}" width="{_n(shown)}" '
        f'height="{_n(shown * scene.height / scene.width)}" style="max-width:100%;height:auto" '
        f'aria-labelledby="mancala-t{number} mancala-d{number}">'
        f'<title id="mancala-t{number}">{escape(scene.title)}</title>'
        f'<desc id="mancala-d{number}">{escape(scene.description)}</desc>'
        f"<style>{_style(theme)}</style>{''.join(map(_shape, scene.shapes))}{inside}</svg>"
    )


def grid(scenes: Sequence[Scene], columns: int, *, theme: Theme = "auto", width: float | None = None) -> str:
    """Write several scenes of equal size as one SVG document, left to right and top to bottom."""
    width_of_one, height_of_one = scenes[0].width, scenes[0].height
    rows = -(-len(scenes) // columns)
    titles = " ".join(f"{i}: {scene.title}." for i, scene in enumerate(scenes))
    whole = Scene(width_of_one * columns, height_of_one * rows, (), f"{len(scenes)} positions", titles)
    drawn = "".join(
        f'<g transform="translate({_n(width_of_one * (i % columns))},{_n(height_of_one * (i // columns))})">'
        f"{''.join(map(_shape, scene.shapes))}</g>"
        for i, scene in enumerate(scenes)
    )
    return svg_of(whole, theme=theme, width=width, inside=drawn)


def _name(*content: object) -> str:
    """Return a name for the parts of a picture that is unique on a page."""
    return f"m{zlib.crc32(repr(content).encode()):x}"


def _style(theme: Theme) -> str:
    """Return the style sheet: a variable for each role, for light and dark pages."""
    light, dark = (
        ";".join(f"--m-{role}:{colour}" for role, colour in palette.items()) for palette in PALETTES.values()
    )
    if theme != "auto":
        return f".mancala-{theme}{{{light if theme == 'light' else dark}}}{_TEXT}"
    # Marks of dark and light pages in Furo, JupyterLab and VS Code.
    on_dark = ("[data-theme=dark]", "[data-jp-theme-light=false]", ".vscode-dark")
    on_light = ("[data-theme=light]", "[data-jp-theme-light=true]", ".vscode-light")
    return (
        f".mancala-auto{{{light}}}@media(prefers-color-scheme:dark){{.mancala-auto{{{dark}}}}}"
        f"{','.join(f'{where} .mancala-auto' for where in on_light)}{{{light}}}"
        f"{','.join(f'{where} .mancala-auto' for where in on_dark)}{{{dark}}}{_TEXT}"
    )


_TEXT = f".mancala text{{font-family:{_FONT};font-variant-numeric:tabular-nums}}"


def _shape(shape: Shape) -> str:
    match shape:
        case Disc():
            return f'<circle cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.r)}"{_paint(shape)}/>'
        case Box():
            size = f'width="{_n(shape.width)}" height="{_n(shape.height)}"'
            rounded = f' rx="{_n(shape.r)}"' if shape.r else ""
            return f'<rect x="{_n(shape.x)}" y="{_n(shape.y)}" {size}{rounded}{_paint(shape)}/>'
        case Outline():
            points = " ".join(f"{_n(x)},{_n(y)}" for x, y in shape.points)
            return f'<{"polygon" if shape.closed else "polyline"} points="{points}"{_paint(shape)}/>'
        case Words():
            bold = ' font-weight="700"' if shape.bold else ""
            anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
            return (
                f'<text x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(shape.size)}"{anchor}{bold} '
                f'fill="var(--m-{shape.fill})">{escape(printable(shape.text))}</text>'
            )


def _paint(shape: Disc | Box | Outline) -> str:
    fill = f' fill="var(--m-{shape.fill})"' if shape.fill else ' fill="none"'
    line = f' stroke="var(--m-{shape.stroke})" stroke-width="{_n(shape.line)}"' if shape.stroke else ""
    return fill + line + (' stroke-dasharray="5 4"' if isinstance(shape, Disc) and shape.dashed else "")


def _n(value: float) -> str:
    """Write a length with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


class Film:
    """The animation of a turn, seed by seed, which repeats. Without motion it shows the position `after` it.

    A *heap* is a hole or a store, and a *place* is the number of a seed in it. Each seed moves from place to
    place. Everything else appears and disappears.
    """

    def __init__(self, ruleset: Ruleset, state: State, timeline: Timeline, after: State) -> None:
        self.ruleset, self.state, self.timeline = ruleset, state, timeline
        self.layout = layout_of(ruleset)
        self.steps = steps(state, timeline)
        self.before, self.after = describe(ruleset, state), describe(ruleset, after)
        self.sown = self.steps[-1].start
        self.seconds = self.sown + _REST_SECONDS
        self.owned = {step.event.hole: step.start for step in self.steps if step.event.kind == "own"}
        self.keyframes: list[str] = []
        self.name = _name(ruleset, state, timeline)  # prefix of the names of keyframes

    def svg(self, theme: Theme, width: float | None, position: str) -> str:
        """Write the document; :func:`svg_of` has the arguments, with the position before the turn."""
        moving = "".join((self._owned(), self._seeds(), self._numbers(), self._ring(), self._captions()))
        timing = f"{_n2(self.seconds)}s infinite"
        css = (
            f".{self.name}f{{animation:{timing} linear}}.{self.name}s{{animation:{timing} step-end}}"
            # Without keyframes nothing moves.
            f"@media(prefers-reduced-motion:no-preference){{{''.join(self.keyframes)}}}"
        )
        scene = self.after._replace(
            shapes=tuple(shape for shape in self.after.shapes if not self._is_animated(shape.name)),
            title=f"{self.after.title} (a turn, sown seed by seed)",
            description=" ".join(turn_in_words(self.ruleset, self.timeline)),
        )
        inside = f"<style>{css}</style>{moving}"
        return svg_of(scene, theme=theme, width=width, inside=inside, position=position)

    def _is_animated(self, name: str) -> bool:
        kind, _, hole = name.rpartition("-")
        if kind in ("owned", "hole", "label"):
            return int(hole) in self.owned
        return kind in ("number", "store") or name == "seed" or name in _FOOTER

    def _seeds(self) -> str:
        resting, moving = [], []
        for seed, (end, moves) in enumerate(self._moves()):
            if not moves:
                resting.append(f'<circle r="{_n(SEED)}" style="{_at_point(*end)}"/>')
                continue
            name = f"{self.name}s{seed}"
            stops = "".join(f"{self._at(when)}{{{_at_point(*point)}}}" for when, point in moves)
            self.keyframes.append(f"@keyframes {name}{{0%{{{_at_point(*moves[0][1])}}}{stops}}}")
            style = f"{_at_point(*end)};animation-name:{name}"
            moving.append(f'<circle r="{_n(SEED)}" class="{self.name}f" style="{style}"/>')
        # Moving seeds are drawn over the others.
        return f'<g fill="var(--m-seed)" stroke="var(--m-seed_edge)">{"".join(resting + moving)}</g>'

    def _moves(self) -> list[tuple[_Point, list[tuple[float, _Point]]]]:
        """Return the final position of each seed, and its positions at the begin and end of each move."""
        heaps: list[dict[int, int]] = []  # the seed at each occupied place
        position: list[_Point] = []
        for heap, number in enumerate(_heaps_in(self.state)):
            heaps.append({place: len(position) + place for place in range(number)})
            position += [self._place(heap, place) for place in range(number)]
        moves: list[list[tuple[float, _Point]]] = [[] for _ in position]
        for step in self.steps:
            wanted = _heaps_in(step.state)
            in_hand = [
                lying.pop(place)
                for lying, number in zip(heaps, wanted, strict=True)
                for place in sorted(lying, reverse=True)[: max(0, len(lying) - number)]
            ]
            for heap, lying in enumerate(heaps):
                while len(lying) < wanted[heap]:
                    seed = in_hand.pop(0)
                    place = next(place for place in count() if place not in lying)
                    lying[place] = seed
                    moves[seed].append((step.start, position[seed]))
                    position[seed] = self._place(heap, place)
                    moves[seed].append((step.start + step.seconds, position[seed]))
        return list(zip(position, moves, strict=True))

    def _place(self, heap: int, place: int) -> _Point:
        if heap < self.ruleset.num_holes:
            return self.layout.seed(heap, place)
        return self.layout.tray_seed(heap - self.ruleset.num_holes, place)

    def _at(self, seconds: float) -> str:
        return f"{_n2(100 * seconds / self.seconds)}%"

    def _track(self, drawings: Sequence[tuple[float, str]]) -> str:
        """Show each drawing from its begin in seconds until the next one begins."""
        periods: dict[str, list[tuple[float, float]]] = {}
        begins = [begin for begin, _ in drawings]
        for (begin, drawing), end in zip(drawings, [*begins[1:], self.seconds], strict=True):
            if begin == end:
                continue
            of_drawing = periods.setdefault(drawing, [])
            if of_drawing and of_drawing[-1][1] == begin:
                begin, _ = of_drawing.pop()
            of_drawing.append((begin, end))
        return "".join(self._during(drawing, times) for drawing, times in periods.items())

    def _during(self, inside: str, periods: Sequence[tuple[float, float]]) -> str:
        """Show SVG during some periods, and without motion if the last one lasts to the end."""
        if not inside or periods == [(0.0, self.seconds)]:
            return inside
        name = f"{self.name}t{len(self.keyframes)}"
        stops = "".join(
            f"{self._at(begin)}{{opacity:1}}"
            + (f"{self._at(end)}{{opacity:0}}" if end < self.seconds else "")
            for begin, end in periods
        )
        self.keyframes.append(f"@keyframes {name}{{0%{{opacity:0}}{stops}}}")
        opacity = int(periods[-1][1] == self.seconds)
        return f'<g class="{self.name}s" opacity="{opacity}" style="animation-name:{name}">{inside}</g>'

    def _owned(self) -> str:
        """Draw holes that become owned, before and after that moment."""
        drawn = ""
        for hole, when in self.owned.items():
            names = (f"owned-{hole}", f"hole-{hole}", f"label-{hole}")
            drawn += self._track([(0.0, _shapes(self.before, names)), (when, _shapes(self.after, names))])
        return drawn

    def _numbers(self) -> str:
        places = [self.layout.number(hole) for hole in range(self.ruleset.num_holes)]
        places += [self.layout.tray_number(player) for player in (SOUTH, NORTH)]
        heaps = [(0.0, _heaps_in(self.state))]
        heaps += [(step.start + step.seconds, _heaps_in(step.state)) for step in self.steps]
        drawn = ""
        for heap, (x, y) in enumerate(places):
            at = f'x="{_n(x)}" y="{_n(y)}"'
            drawn += self._track([(begin, f"<text {at}>{lying[heap]}</text>") for begin, lying in heaps])
        written = f'font-size="{_n(NUMBER)}" font-weight="700" text-anchor="middle" fill="var(--m-ink)"'
        return f"<g {written}>{drawn}</g>"

    def _ring(self) -> str:
        """Draw a ring around the hole of the current event."""
        rings = [(0.0, "")]
        for step in self.steps:
            if step.event.kind in ("lift", "capture", "ransom", "own"):
                ring = Disc(*self.layout.hole(step.event.hole), HOLE + 5, "", "mark", 3.5)
                rings.append((step.start, _shape(ring)))
            elif step.event.kind not in ("drop", "relay"):
                rings.append((step.start, ""))
        return self._track(rings)

    def _captions(self) -> str:
        """Write the line under the board: player, lap, captures and next player."""
        drawn = []
        for step in self.steps[:-1]:
            line = caption(self.ruleset, self.timeline, step)
            line = shortened(line, self.layout.width - 2 * MARGIN - 36, LINE)
            words = Words(40, self.layout.footer, line, LINE, "ink", "start", True)
            drawn.append((step.start, _shape(words)))
        return self._track([*drawn, (self.sown, _shapes(self.after, _FOOTER))])


def _shapes(scene: Scene, names: Sequence[str]) -> str:
    """Draw the shapes of a scene that have these names."""
    return "".join(_shape(shape) for shape in scene.shapes if shape.name in names)


def _heaps_in(state: State) -> list[int]:
    """Return the number of seeds in each hole and each store."""
    return [*state.seeds[0].tolist(), *state.stores[0].tolist()]


def _at_point(x: float, y: float) -> str:
    return f"transform:translate({_n(x)}px,{_n(y)}px)"


def _n2(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
