"""The rules of a ruleset in plain words, from its rule options alone.

>>> from mancala_env import Ruleset
>>> print(rules_in_words(Ruleset(row_width=3)).splitlines()[0])
South has holes S1 to S3, North N1 to N3. S1 faces N3, and so on.
"""

from mancala_env.rulesets import STALL_LIMIT, Ruleset

ENDS = {
    "mover_stuck": "when the player to move cannot sow",
    "either_stuck": "as soon as either player cannot sow",
    "both_stuck": "when neither player can sow; one who cannot passes",
}
"""End of a round, by the value of the rule option `round_end`."""


def side_of_four(ruleset: Ruleset) -> str:
    """Return the side on which a fourth seed captures, such as "the opponent's"."""
    return "the opponent's" if ruleset.owns_on == "opponent" else "either"


def rules_in_words(ruleset: Ruleset) -> str:
    """Return the rules of one round in at most 200 words, for readers new to mancala games.

    Names of holes are those of :func:`mancala_env.render.motion.place_name`. Rules about the next round are
    excluded.
    """
    width = ruleset.row_width
    lines = [
        f"South has holes S1 to S{width}, North N1 to N{width}. S1 faces N{width}, and so on.",
        "Turn: choose a free (not owned) hole with seeds in your row, lift all its seeds and sow one into "
        f"each next hole: S1 to S{width}, N1 to N{width}, S1 again, skipping none. This is a lap.",
        *_landing(ruleset),
        f"The round ends {ENDS[ruleset.round_end]}. It also ends if a turn never stops (it is undone), or "
        f"after {STALL_LIMIT} turns without a change in the number of seeds in free holes. Players count "
        "their store, seeds in their owned holes and in free holes of their row.",
    ]
    if ruleset.opening == "rightmost":
        last = 1 if ruleset.direction == "clockwise" else width
        lines.append(f"South's first turn starts from S{last}.")
    return "\n".join(lines)


def _landing(ruleset: Ruleset) -> list[str]:
    """Return what the last seed of a lap does."""
    relay = "If a lap ends in a free hole that held seeds, lift all seeds there and sow another lap."
    if ruleset.landing == "uur":
        taken = "and that last seed" if ruleset.captures_last else "but not that last seed"
        return [
            relay,
            "If it ends in an empty free hole, the turn ends. If this hole is in your row, look at the "
            "facing hole. With three seeds, one of them moves to your hole, and you own both. With any other "
            f"number, you capture these seeds, {taken}, into your store; with none, nothing.",
            "A lap that ends in an owned hole ends the turn.",
        ]
    gain = "own this hole and the facing one" if ruleset.landing == "pair" else "own this hole"
    empty = "one" if ruleset.ransoms_empty else "nothing"
    return [
        f"{relay} Exception: if the last seed is the fourth in a free hole of {side_of_four(ruleset)} row, "
        f"you {gain}, seeds stay, and the turn ends.",
        "If it ends in an empty free hole or your owned hole, the turn ends. In the opponent's owned hole it "
        f"ends, too, and two seeds from there go to your store; {empty} if it was empty before.",
    ]
