"""The server of `mancala serve`: the static page, and a WebSocket for agents and the solver.

Pages send the requests of :mod:`mancala_env.web.requests`. Each answer is a JSON object with the request's
``id``, and either the result or ``error``. After an internal error of the server, ``failed`` is also set, and
the page answers the request with its own engine.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from mancala_env.agents import spec_forms
from mancala_env.engine.episode import encode_rounds
from mancala_env.errors import MancalaError
from mancala_env.version import __version__
from mancala_env.web import requests
from mancala_env.web.analysis import AnalysisService
from mancala_env.web.requests import BadRequest, Limits
from mancala_env.web.static_files import HEADERS, PageFiles

PAGE = Path(__file__).parent
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
# WebSocket close codes: RFC 6455, section 7.4.
_POLICY, _TRY_LATER = 1008, 1013
_MOST_ERRORS = 200
_log = logging.getLogger(__name__)


def new_app(
    *,
    checkpoints: Path | None = None,
    agents: tuple[str, ...] = (),
    limits: Limits | None = None,
    memory_mb: float = 1024,
    hosts: tuple[str, ...] = _LOCAL,
    page: Path = PAGE,
) -> Starlette:
    """Return the server as an ASGI application.

    Args:
        checkpoints: Folder of checkpoints that pages can play against; None for no checkpoints.
        agents: Specs of further agents; a `python:` spec runs the file that it names.
        limits: Limits of a page's requests.
        memory_mb: Maximum size of a solver's transposition table in MB.
        hosts: Host names to which the server answers; "*" for any.
        page: Folder of the page.
    """
    server = _Server(AnalysisService(memory_mb), limits or Limits(), checkpoints, agents)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if server.service.running:
            _log.warning("waiting for agents to choose their action; press Ctrl-C again to stop at once")
        await asyncio.to_thread(server.service.close)

    return Starlette(
        routes=[
            Route("/api/about", server.tell),
            WebSocketRoute("/api/session", server.serve),
            Mount("/", PageFiles(directory=page)),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)],
        exception_handlers={HTTPException: _refuse, Exception: _apologise},
        lifespan=lifespan,
    )


@dataclass(frozen=True)
class _Server:
    """The agents, solvers and limits that all pages share, and the number of connected pages."""

    service: AnalysisService
    limits: Limits
    checkpoints: Path | None = None
    agents: tuple[str, ...] = ()
    sessions: set["_Session"] = field(default_factory=set)

    async def about(self, _: Any = None) -> dict[str, Any]:
        return {
            "version": __version__,
            "specs": spec_forms(),
            "agents": list(self.agents),
            "checkpoints": await asyncio.to_thread(requests.checkpoints_in, self.checkpoints),
            "limits": asdict(self.limits),
        }

    async def tell(self, _: Request) -> Response:
        return JSONResponse(await self.about(), headers=HEADERS)

    async def serve(self, socket: WebSocket) -> None:
        if not _is_own_origin(socket):
            await socket.close(_POLICY)
            return
        if len(self.sessions) >= self.limits.sessions:
            await socket.close(_TRY_LATER)
            return
        await socket.accept()
        session = _Session(socket, self)
        self.sessions.add(session)
        try:
            await session.serve()
        finally:
            self.sessions.discard(session)

    def without_folder(self, text: str) -> str:
        """Remove the server's folder from the paths of checkpoints in a text."""
        return text.replace(f"{self.checkpoints.resolve()}{os.sep}", "") if self.checkpoints else text


def _is_own_origin(connection: HTTPConnection) -> bool:
    """Return whether a connection comes from this server's own page, or not from a page at all."""
    origin = connection.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == connection.headers.get("host")


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = {404: "page not found", 405: "this page can only be read"}.get(error.status_code, error.detail)
    return JSONResponse({"error": message}, error.status_code, headers=HEADERS)


async def _apologise(_: Request, error: Exception) -> Response:
    _log.error("a request failed", exc_info=error)
    return JSONResponse({"error": "internal error of the server"}, 500, headers=HEADERS)


