"""The report of a benchmark for known results."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from error_checks import names

from mancala_env.benchmark.budget import BudgetLimit
from mancala_env.benchmark.results import BASELINE, RESULTS, RULESETS, Results, Row, RunKey
from mancala_env.benchmark.scoring import Score, Scoring, regret_of_random
from mancala_env.benchmark.summary import ALL, BenchmarkSummary, plot_curves, write_report
from mancala_env.errors import MancalaError
from mancala_env.rulesets import lookup

SCORING = Scoring(2, ("random",), 4, "evaluation", 0)
LIMIT = BudgetLimit("steps", 100)
MADE = {"commit": "abc", "machine": "one", "time": "now"}


def key(entry="td", ruleset="layli_goobalay", seed=1, task="board", identity="1", limit=LIMIT):
    return RunKey(entry, identity, task, ruleset, "rules", limit, seed, SCORING)


def row(of, regret, elo=100.0, steps=100, point=1):
    return Row(of, point, steps, 6.0, Score(regret, (0, 9), 0.5, elo, (0, 200), 2), MADE)


def results_of(rows, ends=(), folder=None):
    with Results(folder) as results:
        for each in rows:
            results.measured(each)
        for each, why in ends:
            results.ended(each, why)
    return results


def over(rows):
    return results_of(rows, [(each.key, "") for each in rows])


def test_entries_stand_by_the_interquartile_mean_of_their_regret():
    rows = [row(key("good", seed=seed), regret) for seed, regret in enumerate((1, 2, 3, 4, 99))]
    rows += [row(key("bad", seed=seed), 5, elo=-50) for seed in range(5)]
    outcome = BenchmarkSummary(over(rows))
    (contest,) = outcome.contests()
    assert str(contest) == "layli_goobalay, board, 100 steps"
    good, bad = outcome.standings(contest)
    assert (good.entry, good.regret.value, good.seeds, good.core_minutes) == ("good", 3, 5, 0.1)
    assert (bad.entry, bad.elo, bad.better) == ("bad", (-50, -50, -50), None)
    assert good.better is not None
    assert good.better.value == 0.8  # four of five runs have lower regret
    assert good.regret.low < 3 < good.regret.high
    assert outcome.notes == []


def test_contests_without_ended_runs_have_empty_tables(tmp_path):
    going = row(key(ruleset="leyla"), 9, steps=50, point=0)
    outcome = BenchmarkSummary(results_of([going]))
    (contest,) = outcome.contests()
    assert outcome.standings(contest) == []
    assert outcome.as_dict()["contests"][0]["entries"] == []
    assert write_report(outcome, tmp_path / "report.html").is_file()


def test_a_table_of_all_rulesets_needs_ended_runs_on_each():
    ended, going, other = (
        row(key(), 2),
        row(key(ruleset="leyla"), 9, steps=50, point=0),
        row(key("ppo", "leyla"), 1),
    )
    for rows, ends in (([ended, going], [ended]), ([ended, other], [ended, other])):
        outcome = BenchmarkSummary(results_of(rows, [(each.key, "") for each in ends]))
        together = outcome.contests()[0]
        assert together.ruleset == ALL
        assert outcome.standings(together) == []


def test_a_run_counts_with_its_last_measurement_once_it_is_over():
    done, going = key(seed=1), key(seed=2)
    rows = [row(done, 4, steps=50, point=0), row(done, 2), row(going, 9, steps=50, point=0)]
    outcome = BenchmarkSummary(results_of(rows, [(done, "")]))
    (contest,) = outcome.contests()
    (found,) = outcome.standings(contest)
    assert (found.regret.value, found.seeds, found.steps) == (2, 1, 100)
    curve = outcome.curve(contest, "td")
    assert [(spent, regret.value) for spent, regret, _ in curve] == [(50, 4), (100, 2)]  # of equal seeds
    assert "fewer than 5 seeds" in outcome.notes[0]


def test_runs_by_other_rules_of_a_ruleset_are_not_compared():
    before, after = key("td", "own"), key("ppo", "own")._replace(rules="changed")
    outcome = BenchmarkSummary(over([row(before, 1), row(after, 2)]))
    (contest,) = outcome.contests()
    assert [found.entry for found in outcome.standings(contest)] == ["ppo"]
    assert any("1 measurements are excluded: the rules" in note for note in outcome.notes)


def test_a_refusal_is_reported_until_the_changed_entry_has_ended():
    before, after = key(identity="1"), key(identity="2")
    refused = [(before, "it failed")]
    assert (
        "td, board, layli_goobalay, 100 steps, seed 1, was refused: it failed"
        in BenchmarkSummary(results_of([], refused)).notes
    )
    repeated = BenchmarkSummary(results_of([row(after, 1)], [*refused, (after, "")]))
    assert not any("refused" in note for note in repeated.notes)
    worse = BenchmarkSummary(results_of([row(before, 1)], [(before, ""), (after, "too slow")]))
    assert "td, board, layli_goobalay, 100 steps, seed 1, was refused: too slow" in worse.notes


def test_a_curve_leaves_out_points_at_which_not_all_its_seeds_were_measured():
    first, second = key(seed=1), key(seed=2)
    rows = [row(first, 7, steps=25, point=0), row(first, 4, steps=50, point=1), row(first, 2, point=2)]
    rows += [row(second, 6, steps=50, point=1), row(second, 4, point=2)]
    outcome = BenchmarkSummary(results_of(rows, [(first, ""), (second, "")]))
    (contest,) = outcome.contests()
    assert [(spent, regret.value) for spent, regret, _ in outcome.curve(contest, "td")] == [(50, 5), (100, 3)]


def test_runs_with_other_numbers_of_measuring_points_meet_at_equal_shares_of_the_budget():
    first, second = key(seed=1), key(seed=2)
    rows = [row(first, 8, steps=25, point=0), row(first, 6, steps=50, point=1), row(first, 2, point=2)]
    rows += [row(second, 4, steps=50, point=0), row(second, 4, point=1)]
    outcome = BenchmarkSummary(results_of(rows, [(first, ""), (second, "")]))
    (contest,) = outcome.contests()
    assert [(spent, regret.value) for spent, regret, _ in outcome.curve(contest, "td")] == [(50, 5), (100, 3)]


def test_a_run_that_was_measured_more_often_counts_once_at_each_point():
    first, second = key(seed=1), key(seed=2)
    rows = [row(first, 8, steps=steps, point=0) for steps in (25, 30, 40)] + [row(first, 2)]
    rows += [row(second, 4)]
    outcome = BenchmarkSummary(results_of(rows, [(first, ""), (second, "")]))
    (contest,) = outcome.contests()
    assert [(spent, regret.value) for spent, regret, _ in outcome.curve(contest, "td")] == [(100, 3)]


def test_an_entry_has_one_colour_in_the_plots_of_all_contests():
    def colours(outcome: BenchmarkSummary) -> list[dict[Any, Any]]:
        plots = [plot_curves(outcome, contest, "regret").axes[0] for contest in outcome.contests()]
        return [{line.get_label(): line.get_color() for line in axes.get_lines()} for axes in plots]

    few, many = BudgetLimit("steps", 100), BudgetLimit("steps", 1000)
    rows = [row(key(name, limit=few), 2) for name in ("one", "two")] + [row(key("two", limit=many), 2)]
    small, large = colours(BenchmarkSummary(over(rows)))
    assert small["two"] == large["two"] != small["one"]


def test_refused_runs_and_entries_since_changed_do_not_count():
    bad, old, new = key("bad"), key(identity="0"), key(identity="1")
    rows = [row(bad, 0), row(old, 0), row(new, 3)]
    outcome = BenchmarkSummary(results_of(rows, [(bad, "it cheated"), (old, ""), (new, "")]))
    (found,) = outcome.standings(outcome.contests()[0])
    assert (found.entry, found.regret.value) == ("td", 3)
    assert "1 measurements are excluded: the files of their entries have changed" in outcome.notes
    assert "bad, board, layli_goobalay, 100 steps, seed 1, was refused: it cheated" in outcome.notes


def test_the_file_of_an_entry_that_was_measured_last_counts():
    old, new = key(identity="0"), key(identity="1", seed=2)
    rows = [row(old, 9, steps=50, point=0), row(new, 3), row(old, 2)]
    outcome = BenchmarkSummary(results_of(rows, [(old, ""), (new, "")]))
    (found,) = outcome.standings(outcome.contests()[0])
    assert found.regret.value == 2


def test_a_seed_that_another_version_made_again_counts_once():
    old, new = key()._replace(version="0.1"), key()._replace(version="0.2")
    line = key("minimax:2", task=BASELINE)
    lines = [row(line._replace(version=each), 4) for each in ("0.1", "0.2")]
    outcome = BenchmarkSummary(over([row(old, 1), row(new, 3), *lines]))
    (contest,) = outcome.contests()
    (found,) = outcome.standings(contest)
    assert (found.seeds, found.regret.value) == (1, 3)
    assert len(outcome.baselines_of(contest)) == 1
    assert "1 measurements are excluded: they were repeated with another version" in outcome.notes


def test_what_stands_twice_in_files_that_were_joined_counts_once(tmp_path):
    line = RunKey(
        "minimax:2", "minimax:2", BASELINE, "layli_goobalay", "rules", BudgetLimit("steps", 0), 0, SCORING
    )
    rows = [row(line, 3, steps=0), row(key(), 4, steps=50, point=0), row(key(), 2)]
    results_of(rows, [(key(), "")], tmp_path / RESULTS)
    (tmp_path / RESULTS).write_bytes(2 * (tmp_path / RESULTS).read_bytes())
    outcome = BenchmarkSummary(Results.read(tmp_path / RESULTS))
    assert outcome.baselines == rows[:1]
    assert outcome.rows == rows[1:]


def test_one_ruleset_scored_in_two_ways_is_not_several_rulesets():
    ways = [SCORING, SCORING._replace(anchors=("greedy",))]
    rows = [row(key()._replace(scoring=way), 2) for way in ways]
    assert [one.ruleset for one in BenchmarkSummary(over(rows)).contests()] == ["layli_goobalay"] * 2
    outcome = BenchmarkSummary(over([*rows, *(row(key(ruleset="leyla", seed=seed), 1) for seed in (1, 2))]))
    together = outcome.contests()[0]
    assert together.ruleset == ALL
    (found,) = outcome.standings(together)
    assert found.seeds == 1


def test_rulesets_together_count_in_shares_of_what_random_play_gives_away():
    names = ("layli_goobalay", "leyla")
    rows = [row(key(ruleset=name), 0.5 * regret_of_random(lookup(name))) for name in names]
    rows.append(row(key("elsewhere", ruleset="leyla"), 0))
    outcome = BenchmarkSummary(over(rows))
    together, *single = outcome.contests()
    assert [contest.ruleset for contest in single] == list(names)
    assert together.ruleset == ALL
    (found,) = outcome.standings(together)  # the other entry lacks a run on one ruleset
    assert found.entry == "td"
    assert found.regret.value == pytest.approx(0.5)


def test_a_ruleset_from_elsewhere_leaves_its_own_table(tmp_path, monkeypatch):
    """Without the ruleset's file, and without its solved positions, nothing at all was once printed."""
    monkeypatch.setenv("MANCALA_CACHE", str(tmp_path / "cache"))
    rows = [row(key(ruleset=name), 1) for name in ("leyla", "mine")]
    results_of(rows, [(each.key, "") for each in rows], tmp_path / RESULTS)
    for has_file in (False, True):
        if has_file:
            (tmp_path / RULESETS).mkdir()
            lookup({"like": "leyla", "row_width": 5, "name": "mine"}).save(tmp_path / RULESETS / "mine.yaml")
        outcome = BenchmarkSummary(Results.read(tmp_path / RESULTS))
        assert [one.ruleset for one in outcome.contests()] == ["leyla", "mine"]
        assert any(names(note, [ALL, "mine", RULESETS, "prepare"]) for note in outcome.notes)
        assert {each["ruleset"] for each in outcome.as_rows()} == {"leyla", "mine"}


