"""Agents that look at most one turn ahead: random and greedy."""

import numpy as np

from mancala_env.agents.base import Agent
from mancala_env.engine.board import nth_bit, num_bits
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.jit.threads import run_in_slices
from mancala_env.engine.rng import random_below, random_hole
from mancala_env.engine.state import NORTH, SOUTH, action_of, count_of, hole_of, load
from mancala_env.engine.turn import legal_actions, play_turn

_NO_MARGIN = -1_000_000


@kernel
def random_action(rules, game, rng_state):
    """Draw a legal action, each with equal probability."""
    _, hole = random_hole(rules, game, rng_state)
    return action_of(rules, game.player, hole)


@kernel
def greedy_action(rules, game, rng_state):
    """Return the action after which the mover's count leads by most; break ties at random."""
    mover = game.player
    legal = legal_actions(rules, game)
    best_margin, best = _NO_MARGIN, 0
    for i in range(num_bits(legal)):
        action = nth_bit(legal, i)
        after = play_turn(rules, game, hole_of(rules, mover, action))[0]
        margin = count_of(rules, after, SOUTH) - count_of(rules, after, NORTH)
        margin = margin if mover == SOUTH else -margin
        if margin > best_margin:
            best_margin, best = margin, 0
        if margin == best_margin:
            best |= 1 << action
    _, n = random_below(rng_state, num_bits(best))
    return nth_bit(best, n)


@kernel
def _write_actions(rules, games, rng_states, is_greedy, actions, start, stop):
    for b in range(start, stop):
        game, rng_state = load(games, b), rng_states[b]
        if is_greedy:
            actions[b] = greedy_action(rules, game, rng_state)
        else:
            actions[b] = random_action(rules, game, rng_state)


class RandomAgent(Agent):
    """Play each legal action with equal probability."""

    is_drawing = True
    _is_greedy = False

    def act(self, games: np.ndarray) -> np.ndarray:
        games = self._running(games, is_trusted=True)  # a check takes as long as a random choice
        actions, rng_states = np.empty(len(games), np.int64), self.random_seeds(len(games))
        fixed = self._rules, games, rng_states, self._is_greedy, actions
        run_in_slices(lambda a, b: _write_actions(*fixed, a, b), len(games), self.num_threads)
        return actions


class GreedyAgent(RandomAgent):
    """Play the turn after which the player's count leads by most; break ties at random.

    The count (RULES 4) is the store, owned holes, and the free seeds in the player's territory.
    """

    is_drawing = False
    _is_greedy = True
