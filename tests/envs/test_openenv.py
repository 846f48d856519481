"""The adapter for openenv: its server, played by its own client over a WebSocket."""
# The library is installed in an environment of its own.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openenv.core", reason="openenv is not installed: pip install openenv")

import uvicorn
import yaml
from openenv.cli._validation import validate_running_environment
from openenv.core.generic_client import GenericEnvClient

from mancala_env.envs import text

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples" / "text"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    app = runpy.run_path(str(FOLDER / "openenv_server.py"))["app"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def test_move_is_rewarded_by_its_exact_regret(address: str) -> None:
    task = text.make_task("move", 3)
    with GenericEnvClient(base_url=address).sync() as env:
        assert env.reset(seed=3).observation["prompt"] == task.prompt
        result = env.step({"reply": f"Answer: {task.solution}"})
        assert (result.done, result.reward) == (True, 0.0)
        env.reset(seed=3)
        worst = min(task.values, key=lambda action: task.values[action])
        result = env.step({"reply": f"Answer: {worst + 1}"})
        expected = task.score(f"Answer: {worst + 1}").reward
        assert expected is not None
        assert result.reward == expected < 0


def test_invalid_reply_ends_with_its_error(address: str) -> None:
    with GenericEnvClient(base_url=address).sync() as env:
        env.reset(seed=1, task_kind="sow", level=2)
        result = env.step({"reply": "I pass"})
        assert (result.done, result.reward) == (True, -1.0)
        assert "I pass" in result.observation["error"]


def test_round_is_the_round_of_the_package(address: str) -> None:
    game = text.Round(4, opponent=2)
    with GenericEnvClient(base_url=address).sync() as env:
        result = env.reset(seed=4, task_kind="play", level=2)
        assert result.observation["prompt"] == game.prompt
        while not result.done:
            reply = f"Answer: {game.position.legal_actions[0] + 1}"
            game.step(reply)
            result = env.step({"reply": reply})
            assert game.is_over or result.observation["prompt"] == game.update
        assert game.is_over
        assert result.reward == pytest.approx(game.reward)


def test_reset_without_a_seed_draws_one(address: str) -> None:
    with GenericEnvClient(base_url=address).sync() as env:
        assert len({env.reset(task_kind="sow").observation["prompt"] for _ in range(3)}) > 1


def test_wrong_arguments_reach_the_client(address: str) -> None:
    with GenericEnvClient(base_url=address).sync() as env:
        for wrong in ({"task_kind": "solve"}, {"split": "solve"}, {"task_kind": "play", "level": 9}):
            with pytest.raises(RuntimeError) as error:
                env.reset(seed=1, **wrong)
            assert str(next(reversed(wrong.values()))) in str(error.value)


def test_openenv_validates_folder_and_server(address: str) -> None:
    assert validate_running_environment(address, timeout_s=60)["passed"]
    command = [sys.executable, "-m", "openenv.cli", "validate", str(FOLDER), "--level", "static"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Verdict: PASS" in done.stdout


def test_manifest_names_the_server() -> None:
    manifest = yaml.safe_load((FOLDER / "openenv.yaml").read_text("utf-8"))
    assert manifest["app"] == "openenv_server:app"
    assert manifest["validation"]["reward"]["range"] == [-1.0, 1.0]
