"""Statistics of self-play games: their lengths, winners and endings."""

from collections import Counter

import numpy as np

from mancala_env.engine.state import END_COLUMN, ENDLESS, STALLED
from mancala_env.games.batch import Batch

# Counts by the metric that is their mean over games.
_METRICS = {
    "turns_per_game": "turns",
    "south_win_rate": "south",
    "north_win_rate": "north",
    "draw_rate": "draws",
    "stall_rate": "stalls",
    "endless_relay_rate": "endless",
}


class GameStatistics:
    """Counts of the self-play games that ended since the last call of :meth:`take`."""

    def __init__(self, num_games: int) -> None:
        self._turns = np.zeros(num_games, np.int64)
        self.counts: Counter[str] = Counter()

    def reset(self) -> None:
        """Drop the running games."""
        self._turns[:] = 0

    def note(self, rows: slice, batch: Batch) -> None:
        """Count the last step of the games in `batch`; `rows` are their indices among all games."""
        turns = self._turns[rows]
        turns += 1
        ended = np.flatnonzero(batch.done)
        if not len(ended):
            return
        south, ends = batch.rewards[ended, 0], batch.final_games[ended, END_COLUMN]
        counted = {"south": south > 0, "north": south < 0, "draws": south == 0}
        counted |= {"stalls": ends == STALLED, "endless": ends == ENDLESS}
        self.counts.update({name: int(each.sum()) for name, each in counted.items()})
        self.counts.update(games=len(ended), turns=int(turns[ended].sum()))
        turns[ended] = 0

    def take(self) -> Counter[str]:
        """Return the counts, and reset them to 0."""
        taken, self.counts = self.counts, Counter()
        return taken


def figures(counts: Counter[str]) -> dict[str, float]:
    """Return metrics of the counts: the mean length and rates; empty without games."""
    games = counts["games"]
    if not games:
        return {}
    means = {f"selfplay/{metric}": counts[name] / games for metric, name in _METRICS.items()}
    return {"selfplay/games": games} | means
