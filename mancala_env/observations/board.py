"""The observation kind "board": the whole position as a float32 vector.

Symbols: H holes, F features, B games. Features are seen from one player: index i of a part is that player's
action i. Their own row comes first, in sowing order. So a position looks the same from both seats, except
for the feature `south`.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mancala_env.engine.board import seeds_in
from mancala_env.engine.coordinates import holes_seen_by
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.jit.threads import run_in_slices
from mancala_env.engine.state import LOAN, SOUTH, TERRITORY, State, encode, hole_of, load, pack
from mancala_env.engine.turn import STALL_LIMIT
from mancala_env.errors import InvalidArgument
from mancala_env.rulesets import Ruleset, RulesetLike, lookup

VERSION = 1
"""Version of the features and their order; checkpoints store it."""


class Part(NamedTuple):
    """A part of the observation vector: its range of indices, its bounds and its meaning."""

    start: int
    stop: int
    low: float
    high: float
    meaning: str


def parts_of(layout: Iterable[tuple[str, int, float, float, str]]) -> dict[str, Part]:
    """Return a Part for each name, from numbers of features, bounds and meanings."""
    parts, start = {}, 0
    for name, size, low, high, meaning in layout:
        parts[name] = Part(start, start + size, float(low), float(high), meaning)
        start += size
    return parts


def parts(ruleset: RulesetLike) -> dict[str, Part]:
    """Return the parts of a ruleset's observation by name, in order, such as "seeds".

    Raises:
        InvalidRuleset: The ruleset is unknown.
    """
    ruleset = lookup(ruleset)
    num_holes, total = ruleset.num_holes, ruleset.total_seeds
    layout = [
        ("seeds", num_holes, 0, total, "seeds in each hole"),
        ("owned", num_holes, -1, 1, "1 where I own the hole, -1 where the opponent does, 0 free"),
    ]
    if ruleset.match == "territory":
        layout.append(("territory", num_holes, -1, 1, "1 where I may sow from, -1 the opponent"))
    layout.append(("stores", 2, 0, total, "captured seeds, mine and the opponent's"))
    if ruleset.match == "loan":
        layout.append(("debts", 2, 0, total, "seeds I owe the opponent, seeds they owe me"))
    return parts_of(
        [
            *layout,
            ("stall", 1, 0, STALL_LIMIT, "turns in a row without a change in the number of free seeds"),
            ("round", 1, 1, MAX_ROUNDS, "number of the round in its match, from 1"),
            ("started", 1, 0, 1, "1 where I moved first in this round"),
            ("to_move", 1, 0, 1, "1 where it is my turn"),
            ("south", 1, 0, 1, "1 where I am South"),
            ("end", 1, 0, 3, "0 while the round runs; 1 stuck, 2 stall, 3 endless relay"),
        ]
    )


def num_features(ruleset: RulesetLike) -> int:
    """Return F, the length of a ruleset's observation."""
    return list(parts(ruleset).values())[-1].stop


