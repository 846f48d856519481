"""A value network that is fast enough for every leaf of a search: 25 ns a position.

The value of a position for its player to move is the certain lead (stores and owned holes) plus the expected
further margin, in seeds:

    further = bias + sum over units u of weight[u] * max(0, bias[u] + sum over holes h of E[h, code(h), u])

E is a table. The content or the owner of each hole selects sixteen numbers, so the first layer is a sum. This
follows Nasu 2018, "Efficiently updatable neural-network-based evaluation functions". In kernels the numbers
are 16-bit integers, four to a word, so one addition adds four units. Each unit is scaled by its possible
range, so no sum overflows. Kernels call :func:`leaf_value`, and the alpha-beta search calls
:func:`unbounded_leaf_value`. Without a network, both are the margin of counts.

Holes are numbered from the player to move. The network was not trained on positions after territory has
changed hands (later rounds of a Gabata match). The value there is the margin of counts.

Symbols: H holes, C codes, U units, N positions.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mancala_env.engine.board import seeds_within
from mancala_env.engine.coordinates import holes_seen_by
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import (
    PLAYER_COLUMN,
    RUNNING,
    SOUTH,
    encode,
    load,
    margin_for,
    num_seeds,
    owned_by,
    row_of,
    store_of,
    unpack,
)
from mancala_env.errors import MancalaError
from mancala_env.rulesets import Ruleset

VERSION = 1
"""Version of the meaning of the weights, stored in files."""
UNIT = 16
"""Units per seed: values of a search with a network are in sixteenths of a seed."""
MOST_SEEDS = 21
"""Largest code of a free hole; a hole with more seeds has the same code."""
MINE, THEIRS = MOST_SEEDS + 1, MOST_SEEDS + 2
"""Codes of owned holes. The code of a free hole is its number of seeds."""
NUM_CODES = MOST_SEEDS + 3
NUM_UNITS = 16

# Words of a packed network: the bias, threshold and weight of each unit, then the table.
_WORDS = NUM_UNITS // 4
_UNITS_AT, _TABLE_AT = 1, 1 + 2 * NUM_UNITS
# Weights of units are whole numbers over 2**_SHIFT.
_SHIFT = 16
_MOST_SUM = 65_000  # below 65,535, so that rounding cannot overflow
LARGEST = 1e4
"""Limit of a weight, within which no kernel overflows. Those of trained networks are below 100."""

_U8, _U16 = np.uint64(8), np.uint64(16)
_BYTE, _LANE = np.uint64(0xFF), np.uint64(0xFFFF)


class InvalidValueNetwork(MancalaError):
    """The weights are not a value network of this version."""


@dataclass(frozen=True, kw_only=True)
class ValueNetworkConfig:
    """Sizes of a value network and VERSION of its code. This package supports only the default values."""

    num_holes: int
    version: int = VERSION
    num_codes: int = NUM_CODES
    num_units: int = NUM_UNITS

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each of its :class:`ValueWeights`."""
        units = (self.num_units,)
        return (self.num_holes, self.num_codes, self.num_units), units, units, (1,)

    @property
    def num_bytes(self) -> int:
        """Bytes of its weights in a file."""
        return 4 * sum(math.prod(shape) for shape in self.shapes)

    def check(self, ruleset: Ruleset) -> None:
        """Raise InvalidValueNetwork unless this package can run the network on a ruleset."""
        wanted = ValueNetworkConfig(num_holes=ruleset.num_holes)
        if repr(self) != repr(wanted):  # 12.0 and True equal whole numbers
            raise InvalidValueNetwork(f"its value network is {self}; expected {wanted}")


