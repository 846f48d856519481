"""Measure the last agents of the runs of equal_cost.py: exploitability, time of a turn, and other depths.

python training/experiments/equal_cost_agents.py --folder runs/equal_cost

It writes one line for each run to agents.jsonl in the folder, and tables to agents.md. Runs whose files are
missing are skipped. An interrupted command resumes when you run it again.

Each agent is loaded from the files of its run. Its regret must equal the recorded one, or the program stops.
TD keeps its weights at half of the budget, so that it learns again from there; the result is the same.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from mancala_env import agents
from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.agents import Agent
from mancala_env.benchmark import TASKS, Results, plan, read_entry
from mancala_env.benchmark.results import RESULTS, Row
from mancala_env.benchmark.runner import LearnerRun
from mancala_env.errors import MancalaError
from mancala_env.evaluation.exploit import exploitability, exploitability_text, stored_exploitability
from mancala_env.evaluation.regret import measure_regret
from mancala_env.evaluation.results_file import LinesFile
from mancala_env.networks.checkpoint import load_network, read_identity
from mancala_env.rulesets import Ruleset
from mancala_env.search import Limit
from mancala_env.solver import positions
from tools import markdown
from training.experiments.equal_cost import TASK

MEASURED = "agents.jsonl"
DEPTHS = (1, 2, 6)  # beside 4, with which the value networks were trained
SEARCH = "value+minimax:4:"
REFERENCES = ("value+minimax:4", "minimax:4", "minimax:6", "greedy")
_REPEATS, _ALONE = 5, 40


def load_td(run: LearnerRun, file: Path, steps: int) -> Agent:
    """Learn again from the weights at half of the budget, to the same number of steps."""
    module = sys.modules[run.entry.learn.__module__]
    learner = module.Learner(run.ruleset, run.seed)
    done = learner.restore(file)
    while done < steps:
        done += learner.learn(module.AT_ONCE)
    return learner.agent()


def load_gumbel_alphazero(run: LearnerRun, file: Path, steps: int) -> Agent:
    """Search with the network of the last measurement."""
    learner = sys.modules[run.entry.learn.__module__].Learner(run.ruleset, TASKS[TASK].observation, run.seed)
    learner.network.load_state_dict(load_network(file, read_identity(file)).state_dict())
    return learner.agent()


def spec_of(prefix: str) -> Callable[[LearnerRun, Path, int], Agent]:
    """Return the function that makes the agent with the spec `prefix` and the file."""
    return lambda run, file, steps: made(f"{prefix}{file}", run.ruleset)


def made(spec: str, ruleset: Ruleset) -> Agent:
    """Make an agent on one thread."""
    return agents.make(spec, ruleset, seed=0, num_threads=1)


LOADERS: Mapping[str, tuple[str, Callable[[LearnerRun, Path, int], Agent]]] = {
    "td": ("learner.npz", load_td),
    "value_loop": ("value.safetensors", spec_of(SEARCH)),
    "descent": ("descent.safetensors", spec_of(SEARCH)),
    "gumbel_alphazero": ("gumbel_alphazero.safetensors", load_gumbel_alphazero),
    "ppo": ("run/final.zip", spec_of("")),
    "ppo_labels": ("run/final.zip", spec_of("")),
}
"""The file of each run, and the function that makes the agent from run, file and number of steps."""


class Name(NamedTuple):
    """What a line of the results is about; a reference has an empty budget and the seed 0."""

    learner: str
    identity: str
    ruleset: str
    budget: str
    seed: int


class Measurements(LinesFile):
    """The measurements of each agent, by its name."""

    formats = (1,)
    kind = "measurements of agents; choose another folder"

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self.found: dict[Name, dict[str, Any]] = {}

    def take(self, fields: dict[str, Any]) -> None:
        """Store the fields of a line; see LinesFile."""
        name = Name(*(fields[field] for field in Name._fields))
        self.found[name] = {
            field: fields[field] for field in ("regret", "milliseconds", "alone", "bounds", "depths")
        }

    def add(self, name: Name, values: dict[str, Any]) -> None:
        """Append a line."""
        self.found[name] = values
        self.append_line({"format": 1, **name._asdict(), **values})


def measure(agent: Agent, ruleset: Ruleset, limit: Limit, memory_mb: int) -> dict[str, Any]:
    """Measure an agent on one thread.

    Returns:
        `milliseconds` of processor time for a turn, in a batch of all solved positions (median of five) and
        `alone` (median of 40 positions); the `bounds` of its exploitability in seeds, stored ones if there
        are any; and `depths`, the regret of a value network's search at each of DEPTHS, in seeds a move.
    """
    solved = positions(ruleset).games
    alone = solved[np.linspace(0, len(solved) - 1, _ALONE).astype(np.int64)]
    values: dict[str, Any] = {}
    batch = [_milliseconds(agent, solved) / len(solved) for _ in range(_REPEATS)]
    values["milliseconds"] = round(statistics.median(batch), 5)
    values["alone"] = round(statistics.median(_milliseconds(agent, one[None]) for one in alone), 5)
    stored = stored_exploitability(ruleset).get(agent.entrant)
    if stored is None:
        found = exploitability(agent, ruleset, limit=limit, memory_mb=memory_mb)
        stored = found.lower, found.upper
    depths = DEPTHS if agent.spec.startswith(SEARCH) else ()
    specs = {depth: agent.spec.replace(SEARCH, f"value+minimax:{depth}:") for depth in depths}
    values["depths"] = {str(depth): regret_of(made(spec, ruleset)) for depth, spec in specs.items()}
    return values | {"bounds": list(stored)}


def regret_of(agent: Agent) -> float:
    """Return the mean regret over the solved positions."""
    return measure_regret(agent, agent.ruleset).overall.mean_regret


def _milliseconds(agent: Agent, games: np.ndarray) -> float:
    began = time.process_time()
    agent.act(games)
    return 1000 * (time.process_time() - began)


def ended_runs(folder: Path) -> list[tuple[LearnerRun, Row]]:
    """Return each run that has ended, with its last row; its files may be missing."""
    results = Results.read(folder / RESULTS)
    last = {row.key: row for row in results.all_rows() if row.key.task == TASK and results.end(row.key) == ""}
    if not last:
        raise MancalaError(f"{folder / RESULTS} needs a run that has ended")
    entries = [read_entry(path) for path in sorted((folder / "entries").glob("*.py")) if path.stem in LOADERS]
    rulesets = list(dict.fromkeys(key.ruleset for key in last))
    limits, seeds = list(dict.fromkeys(key.limit for key in last)), max(key.seed for key in last)
    games = next(iter(last)).scoring.games
    wanted = plan(entries, folder, rulesets=rulesets, tasks=[TASK], limits=limits, seeds=seeds, games=games)
    return [(run, last[run.key]) for run in wanted.runs if run.key in last]


def tables(found: Mapping[Name, dict[str, Any]]) -> str:
    """Return the tables of agents.md."""
    names = sorted(found, key=lambda name: (name.ruleset, name.budget, name.learner, name.seed))
    head = ("ruleset", "budget", "agent", "seed", "regret", "exploitability", "ms a turn", "ms a turn, alone")
    rows = [
        (name.ruleset, name.budget, f"`{name.learner}`", str(name.seed) if name.seed else "",
         f"{found[name]['regret']:.2f}", exploitability_text(tuple(found[name]["bounds"])),
         f"{found[name]['milliseconds']:.3f}", f"{found[name]['alone']:.2f}")
        for name in names
    ]  # fmt: skip
    parts = ["# Agents of the runs\n", markdown.table(head, rows, head[3:])]
    groups: dict[tuple[str, str, str], list[dict[str, float]]] = {}
    for name in names:
        if found[name]["depths"]:
            depths = found[name]["depths"] | {"4": found[name]["regret"]}
            groups.setdefault((name.ruleset, name.budget, name.learner), []).append(depths)
    columns = sorted({*map(str, DEPTHS), "4"}, key=int)
    depth_rows = [
        (*group, str(len(each)), *(f"{np.mean([one[depth] for one in each]):.2f}" for depth in columns))
        for group, each in groups.items()
    ]
    head = ("ruleset", "budget", "learner", "runs", *(f"{depth} turns" for depth in columns))
    parts += ["\n## Mean regret of value networks by depth\n", markdown.table(head, depth_rows, head[3:])]
    return "\n".join(parts) + "\n"


def run_all(
    folder: Path, learners: Iterable[str], limit: Limit, memory_mb: int
) -> Mapping[Name, dict[str, Any]]:
    """Measure the agents that lack a measurement, and the references; return all measurements."""
    runs = ended_runs(folder)
    with Measurements(folder / MEASURED) as measured:
        for ruleset in dict.fromkeys(run.ruleset for run, _ in runs):
            for spec in REFERENCES:
                name = Name(spec, spec, ruleset.name, "", 0)
                if name not in measured.found:
                    agent = made(spec, ruleset)
                    values = measure(agent, ruleset, limit, memory_mb)
                    measured.add(name, {"regret": regret_of(agent)} | values)
        for run, row in runs:
            name = Name(run.name, run.entry.identity, run.ruleset.name, str(run.limit), run.seed)
            if name in measured.found or run.name not in learners:
                continue
            file, load = LOADERS[run.name]
            if not (run.folder / file).is_file():
                print(f"{run}: skipped, because {run.folder / file} is missing")
                continue
            agent = load(run, run.folder / file, row.steps)
            regret, recorded = regret_of(agent), row.score.regret
            if abs(regret - recorded) > 1e-9:
                raise MancalaError(f"{run}: regret {regret}, but {recorded} was recorded")
            values = measure(agent, run.ruleset, limit, memory_mb)
            measured.add(name, {"regret": regret} | values)
            print(f"{run}: {exploitability_text(tuple(values['bounds']))} seeds", flush=True)
    return measured.found


@in_one_line("equal_cost_agents.py", "measured agents are kept, and the same command resumes")
def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = Parser(prog="training/experiments/equal_cost_agents.py", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path("runs/equal_cost"), help="folder of equal_cost.py"
    )
    parser.add_argument(
        "--learners", nargs="+", default=list(LOADERS), choices=list(LOADERS), help="learners"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="most seconds for each best reply")
    parser.add_argument("--memory_mb", type=int, default=1500, help="memory of a search, in megabytes")
    words = parser.parse_args(arguments)
    torch.set_num_threads(1)
    memory_mb = whole("--memory_mb", words.memory_mb, 1)
    found = run_all(words.folder, words.learners, Limit(seconds=words.seconds), memory_mb)
    (words.folder / "agents.md").write_text(tables(found), encoding="utf-8")
    print(f"Written: {words.folder / 'agents.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
