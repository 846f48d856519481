"""Proof search: is the rest of the round worth at least so many seeds to the player to move?

**Value.** The value of a position is the final count of the player to move minus the opponent's. The
search works with its *rest* R, the value less what is already certain: stores, and the seeds that lie in
owned holes. A turn moves `gain` seeds (twice when they change sides) and hands over, so

    R(position) = max over turns of  gain - R(next)      (gain + R(next) where the opponent passes)

and at the end of a round R is the free seeds in one's territory less those in the opponent's. R has the
parity of the number F of free seeds, so "R >= beta?" answered by no means R <= beta - 2. All searches here
are null-window searches, which answer one such question; :mod:`mancala_env.solver.exact` runs them in order.
|R| <= F, or 3F where owned holes can lose seeds by ransom (one free seed then moves two).

**What is proved on the way** is kept in a table, with the conditions under which it holds for other positions
too: :mod:`mancala_env.solver.proofs`.

**The steps.** The positions from the root to the one being searched are the *line*; position `ply` of it is a
frame of the arrays of a :class:`Line`. On the way down (steps 1 to 4) a position is new, on the way up (step
5) its turn's bound has just been found:

1. *Look around.* Where other threads search too: has one of them answered a position of the line?
2. *Look up.* Does the table answer the position?
3. *Play* every turn. The free seeds left bound what can still change: one whose end is certain is
   answered, the others are kept, most gain first, then fewest replies (measured: a third fewer nodes).
4. *Look up* the positions after these turns. Where no turn is left, or one proves enough, store and go up.
5. *Take the bound* of the turn that was searched; store and go up where it proves enough or was the last.
6. *Give up* turns that took more than their limit of nodes.
7. *Choose* the most promising turn that is left, and *enter* the position after it: step 1 again.

**Giving up and coming back** (steps 6 and 7). One bad turn looked at first, with long cycles behind it, can
cost more than all others together. So a turn is searched with a limit of nodes while there is another one
left. Where that does not suffice the search goes on with the turn that was given up least often, and each
time a turn was given up its limit is four times as high. What was proved on the way stays in the table, so
coming back costs little. How often a search was given up is noted in `attempts`, by position and beta.
(Measured: two fifths of the nodes after 9 to 12 random turns, an eighth in the opening of Layli Goobalay. It
does with alpha-beta what the thresholds of df-pn do with proof numbers, Nagai 2002.)

**Several threads** run the same null-window search on one table. Each notes the position it is entering in
`busy`, and the others leave that turn for later if there is another (after Kerrigan's simplified ABDADA):
what they find in the table then need not be searched.

**Resuming.** The kernel keeps its line in arrays instead of recursing and returns after so many nodes;
called again it goes on. A node is a position whose turns were all played out.
"""

from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import (
    RUNNING,
    SOUTH,
    STALLED,
    UUR,
    Board,
    Game,
    action_of,
    load,
    nth_bit,
    num_bits,
    owned_by,
    seeds_within,
)
from mancala_env.engine.turn import STALL_LIMIT, legal_holes, play_turn
from mancala_env.solver.proofs import (
    NO_RANSOM,
    U0,
    Conditions,
    Keys,
    as_if_full,
    before,
    joined,
    keys_of,
    look_up,
    ransom_code,
    store,
)
from mancala_env.solver.table import NO_MOVE

# Columns of a position, in the frames and of the turns kept: its board and its keys (uint64).
_LOW, _MIDDLE, _HIGH, _KEY, _EXACT_KEY, _CHECK, _CAPPED_KEY = range(7)
NUM_WORDS = 8
_USED_WORDS = 7
# Columns of a frame's numbers (int64): the position, what is asked of it, what is known, and its turns.
_SOUTH, _NORTH, _PLAYER, _STALL = range(4)
_BETA, _BEST, _CHAIN, _NEED, _DRAIN, _TURNS, _AT, _STARTED, _LIMIT = range(4, 13)
NUM_NUMS = 16
# Columns of a kept turn's numbers (int64): the position after it begins like a frame's, then the turn.
_GAIN, _ACTION, _RANSOM, _SCORE, _GIVEN_UP = range(4, 9)
NUM_TURN_NUMS = 9
# Registers kept between calls: where the line ends, whether a bound is on its way up, and that bound.
_PLY, _GOING_UP, ANSWER, _R_CHAIN, _R_NEED, _R_DRAIN, NODES, DONE, _NEXT_LOOK = range(9)
NUM_REGISTERS = 16

