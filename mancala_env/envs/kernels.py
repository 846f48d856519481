"""Kernels of the environments: turns of learner and opponents, resets, masks and observations.

A call from Python takes longer the more arguments it has, and a NamedTuple costs as much as four arrays. So
the kernels that an environment calls once per step take all settings as one integer array. They write their
results into arrays.

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
from mancala_env.engine.holdout import TRAINING, is_held_out
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import next_random, random_below
from mancala_env.engine.state import (
    NO_PLAYER,
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

# Seats of the learner at the start of an episode, besides 0 (South) and 1 (North).
RANDOM_SEAT, OTHER_SEAT = 2, 3
# Effects of an illegal action of the learner.
RAISE, LOSE, PLAY_RANDOM = 0, 1, 2
_FORFEIT = -1.0  # reward of a lost episode, as in PettingZoo's TerminateIllegalWrapper
# Tasks of a step in a game: nothing, refresh the arrays, play an action of the learner or of an agent, start
# the next episode.
NOTHING, SHOW, LEARNER, AGENT, RESTART = range(5)
# Kinds of opponents: called from Python, or played here.
ASKED, RANDOM, GREEDY = 0, 1, 2

# Status of a step: complete, waiting for opponents, or stuck because no opening is possible.
READY, ASKING, STUCK = 0, 1, 2

# Columns of rows, uint64 `[B, NUM_ROW_COLUMNS]`: state of an environment besides its game.
RANDOM_STATE, SEAT, OPPONENT, PHASE, IS_GIVEN, GIVEN_SEAT, TRIES, TRAIL = range(8)
NUM_ROW_COLUMNS = 8
# The trail of a step: the last holes sown from, at most 12, five bits each (hole + 1), the latest in the
# lowest bits.
HOLE_BITS, TRAIL_MASK = np.uint64(5), np.uint64((1 << 60) - 1)
# Phases: the episode is over; the learner has not moved yet; the learner has moved; every episode ends before
# the learner's first turn.
OVER, OPENING, PLAYING, HOPELESS = 0, 1, 2, 3
# Columns of results, int64 `[B, NUM_RESULTS]`; zeros if no episode ended.
DONE, TRUNCATED, WINNER, FORFEITED, LAST_SEAT, SOUTH_COUNT, NORTH_COUNT = range(7)
NUM_RESULTS = 7
# After this many episodes that end before the learner's first turn, all episodes are assumed to. From a given
# position they differ less, and a slow opponent may be asked in each of them.
_MOST_TRIES, _MOST_TRIES_GIVEN = 10_000, 1_000
# So often an episode is replaced because opponents have moved to a board that is held out. Tiny boards may
# lack others.
_MOST_HELD_OUT = 100

_SEAT_MODE, _ILLEGAL, _AUTORESET = range(NUM_RULES + NUM_SETTINGS, NUM_RULES + NUM_SETTINGS + 3)
_ZERO = np.uint64(0)


def encode_settings(
    ruleset: Ruleset,
    episode: EpisodeSettings,
    seat_mode: int = SOUTH,
    illegal: int = RAISE,
    autoreset: bool = False,
) -> np.ndarray:
    """Return the settings of an environment as int64 `[NUM_RULES + NUM_SETTINGS + 3]`."""
    return np.array([*encode(ruleset), *episode, seat_mode, illegal, autoreset], np.int64)


@kernel
def aec_reset(settings, games, random, is_given):
    """Start an episode in row 0, or keep a given game there; return the next generator state."""
    if not is_given:
        random, game = new_episode(rules_in(settings), settings_in(settings, NUM_RULES), random)
        save(games, 0, game)
    return random


@kernel
def aec_turn(settings, games, action, masks, observations):
    """Play an action in row 0, and write masks and observations of both players.

    Args:
        settings: See :func:`encode_settings`.
        games: uint64 `[1, NUM_COLUMNS]`.
        action: An action, at least 0; -1 plays no turn and only writes.
        masks: int8 `[2, A]`, of South and North; all zeros after the episode.
        observations: float32 `[2, F]`, or None.

    Returns:
        Whether the action was legal (otherwise nothing has changed), the player to move, whether the episode
        is terminated, whether it is truncated, and South's reward.
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
    """Return the next generator state, and the learner's seat in the next episode."""
    if mode == RANDOM_SEAT:
        return random_below(random, 2)
    return random, (1 - seat if mode == OTHER_SEAT else mode)


