"""The command that solves the positions of the data files again."""

import pytest

from mancala_env import Position, solver
from tools import check_solved


def test_the_bundled_values_agree_without_sharing(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["gabata_3", "--sample", "12", "--seconds_each", "5", "--memory_mb", "64"]
    assert check_solved.main([*arguments, "--parts", "positions"]) == 0
    assert " 0 differ" in capsys.readouterr().out


def test_a_wrong_value_is_named() -> None:
    position = Position.from_text("layli_goobalay 0,0,0,0,0,1/3,0,0,0,0,0 0-0 S")
    value = solver.solve(position).value
    exact = solver.Solver("layli_goobalay", memory_mb=8, use_book=False, share_proofs=False)
    right: check_solved.Claim = (position, {None: value})
    wrong: check_solved.Claim = (position, {None: value + 2})
    assert check_solved.check(exact, iter([right]), 5.0).agree == 1
    assert check_solved.check(exact, iter([wrong]), 5.0).differ
