"""The opening book: exact values of the positions of the first turns of a round.

A book file (``python -m tools.make_book layli_goobalay``) contains only values, and one line of best play
from the start to the end of the round. The values are in breadth-first order of new positions from the start,
with ascending actions. Loading a book replays these turns, which takes milliseconds. A checksum of the
positions' keys detects a book of other opening positions. It cannot detect rules that differ only later: if
the rules of a ruleset change, its book must be made again from an empty file. Positions are seen from the
player to move, so a book serves both players. They include the stall counter, but not the stores.
"""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from mancala_env._util.archives import ArrayFormat, InvalidArchive, read_arrays
from mancala_env._util.package_data import bundled_file_of
from mancala_env.engine.holdout import children
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import NORTH, NUM_COLUMNS, SOUTH, TERRITORY_COLUMN, encode, load
from mancala_env.errors import MancalaError
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset
from mancala_env.solver.margins import owned_margin
from mancala_env.solver.proofs import board_key

UNKNOWN = -32768
"""Value of positions that a book does not know."""
# Arrays of a file. Ten turns are two million positions in the smallest game of the catalogue.
_ARRAYS = {
    "turns": ArrayFormat("int64", ()),
    "rests": ArrayFormat("int16", (None,)),
    "checksum": ArrayFormat("int64", ()),
    "line": ArrayFormat("int8", (None,)),
}
_MOST_TURNS = 15


class InvalidBook(MancalaError):
    """A book file is invalid, or does not belong to the rules."""


@kernel
def _write_keys(rules, games, keys):
    for b in range(len(games)):
        keys[b] = board_key(rules, load(games, b))


def keys_of(ruleset: Ruleset, games: np.ndarray) -> np.ndarray:
    """Return the keys of running games in books, uint64 `[B]`."""
    keys = np.empty(len(games), np.uint64)
    _write_keys(encode(ruleset), games, keys)
    return keys


def opening_positions(ruleset: Ruleset, turns: int, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the different running positions of the first turns of a round, in book order.

    No further turn is played after more than `most` positions. The result is games, uint64
    `[N, NUM_COLUMNS]`, and the number of turns of each from the start, int64 `[N]`.
    """
    level = Position(ruleset).games
    levels, depths = [level], [np.zeros(1, np.int64)]
    known = keys_of(ruleset, level)
    for depth in range(1, turns + 1):
        if most is not None and len(known) > most:
            break
        afters = np.zeros((len(level) * ruleset.num_holes, NUM_COLUMNS), np.uint64)
        level = afters[: children(encode(ruleset), level, afters)]
        keys = keys_of(ruleset, level)
        first = np.sort(np.unique(keys, return_index=True)[1])
        first = first[~np.isin(keys[first], known)]
        level, known = level[first], np.concatenate([known, keys[first]])
        levels.append(level)
        depths.append(np.full(len(level), depth))
    return np.concatenate(levels), np.concatenate(depths)


def checksum_of(keys: np.ndarray) -> int:
    """Return the checksum of a book's positions, which detects a book with others."""
    return zlib.crc32(keys.tobytes())


@kernel
def certain_part(games):
    """Return the certain part of the value of row 0: the lead in owned holes."""
    game = load(games, 0)
    return owned_margin(game, game.player)


class Book:
    """Exact *rests* of opening positions: their values minus the lead in owned holes.

    Attributes:
        turns: Largest number of turns from the start.
        games: uint64 `[N, NUM_COLUMNS]`, the positions in book order.
        rests: int16 `[N]`, rest of each position, or UNKNOWN.
        depths: int64 `[N]`, number of turns from the start to each position.
        line: Actions of a whole round of best play from the start; may be empty.
    """

    def __init__(
        self, ruleset: Ruleset, turns: int, rests: np.ndarray, checksum: int, line: Sequence[int] = ()
    ) -> None:
        """Play the opening turns and assign the values to their positions.

        Raises:
            InvalidBook: The keys of the positions have another :func:`checksum_of`.
        """
        self.ruleset, self.turns = ruleset, turns
        self.games, self.depths = opening_positions(ruleset, turns, most=len(rests))
        keys = keys_of(ruleset, self.games)
        if checksum_of(keys) != checksum or len(keys) != len(rests):
            raise InvalidBook(
                f"the opening book of {ruleset.name} was made for other rules; regenerate it with "
                f"python -m tools.make_book {ruleset.name} --turns {turns}"
            )
        self.rests, self.line = rests, tuple(line)
        self._rests = {int(key): int(rest) for key, rest in zip(keys, rests, strict=True) if rest != UNKNOWN}
        self._line: dict[int, int] = {}
        self._add_line(line)

    def _add_line(self, line: Sequence[int]) -> None:
        """Add the positions of a line. Best play from each of them has the result of the line."""
        position, visited, name = Position(self.ruleset), [], self.ruleset.name
        for turn, action in enumerate(line, 1):
            if position.is_over or action not in position.legal_actions:
                raise InvalidBook(f"turn {turn} of the line of a book of {name} is not legal")
            visited.append((position.copy(), action))
            position.play(action)
        if visited and not position.is_over:
            raise InvalidBook(f"the line of a book of {name} does not reach the end of the round")
        for before, action in visited:
            key = int(keys_of(self.ruleset, before.games)[0])
            won = [position.counts[player] - before.stores[player] for player in (SOUTH, NORTH)]
            self._rests[key] = won[before.player] - won[1 - before.player] - certain_part(before.games)
            self._line[key] = action

    @classmethod
    def of_file(cls, ruleset: Ruleset, file: Path) -> "Book":
        """Read a book from a file; no code in it is run.

        Raises:
            InvalidBook: The file is not an opening book, or is a book of other rules.
            OSError: The file cannot be read.
        """
        try:
            data = read_arrays(file, _ARRAYS)
        except InvalidArchive as error:
            raise InvalidBook(f"{file} is not an opening book ({error}); remove it to start again") from error
        turns, rests = int(data["turns"]), data["rests"]
        if not 0 <= turns <= _MOST_TURNS:
            raise InvalidBook(f"{file} has {turns} turns; a book has 0 to {_MOST_TURNS}")
        most = ruleset.total_seeds
        if (wrong := rests[(abs(rests.astype(np.int64)) > most) & (rests != UNKNOWN)]).size:
            raise InvalidBook(f"{file} holds the value {wrong[0]}; the game has only {most} seeds")
        return cls(ruleset, turns, rests, int(data["checksum"]), data["line"].tolist())

    def rest(self, games: np.ndarray) -> int | None:
        """Return the rest of the running game in row 0, or None if the book does not know it."""
        return self._look_up(self._rests, games)

    def action(self, games: np.ndarray) -> int | None:
        """Return the line's action in the running game of row 0, or None if it is not on the line."""
        return self._look_up(self._line, games)

    def _look_up(self, by_key: dict[int, int], games: np.ndarray) -> int | None:
        if int(games[0, TERRITORY_COLUMN]) != (1 << self.ruleset.row_width) - 1:
            return None  # a later round with other territories
        return by_key.get(int(keys_of(self.ruleset, games)[0]))


@lru_cache
def load_book(ruleset: Ruleset) -> Book | None:
    """Return the bundled opening book of a ruleset, or None."""
    file = bundled_file_of("book", ruleset)
    return None if file is None else Book.of_file(ruleset, file)
