"""A replay of positions that a search labelled.

The value's target mixes the search's value with the outcome of the game. So a position becomes an example
when its game is over. Values are from the view of the player to move.

Symbols: N positions, A actions, T steps of a rollout, B games.
"""

from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from mancala_env._util.archives import ArrayFormat, InvalidArchive, read_arrays
from mancala_env.engine.episode import Rounds
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.engine.state import NUM_COLUMNS, PLAYER_COLUMN, SOUTH
from mancala_env.engine.validation import check_running
from mancala_env.observations import Observer
from mancala_env.training.distillation import Examples
from mancala_env.training.run_folder import reading, write_atomically

REPLAY_FILE = "replay.npz"
# A file up to this size is read even if the replay is smaller now.
_ALWAYS_READ = 1 << 26
_HEADERS = 1 << 12
# Probabilities sum to 1 within this tolerance.
_ROUNDING = 1e-3


class Searched(NamedTuple):
    """Positions with the labels of a search.

    Attributes:
        games: uint64 `[N, NUM_COLUMNS]`, running games.
        observations: `[N, ...]`, observations of the players to move.
        is_legal: bool `[N, A]`, legal actions.
        targets: float32 `[N, A]`, targets of the policy.
        values: float32 `[N]`, the search's values to the players to move, as rewards.
    """

    games: np.ndarray
    observations: np.ndarray
    is_legal: np.ndarray
    targets: np.ndarray
    values: np.ndarray

    def select(self, rows: np.ndarray) -> "Searched":
        """Return the positions of some rows."""
        return Searched(*(each[rows] for each in self))


def ends_of(rewards: np.ndarray, dones: np.ndarray, players: np.ndarray) -> np.ndarray:
    """Return South's reward at the end of the game of each step, float32 `[T, B]`; NaN if it is not over.

    The arguments, `[T, B]`, are the players of the steps, their rewards, and whether the step ended its game.
    """
    souths = np.where(players == SOUTH, rewards, -rewards)
    ends, end = np.empty(rewards.shape, np.float32), np.full(rewards.shape[1], np.nan, np.float32)
    for step in reversed(range(len(rewards))):
        end = np.where(dones[step], souths[step], end)
        ends[step] = end
    return ends


class Replay:
    """The latest examples of finished games, and the positions of running games.

    Attributes:
        examples: Searched positions, whose values are the targets of the value; the first `len(self)` rows.
    """

    def __init__(
        self, observer: Observer, rounds: Rounds, most: int, search_share: float, seed: int | None
    ) -> None:
        """Create an empty replay of at most `most` examples.

        `search_share` is the weight of the search's value in the value's target; the rest is the outcome.
        """
        self._observer = observer
        self._rounds: Rounds = rounds
        self._most, self._search_share = most, search_share
        self._draw = np.random.default_rng(seed)
        self.examples = Searched(
            np.empty((most, NUM_COLUMNS), np.uint64),
            observer.empty(most),
            np.empty((most, observer.num_actions), np.bool_),
            np.empty((most, observer.num_actions), np.float32),
            np.empty(most, np.float32),
        )
        self._added = 0
        self.forget_running_games()

    def __len__(self) -> int:
        return min(self._added, self._most)

    @property
    def num_waiting(self) -> int:
        """Number of positions of running games."""
        return len(self._waiting_rows)

    def forget_running_games(self) -> None:
        """Drop the positions of running games, whose outcomes will never be known."""
        self._waiting, self._waiting_rows = self.examples.select(np.arange(0)), np.arange(0)

    def add(self, searched: Searched, steps: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> None:
        """Add N positions of a rollout; all positions of games that it ended become examples.

        `steps` and `rows` `[N]` are their steps and games in the rollout; `ends` is from :func:`ends_of`.
        """
        # Waiting positions belong to the games that were running when the rollout began.
        end = np.concatenate([ends[0, self._waiting_rows], ends[steps, rows]])
        searched = Searched(*map(np.concatenate, zip(self._waiting, searched, strict=True)))
        rows = np.concatenate([self._waiting_rows, rows])
        is_over = np.isfinite(end)
        self._waiting, self._waiting_rows = searched.select(~is_over), rows[~is_over]
        over, end = searched.select(is_over), end[is_over]
        outcomes = np.where(over.games[:, PLAYER_COLUMN] == SOUTH, end, -end)
        values = self._search_share * over.values + (1 - self._search_share) * outcomes
        self._put(over._replace(values=values))

    def _put(self, searched: Searched) -> None:
        count = len(searched.values)
        kept = slice(max(0, count - self._most), None)
        at = (self._added + np.arange(count))[kept] % self._most
        for stored, new in zip(self.examples, searched, strict=True):
            stored[at] = new[kept]
        self._added += count

    def sample(self, size: int, device: torch.device) -> Examples:
        """Sample examples uniformly, with replacement."""
        rows = self._draw.integers(0, len(self), size)
        return Examples(*(torch.from_numpy(each[rows]).to(device) for each in self.examples[1:]))

    def save(self, path: Path) -> None:
        """Write the examples to a file atomically, the oldest first."""
        count = len(self)
        rows = (self._added - count + np.arange(count)) % self._most
        found, packed = self.examples.select(rows), BytesIO()
        np.savez_compressed(packed, games=found.games, targets=found.targets, values=found.values)
        write_atomically(path, packed.getvalue())

    def load(self, path: Path) -> None:
        """Load the examples of a file, if it exists; raise RunFolderError if it is invalid."""
        if not path.exists():
            return
        with reading(path):
            searched = self._read(path)
        # Files of earlier versions contain boards that are held out for evaluation.
        self._put(searched.select(rows_to_learn(self._observer.ruleset, searched.games)))

    def _read(self, path: Path) -> Searched:
        wanted = {
            "games": ArrayFormat("uint64", (None, NUM_COLUMNS)),
            "targets": ArrayFormat("float32", (None, self._observer.num_actions)),
            "values": ArrayFormat("float32", (None,)),
        }
        most = sum(getattr(self.examples, name).nbytes for name in wanted) + _HEADERS
        found = read_arrays(path, wanted, most=max(most, _ALWAYS_READ))
        games, targets, values = (found[name] for name in wanted)
        if not len(games) == len(targets) == len(values):
            raise InvalidArchive(f"{len(games)} games, {len(targets)} targets and {len(values)} values")
        if not (np.abs(values) <= 1 + _ROUNDING).all():
            raise InvalidArchive("a value is not from -1 to 1")
        games = check_running(self._observer.ruleset, self._rounds, games)
        observations = self._observer.empty(len(games))
        is_legal = np.empty((len(games), self._observer.num_actions), np.bool_)
        self._observer.write(games, observations, is_legal, num_threads=1)
        are_chances = (targets >= 0) & (is_legal | (targets == 0))
        if not (are_chances.all() and (np.abs(targets.sum(axis=1) - 1) <= _ROUNDING).all()):
            raise InvalidArchive("a target is not a probability distribution over legal actions")
        return Searched(games, observations, is_legal, targets, values)
