"""Kernels of a single game, row 0 of a games array, for Position and ``mancala.wasm``."""

from mancala_env.engine import rounds, turn
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.state import hole_of, load, save


@kernel
def start(rules, games, starter):
    """Write the first round of a match."""
    save(games, 0, rounds.first_round(rules, starter))


@kernel
def settle(rules, games):
    """Write the player to move, or the end of the round, of a game that was set up."""
    save(games, 0, turn.settled(rules, load(games, 0)))


@kernel
def play(rules, games, action):
    """Play an action; return laps, captured seeds and bits of new owned holes, or zeros if it is illegal."""
    game = load(games, 0)
    if not turn.is_legal(rules, game, action, 2 * rules.width):
        return 0, 0, 0
    game, laps, captured, taken = turn.play_turn(rules, game, hole_of(rules, game.player, action))
    save(games, 0, game)
    return laps, captured, taken


@kernel
def legal_actions(rules, games):
    """Return the bits of the legal actions."""
    return turn.legal_actions(rules, load(games, 0))


@kernel
def counts(rules, games):
    """Return the counts of South and North."""
    return rounds.counts(rules, load(games, 0))


@kernel
def next_round(rules, games):
    """Set up the next round, or return True without a change if the match is over."""
    game, is_match_over = rounds.next_round(rules, load(games, 0))
    save(games, 0, game)
    return is_match_over


@kernel
def match_margin(rules, games):
    """Return South's lead in seeds at the end of a match whose last round is over."""
    game = load(games, 0)
    _, is_match_over = rounds.next_round(rules, game)
    return rounds.match_margin(rules, game, is_match_over)
