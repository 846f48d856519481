"""A game between people and agents, without a screen: turns, undo and recording."""

import secrets
from datetime import date
from pathlib import Path

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import whole
from mancala_env.agents import Agent
from mancala_env.engine.episode import Rounds
from mancala_env.engine.state import PLAYERS
from mancala_env.engine.timeline import Timeline
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.games import records
from mancala_env.games.position import Position
from mancala_env.rulesets import RulesetLike

HUMAN = "human"


class InteractiveGame:
    """A game in progress between people and agents.

    In `players`, South and North, a person is None. `names` are specs, or the names of persons. `rounds` is
    the last round of the game, or "match". `seed` is for the agents. `timelines` has the events of the turns
    in `steps`.
    """

    def __init__(
        self,
        ruleset: RulesetLike | Position,
        south: str = HUMAN,
        north: str = HUMAN,
        *,
        rounds: Rounds | None = None,
        seed: int | None = None,
    ) -> None:
        """Create the players and the start position; raise a MancalaError for an invalid argument.

        A player is "human", "human:NAME", or the spec of an agent. `rounds` is the last round to play, or
        "match"; None is the round of the start position.
        """
        self._start = ruleset if isinstance(ruleset, Position) else Position(ruleset)
        self.ruleset = self._start.ruleset
        self.rounds: Rounds = self._start.round if rounds is None else rounds
        self._replay = records.Replay(self._start, self.rounds)
        if self.rounds != "match" and self.rounds < self._start.round:
            raise InvalidArgument(
                f"the game starts in round {self._start.round}, so rounds must be at least that, or 'match', "
                f"not {rounds!r}"
            )
        self.seed = secrets.randbits(32) if seed is None else whole("seed", seed, 0, 2**64 - 1)
        seeds = np.random.SeedSequence(self.seed).generate_state(2, np.uint64).tolist()
        (first, first_name), (second, second_name) = map(self._seated, (south, north), seeds)
        self.players: tuple[Agent | None, Agent | None] = (first, second)
        self.names = (first_name, second_name)
        self.steps: list[records.Step] = []
        self.timelines: list[Timeline] = []

    def _seated(self, spec: str, seed: int) -> tuple[Agent | None, str]:
        kind, _, name = spec.partition(":")
        if kind == HUMAN:
            return None, name or HUMAN
        agent = agents.make(spec, self.ruleset, seed=seed, num_threads=1)
        agent.check_rounds(self.rounds)
        return agent, agent.spec

    @property
    def position(self) -> Position:
        """A copy of the current position."""
        return self._replay.position.copy()

    @property
    def is_over(self) -> bool:
        """Whether the game is over."""
        return self._replay.is_over

    @property
    def agent_to_move(self) -> Agent | None:
        """The agent to move; None if a person is to move or the game is over."""
        return None if self.is_over else self.players[self._replay.position.player]

    @property
    def has_human(self) -> bool:
        """Whether a person plays."""
        return None in self.players

    def play(self, action: int) -> records.Step:
        """Play an action of the player to move, or raise an IllegalMove that says why it is illegal."""
        before = self._replay.position
        if self.is_over:
            raise IllegalMove(f"action {action} cannot be played: the game is over ({before.end})")
        timeline = before.timeline(action)  # raises IllegalMove with the reason
        step = self._replay.play(records.RecordedTurn(before.player, int(action)))
        self.steps.append(step)
        self.timelines.append(timeline)
        return step

    def undo(self) -> int:
        """Take back all turns since a person's last choice, included; return their number."""
        by_people = [n for n, step in enumerate(self.steps) if self.players[step.turn.player] is None]
        keep = by_people[-1] if by_people else len(self.steps)
        taken_back = len(self.steps) - keep
        del self.steps[keep:], self.timelines[keep:]
        self._replay = records.Replay(self._start, self.rounds)
        for step in self.steps:
            self._replay.play(step.turn)
        return taken_back

    def record(self) -> records.GameRecord:
        """Return the game as a record."""
        return records.GameRecord(
            self.ruleset,
            [step.turn for step in self.steps],
            *map(records.recordable, self.names),
            rounds=self.rounds,
            start=self._start,
            seed=self.seed,
            date=str(date.today()),
        )

    def outcome(self) -> records.Outcome:
        """Return the outcome so far."""
        return self._replay.outcome()

    def save(self, path: str | Path) -> None:
        """Append the game to a file of game records; see :func:`mancala_env.games.records.write_games`."""
        records.write_games(path, [self.record()], append=True)

    @property
    def title(self) -> str:
        """The ruleset, the length and the players, in one line."""
        length = {1: "", "match": ", a match"}.get(self.rounds, f", up to round {self.rounds}")
        return f"{self.ruleset.title}{length}: {self.names[0]} (South) - {self.names[1]} (North)"

    def result(self) -> str:
        """Return the result of the game as a sentence."""
        outcome = self.outcome()
        if not outcome.is_over:
            return "The game is not over."
        if outcome.winner is None:
            return "The game is a draw."
        return f"{self.player_in_words(outcome.winner)} wins by {abs(outcome.margin or 0)}."

    def player_in_words(self, player: int) -> str:
        """Return a player with the name that was chosen, such as "South (Amina)"."""
        name = self.names[player]
        return PLAYERS[player] + ("" if name == HUMAN else f" ({name})")


def end_in_words(step: records.Step) -> str:
    """Return the result of the round that a turn ended."""
    south, north = step.after.counts
    return f"Round {step.after.round} is over: South {south}, North {north}."


def undone_in_words(count: int) -> str:
    """Return the message about a number of turns taken back."""
    return f"{count} turn{'s' * (count != 1)} taken back." if count else "There is no turn to take back."


def saved_in_words(game: InteractiveGame, path: str) -> str:
    """Append a game to a file of game records; return a message, also if that fails."""
    try:
        game.save(path)
    except (ValueError, OSError) as error:  # a folder, text of another kind, a full disk
        return f"Not saved: {error}"
    return f"Saved in {path}; show it with mancala replay {path}."
