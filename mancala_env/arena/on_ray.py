"""The arena on a Ray cluster: the same games with the same results, on as many machines as there are.

>>> import ray
>>> from mancala_env.arena import evaluate, round_robin
>>> from mancala_env.arena.on_ray import RayChunks
>>> ray.init("auto")                                          # doctest: +SKIP
>>> round_robin(["greedy", "minimax:4"], "leyla", games=2000, play_chunks=RayChunks())  # doctest: +SKIP

A chunk of 64 games is a task. What it takes travels with it, checkpoints too, so no disk need be shared;
the machines need the package and what their agents are made of. The results file stays here, and a run
that was stopped goes on, on a cluster or without one.
"""

import logging
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import numpy as np

from mancala_env import agents
from mancala_env.agents import Agent
from mancala_env.arena.round_robin import Chunk, Entrant, play_chunk
from mancala_env.errors import MancalaError
from mancala_env.rulesets import Ruleset

# Ray reads it when it is imported.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

try:
    import ray
    from ray import cloudpickle
    from ray.exceptions import RayTaskError
except ImportError as error:
    raise ImportError('the arena on a cluster needs Ray: pip install "mancala-env[ray]"') from error

# Enough to keep every CPU busy while results come in, few enough to stop soon.
_TASKS_PER_CPU = 2


class NoCluster(MancalaError):
    """There is no Ray cluster at an address."""


@contextmanager
def started_ray(address: str, **settings: Any) -> Iterator[None]:
    """Start Ray here or join a cluster; leave it, and stop what was started, at the end.

    Where this process has started or joined one already, that one is used, and goes on.

    Args:
        address: "local" starts Ray on this machine; "auto" joins the cluster this machine belongs to,
            "HOST:6379" or "ray://HOST:10001" another one.
        settings: More arguments of ``ray.init``.

    Raises:
        NoCluster: Nobody answers at the address.
    """
    if ray.is_initialized():
        yield
        return
    if address == "local":
        settings = {"include_dashboard": False} | settings
    try:
        if address not in ("local", "auto"):
            _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING, **settings)
    except OSError as error:
        raise NoCluster(f"cannot join a Ray cluster at address {address!r}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise an OSError where nobody listens; Ray would try for two minutes, and end the process."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (host and colon and port.isdigit()):
        raise NoCluster(f"a Ray address is local, auto, HOST:6379 or ray://HOST:10001, not {address!r}")
    with socket.create_connection((host, int(port)), timeout=10):
        pass


class RayChunks:
    """Plays chunks as Ray tasks; for `play_chunks` of round_robin and evaluate.

    Ray must have been started or joined (``ray.init``).
    """

    def __init__(self, num_cpus: int = 1) -> None:
        """Set how many CPUs a task takes, and threads its agents."""
        self.num_cpus = num_cpus

    def __call__(self, chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, np.ndarray, float]]:
        """Play the chunks, and yield each with its margins and seconds as it is done; see PlayChunks.

        Raises:
            IllegalMove: An agent chose an action that is not legal.
            RuntimeError: Ray was not started.
        """
        if not ray.is_initialized():
            raise RuntimeError("Ray is not running: call ray.init(), or ray.init('auto') to join a cluster")
        task = ray.remote(_play).options(num_cpus=self.num_cpus)
        entrants = {
            one.identity: ray.put(_portable(one, chunk.ruleset)) for chunk in chunks for one in chunk.pairing
        }
        waiting = iter(chunks)
        running: dict[Any, Chunk] = {}
        room = _TASKS_PER_CPU * max(1, int(ray.cluster_resources().get("CPU", 1)) // self.num_cpus)
        try:
            while True:
                while len(running) < room and (chunk := next(waiting, None)) is not None:
                    first, second = (entrants[one.identity] for one in chunk.pairing)
                    # Agents stay out of the chunk: as references they travel to each machine once.
                    bare = chunk._replace(pairing=tuple(one._replace(agent=None) for one in chunk.pairing))  # type: ignore[arg-type]
                    running[task.remote(bare, first, second, self.num_cpus)] = chunk
                if not running:
                    return
                ready, _ = ray.wait(list(running))
                for reference in ready:
                    chunk = running.pop(reference)
                    yield chunk, *_result(reference)
        finally:
            for reference in running:
                ray.cancel(reference)


def _result(reference: Any) -> tuple[np.ndarray, float]:
    try:
        return ray.get(reference)
    except RayTaskError as error:
        # What went wrong, as it would have been raised here.
        raise error.cause from error


def _portable(one: Entrant, ruleset: Ruleset) -> str | bytes:
    """Return what to send: the spec of a scripted agent, whose memory is large, else the agent, pickled."""
    spec = one.agent.spec
    # Ray would hand the agent's arrays out read-only; its own pickle gives each task a copy.
    with suppress(MancalaError):
        if one.identity == spec and type(agents.make(spec, ruleset)) is type(one.agent):
            return spec
    return cloudpickle.dumps(one.agent)  # pyright: ignore[reportPrivateImportUsage]


@lru_cache(maxsize=16)
def _made(spec: str, ruleset: Ruleset, num_threads: int) -> Agent:
    return agents.make(spec, ruleset, num_threads=num_threads)


def _play(
    chunk: Chunk, first: str | bytes, second: str | bytes, num_threads: int
) -> tuple[np.ndarray, float]:
    """Play a chunk on whatever machine this is."""
    seated = []
    for one, sent in zip(chunk.pairing, (first, second), strict=True):
        is_spec = isinstance(sent, str)
        agent = _made(sent, chunk.ruleset, num_threads) if is_spec else cloudpickle.loads(sent)
        agent.num_threads = num_threads
        seated.append(one._replace(agent=agent))
    began = time.perf_counter()
    margins = play_chunk(chunk._replace(pairing=tuple(seated)))
    return margins, time.perf_counter() - began
