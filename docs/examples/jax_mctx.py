"""JAX and mctx: Gumbel MuZero over the true game, through `jax.pure_callback`, then win rates.

The argument is the number of steps of a search, over all games: each game gets SIMULATIONS of them.
"""

import sys
import time

import jax
import jax.numpy as jnp
import mctx
import numpy as np

import mancala_env
from mancala_env import agents

RULESET, SIMULATIONS = "leyla", 32


def to_jax(now):
    """Return a TimeStep with games as uint32 `[B, 32]`, because JAX uses 32-bit integers by default."""
    return now._replace(games=now.games.view(np.uint32))


FIRST = to_jax(mancala_env.start(RULESET))


def step(games, actions):
    """Step games, uint32 `[B, 32]`, inside a JAX function; an illegal action loses."""

    def on_host(games, actions):
        games = np.asarray(games).view(np.uint64)
        return to_jax(mancala_env.step(RULESET, games, actions, reward="margin", illegal="lose"))

    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct((len(actions), *x.shape[1:]), x.dtype), FIRST)
    return jax.pure_callback(on_host, shapes, games, actions)


def evaluate(now):
    """Return logits `[B, A]` and values `[B]` for the player to move. Put your network here.

    A network would read `now.observation`. This one values a game by the lead in counts.
    """
    logits = jnp.where(now.legal_mask == 1, 0.0, -1e9)
    south = (now.counts[:, 0] - now.counts[:, 1]) / now.counts.sum(axis=1)
    return logits, jnp.where(now.player == 0, south, -south)


def model(_params, _key, actions, embedding):
    """Step the games of a leaf. The value changes sign when the turn passes to the other player."""
    games, player = embedding
    after = step(games, actions)
    logits, value = evaluate(after)
    sign = jnp.where(after.player == player, 1.0, -1.0)
    result = mctx.RecurrentFnOutput(
        reward=after.reward,
        discount=jnp.where(after.is_over, 0.0, sign),
        prior_logits=logits,
        value=value,
    )
    return result, (after.games, after.player)


@jax.jit
def search(key, now):
    """Return an action for the player to move in each game."""
    logits, value = evaluate(now)
    root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=(now.games, now.player))
    is_illegal = now.legal_mask == 0
    found = mctx.gumbel_muzero_policy(None, key, root, model, SIMULATIONS, is_illegal, gumbel_scale=0.1)
    return found.action


def play(opponent, num_games):
    """Play as South in half of the games; return the win rate and the steps of the search per second."""
    seats, games = np.arange(num_games) % 2, np.arange(num_games)
    now = mancala_env.start(RULESET, num_games, seed=0, opening_turns=4)
    key, points, steps = jax.random.key(0), np.zeros(num_games), 0
    search(key, to_jax(now)).block_until_ready()  # compiles
    began = time.time()
    while not now.is_over.all():
        key, one = jax.random.split(key)
        actions = np.array(search(one, to_jax(now)))
        steps += SIMULATIONS * num_games
        is_theirs = ~now.is_over & (now.player != seats)
        actions[is_theirs] = opponent.act(now.games[is_theirs])
        now = mancala_env.step(RULESET, now.games, actions)
        points += now.rewards[games, seats]
    return 0.5 + points.mean() / 2, steps / (time.time() - began)


if __name__ == "__main__":
    num_games = (int(sys.argv[1]) if len(sys.argv) > 1 else 8192) // SIMULATIONS
    for name in ("random", "greedy"):
        rate, speed = play(agents.make(name, RULESET, seed=1), num_games)
        print(f"{speed:,.0f} steps/s\n{name} {rate:.3f}")
