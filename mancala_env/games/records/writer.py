"""Game records as text, and written into files."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

from mancala_env._util.checks import truth
from mancala_env._util.files import is_stream, written_whole
from mancala_env.errors import InvalidArgument, printable
from mancala_env.games.records.model import GameRecord
from mancala_env.games.records.reader import check_file, parse_games, read_games, ruleset_named
from mancala_env.games.records.replay import InvalidRecord, Replay
from mancala_env.rulesets import Ruleset

# Bytes of a file in which its first header is searched, after empty lines.
_HEAD = 1 << 12
_FIRST_HEADER = re.compile(rb"(?:[ \t]*[\r\n])*\[Ruleset")
_TURNS_PER_LINE = 10
_TAIL = 1 << 16  # bytes of a file in which the last game is searched first


def record_text(record: GameRecord) -> str:
    """Write a game as text; see :meth:`GameRecord.to_text`."""
    game = Replay(record.start_position, record.rounds)
    body = _body(record, game)
    headers = [f'[{name} "{_escaped(value, chr(34))}"]' for name, value in _headers(record, game)]
    return "\n".join([*headers, *[""] * bool(body), *body]) + "\n"


def _headers(record: GameRecord, game: Replay) -> Iterator[tuple[str, str]]:
    """Yield the headers of a game that has been played."""
    ruleset, outcome = record.ruleset, game.outcome(record.resigned)
    known = ruleset_named(ruleset.name)
    yield "Ruleset", ruleset.name
    yield "Dials", " ".join(options_of(ruleset))
    for word in ("title", "region", "source"):
        if getattr(ruleset, word) != getattr(known, word):
            yield word.title(), getattr(ruleset, word)
    yield from (("South", record.south), ("North", record.north), ("Rounds", str(record.rounds)))
    seed = "" if record.seed is None else str(record.seed)
    optional = {"Seed": seed, "Opening": record.opening, "Start": record.start, "Date": record.date}
    yield from ((name, value) for name, value in optional.items() if value)
    yield from record.headers.items()
    yield "Result", str(outcome)
    if outcome.end:
        yield "End", outcome.end


def _body(record: GameRecord, game: Replay) -> list[str]:
    """Play the turns, and return the lines below the headers."""
    lines = [[_comment(record.comment)]] if record.comment else []
    current, is_full = 0, True
    for number, turn in enumerate(record.turns, 1):
        if record.rounds != 1 and game.position.round != current:
            current, is_full = game.position.round, True
            lines.append([f"Round {current}:"])
        if is_full:
            lines.append([f"{number}."])
        lines[-1].append(str(turn))
        game.play(turn)
        if turn.comment:
            lines[-1].append(_comment(turn.comment))
        is_full = bool(turn.comment) or len(lines[-1]) > _TURNS_PER_LINE
    return [" ".join(line) for line in lines]


def _comment(text: str) -> str:
    return "{" + _escaped(text, "}") + "}"


def _escaped(text: str, closing: str) -> str:
    return text.replace("\\", "\\\\").replace(closing, "\\" + closing)


def options_of(ruleset: Ruleset, *, stored: bool = False) -> list[str]:
    """Write rule options for a record or a link: `row_width=6`, `captures_last=yes`.

    With `stored` only :attr:`~mancala_env.rulesets.Ruleset.stored_options` are written.
    """
    words = {"True": "yes", "False": "no"}
    options = ruleset.stored_options if stored else ruleset.options
    return [f"{name}={words.get(str(value), value)}" for name, value in options.items()]


def games_text(games: Iterable[GameRecord]) -> str:
    """Write games as one text, separated by empty lines.

    Raises:
        InvalidRecord: A turn of a game does not fit; the message names game and turn.
        InvalidArgument: An item is not a GameRecord.
    """
    return "\n".join(_texts(games))


def write_games(path: str | Path, games: Iterable[GameRecord], *, append: bool = False) -> int:
    """Write games into a file, and return their number.

    Args:
        path: Path of the file, which is written in UTF-8.
        games: The games; they may be read from the same file.
        append: Whether to add the games at the end of the file. By default they replace the file atomically.

    Raises:
        InvalidRecord: A turn does not fit the rules; the message names game and turn. A file to replace is
            unchanged. A file to append to has the games before the invalid game. Also raised if `append` is
            set and the file is not a file of game records or its last game cannot be read.
        InvalidArgument: `append` is not a bool, the path is a folder, or an item is not a GameRecord.
        OSError: The file cannot be written. It never contains an incomplete game.
    """
    check_file(path)
    path = Path(path)
    if truth("append", append):
        with path.open("a+b", buffering=0) as file:
            with _locked(file):  # another program may have written half of a game
                check_appendable(path)
            return _append(file, games, is_shared=True)
    if is_stream(path):  # the reader of a pipe sees each game at once
        with path.open("wb", buffering=0) as file:
            return _append(file, games)
    with written_whole(path) as file:
        return _append(file, games)


def check_appendable(path: str | Path) -> None:
    """Check that games can be appended to a file; an empty file is created if it does not exist.

    Raises:
        InvalidRecord: The file is not a file of game records, or its last game cannot be read. It is
            unchanged.
        InvalidArgument: The path is a folder, or empty, as from a shell variable that is not set.
        OSError: The file cannot be written.
    """
    check_file(path)
    with Path(path).open("a+b") as file:
        file.seek(0)
        begins = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf")
        if begins.strip() and not _FIRST_HEADER.match(begins):
            name = printable(str(path))
            raise InvalidRecord(
                f"{name} is not a file of games, which begins with [Ruleset; choose another file"
            )
        last_game = _last_game(file)
    # An editor or a killed program may leave an incomplete turn, or a comment that is not closed.
    try:
        parse_games(last_game.decode())
    except (InvalidRecord, UnicodeDecodeError):
        # Either the file is invalid, or a comment has a line that begins like a game.
        for _ in read_games(path):
            pass


def _last_game(file: IO[bytes]) -> bytes:
    """Return the end of a file from its last line that begins like a game."""
    end, size = file.seek(0, os.SEEK_END), _TAIL
    while True:
        file.seek(max(0, end - size))
        tail = file.read()
        at = tail.rfind(b"\n[Ruleset ") + 1
        if at or size >= end:
            return tail[at:]
        size *= 4


def _last_byte(file: IO[bytes]) -> bytes:
    """Move to the end of a file, and return its last byte; empty for an empty file."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    return file.read(1)


