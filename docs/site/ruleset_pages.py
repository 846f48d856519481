"""A page for each ruleset, made from the package: rule options, a turn, exact values, ladder, spaces."""

import importlib
import json
import re
from functools import lru_cache
from typing import Any

import drawings
from in_words import SEATS, hidden_contents, rules_in_short, table, turn_in_words
from pages import ROOT

from mancala_env import Position, Ruleset, rulesets
from mancala_env.envs.families import FAMILIES, Family
from mancala_env.evaluation import NoLadder, Ratings, stored_ladder
from mancala_env.evaluation.openings import openings_in_words
from mancala_env.observations import Observer, kinds_of, version
from mancala_env.solver import positions, rulesets_with_positions
from mancala_env.solver.book import certain_part, load_book

_CAPTURED = {
    "uur": "an *uur* (pregnant), made of three opposite seeds",
    "pair": "a pair, taken when a fourth seed falls",
    "weg": "a *weg*, taken when a fourth seed falls",
}
# How many turns of a game are looked through for one to show, and how many laps it should have.
_TURNS, _LAPS = 40, 4


def all_pages() -> dict[str, str]:
    """Return the text of every page, by its path on the site."""
    each = {f"rulesets/{name}.md": page(rulesets.lookup(name)) for name in rulesets.names()}
    return each | {"rulesets/index.md": _index()}


def page(ruleset: Ruleset) -> str:
    """Return the page of a ruleset of the catalogue, as Markdown."""
    start = Position(ruleset)
    return "\n\n".join(
        [
            f"# {ruleset.title}",
            f"`{ruleset.name}` · {ruleset.region} · {ruleset.source}",
            drawings.board(start, _start_in_words(start)),
            drawings.play_button(start),
            "## The rules in short",
            rules_in_short(ruleset),
            "Every rule with its source, and every decision: [the rules](../reference/rules.md).",
            "## A turn",
            drawn_turn(ruleset),
            "## What the opening is worth",
            _opening(ruleset),
            "## Ladder",
            _ladder(ruleset),
            "## Trained networks",
            _trained(ruleset),
            "## Spaces",
            _spaces(ruleset),
            "## Load it",
            _code(ruleset),
            "## Version history",
            _versions(family_of(ruleset)),
            "",
        ]
    )


def family_of(ruleset: Ruleset) -> Family:
    """Return the family whose environments play a ruleset."""
    return next(family for family in FAMILIES.values() if family.landing == ruleset.landing)


def drawn_turn(ruleset: Ruleset, to_root: str = "../") -> str:
    """Return a turn in motion, and in words."""
    before, action = turn_to_show(ruleset)
    return drawings.turn(before, action, turn_in_words(ruleset, before.timeline(action)), to_root)


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


def _start_in_words(start: Position) -> str:
    opened = " South has opened: the first turns are forced." if start.ruleset.opening == "eights" else ""
    return f"The board at the start, {SEATS[start.player]} to move. Sown {start.ruleset.direction}.{opened}"


@lru_cache
def _solved_openings() -> dict[str, tuple[str, str]]:
    """Return the value and those of all first actions, by ruleset, from docs/results/solved.md."""
    text = (ROOT / "docs" / "results" / "solved.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)`[^|]*\| \*\*([+-]?\d+)\*\* \|[^|]*\|([^|]*)\|", text, re.MULTILINE)
    return {name: (value, each.strip()) for name, value, each in rows}


def opening_value(ruleset: Ruleset) -> int | None:
    """Return the exact value of the start for the player to move, or None if unknown."""
    book = load_book(ruleset)
    if book is not None:
        start = Position(ruleset)
        rest = book.rest(start.games)
        return None if rest is None else rest + certain_part(start)
    solved = _solved_openings().get(ruleset.name)
    return int(solved[0]) if solved else None


def first_values(ruleset: Ruleset) -> dict[int, int]:
    """Return the exact value of every first action for the player to move; empty if unknown."""
    _, listed = _solved_openings().get(ruleset.name, ("", ""))
    if ":" in listed:  # some actions only, each with its name
        return {int(action): int(value) for action, value in re.findall(r"(\d+): ([+-]?\d+)", listed)}
    values = [int(value) for value in listed.split(",") if value]
    return dict(zip(Position(ruleset).legal_actions, values, strict=True)) if values else {}


def _opening(ruleset: Ruleset) -> str:
    value, who = opening_value(ruleset), SEATS[Position(ruleset).player]
    if value is None:
        said = "Unknown: this opening is not solved."
    elif value == 0:
        said = "It is a **draw** when both play their best."
    else:
        outcome = "wins" if value > 0 else "loses"
        said = f"{who}, to move, {outcome} by **{abs(value)}** seeds when both play their best."
    if ruleset.name in rulesets_with_positions():
        said += (
            f" {len(positions(ruleset))} positions, each with the exact value of every action, come with the "
            "package and measure an agent's [regret](../guides/evaluate.md#regret)."
        )
    said += " ([Perfect play](../results/solved.md))"
    values = first_values(ruleset)
    if not values:
        return said
    caption = "What each first turn is worth: the final lead of the player to move."
    return f"{said}\n\n{drawings.board(Position(ruleset), caption, values)}"


