"""The check of a proof in Study, in Chromium."""

import re
from typing import Any

import pytest
from browser_page import Open
from proof_checks import SMALL

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Page, expect

DROP = (
    "([name, content]) => { const data = new DataTransfer();"
    "data.items.add(new File([new Uint8Array(content)], name));"
    "dispatchEvent(new DragEvent('drop', { dataTransfer: data })); }"
)


def result_of(page: Page) -> Any:
    return page.locator(".card", has=page.locator("[data-does=check_proof]")).locator(".verdict")


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_a_proof_is_checked_by_keyboard(open_page: Open, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(f"#study/{SMALL.stem}", width=width, height=640)
    button, result = page.get_by_role("button", name="Check the proof"), result_of(page)
    page.locator(".values button").last.focus()
    for _ in range(9):
        page.keyboard.press("Tab")
        if button.evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Enter")
    said = "The proof is valid. With best play, North gets 36 of 48 seeds and leads by 24."
    expect(result).to_contain_text(said)
    expect(result).to_contain_text(" 3,277 positions in ")
    expect(button).to_be_focused()
    expect(page.locator("[aria-live]")).to_contain_text("The proof is valid.")
    assert axe.run(page).violations_count == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".holes button.legal").first.click()
    expect(button).to_be_hidden()
    page.keyboard.press("[")
    expect(result).to_contain_text(said)


@pytest.mark.slow
def test_a_dropped_proof_is_checked(open_page: Open) -> None:
    page, content = open_page("#play"), SMALL.read_bytes()
    page.evaluate(DROP, ["mine.proof", list(content)])
    expect(page).to_have_url(re.compile(f"#study/{SMALL.stem}"))
    expect(page.get_by_text("This is what the file mine.proof of 2.2 kB claims.")).to_be_visible()
    expect(result_of(page)).to_contain_text("The proof is valid.")
    page.evaluate(DROP, ["more.proof", list(content.replace(b"claim south 12", b"claim south 13"))])
    expect(result_of(page)).to_contain_text("not valid: it does not show that South gets 13 seeds, because")
    page.evaluate(DROP, ["wrong.proof", list(content.replace(b"landing uur", b"landing uurs"))])
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text('wrong.proof: line 6 differs from the format: "landing uurs"')
