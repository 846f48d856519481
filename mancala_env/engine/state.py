"""Rules and games as numbers, for kernels.

A :class:`Game` is one game as plain numbers. Kernels take a Game and return the next Game. Many games are the
rows of a ``uint64 [B, NUM_COLUMNS]`` array ("games"). :func:`load` and :func:`save` convert a row to a Game
and back. :class:`State` has the same content as readable arrays.

Symbols: W row width, H = 2W holes, B games.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mancala_env.engine.board import Board, seeds_within
from mancala_env.engine.jit.decorator import kernel
from mancala_env.rulesets import CHOICES, MAX_ROW_WIDTH, Ruleset

SOUTH, NORTH = 0, 1
PLAYERS = ("South", "North")
NO_PLAYER = -1

# Reasons for the end of a round, in column `end` of a game.
RUNNING, STUCK, STALLED, ENDLESS = range(4)
END_REASONS = ("", "stuck", "stall", "endless")

# Codes of the rule options in Rules: their indices in CHOICES.
UUR, PAIR, WEG = range(3)
MOVER_STUCK, EITHER_STUCK, BOTH_STUCK = range(3)
SINGLE, MIRROR, LOAN, TERRITORY = range(4)
FREE_OPENING, RIGHTMOST_OPENING, EIGHTS_OPENING = range(3)


class Rules(NamedTuple):
    """The rule options of a ruleset as integers for kernels: two numbers, then the options of CHOICES."""

    width: int
    seeds: int
    clockwise: int
    landing: int
    captures_last: int
    owns_either: int
    ransoms_empty: int
    round_end: int
    match: int
    opening: int


class Game(NamedTuple):
    """The current state of one game, without its history. All fields except the board are int64.

    Attributes:
        board: The seeds.
        owned_south: Bits of the holes that South owns (uur, weg, captured holes).
        owned_north: Bits of the holes that North owns.
        store_south: Seeds in South's store.
        store_north: Seeds in North's store.
        player: The player to move, 0 South or 1 North.
        stall: Number of turns in a row without a change in the number of free seeds, 0 to 50.
        end: RUNNING, or the reason for the end of the round: STUCK, STALLED, ENDLESS.
        territory: Bits of the holes South may sow from; the others are North's.
        round: Number of the round in its match, from 1.
        starter: The player who moved first in this round.
        debt_south: Seeds South owes North (Leyla).
        debt_north: Seeds North owes South.
    """

    board: Board
    owned_south: Any
    owned_north: Any
    store_south: Any
    store_north: Any
    player: Any
    stall: Any
    end: Any
    territory: Any
    round: Any
    starter: Any
    debt_south: Any
    debt_north: Any


NUM_RULES = len(Rules._fields)
"""Number of fields of Rules."""

# Columns of a games array: the three board words, the other fields of Game in order, and one unused column.
NUM_COLUMNS = 16
MOST_GAMES = 1 << 32
"""Most games of one array; together with the array of final games, it takes a terabyte."""
_COLUMNS = {name: len(Board._fields) + i for i, name in enumerate(Game._fields[1:])}
OWNED_COLUMN, STORE_COLUMN = _COLUMNS["owned_south"], _COLUMNS["store_south"]
PLAYER_COLUMN, STALL_COLUMN, END_COLUMN = _COLUMNS["player"], _COLUMNS["stall"], _COLUMNS["end"]
TERRITORY_COLUMN, ROUND_COLUMN = _COLUMNS["territory"], _COLUMNS["round"]
STARTER_COLUMN, DEBT_COLUMN = _COLUMNS["starter"], _COLUMNS["debt_south"]


class State(NamedTuple):
    """Games as readable arrays, batch first, in hole order.

    Attributes:
        seeds: int16 `[B, H]`, seeds in each hole.
        owner: int8 `[B, H]`, owner of each hole: -1 free, 0 South, 1 North.
        territory: int8 `[B, H]`, the player who may sow from each free hole: 0 or 1.
        stores: int16 `[B, 2]`, captured seeds of South and North.
        player: int8 `[B]`, the player to move.
        stall: int16 `[B]`, turns in a row without a change in the number of free seeds.
        end: int8 `[B]`, 0 while the round runs, otherwise an index of END_REASONS.
        round: int32 `[B]`, number of the round in its match, from 1.
        starter: int8 `[B]`, the player who moved first in the round.
        debts: int16 `[B, 2]`, seeds owed to the other player.
    """

    seeds: np.ndarray
    owner: np.ndarray
    territory: np.ndarray
    stores: np.ndarray
    player: np.ndarray
    stall: np.ndarray
    end: np.ndarray
    round: np.ndarray
    starter: np.ndarray
    debts: np.ndarray


@lru_cache
def encode(ruleset: Ruleset) -> Rules:
    """Return the rule options of a ruleset as integers for kernels."""
    codes = (choices.index(getattr(ruleset, option)) for option, choices in CHOICES.items())
    return Rules(ruleset.row_width, ruleset.seeds_per_hole, *codes)


@kernel
def rules_in(numbers):
    """Return the Rules whose fields are the first numbers of an int64 array."""
    n = numbers  # numba cannot build a tuple in a loop
    return Rules(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9])


@kernel
def load(games, b):
    """Return row b of a games array as a Game."""
    return Game(
        board=Board(games[b, 0], games[b, 1], games[b, 2]),
        owned_south=np.int64(games[b, OWNED_COLUMN]),
        owned_north=np.int64(games[b, OWNED_COLUMN + 1]),
        store_south=np.int64(games[b, STORE_COLUMN]),
        store_north=np.int64(games[b, STORE_COLUMN + 1]),
        player=np.int64(games[b, PLAYER_COLUMN]),
        stall=np.int64(games[b, STALL_COLUMN]),
        end=np.int64(games[b, END_COLUMN]),
        territory=np.int64(games[b, TERRITORY_COLUMN]),
        round=np.int64(games[b, ROUND_COLUMN]),
        starter=np.int64(games[b, STARTER_COLUMN]),
        debt_south=np.int64(games[b, DEBT_COLUMN]),
        debt_north=np.int64(games[b, DEBT_COLUMN + 1]),
    )


@kernel
def save(games, b, game):
    """Write a Game into row b of a games array."""
    # (A loop over the fields could raise an index error in WebAssembly, whose compiler does not unroll it.)
    games[b, 0] = game.board.low
    games[b, 1] = game.board.middle
    games[b, 2] = game.board.high
    games[b, OWNED_COLUMN] = game.owned_south
    games[b, OWNED_COLUMN + 1] = game.owned_north
    games[b, STORE_COLUMN] = game.store_south
    games[b, STORE_COLUMN + 1] = game.store_north
    games[b, PLAYER_COLUMN] = game.player
    games[b, STALL_COLUMN] = game.stall
    games[b, END_COLUMN] = game.end
    games[b, TERRITORY_COLUMN] = game.territory
    games[b, ROUND_COLUMN] = game.round
    games[b, STARTER_COLUMN] = game.starter
    games[b, DEBT_COLUMN] = game.debt_south
    games[b, DEBT_COLUMN + 1] = game.debt_north


@kernel
def all_holes(rules):
    """Return the bits of every hole of the board."""
    return (1 << (2 * rules.width)) - 1


@kernel
def row_of(rules, player):
    """Return the bits of a player's row."""
    return ((1 << rules.width) - 1) << (rules.width * player)


