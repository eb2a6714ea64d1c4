"""Logs of JSON values in a memory. An entry is one or more archival records; their first tag names the log.

    id      tags                 metadata                    content
    arc_7   openai talk          part 1                      +..."}]          the rest of a long value
    arc_8   openai talk          rest0: arc_7                [{"role": "us
    arc_9   openai talk          drops: arc_8                [{"role": "assistant", ...

Law 1. An entry exists as soon as its last record, the head, is committed; the head also names the earlier
entries that it drops. Law 2. Dropped records are deleted after that commit. If the process ends before, reads
ignore the rest, and the next `sweep` of the log deletes them; the same holds for an entry whose time to live
(`ttl`, in ms) is over. A record that drops others is deleted after them: without it they would be shown
again. Law 3. Changes and reads of one memory run one at a time, and complete even if their caller is
cancelled.
"""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

from umi_core.data import Data
from umi_core.kelpie.requests import AddArchival, DeleteArchival, ListArchival, SearchArchival
from umi_core.kelpie.results import Appended, RecordDeleted, RecordsShown
from umi_core.kelpie.rows import Archival
from umi_core.limits import RECALL_LIMIT_MAX, SEARCH_DEPTH_MAX, TEXT_BYTES_MAX
from umi_live.blocking import BlockingMemory
from umi_live.errors import LiveError
from umi_live.memory import LiveMemory
from umi_live.storage import wall_ms

P = ParamSpec("P")
T = TypeVar("T")
PIECE_BYTES: Final = TEXT_BYTES_MAX - 1  # one byte is left for PART
PIECE_COUNT_MAX: Final = 90  # each needs a pair of metadata, and a record may have 100 pairs
VALUE_BYTES_MAX: Final = PIECE_BYTES * PIECE_COUNT_MAX
DROPS: Final = "drops"  # which earlier entries an entry drops
ALL: Final = "all"  # in `drops`: all earlier entries of the log
TTL, AT = "ttl", "at"  # the time to live in ms; the time of adding an entry that was renewed since
PART: Final = "+"  # precedes the content of a part, so that no part is blank
SURROGATE: Final = re.compile("[\ud800-\udfff]")
LOCKS: Final[WeakKeyDictionary[LiveMemory, tuple[asyncio.AbstractEventLoop, asyncio.Lock]]] = (
    WeakKeyDictionary()
)
RUNNING: Final[dict[asyncio.Task[Any], None]] = {}  # references, or tasks might be garbage-collected


class LogEntry(Data):
    """A value of a log. `ids`: its records; the first is the head, whose metadata names the others."""

    ids: tuple[str, ...]
    value: Any
    at_ms: int
    tags: tuple[str, ...]
    notes: dict[str, str]

    @property
    def log(self) -> str:
        return self.tags[0]


Logs = dict[str, list[LogEntry]]


# The methods of a framework: each is written once, and gets a synchronous and an asynchronous form.


class MemoryUser(Protocol):
    """An object of an adapter that stores records in a memory."""

    memory: LiveMemory | BlockingMemory


K = TypeVar("K", bound=MemoryUser)


