"""Turns of a record, and the game they are played in: positions, rounds and the outcome."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from mancala_env._util.checks import is_number
from mancala_env.engine.episode import SEEDS, EpisodeSettings, Rounds, encode_rounds, end_of_round
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import NORTH, PLAYERS, SOUTH, encode, load, save
from mancala_env.errors import InvalidArgument, InvalidPosition, MancalaError
from mancala_env.games.notation import turn_text
from mancala_env.games.position import Position, Turn

MAX_TURNS = 1_000_000
"""Most turns of a game: 1,000 rounds of 1,000 turns."""
RESIGNED = "resigned"

_LARGEST_VALUE = 999_999_999
_VALUES = re.compile(r"\[%values((?: [SN][1-9]\d?=[-+]?\d{1,9}(?:\.\d{1,9})?)*)\]", re.ASCII)


class InvalidRecord(MancalaError):
    """A text that is not a game record, or a record that does not fit the rules."""


class RecordedTurn(NamedTuple):
    """A turn of a record.

    Attributes:
        player: The player, 0 South or 1 North.
        action: The hole they chose, seen from them.
        comment: Comment on the turn.
    """

    player: int
    action: int
    comment: str = ""

    @property
    def values(self) -> dict[int, float]:
        """Values of actions in the comment, in seeds for the player; see :func:`values_comment`."""
        found = _VALUES.search(self.comment)
        pairs = (word[1:].partition("=") for word in found[1].split()) if found else ()
        return {int(hole) - 1: float(value) for hole, _, value in pairs}

    def __str__(self) -> str:
        return turn_text(self.player, self.action)


def values_comment(player: int, values: Mapping[int, float], text: str = "") -> str:
    """Write the values of a position's actions as the comment of the chosen turn.

    >>> values_comment(0, {0: -4, 2: 6}, "what the solver says")
    '[%values S1=-4 S3=+6] what the solver says'

    Args:
        player: The player who chose, 0 or 1.
        values: Value of each action for that player, in seeds or as a share; four decimals are kept.
        text: Rest of the comment.

    Raises:
        InvalidArgument: A value is not a number from -999,999,999 to 999,999,999.
    """
    words = ["[%values"]
    for action, value in values.items():
        if not is_number(value) or not abs(value) <= _LARGEST_VALUE:
            raise InvalidArgument(f"values must be numbers of at most {_LARGEST_VALUE:,}, not {value!r}")
        words.append(f"{turn_text(player, action)}=" + f"{value:+z.4f}".rstrip("0").rstrip("."))
    return f"{' '.join(words)}] {text}".rstrip()


class Step(NamedTuple):
    """A turn of a record after it was played.

    Attributes:
        number: Number of the turn in its game, from 1.
        turn: The turn as recorded.
        did: Effect of the turn, such as captures.
        before: Position before the turn.
        after: Position after the turn; its round may be over.
        following: Position from which the game continues: `after`, or the start of the next round. After the
            last turn of the game it is the final position.
    """

    number: int
    turn: RecordedTurn
    did: Turn
    before: Position
    after: Position
    following: Position


class Outcome(NamedTuple):
    """Outcome of a recorded game.

    Attributes:
        is_over: Whether the game is over: by the rules, by its limit on rounds, or because a player resigned.
        winner: 0 South or 1 North; None for a draw, and while the game runs.
        margin: South's lead in seeds at the end (RULES 5.4), negative if North leads; None while the game
            runs and after a resignation.
        end: Reason for the end: "stuck", "stall", "endless" or "resigned"; "" while the game runs.
        turns: Number of turns.
        rounds: Number of the last round.
    """

    is_over: bool
    winner: int | None
    margin: int | None
    end: str
    turns: int
    rounds: int

    def __str__(self) -> str:
        """Return the value of the header Result: "South by 12", "draw", "North" or "*"."""
        if not self.is_over:
            return "*"
        if self.margin is None:
            assert self.winner is not None
            return PLAYERS[self.winner]
        return "draw" if self.winner is None else f"{PLAYERS[self.winner]} by {abs(self.margin)}"


@kernel
def _end_of_round(rules, settings, games):
    """Set up the next round in row 0, unless the game is over; return is_over and South's lead."""
    game, is_over, _, south = end_of_round(rules, settings, load(games, 0))
    save(games, 0, game)
    return is_over, south


class Replay:
    """A game played turn by turn. When a round ends, the next round is set up.

    Attributes:
        position: Current position, or the final one of a game that is over.
        turns: Number of turns played.
        is_over: Whether the game is over, by the rules or by its limit on rounds.
        margin: South's lead in seeds at the end; None while the game runs.
    """

    def __init__(self, start: Position, rounds: Rounds = 1) -> None:
        """Start a game from a position, up to the round of number `rounds`, or a "match".

        Raises:
            InvalidPosition: Seeds are missing, so that no next round can be set up.
        """
        self._rules = encode(start.ruleset)
        self._settings = EpisodeSettings(rounds=encode_rounds(rounds), reward=SEEDS)
        missing = start.ruleset.total_seeds - sum(start.counts)
        has_next_round = rounds == "match" or rounds > start.round
        if missing and has_next_round and start.ruleset.match != "single":
            raise InvalidPosition(
                f"{missing} of {start.ruleset.total_seeds} seeds are missing at the start, so no next round "
                "can be set up; put them in stores, or record one round"
            )
        self.turns = 0
        self.is_over = False
        self.margin: int | None = None
        self.position = start.copy()
        self._advance()

    def play(self, turn: RecordedTurn) -> Step:
        """Play a turn.

        Raises:
            InvalidRecord: The turn is not legal. The message has its number, the reason and the legal turns.
                Nothing has changed.
        """
        before = self.position
        if self.is_over:
            why = f"the game is over ({before.end})"
        elif turn.player != before.player:
            why = f"{PLAYERS[before.player]} is to move; legal: {legal_turns(before)}"
        elif why := before.why_illegal(turn.action):
            why += f"; legal: {legal_turns(before)}"
        if why:
            raise InvalidRecord(f"turn {self.turns + 1}: {turn} cannot be played: {why}")
        after = before.copy()
        did = after.play(turn.action)
        self.turns += 1
        self.position = after.copy()
        self._advance()
        return Step(self.turns, turn, did, before, after, self.position.copy() if after.is_over else after)

    def _advance(self) -> None:
        """Set up the next round, or end the game, if the round is over."""
        if self.position.is_over:
            self.is_over, margin = _end_of_round(self._rules, self._settings, self.position._games)
            self.margin = int(margin) if self.is_over else None

    def outcome(self, resigned: int | None = None) -> Outcome:
        """Return the outcome after the last turn, or after a player (0 or 1) resigned.

        Raises:
            InvalidRecord: A player resigned after the end of the game.
        """
        winner, end = None, ""
        if resigned is not None:
            if self.is_over:
                raise InvalidRecord(
                    f"{PLAYERS[resigned]} resigned a game that was over ({self.position.end})"
                )
            winner, end = 1 - resigned, RESIGNED
        elif self.margin is not None:
            winner = None if self.margin == 0 else SOUTH if self.margin > 0 else NORTH
            end = self.position.end
        return Outcome(end != "", winner, self.margin, end, self.turns, self.position.round)


def legal_turns(position: Position) -> str:
    """Return the legal turns of a position as text, for a message."""
    return " ".join(turn_text(position.player, action) for action in position.legal_actions)


# Equal turns without a comment share one object, which saves memory.
turn_without_comment = lru_cache(maxsize=4096)(RecordedTurn)