def _ladder(ruleset: Ruleset) -> str:
    try:
        ladder = stored_ladder(ruleset)
    except NoLadder:
        return "No ladder is stored."
    ratings = ladder.ratings()
    where = openings_in_words(ladder.opening_set, ladder.opening_turns)
    said = (
        f"The anchors of the rating scale, from {where}; "
        "`random` is 0. "
        "[Ratings and the ladder](../guides/evaluate.md#ratings-and-the-ladder) says how to place an agent."
    )
    if not ratings.elo.any():
        said += " All are equal here: the opening decides the round, so the agents share every pair of games."
    rows = [
        (f"`{ratings.names[i]}`", f"{ratings.elo[i]:z.0f}", _interval(ratings, i), f"{ratings.games[i]:,}")
        for i in ratings.order()
    ]
    listed = table(
        ("agent", "Elo", "95 % interval", "games"), rows, to_the_right=("Elo", "95 % interval", "games")
    )
    left_out = [f"`{name}` is not rated here: {why}." for name, why in ladder.excluded.items()]
    return "\n\n".join([said, listed, *left_out])


def _interval(ratings: Ratings, i: int) -> str:
    return "fixed" if ratings.names[i] == ratings.zero else f"{ratings.low[i]:z.0f} to {ratings.high[i]:z.0f}"


def _trained(ruleset: Ruleset) -> str:
    runs = json.loads((ROOT / "docs" / "results" / "configurations.json").read_text(encoding="utf-8"))
    runs = [run for run in runs if run["ruleset"] == ruleset.name]
    if not runs:
        return "No configuration of its own: `mancala train` uses defaults. ([Training](../guides/train.md))"
    opponents = [match["second"] for match in runs[0]["matches"]]
    head = [
        "configuration",
        "trained for",
        "seed",
        "episode",
        *(f"against `{name}`" for name in opponents),
        "mean regret",
    ]
    rows = [
        (
            f"`{run['config']}`",
            run["trained"],
            str(run["seed"]),
            "one round" if run["rounds"] == 1 else "a match",
            *(f"{match['win_rate']:.0%}" for match in run["matches"]),
            _regret(run),
        )
        for run in runs
    ]
    said = (
        f"Win rates, {runs[0]['games']:,} games against each, the network alone, one evaluation a move; mean "
        "regret in seeds a move. ([Figures](../results/configurations.md), [training](../guides/train.md))"
    )
    return f"{said}\n\n{table(head, rows, to_the_right=head[4:])}"


def _regret(run: dict[str, Any]) -> str:
    if not run.get("regret"):
        return ""
    return f"{run['regret']['overall']['mean_regret']:.2f}"


def _spaces(ruleset: Ruleset) -> str:
    episodes = {"one round": ruleset.num_actions(1)}
    if ruleset.match != "single":
        episodes["a match"] = ruleset.num_actions("match")
    if len(set(episodes.values())) == 1:
        episodes = {"every episode": ruleset.num_actions(1)}
    rows = []
    for episode, num_actions in episodes.items():
        for kind in kinds_of(ruleset):
            observer = Observer(ruleset, kind, num_actions)
            rows.append(
                (
                    *(episode, f"`Discrete({num_actions})`", f"`{kind}`", str(observer.dtype)),
                    " x ".join(map(str, observer.shape)),
                    f"{observer.low.min():g} to {observer.high.max():g}",
                    version(kind, ruleset),
                )
            )
    parts = ", ".join(f"`{name}`" for name in Observer(ruleset).parts)
    return (
        table(("episode", "actions", "observation", "type", "shape", "range", "version"), rows)
        + f"\n\n`board` holds {parts}; the other kinds hold a row an action. A round lasts at most "
        f"{ruleset.max_turns:,} turns. ([Environments](../guides/environments.md#spaces))"
    )


def _code(ruleset: Ruleset) -> str:
    family = family_of(ruleset)
    named = "" if family.default == ruleset.name else f'ruleset="{ruleset.name}"'
    more = f"{named}, " if named else ""
    return f"""```python
import gymnasium
from mancala_env import Batch, Position, {family.module}

two_learners = {family.module}.env({named})   # PettingZoo
one_learner = gymnasium.make("{family.gym_id}", {more}opponent="greedy")
many_games = Batch("{ruleset.name}", num_games=1024, seed=1)
one_game = Position("{ruleset.name}")         # for people
```"""


def _versions(family: Family) -> str:
    docstring: Any = importlib.import_module(f"mancala_env.{family.module}").raw_env.__doc__
    written = docstring.partition("## Version History")[2].strip()
    lines = "\n".join(line.strip() for line in written.splitlines())
    versions = "([About versions](../guides/environments.md#versions))"
    return f"`{family.module}` and `{family.gym_id}`:\n\n{lines}\n\n{versions}"


def table_of_games() -> str:
    """Return a table of the rulesets of the written sources, with links to their pages."""
    rows = []
    for name in rulesets.names():
        ruleset = rulesets.lookup(name)
        if not name.startswith("ludii_"):
            title = f"[{ruleset.title}](rulesets/{name}.md)"
            rows.append((title, _size(ruleset), _CAPTURED[ruleset.landing], ruleset.region))
    return table(("game", "board, seeds", "a captured hole is", "recorded in"), rows)


def _size(ruleset: Ruleset) -> str:
    return f"2x{ruleset.row_width}, {ruleset.seeds_per_hole}"


def _index() -> str:
    rows = []
    for name in rulesets.names():
        ruleset = rulesets.lookup(name)
        value = opening_value(ruleset)
        shown = "" if value is None else f"{value:+d}" if value else "0"
        title = f"[{ruleset.title}]({name}.md)"
        rows.append((title, f"`{name}`", _size(ruleset), ruleset.direction, shown, ruleset.region))
    head = ("game", "ruleset", "board, seeds", "sown", "value", "recorded in")
    return "\n\n".join(
        [
            "# Rulesets",
            "Every game of the package, a page each: its board, a turn, what perfect play makes of it, how "
            "strong the agents are, and what an environment of it looks like. The value is the final lead of "
            "the player to move at the start when both play their best; empty where it is unknown.",
            table(head, rows, to_the_right=("value",)),
            hidden_contents(rulesets.names()),
            "",
        ]
    )