_MIX = np.uint64(0xD6E8FEB86659FD93)
_U8, _U32, _U63 = (np.uint64(n) for n in (8, 32, 63))
_NONE = -100_000
_UNLIMITED = 1 << 60
# What a turn that proved well before, and one that another thread is searching, weigh in the order.
_HINTED, _IS_BUSY = 1000, _NONE
# Nodes a turn is first given; measured: 250 to 1,000 and factors of two and four do about equally well.
_FIRST_LIMIT = 512
_LOG_FACTOR = 2
_MOST_GIVEN_UP = 20
# What having been given up once weighs in the order of turns: more than any gain, less than a thread in it.
_GIVEN_UP_WEIGHT = 2_000
NUM_ATTEMPTS = 1 << 18
"""Entries of the array `attempts`, 8 bytes each: one search each that was given up."""
# How often a thread looks whether another has answered for a position on its line.
_LOOK_NODES = 1024


class Line(NamedTuple):
    """The arrays in which one thread keeps the line it is searching.

    Attributes:
        words: uint64 `[P, NUM_WORDS]`, boards and keys of the positions, P the longest line.
        nums: int64 `[P, NUM_NUMS]`, the rest of the frames.
        turn_words: uint64 `[P * H, NUM_WORDS]`, boards and keys after the turns kept, H the holes.
        turn_nums: int64 `[P * H, NUM_TURN_NUMS]`, the rest of these.
        registers: int64 `[NUM_REGISTERS]`, where the search stands.
    """

    words: Any
    nums: Any
    turn_words: Any
    turn_nums: Any
    registers: Any


class Found(NamedTuple):
    """A bound on a position's rest.

    Attributes:
        bound: R is at least that, or at most.
        conditions: Those of its proof.
        action: The action that proves it is at least beta; NO_MOVE: none did.
    """

    bound: Any
    conditions: Any
    action: Any


@kernel
def free_margin(rules, game, player):
    """Return the free seeds in a player's territory less those in the opponent's."""
    free = ~(game.owned_south | game.owned_north)
    south = seeds_within(game.board, free & game.territory)
    north = seeds_within(game.board, free & ~game.territory)
    return south - north if player == SOUTH else north - south


@kernel
def _fixed_margin(game, player):
    """Return by how many seeds a player leads in stores and owned holes."""
    south = game.store_south + seeds_within(game.board, game.owned_south)
    north = game.store_north + seeds_within(game.board, game.owned_north)
    return south - north if player == SOUTH else north - south


@kernel
def _most_won(rules, game, player):
    """Return a number of seeds that a player's rest never exceeds, of the parity of the free seeds."""
    free = seeds_within(game.board, ~(game.owned_south | game.owned_north))
    return 3 * free if owned_by(game, 1 - player) and rules.landing != UUR else free


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
def start(rules, games, b, scope, line, beta):
    """Set up the null-window search "R >= beta?" of row b of a games array."""
    game = load(games, b)
    _write_game(line.words, line.nums, 0, game)
    _write_keys(line.words, 0, keys_of(rules, game, scope))
    line.nums[0, _BETA] = beta
    line.nums[0, _LIMIT] = _UNLIMITED
    line.registers[_PLY] = 0
    line.registers[_GOING_UP] = 0
    line.registers[DONE] = 0
    line.registers[_NEXT_LOOK] = line.registers[NODES] + _LOOK_NODES


@kernel
def known(rules, games, b, scope, table):
    """Return what the table has of row b: lower and upper bound of R, and a good action or NO_MOVE."""
    game = load(games, b)
    lower, _, upper, _, move = look_up(table, game, keys_of(rules, game, scope))
    return lower, upper, move


@kernel
def _attempt(exact_key, beta):
    """Return a hash of a position and beta, its lowest six bits zero."""
    word = (exact_key ^ np.uint64(beta + 1024)) * _MIX
    return (word ^ (word >> _U32)) & ~_U63


