"""Expert iteration beside PPO: its labels, its loss, its runs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from boards import NARROW
from error_checks import names, raises
from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from mancala_env import agents
from mancala_env.engine.holdout import rows_to_learn
from mancala_env.networks.checkpoint import read_identity
from mancala_env.rulesets import lookup
from mancala_env.search.tree_search import reward_of
from mancala_env.training import run as command
from mancala_env.training.config import InvalidConfig, read_config
from mancala_env.training.distillation import boltzmann_targets
from mancala_env.training.labels import SearchLabels
from mancala_env.training.ppo import SelfPlayPPO
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.training_state import read_learned

LAYLI = lookup("layli_goobalay")


def words(folder: Path, *more: str) -> list[str]:
    """Return the arguments of a run whose updates take milliseconds."""
    return [
        "smoke", "--folder", str(folder), "--name", "run", "--selfplay.games", "32", "--ppo.steps", "16",
        "--ppo.batch_size", "128", "--network.hidden", "8", "--network.observation", "board",
        "--expert.share", "0.25", "--expert.spec", "value+minimax:2", "--expert.batch_size", "64",
        "--evaluation.games", "2", "--evaluation.opponents", "[random]", "--environment_steps", "2048", *more,
    ]  # fmt: skip


def learner_of(tmp_path: Path, *more: str) -> SelfPlayPPO:
    config, _ = read_config(words(tmp_path, *more))
    torch.set_num_threads(1)
    env = command.make_env(config, RunFolder(tmp_path), config.seed)
    model = command.make_model(config, env)
    env.reset()
    model.set_logger(Logger(None, []))
    return model


def labels_of(model: SelfPlayPPO) -> SearchLabels:
    assert model.labels is not None
    return model.labels


def learn(model: SelfPlayPPO, updates: int) -> None:
    model.learn(model.num_timesteps + updates * 16 * 32, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]


def test_a_margin_becomes_a_reward_of_what_is_played_for() -> None:
    seeds = np.array([-48.0, 0, 6, 48, 60])
    np.testing.assert_allclose(reward_of(seeds, 0.0, LAYLI), np.tanh(seeds / 6), atol=1e-6)
    np.testing.assert_allclose(reward_of(seeds, 1.0, LAYLI), [-1, 0, 1 / 8, 1, 1], atol=1e-6)


@pytest.mark.parametrize("spec", ["value+minimax:2", "minimax:3"])
def test_labels_are_the_searchs_own_of_positions_that_the_learner_met(tmp_path: Path, spec: str) -> None:
    model = learner_of(tmp_path, "--expert.spec", spec, "--expert.search_share", "1")
    learn(model, 4)
    replay, buffer = labels_of(model).replay, model.rollout_buffer
    count = len(replay)
    assert count > 64, "games of 16 and more turns have ended"
    # Each rollout gives 25 % of its boards, without those held out for evaluation.
    assert 0.7 / 4 < (count + replay.num_waiting) / (4 * 16 * 32) < 0.9 / 4
    games = replay.examples.games[:count]
    assert rows_to_learn(LAYLI, games).all()
    assert not rows_to_learn(LAYLI, buffer.games.reshape(-1, games.shape[1])).all()  # type: ignore[attr-defined]
    values = agents.make(spec, LAYLI, num_threads=1).action_values(games, 6).astype(float)  # type: ignore[attr-defined]
    values[values == -1000] = -np.inf
    np.testing.assert_array_equal(replay.examples.is_legal[:count], np.isfinite(values))
    np.testing.assert_allclose(replay.examples.targets[:count], boltzmann_targets(values, 1.0), atol=1e-6)
    np.testing.assert_allclose(replay.examples.values[:count], np.tanh(values.max(axis=1) / 6), atol=1e-5)
    met = {game.tobytes() for game in buffer.games.reshape(-1, games.shape[1])}  # type: ignore[attr-defined]
    waiting = replay._waiting.games
    assert sum(game.tobytes() in met for game in waiting) > len(waiting) / 4, "the last rollout's among them"


def test_games_that_begin_anew_leave_nothing_waiting_for_their_end(tmp_path: Path) -> None:
    model = learner_of(tmp_path)
    replay = labels_of(model).replay
    learn(model, 1)
    remembered, waiting = len(replay), replay.num_waiting
    assert waiting > 0
    model._setup_learn(10**6, reset_num_timesteps=False)
    assert replay.num_waiting == waiting
    model._setup_learn(10**6)
    assert (len(replay), replay.num_waiting) == (remembered, 0)


def test_without_a_share_of_the_search_values_are_how_games_ended(tmp_path: Path) -> None:
    model = learner_of(tmp_path, "--expert.search_share", "0")
    learn(model, 4)
    replay = labels_of(model).replay
    values = replay.examples.values[: len(replay)]
    assert set(np.unique(values)) <= {-1.0, 0.0, 1.0}
    assert {-1.0, 1.0} <= set(np.unique(values))


@pytest.mark.parametrize(
    "more", [["--expert.policy", "0", "--expert.value", "0"], ["--expert.share", "0"]], ids=["labels", "none"]
)
def test_without_weights_it_is_the_ppo_of_sb3_contrib_bit_for_bit(
    tmp_path: Path, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package has its own loop over minibatches; sb3-contrib's is the reference."""
    model = learner_of(tmp_path, *more)
    learn(model, 4)
    reference = learner_of(tmp_path, "--expert.share", "0")
    monkeypatch.setattr(reference, "train", lambda: MaskablePPO.train(reference))
    learn(reference, 4)
    assert reference.labels is None
    assert (model.labels is None) == ("--expert.share" in more)
    assert model.labels is None or len(model.labels.replay) > 0
    assert model._n_updates == reference._n_updates > 0
    for ours, theirs in zip(model.policy.parameters(), reference.policy.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    ours, theirs = model.logger.name_to_value, reference.logger.name_to_value
    for name in ("value_loss", "entropy_loss", "policy_gradient_loss", "approx_kl", "clip_fraction"):
        assert ours[f"train/{name}"] == pytest.approx(theirs[f"train/{name}"], rel=1e-4, abs=1e-6), name


def test_labels_pull_the_policy_towards_the_search(tmp_path: Path) -> None:
    found = []
    for weight in ("0", "4"):
        more = ("--expert.policy", weight, "--network.observation", "replies", "--ppo.learning_rate", "0.01")
        model = learner_of(tmp_path, *more, "--environment_steps", "100000")
        learn(model, 12)
        found.append(model.logger.name_to_value["expert/policy_loss"])
    assert found[1] < found[0] - 0.05


@pytest.mark.slow
def test_a_run_from_end_to_end_that_is_resumed_repeats_bit_for_bit(tmp_path: Path) -> None:
    # By steps: a checkpoint that is due by time may join the pool of one of the runs only.
    more = ("--pool.share", "0.25", "--checkpoint_steps", "1024")
    assert command.main(words(tmp_path, *more)) == 0
    run = tmp_path / "run"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    for name in ("positions", "accuracy", "regret", "policy_loss", "value_loss"):
        assert f"expert/{name}" in lines[-1], name
    assert 0 <= lines[-1]["expert/accuracy"] <= 1
    assert 0 < lines[-1]["time/labelling"] < 1
    assert "agreement with the search" in (run / "report.html").read_text(encoding="utf-8")
    agents.make(str(run / "final.zip"), LAYLI)
    assert MaskablePPO.load(run / "final.zip", device="cpu").num_timesteps == 2048
    again = Path(shutil.copytree(run, tmp_path / "again"))
    for folder in (run, again):
        config, _ = read_config(["--resume", str(folder), "--environment_steps", "4096"])
        command.train(config, RunFolder(folder), Console(quiet=True), resume=True)
    first, second = (read_learned(folder / "final.zip") for folder in (run, again))
    assert read_identity(run / "final.zip").environment_steps == 4096
    assert all(torch.equal(value, second.weights[name]) for name, value in first.weights.items())


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--ruleset", NARROW], ["narrow", "--expert.spec minimax:4"]),
        (
            ["--expert.spec", "greedy"],
            ["expert.spec", "value+minimax", "policy+minimax", "greedy"],
        ),
        (["--expert.spec", "minimacs:4"], "minimacs"),
        (["--rounds", "match"], ["expert.search_share", 0, "match"]),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    tmp_path: Path, more: list[str], says: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(words(tmp_path, *more)) == 2
    said = capsys.readouterr().err
    assert names(said, says), said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir()), "nothing was begun"


def test_whole_matches_learn_from_a_search_by_how_they_ended(tmp_path: Path) -> None:
    more = ("--ruleset", "gabata_i", "--rounds", "match", "--expert.search_share", "0")
    config, _ = read_config(words(tmp_path, *more))
    final, _ = command.train(config, RunFolder.create(config), Console(quiet=True))
    assert read_identity(final).rounds == "match"


def test_an_expert_is_named_in_the_message(tmp_path: Path) -> None:
    with raises(InvalidConfig, "expert.spec", "random"):
        learner_of(tmp_path, "--expert.spec", "random")
