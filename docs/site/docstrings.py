"""A Sphinx extension for the docstrings of this package."""

import re
from itertools import groupby
from typing import Any

from sphinx.domains.python._object import PyObject

_HEADING = re.compile(r"^## (.+)$")
# "B." alone would be read as the second item of a list.
_LETTER = re.compile(r"^(\s*:\w+ \w+: )([A-Z]\.)")
_CODE = re.compile(r"`([^`]+)`")


def write_as_restructured_text(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Convert Markdown headings, Markdown tables and single letters to reStructuredText."""
    written: list[str] = []
    for is_table, group in groupby(lines, lambda line: line.startswith(("| ", "|---"))):
        if is_table:
            written += _table(list(group))
            continue
        for line in group:
            heading = _HEADING.match(line)
            written += ["", f".. rubric:: {heading[1]}", ""] if heading else [_LETTER.sub(r"\1\\\2", line)]
    lines[:] = written


def _table(lines: list[str]) -> list[str]:
    """Return the lines of a Markdown table, whose second line is a rule, as a list-table."""
    written = ["", ".. list-table::", "   :header-rows: 1", ""]
    for line in (lines[0], *lines[2:]):
        for n, cell in enumerate(line.strip().strip("|").split(" | ")):
            text = _CODE.sub(r"``\1``", cell.strip())
            written.append(f"   {' ' if n else '*'} - {text}")
    return [*written, ""]


def without_object(app: Any, name: str, thing: Any, options: Any, bases: list[Any]) -> None:
    """Remove the base class `object`."""
    bases[:] = [base for base in bases if base is not object]


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    # After napoleon, whose hook has the usual priority of 500.
    app.connect("autodoc-process-docstring", write_as_restructured_text, priority=600)
    app.connect("autodoc-process-bases", without_object)
    return {"parallel_read_safe": True}
