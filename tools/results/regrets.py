"""Regret of the bundled agents over the solved positions, averaged over random seeds."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from mancala_env import agents, rulesets
from mancala_env._util.files import write_whole
from mancala_env._util.package_data import Kind, bundled_file_of
from mancala_env.evaluation import measure_regret
from mancala_env.evaluation.intervals import mean_interval
from mancala_env.evaluation.regret import expected_mistake
from mancala_env.games.speed import machine
from mancala_env.solver import rulesets_with_positions
from mancala_env.training.run_folder import git_revision
from mancala_env.version import __version__

STORED = Path(__file__).resolve().parents[2] / "docs" / "results" / "regret.json"
SEEDS = (0, 1, 2)
AGENTS = ("random", "greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:100", "mcts:1000")
BY_KIND: dict[Kind, tuple[str, ...]] = {
    "value": ("value+minimax:4", "value+minimax:6"),
    "policy": ("trained",),
}
"""Agents with a bundled network, by the kind of its file."""
COMMAND = "python -m tools.results --measure"


def agents_of(ruleset: str) -> tuple[str, ...]:
    """Return the specs that are measured in a ruleset."""
    bundled = rulesets.lookup(ruleset)
    networks = (specs for kind, specs in BY_KIND.items() if bundled_file_of(kind, bundled) is not None)
    return (*AGENTS, *(spec for specs in networks for spec in specs))


def measure(path: Path = STORED) -> Iterator[str]:
    """Measure what the file lacks, store each result, and yield a line about it.

    Delete the file to measure everything again.
    """
    stored = stored_regrets(path)
    made = {
        "date": str(date.today()),
        "machine": machine(),
        "version": __version__,
        "revision": git_revision(),
    }
    stored |= {"command": COMMAND, "seeds": list(SEEDS)}
    for ruleset in rulesets_with_positions():
        found = stored["rulesets"].setdefault(ruleset, {})
        for spec in agents_of(ruleset):
            if spec not in found:
                found[spec] = _regret(spec, ruleset) | made
                write_whole(path, as_text(stored))
                yield f"{ruleset} {spec} {found[spec]['mean']:.2f}"


def stored_regrets(path: Path = STORED) -> dict[str, Any]:
    """Return the stored results; `rulesets` has figures of each agent, and how they were made."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rulesets": {}}


def measured_in_words(stored: dict[str, Any]) -> str:
    """Return date, machine and version of every stored result, each combination once."""
    every = (one for found in stored["rulesets"].values() for one in found.values())
    return "; ".join(sorted({f"{one['date']} ({one['machine']}, version {one['version']})" for one in every}))


def as_text(stored: dict[str, Any]) -> str:
    """Return JSON with an agent a line."""
    head = json.dumps({key: value for key, value in stored.items() if key != "rulesets"}, indent=1)
    blocks = []
    for ruleset, found in stored["rulesets"].items():
        rows = ",\n".join(f"   {json.dumps(spec)}: {json.dumps(one)}" for spec, one in found.items())
        blocks.append(f"  {json.dumps(ruleset)}: {{\n{rows}\n  }}")
    return head.removesuffix("\n}") + ',\n "rulesets": {\n' + ",\n".join(blocks) + "\n }\n}\n"


def _regret(spec: str, ruleset: str) -> dict[str, Any]:
    rules = rulesets.lookup(ruleset)
    measured = [measure_regret(agents.make(spec, rules, seed=seed), rules) for seed in SEEDS]
    regrets = np.array([one.regrets for one in measured])
    low, high = mean_interval(regrets.mean(axis=0), expected_mistake(rules), 0, rules.total_seeds)
    return {
        "mean": round(float(regrets.mean()), 3),
        "interval": [round(low, 3), round(high, 3)],
        "best": round(float((regrets == 0).mean()), 3),
        "positions": regrets.shape[1],
        "by_seed": [round(float(each.mean()), 3) for each in regrets],
    }
