"""Positions of random rule options.

>>> import random
>>> position = draw_position(random.Random(1), fresh_ruleset(random.Random(1)), "all")
>>> len(position.legal_actions) > 1
True
"""

import random
from collections.abc import Iterator

from mancala_env._util.checks import one_of
from mancala_env.engine.holdout import OPENING_SETS, OpeningSet, rows_in_set
from mancala_env.games.position import Position
from mancala_env.rulesets import CHOICES, Ruleset, RulesetLike, lookup
from mancala_env.rulesets.requirements import broken_requirement

_MOST_DRAWS = 1000


def fresh_ruleset(rng: random.Random, widest: int = 5) -> Ruleset:
    """Draw rule options of single rounds, on a board with rows of 3 to `widest` holes, 2 to 4 seeds each."""
    while True:
        options = {name: rng.choice(choices) for name, choices in CHOICES.items()}
        options |= {"match": "single", "opening": "free"}
        options |= {"row_width": rng.randint(3, widest), "seeds_per_hole": rng.randint(2, 4)}
        if broken_requirement(options) is None:
            return lookup({**options, "title": "Fresh rules"})


def draw_position(
    rng: random.Random, ruleset: RulesetLike, split: OpeningSet, turns: int | None = None
) -> Position | None:
    """Draw a position of a random round in which the player to move has a choice, or return None.

    `split` is the held-out boards ("evaluation"; see :mod:`mancala_env.engine.holdout`), the others
    ("training"), or "all". `turns` is the number of turns before the position; None: any.
    """
    position = Position(ruleset, player=rng.randrange(2))
    seen: list[Position] = []
    while not position.is_over:
        seen.append(position.copy())
        position.play(rng.choice(position.legal_actions))
    seen = seen if turns is None else seen[turns : turns + 1]
    fit = [p for p in seen if len(p.legal_actions) > 1 and rows_in_set(p.ruleset, p.games, split)[0]]
    return rng.choice(fit) if fit else None


def draw_positions(
    rng: random.Random,
    ruleset: RulesetLike | None,
    split: OpeningSet,
    *,
    widest: int = 5,
    turns: int | None = None,
) -> Iterator[Position]:
    """Yield positions of random rounds; without a ruleset, each has fresh rule options.

    At most 1,000 rounds are played. The other arguments are those of :func:`fresh_ruleset` and
    :func:`draw_position`.
    """
    one_of("split", split, OPENING_SETS)
    for _ in range(_MOST_DRAWS):
        drawn = fresh_ruleset(rng, widest) if ruleset is None else ruleset
        if position := draw_position(rng, drawn, split, turns):
            yield position
