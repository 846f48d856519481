"""The generated pages of docs/results are up to date, and quoted figures are those of the data files."""

import csv
import json
import re
from datetime import date
from pathlib import Path

import pytest
from error_checks import raises

from benchmarks import search
from mancala_env import Position, agents, evaluation, rulesets
from mancala_env._util.package_data import Kind, bundled_file
from mancala_env.evaluation.exploit import STORED, exploitability_text
from mancala_env.games.notation import turn_text
from mancala_env.solver import rulesets_with_positions
from tools import make_exploitability
from tools.make_value_cards import exploitabilities
from tools.results import figures, measured, pages, regrets

ROOT = Path(__file__).resolve().parents[2]
QUOTING = ("README.md", "docs/site/index.md")


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """Return the pages as the data files give them today."""
    return pages.all_pages()


@pytest.mark.generated
@pytest.mark.parametrize(
    "name", ["leaderboard.md", "bundled_agents.md", "solved.md", "speed.md", "benchmark.md"]
)
def test_pages_of_results_are_up_to_date(name: str, written: dict[str, str]) -> None:
    assert "{{" not in written[name]
    assert (measured.FOLDER / name).read_text(encoding="utf-8") == written[name], f"run {pages.COMMAND}"


@pytest.mark.parametrize("page", QUOTING)
def test_quoted_figures_are_those_of_the_data(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert figures.wrong_figures(text) == []


def test_readme_quotes_speeds_and_regret() -> None:
    kinds = {name.partition(".")[0] for name in figures.MARK.findall((ROOT / "README.md").read_text("utf-8"))}
    assert {"speed", "regret"} <= kinds


def test_readme_quotes_make_run() -> None:
    stored = json.loads(figures.MAKE_RUN.read_text(encoding="utf-8"))
    assert {"command", "date", "machine", "revision"} < set(stored)
    assert all(len(stored[name]) == len(stored["seeds"]) for name in ("random", "greedy", "regret"))
    assert f"```text\n{figures.make_run_lines()}```" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_results_of_make_run_are_shown_as_ranges(tmp_path: Path) -> None:
    path = tmp_path / "make_run.json"
    path.write_text(
        '{"random": [94.2, 92.6], "greedy": [90, 88.4], "regret": [0.551, 0.5]}', encoding="utf-8"
    )
    numbers = re.findall(r"\d[\d.]*", figures.make_run_lines(path))
    assert numbers == ["93", "94", "88", "90", "0.50", "0.55"]


def test_a_figure_that_differs_from_its_data_is_found() -> None:
    right = figures.figure("speed.engine")
    mark = "<!-- figure: speed.engine -->"
    assert figures.wrong_figures(f"It plays {right}{mark} turns.") == []
    assert "speed.engine" in figures.wrong_figures(f"It plays 1{right}{mark} turns.")[0]
    for unmarked in ("It plays 22 million turns.", "94 % against random", "a regret 1.85", "Elo 472"):
        assert len(figures.wrong_figures(unmarked)) == 1, unmarked
    assert figures.wrong_figures("```sh\n94 % of a block of code\n```\n") == []
    assert figures.wrong_figures("2 x 6 holes, 48 seeds, Python 3.11") == []
    for unknown in (
        "speed.warp",
        "elo.leyla.unknown",
        "regret.leyla.unknown",
        "value.layli_goobalay_long",
        "x",
    ):
        with raises(LookupError, unknown.rpartition(".")[2]):
            figures.figure(unknown)


def test_figures_come_from_their_files() -> None:
    with (ROOT / "benchmarks" / "history.csv").open(encoding="utf-8", newline="") as file:
        speeds = [row for row in csv.DictReader(file) if row["figure"] == figures.SPEEDS["engine"]]
    assert figures.figure("speed.engine") == f"{float(speeds[-1]['value']) / 1e6:.1f} million"
    assert figures.figure("value.leyla") == "-16"
    stored = evaluation.stored_ladder("leyla").ratings().of("greedy")
    assert figures.figure("elo.leyla.greedy") == f"{stored[0]:.0f}"
    assert all(figures.figure(f"speed.{name}") for name in figures.SPEEDS)


def test_the_newest_complete_run_is_quoted(tmp_path: Path) -> None:
    head = "date,commit,machine,figure,value,unit\n"
    days = [
        f'2026-01-0{day},c{day},PC,"{figure}",{day},x\n'
        for day in (1, 2)
        for figure in ("random turns", "training, board", "leyla opening, value -16: nodes")
    ]
    path = tmp_path / "history.csv"
    path.write_text(head + "".join(days) + "2026-01-03,c3,PC,random turns,3,x\n", encoding="utf-8")
    assert measured.newest_speeds(path)[:2] == ("2026-01-02", "c2")
    empty = tmp_path / "empty.csv"
    empty.write_text(head, encoding="utf-8")
    with raises(LookupError, str(empty)):
        measured.newest_speeds(empty)


def test_every_bundled_agent_has_a_regret_in_every_ruleset_with_positions() -> None:
    stored = regrets.stored_regrets()
    assert set(stored["rulesets"]) == set(rulesets_with_positions()) == set(rulesets.names())
    for ruleset, found in stored["rulesets"].items():
        assert tuple(found) == regrets.agents_of(ruleset)
        for spec, one in found.items():
            low, high = one["interval"]
            assert low <= one["mean"] <= high, (ruleset, spec)
            assert len(one["by_seed"]) == len(stored["seeds"])
    assert regrets.as_text(stored) == regrets.STORED.read_text(encoding="utf-8")


def test_stored_regrets_are_measured_again() -> None:
    found = regrets.stored_regrets()["rulesets"]["leyla"]
    for spec in ("random", "greedy"):
        agent = agents.make(spec, "leyla", seed=regrets.SEEDS[1])
        mean = evaluation.measure_regret(agent, "leyla").overall.mean_regret
        assert found[spec]["by_seed"][1] == pytest.approx(mean, abs=1e-3)


def test_measuring_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regrets, "rulesets_with_positions", lambda: ("leyla",))
    monkeypatch.setattr(regrets, "agents_of", lambda ruleset: ("random", "greedy"))
    path = tmp_path / "regret.json"
    measuring = regrets.measure(path)
    assert next(measuring).startswith("leyla random ")
    assert list(json.loads(path.read_text("utf-8"))["rulesets"]["leyla"]) == ["random"]
    again = list(regrets.measure(path))
    assert len(again) == 1
    assert re.fullmatch(r"leyla greedy \d\.\d\d", again[0])
    assert list(regrets.measure(path)) == []


