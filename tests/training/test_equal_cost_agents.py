"""The program training/experiments/equal_cost_agents.py, after short runs of real learners."""

import json

import pytest
from error_checks import names

from mancala_env.benchmark.results import RESULTS
from training.experiments import equal_cost, equal_cost_agents


@pytest.mark.slow
def test_the_last_agents_of_runs_are_measured(tmp_path, capsys) -> None:
    learners = ["td", "descent", "gumbel_alphazero", "ppo"]
    words = ["--folder", str(tmp_path), "--seeds", "1", "--minutes", "0.04", "--rulesets", "leyla"]
    assert equal_cost.main([*words, "--tuning_runs", "0", "--games", "2", "--learners", *learners]) == 0
    program = ["--folder", str(tmp_path), "--seconds", "0.2"]
    assert equal_cost_agents.main(program) == 0

    lines = [json.loads(line) for line in (tmp_path / equal_cost_agents.MEASURED).read_text().splitlines()]
    of = {line["learner"]: line for line in lines}
    assert set(of) == {*learners, *equal_cost_agents.REFERENCES}
    assert of["greedy"]["bounds"] == [46, 46]  # exact: docs/results/exploitability.md
    for line in lines:
        assert 0 < line["milliseconds"] < 100
        assert 0 <= line["bounds"][0] <= line["bounds"][1] <= 48
    assert set(of["descent"]["depths"]) == {"1", "2", "6"}
    assert of["descent"]["depths"]["6"] < of["descent"]["depths"]["1"]
    text = (tmp_path / "agents.md").read_text("utf-8")
    assert "| leyla | 0.04 core minutes | `gumbel_alphazero` | 1 |" in text

    (tmp_path / equal_cost_agents.MEASURED).unlink()
    file = next(tmp_path.glob("learners/leyla/anything/*/descent-*/seed-1/descent.safetensors"))
    content = file.read_bytes()
    file.unlink()
    capsys.readouterr()
    assert equal_cost_agents.main([*program, "--learners", "descent"]) == 0
    assert names(capsys.readouterr().out, str(file))

    file.write_bytes(content)
    results = tmp_path / RESULTS
    changed = [json.loads(line) for line in results.read_text().splitlines()]
    for line in changed:
        line.update({"regret": 2.5} if "regret" in line else {})
    results.write_text("".join(json.dumps(line) + "\n" for line in changed))
    assert equal_cost_agents.main([*program, "--learners", "descent"]) == 2
    assert names(capsys.readouterr().err, ["2.5", "descent"])


def test_a_folder_without_runs_is_refused(tmp_path, capsys) -> None:
    assert equal_cost_agents.main(["--folder", str(tmp_path)]) == 2
    assert names(capsys.readouterr().err, RESULTS)
