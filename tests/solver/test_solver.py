"""The solver compared with an independent solver, and with plain minimax on small boards."""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from error_checks import raises
from twins import naive_rules

from mancala_env import Batch, InvalidPosition, Position, Ruleset, rulesets, solver
from mancala_env.errors import InvalidArgument
from mancala_env.solver.exact import OutOfTime

EXACT = json.loads((Path(__file__).parent.parent / "data" / "exact.json").read_text(encoding="utf-8"))

# Small boards with every rule option of a turn and of the end of a round.
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
    return naive.Game(
        naive_rules(position.ruleset),
        seeds=position.seeds.tolist(),
        owner=position.owner.tolist(),
        territory=position.territory.tolist(),
        stores=list(position.stores),
        player=position.player,
        stall=position.stall,
        end=position.end,
    )


class Brute:
    """Plain minimax over complete states, including the stall counter.

    The counter only rises while the number of free seeds stays, and that number never rises, so
    positions with their counter never repeat, and remembering them is exact.
    """

    def __init__(self, most_positions: int) -> None:
        self.south_margins: dict[tuple, int] = {}
        self.most_positions = most_positions

    def south_margin(self, game: naive.Game) -> int:
        """Return South's final lead, stores counted from zero here."""
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
    """Positions from random play, most of them with an unusual stall counter."""
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
    """Run with a stack for thousands of nested calls."""
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


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_equals_plain_minimax_with_every_stall_counter(name: str) -> None:
    compared = []

    def compare() -> None:
        shared = solver.Solver(SMALL[name], memory_mb=1)
        for position in random_positions(SMALL[name], seed=len(name), count=60):
            try:
                expected = brute_action_values(position, Brute(1_500))
            except TooLarge:
                continue
            # The shared table reuses proofs for other stall counters and contents.
            for solution in (shared.solve(position), solver.solve(position, memory_mb=0.1)):
                assert solution.action_values == expected, position.to_text()
                assert solution.value == max(expected.values())
                assert solution.is_exact
            compared.append(position)

    run_deep(compare)
    assert len(compared) >= 15
    assert sum(position.stall >= 30 for position in compared) >= 10


def with_contents(position: Position, rng: np.random.Generator) -> Position:
    """Return the position with other seeds in its owned holes, many of them empty, and empty stores."""
    ruleset, owned = position.ruleset, position.owner >= 0
    seeds = np.where(owned, rng.choice([0, 0, 1, 1, 2, 3, 5], owned.size), position.seeds)
    while seeds.sum() > ruleset.total_seeds:
        seeds[rng.choice(np.flatnonzero(owned & (seeds > 0)))] -= 1
    return Position(
        ruleset,
        seeds,
        position.owner,
        player=position.player,
        stall=position.stall,
        territory=position.territory,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SMALL if not name.startswith("uur")])
def test_proofs_are_carried_to_other_contents_of_owned_holes_only_where_they_hold(name: str) -> None:
    compared = []

    def compare() -> None:
        rng = np.random.default_rng(3)
        shared = solver.Solver(SMALL[name], memory_mb=8)
        brute = Brute(150_000)
        for position in random_positions(SMALL[name], seed=11, count=250):
            if (position.owner >= 0).sum() < 1 or position.seeds[position.owner < 0].sum() > 7:
                continue
            for _ in range(6):
                other = with_contents(position, rng)
                if other.is_over:
                    continue
                try:
                    expected = brute_action_values(other, brute)
                except TooLarge:
                    return
                assert shared.solve(other, with_line=False).action_values == expected, other.to_text()
                compared.append(other)

    run_deep(compare)
    assert len(compared) >= 60
    assert any((other.seeds[other.owner >= 0] == 0).any() for other in compared)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXACT, ids=lambda e: f"{e['ruleset']}:{e['value']}")
def test_equals_the_independent_solver(example: dict) -> None:
    position = Position(example["ruleset"], seeds=example["seeds"], owner=example["owner"])
    solution = solver.solve(position, memory_mb=64)
    assert solution.value == example["value"]
    assert solution.action_values == {int(a): v for a, v in example["actions"].items()}
    assert (solution.lower, solution.upper, solution.is_exact) == (solution.value, solution.value, True)


def line_value(position: Position, line: tuple[tuple[int, int], ...]) -> int:
    """Play a line to the end of the round; returns the value for the player to move at its start."""
    after = position.copy()
    for player, action in line:
        assert after.player == player
        after.play(action)
    assert after.is_over
    first = position.player
    won = [after.counts[player] - position.stores[player] for player in (0, 1)]
    return won[first] - won[1 - first]


