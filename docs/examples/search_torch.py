"""A torch network in the tree search: search many games at once, then play as an agent."""

import time

import torch

from mancala_env import Batch, agents, evaluation, search

RULESET, KIND = "layli_goobalay", "afterstates"
torch.set_num_threads(1)
torch.manual_seed(0)


class Network(torch.nn.Module):
    """Your network: observations [N, 6, 34] and legal actions [N, 6] to logits [N, 6] and values [N]."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(34, 2)
        torch.nn.init.zeros_(self.layer.weight)
        self.layer.weight.data[:, -1] = torch.tensor([0.5, 0.2])  # the last feature is the lead in seeds

    def forward(self, observations, legal):
        logits, values = self.layer(observations.float()).unbind(-1)
        chances = logits.masked_fill(~legal, -1e9).softmax(1)
        return logits, torch.tanh((chances * values).sum(1))


network = Network().eval()  # or load the weights that you trained


def evaluate(observations, legal):
    with torch.inference_mode():
        return network(torch.from_numpy(observations), torch.from_numpy(legal))


batch, limit = Batch(RULESET, 256, seed=1, opening_turns=4), search.Limit(simulations=64)
search.puct(RULESET, batch, evaluate, search.Limit(simulations=2), observation=KIND)  # compiles
start = time.time()
found = search.puct(RULESET, batch, evaluate, limit, observation=KIND, seed=1, num_threads=1)
print(f"{found.simulations.sum() / (time.time() - start):,.0f} simulations/s")
print("first game: action", found.actions[0], "policy", found.policy[0].round(2), "value", found.values[0])
agent = agents.from_network(evaluate, RULESET, limit, observation=KIND, seed=1, num_threads=1)
for opponent in ("random", "greedy"):
    print(opponent, evaluation.play_matches(agent, opponent, RULESET, games=200, seed=1).win_rate)
