"""Descent and Gumbel AlphaZero (training/benchmark/): what they learn from, and that they learn."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mancala_env import Position, agents, rulesets
from mancala_env.benchmark import TASKS, LearningBudget, limit_of_steps, read_entry
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.evaluation import measure_regret
from mancala_env.evaluation.matches import play_matches
from mancala_env.networks.value import codes_of
from mancala_env.search.uct import HIGH, LOW
from mancala_env.solver import Solver

FOLDER = Path(__file__).resolve().parents[2] / "training" / "benchmark"
SMALL, LAYLI = rulesets.lookup("gabata_3"), rulesets.lookup("layli_goobalay")


def module_of(name: str) -> Any:
    return sys.modules[read_entry(FOLDER / f"{name}.py").learn.__module__]


def regret_of(player: Any, ruleset: rulesets.Ruleset) -> float:
    return measure_regret(agents.make(player, ruleset, seed=1, num_threads=1), ruleset).overall.mean_regret


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", [SMALL, rulesets.lookup("leyla")], ids=lambda each: each.name)
def test_a_resolved_state_of_descent_has_the_value_of_perfect_play(ruleset) -> None:
    descent = module_of("descent")
    learner, solver = descent.Learner(ruleset, 3), Solver(ruleset)
    tree, _, _, states, nodes, values = learner._memory
    looked_at = 0
    for seed in range(3):
        learner._rng = np.random.default_rng(seed)
        learner.play(1, 0.5)
        is_resolved = tree[nodes, LOW] == tree[nodes, HIGH]
        rows = np.flatnonzero(is_resolved[: np.flatnonzero(nodes)[-1] + 1])
        for row in rows[-40:]:  # the others have more turns to come, and take longer to solve
            position = Position.from_games(ruleset, states, int(row))
            lead = position.stores[position.player] - position.stores[1 - position.player]
            best = max(solver.solve(position).action_values.values()) + lead
            assert values[row] == (best if position.player == 0 else -best), position.to_text()
            looked_at += 1
        nodes[:] = 0
    assert looked_at > 60


@pytest.mark.slow
def test_descent_learns_every_expanded_state_that_is_not_held_out() -> None:
    learner = module_of("descent").Learner(LAYLI, 1)
    learner.play(1, 1.0)
    *_, states, nodes, _ = learner._memory
    expanded = states[: np.flatnonzero(nodes)[-1] + 1]
    wanted = codes_of(LAYLI, expanded[rows_to_learn(LAYLI, expanded)])
    assert 0 < len(wanted) < len(expanded)
    np.testing.assert_array_equal(learner.codes[: learner.added].numpy(), wanted)


@pytest.mark.slow
def test_the_ordinal_law_prefers_better_actions_and_then_the_best() -> None:
    descent = module_of("descent")
    tree, v = np.zeros((5, 8), np.int32), np.zeros((5, 2), np.float32)
    tree[0, :2] = 1, 4  # children 1 to 4
    v[1:, 0] = 1.0, 3.0, -np.inf, 2.0
    for e, player, shares in ((0.0, 0, [0.25] * 4), (1.0, 0, [0, 1, 0, 0]), (1.0, 1, [1, 0, 0, 0])):
        random, counts = np.uint64(1), np.zeros(5)
        for _ in range(2000):
            random, child = descent.ordinal_action(tree, v, 0, player, e, np.uint64(random))
            counts[child] += 1
        np.testing.assert_allclose(counts[1:] / 2000, shares, atol=0.04)


@pytest.mark.slow
def test_descent_learns_gabata_3_and_its_network_plays(tmp_path: Path) -> None:
    """One turn ahead, regret falls to less than half of that of the untrained network."""
    descent = module_of("descent")
    budget = LearningBudget(limit_of_steps(8000), (1.0,))
    *_, point = descent.learn(TASKS["anything"], SMALL, budget, 1, tmp_path)
    assert 0 < point.steps <= 8000
    trained = tmp_path / "descent.safetensors"
    before, untrained = descent.Learner(SMALL, 1), tmp_path / "untrained.safetensors"
    untrained.write_bytes(descent.ValueFile(SMALL, before.network.weights(), {}).to_bytes())
    regrets = [regret_of(f"value+minimax:1:{file}", SMALL) for file in (untrained, trained)]
    assert regrets[1] < 0.5 * regrets[0], regrets
    assert play_matches(point.player, "random", SMALL, games=100, seed=1).mean_margin > 0


@pytest.mark.slow
def test_gumbel_alphazero_learns_rewards_of_the_player_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the search's share, the last turn of a game has the reward of its player as target."""
    gumbel = module_of("gumbel_alphazero")
    monkeypatch.setattr(gumbel, "SEARCH_SHARE", 0.0)
    monkeypatch.setattr(gumbel, "SIMULATIONS", 2)
    learner = gumbel.Learner(SMALL, "afterstates", 1)
    assert learner.play(8) >= learner.replay.added > 8
    games, policy, targets = (vars(learner.replay)[name] for name in ("games", "pi_improved", "targets"))
    checked = 0
    for row in range(learner.replay.added):
        position = Position.from_games(SMALL, games, row)
        legal = position.legal_actions
        assert policy[row].sum() == pytest.approx(1, abs=1e-5)
        assert set(np.flatnonzero(policy[row])) <= set(legal)
        if len(legal) == 1:
            after, player = position.copy(), position.player
            after.play(legal[0])
            if after.is_over:
                lead = after.counts[player] - after.counts[1 - player]
                assert targets[row] == pytest.approx(lead / SMALL.total_seeds), position.to_text()
                checked += 1
    assert checked > 1


@pytest.mark.slow
def test_gumbel_alphazero_learns_gabata_3_and_its_checkpoint_plays(tmp_path: Path, monkeypatch) -> None:
    """The network alone has at most 80 % of the regret of the untrained one."""
    gumbel = module_of("gumbel_alphazero")
    # Games of gabata_3 end long before 50 turns; a lower bound lets more games share a search.
    for name, value in (("HIDDEN", 32), ("BATCH_SIZE", 256), ("LONGEST", 50)):
        monkeypatch.setattr(gumbel, name, value)
    task = TASKS["afterstates"]
    *_, point = gumbel.learn(task, SMALL, LearningBudget(limit_of_steps(6000), (1.0,)), 1, tmp_path)
    assert 0 < point.steps <= 6000
    trained, untrained = tmp_path / "gumbel_alphazero.safetensors", tmp_path / "untrained.safetensors"
    untrained.write_bytes(gumbel.Learner(SMALL, task.observation, 1).checkpoint(0, 1))
    regrets = [regret_of(str(file), SMALL) for file in (untrained, trained)]
    assert regrets[1] < 0.8 * regrets[0], regrets
    assert play_matches(f"policy+mcts:8:{trained}", "random", SMALL, games=4, seed=1).games == 4
    assert play_matches(point.player, "random", SMALL, games=100, seed=1).mean_margin > 0


def test_a_stored_learner_is_restored(tmp_path: Path) -> None:
    for name, arguments in (("descent", ()), ("gumbel_alphazero", ("board",))):
        module = module_of(name)
        learner, again = (module.Learner(SMALL, *arguments, seed) for seed in (1, 2))
        learner.store(tmp_path / "learner.pt", 70)
        assert again.restore(tmp_path / "learner.pt") == 70
        for key, value in learner.network.state_dict().items():
            assert torch.equal(value, again.network.state_dict()[key])
