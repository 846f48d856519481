"""Batch: many games stepped in one call, on as many CPU cores as asked for.

The public face of the engine for training: it checks input once, hands rows of games to kernels that
release the GIL, and writes into arrays that are never reallocated.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from mancala_env.engine.kernel import kernel
from mancala_env.engine.rounds import first_round, match_margin, next_round
from mancala_env.engine.state import (
    END_COLUMN,
    NORTH,
    NUM_COLUMNS,
    RUNNING,
    SOUTH,
    TERRITORY_COLUMN,
    State,
    as_actions,
    count_of,
    encode,
    hole_of,
    load,
    nth_bit,
    num_bits,
    save,
    unpack,
)
from mancala_env.engine.turn import legal_holes, play_turn
from mancala_env.errors import IllegalMove, InvalidPosition
from mancala_env.observation import num_features, write_observation
from mancala_env.rulesets import Ruleset, lookup

MATCH = 0
"""What `rounds="match"` is to a kernel: no limit on rounds."""
# A position of N turns is not always to be had: random rounds rarely outlast 100 turns on 2x6.
_MOST_OPENINGS = 100
# Below this many games a step is over before a second thread has woken up.
_FEWEST_GAMES_PER_THREAD = 512

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_U27, _U30, _U31, _U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


class Episode(NamedTuple):
    """What an episode is, as integers for kernels.

    Attributes:
        rounds: Most rounds of an episode; MATCH for no limit.
        first_player: Who starts an episode: 0, 1, or 2 for a player drawn by lot.
        opening_turns: Uniformly random turns played before an episode begins.
        margin: 1 where the reward is the difference of counts over the total, 0 for the outcome.
    """

    rounds: int
    first_player: int
    opening_turns: int
    margin: int


class Outputs(NamedTuple):
    """The arrays a step writes; see the attributes of Batch."""

    player: np.ndarray
    legal_mask: np.ndarray
    observation: np.ndarray
    reward: np.ndarray
    done: np.ndarray
    counts: np.ndarray
    final_observation: np.ndarray
    final_games: np.ndarray


@kernel
def next_random(state):
    """Return the next state of a splitmix64 generator and 64 random bits (Steele et al. 2014)."""
    state = state + _GOLDEN
    mixed = (state ^ (state >> _U30)) * _MIX1
    mixed = (mixed ^ (mixed >> _U27)) * _MIX2
    return state, mixed ^ (mixed >> _U31)


@kernel
def random_below(state, bound):
    """Return the next generator state and a number from 0 to bound - 1, uniform to within 2**-32."""
    state, bits = next_random(state)
    return state, np.int64(((bits >> _U32) * np.uint64(bound)) >> _U32)


@kernel
def random_hole(rules, game, random):
    """Return the next generator state and a legal hole, each equally likely. The round is not over."""
    actions = as_actions(rules, game.player, legal_holes(rules, game))
    random, n = random_below(random, num_bits(actions))
    return random, hole_of(rules, game.player, nth_bit(actions, n))


@kernel
def _new_episode(rules, episode, random):
    """Return the generator state and a game to start an episode from."""
    tries = 0
    while True:
        tries += 1
        starter = episode.first_player
        if starter > NORTH:
            random, starter = random_below(random, 2)
        game = first_round(rules, starter)
        running = game
        for _ in range(episode.opening_turns):
            if game.end == RUNNING:
                running = game
                random, hole = random_hole(rules, game, random)
                game = play_turn(rules, game, hole)[0]
        if game.end == RUNNING:
            return random, game
        if tries == _MOST_OPENINGS:
            return random, running


@kernel
def _advance(rules, episode, game):
    """Return a finished round's successor in the episode, whether the episode is over, and whether the
    match is.
    """
    if episode.rounds == 1:
        return game, True, False
    after, is_match_over = next_round(rules, game)
    if is_match_over or game.round == episode.rounds:
        return game, True, is_match_over
    return after, after.end != RUNNING, False


@kernel
def _reward_of_south(rules, episode, game, is_match_over):
    """Return South's reward at the end of an episode; North's is its negative."""
    if episode.margin:
        difference = count_of(rules, game, SOUTH) - count_of(rules, game, NORTH)
        return difference / (2 * rules.width * rules.seeds)
    return np.float64(np.sign(match_margin(rules, game, is_match_over)))


@kernel
def _first_illegal(rules, games, actions, where, num_actions):
    """Return the first of the wanted games whose action is not legal, or -1."""
    for b in range(len(actions)):
        if not where[b]:
            continue
        action = np.int64(actions[b])
        if action < 0 or action >= num_actions:
            return b
        game = load(games, b)
        if not (legal_holes(rules, game) >> hole_of(rules, game.player, action)) & 1:
            return b
    return -1


@kernel
def _write_view(rules, game, player, legal_mask, observation, b):
    """Write who moves, his mask and what he sees into row b."""
    player[b] = game.player
    actions = as_actions(rules, game.player, legal_holes(rules, game))
    for action in range(legal_mask.shape[1]):
        legal_mask[b, action] = (actions >> action) & 1
    write_observation(rules, game, game.player, observation, b)


@kernel
def _view(rules, games, outputs, wanted, start, stop):
    """Write what follows from the wanted games of start to stop: player, mask, observation, counts."""
    player, legal_mask, observation = outputs.player, outputs.legal_mask, outputs.observation
    counts = outputs.counts
    for b in range(start, stop):
        if wanted[b]:
            game = load(games, b)
            _write_view(rules, game, player, legal_mask, observation, b)
            counts[b, 0] = count_of(rules, game, SOUTH)
            counts[b, 1] = count_of(rules, game, NORTH)


@kernel
def _reset(rules, episode, games, randoms, wanted, start, stop):
    """Start a new episode in each wanted game from start to stop."""
    for b in range(start, stop):
        if wanted[b]:
            randoms[b], game = _new_episode(rules, episode, randoms[b])
            save(games, b, game)


@kernel
def _step(rules, episode, games, randoms, actions, where, outputs, start, stop):
    """Play one turn in each wanted game from start to stop; an episode that ends starts anew."""
    player, legal_mask, observation = outputs.player, outputs.legal_mask, outputs.observation
    reward, done, counts = outputs.reward, outputs.done, outputs.counts
    final_observation, final_games = outputs.final_observation, outputs.final_games
    for b in range(start, stop):
        if not where[b]:
            continue
        game = load(games, b)
        mover = game.player
        game = play_turn(rules, game, hole_of(rules, mover, np.int64(actions[b])))[0]
        reward[b] = 0
        is_over = False
        counts[b, 0] = count_of(rules, game, SOUTH)
        counts[b, 1] = count_of(rules, game, NORTH)
        if game.end != RUNNING:
            after, is_over, is_match_over = _advance(rules, episode, game)
            if is_over:
                south = _reward_of_south(rules, episode, game, is_match_over)
                reward[b] = south if mover == SOUTH else -south
                write_observation(rules, game, mover, final_observation, b)
                save(final_games, b, game)
                randoms[b], after = _new_episode(rules, episode, randoms[b])
            game = after
        done[b] = is_over
        save(games, b, game)
        _write_view(rules, game, player, legal_mask, observation, b)


@kernel
def _play_random(rules, episode, games, randoms, turns, start, stop):
    """Play uniformly random turns in games start to stop, each game on its own."""
    for b in range(start, stop):
        game = load(games, b)
        random = randoms[b]
        for _ in range(turns):
            random, hole = random_hole(rules, game, random)
            game = play_turn(rules, game, hole)[0]
            if game.end != RUNNING:
                game, is_over, _ = _advance(rules, episode, game)
                if is_over:
                    random, game = _new_episode(rules, episode, random)
        randoms[b] = random
        save(games, b, game)


@kernel
def play_rows(rules, episode, games, rows, actions, is_over, margins):
    """Play one turn in some rows of a games array, and no further when an episode is over.

    Args:
        rules: From :func:`encode`.
        episode: Its `rounds` says when an episode is over.
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
        action = actions[i]
        if action < 0 or action >= 2 * rules.width:
            return i
        hole = hole_of(rules, game.player, action)
        if not (legal_holes(rules, game) >> hole) & 1:
            return i
        game = play_turn(rules, game, hole)[0]
        if game.end != RUNNING:
            game, done, is_match_over = _advance(rules, episode, game)
            if done:
                is_over[b] = True
                margins[b] = match_margin(rules, game, is_match_over)
        save(games, b, game)
    return -1


