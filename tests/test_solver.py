"""The solver against values from an independent solver, and against plain minimax on small boards."""

import json
import sys
import threading
from pathlib import Path

import naive
import numpy as np
import pytest

from mancala_env import Position, Ruleset, solver

EXACT = json.loads((Path(__file__).parent / "data" / "exact.json").read_text())

# Small boards that exercise every dial a turn or the end of a round reads.
SMALL = {
    "uur 2x3": Ruleset(row_width=3, seeds_per_hole=2, landing="uur"),
    "uur 2x4": Ruleset(row_width=4, seeds_per_hole=2, landing="uur"),
    "uur 2x2": Ruleset(row_width=2, seeds_per_hole=4, landing="uur"),
    "uur, last seed stays, either stuck": Ruleset(
        row_width=3, seeds_per_hole=3, landing="uur", captures_last=False, round_end="either_stuck"
    ),
    "uur, rightmost, one seed": Ruleset(
        row_width=3, seeds_per_hole=1, landing="uur", opening="rightmost", round_end="both_stuck"
    ),
    "pair 2x3": Ruleset(row_width=3, seeds_per_hole=3, landing="pair", direction="clockwise"),
    "pair 2x4, either stuck": Ruleset(
        row_width=4, seeds_per_hole=2, landing="pair", round_end="either_stuck"
    ),
    "pair, empty holes are safe": Ruleset(row_width=3, seeds_per_hole=3, landing="pair", ransoms_empty=False),
    "weg 2x3": Ruleset(row_width=3, seeds_per_hole=3, landing="weg", round_end="both_stuck"),
    "weg 2x4": Ruleset(row_width=4, seeds_per_hole=2, landing="weg", round_end="both_stuck"),
    "weg 2x3, territory": Ruleset(
        row_width=3, seeds_per_hole=4, landing="weg", round_end="both_stuck", match="territory"
    ),
    "weg on either side, empty ones are safe": Ruleset(
        row_width=3,
        seeds_per_hole=3,
        landing="weg",
        owns_on="either",
        ransoms_empty=False,
        round_end="both_stuck",
    ),
    "weg, mover stuck": Ruleset(row_width=2, seeds_per_hole=4, landing="weg"),
}


def naive_game(position: Position) -> naive.Game:
    dials = position.ruleset
    rules = naive.Rules(
        width=dials.row_width,
        seeds=dials.seeds_per_hole,
        clockwise=dials.direction == "clockwise",
        landing=dials.landing,
        captures_last=dials.captures_last,
        weg_side=dials.owns_on,
        ransoms_empty=dials.ransoms_empty,
        round_end=dials.round_end,
        match=dials.match,
        opening=dials.opening,
    )
    return naive.Game(
        rules,
        seeds=position.seeds.tolist(),
        owner=position.owner.tolist(),
        territory=position.territory.tolist(),
        stores=list(position.stores),
        player=position.player,
        stall=position.stall,
        end=position.end,
    )


class Brute:
    """Plain minimax over everything the rules ask for, the stall counter included.

    The counter only rises while the number of free seeds stays, and that number never rises, so
    positions with their counter never repeat, and remembering them is exact.
    """

    def __init__(self, most_positions: int) -> None:
        self.south_margins: dict[tuple, int] = {}
        self.most_positions = most_positions

    def south_margin(self, game: naive.Game) -> int:
        """Return South's final count less North's, stores counted from zero here."""
        if game.end:
            south, north = naive.counts(game)
            return south - north - game.stores[0] + game.stores[1]
        key = (
            tuple(game.seeds),
            tuple(game.owner),
            tuple(game.territory),
            game.player,
            game.stall,
            naive.is_forced_rightmost(game),
        )
        if key not in self.south_margins:
            if len(self.south_margins) >= self.most_positions:
                raise TooLarge
            values = [self.after(game, action) for action in naive.legal(game)]
            self.south_margins[key] = max(values) if game.player == 0 else min(values)
        return self.south_margins[key]

    def after(self, game: naive.Game, action: int) -> int:
        next_game = naive.copy_of(game)
        naive.play(next_game, action)
        won = next_game.stores[0] - game.stores[0] - next_game.stores[1] + game.stores[1]
        return won + self.south_margin(next_game)


class TooLarge(Exception):
    pass


def brute_action_values(position: Position, brute: Brute) -> dict[int, int]:
    game = naive_game(position)
    sign = 1 if position.player == 0 else -1
    return {action: sign * brute.after(game, action) for action in naive.legal(game)}


def with_stall(position: Position, stall: int) -> Position:
    return Position(
        position.ruleset,
        position.seeds,
        position.owner,
        position.stores,
        position.player,
        stall,
        position.territory,
    )


def random_positions(ruleset: Ruleset, seed: int, count: int) -> list[Position]:
    """Positions from random play, most of them with a stall counter that play would seldom show."""
    rng = np.random.default_rng(seed)
    positions = []
    while len(positions) < count:
        position = Position(ruleset, player=int(rng.integers(2)))
        for _ in range(int(rng.integers(12))):
            if not position.is_over:
                position.play(int(rng.choice(position.legal_actions)))
        if position.is_over:
            continue
        if rng.random() < 0.7:
            position = with_stall(position, int(rng.integers(30, 50)))
        positions.append(position)
    return positions


def run_deep(work) -> None:
    """Run with a stack that thousands of nested turns fit on."""
    failure = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(512 * 2**20)
    sys.setrecursionlimit(100_000)
    try:
        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if failure:
        raise failure[0]


@pytest.mark.parametrize("name", SMALL)
def test_equals_plain_minimax_with_every_stall_counter(name: str) -> None:
    compared = []

    def compare() -> None:
        shared = solver.Solver(SMALL[name], memory_mb=1)
        for position in random_positions(SMALL[name], seed=len(name), count=60):
            try:
                expected = brute_action_values(position, Brute(6_000))
            except TooLarge:
                continue
            # The shared table carries proofs from one stall counter and one set of contents to others.
            for solution in (shared.solve(position), solver.solve(position, memory_mb=0.1)):
                assert solution.action_values == expected, position.to_text()
                assert solution.value == max(expected.values())
                assert solution.is_exact
            compared.append(position)

    run_deep(compare)
    assert len(compared) >= 15
    assert sum(position.stall >= 30 for position in compared) >= 10


@pytest.mark.parametrize("example", EXACT, ids=lambda e: f"{e['ruleset']}:{e['value']}")
def test_equals_the_independent_solver(example: dict) -> None:
    position = Position(example["ruleset"], seeds=example["seeds"], owner=example["owner"])
    solution = solver.solve(position, memory_mb=64)
    assert solution.value == example["value"]
    assert solution.action_values == {int(a): v for a, v in example["actions"].items()}
    assert (solution.lower, solution.upper, solution.is_exact) == (solution.value, solution.value, True)
