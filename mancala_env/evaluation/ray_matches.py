"""The arena on a Ray cluster: the same games with the same results, on as many machines as there are.

>>> import ray
>>> from mancala_env.evaluation import evaluate, round_robin
>>> from mancala_env.evaluation.ray_matches import RayChunks
>>> ray.init("auto")                                          # doctest: +SKIP
>>> round_robin(["greedy", "minimax:4"], "leyla", games=2000, play_chunks=RayChunks())  # doctest: +SKIP

A chunk of 64 games is a task. What it takes travels with it, checkpoints too, so no disk need be shared;
the machines need the package and what their agents are made of. The results file stays here, and a run
that was stopped goes on, on a cluster or without one.
"""

import logging
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mancala_env import agents
from mancala_env._util.command_line import needing
from mancala_env.agents import Agent, InvalidSpec, Spec
from mancala_env.agents.registry import entrant_of
from mancala_env.errors import MancalaError
from mancala_env.evaluation.matches import InvalidMatch
from mancala_env.evaluation.round_robin import Chunk, Entrant, play_chunk
from mancala_env.rulesets import Ruleset

# Ray reads it when it is imported.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

with needing("the arena on a cluster", "ray"):
    import ray
    from ray import cloudpickle
    from ray.exceptions import RayTaskError

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
    if not (host and colon and port.isascii() and port.isdecimal()):
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
        different = {one.identity: (one, chunk.ruleset) for chunk in chunks for one in chunk.pairing}
        entrants = {name: ray.put(_portable(*sent)) for name, sent in different.items()}
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


class _Sent(NamedTuple):
    """An agent on its way to other machines, which need not have its files.

    Attributes:
        spec: What makes it there.
        name: Its own spec, which names no file that this package has.
        entrant: What its results are filed under; what hashes weights of its own adds them there.
        contents: Content of each file that the spec names.
    """

    spec: Spec
    name: str
    entrant: str
    contents: tuple[bytes, ...]


def _portable(one: Entrant, ruleset: Ruleset) -> _Sent | bytes:
    """Return what to send: a spec with its files, and an agent of your own pickled.

    Raises:
        InvalidSpec: A file is not the one that the agent was made of any more.
    """
    agent = one.agent
    # Ray would hand the agent's arrays out read-only; its own pickle gives each task a copy.
    with suppress(InvalidSpec):
        spec = Spec.parse(agent.spec).on(ruleset)
        made = agents.make(spec, ruleset)
        if type(made) is type(agent):
            sent = _Sent(spec, agent.spec, spec.identity, tuple(file.read_bytes() for file in spec.files))
            if entrant_of(made) != one.identity:
                raise InvalidMatch(f"{agent.spec} has changed since the games began; start them again")
            return sent
    return cloudpickle.dumps(agent)  # pyright: ignore[reportPrivateImportUsage]


@lru_cache(maxsize=16)
def _made(sent: _Sent, ruleset: Ruleset, num_threads: int) -> Agent:
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, (file, content) in enumerate(zip(sent.spec.files, sent.contents, strict=True)):
            paths.append(Path(folder, f"{number}{file.suffix}"))
            paths[-1].write_bytes(content)
        agent = agents.make(sent.spec.with_files(paths), ruleset, num_threads=num_threads)
    agent.spec, agent.filed_as = sent.name, sent.entrant
    return agent


def _play(
    chunk: Chunk, first: _Sent | bytes, second: _Sent | bytes, num_threads: int
) -> tuple[np.ndarray, float]:
    """Play a chunk on whatever machine this is."""
    seated = []
    for one, sent in zip(chunk.pairing, (first, second), strict=True):
        is_own = isinstance(sent, bytes)
        agent = cloudpickle.loads(sent) if is_own else _made(sent, chunk.ruleset, num_threads)
        agent.num_threads = num_threads
        seated.append(one._replace(agent=agent))
    began = time.perf_counter()
    margins = play_chunk(chunk._replace(pairing=tuple(seated)))
    return margins, time.perf_counter() - began
