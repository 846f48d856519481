"""What each action of the player to move leads to, played by the engine.

Sowing over many laps is a lookup no small network learns: one seed more or less in a hole changes where
everything ends up. The engine plays a turn in 50 ns, so these kinds play each legal action and show the
position *after* it, the afterstate, always from the side of the player who is to choose. The network is
left with what people do too: judge positions that lie still.

``"afterstates"`` shows each afterstate and the lead it leaves. ``"replies"`` adds the lead after each
reply of whoever moves next, ``"lines"`` also the leads that the best play of one and of two more turns
brings: a lookahead of one, two and four turns, done by the engine. ``"leaves"`` adds boards of the three
best of these lines, after the reply and at the end: a network can judge where they lead, and not only count.
``"values"`` is laid out as ``"leaves"``, but the lines are chosen by the value network that the package ships
for the ruleset (:mod:`mancala_env.networks`) in place of the count, and in place of leads it shows what that
network makes of them.

Symbols: B games, A actions, F features of the board, G features of an action.
"""

from functools import lru_cache
from hashlib import sha256

import numpy as np

from mancala_env._util.package_data import rulesets_with
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.jit.threads import run_in_slices
from mancala_env.engine.state import (
    RUNNING,
    encode,
    hole_of,
    load,
    margin_for,
    nth_bit,
    num_bits,
    num_seeds,
)
from mancala_env.engine.turn import legal_actions, play_turn
from mancala_env.errors import InvalidArgument
from mancala_env.networks.value import UNIT, leaf_value, unit_of
from mancala_env.networks.value_files import NoValueNetwork, read_for, shipped_network
from mancala_env.observations import board
from mancala_env.observations.board import Part, num_features, write_board
from mancala_env.rulesets import Ruleset

# Beyond every lead, in sixteenths of a seed too.
_NO_LEAD = -(1 << 20)
_HIGHEST = int(np.iinfo(np.int16).max)
# Changes whenever the meaning or the order of a feature of an action does.
_VERSION = 1
# A game is several turns here, so threads pay from fewer games on.
_FEWEST_GAMES_PER_THREAD = 128
# So many take a tenth of a second on 2x12 holes, or less; then Python hears Ctrl-C.
_MOST_GAMES_PER_PIECE, _MOST_LINES_PER_PIECE = 8192, 256
# Turns a kind plays ahead: the action itself, each reply to it, best play of two more.
_AFTERSTATES, _REPLIES, _LINES = 1, 2, 4
# "leaves" and "values" show the lines of so many replies. With one, a network on leaves that was fitted to a
# search found its best action in 81 of 100 positions and with three in 83 (without any in 77), for twice the
# time.
NUM_LINES = 3
# Of each line the board after the reply, and that at the end (which alone: 81 of 100).
BOARDS_OF_A_LINE = 2
# A line is written down as three numbers of so many bits: which reply, which third turn, which fourth.
_BITS = 5
_NO_TURN = (1 << _BITS) - 1
_NO_LINE = (1 << 3 * _BITS) - 1
BOARDS = ("position", "leaves")
"""Parts that are boards, one or several."""


