"""Observation kinds that show the result of each action.

A small network does not learn to sow over many laps: one more seed in a hole changes the whole turn. The
engine plays a turn in 50 ns. So these kinds play each legal action and show the position *after* it, the
afterstate, seen from the player who chooses. The network only evaluates positions.

| kind | features of an action |
|---|---|
| ``"afterstates"`` | the board after the action, and the lead in seeds |
| ``"replies"`` | ``"afterstates"``, and the lead after each reply of the next player |
| ``"lines"`` | ``"replies"``, and the leads after one and after two more turns of best play |
| ``"leaves"`` | ``"lines"``, and the boards of the three best lines, after the reply and at the end |
| ``"values"`` | like ``"leaves"``, with the bundled value network in place of the lead |

Symbols: B games, A actions, F features of the board, G features of an action.
"""

from functools import lru_cache
from hashlib import sha256

import numpy as np

from mancala_env._util.package_data import rulesets_with
from mancala_env.engine.board import nth_bit, num_bits
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.jit.threads import run_in_slices
from mancala_env.engine.state import RUNNING, encode, hole_of, load, margin_for, num_seeds
from mancala_env.engine.turn import legal_actions, play_turn
from mancala_env.errors import InvalidArgument
from mancala_env.networks.value import UNIT, leaf_value, unit_of
from mancala_env.networks.value_files import NoValueNetwork, bundled_network, read_for
from mancala_env.observations import board
from mancala_env.observations.board import Part, num_features, write_board
from mancala_env.rulesets import Ruleset

# Larger than every lead, also in sixteenths of a seed.
_NO_LEAD = -(1 << 20)
_HIGHEST = int(np.iinfo(np.int16).max)
# Version of the features of an action and their order.
_VERSION = 1
# Each game takes several turns here, so a thread may have fewer games.
_FEWEST_GAMES_PER_THREAD = 128
# A piece takes at most 0.1 s on 2x12 holes; then Python handles Ctrl-C.
_MOST_GAMES_PER_PIECE, _MOST_LINES_PER_PIECE = 8192, 256
# Number of turns that a kind plays: the action, each reply, best play of two more.
_REPLIES, _LINES = 2, 4
# Number of replies whose lines "leaves" and "values" show. A network on leaves, fitted to a search, found the
# best action in 77 % of positions without lines, 81 % with one and 83 % with three, for twice the time.
NUM_LINES = 3
# Number of boards of each line: after the reply, and at the end. With the end alone the network found 81 %.
BOARDS_OF_A_LINE = 2
# A line is stored as three numbers of this many bits: the indices of reply, third turn and fourth turn.
_BITS = 5
_NO_TURN = (1 << _BITS) - 1
_NO_LINE = (1 << 3 * _BITS) - 1
BOARDS = ("position", "leaves")
"""Parts that consist of boards."""


# Meanings of parts.
_POSITION = "the board after the action, seen from the player who chooses"
_NUM_REPLIES = "number of legal actions of the next player, at most A; 0 when the round is over"
_OUTPUT = (
    f"{UNIT} times the final margin in seeds that the value network expects for me (the current lead if the "
    "round is over or territory has changed hands)"
)
_ORDER = (
    "sorted by the {}, best for the replying player first; the last value is repeated; without a reply, the "
    "value after the action"
)
_AFTER_THIRD = "the same after the best following turn, by this measure"
_AFTER_FOURTH = "the same after best play of the two following turns"
_LEAVES = (
    "two boards for each of the first {} replies: after the reply, and after best play of two more turns "
    "(the first of equal ones); the boards of the last reply are repeated; after the end of the round, the "
    "board after the action"
)


