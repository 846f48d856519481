"""Leyla, of Jigjiga in Ethiopia, as a PettingZoo environment.

>>> from mancala_env import leyla_v0
>>> env = leyla_v0.env(rounds="match", render_mode="ansi")
>>> env.reset(seed=1)
>>> env.step(2)
>>> print(env.render())
Leyla (Wegi), round 1: North to move
       N1   N2   N3   N4   N5   N6
North   1    6    6    6    0    1    store 0
South   6    1    7    2    6    6    store 0
       S6   S5   S4   S3   S2   S1
"""

from typing import Unpack

from mancala_env.envs.aec import MancalaAEC
from mancala_env.envs.guard import Guard
from mancala_env.envs.options import GameOptions
from mancala_env.rulesets import RulesetLike

__all__ = ["env", "raw_env"]


class raw_env(MancalaAEC):
    """Leyla: a relay game. A fourth seed in a hole on the opponent's side captures the hole and the opposite
    one. No one sows from captured holes, and their seeds count for their owner.

    A Ruleset with ``landing="pair"``, or one of these, with W holes a row and S seeds a hole:

    | ruleset | W | S |
    |---|---|---|
    | ``leyla`` (the default) | 6 | 4 |
    | ``ludii_leyla`` | 6 | 4 |

    docs/reference/rules.md has the rules. :class:`mancala_env.envs.aec.MancalaAEC` describes observations,
    rewards and arguments.

    ## Action Space
    ``Discrete(W)``: the hole to sow from, seen from the agent, 0 to W-1 in sowing order. Empty and captured
    holes are masked.

    ## Starting State
    Every hole holds S seeds, and both stores are empty.

    ## Episode End
    A round ends when the agent to move cannot sow. In ``ludii_leyla`` it also ends when the other agent
    cannot. An endless relay ends the round, and so do 50 turns that leave the number of free seeds unchanged.

    ## Version History
    - v0: first release.
    """

    game = "leyla"
    metadata = MancalaAEC.metadata | {"name": "leyla_v0"}


def env(ruleset: RulesetLike | None = None, **options: Unpack[GameOptions]) -> Guard:
    """Make the environment; see :meth:`mancala_env.envs.aec.MancalaAEC.make`."""
    return raw_env.make(ruleset, **options)
