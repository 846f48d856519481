"""Learners for tests, as texts of entry files, and a short benchmark of them."""

from mancala_env.benchmark import limit_of_steps, plan, read_entry, run_plan
from mancala_env.benchmark.results import RESULTS, Results

HEAD = '''"""A learner for tests."""

import json
import os
import signal

from mancala_env import agents
from mancala_env.benchmark import Point

TASKS = ("board", "afterstates", "anything")


def player(ruleset, observation="board"):
    return agents.from_function(lambda seen, legal: legal.argmax(1), ruleset, observation=observation, name="first")


def learn(task, ruleset, budget, seed, folder):
'''  # noqa: E501
# Learns nothing, a hundred steps at a time.
HONEST = """
    steps = 0
    while budget.allows(steps + 100):
        steps += 100
        if budget.is_due(steps):
            yield Point(player(ruleset), steps)
    yield Point(player(ruleset), steps)
"""
# Stores its state at each measurement and resumes from it. It is killed once, at the step in the text.
STORING = """
    file, steps = folder / "steps.json", 0
    if file.exists():
        steps = json.loads(file.read_text())
        if not budget.resume(steps):
            steps = 0
    with (folder / "log").open("a") as log:
        print("begins", steps, file=log)
    while budget.allows(steps + 100):
        steps += 100
        if steps == KILLED_AT and not (folder / "killed").exists():
            (folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if budget.is_due(steps):
            yield Point(player(ruleset), steps)
            file.write_text(json.dumps(steps))
    yield Point(player(ruleset), steps)
"""


def entry_of(folder, body, name="learner"):
    path = folder / f"{name}.py"
    path.write_text(HEAD + body, encoding="utf-8")
    return read_entry(path)


def plan_of(entries, folder, **options):
    options = {"limits": [limit_of_steps(1000)], "seeds": 1, "points": 3, "lines": ()} | options
    return plan(entries, folder, games=2, anchors=["random"], **options)


def run(entries, folder, **options):
    """Run a benchmark; returns its messages and results."""
    said = []
    wanted = plan_of(entries, folder, **options)
    broken = run_plan(wanted, said.append)
    with Results(folder / RESULTS) as results:
        return said, broken, results, wanted
