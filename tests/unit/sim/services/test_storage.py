"""Goal: one golden per rule of the simulated storage; its contract at random is in tests/conformance."""

from collections.abc import Callable

import pytest
from msgspec import structs

from tests.worlds import conditions
from umi_core.conditions import Where
from umi_core.limits import PAGE_ROW_COUNT_MAX, RECEIPT_MS_MAX
from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import (
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Expect,
    Query,
    Write,
)
from umi_core.rows import Address, Body, Entity, Head, Receipt, Relation, Row, SessionRow, Vector
from umi_core.values import Scope
from umi_sim.services.storage import SimStorage
from umi_sim.services.stored_rows import BLOCK_BYTES, cursor_at, position

HOME = Scope("ann", "a1")
AWAY = Scope("ann", "a2")
ANYTHING = ()


def at(row_id: str, kind: str = "head", scope: Scope = HOME) -> Address:
    return Address(scope, kind, row_id)


def put(row_id: str, text: str = "x", scope: Scope = HOME) -> Write:
    return Write(at(row_id, scope=scope), Head(text))


def delete(row_id: str) -> Write:
    return Write(at(row_id), None)


def entity(
    row_id: str,
    name: str = "Ann",
    content: str = "likes tea",
    kind: str = "person",
    *,
    time_ms: int = 5,
    missing: bool = False,
) -> Write:
    body = Entity(
        row_id, kind, name, content, 1, 500_000, 500_000, "human", 1, time_ms, vector_missing=missing
    )
    return Write(at(row_id, "entity"), body)


def vector(row_id: str, *components: int) -> Write:
    return Write(at(row_id, "vector"), Vector(row_id, 1, components))


def flush(
    storage: SimStorage, *writes: Write, expects: tuple[Expect, ...] = (), key: str = "", now_ms: int = 0
) -> Committed | EffectFailed | None:
    return storage.flush(storage.arrive(Commit(writes, expects, key, request_id=7), "a"), now_ms)


def holding(*writes: Write) -> SimStorage:
    storage = SimStorage()
    assert isinstance(flush(storage, *writes), Committed)
    return storage


def ids(storage: SimStorage, query: Query) -> list[str]:
    return [row.address.id for row in storage.read(1, query).rows]


def body(storage: SimStorage, row_id: str) -> Body | None:
    rows = storage.read(1, ByIds((at(row_id),))).rows
    return rows[0].body if rows else None


# Commits.


def test_a_commit_answers_the_version_of_every_write_in_order() -> None:
    storage = SimStorage()
    assert flush(storage, put("b"), put("a")) == Committed(7, ((at("b"), 1), (at("a"), 1)))
    assert flush(storage, put("a"), delete("b"), put("a")) == Committed(
        7, ((at("a"), 2), (at("b"), 2), (at("a"), 3))
    )


def test_a_version_is_not_reused_after_a_delete() -> None:
    storage = holding(put("a"))
    assert flush(storage, delete("a")) == Committed(7, ((at("a"), 2),))
    assert flush(storage, put("a")) == Committed(7, ((at("a"), 3),))


def test_deleting_what_is_absent_changes_nothing() -> None:
    storage = holding(put("a"), delete("a"))
    before = storage.digest()
    assert flush(storage, delete("a"), delete("never")) == Committed(7, ((at("a"), 2), (at("never"), 0)))
    assert storage.digest() == before


def test_a_batch_is_in_no_read_before_its_flush() -> None:
    storage = holding(put("a", "old"))
    ticket = storage.arrive(Commit((put("a", "new"), put("b")), ()), "a")
    assert ids(storage, ByIds((at("a"), at("b")))) == ["a"]
    assert body(storage, "a") == Head("old")
    storage.flush(ticket, 0)
    assert body(storage, "a") == Head("new")
    assert body(storage, "b") == Head("x")


