"""`--csv FILE` of every command that prints a table."""

import csv
import io
import json
from pathlib import Path

import pandas
import pytest
from error_checks import names

from mancala_env import cli, rulesets
from mancala_env.benchmark.results import Results
from mancala_env.benchmark.summary import BenchmarkSummary
from mancala_env.evaluation import Evaluation
from mancala_env.evaluation.ladder import stored_ladder

MEASURED = Path(__file__).parents[2] / "benchmarks" / "learning"
NEAR_THE_END = "layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S"
EVALUATE = ["evaluate", "random", "greedy", "--ruleset", "leyla", "--games", "4", "--no_regret"]


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_evaluate_prints_its_tables_and_writes_csv(tmp_path, capsys):
    path = tmp_path / "table.csv"
    assert cli.main([*EVALUATE, "--csv", str(path)]) == 0
    said = capsys.readouterr().out
    assert "Ratings, leyla" in said
    assert str(path) in said
    frame = pandas.read_csv(path)
    assert list(frame.columns) == list(Evaluation.COLUMNS)
    assert {"random", "greedy"} <= set(frame["agent"])
    assert cli.main([*EVALUATE, "--csv", "-"]) == 0
    assert capsys.readouterr().out == path.read_text()
    assert cli.main([*EVALUATE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    elo = {row["agent"]: row["elo"] for row in found["ratings"]["agents"]}
    own = frame[frame["measure"] == "elo"].set_index("agent")["value"]
    assert {name: round(value, 1) for name, value in own.items()} == elo


def test_the_benchmark_has_the_columns_of_its_frame(capsys):
    assert cli.main(["benchmark", "--folder", str(MEASURED), "--csv", "-"]) == 0
    found = pandas.read_csv(io.StringIO(capsys.readouterr().out), keep_default_na=True)
    frame = BenchmarkSummary(Results.read(MEASURED / "results.jsonl")).to_frame()
    assert list(found.columns) == list(frame.columns)
    assert len(found) == len(frame) > 10
    assert found["mean_regret"].to_list() == pytest.approx(frame["mean_regret"].to_list())


def test_solve_rulesets_and_speed_write_csv(tmp_path, capsys):
    assert cli.main(["solve", NEAR_THE_END, "--csv", "-"]) == 0
    actions = rows_of(capsys.readouterr().out)
    assert cli.main(["solve", NEAR_THE_END, "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["actions"]
    assert actions == [{name: str(value) for name, value in row.items()} for row in expected]
    assert cli.main(["rulesets", "--csv", "-"]) == 0
    assert [row["name"] for row in rows_of(capsys.readouterr().out)] == list(rulesets.names())
    path = tmp_path / "speed.csv"
    words = ["speed", "--seconds", "0.01", "--num_threads", "1", "--csv", str(path)]
    assert cli.main(words) == 0
    rows = rows_of(path.read_text())
    assert list(rows[0]) == ["name", "value", "unit"]  # as in --json
    assert [row["unit"] for row in rows] == ["turns/s"] * 2
    assert str(path) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--csv", "-", "--json"], ["--csv", "--json"]),
        (["--csv", "no/such/table.csv"], ["--csv", "no/such/table.csv"]),
        (["--csv", "."], ["--csv", "."]),
    ],
)
def test_an_unusable_file_is_reported_before_the_work(words, said, capsys):
    assert cli.main(["evaluate", "random", "greedy", *words]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert names(error, said)


def test_two_agents_are_on_the_scale_of_the_ladder(capsys):
    assert cli.main(["evaluate", "minimax:1", "greedy", "--ruleset", "leyla", "--games", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ratings"]["zero"] == "random"
    elo = {row["agent"]: row["elo"] for row in found["ratings"]["agents"]}
    assert elo["minimax:4"] == round(stored_ladder("leyla").ratings().of("minimax:4")[0], 1)


@pytest.mark.parametrize(
    "words",
    [["--no_ladder"], ["--rounds", "2"], ["--opening_turns", "3"], ["--opening_set", "all"]],
    ids=lambda words: words[0],
)
def test_options_that_the_ladder_does_not_allow_leave_it_out(words, capsys):
    agents = ["evaluate", "minimax:1", "greedy", "--ruleset", "leyla", "--games", "2", "--no_regret"]
    assert cli.main([*agents, *words]) == 0
    said = capsys.readouterr().out
    assert "Elo (mean = 0)" in said
    assert "not comparable" in said


def test_evaluate_of_a_checkpoint_says_why_its_win_rates_differ_from_the_report_of_its_run(tmp_path, capsys):
    from checkpoints import identity_of, write_checkpoint

    path = str(write_checkpoint(tmp_path / "agent.zip", identity_of("leyla")))
    words = ["random", "--games", "2", "--no_regret"]
    assert cli.main(["evaluate", path, *words]) == 0
    (note,) = [line for line in capsys.readouterr().out.splitlines() if "mancala train" in line]
    assert "balanced openings" in note
    assert "random turns" in note
    assert cli.main(["evaluate", path, *words, "--no_ladder", "--opening_turns", "4"]) == 0
    assert "mancala train" not in capsys.readouterr().out, "the games may be those of the run"
    assert cli.main(["evaluate", "greedy", *words]) == 0
    assert "mancala train" not in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--results", "--records"])
def test_a_table_does_not_replace_stored_games(option, tmp_path, capsys):
    file = tmp_path / "games"
    words = ["evaluate", "greedy", "random", "--no_ladder", "--no_regret", "--games", "2", option, str(file)]
    assert cli.main(words) == 0
    before = file.read_bytes()
    for table in ("--csv", "--report"):
        assert cli.main([*words, table, str(file)]) == 2
        assert names(capsys.readouterr().err, [option, table, file])
    assert file.read_bytes() == before


TALKING = """
from mancala_env import agents
from mancala_env.benchmark import Point

TASKS = ({task!r},)
print("read")


def learn(task, ruleset, budget, seed, folder):
    print("learning")
    first = agents.from_function(lambda seen, legal: legal.argmax(axis=1), ruleset, observation="board")
    yield Point(first, 100)
"""


def test_a_learner_that_prints_leaves_the_data_alone(tmp_path, capsys) -> None:
    entries = []
    for task in ("board", "anything"):
        entries.append(tmp_path / f"{task}.py")
        entries[-1].write_text(TALKING.format(task=task))
    runs = str(tmp_path / "runs")
    words = ["benchmark", *map(str, entries), "--folder", runs, "--steps", "100", "--seeds", "1", "--json"]
    words += ["--tasks", "board", "anything@board", "--games", "2", "--points", "1", "--lines"]
    assert cli.main([*words, "--ruleset", "leyla"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)
    assert "learning" in said.err
    assert "excluded" not in said.err
    measured = tmp_path / "runs" / "results.jsonl"
    before = measured.read_bytes()
    assert cli.main(["benchmark", "--folder", runs, "--csv", str(measured)]) == 2
    assert "--csv" in capsys.readouterr().err
    assert measured.read_bytes() == before
