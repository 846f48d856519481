"""Results of finished runs, read from their folders, and their means over seeds.

>>> run = read_run("runs/leyla-seed-1")  # doctest: +SKIP
>>> run.to_frame()["train/value_loss"]   # doctest: +SKIP
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mancala_env._util.tabular import Tabular
from mancala_env.evaluation.intervals import Z95, mean_interval, spread_of_runs, wilson_interval
from mancala_env.networks.checkpoint import Identity, read_identity
from mancala_env.training.config import CONFIG_FILE, with_new_names
from mancala_env.training.run_folder import METRICS, STEPS, RunFolder, RunFolderError
from mancala_env.training.run_plots import read_metrics

EVALUATION = "evaluation.json"
UNITS = {
    "mean_regret": "seeds per move",
    "optimal_share": "share",
    "win_rate": "share",
    "elo": "Elo (random = 0)",
}
"""Measures of a run, with their units."""
# Settings that do not change what is trained.
_NOT_COMPARED = ("name", "folder", "seed", "device", "threads", "checkpoint_minutes", "checkpoint_steps")


class Measured(NamedTuple):
    """A measured number of a checkpoint or of several runs, with its 95 % interval.

    `measure` is a key of UNITS. `against` is the opponent of a win rate, and "" for the others.
    """

    measure: str
    against: str
    value: float
    low: float
    high: float

    @property
    def key(self) -> tuple[str, str]:
        """The measure, and the opponent or ""."""
        return self.measure, self.against

    @property
    def numbers(self) -> tuple[float, float, float]:
        """The number and both ends of its interval."""
        return self.value, self.low, self.high

    @property
    def title(self) -> str:
        """Name of the measure in a table."""
        return title_of(self.key)

    @property
    def texts(self) -> tuple[str, str]:
        """The number and its interval, as in a table."""
        form = {"share": "{:z.1%}", "seeds per move": "{:z.2f}"}.get(UNITS[self.measure], "{:z.0f}")
        value, low, high = map(form.format, self.numbers)
        return value, f"{low.removesuffix('%')} to {high}"

    @property
    def text(self) -> str:
        """The number with its interval in brackets."""
        return "{} ({})".format(*self.texts)


def title_of(key: tuple[str, str]) -> str:
    """Return the name of a measure in tables and plots, from the measure and the opponent or ""."""
    measure, against = key
    name = {"elo": "Elo", "optimal_share": "optimal moves"}.get(measure, measure.replace("_", " "))
    return f"{name} against {against}" if against else name


@dataclass(frozen=True, eq=False)
class RunResults(Tabular):
    """A run that has saved a checkpoint; `to_frame()` has one row per update, with its metrics.

    `path` is its folder. The `identity` of its last `checkpoint` has the configuration of the run.
    """

    path: Path
    checkpoint: Path
    identity: Identity

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        return self.path.resolve().name

    @property
    def seed(self) -> int:
        """Random seed of the run."""
        return int(self.identity.config.get("seed", 0))

    @property
    def opening_turns(self) -> int | None:
        """Number of random turns before the games of the evaluation; None if unknown."""
        return self._config.get("evaluation.opening_turns")

    @cached_property
    def _config(self) -> dict[str, Any]:
        return with_new_names(self.identity.config)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings that decide what is trained, by dotted name; not seed, evaluation and ruleset."""
        return {
            name: value
            for name, value in self._config.items()
            if name not in _NOT_COMPARED and not name.startswith(("evaluation.", "ruleset"))
        }

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of each update; see docs/reference/files.md for their names."""
        path = self.path / METRICS
        return read_metrics(path, most=None) if path.is_file() else []

    @property
    def columns(self) -> Mapping[str, str]:
        names = dict.fromkeys(name for line in self.metrics for name in sorted(line))
        known = {"run": "Name of the run's folder", "seed": "Random seed of the run"}
        known[STEPS] = "Number of environment steps so far"
        return known | {n: f"Metric {n}; see docs/reference/files.md" for n in names if n != STEPS}

    def _rows(self) -> Iterator[Sequence[Any]]:
        names = self.columns
        for line in self.metrics:
            named = {"run": self.name, "seed": self.seed} | line
            yield [named.get(name) for name in names]

    def win_rates_over_time(self) -> list[tuple[int, Measured]]:
        """Return the win rates of all evaluated checkpoints, each with the steps of its checkpoint.

        Those of the last checkpoint are over the games at the end of the run.
        """
        games = int(self._config.get("evaluation.checkpoint_games") or 1)
        names, last = self.path.glob("checkpoints/*.zip"), self.identity.environment_steps
        saved = [int(path.stem) for path in names if path.stem.isdecimal()]
        found: list[tuple[int, Measured]] = []
        for line in self.metrics:
            # A line is written after the rollout that follows its checkpoint.
            steps = max((each for each in saved if each < line[STEPS]), default=line[STEPS])
            for name, value in line.items():
                if name.startswith("evaluation/") and steps < last:
                    key = "win_rate", name.removeprefix("evaluation/")
                    found.append((steps, Measured(*key, value, *wilson_interval(value, games))))
        return found + [(last, one) for one in self.final() if one.measure == "win_rate"]

    @cached_property
    def evaluation(self) -> dict[str, Any]:
        """The content of evaluation.json; {} if the run was not evaluated since its last checkpoint."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads((self.path / EVALUATION).read_text())
            if said[STEPS] == self.identity.environment_steps:
                return said
        return {}

    def final(self) -> list[Measured]:
        """Return the results of the evaluation: win rates, and regret if solved positions are bundled.

        The list is empty if the run was not evaluated since its last checkpoint.
        """
        with suppress(KeyError, TypeError, AttributeError):
            said = self.evaluation
            overall = said["regret"]["overall"] if said.get("regret") else {}
            found = [("mean_regret", "", overall), ("optimal_share", "", overall)]
            found += [("win_rate", match["second"], match) for match in said["matches"]]
            return [
                Measured(name, against, each[name], *each[f"{name}_interval"])
                for name, against, each in found
                if name in each
            ]
        return []


