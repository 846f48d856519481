"""Batch: many games stepped in one call, on several CPU cores, without the GIL."""

from collections import namedtuple
from collections.abc import Callable, Sequence
from copy import deepcopy
from threading import Event
from typing import Any, Literal

import numpy as np

from mancala_env._util.checks import (
    cpu_array,
    mask,
    refuse_swapped,
    seed_of,
    several,
    truth,
    whole,
    whole_actions,
)
from mancala_env.engine.episode import Rounds, encode_episode, new_episode, play_random, step
from mancala_env.engine.holdout import OpeningSet
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.jit.threads import num_threads_of, run_in_slices
from mancala_env.engine.state import (
    MOST_GAMES,
    NORTH,
    NUM_COLUMNS,
    PLAYERS,
    SOUTH,
    State,
    count_of,
    encode,
    load,
    save,
    unpack,
)
from mancala_env.engine.turn import first_illegal, write_mask
from mancala_env.engine.validation import check_running
from mancala_env.errors import IllegalMove, InvalidArgument, InvalidPosition
from mancala_env.games.position import Position
from mancala_env.observations import Observer
from mancala_env.observations.board import write_board
from mancala_env.render.svg import Theme, check_look, grid
from mancala_env.rulesets import RulesetLike, lookup

# This number of turns takes some tens of milliseconds. Python handles Ctrl-C between two pieces of play.
_TURNS_OF_A_PIECE = 1 << 18
_GAMES_DRAWN, _MOST_GAMES_DRAWN = 16, 256  # by default, and at most
# Most random openings that are as long as a round end it. An opening of the set "all" is drawn at most this
# many times.
_DRAWS_OF_AN_OPENING = 100


# The arrays that a step writes; see the attributes of Batch. `observation` and `final_observation` are None
# for kinds of observation that the step kernel cannot write.
Outputs = namedtuple(
    "Outputs",
    "player legal_mask observation rewards reward done truncated counts final_observation final_games",
)


@kernel
def _write_view(rules, game, player, legal_mask, observation, b):
    """Write the player to move, their mask and their observation into row b."""
    player[b] = game.player
    write_mask(rules, game, game.player, legal_mask, b)
    _observe(rules, game, game.player, observation, b)


@kernel
def _observe(rules, game, player, observation, b):
    """Write a player's observation of the board into row b, if there is an array."""
    if observation is not None:
        write_board(rules, game, player, observation, b)


@kernel
def _write_counts(rules, game, counts, b):
    counts[b, 0] = count_of(rules, game, SOUTH)
    counts[b, 1] = count_of(rules, game, NORTH)


@kernel
def view_rows(rules, games, outputs, wanted, start, stop):
    """Write player, mask, observation and counts of the wanted games from start to stop."""
    player, legal_mask, observation = outputs.player, outputs.legal_mask, outputs.observation
    counts = outputs.counts
    for b in range(start, stop):
        if wanted[b]:
            game = load(games, b)
            _write_view(rules, game, player, legal_mask, observation, b)
            _write_counts(rules, game, counts, b)


@kernel
def reset_rows(rules, settings, games, rng_states, wanted, start, stop):
    """Start a new episode in each wanted game from start to stop."""
    for b in range(start, stop):
        if wanted[b]:
            rng_states[b], game = new_episode(rules, settings, rng_states[b])
            save(games, b, game)


@kernel
def step_rows(rules, settings, autoreset, games, rng_states, actions, where, outputs, start, stop):
    """Play one turn in each wanted game from start to stop; with autoreset, restart ended episodes."""
    player, legal_mask, observation = outputs.player, outputs.legal_mask, outputs.observation
    rewards, reward, done, truncated = outputs.rewards, outputs.reward, outputs.done, outputs.truncated
    counts, final_observation, final_games = outputs.counts, outputs.final_observation, outputs.final_games
    for b in range(start, stop):
        if not where[b]:
            continue
        game = load(games, b)
        mover = game.player
        after = step(rules, settings, game, np.int64(actions[b]))
        game = after.game
        _write_counts(rules, after.played, counts, b)
        if after.is_over:
            _write_counts(rules, game, counts, b)
            _observe(rules, game, mover, final_observation, b)
            save(final_games, b, game)
            if autoreset:
                rng_states[b], game = new_episode(rules, settings, rng_states[b])
        rewards[b, 0] = after.reward
        rewards[b, 1] = 0.0 - after.reward
        reward[b] = rewards[b, mover]
        done[b] = after.is_over
        truncated[b] = after.is_truncated
        save(games, b, game)
        _write_view(rules, game, player, legal_mask, observation, b)


