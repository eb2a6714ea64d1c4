"""Blocks of an agent server, as they are read: one or all of them, and what was done to one.

Which blocks there are is read first; then core once more, with their sheets, so that both are of one instant.
What has come since then is left out, what has gone is not there.
"""

from typing import Final

from umi_core.api_errors import NotFound
from umi_core.api_rows import BlockChange
from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Learned,
    Refuse,
    Step,
    Taken,
    Unusable,
    Workflow,
    asks,
    retry,
)
from umi_core.ids import block_id
from umi_core.limits import PAGE_ROWS_DEFAULT
from umi_core.messages.answers import ReadDone
from umi_core.messages.api_requests import BlockHistory, FindBlock, ListBlocks
from umi_core.messages.api_results import ApiBlock, BlocksShown, ChangesShown
from umi_core.messages.effects import ByFilter, ByIds, Done, Read
from umi_core.tiers.core import CoreTier
from umi_core.tiers.labels import authored
from umi_core.values import Scope
from umi_core.workflows.api_blocks import Standing, by_id, key_of_block, standing
from umi_core.workflows.blocks import ask_load, take_load
from umi_core.workflows.commits import CORE, address, adopt, core_of, found

SHOW: Final = Fact("request", ListBlocks | FindBlock)
HISTORY: Final = Fact("request", BlockHistory)


def shown(it: Standing) -> ApiBlock:
    assert it.text is not None
    created_ms, updated_ms = (it.kept.created_ms, it.kept.updated_ms) if it.kept else (0, 0)
    return ApiBlock(
        it.id, it.label, it.kind, it.text, it.description, it.limit_bytes, it.read_only, it.version,
        created_ms, updated_ms,
    )  # fmt: skip


def keys_of(core: CoreTier, scope: Scope) -> list[str]:
    return [block_id(scope, block.kind, block.label) for block in authored(core).values()]


def ask_shown(facts: Facts, view: View) -> Read:
    request, core, scope = facts[SHOW], facts[CORE], view.scope
    if isinstance(request, FindBlock):
        keys = [key_of_block(request, core, scope)]
    else:
        keys = keys_of(core, scope)
    return Read(ByIds((address(scope, "core"), *(address(scope, "sheet", key) for key in keys))))


def take_shown(facts: Facts, answer: ReadDone, view: View) -> Taken:
    request, core, scope = facts[SHOW], core_of(found(answer), view.scope), view.scope
    adopt(view, core)
    sheets = by_id(answer.rows)
    blocks = [standing(label, block, sheets, scope) for label, block in authored(core).items()]
    if isinstance(request, FindBlock):
        key = key_of_block(request, facts[CORE], scope)
        there = next((it for it in blocks if it.id == key), None)
        return Learned(OUTCOME(Done(shown(there)))) if there else Refuse(NotFound("block", request.block))
    known = [
        block_id(scope, block.kind, block.label) for block in facts[CORE].blocks if block.text is not None
    ]
    return Learned(OUTCOME(Done(BlocksShown(tuple(shown(it) for it in blocks if it.id in known)))))


def ask_history(facts: Facts, view: View) -> Read:
    request = facts[HISTORY]
    cursor = None if request.after is None else f"change/{request.block_id}@{request.after:012}"
    where = (Condition("block_id", "eq", request.block_id),)
    return Read(ByFilter(view.scope, ("change",), where, request.limit or PAGE_ROWS_DEFAULT, cursor))


def take_history(facts: Facts, answer: ReadDone, view: View) -> Taken:
    request = facts[HISTORY]
    changes = tuple(row.body for row in answer.rows if isinstance(row.body, BlockChange))
    if not changes and request.after is None and answer.cursor is None:
        return Refuse(NotFound("block", request.block_id))
    if answer.cursor is not None and not changes:
        return Unusable("an empty page that goes on")
    after = changes[-1].version if answer.cursor is not None else None
    return Learned(OUTCOME(Done(ChangesShown(changes, after))))


READ_BLOCKS: Final = Workflow(
    "read_blocks",
    given=(SHOW,),
    steps=(
        Step("load", produces=(CORE,), **asks(Read, ask_load, take_load, retry(3))),
        Step("read", requires=(SHOW, CORE), produces=(OUTCOME,),
             **asks(Read, ask_shown, take_shown, retry(3))),
    ),
)  # fmt: skip

BLOCK_HISTORY: Final = Workflow(
    "block_history",
    given=(HISTORY,),
    steps=(
        Step("read", requires=(HISTORY,), produces=(OUTCOME,),
             **asks(Read, ask_history, take_history, retry(3))),
    ),
)  # fmt: skip
