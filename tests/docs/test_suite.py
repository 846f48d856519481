"""The rules of CONTRIBUTING.md for tests and releases."""

import ast
import re
from pathlib import Path

import pages
import pytest
from error_checks import names, raises

from mancala_env import __version__

ROOT = Path(__file__).resolve().parents[2]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
SAID = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "Makefile",
    ROOT / "noxfile.py",
    *(ROOT / path for path in pages.pages() if path.startswith("docs/")),
]
_PATH = re.compile(r"\btests/[\w/]+(?:\.\w+)?")


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_no_test_imports_another(path: Path) -> None:
    """Shared code of tests is in tests/support."""
    assert not {name for name in imported(path) if name.startswith(("test_", "conftest", "tests."))}


@pytest.mark.parametrize("path", SAID, ids=lambda path: path.name)
def test_paths_of_tests_in_the_documentation_exist(path: Path) -> None:
    named = set(_PATH.findall(path.read_text(encoding="utf-8")))
    assert not {name for name in named if not (ROOT / name).exists()}


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("CITATION.cff", "version: {}"),
        ("README.md", "  version = {{{}}},"),
        ("CHANGELOG.md", "## {}"),
    ],
)
def test_the_version_is_the_same_everywhere(file: str, line: str) -> None:
    assert line.format(__version__) in (ROOT / file).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("value", "is_named"),
    [
        (3, True),
        (13, False),
        (-3, False),
        (1, False),
        (1.5, True),
        ("ho", False),
        ("hole 3", True),
        ([3, "seed"], True),
        ([3, "seeds"], False),
        ([], True),
    ],
)
def test_a_value_is_named_as_a_whole(value: object, is_named: bool) -> None:
    assert names("hole 3: seed must be 5, not 1.5", value) == is_named


def test_raises_wants_the_type_and_every_value() -> None:
    with raises(ValueError, "seed", -1):
        raise ValueError("seed must be at least 0, not -1")
    with pytest.raises(AssertionError), raises(ValueError, "seed", -2):
        raise ValueError("seed must be at least 0, not -1")
    with pytest.raises(KeyError), raises(ValueError, "seed"):
        raise KeyError("seed")
    with pytest.raises(pytest.fail.Exception), raises(ValueError, "seed"):
        pass
