"""Game records: games as text files, as PGN is to chess; docs/records.md has the grammar.

>>> from mancala_env import records
>>> record = records.GameRecord("leyla", [(0, 3), (1, 0)], south="greedy", north="random")
>>> lines = record.to_text().splitlines()
>>> lines[0], lines[2], lines[-1]
('[Ruleset "leyla"]', '[South "greedy"]', '1. S4 N1')
>>> records.GameRecord.from_text(record.to_text()) == record
True

Nothing in a record is taken on trust: reading one plays it with the engine, and the first thing that does
not fit raises an :class:`InvalidRecord` that names file, game, turn, what was written and what would be
legal. Between rounds the rules leave nothing to chance, so the turns are all there is to a match.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import date as calendar_date
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from mancala_env._util.checks import several, truth, whole
from mancala_env._util.files import written_whole
from mancala_env.engine.episode import SEEDS, EpisodeSettings, Rounds, encode_rounds, end_of_round
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import NORTH, SOUTH, encode, load, save
from mancala_env.errors import (
    IllegalMove,
    InvalidArgument,
    InvalidPosition,
    InvalidRuleset,
    MancalaError,
    printable,
)
from mancala_env.games.notation import LETTERS, turn_text, words_of
from mancala_env.games.position import PLAYERS, Position, Turn
from mancala_env.rulesets import Ruleset, lookup, names

MAX_TURNS = 1_000_000
"""Most turns of a game: 1,000 rounds of 1,000 turns. What is longer, in any of these ways, is refused."""
MAX_LINE = 100_000
"""Most characters of a line of a file."""
MAX_TEXT = 10_000
"""Most characters of a comment, and of the value of a header."""
MAX_COMMENTS = 10_000_000
"""Most characters of all comments of a game."""
# Where a file of games begins, whatever empty lines an editor left before it.
_HEAD = 1 << 12
MAX_HEADERS = 100
"""Most headers of a game."""

TURNS_A_LINE = 10
RESIGNED = "resigned"

_KNOWN = ("Ruleset", "Dials", "Title", "Region", "Source", "South", "North", "Rounds", "Seed", "Opening",
          "Start", "Date", "Result", "End")  # fmt: skip
_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,39}", re.ASCII)
_HEADER = re.compile(r'\[(\w{1,40})\s+"((?:[^"\\]|\\.)*)"\]\s*', re.ASCII)
_TOKEN = re.compile(r"\s*(?:(\{)|Round\s+(\d{1,9}):|(\d{1,9})\.|([^\s{]+))", re.ASCII)
_TURN = re.compile(r"([SN])([1-9]\d{0,3})", re.ASCII)
_ESCAPED = re.compile(r"\\(.)")
_VALUES = re.compile(r"\[%values((?: [SN]\d{1,2}=[-+]?\d{1,9}(?:\.\d{1,9})?)*)\]", re.ASCII)


class InvalidRecord(MancalaError):
    """A text that is no game record, or a record in which something does not fit the rules."""


class RecordedTurn(NamedTuple):
    """A turn as it stands in a record.

    Attributes:
        player: Who played it, 0 South or 1 North.
        action: The hole they chose, seen from them.
        comment: What was written behind it.
    """

    player: int
    action: int
    comment: str = ""

    @property
    def values(self) -> dict[int, float]:
        """The values in the comment, action -> seeds for the player; see :func:`values_comment`."""
        found = _VALUES.search(self.comment)
        pairs = (word[1:].partition("=") for word in found[1].split()) if found else ()
        return {int(hole) - 1: float(value) for hole, _, value in pairs}

    def __str__(self) -> str:
        return turn_text(self.player, self.action)


def values_comment(player: int, values: Mapping[int, float], text: str = "") -> str:
    """Write the values of actions as the comment of the turn that was chosen among them.

    >>> values_comment(0, {0: -4, 2: 6}, "what the solver says")
    '[%values S1=-4 S3=+6] what the solver says'

    Args:
        player: Who chose.
        values: Action -> value for that player, in seeds (or a share; up to four decimals are kept).
        text: What else to say.
    """
    words = (f"{turn_text(player, action)}={_signed(value)}" for action, value in values.items())
    return f"[%values {' '.join(words)}] {text}".rstrip()


def _signed(value: float) -> str:
    return f"{value:+z.4f}".rstrip("0").rstrip(".")


class Step(NamedTuple):
    """A turn of a record, played.

    Attributes:
        number: Number of the turn in its game, from 1.
        turn: The turn as recorded.
        did: What it did.
        before: The position it was played in.
        after: The position as it left it; its round may be over.
        following: The position the game goes on from: `after`, or the first of the next round. At the end of
            the game, the one it ended in.
    """

    number: int
    turn: RecordedTurn
    did: Turn
    before: Position
    after: Position
    following: Position


class Outcome(NamedTuple):
    """How a record ends.

    Attributes:
        is_over: Whether the game is over, by the rules, by its limit on rounds, or because a player resigned.
        winner: 0 South or 1 North; None for a draw and while the game is not over.
        margin: Seeds South leads by at the end (RULES 5.4), negative: North leads; None while the rules have
            not ended the game.
        end: Why the last round was over: "stuck", "stall", "endless"; "resigned"; "" while it is not over.
        turns: Turns played.
        rounds: Number of the last round.
    """

    is_over: bool
    winner: int | None
    margin: int | None
    end: str
    turns: int
    rounds: int

    def __str__(self) -> str:
        """The outcome as the header Result has it: "South by 12", "draw", "North", "*"."""
        if not self.is_over:
            return "*"
        if self.margin is None:
            assert self.winner is not None
            return PLAYERS[self.winner]
        return "draw" if self.winner is None else f"{PLAYERS[self.winner]} by {abs(self.margin)}"


@kernel
def _end_of_round(rules, settings, games):
    """Set up what follows a finished round in row 0; returns whether the game is over, and South's lead."""
    game, is_over, _, south = end_of_round(rules, settings, load(games, 0))
    save(games, 0, game)
    return is_over, south