class ValueWeights(NamedTuple):
    """The weights of a value network, float32: embeddings `[H, C, U]`, those of units `[U]`, bias `[1]`."""

    embeddings: np.ndarray
    unit_biases: np.ndarray
    unit_weights: np.ndarray
    bias: np.ndarray

    def to_bytes(self) -> bytes:
        """Return all numbers in order, little-endian; :meth:`from_bytes` reads them back."""
        return b"".join(np.ascontiguousarray(part, "<f4").tobytes() for part in self)

    @staticmethod
    def from_bytes(content: bytes, config: ValueNetworkConfig) -> "ValueWeights":
        """Read weights; raise InvalidValueNetwork for another size, or numbers not finite or too large."""
        shapes = config.shapes
        sizes = [math.prod(shape) for shape in shapes]
        if len(content) != 4 * sum(sizes):
            raise InvalidValueNetwork(f"its value network has {len(content)} bytes, not {4 * sum(sizes)}")
        numbers = np.frombuffer(content, "<f4").astype(np.float32)
        if not (np.abs(numbers) <= LARGEST).all():  # false for NaN, too
            raise InvalidValueNetwork(f"its value network has numbers not finite or above {LARGEST:g}")
        parts = np.split(numbers, np.cumsum(sizes)[:-1])
        return ValueWeights(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))

    def packed(self) -> np.ndarray:
        """Return the packed network for kernels, int64 `[1 + 2 * U + H * C * U / 4]`."""
        num_holes = len(self.embeddings)
        network = np.zeros(_TABLE_AT + num_holes * NUM_CODES * _WORDS, np.int64)
        write_packed(np.concatenate([part.ravel() for part in self]), num_holes, network)
        return network


