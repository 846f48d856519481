"""Game records from text and from files; each game is checked by playing it."""

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from mancala_env.engine.state import PLAYERS
from mancala_env.errors import InvalidArgument, InvalidRuleset, MancalaError, in_short, printable
from mancala_env.games.notation import LETTERS, words_of
from mancala_env.games.records.model import (
    HEADER_NAME,
    KNOWN_HEADERS,
    MAX_HEADERS,
    MAX_TEXT,
    GameRecord,
    check_text,
)
from mancala_env.games.records.replay import (
    MAX_TURNS,
    RESIGNED,
    InvalidRecord,
    RecordedTurn,
    Replay,
    legal_turns,
    turn_without_comment,
)
from mancala_env.rulesets import Ruleset, named, names

MAX_LINE = 100_000
"""Most characters of a line of a file."""
MAX_COMMENTS = 10_000_000
"""Most characters of all comments of a game."""

_HEADER = re.compile(r'\[(\w{1,40})\s+"((?:[^"\\]|\\.)*)"\]\s*', re.ASCII)
_TOKEN = re.compile(r"\s*(?:(\{)|Round\s+(\d{1,9}):|(\d{1,9})\.|([^\s{]+))", re.ASCII)
_TURN = re.compile(r"([SN])([1-9]\d{0,3})", re.ASCII)
_COMMENT = re.compile(r"(?:[^}\\]|\\.)*\\?")
_ESCAPED = re.compile(r"\\(.)")


def read_games(path: str | Path) -> Iterator[GameRecord]:
    """Read the games of a file one by one, and check each by playing it.

    Only one game is in memory at a time, so the file may be large. Games that are appended meanwhile are not
    read.

    Args:
        path: Path of a text file in UTF-8.

    Raises:
        InvalidRecord: A game does not parse or does not fit the rules. The message names the file, the line,
            the game, the turn, the text found and the legal turns. Earlier games have been yielded.
        InvalidArgument: The path is a folder.
        OSError: The file cannot be read.
    """
    check_file(path)
    # Any kind of newline is accepted, and the byte order mark that some editors write.
    with Path(path).open(encoding="utf-8", newline="") as file:
        try:
            yield from _games(_lines(file), str(path))
        except UnicodeDecodeError:
            raise InvalidRecord(f"{printable(str(path))} is not a text in UTF-8") from None


def parse_games(text: str, name: str = "") -> list[GameRecord]:
    """Read the games of a text; see :func:`read_games`.

    Args:
        text: Any number of games.
        name: Name of the text in messages.

    Raises:
        InvalidRecord: A game does not parse or does not fit the rules; see :func:`read_games`.
        InvalidArgument: `text` is not a str.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"text must be a str, not {type(text).__name__}; read_games reads a file")
    return list(_games(iter(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))), name))


def _lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file without their ends; of a regular file those that it has now."""
    status = os.fstat(file.fileno())
    rest = status.st_size if stat.S_ISREG(status.st_mode) else math.inf
    mark = "\ufeff"
    while rest > 0 and (line := file.readline(MAX_LINE + 1)):
        rest -= len(line.encode())
        yield line.removeprefix(mark).rstrip("\r\n")
        mark = ""


def check_file(path: str | Path) -> None:
    """Raise an InvalidArgument if a path is empty or a folder."""
    if not str(path).strip() or Path(path).is_dir():
        raise InvalidArgument(f"games are kept in a file, such as games.txt, not in {str(path)!r}")


def _games(lines: Iterator[str], name: str) -> Iterator[GameRecord]:
    """Yield the games of some lines."""
    game, number, count = _GameReader(), 0, 0
    try:
        for line in lines:
            number += 1
            if len(line) > MAX_LINE:
                raise InvalidRecord(f"a line has at most {MAX_LINE:,} characters")
            if game.open_comment is None and line.startswith("[Ruleset "):
                if game.headers:
                    yield game.finished()
                game, count = _GameReader(), count + 1
            game.take(line)
        if game.headers:
            yield game.finished()
    except MancalaError as error:
        where = [printable(name)] * bool(name) + [f"line {number}"] + [f"game {count}"] * bool(count)
        # An error of a turn begins with its number.
        before_turn = ", " if game.is_at_turn else ": "
        raise InvalidRecord(f"{', '.join(where)}{before_turn}{printable(str(error))}") from None


