"""search.puct and agents.from_network: a user's network in the tree search."""

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from error_checks import raises

from mancala_env import Batch, InvalidPosition, Position, agents, rulesets, search
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import measure_regret, play_matches
from mancala_env.observations import Observer
from mancala_env.search import Limit, tree_growth
from mancala_env.search.root_noise import gamma_draws, gumbel_draws, uniform_draws
from mancala_env.search.tree_growth import schedule
from mancala_env.solver import Solver

LAYLI = rulesets.lookup("layli_goobalay")


def leaning(observations: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A network whose outputs depend on its observations."""
    weights = np.sin(np.arange(observations[0].size))
    values = np.tanh(observations.reshape(len(legal), -1) @ weights / 20)
    return np.outer(values, np.linspace(-1, 1, legal.shape[1])), values


def nothing(observations: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A network that knows nothing."""
    return np.zeros(legal.shape), np.zeros(len(legal))


def games_of(ruleset: str, count: int = 40) -> np.ndarray:
    return Batch(ruleset, count, seed=3, opening_turns=5).games


FORTY = Limit(simulations=40)


def puct(games: Any = None, evaluate: Any = leaning, limit: Any = FORTY, **options: Any) -> Any:
    games = games_of("layli_goobalay") if games is None else games
    given: dict[str, Any] = {"seed": 1, "num_threads": 1} | options
    return search.puct("layli_goobalay", games, evaluate, limit, **given)


EXPLORING = [
    {},
    {"noise": 0.5},
    {"noise": 0.5, "alpha": 0.3},
    {"temperature": 1.0},
    {"gumbel": True, "temperature": 1.0},
]


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_five_holes"])
@pytest.mark.parametrize("options", EXPLORING, ids=str)
def test_actions_are_legal_and_policies_sum_to_one(ruleset: str, options: dict[str, Any]) -> None:
    games = games_of(ruleset)
    found = search.puct(ruleset, games, leaning, Limit(simulations=40), seed=1, **options)
    legal = np.empty((len(games), found.policy.shape[1]), np.bool_)
    Observer(ruleset).write(games, Observer(ruleset).empty(len(games)), legal)
    assert legal[np.arange(len(games)), found.actions].all()
    assert not found.policy[~legal].any()
    np.testing.assert_allclose(found.policy.sum(axis=1), 1, atol=1e-5)
    assert (np.abs(found.values) <= 1).all()
    assert (found.simulations <= 40).all()
    assert (found.actions.dtype, found.policy.dtype, found.values.dtype) == (np.int64, np.float32, np.float32)


@pytest.mark.parametrize("options", EXPLORING, ids=str)
def test_the_search_of_a_game_depends_on_its_row_and_the_seed_alone(options: dict[str, Any]) -> None:
    games = games_of("layli_goobalay")
    together = puct(games, **options)
    others = games_of("layli_goobalay", 80)[40:]
    mixed = np.where(np.arange(40)[:, None] % 2 == 0, games, others)
    for again in (puct(games, **options), puct(mixed, **options)):
        for field in ("actions", "policy", "simulations"):
            np.testing.assert_array_equal(getattr(again, field)[::2], getattr(together, field)[::2])
    few = puct(games[:3], **options)
    np.testing.assert_array_equal(few.actions, together.actions[:3])


def test_another_seed_explores_otherwise_and_a_generator_moves_on() -> None:
    for options in EXPLORING[1:]:
        one, other = puct(**options), puct(**options | {"seed": 2})
        assert (one.policy != other.policy).any() or (one.actions != other.actions).any()
    rng = np.random.default_rng(1)
    assert (puct(temperature=1.0, seed=rng).actions != puct(temperature=1.0, seed=rng).actions).any()


def test_arrays_batches_and_positions_give_the_same_results() -> None:
    batch = Batch("layli_goobalay", 5, seed=3, opening_turns=5)
    positions = [Position.from_games("layli_goobalay", batch.games, b) for b in range(5)]
    before = batch.games.copy()
    wanted = puct(batch.games)
    for games in (batch, positions, tuple(positions)):
        np.testing.assert_array_equal(puct(games).policy, wanted.policy)
    np.testing.assert_array_equal(puct(positions[0]).policy, wanted.policy[:1])
    np.testing.assert_array_equal(batch.games, before)


def test_torch_and_jax_arrays_are_accepted() -> None:
    jax_numpy = pytest.importorskip("jax.numpy")

    def by_torch(observations: np.ndarray, legal: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        logits, values = leaning(observations, legal)
        return torch.tensor(logits, requires_grad=True), torch.tensor(values).to(torch.float32)

    def by_jax(observations: np.ndarray, legal: np.ndarray) -> tuple[Any, Any]:
        return tuple(map(jax_numpy.asarray, leaning(observations, legal)))  # pyright: ignore[reportReturnType]

    wanted = puct()
    for evaluate in (by_torch, by_jax):
        np.testing.assert_allclose(puct(evaluate=evaluate).policy, wanted.policy, atol=1e-6)


def test_noise_changes_the_visits_as_its_share_grows() -> None:
    plain = puct(evaluate=nothing).policy
    changes = [
        np.abs(puct(evaluate=nothing, noise=share).policy - plain).mean() for share in (0.0, 0.25, 1.0)
    ]
    assert changes[0] == 0 < changes[1] < changes[2]


def test_a_temperature_draws_actions_by_their_shares() -> None:
    games = np.repeat(Position("layli_goobalay").games, 4000, axis=0)
    found = puct(games, limit=Limit(simulations=20), temperature=1.0)
    shares = np.bincount(found.actions, minlength=6) / len(games)
    np.testing.assert_allclose(shares, found.policy[0], atol=0.03)
    mixed = puct(games, limit=Limit(simulations=20), temperature=np.where(np.arange(4000) < 2000, 1.0, 0.0))
    assert len(set(mixed.actions[:2000].tolist())) > 1
    best = np.flatnonzero(found.policy[0] == found.policy[0].max())
    assert set(mixed.actions[2000:].tolist()) <= set(best.tolist())


def test_gumbel_halves_the_considered_actions_as_mctx_does() -> None:
    halving = pytest.importorskip("mctx._src.seq_halving")
    for simulations in (2, 9, 17, 65):
        wanted = halving.get_table_of_considered_visits(12, simulations - 1)
        np.testing.assert_array_equal(
            schedule(12, simulations), np.array([[0] * (simulations - 1), *wanted[1:]])
        )


def test_gumbel_policy_and_action_are_those_of_the_paper() -> None:
    """Two simulations: the root's and one more. So the policy follows from two evaluations."""
    game = Position("layli_goobalay")
    logits = np.array([0.3, -0.4, 0.1, 0.0, 0.2, -0.1])

    def evaluate(observations: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        is_root = (observations == Observer("layli_goobalay").observe(game.games)).all(axis=1)
        return np.tile(logits, (len(legal), 1)), np.where(is_root, 0.1, -0.5)

    found = puct(game, evaluate, Limit(simulations=2), gumbel=True)
    after = game.copy()
    after.play(0)  # the best logit
    value = 0.5 if after.player != game.player else -0.5
    prior = np.exp(logits) / np.exp(logits).sum()
    mixed = (0.1 + value) / 2  # of the network's value and the value of the one visited action
    completed = np.array([value, *[mixed] * 5])
    scaled = 0.1 * (50 + 1) * (completed - completed.min()) / (completed.max() - completed.min())
    wanted = prior * np.exp(scaled)
    np.testing.assert_allclose(found.policy[0], wanted / wanted.sum(), atol=1e-5)
    assert found.actions.tolist() == [0]
    assert found.simulations.tolist() == [2]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"gumbel": True}], ids=str)
