"""Ranks: a model's order of the candidates that it was shown.

Law 1. Total: any string gives an order, or the reason why there is none. Law 2. An order has only candidates
that were shown, each once, and at most `limit` of them. An empty order is valid: no candidate helps.
"""

from typing import Final, Literal, get_args

from umi_core.data import Data
from umi_core.json_text import Json
from umi_core.language.replies import (
    ArrayOf,
    ArrayWith,
    ObjectWith,
    UnusableReply,
    field,
    find_json,
    find_rows,
    list_under,
)

RankDrop = Literal["bad_element", "unknown_id", "duplicate", "too_many"]
SHAPES: Final[tuple[str, ...]] = get_args(RankDrop)


class Ranks(Data):
    """The aliases in the model's order, and the reasons why elements were dropped, each reason once."""

    aliases: tuple[str, ...]
    dropped: tuple[RankDrop, ...] = ()


def parse_ranks(reply: str, count: int, limit: int) -> Ranks | UnusableReply:
    """Return the order of at most `limit` of the `count` candidates, which were shown as c1, c2 and so on."""
    payload = find_json(reply, ObjectWith("ids"))
    ids = find_json(reply, ArrayOf(str)) if isinstance(payload, UnusableReply) else list_under(payload, "ids")
    ids = find_rows(reply, ArrayWith(("id",)), ("id",)) if isinstance(ids, UnusableReply) else ids
    if isinstance(ids, UnusableReply):
        return ids
    assert isinstance(ids, list)
    ids = [clean_alias(it) for it in ids]
    shown = {alias_of(number): None for number in range(count)}
    kept: dict[str, None] = {}
    dropped: dict[RankDrop, None] = {}
    for it in ids:
        if (reason := drop_of(it, shown, kept, limit)) is not None:
            dropped[reason] = None
        else:
            kept[str(it)] = None
    return Ranks(tuple(kept), tuple(dropped))


def clean_alias(it: Json) -> Json:
    """Return an alias, or the one in an object, in lower case and without brackets around it."""
    alias = field(it, "id") if isinstance(it, dict) else it
    return alias.strip("[]()<>` ").lower() if isinstance(alias, str) else alias


def drop_of(it: object, shown: dict[str, None], kept: dict[str, None], limit: int) -> RankDrop | None:
    """Return the first reason to drop an element, or None."""
    if not isinstance(it, str):
        return "bad_element"
    if it not in shown:
        return "unknown_id"
    if it in kept:
        return "duplicate"
    # Last, so that an element is `too_many` only if it could have been kept otherwise.
    return "too_many" if len(kept) == limit else None


def alias_of(number: int) -> str:
    return f"c{number + 1}"
