"""The page in Chromium: games by mouse and keyboard, Study, Learn, offline use, and invalid input."""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from browser_page import Open, Site, open_form, status, wait_for_you
from proof_checks import SMALL

from mancala_env import Position, rulesets
from mancala_env.games.records import GameRecord, games_text
from mancala_env.networks.value import ValueNetworkConfig, ValueWeights
from mancala_env.networks.value_files import ValueFile

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Locator, Page, expect

EXACT = json.loads((Path(__file__).parents[1] / "data" / "exact.json").read_text(encoding="utf-8"))
LONG = "layli_goobalay_long+" + "/".join([",".join("4" * 12)] * 2) + "+0-0+S"
NORTHS_TURN = re.compile(r"thinking for North|North sows")
LATE = "layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S"


def text_of(page: Page) -> str:
    """Return the position in the address."""
    return page.evaluate("decodeURIComponent(location.hash).split('/').slice(1).join('/')").replace("+", " ")


def box_of(part: Locator) -> Any:
    """Return the place of a part that is shown."""
    box = part.bounding_box()
    assert box is not None
    return box


@pytest.mark.slow
def test_a_whole_game_by_mouse(open_page: Open) -> None:
    page = open_page(f"#play/{LATE.replace(' ', '+')}")
    turns = 0
    while wait_for_you(page):
        page.locator(".holes button.legal").first.click()
        turns += 1
        assert turns < 120
    assert turns > 1
    position = Position.from_text(text_of(page))
    assert position.is_over
    lead = position.counts[0] - position.counts[1]
    said = status(page).inner_text()
    assert said == (
        "It is a draw." if lead == 0 else f"{'South' if lead > 0 else 'North'} has won by {abs(lead)}."
    )


@pytest.mark.slow
def test_a_whole_game_by_keyboard_alone(open_page: Open) -> None:
    page = open_page()
    expect(status(page)).to_have_text("Your turn. You play South.")
    turns = 0
    while wait_for_you(page):
        player = Position.from_text(text_of(page))
        page.keyboard.press(str(player.legal_actions[turns % len(player.legal_actions)] + 1))
        turns += 1
        assert turns < 200
    assert Position.from_text(text_of(page)).is_over
    page.keyboard.press("n")
    expect(status(page)).to_have_text("Your turn. You play South.")
    page.keyboard.press("ArrowRight")  # onto the board
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    hole = page.evaluate("Number(document.activeElement.dataset.hole)")
    page.keyboard.press("Enter")
    expect(page.locator(".turns li").first).to_contain_text(f"S{hole + 1}")
    live = page.locator("[aria-live]")
    wait_for_you(page)
    page.keyboard.press("l")
    expect(live).to_contain_text("South can sow S")
    page.keyboard.press("t")
    expect(live).to_contain_text("North plays N")
    expect(live).to_contain_text("lifts")
    page.keyboard.press("p")
    expect(live).to_contain_text("South's row in sowing order")
    page.keyboard.press("r")
    expect(status(page)).to_have_text("South has resigned. North has won.")


@pytest.mark.slow
def test_a_press_right_after_a_turn_is_the_second_of_a_double_click(open_page: Open) -> None:
    page = open_page()
    for num_turns in (2, 4):
        # When the board shows the answer, the pointer presses no hole. Ask at once: it does again soon.
        page.evaluate(
            """() => { globalThis.isPressed = new Promise((resolve) => {
                const board = document.querySelector(".board");
                new MutationObserver((_, observer) => {
                    const button = [...board.querySelectorAll("button.legal")].at(-1);
                    if (!button || !document.querySelector(".turns li.north:last-child")) return;
                    const { x, y, width, height } = button.getBoundingClientRect();
                    observer.disconnect();
                    resolve(document.elementFromPoint(x + width / 2, y + height / 2) === button);
                }).observe(document.querySelector(".play .status"), { childList: true });
            }); }"""
        )
        page.locator(".holes button.legal").first.click()  # waits until the board accepts it
        assert page.evaluate("isPressed") is False
        assert len(turns_of(page)) == num_turns


@pytest.mark.slow
def test_back_returns_to_the_game_and_a_new_game_can_be_undone(open_page: Open) -> None:
    page = open_page("#play", kept={"play": {"side": "both"}})
    page.keyboard.press("1")
    page.locator("[data-does=study]").click()
    expect(page).to_have_url(re.compile("#study/"))
    page.go_back()
    expect(page.locator("nav [aria-current]")).to_have_text("Play")
    assert turns_of(page) == ["S1"]
    page.go_forward()
    expect(page.locator("nav [aria-current]")).to_have_text("Study")
    page.go_back()
    expect(page.locator("nav [aria-current]")).to_have_text("Play")
    page.keyboard.press("n")
    assert turns_of(page) == []
    page.get_by_role("button", name="Undo").click()
    assert turns_of(page) == ["S1"]
    expect(page.locator(".toasts .news")).to_be_hidden()


