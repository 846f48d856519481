"""Duel: games of one learner against opponents, for the environments and the training pool.

A step is a turn of the learner and all of the opponent's turns until the learner is to move again. A step
works on copies, which replace the state at its end. So an exception during a step, such as an opponent's
error or Ctrl-C, leaves the state unchanged.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import one_of, whole_actions
from mancala_env.agents import Agent, AgentLike
from mancala_env.agents.scripted import GreedyAgent, RandomAgent
from mancala_env.engine.episode import Rounds
from mancala_env.engine.jit.threads import num_threads_of, run_in_slices
from mancala_env.engine.state import NORTH, NUM_COLUMNS, SOUTH, encode
from mancala_env.engine.turn import first_illegal
from mancala_env.envs import kernels
from mancala_env.envs.options import BY_MASKS, OR_ILLEGAL, EnvOptions, starting_game
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.games.batch import illegal_action

_SEATS = {"south": SOUTH, "north": NORTH, "random": kernels.RANDOM_SEAT}
_ILLEGAL = {"raise": kernels.RAISE, "lose": kernels.LOSE, "random": kernels.PLAY_RANDOM}
# Agents whose turns a kernel plays. Others, and subclasses of these, are called from Python.
_KINDS: dict[type[Agent], int] = {RandomAgent: kernels.RANDOM, GreedyAgent: kernels.GREEDY}


class _Now(NamedTuple):
    """State that a step changes; Duel and the kernels describe the arrays and columns."""

    games: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    results: np.ndarray
    reward: np.ndarray
    legal_mask: np.ndarray
    observation: np.ndarray


def _array_of_now(name: str) -> Any:
    return property(attrgetter(f"_now.{name}"))


class Duel:
    """B games, each between the learner and an opponent.

    Each game has its own random generator. So a game in a batch equals a single game with the same seed. The
    caller may keep the arrays that a step returns, except `final_observation`.

    Symbols: B games, A actions, N opponents.

    Attributes:
        opponents: The current opponents, then replaced opponents that still play in running games.
        games: The games, uint64 `[B, NUM_COLUMNS]`; read only.
        legal_mask: The learner's legal actions, int8 `[B, A]`; all zeros where the episode is over.
        reward: The learner's rewards for the last step, float64 `[B]`.
        results: The outcomes of episodes, int64 `[B, NUM_RESULTS]`; see :mod:`mancala_env.envs.kernels`.
        final_observation: `[B, *shape]`, valid where `done`: the last observation of the episode, zeros for
            kinds of observation per action.
    """

    def __init__(
        self,
        options: EnvOptions,
        num_games: int,
        *,
        autoreset: bool = False,
        alternates_seats: bool = False,
        num_threads: int | None = None,
    ) -> None:
        """Set up the games; then call :meth:`reset`. An invalid argument or opponent is a MancalaError.

        With `autoreset` the next episode starts within the step that ends one. With `alternates_seats` the
        learner's seat changes after each episode, and half of the learners start as South.
        """
        self._options = options
        self.ruleset = ruleset = options.ruleset
        self.num_games = num_games
        self.rounds: Rounds = options.rounds
        self.is_raising = options.illegal == "raise"
        self.observer, self.num_actions = options.observer(), ruleset.num_actions(options.rounds)
        seat = kernels.OTHER_SEAT if alternates_seats else _SEATS[options.seat]
        self._settings = kernels.encode_settings(
            ruleset, options.episode, seat, _ILLEGAL[options.illegal], autoreset
        )
        self._rules = encode(ruleset)
        self._given_threads, self._num_threads = num_threads, num_threads_of(num_threads)
        games = np.zeros((num_games, NUM_COLUMNS), np.uint64)
        rows = np.zeros((num_games, kernels.NUM_ROW_COLUMNS), np.uint64)
        rows[:, kernels.SEAT] = np.arange(num_games) % 2  # OTHER_SEAT changes this
        self._now = _Now(
            games,
            rows,
            starts=games.copy(),
            results=np.zeros((num_games, kernels.NUM_RESULTS), np.int64),
            reward=np.zeros(num_games),
            legal_mask=np.zeros((num_games, self.num_actions), np.int8),
            observation=self.observer.empty(num_games),
        )
        self.final_observation = self.observer.empty(num_games)
        self._kernels_observe = self.observer.for_kernels(self.final_observation) is not None
        self.opponents: list[Agent] = []
        self.set_opponent(options.opponent)

    games = _array_of_now("games")
    legal_mask = _array_of_now("legal_mask")
    observation = _array_of_now("observation")
    reward = _array_of_now("reward")
    results = _array_of_now("results")

    @property
    def seats(self) -> np.ndarray:
        """The learner's seats, int64 `[B]`: 0 South, 1 North."""
        return self._now.rows[:, kernels.SEAT].astype(np.int64)

    @property
    def done(self) -> np.ndarray:
        """Whether the last step ended an episode, bool `[B]`."""
        return self.results[:, kernels.DONE] != 0

    @property
    def truncated(self) -> np.ndarray:
        """Whether only the limit of 1,000 rounds ended a match (RULES 5.4), bool `[B]`."""
        return self.results[:, kernels.TRUNCATED] != 0

    @property
    def opponent_of(self) -> np.ndarray:
        """The opponent in each game, int64 `[B]`: indices of `opponents`."""
        return self._now.rows[:, kernels.OPPONENT].astype(np.int64)

    @property
    def is_over(self) -> np.ndarray:
        """Whether the episode has ended and the next one has not started, bool `[B]`."""
        return self._now.rows[:, kernels.PHASE] == kernels.OVER

    def played(self, b: int) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return the game before the turns of the last step or reset of game b, and the holes sown from.

        The game is uint64 `[1, NUM_COLUMNS]`. Of more than 12 holes, only the last 12 are returned.
        """
        left, holes = int(self._now.rows[b, kernels.TRAIL]), []
        while left:
            holes.append((left & 31) - 1)
            left >>= int(kernels.HOLE_BITS)
        return self._now.starts[b][None].copy(), tuple(holes[::-1])

    def set_opponent(self, opponent: AgentLike | Sequence[AgentLike]) -> None:
        """Set the `opponent` of :class:`EnvOptions` for new episodes; running episodes keep theirs.

        The errors are those of the constructor, and change nothing.
        """
        opponents = replace(self._options, opponent=opponent).opponents
        num_threads = self._given_threads
        self.set_opponents([agents.make(one, self.ruleset, num_threads=num_threads) for one in opponents])

    def set_opponents(
        self, opponents: Sequence[Agent], weights: Sequence[float] | np.ndarray | None = None
    ) -> None:
        """Set at least one opponent for new episodes; current episodes keep theirs.

        `weights` are their relative frequencies. One that cannot play the rounds is a MancalaError.
        """
        for opponent in opponents:
            opponent.check_rounds(self.rounds)
        present, before, met = list(opponents), self.opponents, self.opponent_of
        playing = np.unique(met[~self.is_over]).tolist() if before else []
        self.opponents = [*present, *(before[i] for i in playing if before[i] not in present)]
        if before:  # games without an episode meet the first opponent
            place = np.array([self.opponents.index(one) if one in self.opponents else 0 for one in before])
            self._now.rows[:, kernels.OPPONENT] = np.where(self.is_over, 0, place[met])
        shares = np.ones(len(present)) if weights is None else np.asarray(weights, np.float64)
        self._encoded_opponents = np.ones((len(self.opponents), 2))
        self._encoded_opponents[:, 0] = [_KINDS.get(type(one), kernels.ASKED) for one in self.opponents]
        self._encoded_opponents[: len(present) - 1, 1] = (np.cumsum(shares) / shares.sum())[:-1]

    def reset(
        self,
        seeds: Sequence[int | None] | None = None,
        where: np.ndarray | None = None,
        positions: Sequence[Any] | None = None,
        seats: Sequence[str | None] | None = None,
    ) -> None:
        """Start new episodes in the games of `where`, bool `[B]`; None: in all.

        The others are lists of B. None in `seeds` keeps the game's generator, in `positions` starts round 1,
        and in `seats` uses the seat of the constructor.
        :meth:`mancala_env.envs.gym.MancalaEnv.reset` has the errors.
        """
        given = [
            None if one is None else starting_game(self.ruleset, self.rounds, one)[0]
            for one in positions or [None] * self.num_games
        ]
        own_seats = [one_of("seat", seat, (None, *_SEATS)) for seat in seats or [None] * self.num_games]
        turn = np.full(self.num_games, kernels.SHOW, np.int8)
        turn[slice(None) if where is None else where] = kernels.RESTART
        work = self._copy()
        rows, starts = work.rows, work.starts
        for b in np.flatnonzero(turn == kernels.RESTART).tolist():
            if seeds is not None and seeds[b] is not None:
                drawn = np.random.SeedSequence(seeds[b]).generate_state(1, np.uint64)
                rows[b, kernels.RANDOM_STATE] = drawn[0]
            if given[b] is not None:
                starts[b] = given[b]
            rows[b, kernels.IS_GIVEN] = given[b] is not None
            rows[b, kernels.GIVEN_SEAT] = 0 if own_seats[b] is None else _SEATS[own_seats[b]] + 1
            rows[b, kernels.TRIES] = 0
        self._take_over(work, np.zeros(self.num_games, np.int64), turn)

    def step(self, actions: np.ndarray | Sequence[int], restart: np.ndarray | None = None) -> None:
        """Play the learner's turn in every game, then opponents' until the learner is to move again.

        Where `restart`, bool `[B]`, is true, the next episode starts instead. An IllegalMove names the game.
        """
        turn = np.full(self.num_games, kernels.LEARNER, np.int8)
        if restart is not None:
            turn[restart] = kernels.RESTART
        actions = self._checked(actions, turn == kernels.LEARNER)
        self._take_over(self._copy(), actions, turn)

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """Undo the steps and resets in a with statement that ends with an exception."""
        before = self._now
        try:
            yield
        except BaseException:
            self._now = before
            raise

    def _checked(self, actions: np.ndarray | Sequence[int], learns: np.ndarray) -> np.ndarray:
        """Return the actions as int64 `[B]`; those of the games where the learner plays are checked."""
        chosen = whole_actions("actions must be", actions, self.num_games)
        is_outside = (chosen < 0) | (chosen >= self.num_actions)
        refused = learns & (self.is_raising | is_outside)
        b = first_illegal(self._rules, self.games, chosen, refused, self.num_actions)
        if b >= 0:
            hint = BY_MASKS + ("" if is_outside[b] else OR_ILLEGAL)
            raise illegal_action(b, int(self.seats[b]), int(chosen[b]), self.legal_mask[b], hint)
        return chosen

    def play_one(self, action: int) -> None:
        """Play a step of a single game; the action has been checked."""
        actions, turn = np.array([action], np.int64), np.array([kernels.LEARNER], np.int8)
        self._take_over(self._copy(), actions, turn)

    def _copy(self) -> _Now:
        """Return the arrays that a step writes: copies of the state, new arrays for its results."""
        now = self._now
        games, rows, results = now.games.copy(), now.rows.copy(), now.results.copy()
        mask, observation = np.empty_like(now.legal_mask), np.empty_like(now.observation)
        # `_replace` would take a tenth of the time of a step.
        return _Now(games, rows, now.starts.copy(), results, now.reward.copy(), mask, observation)

    def _take_over(self, after: _Now, actions: np.ndarray, turn: np.ndarray) -> None:
        """Play in every game as `turn` says, on copies, and make them the state."""
        while (status := self._advance(after, actions, turn)) == kernels.ASKING:
            actions = self._ask(after, turn == kernels.AGENT)
        if status == kernels.STUCK:
            names = ", ".join(agent.spec for agent in self.opponents)
            raise InvalidArgument(
                f"{names} ends every round of {self.ruleset.name} before the learner's first turn; choose "
                "another opponent, seat, first_player, opening_turns or position"
            )
        if not self._kernels_observe:
            after.observation[:] = 0
            is_running = after.rows[:, kernels.PHASE] == kernels.PLAYING
            observation, num_threads = after.observation, self._num_threads
            self.observer.write(after.games, observation, where=is_running, num_threads=num_threads)
        self._now = after

    def _advance(self, after: _Now, actions: np.ndarray, turn: np.ndarray) -> int:
        arguments = (
            self._settings,
            self._encoded_opponents,
            after.games,
            after.rows,
            after.starts,
            actions,
            turn,
            after.results,
            after.reward,
            self.final_observation if self._kernels_observe else None,
            after.legal_mask,
            after.observation if self._kernels_observe else None,
        )
        if self.num_games == 1:
            return kernels.duel_step(*arguments, 0, 1)
        run_in_slices(
            lambda start, stop: kernels.duel_step(*arguments, start, stop), self.num_games, self._num_threads
        )
        if (after.rows[:, kernels.PHASE] == kernels.HOPELESS).any():
            return kernels.STUCK
        return kernels.ASKING if (turn == kernels.AGENT).any() else kernels.READY

    def _ask(self, after: _Now, waiting: np.ndarray) -> np.ndarray:
        """Return the actions of opponents in the games that wait for one, int64 `[B]`."""
        games, rows = after.games, after.rows
        actions, seeds = np.zeros(self.num_games, np.int64), np.zeros(self.num_games, np.uint64)
        kernels.draw_seeds(rows, waiting, seeds)
        asked = np.flatnonzero(waiting)
        met = rows[asked, kernels.OPPONENT]
        for i in np.unique(met).tolist():
            agent, where = self.opponents[i], asked[met == i]
            chosen = agent.act_seeded(games[where], seeds[where])
            actions[where] = whole_actions(f"opponent {agent.spec} must choose", chosen, len(where))
        b = first_illegal(self._rules, games, actions, waiting, self.num_actions)
        if b >= 0:
            agent = self.opponents[int(rows[b, kernels.OPPONENT])]
            raise IllegalMove(f"game {b}: opponent {agent.spec} chose the illegal action {actions[b]}")
        return actions
