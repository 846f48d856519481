"""Settings: name, default, range and meaning of each, written once, as a field of a dataclass.

From the fields come the checks, the options of a program and a YAML file of all defaults. A field whose
type is a dataclass itself is a group; its settings are called `group.name`. Ranges are checked by hand,
because dataclasses and argparse cannot; pydantic would replace 60 lines with a dependency.
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
# At most 40 digits, and no zero before others: some programs read 010 as 8.
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9_]{0,39})")
_NUMBER = re.compile(r"[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|\.?inf|\.?nan)", re.IGNORECASE)


class InvalidSetting(MancalaError):
    """A setting that does not exist, or whose value is of the wrong type or out of range."""


@dataclass(frozen=True)
class Meaning:
    """What a setting means, and what it may be.

    Attributes:
        text: The meaning, in a line.
        low: The least number allowed.
        high: The largest number allowed.
        above: A number that the setting has to be greater than.
        is_even: Whether a whole number has to be even.
    """

    text: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    is_even: bool = False

    def allows(self, number: float) -> bool:
        """Tell whether a number is in range."""
        return (
            (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and (self.above is None or number > self.above)
            and not (self.is_even and number % 2)
        )

    @property
    def range_in_words(self) -> str:
        """The range, such as "0 to 12"; "" where there is none."""
        if self.low is not None and self.high is not None:
            return f"{self.low:,} to {self.high:,}"
        if self.above is not None:
            return f"above {self.above:,}" + ("" if self.high is None else f", at most {self.high:,}")
        return "" if self.low is None else f"at least {self.low:,}"


class Setting(NamedTuple):
    """A setting as a program sees it: its dotted name, type, default (MISSING without one) and meaning."""

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
    """Return the field of a setting; arguments as of :class:`Meaning`."""
    metadata = {_MEANING: Meaning(meaning, low, high, above, is_even)}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def settings_of(kind: type, prefix: str = "", defaults: Any = None) -> Iterator[Setting]:
    """Yield the settings of a dataclass in their order, groups where they stand.

    Args:
        kind: The dataclass.
        prefix: What their names begin with.
        defaults: One of that class whose values are the defaults; None takes the fields' own.
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
    """Build a dataclass of settings.

    Args:
        kind: The dataclass.
        values: Plain data by dotted name; what is missing takes its default.

    Raises:
        InvalidSetting: There is no such setting, or a value is of the wrong type or out of range.
    """
    known = {each.name: each for each in settings_of(kind)}
    for name in values:
        if name not in known:
            raise InvalidSetting(f"there is no setting {name}{_did_you_mean(name, known)}")
    checked = {name: value_of(each, values.get(name, each.default)) for name, each in known.items()}
    return _assemble(kind, "", checked)


def check(settings: Any, prefix: str = "") -> None:
    """Check every value of a dataclass of settings, groups included.

    Raises:
        InvalidSetting: A value is of the wrong type or out of range; the message names both.
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
    """Return a value as its setting has it: a whole number for a number becomes a float.

    Raises:
        InvalidSetting: It is of the wrong type or out of range; the message says what would be right.
    """
    for kind in _alternatives(setting.kind):
        taken = _taken(kind, value)
        if taken is MISSING or (kind in (int, float) and not setting.meaning.allows(taken)):
            continue
        return taken
    raise InvalidSetting(f"{setting.name} must be {in_words(setting)}, not {_shown(value)}")


def from_text(setting: Setting, text: str) -> Any:
    """Return the value that a text of a command line or a file stands for, or the text where it is none."""
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
    """Return the list that a text such as [random, greedy] stands for; the text itself where it is none."""
    import yaml

    from mancala_env._util import plain_yaml

    try:
        return plain_yaml.read(text)
    except yaml.YAMLError:
        return text


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested plain data by dotted name; an empty group holds nothing."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def in_words(setting: Setting) -> str:
    """Say what a setting may be, such as "a whole number, at least 1, or null"."""
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
    """Return the YAML file of all defaults of a dataclass, a line a setting, its meaning behind it.

    Args:
        kind: The dataclass.
        only: Its fields that are wanted; None takes all.
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
    """Return the range and the choices of a setting alone, such as "1 to 1,000, match"."""
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
    """Return a value as one of a type; MISSING where it is none."""
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
