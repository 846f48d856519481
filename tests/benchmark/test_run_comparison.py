"""Training runs compared: groups, means over seeds, curves, paired differences, and errors."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
import yaml
from checkpoints import identity_of, write_checkpoint
from error_checks import names, raises

from mancala_env import cli
from mancala_env.benchmark.run_comparison import (
    CannotCompare,
    RunComparison,
    compare_runs,
    group_runs,
    spread_out,
)
from mancala_env.benchmark.run_comparison_report import differences_table, plot_curves, write_report
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import InvalidMatch, NoLadder
from mancala_env.evaluation.regret import measure_regret, regret_difference
from mancala_env.training import run as command
from mancala_env.training.config import CONFIGS
from mancala_env.training.run_folder import RunFolderError


def make_run(
    folder: Path,
    name: str,
    seed: int,
    rate: float,
    steps=(1000, 2000),
    ruleset: str | dict = "leyla",
    **config,
) -> Path:
    """Write the folder of a finished run with random weights."""
    run = folder / name
    (run / "checkpoints").mkdir(parents=True)
    (run / "config.yaml").write_text(yaml.safe_dump({"ruleset": ruleset}))
    settings = {"seed": seed, "name": name, "ppo": {"epochs": 3} | config}
    settings["evaluation"] = {"opening_turns": 4, "checkpoint_games": 40}
    lines = []
    for number, at in enumerate(steps):
        identity = replace(identity_of(ruleset), environment_steps=at, config=settings)
        is_last = number == len(steps) - 1
        place = run / "final.zip" if is_last else run / "checkpoints" / f"{at:010d}.zip"
        torch.manual_seed(seed)
        write_checkpoint(place, identity)
        if not is_last:
            line = {"environment_steps": at + 512, "evaluation/random": rate - 0.1, "train/loss": 1.0}
            lines.append(json.dumps(line))
    (run / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    match = {"second": "random", "win_rate": rate, "win_rate_interval": [rate - 0.05, rate + 0.05]}
    written = {"environment_steps": steps[-1], "matches": [match], "regret": None}
    (run / "evaluation.json").write_text(json.dumps(written))
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for seed, rate in enumerate((0.6, 0.7, 0.8), 1):
        make_run(folder, f"a-seed-{seed}", seed, rate, steps=(1000, 2000 + seed))
    for seed, rate in enumerate((0.3, 0.5), 1):
        make_run(folder, f"b-seed-{seed}", seed, rate, epochs=1)
    return folder


@pytest.fixture(scope="module")
def comparison(runs) -> RunComparison:
    return compare_runs([f"{runs}/a-seed-*", f"{runs}/b-seed-*"])


def test_runs_are_grouped_by_pattern_or_by_configuration(runs):
    every = sorted(runs.glob("*-seed-*"))
    for given in ([f"{runs}/a*", f"{runs}/b*"], every):
        groups = group_runs(given)
        assert {name: [run.seed for run in found] for name, found in groups.items()} == {
            "a": [1, 2, 3],
            "b": [1, 2],
        }
    assert [len(found) for found in group_runs([f"{runs}/*-seed-1"]).values()] == [2]
    assert list(group_runs([runs / "a-seed-1", runs / "b-seed-1"])) == ["a", "b"]


def test_groups_of_one_name_are_told_apart_by_their_folders(tmp_path):
    one = make_run(tmp_path / "x", "leyla-seed-1", 1, 0.5)
    other = make_run(tmp_path / "y", "leyla-seed-1", 1, 0.5, epochs=2)
    assert list(group_runs([one, other])) == ["leyla", str(other)]


def test_what_cannot_be_compared_is_named(runs, tmp_path):
    with raises(RunFolderError, str(tmp_path), "config.yaml"):
        group_runs([runs / "a-seed-1", tmp_path])
    with raises(CannotCompare, f"'{runs}/c*'"):
        group_runs([f"{runs}/c*"])
    with raises(CannotCompare, runs / "a-seed-1"):
        group_runs([runs / "a-seed-1", runs / "b-seed-1" / ".." / "a-seed-1"])
    with raises(CannotCompare):
        group_runs([])
    other = make_run(tmp_path, "other", 1, 0.5, ruleset="gabata_i")
    with raises(CannotCompare, "leyla", "gabata_i", str(other)):
        group_runs([runs / "a-seed-1", other])


def test_equal_rules_may_have_several_names(runs, tmp_path):
    mine = make_run(tmp_path, "mine", 1, 0.5, ruleset={"like": "leyla", "name": "mine"})
    found = compare_runs([mine, runs / "a-seed-1"], checkpoints=1)
    assert found.ruleset.name == "leyla"  # which has solved positions
    assert ("mean_regret", "") in found.measures


def test_means_are_over_seeds(comparison):
    a, b = comparison.groups
    assert (a.name, b.name) == ("a", "b")
    found = {one.title: one for one in a.final}
    assert list(found) == ["mean regret", "optimal moves", "win rate against random"]
    rate = found["win rate against random"]
    assert rate.value == pytest.approx(0.7)
    # Student's interval of 0.6, 0.7 and 0.8.
    assert rate.high - 0.7 == pytest.approx(4.303 * 0.1 / 3**0.5, rel=0.01)
    regrets = [one.regret.overall.mean_regret for one in a.runs if one.regret]
    assert found["mean regret"].value == pytest.approx(np.mean(regrets))
    assert comparison.measures == [("mean_regret", ""), ("optimal_share", ""), ("win_rate", "random")]
    assert comparison.notes == []


def test_differences_are_over_seeds_and_those_of_regret_also_over_positions(comparison):
    found = [(one.difference.measure, one.over) for one in comparison.differences]
    assert found == [
        ("mean_regret", "seeds"),
        ("mean_regret", "positions"),
        ("optimal_share", "seeds"),
        ("win_rate", "seeds"),
    ]
    rate = comparison.differences[-1]
    assert rate.difference.value == pytest.approx(0.3)


def with_more_seeds(comparison: RunComparison) -> RunComparison:
    """Return a comparison of four runs with four."""
    groups = [replace(one, runs=[*one.runs, *one.runs][:4]) for one in comparison.groups]
    return replace(comparison, groups=groups)


def test_the_probability_of_improvement_is_over_pairs_of_runs(comparison):
    more = with_more_seeds(comparison)
    regret, over_positions, _, rate = more.differences
    assert rate.improvement is not None
    assert rate.improvement.value == 1.0
    assert over_positions.improvement is None
    a, b = ([one.regret.overall.mean_regret for one in group.runs if one.regret] for group in more.groups)
    wins = [(x < y) + (x == y) / 2 for x in a for y in b]
    assert regret.improvement is not None
    assert regret.improvement.value == pytest.approx(np.mean(wins))


def test_single_runs_are_compared_position_by_position(runs):
    found = compare_runs([runs / "a-seed-1", runs / "b-seed-2"], checkpoints=1)
    (regret, *rest) = found.differences
    expected = regret_difference(
        *(measure_regret(str(runs / name / "final.zip"), "leyla") for name in ("a-seed-1", "b-seed-2"))
    )
    assert regret.over == "positions"
    assert regret.difference[2:] == pytest.approx((expected.mean, *expected.interval), abs=0.2)
    assert [one.over for one in rest] == ["positions", "games"]
    assert all(one.improvement is None for one in found.differences)
    assert [key for key in found.curves if key[0] == "mean_regret"] == []
    assert any("one run" in note for note in found.notes)


def test_few_seeds_give_no_probability_of_improvement(comparison):
    """Two against two once said 0.00, without an interval."""
    assert {row[-1] for row in differences_table(comparison)[1]} == {"n/a (needs 4 seeds)", ""}
    assert all(one.improvement is None for one in comparison.differences)
    kinds = {row["kind"] for row in comparison.as_dict()["groups"]}
    assert kinds == {"final", "curve", "difference"}
    more = with_more_seeds(comparison)
    assert "n/a" not in str(differences_table(more))
    assert "probability_of_improvement" in set(more.to_frame()["kind"])


def test_curves_of_different_lengths_share_their_steps(comparison):
    a, b = comparison.groups
    curve = a.curve("win_rate", "random")
    # The shortest run ends after 2,001 steps; the longer ones are interpolated there.
    assert (curve[0].steps, curve[-1].steps, len(curve)) == (1000, 2001, 25)
    at = (2001 - 1000) / np.array([1001, 1002, 1003])
    assert curve[-1].measured.value == pytest.approx(np.mean([0.5, 0.6, 0.7] + 0.1 * at))
    assert [point.steps for point in b.curve("win_rate", "random")] == [1000, 2000]
    assert ("mean_regret", "") in comparison.curves
    axes = plot_curves(comparison, ("win_rate", "random")).axes[0]
    assert [line.get_label() for line in axes.get_lines()] == ["a (3)", "b (2)"]
    assert axes.get_xlim()[0] == axes.get_ylim()[0] == 0


def test_the_tables_have_documented_columns_and_no_row_twice(comparison):
    frame = comparison.to_frame()
    assert list(frame.columns) == list(RunComparison.COLUMNS)
    keys = ["kind", "group", "other", "environment_steps", "measure", "against", "over"]
    assert not frame.duplicated(keys).any()
    assert set(frame["kind"]) == {"final", "curve", "difference"}
    single = comparison.measurements.to_frame()
    assert list(single.columns) == list(comparison.measurements.columns)
    assert list(single.columns)[:6] == ["ruleset", "group", "run", "seed", "environment_steps", "is_final"]
    assert not single.duplicated(["run", "environment_steps", "measure", "against"]).any()
    finals = single.query("is_final and measure == 'win_rate'").groupby("group")["value"].mean()
    assert finals.to_dict() == pytest.approx({"a": 0.7, "b": 0.4})


def test_a_single_path_is_refused_as_no_list():
    with raises(InvalidArgument, "paths", "runs/a"):
        compare_runs("runs/a")


def test_wrong_games_are_refused_before_anything_is_read_or_measured(tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(
        "mancala_env.benchmark.run_comparison._measure", lambda *given: measured.append(given)
    )
    with raises(InvalidMatch, "games", 3):
        compare_runs([tmp_path / "nowhere"], games=3)
    monkeypatch.setenv("MANCALA_CACHE", str(tmp_path / "cache"))
    mine = {"like": "leyla", "row_width": 5, "name": "mine"}
    with raises(NoLadder, "mine"):
        compare_runs([make_run(tmp_path, "own", 1, 0.5, ruleset=mine)], games=2)
    assert measured == []


def test_a_ruleset_without_solved_positions_is_noted(tmp_path, monkeypatch):
    monkeypatch.setenv("MANCALA_CACHE", str(tmp_path / "cache"))
    run = make_run(tmp_path, "own", 1, 0.5, ruleset={"like": "leyla", "row_width": 5, "name": "mine"})
    assert any(names(note, ["mine", "evaluation.prepare"]) for note in compare_runs([run]).notes)


def test_notes_tell_what_is_missing_or_alike(runs, tmp_path):
    make_run(tmp_path, "c-seed-1", 1, 0.5, gamma=0.9)
    make_run(tmp_path, "c-seed-2", 1, 0.5)
    (tmp_path / "c-seed-2" / "evaluation.json").unlink()
    found = compare_runs([f"{tmp_path}/c*"], checkpoints=1)
    for said in (["c-seed-2", "evaluated"], ["c", "ppo.gamma"], ["c", "seed", 1]):
        assert any(names(note, said) for note in found.notes), said
    assert found.measures == [("mean_regret", ""), ("optimal_share", "")]
    assert found.differences == []


def test_runs_without_earlier_checkpoints_have_no_curve(tmp_path):
    make_run(tmp_path, "short", 1, 0.5, steps=(1000,))
    found = compare_runs([tmp_path / "short"])
    assert found.curves == []
    assert any("--checkpoint_minutes" in note for note in found.notes)


def test_a_checkpoint_saved_twice_is_measured_once(tmp_path):
    run = make_run(tmp_path, "twice", 1, 0.5)
    shutil.copy(run / "final.zip", run / "checkpoints" / "0000002000.zip")
    (group,) = compare_runs([run]).groups
    assert [point.steps for point in group.curve("mean_regret", "")] == [1000, 2000]


def test_checkpoints_are_evenly_spread_with_the_last():
    saved = [Path(f"{n}") for n in range(10)]
    assert [int(path.name) for path in spread_out(saved, 4)] == [0, 3, 6, 9]
    assert [int(path.name) for path in spread_out(saved, 3)] == [4, 9]
    assert spread_out(saved, 1) == saved[-1:]
    assert spread_out(saved, 99) == saved


def test_the_command_prints_tables_and_writes_them(runs, tmp_path, capsys):
    page, table = tmp_path / "compared.html", tmp_path / "compared.csv"
    words = ["compare", f"{runs}/a*", f"{runs}/b*", "--checkpoints", "2"]
    assert cli.main([*words, "--report", str(page), "--csv", str(table)]) == 0
    said = capsys.readouterr().out
    for text in ("70.0% (45.2 to 94.8%)", "+30.0%", "Learning curve: mean regret", str(page), str(table)):
        assert text in said, text
    assert page.read_text().count("<svg") == 3
    assert list(pandas.read_csv(table).columns) == list(RunComparison.COLUMNS)
    assert cli.main([*words, "--csv", "-"]) == 0
    assert capsys.readouterr().out == table.read_text()
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["run"] for row in found["runs"]} == {str(path) for path in runs.iterdir()}
    assert found["settings"]["b"][str(runs / "b-seed-1")]["ppo.epochs"] == 1
    elsewhere = shutil.copytree(runs / "a-seed-1", tmp_path / "elsewhere" / "a-seed-1")
    assert cli.main(["compare", str(runs / "a-seed-1"), str(elsewhere), "--json"]) == 0
    (settings,) = json.loads(capsys.readouterr().out)["settings"].values()
    assert set(settings) == {str(runs / "a-seed-1"), str(elsewhere)}
    for wrong, said in ((["--checkpoints", "0"], ["checkpoints", 0]), (["--games", "3"], ["games", 3])):
        assert cli.main([*words, *wrong]) == 2
        assert names(capsys.readouterr().err, said)


def test_a_picture_of_the_curves(comparison, tmp_path):
    assert write_report(comparison, tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_trained_runs_are_compared_and_rated(tmp_path: Path, capsys) -> None:
    for name, seed in (("a", "1"), ("b", "2")):
        words = ["--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--name", name]
        words += ["--seed", seed, "--environment_steps", "6144", "--checkpoint_minutes", "0"]
        assert command.main([*words, "--evaluation.games", "2"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "These games start after 4 random turns." in said
    for name in ("a", "b"):
        (line,) = {line for line in said if "balanced openings" in line and str(tmp_path / name) in line}
        assert names(line, ["mancala evaluate", "final.zip"])
    found = compare_runs([tmp_path / "a", tmp_path / "b"], games=2, results=tmp_path / "games.jsonl")
    (group,) = found.groups  # they differ only in their seeds
    assert [one.steps for one in group.runs[0].progress if one.measured.measure == "mean_regret"] == [
        2048,
        4096,
        6144,
    ]
    assert len(group.values("elo", "")) == 2
    lines = (tmp_path / "games.jsonl").read_bytes()
    again = compare_runs([tmp_path / "a", tmp_path / "b"], games=2, results=tmp_path / "games.jsonl")
    assert (tmp_path / "games.jsonl").read_bytes() == lines
    assert again.groups[0].values("elo", "") == group.values("elo", "")


def test_no_group_replaces_another_of_its_name(tmp_path, monkeypatch):
    make_run(tmp_path / "old", "leyla", 1, 0.5)
    make_run(tmp_path / "new", "leyla", 1, 0.5, epochs=2)
    monkeypatch.chdir(tmp_path / "new")
    assert [len(runs) for runs in group_runs(["../old/leyla", "leyla"]).values()] == [1, 1]


def test_a_setting_that_only_the_second_run_has_is_named(tmp_path):
    make_run(tmp_path, "o-seed-1", 1, 0.5)
    make_run(tmp_path, "o-seed-2", 2, 0.5, clip=0.3)
    notes = compare_runs([f"{tmp_path}/o-*"], checkpoints=1).notes
    assert any("ppo.clip" in note for note in notes)
