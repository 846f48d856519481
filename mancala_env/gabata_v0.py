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

from pettingzoo import AECEnv

from mancala_env.envs.aec import MancalaAEC, guarded
from mancala_env.envs.options import RENDER_MODES, GameOptions
from mancala_env.rulesets import Ruleset

__all__ = ["env", "raw_env"]


class raw_env(MancalaAEC):
    """Gabata: sow and relay; a fourth seed on the opponent's side makes the hole a weg of one's own,
    whose seeds count for its owner (docs/rules.md).

    Rulesets: ``gabata_i`` (the default), ``gabata_five_holes``, ``gabata_seven_holes``, ``gabata_3``,
    ``ludii_gabata_i``, ``ludii_gabata_five_holes``, ``ludii_gabata_seven_holes``, or your own with
    ``landing="weg"``. Arguments are those of :class:`mancala_env.envs.aec.MancalaAEC`.

    ## Action Space
    ``Discrete(A)``: the hole to sow from, seen from the agent in sowing order: 0 to W-1 are their own row. A
    is W for one round; for more it is 2W, because holes of the opponent's row can become one's territory.
    Holes that are empty, wegs, or not the agent's are masked. An agent without a legal hole passes: they are
    not selected.

    ## Observation Space
    A dict of ``observation``, float32 `[F]`, everything about the position seen from the agent
    (``mancala_env.observations.parts(ruleset)`` names the features), and ``action_mask``, int8 `[A]`, which
    is all zeros for the agent who is not to move. ``infos`` holds the mask as well. With
    ``observation="afterstates"``, ``"replies"``, ``"lines"``, ``"leaves"`` or ``"values"`` the observation
    is int16 `[A, G]`, what each action leads to (``mancala_env.observations``), all zeros for the agent who
    is not to move.

    ## Starting State
    Four seeds in every hole, nothing captured; ``player_0``, South, to move unless `first_player` says
    otherwise; then `opening_turns` random turns. In ``gabata_3`` the forced opening has been played and the
    other agent is to move. ``reset(options={"position": ...})`` starts elsewhere.

    ## Rewards
    0 until the episode ends; then zero-sum: +1, 0 or -1 by who has won (`reward="outcome"`), or one's lead
    in the last count over all seeds of the game (`reward="margin"`).

    ## Episode End
    When neither agent has a legal hole, a relay never ends, or nothing changes for 50 turns, the round is
    counted. It is the episode, unless `rounds` asks for more; a match of random play takes hundreds. Agents
    terminate together; a match that reaches 1,000 rounds is truncated, its rewards then by the last count.

    ## Version History
    * v0: first release
    """

    game = "gabata"
    metadata = {  # noqa: RUF012 - as PettingZoo declares it
        "render_modes": list(RENDER_MODES),
        "name": "gabata_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }


def env(ruleset: str | Ruleset | None = None, **options: Unpack[GameOptions]) -> AECEnv:
    """Make the environment, guarded as PettingZoo's classic games are; arguments are raw_env's.

    An illegal action loses the episode: reward -1, 0 for the other agent, and a warning.
    """
    return guarded(raw_env(ruleset, **options))
