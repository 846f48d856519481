"""Proof search: is the rest of the round at least `beta` seeds for the player to move?

The search works with the *rest* R of a value, which excludes what is already certain: stores and seeds in
owned holes. A turn gains `gain` seeds for the mover; seeds that change sides count twice. So

    R(position) = max over turns of  gain - R(next)      (gain + R(next) where the opponent passes)

At the end of a round R is the free seeds in the player's territory minus those in the opponent's. R has the
parity of the number F of free seeds. So if R >= beta is false, R <= beta - 2. |R| <= F, or 3F where owned
holes can lose seeds by ransom (one free seed then moves two). :mod:`mancala_env.solver.study` has the order
of such searches.

**Steps.** The positions from the root to the current position are the *line*. Each position is a frame in the
arrays of a :class:`SearchLine`, at index `ply`. On the way down (steps 1 to 4) a position is new. On the way
up (step 5) the bound of its turn has just been found:

1. *Check* whether another thread has answered a position of the line.
2. *Look up* the position in the table.
3. *Play* the turns until one proves enough. The remaining free seeds bound the result of a turn. A turn whose
   result is certain is answered at once. All other turns are kept, with a score: two replies of the opponent
   cost as much as one seed of gain.
4. *Look up* the positions after these turns. If no turn is left, or one proves enough, store and go up.
5. *Use the bound* of the searched turn. Store and go up if it proves enough or was the last one.
6. *Defer* turns that reached their limit of nodes ("Deferred turns" in ``docs/explanation/solver.md``).
7. *Choose* the most promising remaining turn, and *enter* the position after it. Back to step 1.

Several threads can run the same search on one table. The line is in arrays, not on a call stack. So the
kernel can return after a number of nodes, and resume when called again. A node is a position whose turns were
played.
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.board import Board, nth_bit, num_bits
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import RUNNING, SOUTH, STALLED, Game, action_of, load
from mancala_env.engine.turn import STALL_LIMIT, legal_holes, play_turn
from mancala_env.rulesets import Ruleset
from mancala_env.solver.margins import free_margin, most_free_won, owned_margin, store_margin
from mancala_env.solver.proofs import (
    NO_RANSOM,
    Conditions,
    Keys,
    ProvedBound,
    as_if_full,
    before,
    joined,
    keys_of,
    look_up,
    prefetch_bucket,
    ransom_code,
    scope_of,
    store,
)
from mancala_env.solver.shared_marks import (
    is_busy,
    num_deferrals,
    prefetch_deferrals,
    set_busy,
    set_deferrals,
)
from mancala_env.solver.table import NO_MOVE

# Columns of a position in frames and kept turns: its board and its keys (uint64).
_LOW, _MIDDLE, _HIGH, _KEY, _EXACT_KEY, _CHECK, _CAPPED_KEY = range(7)
NUM_WORDS = 8
_USED_WORDS = 7
# Columns of a frame's numbers (int64): the position, its beta, what is proved, and its turns.
_SOUTH, _NORTH, _PLAYER, _STALL = range(4)
_BETA, _BEST, _CHAIN, _NEED, _DRAIN, _TURNS, _AT, _STARTED, _LIMIT = range(4, 13)
NUM_NUMS = 16
# Columns of a kept turn's numbers (int64): the position after it as in a frame, then the turn.
_GAIN, _ACTION, _RANSOM, _SCORE, _DEFERRALS = range(4, 9)
NUM_TURN_NUMS = 9
# Registers kept between calls: the end of the line, whether a bound is on its way up, and that bound.
_PLY, _GOING_UP, ANSWER, _R_CHAIN, _R_NEED, _R_DRAIN, NODES, DONE, _NEXT_LOOK = range(9)
# The territory of all positions of the line, and whether proofs are shared.
_TERRITORY, _SHARES = 9, 10
NUM_REGISTERS = 16

_NONE = -100_000
_UNLIMITED = 1 << 60
# Scores added to the turn that the table proposes, and to a turn that another thread is searching.
_HINTED, _IS_BUSY = 1000, _NONE
# First limit of nodes of a turn. Measured: 250 to 1,000 and factors of two and four do equally well.
_FIRST_LIMIT = 512
_LOG_FACTOR = 2
_MAX_DEFERRALS = 20
# Weight of a deferral in the order of turns: more than any gain, less than the weight of a busy turn.
_DEFERRAL_WEIGHT = 2_000
# Nodes between two checks whether another thread has answered a position of the line.
_LOOK_NODES = 1024


class SearchLine(NamedTuple):
    """Arrays of the current line of one thread."""

    words: Any  # uint64 `[P, NUM_WORDS]`, boards and keys of the positions, P the longest line
    nums: Any  # int64 `[P, NUM_NUMS]`, the rest of the frames
    turn_words: Any  # uint64 `[P * H, NUM_WORDS]`, boards and keys after the kept turns, H holes
    turn_nums: Any  # int64 `[P * H, NUM_TURN_NUMS]`, the rest of the kept turns
    registers: Any  # int64 `[NUM_REGISTERS]`, state of the search


def new_line(ruleset: Ruleset) -> SearchLine:
    """Allocate the arrays of one thread."""
    # Free seeds only fall, and after STALL_LIMIT turns without a fall the round is over.
    plies = STALL_LIMIT * (ruleset.total_seeds + 1) + 2
    turns = plies * ruleset.num_holes
    return SearchLine(
        words=np.empty((plies, NUM_WORDS), np.uint64),
        nums=np.empty((plies, NUM_NUMS), np.int64),
        turn_words=np.empty((turns, NUM_WORDS), np.uint64),
        turn_nums=np.empty((turns, NUM_TURN_NUMS), np.int64),
        registers=np.zeros(NUM_REGISTERS, np.int64),
    )


@kernel
def _fixed_margin(game, player):
    """Return a player's lead in stores and owned holes."""
    return store_margin(game, player) + owned_margin(game, player)