@kernel
def _winner(rules, episode, game, south):
    """Return the winner of an episode from its final game and South's reward; -1 for a draw."""
    won = south
    if episode.reward != OUTCOME:
        by_outcome = EpisodeSettings(episode.rounds, 0, 0, OUTCOME, 0)
        won = end_of_round(rules, by_outcome, game)[3]
    return SOUTH if won > 0 else (NORTH if won < 0 else -1)


@kernel
def _write_result(rules, episode, game, seat, south, is_truncated, is_forfeited, results, b):
    """Write the result of an episode; return the learner's reward."""
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
def _drawn_opponent(opponents, random):
    """Return the next generator state and a drawn opponent."""
    opponent = 0
    # Opponents after a probability of 1 are only those of running episodes.
    if opponents[0, 1] < 1.0:
        random, bits = next_random(random)
        drawn = np.float64(bits >> np.uint64(11)) * 2.0**-53
        while opponent < len(opponents) - 1 and drawn >= opponents[opponent, 1]:
            opponent += 1
    return random, opponent


@kernel
def _answer(rules, game, kind, random):
    """Return the next generator state and the hole that a random or greedy opponent sows from."""
    random, seed = next_random(random)
    action = random_action(rules, game, seed) if kind == RANDOM else greedy_action(rules, game, seed)
    return random, hole_of(rules, game.player, action)


