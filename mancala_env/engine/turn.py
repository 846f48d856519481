"""The rules of a turn, in the order of RULES 3 and 4: legal holes, laps, landing, the end of a round."""

import numpy as np

from mancala_env.engine.board import emptied, occupied, seeds_in, seeds_within, sown, with_added
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import (
    BOTH_STUCK,
    EITHER_STUCK,
    ENDLESS,
    PAIR,
    RIGHTMOST_OPENING,
    RUNNING,
    SOUTH,
    STALLED,
    STUCK,
    UUR,
    Game,
    all_holes,
    as_actions,
    from_right,
    load,
    territory_of,
    with_turn,
)
from mancala_env.rulesets import STALL_LIMIT

MAX_LAPS = 1000
"""A turn whose 1,000th lap would relay once more is endless (RULES 3, chosen from measurement)."""

_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel
def is_start_board(rules, game):
    """Return whether the board is the start board: full holes, no owned holes, and empty stores."""
    if game.owned_south | game.owned_north | game.store_south | game.store_north:
        return False
    for hole in range(2 * rules.width):
        if seeds_in(game.board, hole) != np.uint64(rules.seeds):
            return False
    return True


@kernel
def free_occupied(game):
    """Return the bits of the free holes that hold seeds."""
    return occupied(game.board) & ~(game.owned_south | game.owned_north)


@kernel
def legal_holes(rules, game):
    """Return the bits of the player's legal holes; 0 when the round is over."""
    if game.end != RUNNING:
        return 0
    holes = free_occupied(game) & territory_of(rules, game, game.player)
    # Ludii, Leyla Gobale (Somaliland): South's first turn is played from the rightmost hole (RULES 7).
    if rules.opening == RIGHTMOST_OPENING and game.player == SOUTH and is_start_board(rules, game):
        holes &= 1 << from_right(rules, 0)
    return holes


@kernel
def legal_actions(rules, game):
    """Return the bits of the player's legal actions; 0 when the round is over."""
    return as_actions(rules, game.player, legal_holes(rules, game))


@kernel
def is_legal(rules, game, action, num_actions):
    """Return whether a number is a legal action below `num_actions`."""
    return 0 <= action < num_actions and (legal_actions(rules, game) >> action) & 1 != 0


@kernel
def first_illegal(rules, games, actions, where, num_actions):
    """Return the index of the first wanted game with an illegal action, or -1."""
    for b in range(len(actions)):
        if where[b] and not is_legal(rules, load(games, b), actions[b], num_actions):
            return b
    return -1


@kernel
def write_mask(rules, game, player, mask, b):
    """Write the mask of a player's legal actions into row b; zeros if the other player moves."""
    actions = legal_actions(rules, game) if game.player == player else 0
    for action in range(mask.shape[1]):
        mask[b, action] = (actions >> action) & 1


@kernel
def sow_laps(rules, game, hole):
    """Sow from a hole, lap after lap, until a lap does not relay.

    Return the board, the hole of the last seed, the seeds in that hole before the last seed (uint64), and the
    number of laps. The turn is endless if the last of 1,000 laps would relay again; see :func:`relays`.
    """
    board = game.board
    owned = game.owned_south | game.owned_north
    fours = makes_four_matter(rules, game)
    last = np.uint64(hole)
    held = seeds_in(board, last)
    laps = 0
    while True:
        laps += 1
        board, last = sown(rules, board, last, held)
        held = seeds_in(board, last)
        if not relays(owned, fours, last, held - _ONE) or laps == MAX_LAPS:
            return board, np.int64(last), held - _ONE, laps


@kernel
def makes_four_matter(rules, game):
    """Return the bits of the holes that a fourth seed captures; elsewhere it relays."""
    if rules.landing == UUR:
        return 0
    if rules.owns_either:
        return all_holes(rules)
    return territory_of(rules, game, 1 - game.player)


@kernel
def relays(owned, fours, last, before):
    """Return whether a lap that ends in a hole with `before` seeds (uint64) relays."""
    bit = np.int64(_ONE << np.uint64(last))
    return before > np.uint64(0) and not owned & bit and not (before == _THREE and fours & bit)


