"""match+mcts: tree search that plays for the match, and the match values it needs.

A match value is P(South wins the match) - P(North wins), between two rounds. After a round the rest of a
match depends only on the counts, once debts are repaid, and on the player who starts the next round. A file
holds one number for each count of South, for a next round that South starts. Where North starts it, the seats
are exchanged. ``python -m tools.make_match_values`` makes the files.

The agent searches as :mod:`mancala_env.search.uct` does, but the result of a round is its match value. It
ignores a limit on the number of rounds.

Symbols: B games, T seeds in all.
"""

from pathlib import Path
from typing import Unpack

import numpy as np

from mancala_env._util.archives import ArrayFormat, InvalidArchive, read_arrays
from mancala_env._util.package_data import bundled_file_for_options, rulesets_with
from mancala_env.agents.base import AgentSettings, InvalidSpec
from mancala_env.agents.searchers import MctsAgent
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rounds import match_margin, next_round
from mancala_env.engine.state import (
    END_COLUMN,
    NUM_COLUMNS,
    ROUND_COLUMN,
    RUNNING,
    SOUTH,
    STARTER_COLUMN,
    STORE_COLUMN,
    STUCK,
    TERRITORY_COLUMN,
    encode,
    load,
    save,
)
from mancala_env.errors import printable
from mancala_env.games.records import options_of
from mancala_env.rulesets import Ruleset, RulesetLike
from mancala_env.search.limit import Limit
from mancala_env.search.uct import EXACT, LEAST, MAX_MATCH_VALUE, MOST


class NoMatchValues(InvalidSpec):
    """The ruleset has no match, or no match values are available for it."""


def finished_rounds(ruleset: Ruleset, games: np.ndarray) -> np.ndarray:
    """Return rounds that end with each count of South, 0 to T, uint64 `[B * (T + 1), NUM_COLUMNS]`.

    Each of B games has T + 1 rounds with its starter and its debts.
    """
    total = ruleset.total_seeds
    south = np.tile(np.arange(total + 1), len(games))
    finished = np.zeros((len(south), NUM_COLUMNS), np.uint64)
    finished[:, STARTER_COLUMN:] = np.repeat(games[:, STARTER_COLUMN:], total + 1, axis=0)
    finished[:, STORE_COLUMN], finished[:, STORE_COLUMN + 1] = south, total - south
    finished[:, TERRITORY_COLUMN] = (1 << ruleset.row_width) - 1
    finished[:, END_COLUMN], finished[:, ROUND_COLUMN] = STUCK, 1
    return finished


@kernel
def _write_after(rules, games, after, is_over, leads):
    for b in range(len(games)):
        game = load(games, b)
        next_game, is_over[b] = next_round(rules, game)
        leads[b] = match_margin(rules, game, True)
        if not is_over[b] and next_game.end != RUNNING:  # no player can move in the next round
            is_over[b] = True
            leads[b] = match_margin(rules, next_game, False)
        save(after, b, next_game)


def after_rounds(ruleset: Ruleset, games: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play on after finished rounds, uint64 `[B, NUM_COLUMNS]`.

    Return the next rounds, uint64 `[B, NUM_COLUMNS]`; whether the match is over instead, bool `[B]`; and
    South's lead in seeds once debts are repaid, int64 `[B]`.
    """
    after, is_over = np.zeros_like(games), np.zeros(len(games), np.bool_)
    leads = np.zeros(len(games), np.int64)
    _write_after(encode(ruleset), games, after, is_over, leads)
    return after, is_over, leads


def match_values(ruleset: Ruleset, values: np.ndarray, games: np.ndarray) -> np.ndarray:
    """Return the match value of each final count of South in running games, float64 `[B, T + 1]`.

    `values` is the result of :func:`read_values`.
    """
    after, is_over, leads = after_rounds(ruleset, finished_rounds(ruleset, games))
    total = ruleset.total_seeds
    is_souths = after[:, STARTER_COLUMN] == SOUTH
    of_next = np.where(is_souths, values[(total + leads) // 2], -values[(total - leads) // 2])
    return np.where(is_over, np.sign(leads), of_next).astype(float).reshape(len(games), total + 1)


def bundled_values(ruleset: Ruleset) -> Path:
    """Return the bundled file of match values for a ruleset, or raise NoMatchValues."""
    _check_match(ruleset)
    file = bundled_file_for_options("match", ruleset)
    if file is None:
        raise NoMatchValues(
            f"no match values are bundled for {ruleset.name}, only for: {', '.join(rulesets_with('match'))}; "
            "python -m tools.make_match_values makes those of a ruleset of the catalogue"
        )
    return file


def options_in_bytes(ruleset: Ruleset) -> np.ndarray:
    """Return the rule options of a ruleset as a file stores them: text in bytes, uint8 `[N]`."""
    return np.frombuffer(" ".join(options_of(ruleset, stored=True)).encode(), np.uint8)


def read_values(file: str | Path, ruleset: Ruleset) -> np.ndarray:
    """Read match values from a file: float32 `[T + 1]`, -1 to 1, read-only.

    The value can fall as the count grows, because another count can set up a worse round.

    Raises:
        NoMatchValues: The file cannot be read, has no match values, or is of another ruleset; or the ruleset
            has no match.
    """
    _check_match(ruleset)
    size = ruleset.total_seeds + 1
    try:
        formats = {"values": ArrayFormat("float32", (size,)), "dials": ArrayFormat("uint8", (None,))}
        arrays = read_arrays(Path(file), formats)
    except (InvalidArchive, OSError, ValueError) as error:  # ValueError: an invalid path
        raise NoMatchValues(f"{file} holds no match values of {ruleset.name} ({error})") from error
    if not np.array_equal(arrays["dials"], options_in_bytes(ruleset)):
        said = printable(arrays["dials"].tobytes().decode(errors="replace"))[:400]
        raise NoMatchValues(f"{file} holds match values of other rules than those of {ruleset.name}: {said}")
    found = arrays["values"]
    if not (np.abs(found) <= 1).all():  # false for NaN, too
        raise NoMatchValues(f"{file} holds match values outside -1 to 1")
    found.setflags(write=False)
    return found


def _check_match(ruleset: Ruleset) -> None:
    if ruleset.match == "single":
        raise NoMatchValues(
            f"{ruleset.name} has no match (match='single'), which match+mcts needs; play its rounds with mcts"
        )


class MatchMctsAgent(MctsAgent):
    """Play like mcts, with match values instead of margins as the results of rounds."""

    def __init__(
        self, ruleset: RulesetLike, limit: Limit, table: str | Path, **settings: Unpack[AgentSettings]
    ) -> None:
        """Bind the agent to a ruleset, simulations or a time, and a file for :func:`read_values`."""
        super().__init__(ruleset, limit, **settings)
        self._values = read_values(table, self.ruleset)

    def _match_values(self, games: np.ndarray) -> np.ndarray:
        return search_table(match_values(self.ruleset, self._values, games))


def search_table(match_values: np.ndarray) -> np.ndarray:
    """Convert match values, float64 `[B, T + 1]`, to the table of the search, int32 `[B, 3, T + 1]`."""
    table = np.empty((len(match_values), 3, match_values.shape[1]), np.int32)
    table[:, EXACT] = np.rint(MAX_MATCH_VALUE * match_values)
    table[:, LEAST] = np.minimum.accumulate(table[:, EXACT, ::-1], axis=1)[:, ::-1]
    table[:, MOST] = np.maximum.accumulate(table[:, EXACT], axis=1)
    return table
