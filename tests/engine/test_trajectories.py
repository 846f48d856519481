"""Games from fixed seeds are bit-equal to those of the stored table."""

import json
from pathlib import Path

import pytest
from trajectories import PLAYED, hash_of

from mancala_env import rulesets

TABLE = json.loads(
    (Path(__file__).resolve().parent.parent / "data" / "trajectories.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("played", PLAYED)
@pytest.mark.parametrize("name", rulesets.names())
def test_games_from_the_same_seeds_are_the_same(name, played):
    assert hash_of(PLAYED[played], rulesets.lookup(name)) == TABLE[name][played]


def test_the_table_has_every_ruleset():
    assert set(TABLE) == set(rulesets.names())
