"""Limits of the search of one position, such as a time or a number of simulations."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mancala_env._util.checks import is_number, whole
from mancala_env.errors import InvalidArgument

MOST_TURNS = 99
"""Largest depth."""
MOST_SIMULATIONS = 10_000_000
"""Largest number of simulations."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Limit of the search of one position. With a time or nodes as well, the search ends at the first limit.

    The text of a limit is the part of a spec after the colon.

    >>> str(Limit(depth=6)), str(Limit(simulations=1000)), str(Limit(seconds=0.1))
    ('6', '1000', '0.1s')
    >>> str(Limit(depth=6, seconds=0.1)), str(Limit(nodes=5000))
    ('6+0.1s', '5000nodes')

    Attributes:
        seconds: Time in seconds, more than 0, for every search except one with ``gumbel=True``.
        depth: Depth in turns, 1 to 99, for minimax.
        simulations: Number of simulations, 1 to 10,000,000, for tree searches.
        nodes: Number of turns that the search plays, at least 1, for minimax. The search may exceed it by
            about 200 turns.

    Raises:
        InvalidArgument: A number is given without its name or is out of range, no limit is given, or both
            depth and simulations are.
    """

    seconds: float | None = None
    depth: int | None = None
    simulations: int | None = None
    nodes: int | None = None

    def __new__(cls, *numbers: Any, **_: Any) -> "Limit":
        """Refuse numbers without a name, which could be any of the limits."""
        if numbers:
            raise InvalidArgument(
                f"Limit({', '.join(map(repr, numbers))}) does not say what it limits; write seconds=, "
                f"depth=, simulations= or nodes=, such as Limit(simulations={numbers[0]!r})"
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.given:
            raise InvalidArgument("Limit() is empty; give a limit, such as Limit(simulations=100)")
        if self.depth is not None and self.simulations is not None:
            raise InvalidArgument(
                f"Limit(depth={self.depth!r}, simulations={self.simulations!r}) fits no search: minimax has "
                "a depth, tree searches have simulations; give one of them"
            )
        seconds = self.seconds
        if seconds is not None and not (is_number(seconds) and 0 < seconds < float("inf")):
            raise InvalidArgument(f"seconds must be a finite number of more than 0, not {seconds!r}")
        for name, most in (("depth", MOST_TURNS), ("simulations", MOST_SIMULATIONS), ("nodes", None)):
            if (value := getattr(self, name)) is not None:
                whole(name, value, 1, most)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the limits that are given."""
        return tuple(each.name for each in fields(self) if getattr(self, each.name) is not None)

    @property
    def max_depth(self) -> int:
        """The depth, or the largest possible one."""
        return MOST_TURNS if self.depth is None else self.depth

    @property
    def max_simulations(self) -> int:
        """The number of simulations, or the largest possible one."""
        return MOST_SIMULATIONS if self.simulations is None else self.simulations

    @property
    def max_seconds(self) -> float:
        """The time in seconds, or infinity."""
        return float("inf") if self.seconds is None else self.seconds

    def __repr__(self) -> str:
        """Return the limit with the given numbers only."""
        return f"Limit({', '.join(f'{name}={getattr(self, name)!r}' for name in self.given)})"

    def __str__(self) -> str:
        """Return the text in a spec; + joins several limits."""
        texts = [str(each) for each in (self.depth, self.simulations) if each is not None]
        if self.nodes is not None:
            texts.append(f"{self.nodes}nodes")
        if self.seconds is not None:
            texts.append(np.format_float_positional(self.seconds, trim="-") + "s")
        return "+".join(texts)


def check_limit(limit: Any, allowed: Sequence[str], search: str) -> Limit:
    """Return a limit if a search can keep it: if it gives `allowed` numbers only.

    Raises:
        InvalidArgument: It is not a Limit, or the search cannot keep it.
    """
    if not isinstance(limit, Limit):
        raise InvalidArgument(f"limit must be a Limit, such as Limit({allowed[0]}=10), not {limit!r}")
    if wrong := [name for name in limit.given if name not in allowed]:
        raise InvalidArgument(f"{search} takes {' or '.join(allowed)}, not {wrong[0]}: {limit!r}")
    return limit
