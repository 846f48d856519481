"""What CONTRIBUTING.md says of the tests themselves."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
SAID = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "Makefile",
    ROOT / "noxfile.py",
    *sorted((ROOT / "docs").glob("*.md")),
]
_PATH = re.compile(r"\btests/[\w/]+(?:\.\w+)?")


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_no_test_imports_another(path: Path) -> None:
    """What tests share is in tests/support."""
    assert not {name for name in imported(path) if name.startswith(("test_", "conftest", "tests."))}


@pytest.mark.parametrize("path", SAID, ids=lambda path: path.name)
def test_paths_of_tests_in_the_documentation_exist(path: Path) -> None:
    named = set(_PATH.findall(path.read_text(encoding="utf-8")))
    assert not {name for name in named if not (ROOT / name).exists()}
