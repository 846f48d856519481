"""The agent mcts: legal, repeatable, exact if the round can be proven, stronger with more simulations."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from boards import finished, position
from error_checks import raises

from mancala_env import Batch, IllegalMove, Position, agents, rulesets
from mancala_env.agents.searchers import MctsAgent
from mancala_env.evaluation import play_matches
from mancala_env.search import piecewise, uct

EXACT = json.loads((Path(__file__).parent.parent / "data" / "exact.json").read_text(encoding="utf-8"))
# With this many free seeds, 20,000 simulations prove most values.
FEW_SEEDS = 8


def tree_search(budget, ruleset="layli_goobalay", **options):
    agent = agents.make(f"mcts:{budget}", ruleset, **{"seed": 1, "num_threads": 1} | options)
    assert isinstance(agent, MctsAgent)
    return agent


def free_seeds(entry):
    return sum(seeds for seeds, owner in zip(entry["seeds"], entry["owner"], strict=True) if owner < 0)


SMALL = [entry for entry in EXACT if free_seeds(entry) <= FEW_SEEDS]


@pytest.mark.parametrize("ruleset", rulesets.names())
def test_a_batch_can_be_played_by_its_actions(ruleset):
    batch = Batch(ruleset, 8, rounds="match", seed=1)
    before = batch.games.copy()
    agent = tree_search(30, ruleset)
    actions = agent.act(batch.games)
    assert (actions.dtype, actions.shape) == (np.int64, (8,))
    assert (batch.games == before).all()
    for _ in range(60):
        batch.step(agent.act(batch.games))


def test_territory_that_changed_hands_is_played():
    batch = Batch("gabata_i", 40, rounds="match", seed=3)
    batch.play_random(300)
    agent = tree_search(50, "gabata_i")
    for _ in range(20):
        batch.step(agent.act(batch.games))


@pytest.mark.parametrize("entry", SMALL, ids=lambda entry: entry["ruleset"])
def test_a_small_endgame_is_won_and_played_perfectly_once_proven(entry):
    game = Position(entry["ruleset"], entry["seeds"], entry["owner"])
    best = max(entry["actions"].values())
    for seed in range(3):
        agent = tree_search(20_000, entry["ruleset"], seed=seed)
        value = entry["actions"][str(agent.choose(game))]
        assert np.sign(value) == np.sign(best)
        if agent.last_simulations[0] < 20_000:
            assert value == best


def test_small_endgames_are_proven_before_the_simulations_are_spent():
    spent = []
    for entry in SMALL:
        agent = tree_search(20_000, entry["ruleset"])
        agent.choose(Position(entry["ruleset"], entry["seeds"], entry["owner"]))
        spent.append(agent.last_simulations[0])
    assert np.mean(np.array(spent) < 20_000) > 0.7


def test_a_proven_win_is_played_however_few_the_visits():
    """After S5 x 9 South has 28 of 48 seeds in store and wins in any case."""
    game = position("layli_goobalay", "0 2 0 0 0 9\n0 1 0 0 1 0", stores=(18, 17))
    for budget in (2, 5, 100):
        agent = tree_search(budget)
        after = game.copy()
        after.play(agent.choose(game))
        assert after.stores[0] > 24


def test_one_legal_action_needs_no_search():
    game = position("leyla", "1 2 3 4 5 6\n0 0 0 7 0 0")
    agent = tree_search(1000, "leyla")
    assert agent.choose(game) == 3
    assert agent.last_simulations.tolist() == [1]


def test_a_choice_depends_on_the_position_and_the_seed_alone():
    games = Batch("layli_goobalay", 64, seed=6, opening_turns=5).games
    together = tree_search(200).act(games)
    assert (tree_search(200, num_threads=2).act(games) == together).all()
    alone = tree_search(200)
    assert [alone.act(games[b : b + 1])[0] for b in range(64)] == together.tolist()
    used = tree_search(200)
    used.act(games[::-1])
    used.seed(1)
    assert (used.act(games) == together).all()
    assert (tree_search(200, seed=2).act(games) != together).any()


def test_a_search_in_pieces_is_the_search_in_one(monkeypatch):
    """A time limit splits the search into pieces. Together they find the same."""
    games = Batch("leyla", 3, seed=6, opening_turns=5).games
    looks = itertools.count(1)
    # A look about a millisecond after the last keeps pieces as they begin, at ten simulations.
    monkeypatch.setattr(piecewise, "perf_counter", lambda: next(looks) / 1024)
    timed = tree_search("0.25s", "leyla")
    actions = timed.act(games)
    assert timed.last_simulations.tolist() == [2560, 2560, 2560]
    assert (tree_search(2560, "leyla").act(games) == actions).all()


def test_more_time_runs_more_simulations(monkeypatch):
    game = Position("layli_goobalay")
    simulations = []
    for seconds in (1, 10):
        looks = itertools.count()
        monkeypatch.setattr(piecewise, "perf_counter", lambda looks=looks: next(looks))
        agent = tree_search(f"{seconds}s")
        assert agent.choose(game) in game.legal_actions
        simulations.append(agent.last_simulations[0])
    assert 0 < simulations[0] < simulations[1]


def test_a_full_tree_goes_on_with_rollouts(monkeypatch):
    monkeypatch.setattr(uct, "MAX_NODES", 40)
    agent = tree_search(2000)
    game = Position("layli_goobalay")
    assert agent.choose(game) in game.legal_actions
    assert agent.last_simulations.tolist() == [2000]


def test_a_round_that_is_over_is_refused():
    over = finished("leyla", (24, 24))
    with raises(IllegalMove, "game 1"):
        tree_search(10, "leyla").act(np.concatenate([Position("leyla").games, over.games]))


@pytest.mark.parametrize("spec", ["mcts:0", "mcts:many", "mcts:", "mcts:-1s", "mcts:0.0s", "mcts:1e3"])
def test_wrong_simulations_or_time_are_refused(spec):
    with raises(agents.InvalidSpec, f"'{spec}'", "SIMULATIONS", 10000000):
        agents.make(spec, "leyla")


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
def test_mcts_beats_random_and_more_simulations_beat_fewer(ruleset):
    assert play_matches("mcts:50", "random", ruleset, games=300, seed=1).win_rate > 0.65
    assert play_matches("mcts:400", "mcts:20", ruleset, games=300, seed=1).win_rate > 0.55


def chosen_of(children, player=0, root=(-48, 48), win=1):
    """Return the children chosen among (visits, value, low, high), with bounds for the player to move."""
    count = len(children)
    tree = np.zeros((1 + count, uct.NODE_COLUMNS), np.int32)
    estimates = np.zeros((1 + count, 2), np.float32)
    tree[0, [uct.FIRST, uct.COUNT]] = 1, count
    tree[0, [uct.LOW, uct.HIGH]] = root if player == 0 else (-root[1], -root[0])
    for n, (visits, value, low, high) in enumerate(children, 1):
        tree[n, uct.VISITS] = visits
        tree[n, [uct.LOW, uct.HIGH]] = (low, high) if player == 0 else (-high, -low)
        estimates[n, uct.VALUE] = value
    rng_states = (np.uint64(state) for state in range(1, 40))
    return {int(uct.choose(tree, estimates, 0, player, state, win)) - 1 for state in rng_states}


@pytest.mark.parametrize("player", [0, 1])
def test_of_the_turns_that_can_be_best_the_one_with_most_visits_is_chosen(player):
    def chosen(*children, root=(-48, 48)):
        return chosen_of(children, player, root)

    likely, unlikely = (90, 0.5, -48, 48), (10, 0.9, -48, 48)
    assert chosen(likely, unlikely) == {0}
    assert chosen(unlikely, likely) == {1}
    # With equal visits the better value is chosen; ties are broken at random.
    assert chosen((50, 0.1, -48, 48), (50, 0.2, -48, 48)) == {1}
    assert chosen(likely, likely, unlikely) == {0, 1}
    # A child that is proven worse than another is not chosen, whatever its visits.
    assert chosen((90, 0.5, -48, -2), (1, 0.0, -1, 48)) == {1}
    assert chosen((90, 0.5, -10, -10), (1, 0.0, -4, -4)) == {1}
    assert chosen((90, 0.5, -48, -10), (5, -0.9, -4, -4), (1, 0.0, -48, 48)) == {1}
    # A child that may still be as good can be chosen.
    assert chosen((90, 0.5, -48, -1), (1, 0.0, -1, 48)) == {0}
    # A proven win is preferred to unproven children; a proven draw or loss is not.
    assert chosen((90, 0.5, -48, 48), (1, 0.0, 1, 2)) == {1}
    assert chosen((90, 0.5, -48, 48), (1, 0.0, 0, 0)) == {0}
    assert chosen((90, 0.5, 2, 2), (1, 0.0, 4, 4), root=(-48, 48)) == {1}
    # If the value is proven, only children that reach it.
    assert chosen((90, 0.5, -48, 6), (1, 0.0, 6, 6), root=(6, 6)) == {1}
    assert chosen((90, -0.5, -48, -6), (1, 0.0, -6, -6), root=(-6, -6)) == {1}