@kernel
def _game_in(words, nums, row, territory):
    """Return the position in a frame, or after a kept turn."""
    return Game(
        board=Board(words[row, _LOW], words[row, _MIDDLE], words[row, _HIGH]),
        owned_south=nums[row, _SOUTH],
        owned_north=nums[row, _NORTH],
        store_south=0,
        store_north=0,
        player=nums[row, _PLAYER],
        stall=nums[row, _STALL],
        end=RUNNING,
        territory=territory,
        round=1,
        starter=SOUTH,
        debt_south=0,
        debt_north=0,
    )


@kernel
def _write_game(words, nums, row, game):
    words[row, _LOW] = game.board.low
    words[row, _MIDDLE] = game.board.middle
    words[row, _HIGH] = game.board.high
    nums[row, _SOUTH] = game.owned_south
    nums[row, _NORTH] = game.owned_north
    nums[row, _PLAYER] = game.player
    nums[row, _STALL] = game.stall


@kernel
def _keys_in(words, row):
    return Keys(words[row, _KEY], words[row, _EXACT_KEY], words[row, _CHECK], words[row, _CAPPED_KEY])


@kernel
def _write_keys(words, row, keys):
    words[row, _KEY] = keys.key
    words[row, _EXACT_KEY] = keys.exact
    words[row, _CHECK] = keys.check
    words[row, _CAPPED_KEY] = keys.capped


@kernel
def start(rules, games, b, shares, line, beta):
    """Set up the null-window search "R >= beta?" for row b of a games array.

    `shares` is 1 if proofs are shared between positions; see :class:`~mancala_env.solver.proofs.Scope`.
    """
    game = load(games, b)
    _write_game(line.words, line.nums, 0, game)
    _write_keys(line.words, 0, keys_of(rules, game, scope_of(rules, game.territory, shares)))
    line.nums[0, _BETA] = beta
    line.nums[0, _LIMIT] = _UNLIMITED
    line.registers[_PLY] = 0
    line.registers[_GOING_UP] = 0
    line.registers[DONE] = 0
    line.registers[_NEXT_LOOK] = line.registers[NODES] + _LOOK_NODES
    line.registers[_TERRITORY] = game.territory
    line.registers[_SHARES] = shares


@kernel
def _answered_above(table, line, ply):
    """Step 1: return the ply of the first position of the line that the table answers, or the last ply."""
    for above in range(ply):
        game = _game_in(line.words, line.nums, above, line.registers[_TERRITORY])
        lower, _, upper, _, _ = look_up(table, game, _keys_in(line.words, above))
        beta = line.nums[above, _BETA]
        if lower >= beta or upper < beta:
            return above
    return ply


