"""MancalaVecEnv: infos at the end of an episode, and the actions of a step."""

import copy
from typing import Any

import numpy as np
import pytest
from error_checks import raises
from gymnasium.error import ResetNeeded
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor

from mancala_env import IllegalMove, Position, agents, rulesets
from mancala_env.agents import Agent, InvalidSpec
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.envs.drawing import seen_of
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.options import UnknownOption
from mancala_env.envs.sb3 import MancalaVecEnv, SelfPlayCallback
from mancala_env.errors import InvalidArgument
from mancala_env.render.pixels import WIDTH, pixels_of


@pytest.mark.parametrize("illegal", ["raise", "lose"])
@pytest.mark.parametrize("reward", ["outcome", "margin"])
def test_last_infos_are_those_of_the_single_env(reward, illegal):
    """Game b equals MancalaEnv with seed + b, including its last info."""
    options: Any = {"seat": "random", "reward": reward, "illegal": illegal, "observation": "board"}
    envs: Any = MancalaVecEnv(3, "leyla", seed=7, **options)
    singles = [MancalaEnv("leyla", **options) for _ in range(3)]
    seen = envs.reset()
    for b, single in enumerate(singles):
        np.testing.assert_array_equal(single.reset(seed=7 + b)[0], seen[b])
    rng, ends, lengths, forfeits = np.random.default_rng(0), 0, np.zeros(3, np.int64), 0
    for _ in range(150):
        masks = envs.action_masks()
        if illegal == "lose" and rng.random() < 0.2:
            masks = np.ones_like(masks)
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        seen, rewards, dones, infos = envs.step(actions)
        lengths += 1
        for b, single in enumerate(singles):
            last, single_reward, terminated, truncated, wanted = single.step(int(actions[b]))
            assert rewards[b] == pytest.approx(single_reward)
            assert dones[b] == (terminated or truncated)
            if not dones[b]:
                assert infos[b] == {}
                np.testing.assert_array_equal(seen[b], last)
                continue
            ends += 1
            forfeits += wanted["illegal"]
            info = infos[b]
            np.testing.assert_array_equal(info["terminal_observation"], last)
            assert info["TimeLimit.truncated"] is truncated is False
            assert info["counts"].tolist() == wanted["counts"].tolist()
            assert info["counts"].dtype == wanted["counts"].dtype
            assert info["winner"] == wanted["winner"]
            assert info["illegal"] is wanted["illegal"]
            assert info["seat"] == wanted["seat"]
            assert info["episode"]["r"] == pytest.approx(single_reward)
            assert info["episode"]["l"] == lengths[b]
            assert info["episode"]["t"] >= 0
            lengths[b] = 0
            np.testing.assert_array_equal(single.reset()[0], seen[b])
    assert ends > 10
    assert (forfeits > 0) == (illegal == "lose")


@pytest.mark.filterwarnings("ignore:The environment is already wrapped with a `Monitor`:UserWarning")
def test_a_vecmonitor_records_what_the_last_info_holds(tmp_path):
    keywords = ("counts", "winner", "illegal", "seat")
    envs: Any = VecMonitor(MancalaVecEnv(4, "leyla", seed=0), str(tmp_path / "log"), info_keywords=keywords)
    envs.reset()
    episodes = []
    while len(episodes) < 4:
        masks = envs.env_method("action_masks")
        infos = envs.step(np.array([mask.argmax() for mask in masks]))[3]
        episodes += [info["episode"] for info in infos if "episode" in info]
    envs.close()
    for episode in episodes:
        won = 0 if episode["winner"] == -1 else (1 if episode["winner"] == episode["seat"] else -1)
        assert episode["r"] == won
        assert sum(episode["counts"]) == 48
    assert len((tmp_path / "log.monitor.csv").read_text(encoding="utf-8").splitlines()) == 2 + len(episodes)


