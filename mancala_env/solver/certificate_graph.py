"""Find the letters of a claim: a search for a small proof, with the solver to name winning turns.

Several turns may suffice at a position, and their proofs differ much in size. Positions and turns form a
graph in which a proof needs one turn of the prover, and every turn of the opponent. AO* [1] finds a small
proof in such a graph. The *cost* of a position is the number of positions in its smallest proof, as far as it
is known: 1 plus the least cost of a turn of the prover, or plus the costs of all turns of the opponent. A
position that was not searched yet has an estimate. The search always continues at a position on which the
cost of the start depends, until the best proof contains no estimates. With smaller estimates it tries more
alternatives. A position that is reached in several ways counts several times.

The search is depth-first with limits [2]: it leaves a position when its cost exceeds that of an alternative.
So only the line from the start to the current position is in memory, besides the *graph*, a hash table of
costs. An error in the graph may cost a proof, but cannot make a wrong one: every proof is verified.

The search follows only turns that win for the prover. The solver's table knows most of them. If it does not
know the turn that seems best, the solver is asked.

[1] Nilsson, Principles of Artificial Intelligence, 1980. [2] Nagai, Df-pn Algorithm for Searching AND/OR
Trees and Its Applications, 2002.

Symbols: F free seeds, H holes, P the longest line.
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.board import nth_bit, num_bits
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import NUM_COLUMNS, load, owned_by, save, store_of
from mancala_env.engine.turn import legal_holes
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position
from mancala_env.solver import certificate_walk as walks
from mancala_env.solver.certificate import DEFAULT_MEMORY_MB, Claim, Walk
from mancala_env.solver.exact import Solver
from mancala_env.solver.proofs import keys_of, look_up, scope_of

# Columns of the graph: the hash of a position, and its word: the cost, above 8 bits of flags.
_KEY, _WORD = range(2)
_IS_SOLVED, _IS_WINNING, _FLAGS = 1, 2, 255  # the other flags count the questions without an answer
_COST_SHIFT, _QUESTIONS_SHIFT = 8, 2
_START_HASH = 1
_NEVER = 1 << 50  # cost of a position that the prover does not win
_MOST_COST = _NEVER >> 2  # of the others
# Columns of a row of a frame. The first row has the limit and the number of turns, a turn's row its word.
_HASH, _LIMIT_OR_WORD, _TURNS = range(3)
_PLY, _STAGE, _STATUS, _USED, _ASKED, _BETA, _IS_PROVERS = range(7)
_ENTER, _CHOOSE, _LEAVE = range(3)
_PAUSED, _DONE, _NEEDS_ANSWER, _NEEDS_ROOM, _LEAF_TOO_LARGE = range(5)
_LEAF_IS_SLOW = 2  # a result besides 1, -1 and 0

# The logarithm of an estimate is the sum of these weights times 1, F, the seeds that the prover needs, the
# opponent's replies, owned holes of the prover and of the opponent, F times F, and F times the needed seeds.
# Except for the first, they are from a regression over proofs of fair openings of six rulesets.
_WEIGHTS = -3.0, 0.76, -0.15, 0.41, -0.12, -0.08, -0.02, 0.018
_LEAST_LOG, _MOST_LOG, _LOG_2 = 0.3, 20.0, 0.693
# Noise of every seed but the first: up to this share of a factor of e.
_NOISE_SHIFT, _NOISE_STEP = np.uint64(61), 0.125
# A turn that may lose counts as a proof of twice its size and some more positions.
_MORE_IF_UNKNOWN = 20
# Nodes of the solver for the first question about a turn, and their growth. Each failure multiplies the cost.
_FIRST_NODES, _NODES_FACTOR, _FAILURE_FACTOR = 256, 4, 6
_SEARCH_STEPS, _LETTER_STEPS, _LEAF_STEPS = 100_000, 100_000, 2_000_000
_FIRST_ENTRIES, _MOST_ENTRIES, _MOST_LOAD_TENTHS = 1 << 16, 1 << 26, 7
# Searched small positions of an attempt that are too many, besides a number for each position of the graph.
_MOST_SEARCHED, _SEARCHED_EACH = 3_000_000, 500
_NO_LETTERS = np.zeros(1, np.uint8)


class Search(NamedTuple):
    """Arrays of a search."""

    graph: Any  # int64 `[2**n, 2]`, costs of positions
    games: Any  # uint64 `[P * (1 + H), NUM_COLUMNS]`, for each frame its position and those after its turns
    nums: Any  # int64 `[P * (1 + H), 3]`, the numbers of these rows
    registers: Any  # int64 `[7]`
    weights: Any  # float64 `[8]`, of the estimate
    seed: Any  # uint64, of the noise; 0: no noise


@kernel
def _hash_of(claim, game):
    """Return the hash of a position and of what the prover still needs."""
    missing = np.uint64(claim.need - store_of(game, claim.prover) + walks.VALUE_BIAS)
    board, word = game.board, walks.word_of(game)
    word ^= missing << walks.VALUE_SHIFT
    return np.int64(walks.hash_of(board.low, board.middle, board.high, word)) | 1


@kernel
def _slot_of(graph, key):
    """Return the slot of a position in the graph, or the free slot for it."""
    last = len(graph) - 1
    slot = (key >> 20) & last
    while graph[slot, _KEY] != 0 and graph[slot, _KEY] != key:
        slot = (slot + 1) & last
    return slot


@kernel
def _keep(search, key, cost, flags):
    """Write the cost of a position into the graph."""
    slot = _slot_of(search.graph, key)
    if search.graph[slot, _KEY] == 0:
        search.graph[slot, _KEY] = key
        search.registers[_USED] += 1
    if cost < _NEVER:
        cost = min(cost, _MOST_COST)
    search.graph[slot, _WORD] = (cost << _COST_SHIFT) | flags


@kernel
def _grow(graph, larger):
    """Copy all entries into a larger empty graph."""
    for i in range(len(graph)):
        if graph[i, _KEY] != 0:
            slot = _slot_of(larger, graph[i, _KEY])
            larger[slot, _KEY] = graph[i, _KEY]
            larger[slot, _WORD] = graph[i, _WORD]


@kernel
def _estimate(rules, claim, search, game, key):
    """Return the estimated cost of a position."""
    weights = search.weights
    free, missing = walks.free_seeds(game), claim.need - store_of(game, claim.prover)
    replies = 0 if game.player == claim.prover else num_bits(legal_holes(rules, game))
    size = weights[0] + weights[1] * free + weights[2] * missing + weights[3] * replies
    size += weights[4] * num_bits(owned_by(game, claim.prover))
    size += weights[5] * num_bits(owned_by(game, 1 - claim.prover))
    size += weights[6] * free * free + weights[7] * free * missing
    size += _NOISE_STEP * np.float64((np.uint64(key) * search.seed) >> _NOISE_SHIFT)
    return np.int64(np.exp(min(max(size, _LEAST_LOG), _MOST_LOG)))


@kernel
def question_at(claim, games, row):
    """Return the beta of the question whether the prover wins, and whether the prover moves."""
    return _question(claim, load(games, row))


@kernel
def _question(claim, game):
    # The rest for the prover is what they still get, minus what the opponent still gets.
    rest = 2 * (claim.need - store_of(game, claim.prover)) - walks.free_seeds(game)
    is_provers = game.player == claim.prover
    return rest if is_provers else 2 - rest, is_provers


@kernel
def _known_result(rules, claim, table, game):
    """Return the result of a position by the solver's table."""
    beta, is_provers = _question(claim, game)
    lower, _, upper, _, _ = look_up(table, game, keys_of(rules, game, scope_of(rules, game.territory, 1)))
    if lower >= beta:
        return 1 if is_provers else -1
    if upper < beta:
        return -1 if is_provers else 1
    return 0


