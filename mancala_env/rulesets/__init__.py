"""Rulesets as data: the rule options, and the catalogue of docs/reference/rules.md.

A :class:`Ruleset` is a set of rule options. The engine reads the options and never the name. So you can play,
train on and solve your own ruleset like those of the catalogue. :func:`lookup` also reads ruleset files.

| module | content |
|---|---|
| `requirements` | rule options that need values of other rule options |
| `in_words` | the rules of a ruleset in plain words |
| `plain_yaml` | the reader of YAML files, for rulesets and training settings |
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from mancala_env._util.files import write_whole
from mancala_env.errors import InvalidRuleset, did_you_mean, in_short
from mancala_env.rulesets.requirements import REQUIREMENTS as REQUIREMENTS
from mancala_env.rulesets.requirements import broken_requirement, remedy

Direction = Literal["anticlockwise", "clockwise"]
Landing = Literal["uur", "pair", "weg"]
OwnsOn = Literal["opponent", "either"]
RoundEnd = Literal["mover_stuck", "either_stuck", "both_stuck"]
Match = Literal["single", "mirror", "loan", "territory"]
Opening = Literal["free", "rightmost", "eights"]

MIN_ROW_WIDTH, MAX_ROW_WIDTH = 2, 12
STALL_LIMIT = 50
"""A round ends after this many turns in a row without a change in the number of free seeds (RULES 4)."""
MAX_TOTAL_SEEDS = 255
"""Most seeds of a game: a hole is one byte of the engine's board."""