@pytest.mark.slow
def test_a_copied_link_shows_the_game_to_somebody_else(open_page: Open, site: Site) -> None:
    page = open_page(
        "#play", kept={"play": {"side": "both"}}, permissions=["clipboard-read", "clipboard-write"]
    )
    page.keyboard.press("1")
    page.get_by_role("button", name="Copy link").first.click()
    expect(page.locator(".toasts .news")).to_have_text("The link is copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(site.address + "#study/")
    other = open_page(link[len(site.address) :], tab=page)
    assert other.locator(".study .turns li").count() == 1
    other.get_by_role("textbox", name="The position as text").fill("x" * 10_000)
    other.get_by_role("button", name="Show", exact=True).click()
    toast = other.locator(".toasts [role=alert]")
    expect(toast).to_be_in_viewport()
    assert len(toast.inner_text()) < 300


@pytest.mark.slow
def test_an_opponents_hole_says_why_it_cannot_be_sown(open_page: Open) -> None:
    page = open_page("#play", kept={"play": {"side": "both"}})
    page.locator("[data-hole='8']").click(force=True)
    expect(status(page)).to_contain_text("N3 is North's. South to move")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.slow
def test_a_newcomer_starts_with_a_card(open_page: Open, width: int) -> None:
    page = open_page(width=width, height=720)
    cards = page.locator(".start .cards button")
    assert cards.count() == 3
    for card in cards.all():
        assert box_of(card.locator("svg"))["width"] > 80
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Leyla").click()
    expect(page.locator(".start")).to_be_hidden()
    page.keyboard.press("1")
    assert wait_for_you(page)
    assert text_of(page).startswith("leyla ")
    reloaded(page)
    expect(page.locator(".start")).to_be_hidden()


@pytest.mark.slow
def test_the_list_of_keys_opens_at_its_top(open_page: Open) -> None:
    page = open_page(width=1280, height=720)
    page.keyboard.press("?")
    assert page.evaluate("document.querySelector('dialog').scrollTop") == 0
    expect(page.locator("dialog h2")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)


@pytest.mark.slow
def test_taking_back_undoes_both_turns(open_page: Open) -> None:
    page = open_page()
    start = text_of(page)
    page.keyboard.press("1")
    wait_for_you(page)
    assert text_of(page) != start
    page.get_by_role("button", name="Take back").click()
    assert text_of(page) == start
    expect(page.locator(".turns li")).to_have_count(0)


@pytest.mark.slow
def test_a_turn_is_sown_seed_by_seed_and_can_be_skipped(open_page: Open) -> None:
    page = open_page(kept={"settings": {"speed": "slow", "theme": "auto", "keys": True, "language": None}})
    page.keyboard.press("3")
    caption = page.locator("[data-name=caption]")
    expect(caption).to_contain_text("South sows S3, lap")
    page.wait_for_function("() => document.getAnimations().length > 0")
    seeds = page.evaluate("document.querySelectorAll('.board circle[r=\"7\"]').length")
    assert seeds == 48
    page.keyboard.press("Escape")
    expect(status(page)).to_contain_text(NORTHS_TURN)


@pytest.mark.slow
def test_less_motion_means_none(open_page: Open) -> None:
    page = open_page(kept={"settings": {"keys": True}}, reduced_motion="reduce")
    page.keyboard.press("3")
    assert wait_for_you(page)
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.slow
def test_a_match_goes_into_its_second_round(open_page: Open) -> None:
    page = open_page("#play")
    open_form(page)
    page.get_by_label("Length").select_option("match")
    page.get_by_label("You play").select_option("neither")
    page.get_by_label("Opponent").select_option("1")
    next_round = page.get_by_role("button", name="Next round")
    for _ in range(6):  # 5 % of these matches end with the first round
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector("[data-does=go_on]:visible, .play.over")
        if next_round.is_visible():
            break
    next_round.click()
    # The page waits again at the end of round 2. Then its address is that of round 3.
    expect(page.locator("[data-name=title]")).to_have_text("Layli Goobalay, round 2")
    page.wait_for_function("() => /round=[23]/.test(location.hash)")


@pytest.mark.slow
def test_a_reload_loses_nothing(open_page: Open) -> None:
    page = open_page()
    for key in "13":
        page.keyboard.press(key)
        wait_for_you(page)
    before, turns = text_of(page), page.locator(".turns").inner_text()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert text_of(page) == before
    assert page.locator(".turns").inner_text() == turns


def reloaded(page: Page) -> Page:
    page.reload()
    page.wait_for_selector("html[data-ready]")
    return page


def turns_of(page: Page) -> list[str]:
    return page.locator(".play .turns li b").all_inner_texts()


@pytest.mark.slow
def test_two_tabs_keep_a_game_each(open_page: Open) -> None:
    one = open_page()
    one.keyboard.press("1")
    assert wait_for_you(one)
    two = one.context.new_page()
    two.goto(one.url.split("#")[0])
    two.wait_for_selector("html[data-ready]")
    played = turns_of(one)
    assert turns_of(two) == played  # a new tab resumes the last game
    reloaded(two).keyboard.press("2")
    assert wait_for_you(two)
    two.keyboard.press("n")
    two.keyboard.press("6")
    assert wait_for_you(two)
    others = turns_of(two)
    assert others[0] == "S6"
    assert turns_of(reloaded(one)) == played
    assert turns_of(reloaded(two)) == others
    kept = one.get_by_label("Games saved in this browser").locator("option").all_inner_texts()
    assert len(kept) == 4  # the label, the game of one, the game that two resumed, and two's own game
    assert sum("2 turns" in words for words in kept) == 2
    assert sum("4 turns" in words for words in kept) == 1


@pytest.mark.slow
def test_a_game_that_another_replaced_is_taken_up_again(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("3")
    assert wait_for_you(page)
    earlier = turns_of(page)
    page.keyboard.press("n")
    page.keyboard.press("6")
    assert wait_for_you(page)
    page.get_by_label("Games saved in this browser").focus()
    page.get_by_label("Games saved in this browser").select_option(index=2)
    assert turns_of(page) == earlier
    page.get_by_label("Take back").or_(page.get_by_role("button", name="Take back")).focus()
    page.keyboard.press("1")
    assert wait_for_you(page)
    assert turns_of(page)[: len(earlier)] == earlier
    assert turns_of(reloaded(page))[: len(earlier)] == earlier


@pytest.mark.slow
def test_a_reload_loses_nothing_where_there_is_no_room(open_page: Open) -> None:
    page = open_page()
    page.evaluate(
        "() => { for (let size = 2 ** 23; size >= 1; size /= 2)"
        " for (let n = 0; n < 2; n++)"
        " try { localStorage.setItem(`x${size}-${n}`, 'y'.repeat(size)) } catch {} }"
    )
    page.keyboard.press("1")
    assert wait_for_you(page)
    expect(page.locator(".notice.news")).to_contain_text("Save the record")
    played = turns_of(page)
    assert turns_of(reloaded(page)) == played
    page.get_by_role("link", name="Study").click()
    page.wait_for_selector(".view.study")
    page.keyboard.press("1")
    expect(page.locator(".study .turns li")).to_have_count(3)
    studied = text_of(page)
    reloaded(page)
    expect(page.locator(".study .turns li")).to_have_count(3)
    assert text_of(page) == studied
    page.evaluate(
        "() => Object.keys(localStorage).filter((key) => key[0] === 'x')"
        ".forEach((key) => localStorage.removeItem(key))"
    )
    page.get_by_role("link", name="Play").click()
    page.wait_for_selector(".view.play")
    page.keyboard.press("2")
    assert wait_for_you(page)
    expect(page.locator(".notice.news")).to_be_hidden()
    other = page.context.new_page()
    other.goto(page.url.split("#")[0])
    other.wait_for_selector("html[data-ready]")
    assert turns_of(other)[: len(played)] == played


@pytest.mark.slow
def test_a_reload_loses_nothing_where_a_browser_keeps_nothing(open_page: Open) -> None:
    # The speed of seeds is a setting, which is not kept either.
    page = open_page(is_new=True, reduced_motion="reduce")
    page.context.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage', 'caches']) Object.defineProperty(window, name,"
        " { get() { throw new DOMException('blocked', 'SecurityError') } })"
    )
    reloaded(page)
    page.keyboard.press("1")
    assert wait_for_you(page)
    expect(page.locator(".notice.news")).to_contain_text("could not save the game")
    played = turns_of(page)
    assert len(played) >= 2
    page.get_by_role("link", name="Study").click()
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".steps .done")).to_have_count(1)
    reloaded(page)
    expect(page.locator(".steps .done")).to_have_count(1)
    page.get_by_role("link", name="Play").click()
    expect(page.locator(".play .turns li b")).to_have_text(played)


