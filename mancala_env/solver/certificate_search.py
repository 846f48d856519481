"""Make proof files of exact values.

Proofs of the same claim differ much in size. So several attempts with different seeds can be made, and the
shortest one is kept. :mod:`mancala_env.solver.certificate_graph` makes an attempt.

:func:`prove` verifies what it made. So an error here can cost a proof, but cannot make a wrong one.
"""

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mancala_env._util.checks import whole
from mancala_env._util.files import write_whole
from mancala_env.engine.state import NORTH, SOUTH
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position, check_position
from mancala_env.solver.certificate import (
    Claim,
    InvalidProof,
    Proof,
    num_seeds,
    position_lines,
    verify,
)
from mancala_env.solver.certificate_graph import Attempt, GraphTooLarge, LeafTooLarge
from mancala_env.solver.exact import Solver

_PROGRESS_SECONDS = 0.5
_LEAST_EFFORT = -20  # of attempts after some that needed too much memory


@dataclass(frozen=True)
class ProofPlan:
    """Settings of a proof.

    Attributes:
        leaf: Most free seeds of a position that is searched instead of proved, 0 to 255. A larger number
            makes smaller files that take longer to check. It is halved if searches take too long.
        cap: Largest level of an owned hole in the accounts, 0 to 255; always 0 with the landing "uur". 255
            is exact. A smaller number can prove more positions at once, or none at all.
        seeds: Number of attempts for each claim. The smallest proof is kept.
        effort: How much to search for a small proof, 0 to 20. Two more make files about a third smaller, and
            take two to ten times as long. It is reduced if the search needs more than a gigabyte.
    """

    leaf: int = 8
    cap: int = 255
    seeds: int = 1
    effort: int = 2

    def __post_init__(self) -> None:
        """Check the ranges."""
        whole("leaf", self.leaf, 0, 255)
        whole("cap", self.cap, 0, 255)
        whole("seeds", self.seeds, 1)
        whole("effort", self.effort, 0, 20)


class ProofProgress(NamedTuple):
    """Progress of a proof.

    Attributes:
        player: The player whose claim is being proved.
        least: The claim: this player gets at least this number of seeds. None: the value is being searched.
        seed: Number of the attempt, from 0.
        positions: Positions that the attempt has searched so far.
        letters: Letters of the attempt so far; the search comes first.
        nodes: Positions that the solver has searched.
        seconds: Seconds since the start.
    """

    player: int
    least: int | None
    seed: int
    positions: int
    letters: int
    nodes: int
    seconds: float


def prove(
    position: Position,
    plan: ProofPlan = ProofPlan(),
    *,
    memory_mb: float = 1024,
    num_threads: int = 1,
    solver: Solver | None = None,
    checkpoint: Path | None = None,
    progress: Callable[[ProofProgress], None] | None = None,
) -> Proof:
    """Find the value of a position, and return a verified proof of it.

    Args:
        position: A running position in which both players sow from their own rows.
        plan: Settings of the proof.
        memory_mb: Most megabytes of the solver's table. The walk takes about 100 bytes for each position.
        num_threads: CPU threads of the solver.
        solver: A solver to use instead of a new one with `memory_mb` and `num_threads`. What its table has
            from related positions saves searches. Make it with ``use_book=False``: with the book its table
            stays empty, on which the search relies.
        checkpoint: File that keeps the finished attempts. The same call searches the value again, and then
            makes only the others. Delete it when the proof is saved.
        progress: Called twice a second.

    Raises:
        InvalidPosition: The round is over, territory has changed hands, or the ruleset's name is not 1 to 64
            printable ASCII characters without spaces.
        InvalidArgument: Another argument or the checkpoint is invalid, `plan.cap` is too small, or the proof
            needs more than a gigabyte.
        SolverInputError: `solver` has another ruleset, or another search of it runs.
        OutOfTime: `solver` was cancelled, or has reached its deadline.

    >>> from mancala_env import Position
    >>> proof = prove(Position({"like": "leyla", "row_width": 3, "name": "small"}))
    >>> proof.bounds[0] == proof.bounds[1]
    True
    """
    check_position(position)
    position_lines(position)  # raises if the format excludes the position
    if not isinstance(plan, ProofPlan):
        raise InvalidArgument(f"plan must be a ProofPlan, not {plan!r}")
    if solver is None:
        solver = Solver(position.ruleset, memory_mb=memory_mb, num_threads=num_threads, use_book=False)
    elif not isinstance(solver, Solver):
        raise InvalidArgument(f"solver must be a Solver, not {solver!r}")
    try:
        return _Maker(position, plan, solver, checkpoint, progress).make()
    finally:
        solver.on_call = None  # a reference cycle would keep the table until garbage is collected