@dataclass(frozen=True, kw_only=True)
class Ruleset:
    """The rules of one game: board, captures, end of a round, setup of the next round.

    Symbols: W is ``row_width``, H = 2W the number of holes.

    Attributes:
        name: Identifier, as in ``Position("leyla")``.
        title: The game's name in words.
        region: Region where the rules were recorded.
        source: Source of the rules, by author and year.
        row_width: W, holes per row, 2 to 12.
        seeds_per_hole: Seeds in each hole at the start of round 1; at most 255 on the whole board.
        direction: Direction in which the board is drawn. Holes are numbered in sowing order, so no rule
            depends on it except a player's *rightmost* hole: the last hole of their row in sowing order if
            anticlockwise, else the first.
        landing: Effect of the last seed of a lap. ``"uur"``: in an empty hole of the player's own it captures
            the opposite seeds, or makes two uur if there are three. ``"pair"``: as the fourth seed in a hole
            on the opponent's side it takes that hole and the opposite one. ``"weg"``: it takes only that
            hole.
        captures_last: Whether an ``"uur"`` capture includes the last sown seed.
        owns_on: Side on which a ``"weg"`` can be made.
        ransoms_empty: Whether a last seed in an *empty* owned hole of the opponent is won (``"pair"`` and
            ``"weg"``) or stays there.
        round_end: Who must be without a legal hole for a round to end: the player to move, either player, or
            both. With ``"both_stuck"`` a player without a legal hole passes.
        match: Setup of the next round (RULES 5): ``"single"`` has none, ``"mirror"`` as in Layli Goobalay,
            ``"loan"`` as in Leyla, ``"territory"`` as in Gabata.
        opening: ``"free"``; ``"rightmost"``: South's first turn starts from the rightmost hole;
            ``"eights"``: the stylised opening of Gabata 3.

    Raises:
        InvalidRuleset: If a rule option is out of range, or two options cannot be combined.
    """

    name: str = "custom"
    title: str = "Custom ruleset"
    region: str = ""
    source: str = ""
    row_width: int = 6
    seeds_per_hole: int = 4
    direction: Direction = "anticlockwise"
    landing: Landing = "uur"
    captures_last: bool = True
    owns_on: OwnsOn = "opponent"
    ransoms_empty: bool = True
    round_end: RoundEnd = "mover_stuck"
    match: Match = "single"
    opening: Opening = "free"

    def __post_init__(self) -> None:
        self._check_ranges()
        if (broken := broken_requirement(self.options)) is not None:
            raise InvalidRuleset(
                f"{broken}, not {broken.needs}={getattr(self, broken.needs)!r}: {broken.reason}"
            )
        self._check_name()

    @property
    def num_holes(self) -> int:
        """H, the number of holes on the board."""
        return 2 * self.row_width

    @property
    def total_seeds(self) -> int:
        """All seeds in the game; the counts of the two players always add up to it."""
        return self.num_holes * self.seeds_per_hole

    @property
    def max_turns(self) -> int:
        """Upper bound on the number of turns in a round: 50 times the number of seeds.

        The number of seeds in free holes never rises, and a round ends after 50 turns that do not change it
        (RULES 4).
        """
        return STALL_LIMIT * self.total_seeds

    @property
    def options(self) -> dict[str, str | int | bool]:
        """The rule options by name: all attributes but name, title, region and source."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _WORDS}

    @property
    def stored_options(self) -> dict[str, Any]:
        """Rule options that identify the rules in stored results and files.

        Options that are newer than version 0.1 are included only if they differ from their default. So a new
        option leaves the files of other rulesets valid.
        """
        later = {each.name: each.default for each in fields(self) if each.name not in _FIRST_OPTIONS}
        return {
            name: value for name, value in self.options.items() if name not in later or value != later[name]
        }

    @property
    def options_hash(self) -> str:
        """Hash of the rule options, 16 hexadecimal digits; the name does not matter."""
        content = json.dumps(self.stored_options, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def is_bundled(self) -> bool:
        """Whether this is exactly a ruleset of the catalogue."""
        return _CATALOGUE.get(self.name) == self

    def to_dict(self) -> dict[str, str | int | bool]:
        """Return all attributes as plain data, without an empty region or source; :func:`lookup` reads it.

        >>> lookup("leyla").to_dict()["landing"]
        'pair'
        """
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        usual = _CATALOGUE.get(self.name, Ruleset())  # whose texts lookup takes where one is missing
        kept = ("title", *(name for name in ("region", "source") if getattr(usual, name)))
        return {name: value for name, value in plain.items() if value != "" or name in kept}

    def save(self, path: str | PathLike[str]) -> None:
        """Write a .yaml, .yml or .json file, which :func:`lookup` and the browser page read.

        If it cannot be written, an existing file is unchanged.

        Raises:
            InvalidRuleset: The path has another ending, or the name other characters than ``lookup`` takes.
            OSError: The file cannot be written.
        """
        plain = _from_mapping(self.to_dict()).to_dict()  # raises if the file could not be read back
        if not is_ruleset_file(path):
            raise InvalidRuleset(f"a ruleset file must end in {_ENDINGS}, not be {str(path)!r}")
        if Path(path).suffix == ".json":
            text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
        else:
            import yaml

            text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
        write_whole(Path(path), text)

    def num_actions(self, rounds: int | Literal["match"] = 1) -> int:
        """Return A, the number of actions in an episode of ``rounds`` rounds.

        A is W if players sow from their own row only, and H if territory can change hands.
        """
        return self.num_holes if self.match == "territory" and rounds != 1 else self.row_width

    def _check_name(self) -> None:
        """Refuse a name of the catalogue with other rule options.

        The text of a position contains the name, and would be read with the catalogue's rules.
        """
        known = globals().get("_CATALOGUE", {}).get(self.name, self)  # undefined while the catalogue is built
        for option, theirs in known.options.items():
            if (ours := getattr(self, option)) != theirs:
                raise InvalidRuleset(
                    f"name {self.name!r} belongs to a ruleset of the catalogue with {option}={theirs!r}, "
                    f"not {ours!r}; choose another name"
                )

    def _check_ranges(self) -> None:
        if not isinstance(self.name, str) or self.name.split() != [self.name]:
            raise InvalidRuleset(
                f"name must be one word without spaces, the first of a position's text, not {self.name!r}"
            )
        for word in ("name", "title", "region", "source"):
            text = getattr(self, word)
            if not isinstance(text, str) or not text.isprintable():
                raise InvalidRuleset(f"{word} must be a text of printable characters, not {text!r}")
        for option in ("row_width", "seeds_per_hole"):
            value = getattr(self, option)
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise InvalidRuleset(f"{option} must be a whole number, not {value!r}")
            object.__setattr__(self, option, int(value))  # files and hashes take no numpy integers
        if not MIN_ROW_WIDTH <= self.row_width <= MAX_ROW_WIDTH:
            raise InvalidRuleset(
                f"row_width must be {MIN_ROW_WIDTH} to {MAX_ROW_WIDTH}, not {self.row_width}"
            )
        most = MAX_TOTAL_SEEDS // self.num_holes
        if not 1 <= self.seeds_per_hole <= most:
            raise InvalidRuleset(
                f"seeds_per_hole must be 1 to {most} on a board of {self.num_holes} holes "
                f"(at most {MAX_TOTAL_SEEDS} seeds in all), not {self.seeds_per_hole}"
            )
        for option, choices in CHOICES.items():
            value = getattr(self, option)
            if not isinstance(value, type(choices[0])) or value not in choices:
                allowed = "True or False" if choices[0] is False else " or ".join(map(repr, choices))
                raise InvalidRuleset(f"{option} must be {allowed}, not {value!r}")


CHOICES: dict[str, tuple[Any, ...]] = {
    each.name: get_args(each.type) or (False, True) for each in fields(Ruleset) if each.type not in (str, int)
}
"""Valid values of each rule option that is not a number."""

# Rule options of version 0.1.
_FIRST_OPTIONS = (
    "row_width", "seeds_per_hole", "direction", "landing", "captures_last", "owns_on", "ransoms_empty",
    "round_end", "match", "opening",
)  # fmt: skip
# Attributes that no rule depends on.
_WORDS = ("name", "title", "region", "source")

_LUDII = "Ludii 1.3.11's program for "

_LAYLI_GOOBALAY = Ruleset(
    name="layli_goobalay",
    title="Layli Goobalay",
    region="Somaliland",
    source="Jama Musse Jama 2002, in Mancala World, Layli Goobalay (short board)",
    landing="uur",
    match="mirror",
)
_LEYLA_GOBALE_II = replace(
    _LAYLI_GOOBALAY,
    name="leyla_gobale_ii",
    title="Leyla Gobale II, five seeds",
    region="Gabradarre, Ethiopia",
    source="Pankhurst 1971: 181, Game 36",
    seeds_per_hole=5,
)
_LONG = replace(
    _LAYLI_GOOBALAY,
    name="layli_goobalay_long",
    title="Layli Goobalay (long board)",
    source="G. Marin 1931, JRAI 61: 499-511, in Mancala World, Layli Goobalay (long board)",
    row_width=12,
    direction="clockwise",
    match="single",
)
_LEYLA = Ruleset(
    name="leyla",
    title="Leyla (Wegi)",
    region="Jigjiga, Ethiopia",
    source="Pankhurst 1971: 182, after Ba'alul Mohamed",
    direction="clockwise",
    landing="pair",
    match="loan",
)
_GABATA_I = Ruleset(
    name="gabata_i",
    title="Gabata (Shoa), Gabata I",
    region="Shoa, Ethiopia",
    source="Pankhurst 1971: 174-176",
    landing="weg",
    round_end="both_stuck",
    match="territory",
)
_GABATA_3 = replace(
    _GABATA_I,
    name="gabata_3",
    title="Gabata 3 (Wasan Enqebaherey)",
    source="Pankhurst 1971: 177",
    opening="eights",
)
_LUDII_LEYLA = replace(
    _LEYLA,
    name="ludii_leyla",
    title="Leyla, as Ludii plays it",
    source=_LUDII + "Leyla",
    round_end="either_stuck",
    match="single",
)
_LUDII_SOMALILAND = replace(
    _LAYLI_GOOBALAY,
    name="ludii_leyla_gobale_somaliland",
    title="Leyla Gobale (Somaliland), as Ludii plays it",
    source=_LUDII + "Leyla Gobale (Somaliland)",
    direction="clockwise",
    captures_last=False,
    round_end="either_stuck",
    match="single",
    opening="rightmost",
)
_LUDII_GABRADARRE = replace(
    _LUDII_SOMALILAND,
    name="ludii_leyla_gobale_gabradarre",
    title="Leyla Gobale (Gabradarre), as Ludii plays it",
    region="Gabradarre, Ethiopia",
    source=_LUDII + "Leyla Gobale (Gabradarre)",
    direction="anticlockwise",
    seeds_per_hole=5,
    opening="free",
)
_LUDII_GABATA_I = replace(
    _GABATA_I,
    name="ludii_gabata_i",
    title="Gabata I, as Ludii plays it",
    source=_LUDII + "Gabata (Shoa I)",
    owns_on="either",
    ransoms_empty=False,
    match="single",
)


def _resized(ruleset: Ruleset, name: str, title: str, row_width: int) -> Ruleset:
    return replace(ruleset, name=name, title=title, row_width=row_width)


_CATALOGUE = {
    ruleset.name: ruleset
    for ruleset in (
        _LAYLI_GOOBALAY,
        _LEYLA_GOBALE_II,
        _LONG,
        _resized(_LONG, "layli_goobalay_8", "Layli Goobalay, 2x8", 8),
        _LEYLA,
        _GABATA_I,
        _resized(_GABATA_I, "gabata_five_holes", "Gabata (Shoa), five holes", 5),
        _resized(_GABATA_I, "gabata_seven_holes", "Gabata (Shoa), seven holes", 7),
        _GABATA_3,
        _LUDII_LEYLA,
        _LUDII_SOMALILAND,
        _LUDII_GABRADARRE,
        _LUDII_GABATA_I,
        _resized(_LUDII_GABATA_I, "ludii_gabata_five_holes", "Gabata, five holes, as Ludii plays it", 5),
        _resized(_LUDII_GABATA_I, "ludii_gabata_seven_holes", "Gabata, seven holes, as Ludii plays it", 7),
    )
}


def names() -> tuple[str, ...]:
    """Return the names of all rulesets in the catalogue: rules from written sources, then Ludii's."""
    return tuple(_CATALOGUE)