def bounds(ruleset: RulesetLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest value of each feature, float32 `[F]` each."""
    layout = parts(ruleset).values()
    sizes = [part.stop - part.start for part in layout]
    low, high = ([part.low for part in layout], [part.high for part in layout])
    return np.repeat(low, sizes).astype(np.float32), np.repeat(high, sizes).astype(np.float32)


@kernel
def write_board(rules, game, player, out, b):
    """Write a player's observation of a game into row b of float32 `[B, F]`."""
    num_holes = 2 * rules.width
    for i in range(num_holes):
        hole = hole_of(rules, player, i)
        out[b, i] = np.float32(np.int64(seeds_in(game.board, hole)))
        south_minus_north = ((game.owned_south >> hole) & 1) - ((game.owned_north >> hole) & 1)
        out[b, num_holes + i] = south_minus_north if player == SOUTH else -south_minus_north
    at = 2 * num_holes
    if rules.match == TERRITORY:
        for i in range(num_holes):
            is_south = (game.territory >> hole_of(rules, player, i)) & 1
            out[b, at + i] = 1 if is_south == (player == SOUTH) else -1
        at += num_holes
    is_south = player == SOUTH
    out[b, at] = game.store_south if is_south else game.store_north
    out[b, at + 1] = game.store_north if is_south else game.store_south
    at += 2
    if rules.match == LOAN:
        out[b, at] = game.debt_south if is_south else game.debt_north
        out[b, at + 1] = game.debt_north if is_south else game.debt_south
        at += 2
    out[b, at] = game.stall
    out[b, at + 1] = min(game.round, MAX_ROUNDS)
    out[b, at + 2] = game.starter == player
    out[b, at + 3] = game.player == player
    out[b, at + 4] = is_south
    out[b, at + 5] = game.end


@kernel
def _write_boards(rules, games, players, wanted, out, start, stop):
    for b in range(start, stop):
        if wanted[b]:
            game = load(games, b)
            write_board(rules, game, game.player if players[b] < 0 else players[b], out, b)


class BoardKind:
    """The observation kind "board", with the same methods as ActionKind."""

    is_per_action = False
    dtype = np.float32

    def version(self, ruleset: Ruleset | None) -> str:
        """Return the version of the features, the same for every ruleset."""
        return str(VERSION)

    def bounds(self, ruleset: Ruleset, num_actions: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest value of each feature, float32 `[F]` each."""
        return bounds(ruleset)

    def parts(self, ruleset: Ruleset, num_actions: int) -> dict[str, Part]:
        """Return the parts of the vector by name, in order."""
        return parts(ruleset)

    def write(
        self,
        ruleset: Ruleset,
        games: np.ndarray,
        players: np.ndarray,
        wanted: np.ndarray,
        out: np.ndarray,
        num_threads: int,
    ) -> None:
        """Write the observations of players (-1: the one to move) in the wanted games."""
        rules = encode(ruleset)
        run_in_slices(
            lambda a, b: _write_boards(rules, games, players, wanted, out, a, b), len(games), num_threads
        )


def games_from(ruleset: RulesetLike, observation: np.ndarray) -> np.ndarray:
    """Rebuild games, uint64 `[B, NUM_COLUMNS]`, from observations of the kind "board", which is lossless.

    Args:
        ruleset: The ruleset of the games.
        observation: float32 `[B, F]` or `[F]`.

    Raises:
        InvalidArgument: The observations have another width.
    """
    ruleset = lookup(ruleset)
    seen = np.atleast_2d(observation)
    if seen.ndim != 2 or seen.shape[1] != num_features(ruleset):
        raise InvalidArgument(
            f"observation must have {num_features(ruleset)} features in {ruleset.name}, not be of shape "
            f"{np.shape(observation)}"
        )
    values = {name: seen[:, part.start : part.stop] for name, part in parts(ruleset).items()}
    player = 1 - values["south"].astype(int)
    me = player[:, 0]
    # From the player's view to hole order. The permutation is its own inverse.
    turn = holes_seen_by(ruleset, me)
    mine = 1 - 2 * player  # converts signs of "me / opponent" to signs of South / North

    def in_hole_order(name: str) -> np.ndarray:
        return np.take_along_axis(values[name], turn, axis=1)

    def by_player(name: str) -> np.ndarray:
        return np.where(player == SOUTH, values[name], values[name][:, ::-1])

    owned = in_hole_order("owned") * mine
    is_norths = np.arange(ruleset.num_holes) >= ruleset.row_width
    if "territory" in values:
        is_norths = in_hole_order("territory") * mine < 0
    return pack(
        State(
            seeds=in_hole_order("seeds"),
            owner=np.select([owned > 0, owned < 0], [0, 1], -1),
            territory=np.broadcast_to(is_norths, owned.shape).astype(int),
            stores=by_player("stores"),
            player=np.where(values["to_move"][:, 0] == 1, me, 1 - me),
            stall=values["stall"][:, 0],
            end=values["end"][:, 0],
            round=values["round"][:, 0],
            starter=np.where(values["started"][:, 0] == 1, me, 1 - me),
            debts=by_player("debts") if "debts" in values else np.zeros((len(seen), 2)),
        )
    )
