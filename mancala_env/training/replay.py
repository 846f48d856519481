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
from mancala_env.errors import MancalaError
from mancala_env.observations import Observer
from mancala_env.training.distillation import Examples
from mancala_env.training.run_folder import RunFolderError, write_atomically

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

    @staticmethod
    def joined(parts: "list[Searched]") -> "Searched":
        """Return the positions of all parts."""
        return Searched(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def ends_of(rewards: np.ndarray, dones: np.ndarray, players: np.ndarray) -> np.ndarray:
    """Return the outcome of the game of each step of a rollout.

    Args:
        rewards: float32 `[T, B]`, rewards of the players of the steps.
        dones: bool `[T, B]`, whether the step ended its game.
        players: int8 `[T, B]`, players of the steps.

    Returns:
        float32 `[T, B]`, South's reward at the end of the step's game; NaN if it is not over.
    """
    souths = np.where(players == SOUTH, rewards, -rewards)
    ends, end = np.empty(rewards.shape, np.float32), np.full(rewards.shape[1], np.nan, np.float32)
    for step in reversed(range(len(rewards))):
        end = np.where(dones[step], souths[step], end)
        ends[step] = end
    return ends


class Replay:
    """The latest examples of finished games, and the positions of running games."""

    def __init__(
        self, observer: Observer, rounds: Rounds, most: int, search_share: float, seed: int | None
    ) -> None:
        """Create an empty replay.

        Args:
            observer: Computes the observations.
            rounds: Rounds of a game, or "match".
            most: Largest number of examples.
            search_share: Weight of the search's value in the value's target; the rest is the outcome.
            seed: Random seed of the samples.
        """
        self._observer, self._rounds = observer, rounds
        self._most, self._search_share = most, search_share
        self._draw = np.random.default_rng(seed)
        self._games = np.empty((most, NUM_COLUMNS), np.uint64)
        self._observations = observer.empty(most)
        self._is_legal = np.empty((most, observer.num_actions), np.bool_)
        self._targets = np.empty((most, observer.num_actions), np.float32)
        self._values = np.empty(most, np.float32)
        self._added = 0
        self._waiting: list[tuple[Searched, np.ndarray]] = []

    def __len__(self) -> int:
        return min(self._added, self._most)

    @property
    def num_waiting(self) -> int:
        """Number of positions of running games."""
        return sum(len(rows) for _, rows in self._waiting)

    def forget_running_games(self) -> None:
        """Drop the positions of running games, whose outcomes will never be known."""
        self._waiting = []

    def add(self, searched: Searched, steps: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> None:
        """Add positions of a rollout; all positions of games that it ended become examples.

        Args:
            searched: N positions of the rollout.
            steps: int `[N]`, their steps in the rollout.
            rows: int `[N]`, their games.
            ends: Outcomes of the rollout's games, from :func:`ends_of`.
        """
        # Waiting positions belong to the games that were running when the rollout began.
        waiting = [(each, of, ends[0, of]) for each, of in self._waiting]
        self._waiting = []
        for positions, of, end in [*waiting, (searched, rows, ends[steps, rows])]:
            is_over = np.isfinite(end)
            self._remember(positions.select(is_over), end[is_over])
            if not is_over.all():
                self._waiting.append((positions.select(~is_over), of[~is_over]))
        if len(self._waiting) > 1:
            parts, of = zip(*self._waiting, strict=True)
            self._waiting = [(Searched.joined(list(parts)), np.concatenate(of))]

    def _remember(self, searched: Searched, end: np.ndarray) -> None:
        outcomes = np.where(searched.games[:, PLAYER_COLUMN] == SOUTH, end, -end)
        self._put(searched, self._search_share * searched.values + (1 - self._search_share) * outcomes)

    def _put(self, searched: Searched, values: np.ndarray) -> None:
        kept = slice(max(0, len(values) - self._most), None)
        at = (self._added + np.arange(len(values)))[kept] % self._most
        self._games[at] = searched.games[kept]
        self._observations[at] = searched.observations[kept]
        self._is_legal[at] = searched.is_legal[kept]
        self._targets[at] = searched.targets[kept]
        self._values[at] = values[kept]
        self._added += len(values)

    def sample(self, size: int, device: torch.device) -> Examples:
        """Sample examples uniformly, with replacement."""
        rows = self._draw.integers(0, len(self), size)
        arrays = (self._observations, self._is_legal, self._targets, self._values)
        return Examples(*(torch.from_numpy(each[rows]).to(device) for each in arrays))

    def save(self, path: Path) -> None:
        """Write the examples to a file atomically, the oldest first.

        Raises:
            RunFolderError: It cannot be written.
        """
        count = len(self)
        rows = (self._added - count + np.arange(count)) % self._most
        arrays = {"games": self._games, "targets": self._targets, "values": self._values}
        packed = BytesIO()
        np.savez_compressed(packed, **{name: each[rows] for name, each in arrays.items()})
        write_atomically(path, packed.getvalue())

    def load(self, path: Path) -> None:
        """Load the examples of a file, if it exists.

        Raises:
            RunFolderError: The file is invalid.
        """
        if not path.exists():
            return
        try:
            searched = self._read(path)
        except (MancalaError, OSError) as error:
            raise RunFolderError(
                f"{path} cannot be read ({error}); delete it to resume without it"
            ) from error
        # Files of earlier versions contain boards that are held out for evaluation.
        kept = searched.select(rows_to_learn(self._observer.ruleset, searched.games))
        self._put(kept, kept.values)

    def _read(self, path: Path) -> Searched:
        wanted = {
            "games": ArrayFormat("uint64", (None, NUM_COLUMNS)),
            "targets": ArrayFormat("float32", (None, self._observer.num_actions)),
            "values": ArrayFormat("float32", (None,)),
        }
        most = self._games.nbytes + self._targets.nbytes + self._values.nbytes + _HEADERS
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
