"""benchmarks/history.csv, to which `make bench` adds a row per figure."""

import csv
import re
from datetime import date
from pathlib import Path

from benchmarks.run import HISTORY_COLUMNS, append_history, commit, main
from benchmarks.timing import Row

ROOT = Path(__file__).resolve().parents[2]
FIGURES = [Row("turns, all cores", 1234567.891, "turns/s"), Row("share", 0.7654321, "ratio")]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_row_kept_is_whole():
    rows = rows_of(ROOT / "benchmarks" / "history.csv")
    assert rows
    for row in rows:
        assert tuple(row) == HISTORY_COLUMNS
        assert all(row.values())
        date.fromisoformat(row["date"])
        assert re.fullmatch(r"[0-9a-f]{7,40}\+?", row["commit"])
        float(row["value"])


def test_figures_are_added_and_none_is_lost(tmp_path):
    path = tmp_path / "history.csv"
    append_history(path, FIGURES, "a machine, 2 cores", "0123456789")
    before = path.read_text(encoding="utf-8")
    append_history(path, FIGURES[:1], "a machine, 2 cores", "abcdef0123+")
    assert path.read_text(encoding="utf-8").startswith(before)
    first, second, third = rows_of(path)
    assert tuple(first) == HISTORY_COLUMNS
    assert list(first.values())[1:] == [
        "0123456789",
        "a machine, 2 cores",
        "turns, all cores",
        "1234567.891",
        "turns/s",
    ]
    assert second["value"] == "0.7654321"
    assert (third["commit"], third["figure"]) == ("abcdef0123+", "turns, all cores")


def test_the_program_writes_the_table_and_the_history(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.engine.measure", lambda: FIGURES)
    table, history = tmp_path / "results.md", tmp_path / "history.csv"
    main(["--only", "engine", "--write", str(table), "--history", str(history)])
    assert "| turns, all cores | 1,234,568 | turns/s |" in table.read_text(encoding="utf-8")
    assert [row["figure"] for row in rows_of(history)] == ["turns, all cores", "share"]
    assert {row["commit"] for row in rows_of(history)} == {commit()}