class _Session:
    """The connection of one page; requests are answered in any order."""

    def __init__(self, socket: WebSocket, server: _Server) -> None:
        self._socket, self._server, self._limits = socket, server, server.limits
        self._tasks: dict[int, asyncio.Task[None]] = {}
        # Token bucket: `a_second` tokens are added per second, up to those of three seconds.
        self._allowed, self._filled = 3.0 * self._limits.a_second, time.monotonic()

    async def serve(self) -> None:
        """Answer requests until the page disconnects, or sends too many invalid requests in a row."""
        errors = 0
        try:
            while errors < _MOST_ERRORS:
                text = await self._receive()
                try:
                    await self._take(text)
                    errors = 0
                except MancalaError as error:
                    errors += 1
                    await self._send({"id": requests.id_of(text), "error": str(error)})
            await self._socket.close(_POLICY)
        except WebSocketDisconnect:
            pass
        finally:
            for task in self._tasks.values():
                task.cancel()

    async def _receive(self) -> str | bytes:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1000))
        text = message.get("text")
        return message.get("bytes", b"") if text is None else text

    async def _take(self, text: str | bytes) -> None:
        """Start the work of a request, or raise a MancalaError if it is invalid or exceeds a limit."""
        request = requests.read(text, self._limits)
        number = request["id"]
        cancels = request["do"] == "cancel"
        task = self._tasks.get(requests.cancelled_id(request)) if cancels else None
        if task is None:  # a cancellation ends work, so it is allowed at any rate
            self._check_rate()
        if cancels:
            await self._send({"id": number, "cancelled": task is not None and task.cancel()})
            return
        if number in self._tasks:
            raise BadRequest(f"request {number} is still running; use another id")
        if len(self._tasks) >= self._limits.at_once:
            raise BadRequest(f"at most {self._limits.at_once} requests can run at once; cancel one")
        work = {"about": self._server.about, "choose": self._choose, "analyse": self._analyse}[request["do"]]
        task = asyncio.create_task(self._answer(number, work(request)))
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))
        await asyncio.sleep(0)  # let it start: a task that is cancelled before would send no answer

    def _check_rate(self) -> None:
        now, rate = time.monotonic(), self._limits.a_second
        self._allowed = min(3.0 * rate, self._allowed + rate * (now - self._filled))
        self._filled = now
        if self._allowed < 1:
            raise BadRequest(f"too many requests: at most {rate} per second")
        self._allowed -= 1

    async def _answer(self, number: int, work: Awaitable[dict[str, Any]]) -> None:
        """Send the result of some work, or why it failed."""
        try:
            answer = {**await work, "done": True}
        except MancalaError as error:
            answer = {"error": self._server.without_folder(str(error))}
        except asyncio.CancelledError:
            answer = {"cancelled": True, "done": True}
        except (OSError, ImportError) as error:  # without the path of a file
            why = (error.strerror or type(error).__name__) if isinstance(error, OSError) else error
            answer = {"error": f"this agent cannot play here: {why}"}
        except (Exception, SystemExit):  # an agent in Python may call sys.exit, which would end the server
            _log.exception("request %d failed", number)
            answer = {"error": "internal error of the server", "failed": True}
        await self._send({"id": number, **answer})

    async def _choose(self, request: dict[str, Any]) -> dict[str, Any]:
        position, rounds = requests.position_of(request), request.get("rounds", 1)
        encode_rounds(rounds)  # raises an error if they are invalid
        spec = requests.spec_of(request, self._limits, self._server.checkpoints, self._server.agents)
        started = time.monotonic()
        action = await self._server.service.choose(spec, position, rounds)
        return {"action": action, "seconds": round(time.monotonic() - started, 4)}

    async def _analyse(self, request: dict[str, Any]) -> dict[str, Any]:
        position, seconds = requests.position_of(request), requests.seconds_of(request, self._limits)
        started, nodes, found = time.monotonic(), 0, {}
        async for solution in self._server.service.analyse(position, seconds):
            nodes += solution.nodes
            found = {
                "lower": solution.lower,
                "upper": solution.upper,
                "actions": {str(action): list(bounds) for action, bounds in solution.action_bounds.items()},
                "nodes": nodes,
                "seconds": round(time.monotonic() - started, 3),
                "exact": solution.is_exact,
            }
            await self._send({"id": request["id"], **found})
        return found

    async def _send(self, answer: dict[str, Any]) -> None:
        with suppress(RuntimeError, WebSocketDisconnect):  # the page has disconnected
            await self._socket.send_text(json.dumps(answer))
