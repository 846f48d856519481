"""The docstring of every package lists the modules of the package."""

import importlib
import pkgutil

import pytest

import mancala_env

# The packages themselves are listed in docs/explanation/architecture.md.
PACKAGES = [
    found.name for found in pkgutil.walk_packages(mancala_env.__path__, "mancala_env.") if found.ispkg
]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_lists_its_modules(package: str) -> None:
    found = importlib.import_module(package)
    text = found.__doc__ or ""
    names = {module.name for module in pkgutil.iter_modules(found.__path__)} - {"__main__"}
    assert names
    assert {name for name in names if f"`{name}`" not in text} == set()
