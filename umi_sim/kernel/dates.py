"""Date classes whose `now` and `today` return virtual time.

Law. This file imports only the standard library, since an exported script carries a copy of it.
"""

from collections.abc import Callable, Mapping
from typing import Any


def class_of_date(real: Any, tellers: Mapping[str, Callable[..., Any]]) -> Any:
    """Return a class that replaces `real`, whose methods cannot be patched; `tellers` are its own methods."""

    def make(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return real(*args, **kwargs)

    # `__new__` returns an instance of the real class, so dates made in a run stay valid after it.
    methods: dict[str, Any] = {name: classmethod(each) for name, each in tellers.items()}
    return DateClass(real.__name__, (real,), {"__new__": make, **methods})


class DateClass(type):
    """Metaclass of a stand-in, which equals the class that it replaces: tables of types find it there."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__bases__)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__bases__)

    def __eq__(cls, other: object) -> bool:
        return (other.__bases__[0] if type(other) is DateClass else other) is cls.__bases__[0]

    def __hash__(cls) -> int:
        return type.__hash__(cls.__bases__[0])
