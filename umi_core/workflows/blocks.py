"""Writes to the core tier: load, plan, commit, settle.

The tier in memory changes only when the commit is durable.
"""

from typing import Final, assert_never

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned, Rejection, Step, TakeResult, Workflow, asks, retry
from umi_core.errors import Error
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Read
from umi_core.messages.requests import RemoveBlock, SetBlock, SetImportance
from umi_core.messages.results import BlockRemoved, BlockSet
from umi_core.tiers.core import CoreTier, remove_block, set_block, set_importance
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REPLY,
    SETTLE,
    Plan,
    address,
    commit_row,
    read_core,
    scores_of,
)

BlockRequest = SetBlock | SetImportance | RemoveBlock

REQUEST: Final = Fact("request", BlockRequest)


def claim_core(facts: Facts, view: View) -> tuple[str, ...]:
    """Claim the core row, which has all blocks, so that writes to core run one after the other."""
    return ("core",)


def ask_load(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "core"),)))


def take_load(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(CORE(read_core(answer, view)))


def take_plan(facts: Facts, answer: None, view: View) -> TakeResult:
    planned = change(facts[REQUEST], facts[CORE], view)
    if isinstance(planned, Error):
        return Rejection(planned)
    after, value = planned
    return Learned(PLAN(Plan(view.now_ms, core=after, value=value)))


def change(
    request: BlockRequest, core: CoreTier, view: View
) -> tuple[CoreTier, BlockSet | BlockRemoved | None] | Error:
    """Return the core tier after the request, and the value of the reply; or the caller's error."""
    match request:
        case SetBlock(_, kind, text, label, importance_ppm, author):
            scores = scores_of(core, view.tiers.access, view.now_ms)
            done = set_block(core, kind, text, label, importance_ppm, scores, view.config, author)
        case SetImportance(_, kind, importance_ppm, label, author):
            done = set_importance(core, kind, importance_ppm, label, author)
        case RemoveBlock(_, kind, label, author):
            done = remove_block(core, kind, label, author)
        case _:
            assert_never(request)
    if isinstance(done, Error):
        return done
    if isinstance(request, RemoveBlock):
        return done.core, BlockRemoved(done.text, done.left_ids)
    return done.core, BlockSet(done.left_ids) if isinstance(request, SetBlock) else None


WRITE_BLOCK = Workflow(
    "write_block",
    given=(REQUEST,),
    steps=(
        Step("load", produces=(CORE,), claims=claim_core, **asks(Read, ask_load, take_load, retry(3))),
        Step("plan", requires=(REQUEST, CORE), produces=(PLAN,), take=take_plan),
        commit_row(replan="load"),
        SETTLE,
        REPLY,
    ),
)
