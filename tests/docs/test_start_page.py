"""The start page of the site: two agents play, with the exact value of every hole and each regret."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_page import FOLDER, Site

from mancala_env import Position
from mancala_env.solver import Solver
from tools.results.figures import SPEEDS, figure
from tools.results.measured import newest_speeds

pytest.importorskip("sphinx", reason="pip install --group docs")

import start_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STATIC = Path(start_page.__file__).parent / "static"
MOVE = re.compile(r"([SN])(\d+) (✓|−(\d+))")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the demonstration as the site has it, without the rest of the start page."""
    tmp_path = tmp_path_factory.mktemp("site")
    shutil.copytree(FOLDER, tmp_path / "app", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copytree(STATIC, tmp_path / "_static")
    demonstration = start_page.demonstration().replace(
        'data-position=""', 'data-position="" data-pace="0.02"'
    )
    (tmp_path / "index.html").write_text(
        f'<!doctype html><link rel="stylesheet" href="_static/start.css">{demonstration}'
        '<div style="height: 3000px"></div>',
        encoding="utf-8",
    )
    site = Site(tmp_path)
    yield site.address
    site.stop()


@pytest.fixture
def address(served: str, chromium: "Browser") -> Iterator[str]:
    """Address of the demonstration; afterwards its pages are closed, which would play on."""
    yield served
    for context in chromium.contexts:
        context.close()


def opened(chromium: "Browser", address: str, **options: Any) -> "Page":
    """Open the demonstration and stop it."""
    page = chromium.new_context(viewport={"width": 1000, "height": 800}, **options).new_page()
    page.set_default_timeout(60_000)
    page.goto(address)
    page.wait_for_selector(".demo.live")
    return page


def shown(page: "Page") -> tuple[Position, dict[int, int]]:
    """Return the position on the board, and the lead that each action leads to."""
    page.wait_for_function("document.querySelector('.demo').dataset.leads?.length > 2")
    demo = page.locator(".demo")
    leads = json.loads(demo.get_attribute("data-leads") or "")
    return Position.from_text(demo.get_attribute("data-position") or ""), {
        int(action): lead for action, lead in leads.items()
    }


def number_of_moves(page: "Page") -> int:
    return page.locator(".demo .moves li").count()


def lead_after(position: Position, action: int) -> int:
    """Return South's lead after an action."""
    after = position.copy()
    after.play(action)
    return after.counts[0] - after.counts[1]


@pytest.mark.slow
def test_agents_play_and_every_value_and_regret_is_exact(chromium: "Browser", address: str) -> None:
    page = opened(chromium, address, reduced_motion="reduce")
    solver = Solver("layli_goobalay")  # keeps what it proved, so later positions take less time
    for number in range(1, 9):
        position, leads = shown(page)
        solution = solver.solve(position)
        stores = position.stores[position.player] - position.stores[1 - position.player]
        exact = {action: value + stores for action, value in solution.action_values.items()}
        assert leads == exact
        written = page.locator(".demo text[data-name=value]").all_text_contents()
        assert sorted(map(int, written)) == sorted(exact.values())
        page.get_by_role("button", name="One turn").click()
        page.wait_for_function(f"document.querySelectorAll('.demo .moves li').length === {number}")
        found = MOVE.fullmatch(page.locator(".demo .moves li").first.inner_text())
        assert found is not None
        action, regret = int(found[2]) - 1, int(found[4] or 0)
        assert found[1] == "SN"[position.player]
        assert regret == max(exact.values()) - exact[action]
        if position.player == 0:
            assert regret == 0, "perfect plays South"
        after = position.to_text()
        page.wait_for_function(f"document.querySelector('.demo').dataset.position !== {after!r}")


@pytest.mark.slow
def test_it_plays_by_itself_while_it_is_seen(chromium: "Browser", address: str) -> None:
    page = opened(chromium, address)
    page.wait_for_function("document.querySelectorAll('.demo .moves li').length >= 3")
    page.evaluate("scrollTo(0, 2500)")
    for _ in range(20):  # a turn that has begun ends
        paused = number_of_moves(page)
        page.wait_for_timeout(600)
        if number_of_moves(page) == paused:
            break
    else:
        pytest.fail("it plays on")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function(f"document.querySelectorAll('.demo .moves li').length !== {paused}")


@pytest.mark.slow
def test_it_stands_still_where_less_motion_is_wanted(chromium: "Browser", address: str) -> None:
    page = opened(chromium, address, reduced_motion="reduce")
    shown(page)
    page.wait_for_timeout(400)
    assert number_of_moves(page) == 0
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelectorAll('.demo .moves li').length >= 2")


@pytest.mark.slow
def test_a_turn_that_has_begun_is_not_played_twice(chromium: "Browser", address: str) -> None:
    page = opened(chromium, address)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(400)  # a turn that has begun ends
    page.get_by_label("Game").select_option("leyla")
    page.evaluate(
        "for (const part of ['step', 'pause']) document.querySelector(`[data-part=${part}]`).click()"
    )
    page.wait_for_function("document.querySelectorAll('.demo .moves li').length >= 2")
    newest_first = page.locator(".demo .moves li").all_inner_texts()
    assert [move[0] for move in newest_first[-2:]] == ["N", "S"]


@pytest.mark.slow
def test_another_game_and_other_agents_can_be_chosen(chromium: "Browser", address: str) -> None:
    page = opened(chromium, address, reduced_motion="reduce")
    page.get_by_label("Game").select_option("leyla")
    page.get_by_label("South").select_option("greedy")
    page.wait_for_function("document.querySelector('.demo').dataset.position.startsWith('leyla ')")
    position, leads = shown(page)
    page.get_by_role("button", name="One turn").click()
    page.wait_for_selector(".demo .moves li")
    move = page.locator(".demo .moves li").first.inner_text()
    lead = {action: lead_after(position, action) for action in leads}
    assert lead[int(move.partition(" ")[0][1:]) - 1] == max(lead.values())


@pytest.mark.slow
def test_without_scripts_there_is_a_picture(chromium: "Browser", address: str) -> None:
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    assert page.locator(".demo svg").is_visible()
    assert not page.get_by_role("button", name="Pause", include_hidden=True).is_visible()


def test_the_figures_come_from_the_data_files() -> None:
    regrets = [
        figure(f"regret.layli_goobalay.{spec}")
        for spec in ("value+minimax:6", "trained", "minimax:6", "minimax:4")
    ]
    assert float(regrets[0]) > 0
    assert regrets == sorted(set(regrets), key=float)
    text = start_page.start_page(["install.md"])
    for shown in ("0.00", *regrets):
        assert f">{shown}</dd>" in text
    for name in ("solved.starts", "solved.positions"):
        assert figure(name) in text
    turns = newest_speeds().values[SPEEDS["all_cores"]]
    assert f"<b>{turns / 1e6:.0f} million</b>" in text
    assert "<!--" not in text


@pytest.mark.slow
def test_the_examples_run() -> None:
    text = (Path(start_page.__file__).parent / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert f"turn.laps            # {names['turn'].laps}\n" in blocks[2]
    assert f"turn.captured        # {names['turn'].captured} seeds\n" in blocks[2]


def test_each_page_is_in_one_section_of_the_contents() -> None:
    stems = {"install", "faq", "later", "guides/train", "guides/later", "reference/rules", "rulesets/index"}
    text = start_page.start_page(f"{stem}.md" for stem in stems)
    listed = re.findall(r"^(?:.+ <)?([\w/]+)>?$", text.partition("```{toctree}")[2], re.MULTILINE)
    assert sorted(one for one in listed if one in stems) == sorted(stems)
