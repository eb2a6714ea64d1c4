"""Values as a tree of names, to be shown, searched by a path, and compared.

    memory.a.tiers.working.entries.k    the entry with key k in the memory of agent a
    storage.rows.u1/a1/entity/fct_...   a row
    oracle.agents.a.working.twins.0     the judge's model of the working tier

Law 1. A tree is a copy: it does not change when the world continues.
Law 2. Private fields, derived fields and code are no state, so the tree leaves them out.
Law 3. A tree is bounded in depth and in size; it says which values are left out.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from umi_core.data import Data, Owner, is_struct, list_compared
from umi_core.rows import Address
from umi_core.values import Scope
from umi_sim.kernel.literals import literal
from umi_sim.kernel.wording import cut, escape_text

DEPTH_MAX: Final = 14
NODE_COUNT_MAX: Final = 200_000
TEXT_CHARS_MAX: Final = 60
SCALARS: Final = (type(None), bool, int, str, bytes)
MISSING: Final = "absent"

Leaf: TypeAlias = Any
"""None, a bool, a whole number, a text, bytes, or a tuple of these."""


class Branch(Data):
    """A value with parts: the name of its class, and its parts by name."""

    kind: str
    parts: Mapping[str, "Tree"]


Tree: TypeAlias = Branch | Leaf


class TreeChange(Data):
    """One path at which two trees differ, with both values; `MISSING` where a tree has none."""

    path: str
    old: str
    new: str

    def __str__(self) -> str:
        path = f'{self.path}""' if self.path.endswith(".") else self.path  # of an empty key
        return f"{escape_text(path)} {self.old} -> {self.new}"


class NoSuchPath(ValueError):
    """No value has this path; the message gives the missing part and the names that exist."""


# Finding and copying.


def tree_at(value: object, path: str = "") -> Tree:
    """Copy the value at a path below a value; the empty path copies all of it. Raises NoSuchPath."""
    return Grower().tree(find_value(value, path), 0)


def find_value(value: object, path: str) -> object:
    """Return the value at a path below a value. Raises NoSuchPath."""
    rest = path
    while rest:
        parts = dict(parts_of(value))
        fitting = [name for name in parts if name and rest_after(name, rest) is not None]
        if not fitting:
            known = ", ".join(list(parts)[:8]) or "nothing"
            raise NoSuchPath(escape_text(f"{path}: no {cut(rest, TEXT_CHARS_MAX)} here, only {cut(known)}"))
        name = max(fitting, key=len)  # a name may contain dots
        value, rest = parts[name], rest_after(name, rest) or ""
    return value


def rest_after(name: str, path: str) -> str | None:
    """Return the path after a name, plain or escaped as shown; None if the path does not begin with it."""
    for written in (name, escape_text(name)):
        if path == written:
            return ""
        if path.startswith(f"{written}."):
            return path[len(written) + 1 :]
    return None


class Grower(Owner):
    """A builder of trees, which counts their nodes."""

    node_count: int = 0

    def tree(self, value: object, depth: int) -> Tree:
        self.node_count += 1
        if isinstance(value, Enum):
            return value.name
        if isinstance(value, SCALARS):
            return value
        if isinstance(value, Scope | Address):
            return name_of(value)
        if isinstance(value, tuple) and all(isinstance(part, SCALARS) for part in value):
            return value
        if depth >= DEPTH_MAX or self.node_count >= NODE_COUNT_MAX:
            return f"{type(value).__name__} left out"
        parts = {name: self.tree(part, depth + 1) for name, part in parts_of(value)}
        return Branch("dict" if isinstance(value, Mapping) else type(value).__name__, parts)


def parts_of(value: object) -> Iterator[tuple[str, object]]:
    """Yield the parts of any value, in the same order in every process; a scalar has none."""
    if isinstance(value, Mapping):
        names = [name_of(key) for key in value]
        counts = Counter(names)  # keys with the same name get a number
        unlike = [f"{name}#{at}" if counts[name] > 1 else name for at, name in enumerate(names)]
        yield from zip(unlike, value.values(), strict=True)
    elif isinstance(value, list | tuple | deque):
        yield from ((str(number), inner) for number, inner in enumerate(value))
    elif isinstance(value, set | frozenset):
        yield from ((name, True) for name in sorted(map(name_of, value)))
    elif is_struct(type(value)) and not isinstance(value, Scope | Address):
        fields = list_compared(type(value))
        yield from shown_parts((name, getattr(value, name, None)) for name in fields)
    else:
        yield from shown_parts(iter(getattr(value, "__dict__", {}).items()))


def shown_parts(parts: Iterator[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    return ((name, value) for name, value in parts if not name.startswith("_") and not callable(value))


def name_of(key: object) -> str:
    """Return a key as one part of a path."""
    match key:
        case str():
            return key
        case Scope(user=user, agent=agent):
            return f"{user}/{agent}"
        case Address(scope=scope, kind=kind, id=id_):
            return f"{name_of(scope)}/{kind}/{id_}"
        case tuple():
            return ",".join(map(name_of, key))
    return literal(key) if isinstance(key, SCALARS) else type(key).__name__


# Showing.


def describe_tree(tree: Tree, chars_max: int = TEXT_CHARS_MAX) -> str:
    """Return a tree in a few words."""
    if not isinstance(tree, Branch):
        return escape_text(cut(literal(tree), chars_max))
    if tree.kind in ("dict", "list", "deque", "tuple", "set"):
        return f"{len(tree.parts)} in a {tree.kind}" if tree.parts else f"empty {tree.kind}"
    plain = (f"{name}={literal(part)}" for name, part in tree.parts.items() if not isinstance(part, Branch))
    return escape_text(cut(f"{tree.kind}({', '.join(plain)})", chars_max))


# Comparing.


def changes(old: Tree, new: Tree, path: str = "") -> Iterator[TreeChange]:
    """Yield the differences of two trees, in the order of `old`; a part added or removed is one change."""
    if isinstance(old, Branch) and isinstance(new, Branch) and old.kind == new.kind:
        for name in dict.fromkeys((*old.parts, *new.parts)):
            below = f"{path}.{name}" if path else name
            if name not in old.parts:
                yield TreeChange(below, MISSING, describe_tree(new.parts[name]))
            elif name not in new.parts:
                yield TreeChange(below, describe_tree(old.parts[name]), MISSING)
            else:
                yield from changes(old.parts[name], new.parts[name], below)
    elif not is_same(old, new):
        yield TreeChange(path, *apart(old, new))


def is_same(old: Tree, new: Tree) -> bool:
    return type(old) is type(new) and bool(old == new)


def apart(old: Tree, new: Tree) -> tuple[str, str]:
    """Describe both trees briefly, or at greater length if the brief descriptions are equal."""
    short = describe_tree(old), describe_tree(new)
    long = describe_tree(old, 4 * TEXT_CHARS_MAX), describe_tree(new, 4 * TEXT_CHARS_MAX)
    return short if short[0] != short[1] else long
