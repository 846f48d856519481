"""AlphaZero (training/benchmark/alphazero.py): what the search gives to learn from, and what is learned."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mancala_env import Batch, Position, agents, rulesets, search
from mancala_env.agents.network import CheckpointAgent
from mancala_env.benchmark import TASKS, LearningBudget, limit_of_steps, read_entry
from mancala_env.engine.holdout import rows_in_set, rows_to_learn
from mancala_env.engine.state import PLAYER_COLUMN, SOUTH, encode, unpack
from mancala_env.evaluation.matches import play_matches
from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.observations import Observer, games_from
from mancala_env.search import tree_growth
from mancala_env.search.network_search import guide_of
from mancala_env.search.tree_growth import RootOptions, grow_trees
from mancala_env.search.tree_search import SearchTrees
from mancala_env.search.uct import COUNT, FIRST, HIGH, LOW, VISITS
from mancala_env.solver import Solver

GABATA, LAYLI = rulesets.lookup("gabata_five_holes"), rulesets.lookup("layli_goobalay")
ENTRY = read_entry(Path(__file__).resolve().parents[2] / "training" / "benchmark" / "alphazero.py")
alphazero: Any = sys.modules[ENTRY.learn.__module__]


def network_of(ruleset: rulesets.Ruleset, kind: Any = "afterstates", seed: int = 1) -> torch.nn.Module:
    """A network that has learned nothing."""
    torch.manual_seed(seed)
    size = NetworkConfig(observation=kind, hidden=8, layers=1, seed_levels=2)
    return build_network(ruleset, ruleset.row_width, size)


def searched(ruleset: rulesets.Ruleset, games: np.ndarray, simulations: int, **options: Any) -> Any:
    """Search with a network that has learned nothing, as the entry does."""
    given: dict[str, Any] = {"observation": "afterstates", "num_threads": 1, "seed": 1} | options
    evaluate = given.pop("evaluate", None) or alphazero.evaluator(network_of(ruleset))
    return search.puct(ruleset, games, evaluate, search.Limit(simulations=simulations), **given)


def games_of(ruleset: rulesets.Ruleset, count: int, turns: int, seed: int = 1) -> np.ndarray:
    """Games that random play has led to."""
    batch = Batch(ruleset, count, seed=seed, num_threads=1, first_player="random")
    batch.play_random(turns)
    return batch.games.copy()


def moves_twice(ruleset: rulesets.Ruleset, games: np.ndarray, b: int) -> bool:
    """Tell whether some turn is followed by a pass, so that the same player moves again."""
    position = Position.from_games(ruleset, games, b)
    for action in position.legal_actions:
        after = position.copy()
        after.play(action)
        if not after.is_over and after.player == position.player:
            return True
    return False


def always_south(seen: np.ndarray, is_legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every position, observed as "board", is a reward of 0.5 to South."""
    is_south = seen[:, Observer(GABATA).parts["south"].start] == 1
    return np.zeros(is_legal.shape), np.where(is_south, 0.5, -0.5)


def test_values_change_sign_with_the_player_and_not_with_the_turn() -> None:
    """Where the network holds every position for the same reward to South, so does every mean of them.

    Were the sign changed at each turn, the mean would be another one where a player moves twice running.
    """
    games = games_of(GABATA, 900, 30)
    rows = [b for b in range(len(games)) if moves_twice(GABATA, games, b)]
    games = games[rows]
    found = searched(GABATA, games, 60, evaluate=always_south, observation="board")
    players = games[:, PLAYER_COLUMN]
    # The value of a turn that ends the round is exact. So only trees without such a turn count, and only if
    # both players may still win.
    simulations = np.zeros(len(games), np.int64)
    guide = guide_of(always_south, Observer(GABATA), 0.0, lambda: 1)
    limit, seeds = search.Limit(simulations=60), np.zeros(len(games), np.uint64)
    forest = grow_trees(encode(GABATA), games, limit, guide, simulations, RootOptions(), seeds)
    is_open = np.array([not sees_an_end(forest, b) for b in range(len(games))])
    roots = forest.tree[: len(games)]
    is_open &= (roots[:, LOW] < 0) & (roots[:, HIGH] > 0)
    assert is_open.sum() > 30
    assert {0, 1} == set(players[is_open].tolist())
    np.testing.assert_allclose(
        found.values[is_open], np.where(players[is_open] == SOUTH, 0.5, -0.5), atol=1e-6
    )


