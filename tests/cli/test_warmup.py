"""`mancala warmup`: afterwards no common program compiles a kernel."""

import json
import os
import subprocess
import sys

import pytest
from error_checks import raises

from mancala_env.cli import warmup
from mancala_env.errors import MancalaError

# Each route runs on another ruleset than the one that warmup uses.
_ROUTES = """
import json
import numpy as np
from numba.core.event import install_recorder
from mancala_env import Batch, Position, agents, leyla_v0
from mancala_env.cli import main
from mancala_env.envs.sb3 import MancalaVecEnv

def stable_baselines3():
    for kind in ("board", "afterstates"):
        env = MancalaVecEnv(4, "leyla", observation=kind, seed=0)
        env.reset()
        env.step(np.argmax(env.action_masks(), axis=1))

def batch():
    games = Batch("gabata_i", 8, seed=0, rounds="match", opening_turns=2)
    games.step(games.legal_mask.argmax(axis=1))
    games.play_random(3)
    games.reset()

def pettingzoo():
    env = leyla_v0.env()
    env.reset(seed=1)
    env.step(2)
    env.observe(env.agents[0])

def play():
    main(["play", "--plain", "--south", "minimax:2", "--north", "greedy", "--seed", "1"])

def solve():
    main(["solve", "leyla 0,0,1,0,0,2/0,1,0,0,0,0 20-24 S"])

def evaluate():
    main(["evaluate", "trained", "greedy", "--games", "4"])

def train():
    size = "--environment_steps 64 --selfplay.games 4 --ppo.steps 8 --ppo.batch_size 32"
    labels = "--distillation.positions 10 --evaluation.games 4"
    main(["train", "layli_goobalay", *size.split(), *labels.split()])

def draw():
    Position("leyla").to_svg(action=0)

compiled = {}
for route in (stable_baselines3, batch, pettingzoo, play, solve, evaluate, train, draw):
    with install_recorder("numba:compile") as recorder:
        route()
    compiled[route.__name__] = sorted({e[1].data["dispatcher"].__name__ for e in recorder.buffer})
print(json.dumps(compiled))
"""


@pytest.mark.slow
def test_after_warmup_no_route_compiles(tmp_path):
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(*words):
        command = [sys.executable, *words]
        return subprocess.run(
            command, env=variables, cwd=tmp_path, check=True, capture_output=True, text=True
        )

    first = run("-m", "mancala_env.cli", "warmup", "--json")
    parts = json.loads(first.stdout)["parts"]
    assert [each["part"] for each in parts] == list(warmup._PARTS)
    assert sum(each["kernels"] for each in parts) > 100
    assert len(first.stderr.splitlines()) == len(parts)  # progress
    again = run("-m", "mancala_env.cli", "warmup")
    assert "0 kernels compiled" in again.stdout
    compiled = json.loads(run("-c", _ROUTES).stdout.splitlines()[-1])
    assert not any(compiled.values()), compiled


def test_warmup_needs_a_cache(monkeypatch):
    monkeypatch.setattr(warmup, "cache_folder", lambda _: None)
    with raises(MancalaError, "NUMBA_CACHE_DIR"):
        warmup.run(None)
