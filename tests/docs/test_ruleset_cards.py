"""The cards of the rulesets are up to date, short, and agree with the docstrings of the environments."""

import re
from dataclasses import MISSING, fields

import env_texts
import pytest
import ruleset_pages
from env_texts import sections_of
from pages import ROOT

from mancala_env import Position, rulesets
from mancala_env.envs.aec import MancalaAEC
from mancala_env.envs.families import FAMILIES
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.options import EnvOptions, OpponentOptions

CARDS = ROOT / "docs" / "rulesets"
SHARED = ("Observation Space", "Rewards", "Starting State", "Episode End")


@pytest.mark.generated
def test_cards_and_their_pictures_are_up_to_date() -> None:
    made = ruleset_pages.all_files()
    stored = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in (CARDS, ROOT / "docs" / "img" / "rulesets")
        for path in folder.iterdir()
    }
    stale = [path for path in made.keys() | stored.keys() if made.get(path) != stored.get(path)]
    assert not stale, "run python docs/site/ruleset_pages.py"


@pytest.mark.parametrize("name", rulesets.names())
def test_a_card_has_at_most_400_words_besides_tables_and_code(name: str) -> None:
    text = (CARDS / f"{name}.md").read_text(encoding="utf-8")
    prose = re.sub(
        r"^```.*?^```|^[|#!].*?$|<!--.*?-->|\]\([^)]*\)", " ", text, flags=re.DOTALL | re.MULTILINE
    )
    assert 200 < len(prose.split()) <= 400


@pytest.mark.parametrize("name", rulesets.names())
def test_a_card_shows_a_turn_in_motion_and_the_position_of_each_picture(name: str) -> None:
    folder = ROOT / "docs" / "img" / "rulesets"
    board, turn = ((folder / f"{name}{end}.svg").read_text(encoding="utf-8") for end in ("", "-turn"))
    assert Position(name).to_text() in board
    assert "@keyframes" in turn
    assert "@keyframes" not in board


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.module)
def test_the_docstring_of_a_family_lists_its_rulesets(family) -> None:
    listed = re.findall(
        r"\| ``(\w+)``(?: \(the default\))? \| (\d+) \| (\d+) \|", env_texts.raw_env_of(family).__doc__
    )
    known = [rulesets.lookup(name) for name in family.ruleset_names()]
    assert [(name, int(w), int(s)) for name, w, s in listed] == [
        (one.name, one.row_width, one.seeds_per_hole) for one in known
    ]


@pytest.mark.parametrize("title", SHARED)
def test_the_environments_share_paragraphs_which_are_on_every_card(title: str) -> None:
    two, one = sections_of(MancalaAEC)[title], sections_of(MancalaEnv)[title]
    shared = [paragraph for paragraph in two if paragraph in one]
    assert shared
    for name in rulesets.names():
        text = (CARDS / f"{name}.md").read_text(encoding="utf-8")
        assert [paragraph for paragraph in two + one if paragraph not in text] == []
        assert [text.count(paragraph) for paragraph in shared] == [1] * len(shared)


def test_a_card_has_the_sentences_and_numbers_of_its_ruleset() -> None:
    five, long = rulesets.lookup("leyla_gobale_ii"), rulesets.lookup("layli_goobalay_long")
    somali = rulesets.lookup("ludii_leyla_gobale_somaliland")
    assert "Every hole holds 5 seeds" in env_texts.section(five, "Starting State")
    assert "`Discrete(12)`: the hole to sow from, seen from the agent, 0 to 11" in env_texts.section(
        long, "Action Space"
    )
    forced = "the first turn of South is forced"
    assert forced in env_texts.section(somali, "Starting State")
    assert forced not in env_texts.section(five, "Starting State")
    match, single = rulesets.lookup("gabata_i"), rulesets.lookup("ludii_gabata_i")
    assert "`Discrete(12)`" in env_texts.section(match, "Action Space")
    assert "`Discrete(12)`" not in env_texts.section(single, "Action Space")


def test_every_argument_is_in_the_guide_that_the_cards_link_with_its_default() -> None:
    text = (ROOT / "docs" / "guides" / "environments.md").read_text(encoding="utf-8")
    table = text.partition("\n## Arguments\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| ([^|]+) \|$", table, re.MULTILINE))
    assert list(rows) == ["ruleset", *OpponentOptions.__annotations__]
    for field in fields(EnvOptions):
        default = "the game's first" if field.default is MISSING else field.default
        assert re.split("[,;]", rows[field.name])[0].strip('`"') == str(default), field.name
    assert rows["opening_turns"] == "4; PettingZoo 0"


def test_the_tables_of_the_rules_have_every_ruleset() -> None:
    text = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    section = text.partition("\n## 6. ")[2].partition("\n## 7. ")[0]
    rows = re.findall(r"^\| `(\w+)` \| 2x(\d+) \| (\d) \| (\w+) \|", section, re.MULTILINE)
    written = [name for name in rulesets.names() if not name.startswith("ludii_")]
    assert [(name, int(w), int(s), way) for name, w, s, way in rows] == [
        (one.name, one.row_width, one.seeds_per_hole, one.direction) for one in map(rulesets.lookup, written)
    ]
    ludii = text.partition("\n## 7. ")[2].partition("\n## 8. ")[0]
    assert [name for name in rulesets.names() if name.startswith("ludii_") and f"`{name}`" not in ludii] == []
