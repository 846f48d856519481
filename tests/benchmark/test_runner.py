"""The benchmark runner: measurements, rejected learners, and resuming after a kill."""

import json
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas
import pytest
from benchmark_learners import HEAD, HONEST, STORING, entry_of, plan_of, run
from boards import NARROW
from error_checks import names, raises

from mancala_env import agents, rulesets
from mancala_env.agents.network import CheckpointAgent
from mancala_env.benchmark import (
    InvalidEntry,
    Refused,
    budget,
    limit_of_minutes,
    limit_of_steps,
    plan,
    read_entry,
    run_plan,
    runner,
)
from mancala_env.benchmark.results import RESULTS, RULESETS, Results
from mancala_env.benchmark.runner import Baseline, BenchmarkPlan
from mancala_env.benchmark.scoring import regret_of_random, scoring_of
from mancala_env.benchmark.summary import BenchmarkSummary
from mancala_env.benchmark.tasks import TASKS
from mancala_env.errors import InvalidArgument, MancalaError
from mancala_env.evaluation.results_file import InvalidResults
from mancala_env.solver import positions

LAYLI, LEYLA = rulesets.lookup("layli_goobalay"), rulesets.lookup("leyla")


def steps_of(results, wanted):
    return [[row.steps for row in results.rows(each.key)] for each in wanted.runs]


def test_every_entry_task_and_seed_is_measured_at_its_points(tmp_path):
    entries = [entry_of(tmp_path, HONEST, "one"), entry_of(tmp_path, HONEST, "two")]
    said, broken, results, wanted = run(entries, tmp_path, seeds=2, tasks=["board", "anything"])
    assert len(wanted.runs) == 8
    assert steps_of(results, wanted) == [[300, 500, 1000]] * 8
    assert broken == 0
    assert len(said) == 24
    rows = results.all_rows()
    assert {row.point for row in rows} == {0, 1, 2}
    assert all(0 < row.core_minutes < 1 and row.score.games == 2 for row in rows)
    assert rows[0].made.keys() == {"commit", "machine", "time"}
    # Playing the first legal action is deterministic, so all scores are equal.
    assert len({row.score for row in rows}) == 1
    before = (tmp_path / RESULTS).read_bytes()
    said, _, _, _ = run(entries, tmp_path, seeds=2, tasks=["board", "anything"])
    assert said == ["8 of 8 runs are already done"]
    assert (tmp_path / RESULTS).read_bytes() == before


def test_every_measurement_of_a_run_has_a_number_and_its_share_of_the_budget(tmp_path):
    # Two measurements before the end of the budget: both reached the point at half.
    body = "    for steps in (300, 500, 990):\n        yield Point(player(ruleset), steps)"
    _, _, results, wanted = run([entry_of(tmp_path, body)], tmp_path, tasks=["board"])
    assert [row.point for row in results.rows(wanted.runs[0].key)] == [0, 1, 1]
    lines = [json.loads(line) for line in (tmp_path / RESULTS).read_text().splitlines()]
    measured = [line for line in lines if line["what"] == "measured"]
    assert [line["measurement"] for line in measured] == [0, 1, 2]
    assert [line["budget_share"] for line in measured] == [0.3, 0.5, 0.99]
    frame = results.to_frame()
    assert list(frame["measurement"]) == [0, 1, 2]
    assert list(frame["budget_share"]) == [0.3, 0.5, 0.99]
    assert frame["is_ended"].all()
    for line in measured:  # as version 0.1 wrote it
        del line["measurement"], line["budget_share"]
    old = tmp_path / "old.jsonl"
    old.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    pandas.testing.assert_frame_equal(Results.read(old).to_frame(), frame)


