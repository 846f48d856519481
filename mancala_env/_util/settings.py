"""Settings as fields of dataclasses, each with a default, a range and a description.

The checks, the options of a program and a YAML file of all defaults are derived from the fields. A field
whose value is a dataclass is a group; its settings are named `group.name`. Ranges are checked by hand,
because dataclasses and argparse cannot check them, and pydantic would be a dependency for 60 lines.
"""

import dataclasses
import re
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from mancala_env._util.checks import number_of
from mancala_env.errors import MancalaError, did_you_mean, in_short

_Settings = TypeVar("_Settings")
_MEANING = "meaning"
_LONGEST_SHOWN = 200


class InvalidSetting(MancalaError):
    """A setting that does not exist, or whose value is of the wrong type or out of range."""


@dataclass(frozen=True)
class Meaning:
    """Description of a setting in one line, and its range: `low` to `high`, more than `above`, even."""

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
    """A setting: its dotted name, type, default (in an instance, its value) and description."""

    name: str
    kind: Any
    default: Any
    meaning: Meaning

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of its values, such as (int, NoneType)."""
        return get_args(self.kind) if get_origin(self.kind) in (Union, types.UnionType) else (self.kind,)

    @property
    def valid_values(self) -> str:
        """The valid values in words, such as "a whole number, at least 1, or null"."""
        words = {str: "text", type(None): "null", dict: "a mapping such as {row_width: 5}"}
        said = []
        for kind in self.kinds:
            if kind in (int, float):
                number = "a finite number" if kind is float else "a whole number"
                number = "an even whole number" if self.meaning.is_even else number
                said.append(", ".join(filter(None, (number, self.meaning.range_in_words))))
            elif get_origin(kind) is Literal:
                said.append(("one of " if kind is self.kind else "") + ", ".join(get_args(kind)))
            elif get_origin(kind) is list:
                said.append("a list such as [random, greedy]")
            else:
                said.append(words.get(kind, f"a {getattr(kind, '__name__', kind)}"))
        return ", or ".join(said)

    @property
    def description(self) -> str:
        """Meaning and valid values in one line."""
        if str in self.kinds:
            return self.meaning.text
        return f"{self.meaning.text}; {self.valid_values.removesuffix(', or null')}"


def setting(text: str, default: Any = MISSING, **limits: Any) -> Any:
    """Return a dataclass field for a setting; text and limits are those of :class:`Meaning`."""
    metadata = {_MEANING: Meaning(text, **limits)}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def settings_of(settings: Any, prefix: str = "") -> Iterator[Setting]:
    """Yield the settings of an instance, or of a dataclass with its defaults, including those in groups."""
    instance = settings() if isinstance(settings, type) else settings
    hints = get_type_hints(type(instance))
    for each in fields(instance):
        name, value = prefix + each.name, getattr(instance, each.name)
        if is_dataclass(value):
            yield from settings_of(value, f"{name}.")
        else:
            yield Setting(name, hints[each.name], value, each.metadata[_MEANING])


def build(kind: type[_Settings], values: Mapping[str, Any]) -> _Settings:
    """Build a dataclass of settings from values by dotted name; missing settings take their defaults.

    Raise InvalidSetting if a name is unknown, or a value is of the wrong type or out of range.
    """
    defaults: Any = kind()
    known = {each.name: each for each in settings_of(defaults)}
    groups: dict[str, dict[str, Any]] = {"": {}}
    for name, value in values.items():
        if name not in known:
            raise InvalidSetting(f"unknown setting {name}{did_you_mean(name, known)}")
        group, _, field_name = name.rpartition(".")
        groups.setdefault(group, {})[field_name] = value_of(known[name], value)
    changes = groups.pop("")
    for group, changed in groups.items():
        changes[group] = dataclasses.replace(getattr(defaults, group), **changed)
    return dataclasses.replace(defaults, **changes)


def check(settings: Any) -> None:
    """Raise InvalidSetting if a value of a dataclass of settings is of the wrong type or out of range."""
    for each in settings_of(settings):
        value_of(each, each.default)


def value_of(setting: Setting, value: Any) -> Any:
    """Return a value converted to its setting's type, such as an int to a float.

    If it is of the wrong type or out of range, raise InvalidSetting, which says what is valid.
    """
    for kind in setting.kinds:
        if _is_of(kind, value) and (kind not in (int, float) or setting.meaning.allows(value)):
            return float(value) if kind is float else list(value) if get_origin(kind) is list else value
    shown = "null" if value is None else in_short(value, _LONGEST_SHOWN)
    raise InvalidSetting(f"{setting.name} must be {setting.valid_values}, not {shown}")


def _is_of(kind: Any, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, int | float) and abs(value) <= sys.float_info.max
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is list:
        return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return isinstance(value, kind)


def from_text(setting: Setting, text: str) -> Any:
    """Parse a value from a command line or file; return the text if it does not fit the setting's type."""
    kinds = setting.kinds
    if text == "null" and type(None) in kinds:
        return None
    has_leading_zero = re.match(r"[-+]?0\d", text)  # some programs read 010 as 8
    for kind in (int, float):
        if kind in kinds and not has_leading_zero:
            with suppress(ValueError):
                return number_of(text, kind)
    if any(get_origin(kind) is list for kind in kinds) or (dict in kinds and text.startswith("{")):
        import yaml

        from mancala_env.rulesets import plain_yaml

        with suppress(yaml.YAMLError):
            return plain_yaml.read(text)
    return text


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested plain data to values by dotted name; empty groups are dropped."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def in_yaml(value: Any) -> str:
    """Return a value as YAML in one line."""
    import yaml

    return yaml.safe_dump(value, default_flow_style=True, width=10_000).partition("\n")[0]
