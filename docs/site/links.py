"""Check that every link inside the built site leads somewhere. Nothing is fetched."""

import sys
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from drawings import APP


class _Page(HTMLParser):
    """The links of a page, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the target and the anchor of a tag."""
        for name, value in attrs:
            if value and name in ("href", "src", "data"):
                self.links.append(value)
            elif value and name in ("id", "name"):
                self.places.add(value)


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
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
