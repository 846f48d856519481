"""Scripts of the README and the installation page pass pyright in its strict mode."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# The README calls learn() of MaskablePPO, from Stable-Baselines3's sb3-contrib. Strict pyright reports this
# message for that method, because its own annotations are incomplete. It is not about mancala_env.
_NOT_OURS = 'Type of "learn" is partially unknown'
# Objects that the pages do not show, as a user would use them.
MORE = """
import numpy as np

import mancala_env
from mancala_env import Batch, Position, agents, gabata_v0, leyla_v0
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.envs.vector import MancalaVectorEnv

raw = gabata_v0.raw_env("gabata_i")
raw.reset(seed=1)
print(raw.position.seeds.sum(), raw.observe("player_0")["action_mask"])
env = leyla_v0.env(rounds="match", render_mode="ansi")
env.reset(seed=1)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    env.step(None if termination or truncation else env.action_space(agent).sample(info["action_mask"]))
print(env.unwrapped.position.winner, env.terminations, env.agent_selection.upper())
first = agents.from_function(lambda position: position.legal_actions[0], "leyla")
many = agents.from_function(lambda seen, legal: legal.argmax(axis=1), "leyla", observation="board")
one = MancalaEnv("leyla", opponent=[first, many])
seen, info = one.reset(seed=0)
seen, reward, terminated, truncated, info = one.step(one.action_space.sample())
print(one.position.legal_actions, one.seat, one.opponent.spec, seen.sum(), one.action_masks().any())
vector = MancalaVectorEnv(4, "leyla")
seen, infos = vector.reset(seed=0)
seen, rewards, ends, cuts, infos = vector.step(infos["action_mask"].argmax(axis=1))
print(seen.shape, rewards.sum(), vector.seats, MancalaVecEnv(4, "leyla").reset())
batch = Batch("leyla", 4)
batch.step(np.zeros(4, int))
now = mancala_env.step("leyla", batch.games, [0, 1, 2, 3])
print(batch.state.seeds, batch.legal_mask, now.rewards.sum(), Position.from_games("leyla", now.games).counts)
"""


@pytest.mark.slow
def test_scripts_of_a_user_are_typed(tmp_path):
    pytest.importorskip("pyright", reason="pyright is not installed here")
    for page in (ROOT / "README.md", ROOT / "docs" / "install.md"):
        for i, block in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
            (tmp_path / f"{page.stem}_{i}.py").write_text(block, encoding="utf-8")
    (tmp_path / "more.py").write_text(MORE, encoding="utf-8")
    config = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    report = json.loads(done.stdout)
    scripts = list(tmp_path.glob("*.py"))
    assert report["summary"]["filesAnalyzed"] == len(scripts) > 3, done.stderr
    found = [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in report["generalDiagnostics"]
        if _NOT_OURS not in each["message"]
    ]
    assert not found, "\n".join(found)
