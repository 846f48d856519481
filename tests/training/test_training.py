"""Self-play training: games, signs of values, and runs."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from boards import NARROW
from checkpoints import identity_of, write_checkpoint
from error_checks import names, raises
from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from mancala_env import Position, agents, rulesets
from mancala_env.agents.network import CheckpointAgent
from mancala_env.engine.holdout import rows_in_set
from mancala_env.evaluation.matches import play_matches
from mancala_env.networks.checkpoint import read_identity
from mancala_env.observations import games_from
from mancala_env.training import ppo, run_plots, run_report
from mancala_env.training import run as command
from mancala_env.training.config import CONFIGS, InvalidConfig, read_config
from mancala_env.training.pool import SnapshotPool
from mancala_env.training.rollout import SelfPlayBuffer, SelfPlayEnv
from mancala_env.training.run_folder import RunFolder, RunFolderError, git_revision, write_atomically

LAYLI, GABATA = rulesets.lookup("layli_goobalay"), rulesets.lookup("gabata_five_holes")
SMOKE = str(CONFIGS / "smoke.yaml")


def smoke(tmp_path: Path, *words: str) -> list[str]:
    """Return the arguments of a run of one or two seconds."""
    return [
        "--config", SMOKE, "--folder", str(tmp_path), "--environment_steps", "4096",
        "--evaluation.games", "10", "--evaluation.opponents", "[random]", *words,
    ]  # fmt: skip


# The environment


class Replay:
    """Positions that follow the games of an environment."""

    def __init__(self, env: SelfPlayEnv, seen: np.ndarray) -> None:
        self.env = env
        self.positions = self.from_seen(seen)

    def from_seen(self, seen: np.ndarray) -> list[Position]:
        games = games_from(self.env.ruleset, seen)
        return [Position.from_games(self.env.ruleset, games, b) for b in range(len(games))]


@pytest.mark.parametrize("ruleset", [LAYLI, GABATA], ids=lambda ruleset: ruleset.name)
def test_mirror_games_are_games_of_position(ruleset: rulesets.Ruleset) -> None:
    env = SelfPlayEnv(ruleset, "board", 16, seed=1, num_threads=1)
    rng = np.random.default_rng(2)
    replay = Replay(env, env.reset())
    endings = 0
    for _ in range(90):
        players, masks = env.players.copy(), env.action_masks().copy()
        assert [position.player for position in replay.positions] == players.tolist()
        for position, mask in zip(replay.positions, masks, strict=True):
            assert position.legal_actions == tuple(np.flatnonzero(mask))
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        seen, rewards, dones, _ = env.step(actions)
        assert isinstance(seen, np.ndarray)
        after = replay.from_seen(seen)
        for b, position in enumerate(replay.positions):
            position.play(int(actions[b]))
            assert position.is_over == dones[b]
            if not dones[b]:
                assert rewards[b] == 0
                assert position.player == after[b].player
                assert position == after[b]
                continue
            endings += 1
            lead = position.counts[players[b]] - position.counts[1 - players[b]]
            assert rewards[b] == np.sign(lead)
            replay.positions[b] = after[b]
    assert endings > 16


def test_pool_games_are_steps_of_one_player_against_its_opponents() -> None:
    env = SelfPlayEnv(LAYLI, "board", 40, pool=["greedy", "random"], pool_share=0.5, seed=1, num_threads=1)
    assert env._pool is not None
    assert env._pool.num_games == 20
    rng = np.random.default_rng(2)
    replay = Replay(env, env.reset())
    seats = env.players[20:].copy()
    assert seats.tolist() == [0, 1] * 10
    wins = losses = 0
    for _ in range(60):
        assert (env.players[20:] == seats).all()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
        seen, rewards, dones, _ = env.step(actions)
        assert isinstance(seen, np.ndarray)
        after = replay.from_seen(seen)
        for b in range(20, 40):
            position = replay.positions[b]
            position.play(int(actions[b]))
            if not dones[b]:
                assert rewards[b] == 0
                assert not position.is_over
                assert after[b].player == seats[b - 20]
                # Exactly one reply leads to the learner's next observation; no player passes in this game.
                replies = []
                for reply in position.legal_actions:
                    following = position.copy()
                    following.play(reply)
                    replies.append(following)
                assert after[b] in replies
            else:
                if position.is_over:
                    lead = position.counts[seats[b - 20]] - position.counts[1 - seats[b - 20]]
                    assert rewards[b] == np.sign(lead)
                wins, losses = wins + (rewards[b] > 0), losses + (rewards[b] < 0)
                seats[b - 20] = 1 - seats[b - 20]
        replay.positions = after
    # Random play wins some games against a pool that is half greedy, and loses more.
    assert 0 < wins < losses


def test_the_reward_of_a_pool_game_the_opponent_ends_is_the_learners() -> None:
    """Against greedy, the mean reward must be that of random play's matches."""
    env = SelfPlayEnv(LAYLI, "board", 64, pool=["greedy"], pool_share=1.0, seed=3, num_threads=1)
    env.reset()
    rng = np.random.default_rng(4)
    total, count = 0.0, 0
    for _ in range(80):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
        _, rewards, dones, _ = env.step(actions)
        total, count = total + float(rewards[dones].sum()), count + int(dones.sum())
    measured = play_matches("random", "greedy", LAYLI, games=400, opening_turns=0, seed=1, num_threads=1)
    assert total / count == pytest.approx(2 * measured.win_rate - 1, abs=0.1)


