"""Goal: a migrator says what it cannot do, goes on after what failed, and believes no strange answer (MIG).

Every short life of its machine is tried in tests/unit/sim/explore/test_migration.py.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from tests.worlds import Pair
from umi_core.errors import BadOption, KeyReused, StorageFailed, TooBusy
from umi_core.ids import fact_id
from umi_core.kelpie import requests as api
from umi_core.kelpie.rows import Archival, Message
from umi_core.limits import BLOCK_BYTES_MAX, OP_COUNT_MAX, PAGE_ROW_COUNT_MAX, READ_PAGE_COUNT_MAX
from umi_core.messages.answers import Committed, EffectFailed, ReadDone, Value, Wake
from umi_core.messages.effects import (
    ByFilter,
    Commit,
    Degraded,
    Done,
    Effect,
    Failed,
    Outcome,
    Read,
    Refused,
    Reply,
    Unknown,
    Write,
)
from umi_core.messages.request import Request
from umi_core.messages.requests import Rebalance, Recall, Remember
from umi_core.migration.migrator import LEGACY, Migrator
from umi_core.migration.requests import (
    AddRow,
    AdvanceMigration,
    CompareStores,
    DropRow,
    ListRows,
    MigrationRequest,
    Mirror,
    NotReady,
    Purge,
    PutRow,
    ReadRow,
    Reconcile,
    RollBack,
    RowsListed,
    StoresCompared,
)
from umi_core.migration.rows import MOVED_KINDS, Moved, MovedKey
from umi_core.rows import Address, Ended, Entity, Row
from umi_core.values import Scope
from umi_sim.machines.limits import lower_limits
from umi_sim.services.storage import SimStorage

SCOPE = Scope("u", "a")
OF = (1, "blocks")
ROW = Moved("blocks/r", "blocks", "x")
REFUSES = EffectFailed(0, "refused")
IN_DOUBT = EffectFailed(0, "unknown")


class Stores:
    """Both stores and a migrator between them; `plan` is what the next questions are answered instead."""

    def __init__(self, page_rows: int = PAGE_ROW_COUNT_MAX) -> None:
        self.stores = {name: SimStorage(page_rows=page_rows) for name in ("main", LEGACY)}
        self.life = 0
        self.plan: list[EffectFailed | None] = []
        self.restart()

    def restart(self) -> None:
        self.life += 1
        self.migrator = Migrator(SCOPE, self.life)

    def ask(self, request: MigrationRequest, *plan: EffectFailed | None) -> Outcome:
        """The outcome; `plan`: how its questions fail, one after the other, None if they do not."""
        self.plan = list(plan)
        effects: Sequence[Effect] = self.migrator.step(0, request)
        while not isinstance(effects[0], Reply):
            assert isinstance(effects[0], Read | Commit)
            effects = self.migrator.step(0, self.answer(effects[0]))
        return effects[0].outcome

    def answer(self, effect: Read | Commit) -> Value:
        failure = self.plan.pop(0) if self.plan else None
        if failure is not None:
            return structs.replace(failure, request_id=effect.request_id)
        storage = self.stores[effect.store]
        if isinstance(effect, Read):
            return storage.read(effect.request_id, effect.query)
        answer = storage.flush(storage.arrive(effect, "a"), 0)
        assert answer is not None
        return structs.replace(answer, request_id=effect.request_id)

    def to(self, phase: str, kind: str = "blocks") -> "Stores":
        for each in WAYS[phase]:
            for work in (Reconcile(1, kind), *(Purge(1, kind),) * 12, AdvanceMigration(1, kind, each)):
                self.ask(work)
        return self


DUAL_READ = ("dual_write", "dual_read")
WAYS = {
    "legacy": (), "dual_write": ("dual_write",), "dual_read": DUAL_READ,
    "umi_primary": (*DUAL_READ, "umi_primary"), "rolling_back": (*DUAL_READ, "rolling_back"),
    "cleanup": (*DUAL_READ, "umi_primary", "cleanup"),
    "done": (*DUAL_READ, "umi_primary", "cleanup", "done"),
}  # fmt: skip
SERVED = [phase for phase in WAYS if phase != "done"]  # in which a migrator writes and reads rows


def put(content: str, own_id: str = "r") -> PutRow:
    return PutRow(*OF, own_id, content)


def keyed(content: str, own_id: str = "r") -> PutRow:
    return PutRow(*OF, own_id, content, "k")


def content(stores: Stores) -> object:
    outcome = stores.ask(ReadRow(*OF, "r"))
    assert isinstance(outcome, Done)
    return outcome.value


def not_ready(phase: str, missing: str = "another phase") -> Refused:
    return Refused(NotReady("blocks", phase, missing))


@pytest.mark.parametrize("phase", SERVED)
def test_what_is_written_is_read_in_every_phase_and_in_the_next_life(phase: str) -> None:
    stores = Stores().to(phase)
    for each in ("tea", "rum"):
        assert stores.ask(put(each)) == Done()
        assert content(stores) == each
        stores.restart()
    assert stores.ask(DropRow(*OF, "r")) == Done()
    assert content(stores) is None


def test_rows_go_all_the_way_and_leave_the_old_store_empty() -> None:
    stores = Stores()
    stores.ask(put("tea"))
    assert stores.ask(AdvanceMigration(*OF)) == Done("dual_write")
    assert stores.ask(AdvanceMigration(*OF)) == not_ready("dual_write", "reconcile: the stores differ")
    assert [stores.ask(Reconcile(*OF)), stores.ask(AdvanceMigration(*OF))] == [Done(), Done("dual_read")]
    assert stores.ask(AdvanceMigration(*OF)) == Done("umi_primary")
    stores.ask(put("rum"))
    assert stores.ask(AdvanceMigration(*OF)) == Done("cleanup")
    assert stores.ask(AdvanceMigration(*OF)) == not_ready("cleanup", "purge: legacy still has rows")
    assert stores.ask(RollBack(*OF)) == not_ready("cleanup")
    stores.ask(Purge(*OF))
    assert stores.ask(AdvanceMigration(*OF)) == Done("done")
    assert stores.ask(AdvanceMigration(*OF)) == not_ready("done")
    assert not stores.stores[LEGACY].rows
    assert blocks(stores) == {"r": "rum"}


def test_the_way_back_waits_for_the_outbox() -> None:
    stores = Stores().to("umi_primary")
    stores.ask(put("tea"))
    assert stores.ask(RollBack(*OF)) == Done("rolling_back")
    waits = not_ready("rolling_back", "mirror: the outbox holds what legacy may not know")
    assert stores.ask(RollBack(*OF)) == waits
    assert [stores.ask(Mirror(*OF)), stores.ask(Mirror(*OF))] == [Done(), Done()]
    assert stores.ask(RollBack(*OF)) == Done("legacy")
    assert content(stores) == "tea"


def add(content: str) -> AddRow:
    return AddRow(1, "messages", content)


def listed(stores: Stores, kind: str = "messages") -> Outcome:
    return stores.ask(ListRows(1, kind))


@pytest.mark.parametrize("phase", SERVED)
def test_messages_are_numbered_and_listed_in_every_phase(phase: str) -> None:
    stores = Stores()
    assert stores.ask(add("a")) == Done("000000000001")
    stores.to(phase, "messages")
    assert stores.ask(add("b")) == Done("000000000002")
    stores.restart()
    assert listed(stores) == Done(RowsListed((("000000000001", "a"), ("000000000002", "b"))))


def test_what_is_added_waits_for_those_before_it() -> None:
    stores = Stores()
    stores.ask(add("a"))
    stores.ask(AdvanceMigration(1, "messages"))
    assert stores.ask(add("b")) == Done("000000000002")
    assert not [where for where in stores.stores["main"].rows if where.kind == "moved"]
    assert stores.ask(Reconcile(1, "messages")) == Done()
    assert stores.ask(add("c")) == Done("000000000003")
    assert len([where for where in stores.stores["main"].rows if where.kind == "moved"]) == 3


def test_a_number_that_was_not_replied_is_given_again() -> None:
    stores = Stores()
    assert isinstance(stores.ask(add("a"), None, None, None, REFUSES), Failed)
    assert isinstance(stores.ask(add("a"), None, REFUSES), Failed)
    assert stores.ask(add("b")) == Done("000000000001")


def test_ids_of_strangers_are_no_numbers() -> None:
    stores = Stores().to("legacy", "messages")
    where = Address(SCOPE, "moved", "messages/x")
    stores.stores[LEGACY].put_back({where: Row(where, 1, Moved(where.id, "messages", "?"))}, 0)
    assert stores.ask(add("a")) == Done("000000000001")


def test_a_list_comes_from_one_store() -> None:
    stores = Stores().to("dual_read")
    stores.ask(put("tea"))
    stores.ask(Mirror(*OF))
    stores.ask(Mirror(*OF))
    tea = RowsListed((("r", "tea"),))
    assert listed(stores, "blocks") == Done(tea)
    instead = stores.ask(ListRows(*OF), REFUSES)
    assert instead == Done(tea, (Degraded("read:legacy", "unavailable"),))
    stores.ask(DropRow(*OF, "r"))
    assert listed(stores, "blocks") == Done(RowsListed(()))


def test_what_no_phase_allows_is_not_ready() -> None:
    for request in (AdvanceMigration(*OF, "done"), RollBack(*OF), Reconcile(*OF), Mirror(*OF), Purge(*OF)):
        assert Stores().ask(request) == not_ready("legacy")
    assert Stores().ask(CompareStores(*OF)) == not_ready("legacy")


@pytest.mark.parametrize(
    ("phase", "request_", "count"),
    [
        ("legacy", ReadRow(*OF, "r"), 1), ("legacy", put("x"), 1), ("dual_read", put("x"), 2),
        ("dual_write", Reconcile(*OF), 3), ("dual_read", Mirror(*OF), 3), ("cleanup", Purge(*OF), 2),
        ("dual_read", CompareStores(*OF), 2), ("dual_write", AdvanceMigration(*OF), 4),
        ("umi_primary", ReadRow(*OF, "r"), 1),
    ],
)  # fmt: skip
def test_each_question_that_fails_ends_the_request_and_nothing_more(
    phase: str, request_: MigrationRequest, count: int
) -> None:
    for at in range(count):
        stores = Stores()
        stores.ask(put("tea"))
        stores.to(phase if phase != "dual_write" else "legacy")
        if phase == "dual_write":
            stores.ask(AdvanceMigration(*OF))
        elif phase == "dual_read":
            stores.ask(put("rum"))
        if isinstance(request_, AdvanceMigration):
            stores.ask(Reconcile(*OF))
        outcome = stores.ask(request_, *(None,) * at, REFUSES)
        assert isinstance(outcome, Failed), (at, outcome)
        assert isinstance(outcome.error, StorageFailed)
        assert isinstance(stores.ask(request_), Done)


def test_nothing_is_done_before_the_phase_is_known() -> None:
    for at in range(3):
        stores = Stores()
        assert isinstance(stores.ask(ReadRow(*OF, "r"), *(None,) * at, REFUSES), Failed)
        assert stores.migrator.tracks["blocks"].machine.phase == ""
        assert stores.ask(ReadRow(*OF, "r")) == Done()


def test_the_outcome_of_a_write_to_the_old_store_is_unknown_until_it_is_read() -> None:
    stores = Stores()
    stores.ask(put("tea"))
    assert stores.ask(put("rum"), IN_DOUBT) == Unknown()  # it looks: not there, but perhaps on its way
    assert stores.ask(put("tea"), IN_DOUBT) == Done()  # it looks: it is there
    assert stores.ask(put("rum"), IN_DOUBT, REFUSES) == Unknown()


def test_while_both_are_written_main_may_lag() -> None:
    for plan in ((None, REFUSES), (None, None, REFUSES), (None, None, IN_DOUBT)):
        stores = Stores().to("dual_write")
        later = Done(None, (Degraded("mirror:later", "unavailable"),))
        assert stores.ask(put("tea"), *plan) == later
        report = stores.ask(CompareStores(*OF))
        assert isinstance(report, Done)
        assert isinstance(report.value, StoresCompared)
        assert not report.value.is_clean


def test_a_write_in_doubt_is_unknown_and_closes_the_fallback() -> None:
    stores = Stores().to("dual_read")
    assert stores.ask(put("tea"), None, IN_DOUBT) == Unknown()
    assert isinstance(stores.ask(ReadRow(*OF, "r"), REFUSES), Failed)
    assert stores.ask(AdvanceMigration(*OF), None, None, IN_DOUBT) == Unknown()
    assert stores.ask(ReadRow(*OF, "r")) == Done()


def test_what_main_lacks_is_read_from_the_old_store() -> None:
    stores = Stores().to("dual_read")
    instead = Done("tea", (Degraded("read:legacy", "unavailable"),))
    where = Address(SCOPE, "moved", "blocks/r")
    stores.stores[LEGACY].put_back({where: Row(where, 1, Moved("blocks/r", "blocks", "tea"))}, 0)
    assert stores.ask(ReadRow(*OF, "r"), REFUSES) == instead  # main does not answer
    assert isinstance(stores.ask(ReadRow(*OF, "r"), REFUSES, REFUSES), Failed)
    assert stores.ask(ReadRow(*OF, "r"), None, REFUSES) == Done()  # main has the truth
    assert stores.ask(ReadRow(*OF, "r")) == instead  # main has no such row
    assert content(stores) == "tea"


def test_a_report_tells_what_differs_and_where() -> None:
    stores = Stores().to("dual_read")
    for own_id, side in (("a", "main"), ("b", LEGACY), ("c", "main"), ("c", LEGACY)):
        where = Address(SCOPE, "moved", f"blocks/{own_id}")
        row = Row(where, 1, Moved(where.id, "blocks", f"{own_id} in {side}"))
        stores.stores[side].put_back({where: row}, 0)
    stores.ask(put("tea"))
    report = StoresCompared("dual_read", 3, 2, ("b",), ("a",), ("c",), ("r",))
    assert stores.ask(CompareStores(*OF)) == Done(report)
    assert not report.is_clean


def test_lives_that_have_one_number_by_mistake_lose_nothing() -> None:
    stores = Stores().to("cleanup")
    for each in ("tea", "rum", "tea"):
        stores.migrator = Migrator(SCOPE, 7)
        assert stores.ask(put(each)) == Done()
        assert content(stores) == each


def test_requests_of_one_kind_wait_for_each_other_and_kinds_do_not() -> None:
    migrator = Migrator(SCOPE, 1)
    assert len(migrator.step(0, put("tea"))) == 1
    assert migrator.step(0, put("rum")) == ()
    assert len(migrator.step(0, PutRow(3, "archival", "r", "x"))) == 1
    for _ in range(OP_COUNT_MAX - 3):
        migrator.step(0, put("x"))
    assert migrator.step(0, put("x")) == (Reply(1, Refused(TooBusy(OP_COUNT_MAX, OP_COUNT_MAX))),)


def test_what_is_wrong_with_a_request_is_refused() -> None:
    (reply,) = Migrator(SCOPE, 1).step(0, PutRow(1, "rows", "r", "x"))
    assert isinstance(reply, Reply)
    assert isinstance(reply.outcome, Refused)
    assert isinstance(reply.outcome.error, BadOption)
    (reply,) = Migrator(SCOPE, 1).step(0, ReadRow(1, "blocks", ""))
    assert reply == Reply(1, Refused(BadOption("id", "", "a text that is not empty")))


def test_what_does_not_come_in_time_is_a_failure_and_late_answers_change_nothing() -> None:
    migrator = Migrator(SCOPE, 1, timeout_ms=5)
    assert migrator.deadline_ms() is None
    (asked,) = migrator.step(0, ReadRow(*OF, "r"))
    assert isinstance(asked, Read)
    assert (migrator.deadline_ms(), migrator.step(4, Wake())) == (5, ())
    (reply,) = migrator.step(5, Wake())
    assert isinstance(reply, Reply)
    assert isinstance(reply.outcome, Failed)
    assert migrator.step(6, ReadDone(asked.request_id)) == ()


@pytest.mark.parametrize(
    "answer",
    [
        ReadDone(1, (Row(Address(SCOPE, "moved", "blocks/r"), 1, None),)),
        ReadDone(1, (Row(Address(Scope("u", "b"), "moved", "blocks/r"), 1, ROW),)),
        ReadDone(1, (Row(Address(SCOPE, "moved", "archival/r"), 1, Moved("archival/r", "archival", "x")),)),
        ReadDone(1, (), "more"), ReadDone(1, (), 7), Committed(1),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_a_failure(answer: Value) -> None:
    migrator = Migrator(SCOPE, 1)
    migrator.step(0, ReadRow(*OF, "r"))
    (reply,) = migrator.step(0, answer)
    assert isinstance(reply, Reply)
    assert isinstance(reply.outcome, Failed)


# Pages.


def add_to_old_store(stores: Stores, count: int) -> list[str]:
    """Put so many messages into the old store; return their ids."""
    ids = [f"{number:012}" for number in range(1, count + 1)]
    bodies = [Moved(f"messages/{own_id}", "messages", f"m{own_id}") for own_id in ids]
    rows = [Row(Address(SCOPE, "moved", body.id), 1, body) for body in bodies]
    stores.stores[LEGACY].put_back({row.address: row for row in rows}, 0)
    return ids


FULL_PAGE = pytest.param(PAGE_ROW_COUNT_MAX, 1_001, marks=pytest.mark.uncounted)


@pytest.mark.parametrize(("page_rows", "count"), [FULL_PAGE, (1, 7), (3, 6)])
def test_rows_that_fill_more_than_one_page_move_all_the_way(page_rows: int, count: int) -> None:
    stores = Stores(page_rows)
    ids = add_to_old_store(stores, count)
    of_log = (1, "messages")
    assert stores.ask(AdvanceMigration(*of_log)) == Done("dual_write")
    missing = StoresCompared("dual_write", 0, count, missing_in_main=tuple(ids))
    assert stores.ask(CompareStores(*of_log)) == Done(missing)
    early = stores.ask(AdvanceMigration(*of_log))
    assert early == Refused(NotReady("messages", "dual_write", "reconcile: the stores differ"))
    assert stores.ask(Reconcile(*of_log)) == Done()
    assert stores.ask(CompareStores(*of_log)) == Done(StoresCompared("dual_write", count, count))
    for phase in ("dual_write", "dual_read"):
        ids.append(f"{len(ids) + 1:012}")
        assert stores.ask(AddRow(*of_log, f"m{ids[-1]}")) == Done(ids[-1]), phase
        assert stores.ask(ReadRow(*of_log, ids[-1])) == Done(f"m{ids[-1]}")
        assert stores.ask(ListRows(*of_log)) == Done(RowsListed(tuple((it, f"m{it}") for it in ids)))
        assert isinstance(stores.ask(AdvanceMigration(*of_log)), Done)
    assert stores.ask(RollBack(*of_log)) == Done("rolling_back")
    assert stores.ask(Mirror(*of_log)) == Done()
    assert stores.ask(RollBack(*of_log)) == Done("legacy")
    assert len(stores.stores[LEGACY].rows) == len(ids)


@pytest.mark.parametrize("at", range(3))
def test_a_page_that_fails_ends_the_read(at: int) -> None:
    stores = Stores(page_rows=2).to("legacy", "messages")
    add_to_old_store(stores, 6)
    stores.ask(ReadRow(1, "messages", "x"))  # a start
    failed = stores.ask(ListRows(1, "messages"), *(None,) * at, REFUSES)
    assert failed == Failed(StorageFailed("get_legacy", "unavailable", 1))


def test_each_page_has_a_question_and_a_time_of_its_own() -> None:
    migrator = Migrator(SCOPE, 1, timeout_ms=5)
    (first,) = migrator.step(0, ReadRow(*OF, "r"))
    page = ReadDone(1, (Row(Address(SCOPE, "moved", "blocks/r"), 1, ROW),), "moved/blocks/r")
    (second,) = migrator.step(4, page)
    assert isinstance(first, Read)
    assert isinstance(second, Read)
    assert isinstance(first.query, ByFilter)
    query = structs.replace(first.query, cursor="moved/blocks/r")
    assert second == structs.replace(first, request_id=2, query=query)
    assert migrator.deadline_ms() == 9
    assert migrator.step(5, structs.replace(page, cursor=None)) == ()  # an answer to the first question
    (reply,) = migrator.step(9, Wake())
    assert reply == Reply(1, Failed(StorageFailed("find", "unavailable", 1)))


def test_a_page_without_a_new_row_is_a_failure() -> None:
    migrator = Migrator(SCOPE, 1)
    migrator.step(0, ReadRow(*OF, "r"))
    page = ReadDone(1, (Row(Address(SCOPE, "moved", "blocks/r"), 1, ROW),), "moved/blocks/r")
    assert isinstance(migrator.step(0, page)[0], Read)
    (reply,) = migrator.step(0, structs.replace(page, request_id=2))
    assert reply == Reply(1, Failed(StorageFailed("find", "unavailable", 1)))


def test_more_pages_than_a_read_may_have_are_named_in_the_error() -> None:
    migrator = Migrator(SCOPE, 1)
    (effect,) = migrator.step(0, ReadRow(*OF, "r"))
    page_count = 0
    while isinstance(effect, Read):
        page_count += 1
        where = Address(SCOPE, "moved", f"blocks/{page_count:05}")
        rows = (Row(where, 1, Moved(where.id, "blocks", "x")),)
        (effect,) = migrator.step(0, ReadDone(effect.request_id, rows, f"moved/{where.id}"))
    assert page_count == READ_PAGE_COUNT_MAX + 1
    assert effect == Reply(1, Failed(StorageFailed("find", "too_many_rows", 1)))


def test_a_batch_that_lands_between_two_pages_is_not_taken_from_the_outbox() -> None:
    """The first page has the row from before the batch, the second the outbox row from after it."""
    stores = Stores().to("dual_read")
    main = stores.stores["main"]
    stores.ask(put("tea"))
    effects = stores.migrator.step(0, put("rum"))
    while not isinstance(effects[0], Commit):
        assert isinstance(effects[0], Read)
        effects = stores.migrator.step(0, stores.answer(effects[0]))
    batch = effects[0]
    stores.migrator.step(0, EffectFailed(batch.request_id, "unknown"))
    main.page_rows = 1
    (read,) = stores.migrator.step(0, Mirror(*OF))
    assert isinstance(read, Read)
    effects = stores.migrator.step(0, stores.answer(read))
    main.flush(main.arrive(batch, "a"), 0)
    while not isinstance(effects[0], Reply):
        assert isinstance(effects[0], Read | Commit)
        effects = stores.migrator.step(0, stores.answer(effects[0]))
    assert isinstance(effects[0].outcome, Failed)
    assert Address(SCOPE, "outbox", "blocks/r") in main.rows
    assert stores.ask(Mirror(*OF)) == Done()
    assert [row.body for row in stores.stores[LEGACY].rows.values()] == [Moved("blocks/r", "blocks", "rum")]


# Request keys.

ONWARDS = [(a, b) for at, a in enumerate(SERVED) for b in SERVED[at:]]


@pytest.mark.parametrize(("before", "after"), ONWARDS)
def test_a_key_that_was_used_in_one_phase_is_used_in_every_later_one(before: str, after: str) -> None:
    stores = Stores().to(before)
    assert stores.ask(keyed("tea")) == Done()
    stores.ask(put("rum"))
    stores.to(after).restart()
    assert stores.ask(keyed("tea")) == Done()
    assert content(stores) == "rum"
    assert stores.ask(keyed("milk")) == Refused(KeyReused("k"))
    assert stores.ask(keyed("tea", "s")) == Refused(KeyReused("k"))


@pytest.mark.parametrize("phase", SERVED)
def test_a_message_is_added_once_under_its_key_and_has_one_id(phase: str) -> None:
    stores = Stores().to(phase, "messages")
    first = stores.ask(AddRow(1, "messages", "hello", "k"))
    stores.ask(AddRow(2, "messages", "hello"))
    assert stores.ask(AddRow(3, "messages", "hello", "k")) == first == Done("000000000001")
    both = RowsListed((("000000000001", "hello"), ("000000000002", "hello")))
    assert listed(stores) == Done(both)


def test_a_row_is_deleted_once_under_a_key() -> None:
    stores = Stores().to("dual_read")
    stores.ask(put("tea"))
    assert stores.ask(DropRow(*OF, "r", "k")) == Done()
    stores.ask(put("rum"))
    assert stores.ask(DropRow(*OF, "r", "k")) == Done()
    assert content(stores) == "rum"


TOLD_LATE = (None, None, None, None, None, None, REFUSES)
LATER = Done(None, (Degraded("mirror:later", "unavailable"),))


@pytest.mark.parametrize("phase", ["legacy", "dual_write"])
def test_a_key_unknown_to_main_is_settled_by_what_the_old_store_shows(phase: str) -> None:
    stores = Stores().to(phase)
    stores.ask(put("x"))
    assert stores.ask(keyed("tea"), *TOLD_LATE) == LATER
    stores.restart()
    stores.ask(put("rum"))
    assert stores.ask(keyed("tea")) == Done()
    assert content(stores) == "rum"


def test_a_key_whose_write_did_not_happen_may_be_used() -> None:
    stores = Stores().to("dual_write")
    refused_by_legacy = (None, None, None, None, REFUSES)
    assert isinstance(stores.ask(keyed("tea"), *refused_by_legacy), Failed)
    stores.ask(put("rum"))
    assert stores.ask(keyed("tea")) == Done()
    assert content(stores) == "tea"


def test_until_a_key_is_settled_its_row_waits_for_main_and_others_do_not() -> None:
    stores = Stores().to("dual_write")
    stores.ask(put("x"))
    assert stores.ask(keyed("tea"), None, None, None, None, IN_DOUBT, REFUSES) == Unknown()
    assert stores.ask(put("y"), REFUSES) == Failed(StorageFailed("key_main", "unavailable", 1))
    assert stores.ask(put("y", "s"), None, REFUSES) == LATER


def test_what_is_so_already_is_noted_under_its_key_and_the_old_store_is_not_written() -> None:
    stores = Stores().to("dual_write")
    stores.ask(put("tea"))
    assert stores.ask(keyed("tea"), None, None, None, IN_DOUBT) == Unknown()
    assert stores.ask(keyed("tea")) == Done()
    stores.ask(put("rum"))
    assert stores.ask(keyed("tea")) == Done()
    assert content(stores) == "rum"


def test_a_key_comes_again_before_anything_else_and_has_the_outcome_that_the_old_store_shows() -> None:
    stores = Stores()
    stores.ask(put("x"))
    assert stores.ask(keyed("tea"), *TOLD_LATE) == LATER
    assert stores.ask(keyed("tea")) == Done()
    assert stores.ask(keyed("milk")) == Refused(KeyReused("k"))


NOT_BEGUN = [
    ((REFUSES,), "key_seen"), ((None, REFUSES), "key_main"), ((None, None, REFUSES), "key_legacy"),
    ((None, None, None, REFUSES), "key_begun"), ((None, None, None, IN_DOUBT), "key_begun"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "step"), NOT_BEGUN)
def test_a_key_that_is_not_begun_leaves_all_as_it_was(
    plan: tuple[EffectFailed | None, ...], step: str
) -> None:
    stores = Stores().to("dual_write")
    stores.ask(put("x"))
    assert stores.ask(keyed("tea"), *plan) == Failed(StorageFailed(step, "unavailable", 1))
    assert content(stores) == "x"
    assert stores.ask(keyed("tea")) == Done()


def test_what_main_has_received_meanwhile_is_not_sent_again() -> None:
    stores = Stores()
    stores.ask(put("x"))
    assert stores.ask(keyed("tea"), *TOLD_LATE) == LATER
    unaware = stores.migrator
    stores.restart()
    stores.ask(put("x"))
    stores.migrator = unaware
    assert stores.ask(put("y")) == Done()
    assert content(stores) == "y"


def test_what_was_on_its_way_to_main_when_a_key_was_looked_for_is_not_done_again() -> None:
    stores = Stores()
    stores.ask(add("x"))
    hello = AddRow(1, "messages", "hello", "k")
    assert stores.ask(hello, *TOLD_LATE) == Done("000000000002", LATER.degraded)
    (seen,) = stores.migrator.step(0, hello)
    assert isinstance(seen, Read)
    (effect,) = stores.migrator.step(0, stores.answer(seen))
    begun, key = (Address(SCOPE, kind, "messages/k") for kind in ("moved_begun", "moved_key"))
    landed = Write(key, MovedKey("messages/k", "messages", "000000000002", "hello"))
    stores.answer(Commit((Write(begun, None), landed), (), "late"))
    while not isinstance(effect, Reply):
        assert isinstance(effect, Read | Commit)
        (effect,) = stores.migrator.step(0, stores.answer(effect))
    assert effect.outcome == Failed(StorageFailed("key_begun", "unavailable", 1))
    assert stores.ask(hello) == Done("000000000002")
    assert listed(stores) == Done(RowsListed((("000000000001", "x"), ("000000000002", "hello"))))


def test_a_key_that_was_begun_in_the_old_store_is_settled_in_the_new_one() -> None:
    stores = Stores().to("dual_write")
    stores.ask(put("x"))
    assert stores.ask(keyed("tea"), *TOLD_LATE) == LATER
    stores.to("dual_read")
    assert stores.ask(keyed("tea")) == Done()
    stores.ask(put("rum"))
    assert stores.ask(keyed("tea")) == Done()
    assert content(stores) == "rum"


# Arrival: at `done` the memory itself has what the old server had.

MESSAGES, ARCHIVAL = (1, "messages"), (1, "archival")


def memory_of(stores: Stores) -> Pair:
    return Pair(storage=stores.stores["main"], scope=SCOPE, now_ms=9).run()


def shown(memory: Pair, request: Request) -> Any:
    outcome = memory.ask(request)
    assert isinstance(outcome, Done), outcome
    return outcome.value


def blocks(stores: Stores) -> dict[str, str]:
    return {it.label: it.value for it in shown(memory_of(stores), api.ListBlocks(1)).blocks}


def messages(stores: Stores) -> list[Message]:
    return [*shown(memory_of(stores), api.ListMessages(1)).messages]


def records(stores: Stores) -> list[Archival]:
    return [*shown(memory_of(stores), api.ListArchival(1)).records]


def test_at_the_end_the_memory_itself_answers_with_all_that_has_moved() -> None:
    stores = Stores()
    stores.ask(PutRow(*OF, "human", "Ann likes tea."))
    stores.ask(AddRow(*MESSAGES, "hello"))
    stores.ask(PutRow(*ARCHIVAL, "x1", "Ann moved to Lisbon."))
    for kind in MOVED_KINDS:
        stores.to("done", kind)
    assert blocks(stores) == {"human": "Ann likes tea."}
    assert [(it.role, it.content) for it in messages(stores)] == [("user", "hello")]
    assert [it.content for it in records(stores)] == ["Ann moved to Lisbon."]
    memory = memory_of(stores)
    assert [it.content for it in shown(memory, Recall(4, "Lisbon")).hits] == ["Ann moved to Lisbon."]
    assert "Ann likes tea." in shown(memory, api.BuildSystemPrompt(5)).text
    kinds = [row.address.kind for row in memory.storage.live_rows(SCOPE)]
    assert {"moved", "moved_key", "moved_begun", "outbox"} & {*kinds} == set()


def test_once_the_memory_has_the_rows_the_migrator_sends_to_it() -> None:
    stores = Stores().to("done")
    to_memory = not_ready("done", "a request to the memory itself, which has these rows")
    for request in (put("x"), DropRow(*OF, "r"), ReadRow(*OF, "r"), ListRows(*OF), RollBack(*OF)):
        assert stores.ask(request) == to_memory
    assert stores.ask(AdvanceMigration(*OF)) == not_ready("done")


@pytest.mark.uncounted
@pytest.mark.parametrize("failure", [REFUSES, IN_DOUBT])
@pytest.mark.parametrize("at", range(11))
def test_a_hand_over_that_is_cut_off_anywhere_loses_and_doubles_nothing(
    at: int, failure: EffectFailed
) -> None:
    with lower_limits({"hand_over_row_count_max": 2}):
        stores = Stores()
        for number in range(5):
            stores.ask(AddRow(*MESSAGES, f"m{number}", f"k{number}"))
        stores.to("cleanup", "messages")
        for _ in range(6):
            stores.ask(Purge(*MESSAGES))
        stores.ask(AdvanceMigration(*MESSAGES), *(None,) * at, failure)
        stores.restart()
        if at == 10:
            assert stores.ask(ListRows(*MESSAGES)) == Refused(
                NotReady("messages", "handing_over", "a request to the memory itself, which has these rows")
            )
        stores.ask(AdvanceMigration(*MESSAGES))
    assert [(it.seq, it.content) for it in messages(stores)] == [(n + 1, f"m{n}") for n in range(5)]


def test_a_block_without_a_place_is_named_before_there_is_no_way_back() -> None:
    stores = Stores()
    for own_id, text in (("a/b", "x"), ("Human", "y"), ("human", "z"), ("big", "x" * BLOCK_BYTES_MAX)):
        stores.ask(put(text, own_id))
    stores.to("umi_primary")
    outcome = stores.ask(AdvanceMigration(*OF))
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, NotReady)
    missing = outcome.error.missing
    assert missing.startswith("a place in core for 3 of 4: a/b (not a label: a/b")
    assert "human (label taken: human is the block blk_" in missing
    assert "big (core memory full: " in missing
    for own_id in ("a/b", "human", "big"):
        stores.ask(DropRow(*OF, own_id))
    stores.to("done")
    assert blocks(stores) == {"human": "y"}


def test_blocks_of_the_memory_stay_and_a_label_that_it_has_is_named() -> None:
    stores = Stores()
    stores.ask(put("theirs", "plans"))
    stores.to("umi_primary")
    memory_of(stores).ask(api.CreateBlock(1, "plans", "ours"))
    assert "plans (label taken: plans is the block" in str(stores.ask(AdvanceMigration(*OF)))
    stores.ask(DropRow(*OF, "plans"))
    stores.ask(put("theirs", "todo"))
    stores.to("cleanup")
    stores.to("done")
    assert blocks(stores) == {"plans": "ours", "todo": "theirs"}


def test_the_first_edit_of_a_block_that_has_moved_records_its_text() -> None:
    stores = Stores()
    stores.ask(put("tea", "plans"))
    memory = memory_of(stores.to("done"))
    written = shown(memory, api.AppendToBlock(1, "plans", "rum", "user"))
    changes = shown(memory, api.BlockHistory(2, written.id)).changes
    assert [(it.version, it.change, it.text) for it in changes] == [
        (1, "imported", "tea"), (2, "appended", "tea\nrum"),
    ]  # fmt: skip


SAID = '{"role": "assistant", "content": "hi", "at": "1970-01-01T00:00:00.002Z"}'
CALLED = '{"role": "tool", "content": "", "tool_name": "f", "tool_return": "7"}'
PLAIN = (
    "hello", "", "{}", "[1]", '{"role": "x", "content": "hi"}', '{"role": "user"}',
    '{"role": "user", "content": "hi", "mood": "good"}', '{"role": "user", "content": "hi", "at": "noon"}',
    '{"role": "user", "content": "hi", "at": 7}', '{"role": "user", "content": "hi", "at": "1969-01-01"}',
)  # fmt: skip


def test_a_message_is_json_as_on_the_wire_or_the_text_of_the_user() -> None:
    stores = Stores()
    for text in (*PLAIN, CALLED, SAID):
        stores.ask(add(text))
    stores.to("done", "messages")
    shown = [(it.role, it.content, it.details, it.at_ms) for it in messages(stores)]
    assert shown[0] == ("assistant", "hi", (), 2)  # the one that tells its time is before all others
    assert shown[1:-1] == [("user", text, (), 0) for text in PLAIN]
    assert shown[-1] == ("tool", "", (("tool_name", "f"), ("tool_return", "7")), 0)


def test_a_record_is_json_as_the_wire_has_it_or_a_text() -> None:
    stores = Stores()
    of_wire = (
        '{"content": "Ann sings.", "tags": ["x"], "metadata": {"a": "b"}, "at": "1970-01-01T00:00:00.002Z"}'
    )
    no_records = (
        "Tom runs.", "", '{"content": ""}', '{"content": "x", "tags": "y"}', '{"content": "x", "tags": [""]}',
        '{"content": 7}', '{"content": "x", "metadata": []}', '{"content": "x", "metadata": {"a": 1}}',
    )  # fmt: skip
    for number, text in enumerate((*no_records, of_wire)):
        stores.ask(PutRow(*ARCHIVAL, f"{number}", text))
    stores.to("done", "archival")
    first, *others = records(stores)
    assert (first.content, first.tags, first.metadata, first.at_ms) == (
        "Ann sings.",
        ("x",),
        (("a", "b"),),
        2,
    )
    assert [(it.content, it.tags, it.at_ms) for it in others] == [(text, (), 0) for text in no_records]


def test_a_fact_of_records_that_have_moved_leaves_with_the_last_of_them() -> None:
    stores = Stores()
    texts = ("Ann sings. Bob runs.", "Ann sings. Ann paints.")
    for number, text in enumerate(texts):
        stores.ask(PutRow(*ARCHIVAL, f"{number}", text))
    memory = memory_of(stores)
    shown(memory, Remember(0, "Bob runs."))  # the plain model of tests names Bob
    memory = memory_of(stores.to("done", "archival"))
    bodies = [row.body for row in memory.rows("entity") if isinstance(row.body, Entity)]
    both = ("arc_000000000001", "arc_000000000002")
    notes = {it.content: it.sources for it in bodies if it.type == "note"}
    assert notes == {"Ann sings.": both, "Bob runs.": both[:1], "Ann paints.": both[1:]}
    shown(memory, api.DeleteArchival(1, both[0]))
    remaining = {
        it.content: it.sources for row in memory.rows("entity") if isinstance(it := row.body, Entity)
    }
    assert {key: value for key, value in remaining.items() if value} == {
        "Ann sings.": both[1:], "Ann paints.": both[1:],
    }  # fmt: skip
    shown(memory, Rebalance(2))
    assert len(memory.rows("vector")) == len(memory.rows("entity"))


def create_note(text: str) -> Entity:
    return Entity(fact_id(SCOPE, (), text), "note", text, text, 1, 500_000, 500_000, "facts", 0, 0)


def test_a_note_that_had_ended_is_current_again() -> None:
    stores = Stores()
    note = create_note("Ann sings.")
    where = Address(SCOPE, "ended", note.id)
    stores.stores["main"].put_back({where: Row(where, 1, Ended(note.id, note, "fct_x", "update", 1))}, 0)
    stores.ask(PutRow(*ARCHIVAL, "x", "Ann sings."))
    memory = memory_of(stores.to("done", "archival"))
    (fact,) = (row.body for row in memory.rows("entity"))
    assert isinstance(fact, Entity)
    assert (fact.id, fact.version, fact.sources) == (note.id, 2, ("arc_000000000001",))
    assert memory.rows("ended") == []


def test_what_the_memory_writes_meanwhile_is_not_overwritten() -> None:
    stores = Stores()
    stores.ask(add("moved"))
    stores.to("cleanup", "messages")
    stores.ask(Purge(*MESSAGES))
    effects = stores.migrator.step(0, AdvanceMigration(*MESSAGES))
    while not (isinstance(effects[0], Commit) and len(effects[0].writes) > 1):
        assert isinstance(effects[0], Read | Commit)
        effects = stores.migrator.step(0, stores.answer(effects[0]))
    memory_of(stores).ask(api.AddMessages(1, ((("role", "user"), ("content", "ours")),)))
    effects = stores.migrator.step(0, stores.answer(effects[0]))
    assert isinstance(effects[0], Reply)
    assert isinstance(effects[0].outcome, Failed)
    assert stores.ask(AdvanceMigration(*MESSAGES)) == Done("done")
    assert [it.content for it in messages(stores)] == ["ours", "moved"]


@pytest.mark.parametrize("phase", WAYS)
def test_a_deleted_agent_leaves_nothing_of_a_move_and_one_that_goes_on_fails(phase: str) -> None:
    stores = Stores()
    stores.ask(keyed("tea"))
    stores.to(phase)
    stores.ask(ReadRow(*OF, "r"))  # so that the migrator knows its phase
    memory = memory_of(stores)
    assert isinstance(memory.ask(api.DeleteAgent(1)), Done)
    shown(memory, api.OpenAgent(2))
    kinds = [row.address.kind for row in memory.storage.live_rows(SCOPE)]
    assert sorted(dict.fromkeys(kinds)) == ["epoch", "receipt"]
    assert shown(memory, api.ListBlocks(3)).blocks == ()
    if phase not in ("legacy", "dual_write", "done"):
        assert isinstance(stores.ask(put("rum")), Failed)


def test_rows_do_not_move_into_an_agent_that_was_deleted() -> None:
    stores = Stores()
    stores.ask(put("tea"))
    memory_of(stores).ask(api.DeleteAgent(1))
    stores.to("umi_primary")
    deleted = not_ready("umi_primary", "an open agent: this one was deleted")
    assert stores.ask(AdvanceMigration(*OF)) == deleted
