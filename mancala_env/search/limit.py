"""Limits of the search of one position: steps such as ``6``, or a time such as ``0.1s``."""

import math
from typing import NamedTuple

import numpy as np

MOST_TURNS = 99
"""Largest depth in a spec."""
MOST_SIMULATIONS = 10_000_000
"""Largest number of simulations in a spec."""


class Budget(NamedTuple):
    """Limit of the search of one position.

    Attributes:
        steps: Depth in turns, or number of simulations; with a time limit the largest possible number.
        seconds: Seconds for each position; infinite if steps are limited instead.
    """

    steps: int
    seconds: float = math.inf

    def __str__(self) -> str:
        """Return the text of the limit in a spec."""
        if math.isinf(self.seconds):
            return str(self.steps)
        return np.format_float_positional(self.seconds, trim="-") + "s"
