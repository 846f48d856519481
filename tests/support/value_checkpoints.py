"""Checkpoints with a value network, both with random weights."""

from pathlib import Path

import numpy as np
from checkpoints import identity_of, write_checkpoint

from mancala_env import Ruleset, rulesets
from mancala_env.networks.value import (
    NUM_CODES,
    NUM_UNITS,
    ValueWeights,
)
from mancala_env.training import value_fit as fit_value


def weights_of(ruleset: str | Ruleset) -> ValueWeights:
    """Return random weights of the magnitude of fitted ones."""
    draw = np.random.default_rng(1)
    shape = (rulesets.lookup(ruleset).num_holes, NUM_CODES, NUM_UNITS)
    parts = (draw.normal(0, 0.5, shape), draw.normal(0, 1, NUM_UNITS), draw.normal(0, 1, NUM_UNITS), [0.3])
    return ValueWeights(*(np.asarray(part, np.float32) for part in parts))


def checkpoint_of(path: Path, ruleset: str = "layli_goobalay") -> Path:
    """Write a checkpoint with random weights and a random value network."""
    identity = identity_of(ruleset)
    write_checkpoint(path, identity)
    path.write_bytes(fit_value.with_value_network(path, identity, weights_of(ruleset)))
    return path