@kernel
def _with_turn(rules, game, beta, proved, value, after_stall, ransom, conditions, action):
    """Return what a turn proves alone or, if its value is below beta, together with the turns before it.

    `value` is the rest if this turn is played: a lower bound from beta on, else an upper bound. `after_stall`
    and `conditions` are the stall counter after the turn and the conditions of the proof there.
    """
    if value >= beta:
        return ProvedBound(value, before(game, True, after_stall, ransom, conditions), action)
    value, ransom = as_if_full(rules, value, ransom, beta)
    here = before(game, False, after_stall, ransom, conditions)
    return ProvedBound(max(proved.bound, value), joined(proved.conditions, here), NO_MOVE)


@kernel
def _play_turns(rules, scope, line, first, game, beta):
    """Step 3: play every turn and keep those without a certain result, in rows from `first` on.

    Return the bound that the other turns prove together, and the number of kept turns.
    """
    mover = game.player
    fixed = _fixed_margin(game, mover)
    none = Conditions(0, 0, 0)
    proved = ProvedBound(_NONE, none, NO_MOVE)
    kept = 0
    holes = legal_holes(rules, game)
    while holes:
        hole = nth_bit(holes, 0)
        holes &= holes - 1
        after, _, captured, taken = play_turn(rules, game, hole)
        action = action_of(rules, mover, hole)
        gain = _fixed_margin(after, mover) - fixed
        ransom = ransom_code(rules, game, after, mover, captured, taken) if scope.shares else NO_RANSOM
        if after.end != RUNNING:
            least = most = gain + free_margin(after, mover)
        else:
            least = gain - most_free_won(rules, after, 1 - mover)
            most = gain + most_free_won(rules, after, mover)
        if least >= beta or most < beta:
            value = least if least >= beta else most
            # Only a round that ends by stall depends on the counter.
            stall = after.stall if after.end == STALLED else 0
            proved = _with_turn(rules, game, beta, proved, value, stall, ransom, none, action)
            if proved.action != NO_MOVE:
                return proved, kept
            continue
        row = first + kept
        _write_game(line.turn_words, line.turn_nums, row, after)
        line.turn_nums[row, _GAIN] = gain
        line.turn_nums[row, _ACTION] = action
        line.turn_nums[row, _RANSOM] = ransom
        replies = num_bits(legal_holes(rules, after))
        line.turn_nums[row, _SCORE] = 4 * gain + (-2 * replies if after.player != mover else 2 * replies)
        kept += 1
    return proved, kept


@kernel
def _write_turn_keys(rules, scope, table, attempts, line, first, game, beta, kept):
    """Write the keys of the positions after the kept turns, and start loading what the tables have on them.

    A large table is not in the caches. Loading all entries at once takes about as long as loading one.
    """
    for row in range(first, first + kept):
        after = _game_in(line.turn_words, line.turn_nums, row, game.territory)
        keys = keys_of(rules, after, scope)
        _write_keys(line.turn_words, row, keys)
        prefetch_bucket(table, keys)
        beta_after = _beta_after(beta, line.turn_nums[row, _GAIN], after.player != game.player)
        prefetch_deferrals(attempts, keys.exact, beta_after)


@kernel
def _look_up_turns(rules, scope, table, attempts, line, first, game, beta, hint, proved, kept):
    """Step 4: look up the positions after the kept turns, and keep those that the table does not answer.

    Return what the others and `proved` prove together, and the number of turns kept.
    """
    turn_words, turn_nums = line.turn_words, line.turn_nums
    left = first
    _write_turn_keys(rules, scope, table, attempts, line, first, game, beta, kept)
    for row in range(first, first + kept):
        after = _game_in(turn_words, turn_nums, row, game.territory)
        gain, action = turn_nums[row, _GAIN], turn_nums[row, _ACTION]
        changes_sides = after.player != game.player
        keys = _keys_in(turn_words, row)
        lower, at_least, upper, at_most, _ = look_up(table, after, keys)
        if changes_sides:
            lower, upper = gain - upper, gain - lower
            at_least, at_most = at_most, at_least
        else:
            lower, upper = gain + lower, gain + upper
        if lower >= beta or upper < beta:
            value, conditions = (lower, at_least) if lower >= beta else (upper, at_most)
            ransom = turn_nums[row, _RANSOM]
            proved = _with_turn(rules, game, beta, proved, value, after.stall, ransom, conditions, action)
            if proved.action != NO_MOVE:
                break
            continue
        if action == hint:
            turn_nums[row, _SCORE] += _HINTED
        beta_after = _beta_after(beta, gain, changes_sides)
        turn_nums[row, _DEFERRALS] = num_deferrals(attempts, keys.exact, beta_after)
        if left != row:
            for i in range(_USED_WORDS):
                turn_words[left, i] = turn_words[row, i]
            for i in range(NUM_TURN_NUMS):
                turn_nums[left, i] = turn_nums[row, i]
        left += 1
    return proved, left - first


