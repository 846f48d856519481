"""The programs of training/experiments: figures, tune and ceiling."""

import json
from pathlib import Path
from typing import Any

import error_checks
import pytest
import yaml
from boards import NARROW

from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.config import CONFIGS
from training.experiments import ceiling, figures, tune

TINY = {
    "ruleset": "gabata_i",
    "device": "cpu",
    "network": {"hidden": 16},
    "selfplay": {"games": 64},
    "ppo": {"steps": 8, "batch_size": 256},
}


def tiny_config(folder: Path, name: str, **values: object) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(TINY | values))
    return path


def test_every_ruleset_of_the_written_sources_and_the_match_are_in_the_table() -> None:
    stems = [path.stem for path in figures.ruleset_configs()]
    assert {"layli_goobalay", "layli_goobalay_match", "leyla", "gabata_3"} <= set(stems)
    assert not {"default", "run", "smoke", "rllib"} & set(stems)
    assert yaml.safe_load((CONFIGS / "layli_goobalay_match.yaml").read_text())["rounds"] == "match"


@pytest.mark.slow
def test_the_table_has_a_row_a_configuration_and_keeps_those_it_has(tmp_path: Path, capsys) -> None:
    first = tiny_config(tmp_path, "gabata_i_tiny")
    second = tiny_config(tmp_path, "layli_tiny", ruleset="layli_goobalay", rounds="match")
    words = ["--minutes", "0.005", "--games", "4", "--folder", str(tmp_path / "runs")]
    words += ["--out", str(tmp_path / "figures.md")]
    assert figures.main([str(first), *words]) == 0
    kept = (tmp_path / "figures.json").read_text()
    assert figures.main([str(first), str(second), *words]) == 0
    rows = json.loads((tmp_path / "figures.json").read_text())
    assert [row["config"] for row in rows] == ["gabata_i_tiny", "layli_tiny"]
    assert rows[0] == json.loads(kept)[0], "the first row was made once"
    assert rows[1]["rounds"] == "match"
    assert [match["games"] for match in rows[1]["matches"]] == [4] * 4
    assert (
        rows[0]["turns"] == read_identity(tmp_path / "runs" / "gabata_i_tiny" / "final.zip").environment_steps
    )
    table = [line for line in (tmp_path / "figures.md").read_text().splitlines() if line.startswith("|")]
    assert len(table) == 4
    assert table[2].startswith("| `gabata_i_tiny` | 0.005 minutes | replies, 16 hidden | 1 |")
    rate = rows[0]["matches"][0]["win_rate"]
    assert f"| {rate:.1%} (" in table[2]
    assert len({line.count("|") for line in table}) == 1
    assert figures.main([str(first), *words, "--out", str(tmp_path / "nowhere" / "figures.md")]) == 2
    assert error_checks.names(capsys.readouterr().err, "--out")
    before = (tmp_path / "figures.json").read_text()
    for wrong, said in (
        (["--options", "--seed 5"], ["--options '--seed 5'", "--seed"]),
        (["--options", "--ppo.gama 1"], ["--ppo.gama", "--ppo.gamma"]),
        (["--games", "5"], ["games", "even", 5]),
        (["--seeds", "-1"], ["seed", 0, -1]),
    ):
        assert figures.main([str(first), *words, *wrong]) == 2
        assert error_checks.names(capsys.readouterr().err, said)
    assert (tmp_path / "figures.json").read_text() == before
    assert figures.main([str(first), *words, "--seeds", "1", "2"]) == 0
    rows = json.loads((tmp_path / "figures.json").read_text())
    assert [(row["config"], row["seed"]) for row in rows] == [
        ("gabata_i_tiny", 1),
        ("gabata_i_tiny", 2),
        ("layli_tiny", 1),
    ]
    assert rows[0] == json.loads(before)[0], "the first seed was trained once"
    assert read_identity(tmp_path / "runs" / "gabata_i_tiny-seed-2" / "final.zip").config["seed"] == 2
    table = [line for line in (tmp_path / "figures.md").read_text().splitlines() if line.startswith("|")]
    assert len(table) == 4, "a row a configuration"
    cells = [cell.strip() for cell in table[2].split("|")]
    assert cells[4] == "1, 2"
    one, two = (100 * row["matches"][0]["win_rate"] for row in rows[:2])
    assert cells[6] == f"{(one + two) / 2:.1f} ({one:.1f}, {two:.1f})"
    one, two = (row["regret"]["overall"]["mean_regret"] for row in rows[:2])
    assert cells[10] == f"{(one + two) / 2:.2f} ({one:.2f}, {two:.2f})"
    options = ["--options", "--ppo.gamma 0.9"]
    assert figures.main([str(first), *words, *options]) == 2
    assert error_checks.names(capsys.readouterr().err, ["ppo.gamma", 1.0, 0.9, "--folder"])
    assert figures.main([str(first), *words, *options, "--folder", str(tmp_path / "others")]) == 0
    again, other = json.loads((tmp_path / "figures.json").read_text())
    assert (again["trained"], again["seed"], other) == ("0.005 minutes, `--ppo.gamma 0.9`", 1, rows[2])
    assert "| 0.005 minutes, `--ppo.gamma 0.9` |" in (tmp_path / "figures.md").read_text()


