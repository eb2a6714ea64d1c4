"""Goal: what holds is left alone, and what is broken on purpose is caught under the name of its rule."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.worlds import (
    QUIET,
    SCOPE,
    Pair,
    check_replies,
    check_step,
    id_of_fact,
    put_question,
    saying,
    verdict,
)
from umi_core.config import Config
from umi_core.engine import middleware as hooks
from umi_core.engine.workflow import retry
from umi_core.errors import KeyNotFound, SnapshotDamaged
from umi_core.ids import entity_id, pack
from umi_core.kelpie.requests import AddArchival, DeleteBlock
from umi_core.kelpie.results import BlockWritten
from umi_core.limits import ACCESS_PRUNE_MS
from umi_core.messages.answers import EffectFailed, ModelReplied, ReadDone, Value, Wake
from umi_core.messages.effects import (
    Asked,
    AskModel,
    Commit,
    Done,
    Embed,
    Failed,
    Read,
    Refused,
    Reply,
    Write,
)
from umi_core.messages.requests import (
    CreateSession,
    EvolveCategory,
    Forget,
    ForgetResource,
    Get,
    LoadSession,
    Memorize,
    Rebalance,
    Recall,
    Remember,
    RemoveBlock,
    Request,
    SaveSession,
    Set,
    SetBlock,
    UpdateEntity,
)
from umi_core.messages.results import RecordAdded, Remembered, Resolution
from umi_core.rows import AccessRecord, Address, Body, Core, Entity, Relation, Row, SessionRow
from umi_core.state import Operation, Running, Sleeping, State, Waiting
from umi_core.tiers import session
from umi_core.tiers.archive import AccessRecords, AccessTable
from umi_core.tiers.core import CoreTier, admit, core_of, put_entry
from umi_core.tiers.rewrites import CachedRewrite, RewriteCache
from umi_core.tiers.session import SessionInfo
from umi_core.tiers.working import WorkingTier
from umi_core.values import Block, Entry, RoutingDecision, Scope, Turn
from umi_core.workflows import BUILT_IN
from umi_core.workflows.commits import Plan
from umi_sim.judge.state import (
    before_step,
    check_cheap,
    check_full,
    check_memory,
    check_plan,
    check_tables,
)
from umi_sim.judge.state.eviction import ReferenceEviction, ScoredEntry
from umi_sim.judge.state.plans import check_marked, check_relations, check_scope
from umi_sim.judge.state.prompts import check_prompt
from umi_sim.judge.state.prompts import expect_inputs as given_by
from umi_sim.record.broken import Broken
from umi_sim.record.rules import Rule, SeenBy

EASY = structs.replace(QUIET, promote_score_min_ppm=0)
UMI = id_of_fact("Umi", "helps")
UMI_HELPS_ALICE = id_of_fact("Umi", "helps Alice")
ALICE, BOB = id_of_fact("Alice", "likes tea"), id_of_fact("Bob", "snores")
SMALL = Config(core_bytes_max=4_096)
DAY_MS = 86_400_000


def fill_every_tier() -> Pair:
    """A memory with something in every tier, and nothing in flight."""
    pair = Pair(now_ms=5).run()
    pair.ask(SetBlock(1, "system", "Be helpful."))
    pair.ask(SetBlock(2, "human", "User: <Alice>", label="work"))
    pair.ask(Remember(3, "Umi helps Alice. Alice likes tea"))
    pair.ask(Set(4, "k", b"v", 1_000))
    pair.ask(Set(5, "a", b"b", 2_000))
    return pair


def broken(check: Callable[[], None]) -> str:
    """The rule under which it is caught."""
    with pytest.raises(Broken) as caught:
        check()
    assert caught.value.message
    return caught.value.rule


# The state alone.


def test_a_used_memory_keeps_every_rule() -> None:
    check_memory(fill_every_tier().memory.state)


def block(state: State, **changes: object) -> None:
    """Change the first block that has entries."""
    core = state.tiers.core
    old = next(it for it in core.blocks if it.entries)
    new = structs.replace(old, **changes)
    state.tiers.core = structs.replace(core, blocks=tuple(new if it is old else it for it in core.blocks))


def entries(count: int, text: str = "x") -> tuple[Entry, ...]:
    return tuple(Entry(f"ent_{n:03}", 1, "n", text, n) for n in range(count))


def put_key(key: str, value: bytes = b"", expires_ms: int = 100) -> Callable[[State], None]:
    def change(state: State) -> None:
        tier = state.tiers.working
        tier.entries[key] = value, expires_ms
        tier.used_bytes += len(key.encode(errors="ignore")) + len(value)
        tier.due_ms = min(tier.due_ms, expires_ms)

    return change


def put_core(*blocks: Block) -> Callable[[State], None]:
    return lambda state: setattr(state.tiers, "core", CoreTier(blocks, 1))


def too_many_rewrites(state: State) -> None:
    kept = tuple(
        CachedRewrite(bytes([n // 256, n % 256]), 5, Resolution("unchanged", "q")) for n in range(257)
    )
    state.tiers.rewrites = RewriteCache(kept)


def spend(**changes: object) -> Callable[[State], None]:
    def change(state: State) -> None:
        for name, value in changes.items():
            setattr(state.tiers.working, name, value)

    return change


def tell(**changes: object) -> Callable[[State], None]:
    return lambda state: setattr(state.tiers, "session", SessionInfo(**changes))  # type: ignore[arg-type]


HUMAN = Block("human", text="x")
BREAKS: list[tuple[str, Callable[[State], None]]] = [
    ("space-accounting", spend(used_bytes=3)),
    ("space-accounting", spend(used_bytes=-1)),
    ("space-accounting", spend(used_bytes=2**21)),
    ("space-accounting", spend(expired_count=-1)),
    ("space-accounting", lambda state: setattr(state, "config", Config(working_entry_count_max=1))),
    ("ttl-range", put_key("late", expires_ms=604_800_006)),
    ("ttl-boundary", spend(due_ms=1_006)),
    ("session-keys-true", put_key("__mine")),
    ("session-keys-true", tell(last_input="é" * 101)),
    ("tables-bounded", put_key("k" * 257)),
    ("tables-bounded", put_key("\ud800")),
    ("tables-bounded", put_key("big", b"x" * 65_537)),
    ("tables-bounded", too_many_rewrites),
    ("tables-bounded", lambda state: setattr(state, "queue", (Recall(1, "x"),) * 65)),
    ("core-bijection", put_core(HUMAN, HUMAN)),
    ("core-bijection", put_core(Block("human"))),
    ("core-bijection", put_core(Block("human", "label", entries=entries(1)))),
    ("core-bijection", put_core(Block("human", entries=entries(1)), Block("facts", entries=entries(1)))),
    ("system-is-authored", put_core(Block("system", entries=entries(1)))),
    ("render-order", put_core(Block("facts", text="x"), HUMAN)),
    ("render-order", put_core(Block("human", entries=entries(2)[::-1]))),
    ("core-bijection", put_core(Block("human", text="\ufffe"))),
    ("core-limits", put_core(Block("facts", entries=entries(51)))),
    ("core-limits", put_core(Block("persona", entries=entries(9)))),
    ("core-limits", put_core(Block("human", text="x" * 16_385))),
    ("core-limits", put_core(*(Block(kind, text="x" * 16_384) for kind in ("human", "facts", "goals")))),
    ("core-limits", put_core(*(Block("human", f"{n:02}", "x") for n in range(33)))),
    ("core-limits", put_core(Block("human", "x" * 65, "x"))),
    ("core-limits", put_core(Block("human", text="x", importance_ppm=1_000_001))),
    ("core-limits", put_core(Block("human", text="x", importance_ppm=-1))),
    ("core-limits", put_core(Block("human", entries=entries(1, "x" * 1_025)))),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "change"), BREAKS)
def test_a_broken_state_is_caught_by_name(rule: str, change: Callable[[State], None]) -> None:
    state = fill_every_tier().memory.state
    change(state)
    assert broken(lambda: check_memory(state)) == rule


@pytest.mark.parametrize("change", [spend(used_bytes=-1), spend(used_bytes=2**21), too_many_rewrites])
def test_totals_are_seen_by_the_cheap_check(change: Callable[[State], None]) -> None:
    state = fill_every_tier().memory.state
    change(state)
    assert broken(lambda: check_cheap(state)) in ("space-accounting", "tables-bounded")


def test_limits_of_core_may_have_been_lowered_until_recovery_is_done() -> None:
    state = fill_every_tier().memory.state
    put_core(Block("facts", entries=entries(51)))(state)
    state.phase = "recovering"
    check_full(state)


def in_order_of_arrival(tier: WorkingTier, info: SessionInfo, now_ms: int) -> bytes:
    live = [[key, value, ms - now_ms] for key, (value, ms) in tier.entries.items()]
    return session.seal_body(pack([now_ms, live, session.fields(info)]))


def test_wrong_snapshots_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    state = fill_every_tier().memory.state
    empty = session.Loaded(WorkingTier(), SessionInfo(), 0)
    forgetful = structs.replace(empty, tier=WorkingTier(dict(state.tiers.working.entries)))
    tell(interaction_count=1)(state)
    lossy = structs.replace(empty, info=state.tiers.session)
    for wrong in (lossy, forgetful, SnapshotDamaged("x")):
        monkeypatch.setattr(session, "decode", lambda *_, wrong=wrong: wrong)
        assert broken(lambda: check_memory(state)) == "snapshot-roundtrip"
    monkeypatch.setattr(session, "encode", in_order_of_arrival)
    assert broken(lambda: check_memory(state)) == "snapshot-canonical"


# Operations in flight.


def asking() -> Pair:
    """A remember waits for its model; a recall sleeps after a failure."""
    pair = fill_every_tier()
    pair.step(Remember(11, "Alice likes coffee"))
    pair.step(Recall(12, "tea"))
    pair.fail("unavailable", at=1)
    check_memory(pair.memory.state)
    check_tables(pair.memory.state, BUILT_IN)
    return pair


def reading() -> Pair:
    """A block is to be set, and core is read for it; a recall sleeps after a failure."""
    pair = fill_every_tier()
    pair.step(SetBlock(11, "goals", "tea"))
    pair.step(Recall(12, "tea"))
    pair.fail("unavailable", at=1)
    return pair


def both(state: State) -> tuple[Operation, Operation]:
    first, second = state.operations.values()
    return first, second


def change_first(**changes: object) -> Callable[[State], None]:
    def change(state: State) -> None:
        for name, value in changes.items():
            setattr(both(state)[0], name, value)

    return change


def change_first_wait(**changes: Any) -> Callable[[State], None]:
    """Change how the first operation waits for its answer."""

    def change(state: State) -> None:
        first = both(state)[0]
        assert isinstance(first.progress, Waiting)
        if request_id := changes.pop("request_id", None):
            changes["sent"] = structs.replace(first.progress.sent, request_id=request_id)
        first.progress = structs.replace(first.progress, **changes)

    return change


def sleep_without_question(state: State) -> None:
    """Only recovery sleeps between two plans, without a question."""
    both(state)[0].progress = Sleeping(both(state)[0].due_ms or 0, None)


def same_answer(state: State) -> None:
    first, second = both(state)
    second.progress = first.progress


def under_another_number(state: State) -> None:
    first, second = both(state)
    second.number = first.number


def five_of_its_own(state: State) -> None:
    asleep = both(state)[1]
    for number in (101, 102, 103, 104, 105):
        state.operations[number] = structs.replace(asleep, number=number, op_id=None)
    state.operation_count = 105


OPERATION_BREAKS: list[tuple[str, Callable[[State], object]]] = [
    ("workflow-contract", same_answer),
    ("workflow-contract", under_another_number),
    ("workflow-contract", lambda state: setattr(state, "operation_count", 0)),
    ("workflow-contract", lambda state: setattr(state, "request_count", 0)),
    ("workflow-contract", change_first(number=99)),
    ("workflow-contract", change_first(progress=Running())),
    ("workflow-contract", lambda state: sleep_without_question(state)),
    ("progress", change_first_wait(due_ms=5)),
    ("backoff", change_first_wait(due_ms=30_006)),
    ("tables-bounded", five_of_its_own),
    ("workflow-contract", lambda state: both(state)[0].facts.update(secret=1)),
    ("workflow-contract", lambda state: both(state)[0].facts.pop("request")),
    ("workflow-contract", change_first(learned=({},))),
    ("workflow-contract", change_first_wait(asked=Embed(("x",)))),
    ("workflow-contract", change_first(row=5)),
    ("backoff", change_first(attempt=3)),
    ("backoff", change_first(plan_count=4)),
]


@pytest.mark.parametrize(("rule", "change"), OPERATION_BREAKS)
def test_a_broken_operation_is_caught_by_name(rule: str, change: Callable[[State], object]) -> None:
    state = asking().memory.state
    change(state)

    def check() -> None:
        check_memory(state)
        check_tables(state, BUILT_IN)

    assert broken(check) == rule


def test_an_operation_that_asked_nothing_is_seen_by_the_cheap_check() -> None:
    state = asking().memory.state
    check_cheap(state)
    operation = both(state)[0]
    assert operation.due_ms is not None
    operation.progress, operation.plan_count = Sleeping(operation.due_ms, None), 2
    assert broken(lambda: check_cheap(state)) == "workflow-contract"
    operation.workflow = "recover"  # it alone waits between two plans
    check_cheap(state)
    operation.plan_count = 1
    assert broken(lambda: check_cheap(state)) == "workflow-contract"


def test_wrong_facts_are_reported_in_order_of_their_names() -> None:
    state = asking().memory.state
    facts = both(state)[0].facts
    facts["a_secret"] = 1
    with pytest.raises(Broken) as caught:
        check_tables(state, BUILT_IN)
    assert caught.value.got == str(sorted(facts))
    assert caught.value.expected == str(sorted(facts)[1:])


def test_an_operation_whose_question_is_known_is_not_held_against_its_table_again() -> None:
    state = asking().memory.state
    first = both(state)[0]
    first.facts["a_secret"] = 1
    check_tables(state, BUILT_IN, known=(first.waiting,))
    assert broken(lambda: check_tables(state, BUILT_IN, known=(0,))) == "workflow-contract"


def test_only_recovery_may_try_without_end() -> None:
    pair = Pair()
    pair.wake()
    check_tables(pair.memory.state, BUILT_IN)
    read = next(step for step in BUILT_IN.at("count").steps if step.id == "read")
    endless = BUILT_IN.replace(
        "count", "read", structs.replace(read, on_failure=structs.replace(retry(1), attempts=0))
    )
    state = asking().memory.state
    first = both(state)[0]
    first.workflow, first.revision, first.row = "count", 2, 0
    put_question(first, Read(Recall))  # type: ignore[arg-type]
    first.facts = {"request": None}
    assert broken(lambda: check_tables(state, endless)) == "backoff"


def test_a_row_without_a_plan_for_failures_may_not_wait() -> None:
    state = asking().memory.state
    first = both(state)[0]
    remember = BUILT_IN.at("remember")
    careless = [structs.replace(step, on_failure=None) for step in remember.steps]
    tables = structs.replace(
        BUILT_IN, revisions={"remember": (structs.replace(remember, steps=tuple(careless)),)}
    )
    del state.operations[both(state)[1].number]
    assert first.workflow == "remember"
    assert broken(lambda: check_tables(state, tables)) == "workflow-contract"


# One step.


class Watched(Pair):
    """Every step is judged."""

    def step(self, value: Value) -> list[AskModel | Embed | Read | Commit]:
        before = before_step(self.memory.state)
        asked = super().step(value)
        check_step(before, value, self.memory.state)
        check_memory(self.memory.state)
        check_tables(self.memory.state, self.registry)
        return asked


def test_a_whole_life_keeps_the_rules_of_steps() -> None:
    pair = Watched(config=EASY).run()
    pair.ask(SetBlock(1, "human", "x" * 16_000))
    pair.ask(Remember(2, "Umi helps. Alice likes tea. Bob snores"))
    pair.ask(Rebalance(3))
    assert pair.memory.state.tiers.core.locate(ALICE)
    pair.ask(Remember(4, "Alice likes coffee"), Embed)
    pair.ask(Recall(5, "Alice"), Embed)
    pair.ask(SetBlock(6, "human", "x" * 16_384))
    assert pair.memory.state.tiers.core.locate(ALICE) is None
    pair.ask(CreateSession(7))
    pair.ask(Set(8, "k", b"v"))
    pair.ask(SaveSession(9))
    pair.ask(Set(10, "k", b"w"))
    session_id = pair.memory.state.tiers.session.session_id
    assert session_id is not None
    pair.ask(LoadSession(11, session_id))
    assert isinstance(pair.ask(LoadSession(12, "ses_nowhere")), Refused)
    pair.ask(Forget(13, UMI))
    pair.ask(RemoveBlock(14, "human"))
    assert pair.memory.state.tiers.core == CoreTier((), pair.memory.state.tiers.core.guard_version)


def test_what_the_assistant_says_of_itself_may_leave_core_when_it_ends() -> None:
    pair = Watched(config=EASY, model=saying(evolve=verdict("update"))).run()
    pair.ask(Remember(1, "Umi helps in Oslo"))
    before = pair.memory.state.tiers.core
    pair.ask(Remember(2, "Umi sleeps in Oslo"))
    (row,) = pair.rows("ended")
    after = pair.memory.state.tiers.core
    assert (before.locate(row.address.id) is None, after.locate(row.address.id)) == (False, None)


def test_failures_keep_the_rules_of_steps() -> None:
    pair = Watched(config=EASY).run()
    pair.step(Remember(1, "Alice likes tea"))
    pair.step(EffectFailed(pair.pending.pop(0).request_id, "rate_limited", 60_000))
    pair.wake(59_999)
    assert not pair.pending
    pair.wake(60_000)
    late = pair.pending[0].request_id
    pair.wake()
    pair.step(ModelReplied(late, "{}"))
    pair.pending.clear()
    assert isinstance(pair.ask(Remember(2, "Bob snores"), Commit), Failed)


def judged(pair: Pair, value: Value, change: Callable[[State], object]) -> str:
    """The rule that a step breaks which should have done nothing, and did this."""
    before = before_step(pair.memory.state)
    change(pair.memory.state)
    return broken(lambda: check_step(before, value, pair.memory.state))


LATE = ModelReplied(999, "x")
CHANGED = "refused-means-unchanged"
OTHER = core_of([Block("human", text="other")], guard_version=9)


def core_row(core: CoreTier) -> Row:
    return Row(Address(SCOPE, "core", "core"), core.guard_version, Core(core.blocks))


@pytest.mark.parametrize(
    "change",
    [
        lambda state: setattr(state, "request_count", state.request_count + 1),
        change_first_wait(request_id=1),
        lambda state: setattr(state.tiers, "core", OTHER),
        lambda state: setattr(state.tiers, "access", AccessTable()),
        lambda state: setattr(state.tiers, "session", SessionInfo()),
        lambda state: setattr(state.tiers, "working", WorkingTier()),
        lambda state: setattr(state.tiers, "decisions", (1,)),
        lambda state: setattr(state.tiers, "rewrites", RewriteCache()),
    ],
)
def test_a_late_answer_that_does_something_is_caught(change: Callable[[State], object]) -> None:
    assert judged(asking(), LATE, change) == "late-is-inert"


def test_core_changes_only_to_what_was_replied() -> None:
    assert judged(asking(), Wake(), lambda state: setattr(state.tiers, "core", OTHER)) == CHANGED
    pair = reading()
    waiting = both(pair.memory.state)[0].waiting
    assert waiting is not None
    change = lambda state: setattr(state.tiers, "core", OTHER)  # noqa: E731  one line, used twice
    assert judged(pair, ReadDone(waiting), change) == CHANGED
    stranger = structs.replace(OTHER, guard_version=10)
    assert judged(reading(), ReadDone(waiting, (core_row(stranger),)), change) == "core-current"
    pair = reading()
    pair.memory.state.tiers.core = structs.replace(OTHER, guard_version=99)
    assert judged(pair, ReadDone(waiting, (core_row(OTHER),)), change) == "core-current"


def test_core_may_become_what_was_read() -> None:
    pair = reading()
    waiting = both(pair.memory.state)[0].waiting
    assert waiting is not None
    assert (
        judged(pair, ModelReplied(waiting, "x"), lambda state: setattr(state.tiers, "core", OTHER)) == CHANGED
    )
    before = before_step(pair.memory.state)
    pair.memory.state.tiers.core = structs.replace(OTHER, guard_version=10)
    check_step(before, ReadDone(waiting, (core_row(pair.memory.state.tiers.core),)), pair.memory.state)


def test_a_late_answer_is_not_blamed_for_what_was_due() -> None:
    pair = asking()
    before = before_step(pair.memory.state)
    pair.now_ms = 105
    pair.step(LATE)
    assert pair.memory.state.request_count > before.request_count
    check_step(before, LATE, pair.memory.state)


def test_accesses_are_counted_when_something_is_learnt_and_never_else() -> None:
    assert (
        judged(asking(), Wake(), lambda state: setattr(state.tiers, "access", AccessTable()))
        == "access-truth"
    )


def test_decisions_are_those_of_a_remember_with_an_answer() -> None:
    def decide(state: State) -> None:
        state.tiers.decisions = (RoutingDecision(ALICE, "human", False, None, "", "kept", None),)

    pair = asking()
    remember = both(pair.memory.state)[0]
    value = ModelReplied(remember.waiting or 0, "")
    before = before_step(pair.memory.state)
    decide(pair.memory.state)
    check_step(before, value, pair.memory.state)
    assert judged(asking(), Wake(), decide) == CHANGED
    pair = asking()
    both(pair.memory.state)[0].workflow = "recall"
    assert judged(pair, value, decide) == CHANGED


def test_facts_stay_until_an_operation_plans_again() -> None:
    def replace(state: State) -> None:
        both(state)[0].facts["request"] = Remember(11, "Alice likes milk")

    assert judged(asking(), Wake(), replace) == "workflow-contract"
    pair = asking()
    before = before_step(pair.memory.state)
    replace(pair.memory.state)
    change_first(plan_count=2)(pair.memory.state)
    check_step(before, Wake(), pair.memory.state)


@pytest.mark.parametrize("lie", [{"outcome": "timeout"}, {"reply_bytes": 0}])
def test_a_call_of_a_model_is_described_as_it_was(lie: dict[str, Any]) -> None:
    pair = Pair()
    pair.run()
    pair.step(Remember(1, "Alice likes tea"))
    asked = pair.until(AskModel)
    before, answer = before_step(pair.memory.state), pair.world(asked)
    pair.pending.remove(asked)
    pair.step(answer)
    check_step(before, answer, pair.memory.state)
    (operation,) = pair.memory.state.operations.values()
    operation.calls = tuple(structs.replace(call, **lie) for call in operation.calls)
    assert broken(partial(check_step, before, answer, pair.memory.state)) == "workflow-contract"
    reply = Reply(1, Done(None), operation.calls)
    assert broken(partial(check_replies, before, answer, pair.memory.state, [reply])) == "workflow-contract"
    pair.memory.state.seen_ms = 10**6  # then it came too late, and counts as none
    check_replies(before, answer, pair.memory.state, [reply])


@pytest.mark.parametrize("op_id", [1, "x", {}])
def test_a_reply_under_the_name_of_an_operation_that_goes_on_is_no_end_of_it(op_id: Any) -> None:
    pair = Pair()
    pair.run()
    pair.step(Remember(1, "Alice likes tea"))
    pair.until(AskModel)
    state, request = pair.memory.state, Get(op_id, "key")
    check_replies(before_step(state), request, state, [Reply(op_id, Refused(KeyNotFound("key")))])


def test_an_operation_keeps_its_revision() -> None:
    assert judged(asking(), Wake(), change_first(revision=2)) == "revision-pinned"


def hooked(change: Callable[[State], object]) -> Callable[[State], None]:
    """The same in a step in which an interceptor has answered in place of the world."""

    def apply(state: State) -> None:
        change(state)
        state.count("hook substituted")

    return apply


def test_what_an_interceptor_answered_is_no_news_of_the_world() -> None:
    pair = asking()
    before = before_step(pair.memory.state)
    hooked(lambda state: setattr(state.tiers, "core", OTHER))(pair.memory.state)
    check_step(before, Wake(), pair.memory.state)
    assert judged(asking(), Wake(), hooked(change_first(revision=2))) == "revision-pinned"
    late = hooked(lambda state: setattr(state.tiers, "core", OTHER))
    assert judged(asking(), LATE, late) == "late-is-inert"


def meddling(context: hooks.HookContext, request: Asked) -> hooks.Verdict:
    """Refuses to embed, answers a search and shortens what is asked of models; the rest it lets pass."""
    match context.step:
        case "embed":
            return hooks.Refuse("no")
        case "by_words":
            alice = structs.replace(entity("Alice", content="likes tea"), id=ALICE, vector_missing=True)
            return hooks.Substitute(ReadDone(0, (Row(Address(SCOPE, "entity", ALICE), 2, alice, 500_000),)))
        case "extract":
            assert isinstance(request, AskModel)
            return hooks.Rewrite(structs.replace(request, timeout_ms=5))
        case "commit":
            raise ValueError(context)
    return hooks.Pass()


def test_a_whole_life_with_interceptors_keeps_the_rules_of_steps() -> None:
    meddler = hooks.Interceptor("h", before=meddling)
    pair = Watched(config=EASY, registry=BUILT_IN.with_interceptor(meddler)).run()
    pair.ask(Remember(1, "Umi helps. Alice likes tea"))
    pair.ask(Rebalance(2))
    pair.ask(Recall(3, "Alice"))
    assert pair.memory.state.tiers.access.records[ALICE].count == 2
    pair.ask(Remember(4, "Bob snores"), AskModel)
    pair.ask(Forget(5, UMI))
    counters = pair.memory.state.counters
    assert (counters["hook refused"], counters["hook substituted"], counters["hook failed"]) == (4, 1, 4)


def sleep(due_ms: int) -> Callable[[State], None]:
    def change(state: State) -> None:
        first = both(state)[0]
        first.progress = Sleeping(due_ms, first.asked)

    return change


def wake_second(state: State) -> None:
    """Let the second operation, which sleeps, ask before its time."""
    first, second = both(state)
    assert isinstance(first.progress, Waiting)
    sent = structs.replace(first.progress.sent, request_id=98)
    second.progress = Waiting(second.due_ms or 0, sent, sent)


def test_no_attempt_is_too_early() -> None:
    limited = EffectFailed(both(asking().memory.state)[0].waiting or 0, "rate_limited", 60_000)
    assert judged(asking(), limited, change_first_wait(request_id=98)) == "backoff"
    assert judged(asking(), limited, sleep(60_004)) == "backoff"
    assert judged(asking(), Wake(), sleep(104)) == "backoff"
    unavailable = structs.replace(limited, kind="unavailable", retry_after_ms=0)
    assert judged(asking(), unavailable, change_first_wait(request_id=98, due_ms=30_005)) == "backoff"
    woken = asking()
    assert judged(woken, Wake(), wake_second) == "backoff"
    pair = asking()
    before = before_step(pair.memory.state)
    sleep(60_005)(pair.memory.state)
    check_step(before, limited, pair.memory.state)


TALK = (Turn("user", "Carl is late"), Turn("user", " "), Turn("user", "x" * 501))
PROMPTS: list[tuple[str, Pair, Request]] = [
    ("extract", Pair(), Remember(11, "Alice likes coffee")),
    ("route", Pair(config=Config(semantic_routing=True)), Remember(11, "Alice likes coffee")),
    ("evolve", Pair(), Remember(11, "Alice likes coffee")),
    ("rewrite", Pair(), Recall(11, "What did he say?", turns=TALK)),
    ("expand", Pair(), Recall(11, "tea", deep=True)),
]


def asking_for(task: str, pair: Pair, request: Request) -> tuple[Operation, Callable[[], None]]:
    """The operation whose model has just been asked for this, and the check of the step that did it."""
    pair.run().ask(Remember(1, "Alice likes tea"))
    value: Value = request
    before = before_step(pair.memory.state)
    pair.step(value)
    while not isinstance(pair.pending[0], AskModel) or pair.pending[0].task != task:
        before, value = before_step(pair.memory.state), pair.world(pair.pending.pop(0))
        pair.step(value)
    (operation,) = pair.memory.state.operations.values()
    return operation, lambda: check_step(before, value, pair.memory.state)


@pytest.mark.parametrize(("task", "pair", "request_"), PROMPTS)
def test_a_prompt_holds_each_of_its_inputs_once_and_whole(task: str, pair: Pair, request_: Request) -> None:
    operation, check = asking_for(task, structs.replace(pair), request_)
    check()
    asked = operation.asked
    assert isinstance(asked, AskModel)
    whole = asked.prompt
    inputs = [line for line in whole.split("\n") if line.startswith("INPUT ")]
    lies = [whole.replace(line, other) for line in inputs for other in ("", f"{line}\n{line}", line[:-1])]
    given = ("INPUT text", "INPUT context", "INPUT turns", "INPUT query")  # what the request alone says
    given_lines = [line.partition(" = ") for line in inputs if line.startswith(given)]
    lies += [whole.replace(f" = {value}", f" = {value.replace('e', 'o')}") for _, _, value in given_lines]
    for prompt in ("", *lies):
        put_question(operation, structs.replace(asked, prompt=prompt))
        assert broken(check) == "prompt-inputs"


def test_a_name_for_a_group_is_asked_for_within_its_category() -> None:
    assert given_by("name_subcategory", {"request": EvolveCategory(11, "skills")}, Config()) == {
        "category": "skills"
    }


def test_of_an_image_its_payload_is_shown() -> None:
    request = Memorize(12, "https://example.org/cat.png", "image")
    assert given_by("describe_image", {"request": request}, Config()) == {"payload": request.text}


@pytest.mark.parametrize("side", ["new", "old"])
def test_a_pair_of_statements_that_are_not_listed_is_caught(side: str) -> None:
    operation, check = asking_for("evolve", Pair(), Remember(11, "Alice likes coffee"))
    asked = operation.asked
    assert isinstance(asked, AskModel)
    content = {"new": "likes coffee", "old": "likes tea"}[side]
    shown = f'"{side}":"{id_of_fact("Alice", content)}@1"'
    assert shown in asked.prompt
    put_question(operation, structs.replace(asked, prompt=asked.prompt.replace(shown, f'"{side}":"fct_x@1"')))
    assert broken(check) == "prompt-inputs"


def test_what_other_workflows_ask_of_a_model_is_not_judged() -> None:
    operation, check = asking_for("extract", Pair(), Remember(11, "Alice likes coffee"))
    asked = operation.asked
    assert isinstance(asked, AskModel)
    put_question(operation, structs.replace(asked, task="translate", prompt=""))
    check()
    put_question(operation, structs.replace(asked, prompt=""))
    operation.workflow = "forget"
    for request in (Remember(11, "x"), Forget(11, ALICE)):
        operation.facts = {"request": request}
        with nullcontext() if isinstance(request, Forget) else pytest.raises(Broken):
            check_prompt(operation, Config(), 0)


# Loads.


def loading(snapshot: bytes | None = None) -> tuple[Pair, ReadDone]:
    """A load that waits for its row, and the row."""
    pair = fill_every_tier()
    row_id = "ses_1"
    where = Address(Scope(SCOPE.user, row_id), "session", row_id)
    data = session.encode(WorkingTier({"s": (b"1", 50)}, 2), SessionInfo(session_id=row_id), 0)
    body = SessionRow(row_id, SCOPE.user, SCOPE.agent, (SCOPE.agent,), 0, SCOPE.agent, snapshot or data)
    pair.step(LoadSession(11, row_id))
    return pair, ReadDone(pair.pending[0].request_id, (Row(where, 1, body),))


def loaded(*keys: str) -> Callable[[State], None]:
    def change(state: State) -> None:
        state.tiers.working = WorkingTier(dict.fromkeys(keys, (b"1", 50)))
        state.tiers.session = SessionInfo(session_id="ses_1")

    return change


def test_a_load_is_whole_or_nothing() -> None:
    pair, row = loading()
    before = before_step(pair.memory.state)
    loaded("s")(pair.memory.state)
    check_step(before, row, pair.memory.state)
    assert judged(*loading(), loaded("s", "k")) == "snapshot-roundtrip"
    assert judged(*loading(), spend(used_bytes=0)) == "load-or-nothing"
    assert (
        judged(*loading(), lambda state: setattr(state.tiers, "working", WorkingTier())) == "load-or-nothing"
    )
    pair, row = loading()
    assert judged(pair, structs.replace(row, rows=()), loaded("s")) == "session-or-error"


def test_a_load_that_fails_leaves_the_working_tier_as_it_was() -> None:
    def copied(state: State) -> None:
        state.tiers.working = structs.replace(state.tiers.working)

    for value in (EffectFailed(loading()[1].request_id, "unavailable"), loading()[1]):
        assert judged(loading()[0], value, copied) == "load-or-nothing"
        assert judged(loading()[0], value, spend(used_bytes=0)) == "load-or-nothing"
    assert judged(loading()[0], Wake(), copied) == "load-or-nothing"


def test_damage_is_caught_though_the_memory_sees_none(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = session.encode(WorkingTier({"s": (b"1", 50)}, 2), SessionInfo(), 0)
    whole = session.Loaded(WorkingTier({"s": (b"1", 50)}), SessionInfo(), 0)
    monkeypatch.setattr(session, "decode", lambda *_: whole)
    check_step_of = partial(judged, change=loaded("s"))
    assert check_step_of(*loading(sealed[:20] + bytes([sealed[20] ^ 1]) + sealed[21:])) == "snapshot-guarded"


def test_loading_damage_is_caught() -> None:
    sealed = session.encode(WorkingTier({"s": (b"1", 50)}, 2), SessionInfo(), 0)
    flipped = sealed[:20] + bytes([sealed[20] ^ 1]) + sealed[21:]
    wrong = session.seal_body(pack([0, [["s", b"1", 0]], session.fields(SessionInfo())]))
    for damaged in (flipped, b"\x00", wrong):
        assert judged(*loading(damaged), loaded("s")) == "snapshot-guarded"


# Plans.


def entity(name: str, kind: str = "person", content: str = "x" * 300) -> Entity:
    block = {"self": "persona", "person": "human"}.get(kind, "facts")
    return Entity(entity_id(SCOPE, name), kind, name, content, 1, 500_000, 500_000, block, 0, 0)


def seated(*found: Entity, text: str = "") -> CoreTier:
    core = core_of([Block("goals", text=text)])
    for n, it in enumerate(found):
        core = put_entry(core, it.block, Entry(it.id, 1, it.name, it.content, n))
    return core


def records(**counts: int) -> AccessTable:
    """Access records by name; a person with more accesses has the higher score."""
    ids = {name: entity_id(SCOPE, name) for name in counts}
    return AccessTable(
        AccessRecords(
            {
                ids[name]: AccessRecord(ids[name], "person", 500_000, count, 0, 0)
                for name, count in counts.items()
            }
        )
    )


def decision(it: Entity, outcome: str = "promoted") -> RoutingDecision:
    return RoutingDecision(it.id, it.block, True, 900_000, "", "model", None, outcome)


ANNA, BERT, CARL, SELF = entity("Anna"), entity("Bert"), entity("Carl"), entity("Umi", "self")
FULL = seated(ANNA, BERT, text="x" * 3_400)  # 88 bytes are free
TABLE = records(Anna=1, Bert=5, Carl=5)


def remembered(
    before: CoreTier, after: CoreTier, *decisions: RoutingDecision, evicted: tuple[str, ...] = ()
) -> dict[str, object]:
    """The facts of a remember that has planned."""
    named = {it.id: it for it in (ANNA, BERT, CARL, SELF)}
    accessed = tuple(named[it.entity_id] for it in decisions)
    promoted = tuple(it.entity_id for it in decisions if it.outcome == "promoted")
    value = Remembered((), routing=decisions, promoted=promoted, evicted=evicted)
    plan = Plan(0, core=after, value=value, accessed=accessed, decisions=decisions)
    return {"core": before, "plan": plan, "request": Remember(1, "x")}


def planned(facts: dict[str, object], *writes: Write, table: AccessTable = TABLE) -> None:
    check_plan(facts, writes, (table,), SMALL)


def test_the_stronger_drives_out_the_weakest_that_is_enough() -> None:
    planned(remembered(FULL, seated(BERT, CARL, text="x" * 3_400), decision(CARL), evicted=(ANNA.id,)))


def test_a_planned_core_is_judged() -> None:
    bert, both_gone = (BERT.id,), (ANNA.id, BERT.id)
    text = "x" * 3_400
    cases: list[tuple[str, dict[str, object]]] = [
        # the wrong one leaves; more leave than needed; the stronger is turned away; no entry had to leave
        ("fewest-victims", remembered(FULL, seated(ANNA, CARL, text=text), decision(CARL), evicted=bert)),
        ("fewest-victims", remembered(FULL, seated(CARL, text=text), decision(CARL), evicted=both_gone)),
        ("fewest-victims", remembered(FULL, FULL, decision(CARL, "refused_full"))),
        ("fewest-victims", remembered(seated(BERT), seated(), decision(CARL, "refused_full"), evicted=bert)),
        # a victim is not reported; nor is an entrant; a reported one does not enter; others are decided on
        ("core-bijection", remembered(FULL, seated(BERT, CARL, text=text), decision(CARL))),
        ("route-known-only", remembered(seated(), seated(CARL), decision(CARL, "refused_full"))),
        ("route-known-only", remembered(seated(), seated(), decision(CARL))),
        ("self-stays", remembered(seated(SELF), seated(), evicted=(SELF.id,))),
        ("core-limits", remembered(seated(), seated(text="x" * 4_097))),
    ]  # fmt: skip
    for rule, facts in cases:
        assert broken(partial(planned, facts)) == rule


def test_a_block_that_is_deleted_takes_its_entries_with_it_and_no_others() -> None:
    def deleted(label: str, after: CoreTier | None, *removed: Entity) -> dict[str, object]:
        value = BlockWritten("blk_1", label, 1, "deleted", 0, evicted=tuple(it.id for it in removed))
        plan = Plan(0, core=after, value=value)
        return {"core": seated(SELF, BERT), "plan": plan, "request": DeleteBlock(1, label)}

    planned(deleted("persona", seated(BERT)))
    planned(deleted("human", seated(SELF)))
    planned(deleted("persona", None))
    assert broken(partial(planned, deleted("persona", seated(), SELF, BERT))) == "fewest-victims"
    assert broken(partial(planned, deleted("human", seated(BERT), SELF))) == "self-stays"


def test_no_entry_is_evicted_for_an_equal_one() -> None:
    table = records(Anna=5, Bert=5, Carl=5)
    facts = remembered(FULL, seated(BERT, CARL, text="x" * 3_400), decision(CARL), evicted=(ANNA.id,))
    assert broken(lambda: planned(facts, table=table)) == "displacement"
    check_plan(facts, (), (table, TABLE), SMALL)  # one of the tables is what it was scored with


def test_self_is_admitted_within_its_quota() -> None:
    table = records(Anna=1, Bert=5, Umi=0)
    facts = remembered(FULL, seated(BERT, SELF, text="x" * 3_400), decision(SELF), evicted=(ANNA.id,))
    planned(facts, table=table)
    large = structs.replace(SELF, content="x" * 1_022)
    over = structs.replace(SELF, name="Uma", content="x" * 300, id="ent_other")
    before, after = seated(over), seated(over, large)
    facts = remembered(before, after, decision(SELF))
    plan = facts["plan"]
    assert isinstance(plan, Plan)
    facts["plan"] = structs.replace(plan, accessed=(large,))
    assert broken(lambda: planned(facts)) == "core-limits"


def test_every_entity_has_one_decision() -> None:
    facts = remembered(seated(), seated(CARL), decision(CARL))
    plan = facts["plan"]
    assert isinstance(plan, Plan)
    facts["plan"] = structs.replace(plan, accessed=(CARL, ANNA))
    assert broken(lambda: planned(facts)) == "route-per-entity"


def test_decisions_and_reply_name_the_same_promoted_entries() -> None:
    facts = remembered(seated(), seated(CARL), decision(CARL))
    plan = facts["plan"]
    assert isinstance(plan, Plan)
    assert isinstance(plan.value, Remembered)
    planned(facts)
    for lie in (
        structs.replace(plan, decisions=(decision(CARL, "refused_full"),)),
        structs.replace(plan, value=structs.replace(plan.value, promoted=())),
    ):
        facts["plan"] = lie
        assert broken(lambda: planned(facts)) == "route-known-only"


def test_an_evicted_entity_stays_in_the_archive() -> None:
    facts = remembered(FULL, seated(BERT, CARL, text="x" * 3_400), decision(CARL), evicted=(ANNA.id,))
    planned(facts, Write(Address(SCOPE, "vector", ANNA.id), None))
    assert (
        broken(lambda: planned(facts, Write(Address(SCOPE, "entity", ANNA.id), None))) == "archive-untouched"
    )


def test_the_named_entry_leaves() -> None:
    facts: dict[str, object] = {"core": FULL, "plan": Plan(0, core=FULL), "request": Forget(1, ANNA.id)}
    assert broken(lambda: planned(facts)) == "deleted-stays-deleted"
    text = ForgetResource(1, "res_1")
    facts = {"core": FULL, "plan": Plan(0, core=FULL, forgotten=(ANNA.id,)), "request": text}
    assert broken(lambda: planned(facts)) == "deleted-stays-deleted"
    facts["plan"] = Plan(0, core=seated(BERT, text="x" * 3_400), forgotten=(ANNA.id,))
    planned(facts, Write(Address(SCOPE, "entity", ANNA.id), None))
    facts = {"core": FULL, "plan": Plan(0, core=FULL), "request": RemoveBlock(1, "human")}
    assert broken(lambda: planned(facts)) == "core-bijection"
    planned(
        {"core": FULL, "plan": Plan(0, core=seated(text="x" * 3_400)), "request": RemoveBlock(1, "human")}
    )
    planned({"core": FULL, "plan": Plan(0), "request": RemoveBlock(1, "scratch")})


@pytest.mark.parametrize("request_", [Remember(1, "x"), AddArchival(1, "x", extract=True)])
def test_a_fact_that_a_new_one_ends_leaves_core(request_: Request) -> None:
    facts = remembered(FULL, seated(BERT, text="x" * 3_400))
    plan = facts["plan"]
    assert isinstance(plan, Plan)
    value = Remembered((), ended=(ANNA.id,))
    value_of_plan = value if isinstance(request_, Remember) else RecordAdded("archival", 1, 1, 0, facts=value)
    facts |= {"request": request_, "plan": structs.replace(plan, value=value_of_plan, forgotten=(ANNA.id,))}
    planned(facts, Write(Address(SCOPE, "entity", ANNA.id), None))
    facts["plan"] = structs.replace(plan, value=value_of_plan, core=FULL)
    assert broken(lambda: planned(facts)) == "core-bijection"


def test_a_fact_that_is_stated_differently_leaves_core() -> None:
    request = UpdateEntity(1, ANNA.id, "sings")
    facts: dict[str, object] = {"core": FULL, "plan": Plan(0, core=FULL), "request": request}
    assert broken(lambda: planned(facts)) == "core-bijection"
    planned({**facts, "plan": Plan(0, core=FULL, accessed=(ANNA,))})  # it says the same, so it stays
    planned({**facts, "plan": Plan(0, core=seated(BERT, text="x" * 3_400))})


def test_a_scan_promotes_the_best_by_the_rows_it_read() -> None:
    rows = tuple(Row(Address(SCOPE, "entity", it.id), 1, it) for it in (CARL, ANNA))
    full, after = seated(BERT, text="x" * 3_700), seated(CARL, text="x" * 3_700)
    facts: dict[str, object] = {"core": full, "plan": Plan(0, core=after), "rows": rows}
    assert broken(lambda: planned(facts)) == "displacement"
    facts = {"core": seated(BERT), "plan": Plan(0, core=seated(BERT, CARL)), "rows": rows}
    assert broken(lambda: planned(facts)) == "fewest-victims"
    planned(facts, table=records(Carl=5))  # without a record there is no candidate
    facts |= {
        "rows": (*rows, structs.replace(rows[0], body=BERT))
    }  # one that is in core already asks for nothing
    assert broken(lambda: planned(facts)) == "fewest-victims"
    planned({"core": FULL, "plan": Plan(0, core=FULL, accessed=(ANNA,))})
    late = Plan(ACCESS_PRUNE_MS + 1, core=seated(BERT))  # and who was last named so long ago is none either
    planned({"core": seated(BERT), "plan": late, "rows": rows}, table=records(Bert=1, Carl=5))


def test_a_tier_that_cannot_fit_is_left_to_recovery() -> None:
    too_large = seated(SELF, text="x" * 4_096)
    planned({"core": too_large, "plan": Plan(0)})


def test_facts_without_a_plan_of_core_are_left_alone() -> None:
    planned({})
    planned({"plan": Plan(0)})
    planned({"core": FULL, "plan": "x"})


def test_a_new_commit_is_judged_in_its_step() -> None:
    pair = Watched(config=EASY).run()
    pair.step(Remember(1, "Umi helps"))
    pair.until(Embed)
    before = before_step(pair.memory.state)
    Pair.answer(pair)
    operation = next(iter(pair.memory.state.operations.values()))
    assert isinstance(operation.asked, Commit)
    strange = Write(Address(Scope("u1", "other"), "entity", BOB), None)
    put_question(operation, structs.replace(operation.asked, writes=(strange,)))
    assert broken(lambda: check_step(before, Get(1, "x"), pair.memory.state)) == "write-scope"
    pair.memory.state.count("hook refused")
    assert broken(lambda: check_step(before, Get(1, "x"), pair.memory.state)) == "write-scope"
    pair.memory.state.tiers.access = AccessTable()  # what it was scored with may be nowhere to be seen
    check_step(before, Get(1, "x"), pair.memory.state)


def lying(kind: str, body: Body | None) -> Callable[[Write], Write]:
    return lambda write: structs.replace(write, body=body) if write.address.kind == kind else write


@pytest.mark.parametrize(
    ("rule", "lie"),
    [
        ("promotion-fair", lying("access", AccessRecord(UMI, "self", 1, 1, 0, 0))),
        ("index-follows-row", lying("vector", None)),
        ("relation-ends", lying("vector", Relation("r", "derive", (BOB, 1), (UMI, 1), 1, "", "model", 0))),
    ],
)
def test_each_rule_of_plans_is_judged_in_the_step_that_plans(
    rule: str, lie: Callable[[Write], Write]
) -> None:
    pair = Watched(config=EASY).run()
    pair.step(Remember(1, "Umi helps"))
    pair.until(Embed)
    before = before_step(pair.memory.state)
    Pair.answer(pair)
    (operation,) = pair.memory.state.operations.values()
    assert isinstance(operation.asked, Commit)
    put_question(operation, structs.replace(operation.asked, writes=tuple(map(lie, operation.asked.writes))))
    assert broken(lambda: check_step(before, Get(1, "x"), pair.memory.state)) == rule


@pytest.mark.parametrize("embed", [True, False])
@pytest.mark.parametrize("is_up", [True, False])
def test_what_lacks_a_vector_that_was_wanted_is_marked(embed: bool, is_up: bool) -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Bob snores", embed=embed))
    while not isinstance(pair.pending[0], Commit):
        _ = pair.answer() if is_up or not isinstance(pair.pending[0], Embed) else pair.fail("refused")
    commit = pair.pending[0]
    (operation,) = pair.memory.state.operations.values()
    check_marked(commit.writes, operation.facts)
    check_marked((), {**operation.facts, "request": Forget(1, BOB)})
    (entity_,) = [it.body for it in commit.writes if isinstance(it.body, Entity)]
    without = [write for write in commit.writes if write.address.kind != "vector"]
    other = structs.replace(entity_, vector_missing=not entity_.vector_missing)
    wrong = [structs.replace(it, body=other if it.body is entity_ else it.body) for it in commit.writes]
    for writes in (without, wrong, [it for it in commit.writes if it.body is not entity_]):
        assert broken(partial(check_marked, writes, operation.facts)) == "index-follows-row"


def test_a_relation_of_a_pair_that_was_not_asked_about_is_caught() -> None:
    pair = Pair(model=saying(evolve=verdict("contradict"))).run()
    pair.ask(Remember(1, "Carol snores"))
    pair.step(Remember(2, "Bob snores", embed=False))
    writes = pair.until(Commit).writes
    (operation,) = pair.memory.state.operations.values()
    check_relations(writes, operation.facts)
    (relation,) = [write.body for write in writes if isinstance(write.body, Relation)]
    for lie in (structs.replace(relation, source=(ALICE, 1)), structs.replace(relation, target=(BOB, 2))):
        write = Write(Address(SCOPE, "relation", relation.id), lie)
        assert broken(partial(check_relations, (write,), operation.facts)) == "relation-ends"


def test_a_session_may_lie_in_a_scope_of_its_own() -> None:
    check_scope([Write(Address(Scope("u1", "ses_1"), "session", "ses_1"), None)], SCOPE)
    for lie in (Address(Scope("u2", "ses_1"), "session", "ses_1"), Address(Scope("u1", "x"), "entity", "x")):
        assert broken(partial(check_scope, [Write(lie, None)], SCOPE)) == "write-scope"


# The dumb twin.

SEATS = st.lists(
    st.tuples(st.sampled_from(("human", "facts", "persona")), st.integers(1, 900), st.integers(0, 9)),
    min_size=1, max_size=8,
)  # fmt: skip


@pytest.mark.uncounted
@given(SEATS, st.integers(0, 3_000), st.integers(0, 8))
def test_the_twin_agrees_with_the_machine(
    seats: list[tuple[str, int, int]], text: int, count_max: int
) -> None:
    config = Config(core_bytes_max=4_096, core_entry_count_max=count_max)
    core = core_of([Block("goals", text="x" * text)])
    walk = ReferenceEviction(config, {("goals", ""): text}, {})
    scores: dict[str, int] = {}
    for n, (kind, size_bytes, score) in enumerate(seats):
        key = f"e{n}"
        scores[key] = score * 25_000
        core = admit(core, Entry(key, 1, "", "x" * size_bytes, n), kind, scores[key], scores, config).core
        walk.admit(ScoredEntry(key, kind, size_bytes, scores[key]))
        assert sorted(walk.candidates) == sorted(entry.entity_id for _, entry in core.entries())


@pytest.mark.parametrize(
    ("seen_by", "stops", "can_be_off"),
    [("oracle", False, True), ("oracle", True, False), ("test", False, False), ("harness", True, False)],
)
def test_a_rule_without_which_a_run_cannot_go_on_stays(
    seen_by: SeenBy, stops: bool, can_be_off: bool
) -> None:
    assert Rule("r", "X-01", "something holds", seen_by, "cheap", stops).can_be_off is can_be_off
