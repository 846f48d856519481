"""Checkpoints of version 0.1 that hold a value network, both with random weights."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from checkpoints import identity_of, write_checkpoint

from mancala_env import Ruleset, rulesets
from mancala_env.networks.checkpoint import VALUE_NETWORK_MEMBER
from mancala_env.networks.value import NUM_CODES, NUM_UNITS, ValueNetworkConfig, ValueWeights


def weights_of(ruleset: str | Ruleset) -> ValueWeights:
    """Return random weights of the magnitude of fitted ones."""
    draw = np.random.default_rng(1)
    shape = (rulesets.lookup(ruleset).num_holes, NUM_CODES, NUM_UNITS)
    parts = (draw.normal(0, 0.5, shape), draw.normal(0, 1, NUM_UNITS), draw.normal(0, 1, NUM_UNITS), [0.3])
    return ValueWeights(*(np.asarray(part, np.float32) for part in parts))


def checkpoint_of(path: Path, ruleset: str = "layli_goobalay") -> Path:
    """Write a checkpoint with random weights and a random value network."""
    identity = identity_of(ruleset)
    config = ValueNetworkConfig(num_holes=identity.ruleset.num_holes)
    content = weights_of(ruleset).to_bytes()
    return write_checkpoint(
        path, replace(identity, value_network=config), extra={VALUE_NETWORK_MEMBER: content}
    )