class ActionKind:
    """An observation kind that shows int16 `[A, G]`; see :class:`mancala_env.observations.Observer`.

    An action that is not legal is all zeros, and so are all of a player who is not to move.
    """

    is_per_action = True
    dtype = np.int16

    def __init__(self, plies: int, lines: int = 0, *, has_judge: bool = False) -> None:
        """Show so many turns ahead: 1, 2 or 4; of four, so many lines with their boards.

        With a judge lines are worth what the shipped value network says, else the lead that they bring.
        """
        self._plies, self._lines, self._has_judge = plies, lines, has_judge

    def version(self, ruleset: Ruleset | None) -> str:
        """Return what changes whenever the meaning or the order of a feature does, or the judge.

        Raises:
            NoValueNetwork: There is no judge of the ruleset.
            InvalidArgument: There is a judge, and which depends on a ruleset that is None.
        """
        version = f"{board.VERSION}.{_VERSION}"
        if not self._has_judge:
            return version
        if ruleset is None:
            raise InvalidArgument(
                "the version of 'values' is another for each ruleset; name one: version('values', 'leyla')"
            )
        return f"{version}.{_judge_of(ruleset)[1]}"

    def shape(self, ruleset: Ruleset, num_actions: int) -> tuple[int, ...]:
        """Return `(A, G)`."""
        return (num_actions, list(self.parts(ruleset, num_actions).values())[-1].stop)

    def bounds(self, ruleset: Ruleset, num_actions: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest value of each feature, int16 `[A, G]` each."""
        of_board = np.stack(board.bounds(ruleset))
        of_board[0] = np.minimum(of_board[0], 0)  # an action that is not legal is all zeros
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
        """Return the parts of an action's features, in order, by name.

        ``position`` is laid out as :func:`mancala_env.observations.board.parts` says, which also bounds its
        features one by one, and so is each of ``leaves``.
        """
        layout = [
            ("position", num_features(ruleset), "the board after the action, seen by who chooses now"),
            ("legal", 1, "1 where the action is legal"),
            ("lead", 1, "my count minus the opponent's after the action"),
        ]
        # What a line is worth: a lead in seeds, or a judge's value in parts of a seed.
        worth, unit, measure = "leads", 1, "my count minus the opponent's"
        if self._has_judge:
            worth, unit = "values", UNIT
            measure = (
                f"{UNIT} times what I win by, in seeds, as the value network expects it (where the round is "
                "over or territory has changed hands, as the counts stand)"
            )
        if self._plies >= _REPLIES:
            last = "reply" if self._plies == _REPLIES else "fourth turn"
            layout += [
                (
                    "num_replies",
                    1,
                    "legal actions of whoever moves next, A at most; 0 when the round is over",
                ),
                (
                    f"reply_{worth}",
                    num_actions,
                    f"{measure} after each reply, the replier's best {last} first; past the last reply its "
                    "value again; without a reply the same after the action",
                ),
            ]
        if self._plies >= _LINES:
            layout += [
                (f"third_{worth}", num_actions, "the same after the best turn, by this, that follows it"),
                (f"fourth_{worth}", num_actions, "the same after best play of two turns that follow it"),
            ]
        if self._lines:
            layout.append(
                (
                    "leaves",
                    self._lines * BOARDS_OF_A_LINE * num_features(ruleset),
                    f"for each of the first {self._lines} replies the board after it and that after best "
                    "play of two more turns, of equal ones the first; past the last reply its boards again, "
                    "when the round is over the board after the action",
                )
            )
        # All others are leads and values.
        ranges = {"legal": (0, 1), "num_replies": (0, num_actions)} | dict.fromkeys(BOARDS, (-1, _HIGHEST))
        result, start = {}, 0
        for name, size, meaning in layout:
            most = ruleset.total_seeds * (unit if name.endswith(f"_{worth}") else 1)
            low, high = ranges.get(name, (-most, most))
            result[name] = Part(start, start + size, low, high, meaning)
            start += size
        return result

    def passing(self, out: np.ndarray) -> np.ndarray | None:
        """Return None: turns are played for it, so it is written after the step."""
        return None

    def write(
        self,
        ruleset: Ruleset,
        games: np.ndarray,
        players: np.ndarray,
        wanted: np.ndarray,
        out: np.ndarray,
        num_threads: int,
    ) -> None:
        """Write what players (-1: the one to move) see of the wanted games."""
        num_actions = out.shape[1]
        rows = out.reshape(-1, out.shape[2])
        rules, base = encode(ruleset), num_features(ruleset)  # the board comes first
        show = (num_actions, base, self._plies, self._lines)
        judge = _judge_of(ruleset)[0] if self._has_judge else None
        run_in_slices(
            lambda a, b: _write_actions(rules, judge, games, players, wanted, *show, rows, a, b),
            len(games),
            num_threads,
            fewest=_FEWEST_GAMES_PER_THREAD,
            most=_MOST_LINES_PER_PIECE if self._plies == _LINES else _MOST_GAMES_PER_PIECE,
        )


AFTERSTATES, REPLIES, LINES = ActionKind(_AFTERSTATES), ActionKind(_REPLIES), ActionKind(_LINES)
LEAVES = ActionKind(_LINES, NUM_LINES)
VALUES = ActionKind(_LINES, NUM_LINES, has_judge=True)


@lru_cache(maxsize=64)
def _judge_of(ruleset: Ruleset) -> tuple[np.ndarray, str]:
    """Return the shipped value network of a ruleset as kernels take it, and a hash of it.

    Raises:
        NoValueNetwork: There is none.
    """
    try:
        judge = read_for(shipped_network(ruleset), ruleset).packed()
    except NoValueNetwork as error:
        raise NoValueNetwork(
            f"the observation 'values' shows what the shipped value network says, and there is none of "
            f"{ruleset.name}, only of {', '.join(rulesets_with('value'))}; 'leaves' needs none"
        ) from error
    return judge, sha256(judge.astype("<i8").tobytes()).hexdigest()[:8]


@kernel
def _write_actions(
    rules, judge, games, players, wanted, num_actions, base, plies, num_lines, rows, start, stop
):
    """Write the features of every action of games start to stop; row b * A + a is action a of game b.

    `judge` is a packed value network, or None: lines are then worth the lead.
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
            # The lines are noted where the first boards come, so those are written last.
            at = base + 3 + 3 * num_actions if num_lines else 0
            if plies >= _REPLIES:
                _write_replies(rules, judge, after, total, mover, num_actions, base + 2, plies, at, rows, row)
            for n in range(num_lines - 1, -1, -1):
                line = rows[row, at + min(n, max(rows[row, base + 2] - 1, 0))]
                reply = _played(rules, after, line, 0, 1)
                start_of_line = at + n * BOARDS_OF_A_LINE * base
                end = _played(rules, reply, line, 1, 3)
                write_board(rules, end, mover, rows[:, start_of_line + base :], row)
                write_board(rules, reply, mover, rows[:, start_of_line:], row)


@kernel
def _write_replies(rules, judge, after, total, mover, num_actions, at, plies, lines_at, rows, row):
    """Write how many replies there are and what each is worth to the mover, best for the replier first.

    The line of each reply is noted from column `lines_at` on, in the same order; 0: nowhere.
    """
    replier = after.player
    replies = legal_actions(rules, after)
    legal_replies = num_bits(replies) if after.end == RUNNING else 0
    # Where territory has changed hands, more may be legal than a network of single rounds has columns for.
    num_replies = min(legal_replies, num_actions)
    rows[row, at] = num_replies
    first = at + 1
    if lines_at:
        rows[row, lines_at] = _NO_LINE
    for n in range(legal_replies):
        reply = play_turn(rules, after, hole_of(rules, replier, nth_bit(replies, n)))[0]
        value = second = third = leaf_value(rules, reply, total, mover, judge)
        line = 0
        if plies == _LINES:
            third = _best_of_one(rules, judge, reply, total, mover, -_NO_LEAD)[0]
            value, third_turn, fourth_turn = _best_of_two(rules, judge, reply, total, mover)
            line = n | third_turn << _BITS | fourth_turn << 2 * _BITS
        i = first + min(n, num_actions - 1)
        j = i if plies == _REPLIES else i + 2 * num_actions  # by what the replies are sorted
        if n >= num_actions and not _is_better(value, rows[row, j], replier == mover):
            continue  # else it takes the place of the worst
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
    over = unit_of(judge) * margin_for(rules, after, total, mover)
    for part in range(1 if plies == _REPLIES else 3):
        start = first + part * num_actions
        last = rows[row, start + num_replies - 1] if num_replies else over
        for i in range(start + num_replies, start + num_actions):
            rows[row, i] = last


@kernel
def _is_better(value, than, is_mine):
    """Tell whether what is worth so much to the mover is better for the replier, maybe the mover as well."""
    return value > than if is_mine else value < than


@kernel
def _played(rules, game, line, first, last):
    """Return the game after some turns of a line; each is noted as which of the legal ones it is."""
    for turn in range(first, last):
        n = line >> turn * _BITS & _NO_TURN
        if n != _NO_TURN:
            actions = legal_actions(rules, game)
            game = play_turn(rules, game, hole_of(rules, game.player, nth_bit(actions, n)))[0]
    return game


@kernel
def _best_of_one(rules, judge, game, total, mover, enough):
    """Return what the best turn at once of whoever moves next is worth to the mover, and which it is.

    It looks no further once a turn is worth `enough` to whoever moves next.
    """
    if game.end != RUNNING:
        return leaf_value(rules, game, total, mover, judge), _NO_TURN
    player = game.player
    actions = legal_actions(rules, game)
    best, best_turn = _NO_LEAD, _NO_TURN
    for n in range(num_bits(actions)):
        after = play_turn(rules, game, hole_of(rules, player, nth_bit(actions, n)))[0]
        value = leaf_value(rules, after, total, player, judge)
        if value > best:
            best, best_turn = value, n
            if best >= enough:
                break
    return best if player == mover else -best, best_turn


@kernel
def _best_of_two(rules, judge, game, total, mover):
    """Return what best play over the next two turns is worth to the mover, and which turns these are."""
    if game.end != RUNNING:
        return leaf_value(rules, game, total, mover, judge), _NO_TURN, _NO_TURN
    player = game.player
    actions = legal_actions(rules, game)
    best, best_turn, best_answer = _NO_LEAD, _NO_TURN, _NO_TURN
    for n in range(num_bits(actions)):
        after = play_turn(rules, game, hole_of(rules, player, nth_bit(actions, n)))[0]
        # An answer that makes this turn no better than the best one settles it.
        enough = -_NO_LEAD if after.player == player else -best
        value, answer = _best_of_one(rules, judge, after, total, player, enough)
        if value > best:
            best, best_turn, best_answer = value, n, answer
    return best if player == mover else -best, best_turn, best_answer