@pytest.mark.parametrize("kind", measured.KINDS)
def test_each_card_of_a_network_has_a_date(kind: Kind) -> None:
    cards = measured.network_cards(kind)
    assert len(cards) == {"value": 15, "policy": 9}[kind]
    for name, card in cards.items():
        assert date.fromisoformat(card.date) >= date(2026, 11, 23), name


def test_the_stored_matches_of_searches_are_those_of_the_command() -> None:
    stored = json.loads((measured.FOLDER / "searches.json").read_text(encoding="utf-8"))
    assert tuple((one["agent"], one["against"]) for one in stored["matches"]) == search.MATCHES


def test_measuring_keeps_the_date_of_what_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regrets, "rulesets_with_positions", lambda: ("leyla",))
    path, specs = tmp_path / "regret.json", ["random"]
    monkeypatch.setattr(regrets, "agents_of", lambda ruleset: specs)
    monkeypatch.setattr(regrets, "machine", lambda: "an old PC")
    list(regrets.measure(path))
    specs.append("greedy")
    monkeypatch.setattr(regrets, "machine", lambda: "a PC")
    list(regrets.measure(path))
    stored = regrets.stored_regrets(path)
    found = stored["rulesets"]["leyla"]
    assert [found[spec]["machine"] for spec in specs] == ["an old PC", "a PC"]
    older, newer = sorted(regrets.measured_in_words(stored).split("; "), key=lambda one: "old" not in one)
    assert older.startswith(f"{found['random']['date']} (an old PC, version {found['random']['version']}")
    assert "(a PC, " in newer