def test_observation_kinds_are_entrants_of_one_contest(tmp_path):
    body = "    yield Point(player(ruleset, task.observation), 900)"
    tasks = ["anything@board", "anything@afterstates", "anything@board"]
    entry = entry_of(tmp_path, body, "one")
    _, broken, results, wanted = run([entry], tmp_path, tasks=tasks, seeds=2)
    assert broken == 0
    assert [each.name for each in wanted.runs] == ["one@board", "one@afterstates"] * 2
    assert len({each.folder for each in wanted.runs}) == 4
    outcome = BenchmarkSummary(results)
    (contest,) = outcome.contests()
    standings = outcome.standings(contest)
    assert {(one.entry, one.seeds) for one in standings} == {("one@board", 2), ("one@afterstates", 2)}
    assert standings[0].better is not None
    run([entry], tmp_path, tasks=["anything"])  # the task's own observation is another entrant
    (tmp_path / "other").mkdir()
    stubborn = entry_of(tmp_path, "    yield Point(player(ruleset), 900)", "stubborn")
    said, _, _, wanted = run([stubborn], tmp_path / "other", tasks=["anything@afterstates"])
    assert names(said[-1], ["refused", "'board'", "afterstates"])


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("board@afterstates", ["'board'", "'afterstates'"]),
        ("anything@pixels", ["'pixels'", "afterstates"]),
        ("anything@values", ["narrow"]),
        ("everything@board", ["'everything'", "'anything'"]),
    ],
)
def test_an_observation_that_a_task_or_a_ruleset_lacks_is_refused(task, said, tmp_path):
    entry = entry_of(tmp_path, HONEST)
    rulesets = [NARROW] if "values" in task else ["layli_goobalay"]
    with raises(MancalaError, *said):
        plan_of([entry], tmp_path, tasks=[task], rulesets=rulesets)


def test_more_seeds_are_added_to_what_is_there_and_a_changed_file_is_another_entry(tmp_path):
    run([entry_of(tmp_path, HONEST)], tmp_path)
    said, _, results, _ = run([entry_of(tmp_path, HONEST)], tmp_path, seeds=2)
    assert said[0] == "1 of 2 runs are already done"
    assert len(results.all_rows()) == 6
    said, _, results, _ = run([entry_of(tmp_path, HONEST + "    # edited\n")], tmp_path, seeds=2)
    assert len(results.all_rows()) == 12


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("    yield Point('random', 1001)", "took 1,001 environment steps; its budget is 1 k steps"),
        ("    for n in (10, 9):\n        yield Point(player(ruleset), n)", "never decreases, not 9 after 10"),
        ("    yield Point('random', 0)", "a budget of 1 k steps is too small"),
        ("    yield Point('random', -1)", "whole number of at least 1 that never decreases, not -1"),
        ("    yield Point('random', 1.5)", "not 1.5"),
        ("    yield 'random'", "must yield Point(player, steps), not 'random'"),
        ("    return\n    yield", "it yielded nothing to measure"),
        ("    return [Point('random', 1)]", "must be a generator that yields Points"),
        ("    yield Point('gready', 1)", "'gready'"),
        ("    yield Point(agents.make('random', 'leyla'), 1)", "random plays leyla, not layli_goobalay"),
        (
            "    yield Point('minimax:2', 1)",
            "unknown observation; the task 'board' allows board",
        ),
        ("    yield Point(player(ruleset, 'afterstates'), 1)", "uses the observation 'afterstates'"),
    ],
)
def test_what_breaks_the_terms_is_refused(body, why, tmp_path):
    said, broken, results, wanted = run([entry_of(tmp_path, body)], tmp_path, tasks=["board"])
    assert why in said[-1]
    assert "refused" in said[-1]
    assert why in (results.end(wanted.runs[0].key) or "")
    assert results.all_rows() == []
    assert broken == 0
    assert run([entry_of(tmp_path, body)], tmp_path, tasks=["board"])[0] == ["1 of 1 runs are already done"]


def test_core_minutes_beyond_the_budget_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "_OVER_SECONDS", 0.1)
    body = "    import time\n    end = time.process_time() + 0.5\n    while time.process_time() < end: pass\n"
    options = {"limits": [limit_of_minutes(0.001)]}
    said, *_ = run([entry_of(tmp_path, f"{body}    yield Point('random', 1)")], tmp_path, **options)
    assert "its budget is 0.001 core minutes" in said[-1]


def test_a_learner_may_be_shown_less_than_its_task_allows():
    TASKS["afterstates"].check(agents.from_function(lambda *_: 0, LAYLI, observation="board"))
    TASKS["anything"].check(agents.make("minimax:2", LAYLI))
    with raises(Refused, "replies"):
        TASKS["afterstates"].check(agents.from_function(lambda *_: 0, LAYLI, observation="replies"))


