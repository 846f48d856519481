"""Compute opening books: ``python -m tools.make_book layli_goobalay --turns 4``.

Positions are solved turn by turn from the start, within bounds from earlier values. No action has a higher
value than its position, and an action has that value if all others have less. The book is written every half
minute, at the end and at Ctrl-C. The same command resumes from the file, also with more turns. A file never
loses turns.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import written_whole
from mancala_env._util.package_data import DATA
from mancala_env.engine.state import RIGHTMOST_OPENING, encode
from mancala_env.games.position import Position
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver.book import (
    UNKNOWN,
    Book,
    InvalidBook,
    certain_part,
    checksum_of,
    keys_of,
    opening_positions,
)
from mancala_env.solver.exact import OutOfTime, Solver

_SAVE_SECONDS = 30.0


@dataclass
class _Entry:
    """A position of the book with its bounds, and the entries one turn later and earlier.

    Attributes:
        position: The position.
        lower: Lower bound of its value.
        upper: Upper bound of its value.
        ends: Values of the turns that end the round.
        children: ``(entry, sign, won)`` of each other turn, whose value is ``won + sign * value(entry)``.
        parents: Entries one turn earlier.
    """

    position: Position
    lower: int
    upper: int
    ends: list[int] = field(default_factory=list)
    children: list[tuple["_Entry", int, int]] = field(default_factory=list)
    parents: list["_Entry"] = field(default_factory=list)

    @property
    def is_exact(self) -> bool:
        return self.lower == self.upper

    def infer(self) -> None:
        """Propagate bounds between this position and those one turn later, in both directions."""
        bounds = [
            (won + child.lower, won + child.upper) if sign > 0 else (won - child.upper, won - child.lower)
            for child, sign, won in self.children
        ]
        if self.children or self.ends:
            self.lower = max([self.lower, *self.ends, *(low for low, _ in bounds)])
            self.upper = min(self.upper, max([*self.ends, *(high for _, high in bounds)]))
        for n, (child, sign, won) in enumerate(self.children):
            # No turn has a higher value than the position. If no other can be the best, this one is.
            most = self.upper - won
            others = [high for i, (_, high) in enumerate(bounds) if i != n]
            least = self.lower - won if all(x < self.lower for x in [*others, *self.ends]) else None
            if sign > 0:
                child.upper = min(child.upper, most)
                child.lower = child.lower if least is None else max(child.lower, least)
            else:
                child.lower = max(child.lower, -most)
                child.upper = child.upper if least is None else min(child.upper, -least)


def _margin(pair: tuple[int, int], player: int) -> int:
    return pair[player] - pair[1 - player]


class Draft:
    """An incomplete book.

    Attributes:
        ruleset: The ruleset.
        turns: Maximum number of turns from the start.
        depths: int64 `[N]`, number of turns from the start of each position.
        line: Actions of a round of best play from the start; empty while unknown.
    """

    def __init__(self, ruleset: Ruleset, turns: int) -> None:
        """Create the entries of the first turns.

        Raises:
            InvalidBook: If the legal turns at the start depend on the seat, which a book does not
                distinguish.
        """
        if encode(ruleset).opening == RIGHTMOST_OPENING:
            raise InvalidBook(f"no book for {ruleset.name}: South's first turn is restricted, North's is not")
        self.ruleset, self.turns = ruleset, turns
        self.line: tuple[int, ...] = ()
        self._games, self.depths = opening_positions(ruleset, turns)
        self._keys = keys_of(ruleset, self._games)
        seeds = ruleset.total_seeds
        positions = [Position.from_games(ruleset, self._games, n) for n in range(len(self._games))]
        self._entries = [_Entry(position, -seeds, seeds) for position in positions]
        by_key = dict(zip(self._keys.tolist(), self._entries, strict=True))
        for entry, depth in zip(self._entries, self.depths, strict=True):
            if depth == turns:
                break
            for action in entry.position.legal_actions:
                after = entry.position.copy()
                after.play(action)
                player = entry.position.player
                if after.is_over:
                    entry.ends.append(_margin(after.counts, player) - _margin(entry.position.stores, player))
                else:
                    child = by_key[int(keys_of(ruleset, after.games)[0])]
                    won = _margin(after.stores, player) - _margin(entry.position.stores, player)
                    sign = 1 if after.player == player else -1
                    # A key may leave out the seeds in owned holes, which the child then has others of.
                    won += sign * (certain_part(after.games) - certain_part(child.position.games))
                    entry.children.append((child, sign, won))
                    child.parents.append(entry)

    def rests(self) -> np.ndarray:
        """Return the attribute `rests` of a Book, int16 `[N]`."""
        return np.array(
            [
                entry.lower - certain_part(entry.position.games) if entry.is_exact else UNKNOWN
                for entry in self._entries
            ],
            np.int16,
        )

    def book(self) -> Book:
        """Return the known values as a Book."""
        return Book(self.ruleset, self.turns, self.rests(), checksum_of(self._keys), self.line)

    def known(self) -> list[str]:
        """Return the number of solved positions of each turn, such as "3/6"."""
        exact = np.array([entry.is_exact for entry in self._entries])
        return [f"{exact[self.depths == d].sum()}/{(self.depths == d).sum()}" for d in range(self.turns + 1)]

    def is_whole(self) -> bool:
        """Return whether every position is solved."""
        return all(entry.is_exact for entry in self._entries)

    def read(self, path: Path) -> None:
        """Read the values of a book file of the same rules, with any number of turns."""
        old = Book.of_file(self.ruleset, path)
        self.line = old.line
        for entry, rest in zip(self._entries, old.rests, strict=False):
            if rest != UNKNOWN:
                entry.lower = entry.upper = int(rest) + certain_part(entry.position.games)
        self._infer_all()

    def _infer_all(self) -> None:
        for entry in reversed(self._entries):
            entry.infer()
        for entry in self._entries:
            entry.infer()

    def solve(self, solver: Solver, first: int, seconds: float, save: Callable[[], None]) -> None:
        """Solve positions within a time limit, then find the line of best play.

        Args:
            solver: The solver.
            first: First turn whose positions are solved; earlier ones get values by inference only.
            seconds: Limit of processor time in seconds.
            save: Called every half minute.
        """
        ends = time.process_time() + seconds
        saved = time.monotonic()

        def check() -> None:
            if time.process_time() > ends:
                raise OutOfTime

        solver.on_call = check
        try:
            for depth in range(first, self.turns + 1):
                for n in np.flatnonzero(self.depths == depth):
                    entry = self._entries[n]
                    for parent in entry.parents:
                        parent.infer()
                    if not entry.is_exact:
                        check()
                        lower, upper = solver.known_bounds(entry.position)
                        lower, upper = max(lower, entry.lower), min(upper, entry.upper)
                        # After the inference from a solved parent the lower bound is often the value.
                        guess = lower if entry.parents else 0
                        entry.lower = entry.upper = solver.narrow(entry.position, lower, upper, guess)
                    entry.infer()
                    if time.monotonic() > saved + _SAVE_SECONDS:
                        print(f"  turns {' '.join(self.known())}", flush=True)
                        save()
                        saved = time.monotonic()
        except OutOfTime:
            pass
        finally:
            solver.on_call = None
            self._infer_all()
        if self._entries[0].is_exact and not self.line:
            solver.book = self.book()
            self.line = tuple(a for _, a in solver.solve(Position(self.ruleset)).principal_variation)

    def write(self, path: Path) -> None:
        """Write the book atomically."""
        known = self.book()
        reached = int(known.depths[known.rests != UNKNOWN].max(initial=0))
        inside = known.depths <= reached
        with written_whole(path) as file:
            np.savez_compressed(
                file,
                turns=reached,
                rests=known.rests[inside],
                checksum=checksum_of(self._keys[inside]),
                line=np.array(self.line, np.int8),
            )


def _draft(ruleset: Ruleset, turns: int, path: Path) -> Draft:
    """Return a draft with the values of a file, if it exists, and at least as many turns as it.

    Raises:
        InvalidBook: If the file is not a book of these rules.
    """
    if not path.is_file():
        return Draft(ruleset, turns)
    draft = Draft(ruleset, max(turns, Book.of_file(ruleset, path).turns))
    draft.read(path)
    return draft


@in_one_line("make_book", "the values so far are saved; run the same command to resume")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the books of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.make_book", description=__doc__)
    parser.add_argument("rulesets", nargs="+", help="names of rulesets")
    parser.add_argument("--turns", type=int, default=4, help="number of turns from the start")
    parser.add_argument("--first", type=int, default=0, help="first turn whose positions are solved")
    parser.add_argument("--budget", type=float, default=600.0, help="processor seconds per ruleset (600)")
    parser.add_argument(
        "--memory_mb", type=float, default=2048.0, help="size of the transposition table in MB"
    )
    parser.add_argument("--folder", type=Path, default=DATA, help="folder to write to")
    options = parser.parse_args(arguments)
    rulesets = [lookup(name) for name in options.rulesets]
    if options.turns < 0:
        raise InvalidBook(f"--turns must be at least 0, not {options.turns}")
    if not options.folder.is_dir():
        raise InvalidBook(f"--folder must be an existing folder, not {options.folder}")
    for ruleset in rulesets:
        name = ruleset.name
        path = options.folder / f"book_{name}.npz"
        draft = _draft(ruleset, options.turns, path)
        solver = Solver(ruleset, memory_mb=options.memory_mb, use_book=False)
        try:
            print(f"{name}: {' '.join(draft.known())}", flush=True)
            draft.solve(solver, options.first, options.budget, partial(draft.write, path))
        finally:
            draft.write(path)
        left = "" if draft.is_whole() else f"; --budget {options.budget:g} is spent: run it again to resume"
        print(f"{name}: {' '.join(draft.known())}, {solver.nodes / 1e6:.1f} million nodes{left}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