def test_the_page_of_the_documentation_is_what_its_file_of_figures_makes() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs" / "results"
    found = json.loads((docs / "configurations.json").read_text())
    assert figures.page(found) == (docs / "configurations.md").read_text()


@pytest.mark.slow
def test_two_processes_add_to_one_table(tmp_path: Path, monkeypatch) -> None:
    """Another process writes its results while this one trains."""
    out, made = tmp_path / "figures.md", []
    names = ["gabata_i_one", "gabata_i_two"]
    words = ["--minutes", "0.005", "--games", "2", "--folder", str(tmp_path / "runs"), "--out", str(out)]
    whole = figures.make_figures

    def beside_another(path: Path, *rest: Any) -> Any:
        if not made:
            made.append(path)
            assert figures.main([str(tiny_config(tmp_path, names[1])), *words]) == 0
        return whole(path, *rest)

    monkeypatch.setattr(figures, "make_figures", beside_another)
    assert figures.main([str(tiny_config(tmp_path, names[0])), *words]) == 0
    assert [row["config"] for row in json.loads(out.with_suffix(".json").read_text())] == names


def test_the_default_table_needs_no_folder(tmp_path: Path, monkeypatch) -> None:
    path = tiny_config(tmp_path, "gabata_i_tiny")
    monkeypatch.chdir(tmp_path)
    assert figures.main([str(path), "--minutes", "0.005", "--games", "2"]) == 0
    assert (tmp_path / "runs" / "figures.md").is_file()


@pytest.mark.parametrize("content", ["{", "{}", "3", "[3]", "[{}]", "null", '[{"config": "leyla"}]', "\0"])
def test_a_file_of_something_else_is_not_written_over(content: str, tmp_path: Path, capsys) -> None:
    first, kept = tiny_config(tmp_path, "gabata_i_tiny"), tmp_path / "figures.json"
    kept.write_text(content)
    assert figures.main([str(first), "--minutes", "0.005", "--out", str(tmp_path / "figures.md")]) == 2
    assert error_checks.names(capsys.readouterr().err, [kept, "--out"])
    assert kept.read_text() == content


def test_no_table_where_the_out_is_a_folder_or_two_files_have_one_name(tmp_path: Path, capsys) -> None:
    assert figures.main(["--out", "."]) == 2
    assert error_checks.names(capsys.readouterr().err, ["--out", ".md"])
    paths = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        paths.append(str(tiny_config(tmp_path / name, "tiny")))
    assert figures.main([*paths, "--out", str(tmp_path / "figures.md")]) == 2
    assert error_checks.names(capsys.readouterr().err, "tiny")


