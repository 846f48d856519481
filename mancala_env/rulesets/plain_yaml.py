"""YAML files of settings and rule options, whose values are all read as text.

PyYAML's BaseLoader reads them. :mod:`mancala_env._util.settings` and :mod:`mancala_env.rulesets` parse the
texts. So YAML 1.1 does not reinterpret 1:30, 010, no or 2026-11-26, and a file cannot create Python objects.
Duplicate keys are errors, because PyYAML would drop the first value. Aliases are errors, because a short file
could expand to any size.
"""

from typing import Any

import yaml
from yaml import YAMLError as YAMLError
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError


def read(text: str) -> Any:
    """Parse YAML into texts, lists and dictionaries, or raise yaml.YAMLError; a missing value is None."""
    return yaml.load(text, _Loader)


class _Loader(yaml.BaseLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise ComposerError(None, None, "aliases are not supported; write the value out", mark)
        return super().compose_node(parent, index)

    def construct_scalar(self, node: Any) -> Any:
        is_missing = node.value == "" and node.style is None
        return None if is_missing else super().construct_scalar(node)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            keys = [key.value for key, _ in node.value]
            duplicate = next(key for key, _ in node.value if keys.count(key.value) > 1)
            raise ConstructorError(None, None, f"duplicate key {duplicate.value}", duplicate.start_mark)
        return mapping
