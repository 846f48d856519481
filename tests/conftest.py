"""Settings for all tests."""

from hypothesis import settings

# A first call may compile a kernel, so no deadline. The same examples on every machine and every run:
# a failure is then about the change at hand.
settings.register_profile("mancala", deadline=None, derandomize=True)
settings.load_profile("mancala")
