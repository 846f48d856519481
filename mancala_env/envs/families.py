"""The three games as environments: which ruleset belongs to which family.

Nothing here imports PettingZoo, so that ``import mancala_env`` can register the Gymnasium ids.
"""

from dataclasses import dataclass

import gymnasium

from mancala_env import rulesets
from mancala_env._util.checks import one_of
from mancala_env.errors import InvalidRuleset
from mancala_env.rulesets import Landing, Ruleset, lookup


@dataclass(frozen=True)
class Family:
    """One game's environments: all rulesets with its landing, one of them the default.

    Attributes:
        game: The game's name in words.
        landing: What a finished lap does in every ruleset of the game.
        default: The ruleset that is played when none is named.
        module: The PettingZoo module.
        gym_id: The Gymnasium id.
    """

    game: str
    landing: Landing
    default: str
    module: str
    gym_id: str

    def ruleset(self, ruleset: str | Ruleset | None) -> Ruleset:
        """Return the ruleset of that name, the default for None; a Ruleset comes back as it is.

        Raises:
            InvalidRuleset: No such ruleset, or it belongs to another family; the message names that one.
        """
        wanted = lookup(self.default if ruleset is None else ruleset)
        if wanted.landing != self.landing:
            right = next(family for family in FAMILIES.values() if family.landing == wanted.landing)
            raise InvalidRuleset(
                f"ruleset {wanted.name!r} (landing={wanted.landing!r}) is played through {right.module} and "
                f"{right.gym_id!r}, not here; {self.module} and {self.gym_id!r} play "
                f"{', '.join(self.ruleset_names())} and your own with landing={self.landing!r}"
            )
        return wanted

    def ruleset_names(self) -> tuple[str, ...]:
        """Return the catalogue's rulesets that are of this family, its default first."""
        names = [name for name in rulesets.names() if lookup(name).landing == self.landing]
        return tuple(sorted(names, key=lambda name: name != self.default))


FAMILIES = {
    "layli_goobalay": Family(
        "Layli Goobalay", "uur", "layli_goobalay", "layli_goobalay_v0", "mancala/LayliGoobalay-v0"
    ),
    "leyla": Family("Leyla", "pair", "leyla", "leyla_v0", "mancala/Leyla-v0"),
    "gabata": Family("Gabata", "weg", "gabata_i", "gabata_v0", "mancala/Gabata-v0"),
}
"""Every family by its short name, as `game=` of the environment classes takes it."""


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


def ruleset_of(game: str | None, ruleset: str | Ruleset | None) -> Ruleset:
    """Return the ruleset to play in a game's environments; without a game any ruleset will do.

    Raises:
        InvalidRuleset: No such ruleset, or not one of the game; the message says what would be right.
        InvalidArgument: No such game.
    """
    if game is None:
        return lookup("layli_goobalay" if ruleset is None else ruleset)
    return FAMILIES[one_of("game", game, tuple(FAMILIES))].ruleset(ruleset)
