"""Limits of the search of one position: steps such as ``6``, or a time such as ``0.1s``."""

import math
from typing import NamedTuple

import numpy as np

MOST_TURNS = 99
"""Largest depth in a spec."""
MOST_SIMULATIONS = 10_000_000
"""Largest number of simulations in a spec."""


class Budget(NamedTuple):
    """Limit of the search of one position, in turns of depth or in simulations, or in seconds.

    With a time limit, `steps` is the largest possible number. Otherwise `seconds` is infinite.
    """

    steps: int
    seconds: float = math.inf

    def __str__(self) -> str:
        """Return the text of the limit in a spec."""
        if math.isinf(self.seconds):
            return str(self.steps)
        return np.format_float_positional(self.seconds, trim="-") + "s"
