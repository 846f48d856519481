"""TorchRL: REINFORCE over GymEnv, masked by the info."""

import sys
import time

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.envs import GymEnv
from torchrl.modules import ProbabilisticActor

from mancala_env import agents, evaluation

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
# illegal="random": auto_register_info_dict tries the environment out without masks.
options = {"opponent": "random", "observation": "afterstates", "flatten": True, "illegal": "random"}
env = GymEnv("mancala/LayliGoobalay-v0", categorical_action_encoding=True, **options)
env = env.auto_register_info_dict()
env.set_seed(0)
network = nn.Sequential(nn.Linear(204, 128), nn.ReLU(), nn.Linear(128, env.action_spec.n))
judge = lambda seen, mask: network(seen.float() / 10).masked_fill(mask == 0, -1e9)  # noqa: E731
module = TensorDictModule(judge, ["observation", "action_mask"], ["logits"])
how = {"distribution_class": Categorical, "default_interaction_type": "random"}
actor = ProbabilisticActor(module, ["logits"], **how)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
won, done, start = [], 0, time.time()
while done < steps:
    game = env.rollout(500, actor)
    won.append(game["next", "reward"][-1].item())
    logits = judge(game["observation"], game["action_mask"])
    logp = Categorical(logits=logits).log_prob(game["action"])
    loss = (sum(won[-200:]) / len(won[-200:]) - won[-1]) * logp.mean()
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    done += len(game)
print(f"{done / (time.time() - start):,.0f} steps/s")
choose = lambda seen, legal: judge(*map(torch.as_tensor, (seen.reshape(-1, 204), legal))).argmax(1)  # noqa: E731
agent = agents.from_function(choose, "layli_goobalay", observation="afterstates")
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, "layli_goobalay", games=1000, seed=1).win_rate)
