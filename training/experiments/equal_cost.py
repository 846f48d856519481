"""Compare learners at equal cost: tune each with the same budget, train it with each seed, write the tables.

python training/experiments/equal_cost.py                                  # ten seeds at three core minutes
python training/experiments/equal_cost.py --learners descent td value_loop --minutes 30 --seeds 5
python training/experiments/equal_cost.py --tuning_runs 0 --seeds 3 --minutes 1 --rulesets leyla

docs/research/equal_cost.md has the question and the plan. The program has four steps:

1. Freeze: write the task, the ranges and hashes of the solved positions to protocol.json, or compare them.
2. Tune: train each learner with random settings on another ruleset, first with the default settings. Keep
   the settings with the least regret.
3. Run: train every learner on every ruleset with every seed, by the benchmark of the package.
4. Report: write equal_cost.md, and curves.png and profiles.png if matplotlib is installed.

A variant of a learner is a file in the folder: `mancala benchmark FILE --tasks anything` repeats its runs.
An interrupted command resumes when you run it again. With `--recorded FOLDER`, a new folder starts
from the results of another folder; benchmarks/learning/equal_cost has those that are finished so far.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mancala_env._util.checks import whole
from mancala_env._util.command_line import MissingPackage, Parser, in_one_line
from mancala_env.benchmark import TASKS, Entry, Results, limit_of_minutes, plan, read_entry, run_plan
from mancala_env.benchmark.aggregates import performance_profile
from mancala_env.benchmark.results import RESULTS, Row
from mancala_env.benchmark.scoring import regret_of_random, scoring_of
from mancala_env.benchmark.summary import BenchmarkSummary, baseline_cells, head_of, write_report
from mancala_env.errors import MancalaError
from mancala_env.evaluation.plots import draw_band, figure_of, finish, new_axes
from mancala_env.evaluation.round_robin import rules_hash
from mancala_env.rulesets import lookup
from mancala_env.solver import positions
from mancala_env.training.run_folder import write_atomically
from mancala_env.version import __version__
from tools import markdown

ENTRIES, PROTOCOL = Path(__file__).resolve().parents[1] / "benchmark", "protocol.json"
TASK, RULESETS, TUNING_RULESET = "anything", ("layli_goobalay", "leyla", "gabata_i"), "leyla_gobale_ii"
LEVELS = tuple(np.linspace(0, 0.5, 51).tolist())  # of regret, as a share of that of random play

PPO = '''"""The PPO of this package with the settings below, without the configuration file of a ruleset."""

from mancala_env.benchmark import TASKS as ALL_TASKS
from mancala_env.benchmark import bundled_learners

TASKS = ("anything",)
PLAIN = ALL_TASKS["afterstates"]  # tasks other than "anything" use the default configuration
SETTINGS = {settings!r}


def prepare(task, ruleset):
    """Compile the training, and the search that labels."""
    for each in (task, PLAIN._replace(observation="replies")):
        bundled_learners.prepare(each, ruleset)


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield a checkpoint at each measurement."""
    config = bundled_learners.config_of(PLAIN, ruleset, budget, seed, folder, SETTINGS)
    yield from bundled_learners.trained(config, budget)