@kernel
def _place_of(attempts, attempt):
    return np.int64((attempt >> _U8) & np.uint64(len(attempts) - 1))


@kernel
def _times_given_up(attempts, exact_key, beta):
    """Return how often a search was given up, as far as it is remembered."""
    attempt = _attempt(exact_key, beta)
    entry = attempts[_place_of(attempts, attempt)]
    return np.int64(entry & _U63) if (entry & ~_U63) == attempt else 0


@kernel
def _is_busy(busy, key):
    """Tell whether another thread notes that it is in a position."""
    return busy[np.int64(key & np.uint64(len(busy) - 1))] == key


@kernel
def _set_busy(busy, key, is_busy):
    """Note that this thread enters a position, or leaves it."""
    place = np.int64(key & np.uint64(len(busy) - 1))
    if is_busy:
        busy[place] = key
    elif busy[place] == key:
        busy[place] = U0


@kernel
def _answered_above(table, territory, words, nums, ply):
    """Step 1: return the first position of the line that the table answers, or the last."""
    for above in range(ply):
        game = _game_in(words, nums, above, territory)
        lower, _, upper, _, _ = look_up(table, game, _keys_in(words, above))
        if lower >= nums[above, _BETA] or upper < nums[above, _BETA]:
            return above
    return ply


@kernel
def _play_turns(rules, scope, turn_words, turn_nums, first, game, beta):
    """Step 3: play every turn and keep those whose end is not certain, in rows from `first` on.

    Returns:
        What the others prove together, and the number of turns kept.
    """
    mover = game.player
    fixed = _fixed_margin(game, mover)
    best, conditions = _NONE, Conditions(0, 0, 0)
    kept = 0
    holes = legal_holes(rules, game)
    while holes:
        hole = nth_bit(holes, 0)
        holes &= holes - 1
        after, _, captured, taken = play_turn(rules, game, hole)
        gain = _fixed_margin(after, mover) - fixed
        ransom = ransom_code(rules, game, after, mover, captured, taken) if scope.shares else NO_RANSOM
        least, most, chain = gain, gain, 0
        if after.end != RUNNING:
            least += free_margin(rules, after, mover)
            most = least
            if after.end == STALLED:
                chain = STALL_LIMIT - game.stall
        else:
            least -= _most_won(rules, after, 1 - mover)
            most += _most_won(rules, after, mover)
        if least >= beta:
            here = before(game, True, 0, ransom, Conditions(0, 0, 0))
            action = action_of(rules, mover, hole)
            return Found(least, Conditions(chain, here.need, here.drain), action), kept
        if most < beta:
            worth, ransom = as_if_full(rules, most, ransom, beta)
            here = before(game, False, 0, ransom, Conditions(0, 0, 0))
            best = max(best, worth)
            conditions = joined(conditions, Conditions(chain, here.need, here.drain))
            continue
        row = first + kept
        _write_game(turn_words, turn_nums, row, after)
        turn_nums[row, _GAIN] = gain
        turn_nums[row, _ACTION] = action_of(rules, mover, hole)
        turn_nums[row, _RANSOM] = ransom
        replies = num_bits(legal_holes(rules, after))
        turn_nums[row, _SCORE] = 4 * gain + (-2 * replies if after.player != mover else 2 * replies)
        kept += 1
    return Found(best, conditions, NO_MOVE), kept


