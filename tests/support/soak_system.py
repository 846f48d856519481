"""Attacks by the operating system: kills, full disks, read-only folders, forks, signals, time."""

import ctypes
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from long_calls import CHILD, LONG
from soak_starter import NOBODY_UID, ROOT, TINY, UPDATE, Program, starter

from mancala_env import Position, rulesets
from mancala_env.agents import Agent
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.networks.checkpoint import read_identity

STEPS = "environment_steps"
_GROWTH_MB = 64  # more than an allocator's noise, much less than a leak of one buffer per update


@contextmanager
def _folder(user: int | None = None) -> Iterator[Path]:
    """Make a temporary working folder for programs."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        folder.mkdir()
        if user is not None:
            Path(place).chmod(0o755)
            os.chown(folder, user, user)
        yield folder


def _train(folder: Path, *words: str, user: int | None = None) -> Program:
    return starter().start("train", *TINY, "--folder", str(folder), *words, folder=folder, user=user)


def _resume(run: Path, updates: int, user: int | None = None) -> Program:
    words = ("--resume", str(run), f"--{STEPS}", str(updates * UPDATE))
    return starter().start("train", *words, folder=run.parent, user=user)


def _steps(run: Path) -> list[int]:
    """Return the steps of each line of metrics; raises if a complete line is invalid."""
    content = (run / "metrics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line)[STEPS] for line in content[: content.rfind("\n") + 1].splitlines()]


def _checkpoints(run: Path) -> list[int]:
    """Return after how many steps each checkpoint is; raises where one is torn."""
    return sorted(read_identity(path).environment_steps for path in (run / "checkpoints").glob("*.zip"))


def _ends_well(program: Program, run: Path, steps: int) -> None:
    status = program.wait()
    assert status == 0, f"status {status}: {program.said[-400:]}"
    assert read_identity(run / "final.zip").environment_steps >= steps
    left = [path.name for path in run.rglob("*") if path.name.startswith(".") or path.suffix == ".part"]
    assert not left, f"left behind: {left}"


def _refuses(program: Program, *said: str) -> None:
    """Check that a program ends with status 2 and one line with a message."""
    status, line = program.wait(), program.said.strip().splitlines()[-1:]
    assert "Traceback" not in program.said, program.said[-600:]
    assert status == 2, f"status {status}: {program.said[-400:]}"
    assert line, "it says nothing"
    assert any(text in line[0] for text in said), f"it says: {line[0]}"


def killed_training(seed: int) -> int:
    """Kill a training that saves after each update, resume it, and check its files."""
    rng = random.Random(seed)
    with _folder() as folder:
        run = folder / "run"
        program = _train(folder, f"--{STEPS}", str(400 * UPDATE))
        time.sleep(rng.uniform(0.05, 2.5))
        program.send(signal.SIGKILL)
        program.wait()
        if not (run / "config.yaml").exists() or not (saved := _checkpoints(run)):
            return 1  # killed before its first update
        if (run / "metrics.jsonl").exists() and (logged := _steps(run)):
            lost = max(logged) - max(saved)
            assert lost <= UPDATE, f"{lost} steps lost, more than between two checkpoints"
        last = max(saved)
        _ends_well(_resume(run, last // UPDATE + 3), run, last + 3 * UPDATE)
        steps = _steps(run)
        assert set(_checkpoints(run)) >= set(saved), "a checkpoint went away"
        assert all(a < b for a, b in itertools.pairwise(steps)), f"a step is there twice: {steps[-9:]}"
    return 1


def _games(results: Path) -> list[tuple[str, str, int, int]]:
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return [(line["first"], line["second"], line["start"], line["stop"]) for line in lines]


def _evaluation(results: Path, games: int, user: int | None = None) -> Program:
    return starter().start("evaluation", str(results), str(games), folder=results.parent, user=user)


def _holds_every_game_once(results: Path, games: int) -> None:
    lines = _games(results)
    assert len({line[:3] for line in lines}) == len(lines), "a chunk was played twice"
    assert sum(stop - start for _, _, start, stop in lines) == 3 * games // 2


def killed_evaluation(seed: int) -> int:
    """Kill an evaluation at a random moment, resume it, and count the games."""
    rng, games = random.Random(seed), 600
    with _folder() as folder:
        results = folder / "games.jsonl"
        program = _evaluation(results, games)
        time.sleep(rng.uniform(0.05, 2.0))
        program.send(signal.SIGKILL)
        program.wait()
        content = results.read_bytes() if results.exists() else b""
        before = content[: content.rfind(b"\n") + 1]
        program = _evaluation(results, games)
        assert program.wait() == 0, program.said
        assert results.read_bytes().startswith(before), "a line that was written is gone"
        _holds_every_game_once(results, games)
    return 1


@contextmanager
def _small_disk(kilobytes: int) -> Iterator[Path]:
    """Mount a small disk; if that is not allowed, yield a folder with a limit on file sizes."""
    with tempfile.TemporaryDirectory() as place:
        disk = Path(place) / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", disk], check=True)
        try:
            yield disk
        finally:
            subprocess.run(["umount", "-l", disk], check=True)


@lru_cache
def may_mount() -> bool:
    """Return whether this process may mount file systems and become another user."""
    if os.name != "posix" or os.geteuid() != 0:
        return False
    try:
        with _small_disk(64):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def full_disk(seed: int) -> int:
    """Train or play on a disk that fills up; free space, and resume."""
    rng = random.Random(seed)
    if rng.random() < 0.4:
        with _small_disk(rng.randrange(4, 40)) as disk:
            results, games = disk / "games.jsonl", 4000
            filler = disk / "filler"
            _refuses(_evaluation(results, games), "No space left on device")
            subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
            filler.write_bytes(b"x")
            program = _evaluation(results, 600)
            assert program.wait() == 0, program.said
        return 1
    with _small_disk(rng.randrange(60, 1200)) as disk:
        run = disk / "run"
        _refuses(_train(disk, f"--{STEPS}", str(10**9)), "No space left on device")
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        if not (run / "config.yaml").exists() or not (saved := _checkpoints(run)):
            return 1
        last = max(saved)
        _ends_well(_resume(run, last // UPDATE + 3), run, last + 3 * UPDATE)
        assert set(_checkpoints(run)) >= set(saved)
    return 1


def read_only(seed: int) -> int:
    """Make a folder read-only while a training without root rights writes there; then let it resume."""
    rng = random.Random(seed)
    with _folder(NOBODY_UID) as folder:
        if rng.random() < 0.3:
            folder.chmod(0o555)
            how = rng.randrange(3)
            if how == 0:
                _refuses(_train(folder, f"--{STEPS}", "512", user=NOBODY_UID), "Permission denied")
            elif how == 1:
                _refuses(_evaluation(folder / "games.jsonl", 4, user=NOBODY_UID), "Permission denied")
            else:
                words = (
                    "leyla",
                    "--turns",
                    "1",
                    "--budget",
                    "1",
                    "--memory_mb",
                    "8",
                    "--folder",
                    str(folder),
                )
                program = starter().start("book", *words, folder=folder, user=NOBODY_UID)
                _refuses(program, "Permission denied")
            return 1
        run = folder / "run"
        program = _train(folder, f"--{STEPS}", str(10**9), user=NOBODY_UID)
        time.sleep(rng.uniform(0.5, 2.0))
        closed = [path for path in (run, run / "checkpoints") if path.exists()]
        for path in closed:
            path.chmod(0o555)
        if not closed:
            folder.chmod(0o555)
        _refuses(program, "Permission denied")
        for path in (folder, *closed):
            path.chmod(0o755)
        if not (run / "config.yaml").exists() or not (saved := _checkpoints(run)):
            return 1
        last = max(saved)
        _ends_well(_resume(run, last // UPDATE + 3, user=NOBODY_UID), run, last + 3 * UPDATE)
    return 1


def two_programs(seed: int) -> int:
    """Start a second program on a run or results file that is in use: one of them is rejected."""
    rng = random.Random(seed)
    with _folder() as folder:
        if rng.random() < 0.5:
            results, games = folder / "games.jsonl", 600
            programs = [_evaluation(results, games)]
            time.sleep(rng.choice((0.0, rng.uniform(0.0, 0.5))))
            programs.append(_evaluation(results, games))
            ended = [program.wait() for program in programs]
            assert sorted(ended) in ([0, 2], [0, 0]), [program.said for program in programs]
            for status, program in zip(ended, programs, strict=True):
                assert status == 0 or "another process is writing" in program.said, program.said
            _holds_every_game_once(results, games)
            return 1
        run = folder / "run"
        first = _train(folder, f"--{STEPS}", str(10**9))
        while not (run / "checkpoints").is_dir() or not list((run / "checkpoints").glob("*.zip")):
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, 1.0))
        second, third = _resume(run, 10**6), _resume(run, 10**6)
        _refuses(second, "is training in")
        _refuses(third, "is training in")
        first.send(rng.choice((signal.SIGTERM, signal.SIGINT)))
        assert first.wait() == 0, first.said[-400:]
        steps = _steps(run)
        assert all(a < b for a, b in itertools.pairwise(steps))
        last = max(_checkpoints(run))
        _ends_well(_resume(run, last // UPDATE + 2), run, last)
    return 1


_FORKS = """
import os, random, sys, threading, time
from mancala_env import Batch, Position, agents

