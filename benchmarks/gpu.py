"""Turns per second of games on a GPU, beside one core and all cores; nothing without a GPU."""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.timing import Row, rates_side_by_side
from mancala_env import Batch, cuda

_RULESET, _NUM_GAMES, _TURNS, _STEPS = "layli_goobalay", 65536, 50, 20


def works_of(batch: Any, device: str) -> dict[str, Callable[[], int]]:
    """Return what to measure with a Batch or a CudaBatch, each by name."""
    width, (_, inputs) = 128, batch.observation.shape
    network = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, batch.num_actions)).to(
        device
    )

    @torch.no_grad()
    def sampled() -> torch.Tensor:
        observation, legal = (
            torch.as_tensor(x, device=device) for x in (batch.observation, batch.legal_mask)
        )
        logits = network(observation).masked_fill(legal == 0, -torch.inf)
        return torch.distributions.Categorical(logits=logits, validate_args=False).sample()

    def timed(play: Callable[[], Any], turns: int) -> int:
        for _ in range(turns):
            play()
        torch.cuda.synchronize()
        return turns * batch.num_games

    return {
        "environment alone": lambda: _TURNS * timed(lambda: batch.play_random(_TURNS), 1),
        "with observation and mask": lambda: timed(lambda: batch.step(batch.legal_mask.argmax(1)), _STEPS),
        "with a policy network": lambda: timed(lambda: batch.step(sampled()), _STEPS),
    }


def measure() -> list[Row]:
    """Measure the same number of games on a GPU, on one core and on all cores."""
    if not torch.cuda.is_available() or not cuda.is_available():
        print("| games on a GPU | not measured | |", flush=True)
        return []
    start = time.perf_counter()
    batch = cuda.CudaBatch(_RULESET, _NUM_GAMES, seed=1)
    batch.step(batch.legal_mask.argmax(1))
    batch.play_random(1)
    torch.cuda.synchronize()
    compiling, name = time.perf_counter() - start, torch.cuda.get_device_name()
    works = {
        f"{_NUM_GAMES:,} games on {name}, {what}": work for what, work in works_of(batch, "cuda").items()
    }
    for cores, num_threads in (("one core", 1), ("all cores", None)):
        found = works_of(Batch(_RULESET, _NUM_GAMES, seed=1, num_threads=num_threads), "cpu")
        works |= {f"{_NUM_GAMES:,} games on {cores}, {what}": work for what, work in found.items()}
    rows = [Row(what, rate, "turns/s") for what, rate in rates_side_by_side(works).items()]
    return [*rows, Row(f"compile time of the kernels for {name}", compiling, "s")]
