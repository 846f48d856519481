"""Kernels of the environments: a turn, what an opponent answers, and what the learner sees then.

A call from Python costs by the number of its arguments, and a NamedTuple as much as four arrays, so the
kernels that a single environment calls once a step take ruleset, episode and dials as one array of integers,
and write numbers into tables.

Symbols: B games, A actions, F features of the board, N opponents.
"""

import numpy as np

from mancala_env.agents.scripted import greedy_action, random_action
from mancala_env.engine.episode import (
    NUM_SETTINGS,
    OUTCOME,
    EpisodeSettings,
    end_of_round,
    new_episode,
    settings_in,
    step,
    step_from,
)
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import next_random, random_below
from mancala_env.engine.state import (
    NOBODY,
    NORTH,
    NUM_RULES,
    SOUTH,
    count_of,
    encode,
    hole_of,
    load,
    rules_in,
    save,
)
from mancala_env.engine.turn import is_legal, legal_holes, write_mask
from mancala_env.observations.board import write_board
from mancala_env.rulesets import Ruleset

# How the learner is seated when an episode starts; 0 and 1 are South and North.
RANDOM_SEAT, OTHER_SEAT = 2, 3
# What an illegal action of the learner's does.
RAISE, LOSE, PLAY_RANDOM = 0, 1, 2
_FORFEIT = -1.0  # what a lost episode costs, as in PettingZoo's TerminateIllegalWrapper
# What a step does in a game: leave it alone, show it, play the learner's action or an asked agent's, or start
# the next episode.
NOTHING, SHOW, LEARNER, AGENT, RESTART = range(5)
# How an opponent is asked: from Python, or here.
ASKED, RANDOM, GREEDY = 0, 1, 2

# What a step came to.
READY, ASKING, STUCK = 0, 1, 2

# Columns of a table of rows, uint64 `[B, NUM_ROW_COLUMNS]`: what belongs to a game besides the game.
RANDOM_STATE, SEAT, OPPONENT, PHASE, IS_GIVEN, GIVEN_SEAT, TRIES, TRAIL = range(8)
NUM_ROW_COLUMNS = 8
# The trail of a step: the holes sown from, five bits each (hole + 1), the last one lowest; of a longer one
# the last twelve. BEGAN: an episode began on the way, and it starts there.
HOLE_BITS, TRAIL_MASK, BEGAN = np.uint64(5), np.uint64((1 << 60) - 1), np.uint64(1 << 63)
# Phases: the episode is over; the learner has not been to move yet; the learner has; there is no end of
# episodes before that.
OVER, OPENING, PLAYING, HOPELESS = 0, 1, 2, 3
# Columns of a table of results, int64 `[B, NUM_RESULTS]`, zero where no episode ended.
DONE, TRUNCATED, WINNER, FORFEITED, LAST_SEAT, SOUTH_COUNT, NORTH_COUNT = range(7)
NUM_RESULTS = 7
# Far more episodes than an opponent ends before the learner's first turn, unless it ends all of them.
_MOST_TRIES = 10_000

_SEAT_MODE, _ILLEGAL, _AUTORESET = range(NUM_RULES + NUM_SETTINGS, NUM_RULES + NUM_SETTINGS + 3)
_ZERO = np.uint64(0)


def encode_settings(
    ruleset: Ruleset,
    episode: EpisodeSettings,
    seat_mode: int = SOUTH,
    illegal: int = RAISE,
    autoreset: bool = False,
) -> np.ndarray:
    """Return all that does not change in an environment, int64 `[NUM_RULES + NUM_SETTINGS + 3]`."""
    return np.array([*encode(ruleset), *episode, seat_mode, illegal, autoreset], np.int64)


@kernel
def aec_reset(settings, games, random, is_given):
    """Start an episode in row 0, from the game there if it is given; returns the generator's next state."""
    if not is_given:
        random, game = new_episode(rules_in(settings), settings_in(settings, NUM_RULES), random)
        save(games, 0, game)
    return random


