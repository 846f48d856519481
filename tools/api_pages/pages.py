"""The pages of the API reference."""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from tools.api_pages import docstrings, sources
from tools.api_pages.chapters import CHAPTERS
from tools.api_pages.sources import ROOT, Definition

FOLDER = ROOT / "docs" / "api"
COMMAND = "python -m tools.api_pages"


class Entry(NamedTuple):
    """A public name: its module, its definition, and its heading on its page."""

    module: str
    definition: Definition
    heading: str

    def heading_of(self, member: Definition) -> str:
        """Return the heading of a method."""
        return f"{self.heading}.{member.name.partition('.')[2]}"


def all_pages() -> dict[str, str]:
    """Return the text of every page of the reference, by the name of its file."""
    return Reference().all_pages()


def slug(heading: str) -> str:
    """Return the anchor of a heading on GitHub and on the site."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(headings: Iterable[str]) -> list[str]:
    """Return the anchors of a page's headings; those that are repeated get a number."""
    taken = Counter[str]()
    return [_next_anchor(heading, taken) for heading in headings]


def _next_anchor(heading: str, taken: Counter[str]) -> str:
    anchor = slug(heading)
    taken[anchor] += 1
    return anchor + (f"-{taken[anchor] - 1}" if taken[anchor] > 1 else "")


def _address(page: str, heading: str, taken: Counter[str]) -> str:
    """Return the address of a page's next heading."""
    return f"{page}.md#{_next_anchor(heading, taken)}"


