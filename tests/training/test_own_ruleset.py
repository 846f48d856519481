"""A ruleset of the user in training: configuration, run folder, checkpoint, resume, evaluation, benchmark."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_learners import HONEST, entry_of, run
from checkpoints import identity_of, write_checkpoint
from error_checks import names, raises
from rich.console import Console

from mancala_env import InvalidRuleset, agents, cli, rulesets
from mancala_env._util.package_data import prepared_file
from mancala_env.benchmark import Results
from mancala_env.benchmark.results import RESULTS, RULESETS
from mancala_env.benchmark.summary import ALL, BenchmarkSummary
from mancala_env.evaluation import NoLadder, evaluate, prepare, stored_ladder
from mancala_env.evaluation.ladder import prepare_ladder
from mancala_env.evaluation.regret import (
    expected_mistake,
    has_exact_positions,
    measure_regret,
    regret_difference,
)
from mancala_env.networks.checkpoint import read_identity
from mancala_env.solver import ILLEGAL, NoPositions, positions, prepare_positions
from mancala_env.training.config import CONFIGS, InvalidConfig, TrainConfig, read_config, read_settings
from mancala_env.training.config_groups import EvaluationConfig
from mancala_env.training.reproduce import made_by
from mancala_env.training.run_folder import METRICS, RunFolder
from mancala_env.training.run_report import REPORT, report

OPTIONS = {"like": "layli_goobalay", "row_width": 4, "seeds_per_hole": 3, "name": "mine"}
MINE = rulesets.lookup(OPTIONS)


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    """A ruleset file, in the working folder, with an empty cache of solved positions and ladders."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MANCALA_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "mine.yaml"
    path.write_text("like: layli_goobalay\nrow_width: 4\nseeds_per_hole: 3\n", encoding="utf-8")
    return path


def short(*words: str) -> list[str]:
    return ["train", *words, "--config", str(CONFIGS / "smoke.yaml"), "--environment_steps", "2048"]


def test_a_configuration_takes_a_name_options_a_file_or_a_ruleset(file):
    for given in (OPTIONS, "mine.yaml", MINE):
        config = TrainConfig(ruleset=given)
        assert config.game == MINE
        assert read_settings(config.as_dict()).game == MINE
    assert TrainConfig(ruleset=rulesets.lookup("leyla")).ruleset == "leyla"
    assert TrainConfig(ruleset={"like": "leyla"}).ruleset == "leyla"


def test_the_command_line_and_files_take_them(file, tmp_path):
    for words in (["mine.yaml"], ["--ruleset", "mine.yaml"], ["--ruleset", json.dumps(OPTIONS)]):
        config, _ = read_config(words)
        assert (config.game, config.name) == (MINE, "mine")
    (tmp_path / "sub").mkdir()
    file.rename(tmp_path / "sub" / "mine.yaml")
    for text in ("ruleset: mine.yaml", f"ruleset: {json.dumps(OPTIONS)}", "ruleset:\n  like: leyla\n"):
        (tmp_path / "sub" / "first.yaml").write_text(text + "\nminutes: 1\n", encoding="utf-8")
        config, _ = read_config(["--config", "sub/first.yaml"])
        assert config.game == (MINE if "mine" in text else rulesets.lookup("leyla"))
        assert (config.name, config.minutes) == ("first", 1)


def test_the_ruleset_on_the_command_line_wins_over_files(file, tmp_path):
    (tmp_path / "my.yaml").write_text("ruleset: gabata_i\nminutes: 1\n", encoding="utf-8")
    for name in ("mine.yaml", "ludii_leyla", "leyla"):
        config, _ = read_config([name, "--config", "my.yaml"])
        assert (config.game, config.minutes) == (rulesets.lookup(name), 1)
        assert config.name == config.game.name
    config, _ = read_config(["leyla", "--config", "my.yaml", "--ruleset", "gabata_3"])
    assert config.ruleset == "gabata_3"
    config, _ = read_config(["smoke", "--config", "my.yaml"])
    assert (config.ruleset, config.name) == ("gabata_i", "my")


def test_a_file_names_the_run_on_a_ruleset_of_the_command_line(file, tmp_path):
    (tmp_path / "my.yaml").write_text("name: first\n", encoding="utf-8")
    for name in ("mine.yaml", "ludii_leyla", "leyla"):
        assert read_config([name, "--config", "my.yaml"])[0].name == "first"


