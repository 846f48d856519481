"""policy+mcts: legal, repeatable, exact if the round can be proven, stronger than its network alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from boards import finished, position
from checkpoints import identity_of, write_checkpoint
from error_checks import raises
from value_checkpoints import checkpoint_of

from mancala_env import Batch, IllegalMove, Position, agents
from mancala_env.agents.network import PolicyMctsAgent
from mancala_env.evaluation import play_matches
from mancala_env.networks.checkpoint import InvalidCheckpoint
from mancala_env.search.tree_growth import Guide

EXACT = json.loads((Path(__file__).parent.parent / "data" / "exact.json").read_text(encoding="utf-8"))
EVALUATORS = ("policy", "value network")


def checkpoint(folder: Path, evaluate: str, ruleset: str = "layli_goobalay") -> Path:
    path = folder / "agent.zip"
    if evaluate == "value network":
        return checkpoint_of(path, ruleset)
    return write_checkpoint(path, identity_of(ruleset, "afterstates"))


def tree_search(budget: object, path: Path, ruleset: str = "layli_goobalay", **options) -> PolicyMctsAgent:
    agent = agents.make(f"policy+mcts:{budget}:{path}", ruleset, **{"seed": 1, "num_threads": 1} | options)
    assert isinstance(agent, PolicyMctsAgent)
    return agent


@pytest.mark.parametrize("evaluate", EVALUATORS)
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_five_holes"])
def test_whole_games_are_played_by_legal_actions(tmp_path, evaluate, ruleset):
    """In Gabata players pass."""
    agent = tree_search(20, checkpoint(tmp_path, evaluate, ruleset), ruleset)
    batch = Batch(ruleset, 8, seed=1)
    for _ in range(30):
        before = batch.games.copy()
        actions = agent.act(batch.games)
        assert (batch.games == before).all()
        batch.step(actions)


@pytest.mark.parametrize("evaluate", EVALUATORS)
def test_small_endgames_are_proven_and_then_played_perfectly(tmp_path, evaluate):
    """Whatever the network, which knows nothing here."""
    proven = []
    for number, entry in enumerate(EXACT):
        free = sum(seeds for seeds, owner in zip(entry["seeds"], entry["owner"], strict=True) if owner < 0)
        if free > 6:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        agent = tree_search(3000, checkpoint(folder, evaluate, entry["ruleset"]), entry["ruleset"])
        action = agent.choose(Position(entry["ruleset"], entry["seeds"], entry["owner"]))
        proven.append(agent.last_simulations[0] < 3000)
        if proven[-1]:
            assert entry["actions"][str(action)] == max(entry["actions"].values())
    assert np.mean(proven) >= 0.5


@pytest.mark.parametrize("evaluate", EVALUATORS)
def test_a_choice_depends_on_the_position_and_the_seed_alone(tmp_path, evaluate):
    path = checkpoint(tmp_path, evaluate)
    games = Batch("layli_goobalay", 40, seed=6, opening_turns=5).games
    together = tree_search(100, path).act(games)
    again = tree_search(100, path)
    assert (again.act(games) == together).all()
    again.seed(1)
    assert (again.act(games[::-1])[::-1] == together).all()
    alone = tree_search(100, path)
    assert [alone.act(games[b : b + 1])[0] for b in range(40)] == together.tolist()


@pytest.mark.parametrize("evaluate", EVALUATORS)
def test_budgets_are_kept(tmp_path, evaluate):
    path = checkpoint(tmp_path, evaluate)
    games = Batch("layli_goobalay", 300, seed=6, opening_turns=2).games
    agent = tree_search(30, path)
    agent.act(games)
    assert agent.last_simulations.max() == 30
    timed = tree_search("0.01s", path)
    assert timed.choose(Position("layli_goobalay")) in range(6)
    assert timed.last_simulations[0] >= 1


@pytest.mark.parametrize("evaluate", EVALUATORS)
def test_one_legal_action_needs_no_search(tmp_path, evaluate):
    agent = tree_search(10_000, checkpoint(tmp_path, evaluate, "leyla"), "leyla")
    assert agent.choose(position("leyla", "1 2 3 4 5 6\n0 0 0 7 0 0")) == 3
    assert agent.last_simulations[0] < 10_000


def test_one_simulation_follows_the_policy(tmp_path):
    """The first simulation evaluates the root, so the second follows the network's first choice."""
    path = checkpoint(tmp_path, "policy")
    games = Batch("layli_goobalay", 50, seed=3, opening_turns=4).games
    alone = agents.make(str(path), "layli_goobalay").act(games)
    assert (tree_search(2, path).act(games) == alone).all()


