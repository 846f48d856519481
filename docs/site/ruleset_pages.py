"""Make the cards of the rulesets: docs/rulesets/NAME.md, an index, and their pictures in docs/img/rulesets.

python docs/site/ruleset_pages.py            # after an edit of a rule, an environment or a bundled file

The texts come from the docstrings of the environments, the numbers from the package and its bundled files.
"""

import sys

import drawings
from env_texts import description, family_of, section
from in_words import differences, rules_in_short, turn_in_words
from pages import ROOT
from ruleset_facts import first_values, ladder_of, opening_value, strengths, turn_to_show

from mancala_env import Position, Ruleset, rulesets
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env.engine.state import PLAYERS
from mancala_env.evaluation.openings import openings_in_words
from mancala_env.observations import Observer, kinds_of, version
from mancala_env.solver import positions, rulesets_with_positions
from tools.markdown import table

_PAGES, _PICTURES = "docs/rulesets", "docs/img/rulesets"
_CAPTURED = {
    "uur": "an *uur*, one of two opposite holes of two seeds",
    "pair": "a pair, taken when a fourth seed falls",
    "weg": "a *weg*, taken when a fourth seed falls",
}
_CAPTURES = {
    "uur": "three seeds opposite an empty hole make two *uur*",
    "pair": "a fourth seed captures two opposite holes",
    "weg": "a fourth seed captures a hole, the *weg*",
}
_ENVIRONMENTS = "../guides/environments.md"
_ILLEGAL = (
    ("PettingZoo", "`env()` ends the episode with reward -1; `raw_env()` raises `IllegalMove`"),
    ("Gymnasium", f"raise `IllegalMove`, or as [`illegal`]({_ENVIRONMENTS}#masks-and-illegal-actions) says"),
)
_INFO = (
    ("PettingZoo", "`action_mask`"),
    ("Gymnasium", f"`action_mask`, `seat`; at the end [the result]({_ENVIRONMENTS}#one-learner-gymnasium)"),
)
_MATCHES = {
    "single": "one round",
    "mirror": "rounds until a player cannot put a seed in each hole",
    "loan": "rounds until a player cannot fill a hole",
    "territory": "rounds until a player has lost every hole",
}


def all_files() -> dict[str, str]:
    """Return the text of every card and picture, by its path in the repository."""
    files = {f"{_PAGES}/index.md": _index()}
    for name in rulesets.names():
        ruleset = rulesets.lookup(name)
        before, action = turn_to_show(ruleset)
        files[f"{_PAGES}/{name}.md"] = card(ruleset)
        files[f"{_PICTURES}/{name}.svg"] = Position(ruleset).to_svg() + "\n"
        files[f"{_PICTURES}/{name}-turn.svg"] = before.to_svg(action=action) + "\n"
    return files


def card(ruleset: Ruleset) -> str:
    """Return the card of a ruleset of the catalogue, as Markdown."""
    start = Position(ruleset)
    before, action = turn_to_show(ruleset)
    turn = turn_in_words(ruleset, before.timeline(action))
    play, study = drawings.site_link(start, "play"), drawings.site_link(start, "study")
    return "\n\n".join(
        [
            f"# {ruleset.title}",
            _summary(ruleset),
            f"![A turn, seed by seed](../img/rulesets/{ruleset.name}-turn.svg)",
            f"*{turn}*",
            f"[Play]({play}) · [Study]({study}) · offline: `mancala serve`",
            _facts(ruleset),
            "## Description",
            _description(ruleset),
            "## Action Space",
            section(ruleset, "Action Space"),
            "## Illegal Actions",
            table(("library", "illegal actions"), _ILLEGAL),
            "## Observation Space",
            section(ruleset, "Observation Space"),
            _spaces(ruleset),
            "## Rewards",
            section(ruleset, "Rewards"),
            "## Starting State",
            section(ruleset, "Starting State"),
            f"![The board at the start](../img/rulesets/{ruleset.name}.svg)",
            "## Episode End",
            section(ruleset, "Episode End"),
            "## Arguments",
            _arguments(ruleset),
            "## Info",
            table(("library", "info"), _INFO),
            "## Exact Value",
            _exact_value(ruleset),
            "## Strength of Agents",
            _strength(ruleset),
            "## Version History",
            section(ruleset, "Version History"),
            "## References",
            _references(ruleset),
            "<!-- Made by `python docs/site/ruleset_pages.py`. -->\n",
        ]
    )