@kernel
def territory_of(rules, game, player):
    """Return the bits of the holes that a player may sow from while they are free."""
    return game.territory if player == SOUTH else all_holes(rules) & ~game.territory


@kernel
def owned_by(game, player):
    """Return the bits of the holes a player owns."""
    return game.owned_south if player == SOUTH else game.owned_north


@kernel
def store_of(game, player):
    """Return the seeds in a player's store."""
    return game.store_south if player == SOUTH else game.store_north


@kernel
def as_actions(rules, player, bits):
    """Turn bits of holes into bits of actions of a player (holes seen from them), RULES 2."""
    if player == SOUTH:
        return bits
    return ((bits >> rules.width) | (bits << rules.width)) & all_holes(rules)


@kernel
def hole_of(rules, player, action):
    """Return the hole of a player's action."""
    hole = action + rules.width * player
    return hole if hole < 2 * rules.width else hole - 2 * rules.width


@kernel
def action_of(rules, player, hole):
    """Return the player's action for a hole; the inverse of :func:`hole_of`."""
    action = hole - rules.width * player
    return action if action >= 0 else action + 2 * rules.width


@kernel
def from_right(rules, i):
    """Return the action of a player's i-th hole (from 0), counted from their rightmost hole (RULES 2)."""
    return i if rules.clockwise else rules.width - 1 - i