class _GameReader:
    """Reader of one game, line by line.

    `open_comment` is the text so far of a comment that is not closed; None outside comments.
    """

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.is_at_turn = False
        self._turns: list[RecordedTurn] = []
        self._game: Replay | None = None
        self._record: GameRecord | None = None
        self.open_comment: str | None = None
        self._first_comment = ""
        self._in_comments = 0
        self._last_round = 0  # round of the last turn

    def take(self, line: str) -> None:
        """Read a line."""
        if self.open_comment is None and line.startswith("["):
            self._take_header(line)
            return
        at: int | None = 0
        while at is not None:
            at = self._take_word(line, at) if self.open_comment is None else self._take_comment(line, at)

    def _take_header(self, line: str) -> None:
        found = _HEADER.fullmatch(line)
        if not found:
            raise InvalidRecord(f'{in_short(line)} is not a header; the form is [Name "text"]')
        name, value = found[1], _unescaped(found[2])
        if not HEADER_NAME.fullmatch(name):
            raise InvalidRecord(f"{name!r} is not a valid name of a header, which is a word such as Event")
        if not self.headers and name != "Ruleset":
            raise InvalidRecord(f'a game begins with [Ruleset "..."], not with {in_short(line)}')
        if self._game is not None:
            raise InvalidRecord(f"header {name} comes after the turns; a new game begins with Ruleset")
        if name in self.headers:
            raise InvalidRecord(f"header {name} is a duplicate")
        if len(self.headers) == MAX_HEADERS:
            raise InvalidRecord(f"a game has at most {MAX_HEADERS} headers")
        check_text(f"header {name}", value)
        self.headers[name] = value

    def _begin(self) -> Replay:
        """Check the headers at the first turn, and set up the start position."""
        if self._game is None:
            if not self.headers:
                raise InvalidRecord('a game begins with [Ruleset "..."]')
            self._record = _record_of(self.headers)
            self._game = Replay(self._record.start_position, self._record.rounds)
        return self._game

    def _take_word(self, line: str, at: int) -> int | None:
        """Read the next word, and return the index of its end; None at the end of the line."""
        found = _TOKEN.match(line, at)
        if not found:
            return None
        game = self._begin()
        brace, round_number, number, word = found.groups()
        if brace:
            self.open_comment = ""
        elif round_number:
            current = game.position.round
            if int(round_number) != current or current == self._last_round:
                raise InvalidRecord(f"round {int(round_number)} does not begin here: it is round {current}")
        elif number:
            if int(number) != game.turns + 1:
                raise InvalidRecord(f"turn {game.turns + 1} comes next, not turn {number}")
        else:
            self._take_turn(game, word)
        return found.end()

    def _take_turn(self, game: Replay, word: str) -> None:
        self.is_at_turn = True
        number = game.turns + 1
        if number > MAX_TURNS:
            raise InvalidRecord(f"turn {number}: a game has at most {MAX_TURNS:,} turns")
        found = _TURN.fullmatch(word)
        if not found:
            legal = legal_turns(game.position) or "none"
            raise InvalidRecord(
                f"turn {number}: {in_short(word)} is not a turn: S or N and a hole from 1; legal: {legal}"
            )
        turn = turn_without_comment(LETTERS.index(found[1]), int(found[2]) - 1)
        self._last_round = game.play(turn).before.round
        self._turns.append(turn)
        self.is_at_turn = False

    def _take_comment(self, line: str, at: int) -> int | None:
        """Read more of a comment, and return the index of its end; None if it has more lines."""
        assert self.open_comment is not None
        end = _COMMENT.match(line, at).end()  # type: ignore[union-attr]
        # Any whitespace in a comment, a newline included, is read as a space.
        part = "".join(" " if letter.isspace() else letter for letter in line[at:end])
        self.open_comment = f"{self.open_comment} {part.strip()}".strip() if at == 0 else part
        if len(self.open_comment) > 2 * MAX_TEXT:
            raise InvalidRecord(f"a comment has at most {MAX_TEXT:,} characters")
        if end >= len(line):
            return None
        text, self.open_comment = _unescaped(self.open_comment), None
        self._in_comments += len(text)
        if self._in_comments > MAX_COMMENTS:
            raise InvalidRecord(f"the comments of a game have at most {MAX_COMMENTS:,} characters")
        before = self._turns[-1].comment if self._turns else self._first_comment
        text = f"{before} {text}" if before and text else before or text
        check_text("comment", text)
        if self._turns:
            self._turns[-1] = self._turns[-1]._replace(comment=text)
        else:
            self._first_comment = text
        return end + 1

    def finished(self) -> GameRecord:
        """Return the game after its last line."""
        if self.open_comment is not None:
            raise InvalidRecord("a comment is not closed: } is missing")
        game = self._begin()
        assert self._record is not None
        outcome = game.outcome(self._record.resigned)
        for name, found in (("Result", str(outcome)), ("End", outcome.end)):
            if (written := self.headers.get(name, found)) != found:
                raise InvalidRecord(f"header {name} says {written!r}, but the turns end in {found!r}")
        record = replace(self._record, comment=self._first_comment)
        object.__setattr__(record, "turns", tuple(self._turns))  # each was checked when it was read
        return record


