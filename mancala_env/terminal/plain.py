"""A game as lines of text: for pipes, simple terminals and screen readers."""

from collections.abc import Callable, Iterable
from typing import TextIO

from mancala_env.engine.state import PLAYERS
from mancala_env.errors import printable
from mancala_env.games.notation import turn_text
from mancala_env.games.position import Position
from mancala_env.render.motion import in_words
from mancala_env.terminal.game import InteractiveGame, end_in_words, saved_in_words, undone_in_words
from mancala_env.terminal.hints import Analyst

HELP = (
    "A number or a turn, such as 3 or S3: sow that hole.",
    "board: draw the board. where, or p: describe the board in words.",
    "undo: take your last turn back. hint: suggest a turn. values: your final lead after each turn with best "
    "play.",
    "save FILE: append the game to a file of game records. help: show this text. quit: stop.",
)
_SHORT = {name[0]: name for name in ("board", "where", "undo", "hint", "values", "quit")}
_SHORT |= {"p": "where", "?": "help"}


class PlainPlay:
    """A game controlled by lines of input and described by lines of output."""

    def __init__(
        self, game: InteractiveGame, lines: Iterable[str], output: TextIO, values_seconds: float = 10.0
    ) -> None:
        """Set up the commands; the solver has `values_seconds` per position."""
        self.game = game
        self._lines = iter(lines)
        self._output = output
        self._analyst = Analyst(game.ruleset, values_seconds)
        self._commands: dict[str, Callable[[str], None]] = {
            "board": lambda _: self._say(str(game.position)),
            "where": lambda _: self._say(game.position.scene().description),
            "undo": lambda _: self._say(undone_in_words(game.undo())),
            "hint": lambda _: self._hint(game.position),
            "values": lambda _: self._values(game.position),
            "save": self._save,
            "help": lambda _: self._say(*HELP),
        }

    def run(self) -> None:
        """Play until the game is over or the input ends."""
        self._say(f"{self.game.title}.")
        if self.game.has_human:
            self._say("Type a hole, or type help.")
        is_board_known = False
        while not self.game.is_over:
            agent = self.game.agent_to_move
            if agent is not None:
                self._play(agent.choose(self.game.position))
                is_board_known = False
                continue
            if not is_board_known:
                self._say(self.game.position.scene().description)
            self._say(f"{PLAYERS[self.game.position.player]}, your turn:")
            words = printable(next(self._lines, "quit").strip())
            if _SHORT.get(words.lower(), words.lower()) == "quit":
                break
            is_board_known = not self._obey(words)
        self._say(self.game.result())

    def _say(self, *lines: str) -> None:
        for line in lines:
            print(line, file=self._output, flush=True)

    def _obey(self, words: str) -> bool:
        """Execute a line of input; return whether the position has changed."""
        name, _, rest = words.partition(" ")
        command = self._commands.get(_SHORT.get(name.lower(), name.lower()))
        before = len(self.game.steps)
        if command is not None:
            command(rest.strip())
        elif words:
            self._sow(words)
        return len(self.game.steps) != before

    def _sow(self, words: str) -> None:
        position = self.game.position
        action = action_of(position, words)
        if action is None:
            self._say(f"{words!r} is neither a hole nor a command. {HELP[0]} help lists the commands.")
        elif why := position.why_illegal(action):
            legal = ", ".join(turn_text(position.player, each) for each in position.legal_actions)
            self._say(f"You cannot sow {turn_text(position.player, action)}: {why}. Legal: {legal}.")
        else:
            self._play(action)

    def _play(self, action: int) -> None:
        """Play a turn, and describe it and the end of the round."""
        step = self.game.play(action)
        timeline = self.game.timelines[-1]
        said = [f"{step.number}. {step.turn}.", *in_words(self.game.ruleset, timeline)]
        if timeline.events[-1].kind == "next":
            said.pop()  # the description of the board names the next player
        if step.after.is_over:
            said.append(end_in_words(step))
        if step.following.round != step.after.round:
            said.append(f"Round {step.following.round} begins.")
        self._say(*said)

    def _hint(self, position: Position) -> None:
        action, why = self._analyst.hint(position)
        self._say(f"Hint: {turn_text(position.player, action)}. {why}")

    def _values(self, position: Position) -> None:
        found = self._analyst.solve(position)
        self._say(str(found))
        for action, lead in found.leads.items():
            self._say(f"{turn_text(position.player, action)}: {lead:+d}")

    def _save(self, path: str) -> None:
        self._say(saved_in_words(self.game, path) if path else "Name a file, for example: save games.txt")


def action_of(position: Position, words: str) -> int | None:
    """Parse "3", "S3" or "s3" as an action of the player to move; return None for other texts."""
    text = words.upper().removeprefix("SN"[position.player])
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= position.ruleset.num_holes:
        return None
    return int(text) - 1
