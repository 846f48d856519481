"""Matches on a Ray cluster, with the same games and results as on one machine; see docs/guides/cluster.md.

A task plays a chunk of 64 games. Checkpoints are sent with the task, so the machines need not share a disk.
They need mancala_env and the packages that the agents import.
"""

import logging
import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mancala_env import agents
from mancala_env._util.command_line import needing
from mancala_env.agents import Agent, Spec
from mancala_env.agents.registry import entrant_of
from mancala_env.errors import MancalaError
from mancala_env.evaluation.matches import InvalidMatch
from mancala_env.evaluation.round_robin import Chunk, Entrant, play_here
from mancala_env.rulesets import Ruleset

# Ray reads this variable at import.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

with needing("evaluation on a Ray cluster", "ray"):
    import ray
    from ray import cloudpickle
    from ray.exceptions import RayTaskError

# Enough tasks to keep all CPUs busy, and few enough to stop soon.
_TASKS_PER_CPU = 2


class NoCluster(MancalaError):
    """No Ray cluster can be reached at an address."""


@contextmanager
def started_ray(address: str, **settings: Any) -> Iterator[None]:
    """Start Ray or join a cluster within a with statement.

    If Ray is already initialised in this process, it is used and not stopped at the end. The address "local"
    starts Ray on this machine. "auto" joins the cluster of this machine, and "HOST:6379" or
    "ray://HOST:10001" another one; NoCluster is raised if it cannot be reached. `settings` are further
    arguments of ``ray.init``.
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
    """Raise OSError if nothing listens at an address; Ray would try for two minutes and end the process."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (
        host and colon and port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 1 << 16
    ):
        raise NoCluster(f"a Ray address must be local, auto, HOST:6379 or ray://HOST:10001, not {address!r}")
    try:
        with socket.create_connection((host, int(port)), timeout=10):
            pass
    except UnicodeError as error:  # a part of the host's name is empty or too long
        raise NoCluster(f"cannot join a Ray cluster at address {address!r}: {error}") from error


class RayChunks:
    """Plays chunks on an initialised Ray; an argument `play_chunks` of round_robin and evaluate."""

    def __init__(self, num_cpus: int = 1) -> None:
        """Set the number of CPUs per task, which is also the number of threads of its agents."""
        self.num_cpus = num_cpus

    def __call__(self, chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, np.ndarray, float]]:
        """Play chunks and yield each with its margins and seconds when it is finished; see PlayChunks."""
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
                    # Agents are sent as references, once to each machine, and not in the chunk.
                    bare = chunk._replace(pairing=tuple(one._replace(agent=None) for one in chunk.pairing))  # type: ignore[arg-type]
                    running[task.remote(bare, first, second, self.num_cpus)] = chunk
                if not running:
                    return
                ready, _ = ray.wait(list(running))
                for reference in ready:
                    chunk = running.pop(reference)
                    try:
                        margins, seconds = ray.get(reference)
                    except RayTaskError as error:
                        raise error.cause from error  # the original exception, as if raised in this process
                    yield chunk, margins, seconds
        finally:
            for reference in running:
                ray.cancel(reference)


class _PortableAgent(NamedTuple):
    """An agent that can be sent to machines without its files.

    `spec` has the paths of all files, whose content is in `contents`; `name`, the agent's own spec, lacks the
    paths of bundled files. `entrant` is the agent's identity in results files.
    """

    spec: Spec
    name: str
    entrant: str
    contents: tuple[bytes, ...]


def _portable(one: Entrant, ruleset: Ruleset) -> _PortableAgent | bytes:
    """Return an agent as a spec with its files, or pickled if it was not made from a spec."""
    agent = one.agent
    # Ray would share the agent's arrays read-only; with cloudpickle each task gets a copy.
    if agent.is_from_spec:
        spec = Spec.parse(agent.spec).on(ruleset)
        made = agents.make(spec, ruleset)
        if type(made) is type(agent):
            contents = tuple(file.read_bytes() for file in spec.files)
            if entrant_of(made) != one.identity:
                raise InvalidMatch(f"a file of {agent.spec} has changed since the start; start again")
            spec = spec.with_files([file.absolute() for file in spec.files])
            return _PortableAgent(spec, agent.spec, spec.identity, contents)
    return cloudpickle.dumps(agent)  # pyright: ignore[reportPrivateImportUsage]


def _is_here(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


@lru_cache(maxsize=16)
def _made(sent: _PortableAgent, ruleset: Ruleset, num_threads: int) -> Agent:
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, (path, content) in enumerate(zip(sent.spec.files, sent.contents, strict=True)):
            # A Python file may read files beside it, so it runs at its own place if it is there too.
            if not _is_here(path, content):
                path = Path(folder, f"{number}{path.suffix}")
                path.write_bytes(content)
            paths.append(path)
        agent = agents.make(sent.spec.with_files(paths), ruleset, num_threads=num_threads)
    agent.spec, agent.filed_as = sent.name, sent.entrant
    return agent


def _play(
    chunk: Chunk, first: _PortableAgent | bytes, second: _PortableAgent | bytes, num_threads: int
) -> tuple[np.ndarray, float]:
    """Play a chunk on a machine of the cluster."""
    pairing = []
    for one, sent in zip(chunk.pairing, (first, second), strict=True):
        is_own = isinstance(sent, bytes)
        agent = cloudpickle.loads(sent) if is_own else _made(sent, chunk.ruleset, num_threads)
        agent.num_threads = num_threads
        pairing.append(one._replace(agent=agent))
    ((_, margins, seconds),) = play_here([chunk._replace(pairing=tuple(pairing))])
    return margins, seconds
