"""The page's shapes, animation steps and sentences equal those of the package."""

import math
import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from page_in_node import FOLDER, answers, dials_of

from mancala_env import Position, rulesets
from mancala_env.engine.coordinates import hole_of
from mancala_env.engine.state import END_REASONS
from mancala_env.render import motion
from mancala_env.render.scene import Box, Disc, Outline, Shape, Words, describe, in_words
from mancala_env.rulesets import MAX_ROW_WIDTH, MIN_ROW_WIDTH, Ruleset
from tools import make_page_files


def boards() -> list[Ruleset]:
    """One ruleset for every width, direction and landing."""
    made = [rulesets.lookup(name) for name in rulesets.names()]
    widths = range(MIN_ROW_WIDTH, MAX_ROW_WIDTH + 1)
    for width, direction, landing in product(widths, ("anticlockwise", "clockwise"), ("uur", "pair", "weg")):
        name = f"own_{width}_{direction}_{landing}"
        made.append(Ruleset(name=name, row_width=width, direction=direction, landing=landing))
    return made


def some_positions(ruleset: Ruleset, number: int, draw: random.Random) -> list[Position]:
    """Positions of a random game, over several rounds if it has them."""
    position, passed = Position(ruleset), []
    for _ in range(60):
        passed.append(position.copy())
        if position.is_over:
            following = position.next_round()
            if following is None:
                break
            position = following
            continue
        position.play(draw.choice(position.legal_actions))
    return draw.sample(passed, min(number, len(passed)))


def as_page(shape: Shape) -> dict[str, Any]:
    kinds = {Disc: "disc", Box: "box", Outline: "outline", Words: "words"}
    return {"kind": kinds[type(shape)], **shape._asdict()}


def assert_same(ours: Any, theirs: Any, where: str) -> None:
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), where
        for key in ours:
            assert_same(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs), where
        for n, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{where}[{n}]")
    elif isinstance(ours, float) or isinstance(theirs, float):
        assert math.isclose(ours, theirs, abs_tol=2e-3), (where, ours, theirs)
    else:
        assert ours == theirs, where


@pytest.mark.generated
def test_what_the_package_gives_the_page_is_up_to_date() -> None:
    for name, content in make_page_files.contents().items():
        written = (FOLDER / name).read_bytes()
        assert written == content, f"{name} is stale: python -m tools.make_page_files"


@pytest.mark.slow
def test_the_page_draws_the_same_scene() -> None:
    draw = random.Random(1)
    questions, scenes = [], []
    for ruleset in boards():
        for position in some_positions(ruleset, 2, draw):
            legal = [hole_of(ruleset, position.player, action) for action in position.legal_actions]
            options: dict[str, Any] = {"legal": legal, "last": legal[:1]}
            if draw.random() < 0.5:
                options["caption"] = "long enough to be shortened " * 5
            if legal:
                options |= {"values": {str(legal[0]): -3, str(legal[-1]): 0.25}, "arrows": [[legal[0], 1]]}
                options |= {"hand": [legal[0], 3]}
            questions.append(
                ("scene", {"dials": dials_of(ruleset), "text": position.to_text(), "options": options})
            )
            given = dict(options)
            if legal:
                given["values"] = {legal[0]: -3, legal[-1]: 0.25}
                if legal[0] == legal[-1]:
                    given["values"] = {legal[0]: 0.25}
                    questions[-1][1]["options"]["values"] = {str(legal[0]): 0.25}
                given["hand"] = (legal[0], 3)
            scenes.append(describe(ruleset, position.state, **given))
    for (_, asked), ours, theirs in zip(questions, scenes, answers(questions), strict=True):
        where = asked["text"]
        assert [ours.width, ours.height] == [theirs["width"], theirs["height"]], where
        assert theirs["title"]
        assert ours.title.startswith(theirs["title"])
        # JavaScript sorts a mapping with numeric keys by key.
        assert_same(sort_badges([as_page(one) for one in ours.shapes]), sort_badges(theirs["shapes"]), where)


def sort_badges(shapes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    others = [shape for shape in shapes if shape["name"] != "value"]
    return others + sorted((shape for shape in shapes if shape["name"] == "value"), key=lambda s: str(s["x"]))


def test_the_page_shows_and_says_turns_alike() -> None:
    draw = random.Random(2)
    questions, ours = [], []
    turns: list[tuple[Position, int]] = [
        (Position("layli_goobalay", [3, 2, 1, 8, 1, 8, 0, 1, 0, 3, 0, 1]), 5),  # an endless relay
        (Position("layli_goobalay", [2, 0, 0, 1, 0, 3, 1, 3, 0, 0, 5, 1]), 3),  # three make an uur
    ]
    for name in rulesets.names():
        ruleset = rulesets.lookup(name)
        for position in some_positions(ruleset, 12, draw):
            if not position.is_over:
                turns.append((position, draw.choice(position.legal_actions)))
    for position, action in turns:
        max_laps = draw.choice([3, motion.MAX_LAPS_SHOWN])
        question = {"dials": dials_of(position.ruleset), "text": position.to_text(), "action": action}
        questions.append(("turn", {**question, "maxLaps": max_laps}))
        timeline = position.timeline(action)
        steps = motion.steps(position.state, timeline, 0.18, max_laps)
        ours.append(
            {
                "events": [list(event) for event in timeline.events],
                "steps": [
                    [
                        step.start,
                        step.seconds,
                        step.state.seeds[0].tolist(),
                        step.state.stores[0].tolist(),
                        step.state.owner[0].tolist(),
                        step.source,
                        step.in_hand,
                        step.lap,
                    ]
                    for step in steps
                ],
                "captions": [motion.caption(position.ruleset, timeline, step) for step in steps],
                "ends": list(motion.ends_of(timeline)),
                "words": motion.in_words(position.ruleset, timeline),
                "position": in_words(position.ruleset, position.state),
            }
        )
    for asked, mine, theirs in zip(questions, ours, answers(questions), strict=True):
        assert_same(mine, theirs, f"{asked[1]['text']} {asked[1]['action']}")


def test_every_reason_of_an_end_has_its_words() -> None:
    keys = (FOLDER / "texts" / "en.json").read_text(encoding="utf-8")
    for reason in END_REASONS[1:]:
        assert f'"end.{reason}"' in keys
        assert f'"event.end.{reason}"' in keys


def test_custom_rules_are_told_from_the_catalogue() -> None:
    ruleset = replace(rulesets.lookup("layli_goobalay"), name="mine", row_width=3)
    position = Position(ruleset)
    question = {"dials": dials_of(ruleset), "text": position.to_text(), "options": {}}
    (scene,) = answers([("scene", question)])
    assert scene["width"] == describe(ruleset, position.state).width