@kernel
def _beta_after(beta, gain, changes_sides):
    """Return the beta of the position after a turn that decides whether the turn reaches `beta`."""
    return gain - beta + 2 if changes_sides else beta - gain


@kernel
def _take_bound(rules, line, ply, game, bound, conditions):
    """Step 5: use the bound found after a position's current turn.

    Return the bound proved for the position, and whether its search is done: by this turn, or by all turns.
    """
    nums, turn_nums = line.nums, line.turn_nums
    at = nums[ply, _AT]
    row = ply * 2 * rules.width + at
    gain, ransom, stall = turn_nums[row, _GAIN], turn_nums[row, _RANSOM], turn_nums[row, _STALL]
    value = gain - bound if turn_nums[row, _PLAYER] != game.player else gain + bound
    joint = Conditions(nums[ply, _CHAIN], nums[ply, _NEED], nums[ply, _DRAIN])
    proved = ProvedBound(nums[ply, _BEST], joint, NO_MOVE)
    action = turn_nums[row, _ACTION]
    proved = _with_turn(rules, game, nums[ply, _BETA], proved, value, stall, ransom, conditions, action)
    return proved, proved.action != NO_MOVE or at + 1 == nums[ply, _TURNS]


@kernel
def _write_proved(nums, ply, proved):
    nums[ply, _BEST] = proved.bound
    nums[ply, _CHAIN] = proved.conditions.chain
    nums[ply, _NEED] = proved.conditions.need
    nums[ply, _DRAIN] = proved.conditions.drain


@kernel
def _defer(attempts, busy, line, ply, num_holes, nodes):
    """Step 6: go back to a position with another turn and count the deferral; return its ply."""
    words, nums = line.words, line.nums
    deferred = ply
    while nodes >= nums[deferred - 1, _LIMIT]:
        deferred -= 1
    if len(busy) > 1:
        for above in range(deferred, ply + 1):
            set_busy(busy, words[above, _EXACT_KEY], False)
    ply = deferred - 1
    at = nums[ply, _AT]
    row = ply * num_holes + at
    times = min(line.turn_nums[row, _DEFERRALS] + 1, _MAX_DEFERRALS)
    line.turn_nums[row, _DEFERRALS] = times
    set_deferrals(attempts, words[deferred, _EXACT_KEY], nums[deferred, _BETA], times)
    nums[ply, _AT] = at - 1
    return ply


@kernel
def _choose(busy, line, first, at, turns):
    """Step 7: bring the most promising of the turns from `at` on to the front."""
    turn_words, turn_nums = line.turn_words, line.turn_nums
    pick, best_score = first + at, 2 * _NONE
    for row in range(first + at, first + turns):
        score = turn_nums[row, _SCORE] - _DEFERRAL_WEIGHT * turn_nums[row, _DEFERRALS]
        if len(busy) > 1 and at > 0 and is_busy(busy, turn_words[row, _EXACT_KEY]):
            score += _IS_BUSY
        if score > best_score:
            pick, best_score = row, score
    row = first + at
    if pick != row:
        for i in range(_USED_WORDS):
            turn_words[row, i], turn_words[pick, i] = turn_words[pick, i], turn_words[row, i]
        for i in range(NUM_TURN_NUMS):
            turn_nums[row, i], turn_nums[pick, i] = turn_nums[pick, i], turn_nums[row, i]


@kernel
def _enter(line, ply, first, nodes):
    """Step 7: make the position after the chosen turn the next of the line, with a beta and a limit."""
    nums, turn_nums = line.nums, line.turn_nums
    at = nums[ply, _AT]
    row = first + at
    limit = nums[ply, _LIMIT]
    if at + 1 < nums[ply, _TURNS]:
        limit = min(limit, nodes + (_FIRST_LIMIT << (_LOG_FACTOR * turn_nums[row, _DEFERRALS])))
    for i in range(_USED_WORDS):
        line.words[ply + 1, i] = line.turn_words[row, i]
    for i in range(_STALL + 1):
        nums[ply + 1, i] = turn_nums[row, i]
    changes_sides = turn_nums[row, _PLAYER] != nums[ply, _PLAYER]
    nums[ply + 1, _BETA] = _beta_after(nums[ply, _BETA], turn_nums[row, _GAIN], changes_sides)
    nums[ply + 1, _LIMIT] = limit


