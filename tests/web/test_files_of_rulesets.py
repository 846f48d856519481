"""A ruleset file is the same in Python and on the page."""

import dataclasses
from pathlib import Path

import pytest
from page_in_node import answers

from mancala_env import InvalidRuleset, rulesets

MINE = rulesets.lookup({"like": "layli_goobalay", "row_width": 5, "name": "mine", "captures_last": False})
NAMED = dataclasses.replace(MINE, title='Ali\'s "5": a #1, ቀ', region="here", source="me, 2026")


def on_the_page(files: dict[str, str]) -> list[dict]:
    return answers([("ruleset", {"text": text, "file": name}) for name, text in files.items()])


@pytest.mark.parametrize("ruleset", [MINE, NAMED, rulesets.lookup("leyla")], ids=lambda one: one.title[:5])
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_the_page_reads_what_python_writes_and_python_what_the_page_writes(ruleset, suffix, tmp_path) -> None:
    path = tmp_path / f"file.{suffix}"
    ruleset.save(path)
    (found,) = on_the_page({path.name: path.read_text(encoding="utf-8")})
    assert found["dials"] == dataclasses.asdict(ruleset)
    (tmp_path / "page.json").write_text(found["written"], encoding="utf-8")
    assert rulesets.lookup(tmp_path / "page.json") == ruleset


VALID = {
    "five holes.yaml": "# mine\nlike: leyla   # the rest\nrow_width: 5\nransoms_empty: no\n",
    "a.json": '{"like": "gabata_i", "row_width": 5, "title": "Gabata", "name": "small"}',
    "b.yml": "seeds_per_hole: '3'\nrow_width: 4\nmatch: \"mirror\"\n",
}


def test_python_and_the_page_read_a_file_alike(tmp_path: Path) -> None:
    for (name, text), found in zip(VALID.items(), on_the_page(VALID), strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert found["dials"] == dataclasses.asdict(rulesets.lookup(tmp_path / name)), name


INVALID = {
    "row_width: 55": "55",
    "row_widht: 5": "row_widht",
    "row_width: 5\nrow_width: 6": "row_width",
    "like: lela": "lela",
    "captures_last: maybe": "maybe",
    "name: leyla\nrow_width: 5": "leyla",
    "- 1": "1",
    "{": "",
    "row_width:": "row_width",
    "name:": "name",
}


def test_python_and_the_page_refuse_the_same_files(tmp_path: Path) -> None:
    found = on_the_page({f"{n}.yaml": text for n, text in enumerate(INVALID)})
    for (text, wrong), one in zip(INVALID.items(), found, strict=True):
        path = tmp_path / "own.yaml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidRuleset) as refused:
            rulesets.lookup(path)
        assert "own.yaml" in str(refused.value)
        if text != "- 1":
            assert wrong in str(refused.value)
        assert wrong in one["error"], (text, one)
