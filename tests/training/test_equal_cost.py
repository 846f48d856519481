"""The program training/experiments/equal_cost.py with a learner for tests."""

import sys

import numpy as np
import pytest
from benchmark_learners import HEAD
from error_checks import names

from mancala_env import rulesets
from mancala_env.benchmark import TASKS, LearningBudget, Results, limit_of_minutes, read_entry
from mancala_env.benchmark.bundled_learners import config_of
from mancala_env.benchmark.results import RESULTS
from training.experiments import equal_cost

# Plays better with a larger DEPTH, and stops after a tenth of a second.
LEARNER = """
    steps = 0
    while budget.part_spent(steps) < 0.1:
        steps += 1
    yield Point(f"minimax:{DEPTH}", steps)


DEPTH = 1
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Run the program with the one learner."""
    (tmp_path / "learner.py").write_text(HEAD + LEARNER, encoding="utf-8")
    monkeypatch.setattr(equal_cost, "ENTRIES", tmp_path)
    learner = equal_cost.Learner("a search", {"DEPTH": [1, 2, 4]})
    monkeypatch.setattr(equal_cost, "LEARNERS", {"learner": learner})
    words = ["--folder", str(tmp_path / "out"), "--games", "2", "--minutes", "0.01"]
    words += ["--tuning_minutes", "0.01", "--tuning_runs", "5", "--rulesets", "leyla"]

    def run(*more):
        return equal_cost.main([*words, *more])

    return run


@pytest.mark.slow
def test_a_learner_is_tuned_on_another_ruleset_and_runs_resume(program, tmp_path, capsys) -> None:
    assert program("--seeds", "1") == 0
    out = tmp_path / "out"
    tuned, found = Results.read(out / "tuning" / RESULTS), Results.read(out / RESULTS)
    regret = {row.key.entry: row.score.regret for row in tuned.all_rows()}
    assert set(regret) == {f"learner-{n}" for n in range(5)}
    assert {row.key.ruleset for row in tuned.all_rows()} == {"leyla_gobale_ii"}
    best = min(regret, key=lambda name: regret[name])
    assert regret["learner-0"] > regret[best]
    chosen = (out / "entries" / "learner.py").read_bytes()
    assert chosen == (out / "tuning" / f"{best}.py").read_bytes()
    assert b"DEPTH = 4" in chosen
    (row,) = [row for row in found.all_rows() if row.key.entry == "learner"]
    assert row.key.identity == read_entry(out / "entries" / "learner.py").identity
    capsys.readouterr()
    before = (out / "tuning" / RESULTS).read_bytes()
    assert program("--seeds", "2") == 0
    assert (out / "tuning" / RESULTS).read_bytes() == before
    assert len([row for row in Results.read(out / RESULTS).all_rows() if row.key.entry == "learner"]) == 2
    text = (out / "equal_cost.md").read_text("utf-8")
    assert (
        f"| 0.01 core minutes | leyla | learner | 1 | {row.core_minutes:.2f} | {row.score.regret:.3f} |"
        in text
    )
    assert "minimax:6" in text, "baselines"
    assert (out / "profiles.png").is_file()
    assert " | learner | 2 | " in text
    assert program("--seeds", "1") == 0
    assert " | learner | 2 | " not in (out / "equal_cost.md").read_text("utf-8"), "a later seed"
    copied = ["--folder", str(tmp_path / "copy"), "--recorded", str(out)]
    assert program("--seeds", "2", *copied) == 0
    for name in (RESULTS, f"tuning/{RESULTS}"):
        assert (tmp_path / "copy" / name).read_bytes() == (out / name).read_bytes()
    capsys.readouterr()
    assert equal_cost.main(["--folder", str(out), "--games", "4", "--rulesets", "leyla"]) == 2
    assert names(capsys.readouterr().err, "protocol.json")


@pytest.mark.parametrize("word", ["--seeds=0", "--tuning_runs=-1", "--minutes=-2.0"])
def test_a_number_out_of_range_is_refused_before_the_tuning(word, program, tmp_path, capsys) -> None:
    assert program(word, "--folder", str(tmp_path / "runs")) == 2
    assert names(capsys.readouterr().err, word.partition("=")[2])
    assert not (tmp_path / "runs").exists()


def test_runs_that_cannot_be_scored_are_listed(program, tmp_path, capsys) -> None:
    (tmp_path / "learner.py").write_text(HEAD + '\n    yield Point("greedy:oops", 1)\n\nDEPTH = 1\n', "utf-8")
    assert program("--seeds", "1", "--tuning_runs", "0") == 0
    report = (tmp_path / "out" / "equal_cost.md").read_text("utf-8")
    assert "oops" in report
    assert "no run could be scored" in capsys.readouterr().out


def test_the_rulesets_exclude_the_one_of_the_tuning(program, capsys) -> None:
    assert program("--rulesets", "leyla_gobale_ii") == 2
    assert names(capsys.readouterr().err, "leyla_gobale_ii")


@pytest.mark.parametrize("name", ["td", "value_loop", "descent", "gumbel_alphazero"])
def test_every_setting_of_an_entry_is_a_constant_of_its_file(name, tmp_path) -> None:
    learner = equal_cost.LEARNERS[name]
    plain = sys.modules[read_entry(equal_cost.ENTRIES / f"{name}.py").learn.__module__]
    assert set(learner.ranges) <= set(vars(plain))
    drawn = learner.draw(np.random.default_rng(1))
    entry = equal_cost.variant(tmp_path, name, name, drawn)
    assert "anything" in entry.tasks
    for constant, span in learner.ranges.items():
        value = drawn[constant]
        assert vars(sys.modules[entry.learn.__module__])[constant] == value
        assert value in span if isinstance(span, list) else span[0] <= value <= span[1]


@pytest.mark.parametrize("name", ["ppo", "ppo_labels"])
def test_ppo_uses_no_bundled_network(name, tmp_path) -> None:
    learner = equal_cost.LEARNERS[name]
    entry = equal_cost.variant(tmp_path, name, name, learner.draw(np.random.default_rng(1)))
    settings = vars(sys.modules[entry.learn.__module__])["SETTINGS"]
    budget = LearningBudget(limit_of_minutes(1), (1.0,))
    config = config_of(TASKS["afterstates"], rulesets.lookup("leyla"), budget, 1, tmp_path, settings)
    assert config.network.observation == "replies"
    assert config.network.hidden == settings["network.hidden"]
    assert (config.expert.share > 0) == (name == "ppo_labels")
    assert config.expert.share == 0 or config.expert.spec == "minimax:4"


def test_another_folder_to_start_from_must_have_a_protocol(program, tmp_path, capsys) -> None:
    assert program("--recorded", str(tmp_path / "nowhere")) == 2
    assert names(capsys.readouterr().err, ["--recorded", "nowhere"])
