"""Search algorithms: kernels and functions that work without an agent.

:func:`puct` searches games with your own network.

| module | content |
|---|---|
| `network_search` | :func:`puct`: tree search guided by your own network |
| `limit` | :class:`Limit`: limit of a search in simulations, depth, nodes or seconds |
| `alphabeta` | alpha-beta search with a transposition table, with or without a value network |
| `uct` | Monte-Carlo tree search with random rollouts and proven endgames |
| `tree_search` | kernels of the tree search guided by a network |
| `tree_growth` | tree searches of many games side by side |
| `root_noise` | random numbers that depend only on the seed of each game |
| `piecewise` | searches of many games on threads, interruptible and within a limit |
"""

from typing import TYPE_CHECKING, Any

from mancala_env.search.limit import Limit

if TYPE_CHECKING:
    from mancala_env.search.network_search import EvaluateObservations, PuctOptions, puct
    from mancala_env.search.tree_growth import PuctResults

__all__ = ["EvaluateObservations", "Limit", "PuctOptions", "PuctResults", "puct"]


def __getattr__(name: str) -> Any:
    """Import what needs the kernels of a search on first use."""
    if name not in __all__:
        raise AttributeError(f"{__name__}.{name} does not exist")
    from mancala_env.search import network_search

    return getattr(network_search, name)