def folder_of(path: str | Path) -> Path:
    """Return the folder of the run that saved a checkpoint; another path is returned unchanged."""
    path = Path(path)
    above = [*path.absolute().parents][:2] if path.is_file() else []
    return next((folder for folder in above if (folder / CONFIG_FILE).is_file()), path)


def read_run(path: str | Path) -> RunResults:
    """Read the folder of a run; raise RunFolderError for another folder, or without an intact checkpoint."""
    path = Path(path)
    if not (path / CONFIG_FILE).is_file():
        has_runs = path.is_dir() and any(path.glob(f"*/{CONFIG_FILE}"))
        hint = f"name the runs in it, such as {path}/*" if has_runs else "mancala train makes such folders"
        raise RunFolderError(f"{path} is not the folder of a run: {CONFIG_FILE} is missing; {hint}")
    checkpoint, _ = RunFolder(path).newest()
    return RunResults(path, checkpoint, read_identity(checkpoint))


def stem(name: str) -> str:
    """Return the name of a run without its seed or number: "leyla" for "leyla-seed-3" and "leyla-2"."""
    return re.sub(r"(-seed)?(-\d+)+$", "", name)


def error_of(measured: Sequence[Measured]) -> float:
    """Return the mean standard error of measurements, above 0, from their intervals."""
    ends = [(one.high - one.low) / 2 / Z95 for one in measured if one.high >= one.low]
    return max(1e-9, sum(ends) / len(ends) if ends else 0.0)


def mean_of(measured: Sequence[Measured]) -> Measured:
    """Return the mean of a measure over runs, with a 95 % interval over seeds.

    A single run keeps its own interval, which is over games or positions.
    """
    first = measured[0]
    if len(measured) == 1:
        return first
    low, high = {"elo": (-np.inf, np.inf), "mean_regret": (0.0, np.inf)}.get(first.measure, (0.0, 1.0))
    values = np.array([one.value for one in measured])
    interval = mean_interval(values, spread_of_runs(values, error_of(measured)), low, high)
    return Measured(first.measure, first.against, float(values.mean()), *interval)


def means_of(runs: Sequence[Sequence[Measured]]) -> list[Measured]:
    """Return the means of all measures that every run has."""
    by_name = [{one.key: one for one in run} for run in runs]
    shared = [key for key in by_name[0] if all(key in run for run in by_name)] if by_name else []
    return [mean_of([run[key] for run in by_name]) for key in shared]
