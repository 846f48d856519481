"""Learners of the benchmark as tasks on a Ray cluster; their measurements return to this process.

The source of an entry is sent to the machines. If they share a disk with the results, a killed learner
resumes from its last measurement. Otherwise it may start from scratch, and the results file records that.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mancala_env.benchmark.entries import read_entry
from mancala_env.benchmark.results import Row
from mancala_env.benchmark.runner import LearnerRun, RunEnded, RunEvent, run_learner
from mancala_env.evaluation import ray_matches

ray: Any = ray_matches.ray


class RayLearners:
    """Runs learners as Ray tasks; an argument `run_learners` of run_plan. Ray must be initialised."""

    def __init__(self, num_cpus: int = 1) -> None:
        """Set the number of CPUs per task."""
        self.num_cpus = num_cpus

    def __call__(self, runs: Sequence[tuple[LearnerRun, list[Row]]]) -> Iterator[tuple[LearnerRun, RunEvent]]:
        """Run learners in parallel, as many as the cluster has CPUs for; see RunLearners.

        Raises:
            RuntimeError: If Ray is not initialised.
        """
        if not ray.is_initialized():
            raise RuntimeError("Ray is not running: call ray.init(), or ray.init('auto') to join a cluster")
        task = ray.remote(_run).options(num_cpus=self.num_cpus, num_returns="streaming", max_retries=0)
        running: dict[Any, LearnerRun] = {task.remote(*_portable(run), rows): run for run, rows in runs}
        try:
            while running:
                ready, _ = ray.wait(list(running), num_returns=1)
                for found in ready:
                    run = running[found]
                    try:
                        yield run, ray.get(next(found))
                    except StopIteration:
                        del running[found]
                    except ray.exceptions.RayError as error:  # the machine or process has died
                        del running[found]
                        yield run, RunEnded(broken=str(error).partition("\n")[0] or type(error).__name__)
        finally:
            for found in running:
                ray.cancel(found)


def _portable(run: LearnerRun) -> tuple[LearnerRun, bytes]:
    """Return a run without the functions of its entry, and the entry's source."""
    bare = run.entry._replace(learn=None, prepare=None)  # type: ignore[arg-type]
    return run._replace(entry=bare, learners=run.learners.resolve()), run.entry.path.read_bytes()


def _run(run: LearnerRun, source: bytes, rows: list[Row]) -> Iterator[RunEvent]:
    """Run a learner on a machine of the cluster."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{run.entry.name}.py")
        path.write_bytes(source)
        try:
            entry = read_entry(path)
        except ImportError as error:
            yield RunEnded(broken=str(error))
            return
        yield from run_learner(run._replace(entry=entry), rows)
