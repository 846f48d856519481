"""Distillation: a search labels positions, and a network copies it before self-play."""

import itertools
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from error_checks import raises
from rich.console import Console
from value_checkpoints import checkpoint_of

from mancala_env import Position, agents, rulesets
from mancala_env.agents.searchers import ILLEGAL, MinimaxAgent
from mancala_env.engine.holdout import rows_in_set, rows_to_learn
from mancala_env.games.batch import Batch
from mancala_env.networks.checkpoint import read_identity
from mancala_env.networks.policy import NetworkConfig, build_network
from mancala_env.solver import Solver
from mancala_env.training import distillation, expert_labels
from mancala_env.training import run as command
from mancala_env.training.config import CONFIGS, DistillationConfig, InvalidConfig, read_config
from mancala_env.training.distillation import boltzmann_targets, evaluate, fit
from mancala_env.training.expert_labels import (
    ExpertLabels,
    agreement,
    expert,
    label_positions,
)
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.training_state import read_learned

LAYLI, GABATA = rulesets.lookup("layli_goobalay"), rulesets.lookup("gabata_five_holes")
SMALL = replace(LAYLI, name="layli_goobalay_four_holes", row_width=4)
NEVER = float("-inf")


def test_a_run_that_failed_in_its_distillation_starts_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint of the half-fitted network would end the distillation."""
    words = [
        "--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--environment_steps", "2048",
        "--distillation.spec", "minimax:2", "--distillation.positions", "1000",
        "--evaluation.games", "4", "--evaluation.opponents", "[random]",
    ]  # fmt: skip

    def fail(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(distillation, "evaluate", fail)
    with pytest.raises(MemoryError):
        command.main(words)
    assert not list((tmp_path / "smoke" / "checkpoints").glob("*.zip"))


def every_row(_: rulesets.Ruleset, games: np.ndarray) -> np.ndarray:
    return np.ones(len(games), np.bool_)


@pytest.fixture
def nothing_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Label all positions of a game: each is one turn after the previous one."""
    monkeypatch.setattr(expert_labels, "rows_to_learn", every_row)


def labels_of(
    spec: str,
    ruleset: rulesets.Ruleset = LAYLI,
    positions: int = 200,
    seed: int = 1,
    exploration: float = 0.3,
) -> ExpertLabels:
    return label_positions(
        spec, ruleset, positions, exploration=exploration, opening_turns=4, seed=seed, num_threads=1
    )


def reachable(position: Position, actions: Sequence[int] | np.ndarray) -> set[str]:
    """Return the positions after actions, as text; the start of the next round if the round ends."""
    reached = set()
    for action in actions:
        after = position.copy()
        after.play(int(action))
        following = after.next_round() if after.is_over else after
        if following is not None:
            reached.add(following.to_text())
    return reached


def test_values_are_the_searchs_own() -> None:
    labels = labels_of("minimax:3")
    agent = agents.make("minimax:3", LAYLI, num_threads=1)
    values = agent.action_values(labels.games)  # type: ignore[attr-defined]
    assert labels.values.dtype == np.float32
    assert (labels.is_legal == (values != ILLEGAL)).all()
    assert (labels.values[labels.is_legal] == values[labels.is_legal]).all()
    assert len(labels) >= 200
    assert len({row.tobytes() for row in labels.games}) > 150


def test_an_expert_that_sees_the_round_through_has_its_exact_margins() -> None:
    """Expert iteration uses them as rewards, so the stores count too."""
    searched = agents.make("minimax:40", LAYLI, num_threads=1)
    assert isinstance(searched, MinimaxAgent)
    games = Batch(LAYLI, 200, seed=1, opening_turns=26).games
    positions = [Position.from_games(LAYLI, games, b) for b in range(len(games))]
    games = games[[position.seeds[position.owner < 0].sum() < 5 for position in positions]]
    values = expert("minimax:40", LAYLI, 6, 1)(games)
    assert len(games) > 10
    searched.action_values(games)
    assert (searched.last_depth < 40).all()
    solver = Solver(LAYLI)
    for b in range(len(games)):
        position = Position.from_games(LAYLI, games, b)
        lead = position.stores[position.player] - position.stores[1 - position.player]
        exact = {action: lead + value for action, value in solver.solve(position).action_values.items()}
        assert exact == {action: values[b, action] for action in position.legal_actions}


