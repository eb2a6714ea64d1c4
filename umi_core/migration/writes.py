"""What a write is about, and its request key: one that comes again is not done again, in whatever phase.

Law 1. While main has the truth, the key stands in the commit of the write. Law 2. While legacy has it, the
key is begun in main before legacy is written, and done after it. Law 3. A row that was begun nobody else
writes until main says what came of it: so the store that has the truth shows it.
"""

from umi_core.messages.migration_requests import AddRow, DropRow, PutRow
from umi_core.migration.machine import Came, Job, Key, Migration, Once, Told, Write, end, next_id, row


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


def key_of(job: Job) -> str | None:
    assert isinstance(job.request, PutRow | DropRow | AddRow)
    return job.request.request_key


def is_held_up(it: Migration, job: Job) -> bool:
    """Whether main has to say first what came of another write of this row; of a log, of any."""
    return bool(it.begun) if isinstance(job.request, AddRow) else written(job)[0][1] in it.begun


def once_of(job: Job, truth: Told) -> Once:
    (_, own_id), content = written(job)
    return Once(own_id, row(truth, ("row", own_id)).value, content)


def begun(main: Told) -> dict[str, Once]:
    """By key, what may have been done."""
    return {key[1]: held.once for key, held in main if key[0] == "begun" and held.once is not None}


def begun_ids(main: Told) -> frozenset[str]:
    return frozenset(once.id for once in begun(main).values())


def done_before(job: Job, main: Told, truth: Told) -> Once | None:
    """What was begun under its key, if the store that has the truth shows that it is done."""
    once = begun(main).get(key_of(job) or "")
    return once if once is not None and once.is_in(truth) else None


def as_done(key: str, once: Once) -> tuple[Write, ...]:
    return (("begun", key), None), (("key", key), once)


def settled(main: Told, truth: Told) -> dict[Key, str | Once | None]:
    """What came of each key that was begun: it is done, or it was never used."""
    marks: dict[Key, str | Once | None] = {}
    for key, once in begun(main).items():
        marks["begun", key] = None
        if once.is_in(truth):
            marks["key", key] = once
    return marks


def again(it: Migration, job: Job, once: Once) -> Came:
    """The reply of the first, unless another request has that key."""
    (_, own_id), content = written(job)
    is_add = isinstance(job.request, AddRow)
    if content != once.content or not (is_add or own_id == once.id):
        return end(it, "reused", key_of(job))
    return end(it, "done", once.id if is_add else None)