def sees_an_end(forest: SearchTrees, root: int) -> bool:
    """Tell whether a tree holds a position whose margin is known."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if forest.tree[node, VISITS] and forest.tree[node, LOW] == forest.tree[node, HIGH]:
            return True
        first = int(forest.tree[node, FIRST])
        nodes += range(first, first + int(forest.tree[node, COUNT]))
    return False


@pytest.mark.slow
def test_what_is_proven_is_worth_what_perfect_play_finds() -> None:
    games = games_of(GABATA, 2000, 20, seed=3)
    state = unpack(games, GABATA.num_holes)
    free = (state.seeds * (state.owner < 0)).sum(axis=1)
    games = games[(free > 1) & (free < 8)]
    choices = [len(Position.from_games(GABATA, games, b).legal_actions) for b in range(len(games))]
    games = games[np.array(choices) > 1][:80]
    solver = Solver(GABATA)
    found = searched(GABATA, games, 1500)
    looked_at = twice = 0
    for b in np.flatnonzero(found.simulations < 1500):  # the others are not proven
        position = Position.from_games(GABATA, games, b)
        player, stores = position.player, position.stores
        lead = stores[player] - stores[1 - player]  # the solver counts stores from zero
        values = {action: value + lead for action, value in solver.solve(position).action_values.items()}
        assert found.values[b] == np.sign(max(values.values())), position.to_text()
        best = {action for action, value in values.items() if value == max(values.values())}
        assert int(found.policy[b].argmax()) in best, position.to_text()
        looked_at += 1
        twice += moves_twice(GABATA, games, int(b))
    assert looked_at > 20
    assert twice > 2


def test_a_policy_is_the_share_of_the_simulations_of_each_legal_action() -> None:
    games = games_of(LAYLI, 50, 6)
    found = searched(LAYLI, games, 40)
    np.testing.assert_allclose(found.policy.sum(axis=1), 1, atol=1e-6)
    for b in range(50):
        legal = Position.from_games(LAYLI, games, b).legal_actions
        assert set(np.flatnonzero(found.policy[b])) <= set(legal)
    assert np.all(np.abs(found.values) <= 1)
    again = searched(LAYLI, games[7:8], 40)
    np.testing.assert_array_equal(again.policy[0], found.policy[7])
    assert again.values[0] == pytest.approx(found.values[7], abs=1e-5), "alone as among others"
    is_clear = np.sort(found.policy)[:, -1] > np.sort(found.policy)[:, -2]
    np.testing.assert_array_equal(found.actions[is_clear], found.policy.argmax(axis=1)[is_clear])


def test_noise_leads_the_search_where_the_policy_would_not_go(monkeypatch: pytest.MonkeyPatch) -> None:
    games = games_of(LAYLI, 40, 4)
    games = games[[len(Position.from_games(LAYLI, games, b).legal_actions) > 2 for b in range(40)]]
    draws = np.zeros((len(games), LAYLI.num_holes))
    draws[:, 1] = 3.0  # the second legal action of each
    monkeypatch.setattr(tree_growth, "noise_draws", lambda *_: draws)
    plain = searched(LAYLI, games, 16)
    for share, changes in ((0.0, False), (1.0, True)):
        found = searched(LAYLI, games, 16, noise=share)
        assert np.array_equal(found.policy, plain.policy) != changes
    second = [Position.from_games(LAYLI, games, b).legal_actions[1] for b in range(len(games))]
    assert found.policy[np.arange(len(games)), second].mean() > 0.9


def test_actions_are_drawn_by_their_visits_or_the_most_visited_is_taken() -> None:
    games = np.repeat(Position(LAYLI).games, 8000, axis=0)
    is_sampled = np.arange(8000) < 4000
    found = searched(LAYLI, games, 16, temperature=is_sampled.astype(float))
    policy, drawn = found.policy[0], np.bincount(found.actions[is_sampled], minlength=6) / 4000
    np.testing.assert_allclose(drawn, policy, atol=0.03)
    assert set(found.actions[~is_sampled].tolist()) <= set(np.flatnonzero(policy == policy.max()).tolist())
    even = searched(LAYLI, games, 13, evaluate=lambda seen, legal: (0.0 * legal, np.zeros(len(legal))))
    counts = np.bincount(even.actions, minlength=6)
    tied = counts[even.policy[0] == even.policy[0].max()]
    assert len(tied) > 1
    assert tied.max() - tied.min() < 400, "at random among equals"


@pytest.mark.parametrize("ruleset", [GABATA, LAYLI], ids=lambda ruleset: ruleset.name)
def test_finished_games_are_learned_from_with_their_outcome(ruleset, monkeypatch) -> None:
    """Targets without the search's share are the outcomes, and held-out boards are excluded."""
    monkeypatch.setattr(alphazero, "SEARCH_SHARE", 0.0)
    monkeypatch.setattr(alphazero, "SIMULATIONS", 2)
    selfplay = alphazero.SelfPlay(ruleset, "board", network_of(ruleset, "board"), 16, seed=1)
    batch, replay, wanted, under_way, num_held_out = selfplay.batch, selfplay.replay, [], {}, 0
    for _ in range(60):
        before, players = batch.games.copy(), batch.player.copy()
        is_learned = rows_to_learn(ruleset, before)
        num_held_out += np.count_nonzero(rows_in_set(ruleset, before, "evaluation"))
        seen = batch.observation.copy()
        selfplay.play_turn()
        for row in range(batch.num_games):
            game = under_way.setdefault(row, [])
            if is_learned[row]:
                game.append((seen[row], players[row]))
            if batch.done[row]:
                for shown, player in under_way.pop(row):
                    wanted.append((shown.tobytes(), float(batch.rewards[row, player])))
        assert not selfplay.age[batch.done].any()
    found = [(replay.seen[n].tobytes(), float(replay.targets[n])) for n in range(len(replay))]
    assert found == wanted
    assert {-1.0, 1.0} <= {value for _, value in found}
    assert num_held_out > 20, "held-out boards are played"
    assert rows_to_learn(ruleset, games_from(ruleset, replay.seen[: len(replay)])).all()
    waiting = max(len(game) for game in under_way.values())
    assert len(selfplay._turns) == selfplay.age.max() >= waiting


