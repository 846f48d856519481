"""Games as Python objects: positions, batches, text formats and pictures.

| module | content |
|---|---|
| `position` | `Position`: one game, with all its rules and a text form |
| `batch` | `Batch`: many games, stepped together |
| `functional` | `start` and `step`: pure functions on arrays of games |
| `set_up` | checks of the arguments of a position |
| `notation` | positions and turns as text |
| `records` | recorded games: `GameRecord`, reading and writing files of games |
| `pictures` | pictures and animations of positions, turns and recorded games |
| `speed` | turns per second on this machine |
"""
