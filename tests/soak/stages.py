"""The attacks of the soak, one function a stage: it draws cases from a seed, tries them and says how many.

Each raises where a case falls, with the case in the message.
"""

import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mancala_env import Position, Ruleset, agents, layli_goobalay_v0, rulesets
from mancala_env.agents.checkpoint import read_identity
from mancala_env.batch import Batch

ROOT = Path(__file__).resolve().parent.parent.parent
for room in ("tests/rules", "tests/agents", "tests/solver", "."):
    sys.path.insert(0, str(ROOT / room))

import naive  # noqa: E402
from bad_inputs import try_bad_inputs  # noqa: E402
from campaign import run as compare_with_brute_force  # noqa: E402
from strategies import POSSIBLE_DIALS  # noqa: E402
from test_hostile_checkpoints import fuzz  # noqa: E402
from twins import assert_same, play_both, play_match, random_pair  # noqa: E402

_OPTIONS = ("--minutes", "0.15", "--checkpoint_minutes", "0.02", "--evaluation.games", "2")
_GROWTH_MB = 64  # more than an allocator's moods, far less than a leak of a buffer a step


@dataclass(frozen=True)
class Stage:
    """One claim and the attack on it.

    Attributes:
        name: What the command line calls it.
        claim: What should hold, in words.
        unit: What is counted.
        goal: How many of them are enough.
        attack: Called with a seed; tries some cases, returns how many, and raises where one falls.
    """

    name: str
    claim: str
    unit: str
    goal: int
    attack: Callable[[int], int]


def own_ruleset(rng: random.Random) -> Ruleset:
    """Draw a ruleset of any width, number of seeds and combination of dials."""
    dials = rng.choice(POSSIBLE_DIALS)
    width = rng.randint(2, 12)
    most = 255 // (2 * width)
    needs_four = dials["match"] in ("loan", "territory")
    seeds = 4 if needs_four else rng.choice([rng.randint(1, min(most, 12)), most])
    return Ruleset(name="own", row_width=width, seeds_per_hole=seeds, **dials)


def engine(seed: int) -> int:
    """Play matches and set-ups on both sides, of the catalogue and of rulesets of one's own."""
    rng = random.Random(seed)
    turns = 0
    for _ in range(10):
        ruleset: Any = rng.choice(rulesets.names()) if rng.random() < 0.5 else own_ruleset(rng)
        turns += play_match(ruleset, rng.randrange(2), rng, most_rounds=4)
        for _ in range(20):
            position, game = random_pair(ruleset, rng)
            assert_same(position, game)
            for action in position.legal_actions[:3]:
                play_both(position.copy(), naive.copy_of(game), action)
                turns += 1
    return turns


def plain_minimax(position: Position, depth: int) -> int:
    """Return the lead of the player to move after best play of so many turns, by plain recursion."""
    south, north = position.counts
    if depth == 0 or position.is_over:
        return south - north if position.player == 0 else north - south
    best = -1000
    for action in position.legal_actions:
        after = position.copy()
        after.play(action)
        value = plain_minimax(after, depth - 1)
        best = max(best, value if after.player == position.player else -value)
    return best


def searches(seed: int) -> int:
    """Compare what minimax finds, with its table and windows, with plain recursion."""
    rng = random.Random(seed)
    ruleset: Any = rng.choice(rulesets.names()) if rng.random() < 0.5 else own_ruleset(rng)
    tried, depth = 0, rng.randint(1, 3)
    agent: Any = agents.make(f"minimax:{depth}", ruleset, seed=seed, num_threads=1)
    for _ in range(6):
        position, _ = random_pair(ruleset, rng)
        if position.is_over:
            continue
        found = agent.action_values(position.games, position.ruleset.num_holes)[0]
        for action in position.legal_actions:
            after = position.copy()
            after.play(action)
            value = plain_minimax(after, depth - 1)
            value = value if after.player == position.player else -value
            assert found[action] == value, (position.to_text(), depth, action, found[action], value)
        tried += 1
    return tried


def _train(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(ROOT / "training" / "train.py"), *words]
    variables = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def _steps_of(lines: list[str]) -> list[int]:
    return [
        next(v for k, v in json.loads(line).items() if k in ("environment_steps", "turns")) for line in lines
    ]


