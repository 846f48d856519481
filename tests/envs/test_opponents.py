"""Steps of a learner among opponents: atomic steps, a random generator per game, opponents by row."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from error_checks import raises
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as vector_wrappers

from mancala_env import IllegalMove, InvalidPosition, Position, agents, leyla_v0, rulesets
from mancala_env.agents import Agent, InvalidSpec
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.engine.holdout import rows_in_set
from mancala_env.envs import kernels
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.opponents import Duel
from mancala_env.envs.options import EnvOptions, UnknownOption
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.errors import InvalidArgument

LAYLI = rulesets.lookup("layli_goobalay")
MODES = list(AutoresetMode)
OPPONENTS: list[Any] = ["greedy", "minimax:1", ["random", "minimax:1"]]


class Failing(Agent):
    """Plays the lowest legal action. If it has an error, it sometimes raises it."""

    def __init__(self, ruleset, error: BaseException | None):
        super().__init__(ruleset, spec="failing", num_threads=1)
        self.error, self.draws = error, np.random.default_rng(0)

    def act(self, games):
        if self.error is not None and self.draws.random() < 0.3:
            raise self.error
        return np.array(
            [Position.from_games(self.ruleset, games, b).legal_actions[0] for b in range(len(games))]
        )


class Wrong(Agent):
    """Plays a fixed action."""

    def __init__(self, ruleset, choice):
        super().__init__(ruleset, spec="wrong", num_threads=1)
        self.choice = choice

    def act(self, games):
        return np.full(len(games), self.choice)


@pytest.mark.parametrize("error", [RuntimeError("tired"), KeyboardInterrupt()], ids=repr)
def test_an_exception_in_the_opponents_turn_leaves_the_episode_as_it_was(error):
    """Steps repeated after each exception give the same results as with an opponent that never raises."""
    failing = MancalaEnv("gabata_i", opponent=Failing("gabata_i", error), rounds=2)
    steady = MancalaEnv("gabata_i", opponent=Failing("gabata_i", None), rounds=2)
    rng, raised, ends = np.random.default_rng(0), 0, 0

    def again(work):
        nonlocal raised
        while True:
            before = failing.position if failing._has_started else None
            try:
                return work()
            except (RuntimeError, KeyboardInterrupt):
                raised += 1
                assert before is None or failing.position == before

    again(lambda: failing.reset(seed=1))
    steady.reset(seed=1)
    for _ in range(120):
        action = int(rng.choice(np.flatnonzero(steady.action_masks())))
        one, other = again(lambda action=action: failing.step(action)), steady.step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:4] == other[1:4]
        if one[2]:
            ends += 1
            again(failing.reset)
            steady.reset()
    assert raised > 30
    assert ends


def test_a_vector_step_is_whole_or_none():
    envs = MancalaVectorEnv(4, opponent=Failing("layli_goobalay", RuntimeError("tired")), num_threads=1)
    rng, raised = np.random.default_rng(0), 0
    for _ in range(50):
        try:
            envs.reset(seed=0)
            break
        except RuntimeError:
            raised += 1
    for _ in range(60):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in envs.action_masks()])
        before = [envs.position(b) for b in range(4)]
        try:
            envs.step(actions)
        except RuntimeError:
            raised += 1
            assert [envs.position(b) for b in range(4)] == before
            assert (envs.action_masks()[np.arange(4), actions]).all()
    assert raised > 10


@pytest.mark.parametrize(
    ("choice", "message"),
    [(1.9, []), *((choice, f"action {choice}") for choice in (7, 6, -1, 62, 64, -64, 2**40))],
)
def test_an_agent_that_chooses_no_action_is_named(choice, message):
    env = MancalaEnv(opponent=Wrong("layli_goobalay", choice), opening_turns=0)
    env.reset(seed=0)
    with raises(IllegalMove, "wrong", message):
        env.step(0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opponent", OPPONENTS, ids=str)
def test_native_and_sync_play_the_same_games_from_the_same_seeds(mode, opponent):
    options: Any = {"opponent": opponent, "seat": "random", "first_player": "random", "rounds": 2}
    native: Any = gymnasium.make_vec("mancala/Leyla-v0", num_envs=4, autoreset_mode=mode, **options)
    sync: Any = gymnasium.make_vec(
        "mancala/Leyla-v0",
        num_envs=4,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **options,
    )
    assert native.metadata["autoreset_mode"] == sync.metadata["autoreset_mode"] == mode
    rng, ends = np.random.default_rng(0), 0
    one, other = native.reset(seed=[5, 6, 70, 8]), sync.reset(seed=[5, 6, 70, 8])
    for _ in range(90):
        np.testing.assert_array_equal(one[0], other[0])
        assert one[-1].keys() == other[-1].keys()
        for name, value in one[-1].items():
            if name not in ("final_obs", "final_info"):
                np.testing.assert_array_equal(value, other[-1][name])
        assert one[-1].get("final_info", {}).keys() == other[-1].get("final_info", {}).keys()
        for name, value in one[-1].get("final_info", {}).items():
            np.testing.assert_array_equal(value, other[-1]["final_info"][name])
        for mine, theirs in zip(one[-1].get("final_obs", []), other[-1].get("final_obs", []), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        masks = native.unwrapped.action_masks()
        actions = np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])
        one, other = native.step(actions), sync.step(actions)
        for a, b in zip(one[1:4], other[1:4]):
            np.testing.assert_array_equal(a, b)
        ended = one[2] | one[3]
        ends += ended.sum()
        if mode == AutoresetMode.DISABLED and ended.any():
            one = native.reset(options={"reset_mask": ended})
            other = sync.reset(options={"reset_mask": ended.copy()})
    assert ends > 5


@pytest.mark.parametrize("mode", MODES)
def test_gymnasiums_vector_wrappers_that_make_sense_run_in_every_mode(mode):
    envs: Any = gymnasium.make_vec("mancala/Gabata-v0", num_envs=3, autoreset_mode=mode, illegal="random")
    # (In Gymnasium 1.2.0, DictInfoToList fails on the infos of RecordEpisodeStatistics.)
    lists = [] if gymnasium.__version__ == "1.2.0" else [vector_wrappers.DictInfoToList]
    for wrap in (
        vector_wrappers.RecordEpisodeStatistics,
        vector_wrappers.NormalizeObservation,
        vector_wrappers.NormalizeReward,
        lambda env: vector_wrappers.ClipReward(env, -1, 1),
        vector_wrappers.FlattenObservation,
        lambda env: vector_wrappers.DtypeObservation(env, np.float64),
        *lists,
    ):
        try:
            envs = wrap(envs)
        except (AssertionError, ValueError):
            if mode == AutoresetMode.NEXT_STEP:  # the only mode that Gymnasium's statistics wrappers support
                raise
    envs.reset(seed=1)
    for _ in range(30):
        _, _, terminations, truncations, _ = envs.step(envs.action_space.sample())
        if mode == AutoresetMode.DISABLED and (terminations | truncations).any():
            envs.reset(options={"reset_mask": terminations | truncations})
    assert np.isfinite(envs.reset(seed=2)[0]).all()


def test_disabled_autoreset_waits_for_the_caller():
    envs = MancalaVectorEnv(3, autoreset_mode="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False, False])})
    _, infos = envs.reset(seed=0)
    ended = np.zeros(3, np.bool_)
    while not ended.any():
        _, _, ended, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
    b = int(np.flatnonzero(ended)[0])
    assert infos["_winner"].tolist() == ended.tolist()
    assert not infos["action_mask"][b].any()
    with raises(gymnasium.error.ResetNeeded, f"game {b}"):
        envs.step([0, 0, 0])
    standing = [envs.position(i) for i in range(3)]
    _, infos = envs.reset(options={"reset_mask": ended})
    assert infos["_action_mask"].tolist() == ended.tolist()
    for i in range(3):
        assert (envs.position(i) == standing[i]) == (not ended[i])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reset_mask": [0, 1]}, ["reset_mask", 2]),
        ({"reset_mask": [False, False]}, []),
        ({"reset_masks": None}, "reset_mask"),
        ({"position": ["", "", ""]}, ["position", 2, 3]),
        ({"seat": "east"}, "seat"),
        ({"seat": "other"}, ["seat", "south", "north", "random", "other"]),
    ],
)
def test_reset_options_of_vector_environments_are_checked(options, message):
    envs = MancalaVectorEnv(2)
    envs.reset(seed=0)
    with raises(ValueError, message):
        envs.reset(options=options)


@pytest.mark.parametrize("seed", [[1, 2, 3], [1, -1], "ab", 1.5, True])
def test_seeds_of_a_vector_environment_are_one_or_one_a_game(seed):
    with raises(ValueError, "seed"):
        MancalaVectorEnv(2).reset(seed=seed)


@pytest.mark.parametrize("make", [MancalaEnv, lambda **options: MancalaVectorEnv(3, **options)])
def test_the_first_reset_can_be_had_again_without_a_seed(make):
    env = make(seat="random", first_player="random", opening_turns=6)

    def play(seen, info):
        history = [seen]
        for _ in range(10):
            history.append(env.step(info["action_mask"].argmax(axis=-1))[0])
            info = {"action_mask": np.asarray(env.action_masks())}
            if not info["action_mask"].any():
                break
        return [one.tolist() for one in history]

    first = play(*env.reset())
    assert play(*env.reset(seed=env.np_random_seed)) == first


def test_two_environments_do_not_disturb_each_other_through_one_agent():
    shared = agents.make("random", LAYLI)

    def episode(between):
        env = MancalaEnv(opponent=shared)
        _, info = env.reset(seed=3)
        seen = []
        for _ in range(8):
            between()
            one, *_, info = env.step(int(info["action_mask"].argmax()))
            seen.append(one.tolist())
            if not info["action_mask"].any():
                break
        return seen

    other = MancalaEnv(opponent=shared)
    assert episode(lambda: None) == episode(lambda: other.reset(seed=9))


def test_opponents_are_drawn_by_weight_and_games_under_way_continue_against_whom_they_met():
    one, two, three = (agents.make(spec, LAYLI) for spec in ("random", "greedy", "minimax:1"))
    options = EnvOptions(ruleset=LAYLI, opponent=[one, two], opening_turns=0)
    duel = Duel(options, 2000, autoreset=True, num_threads=1)
    duel.set_opponents([one, two], [3.0, 1.0])
    duel.reset(range(2000))
    assert np.mean(duel.opponent_of == 0) == pytest.approx(0.75, abs=0.04)
    met = [duel.opponents[i] for i in duel.opponent_of]
    duel.set_opponents([three])
    assert [duel.opponents[i] for i in duel.opponent_of] == met
    while set(duel.opponents) != {three}:
        before = [duel.opponents[i] for i in duel.opponent_of]
        duel.step(duel.legal_mask.argmax(axis=1).astype(np.int64))
        for b, opponent in enumerate(before):
            assert duel.opponents[duel.opponent_of[b]] is (three if duel.done[b] else opponent)
        duel.set_opponents([three])


def test_a_single_environment_meets_a_new_opponent_from_the_next_reset_on():
    env = MancalaEnv("leyla", opponent="random")
    env.set_opponent("minimax:1")
    env.reset(seed=1)
    env.set_opponent(["greedy", "minimax:2"])
    assert env.opponent.spec == "minimax:1"
    with raises(InvalidSpec, "gredy"):
        env.set_opponent(["greedy", "gredy"])
    met = set()
    for _ in range(20):
        env.reset()
        met.add(env.opponent.spec)
    assert met == {"greedy", "minimax:2"}


START = "layli_goobalay 0,4,4,4,4,4/4,4,4,4,4,4 4-0 N"


@pytest.mark.parametrize("as_text", [True, False])
def test_an_episode_starts_from_a_position_in_every_environment(as_text):
    position = Position.from_text(START)
    given: Any = START if as_text else position
    env = MancalaEnv(seat="north")
    env.reset(seed=0, options={"position": given})
    assert env.position == position
    env.reset(options={"position": given, "seat": "south"})
    assert env.seat == env.position.player == 0
    assert env.position != position
    env.reset()
    assert env.seat == 1
    assert env.position != position

    envs = MancalaVectorEnv(3, seat="north")
    envs.reset(seed=0, options={"position": given})
    assert [envs.position(b) for b in range(3)] == [position] * 3
    third = Position("layli_goobalay")
    third.play(1)
    envs.reset(options={"position": [given, given, third], "reset_mask": np.array([False, True, True])})
    assert envs.position(2) == third


def test_a_position_in_which_the_opponent_ends_the_episode_is_refused():
    env = MancalaEnv(seat="north", opponent="random")
    env.reset(seed=0)
    before = env.position
    with raises(ValueError, "before the learner's first turn"):
        env.reset(options={"position": "layli_goobalay 0,1,1,0,0,0/0,0,0,0,0,0 21-25 S"})
    assert env.position == before


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S", ["leyla", "layli_goobalay"]),
        (Position("leyla"), ["leyla", "layli_goobalay"]),
        ("layli_goobalay 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S", "over"),
        (7, ["position", "Position", 7]),
        ("nonsense", "nonsense"),
    ],
)
def test_positions_to_start_from_are_checked(position, message):
    env = MancalaEnv()
    env.reset(seed=0)
    before = env.position
    with raises(InvalidPosition, message):
        env.reset(options={"position": position})
    assert env.position == before


def test_a_match_cannot_start_from_a_position_with_seeds_missing():
    text = "layli_goobalay 4,4,4,4,4,4/0,4,4,4,4,4 0-0 S"
    MancalaEnv().reset(options={"position": text})
    with raises(InvalidPosition, 4, 48):
        MancalaEnv(rounds="match").reset(options={"position": text})


@pytest.mark.parametrize(
    "wrong", [{"num_threads": 0}, {"num_threads": "2"}, {"seed": -1}, {"seed": 1.5}, {"seed": "1"}], ids=repr
)
def test_seeds_and_threads_of_a_vecenv_are_whole_numbers(wrong: Any):
    for opponent in ("greedy", agents.make("greedy", "leyla")):
        with raises(InvalidArgument, *wrong, *map(repr, wrong.values())):
            MancalaVecEnv(2, "leyla", opponent=opponent, **wrong)


def test_a_vecenv_is_reset_before_its_first_step():
    envs = MancalaVecEnv(2, "leyla", opponent="greedy", seed=1)
    with raises(ResetNeeded, "reset()"):
        envs.step(np.zeros(2, np.int64))
    envs.reset()
    envs.step(envs.action_masks().argmax(axis=1))


def test_options_of_a_vecenv_are_for_its_next_episodes():
    start = Position.from_text("leyla 0,1,0,0,2,0/0,0,3,0,0,0 20-22 N")
    envs: Any = MancalaVecEnv(2, "leyla", opponent="greedy", seed=1)
    envs.set_options([{"position": start, "seat": "north"}, {"position": start.to_text(), "seat": "north"}])
    envs.reset()
    assert [envs.position(b) for b in range(2)] == [start, start]
    envs.reset()
    assert start not in [envs.position(b) for b in range(2)]
    envs.set_options({"seat": "south"})
    for _ in range(5):
        envs.reset()
        envs.set_options({"seat": "south"})
        assert [envs.position(b).player for b in range(2)] == [0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positions": None}, "position"),
        ({"seat": "other"}, ["seat", "south", "north", "random", "other"]),
        ({"position": "leyla"}, "position"),
        ([{}, {}, {}], ["options", 2, 3]),
    ],
)
def test_options_of_a_vecenv_are_checked(options: Any, message: str):
    envs = MancalaVecEnv(2, "leyla", opponent="greedy", seed=1)
    envs.reset()
    before = [envs.position(b) for b in range(2)]
    envs.set_options(options)
    with raises(ValueError, message):
        envs.reset()
    assert [envs.position(b) for b in range(2)] == before
    envs.reset()


def test_unknown_options_are_refused_with_the_nearest():
    with raises(UnknownOption, "seats", "seat"):
        MancalaEnv().reset(options={"seats": "north"})
    with raises(UnknownOption, "oponent", "opponent"):
        gymnasium.make("mancala/Leyla-v0", oponent="greedy")
    with raises(UnknownOption, "opening_turn", "opening_turns"):
        gymnasium.make_vec("mancala/Leyla-v0", num_envs=2, opening_turn=3)


@pytest.mark.parametrize("env", [MancalaEnv("leyla"), MancalaVectorEnv(2, "leyla")], ids=["one", "many"])
@pytest.mark.parametrize("name", ["opponent", "num_envs"])
def test_an_argument_of_the_constructor_is_no_reset_option(env: Any, name: str):
    with raises(UnknownOption, name, "position", "seat") as refused:
        env.reset(options={name: 1})
    assert "learners" not in str(refused.value)
    assert "MancalaVecEnv" not in str(refused.value)


def test_an_argument_that_only_other_environments_have_names_them():
    with raises(UnknownOption, "opponent", "gymnasium.make", "MancalaVecEnv"):
        leyla_v0.env(opponent="greedy")  # pyright: ignore[reportCallIssue]


def test_an_illegal_action_is_replaced_by_a_random_legal_one_where_that_is_asked_for():
    played = set()
    for seed in range(40):
        env = MancalaEnv(illegal="random", opening_turns=0, opponent="greedy")
        env.reset(seed=0, options={"position": "layli_goobalay 0,4,4,4,4,4/4,4,4,4,4,4 4-0 S"})
        env.reset(seed=seed, options={"position": "layli_goobalay 0,4,4,4,4,4/4,4,4,4,4,4 4-0 S"})
        assert not env.action_masks()[0]
        _, reward, terminated, _, _ = env.step(0)
        assert not (terminated and reward == -1)
        played.add(env.position.to_text())
    assert len(played) >= 5
    env = MancalaEnv(illegal="random")
    env.reset(seed=0)
    with raises(IllegalMove, "North", "legal holes"):
        env.step(6)


@pytest.mark.parametrize("kind", ["board", "afterstates"])
def test_flat_observations_hold_the_same_numbers(kind):
    options: Any = {"opponent": "greedy", "observation": kind}
    plain: Any = MancalaEnv(**options)
    flat: Any = MancalaEnv(flatten=True, **options)
    assert flat.observation_space.shape == (int(np.prod(plain.observation_space.shape)),)
    one, other = plain.reset(seed=0)[0], flat.reset(seed=0)[0]
    for _ in range(10):
        np.testing.assert_array_equal(one.reshape(-1), other)
        assert flat.observation_space.contains(other)
        action = int(plain.action_masks().argmax())
        (one, *_, over, _, _), (other, *_) = plain.step(action), flat.step(action)
        if over:
            break
    envs = MancalaVectorEnv(3, flatten=True, **options)
    assert envs.reset(seed=0)[0].shape == (3, *flat.observation_space.shape)


@pytest.mark.parametrize("family", ["layli_goobalay", "leyla", "gabata_i"])
def test_a_match_without_end_is_truncated(family):
    """After the last round of an episode, a match that is not over is truncated, not terminated."""
    ruleset = rulesets.lookup(family)
    start = Position(ruleset)
    last = Position(ruleset, start.seeds, stores=start.stores, player=0, round=MAX_ROUNDS, starter=0)
    envs = MancalaVectorEnv(20, ruleset, rounds="match", autoreset_mode="NextStep", seat="random")
    envs.reset(seed=0, options={"position": last})
    seen = np.zeros(20, np.bool_)
    for _ in range(400):
        rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())[1:]
        assert not (terminations & truncations).any()
        for b in np.flatnonzero((terminations | truncations) & ~seen):
            final = envs.position(int(b))
            assert final.round == MAX_ROUNDS
            assert truncations[b] == (final.next_round() is not None)
            winner = infos["winner"][b]
            assert rewards[b] == (0 if winner == -1 else (1 if winner == infos["seat"][b] else -1))
        seen |= terminations | truncations
        if seen.all():
            break
    assert seen.all()


def test_seats_and_winners_in_infos_are_numpy_scalars():
    env = MancalaEnv()
    _, info = env.reset(seed=0)
    assert isinstance(info["seat"], np.integer)
    over = False
    while not over:
        *_, over, _, info = env.step(int(info["action_mask"].argmax()))
    assert isinstance(info["winner"], np.integer)


@pytest.mark.parametrize("action", [True, np.bool_(True), np.array(True)])
def test_true_is_no_action_in_any_environment(action):
    single, several = MancalaEnv(), MancalaVectorEnv(2)
    for env in (single, several):
        env.reset(seed=0)
    with pytest.raises(IllegalMove):
        single.step(action)
    with pytest.raises(IllegalMove):
        several.step([action, action])


def test_every_environment_has_its_own_metadata():
    one, other = MancalaEnv(), MancalaEnv()
    one.metadata["render_modes"].append("pixels")
    assert (
        other.metadata["render_modes"]
        == MancalaEnv.metadata["render_modes"]
        == [
            "ansi",
            "svg",
            "rgb_array",
            "human",
        ]
    )
    assert MancalaEnv.metadata["render_modes"] is not MancalaVectorEnv.metadata["render_modes"]


def test_render_of_many_games_warns_once(recwarn):
    envs = MancalaVectorEnv(5)
    envs.reset(seed=0)
    assert envs.render() is None
    assert len(recwarn) == 1
    assert recwarn[0].filename == __file__  # the line that called render()


@pytest.mark.parametrize("illegal", ["raise", "random"])
@pytest.mark.parametrize(
    "wrong", [np.zeros(1, np.int64), np.zeros((4, 1), np.int64), np.zeros(5, np.int64), np.full(4, 0.9)]
)
def test_stable_baselines3_is_told_of_actions_that_are_not_one_a_game(wrong, illegal):
    env = MancalaVecEnv(4, "layli_goobalay", illegal=illegal, num_threads=1, seed=1)
    env.reset()
    before = [env.position(b).to_text() for b in range(4)]
    with raises(IllegalMove, "actions", 4):
        env.step(wrong)
    assert [env.position(b).to_text() for b in range(4)] == before


@pytest.mark.parametrize("mode", MODES)
def test_options_of_a_reset_hold_for_one_episode(mode):
    """After an episode with a given position and seat, the arguments of the environment hold again."""
    start = Position.from_text("layli_goobalay 0,0,0,1,0,0/0,0,0,2,2,0 23-20 N")
    env: Any = MancalaVectorEnv(4, seat="south", opening_turns=0, autoreset_mode=mode)
    env.reset(seed=0, options={"position": start, "seat": "north"})
    assert [env.position(b) for b in range(4)] == [start] * 4
    assert env.seats.tolist() == [1] * 4
    num_started, over = np.zeros(4, np.int64), np.zeros(4, np.bool_)
    while num_started.min() < 3:
        if mode == AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
            started, over = over, np.zeros(4, np.bool_)
        else:
            ended = over
            _, _, terminations, truncations, _ = env.step(env.action_masks().argmax(axis=1))
            over = terminations | truncations
            started = over if mode == AutoresetMode.SAME_STEP else ended
        for b in np.flatnonzero(started):
            assert env.position(int(b)) == Position("layli_goobalay")
            assert env.seats[b] == 0
        num_started += started


def test_options_of_a_reset_hold_for_one_episode_of_a_vecenv():
    start = Position.from_text("layli_goobalay 0,0,0,1,0,0/0,0,0,2,2,0 23-20 N")
    envs: Any = MancalaVecEnv(4, seat="south", opening_turns=0, seed=0)
    envs.set_options({"position": start, "seat": "north"})
    envs.reset()
    num_started = np.zeros(4, np.int64)
    while num_started.min() < 3:
        dones = envs.step(envs.action_masks().argmax(axis=1))[2]
        for b in np.flatnonzero(dones):
            assert envs.position(int(b)) == Position("layli_goobalay")
        num_started += dones


def test_a_given_seat_is_drawn_again_where_the_environment_draws_seats():
    envs = MancalaVectorEnv(40, seat="random")
    envs.reset(seed=0, options={"seat": "north"})
    assert envs.seats.tolist() == [1] * 40
    ended = np.zeros(40, np.bool_)
    while not ended.all():
        ended |= envs.step(envs.action_masks().argmax(axis=1))[2]
    assert 5 < envs.seats.sum() < 35


@pytest.mark.parametrize("reward", ["outcome", "margin"])
@pytest.mark.parametrize("name", ["layli_goobalay", "leyla"])
def test_a_draw_has_no_winner_and_no_reward(name, reward):
    #  North 1 0 0 0 0 0: South's seed goes into North's first hole and from there into the next;
    #  South 0 0 0 0 0 1  South is stuck then, and North counts 22 + 2
    opponent = Wrong(name, 0)
    options: Any = {"position": f"{name} 0,0,0,0,0,1/0,0,0,0,0,1 24-22 S", "seat": "south"}
    env = MancalaEnv(name, reward=reward, opponent=opponent)
    env.reset(seed=0, options=options)
    _, single_reward, terminated, truncated, info = env.step(5)
    assert (single_reward, terminated, truncated) == (0, True, False)
    assert (info["winner"], info["counts"].tolist(), info["illegal"]) == (-1, [24, 24], False)
    vector = MancalaVectorEnv(2, name, reward=reward, opponent=opponent)
    vector.reset(seed=0, options=options)
    _, rewards, terminations, _, infos = vector.step([5, 5])
    assert rewards.tolist() == [0, 0]
    assert terminations.all()
    assert infos["final_info"]["winner"].tolist() == [-1, -1]
    vecenv: Any = MancalaVecEnv(2, name, reward=reward, opponent=opponent, seed=0)
    vecenv.set_options(options)
    vecenv.reset()
    _, rewards, dones, infos = vecenv.step(np.array([5, 5]))
    assert rewards.tolist() == [0, 0]
    assert dones.all()
    assert [one["winner"] for one in infos] == [-1, -1]


def test_the_other_seat_is_taken_after_every_episode():
    options = EnvOptions(ruleset=LAYLI, opponent="greedy")
    duel = Duel(options, 4, autoreset=True, alternates_seats=True, num_threads=1)
    duel.reset(list(range(4)))
    assert duel.seats.tolist() == [1, 0, 1, 0]
    seats, ends = duel.seats, np.zeros(4, np.int64)
    while ends.min() < 3:
        duel.step(duel.legal_mask.argmax(axis=1))
        last_seats = duel.results[:, kernels.LAST_SEAT]
        np.testing.assert_array_equal(last_seats[duel.done], seats[duel.done])
        seats = np.where(duel.done, 1 - seats, seats)
        np.testing.assert_array_equal(duel.seats, seats)
        ends += duel.done


def test_the_last_turn_stays_marked_after_an_exception_of_the_opponent() -> None:
    calls = iter(range(3))

    def choose(position: Position) -> int:
        return position.legal_actions[0] if next(calls) < 2 else 1 // 0

    opponent = agents.from_function(choose, "leyla")
    env = MancalaEnv("leyla", opponent=opponent, opening_turns=0, seat="south", render_mode="svg")
    env.reset(seed=1)
    for _ in range(2):
        env.step(int(env.action_masks().argmax()))
    before = env.render()
    with pytest.raises(ZeroDivisionError):
        env.step(int(env.action_masks().argmax()))
    assert env.render() == before


def test_a_late_reset_that_fails_undoes_the_step():
    class FailingOnce(Failing):
        calls, fails_at = 0, 0

        def act(self, games):
            self.calls += 1
            if self.calls == self.fails_at:
                raise KeyboardInterrupt
            return super().act(games)

    def made():
        opponent = FailingOnce("layli_goobalay", None)
        envs = MancalaVectorEnv(2, opponent=opponent, seat="north", max_episode_steps=3, opening_turns=0)
        envs.reset(seed=0)
        return envs, opponent

    (envs, opponent), (twin, _) = made(), made()
    num_undone = 0
    for _ in range(9):
        expected = twin.step(twin.action_masks().argmax(axis=1))
        for later in (1, 2):
            opponent.fails_at = opponent.calls + later
            try:
                step = envs.step(envs.action_masks().argmax(axis=1))
                break
            except KeyboardInterrupt:
                num_undone += later == 2
        else:
            opponent.fails_at = 0
            step = envs.step(envs.action_masks().argmax(axis=1))
        for one, other in zip(step[:4], expected[:4], strict=True):
            assert np.array_equal(one, other)
        assert [envs.position(b) for b in range(2)] == [twin.position(b) for b in range(2)]
    assert num_undone == 3


@pytest.mark.parametrize("seat", ["south", "north", "random"])
@pytest.mark.parametrize("opponent", ["greedy", "minimax:1"])
def test_a_learner_in_training_begins_on_no_held_out_board(seat, opponent):
    options: Any = {"seat": seat, "opponent": opponent, "opening_set": "training"}
    envs = MancalaVectorEnv(256, autoreset_mode="NextStep", **options)
    envs.reset(seed=3)
    is_first, rng = np.ones(256, np.bool_), np.random.default_rng(0)
    for _ in range(30):
        assert rows_in_set(LAYLI, envs._duel.games[is_first], "training").all()
        chosen = [rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in envs.action_masks()]
        actions = np.array(chosen)
        was_over = envs._duel.is_over
        envs.step(actions)
        is_first = was_over


@pytest.mark.parametrize("name", ["gabata_five_holes", "gabata_3"])
def test_a_set_without_openings_is_refused(name):
    with raises(InvalidArgument, "opening_turns=1", name, "evaluation"):
        MancalaEnv(ruleset=name, opening_turns=1, opening_set="evaluation")
    MancalaEnv(ruleset=name, opening_turns=4, opening_set="evaluation")


def test_an_opponent_of_other_games_changes_no_draws():
    """Game b of a vector environment plays what the single environment with seed + b plays."""
    options: Any = {"opponent": "random", "seat": "random"}
    envs = MancalaVectorEnv(2, autoreset_mode="NextStep", **options)
    singles = [MancalaEnv(**options) for _ in range(2)]
    envs.reset(seed=5)
    for b, single in enumerate(singles):
        single.reset(seed=5 + b)
    over, is_set = np.zeros(2, np.bool_), False
    for _ in range(200):
        actions = envs.action_masks().argmax(axis=1)
        _, _, terminations, truncations, _ = envs.step(actions)
        for b, single in enumerate(singles):
            if over[b]:
                single.reset()
            else:
                single.step(int(actions[b]))
            assert envs.position(b) == single.position
        over = terminations | truncations
        if over.sum() == 1 and not is_set:
            is_set = True
            for one in (envs, *singles):
                one.set_opponent("greedy")
    assert is_set


def test_a_given_start_without_a_turn_asks_a_slow_opponent_less_often():
    class Counting(Failing):
        calls = 0

        def act(self, games):
            self.calls += 1
            return super().act(games)

    opponent = Counting("layli_goobalay", None)
    start = Position("layli_goobalay", [0] * 6 + [1, 1, 0, 0, 0, 0], player=1, stores=(20, 26))
    env = MancalaEnv(opponent=opponent)
    with raises(InvalidArgument, "failing"):
        env.reset(options={"position": start})
    assert opponent.calls <= 10_000