def drawn_turn(ruleset: Ruleset, to_root: str) -> str:
    """Return a turn in motion, and in words."""
    before, action = turn_to_show(ruleset)
    return drawings.turn(before, action, turn_in_words(ruleset, before.timeline(action)), to_root)


def _original(ruleset: Ruleset) -> Ruleset | None:
    """Return the ruleset of a written source that a program of Ludii plays; None for other rulesets."""
    if not ruleset.name.startswith("ludii_"):
        return None
    shape = ("landing", "row_width", "seeds_per_hole")
    names = (name for name in rulesets.names() if not name.startswith("ludii_"))
    alike = (rulesets.lookup(name) for name in names)
    return next(one for one in alike if all(getattr(one, s) == getattr(ruleset, s) for s in shape))


def _summary(ruleset: Ruleset) -> str:
    if original := _original(ruleset):
        return f"[{original.title}]({original.name}.md), with the rules of Ludii's program."
    opening = " after a forced opening" if ruleset.opening == "eights" else ""
    return (
        f"A mancala game of {ruleset.region}, played on two rows of {ruleset.row_width} holes{opening}: "
        f"{_CAPTURES[ruleset.landing]}."
    )


def _description(ruleset: Ruleset) -> str:
    parts = [description(ruleset), rules_in_short(ruleset)]
    if original := _original(ruleset):
        named = f"differs from [{original.title}]({original.name}.md)"
        parts.append(table((named,), differences(ruleset, original)))
    return "\n\n".join(parts)


def _facts(ruleset: Ruleset) -> str:
    family = family_of(ruleset)
    named = "" if family.default == ruleset.name else f'ruleset="{ruleset.name}"'
    more = f", {named}" if named else ""
    value = opening_value(ruleset)
    observer = Observer(ruleset)
    num_actions = f"`Discrete({ruleset.num_actions()})`"
    if ruleset.num_actions("match") != ruleset.num_actions():
        num_actions += f"; of several rounds `Discrete({ruleset.num_actions('match')})`"
    rows = {
        "Board": f"2 rows of {ruleset.row_width} holes, {ruleset.seeds_per_hole} seeds in each",
        "Seeds": str(ruleset.total_seeds),
        "Sown": ruleset.direction,
        "Captured hole": _CAPTURED[ruleset.landing],
        "Match": _MATCHES[ruleset.match],
        "Turns of a round, at most": f"{ruleset.max_turns:,}",
        "Exact value": "unknown" if value is None else f"{value:+d}" if value else "0 (a draw)",
        "Recorded in": ruleset.region,
        "Ruleset": f"`{ruleset.name}`",
        "PettingZoo": f"`{family.module}.env({named})`",
        "Gymnasium": f'`gymnasium.make("{family.gym_id}"{more})`',
        "Action space": num_actions,
        "Observation space": f"`Box` {observer.dtype} `{observer.shape}`",
    }
    return table(("", ""), ((f"**{name}**", text) for name, text in rows.items()))


def _spaces(ruleset: Ruleset) -> str:
    observer = Observer(ruleset)
    places = ((f"`{name}`", _range(part.start, part.stop - 1)) for name, part in observer.parts.items())
    kinds = []
    for kind in kinds_of(ruleset):
        shown = Observer(ruleset, kind)
        shapes = [f"`{shown.shape}`"]
        if ruleset.num_actions("match") != ruleset.num_actions():
            shapes.append(f"`{Observer(ruleset, kind, ruleset.num_actions('match')).shape}`")
        kinds.append((f"`{kind}`", *shapes, version(kind, ruleset)))
    rounds = ("`(F,)` or `(A, G)`", "of several rounds") if len(kinds[0]) == 4 else ("`(F,)` or `(A, G)`",)
    return "\n\n".join(
        [
            table(("part", "entries"), places),
            table(("`observation=`", *rounds, "version"), kinds),
            "[Parts and kinds](../reference/observations.md).",
        ]
    )


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _arguments(ruleset: Ruleset) -> str:
    family = family_of(ruleset)
    code = f"""```python
import gymnasium
from mancala_env import {family.module}

one_learner = gymnasium.make("{family.gym_id}", ruleset="{ruleset.name}", opponent="greedy")
two_learners = {family.module}.env("{ruleset.name}", reward="margin")
```"""
    others = f"[all others]({_ENVIRONMENTS}#arguments)", "as in every environment"
    return f"{code}\n\n{table(('argument', 'default'), [('`ruleset`', f'`{family.default}`'), others])}"


