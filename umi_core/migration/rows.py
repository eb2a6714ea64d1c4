"""Writes and reads of a row: which store is asked in which phase, and what a failure means."""

from typing import Final

import attrs

from umi_core.messages.api_results import RowsListed
from umi_core.messages.migration_requests import AddRow, DropRow, ListRows, PutRow, ReadRow
from umi_core.migration.machine import (
    OF_LEGACY,
    WITH_OUTBOX,
    Answer,
    Ask,
    Came,
    Firsts,
    Job,
    Key,
    Migration,
    Steps,
    Told,
    Value,
    Write,
    ask,
    doubted,
    end,
    fenced,
    next_id,
    row,
    versions,
)
from umi_core.migration.writes import (
    again,
    as_done,
    done,
    done_before,
    is_held_up,
    key_of,
    once_of,
    settled,
    written,
)

NOBODY: Final[frozenset[str]] = frozenset()

# What begins a write: its key is looked up.


def put(it: Migration) -> Came:
    assert it.job is not None
    key = key_of(it.job)
    return put_new(it, it.job) if key is None else ask(it, Ask("main", only=("key", key)), "key_seen")


def key_seen(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    once = answer.rows[0][1].once if answer.rows else None
    return put_new(it, job) if once is None else again(it, job, once)


# Writes while legacy has the truth: legacy, and in dual_write main after it.


def put_new(it: Migration, job: Job) -> Came:
    if it.phase not in OF_LEGACY:
        return ask(it, Ask("main"), "put_main")
    if key_of(job) is not None or is_held_up(it, job):
        return ask(it, Ask("main"), "key_main")
    if isinstance(job.request, AddRow):
        return ask(it, Ask("legacy"), "add_legacy")
    return ask(it, Ask("legacy", (written(job),)), "put_legacy")


def add_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    write = written(attrs.evolve(job, legacy=answer.rows))
    return ask(it, Ask("legacy", (write,)), "put_legacy", legacy=answer.rows)


def key_main(it: Migration, job: Job, answer: Answer) -> Came:
    return (
        ask(it, Ask("legacy"), "key_legacy", main=answer.rows) if answer.kind == "ok" else end(it, "failed")
    )


def key_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    """What was begun is settled, and this write begun, in one commit; what is so already is only noted."""
    if answer.kind != "ok":
        return end(it, "failed")
    if (earlier := done_before(job, job.main, answer.rows)) is not None:
        return again(it, job, earlier)
    key, read = key_of(job), attrs.evolve(job, legacy=answer.rows)
    marks, once, step = settled(job.main, answer.rows), once_of(read, answer.rows), "key_begun"
    if key is not None and once.is_in(answer.rows):
        marks, step = {**marks, ("key", key): once}, "key_noted"
    elif key is not None:
        marks = {**marks, ("begun", key): once}
    if not marks:
        return ask(it, Ask("legacy", (written(read),)), "put_legacy", legacy=answer.rows)
    writes = tuple(marks.items())
    expects = dict(versions(job.main, writes))
    if key is not None:
        expects["key", key] = 0  # what was on its way may have landed since it was seen
    return ask(it, Ask("main", writes, fenced(it, *expects.items())), step, legacy=answer.rows)


def key_noted(it: Migration, job: Job, answer: Answer) -> Came:
    """What may land later is kept out by the fence of a new start."""
    if answer.kind == "unknown":
        return end(Migration(), "unknown")
    return done(attrs.evolve(it, begun=NOBODY), job) if answer.kind == "ok" else end(it, "failed")


def key_begun(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind == "unknown":
        return end(Migration(), "failed")
    if answer.kind == "failed":
        return end(it, "failed")
    begun = frozenset([written(job)[0][1]]) if key_of(job) is not None else NOBODY
    return ask(attrs.evolve(it, begun=begun), Ask("legacy", (written(job),)), "put_legacy")


def put_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind == "failed":
        return end(it, "failed")
    return mirrored(it, job) if answer.kind == "ok" else ask(it, Ask("legacy"), "put_look")


def put_look(it: Migration, job: Job, answer: Answer) -> Came:
    """Whether a write that may have happened has; if not, it may still be on its way."""
    key, content = written(job)
    if answer.kind != "ok" or row(answer.rows, key).value != content:
        return end(it, "unknown")
    return mirrored(it, job)


def mirrored(it: Migration, job: Job) -> Came:
    """Main is told of it in dual_write, and of its key in any phase."""
    is_told = it.phase == "dual_write" or key_of(job) is not None
    return ask(it, Ask("main"), "put_copy") if is_told else done(it, job)


def put_copy(it: Migration, job: Job, answer: Answer) -> Came:
    """What is added waits for those before it: reconcile brings them all."""
    if answer.kind != "ok":
        return done(it, job, "mirror:later")
    key, content = written(job)
    copy: tuple[Write, ...] = ((key, content),) if it.phase == "dual_write" else ()
    if isinstance(job.request, AddRow) and key[1] > next_id(answer.rows):
        copy = ()
    own = key_of(job)
    writes = copy if own is None else (*copy, *as_done(own, once_of(job, job.legacy)))
    if not writes:
        return done(it, job)
    return ask(it, Ask("main", writes, fenced(it, *versions(answer.rows, writes))), "put_copied")


def put_copied(it: Migration, job: Job, answer: Answer) -> Came:
    own = written(job)[0][1]
    it = doubted(it, own, answer)
    if answer.kind != "ok":
        return done(it, job, "mirror:later")
    return done(attrs.evolve(it, begun=it.begun - {own}), job)


# Writes when main has the truth: one commit, with the outbox row for legacy.


def put_main(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    if (earlier := done_before(job, answer.rows, answer.rows)) is not None:
        return again(it, job, earlier)
    own, read = key_of(job), attrs.evolve(job, main=answer.rows)
    key, content = written(read)
    outbox = ((("outbox", key[1]), "x"),) if it.phase in WITH_OUTBOX else ()
    marks = settled(answer.rows, answer.rows)
    if own is not None:
        marks = {**marks, ("key", own): once_of(read, answer.rows)}
    writes = ((key, content), *marks.items())
    expects = fenced(it, *versions(answer.rows, writes))
    return ask(it, Ask("main", (*writes, *outbox), expects), "put_done", main=answer.rows)


def put_done(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind == "failed":
        return end(it, "failed")
    own = written(job)[0][1]
    told = attrs.evolve(doubted(it, own, answer), pending=it.pending | {own})
    return done(told, job) if answer.kind == "ok" else end(told, "unknown")


# Reads.


def get(it: Migration) -> Came:
    return ask(it, Ask("legacy"), "get_legacy") if it.phase in OF_LEGACY else ask(it, Ask("main"), "get_main")


def wanted(job: Job) -> Key:
    assert isinstance(job.request, ReadRow)
    return "row", job.request.id


def shown(job: Job, rows: Told) -> Value | None:
    """What a read tells of these rows."""
    if isinstance(job.request, ReadRow):
        return row(rows, wanted(job)).value
    there = ((key[1], it.value) for key, it in rows if key[0] == "row")
    return RowsListed(tuple(sorted((own_id, content) for own_id, content in there if content is not None)))


def get_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    return end(it, "done", shown(job, answer.rows))


def get_main(it: Migration, job: Job, answer: Answer) -> Came:
    """In dual_read legacy is asked when main has no such row, or cannot be read and legacy lacks nothing."""
    if answer.kind != "ok":
        may_ask = it.phase == "dual_read" and not it.pending and not it.doubt
        return ask(it, Ask("legacy"), "get_instead") if may_ask else end(it, "failed")
    is_missed = isinstance(job.request, ReadRow) and row(answer.rows, wanted(job)).version == 0
    if is_missed and it.phase == "dual_read":
        return ask(it, Ask("legacy"), "get_missed")
    return end(it, "done", shown(job, answer.rows))


def get_instead(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    return end(it, "done", shown(job, answer.rows), "read:legacy")


def get_missed(it: Migration, job: Job, answer: Answer) -> Came:
    """Main has no such row, and it has the truth: that legacy cannot be asked makes nothing fail."""
    found = row(answer.rows, wanted(job))
    if answer.kind != "ok" or found.value is None:
        return end(it, "done")
    copy = Ask("main", ((wanted(job), found.value),), fenced(it, (wanted(job), 0)))
    return ask(it, copy, "get_copied", legacy=answer.rows)


def get_copied(it: Migration, job: Job, answer: Answer) -> Came:
    return end(it, "done", row(job.legacy, wanted(job)).value, "read:legacy")


FIRST: Final[Firsts] = {PutRow: put, DropRow: put, AddRow: put, ReadRow: get, ListRows: get}
STEPS: Final[Steps] = {
    "key_seen": key_seen, "key_main": key_main, "key_legacy": key_legacy, "key_noted": key_noted,
    "key_begun": key_begun, "add_legacy": add_legacy, "put_legacy": put_legacy, "put_look": put_look,
    "put_copy": put_copy,
    "put_copied": put_copied, "put_main": put_main, "put_done": put_done,
    "get_legacy": get_legacy, "get_main": get_main, "get_instead": get_instead, "get_missed": get_missed,
    "get_copied": get_copied,
}  # fmt: skip
