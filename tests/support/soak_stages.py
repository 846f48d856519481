"""The stages of the soak test. An attack draws cases from a seed, tries them and returns their number.

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
from compiled_checkers import COMPILER
from hostile_files import try_files
from proof_attacks import proof_turns, proofs
from soak_losses import losses
from soak_system import (
    failing_opponents,
    forks,
    full_disk,
    interrupted,
    killed_evaluation,
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
_GROWTH_MB = 64  # more than an allocator's noise, much less than a leak of one buffer per step


@dataclass(frozen=True)
class Stage:
    """A claim and the attack on it.

    Attributes:
        name: Name on the command line.
        claim: The claim, in words.
        unit: What a case is.
        goal: Number of cases to try in all.
        attack: Function of a seed that tries some cases and returns their number. It raises if one fails.
        missing: What the stage needs and this system lacks, in words; such a stage is skipped.
    """

    name: str
    claim: str
    unit: str
    goal: int
    attack: Callable[[int], int]
    missing: str = ""


def own_ruleset(rng: random.Random) -> Ruleset:
    """Draw a ruleset of any width, number of seeds and combination of rule options."""
    dials = rng.choice(POSSIBLE_DIALS)
    width = rng.randint(2, 12)
    most = 255 // (2 * width)
    needs_four = dials["match"] in ("loan", "territory")
    seeds = 4 if needs_four else rng.choice([rng.randint(1, min(most, 12)), most])
    return Ruleset(name="own", row_width=width, seeds_per_hole=seeds, **dials)


def engine(seed: int) -> int:
    """Compare matches and set-ups with the twin, for the catalogue and for custom rulesets."""
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
    """Return the lead of the player to move after `depth` turns of best play, by plain recursion."""
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
    """Compare minimax, which has a table and windows, with plain recursion."""
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
    """Step environments and a batch, and check that memory does not grow."""
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
    """Compare a solver that has solved other positions with brute force."""
    tally = compare_with_brute_force(seed, 5_000, room=1 << 16)
    assert not tally.faults, tally.faults
    return tally.compared


def hostile_checkpoints(seed: int) -> int:
    """Load mutated checkpoints: each plays a legal action or is rejected."""
    with tempfile.TemporaryDirectory() as place:
        outcomes = fuzz(seed, 50, Path(place))
    wrong = set(outcomes) - {"played", "refused"}
    assert not wrong, wrong
    return 50


def hostile_files(seed: int) -> int:
    """Read mutated books, position sets, results files and configurations."""
    with tempfile.TemporaryDirectory() as place:
        return try_files(seed, 50, Path(place))


_NEEDS_COMPILER = "" if COMPILER else "needs a C compiler"
_NEEDS_ROOT = "needs to mount disks and to become another user: run as root on Linux"

STAGES = (
    Stage("engine", "plays the same games as the plain-Python twin", "turns", 10_000_000, engine),
    Stage(
        "solver", "a used solver is exact, compared with brute force", "positions", 1_000_000, exact_values
    ),
    Stage(
        "proofs",
        "three checkers agree on damaged proof files, and accept only true ones",
        "files",
        50_000,
        proofs,
        _NEEDS_COMPILER,
    ),
    Stage(
        "proof-turns",
        "three checkers play as the plain-Python twin and recorded games",
        "turns",
        200_000,
        proof_turns,
        _NEEDS_COMPILER,
    ),
    Stage("searches", "minimax finds the same values as plain recursion", "positions", 20_000, searches),
    Stage(
        "training-killed",
        "kill -9 loses at most one interval and damages no file",
        "kills",
        100,
        killed_training,
    ),
    Stage(
        "evaluation-killed",
        "kill -9 duplicates no game and loses no written one",
        "kills",
        100,
        killed_evaluation,
    ),
    Stage(
        "full-disk",
        "one error line, no damaged file, resumes when there is space",
        "disks",
        50,
        full_disk,
        "" if may_mount() else _NEEDS_ROOT,
    ),
    Stage(
        "read-only",
        "one error line, no damaged file, resumes when it may write",
        "folders",
        50,
        read_only,
        "" if may_mount() else _NEEDS_ROOT,
    ),
    Stage(
        "two-programs", "a second program on the same run or results is rejected", "pairs", 50, two_programs
    ),
    Stage("forks", "a forked child works, whatever its parent's threads do", "forks", 500, forks),
    Stage(
        "failing-opponents",
        "an exception or Ctrl-C in its turn does not change the episode",
        "steps",
        20_000,
        failing_opponents,
    ),
    Stage("checkpoints", "a mutated checkpoint plays or is rejected", "files", 10_000, hostile_checkpoints),
    Stage(
        "files", "mutated books, position sets, results, configurations too", "files", 10_000, hostile_files
    ),
    Stage("bad-inputs", "each raises a ValueError that names the value", "inputs", 2_000, try_bad_inputs),
    Stage("environments", "memory does not grow in a million steps", "steps", 1_000_000, environment_steps),
    Stage(
        "training-memory",
        "memory does not grow in half an hour of training",
        "seconds",
        1_800,
        training_memory,
    ),
    Stage(
        "losses",
        "signals, closed pipes, full disks, odd names and failing opponents lose no result",
        "cases",
        300,
        losses,
    ),
    Stage("ctrl-c", "Ctrl-C ends every kind of kernel", "signals", 100, interrupted),
)
