"""Facts of a ruleset for its card: a turn to show, exact values, and the strength of the bundled agents."""

import json
import re
from functools import lru_cache
from typing import NamedTuple

from pages import ROOT

from mancala_env import Position, Ruleset
from mancala_env._util.package_data import bundled_file_of
from mancala_env.evaluation import Ladder, NoLadder, stored_ladder
from mancala_env.solver import ILLEGAL, positions, rulesets_with_positions
from mancala_env.solver.book import certain_part, load_book

# How many turns of a game are looked through for one to show, and how many laps it should have.
_TURNS, _LAPS = 40, 4
# Rows of the tables in the cards of bundled networks.
_RATING = re.compile(r"^\| `(\S+)` \| (-?\d+) \| -?\d+ \| -?\d+ \|", re.MULTILINE)
_REGRETS = ROOT / "docs" / "results" / "regret.json"
# Solved starts that are neither in a bundled book nor among the solved positions (docs/results/solved.md).
_SOLVED_STARTS = {
    "ludii_leyla_gobale_somaliland": -24,
    "ludii_leyla_gobale_gabradarre": 4,
    "ludii_gabata_i": -8,
}


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
    start, values = Position(ruleset), first_values(ruleset)
    value = _value_in_book(start)
    if value is None and len(values) == len(start.legal_actions):
        value = max(values.values())
    return _SOLVED_STARTS.get(ruleset.name) if value is None else value


@lru_cache
def first_values(ruleset: Ruleset) -> dict[int, int]:
    """Return the exact values of the first actions for the player to move; unknown ones are missing."""
    start = Position(ruleset)
    values = _values_in_positions(start)
    if values:
        return values
    for action in start.legal_actions:
        after = start.copy()
        after.play(action)
        value = _value_in_book(after)
        if value is not None:
            mover = start.player
            lead = after.stores[mover] - after.stores[1 - mover]
            values[action] = lead + (value if after.player == mover else -value)
    if len(start.legal_actions) == 1 and ruleset.name in _SOLVED_STARTS:
        values[start.legal_actions[0]] = _SOLVED_STARTS[ruleset.name]
    return values


def _value_in_book(position: Position) -> int | None:
    book = load_book(position.ruleset)
    rest = None if book is None else book.rest(position.games)
    return None if rest is None else rest + certain_part(position)


def _values_in_positions(position: Position) -> dict[int, int]:
    """Return the values of the actions of a bundled solved position; empty if it is not one."""
    if position.ruleset.name in rulesets_with_positions():
        bundled = positions(position.ruleset)
        for row in (bundled.games == position.games).all(axis=1).nonzero()[0]:
            return {a: int(v) for a, v in enumerate(bundled.action_values[row]) if v != ILLEGAL}
    return {}


class Strength(NamedTuple):
    """How strong an agent is, as the cells of a table; empty where it was not measured."""

    agent: str
    elo: str
    regret: str


def ladder_of(ruleset: Ruleset) -> Ladder | None:
    """Return the bundled ladder of a ruleset, if there is one."""
    try:
        return stored_ladder(ruleset)
    except NoLadder:
        return None


def strengths(ruleset: Ruleset) -> list[Strength]:
    """Return the strength of bundled agents, the strongest first.

    Ratings are from the ladder and the networks' cards, regret from docs/results/regret.json.
    """
    elo: dict[str, float] = {}
    stored = json.loads(_REGRETS.read_text(encoding="utf-8"))["rulesets"].get(ruleset.name, {})
    regret = {name: f"{one['mean']:.2f}" for name, one in stored.items()}
    for kind in ("policy", "value"):
        network = bundled_file_of(kind, ruleset)
        if network is None:
            continue
        text = network.with_suffix(".md").read_text(encoding="utf-8")
        elo |= {name: float(rating) for name, rating in _RATING.findall(text)}
    if ladder := ladder_of(ruleset):
        ratings = ladder.ratings()
        elo |= dict(zip(ratings.names, map(float, ratings.elo), strict=True))
    names = sorted(elo.keys() | regret, key=lambda name: (-elo.get(name, -9999.0), name))
    return [
        Strength(name, f"{elo[name]:z.0f}" if name in elo else "", regret.get(name, "")) for name in names
    ]