class Replay:
    """A game as it is played from its start: the position, and what follows the end of a round.

    Attributes:
        position: Where the game stands: a position to move in, or the one it ended in.
        turns: Turns played.
        is_over: Whether it is over, by the rules or its limit on rounds.
        margin: Seeds South leads by at the end; None while the game runs.
    """

    def __init__(self, start: Position, rounds: Rounds = 1) -> None:
        """Begin at a position, to play up to a round by its number, or a match.

        Raises:
            InvalidPosition: Seeds are missing, with which a next round would be set up.
        """
        self._rules = encode(start.ruleset)
        self._settings = EpisodeSettings(rounds=encode_rounds(rounds), reward=SEEDS)
        missing = start.ruleset.total_seeds - sum(start.counts)
        goes_on = rounds == "match" or rounds > start.round
        if missing and goes_on and start.ruleset.match != "single":
            raise InvalidPosition(
                f"{missing} of {start.ruleset.total_seeds} seeds are missing at the start, so no next round "
                "can be set up; put them in stores, or record one round"
            )
        self.turns = 0
        self.is_over = False
        self.margin: int | None = None
        self.position = start.copy()
        self._go_on()

    def play(self, turn: RecordedTurn) -> Step:
        """Play a turn.

        Raises:
            InvalidRecord: It does not fit; the message says why, and what would be legal. Nothing changed.
        """
        before = self.position
        if self.is_over:
            raise InvalidRecord(f"{turn} cannot be played: the game is over ({before.end})")
        legal = f"legal: {_legal_turns(before)}"
        if turn.player != before.player:
            raise InvalidRecord(f"{turn} cannot be played: {PLAYERS[before.player]} is to move; {legal}")
        after = before.copy()
        try:
            did = after.play(turn.action)
        except IllegalMove:
            raise InvalidRecord(
                f"{turn} cannot be played: {before.why_illegal(turn.action)}; {legal}"
            ) from None
        self.turns += 1
        self.position = after.copy()  # a caller may play on in what they are given
        self._go_on()
        return Step(self.turns, turn, did, before, after, self.position.copy() if after.is_over else after)

    def _go_on(self) -> None:
        if not self.position.is_over:
            return
        games = self.position.games
        self.is_over, margin = _end_of_round(self._rules, self._settings, games)
        if self.is_over:
            self.margin = int(margin)
        self.position = Position.from_games(self.position.ruleset, games)


