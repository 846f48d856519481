"""Labels of an expert: a search plays against itself and evaluates every action of its positions.

Some turns are random, for variety. :mod:`mancala_env.training.distillation` fits a network to the labels, and
:mod:`mancala_env.training.labels` uses the same experts during self-play.

Symbols: N positions, A actions, B games.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mancala_env import agents
from mancala_env.agents.searchers import ILLEGAL, MinimaxAgent
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.engine.state import NUM_COLUMNS, SOUTH
from mancala_env.games.batch import Batch
from mancala_env.networks.value_files import NoValueNetwork
from mancala_env.rulesets import Ruleset
from mancala_env.training.config import InvalidConfig

# One game in ten is held out, to measure generalisation.
_HELD_OUT = 10
# More parallel games than threads would not be faster, and every started game must be finished.
_GAMES = 64


@dataclass(frozen=True, eq=False)
class ExpertLabels:
    """Positions with the labels of an expert.

    Attributes:
        games: uint64 `[N, NUM_COLUMNS]`, the positions, game after game, in the order of play.
        values: float32 `[N, A]`, the expert's value of each action: the lead in seeds of the player to move
            at the end of the round; minus infinity if the action is illegal.
        outcomes: float32 `[N]`, the reward of the player to move at the end of the position's game.
        episodes: int64 `[N]`, index of each position's game.
        turns: Number of turns played, including those from held-out positions.
    """

    ruleset: Ruleset
    games: np.ndarray
    values: np.ndarray
    outcomes: np.ndarray
    episodes: np.ndarray
    turns: int

    def __len__(self) -> int:
        return len(self.games)

    @property
    def is_legal(self) -> np.ndarray:
        """Return the legal actions, bool `[N, A]`."""
        return np.isfinite(self.values)

    def select(self, rows: np.ndarray) -> "ExpertLabels":
        """Return the positions of some rows."""
        arrays = ("games", "values", "outcomes", "episodes")
        return replace(self, **{name: getattr(self, name)[rows] for name in arrays})

    def split(self) -> tuple["ExpertLabels", "ExpertLabels"]:
        """Return a training set, and a held-out set with every tenth game.

        Raise InvalidConfig without positions, or with positions of a single game only.
        """
        numbers, more = np.unique(self.episodes, return_inverse=True)[1], "ask for more positions"
        if not len(self):
            why = "the expert labelled no position: all are held out for evaluation"
            raise InvalidConfig(f"{why}; {more}")
        if not numbers.any():
            why = f"the {len(self)} labelled positions are from a single game, and one has to be held out"
            raise InvalidConfig(f"{why}; {more}")
        is_held_out = numbers % _HELD_OUT == min(_HELD_OUT - 1, numbers.max())
        return self.select(~is_held_out), self.select(is_held_out)


class Agreement(NamedTuple):
    """Fraction of positions with one of the expert's best actions, and mean regret in seeds per move."""

    accuracy: float
    regret: float


def agreement(values: np.ndarray, actions: np.ndarray) -> Agreement:
    """Measure how well actions `[N]` agree with an expert's values `[N, A]`; see ExpertLabels."""
    regret = values.max(axis=1) - values[np.arange(len(values)), actions]
    return Agreement(float((regret == 0).mean()), float(regret.mean()))


