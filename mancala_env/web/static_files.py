"""The files of the page over HTTP, compressed once for clients that accept gzip."""

import asyncio
import gzip
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
        "frame-ancestors 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Headers of every answer of the server."""
_TYPES = ("html", "js", "css", "json", "wasm", "svg", "png", "webmanifest", "f32", "txt", "proof")


class PageFiles(StaticFiles):
    """Serves the page's files, but no Python files."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory)
        self._compressed: dict[str, tuple[int, bytes]] = {}  # time of the last change and content, by path

    async def get_response(self, path: str, scope: Scope) -> Response:
        name = "index.html" if path in ("", ".") else path
        if Path(name).suffix.removeprefix(".") not in _TYPES:
            raise HTTPException(404)
        response = await super().get_response(name, scope)
        asked = Headers(scope=scope)
        if isinstance(response, FileResponse) and "range" not in asked and _accepts_gzip(asked):
            response = await self._in_gzip(response)
        # A weak ETag is that of both encodings.
        response.headers["ETag"] = f"W/{response.headers['ETag']}"
        response.headers["Vary"] = "Accept-Encoding"
        response.headers.update(HEADERS)
        return response

    async def _in_gzip(self, response: FileResponse) -> Response:
        """Return a response in gzip, or the same one if compression does not make the file smaller."""
        path, changed = str(response.path), response.stat_result.st_mtime_ns if response.stat_result else 0
        if self._compressed.get(path, (None,))[0] != changed:
            content = await asyncio.to_thread(lambda: gzip.compress(Path(path).read_bytes(), mtime=0))
            self._compressed[path] = changed, content
        content = self._compressed[path][1]
        if len(content) >= int(response.headers["Content-Length"]):
            return response
        kept: dict[str, Any] = {n: response.headers[n] for n in ("Content-Type", "ETag", "Last-Modified")}
        return Response(content, headers=kept | {"Content-Encoding": "gzip"})


def _accepts_gzip(headers: Headers) -> bool:
    """Return whether a client accepts gzip (RFC 9110, section 12.5.3)."""
    weights = {}
    for offer in headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = offer.partition(";")
        weights[name.strip()] = weight.replace(" ", "").removeprefix("q=")
    weight = weights.get("gzip", weights.get("*", "0"))
    try:
        return float(weight or 1) > 0
    except ValueError:
        return False