class Reference:
    """All entries, and the links between them."""

    def __init__(self) -> None:
        """Find every public name.

        Raises:
            LookupError: If a name of the chapters does not exist.
        """
        self.entries: dict[str, list[Entry]] = {}
        for page, chapter in CHAPTERS.items():
            found = [
                (module, sources.find(module, name))
                for module, names in chapter.modules.items()
                for name in names or sources.exported(module)
            ]
            count = Counter(definition.name for _, definition in found)
            self.entries[page] = [
                Entry(
                    module, one, one.name if count[one.name] == 1 else f"{module.split('.')[-1]}.{one.name}"
                )
                for module, one in found
                if not isinstance(one.node, ast.Module)
            ]

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Pages and anchors, by full name, by name in the defining module, and by unique short name."""
        full: dict[str, str] = {}
        short: dict[str, set[str]] = {}
        for page, chapter in CHAPTERS.items():
            taken = Counter([slug(chapter.title)])
            for module in chapter.modules:
                full[module] = _address(page, module, taken)
                for entry in self.entries[page]:
                    if entry.module == module:
                        for name, address in self._addresses(page, entry, taken).items():
                            own = f"{entry.definition.module}.{name}"
                            full |= {f"{module}.{name}": address, own: address}
                            short.setdefault(name, set()).add(address)
        unique = {name: one.pop() for name, one in short.items() if len(one) == 1}
        return unique | full

    @staticmethod
    def _addresses(page: str, entry: Entry, taken: Counter[str]) -> dict[str, str]:
        """Return the addresses of an entry, its methods and its properties, by name."""
        own = _address(page, entry.heading, taken)
        found = {entry.definition.name: own}
        if isinstance(entry.definition.node, ast.ClassDef):
            for member in sources.members(entry.definition):
                if sources.is_property(member.node):
                    found[member.name] = own
                elif member.doc:
                    found[member.name] = _address(page, entry.heading_of(member), taken)
        return found

    def _link(self, page: str, entry: Entry | None = None) -> docstrings.Link:
        """Return the links of a docstring on a page."""

        def link(name: str) -> str | None:
            scopes = [""]
            if entry is not None:
                module, own = entry.definition.module, entry.definition.name
                scopes = [f"{module}.{own}.", f"{entry.module}.", f"{module}.", ""]
            for scope in scopes:
                address = self.addresses.get(scope + name)
                if address:
                    return address.removeprefix(f"{page}.md")
            return None

        return link

    def _address_of(self, entry: Entry) -> str:
        return self.addresses[f"{entry.module}.{entry.definition.name}"]

    def all_pages(self) -> dict[str, str]:
        """Return the text of every page, by the name of its file."""
        pages = {f"{page}.md": self._page(page) for page in CHAPTERS}
        return {"index.md": self._index()} | pages

    def _index(self) -> str:
        lines = [
            "# Python API",
            "Every public name, from its docstring. Other names may change in any release. "
            "Symbols in shapes: W holes in a row, H = 2W holes, B games, A actions, F and G features.",
            "| page | names |\n|---|---|",
        ]
        for page, entries in self.entries.items():
            names = ", ".join(f"[`{entry.heading}`]({self._address_of(entry)})" for entry in entries)
            lines[-1] += f"\n| [{CHAPTERS[page].title}]({page}.md) | {names} |"
        return "\n\n".join([*lines, f"`{COMMAND}` writes these pages."]) + "\n"

    def _page(self, page: str) -> str:
        chapter = CHAPTERS[page]
        parts = [f"<!-- Generated by {COMMAND} -->", f"# {chapter.title}", chapter.about]
        for module in chapter.modules:
            entries = [entry for entry in self.entries[page] if entry.module == module]
            parts.append(f"## {module}")
            if not chapter.modules[module]:
                doc = ast.get_docstring(sources.tree(module)) or ""
                parts.append(docstrings.markdown(_without_modules(doc), self._link(page)))
            for entry in entries:
                parts += self._entry(page, entry)
        return "\n\n".join(part for part in parts if part) + "\n"

    def _entry(self, page: str, entry: Entry) -> list[str]:
        definition, link = entry.definition, self._link(page, entry)
        parts = [f"### {entry.heading}", _code(sources.signature(definition))]
        parts.append(_imported_from(entry))
        parts.append(docstrings.markdown(definition.doc, link))
        if isinstance(definition.node, ast.ClassDef):
            parts += self._class_parts(entry, link)
        return parts

    def _class_parts(self, entry: Entry, link: docstrings.Link) -> list[str]:
        definition, parts = entry.definition, list[str]()
        made = sources.constructor(definition)
        if made is not None and not _is_record(definition):
            parts.append(docstrings.markdown(made.doc, link, skips_summary=True))
        members = list(sources.members(definition))
        properties = [
            f"- `{name}`: {docstrings.paragraphs(text, link)}"
            for name, text in sources.class_variables(definition).items()
        ]
        for member in members:
            if sources.is_property(member.node) and member.doc:
                assert isinstance(member.node, sources.Function)
                kind = sources.annotation(member.module, member.node.returns)
                name = member.name.partition(".")[2]
                properties.append(f"- `{name}: {kind}`: {docstrings.paragraphs(member.doc, link)}")
        if properties:
            parts.append("**Properties**\n\n" + "\n".join(properties))
        named = [
            f"[`{base.name}`]({link(base.name)})" for base in sources.bases(definition) if link(base.name)
        ]
        if named:
            parts.append(f"Inherits from {', '.join(dict.fromkeys(named))}.")
        for member in members:
            if not sources.is_property(member.node) and member.doc:
                parts += [f"#### {entry.heading_of(member)}", _code(sources.signature(member))]
                parts.append(docstrings.markdown(member.doc, link))
        return parts


def _is_record(definition: Definition) -> bool:
    assert isinstance(definition.node, ast.ClassDef)
    return "dataclass" in sources.decorators(definition.node)


def _imported_from(entry: Entry) -> str:
    path = os.path.relpath(sources.file_of(entry.definition.module), FOLDER).replace(os.sep, "/")
    return f"`from {entry.module} import {entry.definition.name}` · [source]({path})"


def _code(text: str) -> str:
    return f"```py\n{text}\n```"


def _without_modules(doc: str) -> str:
    """Return a docstring without its table of modules, which is for contributors."""
    return re.sub(r"\n\| module \| content \|\n(?:\|.*(?:\n|$))+", "", doc)
