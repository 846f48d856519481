"""Settings for all tests."""

import os
import signal
from contextlib import suppress

import pytest
from hypothesis import settings

# Networks this small gain nothing from a second thread, and on a busy machine threads that wait for each
# other lose a lot. Read when torch and numpy are imported, here and in processes that tests start.
os.environ["OMP_NUM_THREADS"] = "1"

# What a terminal or a CI system exports would change the width and the colours of everything a test reads.
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "PYTHON_COLORS"):
    os.environ.pop(_name, None)

# A first call may compile a kernel, so no deadline. The same examples on every machine and every run:
# a failure is then about the change at hand.
settings.register_profile("mancala", deadline=None, derandomize=True)
settings.load_profile("mancala")

# Whoever starts the tests in the background may have Ctrl-C ignored, and what a test interrupts would go on
# for ever. Processes that tests start inherit it.
with suppress(ValueError):  # another thread than the main one
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _sb3_logs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the folder that SB3 makes for each learner without a logger of its own among pytest's."""
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("sb3"))