def test_opponents_that_win_are_met_more_often() -> None:
    env = SelfPlayEnv(
        LAYLI, "board", 100, pool=["minimax:2", "random"], pool_share=1.0, seed=3, num_threads=1
    )
    env.reset()
    for _ in range(60):
        env.step(env.action_masks().argmax(axis=1))
    scores = env.pool_scores
    assert scores["minimax:2"] < 0.3 < scores["random"]
    duel: Any = env._pool
    met = [duel.opponents[i].spec for i in duel.opponent_of]
    assert met.count("minimax:2") > 1.5 * met.count("random")


def test_opened_games_start_from_different_positions() -> None:
    env = SelfPlayEnv(LAYLI, "board", 40, opening_turns=3, opening_share=0.5, seed=1, num_threads=1)
    seen = env.reset()
    assert len({row.tobytes() for row in seen[:20]}) == 1
    assert len({row.tobytes() for row in seen[20:]}) > 10


def test_a_seed_repeats_the_games_and_another_does_not() -> None:
    def played(seed: int) -> np.ndarray:
        env = SelfPlayEnv(
            LAYLI, "replies", 12, opening_turns=3, opening_share=0.5, pool=["random"], pool_share=0.5,
            seed=seed, num_threads=1,
        )  # fmt: skip
        seen = env.reset()
        for _ in range(30):
            seen, *_ = env.step(env.action_masks().argmax(axis=1))
            assert isinstance(seen, np.ndarray)
        return seen

    assert (played(1) == played(1)).all()
    assert not (played(1) == played(2)).all()


# Advantages


def advantages_in_words(
    rewards: list[float], values: list[float], players: list[int], ends: list[bool], last_value: float,
    gamma: float, gae_lambda: float,
) -> list[float]:  # fmt: skip
    """GAE in slow form: convert all values to the side of each step's player, then sum forward."""
    steps = len(rewards)
    values = [*values, last_value]
    result = []
    for t in range(steps):
        total, weight = 0.0, 1.0
        for k in range(t, steps):
            mine = 1 if players[k] == players[t] else -1
            error = mine * rewards[k] - mine * values[k]
            if not ends[k]:
                mine_next = 1 if players[k + 1] == players[t] else -1
                error += gamma * mine_next * values[k + 1]
            total += weight * error
            if ends[k]:
                break
            weight *= gamma * gae_lambda
        result.append(total)
    return result


@pytest.mark.parametrize(("gamma", "gae_lambda"), [(1.0, 0.9), (0.97, 0.5), (1.0, 1.0), (0.9, 0.0)])
def test_advantages_change_sign_with_the_player(gamma: float, gae_lambda: float) -> None:
    steps, games = 23, 9
    env = SelfPlayEnv(LAYLI, "board", games, seed=0, num_threads=1)
    buffer = SelfPlayBuffer(
        steps,
        env.observation_space,
        env.action_space,
        "cpu",
        gae_lambda=gae_lambda,
        gamma=gamma,
        n_envs=games,
    )
    rng = np.random.default_rng(1)
    buffer.players[:] = rng.integers(0, 2, (steps + 1, games))
    buffer.rewards[:] = rng.normal(size=(steps, games))
    buffer.values[:] = rng.normal(size=(steps, games))
    ends = rng.random((steps, games)) < 0.2
    buffer.episode_starts[1:] = ends[:-1]
    last_values = torch.from_numpy(rng.normal(size=games).astype(np.float32))
    buffer.compute_returns_and_advantage(last_values, ends[-1])
    for b in range(games):
        wanted = advantages_in_words(
            buffer.rewards[:, b].tolist(), buffer.values[:, b].tolist(), buffer.players[:, b].tolist(),
            ends[:, b].tolist(), float(last_values[b]), gamma, gae_lambda,
        )  # fmt: skip
        assert buffer.advantages[:, b] == pytest.approx(wanted, abs=1e-4)
    assert buffer.returns == pytest.approx(buffer.advantages + buffer.values)


