"""The budget of a learner: limits and measurement."""

import subprocess
import sys
import time

import pytest
from error_checks import raises
from hypothesis import given
from hypothesis import strategies as st

from mancala_env.benchmark import budget as budget_module
from mancala_env.benchmark.budget import (
    BudgetLimit,
    LearningBudget,
    core_seconds,
    limit_of_minutes,
    limit_of_steps,
    measuring_points,
)
from mancala_env.benchmark.tasks import Refused
from mancala_env.errors import InvalidArgument

BUSY = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n{}"


def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.parametrize(
    ("limit", "words"),
    [(limit_of_steps(1_000_000), "1 M steps"), (limit_of_steps(1_500_000), "1.5 M steps"),
     (limit_of_steps(20_000), "20 k steps"), (limit_of_steps(1), "1 step"),
     (limit_of_steps(1_234_567), "1,234,567 steps"), (limit_of_minutes(1), "1 core minute"),
     (limit_of_minutes(0.5), "0.5 core minutes")],
)  # fmt: skip
def test_a_limit_in_words(limit, words):
    assert str(limit) == words


def test_no_two_limits_share_a_folder():
    assert limit_of_minutes(3).slug == "3-core-minutes"
    assert limit_of_minutes(0.5).slug == "0.5-core-minutes"
    for pair in ((3, 3.0000001), (1_234_567, 1_234_568)):
        first, second = map(limit_of_minutes, pair)
        assert first.slug != second.slug


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, 10**13, "1", None])
def test_steps_that_are_none_are_refused(wrong):
    with raises(InvalidArgument, 1):
        limit_of_steps(wrong)


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), True, "3", None])
def test_minutes_that_are_none_are_refused(wrong):
    with raises(InvalidArgument, "core_minutes", 0):
        limit_of_minutes(wrong)


@pytest.mark.parametrize("wrong", [0, 21, 2.5, True])
def test_measuring_points_that_are_none_are_refused(wrong):
    with raises(InvalidArgument, "points"):
        measuring_points(wrong)


def test_a_learner_is_due_once_at_each_point_and_may_spend_all_and_no_more():
    budget = LearningBudget(BudgetLimit("steps", 100), measuring_points(3))
    due = []
    for steps in range(1, 101):
        assert budget.allows(steps)
        if budget.is_due(steps):
            due.append(steps)
            budget.note_measured(steps)
    assert due == [25, 50, 100]
    assert not budget.allows(101)
    budget.check(100)
    with raises(Refused, 101, 100):
        budget.check(101)


@given(st.integers(1, 20), st.integers(1, 400), st.integers(1, 70))
def test_however_long_its_updates_a_learner_is_measured_at_most_once_a_point(points, most, update):
    budget = LearningBudget(BudgetLimit("steps", most), measuring_points(points))
    steps = measured = 0
    while budget.allows(steps + update):
        steps += update
        if budget.is_due(steps):
            budget.note_measured(steps)
            measured += 1
            assert not budget.is_due(steps)
    assert steps <= most < steps + update
    assert measured <= points


@pytest.mark.slow
def test_core_minutes_are_what_this_process_computes_and_its_children_do():
    alone, before = time.process_time(), core_seconds(at_most_old=0.0)
    time.sleep(0.3)
    idle = core_seconds(at_most_old=0.0) - before
    assert idle <= time.process_time() - alone + 0.1  # threads of other tests may compute meanwhile
    before = core_seconds(at_most_old=0.0)
    busy(0.2)
    assert core_seconds() - before >= 0.2
    with subprocess.Popen(
        [sys.executable, "-c", BUSY.format(0.5, "print('done', flush=True); input()")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        time.sleep(1.1)  # child processes are listed once a second
        running = core_seconds() - before
        # The system counts user and system time of a running process in hundredths of a second.
        assert running >= 0.7 - 0.02
        child.communicate(b"\n")
    assert core_seconds(at_most_old=0.0) - before >= running  # it has ended and still counts


def test_a_process_that_nobody_waited_for_is_charged_and_hides_no_later_one(monkeypatch):
    seen = iter([1.0, 4.0, 1.5, 1.5, 3.5, 3.0, 3.5])  # the last fall is of one that ended as we looked
    monkeypatch.setattr(budget_module, "_read_seconds", lambda: next(seen))
    children = budget_module._Children()
    assert [children.seconds(0.0) for _ in range(5)] == [1.0, 4.0, 4.0, 6.0, 6.0]


def test_the_clock_stands_still_while_a_learner_is_measured():
    budget = LearningBudget(BudgetLimit("core_minutes", 1), (1.0,))
    with budget.paused():
        before = budget.seconds
        busy(0.3)
        assert budget.seconds == before
    assert budget.seconds < before + 0.2


def test_a_learner_that_continues_has_spent_what_it_had_spent():
    budget = LearningBudget(
        BudgetLimit("core_minutes", 1), measuring_points(2), {10: 31.0, 20: 50.0}, {30: 55.0}
    )
    assert not budget.resume(0)
    assert not budget.resume(11)
    assert budget.resumed_steps == 0
    assert budget.resume(10)
    assert budget.resumed_steps == 10
    assert 31 <= budget.seconds < 36
    assert not budget.is_due(10)  # it was measured after the half
    assert budget.resume(30)
    assert 55 <= budget.seconds < 60


def test_what_was_about_to_be_measured_is_due():
    budget = LearningBudget(BudgetLimit("steps", 100), measuring_points(2), {10: 1.0}, {60: 5.0})
    assert budget.resume(60)
    assert budget.is_due(60)


@pytest.mark.slow
def test_an_update_is_begun_only_where_there_is_time_for_one_as_long_as_the_longest():
    budget = LearningBudget(BudgetLimit("core_minutes", 0.5), (1.0,), {1: 28.5})
    assert budget.resume(1)
    assert budget.allows(2)
    busy(0.6)
    assert budget.allows(3)
    busy(0.6)
    assert budget.seconds < 30
    assert not budget.allows(4)


def test_core_minutes_beyond_the_budget_are_refused_but_for_the_last_step():
    spent = {1: 61.0, 2: 69.0}
    budget = LearningBudget(BudgetLimit("core_minutes", 1), (1.0,), spent)
    budget.resume(1)
    assert not budget.allows(1)
    budget.check(1)
    budget.resume(2)
    with raises(Refused, "1 core minute"):
        budget.check(2)
