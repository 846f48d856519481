"""The generated pages of docs/reference are up to date and complete."""

import pytest

from mancala_env._util.settings import settings_of
from mancala_env.cli import commands
from mancala_env.training.rllib.cluster_config import RayConfig
from tools.make_reference import REFERENCE, command_line_page, generated, settings_page


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
