"""Pages and sentences are short, and papers have one form."""

import re
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).resolve().parents[2]
# Most words of a page. Table bars and HTML comments are not words.
MOST = {
    "docs/install.md": 480,
    "docs/guides/environments.md": 1440,
    "docs/guides/opponents.md": 1080,
    "docs/guides/train.md": 1440,
    "docs/guides/evaluate.md": 1440,
    "docs/guides/benchmark.md": 1080,
    "docs/guides/cluster.md": 1200,
    "docs/explanation/solver.md": 1080,
    "docs/reference/agents.md": 1200,
    "docs/reference/rules.md": 5400,
    "docs/results/benchmark.md": 600,
    "docs/results/reliability.md": 300,
} | {page: 800 for page in pages.pages() if page.startswith("docs/research/")}
WRITTEN = [page for page in pages.pages() if page.endswith(".md") and not page.startswith("docs/api/")]

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"^ *(```|~~~).*?^ *\1", re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(r"^(#+ |\s*\||---\n).*$|!\[[^\]]*\]\([^)]*\)|<[^>]+>", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ")
_END = re.compile(r"(?<=[.!?])[)*\"]* +(?=[A-Z0-9(\"*`'])")


def words(text: str) -> list[str]:
    return [word for word in _COMMENT.sub("", text).split() if re.search(r"\w", word)]


def sentences(text: str) -> list[str]:
    """Return the sentences of a page, without headings, tables and code."""
    prose = _LINK.sub(r"\1", _NO_PROSE.sub("\n", _CODE.sub("\n\n", _COMMENT.sub("", text))))
    found = [one for item in _ITEM.split(prose) for one in _END.split(" ".join(item.split()))]
    return [sentence for sentence in found if len(words(sentence)) > 1]


def test_words_and_sentences_are_counted() -> None:
    text = "# A title\n\nOne [two](page.md) three. Four `five.six`!\n\n- Seven, eight\n- Nine ten\n"
    text += "<!-- no -->\n\n| a | table |\n|---|---|\n\n```text\nfour words of code\n```\n"
    assert [len(words(sentence)) for sentence in sentences(text)] == [3, 2, 2, 2]
    assert len(words("| a | table |\n|---|---:|\n")) == 2


def test_the_readme_has_at_most_800_words() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 800


@pytest.mark.parametrize("page", MOST)
def test_a_page_is_not_longer_than_planned(page: str) -> None:
    assert len(words((ROOT / page).read_text(encoding="utf-8"))) <= MOST[page]


@pytest.mark.parametrize("page", WRITTEN)
def test_sentences_have_at_most_16_words_on_average(page: str) -> None:
    lengths = [len(words(sentence)) for sentence in sentences((ROOT / page).read_text(encoding="utf-8"))]
    assert sum(lengths) <= 16 * len(lengths)


@pytest.mark.parametrize("page", [page for page in MOST if "/research/" in page and "/index" not in page])
def test_a_paper_has_question_method_and_answer(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)", text, re.MULTILINE)
    order = [heading for heading in headings if heading in ("Question", "Method", "Answer")]
    assert order == ["Question", "Method", "Answer"]
    assert headings[-1] == "Answer"
    assert "\n|" in text, "a table"
