"""Draw the icons of the installed page from `icon.svg`: `python -m tools.make_icons`.

| file | content |
|---|---|
| `icon-192.png`, `icon-512.png` | the icon |
| `icon-maskable-512.png` | the icon without round corners, because systems cut their own shape out of it |
"""

import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

import mancala_env.web
from mancala_env._util.command_line import Parser, in_one_line

FOLDER = Path(mancala_env.web.__file__).parent
FILES = {"icon-192.png": (192, False), "icon-512.png": (512, False), "icon-maskable-512.png": (512, True)}
_FINE = 4  # drawn larger, then reduced, for smooth edges


def drawn(size: int, *, is_maskable: bool = False) -> Image.Image:
    """Draw `icon.svg`, which consists of a rectangle and circles, `size` pixels wide."""
    root = ET.parse(FOLDER / "icon.svg").getroot()
    scale = size * _FINE / float(root.attrib["viewBox"].split()[2])
    image = Image.new("RGBA", (size * _FINE, size * _FINE))
    draw = ImageDraw.Draw(image)

    def put(element: ET.Element, inherited: dict[str, str]) -> None:
        style = inherited | element.attrib
        number = {name: scale * float(style[name]) for name in ("cx", "cy", "r", "rx") if name in style}
        if element.tag.endswith("rect"):
            corner = 0 if is_maskable else number["rx"]
            draw.rounded_rectangle((0, 0, *image.size), corner, fill=style["fill"])
        elif element.tag.endswith("circle"):
            centre, line = (number["cx"], number["cy"]), scale * float(style["stroke-width"]) / 2
            draw.circle(centre, number["r"] + line, fill=style["stroke"])
            draw.circle(centre, number["r"] - line, fill=style["fill"])
        for child in element:
            put(child, style)

    put(root, {})
    return image.resize((size, size), Image.Resampling.LANCZOS)


@in_one_line("make_icons")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the icons and return the exit status."""
    Parser(prog="python -m tools.make_icons", description=__doc__).parse_args(arguments)
    for name, (size, is_maskable) in FILES.items():
        file = FOLDER / name
        image = drawn(size, is_maskable=is_maskable)
        image = image.convert("RGB") if is_maskable else image  # a mask must find no transparent pixel
        image.quantize(32, Image.Quantize.FASTOCTREE).save(file, optimize=True)
        print(f"{file}: {file.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
