"""Make the pictures and printed boards of a page open in Study."""

import doctest
import re
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from drawings import app_link, study_line
from PIL import Image
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from mancala_env import Position

_CARRIED = re.compile(r'<svg\b[^>]*?\bdata-position="([^"]*)"')
_FENCE = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_BOARD = re.compile(r"^North .* store \d+$", re.MULTILINE)


def position_in(picture: Path) -> Position | None:
    """Return the position in a picture of the package; None if it does not have one."""
    if picture.suffix == ".svg":
        found = _CARRIED.search(picture.read_text(encoding="utf-8"))
        text = unescape(found[1]) if found else None
    elif picture.suffix == ".png":
        with Image.open(picture) as image:
            text = image.info.get("Position")
    else:
        text = None
    return Position.from_text(text) if text else None


class StudyLinks(SphinxPostTransform):
    """Link every picture that has a position to Study, on pages and in notebooks."""

    default_priority = 500  # when notebooks' outputs have been chosen, which is at 4

    def run(self, **_kwargs: Any) -> None:
        """Wrap every such picture of a page."""
        depth = self.env.docname.count("/")
        for image in list(self.document.findall(nodes.image)):
            position = position_in(Path(self.env.srcdir, image["uri"]))
            if position is None or isinstance(image.parent, nodes.reference):
                continue
            link = nodes.reference("", "", refuri=unescape(app_link(position, "study", "../" * depth)))
            link["classes"].append("study")
            link["reftitle"] = "Study this position"
            image.replace_self(link)
            link += image


def with_links_under_boards(text: str, to_root: str) -> str:
    """Return a Markdown page with a link to Study under every block that prints a board.

    The page's examples are run to get the exact position; the drawing does not show all of it.
    """
    if not any(_BOARD.search(block) for block in _FENCE.findall(text)):
        return text
    names: dict[str, Any] = {}

    def linked(found: re.Match[str]) -> str:
        positions = _printed(found[1], names)
        return found[0] + (f"\n{study_line(positions, to_root)}" if positions else "")

    return _FENCE.sub(linked, text)


def _printed(block: str, names: dict[str, Any]) -> list[Position]:
    """Run the examples of a block; return the positions that it prints."""
    positions = []

    def print_and_keep(*shown: object, **how: Any) -> None:
        print(*shown, **how)
        positions.extend(one.copy() for one in shown if isinstance(one, Position))

    names["print"] = print_and_keep
    test = doctest.DocTestParser().get_doctest(block, {}, "block", None, 0)
    test.globs = names
    if doctest.DocTestRunner(verbose=False).run(test, clear_globs=False).failed:
        raise ValueError("an example of the page does not print what it says")
    return positions


def setup(app: Sphinx) -> dict[str, Any]:
    """Let Sphinx make the links."""
    app.add_post_transform(StudyLinks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
