"""Find the letters of a claim: the walk of a checker, with the solver to name the turns of the prover.

Several turns may suffice at a position, and their proofs differ much in size. So a turn is chosen by
*trials*. After each winning turn the walk continues with greedy choices until the position is proved.
Then the results are taken back. The turn with the smallest trial is taken, and the same follows at the
next position. A greedy choice is, among the turns that the solver's table proves, one with many seeds for the
prover and few replies for the opponent.

A trial ends unfinished if it is larger than the smallest one so far, larger than a limit, or takes too many
nodes of the solver. If no trial is finished, all are repeated with a larger limit.

Symbols: H holes.
"""

import numpy as np

from mancala_env.engine.board import num_bits
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import load, store_of
from mancala_env.engine.turn import legal_holes
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position
from mancala_env.solver import certificate_walk as walks
from mancala_env.solver.certificate import DEFAULT_MEMORY_MB, Claim, Walk
from mancala_env.solver.exact import Solver
from mancala_env.solver.proofs import keys_of, look_up, scope_of
from mancala_env.solver.prover import NO_LIMIT

# Columns of what is known about a turn.
_RESULT, _BETA, _IS_PROVERS, _SCORE = range(4)
_NUM_ANSWERS = 4
# Steps of a trial between two looks at the tables.
_TRIAL_STEPS = 20_000
# Nodes of the solver for the first question about a turn, and their growth.
_FIRST_NODES, _NODES_FACTOR = 256, 4
# Nodes for the question whether one more turn suffices.
_MORE_NODES = 2000
# A trial of at most this many positions is kept as a whole.
_KEPT_TRIAL = 8
# Nodes of the solver in a trial, after which the trial ends.
_TRIAL_NODES = 5_000_000
# Limit of positions of the first trials, and its growth if none of them is finished.
_FIRST_TRIAL, _TRIAL_FACTOR = 10_000, 8
# Scores are multiples of a unit, plus noise below `_NOISE` for every seed but the first.
_SCORE_UNIT, _NOISE, _NUM_NOISE = 1024, 4096, 4099
# Searched small positions of an attempt that are too many, besides a number for each proved position.
_MOST_SEARCHED, _SEARCHED_EACH = 3_000_000, 500
# Entries to undo besides those of a trial: positions of a step, or of the line, are kept without a check.
_UNDO_SPARE = 1 << 19


@kernel
def look_up_turns(rules, claim, line, table, noise, answers):
    """Look up the turns of the current position in the solver's table, and write the rows of `answers`.

    `answers` is int64 `[H, 4]`: the result of each turn or 0, the beta of the solver's question whether the
    turn suffices, whether the prover moves after it, and its score for a greedy choice. `noise` is int64
    `[N]`, which the scores use in turn.
    """
    first = line.registers[walks.PLY] * (1 + 2 * rules.width)
    first_noise = line.registers[walks.BYTES_READ] * 2 * rules.width
    for turn in range(line.nums[first, walks.TURNS]):
        row = first + 1 + turn
        result = line.nums[row, walks.RESULT]
        answers[turn, _RESULT] = result
        if result != 0:
            continue
        game = load(line.games, row)
        got = store_of(game, claim.prover)
        is_provers = game.player == claim.prover
        # The rest for the prover is what they still get, minus what the opponent still gets.
        rest = 2 * (claim.need - got) - walks.free_seeds(game)
        beta = rest if is_provers else 2 - rest
        keys = keys_of(rules, game, scope_of(rules, game.territory, 1))
        lower, _, upper, _, _ = look_up(table, game, keys)
        if lower >= beta:
            result = 1 if is_provers else -1
        elif upper < beta:
            result = -1 if is_provers else 1
        replies = num_bits(legal_holes(rules, game))
        answers[turn, _RESULT] = result
        answers[turn, _BETA] = beta
        answers[turn, _IS_PROVERS] = is_provers
        score = 2 * got + (replies if is_provers else -replies)
        answers[turn, _SCORE] = _SCORE_UNIT * score + noise[(first_noise + turn) % len(noise)]