class AtTheEndOfRollouts(BaseCallback):
    """Stores the result of a rollout before the update."""

    def __init__(self) -> None:
        super().__init__()
        self.rollouts: list[dict[str, Any]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        model: Any = self.model
        names = ("players", "rewards", "values", "dones", "advantages", "episode_starts")
        with torch.no_grad():
            last_values = model.policy.predict_values(torch.as_tensor(model._last_obs)).flatten().numpy()
        kept = {name: getattr(model.rollout_buffer, name).copy() for name in names}
        self.rollouts.append(kept | {"next_players": model.env.players.copy(), "last_values": last_values})


@pytest.mark.parametrize(
    "more", [[], ["--expert.share", "0.25", "--expert.spec", "minimax:1"]], ids=["ppo", "expert"]
)
def test_the_last_value_counts_for_the_player_who_moves_then(tmp_path: Path, more: list[str]) -> None:
    config, _ = read_config(smoke(tmp_path, "--network.observation", "board", "--pool.share", "0.25", *more))
    model = command.make_model(config, command.make_env(config, RunFolder.create(config), seed=1), None)
    model.set_logger(Logger(None, []))
    ends = AtTheEndOfRollouts()
    model.learn(3 * config.ppo.steps * config.selfplay.games, callback=ends)
    rollouts, signs = ends.rollouts, set()
    assert len(rollouts) == 3
    for one, following in itertools.pairwise(rollouts):
        np.testing.assert_array_equal(following["players"][0], one["players"][-1])
        np.testing.assert_array_equal(following["episode_starts"][0], one["dones"][-1])
    for one in rollouts:
        players, dones = one["players"], one["dones"]
        np.testing.assert_array_equal(players[-1], one["next_players"])
        running = ~dones[-1]
        signs |= set((players[-1] == players[-2])[running].tolist())
        assert np.abs(one["last_values"][running]).max() > 0.01
        for b in range(players.shape[1]):
            wanted = advantages_in_words(
                one["rewards"][:, b].tolist(), one["values"][:, b].tolist(), players[:, b].tolist(),
                dones[:, b].tolist(), float(one["last_values"][b]), model.gamma, model.gae_lambda,
            )  # fmt: skip
            assert one["advantages"][:, b] == pytest.approx(wanted, abs=1e-4)
    assert signs == {True, False}


def test_a_rollout_holds_what_was_seen_and_played(tmp_path: Path) -> None:
    config, _ = read_config(smoke(tmp_path, "--network.observation", "board"))
    folder = RunFolder.create(config)
    env = command.make_env(config, folder, seed=1)
    model = command.make_model(config, env, None)
    model.set_logger(Logger(None, []))
    model.learn(config.ppo.steps * config.selfplay.games)
    buffer = model.rollout_buffer
    assert isinstance(buffer, SelfPlayBuffer)
    steps, games = config.ppo.steps, config.selfplay.games
    positions = 0
    for b in range(0, games, 8):
        for t in range(steps):
            position = Position.from_games(LAYLI, games_from(LAYLI, buffer.observations[t, b]))
            assert position.player == buffer.players[t, b]
            action = int(buffer.actions[t, b, 0])
            assert np.flatnonzero(buffer.action_masks[t, b]).tolist() == list(position.legal_actions)
            position.play(action)
            positions += 1
            if position.is_over:
                assert buffer.rewards[t, b] == np.sign(
                    position.counts[buffer.players[t, b]] - position.counts[1 - buffer.players[t, b]]
                )
            elif t + 1 < steps:
                following = games_from(LAYLI, buffer.observations[t + 1, b])
                assert position == Position.from_games(LAYLI, following)
    assert positions == steps * games // 8


@pytest.mark.parametrize(
    ("batch_size", "sizes"),
    [(10, [12, 12]), (23, [24]), (24, [24]), (None, [24]), (7, [8] * 3), (9, [8] * 3), (2, [2] * 12)],
)
def test_minibatches_give_every_step_once(batch_size: int | None, sizes: list[int]) -> None:
    env = SelfPlayEnv(LAYLI, "replies", 6, seed=0, num_threads=1)
    buffer = SelfPlayBuffer(4, env.observation_space, env.action_space, "cpu", n_envs=6)
    buffer.full = True
    buffer.advantages[:] = np.arange(24).reshape(4, 6)
    buffer.actions[:, :, 0] = np.arange(24).reshape(4, 6) % 5
    got = list(buffer.get(batch_size))
    assert [len(part.advantages) for part in got] == sizes
    assert sorted(torch.cat([part.advantages for part in got]).tolist()) == list(range(24))
    for part in got:
        assert (part.actions == part.advantages.long() % 5).all()
        # In the type of the buffer: int16, or float32 before Stable-Baselines3 2.8.
        assert part.observations.dtype == torch.as_tensor(buffer.observations[:0]).dtype


def test_no_minibatch_is_of_one_step() -> None:
    env = SelfPlayEnv(LAYLI, "replies", 7, seed=0, num_threads=1)
    buffer = SelfPlayBuffer(1, env.observation_space, env.action_space, "cpu", n_envs=7)
    buffer.full = True
    for learned in range(2, 8):
        buffer.is_learned[0] = np.arange(7) < learned
        for batch_size in range(1, 8):
            sizes = [len(part.advantages) for part in buffer.get(batch_size)]
            assert sum(sizes) == learned
            assert min(sizes) >= 2


def test_steps_on_held_out_boards_are_given_to_no_minibatch(tmp_path: Path) -> None:
    config, _ = read_config(smoke(tmp_path, "--network.observation", "board", "--pool.share", "0.25"))
    env = command.make_env(config, RunFolder.create(config), seed=1)
    model = command.make_model(config, env, None)
    model.set_logger(Logger(None, []))
    model.learn(config.ppo.steps * config.selfplay.games)
    buffer = model.rollout_buffer
    assert isinstance(buffer, SelfPlayBuffer)
    boards = buffer.observations.reshape(-1, *buffer.observations.shape[2:])
    games = games_from(LAYLI, boards)
    is_start = np.array([Position.from_games(LAYLI, games, b) == Position(LAYLI) for b in range(len(games))])
    is_held_out = rows_in_set(LAYLI, games, "evaluation") & ~is_start
    assert is_held_out.mean() > 0.1
    assert rows_in_set(LAYLI, games[is_start], "evaluation").all(), "it is held out, and everybody knows it"
    np.testing.assert_array_equal(buffer.is_learned.reshape(-1), ~is_held_out)
    given = np.concatenate([part.observations.numpy() for part in buffer.get(64)])
    assert sorted(map(bytes, given)) == sorted(map(bytes, boards[~is_held_out]))


def test_a_rollout_without_a_step_to_learn_from_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for more in ([], ["--expert.share", "0.25", "--expert.spec", "minimax:1"]):
        config, _ = read_config(smoke(tmp_path, *more))
        model = command.make_model(config, command.make_env(config, RunFolder(tmp_path), seed=1), None)
        model.set_logger(Logger(None, []))
        before = [each.clone() for each in model.policy.parameters()]
        monkeypatch.setattr(ppo, "rows_to_learn", lambda _, games: np.zeros(len(games), bool))
        model.learn(config.ppo.steps * config.selfplay.games)
        assert all(map(torch.equal, before, model.policy.parameters()))
        monkeypatch.undo()
        model.learn(config.ppo.steps * config.selfplay.games)
        assert not all(map(torch.equal, before, model.policy.parameters()))


# The configuration


def test_every_config_file_reads_and_names_its_ruleset() -> None:
    files = sorted(set(CONFIGS.glob("*.yaml")) - {CONFIGS / "rllib.yaml"})  # settings of another program
    assert len(files) > 9
    for path in files:
        config, _ = read_config(["--config", str(path)])
        if path.stem in rulesets.names():
            assert config.ruleset == path.stem
        assert config.name == path.stem
        plain = yaml.safe_load(path.read_text())
        if path.stem not in ("default", "run", "smoke"):
            assert "ppo" not in plain or plain["ppo"], "a ruleset's file holds overrides only"


def test_every_round_ruleset_of_the_written_sources_has_a_config() -> None:
    for name in rulesets.names():
        assert name.startswith("ludii_") or (CONFIGS / f"{name}.yaml").is_file()


def test_the_command_line_overrides_the_file_and_the_file_the_defaults() -> None:
    config, _ = read_config(["--config", SMOKE, "--ppo.epochs", "7", "--name", "mine"])
    assert config.ppo.epochs == 7
    assert config.selfplay.games == 128
    assert config.ppo.gamma == yaml.safe_load((CONFIGS / "default.yaml").read_text())["ppo"]["gamma"]
    assert config.name == "mine"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--ppo.epoch", "7"], "epoch"),
        (["--ppo.epochs", "many"], "epochs"),
        (["--network.observation", "pixels"], "pixels"),
        (["--rounds", "some"], "rounds"),
    ],
)
def test_unknown_and_mistyped_options_are_errors(words: list[str], says: str) -> None:
    with raises(InvalidConfig, says):
        read_config(["--config", SMOKE, *words])


