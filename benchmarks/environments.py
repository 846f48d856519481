"""Steps a second of the Gymnasium environments against an opponent, one thread."""

from collections.abc import Callable

import gymnasium as gym
import numpy as np

import mancala_env  # noqa: F401 - registers the ids
from benchmarks.timing import Row, rates_side_by_side

_STEPS = 20


def vector_steps(num_envs: int, opponent: str) -> Callable[[], int]:
    """Return work that steps the native vector environment with first legal actions."""
    env = gym.make_vec(
        "mancala/LayliGoobalay-v0",
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        opponent=opponent,
        seat="random",
        num_threads=1,
    )
    masks = [env.reset(seed=1)[1]["action_mask"]]

    def work() -> int:
        for _ in range(_STEPS):
            masks[0] = env.step(masks[0].argmax(axis=1))[4]["action_mask"]
        return _STEPS * num_envs

    return work


def single_steps(opponent: str) -> Callable[[], int]:
    """Return work that steps one environment."""
    env = gym.make("mancala/LayliGoobalay-v0", opponent=opponent, seat="random")
    rng = np.random.default_rng(1)
    info = [env.reset(seed=1)[1]]

    def work() -> int:
        for _ in range(_STEPS):
            action = int(rng.choice(np.flatnonzero(info[0]["action_mask"])))
            _, _, terminated, _, info[0] = env.step(action)
            if terminated:
                info[0] = env.reset()[1]
        return _STEPS

    return work


def measure() -> list[Row]:
    """Measure single and vector environments side by side."""
    works = {
        f"gym.make_vec, {num_envs} games, opponent {opponent}": vector_steps(num_envs, opponent)
        for num_envs in (256, 1024)
        for opponent in ("random", "greedy")
    } | {"gym.make, opponent random": single_steps("random")}
    return [Row(name, rate, "steps/s") for name, rate in rates_side_by_side(works).items()]