def test_a_wrong_ruleset_is_refused_by_its_file_and_key(file):
    file.write_text("row_width: 55", encoding="utf-8")
    with raises(InvalidConfig, "mine.yaml", 55) as caught:
        read_config(["mine.yaml"])
    assert "--config" not in str(caught.value)
    with raises(InvalidConfig, "nowhere.yaml", "--config"):
        read_config(["nowhere.yaml"])
    with raises(InvalidRuleset, "row_widht"):
        TrainConfig(ruleset={"row_widht": 5})
    for wrong in (5, "mine.yaml"):  # a checkpoint must not name a file of this machine
        with raises(InvalidConfig, "ruleset", wrong):
            read_settings({"ruleset": wrong})


def test_only_a_file_of_settings_is_told_where_configurations_go(file):
    file.write_text("like: leyla\nseeds_per_hole: 3\n", encoding="utf-8")
    with raises(InvalidConfig, file.name, "match: single") as caught:
        read_config([file.name], TrainConfig)
    assert "--config" not in str(caught.value)
    file.write_text("ruleset: leyla\n", encoding="utf-8")
    with raises(InvalidConfig, file.name, "--config"):
        read_config([file.name], TrainConfig)


@pytest.mark.slow
def test_a_run_carries_its_rules(file, capfd):
    assert cli.main(short("mine.yaml")) == 0
    said = capfd.readouterr().out
    file.unlink()
    checkpoint = "runs/mine/final.zip"
    assert rulesets.lookup("runs/mine/ruleset.yaml") == read_identity(checkpoint).ruleset == MINE
    call = next(line for line in said.splitlines() if "gymnasium.make" in line).strip()
    program = f"import gymnasium\nprint({call}.action_space.n)"  # without an import of mancala_env
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert printed.stdout.split() == ["4"]
    assert "mean regret" in said
    assert "mancala evaluate" in said
    assert "balanced" not in said
    assert "win rates differ" not in said
    assert agents.make(checkpoint, "runs/mine/ruleset.yaml").ruleset == MINE
    kind, command = made_by(read_identity(checkpoint))
    assert kind == "command"
    assert read_config(shlex.split(command)[2:])[0].game == MINE
    assert cli.main(["train", "--resume", "runs/mine", "--environment_steps", "4096"]) == 0
    assert read_identity(checkpoint).environment_steps == 4096
    assert cli.main(["evaluate", checkpoint, "--games", "2", "--json"]) == 0
    found = json.loads(capfd.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert found["ruleset"] == "mine"
    assert found["regrets"][0]["overall"]["positions"] == len(positions(MINE))
    assert {"random", "minimax:4", checkpoint} <= {each["agent"] for each in found["ratings"]["agents"]}


@pytest.mark.slow
def test_positions_and_ladder_are_made_once(file):
    assert not has_exact_positions(MINE)
    with raises(NoPositions, "mine"):
        positions(MINE)
    with raises(NoLadder, "mine"):
        stored_ladder(MINE)
    notes = evaluate(["greedy", "random"], MINE, games=2, ladder=False).notes
    assert any(names(note, "mine") for note in notes)
    said: list[str] = []
    prepare("mine.yaml", said.append)
    assert said
    solved, ladder = positions(MINE), stored_ladder(MINE)
    assert len(solved) >= 20
    assert ladder.ratings().of("random")[0] == 0 < ladder.ratings().of("minimax:4")[0]
    prepare("mine.yaml", said.clear)  # type: ignore[arg-type]  # says nothing, so it is not called
    assert said
    found = evaluate(["perfect", "random"], MINE, games=2, ladder=True)
    perfect, random = found.regrets
    assert perfect.overall.mean_regret == 0 < random.overall.mean_regret
    assert regret_difference(perfect, random).mean < 0


@pytest.mark.slow
def test_the_solved_positions_are_the_same_in_every_cache(file, monkeypatch, tmp_path):
    first = prepare_positions(MINE, lambda text: None)
    monkeypatch.setenv("MANCALA_CACHE", str(tmp_path / "other"))
    second = prepare_positions(MINE, lambda text: None)
    assert second is not first
    assert (first.games == second.games).all()
    assert (first.action_values == second.action_values).all()


@pytest.mark.slow
def test_a_mistake_costs_what_the_positions_say_once_there_are_some(file):
    guess = expected_mistake(MINE)
    assert guess == MINE.total_seeds / 6
    solved = prepare_positions(MINE, lambda text: None)
    regrets = [[max(legal) - each for each in legal] for legal in map(_legal, solved.action_values)]
    costs = [regret for each in regrets for regret in each if regret]
    assert expected_mistake(MINE) == pytest.approx(sum(costs) / len(costs))
    assert expected_mistake(MINE) != guess


def _legal(values) -> list[int]:
    return [int(value) for value in values if value != ILLEGAL]


@pytest.fixture
def unwritable(file, monkeypatch, tmp_path) -> Path:
    """A folder for the cache that cannot be made."""
    folder = file / "cache"
    monkeypatch.setenv("MANCALA_CACHE", str(folder))
    return folder


@pytest.mark.parametrize("prepare_one", [prepare_positions, prepare_ladder])
def test_a_cache_that_cannot_be_written_is_named_before_the_work(prepare_one, unwritable):
    said: list[str] = []
    with pytest.raises(OSError, match="cache"):
        prepare_one(MINE, said.append)
    assert said == []


def short_run(tmp_path) -> tuple[TrainConfig, RunFolder, Path]:
    few = EvaluationConfig(games=2, opponents=["random"], checkpoint_games=0)
    config = TrainConfig(ruleset=OPTIONS, name="first", folder=str(tmp_path), evaluation=few)
    folder = RunFolder.create(config)
    (folder.path / METRICS).touch()
    identity = replace(identity_of(), ruleset=MINE)
    return config, folder, write_checkpoint(folder.path / "final.zip", identity)


def test_a_run_is_evaluated_if_the_cache_cannot_be_written(unwritable, tmp_path, capsys):
    config, folder, checkpoint = short_run(tmp_path)
    report(config, folder, checkpoint, Console())
    assert "regret is not measured" in capsys.readouterr().out
    found = json.loads((folder.path / "evaluation.json").read_text())
    assert found["regret"] is None
    assert found["matches"][0]["games"] == 2
    assert (folder.path / REPORT).is_file()


def test_a_brief_report_tells_of_solving_positions(file, tmp_path, capsys):
    config, folder, checkpoint = short_run(tmp_path)
    report(config, folder, checkpoint, Console(), is_brief=True)
    said = capsys.readouterr().out
    assert "solving positions of mine" in said
    assert "win rate" not in said
    assert (folder.path / REPORT).is_file()


def test_agents_on_an_own_ruleset_are_on_a_ladder_at_first_use(file, monkeypatch, capsys):
    monkeypatch.setattr("mancala_env.evaluation.ladder._GAMES", 2)
    words = ["evaluate", "greedy", "minimax:1", "--ruleset", "mine.yaml", "--games", "2", "--no_regret"]
    found = []
    for _ in range(2):
        assert cli.main([*words, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    first, second = found
    assert first["ratings"]["zero"] == "random"
    assert first == second


@pytest.mark.slow
def test_a_board_that_cannot_be_solved_is_named(file, monkeypatch):
    monkeypatch.setattr("mancala_env.solver.position_sampling._NODES_IN_ALL", 0)
    large = rulesets.lookup({"like": "layli_goobalay_long", "seeds_per_hole": 5, "name": "large"})
    with raises(NoPositions, "large", 20):
        prepare_positions(large, lambda text: None)
    said: list[str] = []
    prepare(large, said.append, ladder=False)
    assert names(said[-1], "large")


@pytest.mark.slow
def test_a_benchmark_runs_on_it_and_is_read_in_another_folder(file, tmp_path):
    prepare(MINE, lambda text: None)
    entries = [entry_of(tmp_path, HONEST, "one")]
    _, broken, _, wanted = run(entries, tmp_path, seeds=1, rulesets=["mine.yaml", "leyla"])
    assert broken == 0
    assert wanted.runs[0].ruleset == MINE
    assert rulesets.lookup(tmp_path / RULESETS / "mine.yaml") == MINE
    file.unlink()
    outcome = BenchmarkSummary(Results.read(tmp_path / RESULTS))
    together = outcome.contests()[0]
    assert together.ruleset == ALL
    assert outcome.standings(together)[0].regret.value > 0


def test_regret_has_an_interval_where_no_action_is_a_mistake(file):
    options = {"landing": "weg", "round_end": "both_stuck", "match": "single", "opening": "eights"}
    even = rulesets.lookup({**options, "row_width": 4, "seeds_per_hole": 1, "name": "even"})
    prepare_positions(even, lambda text: None)
    assert expected_mistake(even) == even.total_seeds / 6
    low, high = measure_regret("greedy", even).overall.interval
    assert low == 0 < high < 1


def test_a_damaged_ladder_is_not_read(file):
    ladder = prepared_file(MINE, "ladder.json")
    ladder.parent.mkdir(parents=True, exist_ok=True)
    for content in (b"{", b"[]", b"{}", b"\xff"):
        ladder.write_bytes(content)
        with raises(NoLadder, "mine"):
            stored_ladder(MINE)
