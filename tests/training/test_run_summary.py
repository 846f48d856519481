"""The lines under the table of a finished run: what is lookahead, and the scale up to perfect play."""

import pytest

from mancala_env.agents import make
from mancala_env.evaluation.regret import measure_regret
from mancala_env.training import run_report
from mancala_env.training.config import CONFIGS, read_config


def test_make_run_says_what_is_lookahead():
    config, _ = read_config(["--config", str(CONFIGS / "run.yaml")])
    lookahead, labels = run_report.lookahead_in_words(config)
    assert "value+minimax:4" in lookahead
    assert {"value+minimax:6", "40,000", "10%"} <= set(labels.replace(" of", "").split())


def test_an_agent_that_sees_the_board_has_no_lookahead():
    config, _ = read_config(["smoke", "--network.observation", "board"])
    assert run_report.lookahead_in_words(config) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "specs"),
    [("board", ["minimax:4"]), ("replies", ["minimax:4", "minimax:2"]), ("lines", ["minimax:4"])],
)
def test_the_scale_has_the_regret_of_known_agents(kind, specs):
    config, _ = read_config(["smoke", "--network.observation", kind])
    regrets = [measure_regret(make(spec, config.game, seed=1), config.game) for spec in specs]
    line = run_report._scale_in_words(config, regrets[0])
    for spec, regret in zip(specs, regrets, strict=True):
        assert line.count(f"{spec} {regret.overall.mean_regret:.2f}") == 1
    assert f"this agent {regrets[0].overall.mean_regret:.2f}" in line
