"""A scene as an SVG document, for light and dark pages, still or animated, without other libraries.

In the animation of a turn, CSS moves each *seed* along its path; the board is drawn once. Readers who prefer
reduced motion see the position after the turn.
"""

import zlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np

from mancala_env._util.checks import one_of
from mancala_env.engine.state import State
from mancala_env.engine.timeline import Timeline
from mancala_env.errors import InvalidArgument
from mancala_env.render.colours import DARK, LIGHT, PALETTES, Palette
from mancala_env.render.motion import MAX_LAPS_SHOWN, SEED_SECONDS, Step, caption, steps
from mancala_env.render.motion import in_words as turn_in_words
from mancala_env.render.scene import (
    HOLE,
    LINE,
    NUMBER,
    SEED,
    Box,
    Disc,
    Layout,
    Outline,
    Scene,
    Shape,
    Words,
    describe,
    layout_of,
)
from mancala_env.rulesets import Ruleset

Theme = Literal["auto", "light", "dark"]
THEMES = ("auto", "light", "dark")

_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
_REST_SECONDS = 2.5  # pause after a turn, before the animation repeats


def check_look(theme: Any, width: Any) -> None:
    """Check theme and width of an SVG document; the width may be None.

    Raises:
        InvalidArgument: The theme is unknown, or the width is not a positive number.
    """
    one_of("theme", theme, THEMES)
    is_number = isinstance(width, int | float | np.integer | np.floating) and not isinstance(width, bool)
    if width is not None and not (is_number and 0 < width < np.inf):
        raise InvalidArgument(f"width must be a positive number of pixels, not {width!r}")


def svg_of(
    scene: Scene, *, theme: Theme = "auto", width: float | None = None, inside: str = "", position: str = ""
) -> str:
    """Write a scene as an SVG document.

    Args:
        scene: The picture.
        theme: "light", "dark", or "auto", which follows the system or the page.
        width: Width on the page in pixels; None: one pixel per unit, or less if there is less room.
        inside: More SVG, drawn over the shapes.
        position: The position as text, stored in `data-position`; "" stores nothing.
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


def animated(
    ruleset: Ruleset,
    state: State,
    timeline: Timeline,
    after: State,
    *,
    theme: Theme = "auto",
    width: float | None = None,
    seed_seconds: float = SEED_SECONDS,
    max_laps: int = MAX_LAPS_SHOWN,
    position: str = "",
) -> str:
    """Write a turn as an animated SVG document that repeats.

    Args:
        ruleset: The ruleset.
        state: Position before the turn, B = 1.
        timeline: The turn.
        after: Position after the turn, B = 1, which is shown without motion.
        theme: As in :func:`svg_of`.
        width: As in :func:`svg_of`.
        seed_seconds: Time that a seed takes to fall.
        max_laps: Most laps of a relay that are shown.
        position: The position before the turn as text; see :func:`svg_of`.
    """
    return _Film(ruleset, state, timeline, after, seed_seconds, max_laps).svg(theme, width, position)


def grid(scenes: Sequence[Scene], columns: int, *, theme: Theme = "auto", width: float | None = None) -> str:
    """Write several scenes of one size as one SVG document, left to right and top to bottom."""
    first = scenes[0]
    rows = -(-len(scenes) // columns)
    whole = Scene(
        first.width * columns,
        first.height * rows,
        (),
        f"{len(scenes)} positions",
        " ".join(f"{i}: {scene.title}." for i, scene in enumerate(scenes)),
    )
    drawn = "".join(
        f'<g transform="translate({_n(first.width * (i % columns))},{_n(first.height * (i // columns))})">'
        f"{''.join(map(_shape, scene.shapes))}</g>"
        for i, scene in enumerate(scenes)
    )
    return svg_of(whole, theme=theme, width=width, inside=drawn)


def _name(*content: object) -> str:
    """Return a name for the parts of a picture that is unique on a page."""
    return f"m{zlib.crc32(repr(content).encode()):x}"


def _style(theme: Theme) -> str:
    """Return the style sheet: a variable for each role, for light and dark pages."""

    def roles(palette: Palette) -> str:
        return ";".join(f"--m-{role}:{colour}" for role, colour in palette.items())

    if theme != "auto":
        return f".mancala-{theme}{{{roles(PALETTES[theme])}}}{_TEXT}"
    # Marks of dark and light pages in Furo, JupyterLab and VS Code.
    dark = ("[data-theme=dark]", "[data-jp-theme-light=false]", ".vscode-dark")
    light = ("[data-theme=light]", "[data-jp-theme-light=true]", ".vscode-light")
    return (
        f".mancala-auto{{{roles(LIGHT)}}}"
        f"@media(prefers-color-scheme:dark){{.mancala-auto{{{roles(DARK)}}}}}"
        f"{','.join(f'{where} .mancala-auto' for where in light)}{{{roles(LIGHT)}}}"
        f"{','.join(f'{where} .mancala-auto' for where in dark)}{{{roles(DARK)}}}{_TEXT}"
    )


_TEXT = f".mancala text{{font-family:{_FONT};font-variant-numeric:tabular-nums}}"


def _shape(shape: Shape) -> str:
    match shape:
        case Disc():
            return f'<circle cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.r)}"{_paint(shape)}/>'
        case Box():
            return (
                f'<rect x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" '
                f'height="{_n(shape.height)}"{f""" rx="{_n(shape.r)}" """.rstrip() if shape.r else ""}'
                f"{_paint(shape)}/>"
            )
        case Outline():
            points = " ".join(f"{_n(x)},{_n(y)}" for x, y in shape.points)
            return f'<{"polygon" if shape.closed else "polyline"} points="{points}"{_paint(shape)}/>'
        case Words():
            bold = ' font-weight="700"' if shape.bold else ""
            anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
            return (
                f'<text x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(shape.size)}"{anchor}{bold} '
                f'fill="var(--m-{shape.fill})">{escape(shape.text)}</text>'
            )


def _paint(shape: Disc | Box | Outline) -> str:
    fill = f' fill="var(--m-{shape.fill})"' if shape.fill else ' fill="none"'
    line = f' stroke="var(--m-{shape.stroke})" stroke-width="{_n(shape.line)}"' if shape.stroke else ""
    return fill + line + (' stroke-dasharray="5 4"' if isinstance(shape, Disc) and shape.dashed else "")


def _n(value: float) -> str:
    """Write a length with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


