"""Draw actions of a policy, each game's action by a seed of its own.

So the draws of a game do not depend on the other games of a batch. Symbols: B games, A actions.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mancala_env.search.root_noise import gumbel_draws

Draw = Callable[[np.ndarray, dict[str, np.ndarray], np.ndarray], np.ndarray]
"""Called with observations `[B, *shape]`, masks by name, and seeds uint64 `[B]`; returns actions."""

_LIBRARIES = ("stable_baselines3", "sb3_contrib")


def sampled(logits: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Sample actions from the softmax of logits `[B, A]` with seeds uint64 `[B]`, int64 `[B]`."""
    # The largest logit plus Gumbel noise is a sample of the softmax.
    return (logits + gumbel_draws(seeds, logits.shape[1])).argmax(axis=1)


def draw_of(model: Any) -> Draw:
    """Return a function that draws actions of a model; the seeds alone determine them."""
    policy: Any = getattr(model, "policy", None)
    distribution_of = getattr(policy, "get_distribution", None)
    is_of_library = getattr(model.predict, "__module__", "").partition(".")[0] in _LIBRARIES
    # Recurrent policies need more arguments.
    if (
        is_of_library
        and distribution_of is not None
        and set(inspect.signature(distribution_of).parameters) <= {"obs", "action_masks"}
    ):
        return _draw_by_probabilities(policy)

    def draw(observation: np.ndarray, masks: dict[str, np.ndarray], seeds: np.ndarray) -> np.ndarray:
        actions = []
        for b in range(len(seeds)):  # one game at a time, because a model has one generator
            game = {name: mask[b : b + 1] for name, mask in masks.items()}
            with _seeded(model, int(seeds[b] >> np.uint64(32))):
                found, _ = model.predict(observation[b : b + 1], deterministic=False, **game)
            actions.append(np.asarray(found)[0])
        return np.array(actions)

    return draw


def _draw_by_probabilities(policy: Any) -> Draw:
    torch = sys.modules["torch"]

    def draw(observation: np.ndarray, masks: dict[str, np.ndarray], seeds: np.ndarray) -> np.ndarray:
        policy.set_training_mode(False)  # as predict() does
        seen, _ = policy.obs_to_tensor(observation)
        with torch.no_grad():
            logits = policy.get_distribution(seen, **masks).distribution.logits.float().cpu().numpy()
        return sampled(logits, seeds)

    return draw


@contextmanager
def _seeded(model: Any, seed: int) -> Iterator[None]:
    """Seed the generators that a model may draw from, and restore them afterwards."""
    torch = sys.modules.get("torch")
    space: Any = getattr(model, "action_space", None)
    has_generator = hasattr(space, "_np_random")
    # DQN explores with NumPy's global generator, and with that of the action space.
    numpy_state, of_space = np.random.get_state(), getattr(space, "_np_random", None)  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    if has_generator:
        space._np_random = np.random.default_rng(seed)
    try:
        if torch is None:
            yield
            return
        device = torch.device(getattr(model, "device", "cpu"))
        is_cuda = device.type == "cuda"
        with torch.random.fork_rng(devices=[device] if is_cuda else []):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed() would seed all devices
            if is_cuda:
                torch.cuda.manual_seed(seed)
            yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        if has_generator:
            space._np_random = of_space
