"""Checks whether games can occur in a ruleset.

Kernels do not check their arguments: a running game without seeds would never end. So the public function
that takes games from a user checks them once.
"""

from typing import Any

import numpy as np

from mancala_env._util.checks import cpu_array
from mancala_env.engine.board import num_bits, seeds_within
from mancala_env.engine.episode import Rounds
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rounds import territory_after
from mancala_env.engine.state import (
    END_COLUMN,
    ENDLESS,
    LOAN,
    NUM_COLUMNS,
    OWNED_COLUMN,
    ROUND_COLUMN,
    RUNNING,
    STORE_COLUMN,
    TERRITORY,
    TERRITORY_COLUMN,
    WEG,
    State,
    all_holes,
    encode,
    load,
    num_seeds,
    unpack,
    with_turn,
)
from mancala_env.engine.turn import STALL_LIMIT, settled
from mancala_env.errors import InvalidPosition
from mancala_env.rulesets import Ruleset

REASONS = (
    "",
    "seeds lie in holes that the board does not have",
    "it holds more seeds than the ruleset has",
    "player is neither 0 (South) nor 1 (North)",
    "the stall counter is not 0 to 50",
    "end is not 0 to 3",
    "the number of the round is not from 1 to 2,147,483,647",
    "starter is neither 0 (South) nor 1 (North)",
    "a hole is owned by both players, or is not on the board",
    "owned holes do not come in opposite pairs",
    "territory is not what the ruleset allows",
    "debts are not what the ruleset allows",
    "its end is not what its seeds say: whether the round is over, and who moves, follows from them",
)
"""Reasons why a game is impossible, by the result of :func:`reason_against`; 0: it is possible."""
_OFF_BOARD, _TOO_MANY_SEEDS, _PLAYER, _STALL, _END, _ROUND, _STARTER = range(1, 8)
_OWNERS, _OWNED_PAIRS, _TERRITORY, _DEBTS, _WRONG_END = range(8, 13)


@kernel
def _is_in_pairs(rules, bits):
    """Return whether a set of holes contains the opposite of each of its holes."""
    for hole in range(rules.width):
        if ((bits >> hole) ^ (bits >> (2 * rules.width - 1 - hole))) & 1:
            return False
    return True


@kernel
def _is_possible_territory(rules, territory):
    """Return whether South's territory is possible: the own row, or after a gain or loss in Gabata."""
    gained = num_bits(territory) - rules.width if rules.match == TERRITORY else 0
    return abs(gained) < rules.width and territory == territory_after(rules, gained)


@kernel
def reason_against(rules, games, b):
    """Return the index in REASONS for row b; 0 if the game is possible."""
    for column in range(3, NUM_COLUMNS):
        if games[b, column] >> np.uint64(31):
            return _ROUND if column == ROUND_COLUMN else _TOO_MANY_SEEDS
    game = load(games, b)
    holes, total = all_holes(rules), 2 * rules.width * rules.seeds
    if seeds_within(game.board, ~holes & 0xFFFFFF):
        return _OFF_BOARD
    if num_seeds(game) > total:
        return _TOO_MANY_SEEDS
    if game.player > 1:
        return _PLAYER
    if game.stall > STALL_LIMIT:
        return _STALL
    if game.end > ENDLESS:
        return _END
    if game.round < 1:
        return _ROUND
    if game.starter > 1:
        return _STARTER
    owned = game.owned_south | game.owned_north
    if game.owned_south & game.owned_north or owned & ~holes:
        return _OWNERS
    is_paired = _is_in_pairs(rules, game.owned_south) and _is_in_pairs(rules, game.owned_north)
    if rules.landing != WEG and not is_paired:
        return _OWNED_PAIRS
    if not _is_possible_territory(rules, game.territory):
        return _TERRITORY
    if game.debt_south + game.debt_north > (total if rules.match == LOAN else 0):
        return _DEBTS
    if game.end != ENDLESS:
        after = settled(rules, with_turn(game, game.player, game.stall, RUNNING))
        if after.end != game.end or (game.end == RUNNING and after.player != game.player):
            return _WRONG_END
    return 0


@kernel
def first_impossible(rules, games):
    """Return the first impossible game and its index in REASONS, or -1 and 0."""
    for b in range(len(games)):
        wrong = reason_against(rules, games, b)
        if wrong:
            return b, wrong
    return -1, 0


def check_set_up(ruleset: Ruleset, games: np.ndarray) -> None:
    """Raise InvalidPosition, with the values, if the game of row 0 is impossible; its values are in range."""
    reason = reason_against(encode(ruleset), games, 0)
    if reason:
        raise InvalidPosition(_explained(ruleset, unpack(games, ruleset.num_holes), reason))


