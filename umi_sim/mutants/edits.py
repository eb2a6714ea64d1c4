"""Edits: replace text of umi_core, and find what that changes in modules that are imported already.

Law 1. The old text must occur in the file exactly once; else nothing is planted.
Law 2. Both texts are compared name by name, so a statement that only moved has not changed.
Law 3. A change that is impossible from outside is refused with a reason. So no bug is planted in part.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import CodeType

from umi_core.data import Data
from umi_sim.kernel import folders


class CannotPlant(Exception):
    """The text that a bug replaces does not exist any more, or cannot be changed from outside."""


class TextEdit(Data):
    """An edit that replaces `old` by `new` in `file`, such as umi_core/text.py."""

    file: str
    old: str
    new: str


class ModuleChange(Data):
    """The changes of one module: new bodies of functions by qualified name, and statements by bound name."""

    module: str
    bodies: Mapping[str, CodeType]
    values: Mapping[str, CodeType]


class SourceStatement(Data):
    """A statement of a module or class, with its text. `members`: the statements of a class, by name."""

    node: ast.stmt
    text: str
    members: Mapping[str, "SourceStatement"]


Parts = Mapping[str, SourceStatement]


@cache
def changes(edits: tuple[TextEdit, ...]) -> tuple[ModuleChange, ...]:
    """Return the changes that these edits make, one for each file, compiled. Raises CannotPlant."""
    files = dict.fromkeys(edit.file for edit in edits)
    return tuple(change(file, [edit for edit in edits if edit.file == file]) for file in files)


def change(file: str, edits: Sequence[TextEdit]) -> ModuleChange:
    if not file.startswith("umi_core/"):
        raise CannotPlant(f"{file} is no file of umi_core")
    before = source(file)
    known, path = parts_of(before, file), str(folders.PROJECT / file)
    bodies: dict[str, CodeType] = {}
    values: dict[str, CodeType] = {}
    for name, part in list_changed(known, parts_of(apply_edits(before, edits), file), file):
        code = compile(ast.Module([part.node], []), path, "exec", dont_inherit=True)
        # Functions keep their identity and get a new body; other statements are executed again.
        if name in known and isinstance(part.node, ast.FunctionDef | ast.ClassDef):
            codes = codes_in(code)
            bodies |= {it: codes[it] for it in list_functions(name, known[name], part, file)}
        else:
            values[name] = code
    if not bodies and not values:
        raise CannotPlant(f"{file}: the new text changes nothing")
    return ModuleChange(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."), bodies, values)


@cache
def source(file: str) -> str:
    try:
        return (folders.PROJECT / file).read_text("utf-8")
    except OSError as error:
        raise CannotPlant(f"{file}: cannot be read: {error.strerror}") from None


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return the text with all edits. Raises CannotPlant if an old text does not occur exactly once."""
    edited = text
    for edit in edits:
        # An empty text would occur everywhere.
        count = edited.count(edit.old) if edit.old else 0
        if count != 1:
            raise CannotPlant(f"{edit.file}: the old text is there {count} times, not once:\n{edit.old}")
        edited = edited.replace(edit.old, edit.new)
    return edited


# Comparing two texts, name by name.


def parts_of(text: str, file: str) -> Parts:
    try:
        return split_parts(ast.parse(text).body, text.split("\n"))
    except SyntaxError as error:
        raise CannotPlant(f"{file}: the new text is no Python: {error.msg}, line {error.lineno}") from None


def split_parts(body: Iterable[ast.stmt], lines: Sequence[str]) -> Parts:
    """Return statements by the name that they bind; those that bind none by their text."""
    found: dict[str, SourceStatement] = {}
    for node in body:
        # Decorators come before the line of `def`, but belong to the statement.
        first = min([node.lineno, *(it.lineno for it in getattr(node, "decorator_list", ()))])
        members = split_parts(node.body, lines) if isinstance(node, ast.ClassDef) else {}
        part = SourceStatement(node, "\n".join(lines[first - 1 : node.end_lineno]), members)
        name = name_of(node) or part.text
        # Overloads share a name: the second gets the key `another name`, so that neither hides the other.
        found[f"another {name}" if name in found else name] = part
    return found


def name_of(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case ast.ImportFrom(names=[ast.alias(name=name, asname=None)]):
            return name
    return ""


def list_changed(before: Parts, after: Parts, file: str) -> list[tuple[str, SourceStatement]]:
    """List the new or changed parts.

    Raises CannotPlant if a part of `before` is missing: code that ran at import cannot be undone.
    """
    for name in before:
        if name not in after:
            raise CannotPlant(f"{file}: takes away or changes what was done when it was imported: {name}")
    return [(name, it) for name, it in after.items() if name not in before or before[name].text != it.text]


def list_functions(name: str, old: SourceStatement, new: SourceStatement, file: str) -> list[str]:
    """List the functions with changed bodies: this one, or methods of this class. Raises CannotPlant."""
    if describe_head(old.node) != describe_head(new.node):
        raise CannotPlant(f"{file}: changes what stands around {name}; only what it does can change")
    if not isinstance(new.node, ast.ClassDef):
        return [name]
    found = []
    for own, part in list_changed(old.members, new.members, file):
        if own not in old.members or not isinstance(part.node, ast.FunctionDef):
            raise CannotPlant(f"{file}: changes {name}.{own}; of a class only what its methods do can change")
        found += list_functions(f"{name}.{own}", old.members[own], part, file)
    return found


def describe_head(node: ast.stmt) -> list[str]:
    """Return all that is evaluated when a function or class is defined: defaults, decorators, bases."""
    of_class = (*node.bases, *node.keywords) if isinstance(node, ast.ClassDef) else ()
    args = (node.args,) if isinstance(node, ast.FunctionDef) else ()
    return [type(node).__name__, *map(ast.dump, (*args, *of_class, *getattr(node, "decorator_list", ())))]


def codes_in(code: CodeType) -> dict[str, CodeType]:
    """Return all code objects nested in `code`, by qualified name."""
    found: dict[str, CodeType] = {}
    for within in code.co_consts:
        if isinstance(within, CodeType):
            found |= {within.co_qualname: within, **codes_in(within)}
    return found