@kernel
def count_of(rules, game, player):
    """Return a player's count: store, owned holes wherever they lie, free seeds in their territory."""
    free = territory_of(rules, game, player) & ~(game.owned_south | game.owned_north)
    return store_of(game, player) + seeds_within(game.board, free | owned_by(game, player))


@kernel
def num_seeds(game):
    """Return all seeds of a game, in holes and stores; turns never change it."""
    return seeds_within(game.board, 0xFFFFFF) + game.store_south + game.store_north


@kernel
def margin_for(rules, game, total, player):
    """Return a player's lead in counts (RULES 4), the value of a leaf of a search.

    `total` is the number of seeds in the game.
    """
    margin = 2 * count_of(rules, game, SOUTH) - total
    return margin if player == SOUTH else -margin


@kernel
def with_turn(game, player, stall, end):
    """Return the game with another player to move, stall counter and end."""
    # Fields 5 to 7 are player, stall and end. numba slices a tuple at literal numbers only.
    return Game(*(*game[:5], player, stall, end, *game[8:]))


def unpack(games: np.ndarray, num_holes: int) -> State:
    """Return a games array uint64 `[B, NUM_COLUMNS]` as a State of new arrays."""
    board = np.ascontiguousarray(games[:, :OWNED_COLUMN]).view(np.uint8)[:, :num_holes]
    fields = games.astype(np.int64)
    hole = np.arange(num_holes)

    def bits(column: int) -> np.ndarray:
        return (fields[:, column, None] >> hole) & 1

    return State(
        seeds=board.astype(np.int16),
        owner=(bits(OWNED_COLUMN) + 2 * bits(OWNED_COLUMN + 1) - 1).astype(np.int8),
        territory=(1 - bits(TERRITORY_COLUMN)).astype(np.int8),
        stores=fields[:, STORE_COLUMN : STORE_COLUMN + 2].astype(np.int16),
        player=fields[:, PLAYER_COLUMN].astype(np.int8),
        stall=fields[:, STALL_COLUMN].astype(np.int16),
        end=fields[:, END_COLUMN].astype(np.int8),
        round=fields[:, ROUND_COLUMN].astype(np.int32),
        starter=fields[:, STARTER_COLUMN].astype(np.int8),
        debts=fields[:, DEBT_COLUMN : DEBT_COLUMN + 2].astype(np.int16),
    )


def pack(state: State) -> np.ndarray:
    """Return a State as a games array; the inverse of :func:`unpack`. The input is not checked."""
    seeds = np.atleast_2d(state.seeds)
    batch, num_holes = seeds.shape
    games = np.zeros((batch, NUM_COLUMNS), np.uint64)
    board = np.zeros((batch, 2 * MAX_ROW_WIDTH), np.uint8)
    board[:, :num_holes] = seeds
    games[:, :OWNED_COLUMN] = board.view(np.uint64)
    weights = 1 << np.arange(num_holes, dtype=np.int64)
    games[:, OWNED_COLUMN] = (np.asarray(state.owner) == SOUTH) @ weights
    games[:, OWNED_COLUMN + 1] = (np.asarray(state.owner) == NORTH) @ weights
    games[:, STORE_COLUMN : STORE_COLUMN + 2] = state.stores
    games[:, PLAYER_COLUMN] = state.player
    games[:, STALL_COLUMN] = state.stall
    games[:, END_COLUMN] = state.end
    games[:, TERRITORY_COLUMN] = (np.asarray(state.territory) == SOUTH) @ weights
    games[:, ROUND_COLUMN] = state.round
    games[:, STARTER_COLUMN] = state.starter
    games[:, DEBT_COLUMN : DEBT_COLUMN + 2] = state.debts
    return games
