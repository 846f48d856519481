"""The results of a benchmark: a line a measurement, in one file that runs of days add to.

`results.jsonl` holds three kinds of line. "measured" is a player's score. "void" says that a run began anew
after so many environment steps, so its earlier measurements beyond them do not count. "end" says that a run
is over, and why it was refused, if it was. All say which run they are of, so the file can be cut up, joined
and read by anything that reads JSON.
"""

import json
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from mancala_env._util.checks import is_whole, one_of
from mancala_env.benchmark.budget import Limit
from mancala_env.benchmark.scoring import Score, Scoring
from mancala_env.benchmark.tasks import TASKS
from mancala_env.evaluation.openings import OPENINGS
from mancala_env.evaluation.results_file import InvalidResults, LinesFile
from mancala_env.games.speed import machine
from mancala_env.version import __version__

FORMAT = 1
RESULTS = "results.jsonl"
LINE = "search"
"""The task of those who do not learn and are lines across the plots."""
MEASURED, VOID, END = "measured", "void", "end"
_MOST_TEXT = 2000


class Key(NamedTuple):
    """A run: what is the same for all its measurements.

    Attributes:
        entry: Name of the entry; of a line the spec.
        identity: Hash of its file; of a line its own.
        task: Name of the task; LINE of a line.
        ruleset: Name of the ruleset.
        rules: Hash of what it says (rules_hash of the arena).
        limit: The budget; of a line nothing.
        seed: The learner's seed; of a line 0.
        scoring: How players are scored.
        version: Version of the package.
    """

    entry: str
    identity: str
    task: str
    ruleset: str
    rules: str
    limit: Limit
    seed: int
    scoring: Scoring
    version: str = __version__

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        fields = self._asdict()
        limit, scoring = fields.pop("limit"), fields.pop("scoring")
        return fields | {"budget": limit._asdict(), "scoring": scoring._asdict()}


class Row(NamedTuple):
    """A measurement.

    Attributes:
        key: The run.
        point: Which of its measuring points, from 0.
        steps: Environment steps spent.
        core_seconds: Core seconds spent.
        score: How good the player was.
        made: With what: commit, machine, time.
    """

    key: Key
    point: int
    steps: int
    core_seconds: float
    score: Score
    made: dict[str, str]

    @property
    def core_minutes(self) -> float:
        """Core minutes spent."""
        return self.core_seconds / 60

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: a line of the file."""
        return {
            "format": FORMAT,
            "what": MEASURED,
            **self.key.as_dict(),
            "point": self.point,
            "steps": self.steps,
            "core_minutes": round(self.core_minutes, 6),
            **self.score._asdict(),
            **self.made,
        }


def made_here(commit: str) -> dict[str, str]:
    """Return what a measurement was made with: commit, machine, time."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"commit": commit, "machine": machine(), "time": now}


class Results(LinesFile):
    """The file of results, and what is in it."""

    def __init__(self, path: str | Path | None) -> None:
        """Name the file; it is opened, read and locked by ``with``."""
        super().__init__(path)
        self._rows: dict[Key, list[Row]] = {}
        self._ends: dict[Key, str] = {}

    def rows(self, key: Key) -> list[Row]:
        """Return the measurements of a run that count, in the order of their steps."""
        return list(self._rows.get(key, ()))

    def end(self, key: Key) -> str | None:
        """Return why a run ended: "" where it was over; None where it has not ended."""
        return self._ends.get(key)

    def all_rows(self) -> list[Row]:
        """Return every measurement that counts, but those of runs that were refused.

        Those of a run stand together, and the run that was measured last stands last.
        """
        return [row for key, rows in self._rows.items() for row in rows if not self._ends.get(key)]

    def refused(self) -> Iterator[tuple[Key, str]]:
        """Yield the runs that were refused, and why."""
        yield from ((key, why) for key, why in self._ends.items() if why)

    def measured(self, row: Row) -> None:
        """Add a measurement."""
        self._add(row)
        self.append_line(row.as_dict())

    def void(self, key: Key, after: int) -> None:
        """Note that measurements of a run beyond so many steps do not count: it began anew there."""
        self._drop(key, after)
        self.append_line({"format": FORMAT, "what": VOID, **key.as_dict(), "after": after})

    def ended(self, key: Key, why: str = "") -> None:
        """Note that a run is over; `why` where it was refused."""
        self._ends[key] = why
        self.append_line({"format": FORMAT, "what": END, **key.as_dict(), "why": why})

    def _add(self, row: Row) -> None:
        # The run that was measured last stands last. The same steps twice are of files that were joined: one
        # counts, and what a file has of the way there does not come after the end that another has.
        before = [each for each in self._rows.pop(row.key, ()) if each.steps != row.steps]
        self._rows[row.key] = sorted([*before, row], key=lambda each: each.steps)

    def _drop(self, key: Key, after: int) -> None:
        self._rows[key] = [row for row in self._rows.get(key, ()) if row.steps <= after]

    def take(self, line: bytes, number: int) -> None:
        """Take a line that is in the file; see LinesFile."""
        try:
            fields = json.loads(line)
            if fields["format"] != FORMAT:
                raise InvalidResults(
                    f"{self.path}, line {number}: format {repr(fields['format'])[:80]}, not {FORMAT}"
                )
            key = _key(fields)
            if fields["what"] == MEASURED:
                row = _row(key, fields)
                if key not in self._ends:
                    self._add(row)
            elif fields["what"] == VOID:
                after = _count(fields["after"])
                if key not in self._ends:  # else another file, joined to this one, has the run to its end
                    self._drop(key, after)
            elif fields["what"] == END:
                self._ends[key] = _text(fields["why"])
            else:
                raise ValueError
        except InvalidResults:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise InvalidResults(
                f"{self.path}, line {number}: not a line of a benchmark's results; name another folder"
            ) from None


def _key(fields: dict[str, Any]) -> Key:
    budget, scoring = fields["budget"], fields["scoring"]
    if budget["kind"] not in ("steps", "core_minutes") or fields["task"] not in (*TASKS, LINE):
        raise ValueError
    anchors = tuple(_text(anchor) for anchor in scoring["anchors"])
    return Key(
        *(_text(fields[name]) for name in ("entry", "identity", "task", "ruleset", "rules")),
        limit=Limit(budget["kind"], _number(budget["amount"])),
        seed=_count(fields["seed"]),
        scoring=Scoring(
            _count(scoring["games"]),
            anchors,
            _count(scoring["opening_turns"]),
            one_of("opening_set", scoring["opening_set"], OPENINGS),
            _count(scoring["seed"]),
        ),
        version=_text(fields["version"]),
    )


def _row(key: Key, fields: dict[str, Any]) -> Row:
    score = Score(
        _number(fields["regret"]),
        _pair(fields["regret_interval"]),
        _number(fields["optimal_share"]),
        _number(fields["elo"]),
        _pair(fields["elo_interval"]),
        _count(fields["games"]),
    )
    made = {name: _text(fields[name]) for name in ("commit", "machine", "time")}
    return Row(
        key,
        _count(fields["point"]),
        _count(fields["steps"]),
        60 * _number(fields["core_minutes"]),
        score,
        made,
    )


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TEXT or not value.isprintable():
        raise ValueError
    return value


def _count(value: Any) -> int:
    if not is_whole(value) or value < 0:
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _pair(values: Iterable[Any]) -> tuple[float, float]:
    low, high = values
    return _number(low), _number(high)
