"""The colours of pictures by role, for a light and a dark background.

Shapes also show owner, territory and mover, so that pictures can be read without colour. Tests compute the
contrasts, and the colours that colour-blind readers see.
"""

from collections.abc import Mapping

Palette = Mapping[str, str]

# By role: on a light and on a dark background.
_COLOURS = {
    "paper": ("#fbf8f3", "#16120e"),
    "board": ("#ecdfc8", "#33291f"),
    "hole": ("#d9c4a0", "#211912"),
    "hole_edge": ("#83663d", "#a68b64"),
    "seed": ("#41291a", "#ecdcbf"),
    "seed_edge": ("#f6ead6", "#2b2118"),
    "ink": ("#231a12", "#f6eee2"),
    "faint": ("#66543d", "#c2b197"),
    "south": ("#0a4a94", "#8cc0ff"),
    "north": ("#902e00", "#ffa066"),
    "mark": ("#8a1fe0", "#b070ff"),
    "best": ("#17653a", "#84d9a5"),
    "badge": ("#fffdf9", "#100d0a"),
}
PALETTES: Mapping[str, Palette] = {
    "light": {role: light for role, (light, _) in _COLOURS.items()},
    "dark": {role: dark for role, (_, dark) in _COLOURS.items()},
}
"""Colours on a light and on a dark background, by role, as #rrggbb."""


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the red, green and blue of a colour `#rrggbb`, 0 to 255 each."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