RulesetLike: TypeAlias = str | Ruleset | Mapping[str, Any] | PathLike[str]
"""What :func:`lookup` accepts."""
_FILE_SUFFIXES = (".yaml", ".yml", ".json")
_ENDINGS = ".yaml, .yml or .json"
_KEYS = ("like", *(each.name for each in fields(Ruleset)))
_MOST_FILE_BYTES = 1 << 16
_YES_OR_NO = {"true": True, "yes": True, "false": False, "no": False}


def lookup(ruleset: RulesetLike) -> Ruleset:
    """Return a ruleset from a name, rule options or a file; a Ruleset is returned unchanged.

    >>> lookup("leyla").landing
    'pair'
    >>> lookup({"like": "leyla", "row_width": 5, "name": "my_leyla"}).num_holes
    10

    Args:
        ruleset: One of:

            - a name of the catalogue;
            - a :class:`Ruleset`;
            - a mapping of attributes of :class:`Ruleset`. Its key ``like`` names a ruleset of the catalogue
              that has all other rule options. Without a ``name``, the name is derived from the rule options,
              such as ``leyla_1f2e3d4c``; a name has letters, digits, ``_``, ``-`` and ``.``;
            - a path that ends in .yaml, .yml or .json, of a file with such a mapping. Without a ``name``, the
              name is that of the file.

            A mapping that changes nothing returns the ruleset of ``like``.

    Raises:
        InvalidRuleset: The name, a key or a value is invalid, or the file cannot be read. The message names
            the file and the key, and says what is valid.
    """
    if isinstance(ruleset, Ruleset):
        return ruleset
    if isinstance(ruleset, Mapping):
        return _from_mapping(ruleset)
    if is_ruleset_file(ruleset):
        return _read_file(Path(ruleset))
    return named(ruleset, f"; or a file that ends in {_ENDINGS}")


