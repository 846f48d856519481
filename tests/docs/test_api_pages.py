"""The API reference is up to date and complete, and its links lead somewhere."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from error_checks import raises

from tools.api_pages import docstrings, sources
from tools.api_pages.pages import COMMAND, FOLDER, all_pages, anchors

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "mancala_env"


@cache
def pages() -> dict[str, str]:
    return all_pages()


def no_link(name: str) -> None:
    """Find no address."""


def modules_with_exports() -> list[str]:
    """Return the modules that declare `__all__`, but for those that only other modules import."""
    files = (path for path in PACKAGE.rglob("*.py") if "\n__all__ = " in path.read_text(encoding="utf-8"))
    named = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    return sorted({name.removesuffix(".__init__") for name in named} - {"mancala_env.evaluation.report"})


def anchors_of(page: str) -> list[str]:
    return anchors(re.findall(r"^#+ (.+)$", pages()[page], re.MULTILINE))


@pytest.mark.generated
def test_pages_of_the_reference_are_up_to_date() -> None:
    assert {path.name for path in FOLDER.glob("*")} == pages().keys(), f"run {COMMAND}"
    for name, content in pages().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == content, f"run {COMMAND}"


@pytest.mark.parametrize("module", modules_with_exports())
def test_every_exported_name_is_in_the_reference(module: str) -> None:
    written = set(re.findall(r"^(?:class )?(\w+)", "".join(pages().values()), re.MULTILINE))
    names = [name for name in sources.exported(module) if not name.startswith("__")]
    assert names
    objects = {name for name in names if not isinstance(sources.find(module, name).node, ast.Module)}
    assert objects - written == set()


def test_links_of_the_reference_lead_to_headings() -> None:
    headings = {page: anchors_of(page) for page in pages()}
    for page, content in pages().items():
        assert len(headings[page]) == len(set(headings[page])), page
        links = re.findall(r"\]\(([^)#]*)#([^)]+)\)", content)
        assert links or page == "errors.md"
        for target, anchor in links:
            assert anchor in headings[target or page], (page, target, anchor)


def test_an_unknown_name_is_an_error() -> None:
    with raises(LookupError, "mancala_env.solver", "sove"):
        sources.find("mancala_env.solver", "sove")
    with raises(LookupError, "mancala_env.slover"):
        sources.find("mancala_env.slover", "solve")


def test_signatures_are_those_of_the_source() -> None:
    turn = sources.signature(sources.find("mancala_env", "Turn"))
    assert turn.splitlines()[:2] == ["class Turn(", "    player: int,"]
    position = sources.find("mancala_env", "Position")
    of_method = {one.name: sources.signature(one) for one in sources.members(position)}
    assert of_method["Position.copy"] == "Position.copy() -> Position"
    assert sources.signature(sources.find("mancala_env.errors", "IllegalMove")) == (
        "class IllegalMove(MancalaError)"
    )
    assert "    minutes: float | None = 10.0," in sources.signature(
        sources.find("mancala_env.training.config", "TrainConfig")
    )


def test_docstrings_become_markdown() -> None:
    doc = """Return a thing; see :func:`other`.

    ## Rewards
    ``None`` of them:

    >>> 1 + 1
    2

    Args:
        first: An ``int``, which
            continues.
        *rest: One of:

            - this;
            - that.

    Raises:
        ValueError: If it is wrong.
    """
    assert (
        docstrings.markdown(doc, {"other": "page.md#other"}.get)
        == """\
Return a thing; see [`other`](page.md#other).

**Rewards**

`None` of them:

```pycon
>>> 1 + 1
2
```

**Arguments**

- `first`: An `int`, which continues.
- `*rest`: One of:
  - this;
  - that.

**Raises**

- `ValueError`: If it is wrong."""
    )
    assert docstrings.markdown(doc, no_link, skips_summary=True).startswith("**Arguments**")
    assert docstrings.items(doc, "Raises") == {"ValueError": "If it is wrong."}
    assert list(docstrings.items(doc, "Args")) == ["first", "*rest"]
    assert docstrings.items(doc, "Attributes") == {}
