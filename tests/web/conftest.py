"""Fixtures for the page in Chromium, with a file server. The tests are skipped without Chromium."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from browser_page import AT_ONCE, Open, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


TIMEOUT = 60_000
"""Milliseconds for which a test waits for the page; the searches of a view can slow it down."""


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()
    yield served
    served.stop()


@pytest.fixture
def open_page(chromium: "Browser", site: Site) -> Iterator[Open]:
    """Open the page: open_page("#study", width=360, kept={...}). An error in the page fails the test."""
    from playwright.sync_api import expect

    expect.set_options(timeout=TIMEOUT)
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def open_one(
        fragment: str = "", *, width: int = 1200, height: int = 860, kept: Any = None, **options: Any
    ) -> "Page":
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        stored = {f"mancala.{key}": json.dumps(value) for key, value in {**AT_ONCE, **(kept or {})}.items()}
        context.add_init_script(
            f"for (const [k, v] of Object.entries({json.dumps(stored)}))"
            " if (localStorage.getItem(k) === null) localStorage.setItem(k, v)"
        )
        page = context.new_page()
        page.set_default_timeout(TIMEOUT)

        def on_request(request: Any) -> None:
            if not request.url.startswith((site.address, f"blob:{site.address}")):
                wrong.append(f"a request left the page's origin: {request.url}")

        page.on("request", on_request)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None
        )
        page.goto(site.address + fragment)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_one
    for context in contexts:
        context.close()
    if getattr(site, "was_ended", False):  # the browser reports every failed connection
        wrong = [said for said in wrong if "ERR_CONNECTION" not in said and "WebSocket" not in said]
    assert not wrong, wrong