@kernel
def walk_greedily(rules, claim, line, proved, turns, num_turns, num_steps, table, noise, answers):
    """Walk on, and add the turn of the highest score that the solver's table proves where one is needed.

    The walk ends as in :func:`~mancala_env.solver.certificate_walk.walk`, or where the table proves no turn.
    `turns` is uint8 `[S]`, of which the first `num_turns` are there. Return their new number.
    """
    registers = line.registers
    last_step = registers[walks.VISITED] + registers[walks.SEARCHED] + num_steps
    while True:
        walks.walk(rules, claim, line, proved, turns, num_turns, num_steps)
        is_late = registers[walks.VISITED] + registers[walks.SEARCHED] > last_step
        if registers[walks.STATUS] != walks.NEEDS_BYTE or is_late or num_turns == len(turns):
            return num_turns
        look_up_turns(rules, claim, line, table, noise, answers)
        best = -1
        first = registers[walks.PLY] * (1 + 2 * rules.width)
        for turn in range(line.nums[first, walks.TURNS]):
            if answers[turn, _RESULT] > 0 and (best < 0 or answers[turn, _SCORE] > answers[best, _SCORE]):
                best = turn
        if best < 0:
            return num_turns
        turns[num_turns] = best
        num_turns += 1


class LeafTooLarge(InvalidArgument):
    """Positions of at most `leaf` free seeds take too long to search."""