def _record_of(headers: Mapping[str, str]) -> GameRecord:
    """Return a record without turns from its headers."""
    rounds, seed, result = headers.get("Rounds", "1"), headers.get("Seed"), headers.get("Result", "*")
    is_number = re.fullmatch(r"\d{1,4}", rounds, re.ASCII)
    if seed is not None and not re.fullmatch(r"\d{1,1000}", seed, re.ASCII):
        raise InvalidRecord(f"header Seed must be a whole number, not {in_short(seed)}")
    resigned = None
    if headers.get("End") == RESIGNED:
        if result not in PLAYERS:
            raise InvalidRecord(
                f"header Result must be South or North if the other player resigned, not {in_short(result)}"
            )
        resigned = 1 - PLAYERS.index(result)
    words = ("South", "North", "Start", "Opening", "Date")
    texts: Any = {word.lower(): headers.get(word, "") for word in words}
    return GameRecord(
        _ruleset_of(headers),
        **texts,
        rounds=int(rounds) if is_number else rounds,  # type: ignore[arg-type]
        seed=None if seed is None else int(seed),
        resigned=resigned,
        headers={name: value for name, value in headers.items() if name not in KNOWN_HEADERS},
    )


def ruleset_named(name: str) -> Ruleset:
    """Return a ruleset of the catalogue; for an unknown name, a ruleset with default rule options."""
    return named(name) if name in names() else Ruleset(name=name)


def _ruleset_of(headers: Mapping[str, str]) -> Ruleset:
    """Return the ruleset that headers describe."""
    name, options = headers["Ruleset"], Ruleset().options
    if name not in names() and "Dials" not in headers:
        return named(name)  # raises an error that lists the rulesets
    words = ("Title", "Region", "Source")
    given: dict[str, Any] = {word.lower(): headers[word] for word in words if word in headers}
    for word in words_of(headers.get("Dials", "")):
        option, _, text = word.partition("=")
        if option not in options:
            raise InvalidRuleset(
                f"{option!r} is not a rule option; the rule options are {', '.join(options)}"
            )
        given[option] = text
        if isinstance(options[option], bool):
            given[option] = {"yes": True, "no": False}.get(text, text)
        elif isinstance(options[option], int) and re.fullmatch(r"\d{1,3}", text, re.ASCII):
            given[option] = int(text)
    return replace(ruleset_named(name), **given)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
