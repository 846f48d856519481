"""Examples of README, docs and docstrings run, public objects have docstrings, and imports are light."""

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pages
import pytest

import mancala_env
from tools.api_pages.pages import anchors

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / path for path in pages.pages() if path.startswith(("README", "docs/"))]
MODULES = ["mancala_env", *(m.name for m in pkgutil.walk_packages(mancala_env.__path__, "mancala_env."))]
HEAVY = {
    "torch", "PIL", "stable_baselines3", "pygame", "pettingzoo", "scipy", "matplotlib", "starlette",
    "uvicorn", "textual", "tensorboard", "rich", "yaml", "ray", "pandas", "cuda", "numba_cuda",
}  # fmt: skip

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Optional libraries that a page connects to. A block that imports a missing one is skipped.
_OPTIONAL = re.compile(r"^(?:import|from) .*\b(ray|open_spiel)\b", re.MULTILINE)
# Pages whose code takes more than three seconds.
_SLOW = {
    "README.md", "docs/guides/cluster.md", "docs/guides/environments.md", "docs/guides/extend.md",
    "docs/guides/libraries.md", "docs/guides/records.md", "docs/guides/train.md",
}  # fmt: skip
_FENCES = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(#[^)\s]*)?\)")


def is_runnable(block):
    """Return whether every optional library that a block imports is installed."""
    return all(importlib.util.find_spec(name) for name in _OPTIONAL.findall(block))


def page_id(path):
    return str(path.relative_to(ROOT))


def marked_slow(page):
    return pytest.param(page, marks=pytest.mark.slow) if page_id(page) in _SLOW else page


WITH_CODE = [marked_slow(page) for page in PAGES if _BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_CODE, ids=page_id)
def test_python_blocks_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    """Run the code blocks of a page in order in one namespace. Blocks with prompts are doctests.

    A training of 1,000 environment steps or more is shortened.
    """
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    for match in _BLOCK.finditer(text):
        block, line = match.group(1), text.count("\n", 0, match.start()) + 1
        block = re.sub(r"\.learn\([\d_]{5,}", ".learn(1_024", block)
        where = f"{page_id(page)}:{line}"
        if not is_runnable(block):
            continue
        if ">>> " in block:
            test = doctest.DocTestParser().get_doctest(block, names, where, str(page), line)
            report = io.StringIO()
            runner = doctest.DocTestRunner(verbose=False)
            runner.run(test, out=report.write, clear_globs=False)
            names.update(test.globs)
            assert runner.failures == 0, report.getvalue()
        else:
            # Padding, so that a traceback shows the line of the page.
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * line + block, str(page), "exec"), names)


def anchors_of(page):
    """Return the anchors of a Markdown page, as GitHub makes them of its headings."""
    text = _FENCES.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+?)\s*$", text, re.MULTILINE)
    shown = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {*anchors(shown), *re.findall(r'\b(?:id|name)="([^"]+)"', text)}


def broken_links(page):
    """Return the links of a Markdown page to files and headings that do not exist."""
    for target, fragment in _LINK.findall(_FENCES.sub("", page.read_text(encoding="utf-8"))):
        if "://" in target or target.startswith("mailto:"):
            continue
        to = page.parent / target if target else page
        is_missing = not to.exists()
        if is_missing or (fragment and to.suffix == ".md" and fragment[1:] not in anchors_of(to)):
            yield target + fragment


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files_and_headings(page):
    assert list(broken_links(page)) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "a.md"
    page.write_text(
        "# One `two`: 3.5\n## Thrice\n## Thrice\n## Thrice\n```text\n[code](none.md)\n# no heading\n```\n"
        "[1](#one-two-35) [2](#thrice-2) [3](a.md#thrice) [4](https://example.org/none.md)\n"
        "[5](#thrice-3) [6](a.md#no-heading) [7](none.md) [8](none.md#thrice)\n",
        encoding="utf-8",
    )
    assert list(broken_links(page)) == ["#thrice-3", "a.md#no-heading", "none.md", "none.md#thrice"]


@pytest.mark.parametrize("module", MODULES)
def test_doctests(module):
    results = doctest.testmod(importlib.import_module(module))
    assert results.failed == 0


def public_things(module):
    """Yield the name and the object of each public definition in a module."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing):
            yield name, thing
            for attribute, member in vars(thing).items():
                function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if not attribute.startswith("_") and (
                    inspect.isfunction(function) or isinstance(member, cached_property)
                ):
                    yield f"{name}.{attribute}", member
        elif module.__name__.startswith("mancala_env.cli.") and name in ("add_arguments", "run"):
            continue  # the package describes them for all commands
        elif callable(thing):  # a kernel is a dispatcher, or a function with the JIT off
            yield name, thing


def is_documented(module, name, thing):
    """Return whether an object, or the method of a base class that it overrides, has a docstring."""
    if inspect.getdoc(getattr(thing, "__func__", thing)):
        return True
    owner, dot, attribute = name.partition(".")
    bases = inspect.getmro(getattr(module, owner))[1:] if dot else ()
    return any(inspect.getdoc(vars(base)[attribute]) for base in bases if attribute in vars(base))


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_has_a_docstring(module):
    imported = importlib.import_module(module)
    if Path(imported.__file__ or "").stat().st_size:
        assert imported.__doc__, module
    missing = [name for name, thing in public_things(imported) if not is_documented(imported, name, thing)]
    assert not missing


def test_importing_the_package_is_light():
    # Imports of numba and gymnasium themselves, such as numba's of scipy, do not count.
    script = (
        "import sys, numba, gymnasium; before = set(sys.modules); import mancala_env\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules.keys() - before}))"
    )
    process = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "mancala_env" in process.stdout.split()
    assert HEAVY.isdisjoint(process.stdout.split())


@pytest.mark.parametrize("name", mancala_env.__all__)
def test_every_public_name_is_there(name):
    assert hasattr(mancala_env, name)


@pytest.mark.generated
def test_the_pictures_of_the_documentation_are_not_stale(tmp_path):
    path = ROOT / "docs" / "draw_pictures.py"
    spec = importlib.util.spec_from_file_location("draw_pictures", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.draw(tmp_path)
    for picture in sorted(tmp_path.iterdir()):
        assert picture.read_text(encoding="utf-8") == (ROOT / "docs" / "img" / picture.name).read_text(
            encoding="utf-8"
        ), picture.name