@kernel
def write_packed(weights, num_holes, network):
    """Write a packed network for kernels.

    Args:
        weights: float32, the numbers of :class:`ValueWeights` in order.
        num_holes: H.
        network: int64 `[1 + 2 * U + H * C * U / 4]`, zeros, written.
    """
    biases_at = num_holes * NUM_CODES * NUM_UNITS
    scale_of_weights = np.float64(UNIT << _SHIFT)
    network[0] = np.int64(np.rint(np.float64(weights[biases_at + 2 * NUM_UNITS]) * scale_of_weights))
    for unit in range(NUM_UNITS):
        span, base = 0.0, 0.0
        for hole in range(num_holes):
            lowest, highest = _range_of(weights, hole, unit)
            span += highest - lowest
            base += lowest
        scale = _MOST_SUM / max(span, 1e-3)  # a unit that never changes still needs one
        threshold = -(base + np.float64(weights[biases_at + unit])) * scale
        weight = np.float64(weights[biases_at + NUM_UNITS + unit]) / scale * scale_of_weights
        network[_UNITS_AT + 2 * unit] = np.int64(np.rint(threshold))
        network[_UNITS_AT + 2 * unit + 1] = np.int64(np.rint(weight))
        lane = 16 * (unit % 4)
        for hole in range(num_holes):
            lowest, _ = _range_of(weights, hole, unit)
            for code in range(NUM_CODES):
                row = hole * NUM_CODES + code
                number = np.rint((np.float64(weights[row * NUM_UNITS + unit]) - lowest) * scale)
                network[_TABLE_AT + row * _WORDS + unit // 4] |= np.int64(number) << lane


@kernel
def _range_of(weights, hole, unit):
    """Return the smallest and the largest number of a unit in a hole."""
    first = hole * NUM_CODES * NUM_UNITS + unit
    lowest = highest = np.float64(weights[first])
    for code in range(1, NUM_CODES):
        number = np.float64(weights[first + code * NUM_UNITS])
        lowest, highest = min(lowest, number), max(highest, number)
    return lowest, highest


def codes_of(ruleset: Ruleset, games: np.ndarray) -> np.ndarray:
    """Return the codes of the holes in games, the mover's first, int64 `[N, H]`."""
    state = unpack(games, ruleset.num_holes)
    player = games[:, PLAYER_COLUMN].astype(np.int64)[:, None]
    holes = holes_seen_by(ruleset, player[:, 0])
    seeds = np.take_along_axis(state.seeds.astype(np.int64), holes, axis=1)
    owner = np.take_along_axis(state.owner.astype(np.int64), holes, axis=1)
    free = np.minimum(seeds, MOST_SEEDS)
    return np.where(owner < 0, free, np.where(owner == player, MINE, THEIRS))


def certain_leads(ruleset: Ruleset, games: np.ndarray) -> np.ndarray:
    """Return the lead of the player to move in stores and owned holes, int64 `[N]`."""
    state = unpack(games, ruleset.num_holes)
    seeds, stores = state.seeds.astype(np.int64), state.stores.astype(np.int64)
    counts = [stores[:, player] + (seeds * (state.owner == player)).sum(axis=1) for player in (0, 1)]
    lead = counts[0] - counts[1]
    return np.where(games[:, PLAYER_COLUMN] == SOUTH, lead, -lead)


@kernel
def _word_of_units(sums, network, at):
    """Return the contribution of the four units with sums in a word."""
    sums = np.uint64(sums)
    further = 0
    for lane in range(4):
        above = np.int64(sums & _LANE) - network[at + 2 * lane]
        further += max(above, 0) * network[at + 2 * lane + 1]
        sums >>= _U16
    return further


@kernel
def _further_margin(rules, game, network):
    """Return the expected further margin of the player to move, in units of a value."""
    player = game.player
    num_holes = 2 * rules.width
    mine = owned_by(game, player)
    theirs = owned_by(game, 1 - player)
    first = second = third = fourth = 0
    seat = 0 if player == SOUTH else rules.width
    word = game.board.low
    for hole in range(num_holes):
        if hole == 8:
            word = game.board.middle
        elif hole == 16:
            word = game.board.high
        code = min(np.int64(word & _BYTE), MOST_SEEDS)
        word >>= _U8
        if (mine >> hole) & 1:
            code = MINE
        if (theirs >> hole) & 1:
            code = THEIRS
        at = _TABLE_AT + (seat * NUM_CODES + code) * _WORDS
        first += network[at]
        second += network[at + 1]
        third += network[at + 2]
        fourth += network[at + 3]
        seat = seat + 1 if seat + 1 < num_holes else 0
    further = network[0] + _word_of_units(first, network, _UNITS_AT)
    further += _word_of_units(second, network, _UNITS_AT + 8)
    further += _word_of_units(third, network, _UNITS_AT + 16)
    further += _word_of_units(fourth, network, _UNITS_AT + 24)
    return further >> _SHIFT


@kernel
def unit_of(network):
    """Return the number of units of a search value per seed: UNIT with a network, 1 without."""
    return 1 if network is None else UNIT


@kernel
def leaf_value(rules, game, total, player, network):
    """Return the value of a position for a player; it is final where the round is over.

    With a packed `network`, values are in sixteenths of a seed. If it is None, the value is the margin of
    counts in seeds. `total` is the number of seeds in the game. No value is larger than all seeds.
    """
    return within_total(unbounded_leaf_value(rules, game, total, player, network), total, network)


@kernel
def unbounded_leaf_value(rules, game, total, player, network):
    """Return the value of a position without the bound of :func:`leaf_value` on the sum with the stores.

    If only the stores of two positions differ, the values differ by exactly this difference. So a
    transposition table can leave out the stores.
    """
    if network is None:
        return margin_for(rules, game, total, player)
    if game.end != RUNNING or game.territory != row_of(rules, SOUTH):
        return UNIT * margin_for(rules, game, total, player)
    mover = game.player
    value = _further_margin(rules, game, network)
    if game.owned_south | game.owned_north:
        value += UNIT * seeds_within(game.board, owned_by(game, mover))
        value -= UNIT * seeds_within(game.board, owned_by(game, 1 - mover))
    value = within_total(value, total, network)
    value += UNIT * (store_of(game, mover) - store_of(game, 1 - mover))
    return value if player == mover else -value


@kernel
def within_total(value, total, network):
    """Return the value, but at most all seeds of the game for either player."""
    most = unit_of(network) * total
    return min(max(value, -most), most)


def position_values(ruleset: Ruleset, games: np.ndarray, network: np.ndarray | None) -> np.ndarray:
    """Return the :func:`leaf_value` of games for their players to move, float64 `[N]`, in seeds."""
    values = np.zeros(len(games), np.int64)
    _write_values(encode(ruleset), network, games, values)
    return values / unit_of(network)


@kernel
def _write_values(rules, network, games, values):
    for n in range(len(games)):
        game = load(games, n)
        values[n] = leaf_value(rules, game, num_seeds(game), game.player, network)