def test_an_episode_at_the_limit_of_rounds_is_truncated():
    ruleset = rulesets.lookup("gabata_i")
    start = Position(ruleset)
    last = Position(ruleset, start.seeds, stores=start.stores, player=0, round=MAX_ROUNDS, starter=0)
    envs: Any = MancalaVecEnv(20, ruleset, rounds="match", seed=0)
    envs.set_options({"position": last})
    envs.reset()
    rng, found = np.random.default_rng(0), {}
    while len(found) < 20:
        masks = envs.action_masks()
        _, _, dones, infos = envs.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in masks]))
        for b in np.flatnonzero(dones):
            found.setdefault(int(b), infos[b]["TimeLimit.truncated"])
    assert set(found.values()) == {True}


def test_a_reset_starts_the_lengths_of_episodes_again():
    envs: Any = MancalaVecEnv(2, "leyla", seed=0)
    envs.reset()
    for _ in range(2):
        envs.step(envs.action_masks().argmax(axis=1))
    envs.reset()
    steps, infos = 0, [{}]
    while not infos[0]:
        infos = envs.step(envs.action_masks().argmax(axis=1))[3]
        steps += 1
    assert infos[0]["episode"]["l"] == steps


def test_a_step_plays_the_actions_as_they_were_when_it_was_asked_for():
    one, other = (MancalaVecEnv(4, "leyla", opponent="greedy", seed=5) for _ in range(2))
    one.reset()
    other.reset()
    for _ in range(20):
        actions = one.action_masks().argmax(axis=1)
        one.step_async(actions)
        other.step_async(actions.copy())
        actions[:] = 99
        for a, b in zip(one.step_wait()[:3], other.step_wait()[:3], strict=True):
            np.testing.assert_array_equal(a, b)


def test_attributes_and_methods_are_those_of_all_games():
    envs: Any = MancalaVecEnv(3, "leyla", seed=0)
    envs.reset()
    assert envs.get_attr("num_envs") == [3, 3, 3]
    assert envs.get_attr("num_envs", indices=[0, 2]) == [3, 3]
    assert envs.get_attr("num_envs", indices=1) == [3]
    assert envs.get_attr("num_envs", indices=iter([0, 2])) == [3, 3]
    assert envs.has_attr("ruleset")
    assert not envs.has_attr("nonsense")
    np.testing.assert_array_equal(envs.env_method("action_masks", indices=[2])[0], envs.action_masks()[2])
    assert len(envs.env_method("action_masks")) == 3
    assert envs.get_attr("position") == [envs.position(b) for b in range(3)]
    assert envs.get_attr("seat", indices=[2, 0]) == [envs._duel.seats[2], envs._duel.seats[0]]
    assert envs.get_attr("metadata", indices=[0])[0]["observation"] == "board"
    assert envs.env_is_wrapped(Monitor) == [True] * 3
    assert envs.env_is_wrapped(Monitor, indices=[0]) == [True]
    assert envs.env_is_wrapped(Monitor, indices=iter([0])) == [True]
    assert envs.env_is_wrapped(VecMonitor) == [False] * 3


def test_an_opponent_that_is_set_plays_from_the_next_episode_of_each_game():
    envs: Any = VecMonitor(MancalaVecEnv(16, "leyla", opponent="random", seed=0))
    envs.set_attr("opponent", "greedy")
    envs.reset()
    assert {agent.spec for agent in envs.get_attr("opponent")} == {"greedy"}
    envs.set_attr("opponent", ["random", "minimax:1"])
    specs = [agent.spec for agent in envs.get_attr("opponent")]
    assert specs == ["greedy"] * 16
    has_ended = np.zeros(16, np.bool_)
    while not has_ended.all():
        has_ended |= envs.step(np.array(envs.env_method("action_masks")).argmax(axis=1))[2]
        for ended, agent in zip(has_ended, envs.get_attr("opponent"), strict=True):
            assert (agent.spec != "greedy") == ended
    assert {agent.spec for agent in envs.get_attr("opponent")} == {"random", "minimax:1"}


