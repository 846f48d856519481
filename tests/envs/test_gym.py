"""The Gymnasium environment, in which only the learner's turns are steps."""

import pickle

import gymnasium
import numpy as np
import pytest
from error_checks import raises
from gymnasium.error import ResetNeeded

from mancala_env import IllegalMove, InvalidRuleset, Position, Ruleset, agents, rulesets
from mancala_env.agents import Agent, InvalidSpec
from mancala_env.engine.state import NORTH, SOUTH
from mancala_env.envs.families import FAMILIES, register
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.options import first_seed
from mancala_env.envs.spaces import LegalDiscrete, LegalMultiDiscrete
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.observations import observe, parts

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


def play_out(env, rng, most_steps=10**6):
    """Play random legal turns to the end of the episode; returns the results of all steps."""
    steps = []
    while len(steps) < most_steps:
        steps.append(env.step(rng.choice(np.flatnonzero(env.action_masks()))))
        if steps[-1][2]:
            break
    return steps


@pytest.mark.parametrize("seat", ["south", "north"])
@pytest.mark.parametrize("rounds", [1, "match"])
@pytest.mark.parametrize("ruleset", ALL, ids=str)
def test_a_step_is_the_learners_turn_and_all_the_opponents_that_follow(ruleset, rounds, seat):
    env = MancalaEnv(ruleset, opponent=Lowest(ruleset), seat=seat, rounds=rounds, opening_turns=0)
    me = SOUTH if seat == "south" else NORTH
    position = Position(ruleset)

    def opponent_plays(position: Position) -> Position:
        while position.is_over or position.player != me:
            if not position.is_over:
                position.play(position.legal_actions[0])
                continue
            following = None if rounds == 1 else position.next_round()
            if following is None:
                return position
            position = following
        return position

    position = opponent_plays(position)
    seen, info = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        np.testing.assert_array_equal(seen, observe(env.ruleset, position.games, me)[0])
        legal = np.flatnonzero(info["action_mask"]).tolist()
        assert legal == list(position.legal_actions)
        assert env.position == position
        action = rng.choice(legal)
        position.play(int(action))
        position = opponent_plays(position)
        seen, reward, terminated, truncated, info = env.step(action)
        assert terminated == position.is_over
        assert not truncated
        if terminated:
            assert reward == {me: 1, 1 - me: -1, None: 0}[position.match_winner]
            assert tuple(info["counts"]) == position.counts
            assert info["winner"] == (-1 if position.match_winner is None else position.match_winner)
            assert not info["action_mask"].any()
            np.testing.assert_array_equal(seen, observe(env.ruleset, position.games, me)[0])
            break
        assert reward == 0


@pytest.mark.parametrize("gym_id", IDS)
def test_the_seed_decides_everything(gym_id):
    env = gymnasium.make(gym_id, seat="random", first_player="random", opening_turns=3, rounds=2)
    plain: MancalaEnv = env.unwrapped  # pyright: ignore[reportAssignmentType]

    def episodes(seed):
        rng = np.random.default_rng(0)
        history = [env.reset(seed=seed)[0].tolist()]
        for _ in range(3):
            history += [step[0].tolist() for step in play_out(plain, rng)]
            history.append(env.reset()[0].tolist())
        return history

    assert episodes(5) == episodes(5)
    assert episodes(5) != episodes(6)


def test_seeds_reach_an_opponent_given_as_an_agent():
    env = MancalaEnv(opponent=agents.make("random", "layli_goobalay"))

    def episode():
        env.reset(seed=3)
        return [step[0].tolist() for step in play_out(env, np.random.default_rng(0))]

    assert episode() == episode()


def test_seats():
    assert MancalaEnv().reset()[1]["seat"] == SOUTH
    north = MancalaEnv(seat="north")
    seen, info = north.reset(seed=0)
    assert info["seat"] == north.seat == NORTH
    assert seen[parts(north.ruleset)["south"].start] == 0
    random = MancalaEnv(seat="random")
    assert {random.reset(seed=seed)[1]["seat"] for seed in range(20)} == {SOUTH, NORTH}


