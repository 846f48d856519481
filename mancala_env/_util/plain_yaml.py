"""YAML of configurations, read by PyYAML's BaseLoader: every value is text, and its setting reads that.

So nothing depends on what YAML 1.1 makes of 1:30, 010, no or 2026-11-26, and a file names no Python objects.
Two things that PyYAML accepts are errors here: duplicate keys, because the first value would be lost, and
aliases, because a short file could become an endless one.
"""

from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError


def read(text: str) -> Any:
    """Return what a text holds: texts, lists and dictionaries; None where a value is missing.

    Raises:
        yaml.YAMLError: It is not YAML, or holds a duplicate key or an alias.
    """
    return yaml.load(text, _Loader)


class _Loader(yaml.BaseLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise ComposerError(None, None, "aliases are not read; write the value out", mark)
        return super().compose_node(parent, index)

    def construct_scalar(self, node: Any) -> Any:
        is_missing = node.value == "" and node.style is None
        return None if is_missing else super().construct_scalar(node)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for number, (key, _) in enumerate(node.value):
            if key.value in keys[:number]:
                raise ConstructorError(None, None, f"duplicate key {key.value}", key.start_mark)
        return super().construct_mapping(node, deep)
