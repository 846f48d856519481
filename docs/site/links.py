"""Check that every link inside the built site leads somewhere. Nothing is fetched."""

import re
import sys
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from drawings import APP

# An attribute in a tag. The page's own text has no such quotes: Sphinx writes &quot;.
_ATTRIBUTE = re.compile(
    r"""<!--.*?-->|\s(href|src|data|id|name)=(?:"([^"]+)"|'([^']+)'|([^\s"'>]+))(?=[^<>]*>)""", re.DOTALL
)


class _Page(NamedTuple):
    """The links of a page, and its anchors."""

    links: list[str]
    places: set[str]


def _read(path: Path) -> _Page:
    """Read a page; a parser of HTML takes ten times as long."""
    page = _Page([], set())
    for name, *values in _ATTRIBUTE.findall(path.read_text(encoding="utf-8")):
        if name in ("id", "name"):
            page.places.add(unescape("".join(values)))
        elif name:
            page.links.append(unescape("".join(values)))
    return page


def _file_at(folder: Path, link: str) -> Path | None:
    """Return the file that a relative link leads to from a page in a folder; None without one."""
    target = (folder / link).resolve()
    if target.is_dir():
        target /= "index.html"
    return target if target.is_file() else None


def broken_links(site: Path) -> list[str]:
    """Return every link inside a built site that leads nowhere, as `page: link`, sorted."""
    site = site.resolve()
    pages = {path: _read(path) for path in site.rglob("*.html")}
    file_at = lru_cache(maxsize=None)(_file_at)
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = file_at(path.parent, unquote(parts.path)) if parts.path else path
            place = unquote(parts.fragment)
            if target is None or not target.is_relative_to(site):
                broken.append(f"{path.relative_to(site)}: {link}")
            elif target.parent.name == APP:
                continue  # what stands behind the # there is a position
            elif place and target in pages and place not in pages[target].places:
                broken.append(f"{path.relative_to(site)}: {link} (no such place on the page)")
    return sorted(set(broken))


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]))
    print("\n".join(found) or "every link leads somewhere")
    sys.exit(bool(found))
