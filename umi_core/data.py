"""Data: base classes for classes with fields; they define comparison, hash and `repr`.

    class Page(Data):
        title: str
        tags: tuple[str, ...] = ()

Each object gets its own copy of a default `{}`, `[]` or `set()`.

Law 1. A `Data` object never changes. Two of them are equal if they have the same class and equal fields.
Law 2. An `Owner` changes and belongs to one place, so it is equal only to itself.
Law 3. A `Mutable` changes, is compared by its fields, and is not hashable.
Law 4. Fields named in `uncompared` are not part of the value: comparison, hash, encoding and `repr` ignore
       them.

msgspec implements these classes in C (docs/decisions/001-dependencies.md has the measurements).
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Final, TypeGuard, dataclass_transform

import msgspec
from msgspec import structs
from msgspec.structs import FieldInfo

SET_LATER: Final[Any] = msgspec.UNSET  # the default of a field that `__post_init__` sets


# These replace the methods of msgspec in classes with `uncompared` fields.


def show_value_alone(self: Any) -> str:
    fields = (f"{name}={getattr(self, name)!r}" for name in list_compared(self.__class__))
    return f"{self.__class__.__name__}({', '.join(fields)})"


def compare_values_alone(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in list_compared(self.__class__))


def hash_value_alone(self: Any) -> int:
    return hash((self.__class__, *(getattr(self, name) for name in list_compared(self.__class__))))


Methods = Mapping[str, Callable[..., Any]]
SHOWN_ALONE: Final[Methods] = {"__repr__": show_value_alone}
COMPARED_ALONE: Final[Methods] = {**SHOWN_ALONE, "__eq__": compare_values_alone}
HASHED_ALONE: Final[Methods] = {**COMPARED_ALONE, "__hash__": hash_value_alone}


class Fields:
    """Base of all three. `value_methods`: methods that a class with `uncompared` fields gets."""

    __slots__ = ()
    uncompared: ClassVar[tuple[str, ...]] = ()
    value_methods: ClassVar[Methods] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # that of Generic, if the class has a type parameter
        for name, method in cls.value_methods.items() if cls.uncompared else ():
            setattr(cls, name, method)


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Data(Fields, msgspec.Struct, frozen=True):
    """Base of values."""

    value_methods = HASHED_ALONE


@dataclass_transform(field_specifiers=(msgspec.field,))
class Owner(Fields, msgspec.Struct, eq=False):
    """Base of objects that change and belong to one place."""

    value_methods = SHOWN_ALONE
    __hash__ = object.__hash__


@dataclass_transform(field_specifiers=(msgspec.field,))
class Mutable(Fields, msgspec.Struct):
    """Base of objects that change and are compared by their fields."""

    value_methods = COMPARED_ALONE
    __hash__ = None  # type: ignore[assignment]  # a mutable object must not be a key


@cache
def list_fields(cls: Any) -> tuple[FieldInfo, ...]:
    """Return the fields of a class with their types and defaults (cached)."""
    return structs.fields(cls)


def types_of(cls: Any) -> dict[str, Any]:
    """Return the annotation of each field, in a tenth of the time of `list_fields`."""
    written = dict[str, Any]()
    for base in reversed(cls.__mro__):
        written |= getattr(base, "__annotations__", {})
    return {name: written[name] for name in cls.__struct_fields__}


def list_compared(cls: Any) -> tuple[str, ...]:
    """Return the names of the fields that are part of the value, in order."""
    return (
        cls.__struct_fields__
        if not cls.uncompared
        else tuple(name for name in cls.__struct_fields__ if name not in cls.uncompared)
    )


def is_struct(kind: Any) -> TypeGuard[type[msgspec.Struct]]:
    """Check whether the type is a class with fields."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
