"""Episodes: start, steps and end.

An episode is one or more rounds of a match, or the whole match (RULES 5). Only :func:`step_from` combines a
turn with the end of a round and of an episode. Batches and environments call it, or :func:`step`, which takes
an action instead of a hole.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from mancala_env._util.checks import is_whole, one_of, whole
from mancala_env.engine.holdout import ALL, encode_opening_set, is_in_set
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import random_below, random_hole
from mancala_env.engine.rounds import first_round, match_margin, next_round
from mancala_env.engine.state import NORTH, RUNNING, SOUTH, count_of, hole_of, load, save
from mancala_env.engine.turn import play_turn
from mancala_env.errors import InvalidArgument

Rounds = int | Literal["match"]

MATCH = 0
"""Code of `rounds="match"` for kernels."""
MAX_ROUNDS = 1000
"""Number of rounds after which a match is truncated (RULES 5.4)."""
OUTCOME, MARGIN, SEEDS = 0, 1, 2
"""Rewards of South: +1, 0 or -1; the lead divided by all seeds; the lead in seeds."""

MOST_OPENING_TURNS = 10_000
"""Most random turns at the start of an episode; few rounds last that long."""

# Random rounds on 2x6 rarely outlast 100 turns, so a position after N turns may not exist. After
# _MOST_OPENINGS rounds, the last running position of a round is taken if it is in the set; after _MOST_ROUNDS
# rounds, it is always taken.
_MOST_OPENINGS, _MOST_ROUNDS = 100, 1000


class EpisodeSettings(NamedTuple):
    """The settings of an episode, as integers for kernels.

    Attributes:
        rounds: Most rounds of an episode; MATCH for a match, which MAX_ROUNDS truncates.
        first_player: Player who starts an episode: 0, 1, or 2 for a random player.
        opening_turns: Number of uniformly random turns before an episode begins.
        reward: OUTCOME, MARGIN or SEEDS.
        opening_set: Allowed positions after opening turns: ALL, TRAINING or EVALUATION.
    """

    rounds: int
    first_player: int = SOUTH
    opening_turns: int = 0
    reward: int = OUTCOME
    opening_set: int = ALL


class Step(NamedTuple):
    """The result of a turn in an episode.

    `game` is the next game: after the turn, at the start of the next round, or at the end of the episode.
    `played` is the game directly after the turn. Matches can be truncated (RULES 5.4). `reward` is South's, 0
    while the episode runs. North's reward is its negative.
    """

    game: Any
    played: Any
    is_over: Any
    is_truncated: Any
    reward: Any


def encode_rounds(rounds: Rounds) -> int:
    """Check a limit on rounds, 1 to MAX_ROUNDS or "match", and return its code for kernels."""
    if isinstance(rounds, str) and rounds == "match":
        return MATCH
    if not is_whole(rounds) or not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidArgument(
            f'rounds must be a whole number from 1 to {MAX_ROUNDS} or "match", not {rounds!r}'
        )
    return int(rounds)


def encode_episode(
    rounds: Rounds = 1,
    first_player: Any = SOUTH,
    opening_turns: int = 0,
    reward: Any = "outcome",
    opening_set: Any = "all",
) -> EpisodeSettings:
    """Check the arguments of Batch and the environments, and return them as the settings of an episode."""
    starter = one_of("first_player", first_player, (SOUTH, NORTH, "random"))
    return EpisodeSettings(
        rounds=encode_rounds(rounds),
        first_player=2 if starter == "random" else int(starter),
        opening_turns=whole("opening_turns", opening_turns, 0, MOST_OPENING_TURNS),
        reward=MARGIN if one_of("reward", reward, ("outcome", "margin")) == "margin" else OUTCOME,
        opening_set=encode_opening_set(opening_set),
    )


NUM_SETTINGS = len(EpisodeSettings._fields)


@kernel
def settings_in(numbers, first):
    """Return the EpisodeSettings whose fields are stored in an int64 array from index `first` on."""
    n = numbers[first:]
    return EpisodeSettings(n[0], n[1], n[2], n[3], n[4])


@kernel
def new_episode(rules, settings, random):
    """Return the next generator state and the start of an episode."""
    tries = 0
    while True:
        tries += 1
        starter = settings.first_player
        if starter > NORTH:
            random, starter = random_below(random, 2)
        game = first_round(rules, starter)
        running = game
        for _ in range(settings.opening_turns):
            if game.end == RUNNING:
                running = game
                random, hole = random_hole(rules, game, random)
                game = play_turn(rules, game, hole)[0]
        is_wanted = settings.opening_turns == 0 or is_in_set(rules, game, settings.opening_set)
        if game.end == RUNNING and is_wanted:
            return random, game
        is_enough = tries >= _MOST_OPENINGS and is_in_set(rules, running, settings.opening_set)
        if is_enough or tries == _MOST_ROUNDS:
            return random, running


@kernel
def step(rules, settings, game, action):
    """Play a legal action of the player to move, and return the :class:`Step`."""
    return step_from(rules, settings, game, hole_of(rules, game.player, action))


@kernel
def step_from(rules, settings, game, hole):
    """Play the turn that starts from a legal hole, and return the :class:`Step`."""
    played = play_turn(rules, game, hole)[0]
    after, is_over, is_truncated, reward = played, False, False, 0.0
    if played.end != RUNNING:
        after, is_over, is_truncated, reward = end_of_round(rules, settings, played)
    return Step(after, played, is_over, is_truncated, reward)


@kernel
def end_of_round(rules, settings, game):
    """Return the continuation of an episode after a finished round.

    Return the start of the next round, or the final game of the episode; whether the episode is over; whether
    it is truncated; South's reward.
    """
    is_match_over = False
    is_last = settings.rounds == 1
    after = game
    if not is_last:
        after, is_match_over = next_round(rules, game)
        is_last = is_match_over or game.round >= (MAX_ROUNDS if settings.rounds == MATCH else settings.rounds)
    if is_last:
        is_truncated = settings.rounds == MATCH and not is_match_over
        return game, True, is_truncated, _reward_of_south(rules, settings, game, is_match_over)
    if after.end != RUNNING:  # no player can move in the new round
        return after, True, False, _reward_of_south(rules, settings, after, False)
    return after, False, False, 0.0


@kernel
def play_random(rules, settings, games, rng_states, turns, start, stop):
    """Play uniformly random turns in games `start` to `stop`, one episode after another."""
    for b in range(start, stop):
        game, random = load(games, b), rng_states[b]
        for _ in range(turns):
            random, hole = random_hole(rules, game, random)
            after = step_from(rules, settings, game, hole)
            game = after.game
            if after.is_over:
                random, game = new_episode(rules, settings, random)
        rng_states[b] = random
        save(games, b, game)


@kernel
def _reward_of_south(rules, settings, game, is_match_over):
    if settings.reward == MARGIN:
        difference = count_of(rules, game, SOUTH) - count_of(rules, game, NORTH)
        return difference / (2 * rules.width * rules.seeds)
    margin = match_margin(rules, game, is_match_over)
    if settings.reward == SEEDS:
        return np.float64(margin)
    return np.float64(np.sign(margin))
