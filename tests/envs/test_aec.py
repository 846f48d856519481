"""The PettingZoo environments: rules, masks, rewards, episodes and errors."""

import copy
import doctest
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from error_checks import raises
from gymnasium.error import ResetNeeded
from pettingzoo.utils import wrappers
from pettingzoo.utils.env_logger import EnvLogger

from mancala_env import (
    Batch,
    IllegalMove,
    InvalidRuleset,
    Position,
    Ruleset,
    gabata_v0,
    layli_goobalay_v0,
    leyla_v0,
    rulesets,
)
from mancala_env.envs.aec import AGENTS
from mancala_env.envs.families import FAMILIES
from mancala_env.errors import InvalidArgument
from mancala_env.observations import games_from

FAMILY_OF = {"uur": layli_goobalay_v0, "pair": leyla_v0, "weg": gabata_v0}
CUSTOM = Ruleset(name="narrow", row_width=3, seeds_per_hole=5, landing="uur", match="mirror")
ALL = [*rulesets.names(), CUSTOM]


def raw_env(ruleset, **options) -> Any:
    ruleset = rulesets.lookup(ruleset)
    return FAMILY_OF[ruleset.landing].raw_env(ruleset=ruleset, **options)


def play_out(env, rng, most_turns=10**6):
    """Play random legal turns until the episode is over; yields each action after it was played."""
    for _ in range(most_turns):
        if any(env.terminations.values()):
            return
        mask = env.observe(env.agent_selection)["action_mask"]
        action = rng.choice(np.flatnonzero(mask))
        env.step(action)
        yield action


@pytest.mark.parametrize("ruleset", ALL, ids=str)
def test_observations_of_both_players_rebuild_the_position(ruleset):
    env = raw_env(ruleset, rounds="match", first_player="random")
    for seed in range(2):
        env.reset(seed=seed)
        for _ in play_out(env, np.random.default_rng(seed), most_turns=120):
            for agent in AGENTS:
                seen = env.observe(agent)["observation"]
                rebuilt = Position.from_games(env.ruleset, games_from(env.ruleset, seen))
                assert rebuilt == env.position
                assert env.observation_space(agent)["observation"].contains(seen)


@pytest.mark.parametrize("ruleset", ALL, ids=str)
def test_the_mask_holds_the_moves_that_do_not_raise(ruleset):
    env = raw_env(ruleset, rounds="match")
    env.reset(seed=0)
    for _ in play_out(env, np.random.default_rng(1), most_turns=60):
        mover = env.position.player
        playable = np.zeros(env.action_space(AGENTS[0]).n, np.int8)
        for action in range(len(playable)):
            try:
                env.position.play(action)
            except IllegalMove:
                continue
            playable[action] = 1
        for player, agent in enumerate(AGENTS):
            expected = playable if player == mover else np.zeros_like(playable)
            np.testing.assert_array_equal(env.observe(agent)["action_mask"], expected)
            np.testing.assert_array_equal(env.infos[agent]["action_mask"], expected)


@pytest.mark.parametrize("rounds", [1, 3, "match"])
@pytest.mark.parametrize("reward", ["outcome", "margin"])
@pytest.mark.parametrize("ruleset", ALL, ids=str)
def test_episodes_and_rewards_are_those_of_a_batch(ruleset, rounds, reward):
    env = raw_env(ruleset, rounds=rounds, reward=reward)
    env.reset()
    batch = Batch(env.ruleset, 1, rounds, reward=reward)
    for action in play_out(env, np.random.default_rng(2), most_turns=300):
        mover = int(batch.player[0])
        batch.step([action])
        assert any(env.terminations.values()) == batch.done[0]
        assert env.rewards[AGENTS[mover]] == pytest.approx(batch.reward[0])
        assert sum(env.rewards.values()) == 0
        if not batch.done[0]:
            np.testing.assert_array_equal(
                env.observe(env.agent_selection)["observation"], batch.observation[0]
            )


def test_an_episode_of_one_round_ends_with_the_round():
    env: Any = layli_goobalay_v0.raw_env()
    env.reset()
    list(play_out(env, np.random.default_rng(0)))
    assert env.position.is_over
    assert env.position.round == 1
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    won = {0: 1.0, 1: -1.0, None: 0.0}[env.position.winner]
    assert env.rewards == {"player_0": won, "player_1": -won}
    assert not env.observe("player_0")["action_mask"].any()


def test_an_episode_of_three_rounds_has_rewards_at_its_end_alone():
    env: Any = gabata_v0.raw_env(rounds=3, reward="margin")
    env.reset()
    for _ in play_out(env, np.random.default_rng(4)):
        if not any(env.terminations.values()):
            assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
    south, north = env.position.counts
    assert env.position.round == 3
    assert env.rewards["player_0"] == pytest.approx((south - north) / 48)


