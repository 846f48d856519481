"""policy+minimax: alpha-beta search with a checkpoint's value network at the leaves.

The network of a checkpoint takes some 30 µs for a position, in which minimax plays 500 turns: at its leaves
it would cost eight turns of depth. So the checkpoint also holds a value network of a thousandth of that cost,
which was fitted to the games that the checkpoint plays (``mancala fit-value``) and runs inside the
search: :mod:`mancala_env.networks.value`.
"""

from pathlib import Path

from mancala_env.agents.searchers import NetworkMinimaxAgent
from mancala_env.networks.checkpoint import check_ruleset, load_value_weights, read_identity
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.search.limit import Budget


class PolicyMinimaxAgent(NetworkMinimaxAgent):
    """Play the turn that leads, so many turns ahead, to what the value network likes best.

    Attributes:
        path: The checkpoint.
        identity: What it is.
    """

    def __init__(
        self,
        ruleset: str | Ruleset,
        budget: Budget,
        path: str | Path,
        *,
        spec: str,
        seed: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Bind the agent to a ruleset and a depth or time, and load the value network of a checkpoint.

        Raises:
            InvalidCheckpoint: No such file, damaged, trained on another ruleset, or without a value network;
                the message says what to do.
        """
        self.path = Path(path)
        self.identity = read_identity(path)
        check_ruleset(path, self.identity, lookup(ruleset))
        network = load_value_weights(path, self.identity).packed()
        super().__init__(ruleset, budget, spec=spec, seed=seed, num_threads=num_threads, network=network)
