"""AlphaZero-style self-play: targets of the search, and runs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from mancala_env import Batch, Position, agents, rulesets
from mancala_env.agents.mcts import COUNT, FIRST, HIGH, LOW, VISITS
from mancala_env.agents.network import CheckpointAgent
from mancala_env.agents.puct import Forest
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.engine.state import PLAYER_COLUMN, SOUTH, unpack
from mancala_env.evaluation.matches import play_matches
from mancala_env.networks.checkpoint import read_identity
from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.observations import Observer
from mancala_env.solver import Solver
from mancala_env.training import run as command
from mancala_env.training.alphazero import NetworkSearch, drawn
from mancala_env.training.config import read_config
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.training_state import read_learned

GABATA, LAYLI = rulesets.lookup("gabata_five_holes"), rulesets.lookup("layli_goobalay")


def search_of(ruleset: rulesets.Ruleset, simulations: int, seed: int = 1) -> NetworkSearch:
    """A search with an untrained network."""
    torch.manual_seed(seed)
    size = NetworkConfig(observation="afterstates", hidden=8, layers=1, seed_levels=2)
    network = build_network(ruleset, ruleset.row_width, size)
    return NetworkSearch(Observer(ruleset, "afterstates"), network, simulations, seed=seed, num_threads=1)


def games_of(ruleset: rulesets.Ruleset, count: int, turns: int, seed: int = 1) -> np.ndarray:
    """Games from random play."""
    batch = Batch(ruleset, count, seed=seed, num_threads=1, first_player="random")
    batch.play_random(turns)
    return batch.games.copy()


def moves_twice(ruleset: rulesets.Ruleset, games: np.ndarray, b: int) -> bool:
    """Return whether a pass follows some turn, so that the same player moves again."""
    position = Position.from_games(ruleset, games, b)
    for action in position.legal_actions:
        after = position.copy()
        after.play(action)
        if not after.is_over and after.player == position.player:
            return True
    return False


class AlwaysSouth(NetworkSearch):
    """A network that expects a reward of 0.5 for South in every position."""

    def judge(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, _ = super().judge(games)
        return logits, np.where(games[:, PLAYER_COLUMN] == SOUTH, 0.5, -0.5).astype(np.float32)


def test_values_change_sign_with_the_player_and_not_with_the_turn() -> None:
    """If the network expects the same reward for South everywhere, every mean is equal to it.

    Were the sign changed at each turn, the mean would be another one where a player moves twice running.
    """
    games = games_of(GABATA, 900, 30)
    rows = [b for b in range(len(games)) if moves_twice(GABATA, games, b)]
    games = games[rows]
    plain = search_of(GABATA, 60)
    search = AlwaysSouth(plain.observer, plain.network, 60, seed=1, num_threads=1)
    found = search.search(games, GABATA.row_width)
    players = games[:, PLAYER_COLUMN]
    # Turns that end the round have exact values. So only trees without an end of the round are checked,
    # and only those in which either side may still win.
    forest = search._search(games, np.zeros(len(games), np.int64))
    is_open = np.array([not sees_an_end(forest, b) for b in range(len(games))])
    roots = forest.tree[: len(games)]
    is_open &= (roots[:, LOW] < 0) & (roots[:, HIGH] > 0)
    assert is_open.sum() > 30
    assert {0, 1} == set(players[is_open].tolist())
    np.testing.assert_allclose(
        found.values[is_open], np.where(players[is_open] == SOUTH, 0.5, -0.5), atol=1e-6
    )


def sees_an_end(forest: Forest, root: int) -> bool:
    """Return whether a tree holds a position with a known margin."""
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
    search = search_of(GABATA, 1500)
    found = search.search(games, GABATA.row_width)
    looked_at = twice = 0
    for b in np.flatnonzero(search.last_simulations < 1500):  # proven ones stop earlier
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
    search = search_of(LAYLI, 40)
    found = search.search(games, LAYLI.row_width)
    np.testing.assert_allclose(found.policy.sum(axis=1), 1, atol=1e-6)
    for b in range(50):
        legal = Position.from_games(LAYLI, games, b).legal_actions
        assert set(np.flatnonzero(found.policy[b])) <= set(legal)
    assert np.all(np.abs(found.values) <= 1)
    again = search.search(games[7:8], LAYLI.row_width)
    np.testing.assert_array_equal(again.policy[0], found.policy[7])
    assert again.values[0] == pytest.approx(found.values[7], abs=1e-5), "alone as among others"
    is_clear = np.sort(found.policy)[:, -1] > np.sort(found.policy)[:, -2]
    np.testing.assert_array_equal(search.act(games)[is_clear], found.policy.argmax(axis=1)[is_clear])


def test_noise_leads_the_search_where_the_policy_would_not_go() -> None:
    games = games_of(LAYLI, 40, 4)
    games = games[[len(Position.from_games(LAYLI, games, b).legal_actions) > 2 for b in range(40)]]
    search, draws = search_of(LAYLI, 16), np.zeros((len(games), LAYLI.num_holes))
    draws[:, 1] = 3.0  # the second legal action in each game
    plain = search.search(games, 6)
    for share, changes in ((0.0, False), (1.0, True)):
        found = search.search(games, 6, draws, share)
        assert np.array_equal(found.policy, plain.policy) != changes
    second = [Position.from_games(LAYLI, games, b).legal_actions[1] for b in range(len(games))]
    assert found.policy[np.arange(len(games)), second].mean() > 0.9


def test_actions_are_drawn_by_their_visits_or_the_most_visited_is_taken() -> None:
    rng, policy = np.random.default_rng(1), np.tile([0.5, 0.0, 0.3, 0.2], (20_000, 1))
    for temperature, wanted in (
        (1.0, policy[0]),
        (0.5, policy[0] ** 2 / (policy[0] ** 2).sum()),
        (0, [1, 0, 0, 0]),
        (5e-324, [1, 0, 0, 0]),
    ):
        actions = drawn(policy, np.full(len(policy), float(temperature)), rng.random(policy.shape))
        np.testing.assert_allclose(np.bincount(actions, minlength=4) / len(policy), wanted, atol=0.015)
    even = np.tile([0.5, 0.5, 0.0], (4000, 1))
    counts = np.bincount(drawn(even, np.zeros(4000), rng.random(even.shape)), minlength=3)
    assert counts[2] == 0
    assert abs(counts[0] - 2000) < 200, "of equal ones any"


def words(folder: Path, *more: str) -> list[str]:
    """Return the arguments of a run whose updates take milliseconds."""
    return [
        "smoke", "--folder", str(folder), "--name", "run", "--algorithm", "alphazero",
        "--selfplay.games", "32", "--network.hidden", "8", "--network.observation", "afterstates",
        "--alphazero.simulations", "8", "--alphazero.batch_size", "128", "--evaluation.games", "4",
        "--evaluation.opponents", "[random]", "--environment_steps", "2048", *more,
    ]  # fmt: skip


def lines_of(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_a_run_from_end_to_end_that_is_resumed_repeats_bit_for_bit(tmp_path: Path) -> None:
    assert command.main(words(tmp_path, "--pool.share", "0.25")) == 0
    run = tmp_path / "run"
    lines = lines_of(run)
    for name in ("alphazero/positions", "alphazero/simulations", "train/policy_loss", "time/search"):
        assert name in lines[-1], name
    assert "agreement with the search" in (run / "report.html").read_text()
    assert read_identity(run / "final.zip").turns == 2048
    assert isinstance(agents.make(str(run / "final.zip"), LAYLI), CheckpointAgent)
    assert MaskablePPO.load(run / "final.zip", device="cpu").num_timesteps == 2048
    result = play_matches(f"policy+mcts:8:{run / 'final.zip'}", "random", LAYLI, games=2, seed=1)
    assert result.games == 2
    again = Path(shutil.copytree(run, tmp_path / "again"))
    for folder in (run, again):
        config, _ = read_config(["--resume", str(folder), "--environment_steps", "4096"])
        command.train(config, RunFolder(folder), Console(quiet=True), resume=True)
    first, second = (read_learned(folder / "final.zip") for folder in (run, again))
    assert all(torch.equal(value, second.weights[name]) for name, value in first.weights.items())
    assert lines_of(run)[len(lines)]["alphazero/positions"] > lines[-1]["alphazero/positions"]
    assert lines_of(run)[-1]["train/learning_rate"] <= lines[-1]["train/learning_rate"]


@pytest.mark.slow
def test_a_seeded_run_repeats_bit_for_bit(tmp_path: Path) -> None:
    learned = []
    for name, seed in (("first", "1"), ("second", "1"), ("third", "2")):
        config, _ = read_config(words(tmp_path, "--name", name, "--seed", seed))
        final, _ = command.train(config, RunFolder.create(config), Console(quiet=True))
        learned.append(read_learned(final).weights)
    same, other = (
        all(torch.equal(value, weights[name]) for name, value in learned[0].items())
        for weights in learned[1:]
    )
    assert same
    assert not other


@pytest.mark.slow
def test_a_ppo_run_continues_as_alphazero(tmp_path: Path) -> None:
    config, _ = read_config(
        words(tmp_path, "--algorithm", "ppo", "--ppo.steps", "4", "--ppo.batch_size", "64")
    )
    folder, quiet = RunFolder.create(config), Console(quiet=True)
    command.train(config, folder, quiet)
    more = ["--resume", str(folder.path), "--environment_steps", "4096", "--algorithm", "alphazero"]
    command.train(read_config(more)[0], folder, quiet, resume=True)
    assert "alphazero/positions" in lines_of(folder.path)[-1]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--rounds", "match"], "algorithm alphazero searches a round to its end, so rounds must be 1"),
        (["--algorithm", "alfazero"], "algorithm must be one of ppo, alphazero"),
        (["--alphazero.simulations", "1"], "alphazero.simulations must be"),
        (
            ["--selfplay.games", "1000000", "--alphazero.turns", "1000", "--ppo.steps", "1"],
            "alphazero.turns times",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    tmp_path: Path, more: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(words(tmp_path, *more)) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_turns_that_end_a_game_start_the_count_of_its_turns_again(tmp_path: Path) -> None:
    config, _ = read_config(words(tmp_path, "--alphazero.sampled_turns", "3"))
    env = command.make_env(config, RunFolder(tmp_path), 1)
    model = command.make_model(config, env)
    assert isinstance(model, command.ScheduledAlphaZero)
    env.reset()
    model.set_logger(Logger(None, []))
    _, callback = model._setup_learn(10**9, None)
    turn = np.zeros(env.num_envs, np.int64)
    num_left_out = 0
    for _ in range(60):
        before = env.games
        assert model.collect_rollouts(env, callback, model.rollout_buffer, 1)  # type: ignore[arg-type]
        is_learned = rows_to_learn(LAYLI, before)
        waits = {row.tobytes() for part, _ in model.replay._waiting for row in part.games}
        assert not [game for game in before[~is_learned] if game.tobytes() in waits]
        num_left_out += np.count_nonzero(~is_learned)
        went_on = np.where(is_learned, [game.tobytes() in waits for game in before], model._turn > 0)
        turn = np.where(went_on, turn + 1, 0)
        np.testing.assert_array_equal(model._turn, turn)
    assert len(model.replay) > 0
    assert num_left_out > 60, "boards held out for evaluation are searched, and not learned from"


@pytest.mark.slow
def test_a_short_run_learns(tmp_path: Path) -> None:
    more = ("--environment_steps", "8192", "--network.hidden", "32", "--network.observation", "replies")
    config, _ = read_config(words(tmp_path, *more))
    final, _ = command.train(config, RunFolder.create(config), Console(quiet=True))
    result = play_matches(str(final), "random", LAYLI, games=400, seed=5)
    assert result.win_rate > 0.75
