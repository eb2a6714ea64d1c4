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
    ask,
    doubted,
    end,
    fenced,
    next_id,
    row,
)

# Writes while legacy has the truth: legacy, and in dual_write main after it.


def put(it: Migration) -> Came:
    assert it.job is not None
    if it.phase not in OF_LEGACY:
        return ask(it, Ask("main"), "put_main")
    if isinstance(it.job.request, AddRow):
        return ask(it, Ask("legacy"), "add_legacy")
    return ask(it, Ask("legacy", (written(it.job),)), "put_legacy")


def written(job: Job) -> tuple[Key, str | None]:
    """The row that a write is about, and its new content; None deletes it.

    What is added comes behind all rows of the store that has the truth, which was read before.
    """
    match job.request:
        case AddRow(content=content):
            return ("row", next_id(job.legacy or job.main)), content
        case PutRow(id=own_id, content=content):
            return ("row", own_id), content
    assert isinstance(job.request, DropRow)
    return ("row", job.request.id), None


def done(it: Migration, job: Job, degraded: str = "") -> Came:
    """A write is done; of what was added its id is told."""
    return end(it, "done", written(job)[0][1] if isinstance(job.request, AddRow) else None, degraded)


def add_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    write = written(attrs.evolve(job, legacy=answer.rows))
    return ask(it, Ask("legacy", (write,)), "put_legacy", legacy=answer.rows)


def put_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind == "failed":
        return end(it, "failed")
    return mirrored(it, job) if answer.kind == "ok" else ask(it, Ask("legacy"), "put_look")


def put_look(it: Migration, job: Job, answer: Answer) -> Came:
    """Whether a write that may have happened has."""
    key, content = written(job)
    if answer.kind != "ok":
        return end(it, "unknown")
    return mirrored(it, job) if row(answer.rows, key).value == content else end(it, "failed")


def mirrored(it: Migration, job: Job) -> Came:
    return done(it, job) if it.phase == "legacy" else ask(it, Ask("main"), "put_copy")


def put_copy(it: Migration, job: Job, answer: Answer) -> Came:
    """What is added waits for those before it: reconcile brings them all."""
    if answer.kind != "ok":
        return done(it, job, "mirror:later")
    key, content = written(job)
    if isinstance(job.request, AddRow) and key[1] > next_id(answer.rows):
        return done(it, job)
    expects = fenced(it, (key, row(answer.rows, key).version))
    return ask(it, Ask("main", ((key, content),), expects), "put_copied")


def put_copied(it: Migration, job: Job, answer: Answer) -> Came:
    it = doubted(it, written(job)[0][1], answer)
    return done(it, job, "" if answer.kind == "ok" else "mirror:later")


# Writes when main has the truth: one commit, with the outbox row for legacy.


def put_main(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    key, content = written(attrs.evolve(job, main=answer.rows))
    outbox = ((("outbox", key[1]), "x"),) if it.phase in WITH_OUTBOX else ()
    expects = fenced(it, (key, row(answer.rows, key).version))
    return ask(it, Ask("main", ((key, content), *outbox), expects), "put_done", main=answer.rows)


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
    "add_legacy": add_legacy, "put_legacy": put_legacy, "put_look": put_look, "put_copy": put_copy,
    "put_copied": put_copied, "put_main": put_main, "put_done": put_done,
    "get_legacy": get_legacy, "get_main": get_main, "get_instead": get_instead, "get_missed": get_missed,
    "get_copied": get_copied,
}  # fmt: skip