def test_opening_turns_are_played_before_the_first_step():
    env = MancalaEnv(opening_turns=4)
    starts = {str(env.reset(seed=seed)[0]) for seed in range(10)}
    assert len(starts) == 10
    assert env.position.player == env.seat


def test_first_player_decides_who_starts():
    env = MancalaEnv(opponent=Lowest("layli_goobalay"), first_player=1, opening_turns=0)
    env.reset()
    expected = Position("layli_goobalay", player=NORTH)
    expected.play(0)
    assert env.position == expected


@pytest.mark.parametrize(("seat", "sign"), [("south", 1), ("north", -1)])
def test_margin_is_the_lead_in_the_last_count(seat, sign):
    env = MancalaEnv("leyla", reward="margin", seat=seat)
    env.reset(seed=1)
    *_, last = play_out(env, np.random.default_rng(1))
    south, north = last[4]["counts"]
    assert south + north == 48
    assert last[1] == pytest.approx(sign * (south - north) / 48)
    assert type(last[1]) is float


def test_the_action_space_draws_legal_actions():
    env = MancalaEnv("gabata_i", rounds="match")
    env.reset(seed=0)
    for _ in range(200):
        if env.step(env.action_space.sample())[2]:
            env.reset()
    mask = np.zeros(12, np.int8)
    mask[7] = 1
    assert env.action_space.sample(mask) == 7
    assert env.action_space == gymnasium.spaces.Discrete(12)


@pytest.mark.parametrize("action", [1, -1, 6, 2.0, None, "1"])
def test_an_illegal_action_raises_and_changes_nothing(action):
    env = MancalaEnv("ludii_leyla_gobale_somaliland", opening_turns=0)
    env.reset(seed=0)
    with raises(IllegalMove, 0, "action_masks()"):
        env.step(action)
    assert env.position == Position("ludii_leyla_gobale_somaliland")
    env.step(0)


@pytest.mark.parametrize("illegal", ["raise", "random"])
def test_another_option_is_no_remedy_for_an_action_outside_the_space(illegal):
    env = MancalaEnv("leyla", illegal=illegal)
    env.reset(seed=0)
    with raises(IllegalMove, 99, "action_masks()") as caught:
        env.step(99)
    assert "illegal=" not in str(caught.value)


def test_an_illegal_action_loses_where_that_is_asked_for():
    env = MancalaEnv("ludii_leyla_gobale_somaliland", illegal="lose", reward="margin", opening_turns=0)
    before, _ = env.reset(seed=0)
    seen, reward, terminated, truncated, info = env.step(4)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert info["illegal"]
    assert info["winner"] == NORTH
    assert tuple(info["counts"]) == (24, 24)
    np.testing.assert_array_equal(seen, before)
    env.reset()
    with raises(IllegalMove, "North"):
        env.step(6)


def test_an_episode_lost_by_an_illegal_action_is_followed_by_a_whole_one():
    env = MancalaEnv("ludii_leyla_gobale_somaliland", illegal="lose", opening_turns=0)
    env.reset(seed=0)
    env.step(0)
    assert env.step(int(np.argmin(env.action_masks())))[4]["illegal"]
    env.reset()
    assert env.position == Position("ludii_leyla_gobale_somaliland")


def test_illegal_actions_over_and_over():
    env = MancalaEnv(illegal="lose", seat="north")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    forfeits = 0
    for _ in range(300):
        *_, terminated, _, info = env.step(rng.integers(6))
        if terminated:
            forfeits += info["illegal"]
            _, info = env.reset()
            assert tuple(np.flatnonzero(info["action_mask"])) == env.position.legal_actions
    assert forfeits > 10


def test_stepping_without_an_episode_raises():
    env = MancalaEnv()
    for _ in range(2):
        with raises(ResetNeeded, "reset()"):
            env.step(0)
        env.reset(seed=0)
        play_out(env, np.random.default_rng(0))


