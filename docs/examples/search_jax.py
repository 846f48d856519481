"""A jitted JAX network in the tree search. Padded batches keep jit from compiling for every size."""

import time

import jax
import jax.numpy as jnp
import numpy as np

from mancala_env import Batch, agents, evaluation, search

RULESET, KIND = "layli_goobalay", "afterstates"
weights = jnp.zeros((34, 2)).at[-1].set([0.5, 0.2])  # the last feature is the lead; or your weights


@jax.jit
def network(weights, observations, legal):
    """Your network: observations [N, 6, 34] and legal actions [N, 6] to logits [N, 6] and values [N]."""
    logits, values = jnp.moveaxis(observations.astype(jnp.float32) @ weights, -1, 0)
    chances = jax.nn.softmax(jnp.where(legal, logits, -1e9))
    return logits, jnp.tanh((chances * values).sum(1))


def evaluate(observations, legal):
    num = len(legal)
    padding = max(64, 1 << (num - 1).bit_length()) - num  # sizes are powers of two
    padded = (np.pad(part, [(0, padding)] + [(0, 0)] * (part.ndim - 1)) for part in (observations, legal))
    logits, values = network(weights, *padded)
    return np.asarray(logits)[:num], np.asarray(values)[:num]


batch, limit = Batch(RULESET, 256, seed=1, opening_turns=4), search.Limit(simulations=64)
search.puct(RULESET, batch, evaluate, limit, observation=KIND)  # compiles every padded size
start = time.time()
found = search.puct(RULESET, batch, evaluate, limit, observation=KIND, seed=1, num_threads=1)
print(f"{found.simulations.sum() / (time.time() - start):,.0f} simulations/s")
print("first game: action", found.actions[0], "policy", found.policy[0].round(2), "value", found.values[0])
agent = agents.from_network(evaluate, RULESET, limit, observation=KIND, seed=1, num_threads=1)
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, RULESET, games=200, seed=1).win_rate)