def test_expects_that_differ_are_named_with_the_version_found() -> None:
    storage = holding(put("a"), put("gone"), delete("gone"))
    expects = (Expect(at("a"), 2), Expect(at("gone"), 2), Expect(at("never"), 0), Expect(at("b"), 1))
    changed = ((at("a"), 1), (at("gone"), 0), (at("b"), 0))
    assert flush(storage, put("c"), expects=expects) == EffectFailed(7, "conflict", changed=changed)


def test_a_batch_with_a_conflict_changes_nothing() -> None:
    storage = holding(put("a"))
    before = storage.digest()
    flush(storage, put("a"), put("b"), delete("a"), expects=(Expect(at("a"), 9),), key="k")
    assert storage.digest() == before
    assert isinstance(flush(storage, put("b"), key="k"), Committed)  # and its key is free


def test_an_expect_holds_at_the_flush_not_at_the_arrival() -> None:
    storage = SimStorage()
    commit = Commit((put("a"),), (Expect(at("a"), 0),))
    first, second = storage.arrive(commit, "a"), storage.arrive(commit, "b")
    assert storage.flush(second, 0) == Committed(0, ((at("a"), 1),))
    assert storage.flush(first, 0) == EffectFailed(0, "conflict", changed=((at("a"), 1),))


# Idempotency keys.


def test_a_known_key_is_answered_from_the_first_batch_before_any_expect() -> None:
    receipt = Receipt("k", b"", b"", True, 0)
    write = Write(at("k", "receipt"), receipt)
    storage = SimStorage()
    first = flush(storage, put("a"), write, expects=(Expect(at("a"), 0),), key="k")
    assert first == Committed(7, ((at("a"), 1), (write.address, 1)), receipt)
    before = storage.digest()
    assert flush(storage, put("other"), expects=(Expect(at("a"), 0),), key="k") == first
    assert storage.digest() == before


def test_a_batch_without_a_receipt_row_has_no_receipt() -> None:
    assert flush(SimStorage(), put("a"), key="k") == Committed(7, ((at("a"), 1),), None)


def test_a_key_is_known_for_24_hours() -> None:
    storage = SimStorage()
    first = flush(storage, put("a"), key="k", now_ms=10)
    assert flush(storage, put("a"), key="k", now_ms=10 + RECEIPT_MS_MAX - 1) == first
    assert flush(storage, put("a"), key="k", now_ms=10 + RECEIPT_MS_MAX) == Committed(7, ((at("a"), 2),))


def test_a_receipt_ages_from_the_first_batch_not_from_the_last_question() -> None:
    storage = SimStorage()
    flush(storage, put("a"), key="k", now_ms=0)
    flush(storage, put("a"), key="k", now_ms=RECEIPT_MS_MAX - 1)
    flush(storage, put("b"), key="other", now_ms=RECEIPT_MS_MAX)
    assert list(storage.receipts) == ["other"]


def test_a_batch_without_a_key_is_always_a_new_one() -> None:
    storage = SimStorage()
    assert flush(storage, put("a")) == Committed(7, ((at("a"), 1),))
    assert flush(storage, put("a")) == Committed(7, ((at("a"), 2),))


# Crashes.


def test_a_crash_takes_pending_batches_and_nothing_else() -> None:
    storage = SimStorage()
    flush(storage, put("a"), key="k")
    before = storage.digest()
    ticket = storage.arrive(Commit((put("b"),), ()), "a")
    storage.crash()
    assert storage.flush(ticket, 0) is None
    assert storage.digest() == before
    assert flush(storage, put("c"), key="k") == Committed(7, ((at("a"), 1),))


def test_a_ticket_is_not_reused_after_a_crash() -> None:
    storage = SimStorage()
    lost = storage.arrive(Commit((put("a"),), ()), "a")
    storage.crash()
    assert storage.arrive(Commit((put("b"),), ()), "b") != lost
    assert storage.flush(lost, 0) is None


def test_a_batch_is_flushed_once() -> None:
    storage = SimStorage()
    ticket = storage.arrive(Commit((put("a"),), ()), "a")
    assert storage.flush(ticket, 0) == Committed(0, ((at("a"), 1),))
    assert storage.flush(ticket, 0) is None


