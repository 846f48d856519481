"""The benchmark on a Ray cluster: a learner is a task, on any machine, and its measurements come here.

What an entry is travels with it. Where machines share a disk, with `folder` on it, a learner that was killed
goes on from where it was measured last; elsewhere it may begin anew, and its results say so.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from mancala_env.benchmark.entries import read_entry
from mancala_env.benchmark.results import Row
from mancala_env.benchmark.runner import End, Found, Run, run_learner
from mancala_env.evaluation import ray_matches

ray: Any = ray_matches.ray


class _Sent(NamedTuple):
    """A run on its way to another machine, which need not have the entry's file.

    Attributes:
        run: The run; its entry without functions.
        source: Content of the entry's file.
    """

    run: Run
    source: bytes


class RayLearners:
    """Runs learners as Ray tasks; for `run_learners` of run_plan. Ray must have been started or joined."""

    def __init__(self, num_cpus: int = 1) -> None:
        """Set how many CPUs a task takes."""
        self.num_cpus = num_cpus

    def __call__(self, runs: Sequence[tuple[Run, list[Row]]]) -> Iterator[tuple[Run, Found]]:
        """Run learners, as many at a time as the cluster has room for; see RunLearners.

        Raises:
            RuntimeError: Ray was not started.
        """
        if not ray.is_initialized():
            raise RuntimeError("Ray is not running: call ray.init(), or ray.init('auto') to join a cluster")
        task = ray.remote(_run).options(num_cpus=self.num_cpus, num_returns="streaming", max_retries=0)
        running: dict[Any, Run] = {task.remote(_sent(run), rows): run for run, rows in runs}
        try:
            while running:
                ready, _ = ray.wait(list(running), num_returns=1)
                for found in ready:
                    run = running[found]
                    try:
                        yield run, ray.get(next(found))
                    except StopIteration:
                        del running[found]
                    except ray.exceptions.RayError as error:  # its machine or its process is gone
                        del running[found]
                        yield run, End(broken=str(error).partition("\n")[0] or type(error).__name__)
        finally:
            for found in running:
                ray.cancel(found)


def _sent(run: Run) -> _Sent:
    bare = run.entry._replace(learn=_left_behind, prepare=_left_behind)
    folder = run.folder.resolve()
    return _Sent(run._replace(entry=bare, folder=folder), run.entry.path.read_bytes())


def _left_behind(*_: object) -> NoReturn:
    """Stand for the functions of an entry, which are read from its source where it runs."""
    raise RuntimeError("an entry is read anew where it runs")


def _run(sent: _Sent, rows: list[Row]) -> Iterator[Found]:
    """Run a learner on whatever machine this is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{sent.run.entry.name}.py")
        path.write_bytes(sent.source)
        try:
            entry = read_entry(path)
        except ImportError as error:
            yield End(broken=str(error))
            return
        yield from run_learner(sent.run._replace(entry=entry), rows)
