"""A few cases of each attack of the soak test."""

import json
from pathlib import Path

import pytest
from bad_inputs import every_bad_input
from rich.console import Console
from soak import Campaign
from soak_stages import STAGES, Stage

QUICK = (
    "engine",
    "proofs",
    "proof-turns",
    "searches",
    "failing-opponents",
    "checkpoints",
    "files",
    "bad-inputs",
)


def test_every_bad_input_is_a_value_error_with_a_message() -> None:
    assert every_bad_input() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_little_of_every_quick_attack(name: str) -> None:
    stage = next(stage for stage in STAGES if stage.name == name)
    if stage.missing:
        pytest.skip(stage.missing)
    assert stage.attack(1) > 0


def _falls_at_three(seed: int) -> int:
    if seed == 3:
        raise RuntimeError("seed three")
    return 5


def test_a_campaign_resumes_and_names_its_failures(tmp_path: Path) -> None:
    stages = [Stage("thing", "it stands", "cases", 30, _falls_at_three)]
    path = tmp_path / "soak.json"
    first = Campaign(path, stages)
    first._slice(stages[0], 0.001)
    tried = first.records["thing"].tried
    again = Campaign(path, stages)
    assert again.records["thing"].tried == tried
    for _ in range(50):
        again.run(0.2, Console(quiet=True))
        if again.records["thing"].fallen:
            break
    record = json.loads(path.read_text(encoding="utf-8"))["records"]["thing"]
    assert list(record["fallen"]) == ["3"]
    assert "RuntimeError: seed three" in record["fallen"]["3"]
    assert record["tried"] == 5 * (record["seed"] - 1) + 1
    assert "**1 failed**" in again.page()
