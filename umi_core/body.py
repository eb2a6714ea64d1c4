"""The content of a row: the base class of every kind."""

from functools import cached_property
from typing import ClassVar, Final

from umi_core.data import Data
from umi_core.domains import Checks, bad_fields

CHECKS: Final[dict[type, Checks]] = {}
"""The domains of the fields, by kind of row; umi_core/rows.py fills it."""


class Body(Data, dict=True):
    """The content of a row. `row_kind` is the kind of its address; `own_id` is the id that it names."""

    tag: ClassVar[int]
    row_kind: ClassVar[str]
    derived: ClassVar[tuple[str, ...]] = ()  # properties that conditions may ask for beside the fields
    oldest: ClassVar[int] = 1  # the first version of its rows that can be read
    # (1, 1): version 2 of its rows has one field more than version 1, version 3 one more than version 2.
    added: ClassVar[tuple[int, ...]] = ()  # by each version after the first: how many fields, at the end

    def own_id(self) -> str | None:
        """Return the id that its row must have; None if any will do, as for epoch, head and core."""
        own_id: str | None = getattr(self, "id", None)
        return own_id

    @cached_property
    def is_sound(self) -> bool:
        """Return True if each field is in its domain; a body that came back otherwise is damaged.

        A body never changes, so it is checked once, however many reads bring it.
        """
        return has_sound_fields(self)

    def name_and_text(self) -> tuple[str, str]:
        """Return its name and its other text, by which a search by words finds it."""
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
