"""Every view in Chromium by touch, by keyboard alone, and with reduced motion."""

from collections.abc import Callable

import pytest
from browser_page import Open

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Page, expect

SOWN = {
    "Study": ".study .turns li",
    "Play": ".play .turns li",
    "Puzzles": ".puzzles .told:not(:empty)",
    "Learn": ".learn .told:not(:empty)",
}
"""What each view shows as soon as the user has sown. Study is first: later it shows the game of Play."""


def sow_in_every_view(page: Page, open_view: Callable[[str], None], sow: Callable[[], None]) -> None:
    for view, sown in SOWN.items():
        open_view(view)
        expect(page.locator(f".view.{view.lower()} .holes button.legal").first).to_be_visible()
        expect(page.locator(sown)).to_have_count(0)
        sow()
        expect(page.locator(sown).first).to_be_visible()


def press_until(page: Page, key: str, is_there: str) -> None:
    """Press a key until a condition on the focused element, `at`, holds."""
    for _ in range(40):
        page.keyboard.press(key)
        if page.evaluate(f"(at => {is_there})(document.activeElement)"):
            return
    raise AssertionError(f"{key} does not lead to {is_there}")


@pytest.mark.slow
def test_every_view_is_used_by_touch(open_page: Open) -> None:
    page = open_page("#puzzles/leyla/5", width=390, height=844, has_touch=True, is_mobile=True)
    sow_in_every_view(
        page,
        lambda view: page.get_by_role("link", name=view, exact=True).tap(),
        lambda: page.locator(".holes button.legal").first.tap(),
    )


@pytest.mark.slow
def test_every_view_is_used_by_keyboard_alone(open_page: Open) -> None:
    page = open_page("#puzzles/leyla/5")

    def open_view(view: str) -> None:
        press_until(page, "Shift+Tab", f'at.matches("nav a") && at.textContent === "{view}"')
        page.keyboard.press("Enter")

    def sow() -> None:
        press_until(page, "ArrowRight", 'at.matches(".holes .legal")')
        page.keyboard.press("Enter")

    sow_in_every_view(page, open_view, sow)


@pytest.mark.slow
def test_no_view_moves_if_the_system_asks_for_reduced_motion(open_page: Open) -> None:
    page = open_page("#puzzles/leyla/5", kept={"settings": {"keys": True}}, reduced_motion="reduce")

    def sow() -> None:
        page.locator(".holes button.legal").first.click()
        assert page.evaluate("document.getAnimations().length") == 0

    sow_in_every_view(page, lambda view: page.get_by_role("link", name=view, exact=True).click(), sow)
