"""Agents that search at most one turn ahead, and agents.make."""

import numpy as np
import pytest
from boards import NORTH, SOUTH, finished, position
from error_checks import raises
from hypothesis import assume, given
from strategies import reached

from mancala_env import Batch, IllegalMove, InvalidRuleset, Position, Ruleset, agents, rulesets
from mancala_env.agents.registry import spec_forms
from mancala_env.agents.scripted import GreedyAgent, RandomAgent
from mancala_env.agents.searchers import MinimaxAgent
from mancala_env.errors import InvalidArgument, InvalidPosition


@pytest.mark.parametrize("spec", ["random", "greedy"])
@given(game=reached())
def test_every_choice_is_legal(spec, game):
    assume(not game.is_over)
    assert agents.make(spec, game.ruleset, seed=1).choose(game) in game.legal_actions


@pytest.mark.parametrize("spec", ["random", "greedy"])
@pytest.mark.parametrize("ruleset", rulesets.names())
def test_a_batch_can_be_played_by_its_actions(spec, ruleset):
    batch = Batch(ruleset, 20, rounds="match", seed=1)
    agent = agents.make(spec, ruleset, seed=1)
    before = batch.games.copy()
    actions = agent.act(batch.games)
    assert (actions.dtype, actions.shape) == (np.int64, (20,))
    assert (batch.games == before).all()
    for _ in range(50):
        batch.step(agent.act(batch.games))


@pytest.mark.parametrize("spec", ["random", "greedy"])
def test_the_same_seed_gives_the_same_actions(spec):
    games = Batch("leyla", 200, opening_turns=3, seed=2).games
    one, two = agents.make(spec, "leyla", seed=5), agents.make(spec, "leyla", seed=5, num_threads=1)
    first = one.act(games)
    assert (first == two.act(games)).all()
    one.seed(5)
    assert (one.act(games) == first).all()


def test_random_chooses_each_legal_action_equally_often():
    game = position("leyla", "1 1 1 1 1 1\n0 1 0 1 1 0")
    games = np.repeat(game.games, 30_000, axis=0)
    actions = agents.make("random", "leyla", seed=3).act(games)
    times = np.bincount(actions, minlength=6)
    assert times[[0, 2, 5]].sum() == 0
    assert (abs(times[[1, 3, 4]] - 10_000) < 4.5 * np.sqrt(30_000 * 2 / 9)).all()


def margins(game):
    """Return the lead of the player to move after each action."""
    result = {}
    for action in game.legal_actions:
        after = game.copy()
        after.play(action)
        counts = after.counts
        result[action] = counts[game.player] - counts[1 - game.player]
    return result


@given(game=reached())
def test_greedy_takes_the_turn_with_the_best_count(game):
    assume(not game.is_over)
    lead = margins(game)
    assert lead[agents.make("greedy", game.ruleset).choose(game)] == max(lead.values())


def test_greedy_takes_the_greatest_capture():
    game = position("layli_goobalay", "2 2 0 0 9 1\n0 1 0 1 0 1")
    assert agents.make("greedy", "layli_goobalay").choose(game) == 3


def test_greedy_draws_among_equal_turns():
    game = position("leyla", "1 1 0 0 0 0\n1 0 1 0 1 0")  # three turns that end in South's own empty holes
    assert len(set(margins(game).values())) == 1
    games = np.repeat(game.games, 30_000, axis=0)
    times = np.bincount(agents.make("greedy", "leyla", seed=3).act(games), minlength=6)
    assert (abs(times[[0, 2, 4]] - 10_000) < 4.5 * np.sqrt(30_000 * 2 / 9)).all()


def test_greedy_beats_random():
    batch = Batch("layli_goobalay", 400, seed=4, opening_turns=2)
    players = [agents.make(spec, "layli_goobalay", seed=4) for spec in ("greedy", "random")]
    wins = np.zeros(400)
    playing = np.ones(400, np.bool_)
    while playing.any():
        by_greedy, by_random = (player.act(batch.games) for player in players)
        mover = batch.player.copy()
        batch.step(np.where(mover == SOUTH, by_greedy, by_random), where=playing)
        ended = playing & batch.done
        wins[ended] = (batch.reward * np.where(mover == SOUTH, 1, -1))[ended]
        playing &= ~ended
    assert wins.mean() > 0.3