@kernel
def aec_turn(settings, games, action, masks, observations):
    """Play an action in row 0 and write what both players may do and see then.

    Args:
        settings: See :func:`encode_settings`.
        games: uint64 `[1, NUM_COLUMNS]`.
        action: An action, at least 0; -1 plays nothing and writes what is seen.
        masks: int8 `[2, A]`, of South and North; all zeros once the episode is over.
        observations: float32 `[2, F]`, or None.

    Returns:
        Whether the action was legal (else nothing has changed), who is to move, whether the episode is
        terminated, whether it is truncated, and South's reward.
    """
    rules = rules_in(settings)
    game = load(games, 0)
    is_terminated = is_truncated = False
    south = 0.0
    if action >= 0:
        if not is_legal(rules, game, action, masks.shape[1]):
            return False, game.player, False, False, 0.0
        after = step(rules, settings_in(settings, NUM_RULES), game, action)
        game, is_truncated, south = after.game, after.is_truncated, after.reward
        is_terminated = after.is_over and not is_truncated
        save(games, 0, game)
    for player in range(2):
        write_mask(rules, game, player, masks, player)
        if observations is not None:
            write_board(rules, game, player, observations, player)
    return True, game.player, is_terminated, is_truncated, south


@kernel
def _seated(mode, seat, random):
    """Return the generator's next state and the learner's seat in the next episode."""
    if mode == RANDOM_SEAT:
        return random_below(random, 2)
    return random, (1 - seat if mode == OTHER_SEAT else mode)


@kernel
def _winner(rules, episode, game, south):
    """Return who has won an episode that ended in a game with that reward of South's; -1 for a draw."""
    won = south
    if episode.reward != OUTCOME:
        by_outcome = EpisodeSettings(episode.rounds, 0, 0, OUTCOME, 0)
        won = end_of_round(rules, by_outcome, game)[3]
    return SOUTH if won > 0 else (NORTH if won < 0 else -1)


@kernel
def _write_result(rules, episode, game, seat, south, is_truncated, is_forfeited, results, b):
    """Write how an episode ended; returns the learner's reward."""
    results[b, DONE], results[b, TRUNCATED], results[b, LAST_SEAT] = 1, is_truncated, seat
    results[b, FORFEITED] = is_forfeited
    results[b, SOUTH_COUNT] = count_of(rules, game, SOUTH)
    results[b, NORTH_COUNT] = count_of(rules, game, NORTH)
    if is_forfeited:
        results[b, WINNER] = 1 - seat
        return _FORFEIT
    results[b, WINNER] = _winner(rules, episode, game, south)
    return south if seat == SOUTH else 0.0 - south


@kernel
def _drawn_opponent(chances, random):
    """Return the generator's next state and an opponent."""
    opponent = 0
    if len(chances) > 1:
        random, bits = next_random(random)
        drawn = np.float64(bits >> np.uint64(11)) * 2.0**-53
        while opponent < len(chances) - 1 and drawn >= chances[opponent]:
            opponent += 1
    return random, opponent


@kernel
def _answer(rules, game, code, random):
    """Return the generator's next state and the hole that an opponent of the kernels sows from."""
    random, seed = next_random(random)
    action = random_action(rules, game, seed) if code == RANDOM else greedy_action(rules, game, seed)
    return random, hole_of(rules, game.player, action)


