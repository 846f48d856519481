"""`mancala serve`: serve the browser page with checkpoints and a large solver."""

import ipaddress
import os
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser, needing, true_or_false
from mancala_env._util.stop_signals import STOP_SIGNALS, handled, is_ignored
from mancala_env.agents import Spec
from mancala_env.cli.options import RULESET
from mancala_env.errors import InvalidArgument
from mancala_env.games.position import Position
from mancala_env.rulesets import lookup
from mancala_env.web.address import page_address

DESCRIPTION = (
    "Serve the page for playing and studying in a browser. The server adds trained checkpoints, agents in "
    "Python, and a solver with gigabytes of memory. Only this machine can connect, unless you set --host."
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for every network interface")
    add("--port", type=int, default=8424, help="port to listen on; 0 for any free port")
    add("--checkpoints", metavar="FOLDER", help="folder of checkpoints to play against")
    add("--agents", nargs="*", default=[], metavar="SPEC", help="specs of further agents to play against")
    add("--ruleset", help=f"{RULESET}, with which the page starts")
    add("--memory_mb", type=int, default=1024, help="size of a solver's transposition table in MB")
    add("--browser", type=true_or_false, default=True, metavar="BOOL", help="open a browser: true or false")


def run(options: Any) -> int:
    with needing("mancala serve", "serve"):
        import uvicorn

        from mancala_env.web.requests import Limits
        from mancala_env.web.server import new_app

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: Any) -> None:
            if self.should_exit:  # a second signal: the first one waits for agents
                _say_stopped()
                os._exit(0)
            super().handle_exit(sig, frame)

    folder = options.checkpoints
    # A blank name is an unset shell variable.
    if folder is not None and (not folder.strip() or not Path(folder).is_dir()):
        raise InvalidArgument(f"--checkpoints must be an existing folder, not {folder!r}")
    for spec in options.agents:
        named = Spec.parse(spec)
        _ = named.ruleset, named.identity  # raises now if a file of the spec cannot be read
    whole("--memory_mb", options.memory_mb, 1)
    start = "" if options.ruleset is None else page_address(Position(lookup(options.ruleset)))
    listening = _listening(options.host, options.port)
    port = listening.getsockname()[1]
    limits, checkpoints = Limits(), None if folder is None else Path(folder)
    served = {"checkpoints": checkpoints, "agents": tuple(options.agents), "limits": limits}
    app = new_app(**served, memory_mb=options.memory_mb, hosts=_names(options.host))
    name = "127.0.0.1" if options.host in ("0.0.0.0", "::") else options.host
    address = f"http://{f'[{name}]' if ':' in name else name}:{port}/{start}"
    print(f"mancala is served at {address} (press Ctrl-C to stop)", flush=True)
    if options.browser:
        # A text browser runs until the user leaves it.
        threading.Thread(target=_open_browser, args=(address,), daemon=True).start()
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ws_max_size=4 * limits.message_bytes,
        ws_ping_interval=20,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    server = Server(config)
    # uvicorn handles only SIGINT and SIGTERM.
    others = [each for each in STOP_SIGNALS if each.name == "SIGHUP" and not is_ignored(each)]
    with suppress(KeyboardInterrupt), handled(dict.fromkeys(others, server.handle_exit)):
        server.run(sockets=[listening])
    _say_stopped()
    return 0


def _say_stopped() -> None:
    print("mancala serve: stopped", file=sys.stderr, flush=True)


def _open_browser(address: str) -> None:
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(address)


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; an occupied port is an error of one line."""
    whole("--port", port, 0, 65_535)
    if not host.strip():  # an unset shell variable
        raise InvalidArgument(f"--host must be an address or a name, not {host!r}")
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # a browser opened before the server runs waits
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "--port 0 takes any free port"
        raise InvalidArgument(f"cannot listen on {host}:{port}: {reason}; {hint}") from error
    return listening


def _names(host: str) -> tuple[str, ...]:
    """Return the host names the server answers to; others may belong to a site that resolves to this one."""
    with suppress(ValueError):  # a name
        if not ipaddress.ip_address(host).is_loopback:
            return ("*",)
    return ("localhost", "127.0.0.1", "[::1]", host)
