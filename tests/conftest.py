"""Settings for all tests."""

import gc
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import settings

# Small networks gain nothing from a second thread, and on a busy machine waiting threads cost much time.
# torch and numpy read this variable when they are imported, here and in processes that tests start.
os.environ["OMP_NUM_THREADS"] = "1"

# Variables of a terminal or a CI system would change the width and the colours of the output that tests read.
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "PYTHON_COLORS"):
    os.environ.pop(_name, None)

# Half of the time of the collection would be garbage collection, which finds nothing.
gc.disable()

# Tests that read standard error expect no message about the compilation of kernels.
os.environ["MANCALA_ENV_QUIET"] = "1"

# No deadline, because a first call may compile a kernel. Every run draws the same examples, so that a new
# failure comes from the last change.
settings.register_profile("mancala", deadline=None, derandomize=True)
settings.load_profile("mancala")

# A shell that starts the tests in the background may ignore SIGINT, and nohup ignores SIGHUP. Processes that
# tests interrupt would inherit that and never end.
with suppress(ValueError):  # another thread than the main one
    for _name in ("SIGINT", "SIGTERM", "SIGHUP"):
        _number = getattr(signal, _name, None)  # Windows lacks SIGHUP
        if _number and signal.getsignal(_number) is signal.SIG_IGN:
            signal.signal(_number, signal.default_int_handler if _name == "SIGINT" else signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with slow tests first, so that no process waits for another one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Collect garbage again, but rarely, and skip the modules and the tests, which stay."""
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _free_memory() -> Iterator[None]:
    """Collect garbage after each module: tables of solvers in it may take gigabytes."""
    yield
    gc.collect()


@pytest.fixture(scope="module", autouse=True)
def _no_analysis_goes_on() -> Iterator[None]:
    """Fail if an analysis of a module still runs after it: it would slow all later tests down."""
    yield
    deadline = time.monotonic() + 60
    while any(thread.name == "mancala-values" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "an analysis of this module still runs"
        time.sleep(0.05)


@pytest.fixture(scope="session", autouse=True)
def _sb3_logs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let SB3 write its default log folders under pytest's temporary folder."""
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("sb3"))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def chromium() -> Iterator:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