def _legal_turns(position: Position) -> str:
    return " ".join(turn_text(position.player, action) for action in position.legal_actions)


@dataclass(frozen=True, init=False)
class GameRecord:
    """One recorded game: a round, several, or a match.

    What is given is checked for its form; whether the turns fit is found out by playing them: :meth:`verify`,
    and whatever else plays the game (:meth:`replay`, :meth:`positions`, :meth:`to_text`).

    Attributes:
        ruleset: The ruleset; a name is looked up.
        turns: The turns.
        south: Who played South: a spec, a name; "" where that is not known.
        north: Who played North.
        rounds: The round the game goes up to, or "match".
        start: The position it starts from as text; "" for the start of the ruleset with South to begin. A
            Position may be given.
        seed: Seed of the game, whatever that means to the program that played it.
        opening: In words, where the start position is from.
        date: Day it was played, "2026-11-22"; "" where that is not known.
        resigned: The player who gave up, 0 or 1; None: nobody did.
        comment: What was written before the first turn.
        headers: More headers, such as {"Event": "..."}.
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
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)  # a dict has none

    def __init__(
        self,
        ruleset: str | Ruleset,
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
            InvalidRecord: An argument is no such thing; the message names it.
            InvalidArgument: `turns` are not several, `headers` are no dictionary, a number is out of range.
            InvalidRuleset: No such ruleset.
            InvalidPosition: `start` is no position of the ruleset.
        """
        given = dict(locals())
        given["ruleset"] = lookup(ruleset)
        turns = several("turns", turns, "players and actions, such as [(0, 3)]")
        given["turns"] = tuple(_turn(turn) for turn in turns)
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
        if self.resigned not in (None, SOUTH, NORTH):
            raise InvalidRecord(f"resigned must be 0 (South), 1 (North) or None, not {self.resigned!r}")
        if len(self.turns) > MAX_TURNS:
            raise InvalidRecord(f"a game has at most {MAX_TURNS:,} turns, not {len(self.turns):,}")
        if len(self.headers) > MAX_HEADERS - len(_KNOWN):
            raise InvalidRecord(f"at most {MAX_HEADERS - len(_KNOWN)} more headers, not {len(self.headers)}")
        for name, value in self.headers.items():
            if name in _KNOWN or not isinstance(name, str) or not _NAME.fullmatch(name):
                raise InvalidRecord(
                    f"a header of your own is a word such as Event, and none of {', '.join(_KNOWN)}; "
                    f"not {name!r}"
                )
            _check_text(name, value)
        for name in ("south", "north", "opening", "comment"):
            _check_text(name, getattr(self, name))
        for word in _WORDS:
            _check_text(f"the ruleset's {word}", getattr(self.ruleset, word), MAX_TEXT // 10)
        for turn in self.turns:
            if turn.comment:
                _check_text("comment", turn.comment)
        if self.date:
            try:
                is_day = (
                    isinstance(self.date, str) and str(calendar_date.fromisoformat(self.date)) == self.date
                )
            except ValueError:
                is_day = False
            if not is_day:
                raise InvalidRecord(f"date must be a day such as 2026-11-22, not {self.date!r}")

    @classmethod
    def from_text(cls, text: str) -> "GameRecord":
        """Read the one game of a text.

        Raises:
            InvalidRecord: The text does not hold one game, or the game does not fit the rules.
        """
        found = parse_games(text)
        if len(found) != 1:
            raise InvalidRecord(f"the text holds {len(found)} games; parse_games reads several")
        return found[0]

    def to_text(self) -> str:
        """Write the game; :meth:`from_text` reads it back.

        Raises:
            InvalidRecord: A turn does not fit the rules.
        """
        game = Replay(self.start_position, self.rounds)
        body = list(self._body(game))
        lines = [*self._header_lines(_outcome(game, self.resigned)), *[""] * bool(body), *body]
        return "\n".join(lines) + "\n"

    def with_turn(self, player: int, action: int, comment: str = "") -> "GameRecord":
        """Return the record with one more turn, which is not looked at yet."""
        return replace(self, turns=(*self.turns, RecordedTurn(int(player), int(action), comment)))

    @property
    def start_position(self) -> Position:
        """The position the game starts from."""
        return Position.from_text(self.start, self.ruleset) if self.start else Position(self.ruleset)

    def replay(self) -> Iterator[Step]:
        """Play the game, and yield what each turn did.

        Raises:
            InvalidRecord: A turn does not fit; the message names its number.
        """
        game = Replay(self.start_position, self.rounds)
        for turn in self.turns:
            yield _played(game, turn)

    def positions(self) -> Iterator[Position]:
        """Yield every position: the start, what each turn left, and what each next round begins with.

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
            InvalidRecord: A turn does not fit; the message names its number, what was written and what would
                be legal. Or a player resigned a game that was over.
        """
        game = Replay(self.start_position, self.rounds)
        for turn in self.turns:
            _played(game, turn)
        return _outcome(game, self.resigned)

    def __str__(self) -> str:
        """The players and how it ended, in one line."""
        outcome = self.verify()
        count = f"{outcome.turns} turn{'s' * (outcome.turns != 1)}"
        count += f", round {outcome.rounds}" * (self.rounds != 1)
        ended = f"{outcome} ({outcome.end})" if outcome.is_over else "not over"
        who = f"{self.south or '?'} (South) - {self.north or '?'} (North)"
        return printable(f"{self.ruleset.name}: {who}, {count}, {ended}")

    def _header_lines(self, outcome: Outcome) -> Iterator[str]:
        yield _header("Ruleset", self.ruleset.name)
        known = _known_as(self.ruleset.name)
        yield _header("Dials", " ".join(dials_of(self.ruleset)))
        for word in ("title", "region", "source"):
            if getattr(self.ruleset, word) != getattr(known, word):
                yield _header(word.title(), getattr(self.ruleset, word))
        yield _header("South", self.south)
        yield _header("North", self.north)
        yield _header("Rounds", str(self.rounds))
        for name, value in (
            ("Seed", "" if self.seed is None else str(self.seed)),
            ("Opening", self.opening),
            ("Start", self.start),
            ("Date", self.date),
        ):
            if value:
                yield _header(name, value)
        for name, value in self.headers.items():
            yield _header(name, value)
        yield _header("Result", str(outcome))
        if outcome.end:
            yield _header("End", outcome.end)

    def _body(self, game: Replay) -> Iterator[str]:
        """Play the turns, and write comment, rounds and turns, line by line."""
        if self.comment:
            yield _comment(self.comment)
        current, line = 0, []
        for number, turn in enumerate(self.turns, 1):
            if self.rounds != 1 and game.position.round != current:
                if line:
                    yield " ".join(line)
                current, line = game.position.round, []
                yield f"Round {current}:"
            line = line or [f"{number}."]
            line.append(str(turn))
            _played(game, turn)
            if turn.comment:
                line.append(_comment(turn.comment))
            if turn.comment or len(line) > TURNS_A_LINE:
                yield " ".join(line)
                line = []
        if line:
            yield " ".join(line)


_WORDS = ("name", "title", "region", "source")


def _played(game: Replay, turn: RecordedTurn) -> Step:
    try:
        return game.play(turn)
    except InvalidRecord as error:
        raise InvalidRecord(f"turn {game.turns + 1}: {error}") from None


def _outcome(game: Replay, resigned: int | None) -> Outcome:
    number = game.position.round
    if resigned is not None:
        if game.is_over:
            raise InvalidRecord(f"{PLAYERS[resigned]} resigned a game that was over ({game.position.end})")
        return Outcome(True, 1 - resigned, None, RESIGNED, game.turns, number)
    if not game.is_over:
        return Outcome(False, None, None, "", game.turns, number)
    assert game.margin is not None
    winner = None if game.margin == 0 else SOUTH if game.margin > 0 else NORTH
    return Outcome(True, winner, game.margin, game.position.end, game.turns, number)


@lru_cache(maxsize=4096)
def _plain_turn(player: int, action: int) -> RecordedTurn:
    """Return a turn without a comment; long games hold each of them once."""
    return RecordedTurn(player, action)


def _turn(turn: Any) -> RecordedTurn:
    try:
        player, action, *comment = turn
        player, action = whole("player", player, SOUTH, NORTH), whole("action", action, 0, 9998)
    except (TypeError, ValueError):
        raise InvalidRecord(f"a turn is a player (0 or 1) and an action from 0, not {turn!r}") from None
    return RecordedTurn(player, action, *comment) if any(comment) else _plain_turn(player, action)


def _start_text(ruleset: Ruleset, start: str | Position) -> str:
    """Return a start position as text, "" for the ruleset's own."""
    if start == "":
        return ""
    position = start if isinstance(start, Position) else Position.from_text(start, ruleset)
    if position.ruleset != ruleset:
        raise InvalidRecord(f"the start is of ruleset {position.ruleset.name!r}, not of {ruleset.name!r}")
    return "" if position == Position(ruleset) else position.to_text()


def _check_text(what: str, text: Any, most: int = MAX_TEXT) -> None:
    if not isinstance(text, str) or not text.isprintable() or len(text) > most:
        shown = repr(text) if len(repr(text)) < 100 else f"{len(text):,} characters"
        raise InvalidRecord(f"{what} must be one line of at most {most:,} printable characters, not {shown}")


def recordable(name: str) -> str:
    r"""Return a player's name as a record can hold it.

    What is not printable is escaped, and a name that is too long ends early.

    >>> recordable("Amina\u00a0Ali")
    'Amina\\xa0Ali'
    """
    return printable(name)[:MAX_TEXT]


def _header(name: str, value: str) -> str:
    return f'[{name} "{_escaped(value, chr(34))}"]'


def _comment(text: str) -> str:
    return "{" + _escaped(text, "}") + "}"


def _escaped(text: str, closing: str) -> str:
    return text.replace("\\", "\\\\").replace(closing, "\\" + closing)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def dials_of(ruleset: Ruleset) -> list[str]:
    """Write every dial of a ruleset as a record and a link have it: `row_width=6`, `captures_last=yes`."""
    return [f"{dial}={_dial_text(value)}" for dial, value in ruleset.dials.items()]


def _dial_text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _known_as(name: str) -> Ruleset:
    """Return what a ruleset of that name is where nothing else is said of it."""
    return lookup(name) if name in names() else Ruleset(name=name)


def _ruleset_of(headers: Mapping[str, str]) -> Ruleset:
    """Return the ruleset that headers describe."""
    name = headers["Ruleset"]
    if name not in names() and "Dials" not in headers:
        return lookup(name)  # says which there are
    given: dict[str, Any] = {
        word.lower(): headers[word] for word in ("Title", "Region", "Source") if word in headers
    }
    kinds = {dial: type(value) for dial, value in Ruleset().dials.items()}
    for word in words_of(headers.get("Dials", "")):
        dial, _, text = word.partition("=")
        if dial not in kinds:
            raise InvalidRuleset(f"{word!r} is no dial; the dials are {', '.join(kinds)}")
        if kinds[dial] is int:
            given[dial] = int(text) if re.fullmatch(r"\d{1,3}", text, re.ASCII) else text
        elif kinds[dial] is bool:
            given[dial] = {"yes": True, "no": False}.get(text, text)
        else:
            given[dial] = text
    return replace(_known_as(name), **given)


# Reading


def read_games(path: str | Path) -> Iterator[GameRecord]:
    """Read the games of a file one by one, and check each by playing it.

    Memory stays small however large the file is.

    Args:
        path: A text file in UTF-8.

    Raises:
        InvalidRecord: Something does not fit. The message names the file, the game, the turn, what was
            written and what would be legal; the games before it have been yielded.
        InvalidArgument: It is a folder.
        OSError: The file cannot be read.
    """
    _check_file(path)
    # Universal newlines, and a byte order mark that some editors leave.
    with Path(path).open(encoding="utf-8-sig") as file:
        try:
            yield from _games(_lines(file), str(path))
        except UnicodeDecodeError:
            raise InvalidRecord(f"{printable(str(path))}: not a text in UTF-8, so no file of games") from None


def parse_games(text: str, name: str = "") -> list[GameRecord]:
    """Read the games of a text; see :func:`read_games`.

    Args:
        text: No, one or many games.
        name: What messages call the text.

    Raises:
        InvalidRecord: Something does not fit; see :func:`read_games`.
        InvalidArgument: It is no text.
    """
    if not isinstance(text, str):
        raise InvalidArgument(
            f"games are read from a text, not from {type(text).__name__}; read_games reads a file"
        )
    return list(_games(iter(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))), name))


