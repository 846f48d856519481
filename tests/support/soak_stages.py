"""The attacks of the soak, one function a stage: it draws cases from a seed, tries them and says how many.

Each raises where a case falls, with the case in the message.
"""

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import naive
import numpy as np
from bad_inputs import try_bad_inputs
from checkpoint_fuzzing import fuzz
from hostile_files import try_files
from soak_losses import losses
from soak_system import (
    failing_opponents,
    forks,
    full_disk,
    interrupted,
    killed_arena,
    killed_training,
    may_mount,
    memory_mb,
    read_only,
    training_memory,
    two_programs,
)
from solver_campaign import run as compare_with_brute_force
from strategies import POSSIBLE_DIALS
from twins import assert_same, play_both, play_match, random_pair

from mancala_env import Position, Ruleset, agents, layli_goobalay_v0, rulesets
from mancala_env.games.batch import Batch

ROOT = Path(__file__).resolve().parent.parent.parent
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
        missing: What this system lacks for it, in words; the stage is then left out.
    """

    name: str
    claim: str
    unit: str
    goal: int
    attack: Callable[[int], int]
    missing: str = ""


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
        used = memory_mb()
        first = first if round_number else used
        assert used - first < _GROWTH_MB, f"{used - first:.0f} MB more after {steps} steps"
    return steps


def exact_values(seed: int) -> int:
    """Compare a solver that is kept from one position to the next with brute force."""
    tally = compare_with_brute_force(seed, 5_000, room=1 << 16)
    assert not tally.faults, tally.faults
    return tally.compared


def hostile_checkpoints(seed: int) -> int:
    """Load mutated checkpoints: each plays a legal action or is refused."""
    with tempfile.TemporaryDirectory() as place:
        outcomes = fuzz(seed, 50, Path(place))
    wrong = set(outcomes) - {"played", "refused"}
    assert not wrong, wrong
    return 50


def hostile_files(seed: int) -> int:
    """Read mutated books, position sets, results files and configurations."""
    with tempfile.TemporaryDirectory() as place:
        return try_files(seed, 50, Path(place))


_NEEDS_ROOT = "needs to mount disks and to become another user: run as root on Linux"

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
    Stage(
        "full-disk",
        "one line; every file whole; goes on when there is room",
        "disks",
        50,
        full_disk,
        "" if may_mount() else _NEEDS_ROOT,
    ),
    Stage(
        "read-only",
        "one line; every file whole; goes on when it may write",
        "folders",
        50,
        read_only,
        "" if may_mount() else _NEEDS_ROOT,
    ),
    Stage("two-programs", "the second on a run or on results is refused", "pairs", 50, two_programs),
    Stage("forks", "a child plays on, whatever its parent's threads did", "forks", 500, forks),
    Stage(
        "failing-opponents",
        "an exception or Ctrl-C there leaves the episode whole",
        "steps",
        20_000,
        failing_opponents,
    ),
    Stage("checkpoints", "mutated ones play or are refused", "files", 10_000, hostile_checkpoints),
    Stage("files", "so are books, position sets, results, configurations", "files", 10_000, hostile_files),
    Stage("bad-inputs", "each a ValueError that names the value", "inputs", 2_000, try_bad_inputs),
    Stage("environments", "a million steps without growth of memory", "steps", 1_000_000, environment_steps),
    Stage(
        "training-memory", "half an hour of it without growth of memory", "seconds", 1_800, training_memory
    ),
    Stage(
        "losses",
        "signals, closed pipes, full disks, odd names, failing opponents: what was made is kept",
        "cases",
        300,
        losses,
    ),
    Stage("ctrl-c", "Ctrl-C is heard in every kind of kernel", "signals", 100, interrupted),
)
