"""How much a kernel is given to do at once, so that Python looks at the clock and hears Ctrl-C in time."""

PIECE_SECONDS = 0.001
"""What a piece of work is to take: the sum of many looks costs a hundredth, and none comes late."""
_MOST_GROWTH, _LEAST_GROWTH = 2.0, 0.125


class Pace:
    """The size of the next piece of work, by what the pieces before it took.

    What a node, a turn or a simulation costs differs by a hundred times between boards, and the first touch
    of a large table costs more than all that follow. So pieces begin small.

    Attributes:
        piece: How much to do next, in whatever the kernel counts.
    """

    def __init__(self, first: int, most: int, seconds: float = PIECE_SECONDS) -> None:
        """Begin with pieces of size `first`; none is larger than `most`, and each is to take so long."""
        self.piece = first
        self._most, self._seconds = most, seconds

    def took(self, seconds: float) -> None:
        """Take note of what the last piece took."""
        change = min(_MOST_GROWTH, max(_LEAST_GROWTH, self._seconds / max(seconds, 1e-9)))
        self.piece = max(1, min(self._most, round(self.piece * change)))