def test_a_game_with_a_win_in_reach_is_won(options: dict[str, Any]) -> None:
    """Seeds in the stores nearly decide these games, so the search proves a win where there is one."""
    batch = Batch("layli_goobalay", 400, seed=5, num_threads=1)
    batch.play_random(20)
    solver = Solver(LAYLI)
    looked_at = 0
    found = puct(batch.games, nothing, Limit(simulations=1500), **options)
    for b in np.flatnonzero(found.simulations < 1500):
        position = Position.from_games(LAYLI, batch.games, int(b))
        if len(position.legal_actions) < 2:
            continue
        lead = position.stores[position.player] - position.stores[1 - position.player]
        values = {action: value + lead for action, value in solver.solve(position).action_values.items()}
        if found.values[b] == 1:
            assert values[int(found.actions[b])] > 0
        assert found.values[b] == np.sign(max(values.values()))
        looked_at += 1
    assert looked_at > 10


WRONG_NETWORKS: list[tuple[Any, list[Any]]] = [
    (lambda o, m: np.zeros(m.shape), ["(logits, values)", "ndarray"]),
    (lambda o, m: (np.zeros(m.shape),), ["(logits, values)", 1]),
    (lambda o, m: (np.zeros((len(m), 7)), np.zeros(len(m))), ["logits", "(3, 7)", "(3, 6)"]),
    (lambda o, m: (np.zeros(m.shape), np.zeros((len(m), 1))), ["values", "(3, 1)", "(3,)"]),
    (lambda o, m: (np.full(m.shape, np.nan), np.zeros(len(m))), ["nan", "position 0"]),
    (lambda o, m: (np.zeros(m.shape, np.complex128), np.zeros(len(m))), ["logits", "complex128"]),
    (lambda o, m: (np.zeros(m.shape), np.full(len(m), "0.5")), ["values", "<U3"]),
    (lambda o, m: (np.zeros(m.shape), np.array([0, 0, np.nan])), ["nan", "position 2"]),
    (lambda o, m: ("logits", np.zeros(len(m))), ["logits", "'logits'"]),
]


