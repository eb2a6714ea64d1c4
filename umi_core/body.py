"""What a row holds: the base that every kind of row is made of."""

from functools import cached_property
from typing import ClassVar, Final

import attrs

from umi_core.domains import Checks, bad_fields

CHECKS: Final[dict[type, Checks]] = {}
"""Of each kind of row what its fields may hold; umi_core/rows.py fills it."""


@attrs.frozen(eq=False)
class Body:
    """What a row holds. `row_kind` is the kind of its address; `own_id` is the id that it names."""

    tag: ClassVar[int]
    row_kind: ClassVar[str]
    derived: ClassVar[tuple[str, ...]] = ()  # properties that conditions may ask for beside the fields
    oldest: ClassVar[int] = 1  # the first version of its rows that can be read
    added: ClassVar[tuple[int, ...]] = ()  # by each version after the first: how many fields, at the end

    def own_id(self) -> str | None:
        """The id that its row must have; None if any will do. Epoch, head and core are one row each."""
        return None

    @cached_property
    def is_sound(self) -> bool:
        """Whether each field holds what its domain says; a body that came back otherwise is damaged.

        It never changes, so it is looked at once, however many reads bring it.
        """
        return has_sound_fields(self)

    def told(self) -> tuple[str, str]:
        """What a search by words goes by: its name, and what else it says."""
        return "", ""


def has_sound_fields(body: Body) -> bool:
    return bad_fields(body, CHECKS[body.__class__]) is None


class OfEntity:
    """A row of one entity, which it names as `entity_id`."""

    __slots__ = ()
    derived: ClassVar[tuple[str, ...]] = ("touches",)
    entity_id: str

    @property
    def touches(self) -> tuple[str, ...]:
        """The entities that it belongs to."""
        return (self.entity_id,)
