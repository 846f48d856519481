"""How long a search may take for one position: steps such as ``6``, or a time such as ``0.1s``."""

import math
from typing import NamedTuple

import numpy as np

MOST_TURNS = 99
"""The deepest search a spec can ask for."""
MOST_SIMULATIONS = 10_000_000
"""The most simulations a spec can ask for."""


class Budget(NamedTuple):
    """How long to search one position.

    Attributes:
        steps: Turns deep, or simulations; the most there can be where time decides.
        seconds: Seconds for each position; infinite where `steps` decides.
    """

    steps: int
    seconds: float = math.inf

    def __str__(self) -> str:
        """Return the budget as a spec writes it."""
        if math.isinf(self.seconds):
            return str(self.steps)
        return np.format_float_positional(self.seconds, trim="-") + "s"