@pytest.mark.slow
def test_what_two_tabs_have_learnt_is_kept(open_page: Open) -> None:
    one = open_page("#learn/layli/1")
    two = one.context.new_page()
    two.goto(one.url.split("#")[0] + "#learn/layli/2")
    two.wait_for_selector("html[data-ready]")
    for number, page in enumerate((one, two), 1):
        page.get_by_role("button", name="Show me").click()
        expect(page.locator(".told")).not_to_be_empty()
        for tab in (one, two):  # one may be in another process, which sees the storage a moment later
            tab.wait_for_function(
                f"() => JSON.parse(localStorage['mancala.learnt'] ?? '[]').length === {number}"
            )
    expect(reloaded(one).locator(".steps .done")).to_have_count(2)


@pytest.mark.slow
def test_a_saved_record_is_read_back(open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    for key in "123456":
        page.keyboard.press(key)
        wait_for_you(page)
    with page.expect_download() as started:
        page.get_by_role("button", name="Save").click()
    started.value.save_as(tmp_path / "game.txt")
    record = (tmp_path / "game.txt").read_text(encoding="utf-8")
    assert record.startswith('[Ruleset "layli_goobalay"]\n[Dials "')
    assert '[South "human"]\n[North "greedy"]' in record
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    chooser.value.set_files(tmp_path / "game.txt")
    expect(page.get_by_role("link", name="Study")).to_have_attribute("aria-current", "page")
    turns = re.findall(r"[SN]\d+(?=\s|$)", record.split("\n\n")[1])
    expect(page.locator(".study .turns li")).to_have_count(len(turns))
    drop(page, "wrong.txt", b'[Ruleset "leyla"]\nS7\n')
    expect(page.get_by_role("alert").first).to_contain_text("turn 1: S7 cannot be played")


@pytest.mark.parametrize("kind", ["minimax", "mcts", "perfect", "random"])
@pytest.mark.slow
def test_every_agent_answers(open_page: Open, kind: str) -> None:
    chosen = {
        "side": "south",
        "agent": kind,
        "strength": 1 if kind == "perfect" else 100 if kind == "mcts" else 4,
    }
    page = open_page(kept={"play": {**chosen, "rounds": "round", "starter": "south"}})
    page.keyboard.press("2")
    assert wait_for_you(page)
    expect(page.locator(".turns li.north")).to_have_count(1)


@pytest.mark.slow
def test_a_network_that_is_missing_is_named(open_page: Open) -> None:
    chosen = {"side": "south", "agent": "network", "strength": 4, "rounds": "round", "starter": "south"}
    own = {"name": "own dials", "dials": {"row_width": 5}}
    page = open_page(kept={"play": chosen, "ruleset.play": own})
    page.keyboard.press("2")
    expect(page.get_by_role("alert").first).to_contain_text("no value network is bundled for custom")


@pytest.mark.slow
def test_custom_rules_are_played_and_linked(open_page: Open, site: Site) -> None:
    own = {"name": "own dials", "dials": {"row_width": 3, "seeds_per_hole": 2, "direction": "clockwise"}}
    page = open_page(kept={"ruleset.play": own})
    expect(page.locator(".holes button")).to_have_count(6)
    page.keyboard.press("1")
    wait_for_you(page)
    link = page.evaluate("location.hash")
    assert "row_width=3" in link
    other = open_page(link.replace("#play", "#study"), tab=page)
    expect(other.locator(".holes button")).to_have_count(6)
    wrong = open_page("#play/custom+1,1/1,1+0-0+S;row_width=99", tab=page)
    expect(wrong.get_by_role("alert").first).to_contain_text("row_width must be 2 to 12, not 99")


@pytest.mark.slow
def test_a_ruleset_file_is_opened_saved_and_read_by_python(open_page: Open, tmp_path: Path) -> None:
    mine = rulesets.lookup({"like": "leyla", "row_width": 4, "name": "mine"})
    mine.save(tmp_path / "mine.yaml")
    page = open_page(kept={"ruleset.play": {"name": "own dials", "dials": {"row_width": 3}}})
    if not page.get_by_role("button", name="Open rules").is_visible():
        page.get_by_text("New game").first.click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open rules").click()
    chooser.value.set_files(tmp_path / "mine.yaml")
    expect(page.get_by_label("Holes per row")).to_have_value("4")
    with page.expect_download() as started:
        page.get_by_role("button", name="Save rules").click()
    started.value.save_as(tmp_path / "page.json")
    assert rulesets.lookup(tmp_path / "page.json") == mine
    drop(page, "mine.yaml", (tmp_path / "mine.yaml").read_bytes())
    expect(page.get_by_role("link", name="Study")).to_have_attribute("aria-current", "page")
    expect(page.locator(".study .holes button")).to_have_count(8)
    drop(page, "wrong.json", b'{"row_width": 55}')
    expect(page.get_by_role("alert").first).to_contain_text("row_width must be 2 to 12, not 55")


@pytest.mark.parametrize("numbers", [(0, 5, 7)])
@pytest.mark.slow
def test_study_shows_the_recorded_exact_values(open_page: Open, numbers: tuple[int, ...]) -> None:
    page = open_page(f"#study/{LATE.replace(' ', '+')}")
    for number in numbers:
        known = EXACT[number]
        position = Position(known["ruleset"], known["seeds"], known["owner"])
        page.evaluate(
            "fragment => { location.hash = fragment }", f"study/{position.to_text().replace(' ', '+')}"
        )
        expect(page.get_by_label("The position as text")).to_have_value(position.to_text())
        expect(page.locator(".panel")).to_contain_text("All values are exact")
        shown = {}
        for row in page.locator(".values tbody tr").all():
            turn, value = row.locator("td").all_inner_texts()[:2]
            shown[str(int(turn[1:]) - 1)] = int(value)
        assert shown == known["actions"]
        best = [row.inner_text().split()[0] for row in page.locator(".values tr.best").all()]
        wanted = [f"S{int(a) + 1}" for a, value in known["actions"].items() if value == known["value"]]
        assert best == wanted


@pytest.mark.slow
def test_a_bad_position_text_is_refused_in_words(open_page: Open) -> None:
    page = open_page(f"#study/{LATE.replace(' ', '+')}")
    before = text_of(page)
    text = page.get_by_label("The position as text")
    for wrong, said in (
        ("hello", "the form is"),
        ("gabata 1/1 0-0 S", "unknown ruleset"),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,x 0-0 S", "not a whole number"),
        ("leyla 99,99,4,4,4,4/4,4,4,4,4,4 0-0 S", "more seeds"),
        ("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S <img src=x onerror=alert(1)>", "is not part of a position"),
    ):
        text.fill(wrong)
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.get_by_role("alert").first).to_contain_text(said)
        assert text_of(page) == before
    later = "layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S"
    text.fill(later)
    text.press("Enter")
    assert text_of(page) == later
    expect(page.locator(".notice").first).to_be_hidden()
    bad = open_page("#study/%E0%A4%A/&<script>", tab=page)
    expect(bad.get_by_role("alert").first).to_contain_text("The address does not hold a valid position")


