"""Environment steps per second of training, by kind of observation, and shares of the time."""

import io
import json
import tempfile

from rich.console import Console

from benchmarks.timing import Row
from mancala_env import observations
from mancala_env.training.config import read_config
from mancala_env.training.run import train
from mancala_env.training.run_folder import RunFolder

_TURNS = 150_000


def learn(kind: str, turns: int = _TURNS) -> dict[str, float]:
    """Train for a number of turns on one thread and return the metrics of the last update."""
    with tempfile.TemporaryDirectory() as folder:
        config, _ = read_config(
            [
                f"--network.observation={kind}",
                f"--environment_steps={turns}",
                f"--folder={folder}",
                "--minutes=null",
                "--checkpoint_minutes=1000",
                "--name=bench",
            ]
        )
        run = RunFolder.create(config)
        train(config, run, Console(file=io.StringIO()))
        lines = (run.path / "metrics.jsonl").read_text().splitlines()
    return json.loads(lines[-1])


def measure() -> list[Row]:
    """Measure each kind of observation with the default configuration on layli_goobalay, one thread."""
    rows = []
    for kind in observations.KINDS:
        figures = learn(kind)
        rows.append(
            Row(f"training, {kind}", figures["time/environment_steps_per_second"], "environment steps/s")
        )
        rows += [
            Row(f"training, {kind}: share of time in {name}", figures[f"time/{name}"], "ratio")
            for name in ("environment", "inference", "learning")
        ]
    return rows