def games_text(games: Iterable[GameRecord]) -> str:
    """Write games as one text, with an empty line between two.

    Raises:
        InvalidRecord: A turn of a game does not fit; the message names game and turn.
        InvalidArgument: One is no game.
    """
    return "\n".join(_texts(games))


def write_games(path: str | Path, games: Iterable[GameRecord], *, append: bool = False) -> int:
    """Write games into a file, and return how many.

    Args:
        path: The file; in UTF-8.
        games: The games; they may come from the file itself.
        append: Whether to add them at the end of the file; otherwise they replace it, all at once.

    Raises:
        InvalidRecord: A turn of a game does not fit; the message names game and turn. A file that was to be
            replaced is as it was; one that was appended to has got the games before it. Or `append` is asked
            of a file that holds something else, or ends in half a game.
        InvalidArgument: `append` is neither True nor False, the file is a folder, or what is written no game.
        OSError: The file cannot be written; it holds no half of a game.
    """
    if truth("append", append):
        check_appendable(path)
        with Path(path).open("a+b", buffering=0) as file, _locked(file):
            return _append(file, games, _last_byte(file))
    _check_file(path)
    path = Path(path)
    if path.exists() and not path.is_file():  # a pipe, or the terminal
        with path.open("wb", buffering=0) as file:
            return _append(file, games)
    with written_whole(path) as file:
        return _append(file, games)