@kernel
def _look_up_turns(
    rules, scope, territory, table, attempts, turn_words, turn_nums, first, game, beta, hint, found, kept
):
    """Step 4: look up the positions after the turns kept, and keep those that the table does not answer.

    Returns:
        What the others and `found` prove together, and the number of turns kept.
    """
    mover = game.player
    best, conditions = found.bound, found.conditions
    left = first
    for row in range(first, first + kept):
        after = _game_in(turn_words, turn_nums, row, territory)
        gain, ransom = turn_nums[row, _GAIN], turn_nums[row, _RANSOM]
        keys = keys_of(rules, after, scope)
        lower, at_least, upper, at_most, _ = look_up(table, after, keys)
        if after.player != mover:
            lower, upper = gain - upper, gain - lower
            at_least, at_most = at_most, at_least
        else:
            lower, upper = gain + lower, gain + upper
        if lower >= beta:
            conditions = before(game, True, after.stall, ransom, at_least)
            return Found(lower, conditions, turn_nums[row, _ACTION]), left - first
        if upper < beta:
            worth, ransom = as_if_full(rules, upper, ransom, beta)
            here = before(game, False, after.stall, ransom, at_most)
            best, conditions = max(best, worth), joined(conditions, here)
            continue
        if turn_nums[row, _ACTION] == hint:
            turn_nums[row, _SCORE] += _HINTED
        beta_after = _beta_after(beta, gain, after.player != mover)
        turn_nums[row, _GIVEN_UP] = _times_given_up(attempts, keys.exact, beta_after)
        _write_keys(turn_words, row, keys)
        if left != row:
            for i in range(_USED_WORDS):
                turn_words[left, i] = turn_words[row, i]
            for i in range(NUM_TURN_NUMS):
                turn_nums[left, i] = turn_nums[row, i]
        left += 1
    return Found(best, conditions, NO_MOVE), left - first


@kernel
def _beta_after(beta, gain, changes_sides):
    """Return the beta that decides, of the position after a turn, whether the turn is worth `beta`."""
    return gain - beta + 2 if changes_sides else beta - gain


@kernel
def _take_bound(rules, nums, turn_nums, ply, first, game, bound, conditions):
    """Step 5: let a position know the bound found after its turn.

    Returns:
        What is proved of the position now, and whether that is all: enough, or every turn.
    """
    beta, at = nums[ply, _BETA], nums[ply, _AT]
    row = first + at
    gain, ransom, stall = turn_nums[row, _GAIN], turn_nums[row, _RANSOM], turn_nums[row, _STALL]
    worth = gain - bound if turn_nums[row, _PLAYER] != game.player else gain + bound
    if worth >= beta:
        return Found(worth, before(game, True, stall, ransom, conditions), turn_nums[row, _ACTION]), True
    worth, ransom = as_if_full(rules, worth, ransom, beta)
    here = before(game, False, stall, ransom, conditions)
    here = joined(here, Conditions(nums[ply, _CHAIN], nums[ply, _NEED], nums[ply, _DRAIN]))
    return Found(max(nums[ply, _BEST], worth), here, NO_MOVE), at + 1 == nums[ply, _TURNS]


@kernel
def _write_found(nums, ply, found):
    nums[ply, _BEST] = found.bound
    nums[ply, _CHAIN] = found.conditions.chain
    nums[ply, _NEED] = found.conditions.need
    nums[ply, _DRAIN] = found.conditions.drain


@kernel
def _give_up(attempts, busy, together, words, nums, turn_nums, ply, num_holes, nodes):
    """Step 6: go back to where there is another turn, and note what was given up; returns the position."""
    given_up = ply
    while nodes >= nums[given_up - 1, _LIMIT]:
        given_up -= 1
    if together:
        for above in range(given_up, ply + 1):
            _set_busy(busy, words[above, _EXACT_KEY], False)
    ply = given_up - 1
    at = nums[ply, _AT]
    row = ply * num_holes + at
    times = min(turn_nums[row, _GIVEN_UP] + 1, _MOST_GIVEN_UP)
    turn_nums[row, _GIVEN_UP] = times
    attempt = _attempt(words[given_up, _EXACT_KEY], nums[given_up, _BETA])
    attempts[_place_of(attempts, attempt)] = attempt | np.uint64(times)
    nums[ply, _AT] = at - 1
    return ply


@kernel
def _choose(busy, together, turn_words, turn_nums, first, at, turns):
    """Step 7: bring the most promising of the turns from `at` on to the front."""
    pick, best_score = first + at, 2 * _NONE
    for row in range(first + at, first + turns):
        score = turn_nums[row, _SCORE] - _GIVEN_UP_WEIGHT * turn_nums[row, _GIVEN_UP]
        if together and at > 0 and _is_busy(busy, turn_words[row, _EXACT_KEY]):
            score += _IS_BUSY
        if score > best_score:
            pick, best_score = row, score
    row = first + at
    if pick != row:
        for i in range(_USED_WORDS):
            word = turn_words[row, i]
            turn_words[row, i] = turn_words[pick, i]
            turn_words[pick, i] = word
        for i in range(NUM_TURN_NUMS):
            number = turn_nums[row, i]
            turn_nums[row, i] = turn_nums[pick, i]
            turn_nums[pick, i] = number


