"""Steps per second of every environment and of PettingZoo's connect_four, on one thread.

Agents play the first legal action, so that no random generator is timed.
"""

from collections.abc import Callable
from typing import Any

import gymnasium as gym

import mancala_env  # noqa: F401 - registers the ids
from benchmarks.timing import Row, rates_side_by_side
from mancala_env import layli_goobalay_v0

_STEPS = 200
_VECTOR_STEPS = 20


def aec_steps(env: Any) -> Callable[[], int]:
    """Return work that plays a PettingZoo environment the way its documentation does."""

    def work() -> int:
        done = 0
        while done < _STEPS:
            env.reset(seed=1)
            for _ in env.agent_iter():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.step(None)
                    continue
                env.step(int(observation["action_mask"].argmax()))
                done += 1
        return done

    return work


def connect_four() -> dict[str, Callable[[], int]]:
    """Return work on PettingZoo's connect_four, raw and wrapped; none without pygame."""
    try:
        from pettingzoo.classic import connect_four_v3
    except ImportError:
        return {}
    return {
        "PettingZoo connect_four_v3.raw_env()": aec_steps(connect_four_v3.raw_env()),
        "PettingZoo connect_four_v3.env(), wrapped": aec_steps(connect_four_v3.env()),
    }


def vector_steps(num_envs: int, opponent: str) -> Callable[[], int]:
    """Return work that steps the native vector environment."""
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
        for _ in range(_VECTOR_STEPS):
            masks[0] = env.step(masks[0].argmax(axis=1))[4]["action_mask"]
        return _VECTOR_STEPS * num_envs

    return work


def single_steps(opponent: str) -> Callable[[], int]:
    """Return work that steps one environment as gymnasium.make wraps it."""
    env = gym.make("mancala/LayliGoobalay-v0", opponent=opponent, seat="random")
    info = [env.reset(seed=1)[1]]

    def work() -> int:
        for _ in range(_STEPS):
            _, _, terminated, _, info[0] = env.step(int(info[0]["action_mask"].argmax()))
            if terminated:
                info[0] = env.reset()[1]
        return _STEPS

    return work


def sb3_steps() -> dict[str, Callable[[], int]]:
    """Return work that trains MaskablePPO on afterstates over MancalaVecEnv; none without SB3."""
    try:
        import torch
        from sb3_contrib import MaskablePPO
    except ImportError:
        return {}
    from mancala_env.envs.sb3 import MancalaVecEnv

    torch.set_num_threads(1)
    env = MancalaVecEnv(
        512, opponent="greedy", observation="afterstates", flatten=True, seed=0, num_threads=1
    )
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=32, batch_size=4096, n_epochs=3, gamma=1.0, seed=0, device="cpu"
    )

    def work() -> int:
        model.learn(512 * 32, reset_num_timesteps=False)
        return 512 * 32

    return {"MaskablePPO over MancalaVecEnv, afterstates, opponent greedy": work}


def measure() -> list[Row]:
    """Measure all environments in turn, and their speed relative to connect_four."""
    ours = {
        "PettingZoo layli_goobalay_v0.raw_env()": aec_steps(layli_goobalay_v0.raw_env()),
        "PettingZoo layli_goobalay_v0.env(), wrapped": aec_steps(layli_goobalay_v0.env()),
    }
    theirs = connect_four()
    singles = {f"gym.make, opponent {spec}": single_steps(spec) for spec in ("random", "greedy")}
    vectors = {
        f"gym.make_vec, {num_envs} games, opponent {opponent}": vector_steps(num_envs, opponent)
        for num_envs in (256, 1024)
        for opponent in ("random", "greedy")
    }
    found = rates_side_by_side(ours | theirs | singles | vectors | sb3_steps())
    rows = [Row(name, rate, "steps/s") for name, rate in found.items()]
    for mine, other in zip(ours, theirs):
        rows.append(Row(f"{mine} / {other}", found[mine] / found[other], "times"))
    return rows