'''


class Learner(NamedTuple):
    """A learner: how its agent plays, and the ranges of its settings.

    Each name has a list of choices, or a pair of numbers to draw between on a logarithmic scale. A name is a
    constant of the entry's file or, if there are `fixed` settings, an option of the package's PPO.
    """

    plays: str
    ranges: Mapping[str, list[Any] | tuple[float, float]]
    fixed: Mapping[str, Any] | None = None

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw settings from the ranges; whole limits give whole numbers."""
        return {name: _drawn(span, rng) for name, span in self.ranges.items()}

    def text(self, name: str, settings: Mapping[str, Any]) -> str:
        """Return the learner's file with some settings; without settings, the entry's file itself."""
        if self.fixed is not None:
            return PPO.format(settings={**self.fixed, **settings})
        lines = [f"\n{constant} = {value!r}  # of this variant" for constant, value in settings.items()]
        return (ENTRIES / f"{name}.py").read_text("utf-8") + "".join(lines) + "\n" * bool(lines)


def _drawn(span: list[Any] | tuple[float, float], rng: np.random.Generator) -> Any:
    if isinstance(span, list):
        return span[int(rng.integers(len(span)))]
    found = float(np.exp(rng.uniform(*np.log(span))))
    return round(found) if isinstance(span[0], int) else float(f"{found:.3g}")


_TD: dict[str, Any] = {"LAMBDA": [0.0, 0.5, 0.8, 0.9, 1.0], "EXPLORATION": (0.02, 0.5), "STEP": (0.1, 2.0)}
_LOOP: dict[str, Any] = {"FEWEST_GAMES": (100, 1000), "GAMES_A_MINUTE": (200, 5000)}
_DESCENT: dict[str, Any] = {"ITERATIONS": (2, 128), "GAMES": (10, 400), "PASSES": (0.3, 5.0)}
_DESCENT |= {"LEARNING_RATE": (0.001, 0.05)}
_GUMBEL: dict[str, Any] = {"GAMES": [64, 128, 256, 512], "REWARD": ["margin", "outcome"], "PASSES": (1, 10)}
_GUMBEL |= {"SEARCH_SHARE": [0.0, 0.25, 0.5, 0.75], "LEARNING_RATE": (0.0003, 0.01), "HIDDEN": [64, 128, 256]}
_PPO: dict[str, Any] = {"ppo.learning_rate": (0.0003, 0.01), "ppo.epochs": [1, 2, 3, 5, 8]}
_PPO |= {"ppo.steps": [16, 32, 64], "ppo.gae_lambda": [0.8, 0.9, 0.95, 1.0], "network.hidden": [64, 128, 256]}
_LABELS = _PPO | {"expert.share": (0.02, 0.5), "expert.temperature": [0.3, 1.0, 3.0]}
_FIXED = {"network.observation": "replies"}
_TWO_TURNS = "network alone, two turns ahead"
LEARNERS = {
    "td": Learner("one turn ahead", _TD),
    "value_loop": Learner("value+minimax:4", _LOOP),
    "descent": Learner("value+minimax:4", _DESCENT),
    "gumbel_alphazero": Learner("search of 16 simulations", _GUMBEL),
    "ppo": Learner(_TWO_TURNS, _PPO, _FIXED),
    "ppo_labels": Learner(_TWO_TURNS, _LABELS, _FIXED | {"expert.share": 0.1, "expert.spec": "minimax:4"}),
}
"""All learners by name. None uses a bundled network, whose training the clock would not count."""


def begin(folder: Path, recorded: Path) -> None:
    """Copy results of another folder into a new one, so that their runs are not repeated."""
    if not (recorded / PROTOCOL).is_file():
        raise MancalaError(f"--recorded must name a folder with {PROTOCOL}, not {recorded}")
    if not (folder / PROTOCOL).exists():
        for name in (RESULTS, f"tuning/{RESULTS}", PROTOCOL):
            if (recorded / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(recorded / name, folder / name)


def freeze(folder: Path, rulesets: Iterable[str], games: int) -> str:
    """Write what must not change between runs to protocol.json, or compare it; return its hash."""
    path = folder / PROTOCOL
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    protocol: dict[str, Any] = {"version": __version__, "task": TASKS[TASK]._asdict(), "labels": {}}
    protocol["learners"] = {name: each._asdict() for name, each in LEARNERS.items()}
    for name in rulesets:
        ruleset, solved = lookup(name), positions(name)
        digest = hashlib.sha256(solved.games.tobytes() + solved.action_values.tobytes()).hexdigest()
        scoring = scoring_of(ruleset, games)._asdict()
        protocol["labels"][name] = {"rules": rules_hash(ruleset), "positions": digest, "scoring": scoring}
    protocol = json.loads(json.dumps(protocol))  # tuples are lists in the file
    protocol["labels"] = known.get("labels", {}) | protocol["labels"]
    for name, value in known.items():
        kept = {key: protocol[name].get(key) for key in value} if isinstance(value, dict) else protocol[name]
        if value != kept:
            raise MancalaError(f"{name} of {path} has changed since its runs; choose another --folder")
    content = json.dumps(protocol, indent=1, sort_keys=True).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return hashlib.sha256(content).hexdigest()[:16]


def variant(folder: Path, file: str, name: str, settings: Mapping[str, Any]) -> Entry:
    """Write a learner's file with some settings, and read it as an entry."""
    path, content = folder / f"{file}.py", LEARNERS[name].text(name, settings).encode()
    folder.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_bytes() != content:  # an equal file keeps its compiled kernels
        write_atomically(path, content)
    return read_entry(path)


def tune(folder: Path, name: str, runs: int, minutes: float) -> tuple[dict[str, Any], list[float]]:
    """Train a learner with random settings; return the settings with the least regret, and all regrets."""
    tried = [{}] + [LEARNERS[name].draw(np.random.default_rng([n, *name.encode()])) for n in range(1, runs)]
    if not runs:
        return {}, []
    entries = [variant(folder, f"{name}-{n}", name, settings) for n, settings in enumerate(tried)]
    wanted = plan(
        entries, folder, rulesets=[TUNING_RULESET], tasks=[TASK], limits=[limit_of_minutes(minutes)], seeds=1,
        points=1, lines=(), games=2, anchors=["random"],
    )  # fmt: skip
    run_plan(wanted)
    found = Results.read(folder / RESULTS)
    ended = {row.key: row.score.regret for row in found.all_rows() if found.end(row.key) == ""}
    regrets = [ended.get(run.key, np.inf) for run in wanted.runs]
    return tried[int(np.argmin(regrets))], regrets


def report(folder: Path, head: str, chosen: Mapping[str, Any], seeds: int) -> None:
    """Write equal_cost.md with the tables and every run, and the plots if matplotlib is installed.

    Recorded runs of later seeds than the first `seeds` are excluded, so that all learners have equally many.
    """
    results = Results.read(folder / RESULTS)
    outcome = BenchmarkSummary(results, seeds)
    parts = [f"# Learners at equal cost\n\n{head}\n"]
    rows = [[name, LEARNERS[name].plays, json.dumps(settings)] for name, settings in chosen.items()]
    parts.append(markdown.table(("learner", "plays", "settings that differ from the default"), rows))
    for contest in outcome.contests():
        rows = [one.cells() for one in outcome.standings(contest)]
        rows += map(baseline_cells, outcome.baselines_of(contest))
        parts.append(f"\n## {contest}\n\n{markdown.table(head_of(contest), rows)}")
    last = {row.key: row for row in outcome.rows if results.end(row.key) == ""}.values()
    cells = sorted(
        (str(row.key.limit), row.key.ruleset, row.key.entry, str(row.key.seed), f"{row.core_minutes:.2f}",
         f"{row.score.regret:.3f}", f"{row.score.elo:z.0f}") for row in last
    )  # fmt: skip
    head_of_runs = ("budget", "ruleset", "learner", "seed", "core minutes", "mean regret", "Elo")
    parts += [f"\n## Every run\n\n{markdown.table(head_of_runs, cells)}\n", *outcome.notes]
    write_atomically(folder / "equal_cost.md", ("\n".join(parts).rstrip() + "\n").encode())
    if not last:
        print("no plots: no run could be scored")
        return
    try:
        write_report(outcome, folder / "curves.png")
        plot_profiles(last, folder / "profiles.png")
    except MissingPackage as error:
        print(f"no plots: {error}")


def plot_profiles(rows: Collection[Row], path: Path) -> None:
    """Plot the performance profiles of the longest budget: the share of runs with at most some regret."""
    limit = max(row.key.limit for row in rows)
    strata: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.key.limit == limit:
            regret = row.score.regret / regret_of_random(lookup(row.key.ruleset))
            strata.setdefault(row.key.entry, {}).setdefault(row.key.ruleset, []).append(regret)
    axes = new_axes(6.4, 4.2)
    for number, (name, found) in enumerate(sorted(strata.items())):
        profile = performance_profile([np.array(each) for each in found.values()], LEVELS)
        draw_band(axes, LEVELS, np.array(profile), name, number)
    finish(axes, f"Performance profiles, {limit}", (0, 1))
    axes.set_xlabel("mean regret as a share of that of random play")
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.set_ylabel("share of runs with at most this regret")
    figure_of(axes).savefig(path)


@in_one_line("equal_cost.py", "finished runs are kept, and the same command resumes")
def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = Parser(prog="training/experiments/equal_cost.py", description=__doc__)
    add = parser.add_argument
    add("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS), help="names of learners")
    add("--rulesets", nargs="+", default=list(RULESETS), help="names of the rulesets to compare on")
    add("--seeds", type=int, default=10, help="number of seeds (1..N)")
    add("--minutes", type=float, nargs="+", default=[3.0], help="budgets in core minutes")
    add("--games", type=int, default=200, help="number of games against each anchor; even")
    add("--tuning_runs", type=int, default=20, help="runs of the tuning per learner; 0 for default settings")
    add("--tuning_minutes", type=float, default=1.0, help="core minutes of each run of the tuning")
    add("--folder", type=Path, default=Path("runs/equal_cost"), help="folder of the runs and the report")
    add("--recorded", type=Path, help="folder with results that a new --folder starts from")
    words = parser.parse_args(arguments)
    if TUNING_RULESET in words.rulesets:
        raise MancalaError(f"--rulesets must not name {TUNING_RULESET}, which the tuning uses")
    whole("--seeds", words.seeds, 1)
    whole("--tuning_runs", words.tuning_runs, 0)
    limits = [limit_of_minutes(minutes) for minutes in words.minutes]
    if words.recorded:
        begin(words.folder, words.recorded)
    protocol = freeze(words.folder, [*words.rulesets, TUNING_RULESET], words.games)
    chosen: dict[str, dict[str, Any]] = {}
    for name in words.learners:
        chosen[name], regrets = tune(words.folder / "tuning", name, words.tuning_runs, words.tuning_minutes)
        print(f"{name}: {chosen[name] or 'default settings'}, regrets {np.round(regrets, 2).tolist()}")
    entries = [variant(words.folder / "entries", name, name, chosen[name]) for name in words.learners]
    wanted = plan(
        entries, words.folder, rulesets=words.rulesets, tasks=[TASK], limits=limits, seeds=words.seeds,
        games=words.games,
    )  # fmt: skip
    status = 1 if run_plan(wanted) else 0
    tuning = f"{words.tuning_runs} runs of {words.tuning_minutes:g} core minutes on {TUNING_RULESET}"
    report(words.folder, f"Protocol {protocol}. Tuning: {tuning}.", chosen, words.seeds)
    print(f"Written: {words.folder / 'equal_cost.md'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