@pytest.mark.parametrize("count", range(6))
def test_a_torn_batch_has_not_happened(count: int) -> None:
    storage = holding(put("a"), put("gone"), delete("gone"), put("b"))
    before, rows = storage.digest(), list(storage.live_rows(HOME))
    writes = (put("a", "y"), delete("b"), put("gone"), put("new"), delete("new"), delete("a"))
    ticket = storage.arrive(Commit(writes, (), "k"), "a")
    storage.tear_batch(ticket, count)
    assert storage.digest() == before
    assert list(storage.live_rows(HOME)) == rows
    assert storage.flush(ticket, 0) is None
    assert flush(storage, put("new"), key="k") == Committed(7, ((at("new"), 1),))


# Reads.


def test_rows_by_id_come_in_the_order_asked_for_without_absent_ones() -> None:
    storage = holding(put("a"), put("b"))
    rows = (Row(at("b"), 1, Head("x")), Row(at("a"), 1, Head("x")))
    assert storage.read(3, ByIds((at("b"), at("never"), at("a")))) == ReadDone(3, rows)


def test_a_row_of_another_scope_is_in_no_read() -> None:
    storage = holding(put("a", "home"), put("a", "away", AWAY), put("b", "away", AWAY))
    assert body(storage, "a") == Head("home")
    assert ids(storage, ByFilter(HOME, ("head",))) == ["a"]
    assert storage.read(1, CountRows(HOME, ("head",))).count == 1
    assert [row.address.scope for row in storage.live_rows(HOME)] == [HOME]


def test_a_filter_gives_rows_by_kind_and_id_in_code_point_order() -> None:
    storage = holding(put("b"), entity("z"), put("B"), put("日"), put("b1"), entity("a"))
    found = storage.read(1, ByFilter(HOME, ("head", "entity", "head"))).rows
    assert [row.address.id for row in found] == ["a", "z", "B", "b", "b1", "日"]


def test_a_page_has_a_cursor_only_if_there_is_more() -> None:
    storage = holding(put("a"), put("b"), put("c"))
    first = storage.read(1, ByFilter(HOME, ("head",), limit=2))
    assert [row.address.id for row in first.rows] == ["a", "b"]
    assert first.cursor is not None
    second = storage.read(2, ByFilter(HOME, ("head",), limit=2, cursor=first.cursor))
    assert ([row.address.id for row in second.rows], second.cursor) == (["c"], None)
    assert storage.read(3, ByFilter(HOME, ("head",), limit=3)).cursor is None


def test_a_cursor_survives_the_row_it_names_and_rows_before_it() -> None:
    storage = holding(put("b"), put("c"), put("d"))
    cursor = storage.read(1, ByFilter(HOME, ("head",), limit=2)).cursor
    flush(storage, delete("c"), put("a"), delete("b"))
    assert ids(storage, ByFilter(HOME, ("head",), cursor=cursor)) == ["d"]


def test_a_cursor_crosses_kinds() -> None:
    storage = holding(entity("a"), put("a"), vector("a", 1))
    cursor = storage.read(1, ByFilter(HOME, ("entity", "head", "vector"), limit=1)).cursor
    found = storage.read(2, ByFilter(HOME, ("entity", "head", "vector"), cursor=cursor)).rows
    assert [row.address.kind for row in found] == ["head", "vector"]


def test_any_text_is_a_place_in_the_order() -> None:
    storage = holding(put("a/b"), put("c"))
    assert position(cursor_at(next(storage.live_rows(HOME)))) == ("head", "a/b")
    assert ids(storage, ByFilter(HOME, ("head",), cursor="head/a/b")) == ["c"]
    assert ids(storage, ByFilter(HOME, ("head",), cursor="garbage")) == ["a/b", "c"]
    assert ids(storage, ByFilter(HOME, ("head",), cursor="zzz")) == []


