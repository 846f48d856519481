"""The engine plays the same games as its twin (tests/support/naive.py), field by field."""

import random

import naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import POSSIBLE_DIALS, own_rulesets
from twins import assert_same, naive_rules, play_both, play_match, random_pair

from mancala_env import Position, Ruleset, rulesets

MATCHES, MOST_ROUNDS = 16, 8
RANDOM_POSITIONS = 500


def test_the_twin_has_every_ruleset_of_the_catalogue():
    for name in rulesets.names():
        assert naive_rules(rulesets.lookup(name)) == naive.NAIVE_RULESETS[name]


@pytest.mark.parametrize("ruleset", rulesets.names())
def test_random_matches(ruleset):
    rng = random.Random(ruleset)
    turns = sum(play_match(ruleset, n % 2, rng, MOST_ROUNDS) for n in range(MATCHES))
    assert turns > 10 * MATCHES


@pytest.mark.parametrize("ruleset", rulesets.names())
def test_random_positions_and_every_turn_in_them(ruleset):
    rng = random.Random(ruleset)
    for _ in range(RANDOM_POSITIONS):
        position, game = random_pair(ruleset, rng)
        assert_same(position, game)
        for action in position.legal_actions:
            after, twin = position.copy(), naive.copy_of(game)
            play_both(after, twin, action)
            if after.is_over:
                following, next_twin = after.next_round(), naive.next_round(twin)
                assert (following is None) == (next_twin is None)
                if following is not None and next_twin is not None:
                    assert_same(following, next_twin)


def test_every_combination_of_rule_options_can_be_drawn():
    assert len(POSSIBLE_DIALS) > 100
    for dial, values in {"landing": 3, "round_end": 3, "match": 4, "opening": 3, "owns_on": 2}.items():
        assert len({dials[dial] for dials in POSSIBLE_DIALS}) == values


@pytest.mark.slow
@settings(max_examples=300)
@given(ruleset=own_rulesets(), starter=st.integers(0, 1), seed=st.integers(0, 2**32))
def test_random_matches_of_custom_rulesets(ruleset, starter, seed):
    play_match(ruleset, starter, random.Random(seed), most_rounds=3)


@settings(max_examples=500)
@given(ruleset=own_rulesets(), seed=st.integers(0, 2**32))
def test_random_positions_of_custom_rulesets(ruleset, seed):
    position, game = random_pair(ruleset, random.Random(seed))
    assert_same(position, game)
    for action in position.legal_actions[:3]:
        play_both(position.copy(), naive.copy_of(game), action)


@pytest.mark.parametrize("dials", POSSIBLE_DIALS, ids=lambda dials: "-".join(map(str, dials.values())))
def test_a_match_under_every_combination_of_rule_options(dials):
    play_match(Ruleset(name="own", row_width=4, **dials), 0, random.Random(1), most_rounds=3)


@pytest.mark.parametrize("ruleset", ["layli_goobalay", "leyla", "gabata_i"])
def test_the_game_looks_the_same_from_both_seats(ruleset):
    rng = random.Random(7)
    south, north = Position(ruleset, player=0), Position(ruleset, player=1)
    width = rulesets.lookup(ruleset).row_width
    for _ in range(300):
        if south.is_over:
            south, north = Position(ruleset, player=0), Position(ruleset, player=1)
        assert south.legal_actions == north.legal_actions
        action = rng.choice(south.legal_actions)
        mine, theirs = south.play(action), north.play(action)
        assert (mine.laps, mine.captured, mine.endless) == (theirs.laps, theirs.captured, theirs.endless)
        assert south.seeds.tolist() == north.seeds[width:].tolist() + north.seeds[:width].tolist()
        assert (south.counts, south.end) == (north.counts[::-1], north.end)
