"""Find the fair openings of rulesets: ``python -m tools.make_fair_openings layli_goobalay``.

One or two null-window searches show whether best play from a position ends even. With ``--kept FILE``,
decided positions are kept in a file, from which the same command resumes. ``--check`` solves the stored
openings again without the book of solved positions, and writes no file.
"""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import check_can_be_written, written_whole
from mancala_env._util.package_data import DATA, bundled_file, rulesets_with
from mancala_env.agents.searchers import MinimaxAgent
from mancala_env.errors import MancalaError
from mancala_env.evaluation.fair_openings import NO_TURN, FairOpening, fair_openings
from mancala_env.evaluation.results_file import LinesFile
from mancala_env.games.position import Position
from mancala_env.networks.value_files import has_bundled_network
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.solver.book import certain_part, keys_of
from mancala_env.solver.exact import OutOfTime, Solver

TURNS = 4
# Turns of the search that guesses on which side of 0 a margin is.
_GUESS_TURNS = 10
_NO_BOUNDS = (-1000, 1000)
_Found = TypeVar("_Found")


def lead_of(position: Position) -> int:
    """Return the lead in stores of the player to move."""
    return position.stores[position.player] - position.stores[1 - position.player]


def positions_within(ruleset: Ruleset, turns: int) -> dict[tuple[int, ...], Position]:
    """Return the different running positions within some turns of the start, by a shortest line to each."""

    def identity(position: Position) -> tuple[int, int]:
        certain = lead_of(position) + certain_part(position.games)
        return int(keys_of(ruleset, position.games)[0]), certain

    level = found = {(): Position(ruleset)}
    known = {identity(found[()])}
    for _ in range(turns):
        following: dict[tuple[int, ...], Position] = {}
        for line, position in level.items():
            for action in position.legal_actions:
                after = position.copy()
                after.play(action)
                if not after.is_over and identity(after) not in known:
                    known.add(identity(after))
                    following[*line, action] = after
        found, level = found | following, following
    return found


def margin_within(
    solver: Solver, position: Position, most: int, guess: int = 0, bounds: tuple[int, int] = _NO_BOUNDS
) -> int | None:
    """Return the exact final lead of the player to move, or None if it is not within `most` of 0.

    If it is not, and `guess` is on its side of 0, one null-window search is enough. `bounds` are known
    bounds of the lead.
    """
    lead = lead_of(position)
    lower, upper = solver.known_bounds(position)
    lower, upper = max(lower, bounds[0] - lead), min(upper, bounds[1] - lead)
    lower, upper = max(lower, -most - 2 - lead), min(upper, most + 2 - lead)
    if lower > upper:
        return None
    guess = min(max(guess, -most), most + 2) - lead
    margin = lead + (lower if lower == upper else solver.narrow(position, lower, upper, guess))
    return margin if abs(margin) <= most else None


class Decisions(LinesFile):
    """Decided margins of positions by their lines, kept in a file if one is given.

    A line of the file has the name and `rules` of the ruleset, `most`, the largest margin that counts as
    fair, `turns`, the actions from the start, and `margin`, null if it is larger.
    """

    formats = (2,)

    def __init__(self, solver: Solver, path: Path | None = None) -> None:
        super().__init__(path)
        self.kind = f"decided positions of {solver.ruleset.name}; name another --kept"
        self.solver, self._margins = solver, dict[tuple[int, tuple[int, ...]], int | None]()
        network = "value+" if has_bundled_network(solver.ruleset) else ""
        agent = agents.make(f"{network}minimax:{_GUESS_TURNS}", solver.ruleset)
        assert isinstance(agent, MinimaxAgent)
        self._search = agent
        self._of = {"ruleset": solver.ruleset.name, "rules": solver.ruleset.options_hash}

    def take(self, fields: dict[str, Any]) -> None:
        """Store the fields of a line; see LinesFile."""
        if any(fields[name] != value for name, value in self._of.items()):
            raise ValueError("of other rules")
        self._margins[fields["most"], tuple(fields["turns"])] = fields["margin"]

    def margin(
        self,
        line: tuple[int, ...],
        position: Position,
        most: int,
        bounds: tuple[int, int] = _NO_BOUNDS,
    ) -> int | None:
        """Return what :func:`margin_within` finds for the position after a line of actions."""
        if (most, line) not in self._margins:
            guess = round(float(self._search.action_values(position.games).max()))
            margin = self._margins[most, line] = margin_within(self.solver, position, most, guess, bounds)
            decided = {"most": most, "turns": line, "margin": margin}
            self.append_line({"format": 2, **self._of, **decided})
        return self._margins[most, line]

    def opening(self, line: tuple[int, ...], position: Position, margin: int) -> FairOpening:
        """Find the optimal actions in a position of a known margin, and the replies to the first."""
        best = self._best_actions(line, position, margin)
        after = position.copy()
        after.play(best[0])
        margin_after = margin if after.player == position.player else -margin
        replies = () if after.is_over else self._best_actions((*line, best[0]), after, margin_after)
        return FairOpening(self.solver.ruleset, line, margin, best, replies)

    def _best_actions(self, line: tuple[int, ...], position: Position, margin: int) -> tuple[int, ...]:
        best = []
        for action in position.legal_actions:
            after = position.copy()
            after.play(action)
            is_mine = after.player == position.player
            if after.is_over:
                found = after.counts[after.player] - after.counts[1 - after.player]
            else:
                # No action is better than the margin.
                bounds = (_NO_BOUNDS[0], margin) if is_mine else (-margin, _NO_BOUNDS[1])
                found = self.margin((*line, action), after, abs(margin), bounds)
            if found == (margin if is_mine else -margin):
                best.append(action)
        return tuple(best)