def test_an_unknown_key_in_a_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("ruleset: leyla\nppo:\n  learning_rat: 0.1\n")
    with raises(InvalidConfig, "mine.yaml", "ppo.learning_rat", "ppo.learning_rate"):
        read_config(["--config", str(path)])
    path.write_text("ruleset: leyla\nnetwork: 3\n")
    with raises(InvalidConfig, "network", 3):
        read_config(["--config", str(path)])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--environment_steps", "null"], ["environment_steps", "minutes"]),
        (["--selfplay.games", "0"], ["selfplay.games", 1, "1,048,576", 0]),
        (["--evaluation.games", "3"], ["evaluation.games", "even", 3]),
        (["--pool.share", "1.5"], ["pool.share", 0, 1, 1.5]),
        (["--pool.share", "0.5", "--pool.opponents", "[]"], "pool.opponents"),
        (["--pool.share", "0", "--pool.opponents", "[random, nope]"], "'nope'"),
        (["--expert.share", "0", "--expert.spec", "nope"], "'nope'"),
        (["--distillation.positions", "0", "--distillation.spec", "nope"], "'nope'"),
        (["--ruleset", "layli"], ["'layli'", "'layli_goobalay'"]),
        (["--ruleset", NARROW, "--network.observation", "values"], "narrow"),
        (["--device", "banana"], ["device", "auto", "cpu", "cuda", "banana"]),
        (["--device", "cuda:99"], "cuda:99"),
    ],
)
def test_values_that_make_no_sense_are_refused(
    words: list[str], says: object, tmp_path: Path, capsys
) -> None:
    assert command.main(smoke(tmp_path, *words)) == 2
    assert names(capsys.readouterr().err, says)
    assert not list(tmp_path.iterdir())