@kernel
def _enter(words, nums, turn_words, turn_nums, ply, first, nodes):
    """Step 7: make the position after the chosen turn the next of the line, with a beta and a limit."""
    at = nums[ply, _AT]
    row = first + at
    limit = nums[ply, _LIMIT]
    if at + 1 < nums[ply, _TURNS]:
        limit = min(limit, nodes + (_FIRST_LIMIT << (_LOG_FACTOR * turn_nums[row, _GIVEN_UP])))
    for i in range(_USED_WORDS):
        words[ply + 1, i] = turn_words[row, i]
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
def search(rules, territory, scope, table, attempts, busy, line, num_nodes):
    """Go on with a null-window search until it is answered or so many nodes were searched.

    `attempts` is uint64 `[NUM_ATTEMPTS]`, kept as long as the table. `busy` is uint64, a power of two of
    words shared by all threads; a single one: there are no others. Afterwards ``registers[DONE]`` tells
    whether it is answered, and ``registers[ANSWER]`` holds the answer: R is at least that if it is at least
    beta, else at most that.
    """
    words, nums, registers = line.words, line.nums, line.registers
    turn_words, turn_nums = line.turn_words, line.turn_nums
    num_holes = 2 * rules.width
    ply = registers[_PLY]
    going_up = registers[_GOING_UP]
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
                ply = _answered_above(table, territory, words, nums, ply)
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
            found, kept = _play_turns(rules, scope, turn_words, turn_nums, first, game, beta)
            # 4. Does the table answer the positions after them?
            if found.action == NO_MOVE:
                found, kept = _look_up_turns(
                    rules,
                    scope,
                    territory,
                    table,
                    attempts,
                    turn_words,
                    turn_nums,
                    first,
                    game,
                    beta,
                    hint,
                    found,
                    kept,
                )
            if found.action != NO_MOVE or kept == 0:
                is_lower = found.action != NO_MOVE
                store(table, game, keys, scope, is_lower, found.bound, found.conditions, found.action, 0)
                bound, conditions, going_up = found.bound, found.conditions, 1
                continue
            _write_found(nums, ply, found)
            nums[ply, _TURNS], nums[ply, _AT], nums[ply, _STARTED] = kept, -1, nodes
        else:
            if ply == 0:
                done = 1
                break
            # 5. Take the bound of the turn that was searched.
            if together:
                _set_busy(busy, words[ply, _EXACT_KEY], False)
            ply -= 1
            game, keys = _game_in(words, nums, ply, territory), _keys_in(words, ply)
            first = ply * num_holes
            found, is_all = _take_bound(rules, nums, turn_nums, ply, first, game, bound, conditions)
            if is_all:
                work = _log2(nodes - nums[ply, _STARTED] + 1)
                is_lower = found.action != NO_MOVE
                store(table, game, keys, scope, is_lower, found.bound, found.conditions, found.action, work)
                bound, conditions = found.bound, found.conditions
                continue
            _write_found(nums, ply, found)
            going_up = 0
        # 6. Give up what took too long.
        if nodes >= nums[ply, _LIMIT]:
            ply = _give_up(attempts, busy, together, words, nums, turn_nums, ply, num_holes, nodes)
        # 7. Choose the most promising turn that is left, and enter the position after it.
        nums[ply, _AT] += 1
        first = ply * num_holes
        _choose(busy, together, turn_words, turn_nums, first, nums[ply, _AT], nums[ply, _TURNS])
        _enter(words, nums, turn_words, turn_nums, ply, first, nodes)
        ply += 1
        if together:
            _set_busy(busy, words[ply, _EXACT_KEY], True)
    registers[_PLY] = ply
    registers[_GOING_UP] = going_up
    registers[ANSWER] = bound
    registers[_R_CHAIN] = conditions.chain
    registers[_R_NEED] = conditions.need
    registers[_R_DRAIN] = conditions.drain
    registers[NODES] = nodes
    registers[DONE] = done
