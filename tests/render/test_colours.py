"""Colours of pictures have enough contrast, also for colour-blind users."""

from itertools import combinations

import numpy as np
import pytest

from mancala_env import Position, Ruleset
from mancala_env.render.colours import PALETTES, rgb
from mancala_env.render.scene import Box, Disc, Outline, Words, describe

# Machado, Oliveira and Fernandes 2009, "A physiologically-based model for simulation of color vision
# deficiency", severity 1.0; on linear RGB.
MACHADO = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "everybody": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
}
# sRGB (D65) to XYZ, IEC 61966-2-1.
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
PAIRS = [*combinations(("south", "north", "mark", "best"), 2)]
TEXT, SHAPE = 4.5, 3.0  # WCAG 2.2, 1.4.3 and 1.4.11, level AA
# CIE 1976: a difference of 2.3 is just noticeable; 10 is obvious.
APART = 10.0


def linear(colour):
    """Return linear RGB of a colour of a palette."""
    value = np.array(rgb(colour)) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Return the contrast of two colours, 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((float(XYZ[1] @ linear(colour)) for colour in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(colour, matrix):
    """Return a colour as a type of colour vision perceives it, in CIE L*a*b*."""
    seen = np.clip(np.array(matrix) @ linear(colour), 0, 1)
    relative = XYZ @ seen / (XYZ @ np.ones(3))
    f = np.where(relative > (6 / 29) ** 3, np.cbrt(relative), relative / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one, other, matrix):
    return float(np.linalg.norm(lab(one, matrix) - lab(other, matrix)))


def box_of(shape):
    """Return the bounding box of a shape: left, top, right, bottom."""
    match shape:
        case Disc():
            return shape.x - shape.r, shape.y - shape.r, shape.x + shape.r, shape.y + shape.r
        case Box():
            return shape.x, shape.y, shape.x + shape.width, shape.y + shape.height
        case Outline():
            xs, ys = zip(*shape.points, strict=True)
            return min(xs), min(ys), max(xs), max(ys)
    raise AssertionError(shape)


def ground_of(shapes, x, y):
    """Return the role of the shape under a point."""
    filled = [shape for shape in shapes if not isinstance(shape, Words) and shape.fill]
    return next(
        shape.fill
        for shape in reversed(filled)
        if box_of(shape)[0] <= x <= box_of(shape)[2] and box_of(shape)[1] <= y <= box_of(shape)[3]
    )


def scenes():
    """Yield scenes that contain every kind of shape."""
    owned = Position(
        "gabata_i", seeds=[4, 13, 2, 0, 7, 4, 3, 5, 9, 1, 0, 0], owner=[0, 1] + [-1] * 8 + [1, 0]
    )
    yield owned.scene(values={2: -3, 4: 5}, arrows=[(2, 9)], last=(4, 8))
    yield Position("layli_goobalay", seeds=[4] * 10 + [0, 0], stores=(5, 3), player=1).scene(last=(3,))
    yield Position("gabata_i", seeds=[4] * 12, territory=[0] * 6 + [0, 0, 1, 1, 1, 1], round=2).scene()
    start = Position(Ruleset(row_width=4))
    yield describe(start.ruleset, start.state, hand=(1, 3))
    yield Position("leyla", seeds=[0] * 11 + [1], stores=(20, 27), player=0).scene()


def lying_on():
    """Return (role, role under it, whether it is text) of everything in the pictures."""
    found = set()
    for scene in scenes():
        shapes = [shape for shape in scene.shapes if shape.name != "arrow"]  # an arrow is on its own rim
        for i, shape in enumerate(shapes):
            below = shapes[:i]
            if isinstance(shape, Words):
                found.add((shape.fill, ground_of(below, shape.x, shape.y - shape.size / 3), True))
            elif below:
                left, top, right, bottom = box_of(shape)
                # The role just outside: beyond its left edge and its upper edge.
                for x, y in ((left - 2, (top + bottom) / 2), ((left + right) / 2, top - 2)):
                    found.add((shape.stroke or shape.fill, ground_of(below, x, y), False))
    return found


LYING = sorted(lying_on())
# Surfaces, which are recognized by their edges and contents.
SURFACES = ("board", "paper", "badge")


def test_the_pictures_show_every_role():
    shown = {role for role, _, _ in LYING} | {ground for _, ground, _ in LYING}
    assert shown >= set(PALETTES["light"]) - {"seed", "hole", "seed_edge"}


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize(("role", "ground", "is_text"), LYING)
def test_what_lies_on_something_can_be_seen(theme, role, ground, is_text):
    if role in SURFACES or role == "seed_edge":
        pytest.skip("a surface, or the line between two seeds")
    palette = PALETTES[theme]
    assert contrast(palette[role], palette[ground]) >= (TEXT if is_text else SHAPE)


@pytest.mark.parametrize("theme", PALETTES)
def test_seeds_can_be_seen_and_counted(theme):
    palette = PALETTES[theme]
    assert contrast(palette["seed"], palette["hole"]) >= SHAPE
    assert contrast(palette["seed"], palette["seed_edge"]) >= SHAPE  # one seed on another


@pytest.mark.parametrize("theme", PALETTES)
def test_an_arrow_lies_on_a_rim_of_its_own(theme):
    arrow = [shape for shape in next(scenes()).shapes if isinstance(shape, Outline) and shape.name == "arrow"]
    rim, drawn = arrow[:2], arrow[2:]
    assert [shape.points for shape in rim] == [shape.points for shape in drawn]
    assert all(one.line > other.line for one, other in zip(rim, drawn, strict=True))
    assert contrast(PALETTES[theme][drawn[0].stroke], PALETTES[theme][rim[0].stroke]) >= SHAPE


@pytest.mark.parametrize("eyes", MACHADO)
@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_the_colour_blind_can_tell_colours_apart(theme, one, other, eyes):
    palette = PALETTES[theme]
    assert distance(palette[one], palette[other], MACHADO[eyes]) >= APART


def test_shape_tells_what_colour_tells():
    """Without colours, owner, territory, mover, mark and best value differ by shape."""
    first = next(scenes())
    owned = {shape.name: type(shape) for shape in first.shapes if shape.name.startswith("owned-")}
    assert owned["owned-0"] is Box
    assert owned["owned-1"] is Outline
    lines = {
        "last": {(s.dashed, s.line) for s in first.shapes if isinstance(s, Disc) and s.name == "last"},
        "legal": {(s.dashed, s.line) for s in first.shapes if isinstance(s, Disc) and s.stroke == "south"},
        "other": {
            (s.dashed, s.line) for s in first.shapes if isinstance(s, Disc) and s.stroke == "hole_edge"
        },
    }
    assert len(set.union(*lines.values())) == 3
    values = {(s.stroke, s.line) for s in first.shapes if isinstance(s, Box) and s.name == "value"}
    assert len({line for _, line in values}) == 2
    south = [s for s in first.shapes if isinstance(s, Box) and s.fill == "south"]
    north = [s for s in first.shapes if isinstance(s, Box) and s.fill == "north"]
    assert len(north) == 2 * len(south) == 12  # one bar per hole, or two
