"""Bounds of a study by the solver's table, for the browser's solver."""

from mancala_env.engine.jit.decorator import kernel
from mancala_env.solver.study import IS_LEGAL, LOWER, SIGN, UPPER, WON, agree, known, take_bounds


@kernel
def read_known(rules, study, shares, table):
    """Tighten the bounds of every row by the table."""
    for row in range(len(study.rows)):
        if study.rows[row, IS_LEGAL]:
            lower, upper, _ = known(rules, study.games, row, shares, table)
            take_bounds(study.rows, row, lower, upper)
    agree(study.rows)


@kernel
def bounds_now(rules, study, row, shares, table):
    """Return the current bounds of a row, tightened by the table; the study does not change."""
    rows = study.rows
    lower, upper = rows[row, LOWER], rows[row, UPPER]
    if not rows[row, IS_LEGAL] or lower == upper:
        return lower, upper
    sign, won = rows[row, SIGN], rows[row, WON]
    least, most, _ = known(rules, study.games, row, shares, table)
    first, second = won + sign * least, won + sign * most
    return max(lower, min(first, second)), min(min(upper, rows[0, UPPER]), max(first, second))
