"""Defaults: what a request says where its caller says nothing, as the pages of docs/spec tell.

So are those of results, effects, answers and rows: the judge makes these too, so it would share a wrong one.

Law 1. Most of it is nothing: None where that may be, else an empty text or list, a flag that is off. All else
stands in `NAMED`.
Law 2. It is a value that the caller might have given.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Final, get_origin

import attrs

from umi_core import api_rows, reflection_rows, rows
from umi_core.declared import Tagged, tagged
from umi_core.domains import plain_type
from umi_core.invariants.broken import demand
from umi_core.messages import answers, api_results, effects, results
from umi_core.messages.requests import ALL, Request, request_name
from umi_sim.judge.plain.requests import FIELDS
from umi_sim.record import rules

TURNS: Final = 8
NOTHING: Final = (None, (), "", False)
LEVELS: Final = ("categories", "entities", "reflections", "resources")
AUTHOR: Final = {"author": "model"}
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
    "add_archival": {"extract": False}, "search_messages": {"skip": 0}, "search_archival": {"skip": 0},
    "recent_entities": {"skip": 0},
    **dict.fromkeys(("create_block", "update_block", "append_to_block"), AUTHOR),
    **dict.fromkeys(("replace_in_block", "delete_block"), AUTHOR),
    **dict.fromkeys(("set_block", "set_importance", "remove_block"), AUTHOR),
}  # fmt: skip


TOLD: Final = tuple(tagged((results, api_results, effects, answers, rows, api_rows, reflection_rows)))
SAID: Final[Mapping[str, object]] = {
    "ByVector.kind": "entity", "ByWords.kind": "entity",
    "AskModel.profile": "default", "Embed.profile": "default",
    "Read.store": "main", "Commit.store": "main", "Degraded.count": 1, "Entity.reinforced_count": 1,
    "Category.summary_dirty": True, "Receipt.by": (0, 0), "Log.first_seq": 1,
    "RecordAdded.facts": results.Remembered(()),
}  # fmt: skip


def check_defaults(turn: int) -> None:
    """Raises Broken at the first default that is another, or that would be refused.

    The fields of one in TURNS requests are looked at, of another one in the next turn.
    """
    for cls in islice(ALL, turn % TURNS, None, TURNS):
        check_defaults_of(cls)
    for told in islice(TOLD, turn % TURNS, None, TURNS):
        check_nothing_told(told)


def check_nothing_told(cls: type[Tagged]) -> None:
    """Where nothing is said, texts, lists and numbers are empty, a flag is off, and what may be None is."""
    for field in attrs.fields(cls):  # type: ignore[arg-type]  # whatever has a tag is of attrs
        if field.default is attrs.NOTHING:
            continue
        name, kind = f"{cls.__name__}.{field.name}", plain_type(field.type)
        empty = kind() if kind in (str, int, bool) else () if get_origin(kind) is tuple else None
        wanted, got = repr(SAID.get(name, empty)), repr(field.default)
        demand(wanted == got, rules.REFERENCE_AGREES, f"{name}, where nothing is said", wanted, got)


def check_defaults_of(cls: type[Request]) -> None:
    defaults, name = {field.name: field.default for field in attrs.fields(cls)}, request_name(cls)
    for field, may_be_none, wrong_with in FIELDS[cls]:
        got = defaults[field]
        if got is attrs.NOTHING:
            continue
        told = f"{field} of {name}, where nothing is said"
        named = NAMED.get(name, {})
        nothing = NOTHING[:1] if may_be_none else NOTHING[1:]
        wanted = tuple(map(repr, (named[field],) if field in named else nothing))
        demand(repr(got) in wanted, rules.REFERENCE_AGREES, told, " or ".join(wanted), repr(got))
        is_fit = (got is None and may_be_none) or wrong_with(field, got) is None
        demand(is_fit, rules.REFERENCE_AGREES, f"{told}, is refused", "", repr(got))
