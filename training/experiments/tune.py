"""Tune a configuration: train it with one change at a time, for equal time, and rate each result.

alias tune="python training/experiments/tune.py"
tune configs/leyla.yaml --change network.hidden=256 --change "ppo.epochs=4 ppo.steps=16"
tune configs/leyla.yaml --change network.hidden=256 --seeds 2 3   # more seeds for a change
tune configs/*.yaml --out runs/tuning.md                          # write the tables

The program trains the unchanged configuration and every change. Then all results for the configuration, also
those of earlier commands, play each other and two searches. Each is also compared with perfect play.

Finished runs are kept, and an interrupted run resumes. Equal time is fair only if the load of the machine
does not change.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from mancala_env._util.command_line import Parser, check_out, in_one_line
from mancala_env.evaluation.agent_evaluation import Evaluation, evaluate
from mancala_env.evaluation.matches import MatchResult, num_pairs
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training.config import InvalidConfig, TrainConfig, read_config
from mancala_env.training.run import check_agents, train_or_resume
from mancala_env.training.run_folder import FINAL, git_revision, write_atomically
from tools import markdown
from training.experiments.figures import options, rate_cell, regret_cell

SEARCHES = ("minimax:4", "minimax:6")
GAMES = 1000
AS_IT_IS = "as it is"
"""The change of an unchanged configuration, in files of runs."""


class Tuning:
    """The runs of one configuration and their results.

    Attributes:
        path: The configuration's file.
        folder: Folder of its runs.
        runs: Results of each finished run, by the name of its folder.
        games: Number of games in each match.
    """

    def __init__(self, path: Path, folder: Path, minutes: float, games: int | None) -> None:
        self.path, self.folder = path, folder / path.stem
        self._minutes = minutes
        measured: int | None = None
        self._kept = self.folder / "tuning.json"
        self.runs: dict[str, dict[str, Any]] = {}
        self._file = path.read_text("utf-8")
        if self._kept.exists():
            known = json.loads(self._kept.read_text())
            if known["minutes"] != minutes:
                raise InvalidConfig(
                    f"{self._kept} holds runs of {known['minutes']:g} minutes, so --minutes must be that, "
                    f"not {minutes:g}; or choose another --folder"
                )
            self.runs = known["runs"]
            self._file = known["file"]
            measured = known["games"]
        self.games = games or measured or GAMES
        self._is_measured = self.games == measured

    def config(self, change: str, seed: int) -> TrainConfig:
        """Return the configuration with a change, given as words of mancala train's command line.

        Raises:
            InvalidConfig: As :func:`options`, or if an option or a value is unknown.
            MancalaError: If the change names an unknown agent.
        """
        changed = [] if change == AS_IT_IS else options(change, "--change")
        if not changed and change != AS_IT_IS:
            raise InvalidConfig(
                "--change must hold options of mancala train, such as ppo.epochs=4, not nothing"
            )
        # Changes to 4 and to -4 need different names; --key=4 and --key 4 do not.
        parts = [re.sub(r"[^\w.-]+", "-", word.removeprefix("--")) for word in changed] or ["as-it-is"]
        words = ["--config", str(self.path), *changed]
        words += ["--name", "-".join([*parts, "seed", str(seed)]), "--seed", str(seed)]
        words += [
            "--folder",
            str(self.folder),
            "--minutes",
            str(self._minutes),
            "--environment_steps",
            "null",
        ]
        words += ["--checkpoint_minutes", str(self._minutes), "--checkpoint_steps", "null"]
        words += ["--evaluation.checkpoint_games", "0"]
        config = read_config(words, program="mancala train")[0]
        check_agents(config)
        return config

    def train(self, change: str, seed: int, console: Console) -> bool:
        """Train with a change, or resume its run; False if a signal ended it."""
        config = self.config(change, seed)
        name = str(config.name)
        if name in self.runs:
            return True
        if self._file != self.path.read_text("utf-8"):
            raise InvalidConfig(
                f"{self.path} has changed since the runs in {self.folder} were made, so new runs cannot be "
                "compared with them; choose another --folder"
            )
        console.print(f"{self.path.stem}, {change}, seed {seed}: {self._minutes:g} minutes", highlight=False)
        _, checkpoint, stopped_by = train_or_resume(config, console)
        if stopped_by:
            return False
        turns = read_identity(checkpoint).environment_steps
        self.runs[name] = {"change": change, "seed": seed, "turns": turns, "git": git_revision()}
        self._keep()
        return True

    def measure(self) -> None:
        """Evaluate all finished runs. Games that were played before are not repeated."""
        if self._is_measured and all("elo" in run for run in self.runs.values()):
            return
        config = self.config(AS_IT_IS, 1)
        specs = {name: str(self.folder / name / FINAL) for name in self.runs}
        found = evaluate(
            [*specs.values(), *SEARCHES],
            config.game,
            games=self.games,
            opening_turns=config.evaluation.opening_turns,
            ladder=False,
            rounds=config.rounds,
            results=self.folder / "games.jsonl",
            num_threads=1,
        )
        for name, spec in specs.items():
            self.runs[name] |= _figures(found, spec)
        self._is_measured = True
        self._keep()

    def _keep(self) -> None:
        known = {"minutes": self._minutes, "games": self.games, "file": self._file, "runs": self.runs}
        write_atomically(self._kept, (json.dumps(known, indent=2) + "\n").encode())

    def table(self) -> str:
        """Return the results as a Markdown table, one row per change, the unchanged configuration first."""
        changes = sorted({run["change"] for run in self.runs.values()}, key=lambda change: change != AS_IT_IS)
        rows = []
        for change in changes:
            runs = sorted(
                (r for r in self.runs.values() if r["change"] == change), key=lambda run: run["seed"]
            )
            rows.append(
                [
                    "unchanged" if change == AS_IT_IS else f"`{change}`",
                    ", ".join(f"{run['turns'] / 1e6:.1f} M" for run in runs),
                    ", ".join(
                        f"{run['elo'][0]:+z.0f} (±{(run['elo'][2] - run['elo'][1]) / 2:.0f})" for run in runs
                    ),
                    *(", ".join(rate_cell(run[search]) for run in runs) for search in SEARCHES),
                    ", ".join(regret_cell(run["regret"]) for run in runs),
                ]
            )
        headings = ["change", "steps", "Elo", *SEARCHES, "mean regret (seeds a move)"]
        return f"{markdown.table(headings, rows)}\n"


def _figures(found: Evaluation, spec: str) -> dict[str, Any]:
    assert found.ratings is not None
    matches: dict[str, MatchResult] = {m.second: m for m in found.matches if m.first == spec}
    regrets = {regret.agent: regret.as_dict() for regret in found.regrets}
    return {
        # The mean of the two searches is 0, because the set of checkpoints changes and the searches do not.
        "elo": [round(elo, 1) for elo in found.ratings.difference(spec, *SEARCHES)],
        **{search: matches[search].as_dict() for search in SEARCHES},
        "regret": regrets.get(spec),
    }


def page(tunings: list[Tuning], minutes: float) -> str:
    """Return the page with the tables, in Markdown."""
    tables = "".join(
        f"\n## {tuning.path.stem}\n\n{tuning.games:,} games per match.\n\n{tuning.table()}"
        for tuning in tunings
        if tuning.runs
    )
    return f"""# Tuning of each configuration

