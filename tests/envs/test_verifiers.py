"""The adapter for verifiers: tasks, exact rewards on its traces, and rounds played by its environment."""
# The library is installed in an environment of its own.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("verifiers.v1", reason="verifiers is not installed: pip install verifiers")

import verifiers.v1 as vf
from verifiers.v1.utils import loaders

from mancala_env.envs import text

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples" / "text"
ID = "mancala_text"


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def _taskset(**options: Any) -> vf.Taskset:
    return loaders.load_taskset(loaders.taskset_config_type(ID)(id=ID, **options))


def _trace(task: vf.Task, reply: str) -> vf.Trace:
    trace = vf.Trace.model_construct(task=vf.TraceTask(type="MancalaTask", data=task.data))
    trace.nodes.append(vf.MessageNode(message=vf.AssistantMessage(content=reply), sampled=True))
    return trace


def test_library_finds_taskset_and_environment() -> None:
    assert loaders.taskset_class(ID).__name__ == "MancalaTaskset"
    assert loaders.environment_class(ID).__name__ == "MancalaTextEnv"
    assert loaders.task_type(ID).__name__ == "MancalaTask"


@pytest.mark.parametrize("kind", ["sow", "move"])
def test_tasks_are_those_of_the_package(kind: Any) -> None:
    tasks = list(_taskset(task_kind=kind, num_tasks=3, level=2))
    own = [text.make_task(kind, seed, level=2 if kind == "sow" else 0) for seed in range(3)]
    assert [task.data.prompt for task in tasks] == [task.prompt for task in own]
    assert [task.data.idx for task in tasks] == [0, 1, 2]
    assert "solution" not in type(tasks[0].data).model_fields


def test_reward_is_the_exact_one() -> None:
    (task,) = _taskset(num_tasks=1)
    own = text.make_task("move", 0)
    for reply in (f"Answer: {own.solution}", "Answer: 1", "Answer: 2", "nothing to say here"):
        trace = _trace(task, reply)
        asyncio.run(task.score(trace))
        assert trace.reward == pytest.approx(own.score(reply).reward)


def test_round_is_played_to_its_end() -> None:
    (task,) = _taskset(task_kind="play", num_tasks=1, level=2)
    game = text.Round(0, opponent=2)
    assert task.data.prompt == game.prompt
    env = loaders.load_environment(loaders.resolve_env_config({"taskset": {"id": ID, "task_kind": "play"}}))
    trace, told = _trace(task, ""), []

    class Model:
        """A stand-in for the agent of the library, which would call a model."""

        def __init__(self) -> None:
            self.trace = trace

        async def turn(self, message: str | None = None) -> Any:
            told.append(message)
            if message is not None:
                assert message == game.update
            reply = f"Answer: {game.position.legal_actions[0] + 1}"
            game.step(reply)
            return SimpleNamespace(terminated=False, last_reply=reply)

    @asynccontextmanager
    async def interaction(_: vf.Task) -> AsyncIterator[Model]:
        yield Model()

    asyncio.run(env.run(task, SimpleNamespace(player=SimpleNamespace(interaction=interaction))))
    assert game.is_over
    assert len(told) > 1
    assert trace.reward == pytest.approx(game.reward)