@pytest.mark.parametrize(("evaluate", "named"), WRONG_NETWORKS)
def test_wrong_outputs_are_refused(evaluate: Any, named: list[Any]) -> None:
    with raises(InvalidArgument, *named):
        puct(games_of("layli_goobalay", 3), evaluate)


def test_outputs_of_illegal_actions_and_values_beyond_one_do_no_harm() -> None:
    def masked(observations: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, values = leaning(observations, legal)
        return np.where(legal, logits, -np.inf), values

    np.testing.assert_array_equal(puct(evaluate=masked).policy, puct().policy)
    assert (np.abs(puct(evaluate=lambda o, m: (np.zeros(m.shape), np.full(len(m), 9.0))).values) <= 1).all()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"limit": 64}, ["Limit", 64]),
        ({"limit": Limit(depth=6)}, ["Limit(depth=6)", "simulations"]),
        ({"limit": Limit(seconds=0.1), "gumbel": True}, ["seconds", "simulations"]),
        ({"noise": 1.5}, ["noise", 1.5]),
        ({"noise": 0.25, "gumbel": True}, ["noise", 0.25, "gumbel"]),
        ({"alpha": 0}, ["alpha", 0]),
        ({"temperature": -1.0}, ["temperature", -1.0]),
        ({"temperature": np.zeros(3)}, ["temperature", 40]),
        ({"games": Position(LAYLI), "temperature": np.array(["1"])}, ["temperature", "'1'"]),
        ({"games": Position(LAYLI), "temperature": np.array([None])}, ["temperature", None]),
        ({"margin_share": "all"}, ["margin_share", "'all'"]),
        ({"observation": "pixels"}, ["observation", "'pixels'"]),
        ({"seed": -1}, ["seed", -1]),
        ({"nosie": 0.25}, ["'nosie'", "'noise'"]),
        ({"evaluate": "trained"}, ["evaluate", "'trained'"]),
        ({"games": Position("leyla")}, ["leyla", "layli_goobalay"]),
    ],
    ids=str,
)
def test_invalid_arguments_are_refused(options: dict[str, Any], named: list[Any]) -> None:
    with raises(InvalidArgument, *named):
        puct(**options)


def test_games_that_are_over_or_have_other_actions_are_refused() -> None:
    with raises(InvalidPosition, "uint64"):
        puct(np.zeros((2, 3)))
    batch = Batch("gabata_i", 40, rounds="match", seed=3)
    batch.play_random(300)
    with raises(InvalidPosition, "territory"):
        search.puct("gabata_i", batch.games, nothing, Limit(simulations=2))
    found = search.puct("gabata_i", batch, nothing, Limit(simulations=20), rounds="match")
    batch.step(found.actions)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ({}, ["Limit"]),
        ({"depth": 0}, ["depth", 0]),
        ({"depth": 100}, ["depth", 100]),
        ({"simulations": 2.5}, ["simulations", 2.5]),
        ({"nodes": True}, ["nodes", True]),
        ({"seconds": 0}, ["seconds", 0]),
        ({"seconds": float("nan")}, ["seconds", "nan"]),
        ({"seconds": float("inf")}, ["seconds", "inf"]),
        ({"depth": 4, "simulations": 10}, ["depth=4", "simulations=10"]),
    ],
    ids=str,
)
def test_invalid_limits_are_refused(numbers: dict[str, Any], named: list[Any]) -> None:
    with raises(InvalidArgument, *named):
        Limit(**numbers)


