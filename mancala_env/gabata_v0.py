"""Gabata, of Shoa in Ethiopia, as a PettingZoo environment.

>>> from mancala_env import gabata_v0
>>> env = gabata_v0.env(ruleset="gabata_five_holes", render_mode="ansi")
>>> env.reset(seed=1)
>>> env.step(2)
>>> print(env.render())
Gabata (Shoa), five holes, round 1: North to move
       N5   N4   N3   N2   N1
North   5    5    5    1    6    store 0
South   5    0    1    6    6    store 0
       S1   S2   S3   S4   S5
"""

from typing import Unpack

from mancala_env.envs.aec import MancalaAEC
from mancala_env.envs.guard import Guard
from mancala_env.envs.options import GameOptions
from mancala_env.rulesets import RulesetLike

__all__ = ["env", "raw_env"]


class raw_env(MancalaAEC):
    """Gabata: a relay game. A fourth seed in a hole on the opponent's side makes the hole the player's weg.
    In ``ludii_gabata_i``, ``ludii_gabata_five_holes`` and ``ludii_gabata_seven_holes`` the hole can be on
    either side. No one sows from a weg, and its seeds count for its owner.

    A Ruleset with ``landing="weg"``, or one of these, with W holes a row and S seeds a hole:

    | ruleset | W | S |
    |---|---|---|
    | ``gabata_i`` (the default) | 6 | 4 |
    | ``gabata_five_holes`` | 5 | 4 |
    | ``gabata_seven_holes`` | 7 | 4 |
    | ``gabata_3`` | 6 | 4 |
    | ``ludii_gabata_i`` | 6 | 4 |
    | ``ludii_gabata_five_holes`` | 5 | 4 |
    | ``ludii_gabata_seven_holes`` | 7 | 4 |

    docs/reference/rules.md has the rules. :class:`mancala_env.envs.aec.MancalaAEC` describes observations,
    rewards and arguments.

    ## Action Space
    ``Discrete(W)``: the hole to sow from, seen from the agent, 0 to W-1 in sowing order. Empty holes and wegs
    are masked. An agent who cannot sow passes, and the other agent moves again.

    Episodes of several rounds have ``Discrete(2W)``. Actions from W on are holes of the opponent's row, which
    can become the agent's territory. Holes outside the territory are masked.

    ## Starting State
    Every hole holds S seeds, and both stores are empty. ``gabata_3`` starts after its forced opening; then
    the other agent moves.

    ## Episode End
    A round ends when neither agent can sow. An endless relay ends the round, and so do 50 turns that leave
    the number of free seeds unchanged.

    ## Version History
    - v0: first release.
    """

    game = "gabata"
    metadata = MancalaAEC.metadata | {"name": "gabata_v0"}


def env(ruleset: RulesetLike | None = None, **options: Unpack[GameOptions]) -> Guard:
    """Make the environment; see :meth:`mancala_env.envs.aec.MancalaAEC.make`."""
    return raw_env.make(ruleset, **options)