@kernel
def _leaf_result(rules, claim, line, proved, letters, game):
    """Return the result of a small position, or _LEAF_IS_SLOW."""
    result = walks.looked_up(rules, claim, line, proved, game)
    if result != 0:
        return result
    registers = line.registers
    searched = registers[walks.SEARCHED]
    for i in range(len(registers)):
        registers[i] = 0
    registers[walks.SEARCHED] = searched
    save(line.games, 0, game)
    walks.walk(rules, claim, line, proved, letters, 0, _LEAF_STEPS)
    if registers[walks.STATUS] == walks.DONE:
        return 1
    if registers[walks.STATUS] == walks.REFUTED:
        walks.keep_leaf(rules, claim, line, game, -1)
        return -1
    return _LEAF_IS_SLOW


@kernel
def _expand(rules, claim, search, line, proved, letters, table, first, game):
    """Play every turn, and write the rows of turns that matter; return a result, or 0 if it is open."""
    is_provers = game.player == claim.prover
    holes, row = legal_holes(rules, game), first
    while holes:
        hole = nth_bit(holes, 0)
        holes &= holes - 1
        after = walks.play_in_accounts(rules, claim, game, hole)
        result = walks.certain_result(rules, claim, after)
        if result == 0 and walks.free_seeds(after) <= claim.leaf:
            result = _leaf_result(rules, claim, line, proved, letters, after)
            if result == _LEAF_IS_SLOW:
                return result
        if result == (1 if is_provers else -1):
            return result
        if result != 0:
            continue
        key = _hash_of(claim, after)
        slot = _slot_of(search.graph, key)
        if search.graph[slot, _KEY] != 0:
            word = search.graph[slot, _WORD]
        else:
            result = _known_result(rules, claim, table, after) if is_provers else 1
            cost = _NEVER if result < 0 else _estimate(rules, claim, search, after, key)
            word = (cost << _COST_SHIFT) | (_IS_WINNING if result > 0 else 0)
        if is_provers and word >> _COST_SHIFT == _NEVER:
            continue
        row += 1
        save(search.games, row, after)
        search.nums[row, _HASH] = key
        search.nums[row, _LIMIT_OR_WORD] = word
    search.nums[first, _TURNS] = row - first
    return 0


