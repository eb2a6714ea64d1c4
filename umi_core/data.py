"""Data and owners: how an object is compared, hashed and shown.

Law 1. Two `Data` objects are equal if they are of one class with equal fields; `eq=False` leaves a field out.
Law 2. An `Owner` is an object that changes, so it is equal only to itself.
Law 3. The methods stand here once for all classes. attrs would generate and compile three for each class
       while a command starts, which took a quarter of that time. Classes that are compared very often (keys
       of tables, the state) still have the faster methods that attrs generates.
"""

from typing import Final

import attrs


class Data:
    """Base of frozen values."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # of Generic, where a value has a type parameter
        # Before the decorator attrs runs: it writes each method that it does not find in the class itself,
        # and one that is only inherited counts as not found.
        share(cls, Data)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in list_compared(self.__class__))

    def __hash__(self) -> int:
        # Salted by the interpreter where a field is a text: good for tables of this process alone.
        return hash((self.__class__, *(getattr(self, name) for name in list_compared(self.__class__))))

    def __repr__(self) -> str:
        cls: type = self.__class__
        fields = (f"{field.name}={getattr(self, field.name)!r}" for field in attrs.fields(cls) if field.repr)
        return f"{cls.__name__}({', '.join(fields)})"


class Owner:
    """Base of what changes and belongs to one place."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        share(cls, Owner)

    __eq__ = object.__eq__
    __hash__ = object.__hash__
    __repr__ = Data.__repr__


SHARED: Final = ("__eq__", "__hash__", "__repr__")
COMPARED: Final[dict[type, tuple[str, ...]]] = {}


def share(cls: type, base: type) -> None:
    """Put the methods into the class itself, unless it has its own: attrs writes those that are not there."""
    for name in SHARED:
        if name not in vars(cls):
            setattr(cls, name, getattr(base, name))


def list_compared(cls: type) -> tuple[str, ...]:
    """Return the fields that count in a comparison, found once for each class."""
    if cls not in COMPARED:
        COMPARED[cls] = tuple(field.name for field in attrs.fields(cls) if field.eq)
    return COMPARED[cls]