def illegal_action(
    b: int, player: int, action: int, legal_mask: np.ndarray, hint: str = "Choose by legal_mask"
) -> IllegalMove:
    """Return the error for an illegal action in game b; `legal_mask` is int8 `[A]`, of the player to move."""
    legal = ", ".join(map(str, np.flatnonzero(legal_mask))) or "none"
    why = f"{PLAYERS[player]} cannot play action {action}"
    return IllegalMove(f"game {b}: {why}; legal actions: {legal}. {hint}")


class Batch:
    """B games of one ruleset, stepped together.

    Each array is allocated once and rewritten by each call, so copy arrays that you want to keep. By default,
    :meth:`step` resets a game whose episode ends. With `autoreset=False` the game keeps its final position
    without legal actions until you call :meth:`reset` for it.

    Symbols: B games, H holes, A actions (W, or H where territory can change hands), F features of the board,
    G features of an action.

    Attributes:
        ruleset: The ruleset.
        num_games: B.
        num_actions: A.
        rounds: Rounds of an episode, or "match".
        player: int8 `[B]`, the player to move.
        legal_mask: int8 `[B, A]`, 1 for the legal actions of the player to move.
        observer: :class:`mancala_env.observations.Observer` that writes `observation`.
        observation: float32 `[B, F]`, or int16 `[B, A, G]`, of the player to move; see
            :mod:`mancala_env.observations`.
        rewards: float32 `[B, 2]`, rewards of South and North where the step ended an episode, otherwise 0.
        reward: float32 `[B]`, reward of the player who has just moved.
        done: bool `[B]`, whether the last step ended the episode.
        truncated: bool `[B]`, whether only the limit of 1,000 rounds ended the match (RULES 5.4).
        counts: int16 `[B, 2]`, counts of South and North after the last turn; final counts where `done`.
        final_observation: Like `observation`, valid where `done`: the final position of the episode, seen
            from the player of the last turn. Kinds with a row for each action have zeros here; see
            `final_games`.
        final_games: uint64 `[B, NUM_COLUMNS]`, valid where `done`: the final game of the episode.
        games: uint64 `[B, NUM_COLUMNS]`, the games in the format of the engine.
    """

    def __init__(
        self,
        ruleset: RulesetLike,
        num_games: int,
        rounds: Rounds = 1,
        seed: int | None = None,
        num_threads: int | None = None,
        *,
        first_player: Literal[0, 1, "random"] = 0,
        opening_turns: int = 0,
        opening_set: OpeningSet = "all",
        reward: Literal["outcome", "margin"] = "outcome",
        observation: str = "board",
        autoreset: bool = True,
    ) -> None:
        """Set up the games and start their first episodes.

        Args:
            ruleset: Name of a ruleset, or a Ruleset.
            num_games: B, at least 1.
            rounds: Most rounds of an episode, 1 to 1,000, or "match" to play until the match is over.
            seed: Random seed; None draws one from the system.
            num_threads: CPU threads; None uses every core that this process may use.
            first_player: Who starts an episode: 0 South, 1 North, or "random" for a draw at each reset.
            opening_turns: Number of uniformly random turns before an episode begins, 0 to 10,000. Openings
                that end the round are drawn again; after 100 draws (1,000 with a set) the last one is cut
                short.
            opening_set: "all" openings, or only those for "training" or "evaluation"
                (:mod:`mancala_env.engine.holdout`). Without opening turns every episode begins at the start
                of the round.
            reward: "outcome" (+1, 0, -1) or "margin" (difference of the counts divided by all seeds).
            observation: "board", or what each action leads to: "afterstates", "replies", "lines", "leaves"
                or "values".
            autoreset: Whether the next episode starts within the step that ends one.

        Raises:
            InvalidRuleset: The ruleset is unknown.
            NoValueNetwork: The observation is "values", and no value network of the ruleset is bundled.
            InvalidArgument: Another argument is out of range; the message says what is valid.
        """
        refuse_swapped("Batch(ruleset, num_games)", ruleset, num_games)
        self.ruleset = lookup(ruleset)
        self.num_games = whole("num_games", num_games, 1, MOST_GAMES)
        self.num_threads = num_threads_of(num_threads)
        self._settings = encode_episode(rounds, first_player, opening_turns, reward, opening_set)
        self.rounds: Rounds = rounds
        self.num_actions = self.ruleset.num_actions(rounds)
        self.observer = Observer(self.ruleset, observation, self.num_actions)
        self.autoreset = truth("autoreset", autoreset)
        self._rules = encode(self.ruleset)
        batch = self.num_games
        self.games = np.zeros((batch, NUM_COLUMNS), np.uint64)
        self._rng_states = np.zeros(batch, np.uint64)
        self._everywhere = np.ones(batch, np.bool_)
        self.player = np.zeros(batch, np.int8)
        self.legal_mask = np.zeros((batch, self.num_actions), np.int8)
        self.observation = self.observer.empty(batch)
        self.rewards = np.zeros((batch, 2), np.float32)
        self.reward = np.zeros(batch, np.float32)
        self.done = np.zeros(batch, np.bool_)
        self.truncated = np.zeros(batch, np.bool_)
        self.counts = np.zeros((batch, 2), np.int16)
        self.final_observation = self.observer.empty(batch)
        self.final_games = np.zeros((batch, NUM_COLUMNS), np.uint64)
        passed = {name: getattr(self, name) for name in Outputs._fields}
        for name in ("observation", "final_observation"):
            passed[name] = self.observer.for_kernels(passed[name])
        self._outputs = Outputs(**passed)
        self.reset(seed)

    @property
    def state(self) -> State:
        """The games as a State of new arrays."""
        return unpack(self.games, self.ruleset.num_holes)

    def to_svg(
        self,
        *,
        columns: int = 4,
        games: Sequence[int] | None = None,
        theme: Theme = "auto",
        width: float | None = None,
    ) -> str:
        """Draw games as one SVG document, side by side.

        Args:
            columns: Number of games side by side.
            games: Indices of the games to draw, at most 256; None: the first 16.
            theme: "light", "dark" or "auto", which follows the system or the page.
            width: Width in pixels; None: 280 for each game.

        Raises:
            InvalidArgument: An argument is invalid, or there are too many games.
        """
        check_look(theme, width)
        first = range(min(self.num_games, _GAMES_DRAWN))
        wanted = first if games is None else several("games", games, "a list of games")
        if not 1 <= len(wanted) <= _MOST_GAMES_DRAWN:
            raise InvalidArgument(f"1 to {_MOST_GAMES_DRAWN} games can be drawn at once, not {len(wanted)}")
        rows = [whole("a game", b, 0, self.num_games - 1) for b in wanted]
        columns = min(whole("columns", columns, 1), len(rows))
        scenes = [Position._of(self.ruleset, self.games[b][None]).scene() for b in rows]
        return grid(scenes, columns, theme=theme, width=280 * columns if width is None else width)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def reset(self, seed: int | None = None, where: np.ndarray | None = None) -> None:
        """Start new episodes.

        Args:
            seed: Random seed. None draws one from the system; with `where` it keeps the generators.
            where: bool `[B]`, the games to reset; None resets all.

        If Ctrl-C interrupts the call, only some games have been reset: call it again.
        """
        wanted = self._wanted(where)
        seed = seed_of(seed)
        if where is None or seed is not None:
            states = np.random.SeedSequence(seed).generate_state(self.num_games, np.uint64)
            self._rng_states[wanted] = states[wanted]
        turns = self._settings.opening_turns
        most = max(1, _TURNS_OF_A_PIECE // (1 + turns * min(turns, _DRAWS_OF_AN_OPENING)))
        self._run(reset_rows, self._rules, self._settings, self.games, self._rng_states, wanted, most=most)
        self._show(wanted)

    def load(self, games: np.ndarray, where: np.ndarray | None = None) -> None:
        """Replace games by others, such as `games` of another batch or ``Position.games``.

        Args:
            games: Running games, uint64 `[B, NUM_COLUMNS]`.
            where: bool `[B]`, the games to replace; None replaces all. Other rows of `games` are ignored.

        Raises:
            InvalidPosition: The array has another shape or type, or a game is over or impossible. Or
                `rounds` is 1 and territory has changed hands: the actions of a single round cover only the
                row. Or a next round would lack seeds. Nothing has changed.
        """
        wanted = self._wanted(where)
        games = cpu_array("games", games)
        if games.shape != self.games.shape:
            raise InvalidPosition(f"games must be uint64 {self.games.shape}, not {games.dtype} {games.shape}")
        rows = np.flatnonzero(wanted)
        self.games[rows] = check_running(self.ruleset, self.rounds, games[rows], rows)
        self._show(wanted)

    def step(self, actions: Sequence[int] | np.ndarray, where: np.ndarray | None = None) -> None:
        """Play one turn in every game and rewrite the arrays.

        Args:
            actions: Integers `[B]`, a legal action of the player to move in each game.
            where: bool `[B]`, the games to play in; None plays in all. Other games do not change, and their
                actions are ignored.

        Raises:
            IllegalMove: An action is illegal; the message names the game. Nothing has changed.
            InvalidArgument: `where` is not a mask.
        """
        chosen = whole_actions("actions must be", actions, self.num_games)
        wanted = self._wanted(where)
        b = first_illegal(self._rules, self.games, chosen, wanted, self.num_actions)
        if b >= 0:
            raise illegal_action(b, int(self.player[b]), int(chosen[b]), self.legal_mask[b])
        episode = self._rules, self._settings, self.autoreset, self.games, self._rng_states
        self._run(step_rows, *episode, chosen, wanted, self._outputs)
        self._observe(wanted)

    def play_random(self, turns_per_game: int) -> int:
        """Play uniformly random turns inside a kernel; ended episodes restart.

        Afterwards `reward` and `done` are zero. If Ctrl-C interrupts the call, some games have played fewer
        turns, and the batch stays usable.

        Args:
            turns_per_game: Number of turns in each game.

        Returns:
            The number of turns, B times `turns_per_game`.

        Raises:
            InvalidArgument: The number is negative, or an episode is over and `autoreset` is False.
        """
        turns = whole("turns_per_game", turns_per_game, 0)
        if not self.autoreset and self.done.any():
            raise InvalidArgument("an episode is over; call reset() before more random play")
        is_cancelled = Event()

        def play(start: int, stop: int) -> None:
            most, left = max(1, _TURNS_OF_A_PIECE // (stop - start)), turns
            while left and not is_cancelled.is_set():
                some = min(most, left)
                play_random(self._rules, self._settings, self.games, self._rng_states, some, start, stop)
                left -= some

        try:
            # Each game plays many turns here, so a thread may have a single game.
            run_in_slices(play, self.num_games, self.num_threads, fewest=1, is_cancelled=is_cancelled)
        finally:
            self._show(self._everywhere)
        return self.num_games * turns

    def _wanted(self, where: np.ndarray | None) -> np.ndarray:
        # A copy, because `where` may be an array of this batch, such as `done`.
        return self._everywhere if where is None else mask("where", where, self.num_games).copy()

    def _run(self, work: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        """Call a kernel for slices of the games, on several threads."""
        run_in_slices(
            lambda start, stop: work(*arguments, start, stop), self.num_games, self.num_threads, **options
        )

    def _show(self, wanted: np.ndarray) -> None:
        """Rewrite the arrays of the wanted games after something other than a step."""
        self.rewards[wanted] = 0
        self.reward[wanted] = 0
        self.done[wanted] = False
        self.truncated[wanted] = False
        self._run(view_rows, self._rules, self.games, self._outputs, wanted)
        self._observe(wanted)

    def _observe(self, wanted: np.ndarray) -> None:
        """Write the observations of kinds that the step kernel cannot write."""
        if self._outputs.observation is None:
            self.observer.write(self.games, self.observation, where=wanted, num_threads=self.num_threads)

    def copy(self) -> "Batch":
        """Return an independent copy, with the same random generators."""
        return deepcopy(self)

    __copy__ = copy

    def __repr__(self) -> str:
        return f"Batch({self.ruleset.name!r}, num_games={self.num_games}, rounds={self.rounds!r})"