def check_appendable(path: str | Path) -> None:
    """Check that games can be added to a file, which is made where there is none.

    Raises:
        InvalidRecord: It is a file of something else, or breaks off within a game; it is left as it is.
        InvalidArgument: It is a folder, or nothing: a variable of a shell that is not set.
        OSError: The file cannot be written.
    """
    _check_file(path)
    with Path(path).open("a+b") as file:
        file.seek(0)
        begins = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
        has_open_end = _last_byte(file) not in (b"", b"\n")
    if begins and not begins.startswith(b"["):
        raise InvalidRecord(
            f"{printable(str(path))} is no file of games, which begins with [Ruleset; name another file"
        )
    if has_open_end:  # somebody's editor, or what wrote there was killed: then the last game says so
        for _ in read_games(path):
            pass


def _check_file(path: str | Path) -> None:
    if not str(path).strip() or Path(path).is_dir():
        raise InvalidArgument(f"games are kept in a file, such as games.txt, not in {str(path)!r}")


def _last_byte(file: IO[bytes]) -> bytes:
    """Return what a file ends in, and stand at its end; empty where it is."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    return file.read(1)


@contextmanager
def _locked(file: IO[bytes]) -> Iterator[None]:
    """Keep other programs from appending meanwhile: half a game is cut off, and nothing of theirs."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed
    except (ImportError, OSError):  # Windows, and file systems without locks
        pass
    yield