def test_the_last_position_can_be_seen_until_reset():
    env = MancalaEnv(render_mode="ansi", opening_turns=0)
    with pytest.raises(ResetNeeded):
        _ = env.position
    env.reset(seed=0)
    assert env.render() == str(Position("layli_goobalay"))
    *_, last = play_out(env, np.random.default_rng(0))
    assert env.position.is_over
    assert env.position.counts == tuple(last[4]["counts"])
    assert "round over" in str(env.render())


def test_render_without_a_mode_warns():
    env = MancalaEnv()
    env.reset()
    with pytest.warns(UserWarning, match="ansi"):
        assert env.render() is None


def test_what_is_returned_is_the_callers_to_change():
    env = MancalaEnv(opening_turns=0)
    seen, info = env.reset(seed=0)
    seen[:] = 9
    info["action_mask"][:] = 0
    assert env.action_masks().all()
    first = env.step(0)[0]
    kept = first.copy()
    env.step(env.action_space.sample())
    np.testing.assert_array_equal(first, kept)


def test_an_opponent_who_always_ends_the_round_first_is_reported():
    #  North 1 1
    #  South 1 1   South's hole 0 captures the seed opposite, and North cannot sow.
    ruleset = Ruleset(name="tiny", row_width=2, seeds_per_hole=1)
    position = Position(ruleset)
    position.play(0)
    assert position.is_over
    env = MancalaEnv(ruleset, opponent=Lowest(ruleset), seat="north", opening_turns=0)
    with raises(ValueError, "learner"):
        env.reset()


@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_a_position_that_every_answer_ends_is_reported_and_the_episode_continues(opponent):
    last = "layli_goobalay 0,1,1,0,0,0/0,0,0,0,0,0 21-25 S stall=1"
    for action in Position.from_text(last).legal_actions:
        position = Position.from_text(last)
        position.play(action)
        assert position.is_over
    env = MancalaEnv("layli_goobalay", opponent=opponent, seat="north")
    env.reset(seed=0)
    before = env.position
    with raises(ValueError, opponent, "learner"):
        env.reset(options={"position": last})
    assert env.position == before
    env.step(int(np.flatnonzero(env.action_masks())[0]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"opponent": "randon"}, InvalidSpec, "random"),
        ({"opponent": None}, ValueError, ["opponent", "random", None]),
        ({"opponent": "greedy:3"}, InvalidSpec, "greedy"),
        ({"seat": "east"}, ValueError, ["seat", "south", "north", "random", "east"]),
        ({"seat": 0}, ValueError, ["seat", "south", "north", "random", 0]),
        ({"rounds": 0}, ValueError, ["rounds", 1, 1000]),
        ({"reward": "win"}, ValueError, ["reward", "outcome", "margin", "win"]),
        ({"first_player": 2}, ValueError, ["first_player", 0, 1, "random", 2]),
        ({"opening_turns": -1}, ValueError, ["opening_turns", 0, 10000, -1]),
        ({"illegal": "ignore"}, ValueError, ["illegal", "raise", "lose", "random", "ignore"]),
        ({"render_mode": "film"}, ValueError, ["render_mode", None, "ansi", "film"]),
        ({"game": "oware"}, ValueError, ["game", "layli_goobalay", "leyla", "gabata", "oware"]),
        ({"game": "leyla", "ruleset": "gabata_i"}, InvalidRuleset, "gabata_v0"),
        ({"ruleset": "gabata"}, InvalidRuleset, "gabata_i"),
    ],
)
def test_wrong_arguments_are_named(options, error, message):
    with raises(error, message):
        MancalaEnv(**options)


def test_an_opponent_of_another_ruleset_is_refused():
    with raises(InvalidSpec, "leyla", "layli_goobalay"):
        MancalaEnv(opponent=agents.make("random", "leyla"))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.game)