@lru_cache
def _threads(num_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(num_threads, thread_name_prefix="mancala")


def run_in_slices(
    work: Callable[[int, int], Any],
    size: int,
    num_threads: int,
    fewest: int = _FEWEST_GAMES_PER_THREAD,
) -> None:
    """Call work(start, stop) for slices of at least `fewest` that cover range(size), on threads."""
    pieces = max(1, min(num_threads, size // fewest))
    if pieces == 1:
        work(0, size)
        return
    edges = [size * i // pieces for i in range(pieces + 1)]
    pool = _threads(pieces)
    for future in [pool.submit(work, a, b) for a, b in pairwise(edges)]:
        future.result()


def default_num_threads() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def encode_rounds(rounds: int | Literal["match"]) -> int:
    """Return a limit on rounds as kernels take it.

    Raises:
        ValueError: Neither a whole number of at least 1 nor "match".
    """
    if rounds == "match":
        return MATCH
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 1:
        raise ValueError(f'rounds must be a whole number of at least 1 or "match", not {rounds!r}')
    return int(rounds)


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")


class Batch:
    """B games of one ruleset, stepped together.

    Every array below is allocated once and rewritten by each call: copy what you want to keep. A game
    whose episode ended has already been reset when :meth:`step` returns.

    Symbols: B games, H holes, A actions (W, or H where territory can change hands), F features.

    Attributes:
        ruleset: The ruleset.
        num_games: B.
        num_actions: A.
        rounds: Rounds of an episode, or "match".
        player: int8 `[B]`, the player to move.
        legal_mask: int8 `[B, A]`, 1 where the player to move may sow (an action is a hole seen from him).
        observation: float32 `[B, F]` of the player to move; see :mod:`mancala_env.observation`.
        reward: float32 `[B]` of the player who just moved, for the episode that just ended, else 0.
        done: bool `[B]`, whether the last step ended the episode.
        counts: int16 `[B, 2]`, counts of South and North after the last turn, so the final counts where
            `done`.
        final_observation: float32 `[B, F]`, valid where `done`: the position the episode ended in, seen
            by the player who just moved.
        final_games: uint64 `[B, NUM_COLUMNS]`, valid where `done`: the game the episode ended in.
    """

    def __init__(
        self,
        ruleset: str | Ruleset,
        num_games: int,
        rounds: int | Literal["match"] = 1,
        seed: int | None = None,
        num_threads: int | None = None,
        *,
        first_player: Literal[0, 1, "random"] = 0,
        opening_turns: int = 0,
        reward: Literal["outcome", "margin"] = "outcome",
    ) -> None:
        """Set up the games and start their first episodes.

        Args:
            ruleset: Name of a ruleset, or your own.
            num_games: B, at least 1.
            rounds: Most rounds of an episode, or "match" to play until the match is over (RULES 5).
            seed: Seed of everything random here; None draws one from the system.
            num_threads: CPU threads; None takes every core this process may use.
            first_player: Who starts an episode, or "random" for a draw by lot.
            opening_turns: Uniformly random turns played before an episode begins. Openings that end the
                round are drawn again; after a hundred of them the last one is cut short.
            reward: "outcome" (+1, 0, -1) or "margin" (difference of the counts over all seeds).

        Raises:
            InvalidRuleset: No such ruleset.
            ValueError: Another argument is out of range; the message says what would be right.
        """
        self.ruleset = lookup(ruleset)
        _check_whole("num_games", num_games, 1)
        if num_threads is not None:
            _check_whole("num_threads", num_threads, 1)
        if first_player not in (SOUTH, NORTH, "random"):
            raise ValueError(f'first_player must be 0, 1 or "random", not {first_player!r}')
        _check_whole("opening_turns", opening_turns, 0)
        if reward not in ("outcome", "margin"):
            raise ValueError(f'reward must be "outcome" or "margin", not {reward!r}')
        self.num_games = int(num_games)
        self.rounds = rounds
        self.num_actions = self.ruleset.num_actions(rounds)
        self.num_threads = num_threads or default_num_threads()
        self._rules = encode(self.ruleset)
        self._episode = Episode(
            rounds=encode_rounds(rounds),
            first_player=2 if first_player == "random" else int(first_player),
            opening_turns=int(opening_turns),
            margin=int(reward == "margin"),
        )
        batch, features = self.num_games, num_features(self.ruleset)
        self.games = np.zeros((batch, NUM_COLUMNS), np.uint64)
        self._randoms = np.zeros(batch, np.uint64)
        self._outputs = Outputs(
            player=np.zeros(batch, np.int8),
            legal_mask=np.zeros((batch, self.num_actions), np.int8),
            observation=np.zeros((batch, features), np.float32),
            reward=np.zeros(batch, np.float32),
            done=np.zeros(batch, np.bool_),
            counts=np.zeros((batch, 2), np.int16),
            final_observation=np.zeros((batch, features), np.float32),
            final_games=np.zeros((batch, NUM_COLUMNS), np.uint64),
        )
        self._everywhere = np.ones(batch, np.bool_)
        self.player, self.legal_mask, self.observation = self._outputs[:3]
        self.reward, self.done, self.counts, self.final_observation, self.final_games = self._outputs[3:]
        self.reset(seed)

    @property
    def state(self) -> State:
        """The games written out as fresh arrays, batch first."""
        return unpack(self.games, self.ruleset.num_holes)

    def reset(self, seed: int | None = None, where: np.ndarray | None = None) -> None:
        """Start new episodes.

        Args:
            seed: New seed of everything random. None draws one from the system, or, with `where`, goes on.
            where: bool `[B]`, the games to reset; None resets all.
        """
        if where is None or seed is not None:
            self._randoms[:] = np.random.SeedSequence(seed).generate_state(self.num_games, np.uint64)
        wanted = self._wanted(where)
        self._run(_reset, self._rules, self._episode, self.games, self._randoms, wanted)
        self._show(wanted)

    def load(self, games: np.ndarray) -> None:
        """Take over games from an array uint64 `[B, NUM_COLUMNS]`, such as `games` of another batch.

        Raises:
            InvalidPosition: A game is over, territory has changed hands and the mask has no room for it,
                or the array has another shape or type.
        """
        games = np.asarray(games)
        if games.shape != self.games.shape or games.dtype != np.uint64:
            raise InvalidPosition(f"games must be uint64 {self.games.shape}, not {games.dtype} {games.shape}")
        over = np.flatnonzero(games[:, END_COLUMN] != RUNNING)
        if len(over):
            raise InvalidPosition(f"game {over[0]} is over; a batch holds running games only")
        if self.num_actions == self.ruleset.row_width:
            foreign = np.flatnonzero(
                games[:, TERRITORY_COLUMN] != np.uint64((1 << self.ruleset.row_width) - 1)
            )
            if len(foreign):
                raise InvalidPosition(
                    f"in game {foreign[0]} a player's territory is not his row, and the mask of a batch with "
                    f'rounds=1 covers the row alone; make the batch with rounds="match"'
                )
        self.games[:] = games
        self._show(self._everywhere)

    def step(self, actions: Sequence[int] | np.ndarray, where: np.ndarray | None = None) -> None:
        """Play one turn in every game and rewrite the arrays.

        Args:
            actions: Integers `[B]`, each a legal action of its game's player to move.
            where: bool `[B]`, the games to play in; None plays in all. The others stand still: their
                actions are not looked at and their rows of every array stay as they are.

        Raises:
            IllegalMove: An action is not legal; nothing has changed, and the message names the game.
            ValueError: `where` has another shape.
        """
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_games,) or not np.issubdtype(chosen.dtype, np.integer):
            raise IllegalMove(
                f"actions must be {self.num_games} integers, not {chosen.dtype} of shape {chosen.shape}"
            )
        chosen = np.ascontiguousarray(chosen, np.int64)
        wanted = self._wanted(where)
        illegal = _first_illegal(self._rules, self.games, chosen, wanted, self.num_actions)
        if illegal >= 0:
            raise IllegalMove(self._why_illegal(int(illegal), int(chosen[illegal])))
        self._run(_step, self._rules, self._episode, self.games, self._randoms, chosen, wanted, self._outputs)

    def play_random(self, turns_per_game: int) -> int:
        """Play uniformly random turns inside one kernel; episodes that end start anew.

        Args:
            turns_per_game: Turns to play in each game.

        Returns:
            The number of turns played, B times `turns_per_game`. Afterwards `reward` and `done` are zero.
        """
        _check_whole("turns_per_game", turns_per_game, 0)
        turns = int(turns_per_game)
        run_in_slices(
            lambda start, stop: _play_random(
                self._rules, self._episode, self.games, self._randoms, turns, start, stop
            ),
            self.num_games,
            self.num_threads,
            fewest=1,  # a game is many turns here
        )
        self._show(self._everywhere)
        return self.num_games * turns

    def _wanted(self, where: np.ndarray | None) -> np.ndarray:
        if where is None:
            return self._everywhere
        wanted = np.ascontiguousarray(where, np.bool_)
        if wanted.shape != (self.num_games,):
            raise ValueError(f"where must have shape ({self.num_games},), not {wanted.shape}")
        return wanted

    def _run(self, work: Callable[..., Any], *arguments: Any) -> None:
        run_in_slices(lambda start, stop: work(*arguments, start, stop), self.num_games, self.num_threads)

    def _show(self, wanted: np.ndarray) -> None:
        """Rewrite the arrays of the wanted games, which no step has just ended."""
        self.reward[wanted] = 0
        self.done[wanted] = False
        self._run(_view, self._rules, self.games, self._outputs, wanted)

    def _why_illegal(self, b: int, action: int) -> str:
        legal = ", ".join(str(a) for a in np.flatnonzero(self.legal_mask[b]))
        return (
            f"game {b}: {('South', 'North')[self.player[b]]} cannot play action {action}; "
            f"legal actions: {legal}"
        )

    def __repr__(self) -> str:
        return f"Batch({self.ruleset.name!r}, num_games={self.num_games}, rounds={self.rounds!r})"
