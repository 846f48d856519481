"""The board in the terminal: a Textual program with keys, mouse, animated seeds, values and hints."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.events import Resize
from textual.widgets import Footer, Static

from mancala_env.agents import Agent
from mancala_env.engine.coordinates import action_of, hole_of, square_of
from mancala_env.engine.timeline import Timeline
from mancala_env.games.notation import turn_text
from mancala_env.games.position import Position
from mancala_env.games.records import Step
from mancala_env.render.motion import SEED_SECONDS, caption, ends_of, place_name, steps
from mancala_env.render.motion import Step as Moment
from mancala_env.render.scene import value_text
from mancala_env.terminal.board_drawing import BoardLayout, BoardView
from mancala_env.terminal.game import InteractiveGame, end_in_words, saved_in_words, undone_in_words
from mancala_env.terminal.hints import Analysis, Analyst
from mancala_env.terminal.widgets import Board, Help, Status, theme

TURNS_FROM = 110
"""Minimum width of the terminal, in columns, for the list of turns beside the board."""
_OTHER_ROWS = 5  # above and below the board
_WAIT_SECONDS = 2.0  # between rounds of two agents


class PlayApp(App[None]):
    """A game on a board in the terminal.

    Attributes:
        stage: "choose": a person is to move. "think": an agent is to move. "move": seeds are moving.
            "round": a round is over and the next has not begun. "over": the game is over.
        analyst: Computes values and hints.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "mancala"
    CSS = """
    Screen { background: $background; color: $foreground; layers: base; }
    #title { height: 1; padding: 0 1; text-style: bold; }
    #middle { height: 1fr; }
    #board { width: 1fr; height: 1fr; }
    #side { width: 34; height: 1fr; padding: 1 1 0 1; display: none; background: $background;
            scrollbar-size: 1 1; }
    .wide #side { display: block; }
    #status { height: 1; padding: 0 1; text-style: bold; }
    #said { height: 2; padding: 0 1; }
    Footer { padding: 0 1; }
    Help { align: center middle; }
    #help { width: auto; max-width: 100%; height: auto; max-height: 100%; padding: 1 2; border: round $accent;
            background: $panel; color: $foreground; }
    """
    BINDINGS: ClassVar = [
        Binding("h", "hint", "Hint"),
        Binding("v", "values", "Values"),
        Binding("u", "undo", "Take back"),
        Binding("space", "pause", "Pause"),
        Binding("w", "save", "Save"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
        Binding("full_stop", "one_step", "One seed", show=False),
        Binding("c", "colours", "Light or dark", show=False),
        *(Binding(key, f"sow({(int(key) - 1) % 10})", f"Sow {key}", show=False) for key in "1234567890"),
        Binding("plus", "pace(2)", "Faster", show=False),
        Binding("underscore", "pace(0.5)", "Slower", show=False),
        # On a board with 12 holes per row, also the keys of holes 11 and 12.
        Binding("minus", "sow_or_pace(10, 0.5)", "Slower", show=False),
        Binding("equals_sign", "sow_or_pace(11, 2)", "Faster", show=False),
        Binding("enter", "go_on", "Sow", show=False),
        Binding("g", "next_round", "Next round", show=False),
        Binding("left,up,shift+tab", "cursor(-1)", "Back", show=False),
        Binding("right,down,tab", "cursor(1)", "On", show=False),
        Binding("escape", "skip", "Skip", show=False),
    ]

    def __init__(
        self,
        game: InteractiveGame,
        seed_seconds: float = SEED_SECONDS,
        values_seconds: float = 10.0,
        record: str | None = None,
    ) -> None:
        """Set up the board of a game, which may have begun.

        Without animation, `seed_seconds` is 0. The caller appends the game to the file `record` at the end.
        """
        super().__init__()
        self.game = game
        self.stage = "choose"
        self._seed_seconds = seed_seconds
        self._record = record
        self.analyst = Analyst(game.ruleset, values_seconds, partial(self.call_later, self._take_values))
        self._analysis: Analysis | None = None
        self._has_values = False
        self._hint: int | None = None
        self._cursor = -1
        self._thinking = threading.Lock()  # an agent must not be used from two threads at once
        self._asked = 0  # number of the last request to a thread; results of older requests are dropped
        self._moments: Iterator[Moment] = iter(())
        self._is_paused = False
        self._pace = 1.0
        self._events: asyncio.AbstractEventLoop | None = None
        self._beat = 0  # number of the last timer; older timers are dropped
        for name in ("dark", "light"):
            self.register_theme(theme(name))
        self.theme = "mancala-dark"

    def compose(self) -> ComposeResult:
        yield Static(self.game.title, id="title", markup=False)
        with Horizontal(id="middle"):
            yield Board(self.game.position)
            with VerticalScroll(id="side", can_focus=False):
                yield Static(id="turns", markup=False)
        yield Status(id="status")
        yield Static(id="said", markup=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin the game."""
        self._events = asyncio.get_running_loop()
        if not self.is_headless:
            self.set_interval(1.0, self._end_without_terminal)
        self._go_on()

    def _end_without_terminal(self) -> None:
        """End the program if its terminal is gone; no signal tells it after nohup, which ignores SIGHUP."""
        if sys.__stdin__ is None or not sys.__stdin__.isatty():
            self.exit()

    def end_soon(self) -> None:
        """End the program; signal handlers may call this."""
        if self._events is None:  # the event loop has not started
            raise KeyboardInterrupt
        self._events.call_soon_threadsafe(self.exit)

    def on_resize(self, event: Resize) -> None:
        """Show the list of turns if there is room, and say if there is too little room for the board."""
        # Screen 0 is the game's, also while the help screen covers it.
        screen, is_wide = self.screen_stack[0], event.size.width >= TURNS_FROM
        screen.set_class(is_wide, "wide")
        side = screen.query_one("#side").styles.width
        width = event.size.width - (int(side.value) if is_wide and side else 0)
        height = event.size.height - _OTHER_ROWS
        board = BoardLayout(self.game.ruleset, width, height)
        needed = [f"{board.board_width} columns"] * (board.board_width > width)
        needed += [f"{board.board_height + _OTHER_ROWS} rows"] * (board.board_height > height)
        title = f"Needs {' and '.join(needed)} to show the board" if needed else self.game.title
        screen.query_one("#title", Static).update(title)

    @property
    def _board(self) -> Board:
        return self.query_one("#board", Board)

    def _leave_position(self) -> None:
        """Drop what belongs to the position before, and results of threads that are still to come."""
        self._asked += 1
        self._hint, self._analysis, self._cursor = None, None, -1
        self._say("")

    def _go_on(self) -> None:
        self._leave_position()
        if self.game.is_over:
            self.stage = "over"
            self._say(self.game.result() + " u: take back. w: save. q: quit.")
        elif (agent := self.game.agent_to_move) is not None:
            self.stage = "think"
            self._in_thread(partial(self._choice, agent, self.game.position, self._asked), self._play)
        else:
            self.stage = "choose"
            if not self.game.steps:
                self._say("Choose a hole: click it, or press its number. ? is for help.")
            self._ask_values()
        self._show_turns()
        self._show()

    def _choice(self, agent: Agent, position: Position, asked: int) -> int | None:
        """Return an agent's choice, after that of an older request; None if there was a newer request."""
        with self._thinking:
            return agent.choose(position) if asked == self._asked else None

    def _choose(self, action: int) -> None:
        """Play a person's action, or say why it is illegal."""
        position = self.game.position
        if why := position.why_illegal(action):
            self._say(f"{turn_text(position.player, action)} cannot be sown: {why}.")
        else:
            self._play(action)

    def _play(self, action: int) -> None:
        """Play a turn and start its animation."""
        self._leave_position()
        self.analyst.ask(None)
        step = self.game.play(action)
        self.stage = "move"
        seed_seconds = self._seed_seconds or SEED_SECONDS
        self._moments = iter(steps(step.before.state, self.game.timelines[-1], seed_seconds))
        self._show_turns()
        if self._seed_seconds == 0:
            self._end_of_turn()
        else:
            self._next_moment()

    def _next_moment(self) -> None:
        moment = next(self._moments, None)
        if moment is None:
            return self._end_of_turn()
        event = moment.event
        hand = (moment.source, moment.in_hand) if moment.source >= 0 else None
        falling = event.hole if event.kind in ("drop", "relay", "own") else -1
        self._board.show(BoardView(moment.state, hand=hand, falling=falling))
        self._status(moment.state.player[0], caption(self.game.ruleset, self.game.timelines[-1], moment))
        if not self._is_paused:
            self._after(moment.seconds / self._pace, self._next_moment)

    def _end_of_turn(self) -> None:
        self._stop_clock()
        self._moments = iter(())
        step = self.game.steps[-1]
        if step.following.round == step.after.round:
            return self._go_on()
        self.stage = "round"
        self._say(f"{end_in_words(step)} Enter: the next round.")
        self._show()
        self._go_on_by_itself()

    def _go_on_by_itself(self) -> None:
        """Begin the next round after a pause, if both players are agents."""
        if not self.game.has_human and not self._is_paused:
            self._after(_WAIT_SECONDS, self._go_on)

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        """Call a function after some seconds, unless another timer replaces this one."""
        # Not Textual's timer, which never fires if it is late from the start.
        self._stop_clock()
        beat = self._beat
        asyncio.get_running_loop().call_later(
            seconds, self.call_later, lambda: act() if beat == self._beat else None
        )

    def _stop_clock(self) -> None:
        self._beat += 1

    def _in_thread(self, work: Callable[[], Any], take: Callable[[Any], None]) -> None:
        """Run work in a thread and pass its result to `take`, unless there was a newer request."""
        asked = self._asked

        def run() -> None:
            try:
                found = work()
            except Exception as error:  # raised again in the program's own thread
                self.call_later(self._fail, error)
            else:
                self.call_later(lambda: take(found) if asked == self._asked else None)

        # A daemon thread does not delay the end of the program.
        threading.Thread(target=run, name="mancala-play", daemon=True).start()

    def _fail(self, error: Exception) -> None:
        raise error

    def _show(self) -> None:
        """Show the current position, or the position in which a round ended."""
        position, is_choice = self._shown(), self.stage == "choose"
        has_last = self.game.steps and self.game.steps[-1].after.round == position.round
        view = BoardView(
            position.state,
            legal=position.legal_holes if is_choice else (),
            cursor=self._cursor,
            last=ends_of(self.game.timelines[-1]) if has_last else (),
            badges=self._badges(position) if is_choice else {},
        )
        self._board.show(view)
        self._status(position.player, self._status_of(position))

    def _badges(self, position: Position) -> dict[int, tuple[str, bool]]:
        """Return the text at each hole, and whether it is highlighted: values and a hint."""
        badges: dict[int, tuple[str, bool]] = {} if self._hint is None else {self._hint: ("hint", True)}
        if self._has_values and self._analysis is not None:
            for action, lead in self._analysis.leads.items():
                is_best = action in self._analysis.best
                badges[action] = ("★" * is_best + value_text(lead), is_best)
        return {hole_of(position.ruleset, position.player, action): badge for action, badge in badges.items()}

    def _status_of(self, position: Position) -> str:
        if self.stage == "over":
            return f"The game is over ({self.game.outcome().end})"
        if self.stage == "round":
            return f"Round {position.round} is over ({position.end})"
        who = self.game.player_in_words(position.player)
        return f"{who} is thinking" if self.stage == "think" else f"{who} to move"

    def _status(self, player: int, text: str) -> None:
        shown = self._shown()
        south, north = shown.counts
        mark = "■" if self.stage in ("over", "round") else "▼▲"[player]
        has_rounds = self.game.rounds != 1 and self.stage != "round"
        line = self.query_one("#status", Status)
        line.what = f"{mark} {text}" + f" · round {shown.round}" * has_rounds
        line.counts = f"South {south} : {north} North"

    def _shown(self) -> Position:
        """Return the position on the board; during an animation, the position before the turn."""
        if not self.game.steps or self.stage in ("choose", "think"):
            return self.game.position
        step = self.game.steps[-1]
        return step.before if self.stage == "move" else step.after

    def _show_turns(self) -> None:
        lines, number = [], 0
        for step, timeline in zip(self.game.steps, self.game.timelines, strict=True):
            if self.game.rounds != 1 and step.before.round != number:
                number = step.before.round
                lines.append(f"Round {number}")
            lines.append(_in_short(self.game, step, timeline))
        self.query_one("#turns", Static).update("\n".join(lines or ["No turns yet."]))
        self.query_one("#side", VerticalScroll).scroll_end(animate=False)

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(text)

    def _ask_values(self) -> None:
        if self._has_values and self.stage == "choose":
            self.analyst.ask(self.game.position)

    def _take_values(self, analysis: Analysis) -> None:
        if self._has_values and self.stage == "choose" and analysis.position == self.game.position:
            self._analysis = analysis
            self._say(str(analysis))
            self._show()

    def action_values(self) -> None:
        """Switch values on or off."""
        self._has_values = not self._has_values
        self._analysis = None
        if self._has_values:
            self._say("Values are shown, as far as the solver gets, where you are to move.")
            self._ask_values()
        else:
            self.analyst.ask(None)
            self._say("")
        if self.stage != "move":  # seeds that move stay where they are
            self._show()

    def action_hint(self) -> None:
        """Ask for a hint."""
        position = self.game.position
        if self.stage != "choose":
            self._say("Hints are available when it is your turn.")
        elif self._analysis is not None and self._analysis.best:
            self._take_hint((self._analysis.best[0], str(self._analysis)))
        else:
            self._say("Looking for a hint ...")
            self._in_thread(lambda: self.analyst.hint(position), self._take_hint)

    def _take_hint(self, hint: tuple[int, str]) -> None:
        self._hint, why = hint
        self._say(f"Hint: {turn_text(self.game.position.player, self._hint)}. {why}")
        if self._analysis is None or not self._analysis.is_done:  # the hint has ended the analysis
            self._ask_values()
        self._show()

    def action_sow(self, action: int) -> None:
        """Sow a hole by its number."""
        if self.stage == "choose":
            self._choose(action)

    def action_sow_or_pace(self, action: int, factor: float) -> None:
        """Sow a hole if the player has one of that number; otherwise change the speed."""
        is_hole = action < self.game.ruleset.row_width or action in self.game.position.legal_actions
        if self.stage == "choose" and is_hole:
            self._choose(action)
        else:
            self.action_pace(factor)

    def on_board_clicked(self, clicked: Board.Clicked) -> None:
        """Sow the clicked hole; while seeds move, skip to the end of the turn."""
        if self.stage == "choose":
            self._choose(action_of(self.game.ruleset, self.game.position.player, clicked.hole))
        else:
            self.action_go_on()

    def on_board_pointed(self, pointed: Board.Pointed) -> None:
        """Move the cursor to the hole under the mouse."""
        is_legal = self.stage == "choose" and pointed.hole in self.game.position.legal_holes
        if is_legal and pointed.hole != self._cursor:
            self._cursor = pointed.hole
            self._show()

    def action_cursor(self, by: int) -> None:
        """Move the cursor to the next legal hole, in the order they are drawn."""
        if self.stage != "choose":
            return
        holes = sorted(self.game.position.legal_holes, key=lambda hole: square_of(self.game.ruleset, hole))
        at = holes.index(self._cursor) + by if self._cursor in holes else min(by, 0)
        self._cursor = holes[at % len(holes)]
        self._show()

    def action_go_on(self) -> None:
        """Sow the hole at the cursor, skip to the end of the turn, or begin the next round."""
        if self.stage == "choose" and self._cursor >= 0:
            self._choose(action_of(self.game.ruleset, self.game.position.player, self._cursor))
        elif self.stage == "round":
            self._go_on()
        else:
            self.action_skip()

    def action_next_round(self) -> None:
        """Begin the next round, if a round is over."""
        if self.stage == "round":
            self._go_on()

    def action_skip(self) -> None:
        """Skip to the end of the turn."""
        if self.stage == "move":
            self._is_paused = False
            self._end_of_turn()

    def action_pause(self) -> None:
        """Pause or resume the animation; between rounds, begin the next round if a person plays."""
        if self.stage == "round" and self.game.has_human:
            return self._go_on()
        self._is_paused = not self._is_paused
        self._stop_clock()
        if self.stage == "move" and not self._is_paused:
            self._next_moment()
        elif self.stage == "round":
            self._go_on_by_itself()
        self._say("Paused: . moves one seed, Space resumes." if self._is_paused else "")

    def action_one_step(self) -> None:
        """Move one seed while the animation is paused."""
        if self.stage == "move" and self._is_paused:
            self._next_moment()

    def action_pace(self, factor: float) -> None:
        """Change the speed of the animation."""
        self._pace = min(max(self._pace * factor, 1 / 8), 8.0)

    def action_undo(self) -> None:
        """Take a person's last turn back."""
        self._stop_clock()
        self._moments = iter(())
        count = self.game.undo()
        if count or self.stage == "move":
            self._go_on()
        elif self.stage == "round":
            self._go_on_by_itself()
        self._say(undone_in_words(count))

    def action_save(self) -> None:
        """Append the game to games.txt; with --record, only show the name of its file."""
        if self._record is not None:
            self._say(f"The game is saved in {self._record} when you quit.")
        else:
            self._say(saved_in_words(self.game, "games.txt"))

    def action_colours(self) -> None:
        """Switch between the light and the dark theme."""
        self.theme = "mancala-light" if self.current_theme.dark else "mancala-dark"
        self._board.refresh()

    def action_help(self) -> None:
        """Show the help screen."""
        self.push_screen(Help())


def _in_short(game: InteractiveGame, step: Step, timeline: Timeline) -> str:
    """Return a turn as a line of the list of turns."""
    laps = f"{timeline.laps} lap{'s' * (timeline.laps != 1)}"
    won = [f"+{event.seeds}" for event in timeline.events if event.kind == "store"]
    taken = [place_name(game.ruleset, event.hole) for event in timeline.events if event.kind == "own"]
    marks = [*won, *["takes"] * bool(taken), *taken, *["endless"] * step.did.endless]
    return f"{step.number:>3}. {step.turn!s:<4} {laps:<8} {' '.join(marks)}"
