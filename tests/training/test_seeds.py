"""`mancala train --seeds`: a run per seed, resumed by the same command, and the means of their results."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from error_checks import names, raises
from rich.console import Console

from mancala_env import cli
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training import run as command
from mancala_env.training.config import CONFIGS, InvalidConfig, TrainConfig, read_config, read_file
from mancala_env.training.run_folder import RunFolder, RunFolderError
from mancala_env.training.run_results import Measured, mean_of, means_of, read_run, stem
from mancala_env.training.seeds import check_same_settings, seeds_of, take_seeds


@pytest.mark.parametrize(
    ("text", "seeds"), [("1", (1,)), ("3", (1, 2, 3)), ("3,", ()), ("7,2", (7, 2)), ("1, 0", (1, 0))]
)
def test_seeds_are_a_number_of_them_or_a_list(text, seeds):
    if seeds:
        assert seeds_of(text) == seeds
    else:
        with raises(InvalidConfig, repr(text)):
            seeds_of(text)


@pytest.mark.parametrize(
    "text", ["0", "-1", "x", "", "1.5", "1,1", "2,-3", "1,2147483648", "100000", "1" + 12 * "0"]
)
def test_invalid_seeds_are_named(text):
    with raises(InvalidConfig, "--seeds", repr(text)):
        seeds_of(text)


def test_the_seeds_are_taken_from_a_command_line():
    assert take_seeds(["leyla", "--seeds", "2", "--minutes", "1"]) == ((1, 2), ["leyla", "--minutes", "1"])
    assert take_seeds(["leyla", "--seeds=4,5"]) == ((4, 5), ["leyla"])
    assert take_seeds(["leyla"]) == ((), ["leyla"])
    with raises(InvalidConfig, "''"):
        take_seeds(["leyla", "--seeds"])


def test_a_configuration_has_one_seed():
    with raises(InvalidConfig, "--seeds", 3):
        read_config(["leyla", "--seeds", "3"])


def test_the_name_of_a_run_without_its_seed():
    found = [stem(name) for name in ("leyla", "leyla-seed-3", "leyla-2", "leyla-seed-3-2", "leyla_8")]
    assert found == ["leyla", "leyla", "leyla", "leyla", "leyla_8"]


def test_means_are_over_what_all_runs_have():
    runs = [
        [Measured("mean_regret", "", 2.0, 1.5, 2.5), Measured("win_rate", "random", 0.75, 0.7, 0.8)],
        [Measured("win_rate", "random", 0.85, 0.8, 0.9), Measured("win_rate", "greedy", 0.5, 0.4, 0.6)],
    ]
    (mean,) = means_of(runs)
    assert (mean.measure, mean.against) == ("win_rate", "random")
    assert mean.value == pytest.approx(0.8)
    assert 0 <= mean.low < 0.75 < 0.85 < mean.high <= 1
    assert mean_of(runs[0][:1]) == runs[0][0]


def test_equal_runs_have_an_interval_of_the_error_of_their_measurements():
    equal = [Measured("mean_regret", "", 2.0, 1.5, 2.5)] * 4
    mean = mean_of(equal)
    error = 0.5 / 1.96
    assert mean.high - 2 == pytest.approx(3.18 * np.sqrt(2 / 5) * error / 2, rel=0.01)


@pytest.mark.parametrize("ruleset", ["leyla", {"like": "leyla", "row_width": 5}])
def test_a_folder_with_other_settings_is_refused(ruleset, tmp_path):
    config = TrainConfig(ruleset=ruleset, name="a-seed-1", folder=str(tmp_path), minutes=1.0)
    (tmp_path / "a-seed-1").mkdir()
    (tmp_path / "a-seed-1" / "config.yaml").write_text(config.to_yaml())
    check_same_settings(replace(config, minutes=2.0))
    with raises(InvalidConfig, tmp_path / "a-seed-1", "threads", 1, 2):
        check_same_settings(replace(config, threads=2))
    with raises(InvalidConfig, tmp_path / "a-seed-1", "gabata_i"):
        check_same_settings(replace(config, ruleset="gabata_i"))


def test_what_is_not_the_folder_of_a_run_is_named(tmp_path):
    with raises(RunFolderError, str(tmp_path), "config.yaml"):
        read_run(tmp_path)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "config.yaml").write_text("ruleset: leyla\n")
    with raises(RunFolderError, f"{tmp_path}/*"):
        read_run(tmp_path)
    (tmp_path / "config.yaml").write_text("ruleset: leyla\n")
    with raises(RunFolderError, str(tmp_path)):
        read_run(tmp_path)


@pytest.mark.slow
def test_runs_of_several_seeds_resume_and_end_with_a_table(tmp_path: Path, capsys) -> None:
    words = ["--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--name", "tiny"]
    words += ["--environment_steps", "4096", "--evaluation.games", "10", "--evaluation.opponents", "[random]"]
    assert command.main([*words, "--seeds", "2"]) == 0
    said = capsys.readouterr().out
    runs = [read_run(tmp_path / f"tiny-seed-{seed}") for seed in (1, 2)]
    assert [run.seed for run in runs] == [1, 2]
    assert runs[0].settings == runs[1].settings
    (mean,) = [one for one in means_of([run.final() for run in runs]) if one.measure == "mean_regret"]
    assert f"{mean.value:.2f}" in said
    assert "after 4 random turns" in said
    assert said.count("Lookahead: ") == 1
    assert f'mancala compare "{tmp_path}/tiny-seed-*"' in said
    before = {run.checkpoint: run.checkpoint.read_bytes() for run in runs}

    # The same command trains only what is missing, from where it was.
    runs[1].checkpoint.unlink()
    (tmp_path / "tiny-seed-2" / "evaluation.json").unlink()
    assert command.main([*words, "--seeds", "1,2,7"]) == 0
    said = capsys.readouterr().out
    assert said.count("already finished") == 1
    assert read_identity(tmp_path / "tiny-seed-7" / "final.zip").config["seed"] == 7
    assert (tmp_path / "tiny-seed-1" / "final.zip").read_bytes() == before[runs[0].checkpoint]
    assert read_run(tmp_path / "tiny-seed-2").final()

    # Another evaluation is measured, not only named.
    assert command.main([*words, "--seeds", "1", "--evaluation.opening_turns", "0"]) == 0
    said = capsys.readouterr().out
    assert "already finished" not in said
    assert "after 0 random turns" in said
    assert json.loads((tmp_path / "tiny-seed-1" / "evaluation.json").read_text())["opening_turns"] == 0
    again = read_identity(tmp_path / "tiny-seed-1" / "final.zip")
    assert again.environment_steps == runs[0].identity.environment_steps

    # The metrics of a run are a table, by its folder or by one of its checkpoints.
    capsys.readouterr()
    for path in (tmp_path / "tiny-seed-1", runs[0].checkpoint):
        assert cli.main(["show", str(path), "--csv", "-"]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert [float(row["environment_steps"]) for row in rows] == [
            line["environment_steps"] for line in runs[0].metrics
        ]
        assert "train/value_loss" in rows[0]

    # A longer run extends all, and other settings are refused before anything is trained.
    assert command.main([*words, "--seeds", "1", "--ppo.epochs", "1"]) == 2
    assert names(capsys.readouterr().err, ["tiny-seed-1", "ppo.epochs"])

    frame = runs[0].to_frame()
    lines = (tmp_path / "tiny-seed-1" / "metrics.jsonl").read_text().splitlines()
    assert len(frame) == len(lines)
    assert set(frame["seed"]) == {1}
    assert list(frame["environment_steps"]) == [json.loads(line)["environment_steps"] for line in lines]
    assert list(frame.columns) == list(runs[0].columns)
    assert int(frame["train/value_loss"].count()) > 0


@pytest.mark.slow
def test_a_run_killed_before_its_first_checkpoint_takes_the_new_settings(tmp_path: Path) -> None:
    words = ["--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--name", "k-seed-1"]
    config, _ = read_config([*words, "--environment_steps", "2048", "--minutes", "10"])
    RunFolder(config.place).set_up(config)
    command.train_or_resume(replace(config, minutes=20.0), Console(quiet=True))
    assert read_file(config.place / "config.yaml")["minutes"] == 20.0


@pytest.mark.parametrize("ruleset", ["leyla", {"like": "leyla", "row_width": 5}])
def test_a_folder_that_a_killed_process_left_empty_becomes_a_run(ruleset, tmp_path, monkeypatch) -> None:
    """Such a run was trained without a configuration, so its results could never be read."""
    config = TrainConfig(ruleset=ruleset, name="a-seed-1", folder=str(tmp_path), minutes=1.0)
    config.place.mkdir()
    monkeypatch.setattr(command, "train", lambda *_, **__: (config.place / "final.zip", None))
    folder, _, _ = command.train_or_resume(config, Console(quiet=True))
    assert folder.path == config.place
    assert folder.checkpoints.is_dir()
    assert (config.place / "ruleset.yaml").is_file() == (ruleset != "leyla")
    check_same_settings(config)
    with raises(InvalidConfig, config.place, "threads", 1, 2):
        check_same_settings(replace(config, threads=2))


@pytest.mark.slow
def test_a_signal_ends_the_command_and_not_only_one_run(tmp_path: Path, monkeypatch, capsys) -> None:
    words = ["--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--name", "tiny"]
    trained = []

    def stopped(config, folder, console, **options):
        trained.append(config.seed)
        return folder.path / "final.zip", "SIGINT"

    monkeypatch.setattr(command, "train", stopped)
    assert command.main([*words, "--seeds", "3"]) == 130
    assert trained == [1]
    assert names(capsys.readouterr().out, ["SIGINT"])
