"""Exact values of rounds: the final count of the player to move minus the opponent's, under best play.

Seeds that are already in stores are excluded. Seeds in owned holes are included.

>>> from mancala_env import Position, solver
>>> solution = solver.solve(Position("leyla"))
>>> solution.value, solution.best_actions
(-16, (2, 5))

| module | content |
|---|---|
| `exact` | `Solver` and `solve`: values of positions and of their actions |
| `study` | the order of null-window searches that find these values |
| `prover` | null-window searches on threads, within limits of time and nodes |
| `proof_search` | the null-window search, in steps |
| `proofs` | the positions for which a proof is valid, and its storage |
| `table` | the transposition table of proved bounds |
| `shared_marks` | deferred searches, and searches under way on a thread |
| `margins` | the certain part of a value, and bounds on the uncertain part |
| `book` | opening books |
| `position_sets` | solved positions to measure agents against |
| `certificate` | proof files: read, write and verify them |
| `certificate_search` | the making of proof files |
| `certificate_graph` | the search for turns that keep a proof small |
| `certificate_walk` | the walk through a proof |
| `position_sampling` | positions sampled from rounds; the solved positions of a ruleset of your own |
| `fresh_positions` | positions of random rule options |
"""

from mancala_env.solver.certificate import Claim, InvalidProof, Proof, Verification, verify
from mancala_env.solver.certificate_search import ProofPlan, ProofProgress, prove
from mancala_env.solver.exact import ILLEGAL, OutOfTime, Progress, Solution, Solver, SolverInputError, solve
from mancala_env.solver.position_sampling import prepare_positions
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
    "Claim",
    "InvalidProof",
    "NoPositions",
    "OutOfTime",
    "PositionSet",
    "Progress",
    "Proof",
    "ProofPlan",
    "ProofProgress",
    "Solution",
    "Solver",
    "SolverInputError",
    "Verification",
    "positions",
    "prepare_positions",
    "prove",
    "rulesets_with_positions",
    "solve",
    "verify",
]
