"""What the states of a match are worth, between two rounds: the values that match+mcts plays for.

After a round the rest of a match depends on the counts, once debts are repaid, and on who starts the next
round, and on nothing else: :func:`next_round` sets up from these. A file holds one number for each count of
South's, for a next round that South starts; where North starts it, the same with the seats exchanged.
``python -m tools.make_match_values`` makes the files, by rounds that a quick agent plays with
itself.

Symbols: B games, T seeds in all.
"""

from pathlib import Path

import numpy as np

from mancala_env._util.archives import ArrayFormat, InvalidArchive, read_arrays
from mancala_env._util.package_data import bundled_file_for_options, rulesets_with
from mancala_env.agents.base import InvalidSpec
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rounds import match_margin, next_round
from mancala_env.engine.state import (
    NORTH,
    NUM_COLUMNS,
    RUNNING,
    SOUTH,
    STUCK,
    Board,
    Game,
    encode,
    load,
    save,
)
from mancala_env.errors import printable
from mancala_env.games.records import dials_of
from mancala_env.rulesets import Ruleset


class NoMatchValues(InvalidSpec):
    """A ruleset whose rounds follow no match, or for which no values of match states are known."""


@kernel
def _counted(rules, margin, starter, debt_south, debt_north):
    """Return a round that is over and left South ahead by a margin."""
    none = np.uint64(0)
    total = 2 * rules.width * rules.seeds
    south = (total + margin) // 2
    row = (1 << rules.width) - 1
    return Game(
        Board(none, none, none),
        0,
        0,
        south,
        total - south,
        SOUTH,
        0,
        STUCK,
        row,
        1,
        starter,
        debt_south,
        debt_north,
    )


@kernel
def _after(rules, game):
    """Return the round after a finished one, whether the match is over, and by how much South leads then."""
    after, is_over = next_round(rules, game)
    if is_over or after.end != RUNNING:  # (where nobody can move in the round that was set up, too)
        return after, True, match_margin(rules, game if is_over else after, is_over)
    return after, False, match_margin(rules, game, True)


@kernel
def _worth(rules, values, game):
    """Return what the match is worth to South after a finished round."""
    after, is_over, lead = _after(rules, game)
    if is_over:
        return np.float64(np.sign(lead))
    total = 2 * rules.width * rules.seeds
    if after.starter == SOUTH:
        return np.float64(values[(total + lead) // 2])
    return -np.float64(values[(total - lead) // 2])


@kernel
def _write_worths(rules, values, games, worths):
    for b in range(len(games)):
        game = load(games, b)
        total = 2 * rules.width * rules.seeds
        for south in range(total + 1):
            margin = 2 * south - total
            counted = _counted(rules, margin, game.starter, game.debt_south, game.debt_north)
            worths[b, south] = _worth(rules, values, counted)


def worths(ruleset: Ruleset, values: np.ndarray, games: np.ndarray) -> np.ndarray:
    """Return what each count of South's at the end of the round under way is worth, float64 `[B, T + 1]`.

    Args:
        ruleset: The game.
        values: float32 `[T + 1]`, as :func:`read_values` returns them.
        games: Running games, uint64 `[B, NUM_COLUMNS]`.
    """
    found = np.empty((len(games), ruleset.total_seeds + 1))
    _write_worths(encode(ruleset), values, games, found)
    return found


@kernel
def _write_after(rules, games, after, is_over, leads):
    for b in range(len(games)):
        game, is_over[b], leads[b] = _after(rules, load(games, b))
        save(after, b, game)


def after_rounds(ruleset: Ruleset, games: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what finished rounds, uint64 `[B, NUM_COLUMNS]`, are followed by.

    Returns:
        The rounds that follow, in such an array; bool `[B]`, whether the match is over instead; and int64
        `[B]`, by how many seeds South leads once debts are repaid.
    """
    after, is_over, leads = (
        np.zeros_like(games),
        np.zeros(len(games), np.bool_),
        np.zeros(len(games), np.int64),
    )
    _write_after(encode(ruleset), games, after, is_over, leads)
    return after, is_over, leads


@kernel
def _write_counted(rules, games):
    for south in range(len(games)):
        save(games, south, _counted(rules, 2 * south - 2 * rules.width * rules.seeds, NORTH, 0, 0))


def finished_rounds(ruleset: Ruleset) -> np.ndarray:
    """Return a finished round that North began, for each count of South's, uint64 `[T + 1, NUM_COLUMNS]`."""
    games = np.zeros((ruleset.total_seeds + 1, NUM_COLUMNS), np.uint64)
    _write_counted(encode(ruleset), games)
    return games


def shipped_values(ruleset: Ruleset) -> Path:
    """Return the file of the values of match states that are shipped for a ruleset, by its dials.

    Raises:
        NoMatchValues: There are none; the message says what to do.
    """
    _check_match(ruleset)
    file = bundled_file_for_options("match", ruleset)
    if file is None:
        raise NoMatchValues(
            f"no values of match states of {ruleset.name}; python -m tools.make_match_values "
            f"makes those of a ruleset of the catalogue, and there are some of: "
            f"{', '.join(rulesets_with('match'))}"
        )
    return file


def dials_in_bytes(ruleset: Ruleset) -> np.ndarray:
    """Return what a file says of the ruleset that its values are of, uint8 `[N]`: its dials as text."""
    return np.frombuffer(" ".join(dials_of(ruleset)).encode(), np.uint8)


def read_values(file: str | Path, ruleset: Ruleset) -> np.ndarray:
    """Read the values of match states of a file, float32 `[T + 1]`, not to be written to.

    They are P(South wins the match) - P(North wins), for each count of South's after a round, debts repaid,
    of a match whose next round South starts. A seed more can be worth less: it can set up a worse round.

    Raises:
        NoMatchValues: It cannot be read, holds no such values or those of other rules, or the ruleset has no
            match.
    """
    _check_match(ruleset)
    try:
        arrays = read_arrays(
            Path(file),
            {
                "values": ArrayFormat("float32", (ruleset.total_seeds + 1,)),
                "dials": ArrayFormat("uint8", (None,)),
            },
        )
    except (InvalidArchive, OSError, ValueError) as error:  # ValueError: no path can be so called
        raise NoMatchValues(f"{file} holds no values of match states of {ruleset.name} ({error})") from error
    if not np.array_equal(arrays["dials"], dials_in_bytes(ruleset)):
        said = printable(arrays["dials"].tobytes().decode(errors="replace"))[:400]
        raise NoMatchValues(
            f"{file} holds values of match states of other rules than {ruleset.name}'s: {said}"
        )
    found = arrays["values"]
    if not (np.abs(found) <= 1).all():  # (nor where a number is NaN)
        raise NoMatchValues(f"{file} holds no values of match states: -1 to 1 would be right")
    found.setflags(write=False)
    return found


def _check_match(ruleset: Ruleset) -> None:
    if ruleset.match == "single":
        raise NoMatchValues(
            f"match+mcts plays for the match, and {ruleset.name} has none (match='single'); mcts plays its "
            "rounds"
        )
