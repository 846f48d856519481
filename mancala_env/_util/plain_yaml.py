"""YAML as files of settings and words of a command line hold it: plain data that is as large as its text."""

import re
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

_MOST_DIGITS = 40
# YAML 1.1 reads 1:30 as 90, and 010 as 8.
_NO_NUMBER = re.compile(r".*:|[-+]?0_*[0-9]")


def read(text: str) -> Any:
    """Return what a text holds.

    Raises:
        yaml.YAMLError: It does not parse, or something in it is not read: see :class:`_Loader`.
        ValueError: A day that is none.
    """
    return yaml.load(text, _Loader)


class _Loader(yaml.SafeLoader):
    """Reads no aliases, nothing twice, no endless numbers, and as text what is a number in YAML 1.1 alone."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse a name that stands for what was written elsewhere."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise ComposerError(None, None, "aliases are not read; write the value out", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Refuse what is set twice: of two groups of a name the first would be lost."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise ConstructorError(None, None, f"{key.value} stands there twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _whole(loader: _Loader, node: Any) -> int | str:
    if len(node.value) > _MOST_DIGITS:
        raise ConstructorError(None, None, "a number of too many digits", node.start_mark)
    return node.value if _NO_NUMBER.match(node.value) else loader.construct_yaml_int(node)


def _fraction(loader: _Loader, node: Any) -> float | str:
    return node.value if ":" in node.value else loader.construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _whole)
_Loader.add_constructor("tag:yaml.org,2002:float", _fraction)
