"""The vector environment: the same episodes as single environments, and steps of some games of a Batch."""

import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from error_checks import raises
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import (
    ClipReward,
    DictInfoToList,
    FlattenObservation,
    NormalizeObservation,
    RecordEpisodeStatistics,
    TransformObservation,
)

from mancala_env import Batch, IllegalMove, Position, Ruleset, rulesets
from mancala_env.agents import Agent, InvalidSpec
from mancala_env.envs.families import FAMILIES
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.errors import InvalidArgument, InvalidPosition
from mancala_env.observations import KINDS

CUSTOM = Ruleset(name="narrow", row_width=3, seeds_per_hole=5, landing="uur", match="mirror")
ALL = [*rulesets.names(), CUSTOM]
IDS = [family.gym_id for family in FAMILIES.values()]


class Lowest(Agent):
    """A deterministic opponent that plays the lowest legal action."""

    def __init__(self, ruleset):
        super().__init__(ruleset, spec="lowest", num_threads=1)

    def act(self, games):
        return np.array(
            [Position.from_games(self.ruleset, games, b).legal_actions[0] for b in range(len(games))]
        )


def assert_same(one: Any, other: Any) -> None:
    """Assert that two returned values are equal, including types of arrays."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, tuple) or (isinstance(one, np.ndarray) and one.dtype == object):
        assert len(one) == len(other)
        for own, its in zip(one, other, strict=True):
            assert_same(own, its)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("ruleset", ALL, ids=str)
def test_every_game_follows_the_single_env(ruleset, rounds):
    """With a deterministic opponent, each row equals a MancalaEnv, including autoreset."""
    for seat, reward, first_player in (("south", "outcome", 1), ("north", "margin", 0)):
        options: Any = {
            "seat": seat,
            "reward": reward,
            "first_player": first_player,
            "rounds": rounds,
            "opening_turns": 0,
        }
        vector = MancalaVectorEnv(3, ruleset, opponent=Lowest(ruleset), num_threads=1, **options)
        singles = [MancalaEnv(ruleset, opponent=Lowest(ruleset), **options) for _ in range(3)]
        seen, infos = vector.reset()
        for b, env in enumerate(singles):
            one, info = env.reset()
            np.testing.assert_array_equal(seen[b], one)
            np.testing.assert_array_equal(infos["action_mask"][b], info["action_mask"])
        rng = np.random.default_rng(0)
        for _ in range(60):
            actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in infos["action_mask"]])
            seen, rewards, terminations, truncations, infos = vector.step(actions)
            assert not truncations.any()
            for b, env in enumerate(singles):
                one, reward_of_one, terminated, _, info = env.step(int(actions[b]))
                assert (rewards[b], terminations[b]) == (reward_of_one, terminated)
                if terminated:
                    np.testing.assert_array_equal(infos["final_obs"][b], one)
                    for key, value in info.items():
                        np.testing.assert_array_equal(infos["final_info"][key][b], value)
                    one, info = env.reset()
                np.testing.assert_array_equal(seen[b], one)
                np.testing.assert_array_equal(infos["action_mask"][b], info["action_mask"])
                assert vector.position(b) == env.position


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
def test_one_game_is_the_single_env_chance_included(ruleset):
    options: Any = {
        "opponent": "random",
        "seat": "random",
        "first_player": "random",
        "opening_turns": 2,
        "rounds": 2,
    }
    vector = MancalaVectorEnv(1, ruleset, **options)
    single = MancalaEnv(ruleset, **options)
    seen, infos = vector.reset(seed=11)
    one, _ = single.reset(seed=11)
    rng = np.random.default_rng(0)
    num_episodes = 0
    for _ in range(200):
        np.testing.assert_array_equal(seen[0], one)
        assert infos["seat"][0] == single.seat
        action = rng.choice(np.flatnonzero(infos["action_mask"][0]))
        seen, rewards, _, _, infos = vector.step(np.array([action]))
        one, reward, terminated, _, _ = single.step(action)
        assert rewards[0] == reward
        if terminated:
            num_episodes += 1
            one, _ = single.reset()
    assert num_episodes > 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gym_id", IDS)
def test_it_returns_what_sync_vector_env_returns(gym_id, kind):
    """Names, shapes and types equal those of Gymnasium's own vector environment in the same mode."""
    native = gymnasium.make_vec(gym_id, num_envs=2, observation=kind)
    sync = gymnasium.make_vec(
        gym_id,
        num_envs=2,
        observation=kind,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
    )
    assert isinstance(native.unwrapped, MancalaVectorEnv)
    assert native.metadata["autoreset_mode"] == sync.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(native, space) == getattr(sync, space)

    def kinds(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kinds(inner) for key, inner in value.items()}
        return (value.shape, value.dtype)

    last = {}
    for env in (native, sync):
        seen, infos = env.reset(seed=1)
        assert env.observation_space.contains(seen)
        rng = np.random.default_rng(0)
        returned: Any = ()
        while not returned or not returned[2].any():
            actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in infos["action_mask"]])
            returned = env.step(actions)
            infos = returned[-1]
        last[env] = [kinds(value) for value in returned]
    assert last[native] == last[sync]


