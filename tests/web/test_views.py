"""Every view in Chromium: at all sizes, with axe, by touch, by keyboard alone, and with reduced motion."""

from collections.abc import Callable, Iterator
from typing import Literal

import pytest
from browser_page import Open

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Page, expect

SIZES = {
    "phone": (360, 640),
    "phone sideways": (844, 390),
    "large phone": (390, 844),
    "laptop": (1280, 720),
    "screen": (1440, 900),
    "laptop at 200 %": (640, 360),
}
LATE = "layli_goobalay+1,3,1,4,0,2/1,0,2,1,0,0+17-16+S"
PLAYED = "S1.N1.S5.N4.S3.N5.S6.N6.S1.N1.S4"

VIEWS: dict[str, tuple[str, str]] = {
    "start": ("", ".start .cards button"),
    "play": ("#play/leyla", ".play .happened"),
    "report": (f"#play/{LATE};turns={PLAYED}", ".extra .moments button"),
    "study": (f"#study/{LATE}", ".values tbody tr"),
    "puzzles": ("#puzzles/gabata_i/5", ".puzzles .task:not(:empty)"),
    "learn": ("#learn/leyla/3", ".learn .task"),
}
"""Address of each view, and what it shows when it is complete."""

NEEDED = {
    "start": (".start .cards button",),
    "play": (".board", ".status", ".actions button", ".playback > *"),
    "report": (".board", ".status", ".extra button"),
    "study": (".board", ".actions button", ".playback > *", ".values button"),
    "puzzles": (".board", ".task", ".puzzles .row button"),
    "learn": (".board", ".task", ".lesson .row button"),
}
"""What a user needs in each view: none of it is cut at the sides."""

AT_ONCE = {
    "play": (".board", ".status", ".actions", ".playback"),
    "study": (".board", ".actions", ".playback"),
    "puzzles": (".board", ".task"),
    "learn": (".board", ".task", "[data-does=show_me]"),
}
"""What is visible without scrolling at every size."""

CUT = """(selectors) => selectors.flatMap((selector) => {
    const parts = [...document.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    if (!parts.length) return [`${selector} is not shown`];
    return parts.filter((part) => {
        const { left, right, width } = part.getBoundingClientRect();
        return left < -0.5 || right > innerWidth + 0.5 || !width;
    }).map((part) => `${selector} is cut at the side: ${part.textContent}`);
})"""
HIDDEN = """(selectors) => selectors.filter((selector) => {
    const part = document.querySelector(selector);
    const { left, top, bottom, width } = part.getBoundingClientRect();
    const seen = document.elementFromPoint(left + width / 2, bottom - 3);
    return top < -0.5 || bottom > innerHeight + 0.5 || !(seen && part.contains(seen));
}).map((selector) => `${selector} needs scrolling`)"""
AXE = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
    .map(({ id, nodes }) => `axe: ${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" ")}`)"""

TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""The page draws for a new size of the window in the first of them."""


def views(page: Page) -> Iterator[str]:
    """Show one view after another."""
    for view, (address, complete) in VIEWS.items():
        if address:
            page.evaluate("address => { location.hash = address; }", address)
        expect(page.locator(complete).first).to_be_visible()
        yield view


