"""The leaderboard of text tasks follows its schema, and its page is up to date."""

import json
import re
from pathlib import Path
from typing import get_args

import jsonschema
import numpy as np
import pytest

from mancala_env._util.command_line import BAD_INPUT
from mancala_env.envs import prompts, text
from mancala_env.evaluation import text_tasks
from tools import make_text_baselines as made

SCHEMA = json.loads(made.SCHEMA.read_text("utf-8"))
BOARD = json.loads(made.FILE.read_text("utf-8"))


def test_leaderboard_follows_the_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(BOARD, SCHEMA)
    assert BOARD["hashes"] == text_tasks.FIXED_HASHES


@pytest.mark.parametrize(
    ("key", "value"),
    [("reward", 2), ("reward", 0.5), ("invalid", 1.5), ("tasks", 0), ("regret", -1), ("note", "cheated")],
)
def test_schema_refuses_impossible_results(key: str, value: object) -> None:
    board = json.loads(json.dumps(BOARD))
    board["entries"][0]["results"]["move"][key] = value
    with pytest.raises(jsonschema.ValidationError) as error:
        jsonschema.validate(board, SCHEMA)
    assert key in str(error.value)


@pytest.mark.generated
def test_page_of_the_leaderboard_is_up_to_date() -> None:
    assert made.PAGE.read_text("utf-8") == made.page(BOARD), "run python -m tools.make_text_baselines --bots"


def test_an_invalid_entry_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = {**BOARD["entries"][0], "results": {"play:9": {}}}
    monkeypatch.setattr(made, "FILE", tmp_path / "board.json")
    monkeypatch.setattr(made, "PAGE", tmp_path / "board.md")
    made.FILE.write_text(json.dumps({**BOARD, "entries": [entry]}), "utf-8")
    assert made.main(["--bots"]) == BAD_INPUT
    assert "play:9" in capsys.readouterr().err
    assert not made.PAGE.exists()


def test_number_of_rounds_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert made.main(["--rounds", "0"]) == BAD_INPUT
    assert "--rounds" in capsys.readouterr().err


def test_bots_score_as_the_regret_tables_say() -> None:
    measured = json.loads((made.FOLDER / "regret.json").read_text("utf-8"))
    entries = {entry["name"]: entry["results"] for entry in BOARD["entries"]}
    for name in ("random", "greedy", "trained"):
        for ruleset in made.CATALOGUE:
            expected = measured["rulesets"][ruleset][name]["by_seed"]
            assert entries[name][f"move:{ruleset}"]["regret"] == expected[min(1, len(expected) - 1)]
    order = [
        entries[name]["move"]["reward"]
        for name in ("perfect", "greedy", "random", "hole 1", "parser breaker")
    ]
    assert order == sorted(order, reverse=True)
    assert (order[0], order[-1]) == (0.0, -1.0)


def test_perfect_play_leads_every_table_of_rounds() -> None:
    entries = {entry["name"]: entry["results"] for entry in BOARD["entries"]}
    for level in made.OPPONENTS:
        results = {
            name: found[f"play:{level}"] for name, found in entries.items() if f"play:{level}" in found
        }
        assert results["perfect:1s"]["regret"] == results["perfect:1s"]["invalid"] == 0
        assert max(results, key=lambda name: results[name]["reward"]) == "perfect:1s"


def test_guide_states_the_costs() -> None:
    guide = (made.FOLDER.parent / "guides" / "language_models.md").read_text("utf-8")
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \|$", guide, re.MULTILINE)
    stated = {name: int(tokens.replace(",", "")) for name, tokens in rows}
    for kind in get_args(prompts.Kind):
        tokens = [len(text.make_task(kind, seed).prompt) / 4 for seed in range(20)]
        assert stated[f"`{kind}`"] == pytest.approx(np.mean(tokens), rel=0.05)
    whole, chat = [], []
    for game in (text.Round(seed, opponent=2) for seed in range(4)):
        asked, messages = [], [game.prompt]
        while not game.is_over:
            asked.append(game.prompt)
            game.step(f"Answer: {game.position.legal_actions[0] + 1}")
            messages += [] if game.is_over else [game.update]
        whole.append(len("".join(asked)) / 4)
        chat.append(len("".join(messages)) / 4)
    assert stated["a round, `prompt` for each reply"] == pytest.approx(np.mean(whole), rel=0.05)
    assert stated["a round as a chat, `prompt` and then `update`"] == pytest.approx(np.mean(chat), rel=0.05)
