"""The adapter for textarena: its registry makes the environment, and its wrapper reads the prompts."""
# The library is installed in an environment of its own.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textarena", reason="textarena is not installed: pip install textarena")

import textarena as ta
from error_checks import raises

from mancala_env.envs import text
from mancala_env.errors import InvalidArgument

FILE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "text" / "mancala_textarena.py"


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    runpy.run_path(str(FILE))


def _begun(num_players: int = 1, seed: int = 3, **options: Any) -> tuple[Any, str]:
    env = ta.make("Mancala-v0", **options)
    env.reset(num_players=num_players, seed=seed)
    return env, env.get_observation()[1]


def test_move_is_rewarded_by_its_exact_regret() -> None:
    task = text.make_task("move", 3)
    for action in task.values:
        env, prompt = _begun()
        assert task.prompt in prompt
        score = task.score(f"Answer: {action + 1}")
        assert env.step(f"Answer: {action + 1}") == (True, score._asdict())
        rewards, info = env.close()
        assert rewards == {0: score.reward}
        assert info[0]["invalid_move"] is False


def test_level_and_split_are_those_of_the_package() -> None:
    task = text.make_task("sow", 5, split="training", level=4)
    env, prompt = _begun(seed=5, task_kind="sow", split="training", level=4)
    assert task.prompt in prompt
    env.step(f"Answer: {task.solution}")
    assert env.close()[0] == {0: 0.0}


def test_invalid_reply_ends_with_its_error() -> None:
    env, _ = _begun(task_kind="play")
    done, _ = env.step("I pass this turn")
    rewards, info = env.close()
    assert (done, rewards, info[0]["invalid_move"]) == (True, {0: -1.0}, True)
    assert "I pass this turn" in info[0]["reason"]


def test_round_against_an_agent_is_the_round_of_the_package() -> None:
    game = text.Round(4, opponent=2)
    env, prompt = _begun(seed=4, task_kind="play", level=2)
    assert game.prompt in prompt
    done = False
    while not done:
        reply = f"Answer: {game.position.legal_actions[0] + 1}"
        game.step(reply)
        done, _ = env.step(reply)
        assert done is game.is_over
        assert done or env.get_observation()[1].endswith(game.update)
    assert env.close()[0] == {0: game.reward}


def test_two_players_play_a_round_and_do_not_read_each_other() -> None:
    for seed in range(4):
        game = text.Round(seed, opponent=None)
        env, _ = _begun(2, seed, task_kind="play")
        done, seen = False, set()
        while not done:
            player, prompt = env.get_observation()
            assert player == game.player
            assert "Rules" in prompt
            assert f"mine is {1 - player}" not in prompt
            seen.add(player)
            reply = f"mine is {player}. Answer: {game.position.legal_actions[-1] + 1}"
            game.step(reply)
            done, _ = env.step(reply)
        assert seen == {0, 1}
        assert env.close()[0] == dict(enumerate(game.rewards))


def test_wrong_arguments_are_refused() -> None:
    with raises(InvalidArgument, "move"):
        _begun(2)
    with raises(InvalidArgument, "9"):
        _begun(task_kind="play", level=9)
    with raises(InvalidArgument, "0"):
        _begun(task_kind="play", level=0)
    with raises(InvalidArgument, "solve"):
        _begun(task_kind="solve")