def test_budgets_tasks_and_ways_of_scoring_are_contests_of_their_own():
    rows = [row(key(), 1), row(key(task="anything"), 1), row(key(limit=BudgetLimit("core_minutes", 3)), 1)]
    assert "equal titles" not in " ".join(BenchmarkSummary(over(rows)).notes)
    rows.append(row(key()._replace(scoring=SCORING._replace(games=4)), 1))
    outcome = BenchmarkSummary(over(rows))
    assert len(outcome.contests()) == 4
    assert "equal titles differ in scoring" in " ".join(outcome.notes)


def test_a_report_is_one_page_with_plots_and_lines(tmp_path):
    rows = [row(key(name, seed=seed), 2 + seed / 9) for name in ("one", "two") for seed in range(3)]
    line = RunKey(
        "minimax:2", "minimax:2", BASELINE, "layli_goobalay", "rules", BudgetLimit("steps", 0), 0, SCORING
    )
    outcome = BenchmarkSummary(over([*rows, row(line, 3)]))
    page = write_report(outcome, tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in re.sub(r"http://(www\.w3\.org|purl\.org|creativecommons\.org)", "", page)
    pictures = page.split("<svg")[1:]
    assert len(pictures) == 2
    for picture in pictures:
        ET.fromstring("<svg" + picture[: picture.index("</svg>")] + "</svg>")
        assert "minimax:2" in picture
        assert "one" in picture
    assert write_report(outcome, tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_measured_makes_no_report(tmp_path):
    with pytest.raises(MancalaError):
        write_report(BenchmarkSummary(results_of([])), tmp_path / "report.html")


def test_the_measurements_that_are_kept_bear_the_documentation_out() -> None:
    root = Path(__file__).resolve().parents[2]
    outcome = BenchmarkSummary(Results.read(root / "benchmarks" / "learning" / RESULTS)).as_dict()
    pages = ["research/algorithms_by_steps.md", "research/algorithms_by_time.md"]
    lines = [line for page in pages for line in (root / "docs" / page).read_text("utf-8").splitlines()]
    shown = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines if line[:1] == "|"]
    entries = [entry for contest in outcome["contests"] for entry in contest["entries"]]
    programs = {path.stem for path in (root / "training" / "benchmark").glob("*.py")}
    assert {entry["entry"] for entry in entries} <= programs
    first_look = (root / "benchmarks" / "learning" / "equal_cost_first_look.jsonl").read_text("utf-8")
    others = {json.loads(line)["entry"] for line in first_look.splitlines()}
    assert programs <= others | {entry["entry"] for entry in entries}, "a program was never measured"
    made = set()
    for contest in outcome["contests"]:
        for entry in contest["entries"]:
            named = (contest["ruleset"], entry["entry"], f"{entry['steps']:,}")
            made.add(named)
            rows = [cells for cells in shown if named == (cells[0], cells[1], cells[2])]
            assert rows or contest["ruleset"] in ("leyla", "gabata_i"), named
            for cells in rows:
                quoted = " ".join(cells[3:])
                assert re.search(rf"(^| ){entry['regret']['value']:.2f}[ ,]", quoted), named
                assert re.search(rf" {entry['elo']['value']:.0f}( |$)", quoted), named
    stems = {entry["entry"] for entry in entries}
    assert {(*cells[:3],) for cells in shown if len(cells) > 2 and cells[1] in stems} <= made


def test_the_first_end_of_a_run_counts_in_joined_files(tmp_path):
    of, why = key(), "it took 2.20 core minutes"
    results_of([row(of, 9, steps=25, point=0)], [(of, why)], tmp_path / "a")
    results_of([row(of, 9, steps=25, point=0), row(of, 1)], [(of, "")], tmp_path / "b")
    refused, whole = ((tmp_path / name).read_text() for name in "ab")
    for text, end, count in ((refused + whole, why, 0), (whole + refused, "", 1)):
        (tmp_path / "joined").write_text(text)
        results = Results.read(tmp_path / "joined")
        assert results.end(of) == end
        summary = BenchmarkSummary(results)
        assert sum(len(summary.standings(contest)) for contest in summary.contests()) == count
