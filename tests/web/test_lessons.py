"""Lessons of the page: each step accepts exactly the turns that solve its task, and no text is missing."""

import json
import re
from typing import Any

import pytest
from page_in_node import FOLDER

from mancala_env import Position
from mancala_env.render.motion import place_name

LESSONS = json.loads((FOLDER / "lessons.json").read_text(encoding="utf-8"))
ENGLISH = json.loads((FOLDER / "texts" / "en.json").read_text(encoding="utf-8"))
STEPS = [(game, number) for game in LESSONS for number in range(1, len(LESSONS[game]["steps"]) + 1)]


def turn_text(position: Position, action: int) -> str:
    return f"{'SN'[position.player]}{action + 1}"


def facts(position: Position, action: int) -> dict[str, Any]:
    """Return the effect of a turn in the format of the lessons."""
    timeline, after = position.timeline(action), position.copy()
    turn = after.play(action)
    lap, last = 0, -1
    for event in timeline.events:
        if event.kind == "lift":
            lap += 1
        elif event.kind == "drop" and lap <= timeline.laps:
            last = event.hole
    return {
        "laps": turn.laps,
        "captured": turn.captured,
        "owned": [place_name(position.ruleset, hole) for hole in turn.new_owned],
        "last": place_name(position.ruleset, last),
        "from": place_name(position.ruleset, timeline.hole),
        "again": not after.is_over and after.player == position.player,
        "end": after.end,
        "counts": list(after.counts),
    }


@pytest.mark.parametrize("game", LESSONS)
def test_a_game_is_taught_in_ten_steps(game: str) -> None:
    assert len(LESSONS[game]["steps"]) == 10


@pytest.mark.parametrize(("game", "number"), STEPS)
def test_the_task_is_met_by_these_turns_and_no_other(game: str, number: int) -> None:
    lesson, step = LESSONS[game], LESSONS[game]["steps"][number - 1]
    position = Position.from_text(f"{lesson['ruleset']} {step['position']}")
    assert not position.is_over
    meeting = [
        turn_text(position, action)
        for action in position.legal_actions
        if step["expects"].items() <= facts(position, action).items()
    ]
    assert meeting == step["turns"]
    # "Show me" plays the first turn. Tasks and answers name its holes.
    did = facts(position, int(step["turns"][0][1:]) - 1)
    task, told = (ENGLISH[f"learn.{game}.{number}.{what}"] for what in ("task", "told"))
    if len(step["turns"]) == 1 and (named := re.match(r"(?:You are South\. )?Sow (S\d+)", task)):
        assert [named[1]] == step["turns"]
    if found := re.search(r"ended in (?:the empty )?([SN]\d)", told):
        after_relays = [did["last"]] if did["laps"] == 1 else [did["last"], *relays(position, step)]
        assert found[1] in after_relays


def relays(position: Position, step: dict[str, Any]) -> list[str]:
    timeline = position.timeline(int(step["turns"][0][1:]) - 1)
    return [place_name(position.ruleset, e.hole) for e in timeline.events if e.kind == "relay"]


@pytest.mark.parametrize(
    ("game", "number"), [(g, n) for g, n in STEPS if "next" in LESSONS[g]["steps"][n - 1]]
)
def test_the_next_round_is_set_up_from_all_seeds(game: str, number: int) -> None:
    lesson, step = LESSONS[game], LESSONS[game]["steps"][number - 1]
    position = Position.from_text(f"{lesson['ruleset']} {step['position']}")
    position.play(int(step["turns"][0][1:]) - 1)
    following = position.next_round()
    assert following is not None
    assert following.round == 2
    told = ENGLISH[f"learn.{game}.{number}.told"]
    assert "North begins" in told
    assert following.player == 1
    if game == "leyla":
        assert following.debts == (0, 2)
        assert (following.seeds == 4).sum() == 8
    elif game == "gabata":
        assert following.territory.tolist() == [0] * 8 + [1] * 4
    else:
        assert following.stores == (16, 0)


def test_every_step_has_its_texts() -> None:
    for game, number in STEPS:
        for what in ("title", "text", "task", "told"):
            assert ENGLISH[f"learn.{game}.{number}.{what}"]


@pytest.mark.parametrize("language", ["so", "am"])
def test_a_translation_has_keys_and_names_of_the_english_texts(language: str) -> None:
    theirs = json.loads((FOLDER / "texts" / f"{language}.json").read_text(encoding="utf-8"))
    assert theirs.keys() <= ENGLISH.keys()
    for key, text in theirs.items():
        assert set(re.findall(r"\{\w+\}", text)) <= set(re.findall(r"\{\w+\}", ENGLISH[key]))


def test_every_text_that_a_module_asks_for_is_there() -> None:
    asked = set()
    for file in FOLDER.rglob("*.js"):
        source = file.read_text(encoding="utf-8")
        asked |= set(re.findall(r"""\bt\(\s*["']([\w.]+)["']""", source))
    assert len(asked) > 60
    assert asked <= ENGLISH.keys(), asked - ENGLISH.keys()


def test_the_offline_copy_is_of_every_file() -> None:
    source = (FOLDER / "offline.js").read_text(encoding="utf-8")
    listed = set(re.findall(r'"([\w./-]*[\w-])"', source[source.index("[") : source.index("]")]))
    served = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*")
        if path.is_file()
        and path.suffix not in (".py", ".pyc", ".f32")
        and path.parent.name not in ("puzzles", "first_turns", "fair_openings")
    }
    assert listed == served - {"offline.js"}


def test_every_module_says_what_it_is_for() -> None:
    sources = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.rglob("*.js")}
    assert not [name for name, source in sources.items() if not re.match(r"/\*\*\s[\s*]*\w", source)]


def test_bundled_networks_are_listed() -> None:
    listed = json.loads((FOLDER / "networks" / "list.json").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.stem for path in (FOLDER / "networks").glob("*.f32"))
