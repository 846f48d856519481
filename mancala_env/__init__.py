"""Reinforcement-learning environments for the mancala games of the Horn of Africa.

>>> from mancala_env import Batch, Position, rulesets
>>> print(Position("layli_goobalay"))
Layli Goobalay, round 1: South to move
       N6   N5   N4   N3   N2   N1
North   4    4    4    4    4    4    store 0
South   4    4    4    4    4    4    store 0
       S1   S2   S3   S4   S5   S6
"""

import sys

from mancala_env import rulesets
from mancala_env.envs.families import register as _register_gymnasium_ids
from mancala_env.errors import IllegalMove, InvalidPosition, InvalidRuleset, MancalaError
from mancala_env.games import records
from mancala_env.games.batch import Batch
from mancala_env.games.functional import TimeStep, start, step
from mancala_env.games.position import Position, Turn
from mancala_env.rulesets import Ruleset
from mancala_env.version import __version__

__all__ = [
    "Batch",
    "IllegalMove",
    "InvalidPosition",
    "InvalidRuleset",
    "MancalaError",
    "Position",
    "Ruleset",
    "TimeStep",
    "Turn",
    "__version__",
    "records",
    "rulesets",
    "start",
    "step",
]

# `from mancala_env.records import read_games` works as well; the package itself is in games.
sys.modules[f"{__name__}.records"] = records

_register_gymnasium_ids()