@pytest.mark.parametrize("name", SMALL)
def test_the_principal_variation_ends_with_the_value(name: str) -> None:
    played = 0
    for position in random_positions(SMALL[name], seed=9, count=12):
        # A few of these small boards have many cycles and are hard; unsolved ones are skipped.
        solution = solver.solve(position, memory_mb=8, time_limit=1.0)
        if solution.is_exact and solution.nodes and solution.principal_variation:
            after = position.copy()
            for player, action in solution.principal_variation:
                assert after.player == player
                after.play(action)
            assert after.is_over
            assert line_value(position, solution.principal_variation) == solution.value
            played += 1
    assert played >= 1


def test_values_of_best_actions_and_many_games_agree_with_solve() -> None:
    ruleset = SMALL["weg 2x3, territory"]
    batch = Batch(ruleset, 10, seed=1, opening_turns=2)
    shared = solver.Solver(ruleset, memory_mb=1)
    values = shared.action_values_of(batch.games)
    assert values.shape == (10, ruleset.num_holes)
    for b in range(10):
        position = Position.from_games(ruleset, batch.games, b)
        solution = shared.solve(position)
        assert shared.value(position) == solution.value
        assert shared.best_actions(position) == solution.best_actions
        row = {a: int(v) for a, v in enumerate(values[b]) if v != solver.ILLEGAL}
        assert row == solution.action_values
    with raises(InvalidPosition, "games", "uint64"):
        shared.action_values_of(batch.games[0])


def test_stores_count_from_zero_and_owned_holes_count() -> None:
    owner = [-1, -1, 0, 0, -1, -1]
    position = Position(SMALL["uur 2x3"], [0, 1, 4, 2, 0, 1], owner, stores=(2, 2))
    bare = Position(SMALL["uur 2x3"], [0, 1, 4, 2, 0, 1], owner)
    assert solver.solve(position).value == solver.solve(bare).value >= 4


def test_a_finished_round_is_worth_its_count() -> None:
    position = Position(SMALL["uur 2x3"], [0, 0, 0, 1, 2, 0], player=0, stores=(4, 1))
    assert position.is_over
    solution = solver.solve(position)
    assert (solution.value, solution.action_values, solution.principal_variation) == (-3, {}, ())


@pytest.mark.slow
def test_territory_of_later_rounds_is_part_of_a_position() -> None:
    ruleset = SMALL["weg 2x3, territory"]
    seeds = [1, 1, 0, 1, 1, 0]
    shared = solver.Solver(ruleset, memory_mb=1)
    for territory in ([0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1], [1, 0, 0, 1, 1, 1]):
        for player in (0, 1):
            position = Position(ruleset, seeds, player=player, territory=territory)
            assert shared.solve(position).action_values == brute_action_values(position, Brute(50_000))


def test_south_and_north_differ_where_only_souths_first_turn_is_restricted() -> None:
    ruleset = Ruleset(
        row_width=3, seeds_per_hole=2, landing="uur", opening="rightmost", round_end="either_stuck"
    )
    shared = solver.Solver(ruleset, memory_mb=1)
    for player, num_actions in ((0, 1), (1, 3)):
        position = Position(ruleset, player=player)
        solution = shared.solve(position)
        assert len(solution.action_values) == num_actions
        assert solution.value == solver.solve(position).value == max(solution.action_values.values())


@pytest.mark.slow
def test_two_threads_find_what_one_finds() -> None:
    # 20 free seeds: one thread cannot finish before the second starts.
    position = Position("layli_goobalay", [4, 0, 5, 3, 2, 1, 1, 0, 1, 1, 1, 1])
    together = solver.Solver("layli_goobalay", memory_mb=64, num_threads=2)
    assert together.value(position) == 4


def test_the_time_limit_gives_bounds_that_hold() -> None:
    position = Position("layli_goobalay", [4, 0, 5, 3, 2, 1, 1, 0, 1, 1, 1, 1])
    exact = {0: 4, 2: -2, 3: -2, 4: -2, 5: -4}
    hurried = solver.Solver("layli_goobalay", memory_mb=16)
    for _ in range(3):
        solution = hurried.solve(position, time_limit=0.02)
        assert solution.lower <= 4 <= solution.upper
        assert all(low <= exact[a] <= high for a, (low, high) in solution.action_bounds.items())
        assert solution.is_exact == all(low == high for low, high in solution.action_bounds.values())
    bounds = solver.solve(Position("gabata_seven_holes"), time_limit=0.05)
    assert not bounds.is_exact
    assert bounds.lower < bounds.upper