# Runs


def weights(path: Path) -> dict[str, torch.Tensor]:
    agent = agents.make(str(path), read_identity(path).ruleset)
    assert isinstance(agent, CheckpointAgent)
    return dict(agent.network.state_dict())


def test_without_git_a_run_has_no_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_revision() == ""


def test_a_run_from_end_to_end(tmp_path: Path, capsys) -> None:
    assert command.main(smoke(tmp_path)) == 0
    folder = tmp_path / "smoke"
    said = capsys.readouterr().out
    assert "win rate" in said
    # Long paths wrap, and a wrap may remove a space.
    assert "".join(str(folder / "final.zip").split()) in "".join(said.split())
    assert yaml.safe_load((folder / "config.yaml").read_text())["ppo"]["batch_size"] == 1024
    (start,) = json.loads((folder / "run.json").read_text())
    assert start["versions"]["torch"] == version("torch")
    assert start["git"] == git_revision()
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    assert {"train/value_loss", "time/environment_steps_per_second", "time/learning"} <= lines[-1].keys()
    assert (
        not {"time/environment_steps_per_second", "time/learning"} & lines[0].keys()
    )  # not known in the first line
    assert list(folder.glob("events.out.tfevents.*"))
    evaluation = json.loads((folder / "evaluation.json").read_text())
    (match,) = evaluation["matches"]
    assert 0 < evaluation["regret"]["overall"]["mean_regret"] < 48
    assert "<svg" in (folder / "report.html").read_text()
    assert match["games"] == 10
    assert 0 <= match["win_rate_interval"][0] <= match["win_rate"] <= match["win_rate_interval"][1] <= 1
    identity = read_identity(folder / "final.zip")
    assert identity.environment_steps == 4096
    with zipfile.ZipFile(folder / "final.zip") as archive:
        assert json.loads(archive.read("identity.json"))["turns"] == 4096, "the key of format 1"
    assert identity.ruleset == LAYLI
    assert identity.config["ppo"]["batch_size"] == 1024
    assert play_matches(str(folder / "final.zip"), "random", LAYLI, games=4, seed=0).games == 4


def test_sb3_loads_the_same_file_and_plays_the_same(tmp_path: Path) -> None:
    assert command.main(smoke(tmp_path)) == 0
    path = tmp_path / "smoke" / "final.zip"
    model = MaskablePPO.load(path, device="cpu")
    assert model.num_timesteps == 4096
    assert model.policy.optimizer.state_dict()["state"], "the optimizer has a stored state"
    env = SelfPlayEnv(LAYLI, "replies", 50, seed=3, num_threads=1)
    seen = env.reset()
    agent = agents.make(str(path), LAYLI)
    for _ in range(10):
        actions, _ = model.predict(seen, deterministic=True, action_masks=env.action_masks())
        assert (actions == agent.act(env._parts[0][1].games)).all()
        seen, *_ = env.step(actions)
        assert isinstance(seen, np.ndarray)


def test_a_second_run_leaves_the_first_alone(tmp_path: Path) -> None:
    for _ in range(2):
        assert command.main(smoke(tmp_path, "--environment_steps", "2048")) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["smoke", "smoke-2"]


@pytest.mark.slow
def test_a_seeded_run_repeats_bit_for_bit_on_one_thread(tmp_path: Path) -> None:
    pool = ("--pool.share", "0.25", "--checkpoint_steps", "2048")
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        assert command.main(smoke(tmp_path, "--name", name, "--seed", seed, *pool)) == 0
    assert json.loads((tmp_path / "a" / "pool.json").read_text())["snapshots"]
    first, again, other = (weights(tmp_path / name / "final.zip") for name in "abc")
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


@pytest.mark.slow
def test_what_looks_at_checkpoints_changes_nothing_in_what_is_learned(tmp_path: Path) -> None:
    for name, minutes in (("a", "0"), ("b", "100")):
        words = ("--checkpoint_minutes", minutes, "--evaluation.checkpoint_games", "4")
        assert command.main(smoke(tmp_path, "--name", name, "--environment_steps", "6144", *words)) == 0
    often, never = (weights(tmp_path / name / "final.zip") for name in "ab")
    assert list((tmp_path / "a" / "checkpoints").iterdir())
    assert not list((tmp_path / "b" / "checkpoints").iterdir())
    assert all(torch.equal(often[key], never[key]) for key in often)


def test_resume_continues_where_the_run_ended(tmp_path: Path, capsys) -> None:
    assert command.main(smoke(tmp_path)) == 0
    folder = tmp_path / "smoke"
    assert command.main(["--resume", str(folder), "--environment_steps", "8192"]) == 0
    assert "Resuming from" in capsys.readouterr().out
    assert read_identity(folder / "final.zip").environment_steps == 8192
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["environment_steps"] for line in lines] == [2048, 4096, 6144, 8192]
    assert len(json.loads((folder / "run.json").read_text())) == 2
    assert yaml.safe_load((folder / "config.yaml").read_text())["environment_steps"] == 8192
    assert [path.name for path in tmp_path.iterdir()] == ["smoke"]


