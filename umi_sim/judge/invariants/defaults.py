"""Defaults: what a request says where its caller says nothing, as the pages of docs/spec tell.

Law 1. Most of it is nothing: None, an empty text or list, a flag that is off. All else stands in `NAMED`.
Law 2. It is a value that the caller might have given.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Final

import attrs

from umi_core.invariants.broken import demand
from umi_core.messages.requests import ALL, Request, request_name
from umi_sim.judge.plain.requests import FIELDS
from umi_sim.record import rules

TURNS: Final = 8
NOTHING: Final = (None, (), "", False)
LEVELS: Final = ("categories", "entities", "reflections", "resources")
AUTHOR: Final = {"author": "user"}
DESCENT: Final = {
    "resolve": True, "rank": "vector", "levels": LEVELS, "levels_max": 4, "total_limit": 20,
    "min_score_ppm": 600_000, "min_results": 3, "min_avg_ppm": 800_000,
}  # fmt: skip
NAMED: Final[Mapping[str, Mapping[str, object]]] = {
    "incr": {"delta": 1},
    "render": {"form": "xml"},
    "remember": {"extract": True, "evolve": True, "embed": True},
    "recall": {"resolve": True},
    "memorize": {"modality": "text"},
    "retrieve": {**DESCENT, "route_intention": True, "enough": "model", "limit_per_level": 5},
    "search": {**DESCENT, "enough": "score", "limit_per_level": 10},
    "build_system_prompt": {"form": "xml"},
    "search_messages": {"skip": 0}, "search_archival": {"skip": 0},
    "recent_entities": {"skip": 0},
    **dict.fromkeys(("create_block", "update_block", "append_to_block"), AUTHOR),
    **dict.fromkeys(("replace_in_block", "delete_block"), AUTHOR),
}  # fmt: skip


def check_defaults(turn: int) -> None:
    """Raises Broken at the first default that is another, or that would be refused.

    The fields of one in TURNS requests are looked at, of another one in the next turn.
    """
    for cls in islice(ALL, turn % TURNS, None, TURNS):
        check_defaults_of(cls)


def check_defaults_of(cls: type[Request]) -> None:
    defaults, name = {field.name: field.default for field in attrs.fields(cls)}, request_name(cls)
    for field, may_be_none, wrong_with in FIELDS[cls]:
        got = defaults[field]
        if got is attrs.NOTHING:
            continue
        told = f"{field} of {name}, where nothing is said"
        named = NAMED.get(name, {})
        wanted = tuple(map(repr, (named[field],) if field in named else NOTHING))
        demand(repr(got) in wanted, rules.REFERENCE_AGREES, told, " or ".join(wanted), repr(got))
        is_fit = (got is None and may_be_none) or wrong_with(field, got) is None
        demand(is_fit, rules.REFERENCE_AGREES, f"{told}, is refused", "", repr(got))
