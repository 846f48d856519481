"""Rulesets and turns in words, and tables in Markdown."""

from collections.abc import Iterable, Sequence

from mancala_env import Ruleset
from mancala_env.engine.timeline import Timeline
from mancala_env.render.motion import sentence, turn_name

SEATS = ("South", "North")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], to_the_right: Sequence[str] = ()) -> str:
    """Return a table in Markdown; the columns of `to_the_right` hold numbers."""
    rule = ["---:" if name in to_the_right else "---" for name in head]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def hidden_contents(pages: Iterable[str]) -> str:
    """Return what makes pages part of the table of contents at the side."""
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])


def rules_in_short(ruleset: Ruleset) -> str:
    """Return the rule options of a ruleset in words, as a table with links to the rules."""
    rows = {
        "Board": f"2 rows of {ruleset.row_width} holes, {ruleset.seeds_per_hole} seeds in each: "
        f"{ruleset.total_seeds} seeds, sown {ruleset.direction}.",
        "Relay": "A last seed in a hole that held seeds picks them all up, and sowing continues.",
        "Landing": _landing(ruleset),
        "Owned holes": "Neither player sows from them; their seeds count for the owner.",
        "Ransom": _ransom(ruleset),
        "End of a round": (
            f"A round ends {_ENDS[ruleset.round_end]}. ([4](../reference/rules.md#4-end-of-a-round))"
        ),
        "Next round": _MATCHES[ruleset.match],
        "Opening": _OPENINGS[ruleset.opening],
    }
    return table(("", ""), ((f"**{name}**", said) for name, said in rows.items() if said))


_ENDS = {
    "mover_stuck": "when the player to move cannot sow",
    "either_stuck": "as soon as either player cannot sow",
    "both_stuck": "when neither player can sow; a player who cannot passes",
}
_MATCHES = {
    "single": "One round is the whole game.",
    "mirror": "The loser spreads their seeds over their row; the winner sets up the same opposite and keeps "
    "the rest. ([5.1](../reference/rules.md#51-layli-goobalay))",
    "loan": "Both fill as many holes as the loser can, by fours; what is missing is lent. "
    "([5.2](../reference/rules.md#52-leyla))",
    "territory": "Every hole is filled again; the winner's surplus becomes holes of the loser's row. "
    "([5.3](../reference/rules.md#53-gabata))",
}
_OPENINGS = {
    "free": "",
    "rightmost": "South's first turn is played from their rightmost hole.",
    "eights": "Six heaps of eight are gathered, one of them a weg; the last is sown. All of it is forced. "
    "([6](../reference/rules.md#6-the-rulesets))",
}


def _landing(ruleset: Ruleset) -> str:
    if ruleset.landing == "uur":
        itself = ", itself along with them" if ruleset.captures_last else "; it stays where it fell"
        return (
            f"A last seed in an empty hole of one's own captures the seeds opposite{itself}. Opposite "
            "exactly three, one crosses over and both holes become the mover's *uur*. "
            "([a capture](../reference/rules.md#a-capture), [an uur](../reference/rules.md#an-uur))"
        )
    if ruleset.landing == "pair":
        return (
            "A last seed that is the fourth in a hole on the opponent's side wins that hole and the one "
            "opposite. ([a Leyla capture](../reference/rules.md#a-leyla-capture))"
        )
    side = "the opponent's" if ruleset.owns_on == "opponent" else "either"
    return (
        f"A last seed that is the fourth in a hole on {side} side makes it the mover's *weg*. "
        "([a weg](../reference/rules.md#a-weg))"
    )


def _ransom(ruleset: Ruleset) -> str:
    if ruleset.landing == "uur":
        return ""
    empty = "" if ruleset.ransoms_empty else "; in an empty one it stays"
    return (
        f"A last seed in an owned hole of the opponent's is won back, with one seed more if there is "
        f"one{empty}. ([a ransom](../reference/rules.md#a-ransom))"
    )


def turn_in_words(ruleset: Ruleset, turn: Timeline) -> str:
    """Return a turn in words: the player, the hole, the number of laps and the result."""
    laps = "one lap" if turn.laps == 1 else f"{turn.laps} laps"
    said = [f"{SEATS[turn.player]} sows {turn_name(ruleset, turn.player, turn.hole)}: {laps}"]
    outcome = ("capture", "ransom", "own", "put_back", "pass", "end")
    said += [sentence(ruleset, event) for event in turn.events if event.kind in outcome]
    return ". ".join(said) + "."
