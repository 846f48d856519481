"""Rulesets from files and mappings."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from error_checks import raises
from hypothesis import given
from small_disk import largest_file
from strategies import any_ruleset

from mancala_env import Batch, InvalidPosition, InvalidRuleset, Position, Ruleset, rulesets

LEYLA = rulesets.lookup("leyla")


def written(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_mapping_names_what_differs_from_a_ruleset_of_the_catalogue():
    found = rulesets.lookup({"like": "leyla", "name": "mine", "row_width": 5})
    assert found.options == LEYLA.options | {"row_width": 5}
    assert (found.name, found.region, found.source) == ("mine", "", "")
    assert rulesets.lookup({"row_width": 3, "name": "mine"}).options == Ruleset(row_width=3).options
    assert rulesets.lookup({"like": "leyla"}) is LEYLA
    assert rulesets.lookup(LEYLA.to_dict()) == LEYLA


def test_a_name_is_derived_from_the_rule_options_alone():
    one, two, other = (
        rulesets.lookup({"like": like, "row_width": width} | words)
        for like, width, words in (("leyla", 5, {}), ("leyla", 5, {"title": "Mine"}), ("leyla", 4, {}))
    )
    assert one.name == two.name == f"leyla_{one.options_hash[:8]}"
    assert other.name != one.name
    assert rulesets.lookup({"row_width": 5}).name.startswith("custom_")


def test_a_file_without_a_name_is_named_after_itself(tmp_path):
    assert rulesets.lookup(written(tmp_path, "row_width: 5")).name == "mine"
    assert rulesets.lookup(str(written(tmp_path, "row_width: 5", "my game.yml"))).name == "my_game"
    text = '{"like": "leyla", "row_width": 5, "ransoms_empty": false}'
    assert rulesets.lookup(written(tmp_path, text, "a.json")).ransoms_empty is False


@given(ruleset=any_ruleset)
def test_a_saved_ruleset_is_read_back(ruleset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    for name in ("a.yaml", "a.yml", "a.json"):
        ruleset.save(folder / name)
        assert rulesets.lookup(folder / name) == ruleset


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_a_full_disk_leaves_the_saved_file_as_it_was(name, tmp_path):
    path = tmp_path / name
    LEYLA.save(path)
    with largest_file(50), pytest.raises(OSError, match="File too large"):
        rulesets.lookup("gabata_i").save(path)
    assert rulesets.lookup(path) == LEYLA
    assert list(tmp_path.iterdir()) == [path]


class InAFolder:
    """A path whose text is not the path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def test_any_path_like_object_names_a_file(tmp_path):
    path = InAFolder(tmp_path / "a.yaml")
    LEYLA.save(path)
    assert rulesets.lookup(path) == LEYLA


def test_text_values_of_yaml_keep_their_types(tmp_path):
    mine = replace(LEYLA, name="yes", title="010", region="null", source="a: b # c", row_width=5)
    mine.save(tmp_path / "a.yaml")
    assert rulesets.lookup(tmp_path / "a.yaml") == mine


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("row_widht: 5", ["row_widht", "row_width"]),
        ("row_width: 55", ["row_width", 55, 2, 12]),
        ("row_width:", ["row_width", "None"]),
        ("row_width: 5\nrow_width: 6", "row_width"),
        ("like: lela", ["lela", "leyla"]),
        ("name: my game", "my game"),
        ("name: ../game", "../game"),
        ("name: leyla\nrow_width: 5", "leyla"),
        ("captures_last: maybe", ["captures_last", "maybe", "True", "False"]),
        ("match: territory", ["territory", "landing", "weg"]),
        ("- 1", "row_width"),
        ("a: [", "mine.yaml"),
        ("a: &a [1]\nb: *a", "aliases"),
        ("#" * 70_000, "65,536"),
        ("minutes: 5", "minutes"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_an_error_names_the_file_the_key_and_the_value(tmp_path, text, named):
    with raises(InvalidRuleset, "mine.yaml", named):
        rulesets.lookup(written(tmp_path, text))


def test_what_is_no_ruleset_is_refused(tmp_path):
    for wrong in (5, None, ["leyla"], "lyla", b"leyla"):
        with raises(InvalidRuleset, repr(wrong)):
            rulesets.lookup(wrong)  # type: ignore[arg-type]
    with raises(InvalidRuleset, "none.yaml"):
        rulesets.lookup(tmp_path / "none.yaml")
    with raises(InvalidRuleset, "game.txt", ".yaml"):
        LEYLA.save(tmp_path / "game.txt")
    with raises(InvalidRuleset, "a/b"):
        Ruleset(name="a/b").save(tmp_path / "a.yaml")
    assert not list(tmp_path.iterdir())


def test_a_text_from_elsewhere_opens_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, json.dumps({"row_width": 3, "seeds_per_hole": 2, "name": "own.yaml"}), "own.yaml")
    with raises(InvalidPosition, "own.yaml"):
        Position.from_text("own.yaml 2,2,2/2,2,2 0-0 S")
    with raises(InvalidRuleset, "own.yaml"):
        rulesets.named("own.yaml")


def test_a_file_is_taken_wherever_a_name_is(tmp_path):
    path = str(written(tmp_path, "row_width: 3\nseeds_per_hole: 2"))
    position = Position(path)
    assert Position.from_text(position.to_text(), path) == position
    options: Any = {"like": "leyla", "row_width": 4}
    assert Batch(options, 2).ruleset.num_holes == 8


def test_the_hash_of_rule_options_ignores_the_words():
    assert replace(LEYLA, name="other", title="Other").options_hash == LEYLA.options_hash
    assert replace(LEYLA, name="other", row_width=5).options_hash != LEYLA.options_hash


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("like: leyla\nseeds_per_hole: 3", ["match: loan", "like: leyla", "match: single", 3]),
        ("like: gabata_i\nlanding: pair", ["match: territory", "like: gabata_i", "landing: weg"]),
        ("landing: pair\ncaptures_last: no", ["captures_last: true", "landing: uur"]),
    ],
)
def test_options_that_do_not_fit_are_refused_with_a_remedy(tmp_path, text, named):
    path = written(tmp_path, text)
    with raises(InvalidRuleset, path, *named) as caught:
        rulesets.lookup(str(path))
    assert ("came from like" in str(caught.value)) == text.startswith("like")


def test_every_remedy_mends_the_rulesets(tmp_path):
    options: dict[str, Any] = {"like": "leyla", "seeds_per_hole": 3}
    with raises(InvalidRuleset, "match") as caught:
        rulesets.lookup(options)
    values = str(caught.value).rpartition("write ")[2].replace(" or ", ", ").split(", ")
    assert len(values) == 3
    for value in values:
        key, _, word = value.partition(": ")
        assert str(getattr(rulesets.lookup(options | {key: word}), key)) == word


def test_the_reference_states_defaults_and_requirements():
    text = (Path(__file__).parents[2] / "docs/reference/rules.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| `")}
    for name, value in Ruleset().options.items():
        assert str(value).lower() in rows[f"`{name}`"].rsplit("|", 2)[1]
    for each in rulesets.REQUIREMENTS:
        row = rows[f"`{each.option}: {str(each.value).lower()}`"]
        assert f"`{each.needs}: {each.allowed[0]}`" in row
