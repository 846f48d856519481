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

from pettingzoo import AECEnv

from mancala_env.envs.aec import MancalaAEC, guarded
from mancala_env.envs.options import RENDER_MODES, GameOptions
from mancala_env.rulesets import Ruleset

__all__ = ["env", "raw_env"]


class raw_env(MancalaAEC):
    """Leyla: sow and relay; a fourth seed on the opponent's side takes the hole and its opposite,
    whose seeds count for their owner from then on (docs/rules.md).

    Rulesets: ``leyla`` (the default), ``ludii_leyla``, or your own with ``landing="pair"``. Arguments are
    those of :class:`mancala_env.envs.aec.MancalaAEC`.

    ## Action Space
    ``Discrete(W)``: the hole to sow from, seen from the agent, 0 to W-1 in sowing order. Holes that are empty
    or captured are masked.

    ## Observation Space
    A dict of ``observation``, float32 `[F]`, everything about the position seen from the agent
    (``mancala_env.observations.parts(ruleset)`` names the features), and ``action_mask``, int8 `[A]`, which
    is all zeros for the agent who is not to move. ``infos`` holds the mask as well. With
    ``observation="afterstates"``, ``"replies"``, ``"lines"``, ``"leaves"`` or ``"values"`` the observation
    is int16 `[A, G]`, what each action leads to (``mancala_env.observations``), all zeros for the agent who
    is not to move.

    ## Starting State
    Four seeds in every hole, nothing captured; ``player_0``, South, to move unless `first_player` says
    otherwise; then `opening_turns` random turns. ``reset(options={"position": ...})`` starts elsewhere.

    ## Rewards
    0 until the episode ends; then zero-sum: +1, 0 or -1 by who has won (`reward="outcome"`), or one's lead
    in the last count over all seeds of the game (`reward="margin"`).

    ## Episode End
    When the agent to move has no legal hole (either agent in ``ludii_leyla``), a relay never ends, or
    nothing changes for 50 turns, the round is counted. It is the episode, unless `rounds` asks for more.
    Agents terminate together; a match that reaches 1,000 rounds is truncated, its rewards then by the last
    count.

    ## Version History
    * v0: first release
    """

    game = "leyla"
    metadata = {  # noqa: RUF012 - as PettingZoo declares it
        "render_modes": list(RENDER_MODES),
        "name": "leyla_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }


def env(ruleset: str | Ruleset | None = None, **options: Unpack[GameOptions]) -> AECEnv:
    """Make the environment, guarded as PettingZoo's classic games are; arguments are raw_env's.

    An illegal action loses the episode: reward -1, 0 for the other agent, and a warning.
    """
    return guarded(raw_env(ruleset, **options))