def test_a_page_of_no_rows_still_leads_to_all_of_them() -> None:
    storage = holding(put("a"))
    empty = storage.read(1, ByFilter(HOME, ("head",), limit=0))
    assert (empty.rows, empty.cursor) == ((), "")
    assert ids(storage, ByFilter(HOME, ("head",), cursor=empty.cursor)) == ["a"]


def test_a_page_is_never_longer_than_1000_rows() -> None:
    storage = holding(*(put(f"{n:04}") for n in range(PAGE_ROW_COUNT_MAX + 1)))
    first = storage.read(1, ByFilter(HOME, ("head",)))
    assert (len(first.rows), first.cursor) == (PAGE_ROW_COUNT_MAX, "head/0999")
    assert storage.read(1, CountRows(HOME, ("head",))).count == PAGE_ROW_COUNT_MAX + 1


def test_a_store_may_have_shorter_pages() -> None:
    storage = SimStorage(page_rows=2)
    flush(storage, *(put(key) for key in "abcde"))
    pages, cursor = list[list[str]](), None
    while not pages or cursor:
        page = storage.read(1, ByFilter(HOME, ("head",), limit=4, cursor=cursor))
        pages.append([row.address.id for row in page.rows])
        cursor = page.cursor
    assert pages == [["a", "b"], ["c", "d"], ["e"]]


# Conditions.


def found_by(storage: SimStorage, where: Where, kinds: tuple[str, ...] = ("entity",)) -> list[str]:
    found = ids(storage, ByFilter(HOME, kinds, where))
    assert storage.read(1, CountRows(HOME, kinds, where)).count == len(found)
    return found


def test_conditions_on_type_time_and_mark_all_hold() -> None:
    storage = holding(
        entity("a", kind="person", time_ms=1),
        entity("b", kind="topic", time_ms=2, missing=True),
        entity("c", kind="person", time_ms=3, missing=True),
    )
    assert found_by(storage, conditions(types=("topic", "person"))) == ["a", "b", "c"]
    assert found_by(storage, conditions(types=("event",))) == []
    assert found_by(storage, conditions(start_ms=2, end_ms=3)) == ["b", "c"]  # both ends belong to it
    assert found_by(storage, conditions(end_ms=1)) == ["a"]
    assert found_by(storage, conditions(start_ms=3, end_ms=2)) == []
    assert found_by(storage, conditions(vector_missing=False)) == ["a"]
    assert found_by(storage, conditions(types=("person",), start_ms=2, vector_missing=True)) == ["c"]


def test_the_time_of_an_entity_is_its_event_time_if_it_has_one() -> None:
    write = entity("a", time_ms=5)
    assert isinstance(write.body, Entity)
    storage = holding(structs.replace(write, body=structs.replace(write.body, event_time_ms=0)))
    assert found_by(storage, conditions(end_ms=0)) == ["a"]
    assert found_by(storage, conditions(start_ms=5)) == []


def test_a_condition_on_a_field_that_a_row_has_not_does_not_hold() -> None:
    storage = holding(put("a"), vector("a", 1))
    for where in (
        conditions(types=("person",)),
        conditions(start_ms=0),
        conditions(vector_missing=False),
        conditions(touches="a"),
    ):
        assert found_by(storage, where, ("head", "vector")) == []


def test_relations_touch_both_their_ends() -> None:
    relation = Relation("", "knows", ("a", 0), ("b", 0), 500_000, "", "model", 0)
    storage = holding(
        Write(at("r1", "relation"), relation),
        Write(at("r2", "relation"), structs.replace(relation, target=("a", 1), source=("c", 2))),
        Write(at("r3", "relation"), structs.replace(relation, source=("c", 0))),
    )
    assert found_by(storage, conditions(touches="a"), ("relation",)) == ["r1", "r2"]


# Searches.


def by_words(text: str, where: Where = ANYTHING, limit: int = 10, min_score_ppm: int = 0) -> ByWords:
    return ByWords(HOME, text, where, limit, min_score_ppm)


