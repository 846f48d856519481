"""The three games as environments: their rulesets, modules and Gymnasium ids.

This module does not import PettingZoo, so that ``import mancala_env`` can register the Gymnasium ids.
"""

from dataclasses import dataclass

import gymnasium

from mancala_env import rulesets
from mancala_env._util.checks import one_of
from mancala_env.errors import InvalidRuleset
from mancala_env.rulesets import Landing, Ruleset, RulesetLike, lookup


@dataclass(frozen=True)
class Family:
    """A game with its PettingZoo module and Gymnasium id: all rulesets with the same landing."""

    game: str
    landing: Landing
    default: str
    module: str
    gym_id: str

    def ruleset_names(self) -> tuple[str, ...]:
        """Return the names of the family's rulesets in the catalogue, the default first."""
        names = [name for name in rulesets.names() if lookup(name).landing == self.landing]
        return tuple(sorted(names, key=lambda name: name != self.default))


FAMILIES = {
    "layli_goobalay": Family(
        "Layli Goobalay", "uur", "layli_goobalay", "layli_goobalay_v0", "mancala/LayliGoobalay-v0"
    ),
    "leyla": Family("Leyla", "pair", "leyla", "leyla_v0", "mancala/Leyla-v0"),
    "gabata": Family("Gabata", "weg", "gabata_i", "gabata_v0", "mancala/Gabata-v0"),
}
"""Families by the name that `game=` of the environment classes takes."""


def register() -> None:
    """Register the Gymnasium ids; a second call does nothing."""
    for game, family in FAMILIES.items():
        if family.gym_id not in gymnasium.registry:
            gymnasium.register(
                family.gym_id,
                entry_point="mancala_env.envs.gym:MancalaEnv",
                vector_entry_point="mancala_env.envs.vector:MancalaVectorEnv",
                kwargs={"game": game},
            )


def ruleset_of(game: str | None, ruleset: RulesetLike | None) -> Ruleset:
    """Return a ruleset; None is the default of the game, or Layli Goobalay without a game.

    A ruleset that is unknown or of another game is an InvalidRuleset, an unknown game an InvalidArgument.
    """
    family = FAMILIES["layli_goobalay" if game is None else one_of("game", game, tuple(FAMILIES))]
    wanted = lookup(family.default if ruleset is None else ruleset)
    if game is not None and wanted.landing != family.landing:
        right = next(each for each in FAMILIES.values() if each.landing == wanted.landing)
        raise InvalidRuleset(
            f"ruleset {wanted.name!r} (landing={wanted.landing!r}) is played through {right.module} and "
            f"{right.gym_id!r}, not here; {family.module} and {family.gym_id!r} play "
            f"{', '.join(family.ruleset_names())} and your own with landing={family.landing!r}"
        )
    return wanted
