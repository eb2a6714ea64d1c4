"""Goal: a list or a recall with a filter gives what a plain reader of H9 leaves of the whole one."""

import json
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.worlds import SCOPE, Pair, id_of_note
from umi_core.config import Config
from umi_core.errors import BadFilterValue, Error, UnknownField, UnknownOperator
from umi_core.messages.effects import Done, Outcome, Refused
from umi_core.messages.requests import (
    CreateEntity,
    CreateSession,
    EndSession,
    EvolveCategory,
    List,
    Memorize,
    Recall,
    Remember,
    UpdateEntity,
)
from umi_core.messages.results import Listed, Recalled, SessionCreated
from umi_sim.services.model import truth

FIELDS: Final = {  # H9.3: what all kinds have, and what one has besides
    "entity": "id created_ms updated_ms type memory_type name event_time_ms reinforced_count sources "
    "about metadata",
    "ended": "id about by how at_ms",
    "resource": "id created_ms updated_ms uri modality parent_id happened_ms session_id",
    "category": "id created_ms updated_ms name member_count",
    "membership": "id created_ms entity_id category_id subcategory_id assigned_by",
    "subcategory": "id created_ms updated_ms category_id name",
    "reflection": "id created_ms updated_ms session_id started_ms ended_ms",
}
NAMES: Final = sorted({name for names in FIELDS.values() for name in names.split()} | {"user", "agent"})
OPERATORS: Final = ("eq", "ne", "in", "not_in", "lt", "lte", "gt", "gte", "contains", "has_key")
LISTS: Final = ("in", "not_in")
CONFIG: Final = Config(
    auto_rebalance=False, cluster_size_min=2, cluster_ppm=100_000, segment_line_count_min=2
)
TALK: Final = "Alice likes tea.\nBob lives in Ghent.\nAlice works at Acme.\nWhere does Bob work?"


@cache
def archive() -> Pair:
    """Some rows of each kind, written at several times; they do not change from here on."""
    pair = Pair(config=CONFIG, model=truth).run()
    created = pair.ask(CreateSession("session"))
    assert isinstance(created, Done)
    assert isinstance(created.value, SessionCreated)
    session = created.value.session_id
    requests = (
        Memorize("talk", TALK, "conversation", uri="chat/1", happened_ms=5, session_id=session),
        Memorize("text", "Bob likes tea.", "text"), CreateEntity("fact", "is allergic to nuts", "profile"),
        CreateEntity("rule", "is allergic to eggs", "profile", ("rules", "facts")),
        Remember("tags", "Carol likes jazz", metadata=(("tag", "music"), ("n", "3"))),
        CreateEntity("old", "is tall", "profile"),
        UpdateEntity("new", id_of_note("is tall"), "is short"),
        EvolveCategory("groups", "facts"), EvolveCategory("more", "preferences"), EndSession("end", session),
    )  # fmt: skip
    for request in requests:
        pair.now_ms += 10
        assert isinstance(pair.ask(request), Done)
    return pair


# The plain reader.


def refusal(where: tuple[tuple[str, str, Any], ...]) -> type[Error] | None:
    """H9.9 to H9.11: of the first condition that is wrong."""
    for field, operator, value in where:
        if field not in NAMES:
            return UnknownField
        if operator not in OPERATORS:
            return UnknownOperator
        is_number = isinstance(value, int) and not isinstance(value, bool)
        is_right = {
            "lt": is_number, "lte": is_number, "gt": is_number, "gte": is_number,
            "contains": isinstance(value, str), "has_key": isinstance(value, str),
            "in": isinstance(value, tuple), "not_in": isinstance(value, tuple),
        }.get(operator, not isinstance(value, tuple))  # fmt: skip
        if not is_right:
            return BadFilterValue
    return None


def same(found: object, value: object) -> bool:
    """As JSON writes them: true is not 1, and null is nothing else."""
    return not isinstance(found, tuple) and json.dumps(found) == json.dumps(value)


def is_whole_number(found: object) -> bool:
    return json.dumps(found, default=str).lstrip("-").isdigit()


def holds(kind: str, row: Any, condition: tuple[str, str, Any]) -> bool:
    field, operator, value = condition
    scope = {"user": SCOPE.user, "agent": SCOPE.agent}
    if field not in (*FIELDS[kind].split(), *scope):
        return False
    found = scope[field] if field in scope else getattr(row, field)
    match operator:
        case "eq" | "ne":
            return same(found, value) == (operator == "eq")
        case "in" | "not_in":
            return any(same(found, each) for each in value) == (operator == "in")
        case "contains":
            return isinstance(found, tuple) and value in found
        case "has_key":
            return isinstance(found, tuple) and value in [
                each[0] for each in found if isinstance(each, tuple)
            ]
    below, equal = (found < value, found == value) if is_whole_number(found) else (None, None)
    return bool(
        {"lt": below, "lte": below or equal, "gt": below is False and not equal}.get(operator, below is False)
    )