@contextmanager
def _locked(file: IO[bytes]) -> Iterator[None]:
    """Lock a file against other programs within a with statement."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):  # Windows, and file systems without locks
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
            stack.callback(fcntl.flock, file, fcntl.LOCK_UN)
        yield


def _append(file: IO[bytes], games: Iterable[GameRecord], *, is_shared: bool = False) -> int:
    """Write games at the end of a file, and return their number.

    In an unbuffered file a game is written completely or not at all. A shared file is locked for each game:
    cutting off a part of a game must not cut off the games of other programs.
    """
    written, ends_in = 0, b""
    for text in _texts(games):
        with _locked(file) if is_shared else nullcontext():
            if is_shared:
                ends_in = _last_byte(file)
            gap = {b"": "", b"\n": "\n"}.get(ends_in, "\n\n")  # an empty line between two games
            _write_whole(file, (gap + text).encode())
        ends_in = b"\n"
        written += 1
    return written


def _write_whole(file: IO[bytes], content: bytes) -> None:
    """Write all of the content, or cut off the part that was written and raise the error."""
    rest = memoryview(content)
    before = file.tell() if file.seekable() else None
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except BaseException:
        if before is not None:
            file.truncate(before)
        raise


def _texts(games: Iterable[GameRecord]) -> Iterator[str]:
    if not isinstance(games, Iterable):
        raise InvalidArgument(
            f"games must be an iterable of GameRecords, such as [record], not {type(games).__name__}"
        )
    for number, game in enumerate(games, 1):
        if not isinstance(game, GameRecord):
            raise InvalidArgument(f"game {number} must be a GameRecord, not {type(game).__name__}")
        try:
            yield game.to_text()
        except InvalidRecord as error:
            raise InvalidRecord(f"game {number}, {error}") from None
