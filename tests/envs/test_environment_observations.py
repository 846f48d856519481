"""The observation kinds of every environment: contents, zero rows and spaces."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from error_checks import raises
from expected_observations import FOUR_TURNS, expected

from mancala_env import Batch, Ruleset, agents, gabata_v0, layli_goobalay_v0, leyla_v0, rulesets
from mancala_env.envs.aec import AGENTS
from mancala_env.envs.families import FAMILIES
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.networks.value_files import NoValueNetwork
from mancala_env.observations import KINDS, Observer, kinds_of, observe, version
from mancala_env.observations.per_action import BOARDS

MODULE_OF = {"uur": layli_goobalay_v0, "pair": leyla_v0, "weg": gabata_v0}
OF_ACTIONS = KINDS[1:]
# One ruleset of each family, and one with territory. On wide boards, four turns ahead take minutes in Python.
CASES = [("layli_goobalay", 1), ("leyla", 3), ("gabata_five_holes", "match")]
SMALL = Ruleset(name="narrow", row_width=3, seeds_per_hole=5, landing="uur", match="mirror")


def aec(ruleset, **options) -> Any:
    ruleset = rulesets.lookup(ruleset)
    return MODULE_OF[ruleset.landing].raw_env(ruleset=ruleset, **options)


@pytest.mark.parametrize(("ruleset", "rounds"), CASES, ids=str)
@pytest.mark.parametrize("kind", OF_ACTIONS)
def test_the_mover_sees_his_actions_and_the_other_agent_nothing(kind, ruleset, rounds):
    env = aec(ruleset, rounds=rounds, first_player="random", observation=kind)
    rng = np.random.default_rng(3)
    env.reset(seed=2)
    num_actions = env.action_space("player_0").n
    for turn in range(40 if kind in FOUR_TURNS else 90):
        if not env.terminations["player_0"] and turn % 8 == 0:
            mover = env.position.player
            seen = env.observe(AGENTS[mover])["observation"]
            wanted = [expected(env.position, action, kind, num_actions) for action in range(num_actions)]
            assert seen.tolist() == wanted
            assert seen.dtype == np.int16
            other = env.observe(AGENTS[1 - mover])
            assert not other["observation"].any()
            assert not other["action_mask"].any()
        for agent in AGENTS:
            assert env.observation_space(agent).contains(env.observe(agent))
        if env.terminations["player_0"]:
            assert not any(env.observe(agent)["observation"].any() for agent in AGENTS)
            env.reset()
        env.step(rng.choice(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])))


@pytest.mark.parametrize("illegal", ["raise", "lose"])
@pytest.mark.parametrize(("ruleset", "rounds"), CASES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_learner_sees_his_actions_until_the_episode_is_over(kind, ruleset, rounds, illegal):
    options: Any = {"rounds": rounds, "opponent": "greedy", "seat": "random", "opening_turns": 3}
    env: Any = MancalaEnv(ruleset, observation=kind, illegal=illegal, **options)
    rng = np.random.default_rng(1)
    ends = 0
    seen, info = env.reset(seed=4)
    for _ in range(80):
        assert env.observation_space.contains(seen)
        wanted = np.zeros((1, *env.observation_space.shape), env.observation_space.dtype)
        legal = np.zeros((1, env.action_space.n), np.bool_)
        Observer(env.ruleset, kind, env.action_space.n).write(env.position.games, wanted, legal)
        np.testing.assert_array_equal(seen, wanted[0])
        np.testing.assert_array_equal(info["action_mask"], legal[0])
        forfeits = illegal == "lose" and rng.random() < 0.05 and not info["action_mask"].all()
        action = rng.choice(np.flatnonzero(info["action_mask"] == (0 if forfeits else 1)))
        seen, _, is_over, _, info = env.step(action)
        if is_over:
            ends += 1
            assert env.observation_space.contains(seen)
            if kind == "board":
                np.testing.assert_array_equal(seen, observe(env.ruleset, env.position.games, env.seat)[0])
            else:
                assert not seen.any()
            seen, info = env.reset()
    assert ends or rounds == "match"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_vector_env_shows_each_game_as_the_single_env_does(kind, threads):
    options: Any = {"opponent": "greedy", "observation": kind, "illegal": "lose"}
    vector = MancalaVectorEnv(300, "leyla", num_threads=threads, **options)
    seen, infos = vector.reset(seed=0)
    rng = np.random.default_rng(0)
    space, ended = vector.single_observation_space, 0
    for _ in range(20):
        assert vector.observation_space.contains(seen)
        kept = seen.copy()
        wanted = np.zeros_like(seen)
        games = np.concatenate([vector.position(b).games for b in range(300)])
        Observer(vector.ruleset, kind).write(games, wanted)
        np.testing.assert_array_equal(seen, wanted)
        actions = rng.integers(0, 6, 300) if rng.random() < 0.2 else infos["action_mask"].argmax(axis=1)
        following, _, terminations, _, infos = vector.step(actions)
        np.testing.assert_array_equal(seen, kept)  # the returned array belongs to the caller
        for b in np.flatnonzero(terminations):
            ended += 1
            final = infos["final_obs"][b]
            assert space.contains(final)
            assert (kind == "board") == bool(final.any())
        seen = following
    assert ended > 100


@pytest.mark.parametrize(
    ("ruleset", "kind"),
    [(ruleset, kind) for ruleset in [*rulesets.names(), SMALL] for kind in kinds_of(ruleset)],
    ids=str,
)
def test_nothing_seen_is_out_of_bounds_and_the_bounds_are_declared(ruleset, kind):
    ruleset = rulesets.lookup(ruleset)
    rounds: Any = 1 if ruleset.row_width > 8 else "match"
    envs = MancalaVectorEnv(16, ruleset, rounds=rounds, observation=kind, seat="random")
    space: Any = envs.single_observation_space
    num_actions = ruleset.num_actions(rounds)
    observer = Observer(ruleset, kind, num_actions)
    assert space.shape == observer.shape
    assert space.dtype == observer.dtype
    assert space.is_bounded()
    low, high = observer.low, observer.high
    np.testing.assert_array_equal(space.low, low)
    np.testing.assert_array_equal(space.high, high)
    seen, _ = envs.reset(seed=0)
    for _ in range(15 if ruleset.row_width > 8 else 60):
        assert envs.observation_space.contains(seen)
        seen, *_ = envs.step(envs.action_space.sample())
    if kind != "board":
        board = observer.parts["position"]
        for name, part in observer.parts.items():
            lowest, highest = low[:, part.start : part.stop], high[:, part.start : part.stop]
            if name not in BOARDS:
                assert (lowest == part.low).all()
                assert (highest == part.high).all()
                continue
            for start in range(0, part.stop - part.start, board.stop):
                assert (lowest[:, start : start + board.stop] == low[:, : board.stop]).all()
                assert (highest[:, start : start + board.stop] == high[:, : board.stop]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.game)
def test_the_metadata_names_kind_and_version(family, kind):
    module = MODULE_OF[family.landing]
    for env in (
        module.env(observation=kind),
        gymnasium.make(family.gym_id, observation=kind),
        gymnasium.make_vec(family.gym_id, num_envs=2, observation=kind),
    ):
        assert env.metadata["observation"] == kind
        assert env.metadata["observation_version"] == version(kind, family.default)
        assert "ansi" in env.metadata["render_modes"]


def test_the_version_of_values_is_that_of_the_ruleset():
    family = next(family for family in FAMILIES.values() if family.landing == "uur")
    shown: Any = {"ruleset": "leyla_gobale_ii", "observation": "values"}
    wanted = version("values", "leyla_gobale_ii")
    assert wanted != version("values", family.default)
    for env in (
        layli_goobalay_v0.env(**shown),
        gymnasium.make(family.gym_id, **shown),
        gymnasium.make_vec(family.gym_id, num_envs=2, **shown),
    ):
        assert env.metadata["observation_version"] == wanted


def test_every_entry_point_refuses_values_where_there_is_no_value_network():
    shown: Any = {"ruleset": SMALL, "observation": "values"}
    for make in (
        lambda: layli_goobalay_v0.env(**shown),
        lambda: gymnasium.make("mancala/LayliGoobalay-v0", **shown),
        lambda: gymnasium.make_vec("mancala/LayliGoobalay-v0", num_envs=2, **shown),
        lambda: MancalaVecEnv(2, **shown),
        lambda: Batch(SMALL, 2, observation="values"),
        lambda: agents.from_function(lambda seen, legal: legal.argmax(1), SMALL, observation="values"),
    ):
        with raises(NoValueNetwork, "narrow", "layli_goobalay"):
            make()


def test_environments_show_the_board_unless_told_otherwise():
    assert MancalaEnv().metadata["observation"] == "board"
    assert layli_goobalay_v0.env().metadata["observation"] == "board"
    assert MancalaVectorEnv().metadata["observation"] == "board"
    assert "observation" not in MancalaEnv.metadata, "the class does not store an observation"


KINDS_IN_WORDS = " or ".join(map(repr, KINDS))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        *(("observation", kind, KINDS_IN_WORDS) for kind in ("pixels", "Board", None, 1)),
        *(("flatten", flatten, "True or False") for flatten in ("no", 0, None)),
    ],
)
def test_every_entry_point_says_what_may_be_shown(name, value, said):
    shown = {name: value}
    for make in (
        lambda: layli_goobalay_v0.env(**shown),
        lambda: gymnasium.make("mancala/Leyla-v0", **shown),
        lambda: gymnasium.make_vec("mancala/Gabata-v0", num_envs=2, **shown),
        lambda: MancalaVecEnv(2, "leyla", **shown),
    ):
        with raises(ValueError, name, said, repr(value)):
            make()
