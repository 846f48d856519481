"""Positions and turns as SVG."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from error_checks import raises

from mancala_env import Batch, IllegalMove, Position, Ruleset, rulesets
from mancala_env.errors import InvalidArgument
from mancala_env.render.motion import steps
from mancala_env.render.scene import LETTER, LINE, MAX_SEEDS_DRAWN, Box, Disc, Words, describe, layout_of

SVG = "{http://www.w3.org/2000/svg}"
LONG_TURN = Position("layli_goobalay", seeds=[3, 2, 1, 8, 1, 8, 0, 1, 0, 3, 0, 1])
"""A position in which action 5 is an endless relay (RULES 3)."""


def texts(svg):
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def texts_at_rest(element):
    """Return the texts that are visible without animation."""
    if element.get("opacity") == "0":
        return []
    own = ["".join(element.itertext())] if element.tag == f"{SVG}text" else []
    return own + [text for child in element for text in texts_at_rest(child)]


def random_positions(ruleset, number, seed=0):
    random = np.random.default_rng(seed)
    position = Position(ruleset)
    for _ in range(number):
        if position.is_over:
            position = position.next_round() or Position(ruleset)
            continue
        yield position
        position.play(random.choice(position.legal_actions))


@pytest.mark.parametrize("name", rulesets.names())
def test_every_number_is_written_beside_its_hole(name):
    for position in random_positions(name, 25):
        written = texts(position.to_svg())
        numbers = sorted(map(str, [*position.seeds, *position.stores]))
        assert sorted(text for text in written if text.isdigit()) == numbers


@pytest.mark.parametrize("width", range(2, 13))
@pytest.mark.parametrize("direction", ["anticlockwise", "clockwise"])
def test_nothing_lies_outside_the_picture_at_any_width(width, direction):
    ruleset = Ruleset(row_width=width, direction=direction, seeds_per_hole=10)
    scene = Position(ruleset).scene(values={0: "-100.00"})
    for shape in scene.shapes:
        if isinstance(shape, Disc):
            assert shape.r <= shape.x <= scene.width - shape.r
            assert shape.r <= shape.y <= scene.height - shape.r
        elif isinstance(shape, Box):
            assert 0 <= shape.x <= shape.x + shape.width <= scene.width
            assert 0 <= shape.y <= shape.y + shape.height <= scene.height
        elif isinstance(shape, Words):
            assert 0 <= shape.x <= scene.width
            assert 0 <= shape.y <= scene.height


def test_a_clockwise_board_is_mirrored():
    hole = layout_of(rulesets.lookup("leyla")).hole
    assert hole(0)[0] > hole(5)[0]
    hole = layout_of(rulesets.lookup("gabata_i")).hole
    assert hole(0)[0] < hole(5)[0]


def test_seeds_that_stay_do_not_jump():
    position = Position("gabata_i")
    layout = layout_of(position.ruleset)
    places = [layout.seed(3, place) for place in range(MAX_SEEDS_DRAWN)]
    assert len(set(places)) == MAX_SEEDS_DRAWN
    for seeds in range(1, 20):
        drawn = Position("gabata_i", seeds=[0, 0, 0, seeds] + [1] * 8)
        discs = [
            shape[:2] for shape in drawn.scene().shapes if isinstance(shape, Disc) and shape.name == "seed"
        ]
        assert discs[: min(seeds, MAX_SEEDS_DRAWN)] == places[:seeds]


def test_owned_holes_differ_in_shape_and_word():
    position = Position("gabata_i", seeds=[4] * 12, owner=[0, 1] + [-1] * 10)
    shapes = {
        type(shape).__name__ for shape in position.scene().shapes if shape.name in ("owned-0", "owned-1")
    }
    assert shapes == {"Box", "Outline"}
    assert texts(position.to_svg()).count("weg") == 2


def test_the_description_tells_everything():
    position = Position("gabata_i", seeds=[4] * 12, owner=[0] + [-1] * 11, player=1)
    root = ElementTree.fromstring(position.to_svg())
    said = root.findtext(f"{SVG}desc") or ""
    assert "North to move. South's row in sowing order: 4 (weg of South), 4, 4" in said
    assert "Legal: N1, N2, N3, N4, N5, N6." in said
    assert root.findtext(f"{SVG}title") == "Gabata (Shoa), Gabata I, round 1: North to move"


def test_territory_of_a_later_round_is_drawn_and_told():
    territory = [0] * 6 + [0, 0, 1, 1, 1, 1]
    position = Position("gabata_i", seeds=[4] * 12, territory=territory, round=2)
    assert "S7" in texts(position.to_svg())
    assert "4 (South's territory)" in position.scene().description


def test_values_stand_at_their_holes_and_the_best_is_marked():
    svg = Position("leyla").to_svg(values={0: -2, 1: 3, 2: 0.25, 3: "?"}, arrows=[(0, 7)], last=(2, 9))
    assert {"-2", "+3", "0.25", "?"} <= set(texts(svg))
    assert svg.count('stroke="var(--m-best)"') == 1


def test_holes_and_arrows_may_come_one_by_one():
    listed = Position("leyla").to_svg(last=[2], arrows=[(0, 7)])
    one_by_one: dict[str, Any] = {"last": iter([2]), "arrows": iter([(0, 7)])}
    assert Position("leyla").to_svg(**one_by_one) == listed


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": {12: 1}},
        {"values": 3},
        {"values": {0: None}},
        {"arrows": [(0, 12)]},
        {"arrows": [(0, 1, 2)]},
        {"arrows": 3},
        {"last": [-1]},
        {"last": 3},
        {"caption": 3},
        {"caption": ["hm"]},
        {"theme": "blue"},
        {"width": 0},
    ],
)
def test_what_cannot_be_drawn_is_refused(wrong):
    with pytest.raises(InvalidArgument):
        Position("leyla").to_svg(**wrong)
    with pytest.raises(IllegalMove):
        Position("leyla").to_svg(action=8)


@pytest.mark.parametrize("width", [0, float("nan"), float("inf"), True, "300", [300]])
def test_an_invalid_width_is_refused(width):
    for draw in (Position("leyla").to_svg, Batch("leyla", 2).to_svg):
        with raises(InvalidArgument, "width"):
            draw(width=width)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("values", {0: 1}),
        ("values", 3),
        ("arrows", [(0, 7)]),
        ("arrows", iter([(0, 7)])),
        ("last", np.array([2, 3])),
        ("caption", "hm"),
        ("caption", 3),
    ],
)
def test_what_a_turn_does_not_show_is_refused(name, value):
    with raises(InvalidArgument, name):
        Position("leyla").to_svg(action=1, **{name: value})


@pytest.mark.parametrize("action", [None, 2])
def test_a_picture_carries_its_position(action):
    position = Position("gabata_i", stores=(0, 0))
    root = ElementTree.fromstring(position.to_svg(action=action, theme="light"))
    assert Position.from_text(root.attrib["data-position"]) == position


def test_the_same_picture_is_written_the_same():
    position = Position("leyla")
    assert position.to_svg(action=1) == position.to_svg(action=1)


def test_a_title_is_text_and_nothing_else():
    ruleset = Ruleset(name="mine", title="<script>alert(1)</script>")
    assert "<script>" not in Position(ruleset).to_svg()
    ElementTree.fromstring(Position(ruleset).to_svg())


# Turns


@pytest.mark.parametrize("name", ["layli_goobalay", "leyla", "gabata_i", "layli_goobalay_long"])
def test_a_moving_turn_ends_as_the_engine_does(name):
    """Without animation the picture is the position after the turn: seeds, numbers, player to move."""
    for position in random_positions(name, 12, seed=3):
        action = position.legal_actions[-1]
        svg = position.to_svg(action=action)
        after = position.copy()
        after.play(action)
        root = ElementTree.fromstring(svg)
        layout = layout_of(position.ruleset)
        lie = [
            tuple(
                map(float, re.findall(r"translate\(([-\d.]+)px,([-\d.]+)px\)", circle.get("style") or "")[0])
            )
            for circle in root.iter(f"{SVG}circle")
            if "translate" in (circle.get("style") or "")
        ]
        for hole, seeds in enumerate(after.seeds):
            x, y = layout.hole(hole)
            assert sum(abs(x - at[0]) < 40 and abs(y - at[1]) < 40 for at in lie) == seeds
        shown = texts_at_rest(root)
        numbers = sorted(map(str, [*after.seeds, *after.stores]))
        assert sorted(text for text in shown if text.isdigit()) == numbers
        assert set(texts(after.to_svg())) <= set(shown)
        assert "@keyframes" in svg
        assert "prefers-reduced-motion:no-preference" in svg
        assert not re.search(r"@keyframes(?![^@]*prefers)", svg.split("prefers-reduced-motion")[0])


def test_a_turn_of_twenty_laps_stays_under_100_kb():
    sizes = []
    for position in random_positions("layli_goobalay_long", 400, seed=1):
        for action in position.legal_actions:
            if position.timeline(action).laps >= 20:
                sizes.append(len(position.to_svg(action=action)))
    for position in random_positions("leyla_gobale_ii", 300, seed=1):
        for action in position.legal_actions:
            if position.timeline(action).laps >= 20:
                sizes.append(len(position.to_svg(action=action)))
    assert sizes
    assert max(sizes) < 100_000


def test_an_endless_relay_is_cut_short_and_put_back():
    svg = LONG_TURN.to_svg(action=5)
    assert len(svg) < 100_000
    assert any("Laps not shown: " in text for text in texts(svg))
    assert "every seed goes back" in svg


@pytest.mark.parametrize("max_laps", [1, 2, 5])
def test_steps_end_where_the_turn_ends(max_laps):
    for name in ("layli_goobalay", "gabata_i"):
        for position in random_positions(name, 20, seed=8):
            action = position.legal_actions[0]
            shown = steps(position.state, position.timeline(action), max_laps=max_laps)
            total = position.seeds.sum() + sum(position.stores)
            assert all(step.state.seeds.sum() + step.state.stores.sum() == total for step in shown)
            position = position.copy()
            position.play(action)
            assert (shown[-1].state.seeds == position.state.seeds).all()
            assert shown[-1].in_hand == 0


def test_a_batch_is_a_grid_of_its_games():
    batch = Batch("gabata_i", 40, seed=0)
    batch.play_random(5)
    svg = batch.to_svg(columns=3, games=[7, 0, 39, 2])
    root = ElementTree.fromstring(svg)
    boards = list(root.iter(f"{SVG}g"))
    assert [board.get("transform") for board in boards] == [
        f"translate({x:g},{y:g})"
        for x, y in ((0, 0), (792, 0), (1584, 0), (0, layout_of(batch.ruleset).height))
    ]
    for board, b in zip(boards, (7, 0, 39, 2), strict=True):
        position = Position.from_games("gabata_i", batch.games, b)
        numbers = sorted(t.text or "" for t in board.iter(f"{SVG}text") if (t.text or "").isdigit())
        assert numbers == sorted(map(str, [*position.seeds, *position.stores]))
        role = f"var(--m-{('south', 'north')[position.player]})"
        lit = [circle for circle in board.iter(f"{SVG}circle") if circle.get("stroke") == role]
        assert len(lit) == len(position.legal_actions)
    assert batch._repr_svg_().count("<g transform") == 16
    assert Batch("leyla", 2, seed=0)._repr_svg_().count("<g transform") == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"games": 5},
        {"games": np.array(5)},
        {"games": [40]},
        {"games": []},
        {"games": [0] * 257},
        {"columns": 0},
        {"theme": "x"},
        {"width": 0},
    ],
)
def test_what_a_batch_cannot_draw_is_refused(wrong):
    with pytest.raises(InvalidArgument):
        Batch("leyla", 40, seed=0).to_svg(**wrong)


def test_scenes_hold_no_numpy_numbers_in_text():
    scene = describe(Position("leyla").ruleset, Position("leyla").state)
    assert "np." not in repr([shape for shape in scene.shapes if hasattr(shape, "text")])


def test_turns_of_two_rulesets_move_apart_on_one_page():
    leyla, gabata = (Position(name).to_svg(action=0) for name in ("leyla", "gabata_i"))
    names = [set(re.findall(r"@keyframes (\w+)", svg)) for svg in (leyla, gabata)]
    assert names[0]
    assert not names[0] & names[1]


@pytest.mark.parametrize("text", ["a\x0bb", "\x00", "\ud800"])
def test_a_caption_that_xml_cannot_contain_is_escaped(text):
    ElementTree.fromstring(Position("leyla").to_svg(caption=text).encode())


def test_captions_of_a_turn_fit_on_a_narrow_board():
    narrow = Ruleset(name="n3", row_width=3)
    svg = Position.from_text("n3 6,1,0/1,2,0 12-2 N stall=2", narrow).to_svg(action=1)
    lines = re.findall(r'<text x="40" [^>]*>([^<]*)<', svg)
    assert lines
    assert all(40 + len(line) * LINE * LETTER <= layout_of(narrow).width for line in lines)
