"""The start of a match and of each next round: RULES 5, and the openings of RULES 6."""

import numpy as np

from mancala_env.engine.board import Board, emptied, seeds_in, with_added
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import (
    EIGHTS_OPENING,
    LOAN,
    MIRROR,
    NORTH,
    RUNNING,
    SINGLE,
    SOUTH,
    Game,
    count_of,
    from_right,
    hole_of,
    row_of,
    territory_of,
    with_turn,
)
from mancala_env.engine.turn import play_turn, settled

# Leyla and Gabata fill holes with four seeds; a player with fewer than three fills none (RULES 5.2).
_FILL, _LEAST_LOAN = 4, 3


@kernel
def first_round(rules, starter):
    """Return the first round of a match after its forced opening, if it has one."""
    return _opened(rules, _filled(rules, row_of(rules, SOUTH), 1, starter))


@kernel
def next_round(rules, game):
    """Return the round after a finished round, and whether the match is over instead."""
    if rules.match == SINGLE:
        return game, True
    if rules.match == MIRROR:
        after, is_over = _mirrored(rules, game)
    elif rules.match == LOAN:
        after, is_over = _lent(rules, game)
    else:
        after, is_over = _conquered(rules, game)
    return (game, True) if is_over else (_opened(rules, after), False)


@kernel
def match_margin(rules, game, is_match_over):
    """Return South's lead in seeds at the end of a match (RULES 5.4), negative if North leads.

    If the rules end a match of Leyla, debts are settled first (RULES 5.2). If a limit on rounds ends it, the
    last count decides, without debts.
    """
    if is_match_over:
        south, north, _, _ = _claims(rules, game)
    else:
        south, north = counts(rules, game)
    return south - north


@kernel
def counts(rules, game):
    """Return the counts of South and North."""
    return count_of(rules, game, SOUTH), count_of(rules, game, NORTH)


@kernel
def _claims(rules, game):
    """Return the counts after each player has repaid the debts they can pay, and the remaining debts."""
    south, north = counts(rules, game)
    debt_south, debt_north = game.debt_south, game.debt_north
    if south >= debt_south:
        south, north, debt_south = south - debt_south, north + debt_south, 0
    if north >= debt_north:
        south, north, debt_north = south + debt_north, north - debt_north, 0
    return south, north, debt_south, debt_north


@kernel
def _set_up(board, owned, stores, territory, round_number, starter, debts):
    """Return the start of a round, with the starter to move."""
    return Game(
        board=board,
        owned_south=owned[0],
        owned_north=owned[1],
        store_south=stores[0],
        store_north=stores[1],
        player=starter,
        stall=0,
        end=RUNNING,
        territory=territory,
        round=round_number,
        starter=starter,
        debt_south=debts[0],
        debt_north=debts[1],
    )


@kernel
def _empty_board():
    none = np.uint64(0)
    return Board(none, none, none)


@kernel
def _filled(rules, territory, round_number, starter):
    """Return a round with the same number of seeds in every hole."""
    board = _empty_board()
    for hole in range(2 * rules.width):
        board = with_added(board, hole, np.uint64(rules.seeds))
    return _set_up(board, (0, 0), (0, 0), territory, round_number, starter, (0, 0))


@kernel
def _mirrored(rules, game):
    """RULES 5.1: the loser spreads their seeds, the winner mirrors that and keeps the rest."""
    south, north = counts(rules, game)
    loser = SOUTH if south < north else NORTH
    seeds = min(south, north)
    if seeds < rules.width:
        return game, True
    board = _empty_board()
    for i in range(rules.width):
        heap = np.uint64(seeds // rules.width + (1 if i < seeds % rules.width else 0))
        hole = rules.width * loser + i
        board = with_added(board, hole, heap)
        board = with_added(board, 2 * rules.width - 1 - hole, heap)
    stores = (south - seeds, north - seeds)
    return _set_up(board, (0, 0), stores, game.territory, game.round + 1, 1 - game.starter, (0, 0)), False


@kernel
def _lent(rules, game):
    """RULES 5.2: debts, the odd seeds or the loan of two, then fours from each player's rightmost."""
    south, north, debt_south, debt_north = _claims(rules, game)
    seeds = min(south, north)
    if seeds < _LEAST_LOAN:
        return game, True
    south_is_weaker = south <= north
    odd = seeds % _FILL
    given = -1 if odd == 1 else (1 if odd == 3 else (2 if odd == 2 else 0))
    if odd == 2 and south_is_weaker:
        debt_south += 2
    elif odd == 2:
        debt_north += 2
    south += given if south_is_weaker else -given
    north -= given if south_is_weaker else -given
    num_filled = min((seeds + given) // _FILL, rules.width)
    board = _empty_board()
    for i in range(num_filled):
        action = from_right(rules, i)
        board = with_added(board, action, np.uint64(_FILL))
        board = with_added(board, action + rules.width, np.uint64(_FILL))
    stores = (south - _FILL * num_filled, north - _FILL * num_filled)
    debts = (debt_south, debt_north)
    return _set_up(board, (0, 0), stores, game.territory, game.round + 1, 1 - game.starter, debts), False


@kernel
def _conquered(rules, game):
    """RULES 5.3: the surplus is worth holes of the opponent."""
    south, north = counts(rules, game)
    surplus = max(south, north) - rules.width * _FILL
    gained = surplus // _FILL + (1 if surplus % _FILL == 3 else 0)
    if gained >= rules.width:
        return game, True
    territory = territory_after(rules, gained if south > north else -gained)
    return _filled(rules, territory, game.round + 1, 1 - game.starter), False


@kernel
def territory_after(rules, gained):
    """Return South's territory after South has gained `gained` holes; if negative, North (RULES 5.3).

    The gained holes are the opponent's holes next to the player's own rightmost hole.
    """
    territory = row_of(rules, SOUTH)
    loser = NORTH if gained > 0 else SOUTH
    for i in range(abs(gained)):
        territory ^= 1 << hole_of(rules, loser, rules.width - 1 - from_right(rules, i))
    return territory


@kernel
def _opened(rules, game):
    """Return a round set up with its forced opening played, if the ruleset has one."""
    if rules.opening == EIGHTS_OPENING:
        return _eights(rules, game)
    return settled(rules, game)


@kernel
def _eights(rules, game):
    """Gabata 3 (Pankhurst 1971: 177): heaps of eight, one weg, and a first turn from the last eight."""
    starter = game.player
    board = game.board
    for i in range(rules.width):
        source = hole_of(rules, starter, (rules.width - 1 + 2 * i) % (2 * rules.width))
        target = hole_of(rules, starter, (rules.width + 2 * i) % (2 * rules.width))
        board = with_added(board, target, seeds_in(board, source))
        board = emptied(board, source)
    weg = 1 << hole_of(rules, starter, rules.width)
    last_eight = hole_of(rules, starter, rules.width - 2)
    owned = (weg, 0) if starter == SOUTH else (0, weg)
    arranged = _set_up(board, owned, (0, 0), game.territory, game.round, starter, (0, 0))
    if territory_of(rules, game, starter) & (1 << last_eight):
        return play_turn(rules, arranged, last_eight)[0]  # passes the weg, so the stall counter stays at 0
    # The opponent has won this hole in an earlier round, so the starter passes.
    return settled(rules, with_turn(arranged, 1 - starter, 0, RUNNING))
