"""Google-style docstrings as Markdown."""

import inspect
import re
from collections.abc import Callable, Iterator

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$")
_ITEM = re.compile(r"^([*\w][\w.*, /]*?)(?: \([^)]*\))?:\s+(.*)$", re.DOTALL)
_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data|exc):`~?([^`]+)`")
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_PAGE = re.compile(r"(?<![`(/\w])docs/([\w/]+\.md)")
_HEADINGS = {"Args": "Arguments"}

Link = Callable[[str], str | None]
"""Returns the address of a public name; None if it is not on a page."""


def markdown(doc: str, link: Link, *, skips_summary: bool = False) -> str:
    """Return a docstring as Markdown.

    Args:
        doc: The docstring.
        link: Returns the address of a name that the docstring mentions.
        skips_summary: Whether to leave out everything before the first section.
    """
    parts = []
    for name, lines in _sections(inspect.cleandoc(doc)):
        if not name:
            text = "" if skips_summary else _body(lines)
        elif name in ("Returns", "Yields"):
            text = f"**{name}**\n\n{_body(lines)}"
        else:
            items = "\n".join(_item(item) for item in _items(lines))
            text = f"**{_HEADINGS.get(name, name)}**\n\n{items}"
        if text:
            parts.append(_outside_code(text, lambda part: _inline(part, link)))
    return "\n\n".join(parts)


def items(doc: str, section: str) -> dict[str, str]:
    """Return the texts of a section's items by name, each on one line; empty if the section is missing."""
    lines = dict(_sections(inspect.cleandoc(doc))).get(section, [])
    found = (_ITEM.match(item) for item in _items(lines))
    return {item[1]: item[2] for item in found if item}


def paragraphs(doc: str, link: Link) -> str:
    """Return a docstring on one line, its sections too."""
    parts = []
    for name, lines in _sections(inspect.cleandoc(doc)):
        text = " ".join(" ".join(lines).split())
        parts.append(f"{name}: {text}" if name else text)
    return _inline(" ".join(part for part in parts if part), link)


def _sections(doc: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a docstring, the text before them as ""."""
    name, lines = "", list[str]()
    for line in doc.split("\n"):
        if found := _SECTION.match(line):
            yield name, lines
            name, lines = found[1], []
        elif name and line and not line.startswith(" "):
            yield name, lines
            name, lines = "", [line]
        else:
            lines.append(line)
    yield name, lines


def _items(lines: list[str]) -> list[str]:
    """Return the items of a section, each on one line."""
    items: list[str] = []
    start = re.compile(r"\s*- ")
    width = 0  # of the first column of a table between lines of "==="
    for line in inspect.cleandoc("\n" + "\n".join(lines)).split("\n"):
        text = line.strip()
        if line.startswith(" ") and text.startswith("==="):
            width = 0 if width else line.rindex(" ") + 1
        elif width and line[:width].strip():
            items[-1] += f"\n  - `{line[:width].strip()}`: {line[width:]}"
        elif start.match(line) and line.startswith(" ") and items:
            items[-1] += f"\n  {text}"
        elif line.startswith(" ") and items:
            items[-1] += f" {text}"
        elif line:
            items.append(line)
    return items


def _item(item: str) -> str:
    found = _ITEM.match(item)
    if not found:
        return f"- {item}"
    names = ", ".join(f"`{name}`" for name in found[1].split(", "))
    return f"- {names}: {found[2]}"


def _body(lines: list[str]) -> str:
    """Return the text of a docstring: headings, examples and literal blocks as Markdown."""
    written: list[str] = []
    fence = ""
    for line in inspect.cleandoc("\n" + "\n".join(lines)).split("\n"):
        if fence and (not line.startswith(fence) if fence.isspace() else not line):
            if not line and fence.isspace():
                written.append(line)
                continue
            written += ["```", ""]
            fence = ""
        if not fence and line.startswith(">>> "):
            written.append("```pycon")
            fence = ">>> "
        elif not fence and line.startswith("    ") and written and written[-1].endswith(":"):
            written += ["", "```text"]
            fence = "    "
        elif not fence and line.startswith("    ") and len(written) > 1 and written[-2].endswith("::"):
            written[-2] = written[-2][:-1]
            written.append("```text")
            fence = "    "
        elif not fence and line.startswith("## "):
            line = f"**{line[3:]}**\n"
        written.append(line.removeprefix("    ") if fence.isspace() else line)
    return "\n".join([*written, "```"] if fence else written).strip()


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change a text outside its fenced blocks."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if n % 2 else change(part) for n, part in enumerate(parts))


def _inline(text: str, link: Link) -> str:
    """Return text with roles and double backticks as Markdown, and public names as links."""

    def linked(name: str) -> str:
        address = link(name)
        shown = f"`{name.removeprefix('mancala_env.') if address else name}`"
        return f"[{shown}]({address})" if address else shown

    def role(found: re.Match[str]) -> str:
        return f"\0{found[1]}\0"

    def code(found: re.Match[str]) -> str:
        name = found[2]
        is_name = re.fullmatch(r"[A-Z]\w+(\.\w+)?|mancala_env(\.\w+)+", name)
        return linked(name) if is_name else f"`{name}`"

    text = _CODE.sub(code, _ROLE.sub(role, text))
    text = _PAGE.sub(r"[docs/\1](../\1)", text)
    return re.sub("\0(.+?)\0", lambda found: linked(found[1]), text)
