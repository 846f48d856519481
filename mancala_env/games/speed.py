"""Speed of the engine on this machine, for `mancala speed`."""

import math
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mancala_env._util.checks import is_number
from mancala_env.errors import InvalidArgument
from mancala_env.games.batch import Batch
from mancala_env.rulesets import RulesetLike, lookup

NUM_GAMES = 4096
_TURNS_PER_CALL = 50


class Measurement(NamedTuple):
    """A measured speed: the median of the measured values, and its unit."""

    name: str
    value: float
    unit: str


def measure(
    ruleset: RulesetLike = "layli_goobalay", *, seconds: float = 2.0, num_threads: int | None = None
) -> list[Measurement]:
    """Measure turns per second inside a kernel and in steps of a Batch, with 4,096 games.

    Each measurement takes `seconds`. The steps write observation and mask; the choice of actions is not
    measured. With `num_threads` None, every core that this process may use is used.

    Raises:
        InvalidArgument: `seconds` is not a positive finite number, or `num_threads` is invalid.
    """
    if not is_number(seconds) or not 0 < seconds < math.inf:
        raise InvalidArgument(f"seconds must be a finite number above 0, not {seconds!r}")
    ruleset = lookup(ruleset)
    batch = Batch(ruleset, NUM_GAMES, seed=1, num_threads=num_threads)
    rng = np.random.default_rng(1)

    def random_play() -> float:
        start = time.perf_counter()
        batch.play_random(_TURNS_PER_CALL)
        return time.perf_counter() - start

    def one_step() -> float:
        mask = batch.legal_mask
        actions = (mask * rng.random(mask.shape, np.float32)).argmax(axis=1)
        start = time.perf_counter()
        batch.step(actions)
        return time.perf_counter() - start

    where = f"{ruleset.name}, {batch.num_threads} thread{'s' if batch.num_threads > 1 else ''}"
    return [
        Measurement(f"{what}, {where}", _median_rate(timed, units, seconds), "turns/s")
        for what, timed, units in (
            ("random turns inside a kernel", random_play, NUM_GAMES * _TURNS_PER_CALL),
            ("Batch.step with observation and mask", one_step, NUM_GAMES),
        )
    ]


def _median_rate(timed: Callable[[], float], units: int, seconds: float) -> float:
    timed()  # compile, warm up
    rates = []
    end = time.perf_counter() + seconds
    while not rates or time.perf_counter() < end:
        rates.append(units / timed())
    return statistics.median(rates)


def machine() -> str:
    """Return the processor and the number of cores of this machine."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else model
    return f"{model}, {os.cpu_count()} cores"