@pytest.mark.slow
def test_an_interrupt_leaves_a_solver_that_continues() -> None:
    position = Position("layli_goobalay", [4, 0, 5, 3, 2, 1, 1, 0, 1, 1, 1, 1])
    for num_threads in (1, 2):
        interrupted = solver.Solver("layli_goobalay", memory_mb=64, num_threads=num_threads)
        reports = []

        def interrupt(progress: solver.Progress, reports=reports) -> None:
            reports.append(progress)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted.solve(position, progress=interrupt)
        assert reports[0].lower < reports[0].upper
        assert interrupted.value(position) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"memory_mb": 0}, ["memory_mb", 0]),
        ({"num_threads": 0}, ["num_threads", 1, 1024, 0]),
        ({"time_limit": -1}, ["time_limit", 0, -1]),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict, message: str) -> None:
    with raises(InvalidArgument, message):
        solver.solve(Position("leyla"), **arguments)


NEARLY_OVER = Position.from_text("leyla 0,0,1,0,2,0/0,0,1,0,0,0 22-22 S")


@pytest.mark.parametrize(
    "number",
    [np.float32(30), np.float64(30), np.int64(30), 10**400, float("inf")],
    ids=lambda x: f"{x!r:.20}",
)
def test_limits_may_be_numbers_of_any_kind(number: Any) -> None:
    position = NEARLY_OVER
    solution = solver.solve(position, time_limit=number, num_threads=2)
    assert solution.is_exact
    assert solution.value == solver.solve(position).value
    small: Any = np.float32(1)
    assert solver.Solver("leyla", memory_mb=small).solve(position, time_limit=number).is_exact


@pytest.mark.parametrize("memory_mb", [1e18, 10**400, float("inf")], ids=lambda x: f"{x!r:.20}")
def test_memory_that_no_machine_has_is_refused(memory_mb: float) -> None:
    with raises(InvalidArgument, "memory_mb"):
        solver.Solver("leyla", memory_mb=memory_mb).value(NEARLY_OVER)


def test_what_is_no_position_is_refused() -> None:
    exact = solver.Solver("leyla", memory_mb=1)
    for ask in (solver.solve, exact.solve, exact.value, exact.best_actions, exact.action_values):
        with raises(InvalidArgument, "Position('leyla')", "'leyla'"):
            ask("leyla")  # type: ignore[arg-type]


def test_a_position_of_another_ruleset_is_refused() -> None:
    exact, other = solver.Solver("leyla", memory_mb=1), Position("gabata_i")
    for ask in (exact.value, exact.known_bounds, lambda position: exact.narrow(position, -2, 2)):
        with raises(solver.SolverInputError, "leyla", "gabata_i"):
            ask(other)


def test_rulesets_of_the_catalogue_are_solved_near_the_end() -> None:
    rng = np.random.default_rng(4)
    for name in rulesets.names():
        shared = solver.Solver(name, memory_mb=1)
        solved = 0
        while solved < 3:
            line = [Position(name)]
            while not line[-1].is_over:
                after = line[-1].copy()
                after.play(int(rng.choice(after.legal_actions)))
                line.append(after)
            position = line[max(0, len(line) - 5)]
            try:
                expected = brute_action_values(position, Brute(3_000))
            except (TooLarge, RecursionError):
                continue
            assert shared.solve(position).action_values == expected, position.to_text()
            solved += 1


TINY = Ruleset(name="tiny", title="Tiny", row_width=3, seeds_per_hole=3)


def test_a_solver_is_not_used_by_its_own_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mancala_env.solver.exact._PROGRESS_SECONDS", -1.0)
    exact = solver.Solver(TINY, memory_mb=1)

    def search(_: solver.Progress) -> None:
        exact.value(Position(TINY, [1] * 6))

    with raises(solver.SolverInputError, "sibling"):
        exact.solve(Position(TINY), progress=search)
    assert exact.value(Position(TINY)) == -10


@pytest.mark.parametrize("bounds", [(-3, 4), (-4, 3), (4, -4), (-2, 1)])
def test_bounds_that_no_value_has_are_refused(bounds: tuple[int, int]) -> None:
    exact = solver.Solver(TINY, memory_mb=1)
    with raises(InvalidArgument, "even", *bounds):
        exact.narrow(Position(TINY), *bounds)
    assert exact.value(Position(TINY)) == -10


def test_a_solve_keeps_the_deadline_of_the_solver() -> None:
    exact = solver.Solver(TINY, memory_mb=1)
    exact.deadline = deadline = time.monotonic() - 1
    assert not exact.solve(Position(TINY)).is_exact
    assert exact.deadline == deadline


@pytest.mark.parametrize("most_nodes", [0, 5])
def test_a_cancelled_solver_finds_nothing_within_nodes(most_nodes: int) -> None:
    exact = solver.Solver(TINY, memory_mb=1)
    exact.cancel()
    with pytest.raises(OutOfTime):
        exact.value_within(Position(TINY), most_nodes)
