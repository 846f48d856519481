"""Training and evaluation on Ray, with a local instance and several workers."""

import importlib
import json
import logging
import os
import pickle
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from checkpoints import identity_of, write_checkpoint
from error_checks import names, raises

pytest.importorskip("ray", reason="Ray is not installed: mancala-env[ray]")
import ray
from ray import cloudpickle
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.utils.pre_checks.env import check_multiagent_environments
from ray.tune.registry import register_env

from mancala_env import Position, agents, layli_goobalay_v0, rulesets
from mancala_env.agents import Agent
from mancala_env.agents.network import CheckpointAgent
from mancala_env.cli import main as mancala
from mancala_env.engine.holdout import rows_in_set
from mancala_env.envs.aec import MancalaAEC
from mancala_env.errors import IllegalMove
from mancala_env.evaluation.ray_matches import NoCluster, RayChunks, started_ray
from mancala_env.evaluation.round_robin import round_robin
from mancala_env.games.batch import Batch
from mancala_env.networks.checkpoint import read_identity
from mancala_env.networks.policy import NetworkConfig
from mancala_env.observations import ObservationKind
from mancala_env.training.config import CONFIGS, InvalidConfig, read_config
from mancala_env.training.rllib.algorithm import (
    SHARED,
    SelfPlayRunner,
    algorithm_config,
    always_shared,
    make_env,
    module_spec,
)
from mancala_env.training.rllib.cluster_config import RayConfig
from mancala_env.training.run_folder import RunFolder
from mancala_env.training.training_state import read_learned
from training import cluster_run as rllib_train

LAYLI = rulesets.lookup("layli_goobalay")
BOARD = NetworkConfig(observation="board", hidden=16, layers=1, seed_levels=4)

# Ray warns about its own options.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`use_.*:DeprecationWarning:ray.data.context"),
    pytest.mark.slow,  # a Ray instance is started
]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Ray on this machine."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        address="local",
        num_cpus=2,  # each CPU that is idle gets a process, which imports for seconds
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    yield
    ray.shutdown()


def words(tmp_path: Path, *more: str) -> list[str]:
    """Return the arguments of a small run."""
    return [
        "--config", str(CONFIGS / "smoke.yaml"), "--folder", str(tmp_path), "--name", "run",
        "--selfplay.games", "32", "--ppo.steps", "16", "--ppo.batch_size", "256",
        "--evaluation.games", "10", "--evaluation.opponents", "[random]", *more,
    ]  # fmt: skip


def configured(tmp_path: Path, *more: str) -> RayConfig:
    arguments = words(tmp_path, *more)
    return read_config(arguments, RayConfig, "rllib_train.py")[0]


def stop(algorithm: Any) -> None:
    """Stop an algorithm, and remove the folder it made in the user's home."""
    algorithm.stop()
    Path(algorithm.logdir).rmdir()


# Configuration


def test_an_unknown_key_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rllib_train.main(words(tmp_path, "--num_env_runner", "2")) == 2
    assert "num_env_runner" in capsys.readouterr().err


def test_games_are_shared_out_among_runners(tmp_path: Path) -> None:
    config = configured(tmp_path, "--num_env_runners", "4")
    assert (config.games_per_runner, config.steps_per_update) == (8, 512)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--num_env_runners", "64"), ["selfplay.games", "num_env_runners"]),
        (("--ppo.batch_size", "4096"), 512),
        (("--num_learners", "-1"), ["num_learners", 0, -1]),
        (("--pool.share", "0.5"), ["pool.share", 0, 0.5]),
        (("--expert.share", "0.5"), ["expert.share", 0, 0.5]),
        (("--distillation.positions", "100"), ["distillation.positions", 0, 100]),
    ],
)
def test_values_that_do_not_go_together_are_named(
    tmp_path: Path, more: tuple[str, ...], message: str
) -> None:
    with raises(InvalidConfig, message):
        configured(tmp_path, *more)


