"""Pictures of the page for the documentation: python tests/web/screenshots.py writes docs/img/browser-*.png.

Needs Chromium and playwright; the pictures are looked at before they are committed.
"""

import json
from pathlib import Path
from typing import Literal

from conftest import CHROMIUM, Site
from playwright.sync_api import Browser, Page, sync_playwright

FOLDER = Path(__file__).parents[2] / "docs" / "img"


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


def main() -> None:
    """Write the pictures."""
    site = Site()
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = open_page(browser, site.address, width=1240, height=720, scheme="light")
        page.keyboard.press("3")
        page.locator("[data-name=caption]", has_text="lap 3 of").wait_for()
        page.wait_for_timeout(250)
        page.screenshot(path=FOLDER / "browser-play.png")

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
        page.screenshot(path=FOLDER / "browser-study.png")

        address = site.address + "#learn/layli/6"
        page = open_page(browser, address, width=390, height=844, scheme="light", settings={"speed": "off"})
        page.locator("[data-does=show_me]").click()
        page.locator(".told:not(:empty)").wait_for()
        page.screenshot(path=FOLDER / "browser-learn.png", full_page=True)
        browser.close()
    site.stop()


def late_game() -> str:
    """A game from a late position on, with a mistake or two: both players sow their first legal hole."""
    from mancala_env import Position

    position = Position.from_text("layli_goobalay 1,3,1,4,0,2/1,0,2,1,0,0 17-16 S")
    start, turns = position.to_text(), []
    while not position.is_over and len(turns) < 14:
        action = position.legal_actions[len(turns) // 2 % len(position.legal_actions)]
        turns.append(f"{'SN'[position.player]}{action + 1}")
        position.play(action)
    return f'[Ruleset "layli_goobalay"]\n[Start "{start}"]\n{" ".join(turns)}\n'


if __name__ == "__main__":
    main()