@pytest.mark.slow
def test_mistakes_are_found_and_tried_again(open_page: Open) -> None:
    known = EXACT[5]
    position = Position(known["ruleset"], known["seeds"], known["owner"])
    page = open_page(f"#study/{position.to_text().replace(' ', '+')}")
    page.keyboard.press("5")
    button = page.locator(".study .turns button").first
    expect(button).to_have_text("S5 −14")
    expect(button).to_have_class(re.compile("lost-much"))
    page.get_by_role("button", name="Retry your mistakes").click()
    verdict = page.locator(".study .table > .verdict")
    expect(verdict).to_contain_text("lost 14 seeds")
    page.keyboard.press("3")
    expect(verdict).to_contain_text("S3 loses 8")
    page.keyboard.press("6")
    expect(verdict).to_contain_text("S6 is right")


@pytest.mark.slow
def test_the_opening_book_is_explored(open_page: Open) -> None:
    page = open_page("#study")
    expect(page.locator(".values thead")).to_contain_text("book")
    expect(page.locator(".panel")).to_contain_text("Best line in the opening book:")
    page.locator(".values button").first.click()
    expect(page.locator(".study .turns li")).to_have_count(1)
    page.keyboard.press("[")
    expect(status(page)).to_have_text("South to move")
    page.keyboard.press("]")
    expect(status(page)).to_have_text("North to move")


