"""The size of the page's first load, and compression by `mancala serve`."""

import functools
import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from browser_page import Open
from page_in_node import FOLDER
from page_server import served

MOST_BYTES = 300_000


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served() as address:
        yield f"http://{address}/"


@pytest.fixture
def site(server: str) -> SimpleNamespace:
    """The server in place of the file server that `open_page` asks."""
    return SimpleNamespace(address=server)


@functools.cache
def client() -> httpx.Client:
    """Return a client that keeps no connection; a new client reads all certificates of the system."""
    return httpx.Client(limits=httpx.Limits(max_keepalive_connections=0))


def ask(address: str, encoding: str | None, **headers: str) -> tuple[httpx.Response, bytes]:
    """Return an answer and the bytes that were sent."""
    request = httpx.Request("GET", address, headers=headers)
    if encoding is not None:
        request.headers["Accept-Encoding"] = encoding
    answer = client().send(request, stream=True)
    content = b"".join(answer.iter_raw())
    answer.close()
    return answer, content


def files_kept_offline() -> list[str]:
    """Return the files that the first visit loads, for itself and to work offline later."""
    source = (FOLDER / "offline.js").read_text(encoding="utf-8")
    listed = re.findall(r'"([\w./-]*[\w-])"', source[source.index("[") : source.index("]")])
    return [*listed, "offline.js"]


def test_the_first_load_is_small() -> None:
    sizes = {name: len(gzip.compress((FOLDER / name).read_bytes())) for name in files_kept_offline()}
    assert len(sizes) > 30
    assert sum(sizes.values()) < MOST_BYTES, sorted(sizes.items(), key=lambda item: -item[1])[:5]


@pytest.mark.slow
def test_the_first_board_in_a_browser_needs_little(open_page: Open) -> None:
    page = open_page(is_new=True)
    page.wait_for_selector(".holes button.legal")
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').map((file) => [file.encodedBodySize, file.decodedBodySize])"
    )
    assert len(sizes) > 20
    assert sum(sent for sent, _ in sizes) < MOST_BYTES < sum(size for _, size in sizes)


@pytest.mark.parametrize("name", files_kept_offline())
def test_files_are_sent_compressed_if_that_makes_them_smaller(server: str, name: str) -> None:
    if name == "api/about":  # the server's own answer
        return
    content = (FOLDER / name).read_bytes()
    answer, sent = ask(server + name, "gzip, deflate, br, zstd")
    assert answer.status_code == 200
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert int(answer.headers["Content-Length"]) == len(sent) <= len(content)
    if answer.headers.get("Content-Encoding") == "gzip":
        assert len(sent) < len(content)
        assert gzip.decompress(sent) == content
    else:
        assert sent == content
        assert len(gzip.compress(content)) >= len(content)
    identity, unpacked = ask(server + name, "identity")
    assert unpacked == content
    assert identity.headers["Content-Type"] == answer.headers["Content-Type"]
    assert identity.headers["ETag"] == answer.headers["ETag"]


@pytest.mark.parametrize(
    ("encoding", "is_compressed"),
    [
        ("GZIP;q=0.5, identity;q=0.1", True),
        ("", False),
        ("identity", False),
        ("br", False),
    ],
)
def test_a_client_gets_an_encoding_that_it_accepts(server: str, encoding: str, is_compressed: bool) -> None:
    answer, sent = ask(server + "app.js", encoding)
    assert (answer.headers.get("Content-Encoding") == "gzip") == is_compressed
    content = (FOLDER / "app.js").read_bytes()
    assert (gzip.decompress(sent) if is_compressed else sent) == content


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_an_unchanged_file_is_not_sent_again(server: str, encoding: str) -> None:
    first, _ = ask(server + "app.js", encoding)
    again, sent = ask(server + "app.js", encoding, **{"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, sent) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Vary"] == "Accept-Encoding"
    other, _ = ask(server + "app.js", encoding, **{"If-None-Match": 'W/"of another file"'})
    assert other.status_code == 200


def test_a_part_of_a_file_is_sent_as_it_is(server: str) -> None:
    answer, sent = ask(server + "mancala.wasm", "gzip", Range="bytes=0-3")
    assert (answer.status_code, sent) == (206, b"\0asm")
    assert "Content-Encoding" not in answer.headers


def test_headers_are_those_of_the_content(server: str) -> None:
    head = client().head(server + "mancala.wasm", headers={"Accept-Encoding": "gzip"})
    answer, sent = ask(server + "mancala.wasm", "gzip")
    assert head.headers["Content-Length"] == answer.headers["Content-Length"] == str(len(sent))


def test_a_file_that_changed_is_compressed_again(tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text("first " * 100, encoding="utf-8")
    with served(page=tmp_path) as address:
        _, first = ask(f"http://{address}/", "gzip")
        file.write_text("second " * 100, encoding="utf-8")
        os.utime(file, (1, 1))  # the clock of a file system may be coarse
        _, second = ask(f"http://{address}/", "gzip")
    assert gzip.decompress(first) == b"first " * 100
    assert gzip.decompress(second) == b"second " * 100
