"""The generated pages of docs/reference are up to date, and the pages about agents agree with the code."""

import re
import shlex
from pathlib import Path

import pages
import pytest
from markdown_tables import rows_below

from mancala_env._util.package_data import DATA
from mancala_env._util.settings import settings_of
from mancala_env.agents import spec_forms
from mancala_env.cli import commands, parser_of
from mancala_env.evaluation import stored_ladder
from mancala_env.training.rllib.cluster_config import RayConfig
from tools.make_reference import REFERENCE, command_line_page, generated, settings_page
from tools.results import figures

ROOT = REFERENCE.parent.parent


@pytest.mark.generated
@pytest.mark.parametrize("name", ["settings.md", "command_line.md"])
def test_the_pages_are_up_to_date(name: str) -> None:
    assert generated()[name] == (REFERENCE / name).read_text(encoding="utf-8"), (
        "run: python -m tools.make_reference --write"
    )


def test_every_setting_has_one_row() -> None:
    page = settings_page()
    for each in settings_of(RayConfig):
        assert page.count(f"\n| `{each.name}` | {each.meaning.text}") == 1, each.name


def test_every_command_has_a_section_and_every_option_a_row() -> None:
    page = command_line_page()
    assert [line.split()[-1] for line in page.splitlines() if line.startswith("## mancala ")] == [*commands()]
    evaluate = page.partition("## mancala evaluate\n")[2].partition("\n## ")[0]
    assert "\n| `--regret`, `--no_regret` | measure regret" in evaluate
    assert "one of all, training, evaluation, balanced" in evaluate
    assert "\n| `--seed SEED` | random seed of openings and agents | `0` |\n" in evaluate
    train = page.partition("## mancala train\n")[2].partition("\n## ")[0]
    assert "| `--resume FOLDER` |" in train
    assert "ppo." not in train


def test_every_form_of_a_spec_has_a_row() -> None:
    page = (REFERENCE / "agents.md").read_text(encoding="utf-8")
    forms = [form for form in spec_forms() if not form.startswith("a path")]
    assert set(
        re.findall(r"^\| `([^`]+)`", page.partition("## Specs")[2].partition("| part |")[0], re.M)
    ) == {
        *forms,
        "CHECKPOINT",
    }


def card(kind: str, ruleset: str) -> str:
    return (DATA / f"{kind}_{ruleset}.md").read_text(encoding="utf-8")


def cells(page: str, heading: str) -> list[list[str]]:
    """Return the rows of a table as plain text."""
    return [[cell.strip("`*") for cell in row] for row in rows_below(page, heading)]


def test_the_strengths_of_opponents_are_the_measured_ones() -> None:
    rows = cells("guides/opponents.md", "How strong")
    stored = stored_ladder("layli_goobalay").anchors
    assert {name for name, *_ in rows} == {*stored, "trained", "value+minimax:6"} - {"perfect+traps"}
    for name, elo, regret in rows:
        assert elo == figures.figure(f"elo.layli_goobalay.{name}"), name
        assert regret == ("0" if name == "perfect" else figures.figure(f"regret.layli_goobalay.{name}")), name


@pytest.mark.parametrize(("kind", "heading"), [("value", "Value networks"), ("policy", "Policy networks")])
def test_the_strengths_of_bundled_networks_are_those_of_their_cards(kind: str, heading: str) -> None:
    rows = cells("results/bundled_agents.md", heading)
    assert len(rows) == len([*DATA.glob(f"{kind}_*.md")]) - 1  # gabata_3 is described below the table
    for ruleset, *quoted in rows:
        for cell in quoted:
            found = re.fullmatch(r"(?P<figure>.*?)( \((?P<without>[\d.]+) without\))?", cell)
            assert found
            for figure in filter(None, found.groupdict().values()):
                assert re.search(rf"\| {re.escape(figure)}( \(.*\))? \|", card(kind, ruleset)), (
                    ruleset,
                    figure,
                )


def commands_of(page: Path) -> list[str]:
    """Return the lines of code on a page that call `mancala`."""
    blocks = re.findall(
        r"^```(?:text|bash|sh|console)\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M
    )
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    called = (re.match(r"(?:\$ )?(?:\.venv/bin/)?mancala ([a-z][a-z-]* .*)", line) for line in lines)
    return [found[1] for found in called if found and "..." not in found[1] and "[" not in found[1]]


PAGES = [
    ROOT / page for page in pages.pages() if page.startswith(("README", "docs/guides", "docs/reference"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_have_arguments_that_the_programs_take(page: Path) -> None:
    for command in commands_of(page):
        name, *words = shlex.split(command.partition("|")[0], comments=True)
        assert name in commands(), command
        parser_of(name).parse_args([word for word in words if word != "--help"])


def test_the_commands_of_the_training_guide_are_found() -> None:
    found = commands_of(ROOT / "docs" / "guides" / "train.md")
    assert "train --resume runs/leyla --minutes 60           # resume" in found
