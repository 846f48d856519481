"""Time limits of the solver, and progress messages if the output is a file."""

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from error_checks import raises

from mancala_env import Position, agents, cli, solver
from mancala_env.errors import InvalidArgument
from mancala_env.solver import prover


def hard_positions(count: int) -> list[Position]:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(count):
        position = Position("gabata_seven_holes")
        for _ in range(6):
            position.play(int(rng.choice(position.legal_actions)))
        found.append(position)
    return found


def test_a_solve_of_a_hundredth_of_a_second_ends_soon_after() -> None:
    positions = hard_positions(9)
    solver.solve(positions[0], time_limit=0.01)  # compile
    taken = []
    for position in positions:
        started = time.thread_time()  # time of other programs does not count
        assert not solver.solve(position, time_limit=0.01).is_exact
        taken.append(time.thread_time() - started)
    assert np.median(taken) < 0.04


def test_an_agent_with_a_hundredth_of_a_second_ends_soon_after() -> None:
    positions = hard_positions(9)
    for spec in ("perfect:0.01s", "minimax:0.01s", "mcts:0.01s"):
        agent = agents.make(spec, "gabata_seven_holes", seed=1, num_threads=1)
        agent.choose(positions[0])
        taken = []
        for position in positions:
            started = time.thread_time()
            agent.choose(position)
            taken.append(time.thread_time() - started)
        assert np.median(taken) < 0.04, spec


def test_a_limit_of_nodes_is_kept_to_the_node_whatever_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    positions = hard_positions(3)
    easy = Position("gabata_seven_holes", [0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0])
    asked = [*positions, easy, *positions]
    ends = []
    for most in (1, 7, 100_000):
        monkeypatch.setattr(prover, "_FIRST_NODES", most)
        monkeypatch.setattr(prover, "_MOST_NODES", most)
        solving = solver.Solver("gabata_seven_holes", memory_mb=1)
        found = [(solving.value_within(position, 20_000), solving.nodes) for position in asked]
        ends.append((found, solving.shared_table().copy()))
    (found, table), *others = ends
    assert [value is None for value, _ in found] == [True] * 3 + [False] + [True] * 3
    assert [nodes for _, nodes in found[:3]] == [20_000, 40_000, 60_000]
    assert found[3][0] == solver.solve(easy).value
    for other_found, other_table in others:
        assert other_found == found
        assert np.array_equal(other_table, table)
    assert solving.value_within(easy, 0) == found[3][0]  # the table holds it
    assert solver.Solver("gabata_seven_holes", memory_mb=1).value_within(easy, 0) is None
    assert solving.value(easy) == found[3][0]
    wrongs: list[Any] = [-1, 1.5, None]
    for wrong in wrongs:
        with raises(InvalidArgument, "most_nodes"):
            solving.value_within(easy, wrong)
    solving.cancel()
    with pytest.raises(prover.OutOfTime):
        solving.value_within(positions[0], 1_000_000)
    with pytest.raises(prover.OutOfTime):  # permanently, even if time is left
        solving.solve(positions[0], time_limit=60, with_line=False)
    assert solving.sibling().value(easy) == found[3][0]


@pytest.mark.slow
def test_a_solve_into_a_file_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "mancala_env", "solve", "--ruleset", "gabata_seven_holes"]
    ended = subprocess.run([*command, "--time_limit", "3"], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0
    assert "nodes" in ended.stderr
    with pytest.raises(SystemExit):
        cli.main(["solve", "--help"])
    shown = capsys.readouterr().out
    assert "--time_limit" in shown
    assert "(required" not in shown
