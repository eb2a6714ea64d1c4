"""The content of a row: the base class of every kind."""

from functools import cached_property
from typing import ClassVar, Final

from umi_core.data import Data
from umi_core.domains import Checks, bad_fields

CHECKS: Final[dict[type, Checks]] = {}
"""The checks of the fields of each body class; umi_core/rows.py fills this table."""


class Body(Data, dict=True):
    """The content of a row. `row_kind`: the kind in its address; `own_id`: the id in its address."""

    tag: ClassVar[int]
    row_kind: ClassVar[str]
    derived: ClassVar[tuple[str, ...]] = ()  # properties that conditions may name, in addition to fields
    oldest: ClassVar[int] = 1  # the oldest version of its rows that can be read
    # (1, 1): version 2 of its rows has one field more than version 1, version 3 one more than version 2.
    added: ClassVar[tuple[int, ...]] = ()  # number of fields that each later version adds at the end

    def own_id(self) -> str | None:
        """Return the id that its row must have; None if any id is right, as for epoch, head and core."""
        own_id: str | None = getattr(self, "id", None)
        return own_id

    @cached_property
    def is_sound(self) -> bool:
        """Return True if every field is in its domain; otherwise the row is damaged.

        Bodies never change, so the result is cached.
        """
        return has_sound_fields(self)

    def name_and_text(self) -> tuple[str, str]:
        """Return the name and the text by which a search by words finds the row."""
        return "", ""


def has_sound_fields(body: Body) -> bool:
    return bad_fields(body, CHECKS[body.__class__]) is None


class OfEntity:
    """A row that belongs to one fact, `entity_id`."""

    __slots__ = ()
    derived: ClassVar[tuple[str, ...]] = ("touches",)
    entity_id: str

    @property
    def touches(self) -> tuple[str, ...]:
        """The id of the fact to which it belongs."""
        return (self.entity_id,)