def test_a_run_too_big_for_the_machine_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rllib_train.main(words(tmp_path, "--num_env_runners", "9")) == 2
    assert names(capsys.readouterr().err, [9, 2])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "127.0.0.1:1"),
        ("ray://127.0.0.1:1", "ray://127.0.0.1:1"),
        ("lokal", "lokal"),
    ],
)
def test_an_address_where_no_cluster_is_fails_at_once(
    monkeypatch: pytest.MonkeyPatch, address: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # as in another process
    with raises(NoCluster, message), started_ray(address):
        pass
    assert mancala(["evaluate", "random", "greedy", "--ray", address]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("mancala_env.evaluation.ray_matches", "ray"),
        ("mancala_env.training.rllib.algorithm", "ray.rllib.algorithms.ppo"),
    ],
)
def test_without_ray_the_error_names_the_command(
    monkeypatch: pytest.MonkeyPatch, module: str, missing: str
) -> None:
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)
    with raises(ImportError, "[ray]"):
        importlib.import_module(module)


# Runs


def interrupt_after_a_checkpoint(folder: Path, number: signal.Signals = signal.SIGINT) -> threading.Thread:
    """Send a signal to this process once the run in a folder has saved a file."""

    def wait() -> None:
        while not list(folder.glob("checkpoints/*.zip")):
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_run_on_two_runners_is_interrupted_resumed_and_loads_as_an_opponent(tmp_path: Path) -> None:
    run = tmp_path / "run"
    interrupter = interrupt_after_a_checkpoint(run)
    endless = words(
        tmp_path, "--environment_steps", "null", "--minutes", "10", "--checkpoint_minutes", "0.01",
        "--num_env_runners", "2",
    )  # fmt: skip
    assert rllib_train.main(endless) == 0
    interrupter.join()
    checkpoint = run / "final.zip"
    first = read_identity(checkpoint)
    assert first.environment_steps >= 512
    assert first.ruleset == LAYLI
    before = read_learned(checkpoint)

    # Laid out in another way than before: no runner, two learners.
    more = [
        "--environment_steps",
        str(first.environment_steps + 1024),
        "--minutes",
        "null",
        "--num_env_runners",
        "0",
    ]
    more += ["--checkpoint_steps", "512"]
    assert rllib_train.main(["--resume", str(run), *more, "--num_learners", "2"]) == 0
    assert read_identity(checkpoint).environment_steps >= first.environment_steps + 1024
    later = [path for path in (run / "checkpoints").glob("*.zip") if int(path.stem) > first.environment_steps]
    assert later
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line["environment_steps"] for line in lines]
    assert steps == sorted(set(steps))
    assert (steps[-1], first.environment_steps in steps) == (
        read_identity(checkpoint).environment_steps,
        True,
    )
    assert all(np.isfinite(value) for line in lines for value in line.values())
    assert lines[-1]["train/learning_rate"] < lines[0]["train/learning_rate"]
    after = read_learned(checkpoint)
    assert after.progress.seconds > before.progress.seconds
    assert any((value != after.weights[name]).any() for name, value in before.weights.items())

    opponent = agents.make(str(checkpoint), LAYLI)
    assert isinstance(opponent, CheckpointAgent)
    env: Any = gymnasium.make("mancala/LayliGoobalay-v0", opponent=str(checkpoint))
    env.reset(seed=1)
    reward, over = 0.0, False
    while not over:
        _, reward, over, _, _ = env.step(np.flatnonzero(env.unwrapped.action_masks())[0])
    assert reward in (-1, 0, 1)
    aec: Any = layli_goobalay_v0.env()
    aec.reset()
    while aec.agents:
        done = any(aec.last()[2:4])
        aec.step(None if done else opponent.choose(aec.unwrapped.position))


