"""A window that shows pixels, in its own process.

The process runs this file as a program, with pygame-ce. It handles the events of the window system, so you
can move, resize and close the window between two turns. It ends with its window or with the program that
opened it. Closing the window does not end that program.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.util import find_spec
from struct import Struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_HEADER = Struct("<II")  # height and width of the pixels that follow, 3 bytes each
_READY = b"ready"
_SECONDS_TO_END = 5.0


class NoDisplay(OSError):
    """A window cannot be opened without a display."""


class Window:
    """A window on the screen; :meth:`show` opens it."""

    _process: subprocess.Popen[bytes] | None = None
    _was_closed = False
    _until = 0.0

    def __init__(self, title: str = "mancala") -> None:
        self.title = title

    @property
    def is_open(self) -> bool:
        """Whether the window is on the screen."""
        return self._process is not None and self._process.poll() is None

    def show(self, pixels: "np.ndarray", seconds: float = 0.0) -> None:
        """Show a picture, uint8 `[height, width, 3]`, for at least `seconds`; open the window if necessary.

        The next call waits until the time has passed. Raise ImportError if pygame-ce is not installed, and
        NoDisplay if no display is available.
        """
        if self._was_closed:
            return
        if self._process is None:
            self._open()
        time.sleep(max(0.0, self._until - time.monotonic()))
        assert self._process is not None
        assert self._process.stdin is not None
        height, width = pixels.shape[:2]
        try:
            self._process.stdin.write(_HEADER.pack(height, width))
            self._process.stdin.write(pixels.tobytes())
            self._process.stdin.flush()
        except OSError:  # the user has closed the window
            self._end()
            self._was_closed = True
        self._until = time.monotonic() + seconds

    def play(self, frames: Iterable[tuple["np.ndarray", float]]) -> None:
        """Show frames, each for its time, until the window is closed."""
        for pixels, seconds in frames:
            if self._was_closed:
                return
            self.show(pixels, seconds)

    def close(self) -> None:
        """Close the window; :meth:`show` opens it again."""
        self._end()
        self._was_closed, self._until = False, 0.0

    def _open(self) -> None:
        if find_spec("pygame") is None:
            # Not at the top: the window's process does not import the package.
            from mancala_env._util.command_line import MissingPackage
            from mancala_env._util.installation import pip_command

            raise MissingPackage(f"a window needs pygame-ce: {pip_command('window')}")
        # -P: do not import from the folder of this file.
        self._process = subprocess.Popen(
            [sys.executable, "-P", os.path.abspath(__file__), self.title],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # only the program handles Ctrl-C; it then closes the window
            env=os.environ | {"PYGAME_HIDE_SUPPORT_PROMPT": "1"},
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        if said != _READY:
            self._end()
            raise NoDisplay(
                f"no window can be opened: {said.decode(errors='replace') or 'its process ended'}; "
                "render_mode 'rgb_array' and 'ansi' need no display"
            )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=_SECONDS_TO_END)  # the process ends at the end of its input
        except (subprocess.TimeoutExpired, OSError, ValueError):
            process.kill()
            process.wait()

    def __getstate__(self) -> dict[str, Any]:
        return {"title": self.title}

    def __del__(self) -> None:
        self._end()


def _main(title: str) -> int:
    """Show the pictures from standard input until it ends or the window is closed."""
    import threading

    import pygame

    def read() -> None:
        """Post each picture as an event, and the end of the input as that of a closed window."""
        source = sys.stdin.buffer
        while len(header := source.read(_HEADER.size)) == _HEADER.size:
            height, width = _HEADER.unpack(header)
            pixels = source.read(3 * height * width)
            if len(pixels) == 3 * height * width:
                picture = pygame.image.frombuffer(pixels, (width, height), "RGB")
                pygame.event.post(pygame.event.Event(pygame.USEREVENT, picture=picture))
        pygame.event.post(pygame.event.Event(pygame.QUIT))

    try:
        pygame.display.init()
        if pygame.display.get_driver() != os.environ.get("SDL_VIDEODRIVER", pygame.display.get_driver()):
            print("the driver of SDL_VIDEODRIVER is not available", flush=True)
            return 1
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            print("there is no display", flush=True)  # SDL then uses a driver that shows nothing
            return 1
        pygame.display.set_mode((640, 360), pygame.RESIZABLE)
        pygame.display.set_caption(title)
    except pygame.error as error:
        print(error, flush=True)
        return 1
    print(_READY.decode(), flush=True)
    threading.Thread(target=read, daemon=True).start()
    shown = None
    while (event := pygame.event.wait()).type != pygame.QUIT:
        if event.type == pygame.USEREVENT:
            if shown is None:
                pygame.display.set_mode(event.picture.get_size(), pygame.RESIZABLE)
            shown = event.picture
        elif event.type not in (pygame.VIDEORESIZE, pygame.VIDEOEXPOSE, pygame.WINDOWEXPOSED):
            continue
        if shown is not None:
            _draw(pygame, shown)
    return 0


def _draw(pygame: Any, picture: Any) -> None:
    """Draw a picture at the size of the window, in its proportions."""
    screen = pygame.display.get_surface()
    width, height = picture.get_size()
    scale = min(screen.get_width() / width, screen.get_height() / height)
    if scale != 1:
        size = (max(1, int(width * scale)), max(1, int(height * scale)))
        picture = pygame.transform.smoothscale(picture, size)
    screen.fill(picture.get_at((0, 0)))
    screen.blit(picture, picture.get_rect(center=screen.get_rect().center))
    pygame.display.flip()


if __name__ == "__main__":
    status = _main(sys.argv[1])
    sys.stdout.flush()
    os._exit(status)  # do not wait for the reading thread
