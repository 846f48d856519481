"""The features of an action, computed from Position alone."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mancala_env import Position, observations
from mancala_env.networks.value import UNIT, position_values
from mancala_env.networks.value_files import bundled_network, read_for
from mancala_env.observations import Observer
from mancala_env.observations.per_action import NUM_LINES
from mancala_env.rulesets import Ruleset

FOUR_TURNS = ("lines", "leaves", "values")


def lead(position: Position, player: int) -> int:
    return position.counts[player] - position.counts[1 - player]


@lru_cache
def judge(ruleset: Ruleset) -> np.ndarray:
    return read_for(bundled_network(ruleset), ruleset).packed()


def judged(position: Position, player: int) -> int:
    """Return the value of the bundled value network, in sixteenths of a seed."""
    (value,) = UNIT * position_values(position.ruleset, position.games, judge(position.ruleset))
    return int(value if position.player == player else -value)


Worth = Callable[[Position, int], int]


def best_line(position: Position, player: int, depth: int, worth: Worth) -> tuple[int, Position]:
    """Return the plain minimax value of a position and the leaf of the first best line."""
    if depth == 0 or position.is_over:
        return worth(position, player), position
    lines = []
    for action in position.legal_actions:
        after = position.copy()
        after.play(action)
        lines.append(best_line(after, player, depth - 1, worth))
    return (max if position.player == player else min)(lines, key=lambda line: line[0])


def expected(position: Position, action: int, kind: str, num_actions: int) -> list[float]:
    """Return the features of an action, from Position alone."""
    size = Observer(position.ruleset, kind, num_actions).shape[1]
    if action not in position.legal_actions:
        return [0] * size
    me, after = position.player, position.copy()
    after.play(action)
    features = [*observations.observe(position.ruleset, after.games, me)[0], 1, lead(after, me)]
    if kind in ("replies", *FOUR_TURNS):
        worth, unit = (judged, UNIT) if kind == "values" else (lead, 1)
        depths = (0,) if kind == "replies" else (0, 1, 2)
        replies = []
        for reply in after.legal_actions:
            following = after.copy()
            following.play(reply)
            replies.append([best_line(following, me, depth, worth) for depth in depths])
        replies.sort(key=lambda lines: lines[-1][0], reverse=after.player == me)
        replies = replies[:num_actions]
        shown = replies or [[(unit * lead(after, me), after)] * len(depths)]
        shown = shown + [shown[-1]] * (num_actions - len(shown))
        features.append(len(replies))
        for part in zip(*shown, strict=True):
            features += [found for found, _ in part]
        if kind in ("leaves", "values"):
            for (_, reply), _, (_, end) in shown[:NUM_LINES]:
                for seen in (reply, end):
                    features += observations.observe(position.ruleset, seen.games, me)[0].tolist()
    return features
