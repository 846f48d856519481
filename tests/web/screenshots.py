"""Pictures of the page for the documentation: python tests/web/screenshots.py writes docs/img/browser-*.png.

Needs Chromium and playwright; the pictures are looked at before they are committed.
"""

import json
from pathlib import Path
from typing import Literal

from conftest import CHROMIUM, Site
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, Page, sync_playwright

import mancala_env.web
from mancala_env import Position

FOLDER = Path(__file__).parents[2] / "docs" / "img"
_LATE = "layli_goobalay 1,3,1,4,0,2/1,0,2,1,0,0 17-16 S"


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


def photograph(page: Page, name: str, position: str, full_page: bool = False) -> None:
    """Keep what the page shows as a picture, which carries the text of the position it was taken from."""
    page.screenshot(path=FOLDER / name, full_page=full_page)
    carry(FOLDER / name, position)


def carry(picture: Path, position: str) -> None:
    """Let a PNG carry a position, which the site links it to."""
    said = PngInfo()
    said.add_text("Position", position)
    with Image.open(picture) as image:
        image.load()
        image.info.clear()
        image.save(picture, optimize=True, pnginfo=said)


def main() -> None:
    """Write the pictures."""
    site = Site()
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = open_page(browser, site.address, width=1240, height=720, scheme="light")
        page.keyboard.press("3")
        page.locator("[data-name=caption]", has_text="lap 3 of").wait_for()
        page.wait_for_timeout(250)
        photograph(page, "browser-play.png", Position("layli_goobalay").to_text())

        page = open_page(browser, site.address + "#study", width=1240, height=900, scheme="dark")
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
        page.locator("th", has_text="MCTS").wait_for(timeout=60_000)
        page.wait_for_timeout(3000)
        photograph(page, "browser-study.png", _LATE)

        address = site.address + "#learn/layli/6"
        page = open_page(browser, address, width=390, height=844, scheme="light", settings={"speed": "off"})
        page.locator("[data-does=show_me]").click()
        page.locator(".told:not(:empty)").wait_for()
        photograph(page, "browser-learn.png", lesson("layli", 6), full_page=True)
        browser.close()
    site.stop()


def lesson(game: str, step: int) -> str:
    """Return the text of the position of a lesson's step, which are counted from 1."""
    lessons = json.loads((Path(mancala_env.web.__file__).parent / "lessons.json").read_text("utf-8"))[game]
    return f"{lessons['ruleset']} {lessons['steps'][step - 1]['position']}"


def late_game() -> str:
    """A game from a late position on, with a mistake or two: both players sow their first legal hole."""
    position, turns = Position.from_text(_LATE), []
    while not position.is_over and len(turns) < 14:
        action = position.legal_actions[len(turns) // 2 % len(position.legal_actions)]
        turns.append(f"{'SN'[position.player]}{action + 1}")
        position.play(action)
    return f'[Ruleset "layli_goobalay"]\n[Start "{_LATE}"]\n{" ".join(turns)}\n'


if __name__ == "__main__":
    main()