class _Move(NamedTuple):
    """A move of a seed from (x, y), from `begin` to `end` in seconds."""

    begin: float
    end: float
    x: float
    y: float


def _at_point(x: float, y: float) -> str:
    return f"transform:translate({_n(x)}px,{_n(y)}px)"


class _Film:
    """The animation of a turn, seed by seed.

    A *heap* is a hole or a store, and a *place* is the number of a seed in it. Each seed moves from place to
    place. Without motion, the position after the turn is shown.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        state: State,
        timeline: Timeline,
        after: State,
        seed_seconds: float,
        max_laps: int,
    ) -> None:
        self.ruleset, self.state, self.after, self.timeline = ruleset, state, after, timeline
        self.layout: Layout = layout_of(ruleset)
        self.steps: list[Step] = steps(state, timeline, seed_seconds, max_laps)
        self.sown = self.steps[-1].start
        self.seconds = self.sown + _REST_SECONDS
        self.keyframes: list[str] = []
        self.num_holes = ruleset.num_holes
        self.name = _name(state, timeline, seed_seconds, max_laps)
        """Prefix of the names of this picture's keyframes, unique on a page."""

    def svg(self, theme: Theme, width: float | None, position: str) -> str:
        still = describe(self.ruleset, self.after, with_seeds=False)
        moving = "".join((self._owned(), self._seeds(), self._numbers(), self._ring(), self._captions()))
        hidden = ("caption", "score", "turn")
        owned = self._newly_owned()
        shapes = [
            shape
            for shape in still.shapes
            if shape.name not in hidden and not self._appears(shape.name, owned)
        ]
        timing = f"{_n2(self.seconds)}s infinite"
        css = (
            f".{self.name}f{{animation:{timing} linear}}.{self.name}s{{animation:{timing} step-end}}"
            # Without keyframes nothing moves.
            f"@media(prefers-reduced-motion:no-preference){{{''.join(self.keyframes)}}}"
        )
        said = " ".join(turn_in_words(self.ruleset, self.timeline))
        scene = still._replace(
            shapes=tuple(shapes), title=f"{still.title} (a turn, sown seed by seed)", description=said
        )
        inside = f"<style>{css}</style>{moving}"
        return svg_of(scene, theme=theme, width=width, inside=inside, position=position)

    # Seeds

    def _seeds(self) -> str:
        places, ways = self._ways()
        drawn = []
        for seed, (x, y) in enumerate(places):
            way = ways[seed]
            style = _at_point(x, y)
            if way:
                style += f";animation-name:{self.name}s{seed}"
                self._seed_keyframes(f"{self.name}s{seed}", way, (x, y))
            moves = f' class="{self.name}f"' if way else ""
            drawn.append((bool(way), f'<circle r="{_n(SEED)}"{moves} style="{style}"/>'))
        # Moving seeds are drawn over the others.
        circles = "".join(circle for _, circle in sorted(drawn, key=lambda seed: seed[0]))
        return f'<g fill="var(--m-seed)" stroke="var(--m-seed_edge)">{circles}</g>'

    def _ways(self) -> tuple[list[tuple[float, float]], list[list[_Move]]]:
        """Follow every seed.

        Returns:
            The final position of each seed, and its moves.
        """
        start = self.state
        heaps: list[list[int | None]] = []
        position: list[tuple[float, float]] = []
        for heap, number in enumerate([*start.seeds[0].tolist(), *start.stores[0].tolist()]):
            heaps.append([])
            for place in range(number):
                heaps[heap].append(len(position))
                position.append(self._place(heap, place))
        ways: list[list[_Move]] = [[] for _ in position]
        for step in self.steps:
            wanted = [*step.state.seeds[0].tolist(), *step.state.stores[0].tolist()]
            lying = [sum(seed is not None for seed in heap) for heap in heaps]
            moving = [
                (heap, place)
                for heap in range(len(heaps))
                for place in _last_of(heaps[heap], lying[heap] - wanted[heap])
            ]
            for heap in range(len(heaps)):
                for _ in range(wanted[heap] - lying[heap]):
                    from_heap, from_place = moving.pop(0)
                    seed = heaps[from_heap][from_place]
                    assert seed is not None
                    heaps[from_heap][from_place] = None
                    place = _first_free(heaps[heap])
                    heaps[heap][place] = seed
                    ways[seed].append(_Move(step.start, step.start + step.seconds, *position[seed]))
                    position[seed] = self._place(heap, place)
        return position, ways

    def _place(self, heap: int, place: int) -> tuple[float, float]:
        if heap < self.num_holes:
            return self.layout.seed(heap, place)
        return self.layout.tray_seed(heap - self.num_holes, place)

    def _seed_keyframes(self, name: str, way: Sequence[_Move], end: tuple[float, float]) -> None:
        """Write the keyframes of a seed: it rests between its moves."""
        stops = [f"0%{{{_at_point(way[0].x, way[0].y)}}}"]
        for move, (x, y) in zip(way, [*((move.x, move.y) for move in way[1:]), end], strict=True):
            stops.append(f"{self._at(move.begin)}{{{_at_point(move.x, move.y)}}}")
            stops.append(f"{self._at(move.end)}{{{_at_point(x, y)}}}")
        self.keyframes.append(f"@keyframes {name}{{{''.join(stops)}to{{{_at_point(*end)}}}}}")

    def _at(self, seconds: float) -> str:
        return f"{_n2(100 * seconds / self.seconds)}%"

    # Numbers: each hole and store has a column of numbers, of which one is visible

    def _numbers(self) -> str:
        drawn = []
        for heap in range(self.num_holes + 2):
            x, y = (
                self.layout.number(heap)
                if heap < self.num_holes
                else self.layout.tray_number(heap - self.num_holes)
            )
            numbers = [(0.0, self._in_heap(self.state, heap))]
            for step in self.steps:
                number = self._in_heap(step.state, heap)
                if number != numbers[-1][1]:
                    numbers.append((step.start + step.seconds, number))
            if len(numbers) == 1:
                drawn.append(f'<text x="{_n(x)}" y="{_n(y)}">{numbers[0][1]}</text>')
                continue
            drawn.append(self._column(f"{self.name}n{heap}", x, y, numbers))
        written = f'font-size="{_n(NUMBER)}" font-weight="700" text-anchor="middle" fill="var(--m-ink)"'
        return f"<g {written}>{''.join(drawn)}</g>"

    def _column(self, name: str, x: float, y: float, numbers: Sequence[tuple[float, int]]) -> str:
        values = sorted({number for _, number in numbers})
        pitch = 36
        rows = "".join(
            f'<tspan x="{_n(x)}" y="{_n(y + pitch * i)}">{value}</tspan>' for i, value in enumerate(values)
        )
        row = {value: i for i, value in enumerate(values)}
        stops = "".join(
            f"{self._at(begin)}{{transform:translateY({-pitch * row[number]}px)}}"
            for begin, number in numbers
        )
        self.keyframes.append(f"@keyframes {name}{{{stops}}}")
        final = -pitch * row[numbers[-1][1]]
        return (
            f'<clipPath id="{name}"><rect x="{_n(x - 40)}" y="{_n(y - 25)}" '
            'width="80" height="31"/></clipPath>'
            f'<g clip-path="url(#{name})"><text class="{self.name}s" '
            f'style="transform:translateY({final}px);animation-name:{name}">{rows}</text></g>'
        )

    def _in_heap(self, state: State, heap: int) -> int:
        if heap < self.num_holes:
            return int(state.seeds[0, heap])
        return int(state.stores[0, heap - self.num_holes])

    # Parts that appear during the turn

    def _newly_owned(self) -> dict[int, float]:
        return {step.event.hole: step.start for step in self.steps if step.event.kind == "own"}

    @staticmethod
    def _appears(name: str, owned: Mapping[int, float]) -> bool:
        kind, _, hole = name.rpartition("-")
        return kind in ("owned", "label", "hole") and hole.isdigit() and int(hole) in owned

    def _owned(self) -> str:
        """Draw holes that become owned, before and after that moment."""
        owned = self._newly_owned()
        drawn = []
        for hole, when in owned.items():
            for stage, scene in enumerate((self.state, self.after)):
                shapes = describe(self.ruleset, scene, with_seeds=False).shapes
                inside = "".join(_shape(shape) for shape in shapes if self._appears(shape.name, {hole: 0.0}))
                label = f"{self.name}o{hole}{'ab'[stage]}"
                seen = ("1", "0") if stage == 0 else ("0", "1")
                self.keyframes.append(
                    f"@keyframes {label}{{0%{{opacity:{seen[0]}}}{self._at(when)},to{{opacity:{seen[1]}}}}}"
                )
                drawn.append(
                    f'<g opacity="{seen[1]}" class="{self.name}s" style="animation-name:{label}">{inside}</g>'
                )
        return "".join(drawn)

    def _ring(self) -> str:
        """Draw the ring around the hole of the current event."""
        stops = ["0%{opacity:0}"]
        for step in self.steps:
            if step.event.kind in ("lift", "capture", "ransom", "own"):
                x, y = self.layout.hole(step.event.hole)
                stops.append(f"{self._at(step.start)}{{opacity:1;transform:translate({_n(x)}px,{_n(y)}px)}}")
            elif step.event.kind in ("store", "put_back", "pass", "next", "end", "skip"):
                stops.append(f"{self._at(step.start)}{{opacity:0}}")
        self.keyframes.append(f"@keyframes {self.name}r{{{''.join(stops)}}}")
        return (
            f'<circle r="{_n(HOLE + 5)}" fill="none" stroke="var(--m-mark)" stroke-width="3.5" opacity="0" '
            f'class="{self.name}s" style="animation-name:{self.name}r"/>'
        )

    def _captions(self) -> str:
        """Write the line under the board: player, lap, captures and next player."""
        lines: list[tuple[float, str]] = []
        for step in self.steps[:-1]:
            line = caption(self.ruleset, self.timeline, step)
            if not lines or lines[-1][1] != line:
                lines.append((step.start, line))
        x, y = 40.0, self.layout.footer
        last = describe(self.ruleset, self.after, with_seeds=False).shapes
        end = "".join(_shape(shape) for shape in last if shape.name in ("caption", "score", "turn"))
        drawn = []
        for i, (begin, line) in enumerate(lines):
            until = lines[i + 1][0] if i + 1 < len(lines) else self.sown
            shown = "0%{opacity:0}" if begin else ""
            label = f"{self.name}c{i}"
            shown += f"{self._at(begin)}{{opacity:1}}{self._at(until)},to{{opacity:0}}"
            self.keyframes.append(f"@keyframes {label}{{{shown}}}")
            drawn.append(
                f'<text x="{_n(x)}" y="{_n(y)}" opacity="0" '
                f'class="{self.name}s" style="animation-name:{label}">{escape(line)}</text>'
            )
        self.keyframes.append(
            f"@keyframes {self.name}e{{0%{{opacity:0}}{self._at(self.sown)},to{{opacity:1}}}}"
        )
        return (
            f'<g font-size="{_n(LINE)}" font-weight="700" fill="var(--m-ink)">{"".join(drawn)}</g>'
            f'<g class="{self.name}s" style="animation-name:{self.name}e">{end}</g>'
        )


def _n2(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _last_of(heap: Sequence[int | None], number: int) -> list[int]:
    """Return the places of the last `number` seeds of a heap, last first."""
    taken = [place for place in range(len(heap)) if heap[place] is not None]
    return taken[::-1][: max(0, number)]


def _first_free(heap: list[int | None]) -> int:
    for place, seed in enumerate(heap):
        if seed is None:
            return place
    heap.append(None)
    return len(heap) - 1