def find(decisions: Decisions, turns: int, seconds_each: float = np.inf) -> tuple[list[FairOpening], int]:
    """Find the fair openings of a ruleset within some turns of the start.

    Returns:
        The openings, and the number of positions that took longer than `seconds_each`. Openings whose
        optimal actions took longer are skipped, and counted as well.
    """
    solver = decisions.solver
    positions = positions_within(solver.ruleset, turns)

    num_undecided = 0

    def within_time(search: Callable[[], _Found]) -> _Found | None:
        nonlocal num_undecided
        solver.deadline = time.monotonic() + seconds_each
        try:
            return search()
        except OutOfTime:
            num_undecided += 1
            return None
        finally:
            solver.deadline = np.inf

    margins: dict[tuple[int, ...], int] = {}
    for most in range(0, solver.ruleset.total_seeds + 1, 2):
        for line, position in positions.items():
            margin = within_time(partial(decisions.margin, line, position, most))
            if margin is not None:
                margins[line] = margin
        if margins or num_undecided:
            break
    found = [
        within_time(partial(decisions.opening, line, positions[line], margin))
        for line, margin in margins.items()
    ]
    return [opening for opening in found if opening], num_undecided


def arrays_of(openings: Sequence[FairOpening], most_turns: int = TURNS) -> dict[str, Any]:
    """Return the arrays of a file of the fair openings within some turns of the start."""
    turns = np.full((len(openings), most_turns), NO_TURN, np.int8)
    best = np.zeros((len(openings), openings[0].ruleset.num_holes), np.bool_)
    replies = best.copy()
    for row, opening in enumerate(openings):
        turns[row, : len(opening.turns)] = opening.turns
        best[row, list(opening.best_actions)] = True
        replies[row, list(opening.replies)] = True
    margins = np.array([opening.margin for opening in openings], np.int16)
    return {"turns": turns, "margins": margins, "best": best, "replies": replies}


def wrong_openings(openings: Sequence[FairOpening], memory_mb: float) -> list[FairOpening]:
    """Return the openings whose stored value or turns a solver without a book does not confirm."""
    solver = Solver(openings[0].ruleset, memory_mb=memory_mb, use_book=False)
    decisions = Decisions(solver)
    wrong = []
    for opening in openings:
        position, margin = opening.position, opening.margin
        found = margin_within(solver, position, abs(margin))
        if found != margin or decisions.opening(opening.turns, position, margin) != opening:
            wrong.append(opening)
    return wrong


def _check(rulesets: Sequence[Ruleset], memory_mb: float) -> int:
    num_wrong = 0
    for ruleset in rulesets:
        openings = fair_openings(ruleset)
        wrong = wrong_openings(openings, memory_mb)
        num_wrong += len(wrong)
        print(
            f"{ruleset.name}: {len(openings) - len(wrong)} of {len(openings)} openings confirmed", flush=True
        )
        for opening in wrong:
            print(f"  not confirmed: {opening}", flush=True)
    return int(num_wrong > 0)


@in_one_line("make_fair_openings", "the file of the current ruleset is unchanged")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.make_fair_openings", description=__doc__)
    parser.add_argument(
        "rulesets", nargs="*", help="names of rulesets; with --check by default all that have a file"
    )
    parser.add_argument("--check", action="store_true", help="solve the stored openings again; write no file")
    parser.add_argument("--turns", type=int, default=TURNS, help="maximum turns from the start (4)")
    parser.add_argument(
        "--seconds_each", type=float, default=np.inf, help="time limit per position in seconds (none)"
    )
    parser.add_argument(
        "--memory_mb", type=float, default=1024.0, help="size of the solver's table in MB (1024)"
    )
    parser.add_argument("--num_threads", type=int, default=1, help="threads of the search (1)")
    parser.add_argument("--kept", type=Path, help="file of decided positions to resume from; for one ruleset")
    parser.add_argument(
        "--partial", action="store_true", help="write a file even if positions are undecided, without them"
    )
    parser.add_argument("--folder", type=Path, default=DATA, help="folder to write to")
    options = parser.parse_args(arguments)
    whole("turns", options.turns, 0)
    if not (options.rulesets or options.check):
        parser.error("name at least one ruleset")
    if options.kept and (len(options.rulesets) != 1 or options.check):
        parser.error("--kept needs exactly one ruleset, and no --check")
    chosen = [lookup(name) for name in options.rulesets or rulesets_with("fair")]
    if options.check:
        return _check(chosen, options.memory_mb)
    files = [options.folder / bundled_file("fair", ruleset.name).name for ruleset in chosen]
    for path in files:
        check_can_be_written(path)
    for ruleset, path in zip(chosen, files, strict=True):
        solver = Solver(ruleset, memory_mb=options.memory_mb, num_threads=options.num_threads)
        with Decisions(solver, options.kept) as decisions:
            openings, num_undecided = find(decisions, options.turns, options.seconds_each)
        if num_undecided and not (options.partial and openings):
            raise MancalaError(
                f"{num_undecided} positions of {ruleset.name} within {options.turns} turns took longer than "
                f"{options.seconds_each:g} s; use a longer --seconds_each, fewer --turns, or --partial"
            )
        with written_whole(path) as file:
            np.savez_compressed(file, **arrays_of(openings, options.turns))
        print(
            f"{ruleset.name}: {len(openings)} openings, {num_undecided} positions undecided, "
            f"{solver.nodes:,} nodes",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