@kernel
def _best_turn(search, first):
    """Return the row of the prover's turn of the least cost or -1, this cost, and the least of the others."""
    best, cost, second = -1, _NEVER, _NEVER
    for row in range(first + 1, first + 1 + search.nums[first, _TURNS]):
        word = search.nums[row, _LIMIT_OR_WORD]
        each = word >> _COST_SHIFT
        if not word & (_IS_SOLVED | _IS_WINNING):
            each = min(2 * each + _MORE_IF_UNKNOWN, _NEVER)
        if each < cost:
            best, cost, second = row, each, cost
        elif each < second:
            second = each
    return best, cost, second


@kernel
def _largest_reply(search, first):
    """Return the row of the opponent's unsolved turn of the largest cost or -1, and the cost of all turns."""
    best, largest, total = -1, -1, 0
    for row in range(first + 1, first + 1 + search.nums[first, _TURNS]):
        word = search.nums[row, _LIMIT_OR_WORD]
        cost = word >> _COST_SHIFT
        total += cost
        if not word & _IS_SOLVED and cost > largest:
            best, largest = row, cost
    return best, total


@kernel
def run(rules, claim, search, line, proved, letters, table, num_steps):
    """Search until the start is solved, the solver must answer, the graph is full, or for a number of steps.

    `line`, `proved` and `letters` are arrays of a walk for small positions, and `table` is the solver's.
    ``registers[_STATUS]`` is the reason for the return.
    """
    registers, nums = search.registers, search.nums
    ply, stage, status = registers[_PLY], registers[_STAGE], _PAUSED
    most_used = len(search.graph) // 10 * _MOST_LOAD_TENTHS
    stride = 1 + 2 * rules.width
    steps = 0
    while True:
        first = ply * stride
        if stage == _LEAVE:
            if ply == 0:
                status = _DONE
                break
            ply, stage = ply - 1, _CHOOSE
            continue
        game, key = load(search.games, first), nums[first, _HASH]
        if stage == _ENTER:
            if steps >= num_steps:
                break
            if registers[_USED] >= most_used:
                status = _NEEDS_ROOM
                break
            steps += 1
            result = _expand(rules, claim, search, line, proved, letters, table, first, game)
            if result == _LEAF_IS_SLOW:
                status = _LEAF_TOO_LARGE
                break
            stage = _CHOOSE
            if result != 0:
                _keep(search, key, 1 if result > 0 else _NEVER, _IS_SOLVED if result > 0 else 0)
                stage = _LEAVE
            continue
        is_provers, limit = game.player == claim.prover, nums[first, _LIMIT_OR_WORD]
        second = _NEVER
        if is_provers:
            row, cost, second = _best_turn(search, first)
        else:
            row, cost = _largest_reply(search, first)
        if row < 0:
            # No turn of the prover wins, or every reply of the opponent is solved.
            _keep(search, key, _NEVER if is_provers else 1 + cost, 0 if is_provers else _IS_SOLVED)
            stage = _LEAVE
            continue
        slot, word = _slot_of(search.graph, nums[row, _HASH]), nums[row, _LIMIT_OR_WORD]
        if search.graph[slot, _KEY] != 0 and search.graph[slot, _WORD] != word:
            nums[row, _LIMIT_OR_WORD] = search.graph[slot, _WORD]
        elif is_provers and word & _IS_SOLVED:
            _keep(search, key, 1 + cost, _IS_SOLVED)
            stage = _LEAVE
        elif not is_provers and word >> _COST_SHIFT == _NEVER:
            _keep(search, key, _NEVER, 0)
            stage = _LEAVE
        elif is_provers and second == _NEVER and not word & _IS_WINNING:
            # The only turn that does not lose.
            nums[row, _LIMIT_OR_WORD] = word | _IS_WINNING
            _keep(search, nums[row, _HASH], word >> _COST_SHIFT, _IS_WINNING)
        elif 1 + cost > limit:
            _keep(search, key, 1 + cost, _IS_WINNING)
            stage = _LEAVE
        elif is_provers and not word & _IS_WINNING:
            registers[_ASKED] = row
            registers[_BETA], registers[_IS_PROVERS] = question_at(claim, search.games, row)
            status = _NEEDS_ANSWER
            break
        else:
            # A quarter more than the alternative, so that the search does not change its mind at every step.
            most = min(limit - 1, second + second // 4 + 1)
            if not is_provers:
                most = limit - 1 - (cost - (word >> _COST_SHIFT))
            ply, stage = ply + 1, _ENTER
            save(search.games, ply * stride, load(search.games, row))
            nums[ply * stride, _HASH] = nums[row, _HASH]
            nums[ply * stride, _LIMIT_OR_WORD] = most
    registers[_PLY], registers[_STAGE], registers[_STATUS] = ply, stage, status


@kernel
def walk_along(rules, claim, line, proved, letters, num_letters, graph, num_steps):
    """Walk on, and add the solved turn of the least cost where a letter is needed.

    The walk ends as in :func:`~mancala_env.solver.certificate_walk.walk`, with NO_SUCH_TURN where no turn is
    solved, or where `letters`, uint8 `[S]`, is full. Return the new number of letters.
    """
    registers = line.registers
    last_step = registers[walks.VISITED] + registers[walks.SEARCHED] + num_steps
    while True:
        walks.walk(rules, claim, line, proved, letters, num_letters, num_steps)
        is_late = registers[walks.VISITED] + registers[walks.SEARCHED] > last_step
        if registers[walks.STATUS] != walks.NEEDS_BYTE or is_late or num_letters == len(letters):
            return num_letters
        best, least = -1, _NEVER
        first = registers[walks.PLY] * (1 + 2 * rules.width)
        for turn in range(line.nums[first, walks.TURNS]):
            if line.nums[first + 1 + turn, walks.RESULT] != 0:
                continue
            slot = _slot_of(graph, _hash_of(claim, load(line.games, first + 1 + turn)))
            word = graph[slot, _WORD]
            if word & _IS_SOLVED and word >> _COST_SHIFT < least:
                best, least = turn, word >> _COST_SHIFT
        if best < 0:
            registers[walks.STATUS] = walks.NO_SUCH_TURN
            return num_letters
        letters[num_letters] = best
        num_letters += 1


class LeafTooLarge(InvalidArgument):
    """Positions of at most `leaf` free seeds take too long to search."""


class GraphTooLarge(InvalidArgument):
    """The graph becomes too large for this effort."""


class Attempt:
    """One attempt to prove a claim."""

    def __init__(self, position: Position, claim: Claim, solver: Solver, effort: int, seed: int) -> None:
        """Begin at a position; the letters of the claim are not used.

        Estimates are divided by ``2**effort``. `seed` is the seed of their noise; 0: no noise.
        """
        self._position, self._claim, self._solver = position, claim, solver
        self._walk = Walk(position, claim, DEFAULT_MEMORY_MB)
        self._letters: Walk | None = None
        rows = (position.ruleset.max_turns + 2) * (1 + position.ruleset.num_holes)
        weights = np.array(_WEIGHTS)
        weights[0] -= _LOG_2 * effort
        self._search = Search(
            graph=np.zeros((_FIRST_ENTRIES, 2), np.int64),
            games=np.zeros((rows, NUM_COLUMNS), np.uint64),
            nums=np.zeros((rows, 3), np.int64),
            registers=np.zeros(7, np.int64),
            weights=weights,
            seed=np.uint64(2 * int(np.random.default_rng(seed).integers(1 << 62)) + 1 if seed else 0),
        )
        self._search.games[0] = self._walk.line.games[0]
        self._search.nums[0, [_HASH, _LIMIT_OR_WORD]] = _START_HASH, _NEVER - 1

    @property
    def positions(self) -> int:
        """Positions in the graph so far."""
        return int(self._search.registers[_USED])

    @property
    def letters(self) -> bytes:
        """The letters so far; the search comes first."""
        return b"" if self._letters is None else self._letters.letters()

    def step(self) -> bool:
        """Search or walk for a moment; return whether the claim is proved.

        Raises:
            InvalidArgument: The accounts of the claim do not prove it.
            LeafTooLarge: The searches of small positions take too long.
            GraphTooLarge: The search needs too much memory.
        """
        return self._search_on() if self._letters is None else self._walk_on(self._letters)

    def _search_on(self) -> bool:
        walk, registers = self._walk, self._search.registers
        arrays = walk.line, walk.table, _NO_LETTERS, self._solver.shared_table()
        run(walk.rules, walk.claim, self._search, *arrays, _SEARCH_STEPS)
        walk.status()  # enlarges the table of small positions
        status = registers[_STATUS]
        searched = walk.register(walks.SEARCHED)
        if status == _LEAF_TOO_LARGE or searched > _MOST_SEARCHED + _SEARCHED_EACH * self.positions:
            raise LeafTooLarge(f"leaf={self._claim.leaf} is too large: searches take too long")
        if status == _NEEDS_ROOM:
            self._enlarge()
        elif status == _NEEDS_ANSWER:
            self._ask()
        elif status == _DONE:
            if not self._search.graph[_slot_of(self._search.graph, _START_HASH), _WORD] & _IS_SOLVED:
                raise InvalidArgument(f"cap={self._claim.cap} is too small for a proof")
            self._letters = Walk(self._position, self._claim, DEFAULT_MEMORY_MB)
        return False

    def _walk_on(self, walk: Walk) -> bool:
        walk.make_room()
        arrays = walk.rules, walk.claim, walk.line, walk.table, walk.turns, walk.num_turns
        walk.num_turns = walk_along(*arrays, self._search.graph, _LETTER_STEPS)
        status = walk.status()
        if status in (walks.REFUTED, walks.NO_SUCH_TURN):
            raise RuntimeError(f"the search missed a position of the proof; {walk.where()}")
        return status == walks.DONE

    def _enlarge(self) -> None:
        """Double the size of the graph."""
        graph = self._search.graph
        if len(graph) >= _MOST_ENTRIES:
            raise GraphTooLarge(f"more than {self.positions:,} positions are too many")
        larger = np.zeros((2 * len(graph), 2), np.int64)
        _grow(graph, larger)
        self._search = self._search._replace(graph=larger)

    def _ask(self) -> None:
        """Ask the solver whether the prover wins after a turn, and write the answer into the graph."""
        search, registers = self._search, self._search.registers
        row, beta = int(registers[_ASKED]), int(registers[_BETA])
        key, word = search.nums[row, [_HASH, _LIMIT_OR_WORD]].tolist()
        cost, questions = word >> _COST_SHIFT, (word & _FLAGS) >> _QUESTIONS_SHIFT
        games, nodes = search.games[row][None], _FIRST_NODES * _NODES_FACTOR**questions
        bound = self._solver.within(nodes, lambda: self._solver.prove(games, beta))
        flags = 0
        if bound is None:
            cost, flags = _FAILURE_FACTOR * cost, questions + 1 << _QUESTIONS_SHIFT
        elif (bound >= beta) == bool(registers[_IS_PROVERS]):
            flags = _IS_WINNING
        else:
            cost = _NEVER
        _keep(search, key, cost, flags)