def _append(file: IO[bytes], games: Iterable[GameRecord], ends_in: bytes = b"") -> int:
    """Write games at the end of a file, each whole or not at all if it is unbuffered; return how many."""
    written = 0
    for text in _texts(games):
        gap = {b"": "", b"\n": "\n"}.get(ends_in, "\n\n")  # an empty line between two games
        rest = memoryview((gap + text).encode())
        before = file.tell() if file.seekable() else None
        try:
            while rest:
                rest = rest[file.write(rest) :]
        except BaseException:
            if before is not None:
                file.truncate(before)
            raise
        ends_in = b"\n"
        written += 1
    return written


def _texts(games: Iterable[GameRecord]) -> Iterator[str]:
    if not isinstance(games, Iterable):
        raise InvalidArgument(
            f"games must be several GameRecords, such as [record], not {type(games).__name__}"
        )
    for number, game in enumerate(games, 1):
        if not isinstance(game, GameRecord):
            raise InvalidArgument(f"game {number} must be a GameRecord, not {type(game).__name__}")
        try:
            text = game.to_text()
        except InvalidRecord as error:
            raise InvalidRecord(f"game {number}, {error}") from None
        yield text


def _lines(file: Any) -> Iterator[str]:
    while line := file.readline(MAX_LINE + 1):
        yield line.removesuffix("\n")


