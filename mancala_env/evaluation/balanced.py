"""Balanced openings: positions a few turns in that neither seat has won yet.

After four random turns most rounds between strong agents are decided by the seat. These positions are worth
at most two seeds to either player: by the opening book where it knows them, else by a deep search with the
shipped value network. They are shipped for most rulesets of the written sources, all held out from training
(:mod:`mancala_env.engine.holdout`); ``python -m tools.make_openings`` makes them anew.
"""

import hashlib
from functools import lru_cache

import numpy as np

from mancala_env._util.archives import ArrayFormat, InvalidArchive, read_arrays
from mancala_env._util.package_data import bundled_file, rulesets_with
from mancala_env.engine.state import NUM_COLUMNS
from mancala_env.engine.validation import check_games
from mancala_env.errors import InvalidPosition, MancalaError
from mancala_env.rulesets import Ruleset, lookup


class NoBalancedOpenings(MancalaError):
    """A ruleset for which no balanced openings are shipped."""


@lru_cache(maxsize=32)
def balanced_openings(ruleset: Ruleset) -> np.ndarray:
    """Return the balanced openings shipped for a ruleset, uint64 `[N, NUM_COLUMNS]`; not to be written to.

    Raises:
        NoBalancedOpenings: There are none; the message says for which there are.
    """
    file = bundled_file("openings", ruleset.name)
    if not has_balanced_openings(ruleset):
        listed = ", ".join(rulesets_with("openings"))
        raise NoBalancedOpenings(f"no balanced openings of {ruleset.name}; there are some of: {listed}")
    try:
        data = read_arrays(
            file,
            {"games": ArrayFormat("uint64", (None, NUM_COLUMNS)), "margins": ArrayFormat("float32", (None,))},
        )
        games = check_games(ruleset, data["games"])
    except (InvalidArchive, InvalidPosition) as error:
        raise NoBalancedOpenings(f"{file} holds no balanced openings ({error})") from error
    games.setflags(write=False)
    return games


def has_balanced_openings(ruleset: Ruleset) -> bool:
    """Return whether balanced openings are shipped for a ruleset, and not for another of its name."""
    return ruleset.name in rulesets_with("openings") and lookup(ruleset.name) == ruleset


def openings_hash(ruleset: Ruleset, opening_set: str) -> str:
    """Return a hash of the balanced openings of a ruleset, which may be made anew; empty for another set.

    What is drawn by a seed alone needs none.
    """
    if opening_set != "balanced":
        return ""
    return hashlib.sha256(balanced_openings(ruleset).tobytes()).hexdigest()[:16]
