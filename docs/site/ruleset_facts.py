"""Facts of a ruleset for its card: a turn to show, exact values, and the strength of the bundled agents."""

from functools import lru_cache
from typing import NamedTuple

from mancala_env import Position, Ruleset
from mancala_env.evaluation import Ladder, NoLadder, stored_ladder
from tools.results.measured import card_ratings, exploitability_of, solved_starts
from tools.results.regrets import stored_regrets

# How many turns of a game are looked through for one to show, and how many laps it should have.
_TURNS, _LAPS = 40, 4


@lru_cache
def turn_to_show(ruleset: Ruleset) -> tuple[Position, int]:
    """Return a position of a first round and a turn in it of a few laps that wins something.

    After each first turn two greedy players continue. Of all turns they could have played, the one nearest to
    four laps is chosen. Turns that win holes precede those that win seeds, and early ones precede late ones.
    """
    best: tuple[tuple[int, int, int], Position, int] | None = None
    for first in Position(ruleset).legal_actions:
        position = Position(ruleset)
        position.play(first)
        for number in range(_TURNS):
            afters = {action: position.copy() for action in position.legal_actions}
            for action, after in afters.items():
                turn = after.play(action)
                wins = 2 * bool(turn.new_owned) + bool(turn.captured)
                merit = (wins, -abs(turn.laps - _LAPS), -number)
                if not turn.endless and (best is None or merit > best[0]):
                    best = merit, position, action
            if not afters:
                break
            mover = position.player
            position = max(afters.values(), key=lambda after: after.counts[mover] - after.counts[1 - mover])
    assert best is not None
    return best[1], best[2]


def opening_value(ruleset: Ruleset) -> int | None:
    """Return the exact value of the start for the player to move, or None if unknown."""
    start = solved_starts().get(ruleset.name)
    return None if start is None else start.value


def first_values(ruleset: Ruleset) -> dict[int, int]:
    """Return the exact values of the first actions for the player to move; unknown ones are missing."""
    start = solved_starts().get(ruleset.name)
    return {} if start is None else start.actions


class Strength(NamedTuple):
    """How strong an agent is, as the cells of a table; Elo and regret are empty if not measured."""

    agent: str
    elo: str
    regret: str
    exploitability: str


def ladder_of(ruleset: Ruleset) -> Ladder | None:
    """Return the bundled ladder of a ruleset, if there is one."""
    try:
        return stored_ladder(ruleset)
    except NoLadder:
        return None


def strengths(ruleset: Ruleset) -> list[Strength]:
    """Return the strength of bundled agents, the strongest first.

    Ratings are from the ladder and the networks' cards, regret from docs/results/regret.json, and
    exploitability from the package's data.
    """
    stored = stored_regrets()["rulesets"].get(ruleset.name, {})
    regret = {name: f"{one['mean']:.2f}" for name, one in stored.items()}
    elo = {name: float(rating) for name, (rating, _, _) in card_ratings(ruleset.name).items()}
    if ladder := ladder_of(ruleset):
        ratings = ladder.ratings()
        elo |= dict(zip(ratings.names, map(float, ratings.elo), strict=True))
    names = sorted(elo.keys() | regret, key=lambda name: (-elo.get(name, -9999.0), name))
    return [
        Strength(
            name,
            f"{elo[name]:z.0f}" if name in elo else "",
            regret.get(name, ""),
            exploitability_of(name, ruleset.name),
        )
        for name in names
    ]
