"""Rulesets and turns in words."""

from collections.abc import Iterable

from mancala_env import Ruleset
from mancala_env.engine.state import PLAYERS
from mancala_env.engine.timeline import Timeline
from mancala_env.render.motion import sentence, turn_name
from mancala_env.rulesets.in_words import ENDS, side_of_four
from tools.markdown import table


def hidden_contents(pages: Iterable[str]) -> str:
    """Return what makes pages part of the table of contents at the side.

    Depth 1 is their titles. Otherwise Sphinx copies all their headings for each page and removes them again.
    """
    return "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", "", *pages, "```"])


_RULES = "../reference/rules.md"


def rules_in_short(ruleset: Ruleset) -> str:
    """Return the rule options of a ruleset in words, as a table with links to the rules."""
    rows = {
        "Relay": (_relay(ruleset), "#3-a-turn"),
        "Capture": _landing(ruleset),
        "Ransom": _ransom(ruleset),
        "End of a round": (f"A round ends {ENDS[ruleset.round_end]}.", "#4-end-of-a-round"),
        "Next round": _MATCHES[ruleset.match],
        "Opening": _OPENINGS[ruleset.opening],
    }
    cells = ((f"[{name}]({_RULES}{place})", text) for name, (text, place) in rows.items() if text)
    return table(("rule", "in short"), cells)


_NOTHING = ("", "")
_MATCHES = {
    "single": ("The game is one round.", "#9-decisions-in-one-list"),
    "mirror": (
        "The loser spreads their seeds over their row. The winner copies this and stores the rest.",
        "#51-layli-goobalay",
    ),
    "loan": (
        "Both fill as many holes of four as the loser can. Two missing seeds are lent; an odd one is given.",
        "#52-leyla",
    ),
    "territory": ("Every hole is filled again. The winner's surplus wins holes of the loser.", "#53-gabata"),
}
_OPENINGS = {
    "free": _NOTHING,
    "rightmost": (
        "South's first turn starts from their rightmost hole.",
        "#7-ludiis-programs-for-the-same-games",
    ),
    "eights": (
        "Six heaps of eight seeds are gathered, and one becomes a weg. The last one is sown, all forced.",
        "#6-the-rulesets",
    ),
}


def _relay(ruleset: Ruleset) -> str:
    said = (
        "A lap that ends in a free hole with seeds continues with all of them. "
        "In an owned hole the turn ends."
    )
    if ruleset.landing == "uur":
        return said
    return f"{said} A fourth seed on {side_of_four(ruleset)} side captures instead."


def _landing(ruleset: Ruleset) -> tuple[str, str]:
    if ruleset.landing == "uur":
        itself = "and the last seed" if ruleset.captures_last else "but not the last seed"
        return (
            f"A last seed in an empty hole of one's own captures the opposite seeds, {itself}. If there are "
            "three, one seed crosses over and both holes become the mover's *uur*.",
            "#an-uur",
        )
    if ruleset.landing == "pair":
        return (
            "A last seed that is the fourth in a hole on the opponent's side wins this hole and the opposite "
            "one.",
            "#a-leyla-capture",
        )
    side = side_of_four(ruleset)
    said = f"A last seed that is the fourth in a hole on {side} side makes it the mover's *weg*."
    return said, "#a-weg"


def _ransom(ruleset: Ruleset) -> tuple[str, str]:
    if ruleset.landing == "uur":
        return _NOTHING
    empty = "" if ruleset.ransoms_empty else " In an empty one it stays."
    return (
        f"A last seed in an owned hole of the opponent is won, with one more if the hole held seeds.{empty}",
        "#a-ransom",
    )


_DIFFERENCES = {
    "direction": "It is sown {}.",
    "captures_last": "A capture leaves the last seed where it fell.",
    "owns_on": "A fourth seed makes a weg on either side of the board.",
    "ransoms_empty": "A last seed in an empty weg of the opponent stays there.",
    "round_end": "A round ends as soon as either player cannot sow.",
    "match": "The game is one round.",
    "opening": "South's first turn starts from their rightmost hole.",
}


def differences(ruleset: Ruleset, other: Ruleset) -> list[tuple[str]]:
    """Return the rule options in which a ruleset differs from another one, in words, as rows of a table."""
    return [
        (_DIFFERENCES[option].format(value),)
        for option, value in ruleset.options.items()
        if value != other.options[option]
    ]


def turn_in_words(ruleset: Ruleset, turn: Timeline) -> str:
    """Return a turn in words: the player, the hole, the number of laps and the result."""
    laps = "one lap" if turn.laps == 1 else f"{turn.laps} laps"
    said = [f"{PLAYERS[turn.player]} sows {turn_name(ruleset, turn.player, turn.hole)}: {laps}"]
    outcome = ("capture", "ransom", "own", "put_back", "pass", "end")
    said += [sentence(ruleset, event) for event in turn.events if event.kind in outcome]
    return ". ".join(said) + "."