def test_a_checkpoint_plays_by_what_its_network_is_shown_and_a_search_by_all(tmp_path):
    from checkpoints import identity_of, write_checkpoint

    path = write_checkpoint(tmp_path / "agent.zip", identity_of(kind="board"))
    agent = agents.make(str(path), LAYLI)
    assert isinstance(agent, CheckpointAgent)
    TASKS["board"].check(agent)
    TASKS["board"].check(agents.make(f"sample:{path}", LAYLI))
    with pytest.raises(Refused):
        TASKS["board"].check(agents.make(f"policy+mcts:5:{path}", LAYLI))


def test_a_learner_that_fails_is_tried_again_and_others_continue(tmp_path, capsys):
    broken = entry_of(tmp_path, "    yield Point('random', 1)\n    raise RuntimeError('no more')", "broken")
    other = entry_of(tmp_path, HONEST, "other")
    said, count, results, wanted = run([broken, other], tmp_path, tasks=["anything"])
    assert count == 1
    assert said[1] == "broken, anything, layli_goobalay, 1 k steps, seed 1: failed: no more"
    assert "RuntimeError: no more" in capsys.readouterr().err
    assert steps_of(results, wanted) == [[1], [300, 500, 1000]]
    said, count, results, wanted = run([broken, other], tmp_path, tasks=["anything"])
    assert count == 1
    assert steps_of(results, wanted) == [[1], [300, 500, 1000]]  # the first measurement counts once


def test_a_learner_that_ends_its_program_fails_and_others_continue(tmp_path):
    quitting = entry_of(tmp_path, "    yield Point('random', 1)\n    raise SystemExit(3)", "quitting")
    said, count, results, wanted = run(
        [quitting, entry_of(tmp_path, HONEST, "other")], tmp_path, tasks=["anything"]
    )
    assert count == 1
    assert said[1] == "quitting, anything, layli_goobalay, 1 k steps, seed 1: failed: it called sys.exit(3)"
    assert steps_of(results, wanted) == [[1], [300, 500, 1000]]


def run_and_be_killed(folder, body):
    """Run a learner in a fork, which saves the imports of a new process, until it kills itself."""
    child = get_context("fork").Process(target=run_in_five_points, args=(folder, body))
    child.start()
    child.join(300)
    assert child.exitcode == -9


def run_in_five_points(folder, body):
    return run([entry_of(folder, body)], folder, tasks=["board"], points=5)


# Points at 62.5, 125, 250, 500 and 1,000 of 1,000 steps: measured after 100, 200, 300, 500 and 1,000.
@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [300, 900])
def test_a_kill_loses_what_was_learned_since_the_last_measurement_and_no_more(killed_at, tmp_path):
    body = f"    KILLED_AT = {killed_at}" + STORING
    run_and_be_killed(tmp_path, body)
    before = (tmp_path / RESULTS).read_text(encoding="utf-8").splitlines()
    _, _, results, wanted = run_in_five_points(tmp_path, body)
    assert steps_of(results, wanted) == [[100, 200, 300, 500, 1000]]
    lines = (tmp_path / RESULTS).read_text(encoding="utf-8").splitlines()
    assert lines[: len(before)] == before
    assert [json.loads(line)["what"] for line in lines] == ["measured"] * 5 + ["end"]
    log = (wanted.runs[0].folder / "log").read_text(encoding="utf-8").split()[1::2]
    assert log == ["0", str(max([0, *(steps for steps in (100, 200, 300, 500) if steps < killed_at)]))]
    spent = [row.core_seconds for row in results.rows(wanted.runs[0].key)]
    assert spent == sorted(spent)


@pytest.mark.slow
def test_a_learner_that_stores_nothing_starts_over_and_its_old_measurements_do_not_count(tmp_path):
    kill = "        if steps == 400 and not (folder / 'killed').exists():\n"
    kill += "            (folder / 'killed').touch(), os.kill(os.getpid(), signal.SIGKILL)\n"
    body = HONEST.replace("        if budget", kill + "        if budget")
    run_and_be_killed(tmp_path, body)
    _, _, results, wanted = run_in_five_points(tmp_path, body)
    assert steps_of(results, wanted) == [[100, 200, 300, 500, 1000]]
    kinds = [
        json.loads(line)["what"] for line in (tmp_path / RESULTS).read_text(encoding="utf-8").splitlines()
    ]
    assert kinds == ["measured"] * 3 + ["void"] + ["measured"] * 5 + ["end"]