def faults(page: Page, view: str, *, with_axe: bool) -> list[str]:
    """Return what is wrong with a view at the size of the window."""
    page.evaluate("scrollTo(0, 0)")
    found: list[str] = []
    for pause in [0, *[50] * 20]:  # a slow machine needs time to turn the board
        page.wait_for_timeout(pause)
        page.evaluate(TWO_FRAMES)
        found = page.evaluate(CUT, NEEDED[view]) + page.evaluate(HIDDEN, AT_ONCE.get(view, ()))
        if not found:
            break
    width, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    if width > room:
        found.append(f"the page is {width} pixels wide")
    return found + (page.evaluate(AXE) if with_axe else [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow
def test_every_view_fits_every_size(open_page: Open, scheme: Literal["light", "dark"]) -> None:
    """A scheme changes only colours, so axe checks the dark one at the smallest and the largest size."""
    axe = pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT
    page = open_page(color_scheme=scheme)
    page.evaluate(axe)
    wrong = []
    for view in views(page):
        for name, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            with_axe = scheme == "light" or name in ("phone", "screen")
            wrong += [f"{view}, {name}: {fault}" for fault in faults(page, view, with_axe=with_axe)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_every_view_fits_a_phone_with_text_of_twice_the_size(open_page: Open) -> None:
    page = open_page(width=360, height=640)
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    wrong = []
    for view in views(page):
        wrong += [f"{view}: {fault}" for fault in page.evaluate(CUT, [*NEEDED[view], "header nav a"])]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{view} is wider than the window")
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    wrong += page.evaluate(CUT, ["dialog .keys td", "dialog .keys kbd"])
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_forced_colours_show_what_is_chosen(open_page: Open) -> None:
    page = open_page("#play/leyla", forced_colors="active")
    page.locator("[data-does=values]").click()
    for chosen in ("nav a[aria-current]", "[data-does=values]"):
        assert page.locator(chosen).evaluate("one => getComputedStyle(one).outlineStyle") == "solid", chosen


FOCUS = "() => document.activeElement.closest('.holes, .turns') !== null"
"""Whether the focus is at a hole of the board, or in the list of turns."""


@pytest.mark.slow
def test_the_keyboard_focus_survives_every_button(open_page: Open) -> None:
    page = open_page("#play/gabata_i", kept={"play": {"side": "both"}})

    def press(selector: str) -> None:
        page.locator(selector).focus()
        page.keyboard.press("Enter")
        page.wait_for_function(FOCUS)

    def sow() -> None:
        page.keyboard.press("1")
        expect(page.locator(".turns li").first).to_be_visible()

    sow()
    press("[data-does=take_back]")
    sow()
    press("[data-does=resign]")
    press(".toast button >> text=Undo")
    page.evaluate("address => { location.hash = address; }", f"#study/{LATE};turns={PLAYED}")
    expect(page.locator(".study .turns li").first).to_be_visible()
    for name in ("first", "last", "earlier"):
        page.locator(f"[data-does={name}]").focus()
        page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.does") == "earlier"
    press("[data-does=first]")
    press(".study .turns li:nth-child(4) button")
    assert page.evaluate("document.activeElement.textContent").startswith("N4")
    page.evaluate("location.hash = '#puzzles/gabata_i/5'")
    expect(page.locator(".puzzles .task")).not_to_be_empty()
    press("[data-does=solution]")
    press("[data-does=again]")
    page.evaluate("location.hash = '#learn/leyla/3'")
    expect(page.locator(".learn .task")).to_be_visible()
    press("[data-does=show_me]")
    press("[data-does=again]")


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


def test_a_turn_does_not_take_back_the_change_of_the_view(open_page: Open) -> None:
    page = open_page("#play/leyla")
    expect(page.locator(".play .holes button.legal").first).to_be_visible()
    # The turn writes its address before the browser reports that the address has changed.
    page.evaluate("location.hash = '#puzzles'; document.querySelector('.play .holes button.legal').click()")
    expect(page.locator(".view.puzzles .holes button.legal").first).to_be_visible()


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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_pressed_button_can_be_read_under_the_pointer(
    open_page: Open, scheme: Literal["light", "dark"]
) -> None:
    button = open_page("#learn", color_scheme=scheme).locator(".games [aria-pressed=true]")
    colours = "one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]"
    paper = button.evaluate(colours)[0]
    button.hover()
    assert button.evaluate(colours)[0] == paper
    background = button.evaluate(colours)[1]
    button.evaluate("one => { one.style.background = 'var(--m-hole)'; }")
    assert button.evaluate(colours)[1] != background


@pytest.mark.slow
def test_forced_colours_show_the_focus_on_the_board(open_page: Open) -> None:
    page = open_page("#play/leyla", forced_colors="active")
    page.keyboard.press("b")
    widths = """() => [document.activeElement, document.querySelector(".holes button.legal:not(:focus)")].map(
        (one) => getComputedStyle(one).outlineWidth)"""
    focused, other = page.evaluate(widths)
    assert focused != other
