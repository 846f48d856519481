"""Layli Goobalay, of the Horn of Africa, as a PettingZoo environment.

>>> from mancala_env import layli_goobalay_v0
>>> env = layli_goobalay_v0.env(ruleset="leyla_gobale_ii", render_mode="ansi")
>>> env.reset(seed=1)
>>> env.step(2)
>>> print(env.render())
Leyla Gobale II, five seeds, round 1: North to move
       N6   N5   N4   N3   N2   N1
North   6    6    6    6    1    7    store 0
South   6    0    1    7    7    7    store 0
       S1   S2   S3   S4   S5   S6
"""

from typing import Unpack

from mancala_env.envs.aec import MancalaAEC
from mancala_env.envs.guard import Guard
from mancala_env.envs.options import GameOptions
from mancala_env.rulesets import RulesetLike

__all__ = ["env", "raw_env"]


class raw_env(MancalaAEC):
    """Layli Goobalay: a relay game. A lap that ends in the player's own empty hole captures the opposite
    seeds. If there are three, both holes become the player's uur instead. No one sows from an uur, and its
    seeds count for its owner.

    A Ruleset with ``landing="uur"``, or one of these, with W holes a row and S seeds a hole:

    | ruleset | W | S |
    |---|---|---|
    | ``layli_goobalay`` (the default) | 6 | 4 |
    | ``leyla_gobale_ii`` | 6 | 5 |
    | ``layli_goobalay_long`` | 12 | 4 |
    | ``layli_goobalay_8`` | 8 | 4 |
    | ``ludii_leyla_gobale_somaliland`` | 6 | 4 |
    | ``ludii_leyla_gobale_gabradarre`` | 6 | 5 |

    docs/reference/rules.md has the rules. :class:`mancala_env.envs.aec.MancalaAEC` describes observations,
    rewards and arguments.

    ## Action Space
    ``Discrete(W)``: the hole to sow from, seen from the agent, 0 to W-1 in sowing order. Empty holes and uur
    are masked.

    ## Starting State
    Every hole holds S seeds, and both stores are empty. In ``ludii_leyla_gobale_somaliland`` the first turn
    of South is forced: action 0.

    ## Episode End
    A round ends when the agent to move cannot sow. In ``ludii_leyla_gobale_somaliland`` and
    ``ludii_leyla_gobale_gabradarre`` it also ends when the other agent cannot. An endless relay ends the
    round, and so do 50 turns that leave the number of free seeds unchanged.

    ## Version History
    - v0: first release.
    """

    game = "layli_goobalay"
    metadata = MancalaAEC.metadata | {"name": "layli_goobalay_v0"}


def env(ruleset: RulesetLike | None = None, **options: Unpack[GameOptions]) -> Guard:
    """Make the environment; see :meth:`mancala_env.envs.aec.MancalaAEC.make`."""
    return raw_env.make(ruleset, **options)