@pytest.mark.parametrize("most", [1, 6, 12])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_episodes_are_truncated_as_sync_vector_env_truncates_them(mode, most):
    """With limits below and about the length of an episode, games and infos equal Gymnasium's TimeLimit."""
    options: Any = {"num_envs": 5, "opponent": "greedy", "seat": "random", "max_episode_steps": most}
    native: Any = gymnasium.make_vec(IDS[1], autoreset_mode=mode, **options)
    sync: Any = gymnasium.make_vec(
        IDS[1], vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    assert native.spec is not None
    assert native.spec.kwargs["max_episode_steps"] == most
    rng, num_late, num_ended = np.random.default_rng(0), 0, 0
    (seen, infos), wanted = native.reset(seed=3), sync.reset(seed=3)
    assert_same((seen, infos), wanted)
    ended = np.zeros(5, np.bool_)
    for _ in range(60):
        if mode == AutoresetMode.DISABLED and ended.any():
            again: Any = {"reset_mask": ended}
            (_, infos), wanted = native.reset(options=dict(again)), sync.reset(options=dict(again))
            np.testing.assert_array_equal(native.unwrapped.action_masks(), wanted_masks(sync))
        masks = native.unwrapped.action_masks()
        actions = np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])
        stepped, wanted = native.step(actions), sync.step(actions)
        assert_same(stepped, wanted)
        ended = stepped[2] | stepped[3]
        num_late, num_ended = num_late + (stepped[3] & ~stepped[2]).sum(), num_ended + stepped[2].sum()
    assert num_late > 2
    assert (num_ended > 5) == (most > 1)


def wanted_masks(sync: Any) -> np.ndarray:
    return np.stack([env.unwrapped.action_masks() for env in sync.envs])


def test_the_seed_decides_everything():
    env = MancalaVectorEnv(40, "gabata_i", seat="random", first_player="random", opening_turns=3)

    def play(seed):
        env.action_space.seed(0)
        history = [env.reset(seed=seed)[0]]
        history += [env.step(env.action_space.sample())[0] for _ in range(50)]
        return np.array(history)

    np.testing.assert_array_equal(play(1), play(1))
    assert (play(1) != play(2)).any()


def test_games_that_are_given_no_seed_are_different_ones():
    for seeds in (None, [None, None, None], [None, 7, None]):
        envs = MancalaVectorEnv(3, "leyla", opening_turns=6)
        envs.reset(seed=seeds)
        starts = [envs.position(b) for b in range(3)]
        assert len({start.to_text() for start in starts}) > 1  # two may be equal by chance
        again = MancalaVectorEnv(3, "leyla", opening_turns=6)
        again.reset(seed=envs.np_random_seed)
        assert [again.position(b) for b in range(3)] == starts


