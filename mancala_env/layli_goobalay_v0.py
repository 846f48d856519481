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

from pettingzoo import AECEnv

from mancala_env.envs.aec import MancalaAEC, guarded
from mancala_env.envs.options import RENDER_MODES, GameOptions
from mancala_env.rulesets import Ruleset

__all__ = ["env", "raw_env"]


class raw_env(MancalaAEC):
    """Layli Goobalay: sow and relay; an empty hole of one's own captures what lies opposite, three make
    two uur, whose seeds count for their owner (docs/rules.md).

    Rulesets: ``layli_goobalay`` (the default), ``leyla_gobale_ii``, ``layli_goobalay_long``,
    ``layli_goobalay_8``, ``ludii_leyla_gobale_somaliland``, ``ludii_leyla_gobale_gabradarre``, or your own
    with ``landing="uur"``. Arguments are those of :class:`mancala_env.envs.aec.MancalaAEC`.

    ## Action Space
    ``Discrete(W)``: the hole to sow from, seen from the agent, 0 to W-1 in sowing order. Holes that are empty
    or uur are masked.

    ## Observation Space
    A dict of ``observation``, float32 `[F]`, everything about the position seen from the agent
    (``mancala_env.observations.parts(ruleset)`` names the features), and ``action_mask``, int8 `[A]`, which
    is all zeros for the agent who is not to move. ``infos`` holds the mask as well. With
    ``observation="afterstates"``, ``"replies"``, ``"lines"``, ``"leaves"`` or ``"values"`` the observation
    is int16 `[A, G]`, what each action leads to (``mancala_env.observations``), all zeros for the agent who
    is not to move.

    ## Starting State
    Four seeds in every hole (five in ``leyla_gobale_ii``), nothing captured; ``player_0``, South, to move
    unless `first_player` says otherwise; then `opening_turns` random turns.
    ``reset(options={"position": ...})`` starts elsewhere.

    ## Rewards
    0 until the episode ends; then zero-sum: +1, 0 or -1 by who has won (`reward="outcome"`), or one's lead
    in the last count over all seeds of the game (`reward="margin"`).

    ## Episode End
    When the agent to move has no legal hole, a relay never ends, or nothing changes for 50 turns, the round
    is counted. It is the episode, unless `rounds` asks for more. Agents terminate together; a match that
    reaches 1,000 rounds is truncated, its rewards then by the last count.

    ## Version History
    * v0: first release
    """

    game = "layli_goobalay"
    metadata = {  # noqa: RUF012 - as PettingZoo declares it
        "render_modes": list(RENDER_MODES),
        "name": "layli_goobalay_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }


def env(ruleset: str | Ruleset | None = None, **options: Unpack[GameOptions]) -> AECEnv:
    """Make the environment, guarded as PettingZoo's classic games are; arguments are raw_env's.

    An illegal action loses the episode: reward -1, 0 for the other agent, and a warning.
    """
    return guarded(raw_env(ruleset, **options))