def make_twins(
    method: Callable[Concatenate[K, LiveMemory, P], Coroutine[Any, Any, T]],
) -> tuple[Callable[Concatenate[K, P], T], Callable[Concatenate[K, P], Coroutine[Any, Any, T]]]:
    """Return a synchronous form of the method, which needs a memory of `open_blocking`, and an asynchronous
    one. Both have the parameters of the method except `memory`."""

    @wraps(method)
    def call(self: K, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if isinstance(self.memory, BlockingMemory):
            own = self.memory.memory
            return self.memory.run(run_alone(own, method(self, own, *args, **kwargs)))
        raise LiveError(
            "the memory is asynchronous: call the asynchronous method, or open it by open_blocking"
        )

    @wraps(method)
    async def call_async(self: K, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if isinstance(self.memory, BlockingMemory):
            own = self.memory.memory
            return await asyncio.wrap_future(
                self.memory.begin(run_alone(own, method(self, own, *args, **kwargs)))
            )
        return await run_alone(self.memory, method(self, self.memory, *args, **kwargs))

    return call, call_async


async def run_alone(memory: LiveMemory, work: Coroutine[Any, Any, T]) -> T:
    """Do the work after all earlier work on this memory, even if the caller is cancelled (law 3)."""
    loop = asyncio.get_running_loop()
    known, lock = LOCKS.get(memory, (None, asyncio.Lock()))
    if known is not loop:  # the memory was opened again, in another event loop
        lock = asyncio.Lock()
        LOCKS[memory] = loop, lock

    async def run_locked() -> T:
        async with lock:
            return await work

    task = loop.create_task(run_locked())
    RUNNING[task] = None
    task.add_done_callback(RUNNING.pop)
    return await asyncio.shield(task)


# Logs.


async def read_logs(memory: LiveMemory, tag: str) -> Logs:
    """Return the entries of all logs with this tag, by log name; the oldest entry first."""
    logs: Logs = {}
    for entry in list_heads(await list_records(memory, tag)):
        logs.setdefault(entry.log, []).append(entry)
    return logs


async def append(
    memory: LiveMemory, tags: Sequence[str], value: object, drops: str = "", **notes: str
) -> None:
    """Add an entry to the log named by the first tag. `drops`: the id of an earlier entry to drop, or ALL.

    Raises LiveError for a value that is too long, RequestRefused for a tag that is too long.
    """
    pieces = cut(
        SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
    )
    ids = list[str]()
    for piece in pieces[1:]:
        ids.append(await add(memory, PART + piece, tags, {PART: ""}))
    rest = {f"{PART}{number}": key for number, key in enumerate(ids)}
    await add(memory, pieces[0], tags, {**({DROPS: drops} if drops else {}), **notes, **rest})
    if drops:
        await sweep(memory, tags[0])


async def renew(memory: LiveMemory, entry: LogEntry) -> None:
    """Restart the time to live of the only entry of a log, if it has one."""
    if TTL in entry.notes:
        kept = {key: it for key, it in entry.notes.items() if key != DROPS and not key.startswith(PART)}
        await append(memory, entry.tags, entry.value, ALL, **{**kept, AT: str(entry.at_ms)})


async def delete_expired(memory: LiveMemory, tag: str) -> int:
    """Delete the expired entries with this tag, and return their number."""
    expired = [it.tags[0] for it in await list_records(memory, tag) if is_expired(it)]
    for log in dict.fromkeys(expired):
        await sweep(memory, log)
    return len(expired)


async def list_last(
    memory: LiveMemory, tag: str, query: str | None = None
) -> list[tuple[LogEntry, float | None]]:
    """Return the last entry of each log with this tag, the newest first. With a query, return only those with
    words of the query, the best first, each with its score from 0 to 1."""
    entries = [log[-1] for log in (await read_logs(memory, tag)).values()][::-1]
    if not query:
        return [(it, None) for it in entries]
    scores = await score(memory, tag, query)
    found = sorted((it for it in entries if it.ids[0] in scores), key=lambda it: -scores[it.ids[0]])
    return [(it, scores[it.ids[0]] / 1_000_000) for it in found]


async def score(memory: LiveMemory, tag: str, query: str) -> dict[str, int]:
    """Return the relevance, in ppm by id, of the records with this tag and with words of the query."""
    scores, depth = dict[str, int](), 0
    while depth <= SEARCH_DEPTH_MAX:
        request = SearchArchival(0, query, RECALL_LIMIT_MAX, (tag,), depth)
        page = (await memory.ask(request, RecordsShown)).value
        scores |= {it.id: ppm for it, ppm in zip(page.records, page.scores_ppm, strict=True)}
        if len(page.records) < RECALL_LIMIT_MAX:
            break
        depth += RECALL_LIMIT_MAX
    return scores


async def clear(memory: LiveMemory, tags: Sequence[str]) -> bool:
    """Remove all entries of the log named by the first tag, and return whether there was one."""
    entries = (await read_logs(memory, tags[0])).get(tags[0], [])
    if len(entries) > 1:
        await add(memory, "null", tags, {DROPS: ALL, "empty": ""})
    elif entries:
        await delete_entry(memory, entries[0])
    await sweep(memory, tags[0])
    return bool(entries)


async def delete_entry(memory: LiveMemory, entry: LogEntry) -> None:
    """Delete the head of an entry, and before it what it drops."""
    if DROPS in entry.notes:
        await sweep(memory, entry.log)
    await delete(memory, entry.ids[:1])


async def sweep(memory: LiveMemory, log: str) -> None:
    """Delete the records of a log that reads ignore: those that drop none, then the others, oldest first."""
    records = await list_records(memory, log)
    kept = {key for entry in list_heads(records) for key in entry.ids}
    dead = [it for it in records if it.id not in kept and it.tags[0] == log]
    await delete(memory, [it.id for it in dead if DROPS not in dict(it.metadata)])
    for record in dead:
        if DROPS in dict(record.metadata):
            await delete(memory, [record.id])


# Lists: logs whose entries are lists of items; each entry has the items that were added together.


async def read_items(memory: LiveMemory, log: str) -> list[Any]:
    return [item for entry in (await read_logs(memory, log)).get(log, []) for item in entry.value]


async def save_items(memory: LiveMemory, tags: Sequence[str], items: list[Any]) -> None:
    """Replace the items of a list. If the new items begin with the stored ones, only the rest is written."""
    wanted = json.loads(json.dumps(items))  # as a read returns them: with lists in place of tuples
    known = await read_items(memory, tags[0])
    if not wanted:
        await clear(memory, tags)
    elif wanted[: len(known)] != known:
        await append(memory, tags, wanted, ALL)
    elif more := wanted[len(known) :]:
        await append(memory, tags, more)


async def pop_item(memory: LiveMemory, tags: Sequence[str]) -> Any:
    """Remove and return the last item; None if there is none."""
    entries = (await read_logs(memory, tags[0])).get(tags[0])
    if not entries:
        return None
    *others, item = entries[-1].value
    if others:
        await append(memory, tags, others, drops=entries[-1].ids[0])
    else:
        await delete_entry(memory, entries[-1])
        await sweep(memory, tags[0])
    return item


# Records.


def list_heads(records: Iterable[Archival]) -> list[LogEntry]:
    """Return the entries of these records in order, without those that a later one drops."""
    by_id = {it.id: it for it in records}
    kept: dict[str, dict[str, Archival]] = {}
    for it in by_id.values():
        notes, log = dict(it.metadata), kept.setdefault(it.tags[0], {})
        if PART in notes:
            continue
        if notes.get(DROPS) == ALL:
            log.clear()
        log.pop(notes.get(DROPS, ""), None)
        if "empty" not in notes:
            log[it.id] = it
    live = (it for log in kept.values() for it in log.values() if not is_expired(it))
    heads = sorted(live, key=lambda it: it.seq)
    return [read_entry(it, by_id) for it in heads]


def is_expired(record: Archival) -> bool:
    """Check whether the time to live of an entry is over. `record`: its head."""
    ttl_ms = dict(record.metadata).get(TTL)
    return ttl_ms is not None and record.at_ms + int(ttl_ms) <= wall_ms()


def read_entry(head: Archival, by_id: dict[str, Archival]) -> LogEntry:
    notes = dict(head.metadata)
    rest = [key for name, key in notes.items() if name.startswith(PART)]
    text = head.content + "".join(by_id[key].content.removeprefix(PART) for key in rest)
    return LogEntry((head.id, *rest), json.loads(text), int(notes.get(AT, head.at_ms)), head.tags, notes)


def cut(text: str) -> list[str]:
    """Return the text in pieces that fit into a record. Raises LiveError if there are too many."""
    data, pieces = text.encode(), list[str]()
    if len(data) > VALUE_BYTES_MAX:
        raise LiveError(
            f"the value has {len(data)} bytes as JSON; at most {VALUE_BYTES_MAX} can be kept: divide it"
        )
    while data:
        piece = data[:PIECE_BYTES].decode(errors="ignore")  # drops a character that is cut in half
        pieces.append(piece)
        data = data[len(piece.encode()) :]
    return pieces


async def list_records(memory: LiveMemory, tag: str) -> list[Archival]:
    found, cursor = list[Archival](), None
    while True:
        page = (await memory.ask(ListArchival(0, RECALL_LIMIT_MAX, cursor, (tag,)), RecordsShown)).value
        found += page.records
        if (cursor := page.next) is None:
            return found


async def add(memory: LiveMemory, content: str, tags: Sequence[str], notes: dict[str, str]) -> str:
    request = AddArchival(0, content, tuple(tags), tuple(notes.items()))
    return (await memory.ask(request, Appended)).value.ids[0]


async def delete(memory: LiveMemory, ids: Sequence[str]) -> None:
    """Delete records concurrently, so that they share one wait for the disk."""
    work = (memory.ask(DeleteArchival(0, key), RecordDeleted) for key in ids)
    await asyncio.gather(*work)