@pytest.mark.usefixtures("nothing_held_out")
def test_a_game_played_without_chance_has_one_winner_and_follows_the_expert() -> None:
    labels = labels_of("minimax:2", GABATA, exploration=0.0)
    for n in range(len(labels) - 1):
        position = Position.from_games(GABATA, labels.games, n)
        following = Position.from_games(GABATA, labels.games, n + 1)
        best = np.flatnonzero(labels.values[n] == labels.values[n].max())
        reached = []
        for action in best:
            after = position.copy()
            after.play(int(action))
            reached.append(after)
        if following in reached:  # the same game continues
            sign = 1 if following.player == position.player else -1
            assert labels.outcomes[n] == sign * labels.outcomes[n + 1]
        else:  # it was its last turn
            ends = [after for after in reached if after.is_over]
            assert ends
            leads = {np.sign(end.counts[position.player] - end.counts[1 - position.player]) for end in ends}
            assert labels.outcomes[n] in leads


@pytest.mark.usefixtures("nothing_held_out")
def test_values_keep_the_precision_of_their_expert(tmp_path: Path) -> None:
    spec = f"policy+minimax:2:{checkpoint_of(tmp_path / 'agent.zip')}"
    labels = labels_of(spec, exploration=0.0)
    agent = agents.make(spec, LAYLI, num_threads=1)
    values = agent.action_values(labels.games)  # type: ignore[attr-defined]
    assert (labels.values[labels.is_legal] == values[labels.is_legal]).all()
    assert (labels.values[labels.is_legal] % 1 != 0).mean() > 0.5, "this expert counts sixteenths of a seed"
    # Its games follow its best action, not one that is best after rounding to whole seeds.
    for n in np.flatnonzero(np.diff(labels.episodes) == 0):
        position = Position.from_games(LAYLI, labels.games, int(n))
        following = Position.from_games(LAYLI, labels.games, int(n) + 1)
        best = np.flatnonzero(labels.values[n] == labels.values[n].max())
        assert following.to_text() in reachable(position, best)


def test_a_seed_repeats_the_labels_and_another_does_not() -> None:
    first, again, other = (labels_of("minimax:1", seed=seed) for seed in (1, 1, 2))
    assert (first.games == again.games).all()
    assert (first.outcomes == again.outcomes).all()
    assert first.games.shape != other.games.shape or (first.games != other.games).any()


def test_an_agent_without_values_is_no_expert() -> None:
    with raises(InvalidConfig, "value+minimax", "policy+minimax", "greedy"):
        labels_of("greedy")


def test_boltzmann_targets_fall_by_e_per_temperature_and_leave_illegal_actions_out() -> None:
    values = np.array([[3, 1, NEVER, 3]], np.float32)
    for cold in (0.0, 1e-300, 5e-324):
        assert boltzmann_targets(values, cold)[0].tolist() == [0.5, 0, 0, 0.5]
    best, worse, illegal, other = boltzmann_targets(values, 2.0)[0].tolist()
    assert best == other
    assert worse / best == pytest.approx(np.exp(-1))
    assert illegal == 0
    assert best + worse + other == pytest.approx(1)


def test_agreement_is_the_share_of_best_actions_and_the_mean_regret() -> None:
    values = np.array([[3, 1, NEVER], [0, 0, -6], [5, 1, 2]], np.float32)
    assert agreement(values, np.array([0, 2, 2])) == (pytest.approx(1 / 3), pytest.approx(3.0))


def test_a_network_comes_to_agree_with_its_expert_on_games_held_out() -> None:
    training, held_out = labels_of("minimax:2", positions=6000).split()
    torch.manual_seed(1)
    network = build_network(
        LAYLI, 6, NetworkConfig(observation="replies", hidden=32, layers=2, seed_levels=10)
    )
    found = [evaluate(network, "replies", held_out, 0.5)]
    settings = DistillationConfig(temperature=0.5, epochs=4, batch_size=256, learning_rate=0.005)
    fit(
        network,
        "replies",
        training,
        settings,
        value_weight=0.5,
        seed=1,
        after_epoch=lambda epoch: found.append(evaluate(network, "replies", held_out, 0.5)),
    )
    before, after = found[0], found[-1]
    assert len(found) == 5
    assert after.accuracy > 0.85 > before.accuracy
    assert after.regret < before.regret / 4
    assert after.policy_loss < before.policy_loss
    assert after.value_loss < before.value_loss


