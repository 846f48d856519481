"""The entries of training/benchmark/ run with minimal budgets."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from benchmark_learners import HONEST, entry_of, run
from boards import NARROW
from error_checks import names
from plain_tianshou import plain_functions

from mancala_env import Position, agents, cli, rulesets
from mancala_env.agents import Agent
from mancala_env.agents.network import CheckpointAgent
from mancala_env.agents.searchers import MinimaxAgent
from mancala_env.benchmark import (
    TASKS,
    BudgetLimit,
    LearningBudget,
    Point,
    limit_of_minutes,
    limit_of_steps,
    read_entry,
)
from mancala_env.benchmark.budget import measuring_points
from mancala_env.benchmark.bundled_learners import config_of, prepare
from mancala_env.benchmark.results import RESULTS, Results
from mancala_env.benchmark.tasks import task_named
from mancala_env.engine.state import encode, load
from mancala_env.evaluation import measure_regret, play_matches
from mancala_env.games.batch import Batch
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training import distillation
from mancala_env.training.expert_labels import label_positions
from mancala_env.training.pool import SnapshotPool

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = sorted((ROOT / "training" / "benchmark").glob("*.py"))
# RLlib writes into $HOME and leaves processes, so it has its own process below.
HERE = [path for path in FILES if path.stem != "rllib_ppo"]
NEEDS = {"tianshou_dqn": "tianshou"}
# Budgets in steps. Learners that search each turn take milliseconds for a step, and get smaller ones.
# Distillation ends the games under way, so it needs a larger one.
STEPS, STEPS_OF = 1000, {"alphazero": 250, "gumbel_alphazero": 500, "ppo_distilled": 2000}
LAYLI = rulesets.lookup("layli_goobalay")


def entry_at(path):
    needed = NEEDS.get(path.stem)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed here")
    return read_entry(path)


def td():
    entry = read_entry(ROOT / "training" / "benchmark" / "td.py")
    return entry, sys.modules[entry.learn.__module__]


@pytest.mark.slow
@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
def test_an_entry_keeps_to_its_budget_and_task(path, tmp_path, monkeypatch):
    entry = entry_at(path)
    for replaced in plain_functions() if path.stem == "tianshou_dqn" else ():
        monkeypatch.setattr(*replaced)
    assert len((sys.modules[entry.learn.__module__].__doc__ or "").partition("\n")[0]) > 20
    steps = STEPS_OF.get(path.stem, STEPS)
    limit = limit_of_steps(steps)
    said, broken, results, wanted = run([entry], tmp_path, tasks=[entry.tasks[0]], limits=[limit], points=2)
    assert broken == 0, said
    assert results.end(wanted.runs[0].key) == "", said
    rows = results.rows(wanted.runs[0].key)
    assert 0 < rows[-1].steps <= steps


def test_what_teaches_in_a_rulesets_file_belongs_to_an_entry(tmp_path):
    budget = LearningBudget(limit_of_steps(3000), (1.0,))
    config = config_of(TASKS["anything"], LAYLI, budget, 1, tmp_path)
    assert config.network.observation == "values"  # from its configuration file
    assert (config.expert.share, config.distillation.positions, config.pool.share) == (0, 0, 0)


@pytest.mark.slow
def test_entries_learn_rulesets_without_a_value_network(tmp_path):
    entry = read_entry(ROOT / "training" / "benchmark" / "expert_iteration.py")
    task, ruleset = task_named("anything@board"), rulesets.lookup(NARROW)
    entry.prepare(task, ruleset)
    (point,) = entry.learn(task, ruleset, LearningBudget(limit_of_steps(1000), (1.0,)), 1, tmp_path)
    assert 0 < point.steps <= 1000


def test_the_labelling_search_depends_on_whether_a_value_network_is_bundled(tmp_path):
    for ruleset, spec in ((LAYLI, "value+minimax:6"), (rulesets.lookup(NARROW), "minimax:4")):
        config = config_of(
            TASKS["anything"], ruleset, LearningBudget(limit_of_steps(3000), (1.0,)), 1, tmp_path
        )
        assert config.expert.spec == spec


@pytest.mark.slow
def test_all_turns_that_distillation_plays_are_steps(tmp_path, monkeypatch):
    labelled = []

    def counted(*args, **options):
        labelled.append(label_positions(*args, **options))
        return labelled[-1]

    monkeypatch.setattr(distillation, "label_positions", counted)
    entry = read_entry(ROOT / "training" / "benchmark" / "ppo_distilled.py")
    budget = LearningBudget(limit_of_steps(3000), (1.0,))
    (point,) = entry.learn(TASKS["anything"], LAYLI, budget, 1, tmp_path)
    assert isinstance(point.player, Path)
    played = read_identity(point.player).environment_steps
    assert len(labelled[0]) > 0.4 * 3000  # games under way are played to their end
    assert labelled[0].turns > 1.1 * len(labelled[0])  # boards held out for evaluation are played, too
    assert played > 0
    assert point.steps == labelled[0].turns + played
    assert point.steps <= 3000


def test_the_last_generation_that_there_was_time_for_is_kept(tmp_path, monkeypatch):
    entry = read_entry(ROOT / "training" / "benchmark" / "value_loop.py")
    monkeypatch.setattr(sys.modules[entry.learn.__module__], "MOST_GAMES", 2)

    class Short(LearningBudget):
        asked = 0

        def allows(self, steps):
            self.asked += 1
            return self.asked == 1  # stops before the third generation

    budget = Short(limit_of_minutes(1), (1.0,))
    (point,) = entry.learn(TASKS["anything"], LAYLI, budget, 1, tmp_path)
    monkeypatch.setattr(Short, "asked", 1)
    (first,) = entry.learn(TASKS["anything"], LAYLI, Short(limit_of_minutes(1), (1.0,)), 1, tmp_path)
    assert point.steps > first.steps


def test_the_entry_of_the_documentation_runs(tmp_path):
    (block,) = re.findall(
        r"^```python\n(.*?)^```",
        (ROOT / "docs" / "guides" / "benchmark.md").read_text(encoding="utf-8"),
        re.S | re.M,
    )
    (tmp_path / "hill.py").write_text(block, encoding="utf-8")
    _, broken, results, wanted = run(
        [read_entry(tmp_path / "hill.py")], tmp_path, limits=[limit_of_steps(5000)]
    )
    assert broken == 0
    assert [row.steps for row in results.rows(wanted.runs[0].key)] == [1920, 2880, 4800]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["td", "ppo_mirror", "maskable_ppo", "descent", "gumbel_alphazero"])
def test_an_entry_that_stores_its_state_resumes(name, tmp_path):
    entry = read_entry(ROOT / "training" / "benchmark" / f"{name}.py")
    steps = STEPS_OF.get(name, STEPS)
    limit, points, task = BudgetLimit("steps", steps), measuring_points(3), TASKS["afterstates"]
    budget = LearningBudget(limit, points)
    learner: Any = entry.learn(task, LAYLI, budget, 1, tmp_path)
    first = next(learner)
    budget.note_measured(first.steps)
    second = next(learner)  # so the first point is stored
    learner.close()
    if name == "ppo_mirror":  # it stores each checkpoint it yields
        first = second
    again = LearningBudget(limit, points, {first.steps: 5.0})
    following = next(entry.learn(task, LAYLI, again, 1, tmp_path))
    assert again.resumed_steps == first.steps
    assert again.seconds >= 5
    assert first.steps < following.steps <= steps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "steps"), [("ppo_pool", 1500), ("expert_iteration", 600), ("alphazero", 250)]
)
def test_a_learner_learns_the_same_however_often_it_is_measured(name, steps, tmp_path):
    entry = read_entry(ROOT / "training" / "benchmark" / f"{name}.py")
    learned, times = [], []
    for count in (1, 4):
        limit, points = limit_of_steps(steps), measuring_points(count)
        budget, found, player = LearningBudget(limit, points), [], None
        for point in entry.learn(TASKS[entry.tasks[-1]], LAYLI, budget, 1, tmp_path / str(count)):
            found.append(point.steps)
            budget.note_measured(point.steps)
            player = agents.make(str(point.player), LAYLI)
        assert isinstance(player, CheckpointAgent)
        learned.append(player.network.state_dict())
        times.append(found)
    (once,), often = times
    assert len(often) >= 3
    assert once == often[-1]
    assert all(torch.equal(value, learned[1][key]) for key, value in learned[0].items())
    if name == "ppo_pool":  # a checkpoint joins after each 10 % of the budget
        pools = [
            json.loads((tmp_path / str(count) / "run" / "pool.json").read_text(encoding="utf-8"))
            for count in (1, 4)
        ]
        assert pools[0]["snapshots"]
        assert [list(pool["snapshots"]) for pool in pools] == 2 * [list(pools[0]["snapshots"])]


def test_a_run_that_a_signal_ended_resumes_from_what_was_measured(tmp_path, monkeypatch):
    entry = read_entry(ROOT / "training" / "benchmark" / "ppo_mirror.py")
    limit, points, task = BudgetLimit("steps", 4000), measuring_points(3), TASKS["afterstates"]
    budget = LearningBudget(limit, points)
    learner: Any = entry.learn(task, LAYLI, budget, 1, tmp_path)
    first = next(learner)
    budget.note_measured(first.steps)

    def signalled(steps):
        if steps > first.steps:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    monkeypatch.setattr(budget, "is_due", signalled)
    with pytest.raises(KeyboardInterrupt):
        next(learner)
    assert read_identity(tmp_path / "run" / "final.zip").environment_steps > first.steps
    again = LearningBudget(limit, points, {first.steps: 5.0})
    following = next(entry.learn(task, LAYLI, again, 1, tmp_path))
    assert again.resumed_steps == first.steps
    assert first.steps < following.steps <= 4000


@pytest.mark.slow
@pytest.mark.parametrize("task", ["afterstates", "anything"])
def test_prepare_runs_whatever_the_entries_compile(task, tmp_path, monkeypatch):
    ran = []
    for owner, name in ((MinimaxAgent, "_search_all"), (SnapshotPool, "add")):
        whole = getattr(owner, name)

        def noted(*words, whole=whole, name=name, **options):
            ran.append(name)
            return whole(*words, **options)

        monkeypatch.setattr(owner, name, noted)
    prepare(TASKS[task], LAYLI)
    assert set(ran) >= ({"add"} if task == "afterstates" else {"add", "_search_all"})


def test_td_that_continues_learns_what_it_would_have_learned(tmp_path):
    _, module = td()
    whole, half = module.Learner(LAYLI, 3), module.Learner(LAYLI, 3)
    for learner in (whole, half):
        learner.learn(500)
    half.store(tmp_path / "learner.npz", 500)
    other = module.Learner(LAYLI, 4)
    assert other.restore(tmp_path / "learner.npz") == 500
    assert whole.learn(500) == other.learn(500)
    assert (whole.weights == other.weights).all()
    assert whole.weights[:, 0].any()


def test_td_plays_from_the_observation_by_the_values_that_its_kernel_has():
    """The kernel reads games and the player reads observations; their values must be equal."""
    _, module = td()
    learner = module.Learner(LAYLI, 5)
    learner.learn(20_000)
    tuples, starts, half = module.tuples_of(LAYLI.num_holes)
    rules, scratch = encode(LAYLI), np.zeros((2, len(tuples)), np.int64)
    games = Batch(LAYLI, 60, seed=1, opening_turns=12).games
    chosen = learner.agent().act(games)
    for b in range(len(games)):
        values = {}
        position = Position.from_games(LAYLI, games, b)
        for action in position.legal_actions:
            after = Position.from_games(LAYLI, games, b)
            after.play(action)
            game = cast(Any, load).py_func(after.games, 0)
            looked_up = (learner.weights, tuples, starts, half)
            values[action] = module.value_of(rules, game, position.player, *looked_up, *scratch)
        assert values[int(chosen[b])] == pytest.approx(max(values.values()), abs=1e-3)


def test_td_learns_within_a_second():
    """Training reduces the regret far below greedy's 5.8 seeds per move. It starts from zero weights."""
    _, module = td()
    learner = module.Learner(LAYLI, 1)
    before = measure_regret(learner.agent(), LAYLI).overall.mean_regret
    for _ in range(20):
        learner.learn(5000)
    after = measure_regret(learner.agent(), LAYLI).overall.mean_regret
    assert after < 3 < before


