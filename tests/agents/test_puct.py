"""The tree search of value+mcts and policy+mcts: contents of its trees after a search."""

import math

import numpy as np
import pytest

from mancala_env import Batch, Position, agents
from mancala_env.agents.searchers import PuctAgent
from mancala_env.engine.state import encode
from mancala_env.search import Limit, tree_growth
from mancala_env.search.tree_growth import Guide, RootOptions, grow_trees
from mancala_env.search.tree_search import _IN_FLIGHT, _UNVISITED_PENALTY, SearchTrees
from mancala_env.search.uct import COUNT, FIRST, HOLE, VALUE, VISITS


class Leaning(PuctAgent):
    """A search whose network prefers low actions and returns the lead in the stores as value."""

    def __init__(self, ruleset: str, simulations: int) -> None:
        super().__init__(ruleset, spec=f"leaning:{simulations}", seed=1, num_threads=1)
        self.limit, self.guide = Limit(simulations=simulations), Guide(None, self.evaluate, 0.0)

    def evaluate(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits = np.tile(np.linspace(0.5, -0.5, self.ruleset.row_width), (len(games), 1))
        positions = [Position.from_games(self.ruleset, games, b) for b in range(len(games))]
        values = [worth(position) for position in positions]
        return logits.astype(np.float32), np.array(values, np.float32)


def worth(position: Position) -> float:
    lead = position.stores[position.player] - position.stores[1 - position.player]
    return math.tanh(lead / 6)


def searcher(kind: str, ruleset: str, simulations: int) -> PuctAgent:
    if kind == "evaluate":
        return Leaning(ruleset, simulations)
    agent = agents.make(f"value+mcts:{simulations}", ruleset, seed=1, num_threads=1)
    assert isinstance(agent, PuctAgent)
    return agent


def trees_of(agent: PuctAgent, games: np.ndarray) -> tuple[SearchTrees, np.ndarray]:
    """Search games and return the trees and the number of simulations of each."""
    done = np.zeros(len(games), np.int64)
    rules, seeds = encode(agent.ruleset), np.zeros(len(games), np.uint64)
    return grow_trees(rules, games.copy(), agent.limit, agent.guide, done, RootOptions(), seeds), done


@pytest.mark.parametrize("kind", ["evaluate", "value network"])
@pytest.mark.parametrize("simulations", [1, 7, 300])
@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_five_holes"])
def test_after_a_search_every_simulation_has_come_back(kind: str, simulations: int, ruleset: str) -> None:
    batch = Batch(ruleset, 5, seed=2, opening_turns=6)
    num_games = len(batch.games)
    agent = searcher(kind, ruleset, simulations)
    trees, done = trees_of(agent, batch.games)
    assert (done > 0).all()
    assert (trees.tree[:, _IN_FLIGHT] == 0).all()
    assert (trees.tree[:num_games, VISITS] == done).all()
    inner = np.flatnonzero(trees.tree[:, COUNT])
    assert len(inner) >= num_games
    for node in inner:
        first, count, visits = (int(trees.tree[node, column]) for column in (FIRST, COUNT, VISITS))
        below = trees.tree[first : first + count, VISITS].sum()
        # The first visit of a node ends there; others continue, unless it is proven.
        assert below <= visits - 1
        assert below == visits - 1 or node >= num_games
        assert abs(trees.sums[node]) <= visits + 1e-6


class _Node:
    """A node of the plain search below. Its value is for the player who can move to it."""

    def __init__(self, game: Position, chance: float, value: float) -> None:
        self.game, self.chance, self.value = game, chance, value
        self.visits, self.sum, self.children = 0, 0.0, {}


def plain_search(agent: Leaning, game: Position, simulations: int) -> dict[int, int]:
    """Search with one simulation at a time; returns the visits of each action."""
    root = _Node(game, 1.0, 0.0)
    for _ in range(simulations):
        line = [root]
        while line[-1].children:
            node = line[-1]
            scale = math.sqrt(node.visits + 1)  # plus 1 for the running simulation
            line.append(
                max(
                    node.children.values(),
                    key=lambda child: child.value + scale * child.chance / (1 + child.visits),
                )
            )
        leaf = line[-1]
        logits, (value,) = agent.evaluate(leaf.game.games)
        legal = list(leaf.game.legal_actions)
        chances = np.exp(logits[0, legal])
        for action, chance in zip(legal, chances / chances.sum(), strict=True):
            after = leaf.game.copy()
            after.play(action)
            leaf.children[action] = _Node(after, float(chance), max(float(value) - _UNVISITED_PENALTY, -1.0))
        south = float(value) if leaf.game.player == 0 else -float(value)
        for parent, node in zip([None, *line], line, strict=False):
            node.visits += 1
            node.sum += south
            if parent is not None:
                node.value = node.sum / node.visits * (1 if parent.game.player == 0 else -1)
    return {action: child.visits for action, child in root.children.items()}


@pytest.mark.parametrize("simulations", [1, 5, 40, 150])
def test_one_simulation_at_a_time_is_the_plain_search(monkeypatch, simulations: int) -> None:
    monkeypatch.setattr(tree_growth, "_VISITS_PER_FLIGHT", 10**9)
    for seed in range(4):
        batch = Batch("layli_goobalay", 1, seed=seed, opening_turns=4)
        agent = Leaning("layli_goobalay", simulations)
        trees, _ = trees_of(agent, batch.games)
        first, count = int(trees.tree[0, FIRST]), int(trees.tree[0, COUNT])
        game = Position.from_games("layli_goobalay", batch.games)
        wanted = plain_search(agent, game, simulations)
        found = {}
        for child in range(first, first + count):
            action = int(trees.tree[child, HOLE]) % 6
            found[action] = int(trees.tree[child, VISITS])
            assert trees.estimates[child, VALUE] <= 1
        assert found == wanted
