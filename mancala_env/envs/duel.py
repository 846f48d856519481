"""Duel: games of a learner against an opponent, over a Batch; what both Gymnasium environments play.

Only the learner's turns are steps. The opponent's turns, any number in a row where the learner must
pass, are played in between, in the games concerned alone.
"""

from typing import Literal

import numpy as np

from mancala_env import agents
from mancala_env.agents import Agent
from mancala_env.arguments import one_of
from mancala_env.batch import Batch
from mancala_env.engine.episode import Rounds
from mancala_env.engine.state import NORTH, SOUTH
from mancala_env.envs.arguments import FirstPlayer, Reward, reward_of_south
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.observation import KINDS, ObservationKind
from mancala_env.position import Position
from mancala_env.rulesets import Ruleset

Seat = Literal["south", "north", "random"]
Illegal = Literal["raise", "lose"]

SEATS = {"south": SOUTH, "north": NORTH, "random": None}
_FORFEIT = -1.0  # what an illegal action costs, as in PettingZoo's TerminateIllegalWrapper
# Far more turns than the opponent has before the learner's first; a ruleset in which he ends every
# round by then would otherwise never start.
_MOST_FIRST_TURNS = 10_000


class Duel:
    """B games between a learner and an opponent.

    Symbols: B games, A actions, F features. The arrays are rewritten by each call.

    Attributes:
        batch: The games; between calls the learner is to move in each.
        opponent: The other player.
        kind: What the learner sees.
        seats: int8 `[B]`, the learner's seat: 0 South, 1 North.
        reward: float64 `[B]`, the learner's reward for his last turn and what followed.
        done: bool `[B]`, whether his last turn, or a turn of the opponent's after it, ended the episode.
            The batch has started the next one by then; :meth:`begin` brings it to the learner's turn.
        forfeited: bool `[B]`, whether the episode ended because his action was illegal.
        winner: int8 `[B]`, valid where `done`: who won the episode, 0 or 1; -1 for a draw.
        final_games: uint64 `[B, NUM_COLUMNS]`, valid where `done`: the game the episode ended in.
        final_counts: int16 `[B, 2]`, valid where `done`: the last counts of South and North.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        num_games: int,
        *,
        opponent: str | Agent,
        seat: Seat,
        rounds: Rounds,
        reward: Reward,
        first_player: FirstPlayer,
        opening_turns: int,
        illegal: Illegal,
        observation: ObservationKind,
        num_threads: int | None = None,
    ) -> None:
        """Check the arguments, which are those of the environments, and set up; then call :meth:`reset`."""
        self._seat = SEATS[one_of("seat", seat, tuple(SEATS))]
        self._forgives = one_of("illegal", illegal, ("raise", "lose")) == "lose"
        if not isinstance(opponent, str | Agent):
            raise InvalidArgument(
                f"opponent must be an agent or its spec, such as 'random', not {opponent!r}"
            )
        self._reward = one_of("reward", reward, ("outcome", "margin"))
        self.kind: ObservationKind = one_of("observation", observation, KINDS)
        self._num_threads = num_threads
        # The outcome tells the winner as well; the margin follows from the counts.
        self.batch = Batch(
            ruleset,
            num_games,
            rounds,
            num_threads=num_threads,
            first_player=first_player,
            opening_turns=opening_turns,
            observation=observation,
        )
        self.opponent = agents.make(opponent, ruleset, num_threads=num_threads)
        self.seats = np.full(num_games, self._seat or SOUTH, np.int8)
        self.reward = np.zeros(num_games)
        self.done = np.zeros(num_games, np.bool_)
        self.forfeited = np.zeros(num_games, np.bool_)
        self.winner = np.zeros(num_games, np.int8)
        self.final_games = self.batch.final_games
        self.final_counts = np.zeros((num_games, 2), np.int16)
        self._rows = np.arange(num_games)
        self._replies = np.zeros(num_games, np.int64)

    def reset(self, rng: np.random.Generator, *, reseed: bool) -> None:
        """Start new episodes in all games.

        Args:
            rng: Where the seats are drawn from, and the seeds.
            reseed: Whether to reseed the games and the opponent from it; otherwise they go on.
        """
        self._rng = rng
        if reseed:
            self.opponent.seed(int(rng.integers(2**63)))
            self.batch.reset(int(rng.integers(2**63)))
        else:
            self.batch.reset(where=~self.done)  # where an episode is over, the batch has started another
        self.begin(np.ones(len(self._rows), np.bool_))

    def begin(self, where: np.ndarray) -> None:
        """Seat the learner in new episodes and let the opponent play up to his first turn.

        An episode that the opponent ends before the learner's first turn is played anew.

        Args:
            where: bool `[B]`, games whose episode has just started.
        """
        self.done[where] = False
        if self._seat is None:
            self.seats[where] = self._rng.integers(0, 2, np.count_nonzero(where))
        for _ in range(_MOST_FIRST_TURNS):
            waiting = where & (self.batch.player != self.seats)
            if not waiting.any():
                return
            self._reply(waiting)
        raise InvalidArgument(
            f"{self.opponent.spec} ends every round of {self.batch.ruleset.name} before the learner's first "
            "turn; choose another opponent, seat, first_player or opening_turns"
        )

    def play(self, actions: np.ndarray) -> None:
        """Play the learner's turn in every game, then the opponent's until the learner is to move again.

        Args:
            actions: Integers `[B]`.

        Raises:
            IllegalMove: An action is not legal, and illegal actions are not forgiven, or not in the
                action space at all; nothing has changed, and the message names the game.
        """
        batch = self.batch
        legal = self._legal(actions) if self._forgives else None
        batch.step(actions, legal)
        np.copyto(self.done, batch.done)
        if legal is not None:
            np.logical_not(legal, out=self.forfeited)
            self.done &= legal
        # Until here rewards are the mover's, who is the learner; after the opponent's turns his.
        south = np.where(self.seats == SOUTH, batch.reward, -batch.reward)
        while True:
            waiting = (batch.player != self.seats) & ~self.done
            if not waiting.any():
                break
            self._reply(waiting)
            ended = waiting & batch.done
            south[ended] = np.where(self.seats[ended] == NORTH, batch.reward[ended], -batch.reward[ended])
            self.done |= ended
        self._finish(south)

    def observation(self) -> np.ndarray:
        """Return what the learner sees, float32 `[B, F]` or int16 `[B, A, G]`; the caller's to keep."""
        return self.batch.observation.copy()

    def final_observation(self, rows: np.ndarray) -> np.ndarray:
        """Return what the learner sees of the games the episodes in some rows ended in.

        Returns:
            float32 `[R, F]`, or int16 `[R, A, G]`, all zeros: no action is legal any more.
        """
        return self.batch.observer.observe(self.final_games[rows], self.seats[rows])

    def _legal(self, actions: np.ndarray) -> np.ndarray:
        """Return which actions are legal, bool `[B]`, where illegal ones are forgiven."""
        wrong = (actions < 0) | (actions >= self.batch.num_actions)
        if wrong.any():
            b = int(np.flatnonzero(wrong)[0])
            raise IllegalMove(
                f"game {b}: action {actions[b]} is not one of 0 to {self.batch.num_actions - 1}"
            )
        return self.batch.legal_mask[self._rows, actions] == 1

    def _reply(self, waiting: np.ndarray) -> None:
        """Play one turn of the opponent's in some games."""
        rows = np.flatnonzero(waiting)
        self._replies[rows] = self.opponent.act(self.batch.games[rows])
        self.batch.step(self._replies, waiting)

    def _finish(self, south: np.ndarray) -> None:
        """Fill in rewards, winners and counts from South's outcomes, forfeits included."""
        batch = self.batch
        self.reward[:] = 0
        ended = np.flatnonzero(self.done)
        if len(ended):
            won, counts = south[ended], batch.counts[ended]
            self.final_counts[ended] = counts
            self.winner[ended] = np.where(won > 0, SOUTH, np.where(won < 0, NORTH, -1))
            reward = reward_of_south(self._reward, won, counts, batch.ruleset.total_seeds)
            self.reward[ended] = np.where(self.seats[ended] == SOUTH, reward, -reward)
        if self._forgives and self.forfeited.any():
            rows = np.flatnonzero(self.forfeited)
            self.reward[rows] = _FORFEIT
            self.done[rows] = True
            self.winner[rows] = 1 - self.seats[rows]
            self.final_games[rows] = batch.games[rows]
            self.final_counts[rows] = [
                Position.from_games(batch.ruleset, batch.games, int(b)).counts for b in rows
            ]
            batch.reset(where=self.forfeited)
