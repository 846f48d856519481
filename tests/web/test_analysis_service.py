"""The server's shared agents and solvers: one request at a time, and failures do not break them."""

import asyncio
import itertools
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mancala_env import Position
from mancala_env.agents import Spec
from mancala_env.agents.scripted import RandomAgent
from mancala_env.web import analysis
from mancala_env.web.analysis import AnalysisService

CHECKPOINT = next((Path(__file__).parent.parent / "data").rglob("*.zip"))
HARD = "layli_goobalay 1,1,9,8,1,3/3,5,9,1,1,6 0-0 S"
LATE = "layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S"


@pytest.fixture
def service():
    shared = AnalysisService(memory_mb=8, num_workers=2)
    yield shared
    shared.close()


async def until(holds: Callable[[], bool], task: asyncio.Task[Any]) -> None:
    """Wait until a condition holds or a task has ended."""
    while not holds() and not task.done():
        await asyncio.sleep(0.005)


async def exact(service: AnalysisService, text: str) -> Any:
    return [solution async for solution in service.analyse(Position.from_text(text), 60)][-1]


async def cancelled_analysis(service: AnalysisService, after: int = 1) -> None:
    """Analyse a hard position, and cancel in the midst of the slice that follows `after` answers."""
    answers: list[Any] = []

    async def analyse() -> None:
        async for solution in service.analyse(Position.from_text(HARD), 60):
            answers.append(solution)

    task = asyncio.create_task(analyse())
    await until(lambda: len(answers) >= after, task)
    assert not task.done()
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_after_a_cancelled_analysis_its_ruleset_is_analysed(service: AnalysisService) -> None:
    async def run() -> Any:
        for _ in range(3):
            await cancelled_analysis(service)
        return await exact(service, LATE)

    assert asyncio.run(run()).is_exact


def test_a_cancelled_analysis_leaves_another_of_the_same_ruleset_alone(service: AnalysisService) -> None:
    async def run() -> Any:
        bounds: list[Any] = []

        async def analyse() -> None:
            async for solution in service.analyse(Position.from_text(HARD), 60):
                bounds.append(solution)

        other = asyncio.create_task(analyse())
        await cancelled_analysis(service, after=2)
        before = len(bounds)
        while len(bounds) < before + 2:
            assert not other.done()
            await asyncio.sleep(0.01)
        other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await other

    asyncio.run(run())


def test_what_one_analysis_proved_serves_the_next(service: AnalysisService) -> None:
    async def run() -> tuple[Any, Any]:
        await cancelled_analysis(service)
        return await exact(service, LATE), await exact(service, LATE)

    first, again = asyncio.run(run())
    assert again.nodes == 0
    assert again.action_values == first.action_values


def test_an_analysis_ends_when_its_time_is_up(service: AnalysisService) -> None:
    async def run() -> list[Any]:
        return [solution async for solution in service.analyse(Position.from_text(HARD), 0.2)]

    found = asyncio.run(run())
    assert found
    assert not found[-1].is_exact
    for earlier, later in itertools.pairwise(found):
        assert earlier.lower <= later.lower <= later.upper <= earlier.upper


class _Slow(RandomAgent):
    """An agent that waits for `go_on` and counts its concurrent threads."""

    def __init__(self, ruleset: Any) -> None:
        super().__init__(ruleset, spec="random")
        self.go_on, self.entered = threading.Event(), threading.Event()
        self.inside = self.most_inside = 0
        self.rounds: list[Any] = []

    def check_rounds(self, rounds: Any) -> None:
        self.rounds.append(rounds)

    def choose(self, position: Position) -> int:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.entered.set()
        assert self.go_on.wait(60)
        self.inside -= 1
        return position.legal_actions[0]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[_Slow]:
    """The agents that a service has made; the test says when the first answers, the others answer at once."""
    agents: list[_Slow] = []

    def make(spec: Any, ruleset: Any, **_: Any) -> _Slow:
        agents.append(_Slow(ruleset))
        if len(agents) > 1:
            agents[-1].go_on.set()
        return agents[-1]

    monkeypatch.setattr(analysis, "make", make)
    return agents


@pytest.mark.parametrize("num_cancels", [1, 2])
def test_an_agent_is_not_given_to_another_request_before_it_is_done(
    service: AnalysisService, made: list[_Slow], num_cancels: int
) -> None:
    """A page that cancels and then disconnects cancels twice."""

    async def run() -> None:
        position = Position("leyla")
        first = asyncio.create_task(service.choose(Spec.parse("greedy"), position))
        await until(lambda: bool(made) and made[0].entered.is_set(), first)
        for _ in range(num_cancels):
            first.cancel()
            await asyncio.sleep(0.02)
        second = asyncio.create_task(service.choose(Spec.parse("greedy"), position))
        await asyncio.sleep(0.1)
        made[0].go_on.set()
        assert await second in position.legal_actions
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(run())
    assert [agent.most_inside for agent in made] == [1]


