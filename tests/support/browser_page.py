"""Helpers for tests of the page in a real browser, with a file server."""

import functools
import http.server
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mancala_env.web

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(mancala_env.web.__file__).parent
AT_ONCE = {"settings": {"speed": "off", "theme": "auto", "keys": True, "language": None}}

Open = Callable[..., "Page"]


class _Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".wasm": "application/wasm",
        ".webmanifest": "application/manifest+json",
    }

    def log_message(self, format: str, *args: object) -> None:
        pass


class Site:
    """A file server of a folder on the loopback interface."""

    def __init__(self, folder: Path = FOLDER) -> None:
        handler = functools.partial(_Files, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}/"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def status(page: "Page") -> Any:
    return page.locator(".status")


def wait_for_you(page: "Page") -> bool:
    """Wait for the user's turn or the end; returns whether the game is running."""
    page.wait_for_function(
        "() => /Your turn|has won|draw|is over/.test(document.querySelector('.status').textContent)"
    )
    return "Your turn" in status(page).inner_text()


def open_form(page: "Page") -> None:
    """Open the folded form of a new game."""
    page.evaluate("document.querySelector('.new-game details').open = true")