def test_what_was_scored_otherwise_is_learned_again_with_all_its_points(tmp_path):
    body, store = STORING.replace("KILLED_AT", "-1"), "file.write_text(json.dumps(steps))"
    body = body.replace("            yield", f"            {store}\n            yield")
    entry = entry_of(tmp_path, body)
    for anchor in ("random", "greedy"):
        wanted = plan([entry], tmp_path, limits=[limit_of_steps(1000)], seeds=1, points=3, games=2,
                      anchors=[anchor], lines=())  # fmt: skip
        run_plan(wanted, lambda _: None)
        with Results(tmp_path / RESULTS) as results:
            assert steps_of(results, wanted) == [[300, 500, 1000]]


def test_a_learner_that_is_due_where_it_has_just_been_measured_continues(tmp_path):
    # A learner that needs a set-up after each measurement may pass a point before it learns.
    body = """
    import time
    steps = 0
    while budget.allows(steps):
        if not budget.is_due(steps):
            steps += 1
        yield Point(player(ruleset), steps)
        end = time.process_time() + 0.05
        while time.process_time() < end: pass
    (folder / "steps").write_text(str(steps))
"""
    entry = entry_of(tmp_path, body)
    _, _, _, wanted = run([entry], tmp_path, tasks=["board"], limits=[limit_of_minutes(0.01)], points=5)
    assert int((wanted.runs[0].folder / "steps").read_text(encoding="utf-8")) > 3


def test_half_a_line_at_the_end_is_cut_off_and_measured_again(tmp_path):
    entry = entry_of(tmp_path, STORING.replace("KILLED_AT", "-1"))
    _, _, results, wanted = run([entry], tmp_path)
    file = tmp_path / RESULTS
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    _, _, again, _ = run([entry], tmp_path)
    assert steps_of(again, wanted) == steps_of(results, wanted)


@pytest.mark.parametrize(
    "line",
    [
        b'{"format":2}\n', b'{"format":1,"what":"else"}\n', b"[]\n", b"1\n", b"no\n", b'{"format":1}\n',
        b'{"format":1,"what":"measured","budget":{"kind":"steps"},"scoring":{}}\n', b"\xff\n",
        b"[" * 100_000 + b"\n",
    ],
    ids=lambda line: line[:30],
)  # fmt: skip
def test_a_file_that_holds_no_results_is_refused(line, tmp_path):
    (tmp_path / RESULTS).write_bytes(line)
    with raises(InvalidResults, "line 1"), Results(tmp_path / RESULTS):
        pass


def test_every_field_of_a_line_is_checked(tmp_path):
    run([entry_of(tmp_path, HONEST)], tmp_path, points=1)
    file = tmp_path / RESULTS
    fields = json.loads(file.read_text(encoding="utf-8").splitlines()[0])
    for name in fields:
        for wrong in (None, {}, "\x1b[2J", -1, float("nan")):
            if fields[name] == wrong or (name in ("elo",) and wrong == -1):
                continue
            if isinstance(fields[name], float) and wrong == -1:
                continue
            file.write_text(json.dumps(fields | {name: wrong}) + "\n", encoding="utf-8")
            with raises(InvalidResults, "line 1"), Results(file):
                pass


def test_two_processes_do_not_write_one_file(tmp_path):
    with Results(tmp_path / RESULTS), raises(InvalidResults, "process"):
        run([entry_of(tmp_path, HONEST)], tmp_path)


def test_those_who_do_not_learn_are_measured_once_and_anchors_keep_their_rating(tmp_path):
    said, _, results, wanted = run([], tmp_path, limits=[], lines=["greedy", "minimax:1"])
    assert len(said) == 2
    greedy, other = (results.rows(line.key)[0] for line in wanted.baselines)
    assert greedy.score.games == 0  # as stored
    assert other.score.games == 2
    assert run([], tmp_path, limits=[], lines=["greedy", "minimax:1"])[0] == []