def test_ids_play_their_game_and_no_other(family):
    env = gymnasium.make(family.gym_id, opponent="greedy")
    assert env.unwrapped.ruleset.name == family.default  # pyright: ignore[reportAttributeAccessIssue]
    assert gymnasium.make(env.spec).spec == env.spec  # pyright: ignore[reportArgumentType]
    for name in ALL:
        ruleset = rulesets.lookup(name)
        if ruleset.landing == family.landing:
            gymnasium.make(family.gym_id, ruleset=ruleset)
        else:
            with pytest.raises(InvalidRuleset):
                gymnasium.make(family.gym_id, ruleset=ruleset)


def test_registering_twice_is_once(recwarn):
    register()
    assert not recwarn


def test_an_env_can_be_pickled_in_the_middle_of_an_episode():
    env = MancalaEnv(render_mode="ansi")
    env.reset(seed=0)
    env.step(0)
    twin = pickle.loads(pickle.dumps(env))
    action = env.action_space.sample()
    np.testing.assert_array_equal(env.step(action)[0], twin.step(action)[0])
    assert env.position == twin.position


def test_the_first_seed_is_the_one_that_the_environment_has():
    generator = np.random.default_rng(0)
    assert first_seed(0, generator) == 0
    assert first_seed(5, generator) == 5
    drawn = [first_seed(seed, np.random.default_rng(7)) for seed in (None, -1)]
    assert drawn == [int(np.random.default_rng(7).integers(2**63))] * 2


def test_action_spaces_draw_any_action_before_a_reset():
    for space, size in ((LegalDiscrete(6), 1), (LegalMultiDiscrete(3, 6), 3)):
        drawn = np.array([space.sample() for _ in range(200)]).reshape(-1, size)
        assert set(drawn.flatten().tolist()) == set(range(6))
    one, many = MancalaEnv().action_space, MancalaVectorEnv(3).action_space
    assert one.contains(one.sample())
    assert many.contains(many.sample())


def test_masks_and_probabilities_given_to_a_space_replace_its_own():
    one, many = LegalDiscrete(3), LegalMultiDiscrete(2, 3)
    one.mask[:] = many.mask[:] = [1, 0, 0]
    first, last = np.array([1, 0, 0], np.int8), np.array([0, 0, 1], np.int8)
    assert {int(one.sample()) for _ in range(20)} == {0}
    assert {int(one.sample(mask=last)) for _ in range(20)} == {2}
    assert {int(one.sample(probability=np.array([0.0, 1.0, 0.0]))) for _ in range(20)} == {1}
    assert {tuple(many.sample().tolist()) for _ in range(20)} == {(0, 0)}
    assert {tuple(many.sample(mask=(first, last)).tolist()) for _ in range(20)} == {(0, 2)}


@pytest.mark.parametrize(
    ("ruleset", "opponent", "first", "fourth"),
    [
        (
            "layli_goobalay", "random",
            "layli_goobalay 4,14,6,1,4,3/0,1,4,2,2,0 0-7 S stall=4 starter=N",
            "layli_goobalay 0,0,0,1,4,1/0,0,1,1,9,0 10-21 S stall=1 starter=N",
        ),
        (
            "gabata_i", ["random", "greedy"],
            "gabata_i 2,0,5,1,4n,1/12,8s,4s,2,9,0 0-0 S starter=N",
            "gabata_i 1,2,2,3,6n,3/14,10s,4s,0,0,1 0-2 S starter=N",
        ),
    ],
)  # fmt: skip
def test_a_seed_plays_the_same_games_in_every_version(ruleset, opponent, first, fourth):
    """A change of these games breaks seeds that users recorded, so it must be in CHANGELOG.md."""
    env = MancalaEnv(ruleset, opponent=opponent, seat="random", first_player="random")
    env.reset(seed=7)
    assert env.position.to_text() == first
    for _ in range(3):
        env.step(int(env.action_masks().argmax()))
    assert env.position.to_text() == fourth