def test_resume_takes_the_newest_checkpoint_that_is_whole(tmp_path: Path) -> None:
    assert command.main(smoke(tmp_path, "--checkpoint_minutes", "0")) == 0
    folder = RunFolder(tmp_path / "smoke")
    (folder.path / "final.zip").unlink()
    saved = folder.saved()
    assert [path.name for path in saved] == ["0000000000.zip", "0000002048.zip"]
    saved[-1].write_bytes(saved[-1].read_bytes()[:1000])
    assert folder.saved() == saved[:1]


def test_what_cannot_be_resumed_is_refused(tmp_path: Path, capsys) -> None:
    assert command.main(smoke(tmp_path, "--environment_steps", "2048")) == 0
    folder = tmp_path / "smoke"
    before = (folder / "config.yaml").read_text()
    for words, says in (
        (["--resume", str(tmp_path)], tmp_path),
        (["--resume", str(folder), "--network.hidden", "8"], ["network.hidden", 32, 8]),
        (["--resume", str(folder), "--ruleset", "leyla"], "ruleset"),
    ):
        capsys.readouterr()
        assert command.main(words) == 2
        said = capsys.readouterr()
        assert names(said.err, says), said.err
        assert not said.out  # no message that training starts
    assert (folder / "config.yaml").read_text() == before
    (folder / "final.zip").unlink()
    assert command.main(["--resume", str(folder)]) == 2
    said = capsys.readouterr()
    assert names(said.err, folder)
    assert not said.out


