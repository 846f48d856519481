"""`mancala warmup`: afterwards no common program compiles a kernel."""

import json
import subprocess
import sys

import pytest
from error_checks import raises

from mancala_env import cli
from mancala_env.cli import warmup
from mancala_env.errors import MancalaError

# Each route runs on another ruleset than the one that warmup uses.
_ROUTES = '''
import json
import sys
import numpy as np
from mancala_env import Batch, Position, agents, leyla_v0, search
from mancala_env.cli import main
from mancala_env.cli.warmup import warm_up
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.solver.certificate_search import prove

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

def match_environments():
    for opponent in ("random", "greedy", "minimax:1"):
        env = MancalaVecEnv(4, "gabata_i", opponent=opponent, rounds="match", seed=0)
        env.reset()
        env.step(np.argmax(env.action_masks(), axis=1))

def your_network():
    def evaluate(observations, legal):
        return np.zeros(legal.shape), np.zeros(len(legal))

    games, limit = Batch("leyla", 4, seed=0), search.Limit(simulations=16)
    for gumbel in (False, True):
        search.puct("leyla", games, evaluate, limit, gumbel=gumbel, seed=0)
    agents.from_network(evaluate, "leyla", limit, seed=0).act(games.games)

def all_agents():
    """Play a turn of each kind of agent."""
    games = Batch("leyla", 2, seed=0).games
    specs = ["random", "greedy", "minimax:1", "minimax:0.01s", "value+minimax:1", "value+minimax:0.01s"]
    specs += ["mcts:2", "mcts:0.01s", "value+mcts:2", "match+mcts:2", "match+mcts:0.01s", "perfect:0.01s"]
    specs += ["perfect+traps:0.01s", "trained", "sample", "policy+mcts:2"]
    for spec in specs:
        agents.make(spec, "leyla", seed=0).act(games)

def prove_and_verify():
    prove(Position({"like": "leyla", "row_width": 3}))
    main(["prove", "leyla 0,0,1,0,0,2/0,1,0,0,0,0 20-24 S", "--out", "near_the_end.proof"])
    main(["verify", "near_the_end.proof"])

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

def versions():
    """Return the versions of kernels that this process has compiled or read from the cache."""
    return {
        f"{name}.{kernel.__name__}{arguments}"
        for name, module in list(sys.modules.items()) if name.startswith("mancala_env")
        for kernel in vars(module).values() if hasattr(kernel, "py_func")
        for arguments in kernel.overloads
    }

list(warm_up())
warmed = versions()
found = {}
environments = stable_baselines3, batch, match_environments, pettingzoo
for route in (*environments, your_network, all_agents, play, solve, prove_and_verify, evaluate, train, draw):
    before = versions()
    route()
    found[route.__name__] = sorted(versions() - before)
print(json.dumps([len(warmed), found]))
'''


@pytest.mark.slow
def test_warmup_compiles_what_common_programs_use(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _ROUTES], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    num_warmed, found = json.loads(done.stdout.splitlines()[-1])
    assert num_warmed > 30
    assert not any(found.values()), found


def test_warmup_tells_of_each_part(monkeypatch, capsys):
    done = []
    monkeypatch.setattr(warmup, "_PARTS", {"one": lambda: done.append(1), "two": lambda: done.append(2)})
    assert cli.main(["warmup", "--json"]) == 0
    shown = capsys.readouterr()
    assert done == [1, 2]
    assert [each["part"] for each in json.loads(shown.out)["parts"]] == ["one", "two"]
    assert [line.split(":")[0] for line in shown.err.splitlines()] == ["one", "two"]
    assert cli.main(["warmup"]) == 0
    assert "0 kernels compiled" in capsys.readouterr().out


def test_warmup_needs_a_cache(monkeypatch):
    monkeypatch.setattr(warmup, "cache_folder", lambda _: None)
    with raises(MancalaError, "NUMBA_CACHE_DIR"):
        warmup.run(None)