@pytest.mark.parametrize("seed", [np.array(5), [1, 2], -1, [1, -1, 2], "abc", np.zeros((3, 2))])
def test_a_seed_that_is_not_one_or_one_for_each_game_is_named(seed):
    with raises(InvalidArgument, "seed"):
        MancalaVectorEnv(3).reset(seed=seed)


def test_a_generator_that_somebody_puts_in_deals_the_games():
    starts = []
    for _ in range(2):
        envs = MancalaVectorEnv(3, "leyla", opening_turns=6)
        envs.np_random = np.random.default_rng(5)
        envs.reset()
        starts.append([envs.position(b) for b in range(3)])
    assert starts[0] == starts[1]
    assert len({start.to_text() for start in starts[0]}) == 3


def test_threads_change_nothing():
    def play(num_threads):
        env = MancalaVectorEnv(1100, "leyla", num_threads=num_threads, seat="random")
        env.action_space.seed(0)
        env.reset(seed=0)
        return [env.step(env.action_space.sample())[:3] for _ in range(30)]

    for one, three in zip(play(1), play(3)):
        for a, b in zip(one, three):
            np.testing.assert_array_equal(a, b)


def test_the_learner_is_to_move_in_every_game_at_every_step():
    env = MancalaVectorEnv(64, "gabata_i", seat="random", rounds="match")
    _, infos = env.reset(seed=0)
    seats = set()
    for _ in range(200):
        for b in range(0, 64, 16):
            assert env.position(b).player == env.seats[b]
        assert infos["action_mask"].any(axis=1).all()
        np.testing.assert_array_equal(infos["action_mask"], env.action_masks())
        seats |= set(env.seats)
        *_, infos = env.step(env.action_space.sample())
    assert seats == {0, 1}


def test_samples_are_legal_and_each_equally_likely():
    env = MancalaVectorEnv(4000, "leyla", opening_turns=0)
    env.reset(seed=0)
    env.action_space.seed(0)
    env.step(np.full(4000, 2))
    mask = env.action_masks()
    drawn = np.zeros(mask.shape)
    for _ in range(30):
        drawn[np.arange(4000), env.action_space.sample()] += 1
    assert not drawn[~mask].any()
    expected = 30 * mask / mask.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(drawn.sum(axis=0), expected.sum(axis=0), rtol=0.03)
    one_each = tuple(np.eye(6, dtype=np.int8)[np.full(4000, 3)])
    assert (env.action_space.sample(mask=one_each) == 3).all()


def test_an_illegal_action_raises_names_its_game_and_changes_nothing():
    env = MancalaVectorEnv(3, "ludii_leyla_gobale_somaliland", opening_turns=0)
    env.reset(seed=0)
    with raises(IllegalMove, "game 1", "action 4"):
        env.step(np.array([0, 4, 0]))
    assert all(env.position(b) == Position("ludii_leyla_gobale_somaliland") for b in range(3))
    env.step(np.array([0, 0, 0]))


@pytest.mark.parametrize("actions", [[0, 0], [0.0, 0.0, 0.0], 0, [[0, 0, 0]], [0, 0, None]])
def test_actions_of_another_shape_or_type_are_refused(actions):
    env = MancalaVectorEnv(3)
    env.reset(seed=0)
    with raises(IllegalMove, "actions", 3):
        env.step(actions)