def _explained(ruleset: Ruleset, state: State, reason: int) -> str:
    """Return why a single game is impossible, with its numbers."""
    name, most = ruleset.name, ruleset.total_seeds
    owners, territory = state.owner[0], state.territory[0].tolist()
    debts = tuple(state.debts[0].tolist())
    if reason == _TOO_MANY_SEEDS:
        seeds = int(state.seeds.sum() + state.stores.sum())
        return f"{seeds} seeds in holes and stores, but {name} has {most}"
    if reason == _OWNED_PAIRS:
        hole = int(np.flatnonzero(owners != owners[::-1])[0])
        return (
            f"hole {hole} and its opposite {ruleset.num_holes - 1 - hole} have owners {owners[hole]} and "
            f"{owners[-1 - hole]}; in {name} owned holes come in opposite pairs"
        )
    if reason == _TERRITORY and ruleset.match != "territory":
        return f"territory {territory}: in {name} it is always the player's own row"
    if reason == _TERRITORY:
        return (
            f"territory {territory}: the stronger player gains the opponent's holes next to their own "
            "rightmost hole, in order, and never all of them"
        )
    if reason == _DEBTS and ruleset.match != "loan":
        return f"debts {debts}: {name} is played without debts"
    if reason == _DEBTS:
        return f"debts {debts}: together at most the {most} seeds of {name}"
    return REASONS[reason]


def check_array(games: Any) -> np.ndarray:
    """Return an array for kernels, uint64 `[B, NUM_COLUMNS]`; InvalidPosition for another shape or type."""
    if isinstance(getattr(games, "games", None), np.ndarray):
        name = type(games).__name__
        raise InvalidPosition(
            f"games must be uint64 of shape (B, {NUM_COLUMNS}), not {name}; give its .games"
        )
    array = cpu_array("games", games)
    if array.ndim != 2 or array.shape[1] != NUM_COLUMNS or array.dtype != np.uint64:
        found = f"{array.dtype} of shape {array.shape}" if array.ndim else type(games).__name__
        raise InvalidPosition(f"games must be uint64 of shape (B, {NUM_COLUMNS}), not {found}")
    return array


def check_games(ruleset: Ruleset, games: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Return games, uint64 `[B, NUM_COLUMNS]`, as a contiguous array if all are possible in a ruleset.

    Otherwise an InvalidPosition says why, and names the game by its number in `rows` or from 0 to B-1.
    """
    array = check_array(games)
    b, wrong = first_impossible(encode(ruleset), array)
    if b >= 0:
        name = b if rows is None else rows[b]
        raise InvalidPosition(f"game {name} is impossible in {ruleset.name}: {REASONS[wrong]}")
    return array


def check_running(
    ruleset: Ruleset, rounds: Rounds, games: np.ndarray, rows: np.ndarray | None = None
) -> np.ndarray:
    """Return games if an episode can start from all of them; see :func:`check_games` for the arguments.

    An InvalidPosition says that a game is impossible or over, that a player's territory is not their row
    although episodes have one round, or that seeds of the next round are missing.
    """
    taken = check_games(ruleset, games, rows)
    names = np.arange(len(taken)) if rows is None else rows
    over = np.flatnonzero(taken[:, END_COLUMN] != RUNNING)
    if len(over):
        raise InvalidPosition(f"game {names[over[0]]} is over; an episode needs a running game")
    if ruleset.num_actions(rounds) == ruleset.row_width:
        own_row = np.uint64((1 << ruleset.row_width) - 1)
        foreign = np.flatnonzero(taken[:, TERRITORY_COLUMN] != own_row)
        if len(foreign):
            raise InvalidPosition(
                f"in game {names[foreign[0]]} a player's territory is not their row, but the actions of a "
                'single round cover only the row; use rounds="match"'
            )
    if rounds != 1 and ruleset.match != "single":
        held = np.ascontiguousarray(taken[:, :OWNED_COLUMN]).view(np.uint8).sum(1, dtype=np.uint64)
        held += taken[:, STORE_COLUMN] + taken[:, STORE_COLUMN + 1]
        has_next = True if rounds == "match" else taken[:, ROUND_COLUMN] < np.uint64(rounds)
        short = np.flatnonzero((held < ruleset.total_seeds) & has_next)
        if len(short):
            missing = ruleset.total_seeds - int(held[short[0]])
            raise InvalidPosition(
                f"game {names[short[0]]} misses {missing} of {ruleset.total_seeds} seeds, so no next round "
                "can be set up; put captured seeds in stores, or use rounds=1"
            )
    return taken