def _games(lines: Iterator[str], name: str) -> Iterator[GameRecord]:
    """Yield the games of some lines."""
    game = _Reader()
    number = 0
    try:
        for line in lines:
            number += 1
            if len(line) > MAX_LINE:
                raise InvalidRecord(f"a line has at most {MAX_LINE:,} characters")
            if game.is_begun_by(line):
                if game.headers:
                    yield game.finished()
                game = _Reader(game.number + 1)
            game.take(line)
        if game.headers:
            yield game.finished()
    except MancalaError as error:
        where = [printable(name)] * bool(name) + [f"line {number}"] + game.where()
        raise InvalidRecord(f"{', '.join(where)}: {printable(str(error))}") from None


class _Reader:
    """A game that is being read, line by line."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.headers: dict[str, str] = {}
        self._turns: list[RecordedTurn] = []
        self._game: Replay | None = None
        self._record: GameRecord | None = None
        self._open: str | None = None  # the comment that has begun, while its end has not come
        self._first_comment = ""
        self._in_comments = 0
        self._is_at_turn = False
        self._last_round = 0  # that of the turn that was played last

    def where(self) -> list[str]:
        """Say how far it has been read, for a message."""
        turn = [f"turn {self._game.turns + 1}"] if self._game and self._is_at_turn else []
        return [f"game {self.number}"] * bool(self.number) + turn

    def is_begun_by(self, line: str) -> bool:
        """Tell whether a line is the first of another game."""
        return self._open is None and line.startswith("[Ruleset ")

    def take(self, line: str) -> None:
        """Read a line."""
        if self._open is None and line.startswith("["):
            self._take_header(line)
            return
        at: int | None = 0
        while at is not None:
            at = self._take_word(line, at) if self._open is None else self._take_comment(line, at)

    def _take_header(self, line: str) -> None:
        found = _HEADER.fullmatch(line)
        if not found:
            raise InvalidRecord(f'{_short(line)} is no header; the form is [Name "text"]')
        name, value = found[1], _unescaped(found[2])
        if not _NAME.fullmatch(name):
            raise InvalidRecord(f"{name!r} is no name of a header: a word such as Event")
        if not self.headers and name != "Ruleset":
            raise InvalidRecord(f'a game begins with [Ruleset "..."], not with {_short(line)}')
        if self._game is not None:
            raise InvalidRecord(f"header {name} comes after the turns; a new game begins with Ruleset")
        if name in self.headers:
            raise InvalidRecord(f"header {name} is there twice")
        if len(self.headers) == MAX_HEADERS:
            raise InvalidRecord(f"a game has at most {MAX_HEADERS} headers")
        _check_text(f"header {name}", value)
        self.headers[name] = value

    def _begin(self) -> Replay:
        """Read the headers, once they are all there, and set up the start."""
        if self._game is None or self._record is None:
            if not self.headers:
                raise InvalidRecord('a game begins with [Ruleset "..."]')
            self._record = _record_of(self.headers)
            self._game = Replay(self._record.start_position, self._record.rounds)
        return self._game

    def _take_word(self, line: str, at: int) -> int | None:
        """Read the word that comes next, and return where it ends; None where none comes."""
        found = _TOKEN.match(line, at)
        if not found:
            return None
        game = self._begin()
        brace, round_number, number, word = found.groups()
        if brace:
            self._open = ""
        elif round_number:
            self._check_round(game, int(round_number))
        elif number:
            if int(number) != game.turns + 1:
                raise InvalidRecord(f"turn {game.turns + 1} comes next, not turn {number}")
        else:
            self._take_turn(game, word)
        return found.end()

    def _take_turn(self, game: Replay, word: str) -> None:
        self._is_at_turn = True
        if game.turns == MAX_TURNS:
            raise InvalidRecord(f"a game has at most {MAX_TURNS:,} turns")
        found = _TURN.fullmatch(word)
        if not found:
            legal = _legal_turns(game.position) or "none"
            raise InvalidRecord(f"{_short(word)} is not a turn: S or N and a hole from 1; legal: {legal}")
        turn = _plain_turn(LETTERS.index(found[1]), int(found[2]) - 1)
        self._last_round = game.play(turn).before.round
        self._turns.append(turn)
        self._is_at_turn = False

    def _check_round(self, game: Replay, number: int) -> None:
        current = game.position.round
        if number != current or current == self._last_round:
            raise InvalidRecord(f"round {number} does not begin here: it is round {current}")

    def _take_comment(self, line: str, at: int) -> int | None:
        """Read on in a comment, and return where it ends; None where it goes on in the next line."""
        assert self._open is not None
        end = at
        while end < len(line) and line[end] != "}":
            end += 2 if line[end] == "\\" else 1
        # A new line inside a comment, and whatever else is a kind of space, is a space.
        part = "".join(" " if letter.isspace() else letter for letter in line[at:end])
        self._open = f"{self._open} {part.strip()}".strip() if at == 0 else part
        if len(self._open) > 2 * MAX_TEXT:
            raise InvalidRecord(f"a comment has at most {MAX_TEXT:,} characters")
        if end >= len(line):
            return None
        self._end_comment(_unescaped(self._open))
        return end + 1

    def _end_comment(self, text: str) -> None:
        self._open = None
        self._in_comments += len(text)
        if self._in_comments > MAX_COMMENTS:
            raise InvalidRecord(f"the comments of a game have at most {MAX_COMMENTS:,} characters")
        before = self._turns[-1].comment if self._turns else self._first_comment
        text = f"{before} {text}" if before and text else before or text
        _check_text("comment", text)
        if self._turns:
            self._turns[-1] = self._turns[-1]._replace(comment=text)
        else:
            self._first_comment = text

    def finished(self) -> GameRecord:
        """Return the game, once its last line has been read."""
        if self._open is not None:
            raise InvalidRecord("a comment has no end: } is missing")
        game = self._begin()
        assert self._record is not None
        outcome = _outcome(game, self._record.resigned)
        for name, found in (("Result", str(outcome)), ("End", outcome.end)):
            written = self.headers.get(name, found)
            if written != found:
                raise InvalidRecord(f"header {name} says {written!r}, but the turns end in {found!r}")
        record = replace(self._record, comment=self._first_comment)
        object.__setattr__(record, "turns", tuple(self._turns))  # each has been checked as it was read
        return record


def _record_of(headers: Mapping[str, str]) -> GameRecord:
    """Return a record without turns from its headers."""
    rounds, seed, result = headers.get("Rounds", "1"), headers.get("Seed"), headers.get("Result", "*")
    is_number = re.fullmatch(r"\d{1,4}", rounds, re.ASCII)
    if seed is not None and not re.fullmatch(r"\d{1,1000}", seed, re.ASCII):
        raise InvalidRecord(f"header Seed must be a whole number, not {_short(seed)}")
    resigned = None
    if headers.get("End") == RESIGNED:
        if result not in PLAYERS:
            raise InvalidRecord(
                f"header Result must be South or North where the other resigned, not {_short(result)}"
            )
        resigned = 1 - PLAYERS.index(result)
    return GameRecord(
        _ruleset_of(headers),
        south=headers.get("South", ""),
        north=headers.get("North", ""),
        rounds=int(rounds) if is_number else rounds,  # type: ignore[arg-type]
        start=headers.get("Start", ""),
        seed=None if seed is None else int(seed),
        opening=headers.get("Opening", ""),
        date=headers.get("Date", ""),
        resigned=resigned,
        headers={name: value for name, value in headers.items() if name not in _KNOWN},
    )


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
