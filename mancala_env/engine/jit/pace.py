"""Sizes of pieces of kernel work, so that Python can check the clock and handle Ctrl-C between them."""

PIECE_SECONDS = 0.001
"""Target time of a piece. The checks between pieces then take 1 % of the time."""
_MOST_GROWTH, _LEAST_GROWTH = 2.0, 0.125


class Pace:
    """The size of the next piece of work, in units of the kernel, from the times of the previous pieces.

    The time of a node, a turn or a simulation differs by a factor of 100 between boards. The first access to
    a large table takes longer than later accesses. So the first pieces are small.
    """

    def __init__(self, first: int, most: int, seconds: float = PIECE_SECONDS) -> None:
        """Start with pieces of size `first` and at most `most`, and aim at `seconds` for each."""
        self.piece = first
        self._most, self._seconds = most, seconds

    def took(self, seconds: float) -> None:
        """Adapt the size to the time of the last piece."""
        change = min(_MOST_GROWTH, max(_LEAST_GROWTH, self._seconds / max(seconds, 1e-9)))
        self.piece = max(1, min(self._most, round(self.piece * change)))