@kernel
def duel_step(
    settings,
    codes,
    chances,
    games,
    rows,
    starts,
    actions,
    turn,
    results,
    reward,
    final_games,
    final_observation,
    masks,
    observation,
    waiting,
    start,
    stop,
):
    """Play the learner's turn in games start to stop, and opponents' until the learner is to move again.

    Args:
        settings: See :func:`encode_settings`.
        codes: int64 `[N]`, how each opponent is asked.
        chances: float64 `[N]`, chances of the opponents, summed up.
        games: uint64 `[B, NUM_COLUMNS]`.
        rows: uint64 `[B, NUM_ROW_COLUMNS]`.
        starts: uint64 `[B, NUM_COLUMNS]`, games to start from where one is given; elsewhere written: what the
            episode started from.
        actions: int64 `[B]`.
        turn: int8 `[B]`, what to do in each game: NOTHING, SHOW, LEARNER, AGENT or RESTART.
        results: int64 `[B, NUM_RESULTS]`.
        reward: float64 `[B]`, the learner's.
        final_games: uint64 `[B, NUM_COLUMNS]`, where an episode ended the game it ended in.
        final_observation: float32 `[B, F]`, or None.
        masks: int8 `[B, A]`, of the learner.
        observation: float32 `[B, F]`, or None.
        waiting: bool `[B]`, whether an agent must be asked.
        start: First game.
        stop: One past the last.

    Returns:
        READY; ASKING where an agent must be asked in a game; STUCK where a game is HOPELESS.
    """
    rules, episode = rules_in(settings), settings_in(settings, NUM_RULES)
    seat_mode, illegal, autoreset = settings[_SEAT_MODE], settings[_ILLEGAL], settings[_AUTORESET]
    status = READY
    for b in range(start, stop):
        waiting[b] = False
        if turn[b] == NOTHING:
            continue
        game, random = load(games, b), rows[b, RANDOM_STATE]
        seat, phase = np.int64(rows[b, SEAT]), np.int64(rows[b, PHASE])
        tries = np.int64(rows[b, TRIES])
        trail = rows[b, TRAIL] if turn[b] == AGENT else _ZERO
        is_forfeited = False
        hole = -1

        # 1. What is played first: the learner's action, that of an agent that was asked, or nothing.
        if turn[b] != AGENT:
            reward[b] = 0.0
            for i in range(NUM_RESULTS):
                results[b, i] = 0
        if turn[b] == LEARNER or turn[b] == AGENT:
            hole = hole_of(rules, game.player, actions[b])
        if turn[b] == LEARNER and not (legal_holes(rules, game) >> hole) & 1:
            is_forfeited = illegal == LOSE
            random, hole = _answer(rules, game, RANDOM, random)

        is_beginning = turn[b] == RESTART
        while turn[b] != SHOW:
            # 2. A turn, and what an episode that it ends came to. One in which the learner has not been to
            # move has no result and is played anew.
            if hole >= 0:
                is_over, is_truncated, south = True, False, 0.0
                if not is_forfeited:
                    after = step_from(rules, episode, game, hole)
                    game, is_over = after.game, after.is_over
                    is_truncated, south = after.is_truncated, after.reward
                    trail = (trail & BEGAN) | ((trail << HOLE_BITS) & TRAIL_MASK) | np.uint64(hole + 1)
                hole = -1
                if is_over and phase == PLAYING:
                    reward[b] = _write_result(
                        rules, episode, game, seat, south, is_truncated, is_forfeited, results, b
                    )
                    save(final_games, b, game)
                    if final_observation is not None:
                        write_board(rules, game, seat, final_observation, b)
                    phase, is_forfeited, is_beginning = OVER, False, autoreset == 1
                elif is_over:
                    phase, is_beginning = OVER, True
                    tries += 1

            # 3. The next episode: its game, the learner's seat, the opponent.
            if tries >= _MOST_TRIES:
                phase, status = HOPELESS, STUCK
                break
            if is_beginning:
                if rows[b, IS_GIVEN]:
                    game = load(starts, b)
                else:
                    random, game = new_episode(rules, episode, random)
                    save(starts, b, game)
                trail = BEGAN
                given = np.int64(rows[b, GIVEN_SEAT])
                random, seat = _seated(given - 1 if given else seat_mode, seat, random)
                random, opponent = _drawn_opponent(chances, random)
                rows[b, OPPONENT] = np.uint64(opponent)
                phase, is_beginning = OPENING, False
            if phase == OVER:
                break

            # 4. The learner is to move, or an opponent, who is asked or answers here.
            if game.player == seat:
                phase, tries = PLAYING, 0
                rows[b, IS_GIVEN] = rows[b, GIVEN_SEAT] = _ZERO
                break
            code = codes[np.int64(rows[b, OPPONENT])]
            if code == ASKED:
                waiting[b] = True
                status = max(status, ASKING)
                break
            random, hole = _answer(rules, game, code, random)

        # 5. What the learner may do and sees.
        save(games, b, game)
        rows[b, RANDOM_STATE], rows[b, SEAT] = random, np.uint64(seat)
        rows[b, PHASE], rows[b, TRIES], rows[b, TRAIL] = np.uint64(phase), np.uint64(tries), trail
        write_mask(rules, game, seat if phase == PLAYING else NOBODY, masks, b)
        if observation is not None:
            write_board(rules, game, seat, observation, b)
    return status


@kernel
def draw_seeds(rows, waiting, seeds):
    """Draw a seed for each game in which an agent is asked."""
    for b in range(len(waiting)):
        if waiting[b]:
            rows[b, RANDOM_STATE], seeds[b] = next_random(rows[b, RANDOM_STATE])