def test_the_same_games_follow_from_an_opponent_that_is_set_as_from_one_of_the_constructor():
    made: Any = MancalaVecEnv(8, "leyla", opponent=["greedy", "minimax:2"], seed=3)
    changed: Any = MancalaVecEnv(8, "leyla", seed=3)
    assert changed.env_method("set_opponent", ["greedy", "minimax:2"]) == [None] * 8
    np.testing.assert_array_equal(made.reset(), changed.reset())
    for _ in range(30):
        actions = made.action_masks().argmax(axis=1)
        for one, other in zip(made.step(actions)[:3], changed.step(actions)[:3], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("opponent", "kind"),
    [("gredy", InvalidSpec), (agents.make("greedy", "gabata_i"), InvalidSpec), (3, InvalidArgument)],
)
def test_an_opponent_that_cannot_play_is_refused_and_the_present_one_stays(opponent, kind):
    envs: Any = MancalaVecEnv(2, "leyla", opponent="greedy", seed=0)
    envs.reset()
    said = opponent.spec if isinstance(opponent, Agent) else opponent
    with raises(kind, said):
        envs.set_attr("opponent", opponent)
    envs.reset()
    assert [agent.spec for agent in envs.get_attr("opponent")] == ["greedy"] * 2


def test_what_cannot_be_set_or_called_is_refused():
    envs: Any = MancalaVecEnv(4, "leyla", seed=0)
    for kind in (InvalidArgument, AttributeError):
        with raises(kind, "nonsense", "opponent"):
            envs.set_attr("nonsense", 3)
        with raises(kind, "seat", "opponent"):
            envs.set_attr("seat", "north")
        with raises(kind, "position", "action_masks", "set_opponent"):
            envs.env_method("position", 1)
    assert not hasattr(envs, "nonsense")
    with pytest.raises(AttributeError):
        envs.get_attr("nonsense")
    with raises(InvalidArgument, "opponent", 4, 2):
        envs.set_attr("opponent", "greedy", indices=[0, 2])
    with raises(InvalidArgument, "set_opponent", 4, 1):
        envs.env_method("set_opponent", "greedy", indices=1)
    envs.set_attr("opponent", "greedy", indices=range(4))
    envs.reset()
    assert envs.get_attr("opponent")[0].spec == "greedy"


def learner_of(env: Any, **options: Any) -> MaskablePPO:
    return MaskablePPO(
        "MlpPolicy", env, n_steps=8, batch_size=64, n_epochs=1, seed=0, device="cpu", **options
    )


def test_a_learner_meets_frozen_copies_of_itself():
    env: Any = MancalaVecEnv(8, "leyla", observation="afterstates", flatten=True, seed=0)
    model = learner_of(VecMonitor(env), learning_rate=0.01)
    callback = SelfPlayCallback(every=64, pool=3)
    keys = []

    class Watch(BaseCallback):
        def _on_step(self) -> bool:
            keys.append([agent.entrant for agent in callback.opponents])
            return True

    model.learn(320, callback=[callback, Watch()])
    assert [agent.spec for agent in callback.opponents] == [f"MaskablePPO-{n}" for n in (192, 256, 320)]
    assert len({key for some in keys for key in some}) == 6  # all copies differ, and none ever changes
    assert set(env._duel.opponents[:3]) == set(callback.opponents)
    met = {agent.spec for agent in env.get_attr("opponent")}
    assert met & {f"MaskablePPO-{n}" for n in (128, 192, 256, 320)}
    model.learn(64, callback=callback, reset_num_timesteps=False)
    assert callback.opponents[-1].spec == "MaskablePPO-384"


def test_a_learner_of_separate_environments_meets_copies_as_well():
    kwargs = {"render_mode": None, "opponent": "greedy", "rounds": 2, "ruleset": "gabata_i"}
    env = make_vec_env("mancala/Gabata-v0", n_envs=2, seed=0, env_kwargs=kwargs)
    callback = SelfPlayCallback(every=100, pool=1)
    learner_of(env).learn(16, callback=callback)
    env.reset()
    assert [agent.spec for agent in env.get_attr("opponent")] == ["MaskablePPO-0"] * 2


def test_games_in_other_processes_are_refused_for_self_play():
    fork = {"start_method": "fork"}
    env = make_vec_env(MancalaEnv, 1, vec_env_cls=SubprocVecEnv, vec_env_kwargs=fork)
    try:
        with raises(InvalidArgument, "SubprocVecEnv", "MancalaVecEnv", "DummyVecEnv"):
            learner_of(env).learn(16, callback=SelfPlayCallback())
    finally:
        env.close()


