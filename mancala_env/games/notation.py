"""Text for positions, turns and games.

A position is one line::

    layli_goobalay 4,4,2s,4,4,4/4,4,4,2s,4,4 0-0 S stall=3 round=2 starter=N

| part | content |
|---|---|
| ``layli_goobalay`` | ruleset |
| ``4,4,2s,4,4,4/4,4,4,2s,4,4`` | South's row / North's row in hole order; ``s`` or ``n``: owned hole |
| ``0-0`` | stores of South and North |
| ``S`` | player to move |
| ``stall=3`` ... | values that differ from the start of a match |

These values are ``stall``, ``round``, ``starter``, ``debts=2-0``, ``territory=SSSSSSSSNNNN`` and
``end=endless``. ASCII whitespace separates the parts. A leading byte order mark is skipped. A number has 1 to
40 ASCII digits. ``web/engine/position_text.js`` reads the same format.

A turn is the letter of the player and the number of the hole from 1: ``S10`` is South's action 9, as in
Abstract Games 13 (2003).
"""

import re
from typing import Any

import numpy as np

from mancala_env.engine.state import END_REASONS, ENDLESS, NORTH, SOUTH, State
from mancala_env.errors import InvalidPosition, InvalidRuleset
from mancala_env.rulesets import Ruleset, RulesetLike, lookup, named

LETTERS = "SN"
_OWNER_MARKS = {-1: "", SOUTH: "s", NORTH: "n"}
_MOST_DIGITS = 40
_WORD = re.compile(r"[^ \t-\r]+")
_FORM = "RULESET SOUTH/NORTH STORE-STORE S|N [stall=..] [round=..] [starter=..] [debts=..] [territory=..]"


def words_of(text: str) -> list[str]:
    r"""Split a text at ASCII whitespace, and skip a leading byte order mark.

    >>> words_of("\ufeffS10 N9\n")
    ['S10', 'N9']
    """
    return _WORD.findall(text.removeprefix("\ufeff"))


def turn_text(player: int, action: int) -> str:
    """Write a turn: ``turn_text(0, 9)`` is ``"S10"``."""
    return f"{LETTERS[player]}{action + 1}"


def position_text(ruleset: Ruleset, state: State) -> str:
    """Write the position of a State, B = 1, as one line."""
    seeds, owners, territory, stores, player, stall, end, round, starter, debts = (each[0] for each in state)
    width = ruleset.row_width
    holes = [f"{number}{_OWNER_MARKS[int(owner)]}" for number, owner in zip(seeds, owners, strict=True)]
    rows = ",".join(holes[:width]) + "/" + ",".join(holes[width:])
    words = [ruleset.name, rows, f"{stores[0]}-{stores[1]}", LETTERS[player]]
    if stall:
        words.append(f"stall={stall}")
    if round != 1:
        words.append(f"round={round}")
    if starter != SOUTH:
        words.append(f"starter={LETTERS[starter]}")
    if debts.any():
        words.append(f"debts={debts[0]}-{debts[1]}")
    if (territory != np.arange(2 * width) // width).any():
        words.append("territory=" + "".join(LETTERS[sower] for sower in territory))
    if end == ENDLESS:
        words.append(f"end={END_REASONS[ENDLESS]}")
    return " ".join(words)


def parse_position(text: str, ruleset: RulesetLike | None = None) -> dict[str, Any]:
    """Read a position line as the arguments of Position; an InvalidPosition names the wrong part."""
    words = words_of(text) if isinstance(text, str) else []
    if len(words) < 4:
        raise InvalidPosition(f"{text!r} is not a position; the form is: {_FORM}")
    name, rows, stores, player, *options = words
    ruleset = None if ruleset is None else lookup(ruleset)
    if ruleset is not None and ruleset.name != name:
        raise InvalidPosition(f"the text is of ruleset {name!r}, not of {ruleset.name!r}")
    try:
        fields: dict[str, Any] = {"ruleset": ruleset or named(name)}
    except InvalidRuleset as error:
        raise InvalidPosition(f"{error}; pass a ruleset of your own with the text (--ruleset FILE)") from None
    holes = [hole for row in rows.split("/") for hole in row.split(",")]
    if rows.count("/") != 1:
        raise InvalidPosition(f"{rows!r} must be South's row / North's row")
    if len({row.count(",") for row in rows.split("/")}) > 1:
        raise InvalidPosition(f"{rows!r} must have two rows with equally many holes")
    fields["seeds"] = [_number(hole[:-1] if hole.endswith(("s", "n")) else hole, "seeds") for hole in holes]
    fields["owner"] = [LETTERS.lower().find(hole[-1:] or " ") for hole in holes]
    fields["stores"] = _pair(stores, "stores")
    fields["player"] = _player(player, "player")
    for option in options:
        key, _, value = option.partition("=")
        if key in ("stall", "round"):
            fields[key] = _number(value, key)
        elif key == "starter":
            fields[key] = _player(value, key)
        elif key == "debts":
            fields[key] = _pair(value, key)
        elif key == "territory":
            fields[key] = [_player(letter, key) for letter in value]
        elif option == "end=endless":
            fields["endless"] = True
        else:
            raise InvalidPosition(f"{option!r} is not part of a position; the form is: {_FORM}")
    return fields


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InvalidPosition(f"{what}: {text!r} is not a whole number")
    if len(text) > _MOST_DIGITS:
        raise InvalidPosition(f"{what}: a number has at most {_MOST_DIGITS} digits, not {len(text):,}")
    return int(text)


def _pair(text: str, what: str) -> tuple[int, int]:
    south, dash, north = text.partition("-")
    if not dash:
        raise InvalidPosition(f"{what}: {text!r} must be two numbers, of South and North, such as 5-3")
    return _number(south, what), _number(north, what)


def _player(text: str, what: str) -> int:
    if text not in ("S", "N"):
        raise InvalidPosition(f"{what}: {text!r} must be S or N")
    return LETTERS.index(text)
