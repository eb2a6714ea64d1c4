"""Data: the bases of classes with fields, which say how an object is compared, hashed and shown.

    class Entry(Data):
        key: str
        tags: tuple[str, ...] = ()

An empty `{}`, `[]` or `set()` as a default is made anew for each object.

Law 1. Two `Data` objects never change and are equal if they are of one class with equal fields.
Law 2. An `Owner` is an object that changes and belongs to one place, so it is equal only to itself.
Law 3. A `Mutable` changes as well, is compared by its fields, and is no key.
Law 4. Fields that `beside` names are not part of the value: they do not count in a comparison or a hash, have
       no bytes, and are not shown.

msgspec makes these classes in C (docs/decisions/001-dependencies.md says what that is worth).
"""

from functools import cache
from typing import Any, ClassVar, Final, TypeGuard, dataclass_transform

import msgspec
from msgspec import structs
from msgspec.structs import FieldInfo

SET_LATER: Final[Any] = msgspec.UNSET  # the default of a field that `__post_init__` sets


class Fields:
    """Base of all three."""

    __slots__ = ()
    beside: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # of Generic, where a class has a type parameter
        if cls.beside:  # in place of the methods in C, which know nothing of it
            cls.__repr__ = show_value_alone  # type: ignore[method-assign]
            if not issubclass(cls, Owner):
                cls.__eq__ = compare_values_alone  # type: ignore[method-assign]
            if issubclass(cls, Data):
                cls.__hash__ = hash_value_alone  # type: ignore[method-assign]


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Data(Fields, msgspec.Struct, frozen=True):
    """Base of values."""


@dataclass_transform(field_specifiers=(msgspec.field,))
class Owner(Fields, msgspec.Struct, eq=False):
    """Base of what changes and belongs to one place."""

    __hash__ = object.__hash__


@dataclass_transform(field_specifiers=(msgspec.field,))
class Mutable(Fields, msgspec.Struct):
    """Base of what changes and is compared by its fields."""

    __hash__ = None  # type: ignore[assignment]  # what changes is no key


def show_value_alone(self: Any) -> str:
    fields = (f"{name}={getattr(self, name)!r}" for name in list_compared(self.__class__))
    return f"{self.__class__.__name__}({', '.join(fields)})"


def compare_values_alone(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in list_compared(self.__class__))


def hash_value_alone(self: Any) -> int:
    return hash((self.__class__, *(getattr(self, name) for name in list_compared(self.__class__))))


@cache
def list_fields(cls: Any) -> tuple[FieldInfo, ...]:
    """Return the fields of a class with their types and defaults, found once."""
    return structs.fields(cls)


def types_of(cls: Any) -> dict[str, Any]:
    """Return the type of each field as it is written, which takes a tenth of the time of `list_fields`."""
    written = dict[str, Any]()
    for base in reversed(cls.__mro__):
        written |= getattr(base, "__annotations__", {})
    return {name: written[name] for name in cls.__struct_fields__}


def list_compared(cls: Any) -> tuple[str, ...]:
    """Return the names of the fields that are part of the value, in order."""
    return (
        cls.__struct_fields__
        if not cls.beside
        else tuple(name for name in cls.__struct_fields__ if name not in cls.beside)
    )


def is_struct(kind: Any) -> TypeGuard[type[msgspec.Struct]]:
    """Check whether this is a class with fields."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