def by_vector(*components: int, where: Where = ANYTHING, limit: int = 10, min_score_ppm: int = 0) -> ByVector:
    return ByVector(HOME, components, where, limit, min_score_ppm)


def scores(storage: SimStorage, query: Query) -> list[tuple[str, int | None]]:
    return [(row.address.id, row.score_ppm) for row in storage.read(1, query).rows]


def test_hits_by_words_come_by_score_and_then_by_id() -> None:
    storage = holding(
        entity("d", "Alice", "works at Acme"),
        entity("c", "Bob", "likes light mode"),
        entity("b", "Cid", "works nowhere"),
        entity("a", "Dan", "works at Acme"),
    )
    query = by_words("Where does Alice work, who works at Acme?")
    assert [row_id for row_id, _ in scores(storage, query)] == ["d", "a", "b"]
    assert scores(storage, by_words("working")) == [("b", 830_678), ("a", 812_276), ("d", 812_276)]


def test_hits_by_vector_are_the_entities_with_the_score_of_their_vector() -> None:
    storage = holding(
        entity("a"), vector("a", 4, 3, 0), entity("b"), vector("b", 3, 4, 0),
        entity("c"), vector("c", -3, 0, 0), entity("d"), vector("e", 3, 4, 0), entity("f"), vector("f", 3, 4),
    )  # fmt: skip
    assert scores(storage, by_vector(3, 4, 0)) == [("b", 1_000_000), ("a", 960_000)]
    assert {row.address.kind for row in storage.read(1, by_vector(3, 4, 0)).rows} == {"entity"}


def test_a_vector_follows_the_current_row_of_its_entity() -> None:
    storage = holding(entity("a", content="old"), vector("a", 1, 0))
    flush(storage, entity("a", content="new"))
    (row,) = storage.read(1, by_vector(1, 0)).rows
    assert isinstance(row.body, Entity)
    assert (row.version, row.body.content) == (2, "new")
    flush(storage, Write(at("a", "entity"), None))
    assert storage.read(1, by_vector(1, 0)).rows == ()


def test_conditions_and_the_least_score_hold_before_the_cut() -> None:
    storage = holding(
        entity("a", kind="topic"),
        vector("a", 1, 0),
        entity("b"),
        vector("b", 1, 1),
        entity("c"),
        vector("c", 1, 1),
    )
    people = conditions(types=("person",))
    assert scores(storage, by_vector(1, 0, where=people, limit=1)) == [("b", 707_106)]
    assert scores(storage, by_vector(1, 0, min_score_ppm=707_107)) == [("a", 1_000_000)]
    assert ids(storage, by_words("tea", people, limit=1)) == ["b"]
    assert ids(storage, by_words("tea", limit=2)) == ["a", "b"]
    assert ids(storage, by_words("tea", limit=0)) == []


def test_what_has_nothing_in_common_is_no_hit() -> None:
    storage = holding(entity("a"), vector("a", 1, 0), Write(at("b", "entity"), Head("coffee")))
    assert scores(storage, by_words("coffee")) == []
    assert scores(storage, by_vector(0, 1)) == []


# The whole.


def test_equal_histories_have_equal_digests_whatever_the_order_of_addresses() -> None:
    assert holding(put("a"), put("b")).digest() == holding(put("b"), put("a")).digest()


def test_the_digest_tells_bodies_versions_scopes_and_graves_apart() -> None:
    stored = (
        SimStorage(),
        holding(put("a")),
        holding(put("a", "y")),
        holding(put("a"), put("a")),
        holding(put("a", scope=AWAY)),
        holding(put("a"), delete("a")),
    )
    assert len({storage.digest() for storage in stored}) == len(stored)


def test_check_notices_an_index_that_lost_a_row() -> None:
    storage = holding(put("a"))
    storage.check()
    storage.row_ids[HOME]["head"].clear()
    with pytest.raises(AssertionError):
        storage.check()