def test_several_learners_learn_from_every_step_as_it_was_played(tmp_path: Path) -> None:
    config: Any = algorithm_config(configured(tmp_path, "--num_env_runners", "0"), 1, 1e-3, None)
    runner = config.env_runner_cls(config=config)
    episodes = runner.sample(num_timesteps=512)
    names = (Columns.ACTIONS, Columns.REWARDS, Columns.ACTION_DIST_INPUTS, Columns.ACTION_LOGP)
    played: Counter[Any] = Counter()
    for episode in episodes:
        of_module = [episode.get_extra_model_outputs(name) for name in names[2:]]
        columns = (episode.get_actions(), episode.get_rewards(), *of_module)
        boards = episode.get_observations(slice(0, len(episode)))["observation"]
        played.update(steps_of(boards, *columns))
    assert played.total() > 400

    spec = config.get_multi_rl_module_spec(spaces=runner.get_spaces())
    learner = config.learner_class(config=config, module_spec=spec)
    learner.build()
    pipeline, batches = learner._learner_connector, []

    def recorded(**inputs: Any) -> Any:
        batches.append(pipeline(**inputs)[SHARED])
        return {SHARED: batches[-1]}

    learner._learner_connector = recorded
    options = {"timesteps": {}, "num_epochs": 1, "minibatch_size": 32}
    for num_learners in range(1, 8):
        data = TrainingData(episodes=pickle.loads(pickle.dumps(episodes)))
        batches.clear()
        for part, _ in data.shard(num_learners, config.episode_lookback_horizon):
            learner.update(training_data=part, **options)
        learned: Counter[Any] = Counter()
        for batch in batches:
            is_learned = batch[Columns.LOSS_MASK].numpy()
            boards = batch[Columns.OBS]["observation"].numpy()[is_learned]
            learned.update(steps_of(boards, *(batch[name].numpy()[is_learned] for name in names)))
        assert learned == played, num_learners


