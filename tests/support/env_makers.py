"""Environments of every ruleset and observation kind."""

from typing import Any

import gymnasium
import pytest

from mancala_env import Ruleset, gabata_v0, layli_goobalay_v0, leyla_v0, rulesets
from mancala_env.envs.families import FAMILIES
from mancala_env.observations import KINDS

CUSTOM = Ruleset(name="narrow", row_width=3, seeds_per_hole=5, landing="uur", match="mirror")
ALL = [*rulesets.names(), CUSTOM]
FAMILY_OF = {family.landing: family for family in FAMILIES.values()}
MODULE_OF = {"uur": layli_goobalay_v0, "pair": leyla_v0, "weg": gabata_v0}
IDS = [family.gym_id for family in FAMILIES.values()]
# The board observation of every ruleset, and all other kinds for one ruleset of each game.
SHOWN = [
    *((ruleset, "board") for ruleset in ALL),
    *((family.default, kind) for family in FAMILIES.values() for kind in KINDS if kind != "board"),
]
every_ruleset_and_kind = pytest.mark.parametrize(("ruleset", "kind"), SHOWN, ids=str)


def aec_env(ruleset, **options) -> Any:
    ruleset = rulesets.lookup(ruleset)
    return MODULE_OF[ruleset.landing].env(ruleset=ruleset, **options)


def gym_env(ruleset, **options) -> Any:
    ruleset = rulesets.lookup(ruleset)
    return gymnasium.make(FAMILY_OF[ruleset.landing].gym_id, ruleset=ruleset, **options).unwrapped