@kernel
def _log2(number):
    """Return the binary logarithm of a positive number, rounded down, at most 31."""
    log = 0
    while number > 1 and log < 31:
        number >>= 1
        log += 1
    return log


@kernel
def search(rules, table, attempts, busy, line, num_nodes):
    """Resume a null-window search for `num_nodes` nodes or until it is answered.

    `attempts` is uint64 `[NUM_ATTEMPTS]`, kept as long as the table. `busy` is a uint64 array that all
    threads share. Its length is a power of two, or 1 for a single thread. ``registers[DONE]`` is 1 once the
    search is answered. ``registers[ANSWER]`` is the answer: a lower bound of R if it is at least beta, else
    an upper bound.
    """
    words, nums, registers = line.words, line.nums, line.registers
    num_holes = 2 * rules.width
    territory = registers[_TERRITORY]
    scope = scope_of(rules, territory, registers[_SHARES])
    ply, going_up = registers[_PLY], registers[_GOING_UP]
    bound = registers[ANSWER]
    conditions = Conditions(registers[_R_CHAIN], registers[_R_NEED], registers[_R_DRAIN])
    nodes = registers[NODES]
    last_node = nodes + num_nodes
    together = len(busy) > 1
    done = 0
    while True:
        if not going_up:
            if nodes >= last_node:
                break
            # 1. Has another thread answered a position of the line?
            if together and nodes >= registers[_NEXT_LOOK]:
                registers[_NEXT_LOOK] = nodes + _LOOK_NODES
                ply = _answered_above(table, line, ply)
            # 2. Does the table answer the position?
            game, keys = _game_in(words, nums, ply, territory), _keys_in(words, ply)
            beta, first = nums[ply, _BETA], ply * num_holes
            lower, at_least, upper, at_most, hint = look_up(table, game, keys)
            if lower >= beta:
                bound, conditions, going_up = lower, at_least, 1
                continue
            if upper < beta:
                bound, conditions, going_up = upper, at_most, 1
                continue
            # 3. Play every turn.
            nodes += 1
            proved, kept = _play_turns(rules, scope, line, first, game, beta)
            # 4. Does the table answer the positions after them?
            if proved.action == NO_MOVE:
                proved, kept = _look_up_turns(
                    rules, scope, table, attempts, line, first, game, beta, hint, proved, kept
                )
            if proved.action != NO_MOVE or kept == 0:
                store(table, game, keys, scope, proved, 0)
                bound, conditions, going_up = proved.bound, proved.conditions, 1
                continue
            nums[ply, _TURNS], nums[ply, _AT], nums[ply, _STARTED] = kept, -1, nodes
        else:
            if ply == 0:
                done = 1
                break
            # 5. Use the bound of the searched turn.
            if together:
                set_busy(busy, words[ply, _EXACT_KEY], False)
            ply -= 1
            game, keys = _game_in(words, nums, ply, territory), _keys_in(words, ply)
            proved, is_done = _take_bound(rules, line, ply, game, bound, conditions)
            if is_done:
                store(table, game, keys, scope, proved, _log2(nodes - nums[ply, _STARTED] + 1))
                bound, conditions = proved.bound, proved.conditions
                continue
            going_up = 0
        _write_proved(nums, ply, proved)
        # 6. Defer a turn at its limit.
        if nodes >= nums[ply, _LIMIT]:
            ply = _defer(attempts, busy, line, ply, num_holes, nodes)
        # 7. Choose the most promising remaining turn, and enter the position after it.
        nums[ply, _AT] += 1
        first = ply * num_holes
        _choose(busy, line, first, nums[ply, _AT], nums[ply, _TURNS])
        _enter(line, ply, first, nodes)
        ply += 1
        if together:
            set_busy(busy, words[ply, _EXACT_KEY], True)
    registers[_PLY] = ply
    registers[_GOING_UP] = going_up
    registers[ANSWER] = bound
    registers[_R_CHAIN] = conditions.chain
    registers[_R_NEED] = conditions.need
    registers[_R_DRAIN] = conditions.drain
    registers[NODES] = nodes
    registers[DONE] = done