@pytest.mark.parametrize("is_timed", [False, True])
def test_the_learning_rate_falls_to_nothing(is_timed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learning rate falls with the passes or with the time, whichever is further."""
    rates: list[float] = []

    class Recorded(torch.optim.Adam):
        def step(self, *args: Any, **kwargs: Any) -> Any:
            rates.append(self.param_groups[0]["lr"])
            return super().step(*args, **kwargs)

    monkeypatch.setattr(torch.optim, "Adam", Recorded)
    labels = labels_of("minimax:1", positions=100)
    network = build_network(LAYLI, 6, NetworkConfig(observation="board", hidden=4, layers=1, seed_levels=4))
    times = iter([0.0, 0.5, 0.2, 0.9, 1.0])
    clock = (lambda part: max(part, next(times))) if is_timed else None
    settings = DistillationConfig(
        temperature=0.5, epochs=2, batch_size=-(-len(labels) // 4), learning_rate=0.01
    )
    passes = fit(network, "board", labels, settings, value_weight=0.5, seed=1, part_done=clock)
    parts = [0.0, 0.5, 0.25, 0.9] if is_timed else np.arange(8) / 8
    assert rates == pytest.approx([0.01 * (1 - part) for part in parts])
    assert passes == (1.0 if is_timed else 2.0)


def test_every_tenth_game_is_held_out_whole() -> None:
    labels = labels_of("minimax:1", positions=1500)
    training, held_out = labels.split()
    assert len(training) + len(held_out) == len(labels)
    assert not set(training.episodes) & set(held_out.episodes)
    assert set(held_out.episodes) == set(range(9, labels.episodes.max() + 1, 10))


def test_a_single_game_leaves_nothing_to_hold_out() -> None:
    labels = label_positions("minimax:1", SMALL, 1, exploration=0.5, num_games=1, seed=1)
    with pytest.raises(InvalidConfig):
        labels.split()
    with raises(InvalidConfig, "expert"):
        labels.select(np.zeros(len(labels), np.bool_)).split()


@pytest.mark.usefixtures("nothing_held_out")
def test_matches_are_as_long_as_those_of_an_unbiased_sample() -> None:
    labels = label_positions(
        "minimax:1", SMALL, 20_000, exploration=1.0, opening_turns=4, rounds="match", seed=2, num_threads=1
    )
    sampled = np.unique(labels.episodes, return_counts=True)[1]
    games = Batch(SMALL, 3000, rounds="match", seed=1, opening_turns=4, autoreset=False, num_threads=1)
    rng = np.random.default_rng(1)
    lengths, is_running = np.zeros(3000), np.ones(3000, np.bool_)
    while is_running.any():
        lengths[is_running] += 1
        draws = np.where(games.legal_mask != 0, rng.random(games.legal_mask.shape), -1)
        games.step(draws.argmax(axis=1), where=is_running)
        is_running &= ~games.done
    error = np.hypot(sampled.std() / np.sqrt(len(sampled)), lengths.std() / np.sqrt(len(lengths)))
    # If only matches that end in time counted, they would be 20 % shorter, five standard errors away.
    assert abs(sampled.mean() - lengths.mean()) < 2.5 * error


def test_boards_held_out_for_evaluation_are_played_and_not_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_eight_matches() -> ExpertLabels:
        return label_positions(
            "minimax:1", LAYLI, 1, exploration=0.5, rounds="match", num_games=8, seed=1, num_threads=1
        )

    labels = of_eight_matches()
    monkeypatch.setattr(expert_labels, "rows_to_learn", every_row)
    played = of_eight_matches()
    is_learned = rows_to_learn(LAYLI, played.games)
    assert 0.7 < is_learned.mean() < 0.9
    for found, wanted in zip(astuple(labels)[1:], astuple(played.select(is_learned))[1:], strict=True):
        np.testing.assert_array_equal(found, wanted)
    positions = [Position.from_games(LAYLI, labels.games, n) for n in range(len(labels))]
    starts = [bool((each.seeds == 4).all() and (each.owner < 0).all()) for each in positions]
    assert sum(starts) >= 8, "the start of a round is played, although it is held out"
    assert not (rows_in_set(LAYLI, labels.games, "evaluation") & ~np.array(starts)).any()


@pytest.mark.usefixtures("nothing_held_out")
def test_no_other_position_of_a_game_is_skipped() -> None:
    labels = label_positions(
        "minimax:1", SMALL, 500, exploration=0.5, rounds="match", num_games=8, seed=1, num_threads=1
    )
    assert (np.diff(labels.episodes) >= 0).all()
    start = Position(SMALL)
    for episode in np.unique(labels.episodes):
        rows = np.flatnonzero(labels.episodes == episode)
        assert Position.from_games(SMALL, labels.games, int(rows[0])).to_text() == start.to_text()
        for n in rows[:-1]:
            position = Position.from_games(SMALL, labels.games, int(n))
            following = Position.from_games(SMALL, labels.games, int(n) + 1)
            assert following.to_text() in reachable(position, position.legal_actions)


@pytest.mark.slow
def test_a_run_starts_from_what_it_distilled(tmp_path: Path, capsys) -> None:
    words = [
        "--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--environment_steps", "2048",
        "--distillation.positions", "1500", "--distillation.spec", "minimax:2", "--evaluation.games", "4",
        "--evaluation.opponents", "[random]",
    ]  # fmt: skip
    weights = []
    for name in ("a", "b"):
        assert command.main([*words, "--name", name]) == 0
        weights.append((tmp_path / name / "final.zip", tmp_path / name))
    assert "Copied minimax:2" in capsys.readouterr().out
    (first, folder), (again, _) = weights
    assert all(
        torch.equal(value, agents.make(str(again), LAYLI).network.state_dict()[key])  # type: ignore[attr-defined]
        for key, value in agents.make(str(first), LAYLI).network.state_dict().items()  # type: ignore[attr-defined]
    )
    line = json.loads((folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert line["environment_steps"] == 0
    assert line["distillation/positions"] >= 1500
    assert 0.5 < line["distillation/accuracy"] <= 1
    saved = RunFolder(folder).saved()[0]
    assert read_identity(saved).environment_steps == 0, "what was distilled is saved before self-play begins"
    # A resumed run does not distill again.
    assert command.main(["--resume", str(folder), "--environment_steps", "4096"]) == 0
    assert "Copied minimax:2" not in capsys.readouterr().out


def test_a_run_stopped_in_its_distillation_starts_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--environment_steps", "2048",
        "--distillation.spec", "minimax:2", "--evaluation.games", "4", "--evaluation.opponents", "[random]",
    ]  # fmt: skip

    def interrupted(*args: Any, **options: Any) -> ExpertLabels:
        os.kill(os.getpid(), signal.SIGINT)
        return label_positions(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(distillation, "label_positions", interrupted)
        assert command.main([*words, "--distillation.positions", "100000000"]) == 0
    said = capsys.readouterr().out
    assert "Ended early by SIGINT" in said
    assert "Copied minimax:2" not in said
    run = tmp_path / "smoke"
    assert command.main(["--resume", str(run), "--distillation.positions", "1000"]) == 0
    assert "Copied minimax:2" in capsys.readouterr().out
    assert read_identity(run / "final.zip").environment_steps == 2048


@pytest.mark.usefixtures("nothing_held_out")
def test_labels_end_in_time_and_with_whole_games() -> None:
    turns = 0

    def is_late() -> bool:
        nonlocal turns
        turns += 1
        return turns > 100

    labels = label_positions(
        "minimax:1", SMALL, 1_000_000, exploration=0.5, num_games=8, seed=1, num_threads=1, is_late=is_late
    )
    assert 200 < len(labels) < 4000
    start = Position(SMALL)
    for episode in np.unique(labels.episodes):
        rows = np.flatnonzero(labels.episodes == episode)
        assert Position.from_games(SMALL, labels.games, int(rows[0])).to_text() == start.to_text()
        last = Position.from_games(SMALL, labels.games, int(rows[-1]))
        ends = []
        for action in last.legal_actions:
            after = last.copy()
            after.play(action)
            ends.append(after.is_over)
        assert any(ends)
    assert np.isfinite(labels.outcomes).all()


@pytest.mark.slow
def test_distillation_takes_no_more_than_its_share_of_the_minutes(tmp_path: Path, capsys) -> None:
    words = [
        "--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--minutes", "0.5",
        "--environment_steps", "null", "--distillation.positions", "10000000", "--distillation.spec",
        "minimax:1", "--distillation.epochs", "1000", "--evaluation.checkpoint_games", "0",
    ]  # fmt: skip
    config, _ = read_config(words)
    folder = RunFolder.create(config)
    ticks = itertools.count()
    # A clock that advances by 0.05 s at each call.
    command.train(config, folder, Console(), now=lambda: next(ticks) / 20)
    first, *_, last = folder.saved()
    asked, given = 30, read_learned(first).progress.seconds
    assert read_identity(first).environment_steps == 0 < read_identity(last).environment_steps
    assert 0.74 * asked <= given <= 0.8 * asked
    said = " ".join(capsys.readouterr().out.split())
    assert "of 10,000,000 labelled" in said
    assert "of 1000 passes: what 75% of the minutes allow" in said