def test_an_illegal_action_loses_its_game_alone_where_that_is_asked_for():
    env = MancalaVectorEnv(
        3, "ludii_leyla_gobale_somaliland", illegal="lose", opponent="greedy", opening_turns=0
    )
    before, _ = env.reset(seed=0)
    seen, rewards, terminations, _, infos = env.step([0, 4, 0])
    assert rewards.tolist() == [0, -1, 0]
    assert terminations.tolist() == [False, True, False]
    assert infos["final_info"]["illegal"].tolist() == [False, True, False]
    assert infos["final_info"]["winner"][1] == 1
    assert infos["final_info"]["counts"][1].tolist() == [24, 24]
    np.testing.assert_array_equal(infos["final_obs"][1], before[1])
    np.testing.assert_array_equal(seen[1], before[1])
    with raises(IllegalMove, "game 2", "action 6", 5):
        env.step([0, 0, 6])


def test_forfeits_follow_the_single_env():
    vector = MancalaVectorEnv(
        2, illegal="lose", opponent=Lowest("layli_goobalay"), seat="north", opening_turns=0
    )
    singles = [
        MancalaEnv(illegal="lose", opponent=Lowest("layli_goobalay"), seat="north", opening_turns=0)
        for _ in "ab"
    ]
    vector.reset()
    for env in singles:
        env.reset()
    rng = np.random.default_rng(3)
    num_forfeits = 0
    for _ in range(200):
        actions = rng.integers(6, size=2)
        seen, rewards, _, _, infos = vector.step(actions)
        for b, env in enumerate(singles):
            one, reward, terminated, _, info = env.step(actions[b])
            assert rewards[b] == reward
            if terminated:
                num_forfeits += info["illegal"]
                np.testing.assert_array_equal(infos["final_obs"][b], one)
                for key, value in info.items():
                    np.testing.assert_array_equal(infos["final_info"][key][b], value)
                one, _ = env.reset()
            np.testing.assert_array_equal(seen[b], one)
    assert num_forfeits > 10


def test_stepping_before_reset_raises():
    with pytest.raises(ResetNeeded):
        MancalaVectorEnv(2).step([0, 0])


@pytest.mark.parametrize("b", [0, 1, 2])
def test_there_is_no_position_before_reset(b):
    with pytest.raises(ResetNeeded):
        MancalaVectorEnv(2).position(b)


def test_the_index_of_a_position_is_checked():
    env = MancalaVectorEnv(2)
    env.reset(seed=1)
    with raises(InvalidPosition, "2"):
        env.position(2)


@pytest.mark.parametrize("opponent", ["random", Lowest("leyla")], ids=["random", "asked"])
def test_a_reset_of_some_games_leaves_the_pictures_of_the_others(opponent):
    free, limited = (
        MancalaVectorEnv(3, "leyla", opponent=opponent, render_mode="svg", max_episode_steps=most)
        for most in (None, 3)
    )
    first = np.array([True, False, False])
    for env in (free, limited):
        env.reset(seed=5)
        env.step(env.action_masks().argmax(axis=1))
        drawn: Any = env.render()
        assert drawn[1] != env.position(1).to_svg()  # the last turn is marked
        env.reset(options={"reset_mask": first})
        again: Any = env.render()
        assert again[1:] == drawn[1:]
        env.step(env.action_masks().argmax(axis=1))
    free.step(free.action_masks().argmax(axis=1))
    truncated = limited.step(limited.action_masks().argmax(axis=1))[3]
    assert truncated.tolist() == [False, True, True]
    pictures: list[Any] = [env.render() for env in (free, limited)]
    assert pictures[0][0] == pictures[1][0] != free.position(0).to_svg()


def test_what_is_returned_is_the_callers_to_change():
    env = MancalaVectorEnv(8, opening_turns=0)
    seen, infos = env.reset(seed=0)
    kept = seen.copy()
    infos["action_mask"][:] = 0
    assert env.action_masks().all()
    _, rewards, terminations, *_ = env.step(env.action_space.sample())
    np.testing.assert_array_equal(seen, kept)
    rewards[:] = 9
    terminations[:] = True
    assert not env.step(env.action_space.sample())[2].any()


