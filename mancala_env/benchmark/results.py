"""The results file of the benchmark, `results.jsonl`: one JSON line per measurement, appended at once.

| line | meaning |
|---|---|
| "measured" | the score of an agent at a measuring point |
| "void" | the run restarted after `after` environment steps; its earlier measurements after that are void |
| "end" | the run has ended; `why` is the reason if it was refused, otherwise empty |

Each line identifies its run, so you can split and join files. Join the parts of a run in their order: lines
after its "end" do not count. The measurements of a run have the numbers 0, 1, 2, ... in `measurement`.
Several may have the same `point`. Lines of version 0.1 lack `measurement` and `budget_share`, which follow
from the other fields.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin, get_type_hints

from mancala_env._util.checks import one_of, whole
from mancala_env._util.tabular import Tabular, named_interval
from mancala_env.benchmark.budget import BudgetLimit
from mancala_env.benchmark.scoring import Score, Scoring
from mancala_env.benchmark.tasks import TASKS
from mancala_env.evaluation.results_file import LinesFile
from mancala_env.games.speed import machine
from mancala_env.rulesets import Ruleset, lookup, named, names
from mancala_env.version import __version__

FORMAT = 1
RESULTS = "results.jsonl"
RULESETS = "rulesets"
"""Folder of the rulesets that are not in the catalogue."""
BASELINE = "search"
"""Task name of baselines, which do not learn; plots show them as horizontal lines."""
MEASURED, VOID, END = "measured", "void", "end"
_MOST_TEXT = 2000
_MADE = ("commit", "machine", "time")


class RunKey(NamedTuple):
    """The identity of a run, which all its measurements share.

    `identity` is the hash of the entry's file, `rules` the hash of the ruleset. A baseline has its spec as
    `entry`, the identity of its agent, the task BASELINE, a limit of 0 steps and the seed 0.
    """

    entry: str
    identity: str
    task: str
    ruleset: str
    rules: str
    limit: BudgetLimit
    seed: int
    scoring: Scoring
    version: str = __version__

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        fields = self._asdict()
        limit, scoring = fields.pop("limit"), fields.pop("scoring")
        return fields | {"budget": limit._asdict(), "scoring": scoring._asdict()}


class Row(NamedTuple):
    """The score of a run's agent at a measuring point, and the steps and core seconds spent until then.

    `point` is the index of the last measuring point reached, from 0. A run that ends a little before the end
    of its budget may have two rows with the same point. `made` has the commit, the machine and the time.
    """

    key: RunKey
    point: int
    steps: int
    core_seconds: float
    score: Score
    made: dict[str, str]

    @property
    def core_minutes(self) -> float:
        """Core minutes spent."""
        return self.core_seconds / 60

    @property
    def budget_share(self) -> float | None:
        """Share of the budget spent, 0 to 1 or slightly more; None for a baseline."""
        limit = self.key.limit
        spent = self.steps if limit.kind == "steps" else self.core_minutes
        return spent / limit.amount if limit.amount else None

    def as_dict(self, measurement: int = 0) -> dict[str, Any]:
        """Return plain data for JSON: a line of the file; `measurement` is the number within its run."""
        share = self.budget_share
        return {
            "format": FORMAT,
            "what": MEASURED,
            **self.key.as_dict(),
            "measurement": measurement,
            "point": self.point,
            "budget_share": None if share is None else round(share, 6),
            "steps": self.steps,
            "core_minutes": round(self.core_minutes, 6),
            **self.score._asdict(),
            **self.made,
        }


def made_here(commit: str) -> dict[str, str]:
    """Return the commit, the machine and the current time of a measurement."""
    return {"commit": commit, "machine": machine(), "time": datetime.now(UTC).isoformat(timespec="seconds")}


class Results(LinesFile, Tabular):
    """The results file and its measurements; `to_frame()` has one row per valid measurement.

    Measurements of refused runs, and those before a run restarted, are excluded.
    """

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "task": f"Name of the task; {BASELINE!r} for a baseline",
        "budget": "Size of the budget; 0 for a baseline",
        "budget_kind": "Unit of budget: steps or core_minutes",
        "ruleset": "Name of the ruleset",
        "entry": "Name of the entry; spec of a baseline",
        "identity": "Hash of the entry's file; identity of a baseline",
        "seed": "Random seed of the run",
        "measurement": "Number of the measurement within its run, from 0",
        "budget_share": "Share of the budget spent, 0 to 1 or slightly more; None for a baseline",
        "steps": "Number of environment steps so far",
        "core_minutes": "Core minutes so far",
        **named_interval("mean_regret", "Mean regret in seeds per move"),
        "optimal_share": "Share of optimal moves, 0 to 1",
        **named_interval("elo", "Rating in Elo (random = 0)"),
        "games": "Number of games of the rating; 0 for an anchor of the ladder",
        "is_ended": "Whether the run has ended; True for a baseline",
        "version": "Version of the package",
        "commit": "Commit of the sources",
        "machine": "Processor and number of cores",
        "time": "Time of the measurement in UTC",
    }

    formats, kind = (FORMAT,), "benchmark results; choose another folder"

    def __init__(self, path: str | Path | None) -> None:
        """Set the path; a with statement opens, locks and reads the file."""
        super().__init__(path)
        self._measured: dict[RunKey, list[Row]] = {}
        self._ends: dict[RunKey, str] = {}

    def rows(self, key: RunKey) -> list[Row]:
        """Return the valid measurements of a run, in the order of their steps."""
        return list(self._measured.get(key, ()))

    def end(self, key: RunKey) -> str | None:
        """Return the reason why a run was refused, "" if it was not refused, or None if it has not ended."""
        return self._ends.get(key)

    def ruleset(self, name: str) -> Ruleset:
        """Return a ruleset of the catalogue, or one of your own from its file beside the results."""
        file = Path(self.path or "").parent / RULESETS / f"{name}.yaml"
        return lookup(file) if name not in names() and file.is_file() else named(name)

    def all_rows(self) -> list[Row]:
        """Return the valid measurements of all runs that were not refused.

        They are grouped by run; the run that was measured last comes last.
        """
        return [row for key, rows in self._measured.items() for row in rows if not self._ends.get(key)]

    def refused(self) -> Iterator[tuple[RunKey, str]]:
        """Yield the refused runs and the reasons, unless a changed entry or version has repeated the run."""
        last = {key._replace(identity="", rules="", version=""): key for key in self._ends}
        yield from ((key, self._ends[key]) for key in last.values() if self._ends[key])

    def _rows(self) -> Iterator[Sequence[Any]]:
        for row in self.all_rows():
            key, score, number = row.key, row.score, self._measured[row.key].index(row)
            is_ended = key in self._ends or key.task == BASELINE
            task = (key.task, key.limit.amount, key.limit.kind, key.ruleset)
            regret = (score.regret, *score.regret_interval, score.optimal_share)
            spent = (number, row.budget_share, row.steps, row.core_minutes)
            rating = (score.elo, *score.elo_interval, score.games)
            made = (row.made[name] for name in _MADE)
            run = (*task, key.entry, key.identity, key.seed)
            yield *run, *spent, *regret, *rating, is_ended, key.version, *made

    def measured(self, row: Row) -> None:
        """Add a measurement."""
        self._add(row)
        self.append_line(row.as_dict(self.rows(row.key).index(row)))

    def void(self, key: RunKey, after: int) -> None:
        """Record that a run restarted after `after` steps, which voids its later measurements."""
        self._drop(key, after)
        self.append_line({"format": FORMAT, "what": VOID, **key.as_dict(), "after": after})

    def ended(self, key: RunKey, why: str = "") -> None:
        """Record that a run has ended; `why` is the reason if it was refused."""
        self._ends[key] = why
        self.append_line({"format": FORMAT, "what": END, **key.as_dict(), "why": why})

    def _add(self, row: Row) -> None:
        # Reinserting the key moves the run to the end. Of equal steps in joined files the last line counts.
        before = [each for each in self._measured.pop(row.key, ()) if each.steps != row.steps]
        self._measured[row.key] = sorted([*before, row], key=lambda each: each.steps)

    def _drop(self, key: RunKey, after: int) -> None:
        self._measured[key] = [row for row in self._measured.get(key, ()) if row.steps <= after]

    def take(self, fields: dict[str, Any]) -> None:
        """Check and store the fields of a line; see LinesFile."""
        if fields["task"] not in (*TASKS, BASELINE):
            raise ValueError
        key = _record(RunKey, fields | {"limit": fields["budget"]})
        if fields["what"] == MEASURED:
            row = _row(key, fields)
            if key not in self._ends:
                self._add(row)
        elif fields["what"] == VOID:
            after = _count(fields["after"])
            if key not in self._ends:  # in joined files the ended run takes precedence
                self._drop(key, after)
        elif fields["what"] == END:
            self._ends.setdefault(key, _text(fields["why"]))  # in joined files the first end counts
        else:
            raise ValueError


def _row(key: RunKey, fields: dict[str, Any]) -> Row:
    made = {name: _text(fields[name]) for name in _MADE}
    seconds = 60 * _number(fields["core_minutes"])
    # Both follow from other fields, so only their types are checked. Lines of version 0.1 lack them.
    _count(fields.get("measurement", 0))
    if key.task != BASELINE:
        _number(fields.get("budget_share", 0))
    score = _record(Score, fields)
    return Row(key, _count(fields["point"]), _count(fields["steps"]), seconds, score, made)


def _record(kind: Any, fields: dict[str, Any]) -> Any:
    """Return a named tuple of fields, each checked by its type."""
    return kind(*(_checked(hint, fields[name]) for name, hint in get_type_hints(kind).items()))


def _checked(hint: Any, value: Any) -> Any:
    if get_origin(hint) is Literal:
        return one_of("value", value, get_args(hint))
    return _record(hint, value) if hint in (BudgetLimit, Scoring) else _CHECKS[hint](value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TEXT or not value.isprintable():
        raise ValueError
    return value


def _count(value: Any) -> int:
    return whole("value", value, 0)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _pair(values: Any) -> tuple[float, float]:
    low, high = map(_number, values)
    return low, high


_CHECKS: dict[Any, Callable[[Any], Any]] = {
    str: _text,
    int: _count,
    float: _number,
    tuple[float, float]: _pair,
    tuple[str, ...]: lambda values: tuple(map(_text, values)),
}
