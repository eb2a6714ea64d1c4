"""An extension of griffe, which reads the code for docs/reference.md: adds signatures to classes with fields.

griffe knows the parameters of a dataclass, but not those of a class of umi_core/data.py. Fields of bases
come first.
"""

from typing import Any

import griffe

BASES = {"umi_core.data.Data", "umi_core.data.Owner", "umi_core.data.Mutable"}


class FieldSignatures(griffe.Extension):
    """Adds to each class with fields the `__init__` that msgspec generates."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for each in find_classes(pkg):
            if has_fields(each) and "__init__" not in each.members:
                each.set_member("__init__", make_init(each))


def find_classes(parent: griffe.Object) -> list[griffe.Class]:
    """Return all classes below a module or a class, nested ones included."""
    own = [it for it in parent.members.values() if isinstance(it, griffe.Module | griffe.Class)]
    inside = [found for it in own for found in find_classes(it)]
    return [it for it in own if isinstance(it, griffe.Class)] + inside


def has_fields(each: griffe.Class) -> bool:
    return any(it.path in BASES for it in each.mro())


def make_init(each: griffe.Class) -> griffe.Function:
    fields: dict[str, griffe.Parameter] = {}
    for owner in (*reversed(each.mro()), each):
        for name, field in owner.members.items() if has_fields(owner) else ():
            if isinstance(field, griffe.Attribute) and is_field(field):
                fields[name] = griffe.Parameter(
                    name,
                    annotation=field.annotation,
                    kind=griffe.ParameterKind.positional_or_keyword,
                    default=field.value,
                )
    this = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    return griffe.Function("__init__", parameters=griffe.Parameters(this, *fields.values()))


def is_field(field: griffe.Attribute) -> bool:
    """Return True if an attribute is a field: it is annotated, and not with ClassVar."""
    return field.annotation is not None and "instance-attribute" in field.labels