def named(name: Any, alternatives: str = "") -> Ruleset:
    """Return a ruleset of the catalogue; no file is read, so the name may come from an untrusted source.

    Raises:
        InvalidRuleset: If the name is unknown; the message lists all names, and `alternatives` at its end.
    """
    if isinstance(name, str) and name in _CATALOGUE:
        return _CATALOGUE[name]
    hint = did_you_mean(name, _CATALOGUE, cutoff=0.4)
    listed = ", ".join(_CATALOGUE) + alternatives
    raise InvalidRuleset(f"unknown ruleset {in_short(name)}{hint}; all rulesets: {listed}")


def is_ruleset_file(ruleset: Any) -> bool:
    """Return whether :func:`lookup` takes a value as the path of a ruleset file."""
    return isinstance(ruleset, str | PathLike) and str(os.fspath(ruleset)).endswith(_FILE_SUFFIXES)


def _read_file(path: Path) -> Ruleset:
    from mancala_env.rulesets import plain_yaml

    try:
        with path.open("rb") as file:
            content = file.read(_MOST_FILE_BYTES + 1)
        if len(content) > _MOST_FILE_BYTES:
            raise ValueError(f"it has more than {_MOST_FILE_BYTES:,} bytes")
        text = content.decode("utf-8-sig")
        options = json.loads(text) if path.suffix == ".json" else plain_yaml.read(text)
    except (OSError, ValueError, RecursionError, plain_yaml.YAMLError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidRuleset(f"the ruleset file {path} cannot be read: {why}") from error
    if not isinstance(options, Mapping):
        raise InvalidRuleset(f"the ruleset file {path} must hold rule options, such as row_width: 5")
    try:
        return _from_mapping(options, re.sub(r"[^\w.-]", "_", path.stem))
    except InvalidRuleset as error:
        raise InvalidRuleset(f"the ruleset file {path}: {error}") from error


def _from_mapping(options: Mapping[str, Any], default_name: str = "") -> Ruleset:
    """Return the ruleset that a mapping describes; see :func:`lookup`."""
    for key in options:
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS)
            raise InvalidRuleset(f"unknown rule option {key!r}{hint}; the keys are {', '.join(_KEYS)}")
    base = named(options["like"]) if "like" in options else Ruleset()
    given = {key: option_of(key, value) for key, value in options.items() if key != "like"}
    changed = {key: value for key, value in given.items() if getattr(base, key) != value}
    if "like" in options and not changed:
        return base
    words = {"title": "Custom ruleset", "region": "", "source": ""}
    if "like" in options:
        told = " and ".join(f"{key} {value}" for key, value in changed.items() if key not in _WORDS)
        words["title"] = f"{base.title} with {told}" if told else base.title
    try:
        made = replace(base, **(words | {"name": "custom"} | given))
    except InvalidRuleset as error:
        options_of = {**base.options, **given}
        raise InvalidRuleset(
            f"{error}{remedy(str(error), options_of, CHOICES, given, options.get('like', ''))}"
        ) from None
    if "name" not in given:
        made = replace(made, name=default_name or f"{base.name}_{made.options_hash[:8]}")
    if not re.fullmatch(r"\w[\w.-]*", made.name):
        raise InvalidRuleset(f"name must be letters, digits, _, - and ., such as my_leyla, not {made.name!r}")
    known = {word: value for word, value in given.items() if word in _WORDS}
    return replace(_CATALOGUE[made.name], **known) if made.name in _CATALOGUE else made


def option_of(name: str, value: Any) -> Any:
    """Return the value of a rule option, which may be a text such as "5" or "yes"; any other is unchanged."""
    if isinstance(value, str):
        if name in ("row_width", "seeds_per_hole") and re.fullmatch(r"\d{1,3}", value, re.ASCII):
            return int(value)
        if CHOICES.get(name) == (False, True):
            return _YES_OR_NO.get(value.lower(), value)
    return value
