"""Returned values belong to the caller: neither edits nor later steps have side effects."""

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from mancala_env import IllegalMove, gabata_v0, layli_goobalay_v0
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.rulesets import lookup
from mancala_env.training.rollout import SelfPlayEnv

NUM_STEPS = 60


def spoil(value: Any) -> None:
    """Overwrite all mutable parts of a returned value."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            for one in value:
                spoil(one)
        value[...] = None if value.dtype == object else 1
    elif isinstance(value, dict):
        for one in value.values():
            spoil(one)
        value.clear()
    elif isinstance(value, list | tuple):
        for one in value:
            spoil(one)


def play_aec(options: dict[str, Any], module: Any, is_spoiling: bool) -> list[Any]:
    env: Any = module.env(rounds=2, **options)
    rng, history = np.random.default_rng(0), []
    env.reset(seed=3)
    for _ in range(NUM_STEPS):
        agent = env.agent_selection
        mask = env.unwrapped._masks[int(agent[-1])].copy()
        is_over = env.terminations[agent]
        returned = [env.last(), env.observe(agent), env.infos, env.rewards]
        history.append(copy.deepcopy([agent, returned[:2], is_over]))
        if is_spoiling:
            spoil(returned)
        if is_over:
            env.reset()
        else:
            env.step(int(rng.choice(np.flatnonzero(mask))))
    return history


def play_gym(env: Any, legal: Any, is_spoiling: bool) -> list[Any]:
    """Play a Gymnasium environment, one or many; `legal` returns the true mask."""
    rng, history = np.random.default_rng(0), []
    space, returned = env.action_space, env.reset(seed=3)
    for _ in range(NUM_STEPS):
        masks = np.atleast_2d(legal())
        actions = np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])
        history.append(copy.deepcopy(returned))
        if is_spoiling:
            spoil([*returned, space.mask, env.action_masks()])
        if isinstance(env, MancalaVectorEnv):
            returned = env.step(actions)
        else:
            returned = env.step(int(actions[0])) if masks.any() else env.reset()
    return history


def play_sb3(env: Any, is_spoiling: bool) -> list[Any]:
    rng, history = np.random.default_rng(0), []
    returned: Any = [env.reset()]
    for _ in range(NUM_STEPS):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
        if len(returned) == 4:
            for info in returned[3]:
                info.get("episode", {}).pop("t", None)
        history.append(copy.deepcopy(returned))
        if is_spoiling:
            spoil([*returned, env.action_masks()])
            spoil(env.env_method("action_masks"))
        env.step_async(actions)
        actions[:] = 99
        returned = env.step_wait()
    return history


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        for a, b in zip(one, other, strict=True):
            assert_same(a, b) if one.dtype == object else np.testing.assert_array_equal(a, b)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert one == other


@pytest.mark.parametrize("kind", ["board", "afterstates"])
@pytest.mark.parametrize("module", [layli_goobalay_v0, gabata_v0])
def test_edits_change_nothing_in_pettingzoo(module, kind):
    honest, spoiled = (play_aec({"observation": kind}, module, spoils) for spoils in (False, True))
    assert_same(honest, spoiled)


@pytest.mark.parametrize("illegal", ["raise", "lose", "random"])
@pytest.mark.parametrize("kind", ["board", "afterstates"])
def test_edits_change_nothing_in_gymnasium(kind, illegal):
    options: Any = {"observation": kind, "illegal": illegal, "rounds": 2, "seat": "random"}

    def history(is_spoiling: bool) -> list[Any]:
        env = MancalaEnv("gabata_i", **options)
        return play_gym(env, lambda: env._duel.legal_mask, is_spoiling)

    assert_same(history(False), history(True))


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("kind", ["board", "afterstates"])
def test_edits_change_nothing_in_a_vector_environment(kind, mode):
    def history(is_spoiling: bool) -> list[Any]:
        env = MancalaVectorEnv(3, "leyla", observation=kind, seat="random", autoreset_mode=mode)
        step = env.step

        def step_and_reset(actions: Any) -> Any:
            over = env._duel.is_over
            if mode == AutoresetMode.DISABLED and over.any():
                where = over.copy()
                returned = env.reset(options={"reset_mask": where})
                spoil(where)
                return returned
            return step(actions)

        env.step = step_and_reset
        return play_gym(env, lambda: env._duel.legal_mask, is_spoiling)

    assert_same(history(False), history(True))


@pytest.mark.parametrize("kind", ["board", "afterstates"])
def test_edits_change_nothing_in_a_vecenv(kind):
    honest, spoiled = (
        play_sb3(MancalaVecEnv(3, "leyla", observation=kind, seed=3), spoils) for spoils in (False, True)
    )
    assert any("winner" in info for returned in honest[1:] for info in returned[3])
    assert_same(honest, spoiled)


@pytest.mark.parametrize("make", [MancalaVectorEnv, MancalaVecEnv])
def test_later_steps_do_not_touch_what_was_returned(make):
    env: Any = make(4, "layli_goobalay", opponent="greedy", opening_turns=0)
    kept = [env.reset()]
    before = copy.deepcopy(kept)
    for _ in range(NUM_STEPS):
        kept.append(env.step(env.action_masks().argmax(axis=1)))
        before.append(copy.deepcopy(kept[-1]))
    assert any((rewards != 0).any() for _, rewards, *_ in kept[1:])
    assert_same(before, kept)


def test_later_steps_of_self_play_do_not_touch_masks_and_observations():
    env = SelfPlayEnv(lookup("layli_goobalay"), "board", 4, pool=["random"], pool_share=0.5, seed=0)
    kept: list[Any] = [env.reset(), env.action_masks()]
    before = copy.deepcopy(kept)
    for _ in range(20):
        seen, rewards, dones, _ = env.step(kept[-1].argmax(axis=1))
        kept += [seen, rewards, dones, env.action_masks()]
        before += copy.deepcopy(kept[-4:])
    assert_same(before, kept)


def test_the_guard_does_not_read_the_mask_that_it_gave_away():
    env: Any = layli_goobalay_v0.env()
    env.reset(options={"position": "layli_goobalay 0,4,4,4,4,4/4,4,4,4,4,4 4-0 S"})
    env.infos["player_0"]["action_mask"][:] = [1, 0, 0, 0, 0, 0]
    env.step(1)
    assert env.agent_selection == "player_1"
    assert not env.terminations["player_0"]
    env.infos.clear()
    env.step(0)
    assert not env.terminations["player_0"]

    env.reset(options={"position": "layli_goobalay 0,4,4,4,4,4/4,4,4,4,4,4 4-0 S"})
    env.infos["player_0"]["action_mask"][:] = 1
    env.step(0)
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.rewards == {"player_0": -1, "player_1": 0}


def test_an_edited_action_space_makes_no_action_legal():
    env = MancalaEnv()
    env.reset(seed=0, options={"position": "layli_goobalay 0,4,4,4,4,4/4,4,4,4,4,4 4-0 S"})
    space: Any = env.action_space
    space.mask[:] = [1, 0, 0, 0, 0, 0]
    assert env.action_masks().tolist() == [False, True, True, True, True, True]
    with pytest.raises(IllegalMove, match="0"):
        env.step(0)
    env.step(1)