def test_gymnasium_vector_wrappers_work():
    env = RecordEpisodeStatistics(gymnasium.make_vec(IDS[0], num_envs=4))
    _, infos = env.reset(seed=1)
    while env.episode_count == 0:
        *_, infos = env.step(env.action_space.sample())
    won = infos["episode"]["r"][infos["_episode"]]
    winner = infos["final_info"]["winner"][infos["_episode"]]
    assert (won == np.array([1, -1, 0])[winner]).all()

    listed = DictInfoToList(gymnasium.make_vec(IDS[1], num_envs=2))
    _, info = listed.reset(seed=1)
    ended = np.zeros(2, np.bool_)
    while not ended.any():
        _, _, ended, _, info = listed.step(listed.action_space.sample())
    b = int(np.flatnonzero(ended)[0])
    assert sum(info[b]["final_info"]["counts"]) == 48


ANY_MODE = [mode.value for mode in AutoresetMode]


@pytest.mark.parametrize(
    ("wrapper", "modes"),
    [
        (NormalizeObservation, ["NextStep"]),
        (FlattenObservation, ["NextStep", "Disabled"]),
        (lambda env: TransformObservation(env, np.abs), ["NextStep", "Disabled"]),
        (lambda env: ClipReward(env, -0.5, 0.5), ANY_MODE),
        (RecordEpisodeStatistics, ANY_MODE),
        (DictInfoToList, ANY_MODE),
    ],
)
def test_a_wrapper_works_or_names_the_mode_it_needs(wrapper, modes):
    """The table of docs/guides/libraries.md."""
    for mode in AutoresetMode:
        inner = gymnasium.make_vec(IDS[0], num_envs=2, observation="replies", autoreset_mode=mode)
        if mode.value not in modes:
            with raises(InvalidArgument, "autoreset_mode", modes, mode.value):
                wrapper(ClipReward(inner, -1, 1))  # the wrapper looks through others
            continue
        env: Any = wrapper(inner)
        seen, _ = env.reset(seed=1)
        for _ in range(30):
            seen, _, terminations, _, _ = env.step(env.action_space.sample())
            if mode == AutoresetMode.DISABLED and terminations.any():
                env.reset(options={"reset_mask": terminations})
        assert seen.shape == env.observation_space.shape


def test_a_vector_env_meets_a_new_opponent_in_the_next_episode_of_a_game():
    env = MancalaVectorEnv(4, "leyla", opponent="random", autoreset_mode="Disabled")
    env.reset(seed=0)
    env.set_opponent("greedy")
    assert [agent.spec for agent in env.opponents] == ["greedy", "random"]
    env.reset(options={"reset_mask": np.array([True, True, False, True])})
    assert env._duel.opponent_of.tolist() == [0, 0, 1, 0]
    with raises(InvalidSpec, "gredy"):
        env.set_opponent("gredy")
    env.reset()
    env.set_opponent("greedy")
    assert {env.opponents[i].spec for i in env._duel.opponent_of} == {"greedy"}


def test_no_two_arrays_that_are_returned_share_memory():
    """A caller who edits one of them leaves the others as they are."""

    def arrays(value: Any) -> list[np.ndarray]:
        if isinstance(value, dict | tuple):
            values = value.values() if isinstance(value, dict) else value
            return [array for one in values for array in arrays(one)]
        return [value] if isinstance(value, np.ndarray) else []

    for mode in AutoresetMode:
        env = MancalaVectorEnv(3, "leyla", autoreset_mode=mode)
        where = np.ones(3, np.bool_)
        returned: list[Any] = [(where, *env.reset(seed=0, options={"reset_mask": where}))]
        while "counts" not in returned[-1][-1] and "final_info" not in returned[-1][-1]:
            returned.append(env.step(env.action_masks().argmax(axis=1)))
        for one in (returned[0], returned[-1]):
            found = arrays(one)
            assert len(found) > 5
            for i, array in enumerate(found):
                assert not any(np.shares_memory(array, other) for other in found[:i] if array.dtype != object)