# Both asked.


def listed(kind: str, where: tuple[Any, ...] = ()) -> Outcome:
    pair = archive()
    return pair.ask(List(f"list {len(pair.replies)}", kind, 100, None, where))


def recalled(where: tuple[Any, ...] = ()) -> Outcome:
    pair = archive()
    query = "Who likes tea or jazz, and is allergic to nuts?"
    return pair.ask(
        Recall(f"recall {len(pair.replies)}", query, limit=100, deep=False, where=where, min_score_ppm=1)
    )


def rows_of(outcome: Outcome) -> tuple[Any, ...]:
    assert isinstance(outcome, Done)
    value = outcome.value
    assert isinstance(value, Listed | Recalled)
    return value.rows if isinstance(value, Listed) else value.hits


@cache
def values_of(field: str) -> tuple[Any, ...]:
    """What rows have there, in any kind, and their neighbours."""
    rows = [row for kind in FIELDS for row in rows_of(listed(kind))]
    found = [getattr(row, field, None) for row in rows]
    flat = [it for each in found for it in (each if isinstance(each, tuple) else (each,))]
    words = [it[0] if isinstance(it, tuple) else it for it in flat]
    numbers = [it + 1 for it in words if is_whole_number(it)]
    return tuple({json.dumps(it): it for it in (*words, *numbers, None, True, 1, "", SCOPE.user)}.values())


def condition_on(field: str) -> st.SearchStrategy[Any]:
    one = st.sampled_from(values_of(field))
    many = st.lists(one, max_size=4).map(tuple)
    operators = st.sampled_from([*OPERATORS, *OPERATORS, "like"])
    return st.tuples(st.just(field), operators, one) | st.tuples(
        st.just(field), st.sampled_from(LISTS), many
    )  # fmt: skip


WHERE: Final = st.lists(st.sampled_from([*NAMES, *NAMES, "colour"]).flatmap(condition_on), max_size=2).map(
    tuple
)


def must_meet(kind: str, whole: Outcome, got: Outcome, where: tuple[Any, ...]) -> None:
    wrong = refusal(where)
    if wrong is not None:
        assert isinstance(got, Refused)
        assert type(got.error) is wrong
        return
    bodies = {row.id: row for row in rows_of(listed(kind))}
    due = [it.id for it in rows_of(whole) if all(holds(kind, bodies[it.id], each) for each in where)]
    assert [it.id for it in rows_of(got)] == due


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIELDS)
def test_each_condition_on_a_field_leaves_of_a_list_what_a_plain_reader_leaves(kind: str) -> None:
    whole = listed(kind)
    for field in (*FIELDS[kind].split(), "user", "agent"):
        values = values_of(field)[::-1][:12]
        for operator in OPERATORS:
            for value in (values[:4], values[4:], ()) if operator in LISTS else values:
                where = ((field, operator, value),)
                must_meet(kind, whole, listed(kind, where), where)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FIELDS)), WHERE)
@example("membership", (("updated_ms", "gte", 0),))
@example("resource", (("user", "eq", "u2"),))
@example("category", (("member_count", "eq", True),))
def test_conditions_leave_what_a_plain_reader_leaves_also_of_a_recall(
    kind: str, where: tuple[Any, ...]
) -> None:
    must_meet(kind, listed(kind), listed(kind, where), where)
    must_meet("entity", recalled(), recalled(where), where)


@pytest.mark.parametrize(
    ("pair", "count"),
    [(("tag", "music"), 1), (("n", "3"), 1), (("tag", "3"), 0), (("music", "tag"), 0), (("", ""), 0)],
)
def test_a_fact_is_found_by_a_key_of_its_metadata_with_the_value(pair: tuple[str, str], count: int) -> None:
    where = (("metadata", "contains", pair),)
    assert len(rows_of(listed("entity", where))) == len(rows_of(recalled(where))) == count
    assert rows_of(listed("resource", where)) == ()


@pytest.mark.parametrize(
    ("field", "operator", "value"),
    [
        ("metadata", "contains", ("tag",)), ("metadata", "contains", ("tag", "music", "3")),
        ("metadata", "contains", ("n", 3)), ("metadata", "contains", ["tag", "music"]),
        ("metadata", "has_key", ("tag", "music")), ("sources", "contains", ("tag", "music")),
        ("metadata", "eq", ("tag", "music")),
    ],
)  # fmt: skip
def test_what_is_no_pair_of_texts_is_refused(field: str, operator: str, value: Any) -> None:
    outcome = listed("entity", ((field, operator, value),))
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, BadFilterValue)


def test_the_archive_of_these_examples_has_rows_of_each_kind_that_is_found() -> None:
    assert [kind for kind in FIELDS if not rows_of(listed(kind))] == []
    assert len(rows_of(recalled())) > 2
