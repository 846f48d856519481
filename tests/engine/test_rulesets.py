"""The catalogue of docs/reference/rules.md, sections 6 and 7, and the rule options of custom rulesets."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from error_checks import raises

from mancala_env import InvalidRuleset, MancalaError, Position, Ruleset, rulesets
from mancala_env.agents.match import options_in_bytes
from mancala_env.evaluation.round_robin import rules_hash

# name: row width, seeds per hole, direction, landing, round end, match
CATALOGUE = {
    "layli_goobalay": (6, 4, "anticlockwise", "uur", "mover_stuck", "mirror"),
    "leyla_gobale_ii": (6, 5, "anticlockwise", "uur", "mover_stuck", "mirror"),
    "layli_goobalay_long": (12, 4, "clockwise", "uur", "mover_stuck", "single"),
    "layli_goobalay_8": (8, 4, "clockwise", "uur", "mover_stuck", "single"),
    "leyla": (6, 4, "clockwise", "pair", "mover_stuck", "loan"),
    "gabata_i": (6, 4, "anticlockwise", "weg", "both_stuck", "territory"),
    "gabata_five_holes": (5, 4, "anticlockwise", "weg", "both_stuck", "territory"),
    "gabata_seven_holes": (7, 4, "anticlockwise", "weg", "both_stuck", "territory"),
    "gabata_3": (6, 4, "anticlockwise", "weg", "both_stuck", "territory"),
    "ludii_leyla": (6, 4, "clockwise", "pair", "either_stuck", "single"),
    "ludii_leyla_gobale_somaliland": (6, 4, "clockwise", "uur", "either_stuck", "single"),
    "ludii_leyla_gobale_gabradarre": (6, 5, "anticlockwise", "uur", "either_stuck", "single"),
    "ludii_gabata_i": (6, 4, "anticlockwise", "weg", "both_stuck", "single"),
    "ludii_gabata_five_holes": (5, 4, "anticlockwise", "weg", "both_stuck", "single"),
    "ludii_gabata_seven_holes": (7, 4, "anticlockwise", "weg", "both_stuck", "single"),
}


def test_names_lists_every_ruleset_of_the_written_sources_and_ludiis():
    assert rulesets.names() == tuple(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_catalogue(name):
    ruleset = rulesets.lookup(name)
    dials = (
        ruleset.row_width,
        ruleset.seeds_per_hole,
        ruleset.direction,
        ruleset.landing,
        ruleset.round_end,
        ruleset.match,
    )
    assert (ruleset.name, dials) == (name, CATALOGUE[name])
    assert ruleset.title
    assert ruleset.region
    assert ruleset.source


def test_only_ludiis_rulesets_use_ludiis_rule_options():
    for name in rulesets.names():
        ruleset = rulesets.lookup(name)
        has_ludiis_dials = (
            not ruleset.captures_last or ruleset.owns_on == "either" or not ruleset.ransoms_empty
        ) or ruleset.round_end == "either_stuck"
        assert has_ludiis_dials == name.startswith("ludii_")
    assert rulesets.lookup("ludii_leyla_gobale_somaliland").opening == "rightmost"
    assert rulesets.lookup("ludii_leyla_gobale_gabradarre").opening == "free"
    assert rulesets.lookup("gabata_3").opening == "eights"


def test_a_ruleset_is_looked_up_as_itself():
    mine = Ruleset(name="mine")
    assert rulesets.lookup(mine) is mine


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("layli_gobalay", "'layli_goobalay'"),
        ("gabata_1", "'gabata_i'"),
        ("Leyla", "'leyla'"),
        ("ludii_gabata", "'ludii_gabata_i'"),
    ],
)
def test_a_wrong_name_is_answered_with_near_ones(name, near):
    with raises(InvalidRuleset, repr(name), near):
        rulesets.lookup(name)


@pytest.mark.parametrize("wrong", ["oware", "", None, 3, ["leyla"]])
def test_a_name_near_none_is_answered_with_all(wrong):
    with raises(InvalidRuleset, "layli_goobalay", "leyla_gobale_ii"):
        rulesets.lookup(wrong)


def test_a_ruleset_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        rulesets.lookup("leyla").row_width = 3  # type: ignore[misc]


def test_sizes_follow_from_the_rule_options():
    ruleset = Ruleset(row_width=7, seeds_per_hole=3)
    assert (ruleset.num_holes, ruleset.total_seeds) == (14, 42)


def test_numpy_integers_are_stored_as_int() -> None:
    made = rulesets.lookup({"row_width": np.int64(5), "seeds_per_hole": np.uint8(3)})
    assert made == rulesets.lookup({"row_width": 5, "seeds_per_hole": 3})
    assert type(made.row_width) is type(made.seeds_per_hole) is int


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("rounds", [1, 2, "match"])
def test_the_action_space_is_the_row_unless_territory_can_change_hands(name, rounds):
    width, *_, match = CATALOGUE[name]
    wide = match == "territory" and rounds != 1
    assert rulesets.lookup(name).num_actions(rounds) == (2 * width if wide else width)


# Custom rulesets: the ranges of the rule options


@pytest.mark.parametrize("width", range(2, 13))
def test_row_widths_2_to_12_play(width):
    for seeds in {1, 4, 255 // (2 * width)}:
        game = Position(Ruleset(row_width=width, seeds_per_hole=seeds))
        game.play(game.legal_actions[-1])
        assert sum(game.counts) == 2 * width * seeds


@pytest.mark.parametrize(
    ("dials", "why"),
    [
        ({"row_width": 1}, ["row_width", 2, 12, 1]),
        ({"row_width": 13}, ["row_width", 2, 12, 13]),
        ({"row_width": 6.0}, ["row_width", 6.0]),
        ({"row_width": True}, ["row_width", True]),
        ({"seeds_per_hole": "4"}, ["seeds_per_hole", "4"]),
        ({"seeds_per_hole": 0}, ["seeds_per_hole", 21, 0]),
        ({"seeds_per_hole": 22}, [255, 22]),
        ({"row_width": 12, "seeds_per_hole": 11}, ["seeds_per_hole", 1, 10, 24]),
        ({"direction": "left"}, ["direction", "anticlockwise", "clockwise", "left"]),
        ({"landing": "Weg"}, ["landing", "uur", "pair", "weg", "Weg"]),
        ({"owns_on": "own"}, ["owns_on", "opponent", "either", "own"]),
        ({"round_end": "stuck"}, ["round_end", "mover_stuck", "either_stuck", "both_stuck"]),
        ({"match": True}, ["match", "single", "mirror", "loan", "territory", True]),
        ({"opening": None}, ["opening", "free", "rightmost", "eights", None]),
        ({"captures_last": 1}, ["captures_last", True, False, 1]),
        ({"ransoms_empty": "no"}, ["ransoms_empty", True, False, "no"]),
        ({"name": "two words"}, ["name", "two words"]),
        ({"name": ""}, ["name", "''"]),
        ({"name": None}, ["name", None]),
    ],
)
def test_a_rule_option_out_of_range_is_refused(dials, why):
    with raises(InvalidRuleset, why):
        Ruleset(**dials)


GABATA = {"landing": "weg", "round_end": "both_stuck", "match": "territory"}


@pytest.mark.parametrize(
    ("dials", "why"),
    [
        (GABATA | {"landing": "uur"}, ["match='territory'", "landing='weg'", "uur"]),
        (GABATA | {"landing": "pair"}, ["match='territory'", "landing='weg'", "pair"]),
        (GABATA | {"round_end": "mover_stuck"}, ["match='territory'", "round_end='both_stuck'"]),
        (GABATA | {"seeds_per_hole": 3}, ["match='territory'", 3]),
        ({"match": "loan", "seeds_per_hole": 5}, ["match='loan'", 5]),
        ({"opening": "eights"}, ["opening='eights'", "landing='weg'"]),
        (GABATA | {"opening": "eights", "direction": "clockwise"}, "direction='anticlockwise'"),
        (GABATA | {"opening": "eights", "match": "mirror"}, ["single", "territory", "mirror"]),
        (GABATA | {"opening": "eights", "match": "loan"}, ["single", "territory", "loan"]),
        (
            GABATA | {"opening": "eights", "match": "single", "round_end": "mover_stuck"},
            ["opening='eights'", "round_end='both_stuck'"],
        ),
        ({"landing": "pair", "captures_last": False}, "captures_last=False"),
        ({"landing": "weg", "captures_last": False}, "captures_last=False"),
        ({"owns_on": "either"}, ["owns_on='either'", "landing='weg'", "uur"]),
        ({"landing": "pair", "owns_on": "either"}, ["owns_on='either'", "landing='weg'"]),
        ({"ransoms_empty": False}, ["ransoms_empty=False", "landing='uur'"]),
        ({"opening": "rightmost", "match": "mirror"}, "match='mirror'"),
    ],
)
def test_an_invalid_combination_of_rule_options_is_refused_with_the_reason(dials, why):
    with raises(InvalidRuleset, why) as error:
        Ruleset(**dials)
    assert isinstance(error.value, MancalaError | ValueError)


def test_a_catalogue_ruleset_can_be_varied():
    mine = replace(rulesets.lookup("gabata_i"), name="gabata_wide", row_width=9)
    game = Position(mine)
    assert len(game.seeds) == 18
    assert Position.from_text(game.to_text(), mine) == game


def test_a_name_of_the_catalogue_is_taken():
    """Its text would be read as a game of the catalogue."""
    with raises(InvalidRuleset, "leyla"):
        Ruleset(name="leyla", landing="uur")
    leyla = rulesets.lookup("leyla")
    assert replace(leyla, title="Wegi").row_width == 6


@pytest.mark.parametrize("name", ["layli_goobalay", "leyla", "gabata_i"])
def test_no_round_lasts_longer_than_max_turns_and_free_seeds_only_fall(name):
    ruleset = rulesets.lookup(name)
    assert ruleset.max_turns == 50 * 48
    rng = np.random.default_rng(0)
    for _ in range(20):
        game, turns, free = Position(ruleset), 0, 48
        while not game.is_over:
            game.play(int(rng.choice(game.legal_actions)))
            turns += 1
            left = int(game.seeds[game.owner == -1].sum())
            assert left < free if game.stall == 0 and not game.is_over else left <= free
            free = left
        assert turns <= ruleset.max_turns


def test_a_later_option_changes_stored_results_only_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    leyla, changed = rulesets.lookup("leyla"), rulesets.lookup("gabata_3")
    before = rules_hash(leyla), rules_hash(changed), options_in_bytes(changed).tobytes()
    assert set(leyla.stored_options) == set(leyla.options)
    # As if the option `opening` were new.
    known = tuple(name for name in rulesets._FIRST_OPTIONS if name != "opening")
    monkeypatch.setattr(rulesets, "_FIRST_OPTIONS", known)
    assert leyla.opening == "free"
    assert set(leyla.options) - set(leyla.stored_options) == {"opening"}
    assert rules_hash(leyla) != before[0]
    assert changed.opening != "free"
    assert (rules_hash(changed), options_in_bytes(changed).tobytes()) == before[1:]


def test_hashes_of_rulesets_in_results_files_stay() -> None:
    assert rules_hash(rulesets.lookup("layli_goobalay")) == "98a4ea512ee0f5fb"


def test_a_catalogue_ruleset_without_region_and_source_is_read_back(tmp_path):
    own = replace(rulesets.lookup("leyla"), region="", source="")
    own.save(tmp_path / "own.yaml")
    assert rulesets.lookup(own.to_dict()) == rulesets.lookup(tmp_path / "own.yaml") == own
    assert eval(repr(Position(own))) == Position(own)