# Capacity, and searches that lie behind.


def test_what_would_need_more_than_there_is_changes_nothing() -> None:
    storage = SimStorage(capacity_bytes=2 * BLOCK_BYTES)
    assert isinstance(flush(storage, put("a"), put("b")), Committed)
    assert storage.used_bytes() == 2 * BLOCK_BYTES
    assert flush(storage, put("a", "y"), put("c")) == EffectFailed(7, "full")
    assert storage.read(1, ByIds((at("a"), at("c")))).rows == (Row(at("a"), 1, Head("x")),)


def test_a_batch_that_does_not_grow_the_store_always_fits() -> None:
    storage = holding(put("a"), put("b"))
    storage.capacity_bytes = 0
    assert isinstance(flush(storage, put("a", "y")), Committed)
    assert isinstance(flush(storage, delete("a"), put("c")), Committed)
    assert flush(storage, put("a")) == EffectFailed(7, "full")


def test_a_known_key_and_a_conflict_come_before_the_capacity() -> None:
    storage = holding(put("a"))
    assert isinstance(flush(storage, put("b"), key="k"), Committed)
    storage.capacity_bytes = 0
    assert isinstance(flush(storage, put("c"), key="k"), Committed)
    refused = flush(storage, put("c"), expects=(Expect(at("a"), 9),))
    assert isinstance(refused, EffectFailed)
    assert refused.kind == "conflict"


def test_bytes_are_counted_alike_step_by_step_and_at_once() -> None:
    storage = holding(put("a"), entity("e", content="x" * 200))
    assert storage.used_bytes() > 2 * BLOCK_BYTES
    flush(storage, put("b"), delete("a"), entity("e"))
    storage.tear_batch(storage.arrive(Commit((put("c"), put("d")), ()), "a"), 1)
    assert storage.used_bytes() == holding(put("b"), entity("e")).used_bytes()


def test_searches_do_not_see_rows_written_after_the_horizon() -> None:
    storage = SimStorage()
    flush(storage, entity("e1"), vector("e1", 1, 0), now_ms=10)
    flush(storage, entity("e2"), vector("e2", 1, 0), now_ms=20)
    flush(storage, structs.replace(entity("e1"), body=None), now_ms=20)
    flush(storage, entity("e1"), now_ms=21)
    for query in (ByWords(HOME, "tea", ANYTHING, 9, 1), ByVector(HOME, (1, 0), ANYTHING, 9, 1)):
        for horizon_ms, known in ((None, ["e1", "e2"]), (21, ["e1", "e2"]), (20, ["e2"]), (19, [])):
            storage.horizon_ms = horizon_ms
            assert ids(storage, query) == known
    assert ids(storage, ByFilter(HOME, ("entity",), ANYTHING)) == ["e1", "e2"]


def test_a_row_that_says_the_same_again_is_no_younger() -> None:
    storage = SimStorage()
    flush(storage, entity("e1"), now_ms=10)
    flush(storage, entity("e1", missing=True), now_ms=30)
    storage.horizon_ms = 10
    assert ids(storage, ByWords(HOME, "tea", ANYTHING, 9, 1)) == ["e1"]


# Permanent damage, early acknowledgements, and wiped rows.


def test_a_rotten_row_comes_without_its_body_until_it_is_written_again() -> None:
    storage = holding(put("a"), put("b"))
    storage.rot(at("a"))
    for query in (ByIds((at("a"), at("b"))), ByFilter(HOME, ("head",), ANYTHING)):
        assert [row.body for row in storage.read(1, query).rows] == [None, Head("x")]
    assert storage.read(1, CountRows(HOME, ("head",))).count == 2
    flush(storage, put("a", "y"))
    assert storage.read(1, ByIds((at("a"),))).rows == (Row(at("a"), 2, Head("y")),)


