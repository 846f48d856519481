"""Observation and action spaces of the environments.

The action spaces sample only legal actions, so that ``env.step(env.action_space.sample())`` works, as in
Gymnasium's tutorials.
"""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from mancala_env.observations import Observer


def metadata_of(declared: Mapping[str, Any], observer: Observer) -> dict[str, Any]:
    """Return a copy of an environment class's metadata, with the observation kind and its version."""
    own = {"observation": observer.kind, "observation_version": observer.version}
    return copy.deepcopy(dict(declared)) | own


class LegalDiscrete(spaces.Discrete):
    """``Discrete(A)`` whose `sample()` draws from the legal actions: from `mask`, int8 `[A]`, by default."""

    def __init__(self, num_actions: int) -> None:
        super().__init__(num_actions)
        self.mask = np.ones(num_actions, np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        if mask is None and probability is None:
            mask = self.mask
        return super().sample(mask, probability)


class LegalMultiDiscrete(spaces.MultiDiscrete):
    """``MultiDiscrete([A] * B)`` with the same `sample()`; its `mask` is int8 `[B, A]`."""

    def __init__(self, num_envs: int, num_actions: int) -> None:
        super().__init__([num_actions] * num_envs)
        self.mask = np.ones((num_envs, num_actions), np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        if mask is None and probability is None:
            # The largest of random keys, one for each legal action: all are equally likely.
            return np.argmax(self.np_random.random(self.mask.shape) * self.mask, axis=1)
        return super().sample(mask, probability)