@pytest.mark.generated
def test_page_of_exploitability_is_up_to_date() -> None:
    stored = json.loads(make_exploitability.FILE.read_text("utf-8"))
    assert make_exploitability.PAGE.read_text("utf-8") == make_exploitability.page(stored)


def test_lines_of_exploitability_win_what_they_claim() -> None:
    stored = json.loads(make_exploitability.FILE.read_text("utf-8"))
    for row in stored["results"]:
        for reply in row["replies"]:
            position = Position.from_text(reply["position"])
            for turn in reply["line"].split():
                action = int(turn[1:]) - 1
                assert turn == turn_text(position.player, action)
                position.play(action)
            lead = position.counts[0] - position.counts[1]
            assert position.is_over
            assert lead * (1 if reply["player"] == "South" else -1) == reply["lower"] <= reply["upper"]


def test_bounds_of_exploitability_are_those_of_the_bundled_agents() -> None:
    stored = json.loads(make_exploitability.FILE.read_text("utf-8"))
    assert STORED.read_text("utf-8") == make_exploitability.bounds(stored)
    found = {(row["ruleset"], row["agent"]): row for row in stored["results"]}
    expected = {(name, spec) for name in rulesets.names() for spec in make_exploitability.agents_of(name)}
    assert found.keys() == expected
    for (name, spec), row in found.items():
        assert row["identity"] == agents.Spec.parse(spec).on(rulesets.lookup(name)).identity
        assert measured.exploitability_of(spec, name) == exploitability_text((row["lower"], row["upper"]))
        for bound in ("lower", "upper"):
            assert row[bound] == max(0, sum(reply[bound] for reply in row["replies"]) / 2)
    assert measured.exploitability_of("random", "leyla") == "not measured"
    assert measured.exploitability_of("trained", "ludii_leyla") == "not measured"


def test_cards_have_the_bundled_bounds_of_exploitability() -> None:
    for path, text in make_exploitability.cards().items():
        assert path.read_text("utf-8") == text, "run python -m tools.make_exploitability"


def test_exploitability_of_an_unknown_network_is_not_measured(tmp_path: Path) -> None:
    content = bundled_file("policy", "leyla").read_bytes()
    for n, expected in enumerate((measured.exploitability_of("trained", "leyla"), "not measured")):
        path = tmp_path / f"{n}.safetensors"
        path.write_bytes(content + bytes(n))
        lines = exploitabilities([f"trained:{path}"], rulesets.lookup("leyla"))
        assert f"| `trained` | {expected} |" in lines


def test_measuring_exploitability_keeps_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_exploitability, "FILE", tmp_path / "stored.json")
    monkeypatch.setattr(make_exploitability, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(make_exploitability, "STORED", tmp_path / "bounds.json")
    monkeypatch.setattr(make_exploitability, "cards", dict)
    words = ["layli_goobalay", "--agents", "greedy", "--folder", str(tmp_path / "searches")]
    assert make_exploitability.main(words) == 0
    stored = json.loads((tmp_path / "stored.json").read_text("utf-8"))
    assert [row["upper"] for row in stored["results"]] == [37]
    bounds = json.loads((tmp_path / "bounds.json").read_text("utf-8"))
    assert bounds == {"layli_goobalay": {"greedy": [37, 37]}}
    monkeypatch.setattr(make_exploitability, "exploitability", None)  # a measurement would raise TypeError
    assert make_exploitability.main([*words, "--again"]) == 0
    wide = stored["results"][0] | {"upper": 40.0}
    (tmp_path / "stored.json").write_text(json.dumps({"results": [wide]}), encoding="utf-8")
    assert make_exploitability.main(words) == 0
    with pytest.raises(TypeError):
        make_exploitability.main([*words, "--again"])
