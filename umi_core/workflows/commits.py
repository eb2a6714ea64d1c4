"""Plans and their commits: how every operation that writes ends.

Law 1. An operation computes first and commits once: rows, core and receipt in one batch under one key.
Law 2. Tiers follow a commit that is known to be durable, never one that was only asked for.
Law 3. If an earlier attempt with another plan won, its receipt is the truth, and core is read again.
Law 4. Core takes the place of core only under a higher row version.
"""

from collections.abc import Mapping
from hashlib import blake2b

import attrs

from umi_core.codec import encode
from umi_core.effects import ByIds, Commit, Done, Expect, Read, Write
from umi_core.inputs import Answer, Committed, ReadDone
from umi_core.policies.promotion import score_ppm
from umi_core.state import Facts, View
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier
from umi_core.tiers.session import remembered
from umi_core.values import Address, Body, Core, Entity, Receipt, RoutingDecision, Row, Scope, commit_key
from umi_core.workflow import Learned, Step, degrade, nothing, retry


@attrs.frozen
class Plan:
    """What a commit will write, and what the memory learns when it is durable."""

    at_ms: int
    writes: tuple[Write, ...] = ()
    expects: tuple[Expect, ...] = ()
    core: CoreTier | None = None
    value: object = None
    accessed: tuple[Entity, ...] = ()
    forgotten: tuple[str, ...] = ()
    decisions: tuple[RoutingDecision, ...] | None = None
    spoken: tuple[str, tuple[str, ...]] | None = None  # last input and names, for the reserved keys
    cursor: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.writes and self.core is None


# Rows and addresses.


def address(scope: Scope, kind: str, row_id: str | None = None) -> Address:
    """Epoch, head and core are one row each: their id is their kind."""
    return Address(scope, kind, kind if row_id is None else row_id)


def put(scope: Scope, kind: str, row_id: str, body: Body | None) -> Write:
    return Write(Address(scope, kind, row_id), body)


def found(answer: Answer | None) -> Mapping[Address, Row]:
    assert isinstance(answer, ReadDone)
    return {row.address: row for row in answer.rows}


def core_of(rows: Mapping[Address, Row], scope: Scope) -> CoreTier:
    """The core tier as storage has it; absent is empty under version 0."""
    row = rows.get(address(scope, "core"))
    if row is None:
        return CoreTier()
    assert isinstance(row.body, Core)
    return CoreTier(row.body.blocks, row.version)


def adopt(view: View, core: CoreTier) -> None:
    if core.guard_version > view.tiers.core.guard_version:
        view.tiers.core = core


def entity_ids(core: CoreTier) -> tuple[str, ...]:
    return tuple(entry.entity_id for _, entry in core.entries())


def scores_of(core: CoreTier, access: AccessTable, now_ms: int) -> dict[str, int]:
    """The score of every entry in core at this instant."""
    records = access.records
    return {key: score_ppm(records[key], now_ms) for key in entity_ids(core) if key in records}


# The rows.


def key_of(facts: Facts, view: View) -> str:
    request_key = facts.get("request_key")
    if isinstance(request_key, str):
        return commit_key(view.scope, "key", request_key)
    return commit_key(view.scope, view.epoch, view.number, "commit")


def ask_commit(facts: Facts, view: View) -> Commit | None:
    plan = facts["plan"]
    assert isinstance(plan, Plan)
    if plan.is_empty:
        return None
    key = key_of(facts, view)
    writes, expects = batch(plan, view.scope)
    receipt = Receipt(key, request_digest(facts), digest(plan), plan.value, plan.at_ms)
    epoch = Expect(address(view.scope, "epoch"), view.epoch)
    return Commit((*writes, put(view.scope, "receipt", key, receipt)), (epoch, *expects), key)


def batch(plan: Plan, scope: Scope) -> tuple[tuple[Write, ...], tuple[Expect, ...]]:
    if plan.core is None:
        return plan.writes, plan.expects
    core = address(scope, "core")
    return (*plan.writes, Write(core, Core(plan.core.blocks))), (
        *plan.expects,
        Expect(core, plan.core.guard_version),
    )


def digest(plan: Plan) -> bytes:
    blocks = None if plan.core is None else plan.core.blocks
    return blake2b(encode((plan.writes, blocks)), digest_size=16).digest()


def request_digest(facts: Facts) -> bytes:
    """Of the request behind a request key, so that another request under the same key is noticed."""
    return blake2b(encode(facts["request"]), digest_size=16).digest() if "request" in facts else b""


def take_commit(facts: Facts, answer: Answer | None, view: View) -> Learned:
    plan = facts["plan"]
    assert isinstance(plan, Plan)
    if answer is None:
        learn_plan(plan, view)
        return Learned({"stored": plan.value, "lost": False})
    assert isinstance(answer, Committed)
    receipt = answer.receipt
    if isinstance(receipt, Receipt) and receipt.plan_digest != digest(plan):
        view.marks.append("commit: an earlier plan won")
        return Learned({"stored": receipt.value, "lost": True})
    if plan.core is not None:
        version = dict(answer.versions)[address(view.scope, "core")]
        adopt(view, attrs.evolve(plan.core, guard_version=version))
    learn_plan(plan, view)
    return Learned({"stored": plan.value, "lost": False})


def learn_plan(plan: Plan, view: View) -> None:
    """Access, sessions and decisions, as the plan said."""
    tiers = view.tiers
    access = tiers.access
    if plan.accessed:
        access = access.touched(plan.accessed, plan.at_ms, entity_ids(tiers.core))
    tiers.access = access.without(plan.forgotten).saved(plan.writes)
    if plan.decisions is not None:
        tiers.decisions = plan.decisions
    if plan.spoken is not None:
        tiers.session = remembered(tiers.session, *plan.spoken)


def ask_core(facts: Facts, view: View) -> Read | None:
    return Read(ByIds((address(view.scope, "core"),))) if facts["lost"] else None


def take_core(facts: Facts, answer: Answer | None, view: View) -> Learned:
    if answer is not None:
        adopt(view, core_of(found(answer), view.scope))
    return Learned()


def commit_row(replan: str) -> Step:
    return Step(
        "commit", requires=("plan",), produces=("stored", "lost"), effect=Commit, ask=ask_commit, take=take_commit,
        on_failure=retry(3, replan=replan), otherwise=nothing("stored", "lost"),
    )  # fmt: skip


SETTLE = Step(
    "settle", requires=("lost",), effect=Read, ask=ask_core, take=take_core,
    on_failure=retry(2, then=degrade("core_unread")), otherwise={},
)  # fmt: skip


def take_reply(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned({"outcome": Done(facts["stored"])})


REPLY = Step("reply", requires=("stored",), produces=("outcome",), take=take_reply)
