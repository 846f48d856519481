"""A scene as pixels, drawn with pillow and its font; no display is needed.

A shape is drawn at four times its size and reduced to its coverage of each pixel. The coverage is cached, so
that a frame is composed of shapes that have been drawn before.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from mancala_env._util.command_line import needing
from mancala_env.engine.state import State
from mancala_env.engine.timeline import Timeline
from mancala_env.render.colours import PALETTES, rgb
from mancala_env.render.motion import MAX_LAPS_SHOWN, SEED_SECONDS, caption, steps
from mancala_env.render.scene import Box, Disc, Outline, Scene, Shape, Words, describe
from mancala_env.rulesets import Ruleset

with needing("a picture in pixels", "render"):
    from PIL import Image, ImageDraw, ImageFont

PixelTheme = Literal["light", "dark"]
PIXEL_THEMES = ("light", "dark")
WIDTH = 640
"""Default width in pixels. A board with six holes per row is readable from 400 on."""
_COLOURS = {
    theme: {role: rgb(colour) for role, colour in palette.items()} for theme, palette in PALETTES.items()
}
_FINER = 4  # each pixel is drawn as 4 x 4
_BOLD = 0.03  # stroke width of bold text relative to its size; pillow's font is regular


class Frame(NamedTuple):
    """A picture of an animation.

    Attributes:
        pixels: uint8 `[height, width, 3]`.
        seconds: Duration in seconds.
    """

    pixels: np.ndarray
    seconds: float


def pixels_of(scene: Scene, *, width: int = WIDTH, theme: PixelTheme = "light") -> np.ndarray:
    """Draw a scene as pixels.

    Args:
        scene: The picture.
        width: Width in pixels; the height keeps the proportions.
        theme: "light" or "dark".

    Returns:
        uint8 `[height, width, 3]`, red, green and blue.
    """
    return np.asarray(image_of(scene, width=width, theme=theme)).copy()


def image_of(scene: Scene, *, width: int = WIDTH, theme: PixelTheme = "light") -> Image.Image:
    """Draw a scene as a pillow image; see :func:`pixels_of` for arguments."""
    scale = width / scene.width
    num_ground = next((i for i, shape in enumerate(scene.shapes) if shape.name), len(scene.shapes))
    size = (width, max(1, round(scene.height * scale)))
    image = _ground(scene.shapes[:num_ground], scale, size, theme).copy()
    _stamp(image, scene.shapes[num_ground:], scale, theme)
    return image


def grid_of(scenes: Sequence[Scene], columns: int, *, width: int, theme: PixelTheme = "light") -> np.ndarray:
    """Draw several scenes of one size as one picture, left to right and top to bottom.

    Args:
        scenes: The pictures.
        columns: Number of pictures side by side.
        width: Total width in pixels.
        theme: "light" or "dark".
    """
    each = max(1, width // columns)
    drawn = [image_of(scene, width=each, theme=theme) for scene in scenes]
    rows = -(-len(drawn) // columns)
    whole = Image.new("RGB", (each * columns, drawn[0].height * rows), rgb(PALETTES[theme]["paper"]))
    for i, one in enumerate(drawn):
        whole.paste(one, (each * (i % columns), drawn[0].height * (i // columns)))
    return np.asarray(whole).copy()


def turn_frames(
    ruleset: Ruleset,
    state: State,
    timeline: Timeline,
    after: Scene,
    *,
    width: int = WIDTH,
    theme: PixelTheme = "light",
    seed_seconds: float = SEED_SECONDS,
    max_laps: int = MAX_LAPS_SHOWN,
    rest_seconds: float = 2.5,
) -> Iterable[Frame]:
    """Draw a turn with a frame for each event, a ring around its hole, and a badge with the seeds in hand.

    Args:
        ruleset: The ruleset.
        state: Position before the turn, B = 1.
        timeline: The turn.
        after: Scene of the position after the turn, for the last frame.
        width: Width in pixels.
        theme: "light" or "dark".
        seed_seconds: Time that a seed takes to fall.
        max_laps: Most laps of a relay that are shown.
        rest_seconds: Duration of the last frame.
    """
    for step in steps(state, timeline, seed_seconds, max_laps)[:-1]:
        event = step.event
        hand = (step.source, step.in_hand) if step.source >= 0 else None
        scene = describe(
            ruleset,
            step.state,
            last=[event.hole] if event.hole >= 0 and event.hole != step.source else (),
            hand=hand,
            caption=caption(ruleset, timeline, step),
        )
        yield Frame(pixels_of(scene, width=width, theme=theme), step.seconds)
    yield Frame(pixels_of(after, width=width, theme=theme), rest_seconds)


@lru_cache(maxsize=64)
def _ground(shapes: tuple[Shape, ...], scale: float, size: tuple[int, int], theme: PixelTheme) -> Image.Image:
    """Draw the shapes that do not change between frames."""
    image = Image.new("RGB", size, rgb(PALETTES[theme]["paper"]))
    _stamp(image, shapes, scale, theme)
    return image


def _stamp(image: Image.Image, shapes: Iterable[Shape], scale: float, theme: PixelTheme) -> None:
    colours = _COLOURS[theme]
    for shape in shapes:
        for stamp in _stamps(shape, scale):
            image.paste(colours[stamp.role], (stamp.x, stamp.y), stamp.coverage)


class _Stamp(NamedTuple):
    """A drawn shape: the role of its colour, its upper left corner, and its coverage of each pixel."""

    role: str
    x: int
    y: int
    coverage: Image.Image


@lru_cache(maxsize=20_000)
def _stamps(shape: Shape, scale: float) -> tuple[_Stamp, ...]:
    """Draw a shape: its filling, then its line."""
    match shape:
        case Words():
            return _words(shape, scale)
        case Disc():
            reach = shape.r + shape.line / 2
            bounds = (shape.x - reach, shape.y - reach, shape.x + reach, shape.y + reach)
        case Box():
            half = shape.line / 2
            bounds = (
                shape.x - half,
                shape.y - half,
                shape.x + shape.width + half,
                shape.y + shape.height + half,
            )
        case Outline():
            xs, ys = zip(*shape.points, strict=True)
            half = shape.line
            bounds = (min(xs) - half, min(ys) - half, max(xs) + half, max(ys) + half)
    fine = scale * _FINER
    left, top = int(bounds[0] * scale) - 1, int(bounds[1] * scale) - 1
    size = (int(bounds[2] * scale) + 2 - left, int(bounds[3] * scale) + 2 - top)
    found = []
    for role, is_line in ((shape.fill, False), (shape.stroke, True)):
        if role:
            mask = Image.new("L", (size[0] * _FINER, size[1] * _FINER))
            _draw(ImageDraw.Draw(mask), shape, fine, left * _FINER, top * _FINER, is_line)
            found.append(_Stamp(role, left, top, mask.reduce(_FINER)))
    return tuple(found)


def _draw(
    draw: ImageDraw.ImageDraw, shape: Disc | Box | Outline, fine: float, left: int, top: int, is_line: bool
) -> None:
    """Draw the filling of a shape, or its line, in white."""
    thick = max(_FINER, round(getattr(shape, "line", 0.0) * fine))
    match shape:
        case Disc():
            x, y, r = shape.x * fine - left, shape.y * fine - top, shape.r * fine
            outer = (x - r - thick / 2, y - r - thick / 2, x + r + thick / 2, y + r + thick / 2)
            if not is_line:
                draw.ellipse((x - r, y - r, x + r, y + r), fill=255)
            elif shape.dashed:
                for degrees in range(0, 360, 15):
                    draw.arc(outer, degrees, degrees + 8.5, fill=255, width=thick)
            else:
                draw.ellipse(outer, outline=255, width=thick)
        case Box():
            corners = (
                shape.x * fine - left,
                shape.y * fine - top,
                (shape.x + shape.width) * fine - left - 1,
                (shape.y + shape.height) * fine - top - 1,
            )
            if is_line:
                half = thick / 2
                corners = (corners[0] - half, corners[1] - half, corners[2] + half, corners[3] + half)
                draw.rounded_rectangle(corners, shape.r * fine + half, outline=255, width=thick)
            else:
                draw.rounded_rectangle(corners, shape.r * fine, fill=255)
        case Outline():
            points = [(x * fine - left, y * fine - top) for x, y in shape.points]
            if not is_line:
                draw.polygon(points, fill=255)
            else:
                if shape.closed:
                    points = [*points, *points[:2]]
                draw.line(points, fill=255, width=thick, joint="curve")


def _words(words: Words, scale: float) -> tuple[_Stamp, ...]:
    """Draw a text; bold text has a thicker stroke."""
    font = _font(round(words.size * scale * _FINER))
    thick = round(words.size * scale * _FINER * _BOLD) if words.bold else 0
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[words.anchor]
    box = font.getbbox(words.text, anchor=anchor, stroke_width=thick)
    x, y = words.x * scale, words.y * scale
    left, top = int(x + box[0] / _FINER) - 2, int(y + box[1] / _FINER) - 2
    size = (int((box[2] - box[0]) / _FINER) + 5, int((box[3] - box[1]) / _FINER) + 5)
    mask = Image.new("L", (size[0] * _FINER, size[1] * _FINER))
    at = ((x - left) * _FINER, (y - top) * _FINER)
    ImageDraw.Draw(mask).text(at, words.text, fill=255, font=font, anchor=anchor, stroke_width=thick)
    return (_Stamp(words.fill, left, top, mask.reduce(_FINER)),)


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(max(1, size))
    assert isinstance(font, ImageFont.FreeTypeFont), "pillow without FreeType has no font of its own"
    return font