def expert(
    spec: str, ruleset: Ruleset, num_actions: int, num_threads: int | None, setting: str = "distillation.spec"
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that evaluates every action of games, as in ExpertLabels.values.

    Raise InvalidConfig, which names the setting, if the agent cannot label positions.
    """
    try:
        agent = agents.make(spec, ruleset, seed=0, num_threads=num_threads)
    except NoValueNetwork as error:
        raise InvalidConfig(f"{error}; --{setting} minimax:4 needs none") from error
    if not isinstance(agent, MinimaxAgent):
        kinds = "minimax, value+minimax or policy+minimax"
        raise InvalidConfig(f"{setting} must be a {kinds} agent, not {spec!r}")
    return lambda games: without_illegal(agent.action_values(games, num_actions), ILLEGAL)


def without_illegal(values: np.ndarray, illegal: int) -> np.ndarray:
    """Return values for ExpertLabels, float32 `[N, A]`, with the number `illegal` as minus infinity."""
    return np.where(values == illegal, -np.inf, values).astype(np.float32)


def label_positions(
    spec: str,
    ruleset: Ruleset,
    positions: int,
    *,
    exploration: float,
    num_games: int = _GAMES,
    seed: int | None = None,
    progress: Callable[[int], bool] = lambda count: False,
    is_late: Callable[[], bool] = lambda: False,
    **options: Any,
) -> ExpertLabels:
    """Let an expert play games and label their positions; raise InvalidConfig if it cannot label.

    Positions that are held out for evaluation are not labelled. All other positions of every started game
    are, because dropping unfinished games would favour short games.

    Once there are `positions`, no further game starts. `exploration` is the fraction of random turns, 0 to 1.
    `progress` is called with the number of positions after each turn. If it returns True, labelling ends at
    once, without the running games. `is_late` is called when games end; if it returns True, no other game
    starts. `options` are those of Batch: `rounds`, `opening_turns` and `num_threads`.
    """
    rng = np.random.default_rng(seed)
    seed_of_games = int(rng.integers(2**63))
    batch = Batch(ruleset, num_games, seed=seed_of_games, opening_set="training", autoreset=False, **options)
    label = expert(spec, ruleset, batch.num_actions, options.get("num_threads"))
    games = _ExpertGames(batch, label, exploration, rng)
    while games.is_running.any():
        ended = games.play_turn()
        if progress(games.num_labelled):
            break
        if len(ended) and games.num_labelled < positions and not is_late():
            games.restart(ended)
    return games.labels()


class _ExpertGames:
    """Games of an expert against itself, and its labels of their positions."""

    def __init__(self, batch: Batch, label: Any, exploration: float, rng: np.random.Generator) -> None:
        self._batch, self._label, self._exploration, self._rng = batch, label, exploration, rng
        self.is_running = np.ones(batch.num_games, np.bool_)
        self.num_labelled = 0
        self._num_turns = 0
        self._episode = np.arange(batch.num_games)
        self._rewards_of_south = [np.nan] * batch.num_games
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    def play_turn(self) -> np.ndarray:
        """Label the positions, play a turn of every running game, and return the rows of games it ended."""
        batch, rows = self._batch, np.flatnonzero(self.is_running)
        values = self._label(batch.games[rows])
        is_labelled = rows_to_learn(batch.ruleset, batch.games[rows])
        labelled = rows[is_labelled]
        self.num_labelled += len(labelled)
        self._num_turns += len(rows)
        found = batch.games[labelled], values[is_labelled], batch.player[labelled], self._episode[labelled]
        self._parts.append(found)
        batch.step(self._choose(rows, values), where=self.is_running)
        ended = rows[batch.done[rows]]
        for row in ended:
            self._rewards_of_south[self._episode[row]] = batch.rewards[row, SOUTH]
        self.is_running[ended] = False
        return ended

    def _choose(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return actions, int64 `[B]`: any legal one in random turns, otherwise any of the best."""
        is_random = self._rng.random(len(rows)) < self._exploration
        is_best = values == values.max(axis=1, keepdims=True)
        candidates = np.where(is_random[:, None], self._batch.legal_mask[rows] != 0, is_best)
        actions = np.zeros(len(self.is_running), np.int64)
        actions[rows] = np.where(candidates, self._rng.random(values.shape), -1.0).argmax(axis=1)
        return actions

    def restart(self, rows: np.ndarray) -> None:
        """Start new games in some rows."""
        self.is_running[rows] = True
        self._episode[rows] = len(self._rewards_of_south) + np.arange(len(rows))
        self._rewards_of_south += [np.nan] * len(rows)
        self._batch.reset(where=np.isin(np.arange(len(self.is_running)), rows))

    def labels(self) -> ExpertLabels:
        """Return the labels of the games that are over, in the order of the games."""
        games, values, players, episodes = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        south = np.array(self._rewards_of_south, np.float32)[episodes]
        outcomes = np.where(players == SOUTH, south, 0 - south)
        order = np.argsort(episodes, kind="stable")
        order = order[~np.isnan(outcomes[order])]
        games = games[order].reshape(-1, NUM_COLUMNS)
        found = games, values[order], outcomes[order], episodes[order]
        return ExpertLabels(self._batch.ruleset, *found, self._num_turns)