class Attempt:
    """One attempt to prove a claim.

    Attributes:
        walk: The walk; its letters are those found so far. Letters may be added before the first step.
    """

    def __init__(self, position: Position, claim: Claim, solver: Solver, trial: int, seed: int) -> None:
        """Begin at a position; the letters of the claim are not used.

        `trial` is the most proved positions of a trial; 0: no trials. `seed` is the seed of the noise in the
        order of turns; 0: no noise.
        """
        self.walk = Walk(position, claim, DEFAULT_MEMORY_MB, _UNDO_SPARE)
        self._solver = solver
        self._is_exact = claim.cap == 255 or position.ruleset.landing == "uur"
        # Most positions of the first trials, of those that follow if none is finished, and so on.
        smaller = (_FIRST_TRIAL * _TRIAL_FACTOR**n for n in range(trial.bit_length()))
        self._limits = [*(limit for limit in smaller if limit < trial), *[trial] * (trial > 0)]
        self._last_node = NO_LIMIT
        self._noise = np.zeros(1, np.int64)
        if seed:
            self._noise = np.random.default_rng(seed).integers(_NOISE, size=_NUM_NOISE)
        self._answers = np.zeros((position.ruleset.num_holes, _NUM_ANSWERS), np.int64)
        self._registers = self.walk.line.registers
        self._stride = 1 + position.ruleset.num_holes

    def step(self) -> bool:
        """Walk to the next letter and find it; return whether the claim is proved.

        Raises:
            InvalidArgument: The accounts of the claim do not prove it, or a given letter names no turn or one
                that loses.
            LeafTooLarge: The searches of small positions take too long.
        """
        status = self.advance()
        if status == walks.DONE:
            return True
        if status == walks.NEEDS_BYTE:
            turns = self._choose()
            self.walk.add(turns)
            status = walks.PAUSED if turns else walks.REFUTED
        if status == walks.NO_SUCH_TURN:
            raise InvalidArgument(
                f"the checkpoint has a letter that names no turn ({self.walk.where()}); delete it"
            )
        if status == walks.REFUTED:
            if self._is_exact:
                raise InvalidArgument(f"the checkpoint has turns that lose ({self.walk.where()}); delete it")
            raise InvalidArgument(f"cap={self.walk.claim.cap} is too small for a proof; {self.walk.where()}")
        return False

    def advance(self) -> int:
        """Walk towards the next letter, or without trials by greedy choices, and return the status."""
        self._registers[walks.UNDONE] = self._registers[walks.LAST_PLY] = 0
        self._registers[walks.MOST_UNDONE] = len(self.walk.line.undo) - _UNDO_SPARE // 2
        return self._resume(is_greedy=not self._limits)

    def _resume(self, is_greedy: bool) -> int:
        """Walk on, with or without greedy choices, and return the status."""
        walk = self.walk
        if walk.register(walks.SEARCHED) > _MOST_SEARCHED + _SEARCHED_EACH * walk.register(walks.USED):
            raise LeafTooLarge(f"leaf={walk.claim.leaf} is too large: searches take too long")
        if not is_greedy:
            return walk.resume()
        arrays = walk.rules, walk.claim, walk.line, walk.table, walk.turns
        known = self._solver.shared_table(), self._noise, self._answers
        walk.num_turns = walk_greedily(*arrays, walk.num_turns, _TRIAL_STEPS, *known)
        return walk.status()

    def _choose(self) -> list[int]:
        """Return the next turns of the prover, or none if no turn suffices."""
        turns = self._winning_turns()
        for most in self._limits if len(turns) > 1 else ():
            self._make_room(most)
            limit, best = most, []
            for turn in turns:
                positions, found = self._try(turn, limit)
                if found:
                    limit, best = positions - 1, found
                if limit < 1:
                    break
            if best:
                return best if limit < _KEPT_TRIAL else best[:1]
        return turns[:1]

    def _make_room(self, positions: int) -> None:
        """Enlarge the tables for a trial, which must not enlarge them."""
        self._registers[walks.UNDONE] = 0
        while self.walk.has_little_room(positions):
            self.walk.enlarge()
        num_undo = positions + _UNDO_SPARE
        if len(self.walk.line.undo) < num_undo:
            self.walk.line = self.walk.line._replace(undo=np.zeros((num_undo, 2), np.uint64))

    def _try(self, turn: int, limit: int) -> tuple[int, list[int]]:
        """Return the positions of a trial, and its turns, or none if it is not finished."""
        walk, registers = self.walk, self._registers
        length, first = walk.num_turns, self._first()
        before, turns_before = registers.copy(), walk.line.nums[first : first + self._stride].copy()
        registers[walks.LAST_PLY] = registers[walks.PLY]
        registers[walks.MOST_UNDONE] = registers[walks.UNDONE] + limit
        self._last_node = self._solver.nodes + _TRIAL_NODES
        try:
            walk.add([turn])
            while (status := self._resume(is_greedy=True)) in (walks.NEEDS_BYTE, walks.PAUSED):
                if status == walks.NEEDS_BYTE:
                    if (next_turn := self._greedy_turn()) is None:
                        break
                    walk.add([next_turn])
            positions = int(registers[walks.UNDONE] - before[walks.UNDONE])
            found = walk.turns[length : walk.num_turns].tolist() if status == walks.DONE else []
        finally:  # also after Ctrl-C, so that the letters that are saved are without the trial
            self._last_node = NO_LIMIT
            walks.undo(walk.line, walk.table, int(before[walks.UNDONE]))
            registers[:] = before
            walk.line.nums[first : first + self._stride] = turns_before
            walk.num_turns = length
        return positions, found

    def _winning_turns(self) -> list[int]:
        """Return the turns that are found to suffice at little expense, the highest score first."""
        answers = self._look_up()
        if not any(answer[_RESULT] > 0 for answer in answers):
            if (turn := self._greedy_turn()) is None:
                return []
            answers = self._look_up()
            answers[turn][_RESULT] = 1
        for turn, answer in enumerate(answers):
            if answer[_RESULT] == 0:
                answer[_RESULT] = self._ask(turn, answer, _MORE_NODES)
        return self._in_order(answers, 1)

    def _greedy_turn(self) -> int | None:
        """Return the turn of the highest score that the table proves, else one that the solver proves.

        None: no turn suffices, or a trial ends.
        """
        answers = self._look_up()
        if known := self._in_order(answers, 1):
            return known[0]
        unknown, nodes = self._in_order(answers, 0), _FIRST_NODES
        while unknown:
            for turn in unknown[:]:
                left = self._last_node - self._solver.nodes
                if left <= 0:
                    return None
                result = self._ask(turn, answers[turn], min(left, nodes if len(unknown) > 1 else NO_LIMIT))
                if result > 0:
                    return turn
                if result < 0:
                    unknown.remove(turn)
            nodes *= _NODES_FACTOR
        return None

    def _in_order(self, answers: list[list[int]], result: int) -> list[int]:
        """Return the turns with a result, the highest score first."""
        turns = [turn for turn, answer in enumerate(answers) if answer[_RESULT] == result]
        return sorted(turns, key=lambda turn: -answers[turn][_SCORE])

    def _look_up(self) -> list[list[int]]:
        """Return what is known about each turn of the current position."""
        walk = self.walk
        table = self._solver.shared_table()
        look_up_turns(walk.rules, walk.claim, walk.line, table, self._noise, self._answers)
        return self._answers[: walk.line.nums[self._first(), walks.TURNS]].tolist()

    def _ask(self, turn: int, answer: list[int], most_nodes: int) -> int:
        """Ask the solver whether a turn suffices; return 1, -1, or 0 if that takes more nodes."""
        games, beta = self.walk.line.games[self._first() + 1 + turn][None], answer[_BETA]
        bound = self._solver.within(most_nodes, lambda: self._solver.prove(games, beta))
        if bound is None:
            return 0
        return 1 if (bound >= beta) == bool(answer[_IS_PROVERS]) else -1

    def _first(self) -> int:
        """Return the row of the current position."""
        return int(self._registers[walks.PLY]) * self._stride
