"""Margins of a position in seeds: the certain part of its value, and bounds on the uncertain part."""

from mancala_env.engine.board import seeds_within
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import SOUTH, UUR, owned_by, store_of


@kernel
def owned_margin(game, player):
    """Return a player's lead in owned holes, the certain part of a value."""
    return seeds_within(game.board, owned_by(game, player)) - seeds_within(
        game.board, owned_by(game, 1 - player)
    )


@kernel
def store_margin(game, player):
    """Return a player's lead in stores."""
    return store_of(game, player) - store_of(game, 1 - player)


@kernel
def free_margin(game, player):
    """Return the free seeds in a player's territory minus those in the opponent's."""
    free = ~(game.owned_south | game.owned_north)
    south = seeds_within(game.board, free & game.territory)
    north = seeds_within(game.board, free & ~game.territory)
    return south - north if player == SOUTH else north - south


@kernel
def most_free_won(rules, game, player):
    """Return an upper bound of a player's margin in free seeds, with the parity of the free seeds.

    A ransom can move two more seeds.
    """
    free = seeds_within(game.board, ~(game.owned_south | game.owned_north))
    return 3 * free if owned_by(game, 1 - player) and rules.landing != UUR else free
