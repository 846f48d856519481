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
    one. No one sows from captured holes, and their seeds count for their owner (docs/reference/rules.md).

    Rulesets: ``leyla`` (the default), ``ludii_leyla``, or a Ruleset with ``landing="pair"``.
    :class:`mancala_env.envs.aec.MancalaAEC` describes the rest.

    ## Action Space
    ``Discrete(W)``: the hole to sow from, seen from the agent, 0 to W-1 in sowing order. Empty and captured
    holes are masked.

    ## Starting State
    Four seeds in every hole, and empty stores.

    ## Episode End
    A round ends when the agent to move has no legal hole (either agent in ``ludii_leyla``), when a relay
    never ends, or when nothing changes for 50 turns.
    """

    game = "leyla"
    metadata = MancalaAEC.metadata | {"name": "leyla_v0"}


def env(ruleset: RulesetLike | None = None, **options: Unpack[GameOptions]) -> Guard:
    """Make the environment; see :meth:`mancala_env.envs.aec.MancalaAEC.make`."""
    return raw_env.make(ruleset, **options)
