"""Lessons from a search before self-play."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from mancala_env import Position, agents, rulesets
from mancala_env.agents.checkpoint import read_identity
from mancala_env.agents.minimax import ILLEGAL
from mancala_env.agents.network import NetworkConfig, build_network
from mancala_env.learning import loop as command
from mancala_env.learning.config import CONFIGS, InvalidConfig, TeacherConfig
from mancala_env.learning.distillation import Lessons, examine, give_lessons, learn, marks, soft_targets
from mancala_env.learning.run_folder import RunFolder
from mancala_env.solver import Solver

LAYLI, GABATA = rulesets.lookup("layli_goobalay"), rulesets.lookup("gabata_five_holes")


def lessons_of(
    spec: str,
    ruleset: rulesets.Ruleset = LAYLI,
    positions: int = 200,
    seed: int = 1,
    exploration: float = 0.3,
) -> Lessons:
    return give_lessons(
        spec, ruleset, positions, exploration=exploration, opening_turns=4, seed=seed, num_threads=1
    )


def test_values_are_the_searchs_own() -> None:
    lessons = lessons_of("minimax:3")
    agent = agents.make("minimax:3", LAYLI, num_threads=1)
    assert (lessons.values == agent.action_values(lessons.games)).all()  # type: ignore[attr-defined]
    assert len(lessons) >= 200
    assert len({row.tobytes() for row in lessons.games}) > 150


def test_perfect_values_are_exact() -> None:
    lessons = give_lessons(
        "perfect:0.005s", LAYLI, 20, exploration=0.5, num_games=2, opening_turns=12, seed=3, num_threads=1
    )
    solver, checked = Solver(LAYLI), 0
    for n in range(len(lessons)):
        position = Position.from_games(LAYLI, lessons.games, n)
        solution = solver.solve(position, time_limit=0.05)
        if solution.is_exact:
            checked += 1
            assert solution.action_values == {
                action: lessons.values[n, action] for action in position.legal_actions
            }
    assert checked > 10


def test_a_game_played_without_chance_has_one_winner_and_follows_the_teacher() -> None:
    lessons = lessons_of("minimax:2", GABATA, exploration=0.0)
    for n in range(len(lessons) - 1):
        position = Position.from_games(GABATA, lessons.games, n)
        following = Position.from_games(GABATA, lessons.games, n + 1)
        best = np.flatnonzero(lessons.values[n] == lessons.values[n].max())
        reached = []
        for action in best:
            after = position.copy()
            after.play(int(action))
            reached.append(after)
        if following in reached:  # the same game goes on
            sign = 1 if following.player == position.player else -1
            assert lessons.outcomes[n] == sign * lessons.outcomes[n + 1]
        else:  # it was its last turn
            ends = [after for after in reached if after.is_over]
            assert ends
            leads = {np.sign(end.counts[position.player] - end.counts[1 - position.player]) for end in ends}
            assert lessons.outcomes[n] in leads


def test_a_seed_repeats_the_lessons_and_another_does_not() -> None:
    first, again, other = (lessons_of("minimax:1", seed=seed) for seed in (1, 1, 2))
    assert (first.games == again.games).all()
    assert (first.outcomes == again.outcomes).all()
    assert first.games.shape != other.games.shape or (first.games != other.games).any()


def test_an_agent_without_values_cannot_teach() -> None:
    with pytest.raises(InvalidConfig, match=r"teacher.spec must be a minimax or perfect agent, not 'greedy'"):
        lessons_of("greedy")


def test_soft_targets_fall_by_e_per_temperature_and_leave_illegal_actions_out() -> None:
    values = np.array([[3, 1, ILLEGAL, 3]], np.int16)
    assert soft_targets(values, 0.0)[0].tolist() == [0.5, 0, 0, 0.5]
    best, worse, illegal, other = soft_targets(values, 2.0)[0].tolist()
    assert best == other
    assert worse / best == pytest.approx(np.exp(-1))
    assert illegal == 0
    assert best + worse + other == pytest.approx(1)


def test_marks_count_best_actions_and_seeds_lost() -> None:
    values = np.array([[3, 1, ILLEGAL], [0, 0, -6], [5, 1, 2]], np.int16)
    assert marks(values, np.array([0, 2, 2])) == (pytest.approx(1 / 3), pytest.approx(3.0))


def test_a_network_learns_to_follow_its_teacher_and_who_wins() -> None:
    taught, kept_back = lessons_of("minimax:2", positions=6000).split()
    assert len(kept_back) == pytest.approx(len(taught) / 9, abs=1)
    config = TeacherConfig(
        positions=0, spec="", exploration=0, temperature=0.5, epochs=4, batch_size=256, learning_rate=0.005
    )
    torch.manual_seed(1)
    network = build_network(
        LAYLI, 6, NetworkConfig(observation="replies", hidden=32, layers=2, seed_levels=10)
    )
    before = examine(network, "replies", kept_back)
    learn(network, "replies", taught, config, value_weight=0.5, seed=1)
    after = examine(network, "replies", kept_back)
    assert after.accuracy > 0.85 > before.accuracy
    assert after.regret < before.regret / 4


def test_a_run_starts_from_its_teacher(tmp_path: Path, capsys) -> None:
    words = [
        "--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--turns", "2048",
        "--teacher.positions", "1500", "--teacher.spec", "minimax:2", "--evaluation.games", "4",
        "--evaluation.opponents", "[random]",
    ]  # fmt: skip
    weights = []
    for name in ("a", "b"):
        assert command.main([*words, "--name", name]) == 0
        weights.append((tmp_path / name / "final.zip", tmp_path / name))
    assert "Taught by minimax:2" in capsys.readouterr().out
    (first, folder), (again, _) = weights
    assert all(
        torch.equal(value, agents.make(str(again), LAYLI).network.state_dict()[key])  # type: ignore[attr-defined]
        for key, value in agents.make(str(first), LAYLI).network.state_dict().items()  # type: ignore[attr-defined]
    )
    line = json.loads((folder / "metrics.jsonl").read_text().splitlines()[0])
    assert line["turns"] == 0
    assert line["teacher/positions"] >= 1500
    assert 0.5 < line["teacher/accuracy"] <= 1
    taught = RunFolder(folder).saved()[0]
    assert read_identity(taught).turns == 0, "what the teacher taught is saved before self-play begins"
    # A run that goes on does not go back to school.
    assert command.main(["--resume", str(folder), "--turns", "4096"]) == 0
    assert "Taught" not in capsys.readouterr().out


def test_a_run_stopped_in_its_lessons_starts_them_anew(tmp_path: Path, capsys) -> None:
    words = [
        "--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--turns", "2048",
        "--teacher.spec", "minimax:2", "--evaluation.games", "4", "--evaluation.opponents", "[random]",
    ]  # fmt: skip
    usual = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        while signal.getsignal(signal.SIGINT) == usual:  # until the run listens
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert command.main([*words, "--teacher.positions", "100000000"]) == 0
    thread.join()
    said = capsys.readouterr().out
    assert "Ended early by SIGINT" in said
    assert "Taught" not in said
    run = tmp_path / "smoke"
    assert command.main(["--resume", str(run), "--teacher.positions", "1000"]) == 0
    assert "Taught by minimax:2" in capsys.readouterr().out
    assert read_identity(run / "final.zip").turns == 2048
