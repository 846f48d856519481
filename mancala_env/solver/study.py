"""The order of null-window searches that find the values of a position and of its actions.

A *study* holds a position (row 0) and the positions after its turns (row 1 + action). Each row has bounds of
its value for the player to move in row 0: ``won + sign * value``. Here `value` is the value of the row's
position for its own player to move. Null-window searches narrow the bounds of a row until they are equal.
They start from a guess and follow the answers (MTD(f), Plaat et al. 1996). The position comes first, then the
actions in order. The first question about an action is whether it is optimal.

This module does not search. :func:`next_window` returns the next question, and :func:`take_answer` takes its
answer. So Python and WebAssembly (:mod:`tools.build_wasm`) ask the same questions in the same order.

Symbols: H holes.
"""

from typing import Any, NamedTuple

from mancala_env.engine.board import seeds_within
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import RUNNING, UUR, hole_of, load, save
from mancala_env.engine.turn import legal_holes, play_turn
from mancala_env.solver.margins import free_margin, owned_margin, store_margin
from mancala_env.solver.proofs import keys_of, look_up, scope_of
from mancala_env.solver.table import NO_MOVE

# Columns of a row: whether the turn is legal, sign and offset of its value, and the bounds.
IS_LEGAL, SIGN, WON, LOWER, UPPER = range(5)
ROW_COLUMNS = 5
# The current question: a row (-1: before the first), and the window of its position's value.
ROW, _LOW, _HIGH, BETA = range(4)
WINDOW_COLUMNS = 4

_ALL_BOARD = 0xFFFFFF


class Study(NamedTuple):
    """Arrays of a study."""

    games: Any  # uint64 `[1 + H, NUM_COLUMNS]`, the position and the positions after its turns
    rows: Any  # int64 `[1 + H, ROW_COLUMNS]`, their bounds
    window: Any  # int64 `[WINDOW_COLUMNS]`, the current question


@kernel
def known(rules, games, b, shares, table):
    """Return the bounds of the value of row b without a search, and a good action or NO_MOVE."""
    game = load(games, b)
    sure = owned_margin(game, game.player)
    if game.end != RUNNING:
        value = sure + free_margin(game, game.player)
        return value, value, NO_MOVE
    everything = seeds_within(game.board, _ALL_BOARD)
    free = seeds_within(game.board, ~(game.owned_south | game.owned_north))
    if rules.landing != UUR:
        free *= 3  # a ransom moves two more seeds
    keys = keys_of(rules, game, scope_of(rules, game.territory, shares))
    least, _, most, _, action = look_up(table, game, keys)
    lower = max(max(sure - free, -everything), sure + least)
    upper = min(min(sure + free, everything), sure + most)
    return lower, upper, action


@kernel
def first_beta(lower, upper, guess):
    """Return the first beta for a value within bounds that have its parity."""
    return min(max(guess + (guess - lower) % 2, lower + 2), upper)


@kernel
def narrowed(lower, upper, beta, answer):
    """Return the bounds after an answer (see :func:`take_answer`), and the next beta."""
    if answer >= beta:
        return min(answer, upper), upper, answer + 2
    return lower, max(answer, lower), answer


@kernel
def begin(rules, games, b, study):
    """Set up the study of row b of a games array, with trivial bounds."""
    game = load(games, b)
    save(study.games, 0, game)
    everything = seeds_within(game.board, _ALL_BOARD)
    _write_row(study.rows, 0, 1, 0, everything)
    holes = legal_holes(rules, game)
    for action in range(2 * rules.width):
        hole = hole_of(rules, game.player, action)
        if not (holes >> hole) & 1:
            study.rows[1 + action, IS_LEGAL] = 0
            continue
        after = play_turn(rules, game, hole)[0]
        save(study.games, 1 + action, after)
        won = store_margin(after, game.player) - store_margin(game, game.player)
        _write_row(study.rows, 1 + action, 1 if after.player == game.player else -1, won, everything)
    study.window[ROW] = -1
    study.window[_LOW] = study.window[_HIGH] = 0


@kernel
def _write_row(rows, row, sign, won, everything):
    rows[row, IS_LEGAL] = 1
    rows[row, SIGN] = sign
    rows[row, WON] = won
    rows[row, LOWER] = -everything
    rows[row, UPPER] = everything


@kernel
def take_bounds(rows, row, lower, upper):
    """Tighten a row's bounds with bounds on the value of its position."""
    sign, won = rows[row, SIGN], rows[row, WON]
    first, second = won + sign * lower, won + sign * upper
    rows[row, LOWER] = max(rows[row, LOWER], min(first, second))
    rows[row, UPPER] = min(rows[row, UPPER], max(first, second))


@kernel
def agree(rows):
    """Tighten the bounds of the position with its actions' bounds, and vice versa."""
    lower, upper = -_ALL_BOARD, -_ALL_BOARD
    for row in range(1, len(rows)):
        if rows[row, IS_LEGAL]:
            lower, upper = max(lower, rows[row, LOWER]), max(upper, rows[row, UPPER])
    if upper == -_ALL_BOARD:
        return
    rows[0, LOWER] = max(rows[0, LOWER], lower)
    rows[0, UPPER] = min(rows[0, UPPER], upper)
    for row in range(1, len(rows)):
        rows[row, UPPER] = min(rows[row, UPPER], rows[0, UPPER])


@kernel
def next_window(study, wants_all):
    """Set the next question in the window; return its row, or -1 if there is no further question.

    The question is whether the value of the row's position is at least ``window[BETA]``. Without `wants_all`,
    the study only finds which actions are optimal.
    """
    rows, window = study.rows, study.window
    row = window[ROW]
    if row >= 0 and window[_LOW] < window[_HIGH] and not _is_decided(rows, row, wants_all):
        return row
    while row + 1 < len(rows):
        row += 1
        if not rows[row, IS_LEGAL] or _is_decided(rows, row, wants_all):
            continue
        sign, won = rows[row, SIGN], rows[row, WON]
        first, second = sign * (rows[row, LOWER] - won), sign * (rows[row, UPPER] - won)
        # Is the action a best one?
        best = sign * (rows[0, UPPER] - won)
        guess = 0 if row == 0 else (best if sign > 0 else best + 2)
        window[ROW] = row
        window[_LOW], window[_HIGH] = min(first, second), max(first, second)
        window[BETA] = first_beta(window[_LOW], window[_HIGH], guess)
        return row
    window[ROW] = row
    return -1


@kernel
def _is_decided(rows, row, wants_all):
    lower, upper, best = rows[row, LOWER], rows[row, UPPER], rows[0, LOWER]
    if row == 0 or wants_all:
        return lower == upper
    return lower >= best or upper < best


@kernel
def take_answer(study, answer):
    """Take the answer to the question of :func:`next_window`.

    `answer` is a lower bound of the value if it is at least ``window[BETA]``, else an upper bound.
    """
    window = study.window
    low, high, beta = narrowed(window[_LOW], window[_HIGH], window[BETA], answer)
    window[_LOW], window[_HIGH], window[BETA] = low, high, beta
    take_bounds(study.rows, window[ROW], low, high)
    if window[ROW] == 0:
        agree(study.rows)
