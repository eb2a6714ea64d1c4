"""Plans and their commits: how every operation that writes ends.

Law 1. An operation computes first and commits once: rows, core and receipt in one batch under one
idempotency key. Law 2. The tiers change only when a commit is known to be durable.
Law 3. If an earlier plan of the operation was committed instead, its receipt decides the reply, and core is
read again. Law 4. The memory replaces core only by a core of a higher row version.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from msgspec import structs

from umi_core.codec import encode
from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Ask,
    Learned,
    Rejection,
    Step,
    Take,
    TakeResult,
    asks,
    degrade,
    retry,
)
from umi_core.errors import KeyReused
from umi_core.ids import commit_key
from umi_core.messages.answers import Committed, ReadDone
from umi_core.messages.effects import ByIds, Commit, Done, Expect, Read, Write
from umi_core.messages.request import Request
from umi_core.messages.results import (
    Memorized,
    RecordAdded,
    Remembered,
    as_repeated,
    with_text,
    without_text,
)
from umi_core.policies.promotion import score_ppm
from umi_core.rows import AccessRecord, Address, Body, Core, Entity, Head, Receipt, Row
from umi_core.tiers import schedule
from umi_core.tiers.archive import AccessTable, Versions, is_passed
from umi_core.tiers.core import CoreTier
from umi_core.tiers.session import record_remember
from umi_core.values import RoutingDecision, Scope


class Plan(Data):
    """Rows that a commit will write, and the changes to the tiers once it is durable."""

    at_ms: int
    writes: tuple[Write, ...] = ()
    expects: tuple[Expect, ...] = ()  # in addition to those that the engine derives from the reads
    core: CoreTier | None = None
    value: object = None
    accessed: tuple[Entity, ...] = ()
    forgotten: tuple[str, ...] = ()
    pruned: tuple[AccessRecord, ...] = ()  # records to remove, as they were at the time of the plan
    decisions: tuple[RoutingDecision, ...] | None = None
    # for the session: the text, its names, the id of its last fact, the ids of all its facts
    spoken: tuple[str, tuple[str, ...], str | None, tuple[str, ...]] | None = None
    cursor: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.writes and self.core is None


REQUEST: Final = Fact("request", object)  # each workflow declares the class
REQUEST_KEY: Final = Fact("request_key", str | None)
CORE: Final = Fact("core", CoreTier)
PLAN: Final = Fact("plan", Plan)
STORED: Final = Fact("stored", object)
LOST: Final = Fact("lost", bool)


# Rows and addresses.


def address(scope: Scope, kind: str, row_id: str | None = None) -> Address:
    """Return the address; the kinds epoch, head and core have one row each, with the kind as its id."""
    return Address(scope, kind, kind if row_id is None else row_id)


def put(scope: Scope, kind: str, row_id: str, body: Body | None) -> Write:
    return Write(Address(scope, kind, row_id), body)


def index_rows(answer: ReadDone) -> Mapping[Address, Row]:
    """Return the rows of the answer by their addresses."""
    return {row.address: row for row in answer.rows}


def core_of(rows: Mapping[Address, Row], scope: Scope) -> CoreTier:
    """Return the stored core tier; an empty tier with version 0 if there is no row."""
    row = rows.get(address(scope, "core"))
    if row is None:
        return CoreTier()
    assert isinstance(row.body, Core)
    return CoreTier(row.body.blocks, row.version)


def head_of(rows: Mapping[Address, Row], scope: Scope) -> tuple[str, int]:
    """Return the stored cursor of the fair scan and its row version; `("", 0)` if there is no row."""
    row = rows.get(address(scope, "head"))
    return (row.body.cursor, row.version) if row and isinstance(row.body, Head) else ("", 0)


def read_core(answer: ReadDone, view: View) -> CoreTier:
    """Return the core tier of the answer; the memory adopts it if it is newer."""
    core = core_of(index_rows(answer), view.scope)
    adopt(view, core)
    return core


def adopt(view: View, core: CoreTier) -> None:
    # The answer to a read may be stale: it has core 7, but a commit has made it 8 before it arrives.
    if core.guard_version > view.tiers.core.guard_version:
        view.tiers.core = core


def entity_ids(core: CoreTier) -> tuple[str, ...]:
    return tuple(entry.entity_id for _, entry in core.entries())


def scores_of(core: CoreTier, access: AccessTable, now_ms: int) -> dict[str, int]:
    """Return the score at `now_ms` of every entry in core that has an access record."""
    records = access.records
    return {key: score_ppm(records[key], now_ms) for key in entity_ids(core) if key in records}


# The commit.


def key_of(facts: Facts, view: View) -> str:
    request_key, request = facts.get(REQUEST_KEY), facts.get(REQUEST)
    if request_key is not None and isinstance(request, Request):
        return commit_key(view.scope, request.key_space, request_key)
    # A pair of epoch and operation number is never used twice, not even after a restart.
    return commit_key(view.scope, view.epoch, view.number, "commit")


def ask_if_any(facts: Facts, view: View) -> Commit | None:
    """Ask for the commit unless there is nothing to write: no rows, and no receipt under a request key.

    An operation in doubt commits even an empty plan: if an earlier attempt was committed, storage answers
    with its receipt.
    """
    is_keyed = facts.get(REQUEST_KEY) is not None
    if facts[PLAN].is_empty and not is_keyed and not view.in_doubt:
        return None
    return ask_commit(facts, view)


def ask_commit(facts: Facts, view: View) -> Commit:
    plan, key = facts[PLAN], key_of(facts, view)
    by = (view.epoch, view.number)
    value = without_text(plan.value)
    receipt = Receipt(key, request_digest(facts), digest(plan, view), value, plan.at_ms, by)
    core = () if plan.core is None else (Write(address(view.scope, "core"), Core(plan.core.blocks)),)
    writes = (*plan.writes, *core, put(view.scope, "receipt", key, receipt))
    return Commit(writes, plan.expects, key)


def digest(plan: Plan, view: View) -> bytes:
    """Return a digest of the plan, by which an operation recognises the receipt of this plan."""
    blocks = None if plan.core is None else plan.core.blocks
    # With the operation number: two operations may plan equal rows, and each must recognise its own receipt.
    return blake2b(encode((view.number, plan.writes, blocks)), digest_size=16).digest()


def request_digest(facts: Facts) -> bytes:
    """Return a digest of the request without its op_id; it tells a repeated request from a reused key."""
    request: Any = facts.get(REQUEST)
    asked = b"" if request is None else encode(structs.replace(request, op_id=0))
    return blake2b(asked, digest_size=16).digest()


def take_commit(facts: Facts, answer: Committed | None, view: View) -> Learned:
    """Apply the plan to the tiers, unless an earlier batch was committed under the same key."""
    plan = facts[PLAN]
    if answer is None:
        # Nothing was written, and a commit answered since may be newer than the reads of this plan.
        learn_plan(plan, (), view, is_late=True)
        return Learned(STORED(plan.value) | LOST(False))
    receipt = answer.receipt
    # If the key was used before, storage writes nothing and answers with the receipt of the first batch:
    #
    #     plan 1   commit ... timeout ........ lands
    #     plan 2       read again                commit: the receipt of plan 1
    if isinstance(receipt, Receipt) and receipt.plan_digest != digest(plan, view):
        view.marks.append("commit: an earlier plan won")
        if is_ours(receipt, view):
            # The committed plan may have ended other facts than this plan; its receipt names them.
            removed = (*plan.forgotten, *list_ended(receipt))
            won = structs.replace(plan, decisions=decisions_of(plan, receipt), forgotten=removed)
            learn_lost(won, answer.versions, view)
        else:  # another operation wrote these rows, and learns them itself
            learn_lost(Plan(plan.at_ms, forgotten=plan.forgotten), (), view)
        value = with_text(first_value(receipt, view), plan.value)
        return Learned(STORED(value) | LOST(True))
    if plan.core is not None:
        # Storage assigned the version of the new core (Law 4).
        version = dict(answer.versions)[address(view.scope, "core")]
        adopt(view, structs.replace(plan.core, guard_version=version))
    learn_plan(plan, answer.versions, view, is_late=view.committed_since > 1)
    value = first_value(receipt, view) if isinstance(receipt, Receipt) else plan.value
    return Learned(STORED(with_text(value, plan.value)) | LOST(False))


def learn_lost(plan: Plan, versions: Versions, view: View) -> None:
    """Apply the plan to the tiers without its writes: the rows in storage are those of another plan."""
    learn_plan(structs.replace(plan, writes=()), versions, view, is_late=True)


def decisions_of(plan: Plan, receipt: Receipt) -> tuple[RoutingDecision, ...] | None:
    """Return the routing decisions of the committed plan; None if this plan has no decisions."""
    value = receipt.value.facts if isinstance(receipt.value, RecordAdded) else receipt.value
    return value.routing if plan.decisions is not None and isinstance(value, Remembered) else None


def list_ended(receipt: Receipt) -> tuple[str, ...]:
    """Return the ids of the facts that the batch of this receipt has ended."""
    value = receipt.value.facts if isinstance(receipt.value, RecordAdded) else receipt.value
    return value.ended if isinstance(value, Remembered | Memorized) else ()


def first_value(receipt: Receipt, view: View) -> object:
    """Return the value of the receipt; marked as repeated if another request with this key wrote it."""
    return receipt.value if is_ours(receipt, view) else as_repeated(receipt.value)


def is_ours(receipt: Receipt, view: View) -> bool:
    """Check whether this operation wrote the receipt, rather than another request with the same key."""
    return receipt.by == (view.epoch, view.number)


def take_keyed_commit(facts: Facts, answer: Committed | None, view: View) -> TakeResult:
    """Learn the commit as `take_commit` does; reject the request if a different one has used its key."""
    receipt = answer.receipt if answer is not None else None
    if isinstance(receipt, Receipt) and receipt.request_digest != request_digest(facts):
        return Rejection(KeyReused(str(facts.get(REQUEST_KEY))))
    return take_commit(facts, answer, view)


def learn_plan(plan: Plan, versions: Versions, view: View, *, is_late: bool) -> None:
    """Update access, schedules, session and decisions by the plan; `versions`: the new row versions.

    `is_late`: another commit was answered since this plan began, so it may be newer. Otherwise these versions
    are the newest, even if they are lower than known ones because storage has lost rows.
    """
    tiers = view.tiers
    access = tiers.access
    in_core = entity_ids(tiers.core)
    newest = access.newest(versions)  # computed once, because the table may have ten thousand records
    # Checked before the known versions are replaced.
    has_passed = is_passed(plan.writes, versions, newest)
    newest = newest if is_late else dict.fromkeys(newest, 0)
    access = access.record_commit(plan.accessed, plan.forgotten, plan.at_ms, in_core, versions, newest)
    # A record stays if it has changed since the plan, that is if its fact was accessed again.
    pruned = [it.entity_id for it in plan.pruned if access.records.get(it.entity_id) == it]
    access = access.without(pruned)
    access = access.record_writes(plan.writes, versions, newest)
    access = access.request_scan() if has_passed else access
    tiers.access = access.delete_again((*plan.forgotten, *pruned) if plan.writes else ())
    tiers.divisions = schedule.update_divisions(
        tiers.divisions, (write.body for write in plan.writes), view.config, is_late=is_late
    )  # fmt: skip
    upkeep_rows = ((it.address.id, it.body) for it in plan.writes if it.address.kind in schedule.UPKEEP_KINDS)
    tiers.upkeep = schedule.update_upkeep(tiers.upkeep, upkeep_rows, view.config, is_late=is_late)
    if plan.decisions is not None:
        tiers.decisions = plan.decisions
    if plan.spoken is not None:
        tiers.session = record_remember(tiers.session, *plan.spoken)


def ask_core(facts: Facts, view: View) -> Read | None:
    return Read(ByIds((address(view.scope, "core"),))) if facts[LOST] else None


def take_core(facts: Facts, answer: ReadDone, view: View) -> Learned:
    read_core(answer, view)
    return Learned()


def commit_row(
    replan: str, ask: Ask[Commit | None] = ask_commit, take: Take[Committed | None] = take_keyed_commit
) -> Step:
    return Step(
        "commit", requires=(PLAN,), produces=(STORED, LOST),
        # Retries are safe: all attempts have one key, so storage writes the batch at most once.
        **asks(Commit, ask, take, retry(3, replan=replan)),
    )  # fmt: skip


SETTLE = Step(
    "settle", requires=(LOST,), otherwise={},
    # A stale core does no harm: the next operation that reads core adopts a newer version.
    **asks(Read, ask_core, take_core, retry(2, then=degrade("core_unread"))),
)  # fmt: skip


def take_reply(facts: Facts, answer: None, view: View) -> Learned:
    return Learned(OUTCOME(Done(facts[STORED])))


REPLY = Step("reply", requires=(STORED,), produces=(OUTCOME,), take=take_reply)
