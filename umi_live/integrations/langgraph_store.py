"""LangGraph: a store on a memory.

    async with open_memory("agent.db", user="ann", agent="helper") as memory:
        graph = builder.compile(store=UmiStore(memory))

The synchronous methods need a memory of `open_blocking`.
"""

import json
import operator
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from umi_live.blocking import BlockingMemory
from umi_live.errors import needs_extra
from umi_live.integrations import records
from umi_live.integrations.records import ALL, LogEntry
from umi_live.memory import LiveMemory

try:
    from langgraph.store import base
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(needs_extra(error, "langgraph"), name=error.name) from None

OPERATORS: Final = {
    "$eq": operator.eq, "$ne": operator.ne, "$gt": operator.gt, "$gte": operator.ge,
    "$lt": operator.lt, "$lte": operator.le,
}  # fmt: skip


class UmiStore(base.BaseStore):
    """Items in namespaces. A query finds items by words, not by vectors, so `index` is ignored.

    Expired items are not found; `sweep_ttl` deletes them. A namespace and a key, written as JSON, may
    have 240 bytes together.
    """

    supports_ttl = True

    def __init__(self, memory: LiveMemory | BlockingMemory, ttl: base.TTLConfig | None = None) -> None:
        self.memory, self.ttl_config = memory, ttl

    async def do_all(self, memory: LiveMemory, ops: Iterable[base.Op]) -> list[base.Result]:
        """Do the operations and return their results; all reads are done before the writes."""
        listed = list(ops)
        for op in listed:
            base.validate_op_namespace(op)
        results = [None if isinstance(op, base.PutOp) else await read(memory, op) for op in listed]
        for op in {(it.namespace, it.key): it for it in listed if isinstance(it, base.PutOp)}.values():
            await put(memory, op)
        return results

    async def delete_expired(self, memory: LiveMemory) -> int:
        return await records.delete_expired(memory, tag_of("space"))

    batch, abatch = records.make_twins(do_all)
    sweep_ttl, asweep_ttl = records.make_twins(delete_expired)


async def put(memory: LiveMemory, op: base.PutOp) -> None:
    spaces = [op.namespace[:depth] for depth in range(len(op.namespace) + 1)]
    tags = tag_of("item", *op.namespace, op.key), *(tag_of("space", *it) for it in spaces)
    if op.value is None:
        await records.clear(memory, tags)
        return
    notes = {} if op.ttl is None else {records.TTL: str(round(op.ttl * 60_000))}
    if known := (await records.read_logs(memory, tags[0])).get(tags[0]):
        notes["created"] = known[-1].notes.get("created", str(known[-1].at_ms))
    await records.append(memory, tags, dict(op.value), ALL if known else "", **notes)


async def read(memory: LiveMemory, op: base.GetOp | base.SearchOp | base.ListNamespacesOp) -> base.Result:
    if isinstance(op, base.ListNamespacesOp):
        spaces = {read_item(*it).namespace for it in await records.list_last(memory, tag_of("space"))}
        conditions = op.match_conditions or ()
        cut = {it[: op.max_depth] for it in spaces if all(matches(it, each) for each in conditions)}
        return sorted(cut)[op.offset : op.offset + op.limit]
    if isinstance(op, base.GetOp):
        found = await records.list_last(memory, tag_of("item", *op.namespace, op.key))
    else:
        found = await records.list_last(memory, tag_of("space", *op.namespace_prefix), op.query)
        fitting = [it for it in found if admits(it[0].value, op.filter or {})]
        found = fitting[op.offset : op.offset + op.limit]
    for entry, _ in found if op.refresh_ttl and not memory.read_only else ():
        await records.renew(memory, entry)
    items = [read_item(*it) for it in found]
    return items if isinstance(op, base.SearchOp) else next(iter(items), None)


def read_item(entry: LogEntry, score: float | None) -> base.SearchItem:
    *namespace, key = json.loads(entry.log.partition(" ")[2])
    times = int(entry.notes.get("created", entry.at_ms)), entry.at_ms
    created, updated = (datetime.fromtimestamp(ms / 1_000, UTC) for ms in times)
    return base.SearchItem(tuple(namespace), key, entry.value, created, updated, score)


def tag_of(kind: str, *path: str) -> str:
    return f"langgraph_{kind} {json.dumps(path, ensure_ascii=False)}"


def matches(namespace: tuple[str, ...], condition: base.MatchCondition) -> bool:
    path, is_prefix = condition.path, condition.match_type == "prefix"
    part = namespace[: len(path)] if is_prefix else namespace[-len(path) :]
    return len(part) == len(path) and all(pair[0] in ("*", pair[1]) for pair in zip(path, part, strict=True))


def admits(value: Any, wanted: Any) -> bool:
    """Check whether a value equals that of a filter, or meets its operators. Raises ValueError."""
    if not isinstance(wanted, dict):
        return bool(value == (list(wanted) if isinstance(wanted, tuple) else wanted))
    if not any(key.startswith("$") for key in wanted):
        return isinstance(value, dict) and all(admits(value.get(key), it) for key, it in wanted.items())
    if unknown := sorted(wanted.keys() - OPERATORS.keys()):
        raise ValueError(f"{unknown[0]} is no operator of a filter; there are: {', '.join(OPERATORS)}")
    with suppress(TypeError):  # values of other types, and absent ones, cannot be compared: no match
        return all(OPERATORS[key](value, it) for key, it in wanted.items())
    return False
