"""Puzzles and the opening explorer in Chromium: mouse, keyboard, offline use, and sizes of screens."""

import re
from datetime import UTC, datetime

import pytest
from browser_page import Open, Site

from mancala_env import Position
from mancala_env.rulesets import lookup
from tools import make_puzzles
from tools.make_puzzles import Puzzle

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Page, expect

NUMBER = 5


def puzzle_of(name: str, number: int) -> tuple[Puzzle, Position, int]:
    """Return a puzzle, its position and its best action."""
    puzzle = make_puzzles.read(lookup(name))[number - 1]
    position = Position.from_text(f"{name} {puzzle.position}")
    return puzzle, position, position.legal_actions[puzzle.values.index(max(puzzle.values))]


def press(page: Page, position: Position, action: int) -> None:
    hole = (action + position.player * position.ruleset.row_width) % position.ruleset.num_holes
    page.locator(f".holes button[data-hole='{hole}']").click()


def final_leads(puzzle: Puzzle, position: Position) -> list[str]:
    stored = position.stores[position.player] - position.stores[1 - position.player]
    return [f"{value + stored:+d}" if value + stored else "0" for value in puzzle.values]


@pytest.mark.slow
def test_a_puzzle_is_solved_by_mouse_proved_and_explained(open_page: Open) -> None:
    puzzle, position, best = puzzle_of("leyla", NUMBER)
    page = open_page(f"#puzzles/leyla/{NUMBER}")
    told, proved = page.locator(".told"), page.locator(".proved")
    wrong = next(action for action in position.legal_actions if action != best)
    press(page, position, wrong)
    name = f"{'SN'[position.player]}{best + 1}"
    expect(told).to_contain_text(f"The best move is {name}")
    badges = page.locator(".board text[data-name=value]").all_text_contents()
    assert sorted(badges) == sorted(final_leads(puzzle, position))
    page.get_by_role("button", name="Again").click()
    expect(page.locator(".board text[data-name=value]")).to_have_count(0)
    press(page, position, best)  # waits until the board accepts it
    expect(told).to_contain_text(f"{name} is right")
    page.get_by_role("button", name="Check").click()
    expect(proved).to_contain_text(f"has proved all {len(puzzle.values)} values", timeout=60_000)
    page.get_by_role("button", name="Why?").click()
    expect(proved).to_contain_text(re.compile(r"After \d turns"), timeout=60_000)
    expect(page.locator(".puzzles .turns li").first).to_have_text(name)
    marks = page.evaluate("JSON.parse(localStorage.getItem('mancala.puzzles')).leyla")
    assert (marks[NUMBER - 1], marks.count(".")) == ("~", len(marks) - 1)
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page).to_have_url(re.compile(f"#puzzles/leyla/{NUMBER + 1}$"))


@pytest.mark.slow
def test_puzzles_are_solved_by_keyboard_alone(open_page: Open) -> None:
    _, _, best = puzzle_of("gabata_i", NUMBER)
    page = open_page(f"#puzzles/gabata_i/{NUMBER}")
    expect(page.locator(".puzzles h2")).to_contain_text(f"{NUMBER} of")
    page.keyboard.press("1234567890-="[best])
    expect(page.locator(".told")).to_contain_text("is right")
    expect(page.locator("[aria-live]")).to_contain_text("is right")
    page.keyboard.press("g")
    expect(page).to_have_url(re.compile(f"#puzzles/gabata_i/{NUMBER + 1}$"))
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile(f"#puzzles/gabata_i/{NUMBER}$"))
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator(".choice p")).to_contain_text("Solved 1 of")


@pytest.mark.slow
def test_the_puzzle_of_a_day_is_the_same_for_everybody(open_page: Open) -> None:
    urls = []
    for zone in ("Africa/Mogadishu", "America/New_York"):
        page = open_page(timezone_id=zone)  # other tests do not use this tab, which keeps its clock
        page.clock.set_fixed_time(datetime(2026, 11, 26, 12, tzinfo=UTC))
        page.get_by_role("link", name="Puzzles").click()
        expect(page.locator(".puzzles h2")).to_contain_text("Puzzle of today")
        urls.append(page.url)
        page.clock.set_fixed_time(datetime(2026, 11, 27, 12, tzinfo=UTC))
        page.get_by_role("button", name="Today").click()
        expect(page).not_to_have_url(urls[-1])
    assert urls[0] == urls[1]


@pytest.mark.slow
def test_puzzles_work_offline_once_loaded(open_page: Open, own_site: Site) -> None:
    page = open_page(is_new=True, at=own_site.address)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.goto(page.url.split("#")[0] + "#puzzles/leyla/1")
    expect(page.locator(".puzzles h2")).to_contain_text("1 of")
    for files, most in (("puzzles.leyla.json", 0), (".", 30)):
        kept = f"c.keys().then(keys => keys.filter(key => /{files}/.test(key.url)).length > {most})"
        page.wait_for_function(f"() => caches.open('mancala').then(c => {kept})")
    own_site.stop()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator(".puzzles h2")).to_contain_text("1 of")


@pytest.mark.parametrize(("width", "height"), [(360, 640), (844, 390), (390, 844), (1280, 720), (1440, 900)])
@pytest.mark.slow
def test_the_board_and_the_question_fit(open_page: Open, width: int, height: int) -> None:
    page = open_page(f"#puzzles/layli_goobalay/{NUMBER}", width=width, height=height)
    expect(page.locator(".puzzles .task")).to_be_in_viewport()
    expect(page.locator(".puzzles .board")).to_be_in_viewport(ratio=0.5)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_the_opening_is_explored_as_a_tree(open_page: Open) -> None:
    page = open_page("#study/leyla+4,4,4,4,4,4/4,4,4,4,4,4+0-0+S")
    page.get_by_text("Opening explorer").click()
    moves = page.locator(".tree button")
    expect(moves).to_have_count(6)
    expect(page.locator(".tree .best > button")).to_have_text(["S3-16", "S6-16"])
    moves.nth(2).click()
    expect(page.locator(".tree ul ul button").first).to_contain_text(re.compile(r"N\d[-+]?\d+"))
    expect(page.locator(".tree ul ul .best > button").first).to_contain_text("+16")
    page.keyboard.press("u")
    expect(page.locator(".tree ul ul")).to_have_count(0)
    moves.nth(2).click()
    page.locator("[data-does=explorer-back]").click()
    expect(page.locator(".tree ul ul")).to_have_count(0)
