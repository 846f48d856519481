"""Duel: games of one learner against opponents, for the environments and the training pool.

A step is a turn of the learner. The opponents' turns, several in a row if the learner must pass, are played
within the step. A step works on copies, which replace the state at its end. So an exception on the way, such
as an opponent's error or Ctrl-C, leaves the state unchanged.
"""

from collections.abc import Sequence
from typing import NamedTuple, get_args

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import one_of
from mancala_env.agents import Agent
from mancala_env.agents.scripted import GreedyAgent, RandomAgent
from mancala_env.engine.episode import Rounds, encode_episode
from mancala_env.engine.holdout import OpeningSet
from mancala_env.engine.jit.threads import num_threads_of, run_in_slices
from mancala_env.engine.state import NORTH, NUM_COLUMNS, SOUTH, encode
from mancala_env.engine.turn import first_illegal
from mancala_env.envs import kernels
from mancala_env.envs.options import EnvOptions, FirstPlayer, Illegal, Reward, Seat
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset

SEATS = {"south": SOUTH, "north": NORTH, "random": kernels.RANDOM_SEAT, "other": kernels.OTHER_SEAT}
_SEATS_TO_ASK_FOR: Sequence[Seat] = get_args(Seat)
_ILLEGAL = {"raise": kernels.RAISE, "lose": kernels.LOSE, "random": kernels.PLAY_RANDOM}
# Agents whose turns a kernel plays. Others, and subclasses of these, are called from Python.
_CODES: dict[type[Agent], int] = {RandomAgent: kernels.RANDOM, GreedyAgent: kernels.GREEDY}


class _Now(NamedTuple):
    """State that a step changes; Duel and the kernels describe the arrays and columns."""

    games: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    results: np.ndarray
    reward: np.ndarray
    legal_mask: np.ndarray
    observation: np.ndarray


