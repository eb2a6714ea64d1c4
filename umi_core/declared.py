"""Declarations: each request and each kind of row is one class; tables over all of them are checked.

A class that can be encoded has a `tag`, its permanent number in codec.py. A table that needs an entry for
each class of a kind is checked when its module is imported:

    ANSWERS = complete("answer", WORKING, {...}, "umi_core/tiers/working.py")
    Incomplete: Rename has no answer: add one in umi_core/tiers/working.py
"""

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Protocol, TypeVar

Base = TypeVar("Base")
Part = TypeVar("Part")


class Incomplete(Exception):
    """A declaration lacks a part; the message names the class, the part, and the file to add it to."""


class Tagged(Protocol):
    tag: int


def list_declared(namespace: Mapping[str, Any], base: type[Base]) -> tuple[type[Base], ...]:
    """Return the classes of a namespace that have this base and a tag, in order.

    Raises Incomplete for a class without a tag, unless other classes inherit from it.
    """
    found = [it for it in namespace.values() if isinstance(it, type) and issubclass(it, base)]
    for cls in found:
        if "tag" not in vars(cls) and not any(cls in other.__bases__ for other in found):
            raise Incomplete(
                f"{cls.__name__} has no tag: give it one that was never used, in {namespace['FILE']}"
            )
    return tuple(cls for cls in found if "tag" in vars(cls))


def list_tagged(modules: Iterable[ModuleType]) -> Iterator[type[Tagged]]:
    """Yield every class with a tag that these modules declare."""
    for module in modules:
        for cls in vars(module).values():
            if isinstance(cls, type) and cls.__module__ == module.__name__ and "tag" in vars(cls):
                yield cls


def complete(part: str, wanted: Iterable[type], parts: Mapping[type, Part], file: str) -> Mapping[type, Part]:
    """Return `parts`. Raises Incomplete unless it has exactly one part for each wanted class."""
    wanted = tuple(wanted)
    for cls in wanted:
        if cls not in parts:
            raise Incomplete(f"{cls.__name__} has no {part}: add one in {file}")
    for cls in parts:
        if cls not in wanted:
            raise Incomplete(f"{cls.__name__} is not declared, and {file} has its {part}: take it out")
    return parts
