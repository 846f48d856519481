"""A solver that has solved many positions gives the same answers as a new one."""

import pytest
from solver_campaign import run

from mancala_env import Position, solver


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_solver_kept_for_many_positions_equals_brute_force(seed: int) -> None:
    tally = run(seed, count=1_000, room=1 << 16)
    assert not tally.faults
    assert tally.compared >= 1_000


def test_a_proof_for_empty_holes_is_not_one_for_all_contents() -> None:
    kept = solver.Solver("ludii_gabata_i", memory_mb=64)
    owner = [0, -1, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1]
    for theirs in (0, 1, 3):
        for mine in ((0, 0), (3, 4), (0, 1)):
            seeds = [mine[0], 0, 0, 5, 1, mine[1], 1, 0, 1, theirs, 0, 0]
            position = Position("ludii_gabata_i", seeds, owner, player=1)
            assert kept.action_values(position) == solver.solve(position, memory_mb=8).action_values
    shown = Position.from_text("ludii_gabata_i 3s,0,0,5,1,4s/1,0,1,0,0,0 0-0 N")
    assert kept.action_values(shown) == {0: 1, 2: 1}


def test_a_need_of_many_ransoms_is_not_met_by_fewer_seeds() -> None:
    kept = solver.Solver("gabata_seven_holes", memory_mb=64)
    values = {}
    for theirs in (38, 15):
        position = Position.from_text(f"gabata_seven_holes 6,4,2,3,1,1,{theirs}n/0,0,0,0,0,0,0 0-0 S")
        solution = kept.solve(position, with_line=False)
        assert solution.is_exact
        values[theirs] = solution.value
        assert solution.value == solver.solve(position, memory_mb=8).value
    assert values[15] == 32