def test_a_match_continues_until_a_player_cannot_set_up():
    env: Any = layli_goobalay_v0.raw_env(rounds="match")
    env.reset()
    list(play_out(env, np.random.default_rng(0)))
    assert env.position.round > 1
    assert min(env.position.counts) < 6
    winner = env.position.match_winner
    assert env.rewards[AGENTS[winner]] == 1


def test_a_player_who_must_pass_is_not_selected():
    env: Any = gabata_v0.raw_env()
    env.reset()
    selected = []
    for _ in play_out(env, np.random.default_rng(0)):
        selected.append(env.agent_selection)
        assert env.agent_selection == AGENTS[env.position.player]
    assert any(one == two for one, two in itertools.pairwise(selected))


def test_gabata_has_actions_on_the_whole_board_once_territory_can_change():
    assert gabata_v0.raw_env().action_space("player_0").n == 6
    assert gabata_v0.raw_env(rounds=2).action_space("player_0").n == 12
    assert gabata_v0.raw_env(ruleset="ludii_gabata_i", rounds=2).action_space("player_0").n == 6
    env: Any = gabata_v0.raw_env(rounds="match")
    env.reset()
    masks = [
        env.infos[env.agent_selection]["action_mask"].copy()
        for _ in play_out(env, np.random.default_rng(1), most_turns=400)
    ]
    assert np.array(masks)[:, 6:].any()


@pytest.mark.parametrize(("first_player", "agent"), [(0, "player_0"), (1, "player_1")])
def test_first_player_starts(first_player, agent):
    env: Any = leyla_v0.env(first_player=first_player)
    env.reset()
    assert env.agent_selection == agent


def test_the_seed_decides_a_random_first_player():
    def draws(seed):
        env: Any = leyla_v0.env(first_player="random")
        env.reset(seed=seed)
        starters = [env.agent_selection]
        for _ in range(20):
            env.reset()
            starters.append(env.agent_selection)
        return starters

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert set(draws(1)) == set(AGENTS)


@pytest.mark.parametrize("kind", [int, np.int8, np.int32, np.int64, np.array])
def test_any_integer_is_an_action(kind):
    env: Any = layli_goobalay_v0.env()
    env.reset()
    env.step(kind(2))
    expected = Position("layli_goobalay")
    expected.play(2)
    assert env.position == expected


@pytest.mark.parametrize("action", [5, 6, -1, 99, None, 1.0, "1", True])
def test_raw_env_raises_at_an_illegal_action_and_stays_as_it_was(action):
    env: Any = layli_goobalay_v0.raw_env(ruleset="ludii_leyla_gobale_somaliland")
    env.reset()
    before = env.position
    if action is True:
        action = np.bool_(True)
    with raises(IllegalMove, 0):
        env.step(action)
    assert env.position == before
    assert env.agent_selection == "player_0"


def test_env_lets_an_illegal_action_lose_as_the_classic_games_do():
    env: Any = layli_goobalay_v0.env(ruleset="ludii_leyla_gobale_somaliland")
    env.reset()
    env.step(1)
    assert env.rewards == {"player_0": -1.0, "player_1": 0}
    assert env.terminations == {"player_0": True, "player_1": True}
    for _ in env.agent_iter():
        env.step(None)
    assert env.agents == []


def test_env_refuses_what_is_not_an_action():
    env: Any = layli_goobalay_v0.env()
    env.reset()
    for action in (6, -1, 10**30, True, np.True_, 1.0, "1", None):
        with raises(AssertionError, repr(action), 0, 5) as caught:
            env.step(action)
        assert isinstance(caught.value, IllegalMove)
    with raises(IllegalMove, "array([2])"):
        env.step(np.array([2]))
    assert env.position == Position("layli_goobalay")
    for action in (0, np.int64(0), np.array(0), torch.tensor(0)):
        env.reset()
        env.step(action)


def test_nothing_works_before_reset():
    env: Any = layli_goobalay_v0.env()
    with raises(AttributeError, "reset"):
        _ = env.agent_selection
    with raises(AttributeError, "reset"):
        _ = env.position


def test_spaces_are_the_same_objects_at_each_call():
    env: Any = gabata_v0.env()
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)


