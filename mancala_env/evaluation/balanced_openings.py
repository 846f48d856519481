"""The bundled balanced openings: positions after a few turns in which neither seat has an advantage.

docs/guides/evaluate.md describes them. ``python -m tools.make_openings`` regenerates them.
"""

from functools import lru_cache

import numpy as np

from mancala_env._util.archives import ArrayFormat, InvalidArchive, read_arrays
from mancala_env._util.package_data import bundled_file_of, rulesets_with
from mancala_env.engine.state import NUM_COLUMNS
from mancala_env.engine.validation import check_games
from mancala_env.errors import InvalidPosition, MancalaError
from mancala_env.rulesets import Ruleset

_ARRAYS = {"games": ArrayFormat("uint64", (None, NUM_COLUMNS)), "margins": ArrayFormat("float32", (None,))}


class NoBalancedOpenings(MancalaError):
    """A ruleset without bundled balanced openings; the message lists the rulesets that have some."""


@lru_cache(maxsize=32)
def balanced_openings(ruleset: Ruleset) -> np.ndarray:
    """Return the balanced openings, uint64 `[N, NUM_COLUMNS]`, read-only, or raise NoBalancedOpenings."""
    file = bundled_file_of("openings", ruleset)
    if file is None:
        listed = ", ".join(rulesets_with("openings"))
        raise NoBalancedOpenings(f"no balanced openings are bundled for {ruleset.name}, only for {listed}")
    try:
        games = check_games(ruleset, read_arrays(file, _ARRAYS)["games"])
    except (InvalidArchive, InvalidPosition) as error:
        raise NoBalancedOpenings(f"{file} does not contain balanced openings ({error})") from error
    games.setflags(write=False)
    return games
