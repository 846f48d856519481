"""Matches: two agents over many random openings, each opening played from both seats.

Openings of a few random turns keep two deterministic agents from playing one game over and over, and
playing each from both seats takes the luck of the opening out of the result. A *pair* is the two games
of one opening; the games of a pair are not independent of each other, pairs of different openings are, so
every interval here is computed over pairs, and an opening that came again counts for as much as it says
that is new.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import is_whole, seed_of
from mancala_env.agents import Agent, AgentLike
from mancala_env.engine.episode import SEEDS, EpisodeSettings, encode_rounds, step
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import (
    END_COLUMN,
    NORTH,
    PLAYER_COLUMN,
    RUNNING,
    SOUTH,
    encode,
    load,
    save,
)
from mancala_env.engine.turn import is_legal
from mancala_env.engine.validation import check_games
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.evaluation.intervals import design_effect, mean_interval, share_interval
from mancala_env.evaluation.openings import (
    InvalidMatch,
    Openings,
    openings,
    openings_in_words,
    openings_to_evaluate,
)
from mancala_env.games.records import GameRecord, recordable
from mancala_env.rulesets import Ruleset, lookup

Progress = Callable[[int, int], Any]
"""Called now and then as progress(done, total)."""

# What mean_interval is told to expect: the standard deviation of a pair's mean margin is 0.08 to 0.21 of all
# seeds between scripted agents.
PAIR_SPREAD = 1 / 6
MOST_GAMES = 10_000_000
"""Games of a match at most."""


@dataclass(frozen=True, eq=False)
class MatchResult:
    """What came of a match, pair by pair. P is the number of openings.

    Attributes:
        first: Spec of the agent whose side the numbers take.
        second: Spec of its opponent.
        ruleset: Name of the ruleset.
        margins: int16 `[P, 2]`, seeds the first agent led by at the end; as South in column 0, as North in
            column 1.
        total_seeds: Seeds on the board, for rulesets of one's own; None where the catalogue knows them.
        opening_set: Which openings; None where they were given one by one.
        opening_turns: Random turns that made an opening; 0 for balanced ones.
        openings: int64 `[P]`, which opening each pair is of, equal where one came again; None: all differ.
    """

    first: str
    second: str
    ruleset: str
    margins: np.ndarray
    total_seeds: int | None = None
    opening_set: Openings | None = None
    opening_turns: int = 0
    openings: np.ndarray | None = None

    @property
    def games(self) -> int:
        """Number of games, two a pair."""
        return self.margins.size

    @property
    def outcomes(self) -> np.ndarray:
        """int8 `[P, 2]`, +1, 0, -1 where the first agent won, drew, lost."""
        return np.sign(self.margins).astype(np.int8)

    @property
    def wins(self) -> int:
        """Games the first agent won."""
        return int((self.outcomes > 0).sum())

    @property
    def draws(self) -> int:
        """Games nobody won."""
        return int((self.outcomes == 0).sum())

    @property
    def losses(self) -> int:
        """Games the second agent won."""
        return int((self.outcomes < 0).sum())

    @property
    def by_seat(self) -> dict[str, tuple[int, int, int]]:
        """Wins, draws and losses of the first agent as South and as North."""
        return {
            seat: (int((column > 0).sum()), int((column == 0).sum()), int((column < 0).sum()))
            for seat, column in zip(("South", "North"), self.outcomes.T, strict=True)
        }

    @property
    def pair_scores(self) -> np.ndarray:
        """Score of each pair, float64 `[P]`: 0, 0.25, 0.5, 0.75 or 1, a draw being half a win."""
        return 0.5 + self.outcomes.sum(axis=1) / 4

    @property
    def pair_counts(self) -> np.ndarray:
        """How many pairs scored 0, 0.25, 0.5, 0.75 and 1, int64 `[5]`: all that ratings ask for."""
        return np.bincount(2 + self.outcomes.sum(axis=1), minlength=5)

    @property
    def num_openings(self) -> int:
        """Number of different openings."""
        return len(self.margins) if self.openings is None else len(np.unique(self.openings))

    @property
    def repeats(self) -> float:
        """How many pairs say as much as one of an opening of its own; :func:`design_effect`."""
        return design_effect(self.pair_scores, self.openings)

    @property
    def win_rate(self) -> float:
        """Share of the games won, a draw being half a win."""
        return float(self.pair_scores.mean()) if self.games else 0.5

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the win rate, over openings; see :func:`share_interval`."""
        return share_interval(self.pair_scores, self.repeats)

    @property
    def mean_margin(self) -> float:
        """Seeds the first agent led by, on average."""
        return float(self.margins.mean()) if self.games else 0.0

    @property
    def margin_interval(self) -> tuple[float, float]:
        """95 % interval of the mean margin, over openings; see :func:`mean_interval`."""
        most = float(self.total_seeds or lookup(self.ruleset).total_seeds)
        margins = self.margins.mean(axis=1)
        repeats = design_effect(margins, self.openings)
        return mean_interval(margins, PAIR_SPREAD * most, -most, most, repeats)

    def flipped(self) -> "MatchResult":
        """Return the same match from the second agent's side."""
        return replace(self, first=self.second, second=self.first, margins=-self.margins[:, ::-1])

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers (not the single games) as plain data for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "ruleset": self.ruleset,
            "opening_set": self.opening_set,
            "opening_turns": self.opening_turns,
            "games": self.games,
            "num_openings": self.num_openings,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "as_south": list(self.by_seat["South"]),
            "as_north": list(self.by_seat["North"]),
            "win_rate": self.win_rate,
            "win_rate_interval": list(self.interval),
            "mean_margin": self.mean_margin,
            "mean_margin_interval": list(self.margin_interval),
        }

    def __repr__(self) -> str:
        low, high = self.interval
        where = self.ruleset
        if self.opening_set is not None:
            where += f", {openings_in_words(self.opening_set, self.opening_turns)}"
        return (
            f"{self.first} against {self.second} ({where}): {self.wins} won, {self.draws} drawn, "
            f"{self.losses} lost; win rate {self.win_rate:.3f} [{low:.3f}, {high:.3f}]"
        )