@pytest.mark.slow
def test_the_opening_book_grades_a_loaded_game(open_page: Open) -> None:
    """Without the book, the solver would find the grade later."""
    page = open_page("#learn")  # Study would have asked already
    page.evaluate("""() => {
        const post = Worker.prototype.postMessage;
        Worker.prototype.postMessage = function (message, ...rest) {
            if (!["values", "minimax", "mcts"].includes(message?.task)) post.call(this, message, ...rest);
        };
    }""")
    drop(page, "game.txt", b'[Ruleset "layli_goobalay"]\n\n1. S1 N6 S1 N6\n')
    first = page.locator(".study .turns button").first
    expect(first).to_have_text(re.compile(r"S1 −\d+"))
    expect(first).to_have_class(re.compile("lost-much"))


@pytest.mark.slow
def test_values_are_final_leads_in_every_view(open_page: Open) -> None:
    page = None
    for view in ("play", "study"):
        page = open_page(f"#{view}/{LATE.replace(' ', '+')}", tab=page)
        if view == "play":
            page.keyboard.press("v")
        else:
            rows = page.locator(".values tbody tr")
            expect(rows.first).to_contain_text(re.compile(r"S2\s*-2"))
            expect(rows.last).to_contain_text(re.compile(r"S6\s*-10"))
        badges = page.locator(f".{view} text[data-name=value]")
        expect(badges.filter(has_text=re.compile("^-2$"))).to_have_count(1)
        expect(badges.filter(has_text=re.compile("^-10$"))).to_have_count(1)


@pytest.mark.slow
def test_the_coach_and_the_line_under_the_board_say_what_turns_do(open_page: Open) -> None:
    page = open_page(f"#play/{LATE.replace(' ', '+')}")
    page.keyboard.press("v")
    coach = page.locator(".coach li")
    expect(coach.first).to_have_text(re.compile(r"^S2 wins nothing: -2; best reply: N\d "))
    expect(coach.last).to_have_text("S6 wins nothing: -10; best reply: N3 makes uurs in N5 and S2.")
    page.keyboard.press("2")
    assert wait_for_you(page)
    happened = page.locator(".play .happened")
    expect(happened).to_have_text(re.compile(r"^North sowed N\d: "))
    said = happened.inner_text()
    page.get_by_role("button", name="Study").click()
    expect(page.locator(".study .happened")).to_have_text(said)


@pytest.mark.slow
def test_a_finished_game_has_a_report_with_jumps(open_page: Open) -> None:
    page = open_page(f"#play/{LATE.replace(' ', '+')}")
    page.keyboard.press("6")  # loses 8 seeds
    while wait_for_you(page):
        page.locator(".holes button.legal").first.click()
    report = page.locator(".play .report")
    expect(report.locator("tr", has_text="Blunder").locator("td").first).not_to_have_text("0")
    page.locator(".play .moments button", has_text="S6 −8").click()
    expect(page.locator(".study .report")).to_be_visible()
    assert text_of(page) == LATE
    page.get_by_role("link", name="Play").click()
    page.locator(".play [data-does=retry_yours]").click()  # Study has a button of the same name
    expect(page.locator(".study .table > .verdict")).to_contain_text("South played S6 here and lost 8 seeds")


@pytest.mark.slow
def test_a_turn_is_paused_walked_seed_by_seed_and_shown_again(open_page: Open) -> None:
    page = open_page(kept={"settings": {"speed": "slow", "theme": "auto", "keys": True, "language": None}})
    page.keyboard.press("3")
    page.get_by_role("button", name="Pause").click()
    slider = page.get_by_role("slider", name="Step of the turn")
    at = int(slider.input_value())
    slider.focus()
    page.keyboard.press("ArrowRight")  # the slider keeps the arrow keys
    expect(slider).to_have_value(str(at + 1))
    page.keyboard.press("Home")
    expect(slider).to_have_value("0")
    expect(page.locator(".holes button").first).not_to_be_focused()
    page.keyboard.press("End")
    expect(status(page)).to_contain_text(NORTHS_TURN)
    page.get_by_role("combobox", name="Sowing speed").select_option("off")
    assert wait_for_you(page)
    played = turns_of(page)
    board = page.evaluate("document.querySelector('.board svg').textContent")
    page.get_by_role("button", name="Show the last turn again").click()
    expect(slider).to_have_value("0")
    page.keyboard.press(".")
    expect(slider).to_have_value("1")
    page.keyboard.press("Escape")
    expect(page.locator(".holes button.legal").first).to_be_visible()
    assert page.evaluate("document.querySelector('.board svg').textContent") == board
    assert turns_of(page) == played


