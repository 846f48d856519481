"""The documentation site builds without warnings, its links work, and it is complete."""

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from error_checks import raises

from mancala_env import Position, rulesets
from mancala_env._util.package_data import rulesets_with
from mancala_env.games.records import options_of
from mancala_env.solver import ILLEGAL, positions, rulesets_with_positions

pytest.importorskip("sphinx", reason="pip install --group docs")

import drawings
import links
import pages
import readme_pictures
import ruleset_facts
import study_links

ROOT = Path(__file__).resolve().parent.parent.parent
# All are prepared at once, which may take long on a busy machine.
pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does, into a temporary folder."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "site" / "make_site.py"), "--into", str(folder)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_links_lead_somewhere(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert links.broken_links(site) == []


@pytest.mark.slow
def test_every_ruleset_has_its_page_with_pictures(site: Path) -> None:
    for name in rulesets.names():
        text = (site / "rulesets" / f"{name}.html").read_text(encoding="utf-8")
        for picture in (f"{name}.svg", f"{name}-turn.svg"):
            assert re.search(rf'<img [^>]*src="[^"]*{picture}"', text), picture
        assert f"{name}.html" in (site / "rulesets" / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_that_plays_is_on_the_site_and_every_board_opens_in_it(site: Path) -> None:
    served = {
        path.name for path in (ROOT / "mancala_env" / "web").iterdir() if path.suffix in (".js", ".wasm")
    }
    assert served
    assert served <= {path.name for path in (site / "app").iterdir()}
    assert not list((site / "app").rglob("*.py"))
    for name in rulesets.names():
        text = (site / "rulesets" / f"{name}.html").read_text(encoding="utf-8")
        start = Position(name).to_text().replace(" ", "+")
        assert f'href="../app/index.html#play/{start}"' in text
        assert f'href="../app/index.html#study/{start}"' in text


@pytest.mark.slow
def test_every_position_drawn_on_the_site_opens_in_study(site: Path) -> None:
    num_linked = 0
    for path in set(site.rglob("*.html")) - set((site / "app").rglob("*")):
        text = path.read_text(encoding="utf-8")
        # An inline picture: only in figures, which end with a link.
        figures = re.findall(r'<figure class="board">.*?</figure>', text, re.DOTALL)
        assert sum("#study/" in figure for figure in figures) == text.count(
            '<svg xmlns="http://www.w3.org/2000/svg" class="mancala'
        ), path
        for image in re.finditer(r'(<a [^>]*>)?\s*<img [^>]*?src="([^"]+)"', text):
            position = study_links.position_in(path.parent / unquote(image[2]))
            if position is not None:
                place = f"app/index.html#study/{position.to_text().replace(' ', '+')}"
                assert image[1], f"{path}: {image[2]} is not a link"
                assert place in html.unescape(image[1])
                num_linked += 1
    lesson = (ROOT / "notebooks" / "learn_layli_goobalay.ipynb").read_text(encoding="utf-8")
    assert num_linked > lesson.count('"image/svg+xml"') + 10


@pytest.mark.slow
def test_every_board_printed_on_a_page_opens_in_study(site: Path) -> None:
    text = (site / "reference" / "rules.html").read_text(encoding="utf-8")
    linked = re.findall(r'href="../app/index.html#study/([^"]*)">Study', text)
    printed = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    boards = len(re.findall(r"^North .* store \d+$", printed, re.MULTILINE))
    assert len(linked) == boards > 10
    own = [link for link in linked if link.startswith("small+")]
    assert own == [
        "small+2,2,2/2,2,2+0-0+S;"
        + ";".join(options_of(rulesets.Ruleset(name="small", row_width=3, seeds_per_hole=2)))
    ]


def test_an_example_that_is_not_true_is_no_board_to_study() -> None:
    block = """```python
>>> from mancala_env import Position
>>> print(Position("leyla"))
North   4    store 0
```
"""
    with raises(ValueError):
        study_links.with_links_under_boards(block, "")


@pytest.mark.slow
def test_every_page_of_the_repository_is_on_the_site_and_reached_from_the_start(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    for path in set(pages.pages().values()) - {"index.md"}:
        page = path.rsplit(".", 1)[0] + ".html"
        assert (site / page).is_file(), page
        assert f'href="{page}"' in start, page


@pytest.mark.generated
@pytest.mark.parametrize("name", readme_pictures.drawings())
def test_pictures_of_the_readme_are_as_they_are_drawn_today(name: str) -> None:
    drawn = readme_pictures.drawings()[name]
    assert (readme_pictures.FOLDER / name).read_text(encoding="utf-8") == drawn + "\n", (
        "run docs/site/readme_pictures.py"
    )
    assert f"docs/img/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(drawn) < 100_000


def test_the_curve_of_the_readme_is_between_the_lines_that_it_names() -> None:
    figures = json.loads(readme_pictures.LEARNING.read_text(encoding="utf-8"))
    last = sum(run[-1] for run in figures["regret"]) / len(figures["seeds"])
    assert figures["lines"]["minimax:4"] < last < figures["lines"]["minimax:2"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "between minimax:2 and minimax:4](docs/img/learning.png)" in readme
    steps = re.search(r"\.learn\(([\d_]+)\)", readme)
    assert steps is not None
    assert int(steps[1]) == pytest.approx(figures["steps"][-1], rel=0.05)
    assert f'observation="{figures["observation"]}", opening_set="training"' in readme
    assert f"\n# {figures['printed']}\n```" in readme


def test_links_to_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#there">2</a><img src="c.png">', encoding="utf-8"
    )
    (tmp_path / "b.html").write_text(
        '<p id="here"><a href="https://example.org/gone">fine, not fetched</a></p>', encoding="utf-8"
    )
    assert links.broken_links(tmp_path) == [
        "a.html: b.html#there (no such place on the page)",
        "a.html: c.png",
    ]


def test_a_link_to_the_published_page_leads_to_the_page_of_the_site() -> None:
    play = drawings.site_link(Position("leyla"), "play")
    text = pages.site_text("docs/rulesets/leyla.md", f"[Play]({play})")
    place = "#play/leyla+4,4,4,4,4,4/4,4,4,4,4,4+0-0+S"
    assert text == f'<a class="play" href="../app/index.html{place}">Play</a>'


def test_a_link_leads_to_a_page_of_the_site_or_to_the_repository() -> None:
    text = (
        "[1](rules.md#a-weg) [2](../../CONTRIBUTING.md) [3](../../Makefile) [4](https://ludii.games) "
        "![5](../img/pool.png)"
    )
    assert pages.site_text("docs/reference/agents.md", text) == (
        f"[1](rules.md#a-weg) [2](../contributing.md) [3]({pages.REPOSITORY}/blob/main/Makefile) "
        "[4](https://ludii.games) ![5](../img/pool.png)"
    )
    assert pages.site_text("docs/reference/agents.md", f"```text\n{text}\n```") == f"```text\n{text}\n```"
    with raises(FileNotFoundError, "agents.md", "gone.md"):
        pages.site_text("docs/reference/agents.md", "[1](gone.md)")
    link = "[1](../docs/reference/rules.md)"
    cells = [{"cell_type": kind, "source": [link]} for kind in ("markdown", "code")]
    notebook = json.loads(pages.site_text("notebooks/train_first_agent.ipynb", json.dumps({"cells": cells})))
    assert notebook["cells"][0]["source"] == "[1](../reference/rules.md)"
    assert notebook["cells"][1]["source"] == [link]


@pytest.mark.parametrize("name", rulesets.names())
def test_the_turn_that_is_shown_can_be_played_and_wins_something(name: str) -> None:
    before, action = ruleset_facts.turn_to_show(rulesets.lookup(name))
    turn = before.copy().play(action)
    assert turn.captured or turn.new_owned
    assert 1 < turn.laps < 10
    assert before == ruleset_facts.turn_to_show(rulesets.lookup(name))[0]


@pytest.mark.parametrize("name", rulesets.names())
def test_the_values_on_a_page_are_those_of_book_and_solved_positions(name: str) -> None:
    ruleset = rulesets.lookup(name)
    start, values = Position(ruleset), ruleset_facts.first_values(ruleset)
    value = ruleset_facts.opening_value(ruleset)
    assert set(values) <= set(start.legal_actions)
    if values:
        assert max(values.values()) == value
    if name in rulesets_with("book"):
        assert value is not None
    if name in rulesets_with_positions():
        shipped = positions(ruleset)
        for row in (shipped.games == start.games).all(axis=1).nonzero()[0]:
            exact = {a: int(v) for a, v in enumerate(shipped.action_values[row]) if v != ILLEGAL}
            assert values in ({}, exact)
            assert value == max(exact.values())
