"""Classes of dates that tell another now than the real ones.

Law. This file needs the standard library alone: a script that is exported carries a copy of it.
"""

from collections.abc import Callable, Mapping
from typing import Any


def class_of_date(real: Any, tellers: Mapping[str, Callable[..., Any]]) -> Any:
    """Return a class in place of a real one, whose functions cannot be replaced: all of it but now."""

    def make(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return real(*args, **kwargs)

    # `__new__` makes the real class, so a date from inside a run is an ordinary one and outlives it.
    methods: dict[str, Any] = {name: classmethod(each) for name, each in tellers.items()}
    return DateClass(real.__name__, (real,), {"__new__": make, **methods})


class DateClass(type):
    """Metaclass of a class that stands in for another: it says that it is the other."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__bases__)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__bases__)