@kernel
def play_turn(rules, game, hole):
    """Play the turn that starts from a legal hole (RULES 3), and find the next player (RULES 4).

    Return the next Game (its `end` is not RUNNING if the round is over), the number of laps, the number of
    captured seeds, and the bits of the player's newly owned holes.
    """
    board, last, before, laps = sow_laps(rules, game, hole)
    mover = game.player
    owned = game.owned_south | game.owned_north
    if laps == MAX_LAPS and relays(owned, makes_four_matter(rules, game), last, before):
        return with_turn(game, game.player, game.stall, ENDLESS), laps, 0, 0

    bit = 1 << last
    opposite = 2 * rules.width - 1 - last
    captured = 0
    taken = 0
    if owned & bit:
        theirs = game.owned_north if mover == SOUTH else game.owned_south
        if theirs & bit and rules.landing != UUR:
            board, captured = _ransom(rules, board, last, before)
    elif before > np.uint64(0):  # without a relay, so the last seed was the fourth
        taken = bit | (1 << opposite) if rules.landing == PAIR else bit
    elif rules.landing == UUR and territory_of(rules, game, mover) & bit:
        board, captured, taken = _land_on_own_empty(rules, board, last, opposite)

    south = mover == SOUTH
    after = Game(
        board=board,
        owned_south=game.owned_south | (taken if south else 0),
        owned_north=game.owned_north | (0 if south else taken),
        store_south=game.store_south + (captured if south else 0),
        store_north=game.store_north + (0 if south else captured),
        player=1 - mover,
        stall=_stall_after(game, board, owned, taken, captured),
        end=RUNNING,
        territory=game.territory,
        round=game.round,
        starter=game.starter,
        debt_south=game.debt_south,
        debt_north=game.debt_north,
    )
    return settled(rules, after), laps, captured, taken


@kernel
def _ransom(rules, board, last, before):
    """Capture the last seed, and another one if the hole was not empty (Pankhurst 1971: 175)."""
    if before > np.uint64(0):
        left = seeds_in(board, last) - _TWO
        return with_added(emptied(board, last), last, left), 2
    if rules.ransoms_empty:
        return emptied(board, last), 1
    return board, 0  # Ludii leaves it there


@kernel
def _land_on_own_empty(rules, board, last, opposite):
    """Capture the opposite seeds, or make two uur of three (Jama Musse Jama 2002)."""
    facing = seeds_in(board, opposite)
    if facing == np.uint64(0):
        return board, 0, 0
    board = emptied(board, opposite)
    if facing == _THREE:
        board = with_added(with_added(board, opposite, _TWO), last, _ONE)
        return board, 0, (1 << last) | (1 << opposite)
    if rules.captures_last:
        return emptied(board, last), np.int64(facing) + 1, 0
    return board, np.int64(facing), 0  # Ludii leaves the last seed


@kernel
def _stall_after(game, board, owned, taken, captured):
    """Return the stall counter after a turn.

    A turn counts if the number of free seeds does not change: no capture, no new owned hole, and no seed in
    an owned hole.
    """
    if captured or taken:
        return 0
    if owned and seeds_within(board, owned) != seeds_within(game.board, owned):
        return 0
    return game.stall + 1


@kernel
def settled(rules, game):
    """Return the game with the next player to move, or with the end of the round (RULES 4).

    The player of `game` is to move, and may have to pass.
    """
    free = free_occupied(game)
    mine = free & territory_of(rules, game, game.player)
    theirs = free & territory_of(rules, game, 1 - game.player)
    if rules.round_end == BOTH_STUCK:
        stuck = not free
    elif rules.round_end == EITHER_STUCK:
        stuck = not mine or not theirs
    else:
        stuck = not mine
    if stuck:
        return with_turn(game, game.player, game.stall, STUCK)
    if game.stall >= STALL_LIMIT:
        return with_turn(game, game.player, game.stall, STALLED)
    if not mine:  # they pass
        return with_turn(game, 1 - game.player, game.stall, RUNNING)
    return game
