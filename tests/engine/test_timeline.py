"""The timeline of a turn gives the same result as the turn."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from error_checks import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import own_rulesets

from mancala_env import IllegalMove, Position, rulesets
from mancala_env.engine.timeline import KINDS, replay

HANDS = {"lift": 1, "capture": 1, "ransom": 1, "drop": -1, "store": -1}
"""Sign of the change of seeds in hand, by kind of event."""
RECORDINGS = sorted((Path(__file__).parent.parent / "data").glob("ludii_*.jsonl.gz"))


def assert_replays(position, action):
    """Play an action, check that replaying its timeline gives the same position, and return both."""
    timeline = position.timeline(action)
    boards = list(replay(position.state, timeline.events))
    total = position.seeds.sum() + sum(position.stores)
    turn = position.play(action)
    for field, replayed in zip(position.state, boards[-1], strict=True):
        assert (field == replayed).all()
    assert (timeline.player, timeline.laps) == (turn.player, turn.laps)
    events = timeline.events
    assert sum(event.seeds for event in events if event.kind == "store") == turn.captured
    assert sorted(event.hole for event in events if event.kind == "own") == list(turn.new_owned)
    assert ("put_back" in [event.kind for event in events]) == turn.endless
    hands, in_hand = [], 0
    for event in events:
        in_hand = 0 if event.kind == "put_back" else in_hand + HANDS.get(event.kind, 0) * event.seeds
        hands.append(in_hand)
    seeds = np.concatenate([board.seeds for board in boards])
    stores = np.concatenate([board.stores for board in boards])
    assert seeds.min() >= 0
    assert (seeds.sum(axis=1) + stores.sum(axis=1) + hands == total).all()
    assert len(boards) == len(events)
    assert in_hand == 0
    return timeline


def play_at_random(position, random, turns=200, rounds=3):
    seen = set()
    for _ in range(turns):
        if position.is_over:
            position = position.next_round() if position.round < rounds else None
            if position is None or position.is_over:
                return seen
        timeline = assert_replays(position, random.choice(position.legal_actions))
        seen |= {event.kind for event in timeline.events}
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name[:-9])
def test_replayed_timelines_are_ludiis_games(path):
    with gzip.open(path, "rt") as lines:
        records = [json.loads(line) for line in lines]
    for record in records:
        position = Position(record["ruleset"])
        for turn in [*record["turns"], record["last"]]:
            assert_replays(position, turn["action"])


@pytest.mark.parametrize("name", rulesets.names())
def test_replayed_timelines_are_random_matches(name):
    random = np.random.default_rng(5)
    for _ in range(20):
        play_at_random(Position(name), random)


def test_every_kind_of_event_happens():
    random = np.random.default_rng(1)
    seen = set()
    for name in ("layli_goobalay", "leyla", "gabata_i") * 10:
        seen |= play_at_random(Position(name), random)
    endless = Position("layli_goobalay", seeds=[3, 2, 1, 8, 1, 8, 0, 1, 0, 3, 0, 1])
    seen |= {event.kind for event in assert_replays(endless, 5).events}
    assert seen == set(KINDS)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(own_rulesets(), st.integers(0, 2**32 - 1))
def test_replayed_timelines_are_games_of_random_rule_options(ruleset, seed):
    play_at_random(Position(ruleset), np.random.default_rng(seed), turns=60)


def test_a_timeline_leaves_the_position_as_it_is():
    position = Position("leyla")
    before = position.copy()
    position.timeline(0)
    assert position == before


def test_the_timeline_of_an_illegal_action_is_refused():
    with raises(IllegalMove, "0, 1"):
        Position("leyla").timeline(7)


def test_three_opposite_crosses_over():
    """Three seeds opposite an own empty hole: one crosses over, and both holes become uur (RULES 3)."""
    position = Position("layli_goobalay", seeds=[1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 3, 0])
    kinds = [(event.kind, event.hole, event.seeds) for event in position.timeline(0).events]
    assert kinds[:-1] == [
        ("lift", 0, 1), ("drop", 1, 1), ("lift", 10, 1), ("drop", 1, 1), ("own", 1, 2), ("own", 10, 2),
    ]  # fmt: skip