def steps_of(*columns: np.ndarray) -> Iterator[tuple[bytes, ...]]:
    """Yield the steps of columns of a batch."""
    for step in zip(*columns, strict=True):
        yield tuple(np.asarray(value, np.float64).tobytes() for value in step)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_run_with_everything_saved(
    tmp_path: Path, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    run, usual = tmp_path / "run", signal.getsignal(number)
    interrupter = interrupt_after_a_checkpoint(run, number)
    endless = ["--environment_steps", "null", "--minutes", "10", "--checkpoint_minutes", "0.01"]
    assert rllib_train.main(words(tmp_path, *endless, "--num_env_runners", "0")) == 0
    interrupter.join()
    assert names(capsys.readouterr().out, [number.name, "--resume"])
    last = json.loads((run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert read_identity(run / "final.zip").environment_steps == last["environment_steps"]
    assert (run / "evaluation.json").stat().st_size
    assert signal.getsignal(number) == usual


def test_a_run_in_a_thread_that_handles_no_signals_goes_to_its_end(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        few = words(tmp_path, "--environment_steps", "1024", "--num_env_runners", "0")
        assert pool.submit(rllib_train.main, few).result() == 0
    assert read_identity(tmp_path / "run" / "final.zip").environment_steps >= 1024


def test_weights_that_are_no_numbers_end_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wild = words(
        tmp_path, "--num_env_runners", "0", "--ppo.learning_rate", "1e30", "--network.observation", "board"
    )
    assert rllib_train.main(wild) == 2
    message = capsys.readouterr().err
    assert "the loss is not finite" in message
    assert "ppo.learning_rate" in message


def test_a_run_of_mancala_train_resumes_on_ray(tmp_path: Path) -> None:
    more = [
        "--environment_steps",
        "512",
        "--distillation.positions",
        "600",
        "--distillation.spec",
        "minimax:1",
    ]
    assert (
        mancala(["train", *words(tmp_path, *more, "--expert.share", "0.1", "--expert.spec", "minimax:1")])
        == 0
    )
    run = tmp_path / "run"
    before = read_identity(run / "final.zip").environment_steps
    arguments = ["--resume", str(run), "--environment_steps", "512", "--num_env_runners", "0"]
    config, _ = read_config(arguments, RayConfig, "rllib_train.py")
    resumed = rllib_train.ClusterRun(config, RunFolder(run), run / "final.zip")
    try:
        assert resumed.steps == before == 512
        weights = resumed.weights()
        learned = read_learned(run / "final.zip").weights
        assert weights.keys() == learned.keys()
        assert all((value == learned[name]).all() for name, value in weights.items())
    finally:
        resumed.close()


def test_a_run_outlives_its_only_runner(tmp_path: Path) -> None:
    config = configured(tmp_path, "--num_env_runners", "1")
    folder = RunFolder.create(config)
    run = rllib_train.ClusterRun(config, folder)
    try:
        assert run.update() is not None
        first = run.steps
        assert first >= 512
        (worker,) = run._algorithm.env_runner_group.foreach_env_runner(
            lambda _: os.getpid(), local_env_runner=False
        )
        assert worker != os.getpid()
        os.kill(worker, signal.SIGKILL)
        while run.steps < first + 1024:
            run.update()
        before = run.weights()
        (after,) = run._algorithm.env_runner_group.foreach_env_runner(
            lambda runner: runner.module[SHARED].get_state(), local_env_runner=False
        )
        for name, value in before.items():
            np.testing.assert_array_equal(value.numpy(), after[name])
    finally:
        run.close()


def test_a_run_of_another_program_is_not_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.yaml").write_text(configured(tmp_path).to_yaml(), encoding="utf-8")
    assert rllib_train.main(["--resume", str(run)]) == 2
    assert names(capsys.readouterr().err, run)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[rllib_train.ClusterRun]:
    """A run that plays and learns in this process."""
    config = configured(tmp_path, "--num_env_runners", "0")
    started = rllib_train.ClusterRun(config, RunFolder.create(config))
    yield started
    started.close()


def test_a_checkpoint_plays_like_the_module(run: rllib_train.ClusterRun) -> None:
    path = run.save()
    assert (path.name, run.last_checkpoint) == ("0000000000.zip", path)
    agent = CheckpointAgent(LAYLI, path, spec=str(path))
    batch = Batch(LAYLI, 32, seed=1, opening_turns=6, num_threads=1, observation="replies")
    logits, values = agent.evaluate(batch.games)
    seen = {"observation": batch.observation, "action_mask": batch.legal_mask}
    columns = {Columns.OBS: {name: torch.as_tensor(value) for name, value in seen.items()}}
    module = run._algorithm.get_module(SHARED)
    with torch.no_grad():
        found = module.forward_inference(columns)[Columns.ACTION_DIST_INPUTS]
        worth = module.compute_values(columns)
    np.testing.assert_allclose(logits, found.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(values, worth.numpy(), rtol=1e-5, atol=1e-5)
    chances = torch.softmax(found, dim=1).numpy()
    assert (chances[batch.legal_mask == 0] < 1e-6).all(), "the probability of illegal actions is 0"


def test_games_of_a_run_start_with_training_openings_from_either_seat(run: rllib_train.ClusterRun) -> None:
    env = make_env(run._algorithm.config.env_config)
    started = []
    for seed in range(200):
        env.reset(seed=seed)
        started.append(env.env.unwrapped.position)
    games = np.concatenate([position.games for position in started])
    assert rows_in_set(LAYLI, games, "training").all()
    assert len({position.key for position in started}) > 20
    assert {position.player for position in started} == {0, 1}


def test_games_of_all_runners_have_different_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    config = algorithm_config(configured(tmp_path, "--num_env_runners", "4"), 1, 1e-3, None)
    seeds: list[int | None] = []
    reset = MancalaAEC.reset

    def noted(env: MancalaAEC, seed: int | None = None, options: Any = None) -> None:
        seeds.append(seed)
        reset(env, seed, options)

    for number in range(1, 5):
        runner = SelfPlayRunner(config=config, worker_index=number, num_workers=4)
        with monkeypatch.context() as patch:
            patch.setattr(MancalaAEC, "reset", noted)
            runner.sample(num_timesteps=1, random_actions=False)
        runner.stop()
    assert len(seeds) == len(set(seeds)) == 32
    assert "Illegal" not in "".join(capfd.readouterr())  # RLlib's check would play without masks


# RLlib's own runner over PettingZoo


def test_pettingzoo_env_hands_both_agents_their_reward() -> None:
    env: Any = PettingZooEnv(layli_goobalay_v0.env())
    check_multiagent_environments(env)
    rng = np.random.default_rng(1)
    seen, _ = env.reset(seed=1)
    total = dict.fromkeys(("player_0", "player_1"), 0.0)
    over = False
    while not over:
        ((agent, what),) = seen.items()
        assert agent == env.env.agent_selection
        assert env.observation_spaces[agent].contains(what)
        action = rng.choice(np.flatnonzero(what["action_mask"]))
        seen, rewards, ended, _, _ = env.step({agent: int(action)})
        for name, reward in rewards.items():
            total[name] += reward
        over = ended["__all__"]
    assert sorted(total.values()) in ([-1, 1], [0, 0])


@pytest.mark.parametrize("kind", ["board", "values"])
def test_the_module_trains_under_rllibs_own_runner(kind: ObservationKind) -> None:
    network = replace(BOARD, observation=kind)
    register_env("layli_goobalay", lambda _: PettingZooEnv(layli_goobalay_v0.env(observation=kind)))
    algorithm: Any = (
        PPOConfig()
        .environment("layli_goobalay")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2)
        .multi_agent(policies={SHARED}, policy_mapping_fn=always_shared)
        .rl_module(rl_module_spec=module_spec(LAYLI, network))
        .training(train_batch_size_per_learner=256, minibatch_size=128, num_epochs=1, use_kl_loss=False)
        .build_algo()
    )
    try:
        games = algorithm.env_runner.sample(num_episodes=2)
        for game in games:
            # Each player gets the reward at their own last step, regardless of who played the last turn.
            returns = [player.get_return() for player in game.agent_episodes.values()]
            assert sum(returns) == 0
            for player in game.agent_episodes.values():
                assert player.is_done
                masks = player.get_observations(slice(0, len(player)))["action_mask"]
                assert masks[np.arange(len(player)), player.get_actions()].all()
        figures: Any = algorithm.train()
        assert np.isfinite(figures["learners"][SHARED]["total_loss"])
    finally:
        stop(algorithm)


# Evaluation


class Last(Agent):
    """Plays the last legal action; it lacks a spec."""

    def act(self, games: np.ndarray) -> np.ndarray:
        positions = [Position.from_games(self.ruleset, games, b) for b in range(len(games))]
        return np.array([position.legal_actions[-1] for position in positions])


class Cheat(Last):
    """Plays no legal action."""

    def act(self, games: np.ndarray) -> np.ndarray:
        return np.full(len(games), 99)


@pytest.fixture
def by_value() -> Iterator[None]:
    """Send the agents of this file with their code, as Ray does for those of a script."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.usefixtures("by_value")
def test_the_arena_on_ray_gives_the_results_of_the_arena_here(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "exported.zip", identity_of())
    specs = ["random", "greedy", str(path), Last(LAYLI, spec="last")]
    here = round_robin(specs, LAYLI, games=140, seed=5, num_threads=1)
    # Workers do not read the file.
    results = tmp_path / "results.jsonl"
    there = round_robin(specs, LAYLI, games=140, seed=5, results=results, play_chunks=RayChunks())
    assert len(here) == 6
    for ours, theirs in zip(here, there, strict=True):
        assert (ours.first, ours.second) == (theirs.first, theirs.second)
        np.testing.assert_array_equal(ours.margins, theirs.margins)
    # Games that were played on Ray are not played again without it.
    begun = []
    again = round_robin(
        specs, LAYLI, games=140, seed=5, results=results, progress=lambda over, _: begun.append(over)
    )
    assert begun == [840]
    np.testing.assert_array_equal(again[0].margins, here[0].margins)


def test_mancala_evaluate_on_ray_prints_what_it_prints_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    words = ["evaluate", "random", "greedy", "minimax:2", "--games", "200", "--no_ladder", "--no_regret"]
    words.append("--json")
    assert mancala(words) == 0
    here = capsys.readouterr().out
    assert mancala([*words, "--ray", "local", "--results", str(results)]) == 0
    assert capsys.readouterr().out == here
    # A chunk is 64 games of a pairing.
    chunks = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert len(chunks) == 3 * 4
    assert ray.is_initialized(), "the program that started Ray stops it"


@pytest.mark.usefixtures("by_value")
def test_an_illegal_move_on_ray_is_the_error_it_is_here() -> None:
    with raises(IllegalMove, "cheat", 99):
        round_robin(["random", Cheat(LAYLI, spec="cheat")], LAYLI, games=2, play_chunks=RayChunks())
