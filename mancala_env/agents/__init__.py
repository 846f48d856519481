"""Agents: the players of games. :func:`make` makes one from a spec such as ``"minimax:6"``.

| module | content |
|---|---|
| `base` | the base class `Agent` |
| `registry` | specs, and the table of agents that they make |
| `scripted` | random and greedy |
| `searchers` | minimax, mcts, and both with a value network |
| `match` | match+mcts: tree search that maximises the probability of winning the match |
| `network` | trained networks: the most probable action, a sampled action, or a search |
| `perfect` | perfect play by the solver, with or without traps |
| `user` | agents from your function, network, model or file |
| `policy_draws` | draws of a policy, by a seed for each game |
| `torch_threads` | a limit on the threads of torch while an agent runs |
"""

from mancala_env.agents.base import Agent, InvalidSpec
from mancala_env.agents.registry import AgentLike, Spec, make, spec_forms
from mancala_env.agents.user import from_function, from_network, from_policy

__all__ = [
    "Agent",
    "AgentLike",
    "InvalidSpec",
    "Spec",
    "from_function",
    "from_network",
    "from_policy",
    "make",
    "spec_forms",
]