This command makes the runs of a table:

```text
python training/experiments/tune.py CONFIG --change OPTIONS --minutes {minutes:g}
```

- It trains each configuration unchanged and with one change at a time, for {minutes:g} minutes on one core.
- All results play each other, {" and ".join(SEARCHES)}, from both seats, after 4 random turns.
- Elo is relative to the mean of the two searches.
- A row has a value for each seed. A difference between rows is significant only if it is larger than the
  difference between the seeds of one row.
{tables}"""


@in_one_line("tune.py", "finished runs are kept, and the same command resumes")
def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = Parser(prog="training/experiments/tune.py", description=__doc__)
    parser.add_argument("configs", nargs="+", type=Path, help="configuration files")
    parser.add_argument(
        "--change",
        action="append",
        default=[],
        help="options of mancala train: '--ppo.epochs 4' or ppo.epochs=4; repeat the option for more changes",
    )
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[1], help="random seeds; one run per change and seed"
    )
    parser.add_argument("--minutes", type=float, default=3.0, help="minutes of training per run")
    parser.add_argument(
        "--games", type=int, help="games of each match, an even number (default: as before, or 1000)"
    )
    parser.add_argument("--folder", type=Path, default=Path("runs/tune"), help="folder of the runs")
    parser.add_argument(
        "--out", type=Path, help="Markdown file for the tables; without --change, nothing is trained"
    )
    words = parser.parse_args(arguments)
    console = Console()
    if words.out:
        check_out(words.out, ".md")
    if not words.minutes > 0:
        raise InvalidConfig(f"--minutes must be more than 0, not {words.minutes}")
    if words.games is not None:
        num_pairs(words.games)  # reject an odd number before hours of training
    tunings = [Tuning(path, words.folder, words.minutes, words.games) for path in words.configs]
    changes = (AS_IT_IS, *words.change) if words.change else ()
    wanted = [(tuning, change, seed) for tuning in tunings for seed in words.seeds for change in changes]
    if not wanted and not any(tuning.runs for tuning in tunings):
        raise InvalidConfig(
            f"{words.folder} holds no runs of these configurations; use --change to train some"
        )
    for tuning, change, seed in wanted:
        tuning.config(change, seed)  # reject an invalid change before training
    for tuning, change, seed in wanted:
        if not tuning.train(change, seed, console):
            console.print("Stopped. Run the same command again to resume.")
            return 0
    for tuning in tunings:
        if tuning.runs:
            tuning.measure()
            table = f"{tuning.path.stem}\n{tuning.table()}"
            console.print(table, highlight=False, markup=False, soft_wrap=True)
    if words.out:
        write_atomically(words.out, page(tunings, words.minutes).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
