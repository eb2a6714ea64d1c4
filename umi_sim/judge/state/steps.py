"""A memory before and after one step: allowed changes, and the time of retries.

Law 1. Core changes only to a row that was just read, or written by a batch known to be durable.
Law 2. A late answer changes nothing.
Law 3. After a failure no operation asks again before the policy, or the failure itself, allows it.
Law 4. A load replaces the whole session by the saved one, or changes nothing.
Law 5. Accesses are counted only in steps that get the answer to a commit or the rows of a recall.
Law 6. An operation keeps its revision, and keeps its facts until it plans again.
Law 7. Interceptors may observe and rewrite questions. If one refuses or answers a question, the step is
judged only by the rules that need no answer: those of late answers, revisions and prompts, and those of plans
if neither accesses nor core changed in the step.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from umi_core.errors import Error
from umi_core.ids import pack
from umi_core.limits import BACKOFF_MS_MAX, BACKOFF_MS_MIN, RETRY_AFTER_MS_MAX
from umi_core.messages.answers import Committed, Embedded, ModelReplied, ReadDone, Value
from umi_core.messages.effects import Asked, AskModel, Commit, Done, Embed, Reply
from umi_core.messages.requests import Descent, Recall
from umi_core.rows import Core, Row, SessionRow
from umi_core.state import State, Tiers
from umi_core.tiers import session
from umi_core.tiers.core import CoreTier
from umi_core.values import RoutingDecision
from umi_sim.judge.state.accesses import (
    check_access_source,
    check_counted,
    check_deleted,
    check_kept,
    check_removed,
    check_scan,
    check_session_source,
    list_unanswered_ends,
    may_end_unanswered,
)
from umi_sim.judge.state.plans import check_new_plan
from umi_sim.judge.state.prompts import (
    check_asked_again,
    check_closed,
    check_opened,
    check_prompt,
    check_reported_calls,
    check_turns,
)
from umi_sim.judge.state.settling import (
    check_believed,
    check_sent_again,
    check_won,
    find_winner,
    is_durable,
    reads_core,
)
from umi_sim.judge.state.snapshots import (
    OperationSnapshot,
    StateSnapshot,
    StepInput,
    count_degradations,
    find_operation,
    is_late,
    snapshot_operation,
)
from umi_sim.judge.state.tiers import check_equal_entries
from umi_sim.judge.state.vectors import BY_HOOK, check_learnt, check_texts, count_named
from umi_sim.judge.state.vectors import check_counted as check_vectors_counted
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

# Prefixes of counters such as "rebalance done", for workflows that a memory begins without a request.
OF_BACKGROUND: Final = ("rebalance ", "recover ", "evolve_category ", "purge ")
Decisions = tuple[RoutingDecision, ...]
TIERS: Final = Tiers.__struct_fields__


def check_step(before: StateSnapshot, given: StepInput, state: State) -> None:
    """Check the rules that compare a memory before and after a step."""
    was, tiers, answered = before.tiers, state.tiers, given.answered
    # Most steps are requests of the working tier: nothing is in flight, and no tier object was replaced.
    if not before.snapshots and not state.operations and not list_replaced(was, tiers):
        return
    check_late(before, given, state)
    check_revisions(given, state)
    if is_switched(given, state):
        check_emptied(was, tiers)
    elif not given.is_hooked:
        check_attempts(given, state.seen_ms)
        check_core_source(was.core, given, tiers.core)
        # An operation that can end without its answer changes the state at its time-out, whatever the input
        # of that step is.
        if not any(map(may_end_unanswered, before.snapshots.values())):
            check_access_source(was.access, tiers.access, given.value, answered)
            check_session_source(was.session, tiers.session, given.value, answered)
        if tiers.access.records is not was.access.records:
            cores = [[entry.entity_id for _, entry in core.entries()] for core in (was.core, tiers.core)]
            check_kept(was.access, tiers.access, state.seen_ms, answered, cores)
        check_decisions_source(was.decisions, given, tiers.decisions)
        check_load(before, given, state)
        calls = (call for operation in state.operations.values() for call in operation.calls[-2:])
        if answered is not None and not is_late(answered, state):
            check_closed(given.value, [call for call in calls if call.outcome != "open"])
            check_settling(before, given, state)
        check_embedded(before, given, state)
        check_scanned(before, given, state)
    # Questions follow from the state, so they are also checked if an interceptor gave an answer.
    check_questions(before, given, state)


def is_switched(given: StepInput, state: State) -> bool:
    """Return True if a running memory claimed the next epoch and found its agent closed, or open again."""
    answered = given.answered
    if answered is None or answered.pinned[0] != "recover" or is_late(answered, state):
        return False
    last = answered.facts.get("last")
    if not isinstance(given.value, Committed) or not isinstance(last, tuple) or "epoch" in answered.facts:
        return False
    # `last` is (7, "ready"): epoch and phase in which this process recovers again. Epoch 0: the first start.
    return bool(last[0] > 0 and answered.facts.get("closed") != (last[1] == "closed"))


def check_emptied(was: Tiers, now: Tiers) -> None:
    """Demand that the tiers of a closed agent are empty, except the working tier and the session."""
    # `upkeep` is left out, since the purge of the old rows is scheduled there.
    fresh = Tiers(working=was.working, session=was.session)
    kept = [name for name in TIERS if name != "upkeep" and getattr(now, name) != getattr(fresh, name)]
    demand(not kept, rules.CLOSED_IS_CLOSED, "tiers of a closed agent that are not empty", [], kept)


def check_replies(before: StateSnapshot, given: StepInput, state: State, replies: Sequence[Reply]) -> None:
    """Check the rules about the replies of a step."""
    if before.snapshots:
        check_reported(before, given, state, replies)
    ended = [snapshot for number, snapshot in before.snapshots.items() if number not in state.operations]
    if not given.is_hooked:
        answered = given.answered
        others = list_unanswered_ends(ended, answered, replies)
        check_counted(before.tiers.access, state.tiers.access, answered, replies, others)
        if replies and answered is not None and not is_late(answered, state):
            check_closed(given.value, [call for reply in replies for call in reply.calls])
            check_taken(given, state, replies)
    for reply in replies:
        mine = [snapshot for snapshot in ended if getattr(snapshot.request, "op_id", None) == reply.op_id]
        if len(mine) == 1:  # if two have the same op_id, either may have ended
            check_reported_calls(mine[0].calls, reply.calls)
            check_fallbacks(reply, mine[0].place[2])


def check_reported(before: StateSnapshot, given: StepInput, state: State, replies: Sequence[Reply]) -> None:
    """Demand that degradations and notes of interceptors are counted, and that replies have the notes."""
    has_any = any(operation.degraded or operation.notes for operation in state.operations.values())
    if state.counters == before.counters and not has_any:
        return  # a counter changes at every end of an operation
    degradation_count, note_count = count_since(before.counters, state.counters)
    degradations = sum(
        count_degradations(reply.outcome.degraded) for reply in replies if isinstance(reply.outcome, Done)
    )
    notes = sum(len(reply.hooks) for reply in replies)
    ended = [snapshot for number, snapshot in before.snapshots.items() if number not in state.operations]
    for operation in state.operations.values():
        snapshot = before.snapshots.get(operation.number)
        # If there were two degradations before the step and three now, this step has added one.
        degradations += count_degradations(operation.degradations) - (
            snapshot.reported_counts[0] if snapshot else 0
        )
        notes += len(operation.notes) - (snapshot.reported_counts[1] if snapshot else 0)
    degradations -= sum(snapshot.reported_counts[0] for snapshot in ended)
    notes -= sum(snapshot.reported_counts[1] for snapshot in ended)
    holds = degradations == degradation_count or (
        degradations < degradation_count and may_have_been_dropped(before, state, replies)
    )
    is_of_another = given.answered is not None and find_winner(given.answered.asked, given.value) is not None
    demand(
        holds or is_of_another,
        rules.DEGRADATION_NAMED,
        "degradations in the counters",
        degradations,
        degradation_count,
    )
    is_reported = notes == note_count or (notes < note_count and has_background_work(before, state))
    demand(is_reported, rules.HOOK_ORDER, "notes of interceptors in the replies", note_count, notes)


def check_fallbacks(reply: Reply, plan_number: int) -> None:
    """Demand that fallbacks of interceptors are reported as degradations."""
    if not isinstance(reply.outcome, Done):
        return
    notes = [it for it in reply.hooks if (it.hook, it.what) == ("on_error", "substituted")]
    expected = sorted({f"{it.step}{BY_HOOK}{it.name}" for it in notes})
    got = sorted({it.name for it in reply.outcome.degraded if BY_HOOK in it.name})
    # A new plan drops the degradations of the old one, while the notes stay.
    holds = expected == got if plan_number == 1 else {*got} <= {*expected}
    demand(holds, rules.HOOK_ORDER, "fallbacks of interceptors among the degradations", expected, got)


def may_have_been_dropped(before: StateSnapshot, state: State, replies: Iterable[Reply]) -> bool:
    """Return True if degradations may be missing: a new plan drops them, and only Done reports them."""
    snapshots = ((snapshot, state.operations.get(number)) for number, snapshot in before.snapshots.items())
    is_new_plan = any(now is not None and now.plan_number != snapshot.place[2] for snapshot, now in snapshots)
    is_unreported = any(not isinstance(it.outcome, Done) for it in replies)
    return is_new_plan or is_unreported or has_background_work(before, state)


def has_background_work(before: StateSnapshot, state: State) -> bool:
    """Return True if background work ran in this step; it has no reply with the notes of interceptors."""
    running = any(operation.op_id is None for operation in state.operations.values())
    was_running = any(not snapshot.is_asked for snapshot in before.snapshots.values())
    now, was = state.counters.items(), before.counters
    has_ended = any(was.get(name) != count for name, count in now if name.startswith(OF_BACKGROUND))
    return running or was_running or has_ended


def list_replaced(was: Tiers, now: Tiers) -> list[str]:
    """List the names of the replaced tiers; the working tier may also have changed in place."""
    return [name for name in TIERS if getattr(was, name) is not getattr(now, name)]


def count_since(was: Mapping[str, int], now: Mapping[str, int]) -> tuple[int, int]:
    """Return by how much the counters of degradations and of interceptors have grown."""
    degradations = notes = 0
    for name, count in now.items():
        added = count - was.get(name, 0)
        if added and name.startswith("degraded "):
            degradations += added
        elif added and name.startswith("hook "):
            notes += added
    return degradations, notes


# Commits, and core compared with storage.


def check_settling(before: StateSnapshot, given: StepInput, state: State) -> None:
    answered = given.answered
    if answered is None or state.phase == "fenced":
        return
    operation = find_operation(before, answered, state)
    check_sent_again(answered, given.value, operation)
    check_won(answered, given.value, operation, before.tiers, state.tiers)
    if is_durable(answered.asked, given.value):
        check_deleted(answered.asked, given.value, before.tiers.access, state.tiers.access)
    # An operation that asks the same again has not used the answer.
    if operation is not None and snapshot_operation(operation).place > answered.place:
        check_believed(find_core_row(given), state.tiers.core)


def check_taken(given: StepInput, state: State, replies: Iterable[Reply]) -> None:
    """Demand that core is not older than the core row of the answer that ended an operation.

    A reply that reports that core was not read (`settle:`) is exempt.
    """
    op_id = getattr(getattr(given.answered, "request", None), "op_id", None)
    for outcome in (reply.outcome for reply in replies if reply.op_id == op_id):
        if isinstance(outcome, Done) and not any(it.name.startswith("settle:") for it in outcome.degraded):
            check_believed(find_core_row(given), state.tiers.core)


def find_core_row(given: StepInput) -> CoreTier | None:
    """Return the core row of an answer; None if another plan won, whose core row is unknown."""
    asked = given.answered.asked if given.answered is not None else None
    return core_row(given.value, asked) if find_winner(asked, given.value) is None else None


# Vectors, and pages of a scan.


def check_embedded(before: StateSnapshot, given: StepInput, state: State) -> None:
    """Demand that the vectors of an answer are used, and that missing ones are reported."""
    answered, answer = given.answered, given.value
    if answered is None or not isinstance(answer, Embedded) or is_late(answered, state):
        return
    assert isinstance(answered.asked, Embed)
    count, dims = len(answered.asked.texts), state.config.embedding_dims
    check_learnt(count, answer, find_operation(before, answered, state), dims)
    is_alone = not any(is_late(snapshot, state) for snapshot in before.snapshots.values())
    counted = count_named(state.counters) - count_named(before.counters)
    check_vectors_counted(count, answer, counted, is_alone, dims)


def check_scanned(before: StateSnapshot, given: StepInput, state: State) -> None:
    """Demand that a scan takes no entity as deleted whose row it has just read."""
    answered, answer = given.answered, given.value
    if answered is None or not isinstance(answer, ReadDone) or answered.pinned[0] != "rebalance":
        return
    operation = find_operation(before, answered, state)
    if operation is not None and "gone" not in answered.facts:
        check_removed(answer.rows, operation.facts.get("gone", ()))


# Late answers.


def check_late(before: StateSnapshot, given: StepInput, state: State) -> None:
    """Demand that a late answer changes nothing, unless something else was due or began."""
    if given.answered is not None or not hasattr(given.value, "request_id"):
        return
    # At the time of a late answer something else may be due.
    was_scheduled = any((snapshot.due_ms or 0) <= state.seen_ms for snapshot in before.snapshots.values())
    if was_scheduled or before.operation_count != state.operation_count:
        return
    rule, others = rules.LATE_IS_INERT, list_replaced(before.tiers, state.tiers)
    asked_count = state.request_count - before.request_count
    demand(asked_count == 0, rule, "questions after a late answer", 0, asked_count)
    was = {number: snapshot.waiting for number, snapshot in before.snapshots.items()}
    now = {number: operation.waiting for number, operation in state.operations.items()}
    demand(was == now, rule, "the questions that operations wait for after a late answer", was, now)
    demand(not others, rule, "tiers that a late answer changed", [], others)


# Operations: revisions and attempts.


def check_revisions(given: StepInput, state: State) -> None:
    for snapshot, now in given.still:
        if now.calls is not snapshot.calls:
            check_reported_calls(snapshot.calls, now.calls)
        message = "workflow, revision and interceptors of an operation"
        demand(snapshot.pinned == now.pinned, rules.REVISION_PINNED, message, snapshot.pinned, now.pinned)
        # If four batches were durable when the plan began and five are now, it may give way to the fifth.
        has_yielded = now.yields[0] > snapshot.yields[0]
        has_cause, message = not has_yielded or state.committed_count > snapshot.yields[1], "a plan gave way"
        demand(has_cause, rules.BACKOFF, message, "a batch committed since it began", now.yields)
        # Within a plan facts are only added. They are compared by identity,
        # since an equal copy would mean that a fact was computed twice.
        if snapshot.place[2] == now.place[2]:
            others = [name for name, value in snapshot.facts.items() if now.facts.get(name) is not value]
            demand(not others, rules.WORKFLOW_CONTRACT, "facts of a plan that changed", [], others)


def check_attempts(given: StepInput, now_ms: int) -> None:
    for snapshot, now in given.still:
        if snapshot.place == now.place:
            check_wait(snapshot, now, given, now_ms)


def check_wait(snapshot: OperationSnapshot, now: OperationSnapshot, given: StepInput, now_ms: int) -> None:
    """Demand that an operation in the same place slept until its time, or sleeps long enough now."""
    if snapshot.waiting is None:
        was_scheduled = (snapshot.due_ms or 0) <= now_ms
        holds = was_scheduled or (now.waiting, now.due_ms) == (None, snapshot.due_ms)
        demand(holds, rules.BACKOFF, "the time of the next attempt", snapshot.due_ms, now_ms)
    # After an answer a read may request its next page immediately, in the same place. That is no new attempt.
    elif snapshot.waiting != now.waiting and not (
        snapshot is given.answered and isinstance(given.value, ReadDone)
    ):
        due_ms = now_ms + least_wait_ms(snapshot, given, now_ms)
        message = "the time of the next attempt after a failure"
        demand(now.waiting is None, rules.BACKOFF, message, f"{due_ms} or later", f"{now_ms}, at once")
        demand(due_ms <= (now.due_ms or 0), rules.BACKOFF, message, f"{due_ms} or later", now.due_ms)
        if isinstance(snapshot.asked, AskModel):
            in_time = snapshot is given.answered and now_ms < (snapshot.due_ms or 0)
            reply = given.value.text if in_time and isinstance(given.value, ModelReplied) else None
            check_asked_again(snapshot.asked, now.asked, reply)


def least_wait_ms(snapshot: OperationSnapshot, given: StepInput, now_ms: int) -> int:
    """Return the backoff, which doubles with each attempt, or the wait named by a failure if it is longer."""
    # After attempt 1: 100 ms, 2: 200 ms, 6: 3,200 ms, from 7 on 5,000 ms.
    wait_ms = min(BACKOFF_MS_MAX, BACKOFF_MS_MIN << min(snapshot.attempt - 1, 16))
    # An answer after the deadline counts as a time-out, so the wait that it names does not apply.
    in_time = snapshot is given.answered and now_ms < (snapshot.due_ms or 0)
    named_ms: int = getattr(given.value, "retry_after_ms", 0) if in_time else 0
    return max(wait_ms, min(named_ms, RETRY_AFTER_MS_MAX))


# The source of core.


def check_core_source(before: CoreTier, given: StepInput, core: CoreTier) -> None:
    answered = given.answered
    if core is before or core == before:
        return
    row = core_row(given.value, answered.asked) if answered else None
    message = "core after a step that no core row was read or written in"
    demand(row is not None, rules.REFUSED_MEANS_UNCHANGED, message, before, core)
    assert answered is not None
    demand(core == row, rules.CORE_CURRENT, "core after an answer", row, core)
    # With core of version 7, the answer to a read with version 6 is stale and must not be used.
    was, now = before.guard_version, core.guard_version
    demand(was < now, rules.CORE_CURRENT, "the version of core after an answer", f"more than {was}", now)


def core_row(value: Value, asked: Asked | None) -> CoreTier | None:
    """Return the core row that was requested and read, or written by a batch; None if there is none."""
    found: list[tuple[object, int]] = []
    if isinstance(value, ReadDone) and reads_core(asked):
        found = [(row.body, row.version) for row in value.rows if row.address.kind == "core"]
    elif isinstance(value, Committed) and isinstance(asked, Commit):
        versions = dict(value.versions)
        found = [(write.body, versions.get(write.address, 0)) for write in asked.writes]
    return next((CoreTier(body.blocks, number) for body, number in found if isinstance(body, Core)), None)


def check_decisions_source(was: Decisions, given: StepInput, now: Decisions) -> None:
    workflow = given.answered.pinned[0] if given.answered else ""
    holds = now is was or workflow in ("remember", "add_archival", "load_session")
    message = "routing decisions after a step that remembered nothing"
    demand(holds, rules.REFUSED_MEANS_UNCHANGED, message, was, now)


# Questions.


def check_questions(before: StateSnapshot, given: StepInput, state: State) -> None:
    """Check the questions of this step.

    If an interceptor answered, accesses and core may have changed more than once in the step, and a plan may
    have used an intermediate state. Then plans and scans are judged only if neither has changed.
    """
    was, now = before.tiers, state.tiers
    new = range(before.operation_count + 1, state.operation_count + 1)
    for operation in (state.operations[number] for number in new if number in state.operations):
        if isinstance(given.value, Recall | Descent):
            check_turns(given.value, operation.facts.get("request"), state.config.resolve_turn_count_max)
    is_seen = not given.is_hooked or (was.access is now.access and was.core is now.core)
    for operation in state.operations.values():
        # Question ids only grow, so one above the count before the step was asked in the step.
        if (operation.waiting or 0) > before.request_count:
            check_opened(operation, state.seen_ms)
        if (operation.waiting or 0) > before.request_count and operation.attempt == 1:
            check_prompt(operation, state.config, state.seen_ms)
            check_texts(operation)
            if is_seen:
                check_new_plan(operation, state, was.access)
                # A scan skips the ids that are in core before the step, or after it.
                inside = [entry.entity_id for core in (was.core, now.core) for _, entry in core.entries()]
                check_scan(operation, (was.access, now.access), inside, state.seen_ms, state.config)


# Loads.


def check_load(before: StateSnapshot, given: StepInput, state: State) -> None:
    answered, value, was, now = given.answered, given.value, before.tiers, state.tiers
    workflow = answered.pinned[0] if answered else ""
    # Other requests of this step may have changed the session as well, such as a recall that notes its query.
    if (now.session.session_id, now.session.load_count) == (was.session.session_id, was.session.load_count):
        message = "the working tier was replaced, and the session was not"
        demand(now.working is was.working, rules.LOAD_OR_NOTHING, message)
        size = now.working.used_bytes, len(now.working.entries)
        is_left = workflow != "load_session" or size == before.working_size
        message = "bytes and entries of the working tier during a load"
        demand(is_left, rules.LOAD_OR_NOTHING, message, before.working_size, size)
    elif answered is not None and workflow == "load_session":
        # The row was read in this step, or in an earlier one if the session carries more than keys.
        rows = value.rows if isinstance(value, ReadDone) else ()
        read = [it for it in (answered.facts.get("session"), *rows) if isinstance(it, Row)]
        body = next((row.body for row in read if isinstance(row.body, SessionRow)), None)
        demand(body is not None, rules.SESSION_OR_ERROR, "a session was loaded, and no row of it was read")
        assert body is not None
        check_loaded(body.snapshot, state)


def check_loaded(snapshot: bytes, state: State) -> None:
    demand(is_sealed(snapshot), rules.SNAPSHOT_GUARDED, "a damaged snapshot was loaded", "an error", snapshot)
    loaded = session.decode(snapshot, state.seen_ms, state.config)
    if isinstance(loaded, Error):
        raise Broken(rules.SNAPSHOT_GUARDED, "an invalid snapshot was loaded", loaded, "no error")
    check_equal_entries(loaded.tier.entries, state.tiers.working.entries)


def is_sealed(snapshot: bytes) -> bool:
    """Return True if the digest is that of the body (M5.1)."""
    match session.unpack_value(snapshot):
        case [name, version, bytes(body), bytes(digest)]:
            return blake2b(pack([name, version, body]), digest_size=16).digest() == digest
    return False