def test_ansi_draws_every_game():
    env = MancalaVectorEnv(2, "leyla", render_mode="ansi", opening_turns=0)
    env.reset()
    assert env.render() == (str(Position("leyla")),) * 2


def test_an_env_can_be_pickled_in_the_middle_of_episodes():
    env = MancalaVectorEnv(5)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    twin = pickle.loads(pickle.dumps(env))
    action = env.action_space.sample()
    for one, other in zip(env.step(action), twin.step(action)):
        assert_same(one, other)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_envs": 0}, ValueError, ["num_envs", 1, 4294967296, 0]),
        ({"num_envs": 2.5}, ValueError, ["num_envs", 1, 4294967296, 2.5]),
        ({"num_envs": 10**30}, ValueError, ["num_envs", 4294967296, 10**30]),
        ({"opponent": "gredy"}, InvalidSpec, "greedy"),
        ({"seat": 1}, ValueError, ["seat", "south", "north", "random", 1]),
        ({"render_mode": "text"}, ValueError, ["ansi", "svg", "rgb_array", "human", "text"]),
        ({"num_threads": 0}, ValueError, "num_threads"),
        ({"autoreset_mode": "Never"}, ValueError, ["SameStep", "NextStep", "Disabled", "Never"]),
        ({"autoreset_mode": None}, ValueError, ["SameStep", "NextStep", "Disabled", None]),
        ({"max_episode_steps": 0}, ValueError, ["max_episode_steps", 1, 0]),
        ({"max_episode_steps": 2.5}, ValueError, ["max_episode_steps", 1, 2.5]),
    ],
)
def test_wrong_arguments_are_named(options, error, message):
    with raises(error, message):
        MancalaVectorEnv(**options)


def test_no_warning_on_the_way(recwarn):
    warnings.simplefilter("error")
    env = gymnasium.make_vec(IDS[2], num_envs=3, opponent="greedy", rounds=2)
    env.reset(seed=0)
    for _ in range(30):
        env.step(env.action_space.sample())
    env.close()
    env.close()


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "gabata_i"])
def test_a_batch_steps_only_the_games_asked_for(ruleset):
    some, all_of_it = (Batch(ruleset, 30, 2, seed=4, opening_turns=1) for _ in range(2))
    names = ("games", "player", "legal_mask", "observation", "reward", "done", "counts")
    rng = np.random.default_rng(0)
    for _ in range(80):
        where = rng.random(30) < 0.4
        before = {name: getattr(some, name).copy() for name in names}
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in some.legal_mask])
        some.step(np.where(where, actions, -7), where)
        for name in names:
            np.testing.assert_array_equal(getattr(some, name)[~where], before[name][~where])
        some.step(np.where(where, 99, actions), ~where)
        all_of_it.step(actions)
        for name in names:
            np.testing.assert_array_equal(getattr(some, name), getattr(all_of_it, name))
        ended = some.done
        np.testing.assert_array_equal(some.final_games[ended], all_of_it.final_games[ended])
        for b in np.flatnonzero(ended):
            final = Position.from_games(ruleset, some.final_games, int(b))
            assert final.is_over
            assert final.counts == tuple(some.counts[b])


def test_a_batch_refuses_an_illegal_action_only_where_it_is_to_be_played():
    batch = Batch("ludii_leyla_gobale_somaliland", 3, seed=0)
    before = batch.games.copy()
    with raises(IllegalMove, "game 2"):
        batch.step([0, 5, 5], where=np.array([True, False, True]))
    np.testing.assert_array_equal(batch.games, before)
    with raises(ValueError, "where", 3):
        batch.step([0, 0, 0], where=np.array([True, False]))
    batch.step([0, 5, 0], where=np.array([True, False, True]))
    np.testing.assert_array_equal(batch.games[1], before[1])
