"""Proof files of exact values: read, write and verify them.

``docs/reference/proofs.md`` has the format and the argument why a valid file proves its claims.
:func:`~mancala_env.solver.certificate_search.prove` makes such proofs.

>>> from mancala_env import Position
>>> from mancala_env.solver import prove
>>> proof = prove(Position("layli_goobalay", [0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 0, 0], stores=(22, 22)))
>>> verify(proof).bounds
(0, 0)
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mancala_env._util.files import write_whole
from mancala_env.engine.state import PLAYERS, encode
from mancala_env.engine.turn import STALL_LIMIT
from mancala_env.errors import InvalidArgument, InvalidPosition, InvalidRuleset, MancalaError, printable
from mancala_env.games.position import Position
from mancala_env.rulesets import CHOICES, Ruleset, lookup, names
from mancala_env.solver import certificate_walk as walks
from mancala_env.solver.prover import positive

FORMAT = "mancala-proof-1"
MOST_LETTERS = 2_000_000_000
DEFAULT_MEMORY_MB = 8192
_SEATS = tuple(name.lower() for name in PLAYERS)
_OWNER_MARKS = "-SN"
# Rule options in the order of the file. `match` only sets up later rounds.
_OPTIONS = ("row_width", "seeds_per_hole", *(option for option in CHOICES if option != "match"))
_NUMBER = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)
_NAME = re.compile(r"[!-~]{1,64}")
_A = np.uint8(ord("a"))
_FIRST_ENTRIES, _STEPS = 1 << 14, 1 << 18
# Entries of the table of small positions, at first and at most; and searches for each entry before it grows.
_FIRST_LEAVES, _MOST_LEAVES, _LEAF_SEARCHES = 1 << 17, 1 << 22, 8
_REASONS = {
    walks.NEEDS_BYTE: "the letters end before the proof does",
    walks.NO_SUCH_TURN: "the letter names no legal turn",
    walks.REFUTED: "the position fails",
}


class InvalidProof(MancalaError):
    """A proof file that differs from the format, or does not prove its claims."""


class Claim(NamedTuple):
    """A player's least count, with its proof.

    Attributes:
        player: The player, 0 South or 1 North.
        least: They get at least this number of all seeds.
        cap: Largest level of an owned hole in the accounts of the proof, 0 to 255.
        leaf: Positions of at most this number of free seeds are searched, 0 to 255.
        letters: The turns of the player, ``a`` for the first legal turn.
    """

    player: int
    least: int
    cap: int
    leaf: int
    letters: bytes

    @property
    def heading(self) -> str:
        """The claim's line of the file."""
        seat, length = _SEATS[self.player], len(self.letters)
        return f"claim {seat} {self.least} cap {self.cap} leaf {self.leaf} letters {length}"


@dataclass(frozen=True)
class Proof:
    """A position, and claims about it with their proofs.

    Attributes:
        position: The position.
        claims: One claim, or South's and North's.
    """

    position: Position
    claims: tuple[Claim, ...]

    @property
    def bounds(self) -> tuple[int, int]:
        """Bounds of the value, as in :class:`~mancala_env.solver.Solution`, if the proof is valid."""
        position, total = self.position, num_seeds(self.position)
        least = {claim.player: claim.least for claim in self.claims}
        lead = position.stores[position.player] - position.stores[1 - position.player]
        lower = 2 * least.get(position.player, 0) - total - lead
        upper = total - 2 * least.get(1 - position.player, 0) - lead
        return lower, upper

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "Proof":
        """Read a file, without verifying its claims.

        Raises:
            InvalidProof: The file differs from the format; the message has the line.
            OSError: The file cannot be read.
        """
        return cls.from_bytes(Path(path).read_bytes())

    @classmethod
    def from_bytes(cls, content: bytes) -> "Proof":
        """Read the content of a file as :meth:`read` does."""
        return _Reader(content).read()

    def to_bytes(self) -> bytes:
        """Return the content of the proof's file."""
        ruleset = self.position.ruleset
        values = ruleset.options
        lines = [FORMAT, f"ruleset {ruleset.name}"]
        lines += [f"{option} {_word(values[option])}" for option in _OPTIONS]
        lines += position_lines(self.position)
        lines += [claim.heading for claim in self.claims]
        return "\n".join([*lines, "", ""]).encode() + b"".join(claim.letters + b"\n" for claim in self.claims)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the proof's file; if that fails, an existing file is unchanged."""
        write_whole(Path(path), self.to_bytes())


