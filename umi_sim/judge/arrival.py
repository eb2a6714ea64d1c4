"""Arrival: after a finished move of rows, a memory on them must show the rows, and none after its deletion.

Both checks run on a copy of the storage, so the run does not change.
"""

from typing import Any, Final

from umi_core.config import Config
from umi_core.kelpie import requests as api
from umi_core.language.words import words
from umi_core.messages.answers import Wake
from umi_core.messages.effects import Done
from umi_core.messages.request import Request
from umi_core.messages.requests import Recall
from umi_core.migration.rows import MOVED_KINDS, MigrationPhase
from umi_core.rows import Address
from umi_core.values import Scope
from umi_sim.judge.invariants.store import check_purged
from umi_sim.judge.oracle.migration_model import MigrationModel
from umi_sim.judge.small_world import SmallWorld
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.storage import SimStorage

PAGE_ROWS: Final = 100
PURGE_COUNT_MAX: Final = 100
Shown = list[tuple[str, str]]


def check_arrival(model: MigrationModel, storage: SimStorage, scope: Scope, now_ms: int) -> None:
    """Demand that a memory on this storage shows the moved rows, and none after the agent is deleted."""
    copy = SimStorage()
    copy.put_back({row.address: row for row in storage.live_rows(scope)}, now_ms)
    world = SmallWorld(scope, Config(auto_rebalance=False), now_ms, storage=copy)
    for kind in MOVED_KINDS:
        row = copy.rows.get(Address(scope, "phase", kind))
        if row is not None and isinstance(row.body, MigrationPhase) and row.body.phase == "done":
            model.check_arrival(scope.agent, kind, READERS[kind](world))
    ask(world, api.DeleteAgent("delete"))
    for _ in range(PURGE_COUNT_MAX):
        world.step(Wake())
        world.settle()
    check_purged(copy, scope)
    opened = ask(world, api.OpenAgent("open"))
    is_empty = not any(read(world) for read in READERS.values())
    demand(is_empty, rules.CLOSED_IS_CLOSED, f"{scope.agent} was deleted, and shows rows", "", opened)


def ask(world: SmallWorld, request: Request) -> Any:
    """Return the value in the reply to a request."""
    outcome, message = world.ask(request), f"{type(request).__name__} in a world without faults"
    demand(isinstance(outcome, Done), rules.MIGRATION_ARRIVES, message, "Done", outcome)
    assert isinstance(outcome, Done)
    return outcome.value


def read_blocks(world: SmallWorld) -> Shown:
    blocks = ask(world, api.ListBlocks("blocks")).blocks
    prompt = ask(world, api.BuildSystemPrompt("prompt")).text
    absent = [block.label for block in blocks if block.label not in prompt]
    demand(not absent, rules.MIGRATION_ARRIVES, "labels of blocks in the prompt", absent, prompt)
    return sorted((block.label, block.value) for block in blocks)


def read_messages(world: SmallWorld) -> Shown:
    shown: Shown = []
    before, has_older = None, True
    while has_older:
        page = ask(world, api.ListMessages(f"messages {before}", before, limit=PAGE_ROWS))
        shown[:0] = [(f"{it.seq:012}", it.content) for it in page.messages]
        before, has_older = page.messages[0].seq if page.messages else None, page.has_older
    return shown


def read_records(world: SmallWorld) -> Shown:
    shown: Shown = []
    cursor, has_more = None, True
    while has_more:
        page = ask(world, api.ListArchival(f"records {cursor}", PAGE_ROWS, cursor))
        shown += [(f"{it.seq:012}", it.content) for it in page.records]
        cursor, has_more = page.next, page.next is not None
    for number, content in shown:
        hits = ask(world, Recall(f"recall {number}", content)).hits if words(content) else ()
        is_found = not words(content) or any(hit.content in content for hit in hits)
        demand(is_found, rules.MIGRATION_ARRIVES, "the facts that a recall finds of a record", content, hits)
    return shown


READERS: Final = {"blocks": read_blocks, "messages": read_messages, "archival": read_records}
