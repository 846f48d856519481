"""The textures of the boards have at least the contrast of a plain board."""

import re

import pytest

from mancala_env import rulesets
from mancala_env.render.colours import PALETTES, rgb
from mancala_env.web.server import PAGE as FOLDER

STYLE = (FOLDER / "style.css").read_text(encoding="utf-8")
(SHARE,) = re.findall(r"--texture: color-mix\(in srgb, var\(--m-badge\) (\d+)%, var\(--m-board\)\)", STYLE)


def luminance(colour: tuple[float, ...]) -> float:
    """Return the relative luminance of an sRGB colour, 0 to 1 (WCAG 2.2)."""
    linear = [
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4
        for one in (part / 255 for part in colour)
    ]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("role", ["ink", "faint", "south", "north", "mark", "best", "hole_edge"])
def test_a_texture_keeps_the_contrast_of_the_board(palette: str, role: str) -> None:
    colours = PALETTES[palette]
    board, badge, drawn = (rgb(colours[name]) for name in ("board", "badge", role))
    share = int(SHARE) / 100
    texture = tuple(share * a + (1 - share) * b for a, b in zip(badge, board, strict=True))
    assert contrast(drawn, texture) >= contrast(drawn, board)


def test_each_game_of_the_sources_has_a_texture() -> None:
    place = (FOLDER / "place.js").read_text(encoding="utf-8")
    games = set(re.findall(r'return "(\w+)"', place)) | set(re.findall(r'\w+: "(\w+)"', place))
    assert {rulesets.lookup(name).landing for name in rulesets.names()} == {"uur", "pair", "weg"}
    assert games == set(re.findall(r"\.board\[data-game=(\w+)\]", STYLE))