class Duel:
    """B games, each between the learner and an opponent.

    Each game has its own random generator: a game of many equals a single game with the same seed. The caller
    may keep the arrays that a step returns.

    Symbols: B games, A actions, N opponents.

    Attributes:
        ruleset: The ruleset.
        num_games: B.
        num_actions: A.
        observer: Writer of the learner's observations.
        opponents: The opponents. Former ones that still play in current games may follow.
        final_games: uint64 `[B, NUM_COLUMNS]`, valid where `done`: the final game of the episode.
        final_observation: `[B, *shape]`, valid where `done`: the last observation of the episode, zeros for
            kinds of observation per action.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        num_games: int,
        *,
        opponents: Sequence[Agent],
        seat: str = "south",
        rounds: Rounds = 1,
        reward: Reward = "outcome",
        first_player: FirstPlayer = 0,
        opening_turns: int = 0,
        opening_set: OpeningSet = "all",
        illegal: Illegal = "raise",
        observer: Observer,
        autoreset: bool = False,
        num_threads: int | None = None,
    ) -> None:
        """Set up the games; then call :meth:`reset`.

        Args:
            ruleset: The ruleset.
            num_games: B.
            opponents: At least one agent that plays the ruleset.
            seat: The learner's seat: "south", "north", "random", or "other" to change it after each episode.
            rounds: See :class:`mancala_env.envs.options.EnvOptions`, here and below.
            reward: "outcome" or "margin".
            first_player: Who starts round 1.
            opening_turns: Number of random turns before an episode begins.
            opening_set: "all" openings, or only those for "training".
            illegal: Effect of an illegal action.
            observer: Writer of the learner's observations.
            autoreset: Whether the next episode starts within the step that ends one.
            num_threads: CPU threads; None uses every core that this process may use.

        Raises:
            InvalidArgument: An argument is out of range.
            MancalaError: An opponent cannot play that number of rounds.
        """
        self.ruleset, self.num_games = ruleset, num_games
        self.rounds: Rounds = rounds
        self.observer, self.num_actions = observer, ruleset.num_actions(rounds)
        self.is_raising = one_of("illegal", illegal, tuple(_ILLEGAL)) == "raise"
        self._settings = kernels.encode_settings(
            ruleset,
            encode_episode(rounds, first_player, opening_turns, reward, opening_set),
            SEATS[one_of("seat", seat, tuple(SEATS))],
            _ILLEGAL[illegal],
            autoreset,
        )
        self._rules = encode(ruleset)
        self._num_threads = num_threads_of(num_threads)
        games = np.zeros((num_games, NUM_COLUMNS), np.uint64)
        rows = np.zeros((num_games, kernels.NUM_ROW_COLUMNS), np.uint64)
        rows[:, kernels.SEAT] = np.arange(num_games) % 2  # the seat "other" changes this
        self._now = _Now(
            games,
            rows,
            starts=games.copy(),
            results=np.zeros((num_games, kernels.NUM_RESULTS), np.int64),
            reward=np.zeros(num_games),
            legal_mask=np.zeros((num_games, self.num_actions), np.int8),
            observation=observer.empty(num_games),
        )
        self._spare: _Now | None = None
        self.final_games = games.copy()
        self.final_observation = observer.empty(num_games)
        self._is_passing = observer.passing(self.final_observation) is not None
        self._nobodys = np.zeros(num_games, np.int64)
        self._all_learn = np.full(num_games, kernels.LEARNER, np.int8)
        self.opponents: list[Agent] = []
        self.set_opponents(opponents)

    @property
    def games(self) -> np.ndarray:
        """The games, uint64 `[B, NUM_COLUMNS]`; read only."""
        return self._now.games

    @property
    def legal_mask(self) -> np.ndarray:
        """The learner's legal actions, int8 `[B, A]`; all zeros where the episode is over."""
        return self._now.legal_mask

    @property
    def observation(self) -> np.ndarray:
        """The learner's observations, `[B, *shape]`."""
        return self._now.observation

    @property
    def reward(self) -> np.ndarray:
        """The learner's rewards for the last step, float64 `[B]`."""
        return self._now.reward

    @property
    def results(self) -> np.ndarray:
        """The outcomes of episodes, int64 `[B, NUM_RESULTS]`; see :mod:`mancala_env.envs.kernels`."""
        return self._now.results

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
    def forfeited(self) -> np.ndarray:
        """Whether an illegal action of the learner ended the episode, bool `[B]`."""
        return self.results[:, kernels.FORFEITED] != 0

    @property
    def winner(self) -> np.ndarray:
        """The winner of the episode, int64 `[B]`: 0, 1, or -1 for a draw."""
        return self.results[:, kernels.WINNER].copy()

    @property
    def last_seats(self) -> np.ndarray:
        """The learner's seat in the episode that ended, int64 `[B]`."""
        return self.results[:, kernels.LAST_SEAT].copy()

    @property
    def final_counts(self) -> np.ndarray:
        """The last counts of South and North, int16 `[B, 2]`."""
        return self.results[:, kernels.SOUTH_COUNT :].astype(np.int16)

    @property
    def met(self) -> np.ndarray:
        """The opponent in each game, int64 `[B]`: indices of `opponents`."""
        return self._now.rows[:, kernels.OPPONENT].astype(np.int64)

    @property
    def is_over(self) -> np.ndarray:
        """Whether the episode has ended and the next one has not started, bool `[B]`."""
        return self._now.rows[:, kernels.PHASE] == kernels.OVER

    def played(self, b: int) -> tuple[np.ndarray, tuple[int, ...]] | None:
        """Return the turns of the last step or reset in game b, for pictures.

        Returns:
            The game before these turns, uint64 `[1, NUM_COLUMNS]`, and the holes that both players sowed from
            (at most the last 12); None if the turns are unknown.
        """
        trail = int(self._now.rows[b, kernels.TRAIL])
        began = trail & int(kernels.BEGAN)
        if not began and self._spare is None:
            return None
        games = self._now.starts if began or self._spare is None else self._spare.games
        left, holes = trail & int(kernels.TRAIL_MASK), []
        while left:
            holes.append((left & 31) - 1)
            left >>= int(kernels.HOLE_BITS)
        return games[b][None].copy(), tuple(holes[::-1])

    def set_opponents(
        self, opponents: Sequence[Agent], weights: Sequence[float] | np.ndarray | None = None
    ) -> None:
        """Set the opponents of new episodes; current episodes keep their opponents.

        Args:
            opponents: At least one agent that plays the ruleset.
            weights: Relative frequency of each opponent; None: all equal.

        Raises:
            MancalaError: An opponent cannot play that number of rounds. Nothing has changed.
        """
        for opponent in opponents:
            opponent.check_rounds(self.rounds)
        present, before, met = list(opponents), self.opponents, self.met
        leaving = [before[i] for i in np.unique(met).tolist() if before[i] not in present] if before else []
        self.opponents = [*present, *leaving]
        if before:
            place = np.array([self.opponents.index(one) if one in self.opponents else 0 for one in before])
            self._now.rows[:, kernels.OPPONENT] = place[met]
        self._codes = np.array([_CODES.get(type(agent), kernels.ASKED) for agent in self.opponents], np.int64)
        shares = np.ones(len(present)) if weights is None else np.asarray(weights, np.float64)
        self._chances = np.ones(len(self.opponents))
        self._chances[: len(present)] = np.cumsum(shares) / shares.sum()
        self._chances[len(present) - 1 :] = 1.0

    def reset(
        self,
        seeds: Sequence[int | None] | None = None,
        where: np.ndarray | None = None,
        starts: Sequence[np.ndarray | None] | None = None,
        seats: Sequence[str | None] | None = None,
    ) -> None:
        """Start new episodes.

        Args:
            seeds: `[B]`, random seed of each game; None keeps its generator.
            where: bool `[B]`, the games to reset; None resets all.
            starts: `[B]`, start of each game, uint64 `[1, NUM_COLUMNS]`; None is the start of round 1.
            seats: `[B]`, the learner's seat in this episode; None uses the seat of the constructor.

        Raises:
            InvalidArgument: An opponent ends every episode before the learner's first turn. Nothing has
                changed.
        """
        work = self._copy()
        rows, given = work.rows, work.starts.copy()
        wanted = range(self.num_games) if where is None else np.flatnonzero(where)
        for b in map(int, wanted):
            if seeds is not None and seeds[b] is not None:
                rows[b, kernels.RANDOM_STATE] = np.random.SeedSequence(seeds[b]).generate_state(1, np.uint64)[
                    0
                ]
            start, seat = starts and starts[b], seats and seats[b]
            if start is not None:
                given[b] = start[0]
            rows[b, kernels.IS_GIVEN] = start is not None
            rows[b, kernels.GIVEN_SEAT] = (
                0 if seat is None else SEATS[one_of("seat", seat, _SEATS_TO_ASK_FOR)] + 1
            )
            rows[b, kernels.TRIES] = 0
        turn = np.full(self.num_games, kernels.SHOW, np.int8)
        turn[wanted if where is not None else slice(None)] = kernels.RESTART
        self._take_over(work._replace(starts=given), self._nobodys, turn)

    def step(self, actions: np.ndarray | Sequence[int], restart: np.ndarray | None = None) -> None:
        """Play the learner's turn in every game, then opponents' until the learner is to move again.

        Args:
            actions: integers `[B]` of the action space. They must be legal if `illegal` is "raise".
            restart: bool `[B]`, games in which the next episode starts instead.

        Raises:
            IllegalMove: An action of the learner or of an opponent is illegal or outside the action space.
                The message names the game. Nothing has changed.
        """
        actions = self._integers(actions)
        turn = self._all_learn
        if restart is not None:
            turn = np.where(restart, kernels.RESTART, kernels.LEARNER).astype(np.int8)
        self._check(actions, turn)
        self._take_over(self._copy(), actions, turn)

    def _integers(self, actions: np.ndarray | Sequence[int]) -> np.ndarray:
        """Return the actions as int64 `[B]`: kernels do not check the length of arrays."""
        chosen, num_games = np.asarray(actions), len(self._all_learn)
        if chosen.shape != (num_games,) or not np.issubdtype(chosen.dtype, np.integer):
            raise IllegalMove(
                f"actions must be {num_games} integers, not {chosen.dtype} of shape {chosen.shape}"
            )
        return np.ascontiguousarray(chosen, np.int64)

    def _check(self, actions: np.ndarray, turn: np.ndarray) -> None:
        learns = turn == kernels.LEARNER
        wrong = learns & ((actions < 0) | (actions >= self.num_actions))
        if wrong.any():
            b = int(np.flatnonzero(wrong)[0])
            raise IllegalMove(f"game {b}: action {actions[b]} is not one of 0 to {self.num_actions - 1}")
        if not self.is_raising:
            return
        b = first_illegal(self._rules, self.games, actions, learns, self.num_actions)
        if b >= 0:
            raise IllegalMove(
                f"game {b}: {('South', 'North')[self.seats[b]]} cannot play action {actions[b]}; legal "
                f"actions: {', '.join(str(a) for a in np.flatnonzero(self.legal_mask[b]))}"
            )

    def play_one(self, action: int) -> None:
        """Play a step of a single game; the action has been checked."""
        self._take_over(self._copy(), np.array([action], np.int64), self._all_learn)

    def _copy(self) -> _Now:
        """Return the arrays that a step writes: copies of the state, new arrays for its results.

        The copies reuse the memory of the previous state. After an interrupted step they do not, because its
        threads may still write there.
        """
        now, spare, self._spare = self._now, self._spare, None
        if spare is None:
            spare = _Now(*(np.empty_like(array) for array in now))
        np.copyto(spare.games, now.games)
        np.copyto(spare.rows, now.rows)
        np.copyto(spare.results, now.results)
        return _Now(
            spare.games,
            spare.rows,
            now.starts,
            spare.results,
            now.reward.copy(),
            np.empty(now.legal_mask.shape, np.int8),
            np.empty(now.observation.shape, now.observation.dtype),
        )

    def _take_over(self, after: _Now, actions: np.ndarray, turn: np.ndarray) -> None:
        """Play in every game as `turn` says, on copies, and make them the state."""
        waiting = np.empty(self.num_games, np.bool_)
        while (status := self._advance(after, actions, turn, waiting)) == kernels.ASKING:
            actions = self._ask(after, waiting)
            turn = np.where(waiting, kernels.AGENT, kernels.NOTHING).astype(np.int8)
        if status == kernels.STUCK:
            names = ", ".join(agent.spec for agent in self.opponents)
            raise InvalidArgument(
                f"{names} ends every round of {self.ruleset.name} before the learner's first turn; choose "
                "another opponent, seat, first_player, opening_turns or position"
            )
        if not self._is_passing:
            after.observation[:] = 0
            is_running = after.rows[:, kernels.PHASE] == kernels.PLAYING
            self.observer.write(
                after.games, after.observation, where=is_running, num_threads=self._num_threads
            )
        self._spare, self._now = self._now, after

    def _advance(self, after: _Now, actions: np.ndarray, turn: np.ndarray, waiting: np.ndarray) -> int:
        """Play in every game as `turn` says; return the status of kernels.duel_step."""
        arguments = (
            self._settings,
            self._codes,
            self._chances,
            after.games,
            after.rows,
            after.starts,
            actions,
            turn,
            after.results,
            after.reward,
            self.final_games,
            self.final_observation if self._is_passing else None,
            after.legal_mask,
            after.observation if self._is_passing else None,
            waiting,
        )
        if self.num_games == 1:
            return kernels.duel_step(*arguments, 0, 1)
        run_in_slices(
            lambda start, stop: kernels.duel_step(*arguments, start, stop), self.num_games, self._num_threads
        )
        if (after.rows[:, kernels.PHASE] == kernels.HOPELESS).any():
            return kernels.STUCK
        return kernels.ASKING if waiting.any() else kernels.READY

    def _ask(self, after: _Now, waiting: np.ndarray) -> np.ndarray:
        """Return the actions of opponents in the games that wait for one, int64 `[B]`."""
        games, rows = after.games, after.rows
        actions, seeds = np.zeros(self.num_games, np.int64), np.zeros(self.num_games, np.uint64)
        kernels.draw_seeds(rows, waiting, seeds)
        asked = np.flatnonzero(waiting)
        met = rows[asked, kernels.OPPONENT]
        for i in np.unique(met).tolist():
            agent, where = self.opponents[i], asked[met == i]
            chosen = np.asarray(agent.act_seeded(games[where], seeds[where]))
            if chosen.shape != where.shape or not np.issubdtype(chosen.dtype, np.integer):
                raise IllegalMove(
                    f"opponent {agent.spec} must choose {len(where)} integers, not {chosen.dtype} of shape "
                    f"{chosen.shape}"
                )
            actions[where] = chosen
        b = first_illegal(self._rules, games, actions, waiting, self.num_actions)
        if b >= 0:
            agent = self.opponents[int(rows[b, kernels.OPPONENT])]
            raise IllegalMove(f"game {b}: opponent {agent.spec} chose the illegal action {actions[b]}")
        return actions


def make_duel(
    options: EnvOptions, num_games: int, *, autoreset: bool = False, num_threads: int | None = None
) -> Duel:
    """Make the games of an environment.

    Args:
        options: Options of the environment.
        num_games: B.
        autoreset: Whether the next episode starts within the step that ends one.
        num_threads: CPU threads; None uses every core that this process may use.

    Raises:
        InvalidSpec: An opponent is unknown, or cannot play the ruleset.
        InvalidArgument: The observation or the number of threads is invalid.
    """
    return Duel(
        options.ruleset,
        num_games,
        opponents=[agents.make(one, options.ruleset, num_threads=num_threads) for one in options.opponents],
        seat=options.seat,
        rounds=options.rounds,
        reward=options.reward,
        first_player=options.first_player,
        opening_turns=options.opening_turns,
        opening_set=options.opening_set,
        illegal=options.illegal,
        observer=options.observer(),
        autoreset=autoreset,
        num_threads=num_threads,
    )