def test_position_and_observations_are_the_callers_to_change():
    env: Any = layli_goobalay_v0.env()
    env.reset()
    env.position.play(0)
    seen = env.observe("player_0")
    before = seen["observation"].copy()
    seen["observation"][:] = 9
    seen["action_mask"][:] = 0
    np.testing.assert_array_equal(env.observe("player_0")["observation"], before)
    assert env.position == Position("layli_goobalay")
    assert env.observe("player_0")["action_mask"].all()
    assert env.infos["player_0"]["action_mask"].all()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copied_or_pickled_env_plays_on_by_itself(duplicate):
    env: Any = leyla_v0.env()
    env.reset(seed=1)
    env.step(3)
    twin = duplicate(env)
    assert twin.position == env.position
    twin.step(2)
    assert twin.position != env.position


def test_ansi_draws_the_board():
    env: Any = leyla_v0.env(render_mode="ansi")
    env.reset()
    assert env.render() == str(Position("leyla"))


def test_render_without_a_mode_warns():
    env: Any = leyla_v0.env()
    env.reset()
    with pytest.warns(UserWarning, match="ansi"):
        assert env.render() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, ["rounds", 1, 1000, "match", 0]),
        ({"rounds": "all"}, ["rounds", 1, 1000, "match", "all"]),
        ({"reward": "win"}, ["reward", "outcome", "margin", "win"]),
        ({"first_player": "south"}, ["first_player", 0, 1, "random", "south"]),
        ({"first_player": True}, ["first_player", 0, 1, "random", True]),
        ({"render_mode": "text"}, ["ansi", "svg", "rgb_array", "human", "text"]),
        ({"ruleset": "layli"}, "layli_goobalay"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with raises(ValueError, message):
        layli_goobalay_v0.env(**options)


@pytest.mark.parametrize("module", FAMILY_OF.values(), ids=lambda module: module.__name__)
def test_the_example_of_each_entry_point_runs(module):
    failed, attempted = doctest.testmod(module)
    assert failed == 0
    assert attempted > 0


def test_every_ruleset_is_played_through_one_entry_point_and_refused_at_the_others():
    for name in ALL:
        ruleset = rulesets.lookup(name)
        for landing, module in FAMILY_OF.items():
            if landing == ruleset.landing:
                assert raw_env(ruleset).ruleset == ruleset
                continue
            right = FAMILY_OF[ruleset.landing].__name__.removeprefix("mancala_env.")
            with raises(InvalidRuleset, right):
                module.env(ruleset=ruleset)


def test_every_entry_point_names_its_rulesets_and_defaults_to_the_first():
    for family in FAMILIES.values():
        module = FAMILY_OF[family.landing]
        assert module.raw_env().ruleset.name == family.default == family.ruleset_names()[0]
        for name in family.ruleset_names():
            assert f"``{name}``" in str(module.raw_env.__doc__)
    assert sum(len(family.ruleset_names()) for family in FAMILIES.values()) == len(rulesets.names())


def test_a_ruleset_can_be_given_by_place():
    env: Any = layli_goobalay_v0.env("leyla_gobale_ii")
    assert env.unwrapped.ruleset.name == "leyla_gobale_ii"


def test_an_argument_that_does_not_exist_names_the_nearest():
    with raises(TypeError, "first_players", "first_player"):
        layli_goobalay_v0.env(first_players=1)  # pyright: ignore[reportCallIssue]


def test_an_episode_starts_from_a_position_or_after_random_turns():
    text = "leyla 0,4,4,4,4,4/4,4,4,4,4,4 4-0 N"
    env: Any = leyla_v0.env()
    env.reset(options={"position": text})
    assert env.position == Position.from_text(text)
    assert env.agent_selection == "player_1"
    with pytest.warns(UserWarning, match="no reset option 'positions' .did you mean 'position'"):
        env.reset(options={"positions": text})
    opened: Any = leyla_v0.env(opening_turns=4)
    starts = []
    for seed in (1, 2, 1):
        opened.reset(seed=seed)
        starts.append(opened.position.to_text())
    assert starts[0] == starts[2] != starts[1]


def test_raw_env_says_that_the_episode_is_over_after_the_last_none():
    env: Any = layli_goobalay_v0.raw_env()
    env.reset(options={"position": "layli_goobalay 0,0,0,0,0,1/0,0,0,0,0,0 24-23 S"})
    while env.agents:
        _, _, terminated, _, info = env.last()
        env.step(None if terminated else int(np.argmax(info["action_mask"])))
    with raises(ResetNeeded, "reset()"):
        env.step(None)


def test_raw_env_says_what_is_missing_before_reset():
    env: Any = layli_goobalay_v0.raw_env()
    for call in (lambda: env.step(0), lambda: env.observe("player_0")):
        with raises(ResetNeeded, "reset()"):
            call()
    assert env.agents == []
    for mode in ("ansi", "svg"):
        with raises(AttributeError, "reset"):
            layli_goobalay_v0.raw_env(render_mode=mode).render()


def test_who_does_not_play_is_named_and_those_who_do():
    env = layli_goobalay_v0.raw_env()
    env.reset(seed=1)
    with raises(InvalidArgument, "agent", "player_0", "player_1", "player_2"):
        env.observe("player_2")


def test_a_match_that_the_rules_do_not_end_is_truncated():
    ruleset = Position("leyla").ruleset
    start = Position(ruleset)
    env: Any = leyla_v0.raw_env(rounds="match")
    truncations = 0
    for seed in range(5):
        env.reset(options={"position": Position(ruleset, start.seeds, round=1000, starter=0)})
        rng = np.random.default_rng(seed)
        while not (any(env.terminations.values()) or any(env.truncations.values())):
            env.step(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))
        final = env.position
        goes_on = final.next_round() is not None
        assert env.truncations == dict.fromkeys(AGENTS, goes_on)
        assert env.terminations == dict.fromkeys(AGENTS, not goes_on)
        truncations += goes_on
    assert truncations