def play_matches(
    first: AgentLike,
    second: AgentLike,
    ruleset: str | Ruleset,
    *,
    games: int = 200,
    opening_turns: int | None = None,
    opening_set: Openings | None = None,
    seed: int | None = None,
    rounds: int | Literal["match"] = 1,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Play two agents against each other, all games side by side.

    >>> result = play_matches("greedy", "random", "layli_goobalay", games=200, seed=1)
    >>> result.games, result.win_rate > 0.6
    (200, True)

    Args:
        first: Spec of an agent, or the agent.
        second: Its opponent.
        ruleset: The game.
        games: Number of games, even: each opening is played from both seats.
        opening_turns: Uniformly random turns that make an opening, 0 to 12; not with balanced openings.
        opening_set: "balanced", "evaluation", "training" or "all", see :func:`openings`. None: balanced
            openings where they are shipped; where they are not, or opening_turns is given, "evaluation",
            or "all" where hardly any are held out for it.
        seed: Seed of the openings and of both agents (also of an Agent that was passed); None draws one.
        rounds: Rounds of a game, or "match" to play until the match is over (at most 1,000 rounds).
        num_threads: CPU threads of agents made here; None takes every core this process may use.
        progress: Called as progress(games over, games).

    Raises:
        InvalidMatch: games, opening_turns or opening_set is out of range.
        InvalidArgument: The seed or the number of threads is none.
        InvalidSpec: A spec names no agent, or an agent cannot play the ruleset.
        IllegalMove: An agent chose an action that is not legal; the message names agent and position.
    """
    ruleset = lookup(ruleset)
    pairs = num_pairs(games)
    for_openings, for_first, for_second = (
        np.random.SeedSequence(seed_of(seed)).generate_state(3, np.uint64).tolist()
    )
    players = (
        agents.make(first, ruleset, seed=for_first, num_threads=num_threads),
        agents.make(second, ruleset, seed=for_second, num_threads=num_threads),
    )
    players[0].seed(for_first)
    players[1].seed(for_second)
    chosen, turns = openings_to_evaluate(opening_set, ruleset, opening_turns)
    games_array = openings(ruleset, pairs, turns, for_openings, opening_set=chosen)
    played = play_openings(*players, games_array, rounds=rounds, progress=progress)
    return replace(played, opening_set=chosen, opening_turns=turns)


def num_pairs(games: int, name: str = "games") -> int:
    """Return how many openings a number of games, called `name`, takes.

    Raises:
        InvalidMatch: Not an even whole number from 2 to MOST_GAMES.
    """
    if not is_whole(games) or not 2 <= games <= MOST_GAMES or games % 2:
        raise InvalidMatch(
            f"{name} must be an even whole number of at least 2 (each opening is played from both seats), at "
            f"most {MOST_GAMES:,}, not {games!r}"
        )
    return int(games) // 2


def play_openings(
    first: Agent,
    second: Agent,
    openings: np.ndarray,
    *,
    rounds: int | Literal["match"] = 1,
    progress: Progress | None = None,
    recorded: list[GameRecord] | None = None,
) -> MatchResult:
    """Play each opening twice: with the first agent as South and with the first agent as North.

    Args:
        first: An agent.
        second: Its opponent; may be the same agent.
        openings: Running games, uint64 `[P, NUM_COLUMNS]`; not changed.
        rounds: Rounds of a game, or "match".
        progress: Called as progress(games over, games).
        recorded: A list to which the games are added, both of an opening together.

    Raises:
        IllegalMove: An agent chose an action that is not legal.
        InvalidPosition: The openings are no games of the first agent's ruleset.
        InvalidArgument: An agent is none.
    """
    for agent in (first, second):
        if not isinstance(agent, Agent):
            raise InvalidArgument(f"agents must be such as agents.make('greedy', 'leyla'), not {agent!r}")
    openings = check_games(first.ruleset, openings)
    pairs = len(openings)
    table = Table(
        first, second, np.concatenate([openings, openings]), rounds, keeps_turns=recorded is not None
    )
    table.first_is_south[:pairs] = True
    is_running = pairs > 0
    while is_running:
        is_running = table.play_turn()
        if progress is not None:
            progress(int(table.is_over.sum()), 2 * pairs)
    if recorded is not None:
        of_row = list(table.records(np.concatenate([openings, openings])))
        recorded += [of_row[seat * pairs + pair] for pair in range(pairs) for seat in (0, 1)]
    # From South's lead to the first agent's.
    margins = np.where(table.first_is_south, table.margins, -table.margins).reshape(2, pairs).T
    ruleset = first.ruleset
    return MatchResult(
        first.spec,
        second.spec,
        ruleset.name,
        margins.astype(np.int16),
        ruleset.total_seeds,
        openings=which_openings(openings),
    )


def which_openings(openings: np.ndarray) -> np.ndarray | None:
    """Return which opening each row is, int64 `[P]`, equal where one came again; None where all differ.

    Args:
        openings: uint64 `[P, NUM_COLUMNS]`.
    """
    found, which = np.unique(openings, axis=0, return_inverse=True)
    return None if len(found) == len(openings) else which.reshape(-1).astype(np.int64)


@kernel
def _play_rows(rules, settings, games, rows, actions, is_over, margins):
    """Play one turn in some rows of a games array, and no further when an episode is over.

    Args:
        rules: From :func:`encode`.
        settings: When an episode is over; its reward is SEEDS.
        games: uint64 `[B, NUM_COLUMNS]`, changed in those rows; a game that is over keeps its last position.
        rows: int64 `[R]`, running games.
        actions: int64 `[R]`, an action of the player to move in each.
        is_over: bool `[B]`, set where the episode is over now.
        margins: int64 `[B]`, set there to the seeds South leads by at the end (RULES 5.4).

    Returns:
        The first index into rows whose action is not legal, or -1. The rows before it have been played.
    """
    for i in range(len(rows)):
        b = rows[i]
        game = load(games, b)
        if not is_legal(rules, game, actions[i], 2 * rules.width):
            return i
        after = step(rules, settings, game, actions[i])
        if after.is_over:
            is_over[b] = True
            margins[b] = np.int64(after.reward)
        save(games, b, after.game)
    return -1


class Table:
    """Games between two agents, turn by turn; :func:`play_openings` in slow motion.

    Attributes:
        games: uint64 `[B, NUM_COLUMNS]`; a game that is over keeps its last position.
        first_is_south: bool `[B]`, whether the first agent sits South. All False to begin with.
        is_over: bool `[B]`.
        margins: int64 `[B]`, seeds South led by where the game is over.
    """

    def __init__(
        self,
        first: Agent,
        second: Agent,
        games: np.ndarray,
        rounds: int | Literal["match"] = 1,
        *,
        keeps_turns: bool = False,
    ) -> None:
        """Seat two agents at running games, uint64 `[B, NUM_COLUMNS]` (copied).

        Raises:
            InvalidMatch: They play different rulesets.
            MancalaError: An agent cannot play so many rounds; the message says what would be right.
        """
        if first.ruleset != second.ruleset:
            raise InvalidMatch(
                f"{first.spec} plays {first.ruleset.name}, but {second.spec} plays {second.ruleset.name}"
            )
        self.agents = (first, second)
        self.games = games.copy()
        self.first_is_south = np.zeros(len(games), np.bool_)
        self.is_over = games[:, END_COLUMN] != RUNNING
        self.margins = np.zeros(len(games), np.int64)
        self._rounds: int | Literal["match"] = rounds
        self._settings = EpisodeSettings(rounds=encode_rounds(rounds), reward=SEEDS)
        for agent in self.agents:
            agent.check_rounds(rounds)
        # (rows, players, actions) of every call of play.
        self._turns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] | None = [] if keeps_turns else None
        self._rules = encode(first.ruleset)

    def rows_to_move(self, agent: int) -> np.ndarray:
        """Return the running games in which agent 0 (the first) or 1 is to move, int64 `[R]`."""
        seat = np.where(self.first_is_south, SOUTH, NORTH)
        if agent == 1:
            seat = 1 - seat
        return np.flatnonzero(~self.is_over & (self.games[:, PLAYER_COLUMN] == seat.astype(np.uint64)))

    def play_turn(self) -> bool:
        """Let both agents play a turn where they are to move; tells whether a game still runs."""
        for index, agent in enumerate(self.agents):
            rows = self.rows_to_move(index)
            if len(rows):
                self.play(agent, rows, agent.act(self.games[rows]))
        return not self.is_over.all()

    def play(self, agent: Agent, rows: np.ndarray, actions: np.ndarray) -> None:
        """Play an agent's actions, int64 `[R]`, in rows where it is to move."""
        chosen = np.ascontiguousarray(actions, np.int64)
        if chosen.shape != rows.shape:
            raise IllegalMove(f"{agent.spec} gave actions of shape {chosen.shape}, not {rows.shape}")
        players = self.games[rows, PLAYER_COLUMN]
        wrong = _play_rows(self._rules, self._settings, self.games, rows, chosen, self.is_over, self.margins)
        if wrong >= 0:
            from mancala_env.games.position import Position

            position = Position.from_games(agent.ruleset, self.games, int(rows[wrong]))
            raise IllegalMove(
                f"{agent.spec} played action {chosen[wrong]} in {position.to_text()!r}; legal actions: "
                f"{', '.join(map(str, position.legal_actions))}"
            )
        if self._turns is not None:
            self._turns.append((rows, players, chosen))

    def records(self, openings: np.ndarray) -> Iterator[GameRecord]:
        """Yield each game's record, row by row.

        Args:
            openings: What the games started from, uint64 `[B, NUM_COLUMNS]`.
        """
        from mancala_env.games.position import Position

        assert self._turns is not None, "a table that keeps its turns"
        turns: list[list[tuple[int, int]]] = [[] for _ in self.games]
        for rows, players, actions in self._turns:
            for b, player, action in zip(rows.tolist(), players.tolist(), actions.tolist(), strict=True):
                turns[b].append((player, action))
        first, second = (recordable(agent.spec) for agent in self.agents)
        for b, played in enumerate(turns):
            south, north = (first, second) if self.first_is_south[b] else (second, first)
            ruleset = self.agents[0].ruleset
            start = Position.from_games(ruleset, openings, b)
            yield GameRecord(ruleset, played, south, north, self._rounds, start)