@pytest.mark.parametrize("name", ["leyla", "gabata_five_holes", "layli_goobalay_long"])
def test_td_plays_every_kind_of_game(name, tmp_path):
    entry, _ = td()
    budget = LearningBudget(limit_of_steps(2000), (1.0,))
    ruleset = rulesets.lookup(name)
    *_, last = entry.learn(TASKS["afterstates"], ruleset, budget, 1, tmp_path)
    assert isinstance(last.player, Agent)
    assert play_matches(last.player, "random", ruleset, games=20, seed=1).win_rate > 0.5


@pytest.mark.slow
def test_ppo_ends_by_core_minutes_and_not_by_the_time_of_day(tmp_path):
    entry = read_entry(ROOT / "training" / "benchmark" / "ppo_mirror.py")
    entry.prepare(TASKS["board"], LAYLI)  # compiles, which no budget counts
    budget = LearningBudget(limit_of_minutes(0.05), (1.0,))
    points = list(entry.learn(TASKS["board"], LAYLI, budget, 1, tmp_path))
    # It ends when another update would exceed the budget.
    assert 1.5 <= budget.seconds < 9
    assert isinstance(points[-1], Point)


OPTIONS = ("--seeds", "1", "--games", "2", "--points", "2", "--json", "--anchors", "random", "--lines")


