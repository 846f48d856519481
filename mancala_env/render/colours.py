"""The colours of pictures by role, for a light and a dark background.

Shapes also show owner, territory and mover, so that pictures can be read without colour. Tests compute the
contrasts, and the colours that colour-blind readers see.
"""

from collections.abc import Mapping
from types import MappingProxyType

Palette = Mapping[str, str]

LIGHT: Palette = MappingProxyType(
    {
        "paper": "#fbf8f3",
        "board": "#ecdfc8",
        "hole": "#d9c4a0",
        "hole_edge": "#83663d",
        "seed": "#41291a",
        "seed_edge": "#f6ead6",
        "ink": "#231a12",
        "faint": "#66543d",
        "south": "#0a4a94",
        "north": "#902e00",
        "mark": "#8a1fe0",
        "best": "#17653a",
        "badge": "#fffdf9",
    }
)
"""Colours on a light background, by role, as #rrggbb."""

DARK: Palette = MappingProxyType(
    {
        "paper": "#16120e",
        "board": "#33291f",
        "hole": "#211912",
        "hole_edge": "#a68b64",
        "seed": "#ecdcbf",
        "seed_edge": "#2b2118",
        "ink": "#f6eee2",
        "faint": "#c2b197",
        "south": "#8cc0ff",
        "north": "#ffa066",
        "mark": "#b070ff",
        "best": "#84d9a5",
        "badge": "#100d0a",
    }
)
"""Colours on a dark background."""

PALETTES = MappingProxyType({"light": LIGHT, "dark": DARK})


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the red, green and blue of a colour `#rrggbb`, 0 to 255 each."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
