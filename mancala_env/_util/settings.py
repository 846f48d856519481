"""Settings as fields of dataclasses, with default, range and description of each.

The checks, the options of a program and a YAML file of all defaults are derived from the fields. A field
whose type is a dataclass is a group; its settings are named `group.name`. Ranges are checked by hand, because
dataclasses and argparse cannot check them, and pydantic would be a dependency for 60 lines.
"""

import dataclasses
import difflib
import math
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from mancala_env.errors import MancalaError

_Settings = TypeVar("_Settings")
_MEANING = "meaning"
_NUMBERS = {int: "a whole number", float: "a finite number"}
_LONGEST_SHOWN = 200
# At most 40 digits and no leading zeros, because some programs read 010 as 8.
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]{0,39})")
_NUMBER = re.compile(r"[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|\.?inf|\.?nan)", re.IGNORECASE)


class InvalidSetting(MancalaError):
    """A setting that does not exist, or whose value is of the wrong type or out of range."""


@dataclass(frozen=True)
class Meaning:
    """Description and range of a setting.

    Attributes:
        text: Description in one line.
        low: Minimum.
        high: Maximum.
        above: Number that the setting must exceed.
        is_even: Whether a whole number must be even.
    """

    text: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    is_even: bool = False

    def allows(self, number: float) -> bool:
        """Return whether a number is in range."""
        return (
            (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and (self.above is None or number > self.above)
            and not (self.is_even and number % 2)
        )

    @property
    def range_in_words(self) -> str:
        """The range, such as "0 to 12"; "" without a range."""
        if self.low is not None and self.high is not None:
            return f"{self.low:,} to {self.high:,}"
        if self.above is not None:
            return f"above {self.above:,}" + ("" if self.high is None else f", at most {self.high:,}")
        return "" if self.low is None else f"at least {self.low:,}"


class Setting(NamedTuple):
    """A setting: its dotted name, type, default (MISSING without one) and description."""

    name: str
    kind: Any
    default: Any
    meaning: Meaning


def setting(
    meaning: str,
    default: Any = MISSING,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    is_even: bool = False,
) -> Any:
    """Return a dataclass field for a setting; for the arguments see :class:`Meaning`."""
    metadata = {_MEANING: Meaning(meaning, low, high, above, is_even)}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def settings_of(kind: type, prefix: str = "", defaults: Any = None) -> Iterator[Setting]:
    """Yield the settings of a dataclass, and of its groups, in the order of the fields.

    Args:
        kind: The dataclass.
        prefix: Prefix of their names.
        defaults: Instance of the dataclass whose values are the defaults; None for the fields' defaults.
    """
    hints = get_type_hints(kind)
    for each in fields(kind):
        name, hint = prefix + each.name, hints[each.name]
        default = _default(each) if defaults is None else getattr(defaults, each.name)
        if is_dataclass(hint):
            assert isinstance(hint, type)
            yield from settings_of(hint, f"{name}.", None if default is MISSING else default)
        else:
            yield Setting(name, hint, default, each.metadata[_MEANING])


def build(kind: type[_Settings], values: Mapping[str, Any]) -> _Settings:
    """Build a dataclass of settings from values by name.

    Args:
        kind: The dataclass.
        values: Plain data by dotted name; missing settings take their defaults.

    Raises:
        InvalidSetting: If a name is unknown, or a value is of the wrong type or out of range.
    """
    known = {each.name: each for each in settings_of(kind)}
    for name in values:
        if name not in known:
            raise InvalidSetting(f"unknown setting {name}{_did_you_mean(name, known)}")
    checked = {name: value_of(each, values.get(name, each.default)) for name, each in known.items()}
    return _assemble(kind, "", checked)


def check(settings: Any, prefix: str = "") -> None:
    """Check every value of a dataclass of settings, groups included.

    Raises:
        InvalidSetting: If a value is of the wrong type or out of range.
    """
    hints = get_type_hints(type(settings))
    for each in fields(settings):
        value = getattr(settings, each.name)
        if is_dataclass(hints[each.name]):
            check(value, f"{prefix}{each.name}.")
        else:
            meaning = each.metadata[_MEANING]
            value_of(Setting(prefix + each.name, hints[each.name], MISSING, meaning), value)


def value_of(setting: Setting, value: Any) -> Any:
    """Return a value converted to its setting's type, such as an int to a float.

    Raises:
        InvalidSetting: If it is of the wrong type or out of range; the message says what is valid.
    """
    for kind in _alternatives(setting.kind):
        taken = _taken(kind, value)
        if taken is MISSING or (kind in (int, float) and not setting.meaning.allows(taken)):
            continue
        return taken
    raise InvalidSetting(f"{setting.name} must be {in_words(setting)}, not {_shown(value)}")


def from_text(setting: Setting, text: str) -> Any:
    """Parse a value from a command line or file; return the text if it does not fit the setting's type."""
    kinds = _alternatives(setting.kind)
    if text == "null" and type(None) in kinds:
        return None
    if bool in kinds and text in ("true", "false"):
        return text == "true"
    if int in kinds and _WHOLE.fullmatch(text):
        return int(text)
    if float in kinds and _NUMBER.fullmatch(text):
        return float(text)
    if any(get_origin(kind) is list for kind in kinds):
        return _list_of(text)
    return text


def _list_of(text: str) -> Any:
    """Parse a list such as [random, greedy]; return the text if it is not a list."""
    import yaml

    from mancala_env._util import plain_yaml

    try:
        return plain_yaml.read(text)
    except yaml.YAMLError:
        return text


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested plain data to values by dotted name; empty groups vanish."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def in_words(setting: Setting) -> str:
    """Return the valid values of a setting in words, such as "a whole number, at least 1, or null"."""
    said, meaning = [], setting.meaning
    kinds = _alternatives(setting.kind)
    for kind in kinds:
        if kind in (int, float):
            number = "an even whole number" if meaning.is_even else _NUMBERS[kind]
            said.append(f"{number}, {meaning.range_in_words}" if meaning.range_in_words else number)
        elif kind is bool:
            said.append("true or false")
        elif kind is str:
            said.append("text")
        elif kind is type(None):
            said.append("null")
        elif get_origin(kind) is Literal:
            said += [str(choice) for choice in get_args(kind)]
        else:
            said.append("a list such as [random, greedy]")
    if get_origin(kinds[0]) is Literal:
        return f"one of {', '.join(said)}"
    return ", or ".join(said)


def to_yaml(kind: type, only: tuple[str, ...] | None = None) -> str:
    """Return a YAML file of a dataclass's defaults, one commented line per setting.

    Args:
        kind: The dataclass.
        only: Names of the fields to include; None for all.
    """
    lines, group = [], ""
    for each in settings_of(kind):
        parent, _, name = each.name.rpartition(".")
        if only is not None and each.name.partition(".")[0] not in only:
            continue
        if parent != group:
            group = parent
            lines += ["", f"{group}:"]
        comment = "; ".join(filter(None, (each.meaning.text, _allowed(each))))
        lines.append(f"{'  ' if parent else ''}{name}: {_plain(each.default)}  # {comment}")
    return "\n".join(lines) + "\n"


def _allowed(setting: Setting) -> str:
    """Return the range and the choices of a setting, such as "1 to 1,000, match"."""
    words = ["even"] if setting.meaning.is_even else []
    words += [setting.meaning.range_in_words] if setting.meaning.range_in_words else []
    for kind in _alternatives(setting.kind):
        words += get_args(kind) if get_origin(kind) is Literal else ()
    return ", ".join(words)


def _default(each: "dataclasses.Field[Any]") -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _assemble(kind: Any, prefix: str, checked: Mapping[str, Any]) -> Any:
    hints = get_type_hints(kind)
    return kind(
        **{
            each.name: _assemble(hints[each.name], f"{prefix}{each.name}.", checked)
            if is_dataclass(hints[each.name])
            else checked[prefix + each.name]
            for each in fields(kind)
        }
    )


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _taken(kind: Any, value: Any) -> Any:
    """Return a value converted to a type; MISSING if it is not of that type."""
    if kind is float:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
        return MISSING
    if kind is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else MISSING
    if kind in (bool, str, type(None)):
        return value if isinstance(value, kind) else MISSING
    if get_origin(kind) is Literal:
        return value if isinstance(value, str) and value in get_args(kind) else MISSING
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return list(value)
    return MISSING


def _did_you_mean(name: str, known: Mapping[str, Setting]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.7)
    return f"; did you mean {near[0]}?" if near else ""


def _shown(value: Any) -> str:
    shown = "null" if value is None else repr(value)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."


def _plain(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
