"""Fixtures for the page in Chromium, with a file server. The tests are skipped without Chromium."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from browser_page import AT_ONCE, Open, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


TIMEOUT = 60_000
"""Milliseconds for which a test waits for the page; the searches of a view can slow it down."""

NO_SERVICE_WORKER = "if (navigator.serviceWorker) navigator.serviceWorker.register = async () => {}"
RESTORE = """stored => {
    localStorage.clear();
    sessionStorage.clear();
    for (const [key, value] of Object.entries(stored)) localStorage.setItem(key, value);
}"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Serve the page to all tests of a module, which do not stop the server."""
    served = Site()
    yield served
    served.stop()


@pytest.fixture
def own_site() -> Iterator[Site]:
    """Serve the page to one test, which may stop the server."""
    served = Site()
    yield served
    served.stop()


class _Tabs:
    """Browser tabs that the tests of a module share, because a new tab takes a second of processor time.

    A tab keeps nothing of the last test except for the browser's cache of files. It cannot install a service
    worker.
    """

    def __init__(self, browser: "Browser") -> None:
        self._browser = browser
        self._free: dict[str, list[Page]] = {}
        self._taken: list[tuple[str, Page]] = []

    def take(self, options: dict[str, Any]) -> "Page":
        """Return a tab that the current test does not use."""
        kind = json.dumps(options, sort_keys=True)
        if self._free.get(kind):
            page = self._free[kind].pop()
        else:
            context = self._browser.new_context(**options)
            context.add_init_script(NO_SERVICE_WORKER)
            page = context.new_page()
        self._taken.append((kind, page))
        return page

    def release(self) -> None:
        """End what runs in the tabs of a test."""
        for kind, page in self._taken:
            for other in page.context.pages:
                if other is not page:
                    other.close()
            page.goto("about:blank")
            page.context.clear_permissions()
            self._free.setdefault(kind, []).append(page)
        self._taken.clear()


@pytest.fixture(scope="module")
def tabs(chromium: "Browser") -> _Tabs:
    return _Tabs(chromium)


@pytest.fixture
def open_page(chromium: "Browser", site: Site, tabs: _Tabs) -> Iterator[Open]:
    """Open the page: open_page("#study", width=360, kept={...}). An error in the page fails the test.

    With is_new=True, the page is in a new browser context, where it can install its service worker. Other
    pages are in a tab that earlier tests of the module used, or that `tab` names. In either case the storage
    holds only `kept`. `at` is the address of another server.
    """
    from playwright.sync_api import expect

    expect.set_options(timeout=TIMEOUT)
    contexts: list[BrowserContext] = []
    listening: list[tuple[Page, str, Any]] = []
    wrong: list[str] = []

    def open_one(
        fragment: str = "",
        *,
        width: int = 1200,
        height: int = 860,
        kept: Any = None,
        is_new: bool = False,
        tab: "Page | None" = None,
        at: str = "",
        color_scheme: Any = "light",
        reduced_motion: Any = "no-preference",
        permissions: Sequence[str] = (),
        **options: Any,
    ) -> "Page":
        address = at or site.address
        stored = {f"mancala.{key}": json.dumps(value) for key, value in {**AT_ONCE, **(kept or {})}.items()}
        if is_new:
            context = chromium.new_context(**options)
            contexts.append(context)
            context.add_init_script(
                f"for (const [k, v] of Object.entries({json.dumps(stored)}))"
                " if (localStorage.getItem(k) === null) localStorage.setItem(k, v)"
            )
            page = context.new_page()
        else:
            page = tab or tabs.take(options)
            page.mouse.move(-1, -1)
            page.goto(address + "icon.svg")  # a document of the same origin, without scripts
            page.evaluate(RESTORE, stored)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        page.context.grant_permissions(permissions, origin=address)
        page.set_default_timeout(TIMEOUT)

        def on_request(request: Any) -> None:
            if not request.url.startswith((address, f"blob:{address}")):
                wrong.append(f"a request left the page's origin: {request.url}")

        def on_console(said: Any) -> None:
            # The browser asks for this file because of the document that restored the storage.
            is_of_restore = not is_new and said.location["url"] == address + "favicon.ico"
            if said.type in ("error", "warning") and not is_of_restore:
                wrong.append(said.text)

        def on_error(error: Any) -> None:
            wrong.append(str(error))

        if not tab:
            page.on("request", on_request)
            page.on("pageerror", on_error)
            page.on("console", on_console)
            listeners = {"request": on_request, "pageerror": on_error, "console": on_console}
            listening.extend((page, event, listener) for event, listener in listeners.items())
        page.goto(address + fragment)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_one
    for context in contexts:
        context.close()
    tabs.release()
    for page, event, listener in listening:
        page.remove_listener(event, listener)
    if getattr(site, "was_ended", False):  # the browser reports every failed connection
        wrong = [said for said in wrong if "ERR_CONNECTION" not in said and "WebSocket" not in said]
    assert not wrong, wrong
