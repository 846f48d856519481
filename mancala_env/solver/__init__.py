"""Exact values of rounds: how a position ends under best play of both players.

>>> from mancala_env import Position, solver
>>> solution = solver.solve(Position("leyla"))
>>> solution.value, solution.best_actions
(-16, (2, 5))
"""

from mancala_env.solver.exact import (
    ILLEGAL,
    OutOfTime,
    Progress,
    Solution,
    Solver,
    SolverInputError,
    solve,
)
from mancala_env.solver.position_sets import (
    PHASES,
    NoPositions,
    PositionSet,
    positions,
    rulesets_with_positions,
)

__all__ = [
    "ILLEGAL",
    "PHASES",
    "NoPositions",
    "OutOfTime",
    "PositionSet",
    "Progress",
    "Solution",
    "Solver",
    "SolverInputError",
    "positions",
    "rulesets_with_positions",
    "solve",
]