def test_a_learner_without_masks_meets_copies_as_well():
    env = MancalaVecEnv(4, "leyla", illegal="random", seed=0)
    model = DQN("MlpPolicy", env, learning_starts=16, buffer_size=500, seed=0, device="cpu")
    callback = SelfPlayCallback(every=40, pool=2)
    model.learn(200, callback=callback)
    assert [agent.spec for agent in callback.opponents] == ["DQN-160", "DQN-200"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"every": 0}, ("every", 0)), ({"pool": 0}, ("pool", 0)), ({"deterministic": 2}, ("deterministic", 2))],
)
def test_an_invalid_schedule_of_self_play_is_refused(wrong: Any, said):
    with raises(InvalidArgument, *said):
        SelfPlayCallback(**wrong)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1"])
def test_an_invalid_seed_is_refused_at_once(seed: Any) -> None:
    envs = MancalaVecEnv(2, "leyla", seed=0)
    with raises(InvalidArgument, repr(seed)):
        envs.seed(seed)


def test_games_are_seeded_apart_and_reset_again_from_the_seed():
    envs = MancalaVecEnv(4, "leyla", seed=3)
    first = envs.reset()
    assert len(np.unique(first, axis=0)) > 1
    assert not np.array_equal(envs.reset(), first)
    envs.seed(3)
    np.testing.assert_array_equal(envs.reset(), first)
    one, other = MancalaVecEnv(4, "leyla").reset(), MancalaVecEnv(4, "leyla").reset()
    assert not np.array_equal(one, other)


def test_the_info_of_an_episode_has_its_seconds_and_stays_as_it_is(monkeypatch):
    now = 1000.0
    monkeypatch.setattr("mancala_env.envs.sb3.time.time", lambda: now)
    envs: Any = MancalaVecEnv(2, "leyla", seed=0)
    now = 1012.5000004
    envs.reset()
    kept = []
    while len(kept) < 4:
        infos = envs.step(envs.action_masks().argmax(axis=1))[3]
        kept += [(info, copy.deepcopy(info)) for info in infos if info]
        now += 0.25
    assert kept[0][0]["episode"]["t"] == 12.5 + 0.25 * (kept[0][0]["episode"]["l"] - 1)
    for _ in range(20):
        envs.step(envs.action_masks().argmax(axis=1))
    for info, before in kept:
        np.testing.assert_equal(info, before)


@pytest.mark.parametrize(("num_envs", "width"), [(1, WIDTH), (2, 640), (5, 426), (65, 160)])
def test_games_are_drawn_smaller_where_there_are_many(num_envs, width):
    envs: Any = MancalaVecEnv(num_envs, "leyla", seed=0, render_mode="rgb_array")
    assert envs.render_mode == "rgb_array"
    assert envs.metadata["render_modes"] == ["rgb_array"]
    assert envs.metadata["render_fps"] == 2
    envs.reset()
    envs.step(envs.action_masks().argmax(axis=1))
    images = envs.get_images()
    assert [image.shape[1] for image in images] == [width] * num_envs
    last = seen_of(envs._duel, num_envs - 1, envs.position(num_envs - 1))
    assert last.ends
    np.testing.assert_array_equal(images[-1], pixels_of(last.scene(), width=width))


def test_an_unknown_argument_is_refused_with_a_suggestion():
    wrong: Any = {"oponent": "greedy"}
    with raises(UnknownOption, "oponent", "opponent"):
        MancalaVecEnv(2, "leyla", **wrong)


def test_a_forgotten_mask_is_named():
    env = MancalaVecEnv(2, "leyla", opening_turns=6, seed=0)
    env.reset()
    masks = env.action_masks()
    while masks.all():
        env.step(masks.argmax(axis=1))
        masks = env.action_masks()
    with raises(IllegalMove, int(masks.all(axis=1).argmin()), "action_masks()", "illegal='random'"):
        env.step(masks.argmin(axis=1))
    with raises(IllegalMove, 99, "action_masks()"):
        env.step(np.array([99, 0]))


def test_there_is_no_position_before_the_first_reset():
    env = MancalaVecEnv(2, "leyla", seed=0)
    with raises(ResetNeeded, "reset()"):
        env.position(1)
    env.reset()
    assert env.position(1).ruleset == env.ruleset
