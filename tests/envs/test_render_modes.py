"""What environments draw: text, SVG, pixels, a window; and the tools that record it."""

import copy
import importlib.util
import pickle
import re
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordVideo

from mancala_env import Position, gabata_v0, layli_goobalay_v0, leyla_v0, rulesets
from mancala_env.agents import Agent
from mancala_env.envs.drawing import seen_after, seen_of
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.options import RENDER_MODES
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.render.motion import ends_of
from mancala_env.render.pixels import WIDTH, pixels_of

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "The old environment creation API", DeprecationWarning)
    from pettingzoo.test.render_test import render_test

MODULES = [layli_goobalay_v0, leyla_v0, gabata_v0]


@pytest.fixture(autouse=True)
def no_screen(monkeypatch):
    """Draw windows nowhere."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.fixture
def quick(monkeypatch):
    """Show everything in a window as quickly as it goes."""
    for owner in (MancalaEnv, MancalaVectorEnv, *(module.raw_env for module in MODULES)):
        monkeypatch.setitem(owner.metadata, "render_fps", 10_000)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_pettingzoo_render_test(module, quick):
    render_test(module.env)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mode", RENDER_MODES)
def test_gymnasium_draws_what_the_mode_says(mode, quick):
    env: Any = gymnasium.make("mancala/Leyla-v0", render_mode=mode, disable_env_checker=False)
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
        drawn = env.render()
        if mode == "rgb_array":
            assert drawn.dtype == np.uint8
            assert drawn.shape[1:] == (WIDTH, 3)
        elif mode == "human":
            assert drawn is None
        else:
            assert drawn.startswith("<svg" if mode == "svg" else "Leyla")
    env.close()


@pytest.mark.parametrize("mode", RENDER_MODES)
def test_a_vector_environment_draws_every_game(mode, quick):
    envs: Any = gymnasium.make_vec("mancala/Gabata-v0", num_envs=3, render_mode=mode)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    drawn = envs.render()
    assert drawn is None if mode == "human" else len(drawn) == 3
    if mode == "rgb_array":
        last = seen_of(envs._duel, 1, envs.position(1))
        np.testing.assert_array_equal(drawn[1], pixels_of(envs.position(1).scene(last=last.ends)))
    envs.close()


def test_what_is_drawn_is_the_position_with_the_last_turn_marked():
    env: Any = leyla_v0.env(render_mode="rgb_array")
    env.reset()
    np.testing.assert_array_equal(env.render(), pixels_of(Position("leyla").scene()))
    before = Position("leyla")
    ends = ends_of(before.timeline(2))
    env.step(2)
    np.testing.assert_array_equal(env.render(), pixels_of(env.unwrapped.position.scene(last=ends)))
    assert len(ends) == 2


class Watched(Agent):
    """Play the last legal action and write down where."""

    def __init__(self, ruleset):
        super().__init__(ruleset, spec="watched")
        self.turns: list[tuple[Position, int]] = []

    def act(self, games):
        position = Position.from_games(self.ruleset, games)
        self.turns.append((position, position.legal_actions[-1]))
        return np.array([position.legal_actions[-1]])


@pytest.mark.parametrize("rounds", [1, "match"])
@pytest.mark.parametrize("name", ["layli_goobalay", "gabata_i", "leyla"])
def test_the_marks_are_the_opponents_last_turn(name, rounds):
    agent = Watched(rulesets.lookup(name))
    env = MancalaEnv(
        name, opponent=agent, rounds=rounds, render_mode="rgb_array", opening_turns=2, seat="random"
    )
    marked = unmarked = 0
    for seed in range(8):
        agent.turns.clear()
        env.reset(seed=seed)
        for _ in range(30):
            seen = env._seen()
            if 0 < len(agent.turns) < 12:  # of more only the last twelve are known
                before, action = agent.turns[-1]
                after = before.copy()
                after.play(action)
                if after == env.position:
                    assert seen.ends == ends_of(before.timeline(action))
                    assert (seen.turns[-1].before, seen.turns[-1].action) == (before, action)
                    marked += 1
                else:  # the next round has been set up
                    assert seen.ends == ()
                    unmarked += 1
            agent.turns.clear()
            if env.position.is_over:
                break
            env.step(env.action_space.sample())
    assert marked > 50
    assert rounds == 1 or unmarked < marked


def test_an_action_put_in_for_an_illegal_one_is_the_one_that_is_marked():
    env = MancalaEnv("leyla", illegal="random", opening_turns=0)
    env.reset(seed=0)
    while env.action_masks().all():
        env.step(0)
    illegal = int(np.flatnonzero(~env.action_masks())[0])
    before = env.position
    env.step(illegal)
    turn = env._seen().turns[0]
    assert turn.before == before
    assert turn.action in before.legal_actions


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_marks_in_many_games_follow_from_one_turn(mode):
    envs = MancalaVectorEnv(40, "layli_goobalay", opponent="greedy", seat="random", autoreset_mode=mode)
    envs.reset(seed=3)
    marked = total = 0
    for _ in range(40):
        envs.step(envs.action_space.sample())
        for b in range(envs.num_envs):
            seen = seen_of(envs._duel, b, envs.position(b))
            total += 1
            if seen.ends:
                after = seen.turns[-1].before.copy()
                after.play(seen.turns[-1].action)
                assert after == envs.position(b)
                marked += 1
    assert marked > 0.9 * total


def test_turns_that_do_not_lead_to_the_position_are_not_drawn():
    now = Position("leyla")
    now.play(2)
    assert seen_after(Position("leyla"), [2], now).ends
    assert seen_after(Position("leyla"), [3], now).turns == ()
    assert seen_after(Position("leyla"), [7], now).turns == ()
    assert seen_after(None, [2], now).turns == ()


def test_drawing_changes_no_game():
    one, other = MancalaEnv(render_mode="rgb_array"), MancalaEnv()
    for env in (one, other):
        env.reset(seed=5)
    for _ in range(12):
        action = int(np.flatnonzero(other.action_masks())[0])
        one.render()
        np.testing.assert_array_equal(one.step(action)[0], other.step(action)[0])
        if one.position.is_over:
            break


# Recorders


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*mode is same-step:UserWarning")
def test_gymnasium_records_videos(tmp_path):
    pytest.importorskip("moviepy", reason="what RecordVideo writes with is not installed")
    env = RecordVideo(gymnasium.make("mancala/Leyla-v0", render_mode="rgb_array"), str(tmp_path / "one"))
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.sample())
    env.close()
    _is_recorded(tmp_path / "one")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*mode is same-step:UserWarning")
@pytest.mark.skipif(not hasattr(gymnasium.wrappers.vector, "RecordVideo"), reason="Gymnasium is too old")
def test_gymnasium_records_videos_of_many(tmp_path):
    pytest.importorskip("moviepy", reason="what RecordVideo writes with is not installed")
    envs = gymnasium.make_vec("mancala/Leyla-v0", num_envs=2, render_mode="rgb_array")
    recorder = gymnasium.wrappers.vector.RecordVideo(
        envs, str(tmp_path / "many"), step_trigger=lambda step: step == 0, video_length=3
    )
    recorder.reset(seed=0)
    for _ in range(5):
        recorder.step(envs.action_space.sample())
    recorder.close()
    _is_recorded(tmp_path / "many")


def _is_recorded(folder):
    (video,) = folder.glob("*.mp4")
    assert video.stat().st_size > 5_000


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["native", "make_vec_env"])
def test_stable_baselines3_records_videos(kind, tmp_path, capsys):
    pytest.importorskip("moviepy", reason="what VecVideoRecorder writes with is not installed")
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    if kind == "native":
        from mancala_env.envs.sb3 import MancalaVecEnv

        envs: Any = MancalaVecEnv(4, "leyla", render_mode="rgb_array", seed=0)
    else:
        from stable_baselines3.common.env_util import make_vec_env

        envs = make_vec_env("mancala/Leyla-v0", n_envs=2, seed=0)
    recorder = vec_env.VecVideoRecorder(
        envs, str(tmp_path), record_video_trigger=lambda step: step == 0, video_length=3
    )
    recorder.reset()
    for _ in range(5):
        recorder.step(np.array([np.flatnonzero(mask)[0] for mask in recorder.env_method("action_masks")]))
    picture = recorder.render()
    assert picture is not None
    assert picture.ndim == 3
    recorder.close()
    _is_recorded(tmp_path)


def test_other_modes_of_the_vec_env_are_refused():
    pytest.importorskip("stable_baselines3")
    from mancala_env.envs.sb3 import MancalaVecEnv

    with pytest.raises(TypeError, match="None or 'rgb_array', not 'human'"):
        MancalaVecEnv(2, render_mode="human")


# What may be missing


@pytest.mark.parametrize(
    ("mode", "module", "extra"),
    [("rgb_array", "PIL", "render"), ("human", "PIL", "window"), ("human", "pygame", "window")],
)
def test_a_missing_extra_is_named(mode, module, extra, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else there(name))
    message = re.escape(f'pip install ".[{extra}]"')
    for make in (leyla_v0.env, MancalaEnv, MancalaVectorEnv):
        with pytest.raises(ImportError, match=message):
            make(render_mode=mode)
        make(render_mode="svg")
    if mode == "rgb_array" and there("stable_baselines3"):  # which asks for it, and goes on without
        from stable_baselines3.common.env_util import make_vec_env

        assert make_vec_env("mancala/Leyla-v0", n_envs=1).render_mode is None


@pytest.mark.parametrize("make", [leyla_v0.env, MancalaEnv, MancalaVectorEnv])
def test_an_environment_with_a_window_can_be_copied_and_pickled(make, quick):
    env = make(render_mode="human")
    env.reset(seed=0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.unwrapped._screen.window.is_open is False
        twin.close()
    assert env.unwrapped._screen.window.is_open
    env.close()
    assert not env.unwrapped._screen.window.is_open