@pytest.mark.slow
def test_a_position_is_set_up_by_hand(open_page: Open) -> None:
    page = open_page(f"#study/{LATE.replace(' ', '+')}")
    page.get_by_text("Set up a position").click()
    page.get_by_text("Enter numbers").click()
    for hole in range(12):
        seeds = page.get_by_label(f"Seeds in {'SN'[hole // 6]}{hole % 6 + 1}", exact=True)
        seeds.fill("1" if hole in (0, 8) else "0")
    page.get_by_label("Store of North").fill("99")
    page.get_by_role("button", name="Study this position").click()
    expect(page.locator("details [role=alert]")).to_contain_text("more seeds")
    page.get_by_label("Store of North").fill("3")
    page.get_by_role("button", name="Study this position").click()
    assert text_of(page) == "layli_goobalay 1,0,0,0,0,0/0,0,1,0,0,0 19-3 S"


@pytest.mark.slow
def test_a_position_is_set_up_by_pressing_holes(open_page: Open) -> None:
    page = open_page(
        f"#study/{LATE.replace(' ', '+')}", width=360, height=640, has_touch=True, is_mobile=True
    )
    expect(page.locator(".panel")).to_contain_text("All values are exact")  # then nothing moves any more
    page.get_by_text("Set up a position").click()
    hole = page.locator(".panel .board [data-hole='1']")
    take = page.get_by_role("button", name="Take a seed")
    take.tap()
    expect(take).to_have_attribute("aria-pressed", "true")
    hole.tap()
    hole.tap()
    page.get_by_role("button", name="Add a seed").tap()
    page.locator(".panel .board [data-hole='0']").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("2")  # no turn of the board that is studied
    expect(page.locator(".panel .board [data-name=caption]")).to_have_text("47 of 48 seeds")
    assert text_of(page) == LATE
    page.get_by_role("button", name="Study this position").tap()
    assert text_of(page) == "layli_goobalay 1,1,0,0,0,2/1,0,2,0,0,1 19-20 S"


@pytest.mark.slow
def test_columns_of_engines_are_switched_on_and_remembered(open_page: Open) -> None:
    page = open_page(f"#study/{LATE.replace(' ', '+')}")
    expect(page.locator(".panel")).to_contain_text("All values are exact")
    expect(page.locator(".values th")).to_have_text(["Move", "exact"])
    page.get_by_label("Engines").check()
    expect(page.locator(".values thead")).to_contain_text("MCTS")
    page.reload()
    expect(page.get_by_label("Engines")).to_be_checked()
    expect(page.locator(".values thead")).to_contain_text("MCTS")
    page.get_by_label("Engines").uncheck()
    expect(page.locator(".values th")).to_have_text(["Move", "exact"])


@pytest.mark.slow
def test_the_board_has_the_texture_of_its_game(open_page: Open) -> None:
    page = open_page("#play")
    texture = "getComputedStyle(document.querySelector('.board'), '::before').backgroundImage"
    found = set()
    for name in ("layli_goobalay", "leyla", "gabata_i", "gabata_3", "leyla_gobale_ii"):
        fragment = f"play/{Position(name).to_text().replace(' ', '+')}"
        page.evaluate("fragment => { location.hash = fragment }", fragment)
        expect(page.locator("[data-name=title]")).to_contain_text(rulesets.lookup(name).title.split(",")[0])
        found.add(page.evaluate(texture))
    assert len(found) == 5
    assert "none" not in found


@pytest.mark.slow
def test_every_lesson_can_be_done(open_page: Open) -> None:
    page = open_page("#learn")
    for number in range(30):
        page.get_by_role("button", name="Show me").click()
        expect(page.locator(".told")).not_to_be_empty()
        assert "{" not in page.locator(".lesson").inner_text()
        if number < 29:
            page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(".steps .done")).to_have_count(10)
    page.goto(page.url.split("#")[0] + "#learn/layli/4")
    expect(page.locator(".lesson h2")).to_have_text(re.compile(r"^4\. "))
    expect(page.locator(".games [aria-pressed=true]")).to_have_text("Layli Goobalay")
    page.keyboard.press("1")
    expect(page.locator(".told")).to_contain_text("not the turn to find")
    page.keyboard.press("4")
    expect(page.locator(".told")).to_contain_text("5 in your store")


@pytest.mark.slow
def test_lessons_are_walked_from_game_to_game_and_end(open_page: Open) -> None:
    page = open_page("#learn/leyla/1")
    back, later = page.get_by_role("button", name="Back"), page.get_by_role("button", name="Next", exact=True)
    back.click()
    expect(page).to_have_url(re.compile("#learn/layli/10$"))
    later.click()
    expect(page).to_have_url(re.compile("#learn/leyla/1$"))
    expect(later).to_be_enabled()
    page.goto(page.url.split("#")[0] + "#learn/layli/1")
    expect(back).to_be_disabled()
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile("#learn/layli/1$"))
    page.goto(page.url.split("#")[0] + "#learn/gabata/10")
    expect(later).to_be_disabled()
    expect(back).to_be_enabled()
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("#learn/gabata/10$"))