def test_agents_are_kept_by_spec_and_ruleset(service: AnalysisService, made: list[_Slow]) -> None:
    async def run() -> None:
        first = asyncio.create_task(service.choose(Spec.parse("greedy"), Position("leyla")))
        await until(lambda: bool(made), first)
        made[0].go_on.set()
        await first
        for spec, ruleset in (("greedy", "leyla"), ("random", "leyla"), ("greedy", "gabata_i")):
            await service.choose(Spec.parse(spec), Position(ruleset))

    asyncio.run(run())
    assert [agent.ruleset.name for agent in made] == ["leyla", "leyla", "gabata_i"]


def test_an_agent_is_told_how_many_rounds_a_game_has(service: AnalysisService, made: list[_Slow]) -> None:
    async def run() -> None:
        first = asyncio.create_task(service.choose(Spec.parse("greedy"), Position("leyla")))
        await until(lambda: bool(made), first)
        made[0].go_on.set()
        await first
        await service.choose(Spec.parse("greedy"), Position("leyla"), "match")

    asyncio.run(run())
    assert made[0].rounds == [1, "match"]


def test_a_checkpoint_that_is_overwritten_is_another_agent(
    service: AnalysisService, made: list[_Slow], tmp_path: Path
) -> None:
    path = tmp_path / "final.zip"
    spec = Spec.parse(str(path))

    async def choose() -> None:
        task = asyncio.create_task(service.choose(spec, Position("layli_goobalay")))
        await until(lambda: bool(made), task)
        made[0].go_on.set()
        await task

    async def run() -> None:
        shutil.copy(CHECKPOINT, path)
        await choose()
        await choose()
        assert len(made) == 1
        path.write_bytes(CHECKPOINT.read_bytes() + b"0")  # another size
        await choose()
        assert len(made) == 2
        stamp = path.stat().st_mtime_ns
        os.utime(path, ns=(stamp + 1_000_000, stamp + 1_000_000))  # the same size, written later
        await choose()
        assert len(made) == 3

    asyncio.run(run())


def test_thirty_two_agents_are_kept(service: AnalysisService, made: list[_Slow]) -> None:
    async def ask(number: int) -> None:
        task = asyncio.create_task(service.choose(Spec.parse(f"mcts:{number}"), Position("leyla")))
        await until(lambda: bool(made), task)
        made[0].go_on.set()
        await task

    async def run() -> None:
        for number in [*range(1, 33), *range(1, 33)]:
            await ask(number)
        assert len(made) == 32
        await ask(33)  # replaces 1, which was used least recently
        await ask(2)
        assert len(made) == 33
        await ask(1)
        assert len(made) == 34

    asyncio.run(run())


def test_slices_of_an_analysis_grow_up_to_a_second(
    service: AnalysisService, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []
    solve = analysis.Solver.solve

    def noted(solver: Any, position: Position, *, time_limit: float, **options: Any) -> Any:
        limits.append(time_limit)
        return solve(solver, position, time_limit=0.001, **options)

    monkeypatch.setattr(analysis.Solver, "solve", noted)

    async def run() -> None:
        async for _ in service.analyse(Position.from_text(HARD), 3600):
            if len(limits) == 8:
                break

    asyncio.run(run())
    assert limits == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0]


def test_four_solvers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, float]] = []
    solver = analysis.Solver

    def noted(ruleset: Any, *, memory_mb: float) -> Any:
        made.append((ruleset.name, memory_mb))
        return solver(ruleset, memory_mb=8)

    monkeypatch.setattr(analysis, "Solver", noted)

    async def run() -> None:
        shared = AnalysisService()
        names = ["leyla", "gabata_i", "layli_goobalay", "gabata_3"]
        # At last leyla again: it was used least recently, and has been replaced.
        for name in [*names, *names, "layli_goobalay_8", *names[1:], "leyla"]:
            async for _ in shared.analyse(Position(name), 0):
                pass
        shared.close()
        assert made == [(name, 1024) for name in (*names, "layli_goobalay_8", "leyla")]

    asyncio.run(run())


@pytest.mark.parametrize("seconds", [0.001, 0.2])
def test_a_slice_has_no_more_time_than_is_left_but_some(
    service: AnalysisService, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    limits: list[float] = []
    solve = analysis.Solver.solve

    def noted(solver: Any, position: Position, *, time_limit: float, **options: Any) -> Any:
        limits.append(time_limit)
        return solve(solver, position, time_limit=time_limit, **options)

    monkeypatch.setattr(analysis.Solver, "solve", noted)

    async def run() -> None:
        async for _ in service.analyse(Position.from_text(HARD), seconds):
            pass

    asyncio.run(run())
    for n, limit in enumerate(limits):
        assert 0.01 <= limit <= max(0.01, seconds - sum(limits[:n])) + 1e-6
    assert seconds > 0.1 or limits == [0.01]


def test_there_is_a_thread_a_core_unless_told_otherwise(service: AnalysisService) -> None:
    assert service._pool._max_workers == 2
    shared = AnalysisService()
    assert shared._pool._max_workers == len(os.sched_getaffinity(0))
    shared.close()
