"""A number that rounds to zero is printed without a minus sign."""

import re

import numpy as np
import pytest

from mancala_env import cli
from mancala_env.benchmark.aggregates import Estimate
from mancala_env.benchmark.summary import Standing
from mancala_env.evaluation.agent_evaluation import Evaluation
from mancala_env.evaluation.matches import MatchResult
from mancala_env.evaluation.ratings import Ratings
from mancala_env.evaluation.regret import RegretDifference
from mancala_env.render.scene import value_text

MINUS_NOTHING = re.compile(r"-0(\.0+)?(?![\d.])")


@pytest.fixture
def nearly_nothing(monkeypatch) -> None:
    """Make `mancala evaluate` return numbers just below 0."""
    margins = np.array([[1, -1]] * 20 + [[-1, 0]], np.int16)
    little = np.array([-0.3, 0.0])
    names = ("greedy", "random")
    found = Evaluation(
        "leyla",
        names,
        [MatchResult(*names, "leyla", margins)],
        Ratings(names, little, little, little, np.array([42, 42]), "random", np.zeros((1, 2))),
        [],
        regret_differences=[difference(*names)],
    )
    monkeypatch.setattr("mancala_env.cli.evaluate.evaluate", lambda *args, **options: found)


def difference(first: str, second: str) -> RegretDifference:
    return RegretDifference(first, second, "leyla", "fixed positions", 300, -0.001, (-0.004, 0.002), 5, 4)


def test_ratings_and_margins_of_nothing_have_no_minus(nearly_nothing, tmp_path, capsys) -> None:
    report = tmp_path / "report.html"
    assert cli.main(["evaluate", "greedy", "random", "--report", str(report)]) == 0
    shown, _, path = capsys.readouterr().out.partition("report: ")
    assert path.strip() == str(report)  # a path may hold anything, such as "pytest-0"
    assert "+0.0" in shown
    assert not MINUS_NOTHING.search(shown)
    tables = "".join(re.findall("<table.*?</table>", report.read_text(encoding="utf-8"), re.DOTALL))
    assert "+0.0" in tables
    assert not MINUS_NOTHING.search(tables)


def test_a_standing_and_a_value_of_nothing_have_no_minus() -> None:
    little, some = Estimate(-0.2, -0.4, 3.0), Estimate(0.5, 0.4, 0.6)
    assert "0 (0 to 3)" in Standing("td", 5, 100, 1.0, some, some, little, None).cells()
    assert value_text(-0.001) == "0.00"
