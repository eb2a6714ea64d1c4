"""Plans and their commits: how every operation that writes ends.

Law 1. An operation computes first and commits once: rows, core and receipt in one batch under one key.
Law 2. Tiers follow a commit that is known to be durable, never one that was only asked for.
Law 3. If an earlier attempt with another plan won, its receipt is the truth, and core is read again.
Law 4. Core takes the place of core only under a higher row version.
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
    Taken,
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
    """Rows that a commit will write, and the changes of the tiers once it is durable."""

    at_ms: int
    writes: tuple[Write, ...] = ()
    expects: tuple[Expect, ...] = ()  # beyond what the engine derives from what was read
    core: CoreTier | None = None
    value: object = None
    accessed: tuple[Entity, ...] = ()
    forgotten: tuple[str, ...] = ()
    pruned: tuple[AccessRecord, ...] = ()  # as they were when they were planned to go
    decisions: tuple[RoutingDecision, ...] | None = None
    # for the session: input, names, last fact of the text, and all its facts
    spoken: tuple[str, tuple[str, ...], str | None, tuple[str, ...]] | None = None
    cursor: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.writes and self.core is None


REQUEST: Final = Fact("request", object)  # each workflow says of which class
REQUEST_KEY: Final = Fact("request_key", str | None)
CORE: Final = Fact("core", CoreTier)
PLAN: Final = Fact("plan", Plan)
STORED: Final = Fact("stored", object)
LOST: Final = Fact("lost", bool)


# Rows and addresses.


def address(scope: Scope, kind: str, row_id: str | None = None) -> Address:
    """Return the address; epoch, head and core are one row each, whose id is their kind."""
    return Address(scope, kind, kind if row_id is None else row_id)


def put(scope: Scope, kind: str, row_id: str, body: Body | None) -> Write:
    return Write(Address(scope, kind, row_id), body)


def index_rows(answer: ReadDone) -> Mapping[Address, Row]:
    """Return the rows of the answer by their addresses."""
    return {row.address: row for row in answer.rows}


def core_of(rows: Mapping[Address, Row], scope: Scope) -> CoreTier:
    """Return the core tier as storage has it; an absent row is an empty tier under version 0."""
    row = rows.get(address(scope, "core"))
    if row is None:
        return CoreTier()
    assert isinstance(row.body, Core)
    return CoreTier(row.body.blocks, row.version)


def head_of(rows: Mapping[Address, Row], scope: Scope) -> tuple[str, int]:
    """Return the cursor of the fair scan as storage has it, and its row version; without a row `("", 0)`."""
    row = rows.get(address(scope, "head"))
    return (row.body.cursor, row.version) if row and isinstance(row.body, Head) else ("", 0)


def read_core(answer: ReadDone, view: View) -> CoreTier:
    """Return the core tier of the answer, which becomes that of the memory if it is newer."""
    core = core_of(index_rows(answer), view.scope)
    adopt(view, core)
    return core


def adopt(view: View, core: CoreTier) -> None:
    # A read may be older than the tier: read core 7, a commit makes it 8, and then the answer arrives.
    if core.guard_version > view.tiers.core.guard_version:
        view.tiers.core = core


def entity_ids(core: CoreTier) -> tuple[str, ...]:
    return tuple(entry.entity_id for _, entry in core.entries())


def scores_of(core: CoreTier, access: AccessTable, now_ms: int) -> dict[str, int]:
    """Return the score at `now_ms` of every entry in core that has an access record."""
    records = access.records
    return {key: score_ppm(records[key], now_ms) for key in entity_ids(core) if key in records}


# The rows.


def key_of(facts: Facts, view: View) -> str:
    request_key, request = facts.get(REQUEST_KEY), facts.get(REQUEST)
    if request_key is not None and isinstance(request, Request):
        return commit_key(view.scope, request.key_space, request_key)
    # Epoch and number never occur together again, not even after a restart.
    return commit_key(view.scope, view.epoch, view.number, "commit")


def ask_if_any(facts: Facts, view: View) -> Commit | None:
    """Ask for the commit unless there is nothing to write: no rows, and no receipt under a request key.

    In doubt it is asked all the same: an earlier attempt may have been committed, and only its receipt tells.
    """
    is_keyed = facts.get(REQUEST_KEY) is not None
    if facts[PLAN].is_empty and not is_keyed and not view.in_doubt:  # an earlier attempt may have done it
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
    """Return a digest of the plan, by which an operation recognises the receipt of this very plan."""
    blocks = None if plan.core is None else plan.core.blocks
    # The number is part of it: two operations may plan equal rows, and each has to know its own receipt.
    return blake2b(encode((view.number, plan.writes, blocks)), digest_size=16).digest()


def request_digest(facts: Facts) -> bytes:
    """Return a digest of the request without its op_id, so that another request under its key is noticed."""
    request: Any = facts.get(REQUEST)
    asked = b"" if request is None else encode(structs.replace(request, op_id=0))
    return blake2b(asked, digest_size=16).digest()


def take_commit(facts: Facts, answer: Committed | None, view: View) -> Learned:
    """Learn what the plan says, unless another batch had the key first."""
    plan = facts[PLAN]
    if answer is None:
        # Nothing was written now, and what the plan has read may be older than a commit answered meanwhile.
        learn_plan(plan, (), view, is_late=True)
        return Learned(STORED(plan.value) | LOST(False))
    receipt = answer.receipt
    # The key was used before, so storage answers with the first outcome instead of writing:
    #
    #     plan 1   commit ... timeout ........ lands
    #     plan 2       read again        commit: the receipt of plan 1
    if isinstance(receipt, Receipt) and receipt.plan_digest != digest(plan, view):
        view.marks.append("commit: an earlier plan won")
        if is_ours(receipt, view):
            # The plan that won may have ended other facts than this one: its receipt names them.
            removed = (*plan.forgotten, *list_ended(receipt))
            won = structs.replace(plan, decisions=decisions_of(plan, receipt), forgotten=removed)
            learn_lost(won, answer.versions, view)
        else:  # those rows are learnt by the operation that wrote them
            learn_lost(Plan(plan.at_ms, forgotten=plan.forgotten), (), view)
        value = with_text(first_value(receipt, view), plan.value)
        return Learned(STORED(value) | LOST(True))
    if plan.core is not None:
        # The version comes from storage: the tier counts as newer only under a higher one.
        version = dict(answer.versions)[address(view.scope, "core")]
        adopt(view, structs.replace(plan.core, guard_version=version))
    learn_plan(plan, answer.versions, view, is_late=view.committed_since > 1)
    value = first_value(receipt, view) if isinstance(receipt, Receipt) else plan.value
    return Learned(STORED(with_text(value, plan.value)) | LOST(False))


def learn_lost(plan: Plan, versions: Versions, view: View) -> None:
    """Learn the effects of the plan but not its rows: those in storage are of another plan."""
    learn_plan(structs.replace(plan, writes=()), versions, view, is_late=True)


def decisions_of(plan: Plan, receipt: Receipt) -> tuple[RoutingDecision, ...] | None:
    """Return the decisions of the plan that was committed; None if this plan decided nothing."""
    value = receipt.value.facts if isinstance(receipt.value, RecordAdded) else receipt.value
    return value.routing if plan.decisions is not None and isinstance(value, Remembered) else None


def list_ended(receipt: Receipt) -> tuple[str, ...]:
    """Return the ids of the facts that the batch of this receipt has ended."""
    value = receipt.value.facts if isinstance(receipt.value, RecordAdded) else receipt.value
    return value.ended if isinstance(value, Remembered | Memorized) else ()


def first_value(receipt: Receipt, view: View) -> object:
    """Return the value of an earlier plan, or that of an earlier request with this key as repeated."""
    return receipt.value if is_ours(receipt, view) else as_repeated(receipt.value)


def is_ours(receipt: Receipt, view: View) -> bool:
    """Check whether an earlier plan of this operation wrote the receipt, not a request with the same key."""
    return receipt.by == (view.epoch, view.number)


def take_keyed_commit(facts: Facts, answer: Committed | None, view: View) -> Taken:
    """Take the commit, but reject a request key that another request has used since this one was planned."""
    receipt = answer.receipt if answer is not None else None
    if isinstance(receipt, Receipt) and receipt.request_digest != request_digest(facts):
        return Rejection(KeyReused(str(facts.get(REQUEST_KEY))))
    return take_commit(facts, answer, view)


def learn_plan(plan: Plan, versions: Versions, view: View, *, is_late: bool) -> None:
    """Update access, schedule, sessions and decisions by the plan; `versions`: those of the rows stored now.

    `is_late`: another commit was answered since, and may have been planned later. If none was, these versions
    are the newest, though storage has lost rows and counts from a lower one again.
    """
    tiers = view.tiers
    access = tiers.access
    in_core = entity_ids(tiers.core)
    newest = access.newest(versions)  # of ten thousand: looked for once
    # Before the versions are replaced: the check compares them with what was known until now.
    has_passed = is_passed(plan.writes, versions, newest)
    newest = newest if is_late else dict.fromkeys(newest, 0)
    access = access.record_commit(plan.accessed, plan.forgotten, plan.at_ms, in_core, versions, newest)
    # Equal as values: the record counts exactly the accesses that it counted when it was planned to go.
    pruned = [it.entity_id for it in plan.pruned if access.records.get(it.entity_id) == it]
    access = access.without(pruned)  # a record that was accessed again meanwhile stays
    access = access.record_writes(plan.writes, versions, newest)
    access = access.request_scan() if has_passed else access
    tiers.access = access.gone_for_good((*plan.forgotten, *pruned) if plan.writes else ())
    tiers.divisions = schedule.update_divisions(
        tiers.divisions, (write.body for write in plan.writes), view.config, is_late=is_late
    )  # fmt: skip
    kept_up = ((it.address.id, it.body) for it in plan.writes if it.address.kind in schedule.KEPT_UP)
    tiers.upkeep = schedule.update_upkeep(tiers.upkeep, kept_up, view.config, is_late=is_late)
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
        # Three attempts of one batch are safe: all have one key, and storage answers the second as the first.
        **asks(Commit, ask, take, retry(3, replan=replan)),
    )  # fmt: skip


SETTLE = Step(
    "settle", requires=(LOST,), otherwise={},
    # An old core is no wrong one: the next operation that reads core adopts a newer version.
    **asks(Read, ask_core, take_core, retry(2, then=degrade("core_unread"))),
)  # fmt: skip


def take_reply(facts: Facts, answer: None, view: View) -> Learned:
    return Learned(OUTCOME(Done(facts[STORED])))


REPLY = Step("reply", requires=(STORED,), produces=(OUTCOME,), take=take_reply)
