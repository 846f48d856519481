"""The board drawn in character cells, as large as the terminal allows. Drawing itself needs no terminal.

:class:`BoardLayout` places the holes in a given number of columns and rows. :func:`draw` fills a
:class:`Canvas` with characters and the roles of their colours (:mod:`mancala_env.render.colours`). All
information is also visible without colour:

| hole | marked by |
|---|---|
| legal | brackets around its name; an underline on a narrow board |
| owned by South | double lines and a triangle that points down |
| owned by North | heavy lines and a triangle that points up |
| first or last hole of the last turn | broken lines |

Symbols: W row width, H = 2W holes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mancala_env.engine.coordinates import square_of
from mancala_env.engine.state import NO_PLAYER, NORTH, PLAYERS, SOUTH, State
from mancala_env.render.motion import turn_name
from mancala_env.render.scene import MAX_SEEDS_DRAWN, OWNED_WORDS, ROLES
from mancala_env.rulesets import Ruleset

SEED = "●"
TRAY = 12
"""Width of a store beside the board, in columns."""
MOST_COLUMNS = 11
"""Maximum width of a hole, in columns."""
_GAP = 2
_LINES = {"free": "╭─╮│╰╯", "last": "╭╌╮┆╰╯", SOUTH: "╔═╗║╚╝", NORTH: "┏━┓┃┗┛"}
_TRIANGLES = "▼▲"


class Cell(NamedTuple):
    """A character of the canvas with the roles of its colours and its style."""

    letter: str = " "
    ink: str = "ink"
    ground: str = "board"
    bold: bool = False
    reverse: bool = False
    underline: bool = False


class Canvas:
    """A rectangle of cells; `rows` has them row by row."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.rows = [[Cell(ground="paper")] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, ink: str = "ink", ground: str = "", **looks: bool) -> None:
        """Write a text from column x of row y; parts outside the canvas are cut off."""
        for i, letter in enumerate(text, x):
            if 0 <= i < self.width and 0 <= y < self.height:
                self.rows[y][i] = Cell(letter, ink, ground or self.rows[y][i].ground, **looks)

    def centre(self, x: int, y: int, width: int, text: str, ink: str = "ink", **looks: bool) -> None:
        """Write a text in the middle of `width` columns."""
        self.put(x + (width - len(text)) // 2, y, text, ink, "", **looks)

    def fill(self, x: int, y: int, width: int, height: int, ground: str) -> None:
        """Fill a rectangle with a background colour."""
        for row in range(y, y + height):
            self.put(x, row, " " * width, "ink", ground)

    def box(self, x: int, y: int, width: int, height: int, lines: str, ink: str, bold: bool) -> None:
        """Draw a frame with the corner and line characters of `lines`."""
        left_top, across, right_top, down, left_bottom, right_bottom = lines
        self.put(x, y, left_top + across * (width - 2) + right_top, ink, bold=bold)
        self.put(x, y + height - 1, left_bottom + across * (width - 2) + right_bottom, ink, bold=bold)
        for row in range(y + 1, y + height - 1):
            self.put(x, row, down, ink, bold=bold)
            self.put(x + width - 1, row, down, ink, bold=bold)

    def __str__(self) -> str:
        return "\n".join("".join(cell.letter for cell in row).rstrip() for row in self.rows)


@dataclass(frozen=True)
class BoardView:
    """The contents of a drawn board: a position (B = 1) and its markings.

    `cursor` is the hole that Enter sows, `last` the first and last hole of the last turn. `hand` is the hole
    being sown, and the number of seeds still in hand. A seed has just fallen into `falling`. -1: none.
    `badges` has a short text for holes, and whether it is highlighted; drawn towards the board's middle.
    """

    state: State
    legal: tuple[int, ...] = ()
    cursor: int = -1
    last: tuple[int, ...] = ()
    hand: tuple[int, int] | None = None
    falling: int = -1
    badges: Mapping[int, tuple[str, bool]] = field(default_factory=dict)


class BoardLayout:
    """The places of holes and stores in a given number of columns and rows.

    Attributes:
        has_trays: Whether the stores are drawn beside the board; otherwise as lines above and below it.
        is_tall: Whether seeds are drawn in the holes; otherwise only their number is drawn.
        columns: Width of a hole with its frame, in columns.
    """

    def __init__(self, ruleset: Ruleset, width: int, height: int) -> None:
        """Compute the layout of a ruleset's board for `width` columns and `height` rows."""
        self.ruleset = ruleset
        self._squares = [square_of(ruleset, hole) for hole in range(ruleset.num_holes)]
        holes = ruleset.row_width
        self.has_trays = width >= 2 * (TRAY + 2) + 6 * holes
        room = width - (2 * (TRAY + 2) if self.has_trays else 2)
        self._pitch = max(4, min(MOST_COLUMNS + 2, room // holes))
        # An odd width has a middle column and leaves a gap between two holes.
        self.columns = self._pitch if self._pitch < 7 else min(MOST_COLUMNS, self._pitch - 1 | 1)
        self.is_tall = height >= 16 and self.columns >= 6
        self.rows = 5 if self.is_tall else 3
        lines = 2 * (self.rows + 1) + _GAP + (0 if self.has_trays else 2)
        self.pad = 1 if height >= lines + 2 else 0
        self.board_width = holes * self._pitch + (2 * (TRAY + 2) if self.has_trays else 2)
        self.board_height = lines + 2 * self.pad
        self.left = max(0, (width - self.board_width) // 2)
        self.top = max(0, (height - self.board_height) // 2)

    def corner(self, hole: int) -> tuple[int, int]:
        """Return the upper left corner of a hole's frame as (column, row)."""
        row, column = self._squares[hole]
        x = self.left + (TRAY + 2 if self.has_trays else 1) + column * self._pitch
        x += (self._pitch - self.columns) // 2
        y = self.top + self.pad + (0 if self.has_trays else 1) + 1
        return x, y + row * (self.rows + _GAP)

    def is_upper(self, hole: int) -> bool:
        """Return whether a hole is drawn in the upper row."""
        return self._squares[hole][0] == 0

    def label(self, hole: int) -> tuple[int, int]:
        """Return the left end of a hole's name as (column, row)."""
        x, y = self.corner(hole)
        return x, y - 1 if self.is_upper(hole) else y + self.rows

    def badge(self, hole: int) -> tuple[int, int]:
        """Return the left end of a hole's badge as (column, row)."""
        x, y = self.corner(hole)
        return x, y + self.rows if self.is_upper(hole) else y - 1

    def hole_at(self, x: int, y: int) -> int:
        """Return the hole at column x and row y, its name included; -1 outside of holes."""
        for hole in range(self.ruleset.num_holes):
            left, top = self.corner(hole)
            above = 1 if self.is_upper(hole) else 0
            if left <= x < left + self.columns and top - above <= y < top + self.rows + 1 - above:
                return hole
        return -1

    def tray(self, player: int) -> tuple[int, int]:
        """Return the upper left corner of a player's store, at the end of their row in sowing direction."""
        at_right = (player == SOUTH) == (self.ruleset.direction == "anticlockwise")
        x = self.left + (self.board_width - TRAY - 1 if at_right else 1)
        return x, self.top + self.pad


def draw(ruleset: Ruleset, view: BoardView, width: int, height: int) -> Canvas:
    """Draw a board in at least 4W + 2 columns and 12 rows; a smaller canvas shows a part."""
    plan = BoardLayout(ruleset, width, height)
    canvas = Canvas(width, height)
    canvas.fill(plan.left, plan.top, plan.board_width, plan.board_height, "board")
    draw_store = _draw_tray if plan.has_trays else _draw_store_line
    for player in (NORTH, SOUTH):
        draw_store(canvas, plan, player, int(view.state.stores[0, player]))
    for hole in range(ruleset.num_holes):
        _draw_hole(canvas, plan, view, hole)
        _draw_label(canvas, plan, view, hole)
    for hole, (text, stands_out) in view.badges.items():
        ink = "best" if stands_out else "ink"
        canvas.put(*plan.badge(hole), text.center(plan.columns)[: plan.columns], ink, bold=stands_out)
    if view.hand is not None:
        hole, seeds = view.hand
        word = " in hand" if plan.columns >= 10 else " left" if plan.columns >= 7 else ""
        held = f"{seeds}{word}"
        canvas.put(*plan.badge(hole), f"{held:^{plan.columns}}", "mark", bold=True)
    return canvas


def _draw_hole(canvas: Canvas, plan: BoardLayout, view: BoardView, hole: int) -> None:
    owner, seeds = int(view.state.owner[0, hole]), int(view.state.seeds[0, hole])
    x, y = plan.corner(hole)
    is_moving = hole == view.falling or (view.hand is not None and hole == view.hand[0])
    lines, ink = (_LINES["last"], "mark") if hole in view.last else (_LINES["free"], "hole_edge")
    if hole in view.legal:
        ink = ROLES[int(view.state.player[0])]
    if owner != NO_PLAYER:
        lines, ink = _LINES[owner], ROLES[owner]
    if is_moving:
        ink = "mark"
    rim = 1 if plan.is_tall else 0
    canvas.fill(x + rim, y + rim, plan.columns - 2 * rim, plan.rows - 2 * rim, "hole")
    canvas.box(x, y, plan.columns, plan.rows, lines, ink, is_moving or hole == view.cursor)
    row = y + 1
    if plan.is_tall:
        _draw_seeds(canvas, x + 1, y + 1, plan.columns - 2, seeds)
        row = y if plan.is_upper(hole) else y + plan.rows - 1
    number = f"{seeds:^3}" if plan.columns > 4 else f"{seeds:>2}"
    ink = "mark" if is_moving else "ink" if seeds else "faint"
    canvas.centre(x, row, plan.columns, number, ink, bold=bool(seeds))


# Places (row, column) of seeds in a hole in the order they fill, by the width of its grid of three rows.
_PLACES = {
    2: ((1, 0), (1, 1), (0, 1), (2, 0), (0, 0), (2, 1)),
    3: ((1, 1), (0, 2), (2, 0), (0, 0), (2, 2), (1, 0), (1, 2), (0, 1), (2, 1)),
    4: ((1, 1), (1, 2), (0, 0), (2, 3), (0, 3), (2, 0), (0, 1), (2, 2), (0, 2), (2, 1), (1, 0), (1, 3)),
}


def _draw_seeds(canvas: Canvas, x: int, y: int, width: int, seeds: int) -> None:
    """Draw seeds in fixed places, so that remaining seeds do not move."""
    columns = max(2, min(4, (width + 1) // 2))
    left = x + (width - (2 * columns - 1)) // 2
    for row, column in _PLACES[columns][: min(seeds, MAX_SEEDS_DRAWN)]:
        canvas.put(left + 2 * column, y + row, SEED, "seed")


def _draw_label(canvas: Canvas, plan: BoardLayout, view: BoardView, hole: int) -> None:
    x, y = plan.label(hole)
    owner, sower = int(view.state.owner[0, hole]), int(view.state.territory[0, hole])
    if owner != NO_PLAYER:
        word = _TRIANGLES[owner] + OWNED_WORDS[plan.ruleset.landing]
        word = word if len(word) <= plan.columns else _TRIANGLES[owner]
        canvas.put(x, y, f"{word:^{plan.columns}}", ROLES[owner], bold=True)
        return
    name = turn_name(plan.ruleset, sower, hole)
    is_lit, has_room = hole in view.legal, len(name) + 2 < plan.columns
    looks = {"bold": is_lit, "reverse": hole == view.cursor, "underline": is_lit and not has_room}
    name = f"[{name}]" if is_lit and has_room else name
    canvas.centre(x, y, plan.columns, name, ROLES[sower] if is_lit else "faint", **looks)


def _draw_tray(canvas: Canvas, plan: BoardLayout, player: int, stored: int) -> None:
    x, y = plan.tray(player)
    height = plan.board_height - 2 * plan.pad
    canvas.fill(x + 1, y + 1, TRAY - 2, height - 2, "hole")
    canvas.box(x, y, TRAY, height, _LINES["free"], "hole_edge", False)
    canvas.centre(x, y, TRAY, f" {_TRIANGLES[player]} {PLAYERS[player]} ", ROLES[player], bold=True)
    canvas.centre(x, y + height - 1, TRAY, f" {stored} ", bold=True)
    in_row = (TRAY - 2) // 2
    for place in range(min(stored, in_row * (height - 2))):
        row, column = divmod(place, in_row)
        canvas.put(x + 2 + 2 * column, y + height - 2 - row, SEED, "seed")


def _draw_store_line(canvas: Canvas, plan: BoardLayout, player: int, stored: int) -> None:
    y = plan.top + plan.pad if player == NORTH else plan.top + plan.board_height - 1 - plan.pad
    text = f"{_TRIANGLES[player]} {PLAYERS[player]}'s store: {stored}"
    canvas.put(plan.left + 2, y, text, ROLES[player], bold=True)
