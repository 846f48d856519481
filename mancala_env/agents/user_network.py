"""The agent of :func:`mancala_env.agents.from_network`."""

from typing import Any, Unpack

import numpy as np

from mancala_env._util.checks import truth
from mancala_env.agents.base import AgentSettings
from mancala_env.agents.searchers import PuctAgent
from mancala_env.agents.torch_threads import within_torch_threads
from mancala_env.observations import Observer
from mancala_env.search.limit import Limit
from mancala_env.search.network_search import (
    EvaluateObservations,
    check_search_limit,
    fraction,
    guide_of,
)
from mancala_env.search.tree_growth import RootOptions


class NetworkAgent(PuctAgent):
    """Search with a user's network."""

    def __init__(
        self,
        observer: Observer,
        evaluate: EvaluateObservations,
        limit: Limit,
        gumbel: bool,
        margin_share: float,
        **settings: Unpack[AgentSettings],
    ) -> None:
        """Bind the agent to the ruleset of an observer; see :func:`mancala_env.agents.from_network`."""
        super().__init__(observer.ruleset, **settings)
        self.root = RootOptions(gumbel=truth("gumbel", gumbel))
        self.limit = check_search_limit(limit, gumbel)

        def evaluate_within_threads(observations: np.ndarray, legal: np.ndarray) -> tuple[Any, Any]:
            with within_torch_threads(self.num_threads, len(legal)):
                return evaluate(observations, legal)

        share = fraction("margin_share", margin_share)
        self.guide = guide_of(evaluate_within_threads, observer, share, lambda: self.num_threads)
