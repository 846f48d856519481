"""The window: shows pictures, can be closed, and raises an error without a display."""

import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from error_checks import raises

from mancala_env import Position
from mancala_env.render.pixels import pixels_of
from mancala_env.render.window import NoDisplay, Window

PICTURE = pixels_of(Position("leyla").scene(), width=300)


@pytest.fixture
def window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    window = Window("a test")
    yield window
    window.close()


def test_it_opens_at_the_first_picture_and_closes(window):
    assert not window.is_open
    for _ in range(5):
        window.show(PICTURE)
    assert window.is_open
    process = window._process
    window.close()
    assert not window.is_open
    assert process.returncode == 0
    window.show(PICTURE)  # opens the window again
    assert window.is_open


def test_pictures_of_any_size_follow_each_other(window):
    for width in (40, 700, 41, 1000):
        window.show(pixels_of(Position("gabata_i").scene(), width=width))
    assert window.is_open


def test_it_stays_while_the_program_thinks_and_its_time_is_kept(window):
    began = time.monotonic()
    window.show(PICTURE, seconds=0.3)
    window.show(PICTURE)
    assert time.monotonic() - began >= 0.3
    time.sleep(0.5)
    assert window.is_open


def test_a_program_continues_after_its_window_is_closed(window):
    window.show(PICTURE)
    window._process.send_signal(signal.SIGTERM)
    window._process.wait()
    shown = []
    for _ in range(3):
        window.show(PICTURE)
    window.play((shown.append(1), (PICTURE, 0.0))[1] for _ in range(100))
    assert not window.is_open
    assert len(shown) <= 1


def test_it_ends_with_the_program_that_opened_it(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    script = (
        "import numpy as np, os\n"
        "from mancala_env.render.window import Window\n"
        "window = Window()\n"
        "window.show(np.zeros((20, 30, 3), np.uint8))\n"
        "print(window._process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    # The window's process inherits the output, so it is not read to its end.
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
    for _ in range(200):
        if not _is_running(pid):
            return
        time.sleep(0.05)
    raise AssertionError("the window is still there")


def _is_running(pid):
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip()[:1] not in ("", "Z")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a display")
def test_without_a_display_the_message_says_what_to_do(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    window = Window()
    with raises(NoDisplay, "rgb_array", "ansi"):
        window.show(PICTURE)
    assert not window.is_open


def test_a_missing_pygame_is_named(window, monkeypatch):
    monkeypatch.setattr("mancala_env.render.window.find_spec", lambda name: None)
    with raises(ImportError, "[window]"):
        window.show(PICTURE)


@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed here")
def test_what_is_on_the_screen_is_the_picture(monkeypatch, tmp_path):
    """Opens a real window on a virtual display and reads it back."""
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "640x480x24", "-fbdir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as screen:
        try:
            assert screen.stdout is not None
            monkeypatch.setenv("DISPLAY", f":{screen.stdout.readline().strip()}")
            monkeypatch.delenv("SDL_VIDEODRIVER", raising=False)
            window = Window()
            window.show(PICTURE)
            is_shown = False
            for _ in range(100):
                if is_shown := _is_on(tmp_path / "Xvfb_screen0", PICTURE):
                    break
                time.sleep(0.1)
            assert is_shown
            window.close()
        finally:
            screen.terminate()


def _is_on(screen, picture):
    """Return whether a picture is on a screen of 640 x 480 in an XWD file."""
    seen = np.frombuffer(screen.read_bytes()[-640 * 480 * 4 :], np.uint8).reshape(480, 640, 4)[:, :, 2::-1]
    height, width = picture.shape[:2]
    corners = np.argwhere((seen[: 480 - height, : 640 - width] == picture[0, 0]).all(axis=2))
    return any((seen[y : y + height, x : x + width] == picture).all() for y, x in corners[:1])
