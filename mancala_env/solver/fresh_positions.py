"""Positions of random rule options, and a split of all positions into training and evaluation.

>>> import random
>>> position = draw_position(random.Random(1), fresh_ruleset(random.Random(1)), "all")
>>> len(position.legal_actions) > 1
True
"""

import hashlib
import json
import random
from typing import Literal, get_args

from mancala_env._util.checks import one_of
from mancala_env.games.position import Position
from mancala_env.rulesets import CHOICES, Ruleset, RulesetLike, lookup
from mancala_env.rulesets.requirements import broken_requirement

Split = Literal["training", "evaluation", "all"]
# Of 256; a quarter of all positions.
_HELD_OUT = 64


def fresh_ruleset(rng: random.Random, widest: int = 5) -> Ruleset:
    """Draw rule options of single rounds, on a board with rows of 3 to `widest` holes, 2 to 4 seeds each."""
    while True:
        options = {name: rng.choice(choices) for name, choices in CHOICES.items()}
        options |= {"match": "single", "opening": "free"}
        options |= {"row_width": rng.randint(3, widest), "seeds_per_hole": rng.randint(2, 4)}
        if broken_requirement(options) is None:
            return lookup({**options, "title": "Fresh rules"})


def is_held_out(position: Position) -> bool:
    """Return whether a position is in the quarter of all positions that is held out for evaluation.

    The drawn direction does not matter. So no position of the training split mirrors a held-out one.
    """
    options = {**position.ruleset.options, "direction": ""}
    content = json.dumps(options, sort_keys=True).encode() + position.games.tobytes()
    return hashlib.sha256(content).digest()[0] < _HELD_OUT


def draw_position(
    rng: random.Random, ruleset: RulesetLike, split: Split, turns: int | None = None
) -> Position | None:
    """Draw a position of a random round in which the player to move has a choice.

    Args:
        rng: Source of random numbers.
        ruleset: The ruleset.
        split: The held-out positions ("evaluation"), the others ("training"), or "all".
        turns: Number of turns before the position; None: any.

    Returns:
        The position, or None if the round is without one.
    """
    one_of("split", split, get_args(Split))
    position = Position(ruleset, player=rng.randrange(2))
    seen: list[Position] = []
    while not position.is_over:
        seen.append(position.copy())
        position.play(rng.choice(position.legal_actions))
    seen = seen if turns is None else seen[turns : turns + 1]
    fit = [p for p in seen if len(p.legal_actions) > 1 and split in ("all", _split_of(p))]
    return rng.choice(fit) if fit else None


def _split_of(position: Position) -> Split:
    return "evaluation" if is_held_out(position) else "training"
