"""A scene as pixels, drawn with pillow and its font; no display is needed.

A shape is drawn at four times its size and reduced to its coverage of each pixel. The coverage is cached, so
each shape is drawn only once for all frames.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from mancala_env._util.command_line import needing
from mancala_env.errors import printable
from mancala_env.render.colours import PALETTES, rgb
from mancala_env.render.scene import Box, Disc, Outline, Scene, Shape, Words

with needing("a picture in pixels", "render"):
    from PIL import Image, ImageDraw, ImageFont

PixelTheme = Literal["light", "dark"]
WIDTH = 640
"""Default width in pixels. A board with six holes per row is readable from 400 on."""
_COLOURS = {
    theme: {role: rgb(colour) for role, colour in palette.items()} for theme, palette in PALETTES.items()
}
_FINER = 4  # each pixel is drawn as 4 x 4
_BOLD = 0.03  # stroke width of bold text relative to its size; pillow's font is regular


class Frame(NamedTuple):
    """A picture of an animation, uint8 `[height, width, 3]`, and its duration in seconds."""

    pixels: np.ndarray
    seconds: float


def pixels_of(scene: Scene, *, width: int = WIDTH, theme: PixelTheme = "light") -> np.ndarray:
    """Draw a scene as pixels, uint8 `[height, width, 3]`, red, green and blue; the proportions are kept."""
    return np.asarray(image_of(scene, width=width, theme=theme)).copy()


def image_of(scene: Scene, *, width: int = WIDTH, theme: PixelTheme = "light") -> Image.Image:
    """Draw a scene as a pillow image; see :func:`pixels_of` for arguments."""
    scale = width / scene.width
    num_ground = next((i for i, shape in enumerate(scene.shapes) if shape.name), len(scene.shapes))
    size = (width, max(1, round(scene.height * scale)))
    image = _ground(scene.shapes[:num_ground], scale, size, theme).copy()
    _stamp(image, scene.shapes[num_ground:], scale, theme)
    return image


def grid_of(scenes: Sequence[Scene], columns: int, *, width: int) -> np.ndarray:
    """Draw scenes of one size as one picture `width` pixels wide, left to right and top to bottom."""
    each = max(1, width // columns)
    drawn = [image_of(scene, width=each) for scene in scenes]
    rows = -(-len(drawn) // columns)
    whole = Image.new("RGB", (each * columns, drawn[0].height * rows), _COLOURS["light"]["paper"])
    for i, one in enumerate(drawn):
        whole.paste(one, (each * (i % columns), drawn[0].height * (i // columns)))
    return np.asarray(whole).copy()


@lru_cache(maxsize=64)
def _ground(shapes: tuple[Shape, ...], scale: float, size: tuple[int, int], theme: PixelTheme) -> Image.Image:
    """Draw the shapes that do not change between frames."""
    image = Image.new("RGB", size, _COLOURS[theme]["paper"])
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
            points = (shape.x - shape.r, shape.y - shape.r), (shape.x + shape.r, shape.y + shape.r)
        case Box():
            points = (shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height)
        case Outline():
            points = shape.points
    xs, ys = zip(*points, strict=True)
    left, top = (int((min(values) - shape.line) * scale) - 1 for values in (xs, ys))
    right, bottom = (int((max(values) + shape.line) * scale) + 2 for values in (xs, ys))
    fine = scale * _FINER
    moved = [(x * fine - left * _FINER, y * fine - top * _FINER) for x, y in points]
    found = []
    for role, is_line in ((shape.fill, False), (shape.stroke, True)):
        if role:
            mask = Image.new("L", ((right - left) * _FINER, (bottom - top) * _FINER))
            _draw(ImageDraw.Draw(mask), shape, moved, fine, is_line)
            found.append(_Stamp(role, left, top, mask.reduce(_FINER)))
    return tuple(found)


def _draw(
    draw: ImageDraw.ImageDraw,
    shape: Disc | Box | Outline,
    points: list[tuple[float, float]],
    fine: float,
    is_line: bool,
) -> None:
    """Draw the filling of a shape, or its line, in white.

    `points` are the corners of the shape, or of the square around a disc, in pixels of the mask.
    """
    thick = max(_FINER, round(shape.line * fine))
    paint: dict[str, Any] = {"outline": 255, "width": thick} if is_line else {"fill": 255}
    half = thick / 2 if is_line else 0
    (x0, y0), (x1, y1), *_ = points
    around = (x0 - half, y0 - half, x1 + half, y1 + half)
    match shape:
        case Disc() if shape.dashed and is_line:
            for degrees in range(0, 360, 15):
                draw.arc(around, degrees, degrees + 8.5, fill=255, width=thick)
        case Disc():
            draw.ellipse(around, **paint)
        case Box():
            draw.rounded_rectangle(
                (x0 - half, y0 - half, x1 + half - 1, y1 + half - 1), shape.r * fine + half, **paint
            )
        case Outline() if is_line:
            line = [*points, *points[:2]] if shape.closed else points
            draw.line(line, fill=255, width=thick, joint="curve")
        case Outline():
            draw.polygon(points, fill=255)


def _words(words: Words, scale: float) -> tuple[_Stamp, ...]:
    """Draw a text; bold text has a thicker stroke."""
    font = _font(round(words.size * scale * _FINER))
    thick = round(words.size * scale * _FINER * _BOLD) if words.bold else 0
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[words.anchor]
    text = printable(words.text)  # as in SVG; a line break would cut the text
    box = font.getbbox(text, anchor=anchor, stroke_width=thick)
    x, y = words.x * scale, words.y * scale
    left, top = int(x + box[0] / _FINER) - 2, int(y + box[1] / _FINER) - 2
    size = (int((box[2] - box[0]) / _FINER) + 5, int((box[3] - box[1]) / _FINER) + 5)
    mask = Image.new("L", (size[0] * _FINER, size[1] * _FINER))
    at = ((x - left) * _FINER, (y - top) * _FINER)
    ImageDraw.Draw(mask).text(at, text, fill=255, font=font, anchor=anchor, stroke_width=thick)
    return (_Stamp(words.fill, left, top, mask.reduce(_FINER)),)


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(max(1, size))
    assert isinstance(font, ImageFont.FreeTypeFont), "pillow without FreeType lacks a scalable font"
    return font
