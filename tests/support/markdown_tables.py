"""Tables of pages, read from Markdown."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows_below(page: str | Path, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head.

    Args:
        page: Path of the page, from docs/ on.
        heading: The text of the heading, of any level.
    """
    _, found, below = (DOCS / page).read_text(encoding="utf-8").partition(f"# {heading}\n")
    table = re.search(r"^\|.*\n\|[-:| ]+\n((?:\|.*\n?)+)", below.split("\n## ")[0], re.MULTILINE)
    assert found, f"{page} lacks the heading {heading!r}"
    assert table, f"{page} lacks a table below {heading!r}"
    return [
        [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in table[1].splitlines()
    ]


def rows_by_name(page: str | Path, heading: str) -> dict[str, list[str]]:
    """Return the other cells of the rows below a heading by the code in the first cell."""
    rows = rows_below(page, heading)
    return {cell.split("`")[1]: others for cell, *others in rows if cell.startswith("`")}
