"""Processes, threads, signals and memory: no call hangs or ignores Ctrl-C, and memory does not grow."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import gymnasium
import numpy as np
import pytest
from long_calls import CHILD, LONG
from rich.console import Console

from mancala_env import Batch, agents, layli_goobalay_v0

LAYLI = "mancala_env:mancala/LayliGoobalay-v0"
# Timeout of a call that should end at once; generous for busy machines.
SECONDS = 240.0


def checkpoint(path: Path) -> str:
    """Write a checkpoint; skip the test if torch is not installed (noxfile.py)."""
    pytest.importorskip("torch", reason="torch is not installed: mancala-env[train]")
    from value_checkpoints import checkpoint_of

    return str(checkpoint_of(path))


def random_turns(seed: int) -> np.ndarray:
    """Play and search on two threads; returns the results."""
    batch = Batch("leyla", 2048, seed=seed, num_threads=2)
    batch.play_random(20)
    batch.step(agents.make("minimax:2", "leyla", seed=seed, num_threads=2).act(batch.games))
    return batch.games.copy()


def play_in_child(seed: int, answers) -> None:
    answers.put(random_turns(seed))


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_process_started_after_threads_were_used_plays_the_same(method: str) -> None:
    expected = random_turns(1)  # fork copies thread pools without their threads
    context: Any = multiprocessing.get_context(method)
    answers = context.Queue()
    child = context.Process(target=play_in_child, args=(1, answers))
    child.start()
    try:
        assert (answers.get(timeout=SECONDS) == expected).all()
        child.join(SECONDS)
        assert child.exitcode == 0
    finally:
        child.kill()


def test_batches_in_several_threads_do_not_disturb_each_other() -> None:
    alone = [random_turns(seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(random_turns, range(6)))
    assert all((a == b).all() for a, b in zip(alone, together, strict=True))


def aec_episode(seed: int) -> list[tuple[str, int, float]]:
    env = layli_goobalay_v0.env()
    env.reset(seed=seed)
    draw, turns = np.random.default_rng(seed), []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        seen: Any = observation
        mask = info["action_mask"] if "action_mask" in info else seen["action_mask"]
        action = None if terminated or truncated else int(draw.choice(np.flatnonzero(mask)))
        turns.append((agent, -1 if action is None else action, float(reward)))
        env.step(action)
    return turns


def single_episode(seed: int) -> list[float]:
    env = gymnasium.make(LAYLI, opponent="greedy")
    _, info = env.reset(seed=seed)
    draw, rewards, is_over = np.random.default_rng(seed), [], False
    while not is_over:
        action = draw.choice(np.flatnonzero(info["action_mask"]))
        _, reward, terminated, truncated, info = env.step(int(action))
        rewards.append(float(reward))
        is_over = terminated or truncated
    return rewards


@pytest.mark.parametrize("episode", [aec_episode, single_episode])
def test_environments_in_several_threads_do_not_disturb_each_other(episode) -> None:
    alone = [episode(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(episode, range(8))) == alone


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_environments_in_processes_play_as_those_in_one(method: str) -> None:
    Batch("layli_goobalay", 2048, num_threads=2).play_random(1)
    makers = [lambda: gymnasium.make(LAYLI, opponent="greedy") for _ in range(2)]
    here = gymnasium.vector.SyncVectorEnv(makers)
    there = gymnasium.vector.AsyncVectorEnv(makers, context=method)
    try:
        there.reset_async(seed=3)
        seen, info = there.reset_wait(timeout=SECONDS)
        expected, _ = here.reset(seed=3)
        assert np.array_equal(seen, expected)
        for _ in range(30):
            actions = np.stack(info["action_mask"]).argmax(axis=1)
            there.step_async(actions)
            seen, rewards, ends, _, info = there.step_wait(timeout=SECONDS)
            expected, expected_rewards, expected_ends, _, _ = here.step(actions)
            assert np.array_equal(seen, expected)
            assert np.array_equal(rewards, expected_rewards)
            assert np.array_equal(ends, expected_ends)
    finally:
        there.close(terminate=True)
        here.close()


class Worker:
    """A child process that runs one call after the other, each until Ctrl-C."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.lines: Queue[str] = Queue()
        self.listener = Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            self.lines.put(line.strip())
        self.lines.put("ended")

    def processor_seconds(self) -> float:
        """Return its processor seconds, or the wall time if the system does not tell them."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        if not stat.exists():
            return time.perf_counter()
        user, system = stat.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def seconds_to_stop(self, ready: str, work: str) -> tuple[float, float]:
        """Return the wall time and the processor time between Ctrl-C and the end of the call."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{ready}\t{work}\n")
        assert self.lines.get(timeout=600) == "ready"  # compilation is slow on a busy machine
        started = self.processor_seconds()
        while self.processor_seconds() < started + 0.1 and self.lines.empty():  # until it is at work
            time.sleep(0.02)
        began, before = time.perf_counter(), self.processor_seconds()
        self.process.send_signal(signal.SIGINT)
        assert self.lines.get(timeout=SECONDS) == "stopped"
        return time.perf_counter() - began, self.processor_seconds() - before

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.listener.join()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Worker]]:
    running: list[Worker] = []
    yield running
    for worker in running:
        worker.end()


