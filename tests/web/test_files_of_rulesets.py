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
    "capital.yaml": "captures_last: NO\nransoms_empty: True\nrow_width: 5\n",
    "yes.yaml": "like: layli_goobalay\ncaptures_last: Yes\n",
    "unchanged.yaml": "like: leyla\nrow_width: 6\n",
    "unchanged.json": '{"like": "leyla", "row_width": 6, "title": "Leyla (Wegi)"}',
    "spaces.yaml": "row_width  :   5  # five\n\"match\": mirror\n'landing' : uur\n",
    "words.yaml": '--- # one\ntitle: ""\nregion: a:b, c# d\nsource: -x ? y',
    "returns.yaml": "row_width: 5\r\nmatch: mirror\rtitle: 'it''s'\x85source: 7\n",
    "empty.json": "{}",
    "two times.json": '{"row_width": 4, "row_width": 5, "title": "1.5"}',
    "ቀ.yaml": "name: ቀ-1.b\nrow_width: 5",
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
    "title:": "title",
    "region: #here": "region",
    "name: ../game": "../game",
    "name: a b": "a b",
    "title: Ali: five": "Ali",
    "title: Ali:": "Ali",
    "title: @a": "@a",
    "title: `a": "`a",
    "title: - a": "- a",
    "title: ? a": "? a",
    "title: ]": "]",
    "title: a\tb": "",
    "title: a\xa0": "title",
    "title: a # \x07": "",
    'title: "a\tb"': "title",
    "row_width:5": "row_width",
    "row_width:\t5": "row_width",
    "row_width: 5\n---\nmatch: mirror": "---",
    "toString: 5": "toString",
    "__proto__: 5": "__proto__",
    "": "rule options",
    "# nothing\n---\n": "rule options",
}
INVALID_JSON = {
    '{"title": 7}': "title",
    '{"region": 3}': "region",
    '{"source": null}': "source",
    '{"name": "-a"}': "-a",
    '{"row_width": 5.0}': "5.0",
    '{"row_width": true}': "row_width",
    '{"captures_last": 1}': "captures_last",
    '{"like": null}': "ruleset",
    '{"__proto__": 5}': "__proto__",
    "row_width: 5": "",
    "[5]": "",
    "null": "rule options",
}
# Valid YAML that the page's simple reader does not know.
TOO_MUCH_FOR_THE_PAGE = [
    "  row_width: 5",
    "{row_width: 5}",
    'title: "\\x41"',
    "title: a\n  b",
    "!!str match: mirror",
]


def test_python_and_the_page_refuse_the_same_files(tmp_path: Path) -> None:
    files = {f"{n}.yaml": one for n, one in enumerate(INVALID.items())}
    files |= {f"{n}.json": one for n, one in enumerate(INVALID_JSON.items())}
    found = on_the_page({name: text for name, (text, _) in files.items()})
    for (name, (text, wrong)), one in zip(files.items(), found, strict=True):
        path = tmp_path / name
        path.write_bytes(text.encode())
        with pytest.raises(InvalidRuleset) as refused:
            rulesets.lookup(path)
        assert name in str(refused.value)
        if text != "- 1":
            assert wrong in str(refused.value), text
        assert wrong in one.get("error", "nothing is wrong"), (text, one)


def test_the_page_refuses_the_yaml_that_it_cannot_read(tmp_path: Path) -> None:
    found = on_the_page({f"{n}.yaml": text for n, text in enumerate(TOO_MUCH_FOR_THE_PAGE)})
    for text, one in zip(TOO_MUCH_FOR_THE_PAGE, found, strict=True):
        (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
        assert rulesets.lookup(tmp_path / "own.yaml")
        assert "key: value" in one["error"], (text, one)


@pytest.mark.parametrize("text", ["row_width: 5", '{"row_width": 5,}', ""])
def test_the_page_names_json_that_cannot_be_read(text: str) -> None:
    (found,) = on_the_page({"own.json": text})
    assert "JSON" in found["error"]
