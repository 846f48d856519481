"""The picture of a position as plain shapes, from which every format is drawn.

:func:`describe` turns a position into shapes at the places of a :class:`Layout`. Formats draw shapes, and do
not depend on the rules. A hole shows up to 12 seeds in fixed places, so that seeds do not jump. Lengths are
in pixels at scale 1. The y axis points down. A State is one position here: B = 1.

Symbols: W row width, H = 2W holes.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np

from mancala_env.engine.coordinates import square_of
from mancala_env.engine.state import END_REASONS, NO_PLAYER, NORTH, PLAYERS, RUNNING, SOUTH, State
from mancala_env.render.motion import turn_name
from mancala_env.rulesets import Ruleset

MAX_SEEDS_DRAWN = 12
"""Most seeds that are drawn in a hole."""
OWNED_WORDS = {"uur": "uur", "pair": "captured", "weg": "weg"}
_OWNED_BY = {"uur": "uur of", "pair": "captured by", "weg": "weg of"}
"""Word for an owned hole, by the rule option `landing`."""
ROLES = ("south", "north")

CELL, HOLE, SEED = 92.0, 38.0, 7.0
"""Width of a cell, radius of a hole, radius of a seed."""
TRAY, MARGIN, SPACE = 96.0, 14.0, 10.0
HEADER, FOOTER, GAP = 46.0, 46.0, 64.0
LABEL, NUMBER_HEIGHT, STRIP = 24.0, 35.0, 7.0
"""Sizes of trays, of the spaces around and between rows, and of the strip above or below a row."""
TITLE, NUMBER, LINE, WORD = 22.0, 28.0, 22.0, 19.0
"""Font sizes of the title, numbers of seeds, the line under the board, and other texts."""
TRAY_COLUMNS, TRAY_PITCH = 5, 15.0
"""Seeds in a row of a tray, and the distance between them."""
LETTER = 0.56
"""Approximate width of a letter, relative to the font size."""


class Disc(NamedTuple):
    """A circle: centre, radius, colours by role ("" for none) and line width."""

    x: float
    y: float
    r: float
    fill: str = ""
    stroke: str = ""
    line: float = 0.0
    dashed: bool = False
    name: str = ""


class Box(NamedTuple):
    """A rectangle with rounded corners: upper left corner, size and radius."""

    x: float
    y: float
    width: float
    height: float
    r: float = 0.0
    fill: str = ""
    stroke: str = ""
    line: float = 0.0
    name: str = ""


class Outline(NamedTuple):
    """A polygon, or an open line if `fill` is empty and `closed` is False."""

    points: tuple[tuple[float, float], ...]
    fill: str = ""
    stroke: str = ""
    line: float = 0.0
    closed: bool = True
    name: str = ""


class Words(NamedTuple):
    """A text with its baseline at y; `anchor` is "start", "middle" or "end"."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: str = "middle"
    bold: bool = False
    name: str = ""


Shape = Disc | Box | Outline | Words


class Scene(NamedTuple):
    """A picture, with a short title, and a full description for screen readers.

    The shapes are in drawing order. Those without a name come first; they are the board, which does not
    change during a round. Sizes are in units.
    """

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str
    description: str


