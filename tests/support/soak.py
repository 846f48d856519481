"""The soak test: attack every claim about reliability for a given time.

python tests/support/soak.py --minutes 10            # resumes where it was stopped
python tests/support/soak.py --stages engine solver --minutes 2
python tests/support/soak.py --again --minutes 120   # discards earlier results

Each stage draws its cases from an increasing seed, so that a failed case can be repeated by its seed. The
results are saved after every slice, and docs/results/reliability.md is generated from them.
"""

import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from soak_stages import ROOT, STAGES, Stage
from soak_system import end_long_training

from mancala_env._util.command_line import Parser, in_one_line

PAGE = ROOT / "docs" / "results" / "reliability.md"
_SLICE_SECONDS = 10.0


@dataclass
class Record:
    """The results of a stage.

    Attributes:
        seed: The next seed.
        tried: Number of cases tried.
        seconds: Total time in seconds.
        fallen: Failures, by seed.
    """

    seed: int = 0
    tried: int = 0
    seconds: float = 0.0
    fallen: dict[str, str] = field(default_factory=dict)


class Campaign:
    """The results of all stages, saved in a file after every slice."""

    def __init__(self, path: Path, stages: Sequence[Stage]) -> None:
        self.path, self.stages = path, stages
        self.records = {stage.name: Record() for stage in stages}
        self.seconds = 0.0
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            self.seconds = kept["seconds"]
            for name, record in kept["records"].items():
                self.records[name] = Record(**record)

    def keep(self) -> None:
        """Write the file atomically."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        kept = {name: asdict(record) for name, record in self.records.items()}
        part.write_text(json.dumps({"seconds": self.seconds, "records": kept}, indent=2), encoding="utf-8")
        part.replace(self.path)

    def run(self, seconds: float, console: Console) -> None:
        """Run slices of stages until the time is over. The stage furthest from its goal is next."""
        columns = (
            TextColumn("{task.description:<14}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[fell]}"),
        )
        began = time.monotonic()
        with Progress(*columns, console=console) as bars:
            tasks = {
                stage.name: bars.add_task(
                    stage.name, total=stage.goal, completed=self.records[stage.name].tried, fell=""
                )
                for stage in self.stages
            }
            while time.monotonic() - began < seconds:
                stage = self._furthest_from_its_goal()
                self._slice(stage, min(_SLICE_SECONDS, seconds - (time.monotonic() - began)))
                record = self.records[stage.name]
                bars.update(
                    tasks[stage.name],
                    completed=record.tried,
                    fell=f"{len(record.fallen)} failed" if record.fallen else "",
                )

    def _furthest_from_its_goal(self) -> Stage:
        """Return the stage that has reached the smallest share of its goal."""
        able = [stage for stage in self.stages if not stage.missing]
        return min(able, key=lambda stage: self.records[stage.name].tried / stage.goal)

    def _slice(self, stage: Stage, seconds: float) -> None:
        record, began = self.records[stage.name], time.monotonic()
        while time.monotonic() - began < seconds:
            seed = record.seed
            record.seed += 1
            before = time.monotonic()
            try:
                record.tried += stage.attack(seed)
            except Exception as error:  # any exception is a failure of the claim
                last = traceback.extract_tb(error.__traceback__)[-1]
                said = " ".join(f"{type(error).__name__}: {error}".split())[:500]
                record.fallen[str(seed)] = f"{said} ({Path(last.filename).name}:{last.lineno})"
                record.tried += 1
            spent = time.monotonic() - before
            record.seconds += spent
            self.seconds += spent
        self.keep()

    def page(self) -> str:
        """Return docs/results/reliability.md."""
        rows = []
        for stage in self.stages:
            record = self.records[stage.name]
            fell = f", **{len(record.fallen)} failed**" if record.fallen else ""
            tried = f"{record.tried:,} {stage.unit}{fell}"
            if stage.missing and not record.tried:
                tried = f"skipped: {stage.missing}"
            rows.append(f"| {stage.name} | {stage.claim} | {tried} |")
        fallen = [
            f"- {name}, seed {seed}: {said}"
            for name, record in self.records.items()
            for seed, said in record.fallen.items()
        ]
        return (
            "# Reliability\n\n"
            "`make soak` attacks each claim with random cases, and resumes. "
            "`python tests/support/soak.py --stages NAME` runs one attack.\n\n"
            f"Last run: {time.strftime('%Y-%m-%d')}, revision {_revision()}, {platform.machine()}, "
            f"{os.cpu_count()} cores, {self.seconds / 60:.0f} minutes in all.\n\n"
            "| attack | claim | tried |\n|---|---|---:|\n"
            + "\n".join(rows)
            + "\n\n"
            + ("## Failures\n\n" + "\n".join(fallen) + "\n" if fallen else "No claim failed.\n")
        )


def _revision() -> str:
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "unknown"


@in_one_line("soak", "results are kept; the same command resumes")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if no claim failed, else 1."""
    parser = Parser(
        prog="tests/support/soak.py",
        description=__doc__,
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes in all")
    parser.add_argument(
        "--stages", nargs="+", choices=[stage.name for stage in STAGES], help="stages to run (default: all)"
    )
    parser.add_argument(
        "--record", type=Path, default=ROOT / "runs" / "soak.json", help="file of the results"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    parser.add_argument("--again", action="store_true", help="discard earlier results")
    words = parser.parse_args(arguments)
    if words.again:
        words.record.unlink(missing_ok=True)
    campaign = Campaign(words.record, [s for s in STAGES if words.stages is None or s.name in words.stages])
    console = Console()
    try:
        campaign.run(60 * words.minutes, console)
    finally:
        end_long_training()
        campaign.keep()
        if words.stages is None:
            words.page.write_text(campaign.page(), encoding="utf-8")
    fell = sum(len(record.fallen) for record in campaign.records.values())
    console.print(campaign.page(), markup=False, highlight=False)
    return 1 if fell else 0


if __name__ == "__main__":
    sys.exit(main())