def test_the_lines_that_are_drawn_by_default_can_play_the_ruleset(tmp_path, monkeypatch):
    known = scoring_of(LEYLA)
    monkeypatch.setattr(runner, "scoring_of", lambda *_: known)  # a ladder of NARROW takes long to play
    lines = {
        name: [line.spec for line in plan([], tmp_path, rulesets=[name], limits=[]).baselines]
        for name in ("layli_goobalay", NARROW)
    }
    assert lines["layli_goobalay"] == [*lines[NARROW], "value+minimax:4"]
    with raises(MancalaError, "narrow"):
        plan([], tmp_path, rulesets=[NARROW], limits=[], lines=["value+minimax:4"])


def test_a_partial_copy_of_a_file_that_is_joined_ends_no_run_early(tmp_path):
    entry = entry_of(tmp_path, HONEST)
    _, _, results, wanted = run([entry], tmp_path)
    file, key = tmp_path / RESULTS, wanted.runs[0].key
    first = file.read_text(encoding="utf-8").splitlines(keepends=True)[0]
    file.write_text(file.read_text(encoding="utf-8") + first, encoding="utf-8")
    with Results(file) as joined:
        assert joined.rows(key) == results.rows(key)
        assert [each.steps for each in BenchmarkSummary(joined).rows] == sorted(
            each.steps for each in results.rows(key)
        )


def test_a_run_that_another_file_has_restarted_does_not_undo_its_end(tmp_path):
    entry = entry_of(tmp_path, HONEST)
    _, _, results, wanted = run([entry], tmp_path)
    file, key = tmp_path / RESULTS, wanted.runs[0].key
    whole = file.read_text(encoding="utf-8")
    other = Results(tmp_path / "other.jsonl")
    with other:
        other.measured(results.rows(key)[0])
        other.void(key, results.rows(key)[0].steps)
    for joined in (
        (tmp_path / "other.jsonl").read_text(encoding="utf-8") + whole,
        whole + (tmp_path / "other.jsonl").read_text(encoding="utf-8"),
    ):
        file.write_text(joined, encoding="utf-8")
        with Results(file) as found:
            assert found.rows(key) == results.rows(key)


@pytest.mark.parametrize("name", ["a\u00a0b", "a" * 201])
def test_a_name_that_no_file_of_results_takes_is_refused(name, tmp_path):
    with raises(InvalidEntry, 200):
        read_entry(tmp_path / f"{name}.py")


def test_the_regret_of_random_play_is_the_mean_over_all_actions():
    shipped = positions(LAYLI)
    draw = agents.make("random", LAYLI, seed=1)
    found = [shipped.regret(draw.act(shipped.games)).mean() for _ in range(60)]
    assert abs(sum(found) / 60 - regret_of_random(LAYLI)) < 0.15


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("TASKS = ('board',)\n", "learn"),
        ("def learn(): ...\n", "TASKS"),
        ("TASKS = ['board']\ndef learn(): ...\n", "TASKS"),
        ("TASKS = ('boards',)\ndef learn(): ...\n", "TASKS"),
        ("TASKS = ()\ndef learn(): ...\n", "TASKS"),
        ("TASKS = (['board'],)\ndef learn(): ...\n", "TASKS"),
        ("\0", "line 1"),
        ("def learn(:\n", "line 1"),
        ("raise SystemExit(3)\n", "sys.exit(3)"),
        ("import mancala_env.nothing\n", ["own.py", "mancala_env.nothing"]),
        ("from mancala_env import nothing\n", ["own.py", "nothing", "mancala_env"]),
    ],
)
def test_a_file_that_is_no_entry_says_why(body, why, tmp_path):
    (tmp_path / "own.py").write_text(body, encoding="utf-8")
    with raises(InvalidEntry, why):
        read_entry(tmp_path / "own.py")