@pytest.mark.slow
def test_ctrl_c_ends_the_program_with_everything_saved(tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, str(CONFIGS.parent / "training" / "train.py"), *smoke(tmp_path, *ENDLESS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    metrics = tmp_path / "smoke" / "metrics.jsonl"
    deadline = time.monotonic() + 400
    try:
        while not (metrics.exists() and metrics.read_text()):
            assert run.poll() is None, run.communicate()[0]
            assert time.monotonic() < deadline, "no update"
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=150)
    finally:
        run.kill()
    assert run.returncode == 0, said
    check_what_was_saved(tmp_path / "smoke", said, signal.SIGINT)


ENDLESS = ("--environment_steps", "100000000")


def check_what_was_saved(run: Path, said: str, number: signal.Signals) -> None:
    assert f"Ended early by {number.name}" in said
    turns = read_identity(run / "final.zip").environment_steps
    last = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    assert turns == json.loads(last)["environment_steps"]
    assert turns % 2048 == 0
    assert (run / "evaluation.json").exists()


@pytest.mark.slow
def test_sigterm_ends_the_run_with_everything_saved(tmp_path: Path, capsys) -> None:
    """This process gets the signal. So no other one has to start."""
    metrics, usual = tmp_path / "smoke" / "metrics.jsonl", signal.getsignal(signal.SIGTERM)

    def send() -> None:
        while not (metrics.exists() and metrics.read_text(encoding="utf-8")):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    assert command.main(smoke(tmp_path, *ENDLESS)) == 0
    sender.join()
    check_what_was_saved(tmp_path / "smoke", capsys.readouterr().out, signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == usual


def test_weights_that_are_not_numbers_stop_the_run(tmp_path: Path, capsys) -> None:
    words = smoke(
        tmp_path,
        "--ppo.learning_rate",
        "1e30",
        "--ppo.final_learning_rate",
        "1e30",
        "--environment_steps",
        "40960",
    )
    assert command.main(words) == 2
    said = capsys.readouterr().err
    assert names(said, ["network.body.0.weight", "2,048", "none", "ppo.learning_rate"])
    assert not (tmp_path / "smoke" / "final.zip").exists()


def test_a_learner_meets_snapshots_of_itself(tmp_path: Path, monkeypatch) -> None:
    words = (
        "--pool.share",
        "0.5",
        "--checkpoint_minutes",
        "0",
        "--pool.snapshots",
        "2",
        "--environment_steps",
        "8192",
    )
    config, _ = read_config(smoke(tmp_path, *words))
    folder = RunFolder.create(config)
    met: list[list[Any]] = []
    original = SelfPlayEnv.set_pool

    def noted(self: SelfPlayEnv, pool: Sequence[Any], *rest: Any) -> None:
        met.append(list(pool))
        original(self, pool, *rest)

    monkeypatch.setattr(SelfPlayEnv, "set_pool", noted)
    command.train(config, folder, Console(quiet=True))
    assert [[Path(spec).stem for spec in pool] for pool in met] == [
        ["random", "greedy"],
        ["random", "greedy", "0000000000"],
        ["random", "greedy", "0000000000", "0000002048"],
        ["random", "greedy", "0000002048", "0000004096"],
        ["random", "greedy", "0000004096", "0000006144"],
    ]


@pytest.mark.slow
def test_checkpoints_come_by_environment_steps_wherever_a_run_is_interrupted(tmp_path: Path) -> None:
    words = ("--checkpoint_minutes", "0", "--evaluation.checkpoint_games", "0")
    for name, interval, saved in (
        ("a", "3000", [4096, 6144, 10240, 12288]),  # updates of 2,048 steps; beyond 3,000, 6,000 ...
        ("b", "4096", [4096, 8192, 12288]),  # 8,192 is the end of the first run, which then resumes
        ("c", "100000", []),
    ):
        first = ("--name", name, "--checkpoint_steps", interval, "--environment_steps", "8192")
        assert command.main(smoke(tmp_path, *words, *first)) == 0
        files = tmp_path / name / "checkpoints"
        assert [int(path.stem) for path in sorted(files.glob("*.zip"))] == [n for n in saved if n < 8192]
        assert command.main(["--resume", str(tmp_path / name), "--environment_steps", "14336"]) == 0
        assert [int(path.stem) for path in sorted(files.glob("*.zip"))] == saved


def test_each_opponent_of_the_pool_has_a_figure_of_its_own(tmp_path: Path) -> None:
    """Includes specs with a dot and checkpoints with equal file names."""
    assert command.main(smoke(tmp_path, "--name", "a", "--environment_steps", "2048")) == 0
    (tmp_path / "b").mkdir()
    shutil.copy(tmp_path / "a" / "final.zip", tmp_path / "b" / "final.zip")
    named = [str(tmp_path / run / "final.zip") for run in ("a", "b")] + ["minimax:0.001s", "minimax:0.002s"]
    words = ("--pool.share", "0.05", "--pool.opponents", json.dumps(named), "--checkpoint_minutes", "0")
    assert command.main(smoke(tmp_path, *words)) == 0
    lines = [json.loads(line) for line in (tmp_path / "smoke" / "metrics.jsonl").read_text().splitlines()]
    figures = {key.removeprefix("pool/") for line in lines for key in line if key.startswith("pool/")}
    assert figures == {*named, "0000000000"}


@pytest.mark.filterwarnings("error")
def test_the_report_of_a_run_of_days_stays_a_page(tmp_path: Path) -> None:
    config, _ = read_config(smoke(tmp_path, "--pool.opponents", "[random]"))
    folder = RunFolder.create(config)
    lines = []
    for update in range(20_000):
        figures = {
            "environment_steps": update * 2048,
            "pool/random": 0.9,
            "train/value_loss": update % 7 / 10,
        }
        figures |= {f"pool/{update // 100 - ago:010d}": 0.5 for ago in range(5)}
        if update % 99 == 0:
            figures["evaluation/random"] = 0.8
        lines.append(json.dumps(figures))
    damaged = ['{"train/value_loss": 1}', '{"environment_steps": null}', '{"environment_steps": "many"}', "{"]
    (folder.path / "metrics.jsonl").write_text("\n".join(lines + damaged) + "\n")
    read = run_plots.read_metrics(folder.path / "metrics.jsonl")
    assert run_plots.read_metrics(folder.path / "metrics.jsonl", most=None)[-1] == json.loads(lines[-1])
    assert sum("evaluation/random" in line for line in read) == 203
    assert [line["environment_steps"] for line in read if "evaluation/random" not in line][-1] > 19_900 * 2048
    page = run_report.write_page("Of days", config, folder, [], run_report.Past([], None), None).html()
    assert len(page) < 1_000_000
    for title in ("win rate at checkpoints", "learning"):
        assert f'aria-label="{title}"' in page
    for title in ("rating of each", "agreement with the search"):
        assert title not in page, "nothing was measured to plot"


def test_no_plot_is_drawn_of_a_single_point() -> None:
    updates = [
        {"environment_steps": steps, "train/value_loss": 0.5, "expert/regret": 0.1, "evaluation/random": 0.8}
        for steps in (2048, 4096, 6144)
    ]  # fmt: skip
    past = run_report.Past([], None)
    for few in ([], updates[:1]):
        assert run_plots.strength(few, past) == run_plots.learning(few) == run_plots.search(few) == []
    plots = [*run_plots.strength(updates, past), *run_plots.learning(updates), *run_plots.search(updates)]
    assert len(plots) == 3
    for plot, how in plots:
        assert how.startswith("How to read it: ")
        assert all(np.size(line.get_xdata()) > 1 for line in plot.axes[0].get_lines())


def test_curves_start_at_zero_end_at_the_final_measurement_and_hide_behind_no_legend(tmp_path: Path) -> None:
    config, _ = read_config(smoke(tmp_path))
    folder = RunFolder.create(config)
    updates = [
        {"environment_steps": steps, "evaluation/random": 0.5, "evaluation/greedy": 0.9}
        for steps in (2048, 4096)
    ]  # fmt: skip
    (folder.path / "metrics.jsonl").write_text("\n".join(map(json.dumps, updates)))
    identity = replace(identity_of("layli_goobalay"), environment_steps=5000)
    final = str(write_checkpoint(tmp_path / "final.zip", identity))
    results = [
        replace(play_matches("random", opponent, "layli_goobalay", games=4, seed=1), first=final)
        for opponent in ("random", "greedy")
    ]
    drawn = []

    def plots_of(*args: Any) -> list[Any]:
        drawn.extend(strength(*args))
        return drawn

    strength = run_plots.strength
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_plots, "strength", plots_of)
        run_report.write_page("Short", config, folder, results, run_report.Past([], None), None)
    axes = drawn[0][0].axes[0]
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    assert lines == {
        result.second: [[2048, before], [4096, before], [5000, result.win_rate]]
        for result, before in zip(results, (0.5, 0.9), strict=True)
    }
    assert (axes.get_xlim()[0], axes.get_ylim()) == (0, (0, 1))
    [losses, _] = run_plots.learning([{"environment_steps": n, "train/value_loss": 5 + n} for n in (7, 9)])[0]
    assert (losses.axes[0].get_xlim()[0], losses.axes[0].get_ylim()[0]) == (0, 0)
    axes.figure.canvas.draw()
    legend = axes.get_legend()
    assert legend.get_window_extent().x0 >= axes.get_window_extent().x1
    ends = [lines[text.get_text()][-1][1] for text in legend.get_texts()]
    assert ends == sorted(ends, reverse=True)


def test_a_resumed_run_meets_the_same_pool_with_the_same_scores(tmp_path: Path) -> None:
    words = (
        "--pool.share",
        "0.5",
        "--checkpoint_minutes",
        "0",
        "--environment_steps",
        "6144",
    )
    assert command.main(smoke(tmp_path, *words)) == 0
    config, folder = read_config(["--resume", str(tmp_path / "smoke")])
    assert folder is not None
    run = RunFolder(folder)
    kept = SnapshotPool(config, run)
    assert [file.name for file in kept.snapshots] == ["0000000000.zip", "0000002048.zip", "0000004096.zip"]
    env = command.make_env(config, run, seed=1)
    assert env.pool_scores == kept.scores
    assert kept.scores["random"] != 0.5
    kept.snapshots[1].unlink()
    assert [file.name for file in SnapshotPool(config, run).snapshots] == ["0000000000.zip", "0000004096.zip"]
    (folder / "pool.json").write_text("[]")
    with raises(RunFolderError, "pool.json"):
        SnapshotPool(config, run)


def test_a_run_is_measured_against_its_own_past(tmp_path: Path) -> None:
    words = ("--checkpoint_minutes", "0", "--evaluation.checkpoint_games", "4", "--environment_steps", "6144")
    assert command.main(smoke(tmp_path, *words)) == 0
    folder = tmp_path / "smoke"
    past = json.loads((folder / "evaluation.json").read_text())["against_past"]
    assert [Path(match["second"]).stem for match in past] == ["0000002048", "0000004096"]
    rated = json.loads((folder / "evaluation.json").read_text())["ratings_over_the_run"]
    assert [each["environment_steps"] for each in rated] == [2048, 4096, 6144]
    assert [each["games"] for each in rated] == [8, 8, 8]
    assert all(each["interval"][0] < each["elo"] < each["interval"][1] for each in rated)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert all(0 <= line["evaluation/random"] <= 1 for line in lines)


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with raises(RunFolderError, "No space left on device"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys) -> None:
    (tmp_path / "taken").write_text("a file")
    assert command.main(smoke(tmp_path / "taken")) == 2
    assert names(capsys.readouterr().err, "folder")


@pytest.mark.slow
def test_a_short_run_learns(tmp_path: Path) -> None:
    """50,000 turns of training win 70 % of 1,000 games against random from both seats."""
    config, _ = read_config(
        smoke(tmp_path, "--environment_steps", "49152", "--ppo.learning_rate", "0.003", "--ppo.epochs", "4")
    )
    checkpoint, stopped_by = command.train(config, RunFolder.create(config), Console(quiet=True))
    assert stopped_by is None
    result = play_matches(str(checkpoint), "random", LAYLI, games=1000, seed=1, num_threads=1)
    assert result.win_rate > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["board", "afterstates", "values"])
@pytest.mark.parametrize("ruleset", ["leyla", "gabata_i"])
def test_every_kind_trains_on_every_family(tmp_path: Path, ruleset: str, kind: str) -> None:
    words = smoke(
        tmp_path, "--ruleset", ruleset, "--network.observation", kind, "--environment_steps", "2048"
    )
    assert command.main(words) == 0
    assert read_identity(tmp_path / "smoke" / "final.zip").network.observation == kind


def test_a_match_trains_on_all_holes(tmp_path: Path) -> None:
    words = smoke(tmp_path, "--ruleset", "gabata_i", "--rounds", "3", "--environment_steps", "2048")
    assert command.main(words) == 0
    agents.make(str(tmp_path / "smoke" / "final.zip"), "gabata_i").choose(Position("gabata_i"))


def test_config_errors_are_value_errors() -> None:
    assert issubclass(InvalidConfig, ValueError)
