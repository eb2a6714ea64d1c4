"""recover: the first thing a life does. It claims the epoch, then loads core and access records.

Law 1. It never gives up, and never starts from "no data" on an error. Law 2. Every commit of a life expects
the epoch it claimed, so nothing that an earlier life sent lands later:

    life 1, epoch 7   plan ................................... arrives last: the epoch is 8, conflict
    life 2                    recover, epoch 8   plan   commit

Law 3. The claim has no idempotency key: two lives that read one epoch must not both be told they hold it.
"""

import attrs

from umi_core.engine.workflow import Learned, Step, Workflow, forever
from umi_core.messages.answers import Answer, Committed, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Commit, Done, Expect, Read, Write
from umi_core.rows import AccessRecord, Epoch
from umi_core.state import Facts, View
from umi_core.tiers.archive import AccessTable, surplus
from umi_core.tiers.core import CoreTier, fit
from umi_core.workflows.commits import (
    REPLY,
    SETTLE,
    Plan,
    address,
    adopt,
    ask_if_any,
    core_of,
    entity_ids,
    found,
    head_of,
    scores_of,
    take_commit,
)


def ask_head(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "epoch"), address(view.scope, "head"))))


def take_head(facts: Facts, answer: Answer | None, view: View) -> Learned:
    rows = found(answer)
    epoch = rows.get(address(view.scope, "epoch"))
    return Learned({"before": epoch.version if epoch else 0, "head": head_of(rows, view.scope)})


def ask_claim(facts: Facts, view: View) -> Commit:
    before = facts["before"]
    assert isinstance(before, int)
    epoch = address(view.scope, "epoch")
    return Commit((Write(epoch, Epoch(view.now_ms)),), (Expect(epoch, before),))


def take_claim(facts: Facts, answer: Answer | None, view: View) -> Learned:
    assert isinstance(answer, Committed)
    return Learned({"epoch": dict(answer.versions)[address(view.scope, "epoch")]})


def ask_core(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "core"),)))


def take_core(facts: Facts, answer: Answer | None, view: View) -> Learned:
    core = core_of(found(answer), view.scope)
    adopt(view, core)
    return Learned({"core": core})


def ask_access(facts: Facts, view: View) -> Read:
    return Read(ByFilter(view.scope, ("access",)))


def take_access(facts: Facts, answer: Answer | None, view: View) -> Learned:
    assert isinstance(answer, ReadDone)
    records = {row.address.id: row.body for row in answer.rows if isinstance(row.body, AccessRecord)}
    head = facts["head"]
    assert isinstance(head, tuple)
    table = AccessTable(records, is_due=True, ran_ms=view.now_ms).scan_at(*head)
    view.tiers.access = table.without(surplus(records, entity_ids(view.tiers.core)))
    return Learned({"loaded": len(records)})


def take_fit(facts: Facts, answer: Answer | None, view: View) -> Learned:
    """Limits may have been lowered since core was written: entries make room, authored text never does."""
    core = facts["core"]
    assert isinstance(core, CoreTier)
    fitted = fit(core, scores_of(core, view.tiers.access, view.now_ms), view.config)
    if fitted is None:
        view.marks.append("recover: authored text does not fit")
        return Learned({"plan": Plan(view.now_ms), "fits": False})
    after, left = fitted
    return Learned({"plan": Plan(view.now_ms, core=after if left else None), "fits": True})


def ask_fit(facts: Facts, view: View) -> Commit | None:
    return ask_if_any(facts, claimed(facts, view))


def take_fitted(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return take_commit(facts, answer, claimed(facts, view))


def claimed(facts: Facts, view: View) -> View:
    """The epoch of this life, which the memory itself learns at the end: receipts name it already."""
    epoch = facts["epoch"]
    assert isinstance(epoch, int)
    return attrs.evolve(view, epoch=epoch)


def take_done(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned({"outcome": Done(facts["epoch"])})


RECOVER = Workflow(
    "recover",
    given=(),
    steps=(
        Step("head", produces=("before", "head"),
             effect=Read, ask=ask_head, take=take_head, on_failure=forever()),
        Step("claim", requires=("before",), produces=("epoch",),
             effect=Commit, ask=ask_claim, take=take_claim, on_failure=forever(replan="head")),
        Step("load", produces=("core",), effect=Read, ask=ask_core, take=take_core, on_failure=forever()),
        Step("access", requires=("head",), produces=("loaded",),
             effect=Read, ask=ask_access, take=take_access, on_failure=forever()),
        Step("fit", requires=("core", "loaded"), produces=("plan", "fits"), take=take_fit),
        Step("commit", requires=("plan", "epoch"), produces=("stored", "lost"),
             effect=Commit, ask=ask_fit, take=take_fitted, on_failure=forever(replan="load")),
        attrs.evolve(SETTLE, on_failure=forever()),  # else a core that lacks room would stay
        Step("done", requires=("epoch", "fits"), produces=("outcome",), take=take_done),
    ),
)  # fmt: skip

__all__ = ["RECOVER", "REPLY"]
