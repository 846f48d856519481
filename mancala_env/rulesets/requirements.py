"""Rule options that need values of other rule options, and the ends of error messages about them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Requirement(NamedTuple):
    """A value of a rule option that needs one of the `allowed` values of another option, and the reason."""

    option: str
    value: str | bool
    needs: str
    allowed: tuple[str | int, ...]
    reason: str

    def __str__(self) -> str:
        allowed = " or ".join(map(repr, self.allowed))
        return f"{self.option}={self.value!r} needs {self.needs}={allowed}"


_OPPOSITE = "the other landings act on the opposite hole, which must lie in the other player's row"
_PASSES = "a player with little territory is often without a legal hole and passes"
_FILLED = "the match fills holes with four seeds (Pankhurst 1971)"
_STUCK = "on a small board the opening can leave the other player without a legal hole"
REQUIREMENTS = (
    Requirement("match", "territory", "landing", ("weg",), _OPPOSITE),
    Requirement("match", "territory", "round_end", ("both_stuck",), _PASSES),
    Requirement("match", "territory", "seeds_per_hole", (4,), _FILLED),
    Requirement("match", "loan", "seeds_per_hole", (4,), _FILLED),
    Requirement("opening", "eights", "landing", ("weg",), "it makes a weg (Pankhurst 1971: 177)"),
    Requirement("opening", "eights", "direction", ("anticlockwise",), "so the source describes it"),
    Requirement("opening", "eights", "match", ("single", "territory"), "it needs equal numbers in all holes"),
    Requirement("opening", "eights", "round_end", ("both_stuck",), _STUCK),
    Requirement("opening", "rightmost", "match", ("single",), "the rule is known from single rounds"),
    Requirement("captures_last", False, "landing", ("uur",), "the option is about captures of this landing"),
    Requirement("owns_on", "either", "landing", ("weg",), "the option is about this landing"),
    Requirement(
        "ransoms_empty", False, "landing", ("pair", "weg"), "a turn that ends in an uur takes nothing"
    ),
)
"""Rule options that cannot be combined freely."""


def broken_requirement(options: Mapping[str, Any]) -> Requirement | None:
    """Return the first requirement that rule options break, or None."""
    for each in REQUIREMENTS:
        if options[each.option] == each.value and options[each.needs] not in each.allowed:
            return each
    return None


def remedy(
    error: str,
    options: Mapping[str, Any],
    choices: Mapping[str, Sequence[Any]],
    given: Mapping[str, Any],
    like: str,
) -> str:
    """Return the end of an error: keys that came from `like`, and values that mend a broken requirement."""
    broken = broken_requirement(options)
    if broken is None or not error.startswith(str(broken)):
        return ""
    option, needs = broken.option, broken.needs
    others = [value for value in choices[option] if broken_requirement({**options, option: value}) is None]
    ways = [f"{needs}: {value}" for value in broken.allowed]
    ways += [f"{option}: {str(value).lower()}" for value in others]
    inherited = [f"{key}: {str(options[key]).lower()}" for key in (option, needs) if key not in given]
    origin = f"{' and '.join(inherited)} came from like: {like}; " if like and inherited else ""
    return f"; {origin}write {', '.join(ways[:-1])} or {ways[-1]}"
