"""Matches between two agents over many openings, each played from both seats.

With different openings, deterministic agents play different games. Playing each opening from both seats
removes the advantage of a seat. A *pair* is the two games of one opening. The two games are dependent, but
pairs of different openings are independent. So all intervals are computed over pairs, and pairs of repeated
openings count less (:func:`~mancala_env.evaluation.intervals.design_effect`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import is_whole, refuse_swapped, seed_of
from mancala_env._util.tabular import Tabular, named_interval
from mancala_env.agents import Agent, AgentLike
from mancala_env.engine.episode import SEEDS, EpisodeSettings, Rounds, encode_rounds, step
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import END_COLUMN, PLAYER_COLUMN, PLAYERS, RUNNING, SOUTH, encode, load, save
from mancala_env.engine.turn import is_legal
from mancala_env.engine.validation import check_games
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.evaluation.intervals import design_effect, mean_interval, share_interval
from mancala_env.evaluation.match_options import MatchKeywords, MatchOptions, Progress, ignored
from mancala_env.evaluation.openings import (
    InvalidMatch,
    Openings,
    openings,
    openings_in_words,
    openings_to_evaluate,
)
from mancala_env.games.position import Position
from mancala_env.games.records import GameRecord, recordable
from mancala_env.rulesets import RulesetLike, lookup

# Expected standard deviation of a pair's mean margin, as a share of all seeds; 0.08 to 0.21 between scripted
# agents.
PAIR_SPREAD = 1 / 6
MOST_GAMES = 10_000_000
"""Maximum number of games of a match."""


@dataclass(frozen=True, eq=False)
class MatchResult(Tabular):
    """The result of a match of P openings, pair by pair, from the first agent's side.

    `to_frame()` has one row.

    Attributes:
        first, second: Specs of the agents.
        ruleset: Name of the ruleset.
        margins: int16 `[P, 2]`, final lead of the first agent in seeds: as South in column 0, as North in
            column 1.
        total_seeds: Number of seeds in the game; None for the number in the catalogue's ruleset.
        opening_set: Set of openings; None if they were passed as positions.
        opening_turns: Number of random turns in an opening; 0 for balanced and fair openings.
        openings: int64 `[P]`, index of each pair's opening, equal for repeated openings; None if all differ.
    """

    first: str
    second: str
    ruleset: str
    margins: np.ndarray
    total_seeds: int | None = None
    opening_set: Openings | None = None
    opening_turns: int = 0
    openings: np.ndarray | None = None

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "ruleset": "Name of the ruleset",
        "first": "Spec of the first agent",
        "second": "Spec of the second agent",
        "opening_set": "Set of openings",
        "opening_turns": "Number of random turns in an opening",
        "games": "Number of games",
        "num_openings": "Number of different openings",
        "wins": "Number of games that the first agent won",
        "draws": "Number of draws",
        "losses": "Number of games that the first agent lost",
        **named_interval("win_rate", "Share of the games won, 0 to 1; a draw counts as half a win"),
        **named_interval("mean_margin", "Mean final lead of the first agent, in seeds"),
    }

    def _rows(self) -> Iterator[Sequence[Any]]:
        terms = (self.ruleset, self.first, self.second, self.opening_set, self.opening_turns)
        counts = (self.games, self.num_openings, self.wins, self.draws, self.losses)
        rate = (self.win_rate, *self.interval)
        yield (*terms, *counts, *rate, self.mean_margin, *self.margin_interval)

    @property
    def games(self) -> int:
        """Number of games, two per pair."""
        return self.margins.size

    @property
    def outcomes(self) -> np.ndarray:
        """int8 `[P, 2]`: +1, 0 or -1 if the first agent won, drew or lost."""
        return np.sign(self.margins).astype(np.int8)

    @property
    def wins(self) -> int:
        """Number of games that the first agent won."""
        return int((self.outcomes > 0).sum())

    @property
    def draws(self) -> int:
        """Number of draws."""
        return int((self.outcomes == 0).sum())

    @property
    def losses(self) -> int:
        """Number of games that the first agent lost."""
        return int((self.outcomes < 0).sum())

    @property
    def by_seat(self) -> dict[str, tuple[int, int, int]]:
        """Wins, draws and losses of the first agent as South and as North."""
        return {
            seat: (int((column > 0).sum()), int((column == 0).sum()), int((column < 0).sum()))
            for seat, column in zip(PLAYERS, self.outcomes.T, strict=True)
        }

    @property
    def pair_scores(self) -> np.ndarray:
        """Score of each pair, float64 `[P]`: 0, 0.25, 0.5, 0.75 or 1; a draw counts as half a win."""
        return 0.5 + self.outcomes.sum(axis=1) / 4

    @property
    def pair_counts(self) -> np.ndarray:
        """Number of pairs that scored 0, 0.25, 0.5, 0.75 and 1, int64 `[5]`; ratings use only these."""
        return np.bincount(2 + self.outcomes.sum(axis=1), minlength=5)

    @property
    def num_openings(self) -> int:
        """Number of different openings."""
        return len(self.margins) if self.openings is None else len(np.unique(self.openings))

    @property
    def repeats(self) -> float:
        """Number of pairs that count as one independent pair; see :func:`design_effect`."""
        return design_effect(self.pair_scores, self.openings)

    @property
    def win_rate(self) -> float:
        """Share of the games won, 0 to 1; a draw counts as half a win."""
        return float(self.pair_scores.mean()) if self.games else 0.5

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the win rate, over openings; see :func:`share_interval`."""
        return share_interval(self.pair_scores, self.repeats)

    @property
    def mean_margin(self) -> float:
        """Mean final lead of the first agent, in seeds."""
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
        """Return the statistics, without single games, as plain data for JSON."""
        names = ("first", "second", "ruleset", "opening_set", "opening_turns", "games", "num_openings")
        return {name: getattr(self, name) for name in (*names, "wins", "draws", "losses")} | {
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


class MatchResults(list[MatchResult], Tabular):
    """The results of several matches; `to_frame()` has one row per match."""

    COLUMNS = MatchResult.COLUMNS

    def _rows(self) -> Iterator[Sequence[Any]]:
        for match in self:
            yield from match._rows()


def play_matches(
    first: AgentLike, second: AgentLike, ruleset: RulesetLike, **options: Unpack[MatchKeywords]
) -> MatchResult:
    """Play a match between two agents, with all games in one batch.

    >>> result = play_matches("greedy", "random", "layli_goobalay", games=200, seed=1)
    >>> result.games, result.win_rate > 0.6
    (200, True)

    Args:
        first: The first agent, or its spec.
        second: The second agent, or its spec.
        ruleset: The ruleset, or its name.
        options: Attributes of :class:`~mancala_env.evaluation.match_options.MatchOptions`.

    Raises:
        InvalidMatch: If `games`, `opening_turns` or `opening_set` is out of range.
        InvalidArgument: If the seed or the number of threads is invalid.
        InvalidSpec: If a spec is invalid, or an agent cannot play the ruleset.
        IllegalMove: If an agent chooses an illegal action; the message names agent and position.
    """
    refuse_swapped("play_matches(first, second, ruleset)", ruleset, first)
    ruleset, match = lookup(ruleset), MatchOptions(**options)
    pairs = num_pairs(match.games)
    seeds = np.random.SeedSequence(seed_of(match.seed)).generate_state(3, np.uint64).tolist()
    for_openings, for_first, for_second = seeds
    one = agents.make(first, ruleset, seed=for_first, num_threads=match.num_threads)
    other = agents.make(second, ruleset, seed=for_second, num_threads=match.num_threads)
    one.seed(for_first)
    other.seed(for_second)
    opening_set, turns = openings_to_evaluate(match.opening_set, ruleset, match.opening_turns)
    drawn = openings(ruleset, pairs, turns, for_openings, opening_set=opening_set)
    played = play_openings(one, other, drawn, rounds=match.rounds, progress=match.progress)
    if one is not other and one.spec == other.spec and not one.is_from_spec:
        played = replace(played, first=f"{one.spec} (first)", second=f"{one.spec} (second)")
    return replace(played, opening_set=opening_set, opening_turns=turns)


def num_pairs(games: int, name: str = "games") -> int:
    """Return the number of pairs in `games` games, or raise InvalidMatch about the argument `name`."""
    if not is_whole(games) or not 2 <= games <= MOST_GAMES or games % 2:
        raise InvalidMatch(
            f"{name} must be an even whole number from 2 to {MOST_GAMES:,} (each opening is played from both "
            f"seats), not {games!r}"
        )
    return int(games) // 2


def play_openings(
    first: Agent,
    second: Agent,
    openings: np.ndarray,
    *,
    rounds: Rounds = 1,
    progress: Progress | None = None,
    recorded: list[GameRecord] | None = None,
) -> MatchResult:
    """Play each opening twice: with the first agent as South, and as North.

    Args:
        first: The first agent.
        second: The second agent; may be the same object.
        openings: Running games, uint64 `[P, NUM_COLUMNS]`.
        rounds: Number of rounds per game, or "match".
        progress: Called as progress(finished games, games).
        recorded: List that the game records are appended to, pair by pair.

    Raises:
        IllegalMove: If an agent chooses an illegal action.
        InvalidPosition: If the openings are not games of the first agent's ruleset.
        InvalidMatch: If an opening is over, or the agents play two rulesets.
        InvalidArgument: If an agent is not an Agent.
    """
    check_agent("first", first)
    check_agent("second", second)
    ruleset = first.ruleset
    openings = check_games(ruleset, openings)
    if (over := np.flatnonzero(openings[:, END_COLUMN] != RUNNING)).size:
        raise InvalidMatch(f"openings must be running games; number {over[0]} is over")
    pairs, starts = len(openings), np.concatenate([openings, openings])
    table = MatchGames(first, second, starts, rounds, keeps_turns=recorded is not None)
    table.first_is_south[:pairs] = True
    while not table.is_over.all():
        table.play_turn()
        (progress or ignored)(int(table.is_over.sum()), 2 * pairs)
    if recorded is not None:
        of_row = list(table.records(starts))
        for pair in zip(of_row[:pairs], of_row[pairs:], strict=True):
            recorded += pair
    # The margins are South's; negate those of games in which the first agent is North.
    margins = np.where(table.first_is_south, table.margins, -table.margins).reshape(2, pairs).T
    which = which_openings(openings)
    return MatchResult(
        first.spec, second.spec, ruleset.name, margins.astype(np.int16), ruleset.total_seeds, openings=which
    )


def check_agent(name: str, agent: object) -> None:
    """Raise InvalidArgument unless the argument `name` is an Agent, rather than a spec."""
    if not isinstance(agent, Agent):
        raise InvalidArgument(f"{name} must be an Agent, e.g. agents.make('greedy', 'leyla'), not {agent!r}")


def which_openings(openings: np.ndarray) -> np.ndarray | None:
    """Return an index for each opening, equal for equal openings, int64 `[P]`; None if all are distinct."""
    found, which = np.unique(openings, axis=0, return_inverse=True)
    return None if len(found) == len(openings) else which.reshape(-1).astype(np.int64)


@kernel
def _play_rows(rules, settings, games, rows, actions, is_over, margins):
    """Play `actions` `[R]` in `rows` `[R]` of `games` `[B, NUM_COLUMNS]`, where these games are running.

    Rows whose episode is over are marked in `is_over` `[B]`; `margins` `[B]` then have South's final lead in
    seeds (RULES 5.4). Return the index into `rows` of the first illegal action, before which all rows have
    been played, or -1.
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


class MatchGames:
    """A batch of B games between two agents, played turn by turn.

    Attributes:
        games: uint64 `[B, NUM_COLUMNS]`; a finished game keeps its last position.
        first_is_south: bool `[B]`, whether the first agent plays South; initially False.
        is_over: bool `[B]`, whether the game is finished.
        margins: int64 `[B]`, South's final lead in seeds in finished games.
        turns: With `keeps_turns`, what each call of :meth:`play` did: agent, rows `[R]`, games before
            `[R, NUM_COLUMNS]`, actions `[R]`.
    """

    def __init__(
        self, first: Agent, second: Agent, games: np.ndarray, rounds: Rounds = 1, *, keeps_turns: bool = False
    ) -> None:
        """Copy running games, uint64 `[B, NUM_COLUMNS]`."""
        if first.ruleset != second.ruleset:
            raise InvalidMatch(
                f"{first.spec} plays {first.ruleset.name}, but {second.spec} plays {second.ruleset.name}"
            )
        self.agents = (first, second)
        self.games = games.copy()
        self.first_is_south = np.zeros(len(games), np.bool_)
        self.is_over = games[:, END_COLUMN] != RUNNING
        self.margins = np.zeros(len(games), np.int64)
        self._rounds: Rounds = rounds
        self._settings = EpisodeSettings(rounds=encode_rounds(rounds), reward=SEEDS)
        for agent in self.agents:
            agent.check_rounds(rounds)
        self.turns: list[tuple[Agent, np.ndarray, np.ndarray, np.ndarray]] = []
        self._keeps_turns = keeps_turns
        self._rules = encode(first.ruleset)

    def play_turn(self) -> None:
        """Let both agents play one turn where they are to move."""
        for agent, is_south in zip(self.agents, (self.first_is_south, ~self.first_is_south), strict=True):
            is_to_move = (self.games[:, PLAYER_COLUMN] == SOUTH) == is_south
            rows = np.flatnonzero(~self.is_over & is_to_move)
            if len(rows):
                self.play(agent, rows, agent.act(self.games[rows]))

    def play(self, agent: Agent, rows: np.ndarray, actions: np.ndarray) -> None:
        """Play an agent's actions, int64 `[R]`, in `rows`, where it is to move, or raise IllegalMove."""
        chosen = np.ascontiguousarray(actions, np.int64)
        if chosen.shape != rows.shape:
            raise IllegalMove(f"{agent.spec} returned actions of shape {chosen.shape}, not {rows.shape}")
        if self._keeps_turns:
            self.turns.append((agent, rows, self.games[rows], chosen))
        wrong = _play_rows(self._rules, self._settings, self.games, rows, chosen, self.is_over, self.margins)
        if wrong >= 0:
            position = Position.from_games(agent.ruleset, self.games, int(rows[wrong]))
            raise IllegalMove(
                f"{agent.spec} played action {chosen[wrong]} in {position.to_text()!r}; legal actions: "
                f"{', '.join(map(str, position.legal_actions))}"
            )

    def records(self, openings: np.ndarray) -> Iterator[GameRecord]:
        """Yield each game's record, row by row; `openings` are the start positions, `[B, NUM_COLUMNS]`."""
        assert self._keeps_turns, "records need keeps_turns=True"
        turns: list[list[tuple[int, int]]] = [[] for _ in self.games]
        for _, rows, before, actions in self.turns:
            players = before[:, PLAYER_COLUMN]
            for b, player, action in zip(rows, players.tolist(), actions.tolist(), strict=True):
                turns[b].append((player, action))
        ruleset = self.agents[0].ruleset
        first, second = (recordable(agent.spec) for agent in self.agents)
        for b, played in enumerate(turns):
            south, north = (first, second) if self.first_is_south[b] else (second, first)
            start = Position.from_games(ruleset, openings, b)
            yield GameRecord(ruleset, played, south, north, self._rounds, start)
