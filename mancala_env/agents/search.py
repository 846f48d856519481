"""What the search agents share: budgets such as ``6`` or ``0.1s``, and one search per thread."""

import math
import re
from abc import abstractmethod
from collections.abc import Callable
from threading import Event
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from mancala_env.agents.agent import Agent, InvalidSpec
from mancala_env.engine.kernel import kernel
from mancala_env.engine.pace import Pace
from mancala_env.engine.state import SOUTH, count_of, seeds_within
from mancala_env.engine.threads import run_in_slices
from mancala_env.rulesets import Ruleset

ACTIVE = 0
"""Column of every search's progress: 1 while a game's search is under way."""

_SECONDS = re.compile(r"(\d+\.?\d*|\.\d+)s")


class Budget(NamedTuple):
    """How long to search one position.

    Attributes:
        steps: Turns deep, or simulations; the most there can be where time decides.
        seconds: Seconds for each position; infinite where `steps` decides.
    """

    steps: int
    seconds: float


def read_budget(spec: str, argument: str, word: str, most: int) -> Budget:
    """Return the budget that the part of a spec after the colon asks for.

    Args:
        spec: The whole spec, for messages.
        argument: A whole number of steps such as ``"6"``, or seconds such as ``"0.1s"``.
        word: What a step is called in messages.
        most: The largest number of steps.

    Raises:
        InvalidSpec: It is neither; the message says what would be right.
    """
    if re.fullmatch(r"\d+", argument) and 1 <= int(argument) <= most:
        return Budget(int(argument), math.inf)
    match = _SECONDS.fullmatch(argument)
    if match and float(match[1]) > 0:
        return Budget(most, float(match[1]))
    raise InvalidSpec(
        f"spec {spec!r}: after the colon comes {word}, a whole number from 1 to {most}, or the time for "
        f"one position, such as 0.1s; not {argument!r}"
    )


def split_argument(spec: str, argument: str, form: str) -> tuple[str, str]:
    """Return the budget and the checkpoint of a spec such as ``policy+minimax:6:runs/first/final.zip``.

    Args:
        spec: The whole spec, for messages.
        argument: What follows its first colon.
        form: The form of the spec.

    Raises:
        InvalidSpec: There is no second colon, or nothing after it.
    """
    budget, _, checkpoint = argument.partition(":")
    if not checkpoint:
        raise InvalidSpec(f"spec {spec!r}: the form is {form}")
    return budget, checkpoint


@kernel
def num_seeds(game):
    """Return all seeds of a game, in holes and stores; turns never change it."""
    return seeds_within(game.board, 0xFFFFFF) + game.store_south + game.store_north


@kernel
def margin_for(rules, game, total, player):
    """Return how far a player's count leads (RULES 4): final once the round is over, else as it stands.

    This is what every leaf is worth. `total` is num_seeds of the game.
    """
    margin = 2 * count_of(rules, game, SOUTH) - total
    return margin if player == SOUTH else -margin


class SearchAgent(Agent):
    """An agent that searches each position for a number of steps, or for a time.

    A subclass supplies the memory of one thread and a kernel that searches in pieces: between two
    pieces Python looks at the clock and hears Ctrl-C.

    Attributes:
        budget: What the spec allows for each position.
        most_in_one_piece: How many turns, or simulations, a kernel is given at once where nobody looks at the
            clock: as many as take one or two milliseconds on 2x6 holes.
    """

    most_in_one_piece: int

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and a budget; memory is allocated by the first search."""
        super().__init__(ruleset, spec=spec, seed=seed, num_threads=num_threads)
        self.budget = budget
        self._idle_memories: list[Any] = []

    @abstractmethod
    def _new_memory(self) -> Any:
        """Allocate what one thread needs for its searches."""

    def _search(
        self,
        games: np.ndarray,
        search_piece: Callable[[Any, int, int, int], int],
    ) -> None:
        """Search every game, on threads.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`.
            search_piece: Called with a thread's memory, games start and stop and the size of a piece,
                searches
                on from where the memory says for about as much and returns the game it stands at, `stop` when
                all are done.
        """
        is_cancelled = Event()
        is_timed = not math.isinf(self.budget.seconds)

        def search_slice(start: int, stop: int) -> None:
            memory = self._idle_memories.pop() if self._idle_memories else self._new_memory()
            most = self.most_in_one_piece
            pace = Pace(max(1, most // 100) if is_timed else most, most)
            for first, last in self._searches(start, stop):
                memory.progress[ACTIVE] = 0  # whatever was interrupted before
                b = first
                started = perf_counter()
                deadline = started + self.budget.seconds
                while b < last and not is_cancelled.is_set():
                    b = search_piece(memory, b, last, pace.piece)
                    if is_timed:
                        now = perf_counter()
                        if now >= deadline:
                            break
                        pace.took(now - started)
                        started = now
            self._idle_memories.append(memory)

        run_in_slices(search_slice, len(games), self.num_threads, fewest=1, is_cancelled=is_cancelled)

    def _searches(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return which games one call may search: each alone where each has a time of its own."""
        if math.isinf(self.budget.seconds):
            return [(start, stop)]
        return [(b, b + 1) for b in range(start, stop)]
