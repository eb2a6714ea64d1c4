"""Arguments: what a caller fills in of each request, for those who draw and read requests."""

from typing import Any, Final, get_args

import attrs

from umi_core.data import Data
from umi_core.domains import domain_of, plain_type
from umi_core.messages.requests import ALL, Request


@attrs.frozen
class Argument(Data):
    """A field of a request besides its label."""

    name: str
    domain: str
    type: Any  # without the domain; of one that may be None both alternatives
    is_required: bool

    @property
    def may_be_none(self) -> bool:
        return type(None) in get_args(self.type)


ARGUMENTS: Final = {
    cls: tuple(
        Argument(it.name, domain_of(it.type).name, plain_type(it.type), it.default is attrs.NOTHING)
        for it in attrs.fields(cls)[1:]
    )
    for cls in ALL
}


def arguments_of(cls: type[Request]) -> tuple[Argument, ...]:
    """The fields that a caller fills in, in their order."""
    return ARGUMENTS[cls]