class Layout:
    """Coordinates of the board of a ruleset, and the width and height of its picture."""

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        self._squares = [square_of(ruleset, hole) for hole in range(ruleset.num_holes)]
        self._left = MARGIN + TRAY + SPACE
        self.width = 2 * self._left + CELL * ruleset.row_width
        outer = STRIP + LABEL + NUMBER_HEIGHT
        self._tops = (HEADER + outer + HOLE, HEADER + outer + 3 * HOLE + GAP)
        self.height = HEADER + 2 * outer + 4 * HOLE + GAP + FOOTER
        self.footer = self.height - 16  # baseline of the line under the board
        self.board = Box(MARGIN, HEADER, self.width - 2 * MARGIN, self.height - HEADER - FOOTER, 18, "board")

    def hole(self, hole: int) -> tuple[float, float]:
        """Return the centre of a hole."""
        row, column = self._squares[hole]
        return self._left + CELL * (column + 0.5), self._tops[row]

    def outward(self, hole: int) -> int:
        """Return -1 for holes of the upper row and 1 for the lower row, the direction of their numbers."""
        return 1 if self._squares[hole][0] else -1

    def seed(self, hole: int, place: int) -> tuple[float, float]:
        """Return the position of a seed in a hole; from place 12 on, seeds overlap."""
        x, y = self.hole(hole)
        dx, dy = PLACES[place % MAX_SEEDS_DRAWN]
        return x + dx, y + dy

    def tray(self, player: int) -> Box:
        """Return the box of a player's store: at their right if sowing is anticlockwise."""
        at_right = (player == SOUTH) == (self.ruleset.direction == "anticlockwise")
        x = self.width - MARGIN - TRAY if at_right else MARGIN
        return Box(x + 8, HEADER + 10, TRAY - 16, self.board.height - 20, 14, "hole", "hole_edge", 1.5)

    def tray_seed(self, player: int, place: int) -> tuple[float, float]:
        """Return the position of a seed in a store; seeds overlap when the store is full."""
        tray = self.tray(player)
        rows = int((tray.height - 84) // TRAY_PITCH)
        column, row = place % TRAY_COLUMNS, (place // TRAY_COLUMNS) % rows
        left = tray.x + (tray.width - TRAY_PITCH * (TRAY_COLUMNS - 1)) / 2
        return left + TRAY_PITCH * column, tray.y + tray.height - 15 - TRAY_PITCH * row

    def tray_number(self, player: int) -> tuple[float, float]:
        """Return the position of the number of a store."""
        tray = self.tray(player)
        return tray.x + tray.width / 2, tray.y + 58

    def number(self, hole: int) -> tuple[float, float]:
        """Return the position of the number of a hole (its baseline)."""
        x, y = self.hole(hole)
        return x, y + (HOLE + 30 if self.outward(hole) > 0 else -HOLE - 11)

    def label(self, hole: int) -> tuple[float, float]:
        """Return the position of the label of a hole: its turn, or the word for an owned hole."""
        x, y = self.hole(hole)
        return x, y + (HOLE + NUMBER_HEIGHT + 18 if self.outward(hole) > 0 else -HOLE - NUMBER_HEIGHT - 6)

    def value(self, hole: int) -> tuple[float, float]:
        """Return the centre of the badge with a hole's value, on the inner side of the hole."""
        x, y = self.hole(hole)
        return x, y - self.outward(hole) * (HOLE + 17)

    def strip(self, hole: int) -> tuple[float, float, float]:
        """Return the left end, width and upper edge of the strip that shows the territory of a hole."""
        x, _ = self.hole(hole)
        top = HEADER + 2 if self.outward(hole) < 0 else HEADER + self.board.height - STRIP
        return x - CELL / 2 + 5, CELL - 10, top


PLACES = tuple(
    (radius * cos(angle), radius * sin(angle))
    for radius, count, turned in ((11.0, 4, 0.25), (27.0, 8, 0.125))
    for angle in (2 * pi * (i * (3 if count == 8 else 1) / count + turned) for i in range(count))
)
"""Places `(x, y)` of the seeds of a hole, relative to its centre, in the order in which they are filled."""


layout_of = lru_cache(maxsize=64)(Layout)


def describe(
    ruleset: Ruleset,
    state: State,
    *,
    legal: Sequence[int] = (),
    last: Sequence[int] = (),
    values: Mapping[int, float | str] | None = None,
    arrows: Sequence[tuple[int, int]] = (),
    hand: tuple[int, int] | None = None,
    caption: str | None = None,
) -> Scene:
    """Describe a position as shapes; :meth:`mancala_env.Position.to_svg` has most arguments.

    `legal` are the holes that the player to move may sow from. `values` are by hole. `hand` is a hole from
    which a player sows, and the number of seeds still in hand.
    """
    layout = layout_of(ruleset)
    seeds, owner, territory = (field[0].tolist() for field in (state.seeds, state.owner, state.territory))
    title = f"{ruleset.title}, round {state.round[0]}"
    status = status_of(ruleset, state)
    shapes: list[Shape] = [Box(0, 0, layout.width, layout.height, 0, "paper"), layout.board]
    for player in (NORTH, SOUTH):
        shapes += _tray(layout, player)
    for hole in range(ruleset.num_holes):
        shapes += _strip(layout, hole, territory[hole])
    written = shortened(title, layout.width - 2 * MARGIN, TITLE)
    shapes.append(Words(MARGIN + 4, 32, written, TITLE, "ink", "start", True, "title"))
    for player in (NORTH, SOUTH):
        shapes += _store(layout, player, int(state.stores[0, player]))
    for hole in range(ruleset.num_holes):
        shapes += _hole(layout, hole, owner[hole], state.player[0] if hole in legal else NO_PLAYER)
        shapes += _seeds(layout, hole, seeds[hole])
        shapes += _label(layout, hole, owner[hole], territory[hole])
    for hole in last:
        shapes.append(Disc(*layout.hole(hole), HOLE + 5, "", "mark", 2.2, True, name="last"))
    if hand is not None:
        shapes += _hand(layout, *hand)
    for start, end in arrows:
        shapes += _arrow(layout, start, end)
    shapes += _badges(layout, values or {})
    shapes += _footer(layout, state, status if caption is None else caption)
    description = in_words(ruleset, state, legal)
    return Scene(layout.width, layout.height, tuple(shapes), f"{title}: {status}", description)


def status_of(ruleset: Ruleset, state: State) -> str:
    """Return the player to move, or the outcome of the round, in words."""
    if state.end[0] == RUNNING:
        return f"{PLAYERS[state.player[0]]} to move"
    south, north = _counts(state)
    won = "Draw" if south == north else f"{PLAYERS[int(north > south)]} won"
    reason = {"stuck": "stuck", "stall": "stalled", "endless": "endless relay"}[END_REASONS[state.end[0]]]
    return f"{won} {max(south, north)}-{min(south, north)} ({reason})"


def in_words(ruleset: Ruleset, state: State, legal: Sequence[int] = ()) -> str:
    """Describe everything that a picture of a position shows, in sentences."""
    seeds, owner, territory = state.seeds[0], state.owner[0], state.territory[0]
    sentences = [f"{status_of(ruleset, state)}."]
    for player in (SOUTH, NORTH):
        holes = []
        for hole in range(player * ruleset.row_width, (player + 1) * ruleset.row_width):
            words = str(seeds[hole])
            if owner[hole] != NO_PLAYER:
                words += f" ({_OWNED_BY[ruleset.landing]} {PLAYERS[owner[hole]]})"
            elif territory[hole] != player:
                words += f" ({PLAYERS[territory[hole]]}'s territory)"
            holes.append(words)
        sentences.append(f"{PLAYERS[player]}'s row in sowing order: {', '.join(holes)}.")
    sentences.append(f"Stores: South {state.stores[0, SOUTH]}, North {state.stores[0, NORTH]}.")
    if legal:
        names = ", ".join(turn_name(ruleset, int(state.player[0]), hole) for hole in legal)
        sentences.append(f"Legal: {names}.")
    return " ".join(sentences)


def _counts(state: State) -> tuple[int, int]:
    """Return the count of each player: store, owned holes, free seeds in their territory."""
    player_of = np.where(state.owner == NO_PLAYER, state.territory, state.owner)
    south = int(state.stores[0, SOUTH] + state.seeds[player_of == SOUTH].sum())
    return south, int(state.seeds.sum() + state.stores.sum()) - south


def _tray(layout: Layout, player: int) -> Iterator[Shape]:
    tray = layout.tray(player)
    yield tray
    yield Words(tray.x + tray.width / 2, tray.y + 26, PLAYERS[player], WORD, ROLES[player], bold=True)


def _store(layout: Layout, player: int, stored: int) -> Iterator[Shape]:
    x, y = layout.tray_number(player)
    yield Words(x, y, str(stored), NUMBER, "ink", bold=True, name=f"store-{player}")
    for place in range(stored):
        yield Disc(*layout.tray_seed(player, place), SEED, "seed", "seed_edge", 1, name="seed")


def _strip(layout: Layout, hole: int, sower: int) -> Iterator[Shape]:
    """Draw the territory of a hole: one bar for South, two for North."""
    x, width, y = layout.strip(hole)
    if sower == SOUTH:
        yield Box(x, y, width, STRIP - 2, 2, "south")
    else:
        for left in (x, x + width / 2 + 4):
            yield Box(left, y, width / 2 - 4, STRIP - 2, 2, "north")


def _hole(layout: Layout, hole: int, owner: int, lit_for: int) -> Iterator[Shape]:
    x, y = layout.hole(hole)
    if owner == SOUTH:
        yield Box(x - 43, y - 43, 86, 86, 9, "hole", "south", 4, name=f"owned-{hole}")
    elif owner == NORTH:
        corners = tuple((x + dx, y + dy) for dx, dy in _OCTAGON)
        yield Outline(corners, "hole", "north", 4, name=f"owned-{hole}")
    stroke, line = (ROLES[lit_for], 4.5) if lit_for != NO_PLAYER else ("hole_edge", 1.5)
    yield Disc(x, y, HOLE, "hole", stroke, line, name=f"hole-{hole}")


_OCTAGON = ((-23, -43), (23, -43), (43, -23), (43, 23), (23, 43), (-23, 43), (-43, 23), (-43, -23))


def _seeds(layout: Layout, hole: int, seeds: int) -> Iterator[Shape]:
    for place in range(min(seeds, MAX_SEEDS_DRAWN)):
        yield Disc(*layout.seed(hole, place), SEED, "seed", "seed_edge", 1, name="seed")
    role = "ink" if seeds else "faint"
    yield Words(*layout.number(hole), str(seeds), NUMBER, role, bold=True, name=f"number-{hole}")


def _label(layout: Layout, hole: int, owner: int, sower: int) -> Iterator[Shape]:
    """Draw the label of a hole: its turn, or its word and a triangle to its owner."""
    x, y = layout.label(hole)
    if owner == NO_PLAYER:
        yield Words(x, y, turn_name(layout.ruleset, sower, hole), WORD, "faint", name=f"label-{hole}")
        return
    word = OWNED_WORDS[layout.ruleset.landing]
    size = min(WORD, (CELL - 20) / (len(word) * LETTER))
    left = x - len(word) * size * LETTER / 2 - 4
    yield Words(x + 7, y, word, size, ROLES[owner], bold=True, name=f"label-{hole}")
    yield _triangle(left - 5, y - 6, 6, owner, name=f"label-{hole}")


def _triangle(x: float, y: float, r: float, player: int, name: str = "") -> Outline:
    """Return a triangle that points down to South or up to North."""
    tip = r if player == SOUTH else -r
    return Outline(((x, y + tip), (x - r, y - tip), (x + r, y - tip)), ROLES[player], name=name)


def _footer(layout: Layout, state: State, caption: str) -> Iterator[Shape]:
    """Draw the line under the board: score, mark of the player to move, and caption."""
    south, north = _counts(state)
    score = f"South {south} : {north} North" if layout.ruleset.row_width > 3 else f"{south} : {north}"
    yield Words(layout.width - MARGIN - 4, layout.footer, score, WORD, "faint", "end", name="score")
    room = layout.width - 2 * MARGIN - 36 - len(score) * WORD * LETTER
    if state.end[0] == RUNNING:
        yield _triangle(MARGIN + 12, layout.footer - 7.5, 8, int(state.player[0]), "turn")
    else:
        yield Box(MARGIN + 5, layout.footer - 15, 15, 15, 2, "faint", name="turn")
    line = shortened(caption, room, LINE)
    yield Words(MARGIN + 26, layout.footer, line, LINE, "ink", "start", True, "caption")


def _hand(layout: Layout, hole: int, seeds: int) -> Iterator[Shape]:
    x, y = layout.hole(hole)
    yield Disc(x, y, HOLE + 5, "", "mark", 3.5, name="hand")
    if seeds:
        yield from _badge(layout, hole, f"{seeds} in hand", "mark")


def _badges(layout: Layout, values: Mapping[int, float | str]) -> Iterator[Shape]:
    numbers = [value for value in values.values() if not isinstance(value, str)]
    best = max(numbers, default=None)
    for hole, value in values.items():
        is_best = not isinstance(value, str) and value == best and len(numbers) > 1
        yield from _badge(layout, hole, value_text(value), "best" if is_best else "ink", is_best)


def _badge(layout: Layout, hole: int, text: str, role: str, is_best: bool = False) -> Iterator[Shape]:
    x, y = layout.value(hole)
    width = max(38.0, len(text) * WORD * LETTER + 14)
    yield Box(x - width / 2, y - 14, width, 28, 14, "badge", role, 3 if is_best else 1.2, name="value")
    yield Words(x, y + 6.5, text, WORD, role, bold=is_best, name="value")


def value_text(value: float | str) -> str:
    """Write a value: whole numbers with a sign, others with two decimals, words unchanged."""
    if isinstance(value, str):
        return value
    if float(value).is_integer():
        return "0" if value == 0 else f"{int(value):+d}"
    return f"{value:z.2f}"


def _arrow(layout: Layout, start: int, end: int) -> Iterator[Shape]:
    (x0, y0), (x1, y1) = layout.hole(start), layout.hole(end)
    length = max(1.0, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    tip = (x1 - 6 * dx, y1 - 6 * dy)
    neck = (tip[0] - 16 * dx, tip[1] - 16 * dy)
    shaft = ((x0 + 10 * dx, y0 + 10 * dy), neck)
    side = (-8 * dy, 8 * dx)
    head = (tip, (neck[0] + side[0], neck[1] + side[1]), (neck[0] - side[0], neck[1] - side[1]))
    # The outline comes first, so that the arrow is visible over seeds.
    yield Outline(shaft, "", "badge", 9, False, name="arrow")
    yield Outline(head, "badge", "badge", 4, name="arrow")
    yield Outline(shaft, "", "mark", 5, False, name="arrow")
    yield Outline(head, "mark", name="arrow")


def shortened(text: str, room: float, size: float) -> str:
    """Return a text that fits into a room at a font size, both in units of the drawing; "..." ends it."""
    letters = max(4, int(room / (size * LETTER)))
    return text if len(text) <= letters else text[: letters - 3].rstrip() + "..."