def test_more_simulations_beat_the_network_alone(tmp_path):
    path = checkpoint(tmp_path, "policy")
    result = play_matches(f"policy+mcts:60:{path}", str(path), "layli_goobalay", games=200, seed=1)
    assert result.interval[0] > 0.5


def test_what_lies_behind_the_networks_actions_is_not_read(tmp_path, monkeypatch):
    """A network of single rounds has six actions; after a change of territory more can be legal."""
    agent = tree_search(2, checkpoint(tmp_path, "policy", "gabata_i"), "gabata_i")
    batch = Batch("gabata_i", 40, rounds="match", seed=3)
    batch.play_random(300)
    legal = batch.legal_mask != 0
    rows = np.flatnonzero((legal[:, :6].sum(axis=1) > 1) & legal[:, 6:].any(axis=1))
    assert len(rows) > 3

    def evaluate(games):
        logits = np.full((len(games) + 1) * 6, 80, np.float32)  # the last six belong to no game
        logits[: 6 * len(games)] = np.tile(np.arange(6), len(games))
        return logits[: 6 * len(games)].reshape(-1, 6), np.zeros(len(games), np.float32)

    monkeypatch.setattr(agent, "guide", Guide(None, evaluate, 0.0))
    liked = [int(np.flatnonzero(legal[row, :6])[-1]) for row in rows]
    assert [agent.act(batch.games[[row]])[0] for row in rows] == liked


@pytest.mark.parametrize("kind", ["board", "afterstates"])
def test_positions_that_the_network_does_not_know_are_searched_all_the_same(tmp_path, kind):
    path = write_checkpoint(tmp_path / "agent.zip", identity_of("gabata_i", kind))
    agent, alone = tree_search(50, path, "gabata_i"), agents.make(str(path), "gabata_i", num_threads=1)
    batch = Batch("gabata_i", 60, rounds="match", seed=3)
    batch.play_random(300)
    knows_none = np.flatnonzero(~batch.legal_mask[:, :6].any(axis=1))
    assert len(knows_none)
    for row in knows_none:
        with raises(InvalidCheckpoint, 5):
            alone.act(batch.games[[row]])
        counts = Position.from_games("gabata_i", batch.games, int(row)).counts
        lead = int(counts[batch.player[row]]) - int(counts[1 - batch.player[row]])
        assert agent.guide.evaluate is not None
        assert agent.guide.evaluate(batch.games[[row]])[1] == pytest.approx(np.tanh(lead / 6), abs=1e-6)
    actions = agent.act(batch.games)
    assert (batch.legal_mask[np.arange(60), actions] == 1).all()


def test_wrong_specs_and_files_are_refused(tmp_path):
    path = checkpoint(tmp_path, "policy")
    for spec, says in (
        ("policy+mcts:100:", "policy+mcts:SIMULATIONS[:CHECKPOINT]"),
        (f"policy+mcts:0:{path}", "SIMULATIONS"),
    ):
        with raises(agents.InvalidSpec, says):
            agents.make(spec, "layli_goobalay")
    with raises(InvalidCheckpoint, "layli_goobalay", "leyla"):
        tree_search(10, path, "leyla")
    with raises(InvalidCheckpoint, "none.zip"):
        tree_search(10, tmp_path / "none.zip")
    with raises(IllegalMove, "game 0"):
        tree_search(10, path).act(finished("layli_goobalay", (24, 24)).games)