_SAYS_WHAT_IT_LACKS = (
    "try:\n    import no_such_package\nexcept ImportError as error:\n"
    "    raise ImportError('lacking needs it: pip install no_such_package') from error\n"
)


@pytest.mark.parametrize(
    ("imports", "left_out"),
    [
        (_SAYS_WHAT_IT_LACKS, "lacking needs it: pip install no_such_package"),
        (
            "import no_such_package.inside\n",
            r".*lacking\.py needs no_such_package: pip install no_such_package$",
        ),
    ],
)
def test_an_entry_that_lacks_its_package_says_in_one_line_what_to_install(
    imports, left_out, tmp_path, capsys
):
    entry_of(tmp_path, HONEST, "whole")
    (tmp_path / "lacking.py").write_text(
        f'"""Needs a package that is missing."""\n{imports}', encoding="utf-8"
    )
    words = [str(tmp_path / "lacking.py"), str(tmp_path / "whole.py"), "--steps", "100"]
    assert cli.main(["benchmark", *words, "--folder", str(tmp_path / "out"), *OPTIONS]) == 1
    said = capsys.readouterr()
    assert re.fullmatch(f"excluded: {left_out}", said.err.splitlines()[0])
    (contest,) = json.loads(said.out)["contests"]
    assert [each["entry"] for each in contest["entries"]] == ["whole"]
    # Without entries, the command shows the results so far.
    assert (
        cli.main(["benchmark", "--folder", str(tmp_path / "out"), "--report", str(tmp_path / "a.html")]) == 0
    )
    shown = capsys.readouterr().out
    assert "layli_goobalay, afterstates, 100 steps" in shown
    assert (tmp_path / "a.html").is_file()
    # While another process measures too, its incomplete last line is kept.
    file = tmp_path / "out" / RESULTS
    with Results(file), file.open("ab") as writing:
        writing.write(b'{"format":1,"wha')
        writing.flush()
        assert cli.main(["benchmark", "--folder", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == shown.replace(f"report: {tmp_path / 'a.html'}\n", "")
    assert file.read_bytes().endswith(b'{"format":1,"wha')
    file.write_bytes(b"something else\n")
    assert cli.main(["benchmark", "--folder", str(tmp_path / "out")]) == 2
    assert names(capsys.readouterr().err, "line 1")


def test_where_every_run_is_refused_the_status_says_so(tmp_path, capsys):
    cheat = str(entry_of(tmp_path, "    yield Point('random', 101)", "cheat").path)
    words = ["benchmark", cheat, "--steps", "100", "--folder", str(tmp_path / "out"), *OPTIONS]
    for _ in range(2):  # a rejected run is not tried again
        assert cli.main(words) == 1
        said = capsys.readouterr()
        assert said.err.splitlines()[-1].startswith("mancala: every run was refused")
        assert "seed 1, was refused: " in json.loads(said.out)["notes"][-1]
    honest = str(entry_of(tmp_path, HONEST, "honest").path)
    assert cli.main([*words[:2], honest, *words[2:]]) == 0


TD = str(ROOT / "training" / "benchmark" / "td.py")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["no.md", "--steps", "10"], "an entry is a Python file, such as training/benchmark/td.py"),
        (["no.py", "--steps", "10"], "no file 'no.py'"),
        ([], "contains no results; name entries"),
        ([TD], "name a budget"),
        ([TD, "--core_minutes", "0"], "core_minutes must be above 0"),
        (
            [TD, "--steps", "10", "--tasks", "board"],
            "td takes part in afterstates and anything, not in board",
        ),
        ([TD, "--steps", "10", "--report", "a.pdf"], "a.pdf"),
    ],
)
def test_a_mistake_is_one_line(words, why, tmp_path, capsys):
    assert cli.main(["benchmark", *words, "--folder", str(tmp_path / "out")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert why in said


@pytest.mark.slow
def test_rllibs_entry_beside_another(tmp_path, capsys):
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed here")
    entry_of(tmp_path, HONEST, "whole")
    words = [str(ROOT / "training/benchmark/rllib_ppo.py"), str(tmp_path / "whole.py"), "--steps", "1000"]
    words += ["--folder", "out"]
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    done = subprocess.run(
        [sys.executable, "-m", "mancala_env", "benchmark", *words, *OPTIONS],
        env=os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "XDG_CACHE_HOME": cache},
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    # Ray may print to the same stream, so the results are those of a second command.
    assert cli.main(["benchmark", "--folder", str(tmp_path / "out"), "--json"]) == 0
    (contest,) = json.loads(capsys.readouterr().out)["contests"]
    assert {entry["entry"] for entry in contest["entries"]} == {"rllib_ppo", "whole"}
    assert all(entry["steps"] <= 1000 for entry in contest["entries"])
    lines = (tmp_path / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["what"] for line in lines].count("measured") == 4
