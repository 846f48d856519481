"""Every ruleset as an OpenSpiel game: OpenSpiel's own conformance test, and its search."""

from typing import Any

import numpy as np
import pytest
from error_checks import raises

from mancala_env import Position, rulesets
from mancala_env.errors import InvalidArgument, InvalidPosition, InvalidRuleset
from mancala_env.observations import Observer, observe

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: mancala-env[openspiel]")

from open_spiel.python.algorithms import mcts  # noqa: E402
from open_spiel.python.observation import make_observation  # noqa: E402

from mancala_env.envs import open_spiel  # noqa: E402


@pytest.mark.parametrize("name", rulesets.names())
def test_openspiels_random_simulations(name):
    """Serialization, masks, returns and observers: the requirements of OpenSpiel."""
    pyspiel.random_sim_test(pyspiel.load_game(f"mancala_{name}"), num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize("name", ["layli_goobalay", "leyla", "gabata_i"])
def test_a_state_is_the_position(name):
    game = open_spiel.load(name)
    state, position = game.new_initial_state(), Position(name)
    seen: Any = make_observation(game)
    rng = np.random.default_rng(0)
    while not position.is_over:
        assert state.current_player() == position.player
        assert state.legal_actions() == list(position.legal_actions)
        assert np.flatnonzero(state.legal_actions_mask()).tolist() == state.legal_actions()
        for player in range(2):
            seen.set_from(state, player)
            np.testing.assert_array_equal(seen.tensor, observe(position.ruleset, position.games, player)[0])
        action = int(rng.choice(position.legal_actions))
        state.apply_action(action)
        position.play(action)
    assert state.is_terminal()
    assert state.returns() == {0: [1, -1], 1: [-1, 1], None: [0, 0]}[position.winner]
    assert len(state.history()) <= game.max_game_length()
    again = game.deserialize_state(state.serialize())
    assert str(again) == str(state) == position.to_text()


def test_openspiels_tree_search_beats_random_play():
    game, won = open_spiel.load("layli_goobalay"), 0.0
    rng = np.random.RandomState(0)
    for play in range(6):
        evaluator = mcts.RandomRolloutEvaluator(1, rng)
        bot, state = mcts.MCTSBot(game, 1.4, 20, evaluator, random_state=rng), game.new_initial_state()
        while not state.is_terminal():
            mine = state.current_player() == play % 2
            state.apply_action(bot.step(state) if mine else int(rng.choice(state.legal_actions())))
        won += state.returns()[play % 2]
    assert won > 0


def test_margins_and_custom_rulesets():
    mine = rulesets.Ruleset(name="mine", row_width=3, seeds_per_hole=3)
    game = open_spiel.load(mine, reward="margin")
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    south, north = state.position.counts
    assert state.returns()[0] == pytest.approx((south - north) / 18)
    assert open_spiel.register(mine) == "mancala_mine"
    pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)


def test_an_unknown_reward_is_refused():
    with raises(InvalidArgument, "reward", "'seeds'"):
        open_spiel.load("leyla", reward="seeds")


def test_openspiel_is_told_what_kind_of_game_it_is():
    game, ruleset = pyspiel.load_game("mancala_leyla"), rulesets.lookup("leyla")
    kind = game.get_type()
    assert (kind.short_name, kind.long_name) == ("mancala_leyla", ruleset.title)
    assert (kind.min_num_players, kind.max_num_players, game.num_players()) == (2, 2, 2)
    assert kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    assert kind.chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
    assert kind.provides_information_state_string
    assert not kind.provides_information_state_tensor
    assert kind.provides_observation_string
    assert kind.provides_observation_tensor
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-1, 1, 0)
    assert game.max_chance_outcomes() == 0
    assert (game.num_distinct_actions(), game.max_game_length()) == (6, ruleset.max_turns)
    assert game.observation_tensor_shape() == list(Observer(ruleset).shape)
    state = game.new_initial_state()
    state.apply_action(2)
    assert state.action_to_string(state.current_player(), 1) == "N2"
    assert state.information_state_string(0) == state.information_state_string() == "2"
    assert state.observation_string(1) == state.observation_string() == str(state)
    seen: Any = make_observation(game)
    assert seen.string_from(state, 0) == str(state)
    assert state.returns() == [0, 0]
    end = game.new_initial_state("leyla 0,0,0,0,0,0/0,0,0,0,0,0 30-18 S")
    assert end.is_terminal()
    assert end.returns() == [1, -1]


def test_a_name_stands_for_one_ruleset():
    one = rulesets.Ruleset(name="twice", row_width=3, seeds_per_hole=3)
    assert open_spiel.register(one) == open_spiel.register(one) == "mancala_twice"
    with raises(InvalidRuleset, "mancala_twice"):
        open_spiel.load(rulesets.Ruleset(name="twice", row_width=4, seeds_per_hole=3))
    assert open_spiel.load(one).num_distinct_actions() == 3


@pytest.mark.parametrize("name", ["a(b=1)", "a)"])
def test_a_name_that_openspiel_cannot_load_is_refused(name: str) -> None:
    with raises(InvalidRuleset, name):
        open_spiel.load(rulesets.Ruleset(name=name, row_width=3, seeds_per_hole=3))


def test_a_round_that_owns_more_than_its_row_is_refused():
    won = Position("gabata_i", [0] * 12, stores=(31, 17)).next_round()
    assert won is not None
    with raises(InvalidPosition, "territory"):
        open_spiel.load("gabata_i").new_initial_state(won.to_text())