class ActionKind:
    """An observation kind of int16 `[A, G]`.

    Rows of illegal actions are zeros, and so are all rows for the player who does not move.
    """

    is_per_action = True
    dtype = np.int16

    def __init__(self, plies: int, num_lines: int = 0, *, has_network: bool = False) -> None:
        """Define a kind that plays 1, 2 or 4 turns. With 4, it can show the boards of some lines.

        The value of a line is that of the bundled value network, or else the lead.
        """
        self._plies, self._num_lines, self._has_network = plies, num_lines, has_network

    def version(self, ruleset: Ruleset | None) -> str:
        """Return the version of the features, their order and the value network, which needs the ruleset."""
        version = f"{board.VERSION}.{_VERSION}"
        if not self._has_network:
            return version
        if ruleset is None:
            raise InvalidArgument(
                "the version of 'values' depends on the ruleset; pass one, such as version('values', 'leyla')"
            )
        return f"{version}.{_network_of(ruleset)[1]}"

    def bounds(self, ruleset: Ruleset, num_actions: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest value of each feature, int16 `[A, G]` each."""
        of_board = np.stack(board.bounds(ruleset))
        of_board[0] = np.minimum(of_board[0], 0)  # rows of illegal actions are zeros
        columns = []
        for name, part in self.parts(ruleset, num_actions).items():
            size = part.stop - part.start
            if name in BOARDS:
                columns.append(np.tile(of_board, size // of_board.shape[1]))
            else:
                columns.append(np.tile([[part.low], [part.high]], size))
        both = np.concatenate(columns, axis=1).astype(np.int16)
        return np.tile(both[0], (num_actions, 1)), np.tile(both[1], (num_actions, 1))

    def parts(self, ruleset: Ruleset, num_actions: int) -> dict[str, Part]:
        """Return the parts of an action's features by name, in order.

        ``position`` and each board of ``leaves`` have the layout and the bounds of
        :func:`mancala_env.observations.board.parts`.
        """
        boards = (-1, _HIGHEST)  # bounds has those of each feature
        leads = (-ruleset.total_seeds, ruleset.total_seeds)
        # The value of a line: the lead in seeds, or the output of the value network in parts of a seed.
        worth, values, measure = "leads", leads, "my count minus the opponent's"
        if self._has_network:
            worth, values, measure = "values", (UNIT * leads[0], UNIT * leads[1]), _OUTPUT
        layout = [
            ("position", num_features(ruleset), *boards, _POSITION),
            ("legal", 1, 0, 1, "1 where the action is legal"),
            ("lead", 1, *leads, "my count minus the opponent's after the action"),
        ]
        if self._plies >= _REPLIES:
            order = _ORDER.format("reply" if self._plies == _REPLIES else "fourth turn")
            layout += [
                ("num_replies", 1, 0, num_actions, _NUM_REPLIES),
                (f"reply_{worth}", num_actions, *values, f"{measure} after each reply, {order}"),
            ]
        if self._plies >= _LINES:
            layout += [
                (f"third_{worth}", num_actions, *values, _AFTER_THIRD),
                (f"fourth_{worth}", num_actions, *values, _AFTER_FOURTH),
            ]
        if self._num_lines:
            size = self._num_lines * BOARDS_OF_A_LINE * num_features(ruleset)
            layout.append(("leaves", size, *boards, _LEAVES.format(self._num_lines)))
        return board.parts_of(layout)

    def write(
        self,
        ruleset: Ruleset,
        games: np.ndarray,
        players: np.ndarray,
        wanted: np.ndarray,
        out: np.ndarray,
        num_threads: int,
    ) -> None:
        """Write the observations of `players` (-1: the player to move) in the `wanted` games."""
        num_actions = out.shape[1]
        rows = out.reshape(-1, out.shape[2])
        rules, base = encode(ruleset), num_features(ruleset)  # the board comes first
        # numba leaves out the branches of None, so "afterstates" compiles no look-ahead.
        ahead = (self._plies, self._num_lines) if self._plies >= _REPLIES else None
        network = _network_of(ruleset)[0] if self._has_network else None
        run_in_slices(
            lambda a, b: _write_actions(
                rules, network, games, players, wanted, num_actions, base, ahead, rows, a, b
            ),
            len(games),
            num_threads,
            fewest=_FEWEST_GAMES_PER_THREAD,
            most=_MOST_LINES_PER_PIECE if self._plies == _LINES else _MOST_GAMES_PER_PIECE,
        )


@lru_cache(maxsize=64)
def _network_of(ruleset: Ruleset) -> tuple[np.ndarray, str]:
    """Return the bundled value network of a ruleset in the format of kernels, and its hash."""
    try:
        network = read_for(bundled_network(ruleset), ruleset).packed()
    except NoValueNetwork as error:
        raise NoValueNetwork(
            f"the observation 'values' needs a bundled value network: {ruleset.name} has none, but "
            f"{', '.join(rulesets_with('value'))} have; 'leaves' does not need one"
        ) from error
    return network, sha256(network.astype("<i8").tobytes()).hexdigest()[:8]


@kernel
def _write_actions(rules, network, games, players, wanted, num_actions, base, ahead, rows, start, stop):
    """Write the features of every action of games start to stop; row b * A + a is action a of game b.

    `network` is a packed value network; if it is None, the value of a line is the lead. `ahead` is the number
    of turns to play and the number of lines to show, or None to play the action only.
    """
    for b in range(start, stop):
        if not wanted[b]:
            continue
        game = load(games, b)
        mover, total = game.player, num_seeds(game)
        legal = legal_actions(rules, game)
        if players[b] >= 0 and players[b] != mover:
            legal = 0
        for action in range(num_actions):
            row = b * num_actions + action
            if not (legal >> action) & 1:
                for i in range(rows.shape[1]):
                    rows[row, i] = 0
                continue
            after = play_turn(rules, game, hole_of(rules, mover, action))[0]
            write_board(rules, after, mover, rows, row)
            rows[row, base] = 1
            rows[row, base + 1] = margin_for(rules, after, total, mover)
            if ahead is not None:
                _write_ahead(rules, network, after, total, mover, num_actions, base, ahead, rows, row)


@kernel
def _write_ahead(rules, network, after, total, mover, num_actions, base, ahead, rows, row):
    """Write what follows an action: the values of replies, and the boards of lines."""
    plies, num_lines = ahead
    # Lines are stored in the columns of the first boards, which are therefore written last.
    at = base + 3 + 3 * num_actions if num_lines else 0
    _write_replies(rules, network, after, total, mover, num_actions, base + 2, plies, at, rows, row)
    for n in range(num_lines - 1, -1, -1):
        line = rows[row, at + min(n, max(rows[row, base + 2] - 1, 0))]
        reply = _played(rules, after, line, 0, 1)
        start_of_line = at + n * BOARDS_OF_A_LINE * base
        end = _played(rules, reply, line, 1, 3)
        write_board(rules, end, mover, rows[:, start_of_line + base :], row)
        write_board(rules, reply, mover, rows[:, start_of_line:], row)


@kernel
def _write_replies(rules, network, after, total, mover, num_actions, at, plies, lines_at, rows, row):
    """Write the number of replies and their values for the mover, best for the replier first.

    The line of each reply is stored from column `lines_at` on, in the same order; 0 stores no lines.
    """
    replier = after.player
    replies = legal_actions(rules, after)
    legal_replies = num_bits(replies) if after.end == RUNNING else 0
    # If territory has changed hands, there may be more legal actions than columns for a single round.
    num_replies = min(legal_replies, num_actions)
    rows[row, at] = num_replies
    first = at + 1
    if lines_at:
        rows[row, lines_at] = _NO_LINE
    for n in range(legal_replies):
        reply = play_turn(rules, after, hole_of(rules, replier, nth_bit(replies, n)))[0]
        value = second = third = leaf_value(rules, reply, total, mover, network)
        line = 0
        if plies == _LINES:
            third = _best_of_one(rules, network, reply, total, mover, -_NO_LEAD)[0]
            value, third_turn, fourth_turn = _best_of_two(rules, network, reply, total, mover)
            line = n | third_turn << _BITS | fourth_turn << 2 * _BITS
        i = first + min(n, num_actions - 1)
        j = i if plies == _REPLIES else i + 2 * num_actions  # the column by which replies are sorted
        if n >= num_actions and not _is_better(value, rows[row, j], replier == mover):
            continue  # otherwise it replaces the worst reply
        while i > first and _is_better(value, rows[row, j - 1], replier == mover):
            rows[row, i] = rows[row, i - 1]
            if plies == _LINES:
                rows[row, i + num_actions] = rows[row, i + num_actions - 1]
                rows[row, j] = rows[row, j - 1]
            if lines_at:
                rows[row, lines_at + i - first] = rows[row, lines_at + i - first - 1]
            i -= 1
            j -= 1
        rows[row, i] = second
        if plies == _LINES:
            rows[row, i + num_actions] = third
            rows[row, j] = value
        if lines_at:
            rows[row, lines_at + i - first] = line
    over = unit_of(network) * margin_for(rules, after, total, mover)
    for part in range(1 if plies == _REPLIES else 3):
        start = first + part * num_actions
        last = rows[row, start + num_replies - 1] if num_replies else over
        for i in range(start + num_replies, start + num_actions):
            rows[row, i] = last


@kernel
def _is_better(value, than, is_mine):
    """Return whether a value for the mover is better for the replier, who may be the mover."""
    return value > than if is_mine else value < than


@kernel
def _played(rules, game, line, first, last):
    """Return the game after turns `first` to `last` of a line, stored as indices of legal actions."""
    for turn in range(first, last):
        n = line >> turn * _BITS & _NO_TURN
        if n != _NO_TURN:
            actions = legal_actions(rules, game)
            game = play_turn(rules, game, hole_of(rules, game.player, nth_bit(actions, n)))[0]
    return game


@kernel
def _best_of_one(rules, network, game, total, mover, enough):
    """Return the value for the mover of the next player's best turn, and its index.

    The search stops at a turn whose value for the next player is at least `enough`.
    """
    if game.end != RUNNING:
        return leaf_value(rules, game, total, mover, network), _NO_TURN
    player = game.player
    actions = legal_actions(rules, game)
    best, best_turn = _NO_LEAD, _NO_TURN
    for n in range(num_bits(actions)):
        after = play_turn(rules, game, hole_of(rules, player, nth_bit(actions, n)))[0]
        value = leaf_value(rules, after, total, player, network)
        if value > best:
            best, best_turn = value, n
            if best >= enough:
                break
    return best if player == mover else -best, best_turn


@kernel
def _best_of_two(rules, network, game, total, mover):
    """Return the value for the mover of best play over the next two turns, and their indices."""
    if game.end != RUNNING:
        return leaf_value(rules, game, total, mover, network), _NO_TURN, _NO_TURN
    player = game.player
    actions = legal_actions(rules, game)
    best, best_turn, best_answer = _NO_LEAD, _NO_TURN, _NO_TURN
    for n in range(num_bits(actions)):
        after = play_turn(rules, game, hole_of(rules, player, nth_bit(actions, n)))[0]
        # Stop at a reply that makes this turn no better than the best turn so far.
        enough = -_NO_LEAD if after.player == player else -best
        value, answer = _best_of_one(rules, network, after, total, player, enough)
        if value > best:
            best, best_turn, best_answer = value, n, answer
    return best if player == mover else -best, best_turn, best_answer
