"""Widgets of the program in the terminal: the board, the status line and the help screen."""

from collections.abc import Iterator
from itertools import groupby
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.content import Content
from textual.events import Click, MouseMove
from textual.message import Message
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Static

from mancala_env.games.position import Position
from mancala_env.render.colours import PALETTES, Palette
from mancala_env.terminal.board_drawing import BoardLayout, BoardView, Cell, draw

_LEAST_STATUS = len("▼ South to move")

HELP = """\
[b]Sow[/b]      click a hole, or press its number (0, - and = are 10, 11 and 12);
         or go to it with the arrow keys and press Enter
[b]u[/b]        take back your last turn
[b]h[/b]        a hint: what perfect play does, or a quick search
[b]v[/b]        values: where each turn leads with best play, as your lead in
         seeds at the end of the round; ★ is the best
[b]Space[/b]    pause or resume the seeds; [b].[/b] moves one seed
[b]Esc[/b]      skip to the end of the turn
[b]g[/b]        begin the next round, as Enter does
[b]+ _[/b]      faster, slower
[b]w[/b]        write the game into a file of records
[b]c[/b]        light or dark
[b]q[/b]        quit

▼ and double lines are South's, ▲ and heavy lines North's. A hole in
brackets may be sown. Broken lines: where the last turn began and ended."""


def theme(name: str) -> Theme:
    """Return the theme "light" or "dark", in the colours of the pictures."""
    palette = PALETTES[name]
    return Theme(
        name=f"mancala-{name}",
        dark=name == "dark",
        primary=palette["south"],
        secondary=palette["north"],
        accent=palette["mark"],
        success=palette["best"],
        foreground=palette["ink"],
        background=palette["paper"],
        surface=palette["paper"],
        panel=palette["board"],
    )


class Board(Widget):
    """The board; posts a message when a hole is clicked or pointed at."""

    class Clicked(Message):
        """A hole was clicked."""

        def __init__(self, hole: int) -> None:
            super().__init__()
            self.hole = hole

    class Pointed(Clicked):
        """The mouse is over a hole."""

    def __init__(self, position: Position) -> None:
        super().__init__(id="board")
        self.ruleset = position.ruleset
        self.view = BoardView(position.state)

    def show(self, view: BoardView) -> None:
        """Show another view."""
        self.view = view
        self.refresh()

    def render(self) -> Text:
        palette = PALETTES["dark" if self.app.current_theme.dark else "light"]
        rows = draw(self.ruleset, self.view, *self.size).rows
        lines = [
            Text.assemble(
                *(
                    ("".join(cell.letter for cell in cells), _style(palette, *looks))
                    for looks, cells in groupby(_with_inked_spaces(row), key=lambda cell: cell[1:])
                )
            )
            for row in rows
        ]
        return Text("\n").join(lines)

    def _post(self, kind: type[Clicked], x: int, y: int) -> None:
        hole = BoardLayout(self.ruleset, *self.size).hole_at(x, y)
        if hole >= 0:
            self.post_message(kind(hole))

    def on_click(self, event: Click) -> None:
        """Post the hole that was clicked."""
        self._post(self.Clicked, event.x, event.y)

    def on_mouse_move(self, event: MouseMove) -> None:
        """Post the hole under the mouse."""
        self._post(self.Pointed, event.x, event.y)


def _style(palette: Palette, ink: str, ground: str, bold: bool, reverse: bool, underline: bool) -> Style:
    return Style(color=palette[ink], bgcolor=palette[ground], bold=bold, reverse=reverse, underline=underline)


def _with_inked_spaces(row: list[Cell]) -> Iterator[Cell]:
    """Yield the cells of a row; spaces take the style of the cell before them, which gives fewer segments."""
    before = None
    for cell in row:
        is_plain = cell.letter == " " and not (cell.reverse or cell.underline)
        if is_plain and before and before.ground == cell.ground and not (before.reverse or before.underline):
            cell = before if before.letter == " " else Cell(" ", before.ink, before.ground, before.bold)
        before = cell
        yield cell


class Status(Widget):
    """The status line, with the counts if there is room for both."""

    what, counts = reactive(""), reactive("")

    def render(self) -> Content:
        width = self.size.width
        room = width - len(self.counts) - 1
        if room < _LEAST_STATUS:
            return Content(self.what[:width])
        return Content(f"{self.what[:room]:<{room}} {self.counts}")


class Help(ModalScreen[None]):
    """The help screen: the keys and what they do."""

    BINDINGS: ClassVar = [Binding("escape,enter,q,question_mark,space", "app.pop_screen", "Close")]

    def compose(self) -> Iterator[Widget]:
        yield Static(HELP, id="help")

    def on_click(self) -> None:
        """Close the help screen."""
        self.app.pop_screen()
