"""GameRecord: the ruleset, the turns and the headers of a game, each checked."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date as calendar_date
from typing import Any

from mancala_env._util.checks import is_whole, several, whole
from mancala_env.engine.episode import Rounds, encode_rounds
from mancala_env.engine.state import NORTH, SOUTH
from mancala_env.errors import InvalidArgument, printable
from mancala_env.games.position import Position
from mancala_env.games.records.replay import (
    MAX_TURNS,
    InvalidRecord,
    Outcome,
    RecordedTurn,
    Replay,
    Step,
    turn_without_comment,
)
from mancala_env.rulesets import Ruleset, RulesetLike, lookup

MAX_TEXT = 10_000
"""Most characters of a comment, and of the value of a header."""
MAX_HEADERS = 100
"""Most headers of a game."""

KNOWN_HEADERS = ("Ruleset", "Dials", "Title", "Region", "Source", "South", "North", "Rounds", "Seed",
                 "Opening", "Start", "Date", "Result", "End")  # fmt: skip
HEADER_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,39}", re.ASCII)


@dataclass(frozen=True, init=False)
class GameRecord:
    """One recorded game: a round, several rounds, or a match.

    The constructor checks the form of its arguments. :meth:`verify`, :meth:`replay`, :meth:`positions` and
    :meth:`to_text` play the game, and so check the turns against the rules.

    Attributes:
        ruleset: The ruleset; a name is looked up.
        turns: The turns.
        south: Name or spec of the player South; "" if unknown.
        north: Name or spec of the player North; "" if unknown.
        rounds: Number of the last round to play, or "match".
        start: Start position, as text or as a Position; it is kept as text. "" is the start of the ruleset
            with South to move.
        seed: Random seed of the game. Its meaning is up to the program that played the game.
        opening: Source of the start position, in words.
        date: Day of the game, such as "2026-11-22"; "" if unknown.
        resigned: The player who resigned, 0 or 1; None if neither did.
        comment: Comment before the first turn.
        headers: Other headers, such as {"Event": "..."}.
    """

    ruleset: Ruleset
    turns: tuple[RecordedTurn, ...] = ()
    south: str = ""
    north: str = ""
    rounds: Rounds = 1
    start: str = ""
    seed: int | None = None
    opening: str = ""
    date: str = ""
    resigned: int | None = None
    comment: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)  # a dict has no hash

    def __init__(
        self,
        ruleset: RulesetLike,
        turns: Iterable[RecordedTurn | tuple[int, int] | tuple[int, int, str]] = (),
        south: str = "",
        north: str = "",
        rounds: Rounds = 1,
        start: str | Position = "",
        seed: int | None = None,
        opening: str = "",
        date: str = "",
        resigned: int | None = None,
        comment: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Make a record; the arguments are the attributes.

        Raises:
            InvalidRecord: An argument is invalid; the message names it.
            InvalidArgument: `turns` is not iterable, `headers` is not a mapping, or a number is out of range.
            InvalidRuleset: The ruleset is unknown.
            InvalidPosition: `start` is not a position of the ruleset.
        """
        given = dict(locals())
        given["ruleset"] = lookup(ruleset)
        each = several("turns", turns, "players and actions, such as [(0, 3)]")
        given["turns"] = tuple(map(_recorded_turn, each))
        if not isinstance(headers, Mapping | None):
            raise InvalidArgument(f"headers must be a dictionary of texts, not {headers!r}")
        given["start"] = _start_text(given["ruleset"], start)
        given["headers"] = dict(headers or {})
        for one in fields(self):
            object.__setattr__(self, one.name, given[one.name])
        self._check()

    def _check(self) -> None:
        encode_rounds(self.rounds)
        if self.seed is not None:
            whole("seed", self.seed, 0, 2**128 - 1)
        if self.resigned is not None and not (is_whole(self.resigned) and self.resigned in (SOUTH, NORTH)):
            raise InvalidRecord(f"resigned must be 0 (South), 1 (North) or None, not {self.resigned!r}")
        if len(self.turns) > MAX_TURNS:
            raise InvalidRecord(f"a game has at most {MAX_TURNS:,} turns, not {len(self.turns):,}")
        if len(self.headers) > (most := MAX_HEADERS - len(KNOWN_HEADERS)):
            raise InvalidRecord(f"at most {most} more headers, not {len(self.headers)}")
        for name in self.headers:
            if name in KNOWN_HEADERS or not isinstance(name, str) or not HEADER_NAME.fullmatch(name):
                raise InvalidRecord(
                    f"the name of another header must be a word such as Event, and not one of "
                    f"{', '.join(KNOWN_HEADERS)}; not {name!r}"
                )
        texts = {name: getattr(self, name) for name in ("south", "north", "opening", "comment")}
        for name, value in (texts | dict(self.headers)).items():
            check_text(name, value)
        for word in ("name", "title", "region", "source"):
            check_text(f"the ruleset's {word}", getattr(self.ruleset, word), MAX_TEXT // 10)
        for turn in self.turns:
            if turn.comment:
                check_text("comment", turn.comment)
        if self.date and not _is_day(self.date):
            raise InvalidRecord(f"date must be a day such as 2026-11-22, not {self.date!r}")

    @classmethod
    def from_text(cls, text: str) -> "GameRecord":
        """Read the one game of a text.

        Raises:
            InvalidRecord: The text does not hold one game, or the game does not fit the rules.
        """
        from mancala_env.games.records.reader import parse_games

        found = parse_games(text)
        if len(found) != 1:
            raise InvalidRecord(f"the text holds {len(found)} games; parse_games reads several")
        return found[0]

    def to_text(self) -> str:
        """Write the game; :meth:`from_text` reads it back.

        Raises:
            InvalidRecord: A turn does not fit the rules.
        """
        from mancala_env.games.records.writer import record_text

        return record_text(self)

    def with_turn(self, player: int, action: int, comment: str = "") -> "GameRecord":
        """Return the record with one more turn, which is not checked yet."""
        return replace(self, turns=(*self.turns, (player, action, comment)))

    @property
    def start_position(self) -> Position:
        """The position the game starts from."""
        return Position.from_text(self.start, self.ruleset) if self.start else Position(self.ruleset)

    def replay(self) -> Iterator[Step]:
        """Play the game, and yield a Step for each turn.

        Raises:
            InvalidRecord: A turn does not fit; the message names its number.
        """
        yield from map(Replay(self.start_position, self.rounds).play, self.turns)

    def positions(self) -> Iterator[Position]:
        """Yield every position: the start, the position after each turn, and the start of each later round.

        Raises:
            InvalidRecord: A turn does not fit; the message names its number.
        """
        yield Replay(self.start_position, self.rounds).position
        for step in self.replay():
            yield step.after
            if step.after.is_over and step.following != step.after:
                yield step.following

    def verify(self) -> Outcome:
        """Play the game and return how it ends.

        Raises:
            InvalidRecord: A turn does not fit the rules, or a player resigned after the end of the game. The
                message names the turn's number, the turn and the legal turns.
        """
        game = Replay(self.start_position, self.rounds)
        for turn in self.turns:
            game.play(turn)
        return game.outcome(self.resigned)

    def __str__(self) -> str:
        """Return the players and the outcome in one line."""
        outcome = self.verify()
        count = f"{outcome.turns} turn{'s' * (outcome.turns != 1)}"
        count += f", round {outcome.rounds}" * (self.rounds != 1)
        ended = f"{outcome} ({outcome.end})" if outcome.is_over else "not over"
        who = f"{self.south or '?'} (South) - {self.north or '?'} (North)"
        return printable(f"{self.ruleset.name}: {who}, {count}, {ended}")


def _recorded_turn(turn: Any) -> RecordedTurn:
    try:
        player, action, *rest = turn
        (comment,) = rest or [""]
        player, action = whole("player", player, SOUTH, NORTH), whole("action", action, 0, 9998)
    except (TypeError, ValueError):
        what = "a player (0 or 1), an action from 0 and perhaps a comment"
        raise InvalidRecord(f"a turn is {what}, not {turn!r}") from None
    return RecordedTurn(player, action, comment) if comment else turn_without_comment(player, action)


def _start_text(ruleset: Ruleset, start: str | Position) -> str:
    """Return a start position as text, "" for the start of the ruleset."""
    if start == "":
        return ""
    position = start if isinstance(start, Position) else Position.from_text(start, ruleset)
    if position.ruleset != ruleset:
        raise InvalidRecord(f"the start is of ruleset {position.ruleset.name!r}, not of {ruleset.name!r}")
    return "" if position == Position(ruleset) else position.to_text()


def _is_day(text: Any) -> bool:
    try:
        return str(calendar_date.fromisoformat(text)) == text
    except (TypeError, ValueError):
        return False


def check_text(what: str, text: Any, most: int = MAX_TEXT) -> None:
    """Raise an InvalidRecord if a text is not one line of at most `most` printable characters."""
    if not isinstance(text, str) or not text.isprintable() or len(text) > most:
        shown = repr(text) if len(repr(text)) < 100 else f"{len(text):,} characters"
        raise InvalidRecord(f"{what} must be one line of at most {most:,} printable characters, not {shown}")


def recordable(name: str) -> str:
    r"""Return a player's name in a form that a record accepts.

    Characters that are not printable are escaped, and a long name is cut off.

    >>> recordable("Amina\u00a0Ali")
    'Amina\\xa0Ali'
    """
    return printable(name)[:MAX_TEXT]
