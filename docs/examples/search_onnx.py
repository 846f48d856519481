"""A network from an ONNX file in the tree search: here the bundled network, written by mancala export."""

import tempfile
import time
from pathlib import Path

import onnxruntime

from mancala_env import Batch, agents, evaluation, search
from mancala_env.networks import export

RULESET, KIND = "layli_goobalay", "values"  # the observation that the network was trained on
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "trained.onnx"
    export.main(["trained", "--ruleset", RULESET, "--onnx", str(path)])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options)


def evaluate(observations, legal):
    return session.run(["logits", "values"], {"observation": observations, "legal": legal})


batch, limit = Batch(RULESET, 256, seed=1, opening_turns=4), search.Limit(simulations=16)
search.puct(RULESET, batch, evaluate, search.Limit(simulations=2), observation=KIND)  # compiles
start = time.time()
found = search.puct(RULESET, batch, evaluate, limit, observation=KIND, seed=1, num_threads=1)
print(f"{found.simulations.sum() / (time.time() - start):,.0f} simulations/s")
print("first game: action", found.actions[0], "policy", found.policy[0].round(2), "value", found.values[0])
agent = agents.from_network(evaluate, RULESET, limit, observation=KIND, seed=1, num_threads=1)
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, RULESET, games=200, seed=1).win_rate)
