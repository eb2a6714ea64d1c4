"""Filters that users give: conditions that hold for some rows, and malformed ones."""

from typing import Final

from umi_sim.workload.pools import Pool

FILTERS: Final = (
    ("type", "in", ("person", "topic", "preference")), ("memory_type", "eq", "profile"),
    ("memory_type", "ne", None), ("memory_type", "eq", None), ("event_time_ms", "eq", None),
    ("name", "not_in", ("Alice", None)), ("reinforced_count", "lte", 1), ("metadata", "has_key", "topic"),
    ("member_count", "gt", 1), ("name", "in", ("facts", "preferences", "Bob")),
    ("uri", "eq", None), ("uri", "in", ("chat/1", "notes/7")), ("modality", "ne", "conversation"),
    ("parent_id", "eq", None), ("id", "ne", ""), ("sources", "contains", "x"),
)  # fmt: skip
ROW_FILTERS: Final = (  # for requests about one kind of row, mostly entities
    ("type", "in", ("person", "topic", "preference")), ("type", "ne", "person"), ("id", "ne", ""),
    ("name", "not_in", ("Alice", None)), ("name", "in", ("Alice", "Bob", "facts")),
    ("event_time_ms", "eq", None), ("memory_type", "eq", None), ("memory_type", "in", ("profile", "event")),
    ("reinforced_count", "lte", 1), ("reinforced_count", "gt", 1), ("metadata", "has_key", "topic"),
    ("sources", "contains", "x"), ("parent_id", "eq", None), ("assigned_by", "eq", "model"),
    ("subcategory_id", "eq", None), ("modality", "ne", "conversation"), ("member_count", "gt", 1),
)  # fmt: skip
HOSTILE_FILTERS: Final[Pool] = {
    "field": ((("colour", "eq", "red"),), (("", "eq", 1),), (("scope", "eq", "u1"),), ((7, "eq", 7),)),
    "operator": ((("type", "like", "p"),), (("id", "gtt", 1),), (("name", None, "x"),)),
    "value": (
        (("type", "in", "person"),), (("created_ms", "gt", "7"),), (("created_ms", "lte", True),),
        (("sources", "contains", None),), (("type", "eq", ("person",)),), (("type", "in", ((),)),),
        (("id", "in", ("x",) * 101),), (("sources", "contains", "x" * 10_001),),
        (("name", "eq", "x" * 10_001),),
    ),
    "type": (None, "type", 7, (7,), (("type", "eq"),), ((),)),
    "count": ((("id", "ne", ""),) * 21,),
}  # fmt: skip
