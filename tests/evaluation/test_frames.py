"""Results as pandas frames: documented columns, one row per measurement, and the numbers of the results."""

import math
import re
import sys
from dataclasses import replace

import numpy as np
import pandas
import pytest
from error_checks import names

from mancala_env._util.command_line import MissingPackage
from mancala_env._util.tabular import Tabular
from mancala_env.evaluation import (
    evaluate,
    fit_ratings,
    measure_regret,
    play_matches,
    round_robin,
    stored_ladder,
)
from mancala_env.evaluation.exploit import stored_exploitability
from mancala_env.evaluation.regret import FIXED_POSITIONS
from mancala_env.rulesets import lookup

RULESET = "leyla"


class Derived(Tabular):
    """A table whose columns are computed."""

    num_computed = 0

    @property
    def columns(self):
        self.num_computed += 1
        return {"number": "A number"}

    def _rows(self):
        return [[n] for n in range(100)]


def test_columns_are_computed_once_for_all_rows():
    table = Derived()
    assert table.as_rows() == [{"number": n} for n in range(100)]
    assert table.num_computed == 1


@pytest.fixture(scope="module")
def matches():
    return round_robin(["random", "greedy", "minimax:1"], RULESET, games=8)


def test_a_round_robin_has_a_row_per_match(matches):
    frame = matches.to_frame()
    assert list(frame.columns) == list(matches.COLUMNS)
    assert list(zip(frame["first"], frame["second"], strict=True)) == [
        ("random", "greedy"),
        ("random", "minimax:1"),
        ("greedy", "minimax:1"),
    ]
    for row, match in zip(frame.itertuples(), matches, strict=True):
        assert (row.wins, row.draws, row.losses, row.games) == (match.wins, match.draws, match.losses, 8)
        assert (row.win_rate_low, row.win_rate_high) == match.interval
        assert (row.mean_margin, row.opening_set) == (match.mean_margin, "balanced")
    pandas.testing.assert_frame_equal(matches[0].to_frame(), frame[:1])


def test_ratings_have_a_row_per_agent_and_a_ladder_one_per_anchor(matches):
    ratings, ladder = fit_ratings(matches), stored_ladder(RULESET)
    frame = ratings.to_frame().set_index("agent")
    assert tuple(frame.loc["greedy", ["elo", "elo_low", "elo_high"]]) == ratings.of("greedy")
    assert frame["elo"].is_monotonic_decreasing
    assert set(frame["zero"]) == {"random"}
    frame = ladder.to_frame()
    assert set(frame["agent"]) == set(ladder.anchors)
    assert set(frame["ruleset"]) == {RULESET}
    assert list(frame.columns) == list(ladder.COLUMNS)
    frame = frame.set_index("agent")
    bounds = frame.loc["greedy", ["exploitability_lower", "exploitability_upper"]]
    assert tuple(bounds) == stored_exploitability(RULESET)["greedy"]
    assert math.isnan(frame.loc["random", "exploitability_lower"])
    own = replace(lookup(RULESET), title="Mine")
    assert stored_exploitability(own) == {}


def test_regret_has_a_row_per_phase():
    regret = measure_regret("greedy", RULESET)
    frame = regret.to_frame().set_index("phase")
    assert list(frame.index) == [*(part.phase for part in regret.phases), "all"]
    assert frame.loc["all", "mean_regret"] == regret.overall.mean_regret
    assert frame["positions"][:-1].sum() == frame.loc["all", "positions"]


def test_an_evaluation_has_a_row_per_measured_number():
    found = evaluate(["greedy", "minimax:1"], RULESET, games=4, ladder=False)
    frame = found.to_frame()
    assert list(frame.columns) == list(found.COLUMNS)
    counts = frame["measure"].value_counts()
    phases = 1 + len(found.regrets[0].phases)
    assert dict(counts) == {
        "elo": 2,
        "win_rate": 1,
        "mean_margin": 1,
        "mean_regret": 2 * phases,
        "optimal_share": 2 * phases,
        "regret_difference": 1,
    }
    keys = ["agent", "measure", "against", "source", "phase"]
    assert not frame.duplicated(keys).any()
    overall = frame.query("measure == 'mean_regret' and agent == 'greedy' and phase == 'all'")
    assert overall["value"].item() == found.regrets[0].overall.mean_regret
    (difference,) = found.regret_differences
    row = frame[frame["measure"] == "regret_difference"].iloc[0]
    assert (row["value"], row["low"], row["high"]) == (difference.mean, *difference.interval)
    assert frame["count"].dtype == np.int64


def test_a_result_without_rows_has_columns():
    empty = evaluate("greedy", RULESET, ladder=False).to_frame()
    assert "elo" not in set(empty["measure"])
    assert type(round_robin(["random", "greedy"], RULESET, games=2))().to_frame().shape == (0, 16)


def test_without_pandas_the_error_names_the_command(monkeypatch):
    match = play_matches("greedy", "random", RULESET, games=2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackage) as error:
        match.to_frame()
    assert names(str(error.value), ["pandas", "pip install pandas"])


def test_on_the_ladder_two_anchors_keep_its_scale():
    quick = evaluate(["greedy", "minimax:1"], RULESET, games=4, regret=False, max_anchors=2)
    assert {match.second for match in quick.matches} == {"minimax:1", "minimax:4", "minimax:2"}
    assert quick.is_on_ladder
    assert quick.ratings is not None
    assert quick.ratings.of("minimax:4") == stored_ladder(RULESET).ratings().of("minimax:4")
    assert "random = 0" in quick.scale
    alone = evaluate(["greedy", "minimax:1"], RULESET, games=4, regret=False, ladder=False)
    assert not alone.is_on_ladder
    assert "mean = 0" in alone.scale
    assert alone.as_dict()["scale"] == alone.scale
    unrated = evaluate("greedy", RULESET, ladder=False)
    assert unrated.as_dict()["scale"] is None
    assert "no agent is rated" in unrated.scale


@pytest.mark.slow
def test_an_evaluation_is_printed_with_elo_and_regret_of_each_agent():
    found = evaluate(["greedy", "minimax:1"], RULESET, games=4, max_anchors=2, own_games=2)
    assert found.ratings is not None
    lines = str(found).splitlines()
    assert len(lines) == 2
    for line, agent, regret in zip(lines, found.agents, found.regrets[::2], strict=True):
        assert (regret.agent, regret.source) == (agent, FIXED_POSITIONS)
        numbers = [f"{number:z.0f}" for number in found.ratings.of(agent)]
        numbers += [f"{number:.2f}" for number in (regret.overall.mean_regret, *regret.overall.interval)]
        assert line.startswith(f"{agent}: ")
        assert re.findall(r"-?\d[\d.]*", line.removeprefix(agent).replace("random = 0", "")) == numbers
    assert "Elo" not in str(evaluate("greedy", RULESET, ladder=False))
    own = {"like": RULESET, "row_width": 3, "name": "unsolved"}
    assert str(evaluate("greedy", own, ladder=False)) == "greedy: neither Elo nor regret was measured"
    assert "regret" not in str(evaluate("greedy", RULESET, games=4, max_anchors=2, regret=False))


def test_agents_that_are_anchors_still_play_two_others():
    found = evaluate(["greedy", "minimax:4"], RULESET, games=2, regret=False, max_anchors=2)
    assert {match.second for match in found.matches} == {"minimax:4", "minimax:2", "random"}