def test_the_guard_says_and_warns_what_pettingzoos_wrappers_do():
    def stock():
        env = wrappers.TerminateIllegalWrapper(leyla_v0.raw_env(), illegal_reward=-1)
        return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))

    def history(env: Any):
        said: list[Any] = []
        for call in (env.step, env.observe, lambda _: env.render(), lambda _: env.agent_iter(), env.last):
            try:
                call(0)
            except (AssertionError, AttributeError) as error:
                said.append((type(error), str(error)))
        for name in ("agents", "rewards", "terminations", "truncations", "infos", "agent_selection"):
            with pytest.raises(AttributeError) as caught:
                getattr(env, name)
            said.append(str(caught.value))
        EnvLogger.flush()
        env.reset(seed=0)
        env.step(0)
        for action in (6, -1, None, 2.0):
            try:
                env.step(action)
            except AssertionError as error:  # ours also names the action and the range
                said.append("action space" in str(error))
        env.step(int(np.argmin(env.last()[0]["action_mask"])))
        said += [
            dict(env.rewards),
            dict(env._cumulative_rewards),
            dict(env.terminations),
            dict(env.truncations),
        ]
        for agent in env.agent_iter():
            said.append((agent, env.last()[1:4]))
            env.step(None)
        env.step(None)
        return [*said, str(env), isinstance(env, wrappers.OrderEnforcingWrapper), list(EnvLogger.mqueue)]

    EnvLogger.suppress_output()
    try:
        one, other = history(leyla_v0.env()), history(stock())
    finally:
        EnvLogger.unsuppress_output()
    for ours, theirs in zip(one, other, strict=True):
        assert ours == theirs


@pytest.mark.parametrize("render_mode", [None, "ansi"])
def test_an_action_beyond_64_bits_is_an_illegal_move(render_mode):
    env = layli_goobalay_v0.raw_env(render_mode=render_mode)
    env.reset(seed=1)
    for action in (2**70, -(2**70)):
        with raises(IllegalMove, "legal"):
            env.step(action)


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"options": {"position": "nonsense"}}, {"options": 7}], ids=str
)
def test_a_first_reset_that_raises_starts_nothing(wrong: Any):
    env: Any = layli_goobalay_v0.env()
    with pytest.raises(ValueError, match=r"-1|nonsense|7"):
        env.reset(**wrong)
    for name in ("agents", "agent_selection", "rewards", "infos", "num_agents"):
        with pytest.raises(AttributeError, match=name):
            getattr(env, name)
    for call in (env.last, lambda: env.step(0), lambda: env.observe("player_0")):
        with pytest.raises((AssertionError, AttributeError), match="reset"):
            call()
    env.reset(seed=1)
    assert env.agent_selection == "player_0"


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"options": {"position": "nonsense"}}], ids=str)
@pytest.mark.parametrize("make", [layli_goobalay_v0.env, layli_goobalay_v0.raw_env])
def test_a_later_reset_that_raises_changes_nothing(make, wrong: Any):
    def state() -> list[Any]:
        seen = [env.observe(agent)["observation"].tolist() for agent in env.agents]
        return [env.unwrapped.position, env.agent_selection, dict(env.terminations), seen, env.last()[1:4]]

    env: Any = make(first_player="random", opening_turns=2)
    env.reset(seed=1)
    env.step(int(env.last()[0]["action_mask"].argmax()))
    before = state()
    with pytest.raises(ValueError, match=r"-1|nonsense"):
        env.reset(**wrong)
    assert state() == before
    env.step(int(env.last()[0]["action_mask"].argmax()))
    assert env.unwrapped.position != before[0]
