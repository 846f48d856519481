"""Turns per second of games on a GPU, beside one core and all cores. Without a GPU there is nothing to measure.

In three ways: the environment alone (random turns inside the kernel), steps with observations and masks, and
steps chosen by a policy network, on the GPU for games on the GPU.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.timing import Row, rates_side_by_side
from mancala_env import Batch, cuda

_RULESET = "layli_goobalay"
_NUM_GAMES, _TURNS, _STEPS = 65536, 50, 20


def works_of(batch: Any, device: torch.device, wait: Callable[[], None]) -> dict[str, Callable[[], int]]:
    """Return what to measure with a Batch or a CudaBatch; `wait` waits for the device."""
    width = 128
    inputs, actions = batch.observation.shape[1], batch.num_actions
    network = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, actions)).to(device)

    def steps(choose: Callable[[], Any]) -> int:
        for _ in range(_STEPS):
            batch.step(choose())
        wait()
        return _STEPS * batch.num_games

    @torch.no_grad()
    def sampled() -> torch.Tensor:
        observation = torch.as_tensor(batch.observation, device=device)
        legal = torch.as_tensor(batch.legal_mask, device=device)
        logits = network(observation).masked_fill(legal == 0, -torch.inf)
        return torch.distributions.Categorical(logits=logits, validate_args=False).sample()

    def random_turns() -> int:
        turns = batch.play_random(_TURNS)
        wait()
        return turns

    return {
        "environment alone": random_turns,
        "with observation and mask": lambda: steps(lambda: batch.legal_mask.argmax(1)),
        "with a policy network": lambda: steps(sampled),
    }


def measure() -> list[Row]:
    """Measure the same number of games on a GPU, on one core and on all cores."""
    if not torch.cuda.is_available() or not cuda.is_available():
        print("| games on a GPU | not measured: no GPU | |", flush=True)
        return []
    start = time.perf_counter()
    on_gpu = cuda.CudaBatch(_RULESET, _NUM_GAMES, seed=1)
    on_gpu.step(on_gpu.legal_mask.argmax(1))
    on_gpu.play_random(1)
    torch.cuda.synchronize()
    compiling = time.perf_counter() - start
    name, cpu = torch.cuda.get_device_name(), torch.device("cpu")
    places = {
        f"{name}": works_of(on_gpu, on_gpu.device, torch.cuda.synchronize),
        "one core": works_of(Batch(_RULESET, _NUM_GAMES, seed=1, num_threads=1), cpu, lambda: None),
        "all cores": works_of(Batch(_RULESET, _NUM_GAMES, seed=1), cpu, lambda: None),
    }
    works = {f"{what}, {place}": work for place, found in places.items() for what, work in found.items()}
    rates = rates_side_by_side({f"{_NUM_GAMES:,} games, {key}": work for key, work in sorted(works.items())})
    rows = [Row(name, rate, "turns/s") for name, rate in rates.items()]
    return [*rows, Row(f"compile time of the kernels for {name}", compiling, "s")]
