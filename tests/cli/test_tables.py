"""Tables in a terminal of 80 columns: no text is cut off, and no number is wrapped."""

import re
from pathlib import Path

import pytest

from mancala_env import cli, rulesets
from mancala_env.benchmark.results import Results
from mancala_env.benchmark.summary import ALL, BenchmarkSummary, head_of, plot_curves
from mancala_env.cli import tables

MEASURED = Path(__file__).parents[2] / "benchmarks" / "learning" / "results.jsonl"


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that makes standard output a terminal with a number of columns."""
    return lambda columns: monkeypatch.setattr(tables, "width", lambda: columns)


def test_the_tables_of_evaluate_fit(terminal, capsys):
    terminal(80)
    agents = ["value+minimax:2", "value+minimax:1", "random"]
    assert cli.main(["evaluate", *agents, "--games", "4", "--num_threads", "1"]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    number, signed = r"\d+\.\d+", r"[+-]?\d+\.\d+"
    assert "Difference of regret over the same positions, seeds per move\n" in said
    for row in (
        r" > +value\+minimax:2 +\d+ +\d+ to \d+ +16 +not measured *",  # two agents and two anchors
        rf"    minimax:4 .* {number} *",
        rf" value\+minimax:2 +value\+minimax:1 +\d/\d/\d +{number} +{number} to {number} +{signed} *",
        rf" value\+minimax:2 +all +300 +{number} +{number} to {number} +\d+ % *",
        rf" value\+minimax:2 +value\+minimax:1 +{signed} +{signed} to {signed} +\d+/\d+/300 *",
    ):
        assert re.search(f"^{row}$", said, re.MULTILINE), row


def test_the_tables_of_a_benchmark_fit_and_leave_nothing_out(terminal, capsys):
    terminal(80)
    assert cli.main(["benchmark", "--folder", str(MEASURED.parent)]) == 0
    said = capsys.readouterr().out
    outcome = BenchmarkSummary(Results.read(MEASURED))
    for contest in outcome.contests():
        _, _, shown = said.partition(f"{contest}\n")
        for standing in outcome.standings(contest):
            for number in re.findall(r"[\d.,]{2,}|[\w+:]{2,}", " ".join(standing.cells())):
                assert number in shown


def test_a_wide_terminal_has_a_row_for_each_entry(terminal, capsys):
    terminal(tables.PIPE_WIDTH)
    assert cli.main(["benchmark", "--folder", str(MEASURED.parent)]) == 0
    number = r"[\d.,]+%? +\([\d.,]+%? to [\d.,]+%?\)"
    assert re.search(rf"^ td +5 +[\d,]+ +[\d.]+ +{number} +{number} ", capsys.readouterr().out, re.MULTILINE)


def test_names_give_way_to_numbers(terminal, capsys):
    terminal(40)
    tables.print_table(["agent", "won"], [["policy+minimax:6:runs/leyla/final.zip", "1,234,567"]])
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 40
    assert "1,234,567" in said


def test_the_rulesets_fit_without_their_sources(terminal, capsys):
    said = []
    for columns in (80, tables.PIPE_WIDTH):
        terminal(columns)
        assert cli.main(["rulesets"]) == 0
        said.append(capsys.readouterr().out)
    narrow, wide = said
    assert max(map(len, narrow.splitlines())) <= 80
    for name in rulesets.names():
        (line,) = (line for line in narrow.splitlines() if line.split()[:1] == [name])
        assert line.split()[1].startswith("2x")
    assert "Pankhurst" not in narrow
    assert "--json" in narrow
    assert "Pankhurst" in wide
    assert "--json" not in wide


def test_regret_over_all_rulesets_is_in_shares_of_random_play(terminal, capsys):
    terminal(tables.PIPE_WIDTH)
    outcome = BenchmarkSummary(Results.read(MEASURED))
    contests = outcome.contests()
    assert {contest.ruleset == ALL for contest in contests} == {True, False}
    for contest in contests:
        of = "share of random play's" if contest.ruleset == ALL else "seeds per move"
        assert f"mean regret ({of})" in head_of(contest)
        assert plot_curves(outcome, contest, "regret").axes[0].get_ylabel() == f"mean regret ({of})"
