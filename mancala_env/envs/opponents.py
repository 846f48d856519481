"""Duel: games of a learner among others; what both Gymnasium environments play, and the training pool.

Only the learner's turns are steps. Opponents' turns, any number in a row where the learner must pass, are
played in between, in the games concerned alone. A step works on copies and takes them over at its end: an
exception on the way, an opponent's or Ctrl-C, leaves everything as it was before the step.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import one_of
from mancala_env.agents import Agent, AgentLike
from mancala_env.agents.scripted import GreedyAgent, RandomAgent
from mancala_env.engine.episode import Rounds, encode_episode, encode_rounds
from mancala_env.engine.holdout import OpeningSet
from mancala_env.engine.jit.threads import num_threads_of, run_in_slices
from mancala_env.engine.state import NORTH, NUM_COLUMNS, SOUTH, encode
from mancala_env.engine.turn import first_illegal
from mancala_env.envs import kernels
from mancala_env.envs.options import FirstPlayer, Reward
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset

Seat = Literal["south", "north", "random"]
Illegal = Literal["raise", "lose", "random"]

SEATS = {"south": SOUTH, "north": NORTH, "random": kernels.RANDOM_SEAT, "other": kernels.OTHER_SEAT}
_SEATS_TO_ASK_FOR: Sequence[Seat] = get_args(Seat)
_ILLEGAL = {"raise": kernels.RAISE, "lose": kernels.LOSE, "random": kernels.PLAY_RANDOM}
# Whose turns are played by a kernel; any other class, a subclass too, is asked.
_CODES: dict[type[Agent], int] = {RandomAgent: kernels.RANDOM, GreedyAgent: kernels.GREEDY}


class _Now(NamedTuple):
    """Everything a step changes; the attributes and columns are described in Duel and play."""

    games: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    results: np.ndarray
    reward: np.ndarray
    legal_mask: np.ndarray
    observation: np.ndarray


class Duel:
    """B games between a learner and an opponent each.

    Everything random in a game comes from a generator of its own, so game b of many is the one game that is
    played from the same seed. What a step returns is the caller's to keep.

    Symbols: B games, A actions, N opponents.

    Attributes:
        ruleset: The ruleset.
        num_games: B.
        num_actions: A.
        observer: What writes what the learner sees.
        opponents: The other players. Those met in games under way may follow the present ones.
        final_games: uint64 `[B, NUM_COLUMNS]`, valid where `done`: the game the episode ended in.
        final_observation: `[B, *shape]`, valid where `done`: what the learner saw last, zeros for what is
            seen of actions.
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
        """Check the arguments, which are those of the environments, and set up; then call :meth:`reset`.

        With `autoreset` an episode that ends is followed by the next one within the same step. The seat
        "other" changes from episode to episode.
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
        rows[:, kernels.SEAT] = np.arange(num_games) % 2  # what the seat "other" is the other one of
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
        """The array uint64 `[B, NUM_COLUMNS]`, the games; read only."""
        return self._now.games

    @property
    def legal_mask(self) -> np.ndarray:
        """The array int8 `[B, A]`, the learner's legal actions; all zeros where the episode is over."""
        return self._now.legal_mask

    @property
    def observation(self) -> np.ndarray:
        """The array `[B, *shape]`, what the learner sees."""
        return self._now.observation

    @property
    def reward(self) -> np.ndarray:
        """The array float64 `[B]`, the learner's for their last turn and what followed."""
        return self._now.reward

    @property
    def results(self) -> np.ndarray:
        """The array int64 `[B, NUM_RESULTS]`, how episodes ended; see play."""
        return self._now.results

    @property
    def seats(self) -> np.ndarray:
        """The array int64 `[B]`, the learner's seats: 0 South, 1 North."""
        return self._now.rows[:, kernels.SEAT].astype(np.int64)

    @property
    def done(self) -> np.ndarray:
        """The array bool `[B]`, whether the last step ended an episode."""
        return self.results[:, kernels.DONE] != 0

    @property
    def truncated(self) -> np.ndarray:
        """The array bool `[B]`, whether a match ended by the limit of 1,000 rounds alone (RULES 5.4)."""
        return self.results[:, kernels.TRUNCATED] != 0

    @property
    def forfeited(self) -> np.ndarray:
        """The array bool `[B]`, whether the episode ended because the learner's action was illegal."""
        return self.results[:, kernels.FORFEITED] != 0

    @property
    def winner(self) -> np.ndarray:
        """The array int64 `[B]`, who won the episode, 0 or 1; -1 for a draw."""
        return self.results[:, kernels.WINNER].copy()

    @property
    def last_seats(self) -> np.ndarray:
        """The array int64 `[B]`, the learner's seat in the episode that ended."""
        return self.results[:, kernels.LAST_SEAT].copy()

    @property
    def final_counts(self) -> np.ndarray:
        """The array int16 `[B, 2]`, the last counts of South and North."""
        return self.results[:, kernels.SOUTH_COUNT :].astype(np.int16)

    @property
    def met(self) -> np.ndarray:
        """Which opponent each game is played against, int64 `[B]`: indices of `opponents`."""
        return self._now.rows[:, kernels.OPPONENT].astype(np.int64)

    @property
    def is_over(self) -> np.ndarray:
        """Whether an episode has ended and no other has started, bool `[B]`."""
        return self._now.rows[:, kernels.PHASE] == kernels.OVER

    def played(self, b: int) -> tuple[np.ndarray, tuple[int, ...]] | None:
        """Return what the last step, or reset, played in game b, for pictures.

        Returns:
            The game before, uint64 `[1, NUM_COLUMNS]`, and the holes sown from since, of both players and at
            most the last twelve; None where that is not known.
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
        """Say who is met when an episode starts; games that are under way go on against whom they met.

        Args:
            opponents: At least one agent that plays the ruleset.
            weights: How often each is met, in proportion; None: all alike.

        Raises:
            MancalaError: One of them cannot play so many rounds; nothing has changed.
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
            seeds: `[B]`, the seed of everything random in each game from here on; None goes on.
            where: bool `[B]`, the games to reset; None resets all.
            starts: `[B]`, a game to start from, uint64 `[1, NUM_COLUMNS]`, or None for an ordinary start.
            seats: `[B]`, the learner's seat for this episode; None seats them as always.

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
            actions: integers `[B]`, of the action space; legal ones, unless illegal actions are forgiven.
            restart: bool `[B]`, games in which the next episode starts instead.

        Raises:
            IllegalMove: An action is not legal, or not in the action space at all, or an opponent chose such
                an action. Nothing has changed, and the message names the game.
        """
        actions = self._integers(actions)
        turn = self._all_learn
        if restart is not None:
            turn = np.where(restart, kernels.RESTART, kernels.LEARNER).astype(np.int8)
        self._check(actions, turn)
        self._take_over(self._copy(), actions, turn)

    def _integers(self, actions: np.ndarray | Sequence[int]) -> np.ndarray:
        """Return an integer for each game: the kernels read as many, whatever is there."""
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
        """Play a step of a single game, an action of the action space that has been checked."""
        self._take_over(self._copy(), np.array([action], np.int64), self._all_learn)

    def _copy(self) -> _Now:
        """Return what a step may write on: copies of what it goes on from, new arrays for what it returns.

        The copies lie in the memory of the state before the present one, unless a step was broken off:
        its threads may still be writing there.
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
        """Do in every game what `turn` says, on copies, and take them over."""
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
        """Do in every game what `turn` says; returns what it came to, see play.duel_step."""
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
        """Return what agents do in the games that wait for one, int64 `[B]`."""
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
            raise IllegalMove(f"game {b}: opponent {agent.spec} chose action {actions[b]}, an illegal one")
        return actions


def make_duel(
    ruleset: Ruleset,
    num_games: int,
    *,
    opponent: AgentLike | Sequence[AgentLike],
    rounds: Rounds,
    observation: str,
    flatten: bool,
    num_threads: int | None = None,
    **options: Any,
) -> Duel:
    """Make a Duel from the arguments of an environment.

    Raises:
        InvalidSpec: No such opponent, or it cannot play the ruleset.
        InvalidArgument: Another argument is out of range; the message says what would be right.
    """
    encode_rounds(rounds)  # raises what is to be raised
    one_of("seat", options["seat"], _SEATS_TO_ASK_FOR)
    several: Any = opponent if isinstance(opponent, list | tuple) and opponent else [opponent]
    for one in several:
        if not isinstance(one, AgentLike):
            raise InvalidArgument(f"opponent must be an agent or its spec, such as 'random', not {one!r}")
    return Duel(
        ruleset,
        num_games,
        opponents=[agents.make(one, ruleset, num_threads=num_threads) for one in several],
        rounds=rounds,
        observer=Observer(ruleset, observation, ruleset.num_actions(rounds), flatten=flatten),
        num_threads=num_threads,
        **options,
    )