def _are_attempts(letters: dict[str, Any]) -> bool:
    """Return whether each key is a player, a leaf and a seed, and each value ASCII letters."""
    return all(
        re.fullmatch(r"[01] \d{1,3} \d+", key, re.ASCII) and isinstance(text, str) and text.isascii()
        for key, text in letters.items()
    )


class _Maker:
    """One call of prove."""

    def __init__(
        self,
        position: Position,
        plan: ProofPlan,
        solver: Solver,
        checkpoint: Path | None,
        progress: Callable[[ProofProgress], None] | None,
    ) -> None:
        self.position, self.plan, self.solver = position, plan, solver
        self.checkpoint, self.progress = checkpoint, progress
        self.started = self.reported = time.monotonic()
        self.nodes_before = solver.nodes
        self.attempt: tuple[Attempt, Claim, int] | None = None  # with its seed
        solver.on_call = self._report
        self.letters: dict[str, str] = {}  # of finished attempts by "player leaf seed"
        rules = position.ruleset.options_hash
        self.settings = {**asdict(plan), "position": position_lines(position), "rules": rules}
        self._load()
        self.is_resumed = bool(self.letters)

    def make(self) -> Proof:
        """Return the verified proof."""
        proof = self._proof()
        try:
            verify(proof)
        except InvalidProof as error:
            if not self.is_resumed:
                raise
            raise InvalidArgument(f"{self.checkpoint}: {error}; delete it to start again") from None
        return proof

    def _proof(self) -> Proof:
        player, stores, total = self.position.player, self.position.stores, num_seeds(self.position)
        lead = self.solver.value(self.position) + stores[player] - stores[1 - player]
        south = (total + (lead if player == SOUTH else -lead)) // 2
        return Proof(self.position, (self._claim(SOUTH, south), self._claim(NORTH, total - south)))

    def _claim(self, player: int, count: int) -> Claim:
        """Return a claim with the shortest of some proofs, with a smaller leaf if searches take too long."""
        cap = 0 if self.position.ruleset.landing == "uur" else self.plan.cap
        # A checkpoint has attempts with a smaller leaf if searches took too long before.
        begun = [int(key.split()[1]) for key in self.letters if key.startswith(f"{player} ")]
        claim = Claim(player, count, cap, min([self.plan.leaf, *begun]), b"")
        while True:
            try:
                return self._shortest(claim)
            except LeafTooLarge:
                claim = claim._replace(leaf=claim.leaf // 2)

    def _shortest(self, claim: Claim) -> Claim:
        found = []
        for seed in range(self.plan.seeds):
            if (key := f"{claim.player} {claim.leaf} {seed}") not in self.letters:
                self.letters[key] = self._attempt(claim, seed)
                self._save()
            found.append(self.letters[key])
        return claim._replace(letters=min(found, key=len).encode())

    def _attempt(self, claim: Claim, seed: int) -> str:
        """Return the letters of an attempt, with less effort if the search needs too much memory."""
        effort = self.plan.effort
        while True:
            attempt = Attempt(self.position, claim, self.solver, effort, seed)
            self.attempt = attempt, claim, seed
            try:
                while not attempt.step():
                    self._report()
                return attempt.letters.decode()
            except GraphTooLarge:
                if (effort := effort - 2) < _LEAST_EFFORT:
                    raise

    def _report(self) -> None:
        now = time.monotonic()
        if self.progress is None or now < self.reported + _PROGRESS_SECONDS:
            return
        self.reported = now
        nodes, seconds = self.solver.nodes - self.nodes_before, now - self.started
        if self.attempt is None:
            self.progress(ProofProgress(self.position.player, None, 0, 0, 0, nodes, seconds))
            return
        attempt, claim, seed = self.attempt
        found = attempt.positions, len(attempt.letters)
        self.progress(ProofProgress(claim.player, claim.least, seed, *found, nodes, seconds))

    def _load(self) -> None:
        """Read the checkpoint, if there is one of the same settings."""
        if self.checkpoint is None or not self.checkpoint.exists():
            return
        kept: Any = None
        with suppress(ValueError):
            kept = json.loads(self.checkpoint.read_bytes())
        parts = ("settings", "letters")
        is_whole = isinstance(kept, dict) and all(isinstance(kept.get(part), dict) for part in parts)
        if not is_whole or not _are_attempts(kept["letters"]):
            raise InvalidArgument(
                f"{self.checkpoint} must be a checkpoint of a proof; delete it to start again"
            )
        if kept["settings"] != self.settings:
            raise InvalidArgument(
                f"{self.checkpoint} is of other settings, {kept['settings']}; delete it to start again"
            )
        self.letters = kept["letters"]

    def _save(self) -> None:
        if self.checkpoint is not None:
            write_whole(self.checkpoint, json.dumps({"settings": self.settings, "letters": self.letters}))