@pytest.mark.slow
def test_a_configuration_is_tuned_by_one_change_at_a_time(tmp_path: Path, capsys) -> None:
    path = tiny_config(tmp_path, "gabata_i_tiny")
    words = [str(path), "--minutes", "0.005", "--games", "4", "--folder", str(tmp_path / "tune")]
    folder = tmp_path / "tune" / "gabata_i_tiny"
    assert tune.main(words) == 2
    assert error_checks.names(capsys.readouterr().err, [tmp_path / "tune", "--change"])
    for wrong, said in (
        ("--ppo.epoch 4", ["--ppo.epoch", "--ppo.epochs"]),
        (" ", "--change"),
        ("--ppo.epochs '4", "--ppo.epochs '4"),
        ("rounds=match", "--rounds"),
        ("--evaluation.games 2", "--evaluation.games"),
        ("--distillation.positions 10 --distillation.spec minimacs:4", "minimacs"),
    ):
        assert tune.main([*words, "--change", "--ppo.epochs 1", "--change", wrong]) == 2
        assert error_checks.names(capsys.readouterr().err, said)
    assert tune.main([*words, "--change", "--ppo.epochs 1", "--games", "5"]) == 2
    assert error_checks.names(capsys.readouterr().err, "games")
    assert not folder.exists(), "what is wrong is found before anything is trained"
    tuning = tune.Tuning(path, tmp_path, 1, None)
    names = {tuning.config(f"--ppo.entropy {value}", 1).name for value in ("1", "1e-1", "1e1")}
    assert len(names) == 3, "different changes are different runs"
    assert tuning.config("ppo.epochs=4", 1) == tuning.config("--ppo.epochs 4", 1)
    assert tune.main([*words, "--change", "--network.hidden 8 --ppo.epochs 1"]) == 0
    kept = json.loads((folder / "tuning.json").read_text())["runs"]
    assert {(run["change"], run["seed"]) for run in kept.values()} == {
        ("as it is", 1),
        ("--network.hidden 8 --ppo.epochs 1", 1),
    }
    changed = read_identity(folder / "network.hidden-8-ppo.epochs-1-seed-1" / "final.zip")
    assert changed.network.hidden == 8
    assert read_identity(folder / "as-it-is-seed-1" / "final.zip").network.hidden == 16

    # With more seeds: finished runs are not repeated, and the page has all of them.
    out = tmp_path / "tuning.md"
    more = ["--change", "--network.hidden 8 --ppo.epochs 1", "--seeds", "2", "--out", str(out)]
    assert tune.main([*words, *more]) == 0
    found = json.loads((folder / "tuning.json").read_text())["runs"]
    assert len(found) == 4
    assert all(found[name]["turns"] == run["turns"] for name, run in kept.items())
    rows = [line.split(" | ") for line in out.read_text().splitlines() if line.startswith("|")][2:]
    assert [row[0] for row in rows] == ["| unchanged", "| `--network.hidden 8 --ppo.epochs 1`"]
    for row in rows:
        assert [cell.count(",") for cell in row[1:]] == [1] * 5, "a figure for each seed"
    run = found["as-it-is-seed-1"]
    assert run["minimax:4"]["games"] == 4
    assert run["elo"][1] < run["elo"][0] < run["elo"][2]
    assert f"{run['elo'][0]:+z.0f} (" in rows[0][2]
    capsys.readouterr()

    path.write_text(path.read_text() + "seed: 7\n")
    assert tune.main([*words, "--change", "--ppo.epochs 1"]) == 2
    assert error_checks.names(capsys.readouterr().err, path)
    assert tune.main([*words, "--minutes", "0.02"]) == 2
    assert error_checks.names(capsys.readouterr().err, 0.005)


def test_the_ceiling_judges_networks_and_agents_over_the_same_positions(capsys) -> None:
    words = ["--positions", "600", "--expert", "minimax:3", "--kinds", "replies", "--hidden", "16"]
    assert ceiling.main([*words, "--epochs", "1", "minimax:3", "random"]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert set(cells) == {"agent", "replies, 16 hidden", "minimax:3", "random"}
    assert cells["minimax:3"][:2] == ["100.0%", "0.00"]
    assert float(cells["random"][1]) > 1
    assert 0 < float(cells["minimax:3"][3]) < float(cells["random"][3])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--ruleset", NARROW, "--kinds", "values"], ["narrow", "values"]),
        (["--kinds", "pixels"], ["--kinds", "pixels"]),
        (["--expert", "greedy"], ["value+minimax", "'greedy'"]),
    ],
)
def test_the_ceiling_names_the_error(words: list[str], says: object, capsys) -> None:
    assert ceiling.main(words) == 2
    assert error_checks.names(capsys.readouterr().err, says)