@dataclass(frozen=True)
class Verification:
    """What a valid proof shows.

    Attributes:
        proof: The proof.
        bounds: Bounds of the position's value, as in :class:`~mancala_env.solver.Solution`.
        positions: Number of proved positions.
        searched: Number of searched positions of at most `leaf` free seeds.
        seconds: Seconds taken.
    """

    proof: Proof
    bounds: tuple[int, int]
    positions: int
    searched: int
    seconds: float


def verify(
    proof: Proof,
    *,
    memory_mb: float = DEFAULT_MEMORY_MB,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Check every step of a proof.

    Args:
        proof: The proof.
        memory_mb: Most megabytes for the table of proved positions. A position takes about 100 bytes.
            Results of small positions take at most 168 MB more.
        progress: Called now and then with the number of letters read and the number of all letters.

    Raises:
        InvalidProof: The proof does not show its claims; the message names the claim and the position.
        InvalidArgument: `memory_mb` is invalid, or too small for the proof.
    """
    started = time.monotonic()
    proof = Proof.from_bytes(proof.to_bytes())  # the reader checks all ranges
    done, total = 0, sum(len(claim.letters) for claim in proof.claims)
    positions = searched = 0
    for claim in proof.claims:
        walk = Walk(proof.position, claim, memory_mb)
        walk.add_letters(claim.letters)
        while (status := walk.resume()) == walks.PAUSED:
            if progress is not None:
                progress(done + walk.register(walks.BYTES_READ), total)
        left = len(claim.letters) - walk.register(walks.BYTES_READ)
        if status != walks.DONE or left:
            reason = _REASONS.get(status, f"{left} letters are left over")
            raise InvalidProof(f"{claim.heading}: {reason}; {walk.where()}")
        done += len(claim.letters)
        positions += walk.register(walks.USED)
        searched += walk.register(walks.SEARCHED)
    return Verification(proof, proof.bounds, positions, searched, time.monotonic() - started)


class Walk:
    """The walk through the proof of one claim, to which turns can be added."""

    def __init__(self, position: Position, claim: Claim, memory_mb: float) -> None:
        ruleset = self.ruleset = position.ruleset
        self.rules = encode(ruleset)
        self.claim = walks.Claim(claim.player, claim.least, claim.cap, claim.leaf, num_seeds(position))
        self.line = walks.new_line(ruleset, _FIRST_LEAVES)
        self.table = walks.new_table(ruleset, _FIRST_ENTRIES)
        self.most_bytes = positive("memory_mb", memory_mb) * 2**20
        self.turns = np.zeros(1 << 12, np.uint8)
        self.num_turns = 0
        walks.start(self.claim, self.line, position.games)

    def add(self, turns: Sequence[int] | np.ndarray) -> None:
        """Add turns to the end, 0 for the first legal turn."""
        size = self.num_turns + len(turns)
        if size > len(self.turns):
            self.turns.resize(max(size, 2 * len(self.turns)), refcheck=False)
        self.turns[self.num_turns : size] = turns
        self.num_turns = size

    def add_letters(self, letters: bytes) -> None:
        """Add turns by their letters."""
        self.add(np.frombuffer(letters, np.uint8) - _A)

    def letters(self) -> bytes:
        """Return the letters of all turns that were added."""
        return (self.turns[: self.num_turns] + _A).tobytes()

    def resume(self, num_steps: int = _STEPS) -> int:
        """Walk on for a number of steps, with as large a table as needed; return the status."""
        walks.walk(self.rules, self.claim, self.line, self.table, self.turns, self.num_turns, num_steps)
        return self.status()

    def status(self) -> int:
        """Return the status of the walk, after the tables have become as large as needed."""
        status = self.register(walks.STATUS)
        leaves = self.line.leaves
        if self.register(walks.SEARCHED) > _LEAF_SEARCHES * len(leaves) and len(leaves) < _MOST_LEAVES:
            self.line = self.line._replace(leaves=walks.new_leaves(2 * len(leaves)))
        if status == walks.NEEDS_ROOM:
            self.enlarge()
            return walks.PAUSED
        return status

    def make_room(self) -> None:
        """Enlarge the array of turns if it is full."""
        if self.num_turns == len(self.turns):
            self.turns.resize(2 * len(self.turns), refcheck=False)

    def enlarge(self) -> None:
        """Double the size of the table."""
        if 3 * self.table.nbytes > self.most_bytes:  # both tables are in memory while entries are copied
            limit, needed = self.most_bytes / 2**20, 3 * self.table.nbytes / 2**20
            raise InvalidArgument(f"memory_mb={limit:g} is too small for this proof: it needs {needed:.1f}")
        larger = walks.new_table(self.ruleset, 2 * len(self.table))
        walks.grow(self.table, larger)
        self.table = larger

    def register(self, number: int) -> int:
        """Return a register of the walk."""
        return int(self.line.registers[number])

    def where(self) -> str:
        """Describe the place where the walk stands."""
        nums, num_plies = self.line.nums, self.register(walks.PLY)
        rows = nums[:: 1 + self.ruleset.num_holes, walks.AT][:num_plies]
        sown = " ".join(map(str, nums[rows, walks.HOLE]))
        after = f"after holes {sown}" if sown else "at the first position"
        return f"letter {self.register(walks.BYTES_READ)}, {after}"


def num_seeds(position: Position) -> int:
    """Return T, all seeds of a position in holes and stores."""
    return int(position.seeds.sum()) + sum(position.stores)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def position_lines(position: Position) -> list[str]:
    """Return the position's lines of a file."""
    if not _NAME.fullmatch(name := position.ruleset.name):
        raise InvalidPosition(
            f"a proof needs a ruleset whose name has 1 to 64 ASCII characters, not {name!r}"
        )
    if position.is_over:
        raise InvalidPosition(f"a proof is for a running round, not for {position.to_text()}")
    if (position.territory != np.arange(position.ruleset.num_holes) // position.ruleset.row_width).any():
        raise InvalidPosition(f"a proof is for rounds played from rows, not for {position.to_text()}")
    if position == Position(position.ruleset):
        return ["position start"]
    return [
        "position set",
        "seeds " + " ".join(map(str, position.seeds)),
        "owners " + "".join(_OWNER_MARKS[owner + 1] for owner in position.owner),
        f"stores {position.stores[0]} {position.stores[1]}",
        f"mover {_SEATS[position.player]}",
        f"stall {position.stall}",
    ]


class _Reader:
    """The lines of a file that are not yet read."""

    def __init__(self, content: bytes) -> None:
        if not content.isascii():
            raise InvalidProof("not a proof: it has bytes that are not ASCII")
        if not content.endswith(b"\n"):
            raise InvalidProof("the file must end with a line feed")
        self.lines: Iterator[bytes] = iter(content[:-1].split(b"\n"))
        self.number = 0

    def read(self) -> Proof:
        """Read the whole file."""
        if self.line() != FORMAT.encode():
            raise InvalidProof(f"line 1 must be {FORMAT!r}")
        position = self.position(self.ruleset())
        headings = []
        while words := self.line().decode():
            headings.append(self.claim(words, position))
        if [claim.player for claim, _ in headings] not in ([0], [1], [0, 1]):
            raise InvalidProof("a file must have one claim, or South's and North's")
        claims = []
        for claim, length in headings:
            letters = self.line()
            if len(letters) != length:
                raise self.error(f"must have {length} letters, not {len(letters)}")
            claims.append(claim._replace(letters=letters))
        if next(self.lines, None) is not None:
            raise InvalidProof(f"nothing may follow line {self.number}")
        return Proof(position, tuple(claims))

    def error(self, reason: str) -> InvalidProof:
        """Return an error about the current line."""
        return InvalidProof(f"line {self.number} {reason}")

    def line(self) -> bytes:
        """Return the next line."""
        line = next(self.lines, None)
        if line is None:
            raise InvalidProof(f"the file ends after line {self.number}")
        self.number += 1
        return line

    def words(self, key: str, count: int) -> list[str]:
        """Return the words of the next line after its key."""
        text = self.line().decode()
        words = text.split(" ")
        if words[0] != key or len(words) != 1 + count:
            shown = printable(text if len(text) < 80 else text[:80] + "...")
            raise self.error(f"must be {key!r} and {count} words, not {shown!r}")
        return words[1:]

    def integer(self, word: str, least: int, most: int) -> int:
        """Return a word as a number."""
        if not _NUMBER.fullmatch(word) or not least <= int(word) <= most:
            raise self.error(f"must have a number from {least} to {most}, not {printable(word[:20])!r}")
        return int(word)

    def one_of(self, word: str, choices: tuple[str, ...]) -> int:
        """Return the index of a word among its choices."""
        if word not in choices:
            raise self.error(f"must have {' or '.join(choices)}, not {printable(word[:20])!r}")
        return choices.index(word)

    def ruleset(self) -> Ruleset:
        """Read the name and the rule options."""
        name = self.words("ruleset", 1)[0]
        if not _NAME.fullmatch(name):
            raise self.error(
                f"must have a name of 1 to 64 printable characters, not {printable(name[:80])!r}"
            )
        options: dict[str, Any] = {}
        for option in _OPTIONS:
            word = self.words(option, 1)[0]
            if option in CHOICES:
                words = tuple(map(_word, CHOICES[option]))
                options[option] = CHOICES[option][self.one_of(word, words)]
            else:
                options[option] = self.integer(word, 1, 255)
        try:
            ruleset = Ruleset(name="custom", **options)
        except InvalidRuleset as error:
            raise InvalidProof(f"the rule options are invalid: {error}") from None
        return ruleset_named(name, ruleset)

    def position(self, ruleset: Ruleset) -> Position:
        """Read the position."""
        if self.one_of(self.words("position", 1)[0], ("start", "set")) == 0:
            return Position(ruleset)
        total = ruleset.total_seeds
        seeds = [self.integer(word, 0, total) for word in self.words("seeds", ruleset.num_holes)]
        owners = self.words("owners", 1)[0]
        if len(owners) != ruleset.num_holes or not set(owners) <= set(_OWNER_MARKS):
            raise self.error(f"must have {ruleset.num_holes} owners of {_OWNER_MARKS!r}, not {owners[:80]!r}")
        stores = [self.integer(word, 0, total) for word in self.words("stores", 2)]
        mover = self.one_of(self.words("mover", 1)[0], _SEATS)
        stall = self.integer(self.words("stall", 1)[0], 0, STALL_LIMIT - 1)
        owner = [_OWNER_MARKS.index(mark) - 1 for mark in owners]
        try:
            position = Position(ruleset, seeds, owner, stores, mover, stall)
        except InvalidPosition as error:
            raise InvalidProof(f"the position is impossible: {error}") from None
        if position.is_over or position.player != mover or not position.legal_actions:
            raise InvalidProof("the position must be running, and the mover must have a legal hole")
        return position

    def claim(self, text: str, position: Position) -> tuple[Claim, int]:
        """Read a claim without its letters, and return it with their number."""
        words = text.split(" ")
        if [words[0], *words[3::2]] != ["claim", "cap", "leaf", "letters"] or len(words) != 9:
            raise self.error(
                f"must be 'claim PLAYER COUNT cap CAP leaf LEAF letters LETTERS', not {text[:80]!r}"
            )
        player = self.one_of(words[1], _SEATS)
        count = self.integer(words[2], 0, num_seeds(position))
        cap = self.integer(words[4], 0, 0 if position.ruleset.landing == "uur" else 255)
        leaf = self.integer(words[6], 0, 255)
        return Claim(player, count, cap, leaf, b""), self.integer(words[8], 0, MOST_LETTERS)


def ruleset_named(name: str, ruleset: Ruleset) -> Ruleset:
    """Return the catalogue's ruleset of a name if it plays these rules in a round, else the ruleset."""
    if name in names():
        known = lookup(name)
        if all(getattr(known, option) == getattr(ruleset, option) for option in _OPTIONS):
            return known
        return ruleset
    return replace(ruleset, name=name)