@pytest.mark.parametrize("path", [".", "README.md"])
def test_what_is_no_python_file_is_no_entry(path):
    with raises(InvalidEntry, "Python file"):
        read_entry(path)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"seeds": 0}, "seeds"),
        ({"limits": []}, "budget"),
        ({"points": 0}, "points"),
        ({"tasks": ["boards"]}, "task"),
        ({"tasks": []}, "task"),
        ({"rulesets": ["chess"]}, "chess"),
        ({"lines": ["gready"]}, "gready"),
        ({"rulesets": []}, "ruleset"),
        ({"seeds": 10**6}, [1, 10000]),
        ({"limits": [1000]}, ["limit_of_steps", "limit_of_minutes", 1000]),
        ({"entries": ["td.py"]}, ["read_entry", "td.py"]),
        ({"scoring_seed": None}, "scoring_seed"),
        ({"scoring_seed": -1}, "scoring_seed"),
        *(({name: "leyla"}, [name, "leyla"]) for name in ("rulesets", "tasks", "lines")),
    ],
)
def test_a_plan_that_cannot_be_is_refused_before_anything_runs(options, why, tmp_path):
    with raises(MancalaError, why):
        plan_of(**{"entries": [entry_of(tmp_path, HONEST)], "folder": tmp_path} | options)
    assert not (tmp_path / RESULTS).exists()


def test_entries_and_limits_may_be_any_iterables(tmp_path):
    """A generator made a plan without a run."""
    entries = [entry_of(tmp_path, HONEST, name) for name in ("one", "two")]
    wanted = plan_of(iter(entries), tmp_path, limits=iter([limit_of_minutes(1), limit_of_minutes(2)]))
    assert {(run.entry.name, run.limit.amount) for run in wanted.runs} == {
        (name, minutes) for name in ("one", "two") for minutes in (1, 2)
    }


def test_what_is_named_twice_is_learned_once(tmp_path):
    limit = limit_of_minutes(1)
    twice = {
        "limits": [limit, limit],
        "tasks": ["board"] * 2,
        "rulesets": ["leyla", LEYLA],
        "lines": ["greedy"] * 2,
    }
    wanted = plan_of([entry_of(tmp_path, HONEST)], tmp_path, **twice)
    assert (len(wanted.runs), len(wanted.baselines)) == (1, 1)


def test_an_entry_that_takes_part_in_none_of_the_tasks_is_refused(tmp_path):
    (tmp_path / "own.py").write_text(
        HEAD.replace('("board", "afterstates", "anything")', '("anything",)') + HONEST, encoding="utf-8"
    )
    entry = read_entry(tmp_path / "own.py")
    with raises(Refused, "own", "anything", "board"):
        plan_of([entry], tmp_path, tasks=["board"])
    with raises(InvalidEntry, "own"):
        plan_of([entry, entry], tmp_path)


def test_a_second_process_leaves_the_files_of_rulesets(tmp_path):
    own = Baseline("random", rulesets.Ruleset(name="own"), scoring_of(LAYLI))
    second = BenchmarkPlan(tmp_path, (), (own,))
    with Results(tmp_path / RESULTS), raises(InvalidResults, "another process"):
        run_plan(second)
    assert not (tmp_path / RULESETS).exists()


def test_two_rulesets_of_one_name_are_refused(tmp_path):
    mine = [{"like": "leyla", "name": "mine", "row_width": width} for width in (4, 5)]
    with raises(InvalidArgument, "rulesets", "mine"):
        plan_of([entry_of(tmp_path, HONEST)], tmp_path, rulesets=mine)


def test_a_ruleset_without_a_ladder_or_an_unknown_anchor_is_refused():
    with raises(InvalidArgument, "anchors", "greedy"):
        scoring_of(LEYLA, anchors="greedy")
    with raises(MancalaError, "ladder"):
        scoring_of(replace(LAYLI, name="own"))
    with raises(MancalaError, "anchors", "random", "greedy"):
        scoring_of(LAYLI, anchors=["gready"])
    with pytest.raises(MancalaError):
        scoring_of(LAYLI, games=3)


def test_numbers_of_numpy_are_written_as_numbers(tmp_path):
    counts: dict[str, Any] = {"seeds": np.int64(1), "games": np.int64(2), "scoring_seed": np.int64(3)}
    steps: Any = np.int64(1000)
    entries = [entry_of(tmp_path, HONEST)]
    limits = [limit_of_steps(steps)]
    wanted = plan(entries, tmp_path, limits=limits, points=1, anchors=["random"], lines=(), **counts)
    assert run_plan(wanted, lambda _: None) == 0
    with Results(tmp_path / RESULTS) as results:
        assert steps_of(results, wanted) == [[1000]]