def turns(seed):
    batch = Batch("leyla", 2048, seed=seed, num_threads=2)
    batch.play_random(20)
    batch.step(agents.make("minimax:2", "leyla", seed=seed, num_threads=2).act(batch.games))
    agents.make("perfect:0.02s", "leyla", num_threads=2).choose(Position("leyla"))
    return batch.games.tobytes()

rng, expected, is_over = random.Random(int(sys.argv[1])), turns(1), threading.Event()

def work(seed):
    while not is_over.is_set():
        turns(seed)

workers = [threading.Thread(target=work, args=(seed,)) for seed in (2, 3)]
for worker in workers:
    worker.start()
for _ in range(10):
    time.sleep(rng.uniform(0.0, 0.2))
    child = os.fork()
    if child == 0:
        os._exit(0 if turns(1) == expected else 3)
    began = time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > 60:
            os.kill(child, 9)
            sys.exit("a child hangs")
        time.sleep(0.01)
    if status:
        sys.exit(f"a child ended with {status}")
is_over.set()
for worker in workers:
    worker.join()
"""


def forks(seed: int) -> int:
    """Fork while other threads run kernels: the child plays the same games."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORKS, str(seed)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-400:]
    return 10


class _Tired(Agent):
    """Plays the lowest legal action. If it has an error, it sometimes raises it or sends Ctrl-C."""

    def __init__(self, ruleset: Any, error: Any, seed: int) -> None:
        super().__init__(ruleset, spec="tired", num_threads=1)
        self.error, self.draws = error, random.Random(seed)

    def act(self, games: np.ndarray) -> np.ndarray:
        if self.error is not None and self.draws.random() < 0.3:
            if self.error is signal.SIGINT:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)  # Ctrl-C ends this at once
                raise AssertionError("Ctrl-C did not end it")
            raise self.error
        return np.array(
            [Position.from_games(self.ruleset, games, b).legal_actions[0] for b in range(len(games))]
        )


