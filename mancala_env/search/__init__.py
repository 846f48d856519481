"""Search algorithms: kernels and functions that work without an agent.

| module | content |
|---|---|
| `alphabeta` | alpha-beta search with a transposition table, with or without a value network |
| `uct` | Monte-Carlo tree search with random rollouts and proven endgames |
| `puct` | tree search guided by a value network or by your own function |
| `limit` | limits of a search: steps or seconds |
| `piecewise` | searches of many games on threads, interruptible and within a limit |
"""
