"""Statistics of self-play games: their lengths, winners and endings."""

import numpy as np

from mancala_env.engine.state import END_COLUMN, ENDLESS, STALLED
from mancala_env.games.batch import Batch

_COUNTS = ("games", "turns", "south", "north", "draws", "stalls", "endless")


class GameStatistics:
    """Counts of the mirror games that ended since the counts were read last.

    Attributes:
        counts: Counts by name: games that ended, their turns, wins of South and North, draws, and games
            whose last round ended with a stall or an endless relay.
    """

    def __init__(self, num_games: int) -> None:
        self._turns = np.zeros(num_games, np.int64)
        self.counts: dict[str, int] = dict.fromkeys(_COUNTS, 0)

    def reset(self) -> None:
        """Drop the running games."""
        self._turns[:] = 0

    def note(self, rows: slice, batch: Batch) -> None:
        """Count a step of some of the games, right after it was played.

        Args:
            rows: The rows of the games among all games.
            batch: The games.
        """
        turns, counts = self._turns[rows], self.counts
        turns += 1
        ended = np.flatnonzero(batch.done)
        if not len(ended):
            return
        south, ends = batch.rewards[ended, 0], batch.final_games[ended, END_COLUMN]
        counts["games"] += len(ended)
        counts["turns"] += int(turns[ended].sum())
        counts["south"] += int(np.count_nonzero(south > 0))
        counts["north"] += int(np.count_nonzero(south < 0))
        counts["draws"] += int(np.count_nonzero(south == 0))
        counts["stalls"] += int(np.count_nonzero(ends == STALLED))
        counts["endless"] += int(np.count_nonzero(ends == ENDLESS))
        turns[ended] = 0

    def take(self) -> dict[str, int]:
        """Return the counts, and reset them to 0."""
        taken = dict(self.counts)
        self.counts.update(dict.fromkeys(_COUNTS, 0))
        return taken


def figures(counts: dict[str, int]) -> dict[str, float]:
    """Return metrics of the counts: the mean length and rates; empty without games."""
    games = counts["games"]
    if not games:
        return {}
    return {
        "selfplay/games": games,
        "selfplay/turns_per_game": counts["turns"] / games,
        "selfplay/south_win_rate": counts["south"] / games,
        "selfplay/north_win_rate": counts["north"] / games,
        "selfplay/draw_rate": counts["draws"] / games,
        "selfplay/stall_rate": counts["stalls"] / games,
        "selfplay/endless_relay_rate": counts["endless"] / games,
    }
