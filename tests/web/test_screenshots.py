"""Pictures of the page as the documentation shows them.

`pytest tests/web/test_screenshots.py --snapshot-update` writes docs/img/browser-*.png; they are looked at
before they are committed. Every other run takes them too, and compares what they show.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from browser_page import Site
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import mancala_env.web
from mancala_env import Position

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page

FOLDER = Path(__file__).parents[2] / "docs" / "img"
_LATE = "layli_goobalay 1,3,1,4,0,2/1,0,2,1,0,0 17-16 S"


@pytest.fixture
def keep(request: pytest.FixtureRequest, chromium: Browser, tmp_path: Path) -> Iterator["Keep"]:
    yield Keep(tmp_path, is_new=request.config.option.update_snapshots)
    for context in chromium.contexts:
        context.close()  # ends its searches


MOST_DIFFERING = 0.4


class Keep:
    """Takes screenshots and compares them with those of the documentation."""

    def __init__(self, scratch: Path, is_new: bool) -> None:
        self.scratch, self.is_new = scratch, is_new

    def __call__(self, page: Page, name: str, position: str, full_page: bool = False) -> None:
        """Take a screenshot; a new one is saved with the text of its position in the metadata."""
        taken = self.scratch / name
        page.screenshot(path=taken, full_page=full_page)
        if self.is_new:
            said = PngInfo()
            said.add_text("Position", position)
            with Image.open(taken) as image:
                image.load()
                image.info.clear()
                image.save(FOLDER / name, optimize=True, pnginfo=said)
        with Image.open(taken) as ours, Image.open(FOLDER / name) as theirs:
            assert theirs.info["Position"] == position
            assert ours.size[0] == theirs.size[0]
            assert abs(ours.size[1] - theirs.size[1]) < 0.1 * theirs.size[1]
            assert _differing(ours, theirs) < MOST_DIFFERING, (
                f"{name} shows something else than docs/img/{name}"
            )


def _differing(ours: Image.Image, theirs: Image.Image) -> float:
    """Return the share of differing cells of coarse pictures, among those that are not background in both.

    Fonts and search results may differ.
    """
    small = [np.asarray(one.convert("L").resize((124, 90)), np.int16) for one in (ours, theirs)]
    is_drawn = np.any([np.abs(one - np.median(small[1])) > 60 for one in small], axis=0)
    return float((np.abs(small[0] - small[1])[is_drawn] > 60).mean())


@pytest.mark.parametrize("name", ["browser-play.png", "browser-study.png", "browser-learn.png"])
def test_an_empty_or_another_picture_is_noticed(name: str) -> None:
    with Image.open(FOLDER / name) as image:
        flat = Image.new("L", image.size, int(np.median(np.asarray(image.convert("L")))))
        mirrored = image.convert("L").transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        for other in (flat, mirrored):
            assert _differing(other, image) > 1.5 * MOST_DIFFERING


def open_page(
    browser: Browser,
    address: str,
    *,
    width: int,
    height: int,
    scheme: Literal["light", "dark"],
    **kept: object,
) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=2
    )
    for key, value in kept.items():
        stored = json.dumps(json.dumps(value))
        context.add_init_script(f"localStorage.setItem('mancala.{key}', {stored})")
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page


@pytest.mark.slow
def test_play(chromium: Browser, site: Site, keep: Keep) -> None:
    page = open_page(chromium, site.address, width=1240, height=720, scheme="light")
    page.keyboard.press("3")
    page.locator("[data-name=caption]", has_text="lap 3 of").wait_for()
    page.wait_for_timeout(250)
    keep(page, "browser-play.png", Position("layli_goobalay").to_text())


@pytest.mark.slow
def test_study(chromium: Browser, site: Site, keep: Keep) -> None:
    page = open_page(chromium, site.address + "#study", width=1240, height=900, scheme="dark")
    page.evaluate(
        "text => { const data = new DataTransfer(); data.items.add(new File([text], 'game.txt'));"
        "dispatchEvent(new DragEvent('drop', { dataTransfer: data })); }",
        late_game(),
    )
    page.locator(".study .turns li").first.wait_for()
    page.keyboard.press("{")
    page.locator(".panel", has_text="All values are exact").wait_for(timeout=300_000)
    page.wait_for_function(
        "() => document.querySelectorAll('.graph circle').length"
        " > document.querySelectorAll('.turns li').length",
        timeout=300_000,
    )
    page.get_by_label("Engines").check()
    for column in ("MCTS", "Network"):
        page.locator("th", has_text=column).wait_for(timeout=60_000)
    keep(page, "browser-study.png", _LATE)


@pytest.mark.slow
def test_learn(chromium: Browser, site: Site, keep: Keep) -> None:
    address = site.address + "#learn/layli/6"
    page = open_page(chromium, address, width=390, height=844, scheme="light", settings={"speed": "off"})
    page.locator("[data-does=show_me]").click()
    page.locator(".told:not(:empty)").wait_for()
    keep(page, "browser-learn.png", lesson("layli", 6), full_page=True)


def lesson(game: str, step: int) -> str:
    """Return the text of the position of a lesson's step; steps are numbered from 1."""
    lessons = json.loads((Path(mancala_env.web.__file__).parent / "lessons.json").read_text("utf-8"))[game]
    return f"{lessons['ruleset']} {lessons['steps'][step - 1]['position']}"


def late_game() -> str:
    """A game from a late position with a few mistakes: both players sow their first legal hole."""
    position, turns = Position.from_text(_LATE), []
    while not position.is_over and len(turns) < 14:
        action = position.legal_actions[len(turns) // 2 % len(position.legal_actions)]
        turns.append(f"{'SN'[position.player]}{action + 1}")
        position.play(action)
    return f'[Ruleset "layli_goobalay"]\n[Start "{_LATE}"]\n{" ".join(turns)}\n'