@pytest.mark.parametrize("name", LONG)
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_ctrl_c_stops(name: str, workers: list[Worker], tmp_path: Path) -> None:
    """The aim is half a second. On a busy machine only processor time is meaningful."""
    ready, work = LONG[name]
    if work.startswith("."):
        work = ready.rpartition(".")[0] + work
    needs_torch = "{path}" in work or "learning" in ready
    path = checkpoint(tmp_path / "agent.zip") if needs_torch else ""
    if not workers:
        workers.append(Worker())
    busy = 0.0
    for _ in range(2):  # a compilation on a thread delays Ctrl-C, once
        try:
            seconds, busy = workers[0].seconds_to_stop(
                ready.replace("{path}", path), work.replace("{path}", path)
            )
        except (Empty, AssertionError):
            workers.pop().end()  # the next test gets another worker
            raise
        print(f"{name}: stopped {seconds:.2f} s after Ctrl-C, {busy:.2f} s of them on a core")
        if busy < 5:
            return
    pytest.fail(f"{busy:.2f} s of work after Ctrl-C")


@pytest.mark.slow
def test_random_turns_continue_after_ctrl_c() -> None:
    batch = Batch("leyla", 64, seed=1, num_threads=2)
    batch.play_random(1)
    main = Thread(target=lambda: (time.sleep(0.2), os.kill(os.getpid(), signal.SIGINT)))
    main.start()
    with pytest.raises(KeyboardInterrupt):
        batch.play_random(10**12)
    main.join()
    games = batch.games.copy()
    time.sleep(0.2)
    assert (batch.games == games).all(), "no thread is still at work"
    batch.step(batch.legal_mask.argmax(axis=1))  # the masks are up to date


def megabytes() -> float:
    """Return the memory of this process."""
    gc.collect()
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("the memory of a process is read from /proc")
    return int(statm.read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def grows_by(work, warm: int, times: int) -> float:
    """Return the growth in megabytes of `times` calls after `warm` calls."""
    for _ in range(warm):
        work()
    before = megabytes()
    for _ in range(times):
        work()
    return megabytes() - before


@pytest.mark.slow
def test_a_batch_holds_no_more_after_many_steps() -> None:
    batch = Batch("leyla", 256, rounds="match", seed=1, num_threads=1, opening_turns=2, observation="lines")
    draw = np.random.default_rng(1)

    def step() -> None:
        noise = np.where(batch.legal_mask != 0, draw.random(batch.legal_mask.shape), -1)
        batch.step(noise.argmax(axis=1))

    assert grows_by(step, 300, 800) < 3


@pytest.mark.slow
def test_environments_hold_no_more_after_many_episodes() -> None:
    def episodes() -> None:
        aec_episode(1)
        single_episode(1)

    assert grows_by(episodes, 50, 400) < 16


@pytest.mark.slow
def test_searches_hold_no_more_after_many_positions(tmp_path: Path) -> None:
    batch = Batch("layli_goobalay", 16, seed=1, num_threads=1, opening_turns=4)
    path = checkpoint(tmp_path / "agent.zip")
    specs = ("minimax:4", "mcts:50", f"policy+mcts:20:{path}", f"policy+minimax:3:{path}")
    players = [agents.make(spec, "layli_goobalay", seed=1, num_threads=1) for spec in specs]

    def search() -> None:
        for player in players:
            player.act(batch.games)
        batch.play_random(1)

    assert grows_by(search, 20, 100) < 16


@pytest.mark.slow
def test_training_holds_no_more_after_each_run(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: mancala-env[train]")
    from mancala_env.training import run
    from mancala_env.training.config import CONFIGS, read_config
    from mancala_env.training.run_folder import RunFolder

    numbers = iter(range(100))

    def train() -> None:
        words = [
            "--config",
            str(CONFIGS / "smoke.yaml"),
            "--folder",
            str(tmp_path),
            "--environment_steps",
            "4096",
            "--distillation.positions",
            "1100",
            "--distillation.spec",
            "minimax:2",
        ]
        config, _ = read_config([*words, "--name", str(next(numbers))])
        run.train(config, RunFolder.create(config), Console(quiet=True))

    assert grows_by(train, 2, 4) < 48
