"""Which files of the repository are pages of the site, and where their links lead there.

The Markdown files are the source and stay readable on GitHub, so a link in them is a path in the repository.
On the site a link to another page leads there, and a link to any other file leads to GitHub.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent.parent
REPOSITORY = "https://github.com/mancala-env/mancala-env"
SITE = "https://mancala-env.github.io/mancala-env"
"""Where .github/workflows/pages.yml publishes the site."""

# Files outside docs/ that are pages too, by where they are on the site.
_ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/results.md": "benchmarks.md",
    "mancala_env/data/README.md": "data.md",
}
# Titles of pages that are made of several parts.
_TITLES = {"benchmarks/results.md": "Benchmarks"}
# Folders of docs/ without pages of the repository.
_NO_PAGES = {"_build", "site"}
_WITH_LINKS = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)(#[^)\s]*)?(\))")
_FENCE = re.compile(r"^(```|~~~)")


def pages() -> dict[str, str]:
    """Return every file of the repository that is a page, and its path on the site."""
    docs = ROOT / "docs"
    written = (path.relative_to(docs).as_posix() for path in sorted(docs.rglob("*.md")))
    found = {f"docs/{path}": path for path in written if path.partition("/")[0] not in _NO_PAGES}
    notebooks = {
        f"notebooks/{path.name}": f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")
    }
    return found | notebooks | _ELSEWHERE


def pictures() -> dict[str, str]:
    """Return every picture of the Markdown files, and where it lies on the site."""
    docs = ROOT / "docs"
    paths = (path.relative_to(docs).as_posix() for path in (docs / "img").rglob("*") if path.is_file())
    return {f"docs/{path}": path for path in paths}


def site_text(source: str, text: str) -> str:
    """Return the text of a page with the links of the site.

    Args:
        source: The page's path in the repository.
        text: The page's text.
    """
    where = pages() | pictures()

    def lead(found: re.Match[str]) -> str:
        start, target, fragment, end = found.groups(default="")
        if target.startswith(f"{SITE}/"):  # as HTML, because Sphinx checks links of Markdown
            address = "../" * where[source].count("/") + target.removeprefix(f"{SITE}/") + fragment
            return f'<a class="play" href="{address}">{start[1:-2]}</a>'
        return f"{start}{_on_site(source, target, where)}{fragment}{end}"

    if source.endswith(".ipynb"):
        return _in_notebook(text, lambda markdown: _WITH_LINKS.sub(lead, markdown))
    text = _outside_fences(text, lambda line: _WITH_LINKS.sub(lead, line))
    if source in _TITLES:
        lower = _outside_fences(text, lambda line: "#" + line if line.startswith("#") else line)
        text = f"# {_TITLES[source]}\n\n{lower}"
    return text


def _on_site(source: str, target: str, where: dict[str, str]) -> str:
    if "://" in target or target.startswith("mailto:"):
        return target
    path = os.path.normpath(PurePosixPath(source).parent / target)
    if path in where:
        return os.path.relpath(where[path], PurePosixPath(where[source]).parent)
    if not (ROOT / path).exists():
        raise FileNotFoundError(f"{source} links to {target}, which does not exist")
    return f"{REPOSITORY}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}"


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    lines, is_code = [], False
    for line in text.split("\n"):
        is_code ^= bool(_FENCE.match(line))
        lines.append(line if is_code else change(line))
    return "\n".join(lines)


def _in_notebook(text: str, change: Callable[[str], str]) -> str:
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = change("".join(cell["source"]))
    return json.dumps(notebook, indent=1)
