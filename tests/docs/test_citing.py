"""The page on citing and CITATION.cff agree."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).resolve().parents[2]


def entries() -> list[dict[str, str]]:
    """Return the fields of each BibTeX entry of the page, without braces."""
    text = (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")
    found = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    fields = [dict(re.findall(r"^  (\w+) *= \{(.*)\},?$", body, re.MULTILINE)) for _, body in found]
    return [{name: value.strip("{}") for name, value in one.items()} for one in fields]


def test_the_page_cites_what_the_file_cites() -> None:
    file = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    software, *sources = entries()
    assert software["title"].startswith(f"{file['title']}:")
    assert software["author"] == file["authors"][0]["name"]
    assert software["url"] == file["repository-code"]
    assert len(sources) == len(file["references"])
    for written, listed in zip(sources, file["references"], strict=True):
        assert written["title"] == listed["title"]
        assert written["year"] == str(listed["year"])
        assert written.get("journal") == listed.get("journal")
        assert written.get("volume") == (str(listed["volume"]) if "volume" in listed else None)
        if "start" in listed:
            assert written["pages"] == f"{listed['start']}--{listed['end']}"
