"""Render modes of environments (text, SVG, pixels, window), and tools that record them."""

import copy
import importlib.util
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from error_checks import raises
from gymnasium.wrappers import RecordVideo

from mancala_env import Position, gabata_v0, layli_goobalay_v0, leyla_v0, rulesets
from mancala_env.agents import Agent
from mancala_env.engine.coordinates import hole_of
from mancala_env.envs.aec import MancalaAEC
from mancala_env.envs.drawing import seen_after, seen_of
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.options import RENDER_MODES
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.games.pictures import frames_of_turn
from mancala_env.render.motion import ends_of, steps
from mancala_env.render.pixels import WIDTH, grid_of, pixels_of

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "The old environment creation API", DeprecationWarning)
    from pettingzoo.test.render_test import render_test

MODULES = [layli_goobalay_v0, leyla_v0, gabata_v0]


@pytest.fixture(autouse=True)
def no_screen(monkeypatch):
    """Use a video driver without a display."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.fixture
def quick(monkeypatch):
    """Show everything in a window without delays."""
    for owner in (MancalaEnv, MancalaVectorEnv, *(module.raw_env for module in MODULES)):
        monkeypatch.setitem(owner.metadata, "render_fps", 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_pettingzoo_render_test(module, quick):
    render_test(module.env)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mode", RENDER_MODES)
def test_gymnasium_draws_what_the_mode_says(mode, quick):
    env: Any = gymnasium.make("mancala/Leyla-v0", render_mode=mode, disable_env_checker=False)
    env.reset(seed=0)
    env.action_space.seed(0)
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
    """Plays the last legal action and records its turns."""

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
            if 0 < len(agent.turns) < 12:  # only the last twelve turns are kept
                before, action = agent.turns[-1]
                after = before.copy()
                after.play(action)
                if after == env.position:
                    assert seen.ends == ends_of(before.timeline(action))
                    assert seen.turns[-1] == (before, action)
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


def test_the_last_twelve_turns_of_a_step_are_kept():
    """In a match, an opponent who owns nearly all holes plays many turns in a step."""
    agent = Watched(rulesets.lookup("gabata_3"))
    env = MancalaEnv("gabata_3", opponent=agent, rounds="match", opening_turns=0, seat="random")
    env.reset(seed=4)
    longest = 0
    for _ in range(12):
        agent.turns.clear()
        before, action = env.position, int(np.flatnonzero(env.action_masks())[0])
        env.step(action)
        turns = [(before, action), *agent.turns]
        holes = [hole_of(env.ruleset, position.player, action) for position, action in turns]
        assert list(env._duel.played(0)[1]) == holes[-12:]
        longest = max(longest, len(holes))
    assert longest > 13


def test_an_action_put_in_for_an_illegal_one_is_the_one_that_is_marked():
    env = MancalaEnv("leyla", illegal="random", opening_turns=0)
    env.reset(seed=0)
    while env.action_masks().all():
        env.step(0)
    illegal = int(np.flatnonzero(~env.action_masks())[0])
    before = env.position
    env.step(illegal)
    ((start, action),) = env._seen().turns[:1]
    assert start == before
    assert action in before.legal_actions


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
                before, action = seen.turns[-1]
                after = before.copy()
                after.play(action)
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


@pytest.mark.parametrize("mode", ["svg", "rgb_array"])
def test_a_new_episode_has_no_marks_of_the_one_before(mode):
    aec: Any = layli_goobalay_v0.env(render_mode=mode)
    aec.reset()
    aec.step(0)
    marked = aec.render()
    position = aec.unwrapped.position
    aec.reset(options={"position": position})
    assert aec.unwrapped.position == position
    assert not np.array_equal(aec.render(), marked)
    assert mode != "svg" or aec.render() == position.to_svg()


class FakeWindow:
    """Records what a window shows."""

    def __init__(self) -> None:
        self.shown: list[tuple[np.ndarray, float]] = []
        self.played: list[list[Any]] = []
        self.is_open = True

    def show(self, pixels, seconds):
        self.shown.append((pixels, seconds))

    def play(self, frames):
        self.played.append(list(frames))

    def close(self):
        self.is_open = False


def with_fake_window(env: Any) -> FakeWindow:
    env.unwrapped._screen.window = window = FakeWindow()
    return window


def assert_plays(frames: list[Any], before: Position, action: int, fps: float) -> None:
    """The frames show the turn. A seed takes at most 0.2 / fps and a turn at most 4 / fps."""
    wanted = list(frames_of_turn(before, action, seed_seconds=1.0, rest_seconds=1 / fps))
    assert len(frames) == len(wanted)
    np.testing.assert_array_equal(frames[-1].pixels, wanted[-1].pixels)
    assert frames[-1].seconds == pytest.approx(1 / fps)
    length = steps(before.state, before.timeline(action), 1.0)[-1].start
    seed_seconds = min(0.2, 4 / max(1.0, length)) / fps
    again = list(frames_of_turn(before, action, seed_seconds=seed_seconds, rest_seconds=1 / fps))
    assert [frame.seconds for frame in frames] == pytest.approx([frame.seconds for frame in again])


def test_a_window_shows_each_turn_of_two_players():
    env: Any = leyla_v0.env(render_mode="human")
    window = with_fake_window(env)
    env.reset()
    assert len(window.shown) == 1
    np.testing.assert_array_equal(window.shown[0][0], pixels_of(env.unwrapped.position.scene()))
    assert window.shown[0][1] == 1 / env.metadata["render_fps"]
    for action in (2, 1, 3):
        before = env.unwrapped.position
        env.step(action)
        assert_plays(window.played.pop(), before, action, env.metadata["render_fps"])
        assert window.played == []
    shown = len(window.shown)
    assert env.render() is None
    assert len(window.shown) == shown + 1
    assert window.played == []
    env.close()
    assert not window.is_open


def test_without_a_rate_of_its_own_an_environment_shows_two_turns_a_second():
    env = MancalaAEC("leyla", render_mode="human")
    window = with_fake_window(env)
    env.reset()
    assert [seconds for _, seconds in window.shown] == [0.5]


def test_a_window_shows_the_turns_of_a_step():
    env: Any = MancalaEnv("leyla", opponent="greedy", opening_turns=0, render_mode="human")
    window = with_fake_window(env)
    env.reset(seed=0)
    assert len(window.shown) == 1
    before = env.position
    env.step(2)
    mine, *theirs = window.played
    assert_plays(mine, before, 2, env.metadata["render_fps"])
    assert len(theirs) >= 1
    shown = len(window.shown)
    assert env.render() is None
    assert len(window.shown) == shown + 1
    assert len(window.played) == 1 + len(theirs)
    env.close()
    assert not window.is_open


@pytest.mark.parametrize("num_envs", [1, 5, 20])
def test_a_window_shows_at_most_sixteen_games(num_envs):
    envs: Any = MancalaVectorEnv(num_envs, "leyla", render_mode="human")
    window = with_fake_window(envs)
    envs.reset(seed=0)
    envs.step(envs.action_masks().argmax(axis=1))
    assert envs.render() is None
    assert len(window.shown) == 3
    assert {seconds for _, seconds in window.shown} == {1 / envs.metadata["render_fps"]}
    side = {1: 1, 5: 3, 20: 4}[num_envs]
    scenes = [envs._seen(b).scene() for b in range(min(num_envs, 16))]
    np.testing.assert_array_equal(window.shown[-1][0], grid_of(scenes, side, width=1280))
    envs.close()
    assert not window.is_open


@pytest.mark.parametrize("make", [leyla_v0.env, MancalaEnv, MancalaVectorEnv])
def test_two_turns_or_positions_are_shown_a_second(make):
    assert make().metadata["render_fps"] == 2


# Recorders


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*mode is same-step:UserWarning")
def test_gymnasium_records_videos(tmp_path):
    pytest.importorskip("moviepy", reason="what RecordVideo writes with is not installed")
    env = RecordVideo(gymnasium.make("mancala/Leyla-v0", render_mode="rgb_array"), str(tmp_path / "one"))
    env.reset(seed=0)
    env.action_space.seed(0)  # an episode of at least five steps
    for _ in range(5):
        env.step(env.action_space.sample())
    env.close()
    _is_recorded(tmp_path / "one")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*mode is same-step:UserWarning")
@pytest.mark.skipif(not hasattr(gymnasium.wrappers.vector, "RecordVideo"), reason="Gymnasium is too old")
@pytest.mark.slow
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

    with raises(TypeError, None, "rgb_array", "human"):
        MancalaVecEnv(2, render_mode="human")


# Optional libraries


@pytest.mark.parametrize(
    ("mode", "module", "extra"),
    [("rgb_array", "PIL", "render"), ("human", "PIL", "window"), ("human", "pygame", "window")],
)
def test_a_missing_extra_is_named(mode, module, extra, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else there(name))
    for make in (leyla_v0.env, MancalaEnv, MancalaVectorEnv):
        with raises(ImportError, f"[{extra}]"):
            make(render_mode=mode)
        make(render_mode="svg")
    if mode == "rgb_array" and there("stable_baselines3"):  # SB3 asks for the mode and works without it
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
