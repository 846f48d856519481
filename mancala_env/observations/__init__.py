"""Observations of games: the board, or features of the result of each action.

>>> from mancala_env import Batch
>>> from mancala_env.observations import Observer
>>> observer = Observer("leyla", "afterstates")
>>> observer.shape, observer.dtype.name
((6, 36), 'int16')
>>> observer.observe(Batch("leyla", 8).games).shape
(8, 6, 36)

| module | content |
|---|---|
| `observer` | `Observer`: shape, type, space and version of an observation kind; the observations |
| `board` | the kind `"board"`: the whole position as a float32 vector |
| `per_action` | the other kinds: features of the result of each action, played by the engine |
"""

from mancala_env.observations.board import VERSION, Part, bounds, games_from, num_features, parts
from mancala_env.observations.observer import KINDS, ObservationKind, Observer, kinds_of, observe, version

__all__ = [
    "KINDS",
    "VERSION",
    "ObservationKind",
    "Observer",
    "Part",
    "bounds",
    "games_from",
    "kinds_of",
    "num_features",
    "observe",
    "parts",
    "version",
]