@pytest.mark.slow
def test_a_studied_position_is_played_from(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("1")
    assert wait_for_you(page)
    played = turns_of(page)
    page.evaluate("fragment => { location.hash = fragment }", f"study/{LATE.replace(' ', '+')}")
    page.get_by_role("button", name="Play from here").click()
    assert text_of(page) == LATE
    assert turns_of(page) == []
    page.get_by_label("Games saved in this browser").focus()
    page.get_by_label("Games saved in this browser").select_option(index=1)
    assert turns_of(page) == played  # the running game is not lost


@pytest.mark.slow
def test_study_says_the_last_turn_and_what_is_best(open_page: Open) -> None:
    page = open_page("#study/layli_goobalay+0,0,1,0,0,2/0,1,0,0,0,0+20-20+S")
    live = page.locator("[aria-live]")
    page.keyboard.press("t")
    expect(live).to_contain_text("No turn has been played")
    page.get_by_text("All values are exact").wait_for()
    page.keyboard.press("h")
    expect(live).to_contain_text("Best: S")
    page.keyboard.press("6")
    page.keyboard.press("t")
    expect(live).to_contain_text("South plays S6")
    page.keyboard.press("u")
    page.keyboard.press("u")
    expect(live).to_contain_text("nothing to take back")


@pytest.mark.slow
def test_two_browsers_do_not_disturb_each_other(open_page: Open) -> None:
    one, two = open_page(), open_page()
    one.keyboard.press("1")
    two.keyboard.press("6")
    assert wait_for_you(one)
    assert wait_for_you(two)
    expect(one.locator(".turns li").first).to_contain_text("S1")
    expect(two.locator(".turns li").first).to_contain_text("S6")


@pytest.mark.parametrize(
    ("view", "scheme"),
    [
        ("play", "light"),
        (f"study/{LATE.replace(' ', '+')}", "dark"),
        ("learn/leyla/3", "light"),
        ("puzzles/leyla/3", "dark"),
    ],
)
@pytest.mark.slow
def test_axe_finds_nothing(open_page: Open, view: str, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(f"#{view}", color_scheme=scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    if view == "play":
        assert axe.run(page).violations_count == 0  # with the cards of newcomers
        page.keyboard.press("1")
        wait_for_you(page)
    found = axe.run(page)
    assert found.violations_count == 0, found.generate_report()
    if view == "play":
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow
def test_axe_finds_nothing_in_coach_and_report(open_page: Open, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(f"#play/{LATE.replace(' ', '+')}", color_scheme=scheme)
    page.keyboard.press("v")
    expect(page.locator(".coach li")).to_have_count(2)
    found = axe.run(page)
    assert found.violations_count == 0, found.generate_report()
    page.keyboard.press("6")
    while wait_for_you(page):
        page.locator(".holes button.legal").first.click()
    expect(page.locator(".moments button").first).to_be_visible()
    found = axe.run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("view", ["play", "study", "puzzles/leyla/3", "learn", f"play/{LONG}"])
@pytest.mark.slow
def test_it_fits_on_a_phone(open_page: Open, view: str) -> None:
    page = open_page(f"#{view}", width=360, height=740, has_touch=True, is_mobile=True)
    expect(page.locator(".board.upright")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator(".holes button").first.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 44  # minimum size for touch
    if view == "play":
        page.locator(".holes button.legal").first.tap()
        assert wait_for_you(page)
    page.set_viewport_size({"width": 1000, "height": 700})
    expect(page.locator(".board.upright")).to_have_count(1 if "long" in view else 0)


@pytest.mark.parametrize(("width", "height"), [(844, 390), (640, 360)])
@pytest.mark.slow
def test_everything_that_a_turn_needs_fits_sideways(open_page: Open, width: int, height: int) -> None:
    page = None
    for start in ("layli_goobalay", "layli_goobalay_long"):
        address = f"#play/{Position(start).to_text()}".replace(" ", "+")
        page = open_page(address, tab=page, width=width, height=height)
        for part in (".board", ".status", ".actions", "[data-name=score]", "[data-name=caption]"):
            expect(page.locator(part).first).to_be_in_viewport(ratio=1)
        assert box_of(page.locator(".board"))["width"] > width / 2
        page.goto(page.url.replace("#play", "#study"))
        for part in (".board", ".actions", "[data-name=score]"):
            expect(page.locator(part).first).to_be_in_viewport(ratio=1)
    page = open_page("#learn/layli/4", tab=page, width=width, height=height)
    for part in (".board", ".task", "[data-does=show_me]"):
        expect(page.locator(part)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_learn_shows_the_task_and_the_board_first_on_a_phone(open_page: Open) -> None:
    page = None
    for width, height in ((390, 844), (360, 640)):
        page = open_page("#learn/layli/4", tab=page, width=width, height=height)
        for part in (".task", ".board", "[data-does=show_me]"):
            expect(page.locator(part)).to_be_in_viewport(ratio=1)
        task, board = (box_of(page.locator(part)) for part in (".task", ".board"))
        assert task["y"] + task["height"] <= board["y"]


@pytest.mark.slow
def test_it_works_offline_once_loaded(open_page: Open, own_site: Site) -> None:
    page = open_page(is_new=True, at=own_site.address)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.wait_for_function("() => caches.open('mancala').then(c => c.keys()).then(keys => keys.length > 30)")
    own_site.stop()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.keyboard.press("1")
    assert wait_for_you(page)


@pytest.mark.slow
def test_nothing_from_elsewhere_may_run(open_page: Open, chromium: Browser) -> None:
    context = chromium.new_context()
    page = open_page(tab=context.new_page())  # its console may have errors
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "document.documentElement.dataset.inline = 'ran'";
            document.body.append(script);
            const foreign = document.createElement("script");
            foreign.src = "data:text/javascript,document.documentElement.dataset.foreign='ran'";
            return new Promise((done) => {
                foreign.onload = foreign.onerror = done;
                document.body.append(foreign);
            });
        }"""
    )
    ran = page.evaluate("() => ({ ...document.documentElement.dataset })")
    assert "inline" not in ran
    assert "foreign" not in ran
    context.close()


@pytest.mark.slow
def test_a_network_that_is_dropped_plays(open_page: Open) -> None:
    ruleset = rulesets.lookup("layli_goobalay")
    config = ValueNetworkConfig(num_holes=ruleset.num_holes)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as checkpoint:
        checkpoint.writestr("identity.json", json.dumps({"ruleset": {"name": ruleset.name}}))
        checkpoint.writestr("value_network.f32", bytes(config.num_bytes))
    chosen = {"side": "south", "agent": "network", "strength": 3, "rounds": "round", "starter": "south"}
    page = open_page(kept={"play": chosen})
    drop(page, "mine.zip", packed.getvalue())
    expect(page.locator(".news")).to_contain_text('"mine.zip" is now used for Layli Goobalay')
    page.keyboard.press("2")
    assert wait_for_you(page)
    expect(page.locator(".turns li.north")).to_have_count(1)
    weights = ValueWeights.from_bytes(bytes(config.num_bytes), config)
    drop(page, "grown.safetensors", ValueFile(rulesets.lookup("leyla"), weights, {}).to_bytes())
    expect(page.locator(".news")).to_contain_text('"grown.safetensors" is now used for Leyla')
    drop(page, "damaged.zip", b"PK\x03\x04" + bytes(100))
    expect(page.get_by_role("alert").first).to_contain_text("this zip file is damaged")
    drop(page, "wrong.txt", b"something else")
    expect(page.get_by_role("alert").first).to_contain_text("neither a game record nor a value network")
    drop(page, "short.f32", bytes(400))
    expect(page.get_by_role("alert").first).to_contain_text(f"has {config.num_bytes} bytes, not 400")


@pytest.mark.slow
def test_the_games_of_a_file_are_chosen_from(open_page: Open) -> None:
    games = [
        GameRecord("leyla", [(0, 1)], south="Amina", north="greedy"),
        GameRecord("gabata_i", [(0, 2)], south="Bilan", north="perfect"),
    ]
    page = open_page()
    drop(page, "games.txt", (games_text(games) + '\n[Ruleset "leyla"]\n[South "Cali"]\n1. S7\n').encode())
    chooser = page.get_by_label("Games in the file: 3")
    expect(chooser.locator("option")).to_have_text(
        [
            "1. Amina (South), greedy (North): *",
            "2. Bilan (South), perfect (North): *",
            "3. Cali (South), North (North): *",
        ]
    )
    expect(page.locator(".study .turns li")).to_contain_text(["S2"])
    chooser.select_option(index=1)
    expect(page.locator(".study .turns li").first).to_contain_text("S3")
    assert text_of(page).startswith("gabata_i")
    chooser.select_option(index=2)
    expect(page.get_by_role("alert").first).to_contain_text("Game 3 of the file: turn 1: S7 cannot be played")
    assert text_of(page).startswith("gabata_i")
    drop(page, "game.txt", games[0].to_text().encode())
    expect(chooser).to_be_hidden()


def drop(page: Page, name: str, content: bytes) -> None:
    page.evaluate(
        "([name, content]) => { const data = new DataTransfer();"
        "data.items.add(new File([new Uint8Array(content)], name));"
        "dispatchEvent(new DragEvent('drop', { dataTransfer: data })); }",
        [name, list(content)],
    )


@pytest.mark.slow
def test_a_game_is_studied_without_changing_it(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("1")
    wait_for_you(page)
    played = text_of(page)
    page.get_by_role("button", name="Study").click()
    expect(page.locator(".study .turns li")).to_have_count(2)
    page.keyboard.press("{")
    page.keyboard.press("6")
    expect(page.locator(".study .turns li")).to_have_count(1)
    studied = text_of(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator(".study .turns li")).to_have_count(1)
    assert text_of(page) == studied
    page.get_by_role("link", name="Play").click()
    assert wait_for_you(page)
    assert text_of(page) == played


@pytest.mark.slow
def test_a_worker_asks_again_for_files_that_did_not_come(chromium: Browser, site: Site) -> None:
    context = chromium.new_context(service_workers="block")
    try:
        page = context.new_page()
        unhandled: list[str] = []
        page.on("pageerror", lambda error: unhandled.append(str(error)))
        page.goto(f"{site.address}#study")
        page.wait_for_selector("html[data-ready]")
        page.route("**/mancala.wasm", lambda route: route.abort())
        page.evaluate("async () => { globalThis.searches = new (await import('./searches.js')).Searches(); }")
        ask = (
            "([name, text]) => searches.ask('values', { ruleset: { dials: { name } }, text },"
            " { milliseconds: 10_000 }).then((found) => found.isExact, (error) => error.message)"
        )
        assert page.evaluate(ask, ["layli_goobalay", LATE]) == "Failed to fetch"
        page.unroute("**/mancala.wasm")
        assert page.evaluate(ask, ["layli_goobalay", LATE]) is True
        assert not unhandled
    finally:
        context.close()


# Proofs in Study


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
    drop(page, "mine.proof", content)
    expect(page).to_have_url(re.compile(f"#study/{SMALL.stem}"))
    expect(page.get_by_text("This is what the file mine.proof of 2.2 kB claims.")).to_be_visible()
    expect(result_of(page)).to_contain_text("The proof is valid.")
    drop(page, "more.proof", content.replace(b"claim south 12", b"claim south 13"))
    expect(result_of(page)).to_contain_text("not valid: it does not show that South gets 13 seeds, because")
    drop(page, "wrong.proof", content.replace(b"landing uur", b"landing uurs"))
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text('wrong.proof: line 6 differs from the format: "landing uurs"')
