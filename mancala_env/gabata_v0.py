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
    No one sows from a weg, and its seeds count for its owner (docs/reference/rules.md).

    Rulesets: ``gabata_i`` (the default), ``gabata_five_holes``, ``gabata_seven_holes``, ``gabata_3``,
    ``ludii_gabata_i``, ``ludii_gabata_five_holes``, ``ludii_gabata_seven_holes``, or your own with
    ``landing="weg"``. :class:`mancala_env.envs.aec.MancalaAEC` describes the rest.

    ## Action Space
    ``Discrete(A)``: the hole to sow from, seen from the agent in sowing order. Actions 0 to W-1 are their own
    row of W holes. A is W for one round. It is 2W for several rounds, because holes of the opponent's row can
    become the agent's territory. Empty holes, wegs and holes of the other agent are masked. An agent without
    a legal hole passes, and the other agent moves again.

    ## Starting State
    Four seeds in every hole, and empty stores. In ``gabata_3`` the forced opening has been played, and the
    other agent moves.

    ## Episode End
    A round ends when neither agent has a legal hole, when a relay never ends, or when nothing changes for 50
    turns. Random matches take hundreds of rounds.
    """

    game = "gabata"
    metadata = MancalaAEC.metadata | {"name": "gabata_v0"}


def env(ruleset: RulesetLike | None = None, **options: Unpack[GameOptions]) -> Guard:
    """Make the environment; see :meth:`mancala_env.envs.aec.MancalaAEC.make`."""
    return raw_env.make(ruleset, **options)