@kernel
def duel_step(
    settings,
    opponents,
    games,
    rows,
    starts,
    actions,
    turn,
    results,
    reward,
    final_observation,
    masks,
    observation,
    start,
    stop,
):
    """Play the learner's turn in a range of games, then opponents' turns until the learner is to move again.

    Args:
        settings: See :func:`encode_settings`.
        opponents: float64 `[N, 2]`, kind of each opponent (ASKED, RANDOM or GREEDY), and its cumulative
            probability.
        games: uint64 `[B, NUM_COLUMNS]`.
        rows: uint64 `[B, NUM_ROW_COLUMNS]`.
        starts: uint64 `[B, NUM_COLUMNS]`, the game before the trail. A given start is read here.
        actions: int64 `[B]`.
        turn: int8 `[B]`, what to do in each game: NOTHING, SHOW, LEARNER, AGENT or RESTART. Afterwards AGENT
            if the game waits for an agent, otherwise NOTHING.
        results: int64 `[B, NUM_RESULTS]`.
        reward: float64 `[B]`, rewards of the learner.
        final_observation: float32 `[B, F]`, or None.
        masks: int8 `[B, A]`, of the learner.
        observation: float32 `[B, F]`, or None.
        start: First game.
        stop: Index after the last game.

    Returns:
        READY; ASKING if a game waits for an agent; STUCK if a game is HOPELESS.
    """
    rules, episode = rules_in(settings), settings_in(settings, NUM_RULES)
    seat_mode, illegal, autoreset = settings[_SEAT_MODE], settings[_ILLEGAL], settings[_AUTORESET]
    status = READY
    for b in range(start, stop):
        task = turn[b]
        if task == NOTHING:
            continue
        turn[b] = NOTHING
        game, random = load(games, b), rows[b, RANDOM_STATE]
        seat, phase = np.int64(rows[b, SEAT]), np.int64(rows[b, PHASE])
        tries = np.int64(rows[b, TRIES])
        trail = rows[b, TRAIL]
        is_forfeited = False
        hole = -1

        # 1. The first turn: the learner's action, the action of an agent, or none.
        if task != AGENT:
            reward[b] = 0.0
            for i in range(NUM_RESULTS):
                results[b, i] = 0
        if task == LEARNER:
            trail = _ZERO
            save(starts, b, game)
        if task in (LEARNER, AGENT):
            hole = hole_of(rules, game.player, actions[b])
        if task == LEARNER and not (legal_holes(rules, game) >> hole) & 1:
            is_forfeited = illegal == LOSE
            random, hole = _answer(rules, game, RANDOM, random)

        is_beginning = task == RESTART
        while task != SHOW:
            # 2. A turn, and the result of an episode that it ends. An episode that ends before the learner's
            # first turn has no result and is replaced by another.
            if hole >= 0:
                is_over, is_truncated, south = True, False, 0.0
                if not is_forfeited:
                    after = step_from(rules, episode, game, hole)
                    game, is_over = after.game, after.is_over
                    is_truncated, south = after.is_truncated, after.reward
                    trail = ((trail << HOLE_BITS) & TRAIL_MASK) | np.uint64(hole + 1)
                hole = -1
                if is_over and phase == PLAYING:
                    reward[b] = _write_result(
                        rules, episode, game, seat, south, is_truncated, is_forfeited, results, b
                    )
                    if final_observation is not None:
                        write_board(rules, game, seat, final_observation, b)
                    phase, is_forfeited, is_beginning = OVER, False, autoreset == 1
                elif is_over:
                    phase, is_beginning = OVER, True
                    tries += 1

            # 3. The next episode: its game, the learner's seat, the opponent.
            if tries >= (_MOST_TRIES_GIVEN if rows[b, IS_GIVEN] else _MOST_TRIES):
                phase, status = HOPELESS, STUCK
                break
            if is_beginning:
                if rows[b, IS_GIVEN]:
                    game = load(starts, b)
                else:
                    random, game = new_episode(rules, episode, random)
                    save(starts, b, game)
                trail = _ZERO
                given = np.int64(rows[b, GIVEN_SEAT])
                random, seat = _seated(given - 1 if given else seat_mode, seat, random)
                random, opponent = _drawn_opponent(opponents, random)
                rows[b, OPPONENT] = np.uint64(opponent)
                phase, is_beginning = OPENING, False
            if phase == OVER:
                break

            # 4. The learner or an opponent is to move. The opponent is called from Python or plays here.
            if game.player == seat:
                # The opening is not held out, but opponents may have moved since.
                is_learned = episode.opening_set == TRAINING and episode.opening_turns > 0
                is_first = phase == OPENING and not rows[b, IS_GIVEN]
                if is_learned and is_first and tries < _MOST_HELD_OUT and is_held_out(rules, game):
                    is_beginning = True
                    tries += 1
                    continue
                phase, tries = PLAYING, 0
                rows[b, IS_GIVEN] = rows[b, GIVEN_SEAT] = _ZERO
                break
            kind = np.int64(opponents[np.int64(rows[b, OPPONENT]), 0])
            if kind == ASKED:
                turn[b] = AGENT
                status = max(status, ASKING)
                break
            random, hole = _answer(rules, game, kind, random)

        # 5. The learner's mask and observation.
        save(games, b, game)
        rows[b, RANDOM_STATE], rows[b, SEAT] = random, np.uint64(seat)
        rows[b, PHASE], rows[b, TRIES], rows[b, TRAIL] = np.uint64(phase), np.uint64(tries), trail
        write_mask(rules, game, seat if phase == PLAYING else NO_PLAYER, masks, b)
        if observation is not None:
            write_board(rules, game, seat, observation, b)
    return status


@kernel
def draw_seeds(rows, waiting, seeds):
    """Draw a seed for each game that waits for an agent."""
    for b in range(len(waiting)):
        if waiting[b]:
            rows[b, RANDOM_STATE], seeds[b] = next_random(rows[b, RANDOM_STATE])