@pytest.mark.parametrize("spec", ["random", "greedy"])
def test_there_is_nothing_to_choose_when_the_round_is_over(spec):
    agent = agents.make(spec, "leyla")
    over = finished("leyla", (24, 24))
    with raises(IllegalMove, "stuck"):
        agent.choose(over)
    with raises(IllegalMove, "game 1"):
        agent.act(np.concatenate([Position("leyla").games, over.games]))


def test_an_agent_plays_its_own_ruleset_only():
    with raises(agents.InvalidSpec, "random", "leyla", "gabata_i"):
        agents.make("random", "leyla").choose(Position("gabata_i"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Position("leyla"), "Position"),
        (None, "NoneType"),
        (Position("leyla").games[0], f"({Position('leyla').games.shape[1]},)"),
        (Position("leyla").games.astype(np.int64), "int64"),
        (Position("leyla").games[:, :5], "(1, 5)"),
    ],
)
@pytest.mark.parametrize(
    "spec", ["random", "greedy", "minimax:2", "mcts:5", "value+minimax:1", "trained", "perfect"]
)
def test_what_is_no_array_of_games_is_refused(spec, wrong, said):
    agent = agents.make(spec, "leyla")
    with raises(InvalidPosition, "games", "uint64", said):
        agent.act(wrong)
    if isinstance(agent, MinimaxAgent):
        with raises(InvalidPosition, "games", "uint64", said):
            agent.action_values(wrong)


def test_one_game_to_choose_in_is_a_position():
    with raises(InvalidArgument, "Position('leyla')", "'leyla'"):
        agents.make("random", "leyla").choose("leyla")  # type: ignore[arg-type]


def test_make():
    agent = agents.make("random", "leyla", seed=1, num_threads=1)
    assert type(agent) is RandomAgent
    assert (agent.spec, agent.ruleset, agent.num_threads) == ("random", rulesets.lookup("leyla"), 1)
    assert repr(agent) == "agents.make('random', 'leyla', seed=1)"
    agent.seed(2)
    assert repr(agent) == "agents.make('random', 'leyla', seed=1)"
    assert repr(agents.make("random", "leyla")) == "agents.make('random', 'leyla')"
    assert type(agents.make("greedy", "leyla")) is GreedyAgent
    mine = Ruleset(name="mine", row_width=3)
    assert agents.make("greedy", mine).choose(Position(mine)) in (0, 1, 2)


def test_an_agent_is_made_of_itself():
    agent = agents.make("random", "leyla")
    assert agents.make(agent, "leyla") is agent
    with raises(agents.InvalidSpec, "random", "leyla", "gabata_i"):
        agents.make(agent, "gabata_i")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("greed", "greed"),
        ("Random", "random"),
        ("alphazero", "alphazero"),
        ("", "''"),
        ("random:3", "random:3"),
        ("greedy:", "greedy:"),
        ("minimax", "minimax:DEPTH"),
    ],
)
def test_a_spec_that_names_no_agent_is_refused(spec, why):
    with raises(agents.InvalidSpec, why):
        agents.make(spec, "leyla")


def test_the_answer_to_a_wrong_spec_lists_all_forms():
    with pytest.raises(agents.InvalidSpec) as error:
        agents.make("alphazero", "leyla")
    assert all(form in str(error.value) for form in spec_forms())


@pytest.mark.parametrize("spec", ["random", "minimax:2", "perfect"])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seed": -1}, ["seed", 0, -1]),
        ({"seed": 1.5}, ["seed", 0, 1.5]),
        ({"seed": "1"}, ["seed", 0, "1"]),
        ({"num_threads": 0}, ["num_threads", 1, 1024, 0]),
        ({"num_threads": "2"}, ["num_threads", 1, 1024, "2"]),
    ],
)
def test_an_invalid_seed_or_number_of_threads_is_refused(spec, wrong, said):
    with raises(InvalidArgument, said):
        agents.make(spec, "leyla", **wrong)
    if "seed" in wrong:
        with raises(InvalidArgument, said):
            agents.make(spec, "leyla").seed(wrong["seed"])


def test_an_unknown_ruleset_is_refused():
    with raises(InvalidRuleset, "leyla"):
        agents.make("random", "leila")


@pytest.mark.parametrize("player", [SOUTH, NORTH])
def test_both_seats_are_played(player):
    game = Position("leyla", player=player)
    for spec in ("random", "greedy"):
        assert agents.make(spec, "leyla", seed=1).choose(game) in range(6)