def test_the_replay_keeps_the_latest_positions() -> None:
    observer = Observer(LAYLI, "board")
    replay = alphazero.Replay(observer, np.random.default_rng(1), most=3)
    for n in range(5):
        turn = alphazero.Turn(
            np.zeros(1), np.ones(1), observer.empty(1), np.ones((1, 6)), np.ones((1, 6)) / 6, np.zeros(1)
        )
        replay.add(turn, 0, float(n))
    assert len(replay) == 3
    assert sorted(replay.targets.tolist()) == [1.0, 1.5, 2.0]
    _, _, _, targets = replay.sample(100)
    assert set(targets.tolist()) == {1.0, 1.5, 2.0}


@pytest.mark.slow
def test_a_short_run_learns_and_repeats_bit_for_bit(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(alphazero.observations, "kinds_of", lambda ruleset: ())  # the task's, "replies"
    monkeypatch.setattr(alphazero, "HIDDEN", 32)
    learned, learners = [], []
    for name, seed in (("first", 1), ("second", 1), ("third", 2)):
        budget = LearningBudget(limit_of_steps(8192), (0.25, 1.0))
        learners.append(ENTRY.learn(TASKS["anything"], LAYLI, budget, seed, tmp_path / name))
        point = next(learners[-1])
        budget.note_measured(point.steps)
        agent = agents.make(str(point.player), LAYLI, seed=1, num_threads=1)
        assert isinstance(agent, CheckpointAgent)
        learned.append(agent.network.state_dict())
    same, other = (
        all(torch.equal(value, weights[name]) for name, value in learned[0].items())
        for weights in learned[1:]
    )
    assert same
    assert not other
    *_, point = learners[0]
    assert 2048 < point.steps <= 8192
    player = tmp_path / "first" / "alphazero.safetensors"
    assert play_matches(str(player), "random", LAYLI, games=400, seed=5).win_rate > 0.75
    assert play_matches(f"policy+mcts:8:{player}", "random", LAYLI, games=2, seed=1).games == 2


@pytest.mark.slow
def test_prepare_compiles_the_search_and_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    for owner, name in ((alphazero, "fit"), (search, "puct")):
        whole = getattr(owner, name)

        def noted(*words, whole=whole, name=name, **options):
            ran.append(name)
            return whole(*words, **options)

        monkeypatch.setattr(owner, name, noted, raising=False)
    ENTRY.prepare(TASKS["anything"], LAYLI)
    assert set(ran) == {"fit", "puct"}
