"""Paths of the bundled data files, and of those that are made on a machine for a ruleset of its user."""

import os
from importlib import resources
from pathlib import Path
from typing import Literal

from mancala_env._util.files import check_can_be_written
from mancala_env._util.tensors import SUFFIX
from mancala_env.rulesets import Ruleset, lookup, names
from mancala_env.version import __version__

Kind = Literal["policy", "value", "match", "openings", "fair", "book", "positions"]
_NETWORKS = ("policy", "value")
DATA = Path(str(resources.files("mancala_env"))) / "data"
"""Folder of the bundled data files."""


def bundled_file(kind: Kind, name: str) -> Path:
    """Return the path of a ruleset's data file, whether or not it exists."""
    return DATA / f"{kind}_{name}{SUFFIX if kind in _NETWORKS else '.npz'}"


def rulesets_with(kind: Kind) -> tuple[str, ...]:
    """Return the names of the rulesets with a bundled file of a kind."""
    return tuple(name for name in names() if bundled_file(kind, name).is_file())


def bundled_file_of(kind: Kind, ruleset: Ruleset) -> Path | None:
    """Return the bundled file of exactly this ruleset, or None."""
    is_bundled = ruleset.name in rulesets_with(kind) and lookup(ruleset.name) == ruleset
    return bundled_file(kind, ruleset.name) if is_bundled else None


def bundled_file_for_options(kind: Kind, ruleset: Ruleset) -> Path | None:
    """Return the bundled file of a ruleset with the same rule options, or None."""
    same = (name for name in rulesets_with(kind) if lookup(name).options == ruleset.options)
    return next((bundled_file(kind, name) for name in same), None)


def prepared_file(ruleset: Ruleset, name: str) -> Path:
    """Return the path of a file that is made once for a ruleset of your own, whether or not it exists.

    It is in ``$MANCALA_CACHE``, else in ``$XDG_CACHE_HOME/mancala_env_rulesets``, else in
    ``~/.cache/mancala_env_rulesets``, in a folder for the rule options and the version of the package.
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(os.environ.get("MANCALA_CACHE") or Path(base) / "mancala_env_rulesets")
    return root / f"{ruleset.options_hash}-{__version__}" / name


def new_prepared_file(ruleset: Ruleset, name: str) -> Path:
    """Return the path of a file to prepare, and make its folder; raise OSError if it cannot be written."""
    file = prepared_file(ruleset, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    check_can_be_written(file)
    return file
