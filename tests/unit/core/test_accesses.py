"""Goal: accesses and the session change for a reason and by statements; a scan looks at its whole page."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair, check_replies, check_step, id_of_fact
from umi_core.config import Config
from umi_core.data import SET_LATER, Data
from umi_core.engine.middleware import Interceptor, Refuse
from umi_core.kelpie.requests import AddArchival
from umi_core.limits import ACCESS_PRUNE_MS, SCAN_COUNT_MAX
from umi_core.messages.answers import Committed, EffectFailed, ModelReplied, ReadDone, Value, Wake
from umi_core.messages.effects import Asked, AskModel, Commit, Done, FailureKind, Read, Reply, Write
from umi_core.messages.requests import Blocks, CreateSession, Rebalance, Recall, Remember, SetBlock
from umi_core.messages.results import LevelHit, Recalled, Resolution, Retrieved
from umi_core.rows import AccessRecord, Address, Entity
from umi_core.state import State
from umi_core.tiers.archive import AccessRecords, AccessTable
from umi_core.tiers.session import SessionInfo
from umi_core.workflows import BUILT_IN
from umi_core.workflows.commits import Plan
from umi_sim.judge.state import StateSnapshot, accesses, before_step
from umi_sim.judge.state.accesses import (
    check_access_source,
    check_counted,
    check_kept,
    check_recorded,
    check_scan,
    check_session_source,
)
from umi_sim.judge.state.snapshots import OperationSnapshot
from umi_sim.record.broken import Broken

TEA, SNORES = id_of_fact("Alice", "likes tea"), id_of_fact("Bob", "snores")


def caught(check: Callable[[], None]) -> str:
    """The rule under which it is caught."""
    with pytest.raises(Broken) as broken:
        check()
    return broken.value.rule


class Watched(Pair):
    """Every step and what it replied are judged; `before` is how the last one found the memory."""

    before: StateSnapshot = SET_LATER
    value: Value = SET_LATER
    new_replies: Sequence[Reply] = ()

    def step(self, value: Value) -> list[Asked]:
        self.before, self.value, known = before_step(self.memory.state), value, list(self.replies)
        asked = super().step(value)
        self.new_replies = [reply for op_id, reply in self.replies.items() if op_id not in known]
        self.judge()
        return asked

    def judge(self) -> None:
        check_step(self.before, self.value, self.memory.state)
        check_replies(self.before, self.value, self.memory.state, self.new_replies)


def watched(**config: int) -> Watched:
    pair = Watched(config=structs.replace(QUIET, **config))
    pair.run()
    return pair


def count(pair: Pair, key: str, more: int) -> None:
    """A memory counts accesses that were not reported, or forgets some."""
    tiers = pair.memory.state.tiers
    record = tiers.access.records[key]
    records = {**tiers.access.records, key: structs.replace(record, count=record.count + more)}
    tiers.access = structs.replace(tiers.access, records=records)


def test_a_process_counts_what_it_replies() -> None:
    pair = watched(promote_score_min_ppm=0)
    pair.ask(Remember(1, "Alice likes tea. Bob snores", request_key="r"))
    pair.ask(Remember(2, "Alice likes tea. Bob snores", request_key="r"))
    pair.ask(Recall(3, "tea"))
    pair.ask(Rebalance(4))
    pair.ask(CreateSession(5))
    pair.ask(SetBlock(6, "human", "x"))
    assert pair.memory.state.tiers.access.records[TEA].count == 2
    assert pair.memory.state.tiers.access.records[SNORES].count == 1


@pytest.mark.parametrize("more", [-1, 1])
@pytest.mark.parametrize("request_", [Remember(2, "Alice likes tea"), Recall(2, "tea")])
def test_each_hit_and_each_fact_counts_once(request_: Remember | Recall, more: int) -> None:
    pair = watched()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    pair.ask(request_)
    count(pair, TEA, more)
    assert caught(pair.judge) == "access-truth"


def test_no_other_entity_counts() -> None:
    pair = watched()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    pair.ask(Recall(2, "tea"))
    count(pair, SNORES, 1)
    assert caught(pair.judge) == "access-truth"


def test_a_step_loses_no_record() -> None:
    pair = watched()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    pair.ask(Recall(2, "tea"))
    tiers = pair.memory.state.tiers
    records = {key: it for key, it in tiers.access.records.items() if key != SNORES}
    tiers.access = structs.replace(tiers.access, records=records)
    with pytest.raises(Broken, match="left without a reason"):
        pair.judge()


def test_accesses_are_judged_where_interceptors_look_on_but_not_where_one_answers() -> None:
    """A value that an interceptor substitutes does not count as an answer of the world (law 8)."""
    pair = watched()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.memory.intercept(Interceptor("h"))
    pair.ask(Recall(2, "tea"))
    count(pair, TEA, 1)
    assert caught(pair.judge) == "access-truth"
    pair.memory.state.count("hook substituted")
    pair.memory.state.count("hook failed", -1)  # as many notes as before
    pair.judge()


def test_each_subject_of_a_record_is_accessed_once() -> None:
    pair = watched()
    pair.ask(AddArchival(1, "Alice likes tea", request_key="k", extract=True))
    assert pair.memory.state.tiers.access.records[TEA].count == 1
    count(pair, TEA, 1)
    assert caught(pair.judge) == "access-truth"
    count(pair, TEA, -1)
    pair.ask(AddArchival(2, "Alice likes tea", request_key="k", extract=True))
    assert pair.memory.state.tiers.access.records[TEA].count == 1


def test_a_lost_plan_counts_before_its_reply() -> None:
    """Two attempts, the first one wins: the memory learns with the second answer, and reads core before it
    replies."""
    pair = watched()
    pair.step(Remember(1, "Alice likes tea"))
    pair.land(pair.until(Commit))
    pair.fail("unknown")
    pair.run()
    assert isinstance(pair.replies[1].outcome, Done)


def test_what_was_forgotten_meanwhile_counts_no_more() -> None:
    pair = watched()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Recall(2, "tea"))
    tiers = pair.memory.state.tiers
    tiers.access = structs.replace(tiers.access, records={}, forgotten=(TEA,))
    pair.judge()


def test_an_outcome_without_a_value_tells_of_no_access() -> None:
    pair = watched()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Recall(2, "tea"))
    pair.new_replies = [Reply(2, Done(Recalled((), Resolution("clear", "tea"), ("tea",))))]
    assert caught(pair.judge) == "access-truth"
    pair.new_replies = []
    pair.judge()  # not at its end yet


def test_the_session_changes_when_something_was_learnt_and_never_else() -> None:
    pair = watched()
    pair.step(Remember(1, "Alice likes tea"))
    pair.before, pair.value, pair.new_replies = before_step(pair.memory.state), Wake(), []
    session = pair.memory.state.tiers.session
    pair.memory.state.tiers.session = structs.replace(session, interaction_count=1)
    assert caught(pair.judge) == "session-keys-true"


def test_what_asks_nothing_of_the_world_changes_neither_accesses_nor_the_session() -> None:
    pair = watched()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Blocks(2))
    session = pair.memory.state.tiers.session
    pair.memory.state.tiers.session = structs.replace(session, interaction_count=9)
    assert caught(pair.judge) == "session-keys-true"
    pair.step(Blocks(3))
    count(pair, TEA, 1)
    assert caught(pair.judge) == "access-truth"


class Wish(Data):
    """A request under this name."""

    op_id: str


def waiting(
    workflow: str, request: Wish | None = None, facts: Mapping[str, object] | None = None
) -> OperationSnapshot:
    """An operation of this workflow, which has waited for the value of a step."""
    return OperationSnapshot(
        pinned=(workflow, 1, 0),
        place=(0, 0, 0),
        attempt=1,
        waiting=1,
        due_ms=None,
        asked=None,
        request=request,
        facts=facts or {},
        reported_counts=(0, 0),
        calls=(),
        yields=(0, 0),
    )


WORKFLOWS = (
    "recall", "recover", "forget", "remember", "load_session", "create_session", "save_session", "get_entity",
)  # fmt: skip


@pytest.mark.parametrize("workflow", ["", *WORKFLOWS])
@pytest.mark.parametrize("value", [Wake(), ModelReplied(1, ""), ReadDone(1), Committed(1)])
def test_only_what_learns_may_count_or_speak(workflow: str, value: Value) -> None:
    operation = waiting(workflow) if workflow else None
    counts = {ReadDone: ("recall", "recover", "forget"), Committed: WORKFLOWS}.get(type(value), ())
    with nullcontext() if workflow in counts else pytest.raises(Broken, match="access-truth"):
        check_access_source(AccessTable(), crowd(1), value, operation)
    speaks = {
        ReadDone: ("recall", "load_session"),
        Committed: ("remember", "create_session", "save_session", "load_session"),
    }.get(type(value), ())
    with nullcontext() if workflow in speaks else pytest.raises(Broken, match="session-keys-true"):
        check_session_source(SessionInfo(), SessionInfo(interaction_count=1), value, operation)


def test_each_search_that_ends_in_a_step_counts_its_own_hits() -> None:
    mine, other = (waiting("retrieve", request=Wish(op_id)) for op_id in ("o1", "o2"))
    found = (("entities", "ent_000"), ("categories", "cat_000"))
    hits = tuple(LevelHit(level, key, 1, 0, None, "", "tea") for level, key in found)
    ended = Done(Retrieved("tea", None, hits, ("entities",), (), "exhausted", "score", ""))
    replies = (Reply("o1", ended), Reply("o2", ended))
    once = crowd(1)
    twice = structs.replace(
        once, records={key: structs.replace(it, count=2) for key, it in once.records.items()}
    )
    check_counted(AccessTable(), once, mine, replies[:1], [])
    check_counted(AccessTable(), once, None, replies[1:], [ended])
    check_counted(AccessTable(), twice, mine, replies, [ended])
    for now, before, late in (
        (twice, mine, []),
        (once, mine, [ended]),
        (once, None, []),
        (twice, None, [ended]),
    ):
        with pytest.raises(Broken, match="how often each entity was accessed"):
            check_counted(AccessTable(), now, before, replies, late)
    check_counted(AccessTable(), twice, other, (), [ended])  # the other one has not come to its end


def test_a_record_stays_unless_it_is_forgotten_stale_or_there_is_no_room() -> None:
    was, without = crowd(3), crowd(2)
    (lost,) = was.records.keys() - without.records.keys()
    now_ms = was.records[lost].last_ms
    with pytest.raises(Broken, match="left without a reason"):
        check_kept(was, without, now_ms, None)
    check_kept(was, structs.replace(without, forgotten=(lost,)), now_ms, None)
    check_kept(was, without, now_ms + ACCESS_PRUNE_MS + 1, None)
    check_kept(without, was, now_ms, None)
    plan = Plan(now_ms, pruned=(was.records[lost],))
    check_kept(was, without, now_ms, waiting("rebalance", facts={"plan": plan}))
    with pytest.raises(Broken, match="left without a reason"):
        check_kept(was, without, now_ms, waiting("rebalance", facts={"plan": Plan(now_ms)}))


@pytest.fixture
def room_for_three(monkeypatch: pytest.MonkeyPatch) -> AccessTable:
    """Three records, the first of which was unused for longest."""
    monkeypatch.setattr(accesses, "ACCESS_RECORD_COUNT_MAX", 3)
    return AccessTable(
        AccessRecords({key: AccessRecord(key, "person", 0, 1, ms, ms) for ms, key in enumerate("abc", 1)})
    )


def changed(table: AccessTable, put: str, gone: str = "") -> AccessTable:
    """Accessed at 9 ms, and without these."""
    records = {key: it for key, it in table.records.items() if key not in gone}
    return structs.replace(
        table, records={**records, **{key: AccessRecord(key, "person", 0, 1, 9, 9) for key in put}}
    )


@pytest.mark.parametrize(
    ("put", "gone", "in_core", "is_sound"),
    [
        ("d", "a", "", True), ("d", "b", "", False), ("d", "ab", "", False), ("de", "ab", "", True),
        ("d", "b", "a", True), ("d", "a", "a", False), ("da", "b", "", True), ("da", "c", "", False),
    ],
)  # fmt: skip
def test_where_there_is_no_room_the_longest_unused_outside_core_leave(
    room_for_three: AccessTable, put: str, gone: str, in_core: str, is_sound: bool
) -> None:
    check = partial(check_kept, room_for_three, changed(room_for_three, put, gone), 9, None)
    with nullcontext() if is_sound else pytest.raises(Broken, match="left without a reason"):
        check([in_core])


def test_before_and_after_the_step_others_may_be_in_core(room_for_three: AccessTable) -> None:
    for gone in ("a", "b"):
        check_kept(room_for_three, changed(room_for_three, "d", gone), 9, None, ["", "a"])


@pytest.mark.parametrize(
    ("put", "workflow", "in_core", "is_sound"),
    [
        ("d", "recall", "", False), ("d", "recall", "abc", True), ("abcd", "recall", "", True),
        ("abcd", "recover", "", False), ("abcd", "recover", "abcd", True),
    ],
)  # fmt: skip
def test_there_are_more_records_only_if_they_are_in_core_or_just_accessed(
    room_for_three: AccessTable, put: str, workflow: str, in_core: str, is_sound: bool
) -> None:
    now = changed(room_for_three, put)
    with nullcontext() if is_sound else pytest.raises(Broken, match="access records") as broken:
        check_kept(room_for_three, now, 9, waiting(workflow), [in_core])
    assert broken is None or broken.value.rule == "tables-bounded"


# What the score needs.


def named(importance_ppm: int, kind: str = "person") -> Entity:
    return Entity(TEA, kind, "Alice", "x", 1, importance_ppm, 500_000, "human", 0, 0)


def test_a_record_has_the_importance_of_its_request() -> None:
    where = Address(SCOPE, "access", TEA)
    writes = [Write(where, AccessRecord(TEA, "person", 900_000, 1, 0, 0)), Write(where, None)]
    check_recorded([named(900_000)], writes)
    check_recorded([], writes)
    assert caught(lambda: check_recorded([named(500_000)], writes)) == "promotion-fair"
    assert caught(lambda: check_recorded([named(900_000, "task")], writes)) == "promotion-fair"


# Scans.


def crowd(count: int, cursor: str = "") -> AccessTable:
    ids = [f"ent_{n:03}" for n in range(count)]
    return AccessTable(
        AccessRecords({key: AccessRecord(key, "person", 0, 1, 0, 0) for key in ids}), {}, cursor
    )


def scanning(table: AccessTable) -> State:
    """A rebalance has just asked for the rows of its page."""
    pair = Pair().run()
    pair.memory.state.tiers.access = table
    pair.step(Rebalance(1))
    pair.until(Read)
    return pair.memory.state


def judged(state: State, inside: tuple[str, ...] = ()) -> None:
    (operation,) = state.operations.values()
    check_scan(operation, (state.tiers.access,), inside, state.seen_ms, state.config)


@pytest.mark.parametrize("cursor", ["", "ent_050"])
def test_a_scan_looks_at_the_next_page(cursor: str) -> None:
    judged(scanning(crowd(SCAN_COUNT_MAX + 60, cursor)))


def test_a_scan_that_passes_over_a_record_is_caught() -> None:
    state = scanning(crowd(3))
    (operation,) = state.operations.values()
    operation.facts["others"] = ("ent_000", "ent_001")
    assert caught(lambda: judged(state)) == "promotion-fair"
    judged(state, inside=("ent_002",))
    operation.plan_count = 2  # planned again, of the records as they were
    judged(state)


def test_a_scan_is_judged_in_the_step_that_asks() -> None:
    pair = Pair().run()
    pair.memory.state.tiers.access = crowd(3)
    before = before_step(pair.memory.state)
    pair.step(Rebalance(1))
    assert isinstance(pair.pending[0], Read)
    check_step(before, Rebalance(1), pair.memory.state)
    (operation,) = pair.memory.state.operations.values()
    operation.facts["others"] = ("ent_000", "ent_001")
    assert caught(lambda: check_step(before, Rebalance(1), pair.memory.state)) == "promotion-fair"


def test_a_scan_that_begins_anew_too_soon_is_caught() -> None:
    state = scanning(crowd(SCAN_COUNT_MAX + 1))
    (operation,) = state.operations.values()
    operation.facts["cursor"] = ""
    assert caught(lambda: judged(state)) == "promotion-fair"


def test_candidates_follow_from_record_and_time() -> None:
    table = crowd(3)
    records = {**table.records, "ent_001": AccessRecord("ent_001", "person", 1_000_000, 9, 0, 0)}
    state = scanning(structs.replace(table, records=records))
    (operation,) = state.operations.values()
    assert operation.facts["candidates"] == ("ent_001",)
    judged(state)
    operation.facts["candidates"], operation.facts["others"] = ("ent_000", "ent_001"), ("ent_002",)
    assert caught(lambda: judged(state)) == "promotion-pure"
    judged(state, inside=("ent_000",))
    operation.facts["candidates"], operation.facts["others"] = (), ("ent_000", "ent_001", "ent_002")
    assert caught(lambda: judged(state)) == "promotion-pure"


# Notices about interceptors, and impossible failures.


@pytest.mark.parametrize("kind", ["unavailable", "conflict", "full"])
def test_a_failure_that_cannot_be_is_judged_as_it_is_taken(kind: FailureKind) -> None:
    pair = watched()
    pair.step(Remember(1, "Alice naps"))
    asked = pair.until(AskModel)
    pair.pending.clear()
    pair.step(EffectFailed(asked.request_id, kind, 4_000))
    assert isinstance(pair.run().replies[1].outcome, Done)


def test_an_operation_that_ends_in_the_step_it_began_sends_no_notice() -> None:
    refuses = Interceptor("no", before=lambda *_: Refuse("no"), workflows=("rebalance",))
    pair = Watched(config=Config(), registry=BUILT_IN.with_interceptor(refuses))
    pair.run()
    pair.ask(Remember(1, "Alice naps"))
    pair.now_ms = pair.memory.state.tiers.access.ran_ms + 59_000
    pair.step(Remember(2, "Bob naps"))
    pair.hold(AskModel)
    pair.wake(pair.now_ms + 1_000)
    assert pair.memory.state.counters["rebalance failed"] == 1
