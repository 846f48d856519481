"""`mancala serve`: play and study in a browser, with checkpoints and a large solver."""

import ipaddress
import socket
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from mancala_env._util.command_line import Parser, needing, true_or_false
from mancala_env.agents import Spec
from mancala_env.errors import InvalidArgument

HELP = "play and study in a browser"
DESCRIPTION = (
    "Serve the page that plays and studies, with what a browser alone cannot do: trained checkpoints, "
    "agents in Python, a solver with gigabytes. Nobody but this machine can reach it unless --host says so."
)
DEFAULT_PORT = 8424


def add_arguments(parser: Parser) -> None:
    """Add what the command takes."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0: every one")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="port to listen on; 0: any that is free"
    )
    parser.add_argument("--checkpoints", help="folder whose checkpoints can be played")
    parser.add_argument(
        "--agents",
        nargs="*",
        default=[],
        help="specs to offer besides, such as python:FILE.py:FUNCTION",
    )
    parser.add_argument("--memory_mb", type=int, default=1024, help="size of a solver's table")
    parser.add_argument(
        "--browser", type=true_or_false, default=True, metavar="BOOL", help="open a browser: true or false"
    )


def run(options: Any) -> int:
    """Run the command; returns the exit status."""
    with needing("mancala serve", "serve"):
        import uvicorn

        from mancala_env.web.requests import Limits
        from mancala_env.web.server import new_app
    folder = _folder(options.checkpoints)
    for spec in options.agents:
        named = Spec.parse(spec)
        _ = named.ruleset, named.identity  # what cannot be read is told before anybody plays it
    if options.memory_mb < 1:
        raise InvalidArgument(f"memory_mb must be at least 1, not {options.memory_mb}")
    listening = _listening(options.host, options.port)
    port = listening.getsockname()[1]
    limits = Limits()
    app = new_app(
        checkpoints=folder,
        agents=tuple(options.agents),
        limits=limits,
        memory_mb=options.memory_mb,
        hosts=_names(options.host),
    )
    name = "127.0.0.1" if options.host in ("0.0.0.0", "::") else options.host
    address = f"http://{f'[{name}]' if ':' in name else name}:{port}/"
    print(f"mancala is served at {address} (Ctrl-C ends it)", flush=True)
    if options.browser:
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(address)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws_max_size=4 * limits.message_bytes,
        ws_ping_interval=20,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
    print("mancala serve: ended", file=sys.stderr)
    return 0


def _folder(name: str | None) -> Path | None:
    if name is None:
        return None
    if not name.strip() or not Path(name).is_dir():  # a variable of a shell that is not set
        raise InvalidArgument(f"checkpoints must be a folder, and {name!r} is none")
    return Path(name)


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a port that is taken is told in one line."""
    if not 0 <= port <= 65_535:
        raise InvalidArgument(f"port must be 0 to 65535, not {port}")
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # who comes before the server runs waits; a browser is sent there at once
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidArgument(
            f"cannot listen on {host}:{port}: {reason}; --port 0 takes any that is free"
        ) from error
    return listening


def _names(host: str) -> tuple[str, ...]:
    """Return the names the server answers to: others may be another site's that points here."""
    try:
        if not ipaddress.ip_address(host).is_loopback:
            return ("*",)
    except ValueError:
        pass
    return ("localhost", "127.0.0.1", "[::1]", host)
