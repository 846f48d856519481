"""Hypothesis strategies for custom rulesets and games."""

import random
from itertools import product

from hypothesis import strategies as st

from mancala_env import InvalidRuleset, Position, Ruleset, rulesets


def _possible(dials: dict) -> bool:
    try:
        Ruleset(**dials)
    except InvalidRuleset:
        return False
    return True


POSSIBLE_DIALS = [
    dials
    for values in product(*rulesets.CHOICES.values())
    if _possible(dials := dict(zip(rulesets.CHOICES, values, strict=True)))
]
"""Every valid combination of rule options, on a 2x6 board with four seeds per hole."""


@st.composite
def own_rulesets(draw) -> Ruleset:
    """Draw a valid ruleset of any width, number of seeds and combination of rule options."""
    dials = draw(st.sampled_from(POSSIBLE_DIALS))
    width = draw(st.integers(2, 12))
    most = 255 // (2 * width)
    needs_four = dials["match"] in ("loan", "territory")
    seeds = 4 if needs_four else draw(st.integers(1, min(most, 12)) | st.just(most))
    return Ruleset(name="own", row_width=width, seeds_per_hole=seeds, **dials)


any_ruleset = st.sampled_from(rulesets.names()).map(rulesets.lookup) | own_rulesets()
"""A ruleset of the catalogue or a custom one."""


@st.composite
def reached(draw, of=any_ruleset) -> Position:
    """Draw a position from random play in one of the first rounds, running or over."""
    position = Position(draw(of), player=draw(st.integers(0, 1)))
    rng = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(0, 120))):
        if position.is_over:
            following = position.next_round()
            if following is None:
                break
            position = following
        else:
            position.play(rng.choice(position.legal_actions))
    return position