def _exact_value(ruleset: Ruleset) -> str:
    start = Position(ruleset)
    value, who = opening_value(ruleset), PLAYERS[start.player]
    if value is None:
        parts = ["The start is not solved."]
    elif value == 0:
        parts = ["With best play of both sides the round is a **draw**."]
    else:
        outcome = "wins" if value > 0 else "loses"
        parts = [f"{who} moves first and {outcome} by **{abs(value)} seeds** with best play of both sides."]
    values = first_values(ruleset)
    if values:
        names = [f"{who[0]}{action + 1}" for action in values]
        best = max(values.values())
        cells = [f"**{v:+d}**" if v == best else f"{v:+d}" for v in values.values()]
        parts.append("The value of each first turn, in seeds of final lead:")
        parts.append(
            table(
                ("first turn", *names),
                [("action", *map(str, values)), ("value", *(cell.replace("+0", "0") for cell in cells))],
                names,
            )
        )
    if ruleset.name in rulesets_with_positions():
        parts.append(
            f"{len(positions(ruleset))} solved positions measure [regret](../guides/evaluate.md). "
            "[Solved games](../results/solved.md) lists every known value."
        )
    return "\n\n".join(parts)


def _strength(ruleset: Ruleset) -> str:
    rows = strengths(ruleset)
    head = (
        "agent",
        "Elo",
        "mean regret, seeds a move",
        "[exploitability](../results/exploitability.md), seeds",
    )
    parts = [table(head, ((f"`{agent}`", *cells) for agent, *cells in rows), head[1:])]
    if ladder := ladder_of(ruleset):
        where = openings_in_words(ladder.opening_set, ladder.opening_turns)
        parts.insert(0, f"Elo, from {where}; `random` is 0.")
        if not ladder.ratings().elo.any():
            parts.insert(1, "All agents are equal here, because the opening decides the round.")
        if ladder.excluded:
            rows = [(f"`{name}`", why) for name, why in ladder.excluded.items()]
            parts.append(table(("not rated", "reason"), rows))
    parts.append("[Intervals](../results/leaderboard.md). [Measure your own agent](../guides/evaluate.md).")
    return "\n\n".join(parts)


def _references(ruleset: Ruleset) -> str:
    return f"- {ruleset.source}\n- [Rules and sources](../reference/rules.md)"


def _size(ruleset: Ruleset) -> str:
    return f"2x{ruleset.row_width}, {ruleset.seeds_per_hole}"


def _index() -> str:
    groups: dict[bool, list[tuple[str, ...]]] = {False: [], True: []}
    for name in rulesets.names():
        ruleset = rulesets.lookup(name)
        value = opening_value(ruleset)
        shown = "" if value is None else f"{value:+d}" if value else "0"
        title = f"[{ruleset.title}]({name}.md)"
        groups[name.startswith("ludii_")].append(
            (title, shown, _size(ruleset), f"`{name}`", _CAPTURED[ruleset.landing], ruleset.region)
        )
    head = ("game", "value", "board, seeds", "ruleset", "captured hole", "recorded in")
    written, ludii = (table(head, rows, ("value",)) for rows in groups.values())
    return "\n\n".join(
        [
            "# Rulesets",
            "Each ruleset has a card: rules, spaces, exact value, and strength of agents. The value is the "
            "final lead of the player who moves at the start, with best play of both sides. In Gabata 3 that "
            "is North. It is empty where unknown.",
            "## Games of the written sources",
            written,
            "## Ludii's programs",
            "These rulesets follow [Ludii](https://ludii.games) move by move, to compare results.",
            ludii,
            "## Your own",
            "[A ruleset of your own](../reference/rules.md#10-a-ruleset-of-your-own) plays, trains and is "
            "solved like these.\n",
        ]
    )


def write() -> None:
    """Write every card and picture into the repository, and delete those of rulesets that no longer exist."""
    files = all_files()
    for folder in (_PAGES, _PICTURES):
        (ROOT / folder).mkdir(parents=True, exist_ok=True)
        for path in (ROOT / folder).iterdir():
            if f"{folder}/{path.name}" not in files:
                path.unlink()
    for path, text in files.items():
        (ROOT / path).write_text(text, encoding="utf-8")


@in_one_line("ruleset_pages.py")
def main() -> int:
    """Write the cards; returns the exit status."""
    Parser(prog="ruleset_pages.py", description="Make the cards of the rulesets.").parse_args()
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