def test_a_rotten_vector_is_seen_by_searches_that_use_it() -> None:
    storage = holding(entity("e1"), vector("e1", 1, 0))
    storage.rot(at("e1", "vector"))
    (by_vector,) = storage.read(1, ByVector(HOME, (1, 0), ANYTHING, 9, 1)).rows
    (by_words,) = storage.read(1, ByWords(HOME, "tea", ANYTHING, 9, 1)).rows
    assert (by_vector.address, by_vector.body) == (at("e1", "entity"), None)
    assert by_words.body is not None
    flush(storage, structs.replace(vector("e1"), body=None))
    assert storage.rotten == {}


def test_of_a_rotten_session_one_bit_is_another_one() -> None:
    where, body = at("s", "session"), SessionRow("s", "ann", "a1", ("a1",), 1, "a1", b"\x00\x00")
    storage = holding(Write(where, body))
    storage.rot(where, (3, 9))
    assert storage.read(1, ByIds((where,))).rows[0].body == structs.replace(body, snapshot=b"\x00\x02")
    storage.check()


def test_a_prediction_equals_the_later_answer_and_changes_nothing() -> None:
    storage = holding(put("a"), put("b"))
    storage.rot(at("b"))
    batch = Commit((put("a"), delete("b"), put("c")), (Expect(at("a"), 1),), "k", request_id=7)
    before = storage.digest()
    predicted = storage.predict_commit(batch)
    assert (storage.digest(), storage.rotten) == (before, {at("b"): None})
    assert storage.flush(storage.arrive(batch, "a"), 0) == predicted
    assert storage.predict_commit(batch) is None


def receipt(key: str) -> Write:
    return Write(at(key, "receipt"), Receipt(key, b"", b"", None, 0))


def test_a_receipt_row_goes_with_its_key_a_day_later() -> None:
    storage = SimStorage()
    flush(storage, put("a"), receipt("k1"), key="k1")
    flush(storage, put("b"), receipt("k2"), key="k2", now_ms=5)
    flush(storage, put("c"), now_ms=RECEIPT_MS_MAX - 1)
    assert [row.address.id for row in storage.live_rows(HOME)] == ["a", "b", "c", "k1", "k2"]
    flush(storage, put("c"), now_ms=RECEIPT_MS_MAX)
    assert [row.address.id for row in storage.live_rows(HOME)] == ["a", "b", "c", "k2"]
    assert storage.receipts.keys() == {"k2"}
    storage.check()


def test_a_receipt_row_that_a_later_batch_has_written_stays_for_its_own_day() -> None:
    storage = SimStorage()
    flush(storage, receipt("k1"), key="k1")
    flush(storage, receipt("k1"), key="another", now_ms=9)
    flush(storage, put("a"), now_ms=RECEIPT_MS_MAX)
    assert [row.address.id for row in storage.live_rows(HOME)] == ["a", "k1"]
    flush(storage, put("a"), now_ms=RECEIPT_MS_MAX + 9)
    assert [row.address.id for row in storage.live_rows(HOME)] == ["a"]


def test_a_wiped_store_is_like_a_new_one() -> None:
    storage = holding(put("a"), entity("e"))
    flush(storage, delete("a"), key="k")
    ticket = storage.arrive(Commit((put("b"),), ()), "a")
    storage.wipe()
    assert storage.flush(ticket, 0) is None
    assert storage.digest() == SimStorage().digest()
    assert flush(storage, put("a"), key="k") == Committed(7, ((at("a"), 1),))


def test_each_change_of_a_row_is_counted() -> None:
    storage = holding(put("a"))
    changes: tuple[Callable[[], object], ...] = (
        lambda: flush(storage, put("a", "y")),
        lambda: flush(storage, delete("a")),
        lambda: storage.put_back({at("b"): Row(at("b"), 1, Head("x"))}, 0),
        storage.wipe,
    )
    for change in changes:
        known_count = storage.change_count
        change()
        assert storage.change_count > known_count
    known_count = storage.change_count
    flush(storage, delete("a"))
    assert storage.change_count == known_count