def killed_training(seed: int) -> int:
    """Kill a training at a random moment, resume it, and look at what is left."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        process = _train(
            folder, "--config", str(ROOT / "configs" / "smoke.yaml"), "--name", "killed", *_OPTIONS
        )
        time.sleep(rng.uniform(1.0, 14.0))
        process.kill()
        process.communicate()
        run = folder / "runs" / "killed"
        if not run.is_dir() or not (run / "config.yaml").exists():
            return 1  # killed before it began
        checkpoints = sorted((run / "checkpoints").glob("*.zip"))
        before = [read_identity(path) for path in checkpoints]  # raises where one is torn
        if not checkpoints:
            return 1
        process = _train(folder, "--resume", str(run), *_OPTIONS)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()[-300:]
        assert (run / "final.zip").exists()
        assert not list(run.rglob("*.part")), "a part of a file was left"
        steps = _steps_of((run / "metrics.jsonl").read_text().splitlines())
        resumed = max(range(len(steps)), key=lambda i: i and steps[i] <= steps[i - 1], default=0)
        for part in (steps[:resumed], steps[resumed:]):
            assert all(a < b for a, b in itertools.pairwise(part)), "a step was written twice"
        assert read_identity(run / "final.zip") != before[-1]
    return 1


_ARENA = """
import sys
from mancala_env.arena import round_robin
round_robin(["random", "greedy", "minimax:3"], "leyla", games=1000, results=sys.argv[1], num_threads=1)
"""


def killed_arena(seed: int) -> int:
    """Kill an arena at a random moment, go on, and compare with one that was left alone."""
    rng = random.Random(seed)
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as place:
        results = Path(place) / "games.jsonl"
        command = [sys.executable, "-c", _ARENA, str(results)]
        process = subprocess.Popen(command, env=variables)
        time.sleep(rng.uniform(0.5, 5.0))
        process.kill()
        process.wait()
        subprocess.run(command, env=variables, check=True, timeout=300)
        lines = [json.loads(line) for line in results.read_text().splitlines()]
        places = [(line["first"], line["second"], line["start"]) for line in lines]
        assert len(places) == len(set(places)), "a chunk was played twice"
        assert sum(line["stop"] - line["start"] for line in lines) == 3 * 500
    return 1


def environment_steps(seed: int) -> int:
    """Step the environments and a batch, and see that memory does not grow."""
    rng = np.random.default_rng(seed)
    env: Any = gymnasium.make("mancala/LayliGoobalay-v0", opponent="greedy")
    aec: Any = layli_goobalay_v0.env()
    batch = Batch("gabata_i", 512, "match", seed=seed, observation="afterstates")
    steps, first = 0, 0

    def some() -> int:
        for n in range(500):
            if n % 60 == 0:
                env.reset(seed=seed + n)
                aec.reset(seed=seed + n)
            _, _, over, cut, _ = env.step(int(env.unwrapped.action_masks().argmax()))
            if over or cut:
                env.reset()
            if not aec.agents or any(aec.terminations.values()):
                aec.reset()
            mask = aec.observe(aec.agent_selection)["action_mask"]
            aec.step(int(rng.choice(np.flatnonzero(mask))))
        for _ in range(20):
            batch.step(batch.legal_mask.argmax(axis=1))
        return 1000 + 20 * 512

    for round_number in range(6):
        steps += some()
        used = _memory_mb()
        first = first if round_number else used
        assert used - first < _GROWTH_MB, f"{used - first:.0f} MB more after {steps} steps"
    return steps


def _memory_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def interrupted(seed: int) -> int:
    """Send Ctrl-C into a kernel that runs for long, and see that it is heard."""
    rng = random.Random(seed)
    work = rng.choice(
        [
            "Batch('leyla', 64).play_random(10**9)",
            "agents.make('minimax:30', 'gabata_i').choose(Position('gabata_i'))",
            "agents.make('mcts:100000000', 'leyla').choose(Position('leyla'))",
            "agents.make('perfect', 'gabata_seven_holes').choose(Position('gabata_seven_holes'))",
        ]
    )
    program = f"from mancala_env import *\nfrom mancala_env import agents\nprint('ready', flush=True)\n{work}"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(rng.uniform(0.2, 3.0))
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    try:
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"deaf to Ctrl-C: {work}") from None
    assert process.returncode != 0
    assert time.monotonic() - began < 10, f"{time.monotonic() - began:.1f} s until Ctrl-C was heard: {work}"
    return 1


def exact_values(seed: int) -> int:
    """Compare a solver that is kept from one position to the next with brute force."""
    tally = compare_with_brute_force(seed, 200)
    assert not tally.faults, tally.faults
    return tally.compared


def hostile_checkpoints(seed: int) -> int:
    """Load mutated checkpoints: each plays a legal action or is refused."""
    with tempfile.TemporaryDirectory() as place:
        outcomes = fuzz(seed, 50, Path(place))
    wrong = set(outcomes) - {"played", "refused"}
    assert not wrong, wrong
    return 50


STAGES = (
    Stage("engine", "plays as the plain-Python twin of the rules", "turns", 10_000_000, engine),
    Stage("solver", "a kept solver is exact, against brute force", "positions", 1_000_000, exact_values),
    Stage("searches", "minimax finds what plain recursion finds", "positions", 20_000, searches),
    Stage(
        "training-killed",
        "kill -9 loses at most the interval, tears nothing",
        "kills",
        100,
        killed_training,
    ),
    Stage("arena-killed", "kill -9 doubles no game and loses none written", "kills", 100, killed_arena),
    Stage("checkpoints", "mutated ones play or are refused", "files", 10_000, hostile_checkpoints),
    Stage("bad-inputs", "each a ValueError that names the value", "inputs", 2_000, try_bad_inputs),
    Stage("environments", "a million steps without growth of memory", "steps", 1_000_000, environment_steps),
    Stage("ctrl-c", "Ctrl-C is heard in every kind of kernel", "signals", 100, interrupted),
)