def test_a_limit_without_a_name_is_refused() -> None:
    """Limit(32) once meant 32 seconds."""
    with raises(InvalidArgument, 32, "seconds=", "simulations=32"):
        Limit(32)  # pyright: ignore[reportCallIssue]
    assert pickle.loads(pickle.dumps(Limit(nodes=32))) == copy.deepcopy(Limit(nodes=32)) == Limit(nodes=32)


def test_agents_refuse_limits_that_they_cannot_keep() -> None:
    for kind, limit in (
        ("minimax", Limit(simulations=9)),
        ("mcts", Limit(depth=9)),
        ("perfect", Limit(depth=9)),
    ):
        with raises(InvalidArgument, 9, kind):
            agents.make(agents.Spec(kind, limit), "leyla")


def test_trees_of_a_function_grow_to_the_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_growth, "MAX_NODES", 2000)
    (simulations,) = puct(Position(LAYLI), limit=Limit(simulations=2000)).simulations
    assert 300 < simulations < 500  # four to six nodes per simulation


def test_an_agent_of_a_network_plays_as_the_search_does() -> None:
    agent = agents.from_network(leaning, LAYLI, Limit(simulations=40), seed=1, num_threads=1, name="mine")
    assert agent.spec == "mine"
    assert agent.entrant == "own:mine"
    games = games_of("layli_goobalay")
    found = search.puct(LAYLI, games, leaning, Limit(simulations=40), seed=1)
    top = np.sort(found.policy)
    is_clear = top[:, -1] > top[:, -2]
    np.testing.assert_array_equal(agent.act(games)[is_clear], found.policy.argmax(axis=1)[is_clear])
    assert play_matches(agent, "random", LAYLI, games=20, seed=1).games == 20
    batch = Batch("leyla", 4, seed=1)
    for gumbel in (True, False):
        other = agents.from_network(
            nothing, "leyla", Limit(simulations=8), gumbel=gumbel, observation="afterstates"
        )
        batch.step(other.act(batch.games))
    with raises(InvalidArgument, "minimax"):
        agents.from_network(nothing, LAYLI, Limit(simulations=8), name="minimax")
    with raises(InvalidArgument, "'trained'"):
        agents.from_network("trained", LAYLI, Limit(simulations=8))  # pyright: ignore[reportArgumentType]


def test_an_agent_of_a_network_is_an_opponent_and_has_a_regret() -> None:
    agent = agents.from_network(nothing, "gabata_five_holes", Limit(simulations=200), seed=1, num_threads=1)
    env = gymnasium.make("mancala/Gabata-v0", ruleset="gabata_five_holes", opponent=agent)
    _, info = env.reset(seed=1)
    for _ in range(5):
        _, _, is_over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        if is_over:
            break
    random = agents.make("random", "gabata_five_holes", seed=1)
    found, by_chance = (measure_regret(each, "gabata_five_holes").overall for each in (agent, random))
    assert 0 <= found.mean_regret < by_chance.mean_regret


def test_an_agent_of_single_rounds_also_plays_matches() -> None:
    agent = agents.from_network(nothing, "gabata_i", Limit(simulations=10), seed=1)
    batch = Batch("gabata_i", 40, rounds="match", seed=3)
    batch.play_random(300)
    batch.step(agent.act(batch.games))


def test_random_numbers_have_their_distributions() -> None:
    seeds = np.arange(20_000, dtype=np.uint64)
    uniform = uniform_draws(seeds, 3)
    assert np.abs(uniform.mean(axis=0) - 0.5).max() < 0.01
    assert np.abs(np.corrcoef(uniform.T) - np.eye(3)).max() < 0.03
    extreme = uniform_draws(np.array([0xA5B2C34D68102040], np.uint64), 1)  # its first 64 bits are ones
    assert 1 - 1e-15 < extreme[0, 0] < 1
    assert gumbel_draws(seeds, 2).mean() == pytest.approx(0.5772, abs=0.02)
    for shape in (0.1, 0.5, 1.7, 10.0):
        draws = gamma_draws(seeds, np.full(len(seeds), shape), 2)
        assert draws.mean() == pytest.approx(shape, rel=0.05)
        assert draws.var() == pytest.approx(shape, rel=0.1)


def test_the_draw_of_an_action_does_not_depend_on_the_noise() -> None:
    seeds = np.arange(20_000, dtype=np.uint64)
    draws = gamma_draws(seeds, np.full(len(seeds), 10 / 6), 6)
    shares = draws / draws.sum(axis=1, keepdims=True)
    correlations = np.corrcoef(uniform_draws(seeds, 1)[:, 0], shares.T)[0, 1:]
    assert np.abs(correlations).max() < 0.03
