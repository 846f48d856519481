"""Addresses of positions on the page."""

from dataclasses import replace

import pytest
from error_checks import raises

from mancala_env import Position, Ruleset, rulesets
from mancala_env.errors import InvalidArgument
from mancala_env.games.records import options_of
from mancala_env.web.address import VIEWS, page_address

LEYLA = "leyla+4,4,4,4,4,4/4,4,4,4,4,4+0-0+S"


@pytest.mark.parametrize("view", VIEWS)
def test_a_position_of_the_catalogue_is_its_text(view: str) -> None:
    assert page_address(Position("leyla"), view) == f"#{view}/{LEYLA}"


def test_an_address_has_the_rule_options_of_an_own_ruleset() -> None:
    own = replace(rulesets.lookup("leyla"), name="mine", match="single", row_width=2, seeds_per_hole=2)
    address = page_address(Position(own))
    assert address == f"#play/mine+2,2/2,2+0-0+S;{';'.join(options_of(own))}"
    assert ";row_width=2;seeds_per_hole=2;" in address


def test_an_unknown_view_is_refused() -> None:
    with raises(InvalidArgument, "view", "watch", "study"):
        page_address(Position("leyla"), "watch")


def test_letters_with_a_meaning_in_an_address_are_encoded_twice() -> None:
    address = page_address(Position(Ruleset(name="a+b;%", row_width=2)))
    assert address.startswith("#play/a%252Bb%253B%2525+")
