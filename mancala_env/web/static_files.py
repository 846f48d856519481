"""The files of the page over HTTP, compressed once for clients that accept gzip."""

import asyncio
import gzip
from functools import lru_cache
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

    async def get_response(self, path: str, scope: Scope) -> Response:
        name = "index.html" if path in ("", ".") else path
        if Path(name).suffix.removeprefix(".") not in _TYPES:
            raise HTTPException(404)
        response = await super().get_response(name, scope)
        asked = Headers(scope=scope)
        accepts_gzip = "gzip" in asked.get("accept-encoding", "").lower()
        if isinstance(response, FileResponse) and "range" not in asked and accepts_gzip:
            response = await _in_gzip(response)
        # A weak ETag is that of both encodings.
        response.headers["ETag"] = f"W/{response.headers['ETag']}"
        response.headers["Vary"] = "Accept-Encoding"
        response.headers.update(HEADERS)
        return response


async def _in_gzip(response: FileResponse) -> Response:
    """Return a response in gzip, or the same one if compression does not make the file smaller."""
    changed = response.stat_result.st_mtime_ns if response.stat_result else 0
    content = await asyncio.to_thread(_compressed, str(response.path), changed)
    if len(content) >= int(response.headers["Content-Length"]):
        return response
    kept: dict[str, Any] = {n: response.headers[n] for n in ("Content-Type", "ETag", "Last-Modified")}
    return Response(content, headers=kept | {"Content-Encoding": "gzip"})


@lru_cache(1000)
def _compressed(path: str, changed: int) -> bytes:
    """Return a file in gzip; `changed` is the time of its last change."""
    return gzip.compress(Path(path).read_bytes(), mtime=0)
