"""`mancala serve` in a thread."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from mancala_env.web.server import new_app

CHECKPOINT = sorted((Path(__file__).parent.parent / "data").rglob("*.zip"))[0]


@contextmanager
def served(port: int = 0, **options) -> Iterator[str]:
    """Serve in a thread; yields host:port."""
    config = uvicorn.Config(new_app(**options), port=port, log_level="error", ws_max_size=65_536)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
