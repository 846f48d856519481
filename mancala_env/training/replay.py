"""Positions that a search labelled, remembered to learn from in expert iteration.

A position is an example as soon as its game is over: half of what its value is fitted to is how the game
ended. Until then it waits. Values are the player's who is to move, and whose turn it is says each game
itself: a player to whom the opponent passes moves twice running.

Symbols: N positions, A actions, T steps of a rollout, B games.
"""

from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from mancala_env._util.archives import InvalidArchive, Numbers, read_arrays
from mancala_env.engine.episode import Rounds
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.engine.state import NUM_COLUMNS, PLAYER_COLUMN, SOUTH
from mancala_env.engine.validation import check_running
from mancala_env.errors import MancalaError
from mancala_env.observations import Observer
from mancala_env.training.distillation import Examples
from mancala_env.training.run_folder import RunFolderError, write_atomically

REPLAY_FILE = "replay.npz"
# A file of so many bytes is read even where fewer positions are remembered now.
_ALWAYS_READ = 1 << 26
# A policy's chances add up to 1 but for rounding.
_ROUNDING = 1e-3


class Searched(NamedTuple):
    """Positions and what a search found there.

    Attributes:
        games: uint64 `[N, NUM_COLUMNS]`, running games.
        observations: `[N, ...]`, what the player to move sees.
        is_legal: bool `[N, A]`.
        targets: float32 `[N, A]`, the policy to learn.
        found: float32 `[N]`, what it found the position worth to the player to move, as a reward.
    """

    games: np.ndarray
    observations: np.ndarray
    is_legal: np.ndarray
    targets: np.ndarray
    found: np.ndarray

    def select(self, rows: np.ndarray) -> "Searched":
        """Return some of the positions."""
        return Searched(*(each[rows] for each in self))

    @staticmethod
    def joined(parts: "list[Searched]") -> "Searched":
        """Return the positions of several."""
        return Searched(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def ends_of(rewards: np.ndarray, dones: np.ndarray, players: np.ndarray) -> np.ndarray:
    """Return how the game of each step of a rollout ended.

    Args:
        rewards: float32 `[T, B]`, rewards of the players who made the steps.
        dones: bool `[T, B]`, whether the step ended its game.
        players: int8 `[T, B]`, who made it.

    Returns:
        float32 `[T, B]`, South's reward at the end of the game that the step is of; NaN where it is not over.
    """
    souths = np.where(players == SOUTH, rewards, -rewards)
    ends, end = np.empty(rewards.shape, np.float32), np.full(rewards.shape[1], np.nan, np.float32)
    for step in reversed(range(len(rewards))):
        end = np.where(dones[step], souths[step], end)
        ends[step] = end
    return ends


class Replay:
    """The latest examples of finished games, and the positions of games under way."""

    def __init__(
        self, observer: Observer, rounds: Rounds, most: int, search_share: float, seed: int | None
    ) -> None:
        """Begin empty.

        Args:
            observer: What writes the observations.
            rounds: Rounds of a game, or "match".
            most: Examples to remember.
            search_share: What the search says counts so much in a value, the end of the game the rest.
            seed: Of the draws.
        """
        self._observer = observer
        self._rounds: Rounds = rounds
        self._most, self._search_share = most, search_share
        self._draw = np.random.default_rng(seed)
        num_actions = observer.num_actions
        self._games = np.empty((most, NUM_COLUMNS), np.uint64)
        self._observations = observer.empty(most)
        self._is_legal = np.empty((most, num_actions), np.bool_)
        self._targets = np.empty((most, num_actions), np.float32)
        self._values = np.empty(most, np.float32)
        self._added = 0
        self._waiting: list[tuple[Searched, np.ndarray]] = []

    def __len__(self) -> int:
        return min(self._added, self._most)

    @property
    def num_waiting(self) -> int:
        """Positions of games under way."""
        return sum(len(rows) for _, rows in self._waiting)

    def games_begin(self) -> None:
        """Forget the positions of games under way: how those end will not be known."""
        self._waiting = []

    def add(self, searched: Searched, steps: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> None:
        """Take positions of a rollout; those whose games it ended become examples, and so do earlier ones.

        Args:
            searched: N of its positions.
            steps: int `[N]`, the step of the rollout each was met in.
            rows: int `[N]`, the game.
            ends: Of the rollout, as :func:`ends_of` gives it.
        """
        # Whatever was waiting is of the games that were under way when the rollout began.
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
        is_south = searched.games[:, PLAYER_COLUMN] == SOUTH
        outcomes = np.where(is_south, end, -end)
        values = self._search_share * searched.found + (1 - self._search_share) * outcomes
        self._put(searched, values)

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
        """Draw examples, each with the same chance, with replacement."""
        rows = self._draw.integers(0, len(self), size)
        arrays = (self._observations, self._is_legal, self._targets, self._values)
        return Examples(*(torch.from_numpy(each[rows]).to(device) for each in arrays))

    def save(self, path: Path) -> None:
        """Write the examples to a file, the oldest first, whole or not at all.

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
        """Go on from the examples of a file; there need not be one.

        Raises:
            RunFolderError: It holds something else; the message says what to do.
        """
        if not path.exists():
            return
        wanted = {
            "games": Numbers("uint64", (None, NUM_COLUMNS)),
            "targets": Numbers("float32", (None, self._observer.num_actions)),
            "values": Numbers("float32", (None,)),
        }
        try:
            found = read_arrays(path, wanted, most=max(self._num_bytes, _ALWAYS_READ))
            games, targets, values = (found[name] for name in wanted)
            if not len(games) == len(targets) == len(values):
                raise InvalidArchive(f"{len(games)} games, {len(targets)} targets and {len(values)} values")
            if not (np.isfinite(values).all() and (np.abs(values) <= 1 + _ROUNDING).all()):
                raise InvalidArchive("a value is not from -1 to 1")
            if not len(games):
                return
            games = check_running(self._observer.ruleset, self._rounds, games)
            observations = self._observer.empty(len(games))
            is_legal = np.empty((len(games), self._observer.num_actions), np.bool_)
            self._observer.write(games, observations, is_legal, num_threads=1)
            are_chances = (targets >= 0) & (is_legal | (targets == 0))
            if not (are_chances.all() and (np.abs(targets.sum(axis=1) - 1) <= _ROUNDING).all()):
                raise InvalidArchive("a target is no distribution over legal actions")
        except (MancalaError, OSError) as error:
            raise RunFolderError(f"{path} cannot be read ({error}); delete it to go on without it") from error
        # Runs of before remember boards that are held out for evaluation.
        is_learned = rows_to_learn(self._observer.ruleset, games)
        kept = Searched(games, observations, is_legal, targets, values).select(is_learned)
        self._put(kept, values[is_learned])

    @property
    def _num_bytes(self) -> int:
        """Bytes that a file of the most examples may take, and some for its headers."""
        rows = (self._games, self._targets, self._values)
        return sum(each[:1].nbytes for each in rows) * self._most + (1 << 12)
