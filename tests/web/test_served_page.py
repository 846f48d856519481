"""The page of `mancala serve`: a checkpoint plays, and the page reconnects after a restart."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from browser_page import Open, open_form, status, wait_for_you
from page_server import CHECKPOINT, served

from mancala_env import Position

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import expect

pytest.importorskip("torch", reason="a checkpoint plays with torch")

pytestmark = pytest.mark.slow

ENDLESS = Position("layli_goobalay_long").to_text()
"""A position whose analysis does not end during a test."""


class _At:
    """A server with the interface of the file server in the fixtures. It can be stopped early."""

    def __init__(self, address: str, end: Callable[[], None]) -> None:
        self.address, self._end, self.was_ended = address, end, False

    def end(self) -> None:
        self.was_ended = True
        self._end()


@pytest.fixture
def site(tmp_path: Path):
    (tmp_path / "small.zip").write_bytes(CHECKPOINT.read_bytes())
    with ExitStack() as stack:
        address = stack.enter_context(served(checkpoints=tmp_path, agents=("trained",), memory_mb=64))
        yield _At(f"http://{address}/", stack.close)


def test_a_checkpoint_plays(open_page: Open) -> None:
    page = open_page()
    open_form(page)
    page.get_by_label("Opponent").select_option("served:small.zip")
    page.get_by_role("button", name="Start").click()
    for key in "123456":
        page.keyboard.press(key)
        assert wait_for_you(page)
    page.get_by_role("link", name="Study").click()
    page.get_by_label("The position as text").fill("layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S")
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_text("All values are exact").wait_for(timeout=120_000)  # kernels may be compiled


def test_a_cancelled_analysis_leaves_the_next_one_exact(open_page: Open) -> None:
    page = open_page("#study/" + ENDLESS.replace(" ", "+"))
    page.wait_for_function("() => /Solving: [1-9]/.test(document.querySelector('.panel').textContent)")
    for key in "66":
        page.keyboard.press(key)  # cancels the analysis of the previous position
    page.get_by_label("The position as text").fill("layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S")
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_text("All values are exact").wait_for(timeout=60_000)
    expect(page.locator(".notice.news")).to_have_text("You left the game that you studied.")
    expect(page.get_by_role("alert").first).to_be_hidden()


def test_the_page_continues_by_itself_when_the_server_is_gone(
    open_page: Open, site: _At, tmp_path: Path
) -> None:
    page = open_page(is_new=True)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")  # it has stored the page
    open_form(page)
    page.get_by_label("Opponent").select_option("served:small.zip")
    page.get_by_role("button", name="Start").click()
    page.keyboard.press("1")
    assert wait_for_you(page)
    page.get_by_role("link", name="Study").click()
    page.get_by_label("The position as text").fill(ENDLESS)
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_function("() => /Solving: [1-9]/.test(document.querySelector('.panel').textContent)")
    port = int(site.address.rstrip("/").rsplit(":", 1)[1])
    site.end()  # during an analysis
    news = page.locator(".notice.news")
    expect(news).to_contain_text("the server is gone")
    expect(news).to_contain_text("own solver")
    page.get_by_label("The position as text").fill("layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S")
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_text("All values are exact").wait_for(timeout=60_000)
    page.get_by_role("link", name="Play").click()
    page.wait_for_selector(".view.play")
    for key in "1234":
        page.keyboard.press(key)
        assert wait_for_you(page)
    expect(news).to_contain_text("Minimax 6, which runs in this page, plays instead of small.zip")
    with page.expect_download() as started:
        page.get_by_role("button", name="Save").click()
    started.value.save_as(tmp_path / "game.txt")
    assert "minimax:6 of the page played" in (tmp_path / "game.txt").read_text(encoding="utf-8")
    # The page does not ask a failed server for some seconds: let them be over.
    page.evaluate("{ const now = Date.now; Date.now = () => now() + 60_000; }")
    with served(port=port, checkpoints=tmp_path, memory_mb=64):  # without a reload
        for key in "123456" * 10:
            page.keyboard.press(key)
            if not wait_for_you(page) or "answers again" in news.inner_text():
                break
            page.wait_for_timeout(500)
        expect(news).to_have_text("The server answers again.")


def test_the_page_answers_what_the_server_fails_at(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("mancala_env.web.analysis.AnalysisService.analyse", fail)
    monkeypatch.setattr("mancala_env.web.analysis.AnalysisService.choose", fail)
    page = open_page("#study/layli_goobalay+0,3,0,0,0,2/1,0,2,0,0,1+19-20+S")
    page.get_by_text("All values are exact").wait_for(timeout=60_000)
    news = page.locator(".notice.news")
    expect(news).to_contain_text("internal error of the server")
    page.get_by_role("link", name="Play").click()
    page.wait_for_selector(".view.play")
    open_form(page)
    page.get_by_label("Opponent").select_option("served:small.zip")
    page.get_by_role("button", name="Start").click()
    page.keyboard.press("1")
    assert wait_for_you(page)
    expect(page.locator(".turns li.north")).to_have_count(1)
    expect(news).to_contain_text("plays instead of small.zip")


def test_a_server_killed_and_started_again_continues_with_the_game(
    open_page: Open, site: _At, tmp_path: Path
) -> None:
    page = open_page(is_new=True)
    open_form(page)
    page.get_by_label("Opponent").select_option("served:small.zip")
    page.get_by_role("button", name="Start").click()
    assert wait_for_you(page)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")  # it has stored the page
    port = int(site.address.rstrip("/").rsplit(":", 1)[1])
    site.end()
    page.keyboard.press("1")  # the page computes the answer
    page.get_by_text("the server is gone").wait_for(timeout=60_000)
    page.reload()  # the server is still stopped; the service worker has the page
    page.wait_for_selector("html[data-ready]")
    assert wait_for_you(page)
    assert page.get_by_role("list", name="Turns").get_by_role("listitem").count() == 2
    with served(port=port, checkpoints=tmp_path, memory_mb=64):
        page.reload()
        page.wait_for_selector("html[data-ready]")
        for key in "123456":
            page.keyboard.press(key)
            assert wait_for_you(page)
    assert page.get_by_role("list", name="Turns").get_by_role("listitem").count() > 2


@pytest.mark.slow
def test_a_network_of_single_rounds_says_at_the_start_that_it_cannot_play_a_match(open_page: Open) -> None:
    page = open_page()
    open_form(page)
    page.get_by_label("Game", exact=True).select_option("gabata_five_holes")
    page.get_by_label("Length").select_option("match")
    page.get_by_label("You play").select_option("north")
    page.get_by_label("Opponent").select_option("served:trained")
    page.get_by_role("button", name="Start").click()
    page.get_by_text("trained on single rounds").wait_for(timeout=60_000)
    assert (
        "trained did not move for South" in status(page).inner_text()
    )  # and the status does not say that it is thinking
    assert "Positions are sent only to this page's server" in page.locator("footer").inner_text()
