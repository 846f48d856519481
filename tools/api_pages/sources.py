"""Definitions in the sources of the package, found by name and never imported."""

import ast
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tools.api_pages.chapters import ALIASES

ROOT = Path(__file__).resolve().parents[2]
LINE = 90  # longest signature on one line

Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = ast.ClassDef | Function | ast.Assign | ast.AnnAssign | ast.Module


class Definition(NamedTuple):
    """A definition: the module that has it, its name there, and its syntax tree."""

    module: str
    name: str
    node: Node

    @property
    def doc(self) -> str:
        """Its docstring; for a variable, the string below it."""
        if isinstance(self.node, ast.Assign | ast.AnnAssign):
            return _strings_below(tree(self.module).body).get(self.name, "")
        return ast.get_docstring(self.node) or ""


def file_of(module: str) -> Path:
    """Return the file of a module of the package.

    Raises:
        LookupError: If it does not exist.
    """
    path = ROOT.joinpath(*ALIASES.get(module, module).split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    raise LookupError(f"module {module} does not exist")


@cache
def tree(module: str) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(file_of(module).read_text(encoding="utf-8"))


@cache
def _text(module: str) -> str:
    return file_of(module).read_text(encoding="utf-8")


def exported(module: str) -> tuple[str, ...]:
    """Return the names of `__all__`; empty if it does not exist."""
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return tuple(ast.literal_eval(node.value))
    return ()


def find(module: str, name: str) -> Definition:
    """Return the definition of a name, through the imports of its module.

    Raises:
        LookupError: If the module neither defines nor imports the name.
    """
    top = tree(module)
    for node in top.body:
        if isinstance(node, ast.ClassDef | Function) and node.name == name:
            return Definition(module, name, node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in _assigned(node):
            return Definition(module, name, node)
    for node in ast.walk(top):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mancala_env"):
            for alias in node.names:
                if name == (alias.asname or alias.name) and node.module != module:
                    return find(str(node.module), alias.name)
    inner = f"{module}.{name}"
    try:
        return Definition(inner, inner, tree(inner))
    except LookupError:
        raise LookupError(f"{module} does not define {name}") from None


def _assigned(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _strings_below(body: list[ast.stmt]) -> dict[str, str]:
    """Return the strings that directly follow assignments, by the assigned name."""
    found = {}
    for node, below in pairwise(body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(below, ast.Expr):
            value = below.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found |= dict.fromkeys(_assigned(node), " ".join(value.value.split()))
    return found


def bases(definition: Definition) -> list[Definition]:
    """Return the base classes that are in the package, nearest first."""
    assert isinstance(definition.node, ast.ClassDef)
    found: list[Definition] = []
    for base in definition.node.bases:
        try:
            one = find(definition.module, ast.unparse(base).partition("[")[0])
        except LookupError:
            continue
        if isinstance(one.node, ast.ClassDef):
            found += [one, *bases(one)]
    return found


def members(definition: Definition) -> Iterator[Definition]:
    """Yield the methods and properties of a class, and those of its private bases, in order."""
    private = [base for base in bases(definition) if base.name.startswith("_")]
    seen: set[str] = set()
    for one in (definition, *private):
        assert isinstance(one.node, ast.ClassDef)
        for node in one.node.body:
            if isinstance(node, Function) and not node.name.startswith("_") and node.name not in seen:
                seen.add(node.name)
                yield Definition(one.module, f"{definition.name}.{node.name}", node)


def class_variables(definition: Definition) -> dict[str, str]:
    """Return the class variables that have a string below them, by name."""
    assert isinstance(definition.node, ast.ClassDef)
    return {
        name: text for name, text in _strings_below(definition.node.body).items() if not name.startswith("_")
    }


def constructor(definition: Definition) -> Definition | None:
    """Return `__init__` of a class or of its nearest base in the package that has one."""
    for one in (definition, *bases(definition)):
        assert isinstance(one.node, ast.ClassDef)
        for node in one.node.body:
            if isinstance(node, Function) and node.name == "__init__":
                return Definition(one.module, "__init__", node)
    return None


def is_property(node: Node) -> bool:
    """Return whether a method is read like an attribute."""
    return isinstance(node, Function) and any(name.endswith("property") for name in decorators(node))


def decorators(node: ast.ClassDef | Function) -> list[str]:
    """Return the names of the decorators."""
    return [ast.unparse(one).partition("(")[0] for one in node.decorator_list]


def written(module: str, node: ast.expr | None) -> str:
    """Return an expression as the source has it, on one line."""
    if node is None:
        return ""
    return " ".join((ast.get_source_segment(_text(module), node) or "").split())


def annotation(module: str, node: ast.expr | None) -> str:
    """Return a type as the source has it, without quotes around forward references."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return written(module, node)


def signature(definition: Definition) -> str:
    """Return the signature of a class or function, or the assignment of a variable."""
    node, module = definition.node, definition.module
    if isinstance(node, ast.ClassDef):
        return _class_signature(definition)
    if isinstance(node, Function):
        kind = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
        is_static = "staticmethod" in decorators(node)
        is_bound = "." in definition.name and not is_static
        returns = annotation(module, node.returns)
        shown = _call(kind + definition.name, _parameters(module, node.args, is_bound))
        return f"{shown} -> {returns}" if returns else shown
    assert isinstance(node, ast.Assign | ast.AnnAssign)
    value = written(module, node.value)
    return f"{definition.name} = {value}" if len(value) <= LINE else definition.name


def _class_signature(definition: Definition) -> str:
    node = definition.node
    assert isinstance(node, ast.ClassDef)
    named = [ast.unparse(base).partition("[")[0] for base in node.bases]
    own = [f"class {definition.name}"]
    # A field that a subclass declares again keeps its place, as in a dataclass.
    declared = (field for one in (*reversed(bases(definition)), definition) for field in _fields(one))
    fields = list({field.partition(":")[0]: field for field in declared}.values())
    if "TypedDict" in named or any(base.name.endswith(("Options", "Settings")) for base in bases(definition)):
        return _call(own[0], fields) if fields else own[0]
    made = constructor(definition)
    if "NamedTuple" in named or "dataclass" in decorators(node):
        is_keyword = any("kw_only=True" in ast.unparse(one) for one in node.decorator_list)
        return _call(own[0], (["*"] if is_keyword else []) + fields)
    if made is None:
        return f"{own[0]}({', '.join(named)})" if named else own[0]
    assert isinstance(made.node, Function)
    return _call(own[0], _parameters(made.module, made.node.args, is_bound=True))


def _fields(definition: Definition) -> list[str]:
    assert isinstance(definition.node, ast.ClassDef)
    found = []
    for node in definition.node.body:
        if not isinstance(node, ast.AnnAssign) or "ClassVar" in ast.unparse(node.annotation):
            continue
        name, module = ast.unparse(node.target), definition.module
        value = written(module, node.value)
        if name.startswith("_") or "init=False" in value:
            continue
        if isinstance(node.value, ast.Call):
            value = _default(module, node.value)
        kind = annotation(module, node.annotation)
        found.append(f"{name}: {kind}" + (f" = {value}" if value else ""))
    return found


def _default(module: str, call: ast.Call) -> str:
    """Return the default of a field that a call declares: of `setting`, its second argument."""
    name = ast.unparse(call.func)
    if name == "setting":
        return written(module, call.args[1]) if len(call.args) > 1 else "..."
    return "..." if name.endswith("field") else written(module, call)


def _parameters(module: str, arguments: ast.arguments, is_bound: bool) -> list[str]:
    def one(argument: ast.arg, default: ast.expr | None, stars: str = "") -> str:
        kind = annotation(module, argument.annotation)
        text = stars + argument.arg + (f": {kind}" if kind else "")
        if default is None:
            return text
        return f"{text}{' = ' if kind else '='}{written(module, default)}"

    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + [*arguments.defaults]
    found = [one(argument, default) for argument, default in zip(plain, defaults, strict=True)]
    if arguments.posonlyargs:
        found.insert(len(arguments.posonlyargs), "/")
    found = found[1:] if is_bound else found
    if arguments.vararg:
        found.append(one(arguments.vararg, None, "*"))
    elif arguments.kwonlyargs:
        found.append("*")
    found += [one(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        found.append(one(arguments.kwarg, None, "**"))
    return found


def _call(name: str, parameters: list[str]) -> str:
    short = f"{name}({', '.join(parameters)})"
    if len(short) <= LINE:
        return short
    return "\n".join([f"{name}(", *(f"    {one}," for one in parameters), ")"])