def failing_opponents(seed: int) -> int:
    """Raise in the opponent's turn: the episode does not change and can continue."""
    rng = random.Random(seed)
    ruleset, rounds = rng.choice(rulesets.names()), rng.choice((1, 2))
    error = rng.choice((RuntimeError("tired"), KeyboardInterrupt(), MemoryError(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if rng.random() < 0.5:
            return _one_environment(ruleset, rounds, error, seed)
        return _many_environments(ruleset, error, seed)
    finally:
        signal.signal(signal.SIGINT, before)


_RAISED = (RuntimeError, KeyboardInterrupt, MemoryError)


def _one_environment(ruleset: str, rounds: int, error: Any, seed: int) -> int:
    tired: Any = MancalaEnv(ruleset, opponent=_Tired(ruleset, error, seed), rounds=rounds)
    steady: Any = MancalaEnv(ruleset, opponent=_Tired(ruleset, None, seed), rounds=rounds)
    draw = random.Random(seed)

    def again(work: Any) -> Any:
        while True:
            before = tired.position if tired._has_started else None
            try:
                return work()
            except _RAISED:
                assert before is None or tired.position == before, "the position changed"

    again(lambda: tired.reset(seed=seed))
    steady.reset(seed=seed)
    for _ in range(60):
        action = draw.choice(np.flatnonzero(steady.action_masks()).tolist())
        one, other = again(lambda action=action: tired.step(action)), steady.step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:4] == other[1:4], "the episodes differ"
        if one[2] or one[3]:
            again(tired.reset)
            steady.reset()
    return 60


def _many_environments(ruleset: str, error: Any, seed: int) -> int:
    envs: Any = MancalaVectorEnv(4, ruleset, opponent=_Tired(ruleset, error, seed), num_threads=1)
    draw = random.Random(seed)
    while True:
        try:
            envs.reset(seed=seed)
            break
        except _RAISED:
            pass
    for _ in range(30):
        actions = np.array([draw.choice(np.flatnonzero(mask).tolist()) for mask in envs.action_masks()])
        before = [envs.position(b) for b in range(4)]
        try:
            envs.step(actions)
        except _RAISED:
            assert [envs.position(b) for b in range(4)] == before, "half a step was taken"
    return 120


_FROM_SCRATCH = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begun", flush=True)
from mancala_env import *
from mancala_env import agents
{work}
"""
_WORK = (
    "Batch('leyla', 64).play_random(10**12)",
    "agents.make('minimax:30', 'gabata_i').choose(Position('gabata_i'))",
    "agents.make('mcts:10000000', 'leyla').choose(Position('leyla'))",
    "agents.make('perfect', 'gabata_seven_holes').choose(Position('gabata_seven_holes'))",
)


# Most processor seconds of a program after Ctrl-C. The aim is half a second of wall time, which cannot be
# measured on a busy machine. The end of an interpreter and its threads takes a part of it.
_MOST_BUSY = 2.0


def interrupted(seed: int) -> int:
    """Send Ctrl-C to a long call, in a kernel or before it."""
    rng = random.Random(seed)
    is_from_scratch = rng.random() < 0.3
    if is_from_scratch:
        work = rng.choice(_WORK)
        program, first, moment = _FROM_SCRATCH.format(work=work), "", rng.uniform(0.0, 4.0)
    else:
        ready, work = rng.choice([each for each in LONG.values() if "{path}" not in "".join(each)])
        work = ready.rpartition(".")[0] + work if work.startswith(".") else work
        program, first, moment = CHILD, f"{ready}\t{work}\n", rng.uniform(0.0, 1.0)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(first)
    process.stdin.close()
    process.stdout.readline()
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    began, before = time.monotonic(), _processor_seconds(process.pid)
    while not _has_ended(process.pid):
        if (busy := _processor_seconds(process.pid) - before) > _MOST_BUSY:
            process.kill()
            errors = process.stderr.read()
            raise AssertionError(
                f"{busy:.1f} s on a core after Ctrl-C at {moment:.2f} s: {work}: {errors[-300:]}"
            )
        if time.monotonic() - began > 120:  # asleep
            process.kill()
            raise AssertionError(f"deaf to Ctrl-C at {moment:.2f} s: {work}: {process.stderr.read()[-300:]}")
        time.sleep(0.02)
    said, errors = process.stdout.read(), process.stderr.read()
    process.wait()
    if is_from_scratch:
        assert "KeyboardInterrupt" in errors, f"status {process.returncode}: {work}: {errors[-300:]}"
    else:
        assert "stopped" in said, f"it says {said!r}: {work}: {errors[-300:]}"
    return 1


def _has_ended(pid: int) -> bool:
    """Return whether a child process has ended, also before it is waited for."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "ZX"


def _processor_seconds(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int | str = "self") -> float:
    """Return the memory of a process in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def _dies_with_its_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class _LongTraining:
    """A training that is stopped between slices. Its memory is measured after each slice.

    It saves checkpoints and adds them to its pool several times per minute. Its time is processor time,
    because its memory becomes steady later on a busy machine.
    """

    def __init__(self, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        words = [
            "layli_goobalay", "--minutes", "100000", "--name", "long", "--folder", str(self.folder),
            "--seed", str(seed), "--threads", "1", "--checkpoint_minutes", "0.3", "--selfplay.games", "128",
            "--network.hidden", "32", "--distillation.positions", "0", "--evaluation.games", "2",
            "--evaluation.checkpoint_games", "0",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "training" / "train.py"), *words],
            env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_dies_with_its_parent,
        )
        self.seconds = 0.0
        self.first: float | None = None

    def go_on(self, seconds: float) -> None:
        """Let it train for a time, and check that its memory has not grown."""
        self.process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        assert self.process.poll() is None, f"it ended with {self.process.returncode}"
        self.process.send_signal(signal.SIGSTOP)
        self.seconds = _processor_seconds(self.process.pid)
        used = memory_mb(self.process.pid)
        if self.seconds >= _WARM_UP and self.first is None:
            self.first = used
        if self.first is not None and used - self.first > _GROWTH_MB:
            grown, since = used - self.first, self.seconds - _WARM_UP
            self.end()
            raise AssertionError(f"{grown:.0f} MB more after {since:.0f} s")

    def end(self) -> None:
        """Kill it and remove what it wrote."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


_WARM_UP, _SLICE, _LONGEST = 240.0, 20.0, 1_800.0
_long: list[_LongTraining] = []


def training_memory(seed: int) -> int:
    """Continue a training for a slice of time; returns the processor seconds."""
    if _long and _long[0].seconds >= _LONGEST:
        _long.pop().end()
    if not _long:
        _long.append(_LongTraining(seed))
    before = _long[0].seconds
    try:
        _long[0].go_on(_SLICE)
    except AssertionError:
        _long.pop()
        raise
    return round(_long[0].seconds - before)


def end_long_training() -> None:
    """End the training that is stopped between slices, if there is one."""
    while _long:
        _long.pop().end()
