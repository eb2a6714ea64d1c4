"""The steps of all requests, by name: `begin` a request, then pass each answer to `handle_answer`.

In order: starts, writes and reads of a row, switches of the phase, and steps that make both stores equal.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import structs

from umi_core.declared import complete, list_declared
from umi_core.kelpie.moved import place_row
from umi_core.limits import HAND_OVER_ROW_COUNT_MAX
from umi_core.migration import requests
from umi_core.migration.machine import (
    COMPARED,
    HANDED_OVER,
    MIRRORED,
    OF_LEGACY,
    PHASE,
    SWITCHES,
    WITH_OUTBOX,
    Ask,
    Firsts,
    Job,
    Key,
    Migration,
    Once,
    Step,
    Stepped,
    Steps,
    StoreResult,
    StoreRows,
    Value,
    Write,
    add_fence,
    ask,
    end,
    next_id,
    row,
    update_doubt,
    versions,
    waiting,
)
from umi_core.migration.requests import (
    AddRow,
    AdvanceMigration,
    CompareStores,
    DropRow,
    ListRows,
    MigrationRequest,
    Mirror,
    Purge,
    PutRow,
    ReadRow,
    Reconcile,
    RollBack,
    RowsListed,
    StoresCompared,
)
from umi_core.values import Pairs

MAIN: Final = Ask("main")
WHOLE_MAIN: Final = Ask("main", with_keys=True)


def begin(it: Migration, request: MigrationRequest) -> Stepped:
    """Return the first question of a request, or its reply."""
    assert it.job is None
    with_job = structs.replace(it, job=Job(request, ""))
    if not it.phase:
        return ask(with_job, MAIN, "find")
    if it.phase in HANDED_OVER and not isinstance(request, AdvanceMigration):
        return end(with_job, "not_ready", "a request to the memory itself, which has these rows")
    return FIRST[type(request)](with_job)


def handle_answer(it: Migration, answer: StoreResult) -> Stepped:
    """Return the next question after an answer, or the reply."""
    assert it.job is not None
    if answer.kind != "ok" and it.job.step not in SEE_FAILURES:
        return end(it, "failed")
    return STEPS[it.job.step](it, it.job, answer)


def finish(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    return end(it, "done")


def read_main(step: str, question: Ask = MAIN) -> Step:
    """Return a step that keeps the rows read from legacy, and reads main for the given next step."""
    return lambda it, job, answer: ask(it, question, step, legacy=answer.rows)


# A start: read the phase, set a new fence, read the outbox.


def find(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    phase = row(answer.rows, PHASE)
    # Writing the phase again raises its version, the fence, so commits of earlier incarnations conflict.
    write = (PHASE, phase.value or "legacy")
    return ask(it, Ask("main", (write,), ((PHASE, phase.version),)), "raise", main=answer.rows)


def read_outbox(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    phase = row(answer.rows, PHASE)
    pending, begun = frozenset(waiting(answer.rows)), begun_ids(answer.rows)
    known = Migration(str(phase.value), phase.version, pending, begun=begun)
    return begin(known, job.request)


# Writes with a request key: a repeated write is not done again, in any phase.
#
# Law 1. While main leads, the key is part of the commit of the write. Law 2. While legacy leads, the key is
# stored in main as `begun` before legacy is written, and as `key` afterwards. Law 3. Between these two no
# other write of the row is made, so the leading store shows whether this one was done.


def write_of(job: Job) -> tuple[Key, str | None]:
    """Return the row that a write changes, and its new content; None deletes the row.

    An added row gets the id after the last row of the leading store, which was read before.
    """
    match job.request:
        case AddRow(content=content):
            return ("row", next_id(job.legacy or job.main)), content
        case PutRow(id=own_id, content=content):
            return ("row", own_id), content
    assert isinstance(job.request, DropRow)
    return ("row", job.request.id), None


def finish_write(it: Migration, job: Job, degraded: str = "") -> Stepped:
    """Reply to a write that is done; the reply has the id of an added row."""
    return end(it, "done", write_of(job)[0][1] if isinstance(job.request, AddRow) else None, degraded)


def key_of(job: Job) -> str | None:
    assert isinstance(job.request, PutRow | DropRow | AddRow)
    return job.request.request_key


def is_blocked(it: Migration, job: Job) -> bool:
    """Check whether a begun write of this row, or for an add of any row of the log, must be settled first."""
    # An added row gets the next number, and any begun write of the log may have taken that.
    return bool(it.begun) if isinstance(job.request, AddRow) else write_of(job)[0][1] in it.begun


def once_of(job: Job, truth: StoreRows) -> Once:
    (_, own_id), content = write_of(job)
    return Once(own_id, row(truth, ("row", own_id)).value, content)


def list_begun(main: StoreRows) -> dict[str, Once]:
    """Return the begun writes by their request keys."""
    return {key[1]: held.once for key, held in main if key[0] == "begun" and held.once is not None}


def begun_ids(main: StoreRows) -> frozenset[str]:
    return frozenset(once.id for once in list_begun(main).values())


def done_before(job: Job, main: StoreRows, truth: StoreRows) -> Once | None:
    """Return the write begun under this key, if the leading store shows that it was done."""
    once = list_begun(main).get(key_of(job) or "")
    return once if once is not None and once.is_in(truth) else None


def as_done(key: str, once: Once) -> tuple[Write, ...]:
    return (("begun", key), None), (("key", key), once)


def settle_keys(main: StoreRows, truth: StoreRows) -> dict[Key, str | Once | None]:
    """Return writes that settle each begun key: it becomes a done key, or is removed as never used."""
    marks: dict[Key, str | Once | None] = {}
    for key, once in list_begun(main).items():
        marks["begun", key] = None
        if once.is_in(truth):
            marks["key", key] = once
    return marks


def again(it: Migration, job: Job, once: Once) -> Stepped:
    """Reply as to the first request with this key, or with `reused` if that was a different request."""
    (_, own_id), content = write_of(job)
    is_add = isinstance(job.request, AddRow)
    # The id of an added row is derived from the log, so adds are compared by content only.
    if content != once.content or not (is_add or own_id == once.id):
        return end(it, "reused", key_of(job))
    return end(it, "done", once.id if is_add else None)


# Writes and reads of a row: which store is asked in which phase, and what a failure means.


NO_IDS: Final[frozenset[str]] = frozenset()

# The begin of a write: look up its key.


def put(it: Migration) -> Stepped:
    assert it.job is not None
    key = key_of(it.job)
    return put_new(it, it.job) if key is None else ask(it, Ask("main", only=("key", key)), "key_seen")


def key_seen(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    once = answer.rows[0][1].once if answer.rows else None
    return put_new(it, job) if once is None else again(it, job, once)


# Writes while legacy leads: write legacy, then in dual_write also main.


def put_new(it: Migration, job: Job) -> Stepped:
    if it.phase not in OF_LEGACY:
        return ask(it, MAIN, "put_main")
    # Without a key and without begun writes, main need not be read before legacy is written.
    if key_of(job) is not None or is_blocked(it, job):
        return ask(it, MAIN, "key_main")
    if isinstance(job.request, AddRow):
        return ask(it, Ask("legacy"), "add_legacy")
    return ask(it, Ask("legacy", (write_of(job),)), "put_legacy")


def add_legacy(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    write = write_of(structs.replace(job, legacy=answer.rows))
    return ask(it, Ask("legacy", (write,)), "put_legacy", legacy=answer.rows)


def key_main(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    return ask(it, Ask("legacy"), "key_legacy", main=answer.rows)


def key_legacy(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    """Settle all begun keys and begin this one, in one commit; only note the key of a write already done."""
    if (earlier := done_before(job, job.main, answer.rows)) is not None:
        return again(it, job, earlier)
    key, read = key_of(job), structs.replace(job, legacy=answer.rows)
    marks, once, step = settle_keys(job.main, answer.rows), once_of(read, answer.rows), "key_begun"
    # If the row already has the wanted content, a read after a crash could not show whether this write was
    # done. So the key is stored as done and legacy is not written.
    if key is not None and once.is_in(answer.rows):
        marks, step = {**marks, ("key", key): once}, "key_noted"
    elif key is not None:
        marks = {**marks, ("begun", key): once}
    if not marks:
        return ask(it, Ask("legacy", (write_of(read),)), "put_legacy", legacy=answer.rows)
    writes = tuple(marks.items())
    expects = dict(versions(job.main, writes))
    if key is not None:
        expects["key", key] = 0  # a commit in flight may have stored the key since it was looked up
    return ask(it, Ask("main", writes, add_fence(it, *expects.items())), step, legacy=answer.rows)


def key_noted(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    """Finish; after an unknown outcome start again with a new fence, so that the commit cannot land later."""
    if answer.kind == "unknown":
        return end(Migration(), "unknown")
    return finish_write(structs.replace(it, begun=NO_IDS), job) if answer.kind == "ok" else end(it, "failed")


def key_begun(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    if answer.kind == "unknown":
        return end(Migration(), "failed")
    if answer.kind == "failed":
        return end(it, "failed")
    # The commit has settled all earlier keys, so only this one is still begun.
    begun = frozenset([write_of(job)[0][1]]) if key_of(job) is not None else NO_IDS
    return ask(structs.replace(it, begun=begun), Ask("legacy", (write_of(job),)), "put_legacy")


def put_legacy(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    if answer.kind == "failed":
        return end(it, "failed")
    return mirror_write(it, job) if answer.kind == "ok" else ask(it, Ask("legacy"), "put_look")


def put_look(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    """Read whether an uncertain write has happened; if not, it may still land."""
    key, content = write_of(job)
    # Legacy has no versions: if the row has the written content, the write counts as done.
    if answer.kind != "ok" or row(answer.rows, key).value != content:
        return end(it, "unknown")
    return mirror_write(it, job)


def mirror_write(it: Migration, job: Job) -> Stepped:
    """Copy the write to main in dual_write, and its request key in any phase."""
    is_told = it.phase == "dual_write" or key_of(job) is not None
    return ask(it, MAIN, "put_copy") if is_told else finish_write(it, job)


def put_copy(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    """Copy the write to main, but not an added row if rows before it are missing; reconcile copies those."""
    if answer.kind != "ok":
        return finish_write(it, job, "mirror:later")
    key, content = write_of(job)
    copy: tuple[Write, ...] = ((key, content),) if it.phase == "dual_write" else ()
    # With rows 1 and 2 in main and this row 4, row 3 is still missing and must become visible before row 4.
    if isinstance(job.request, AddRow) and key[1] > next_id(answer.rows):
        copy = ()
    own = key_of(job)
    writes = copy if own is None else (*copy, *as_done(own, once_of(job, job.legacy)))
    if not writes:
        return finish_write(it, job)
    return ask(it, Ask("main", writes, add_fence(it, *versions(answer.rows, writes))), "put_copied")


def put_copied(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    own = write_of(job)[0][1]
    it = update_doubt(it, own, answer)
    if answer.kind != "ok":
        return finish_write(it, job, "mirror:later")
    return finish_write(structs.replace(it, begun=it.begun - {own}), job)


# Writes while main leads: one commit that includes the outbox row for legacy.


def put_main(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    if (earlier := done_before(job, answer.rows, answer.rows)) is not None:
        return again(it, job, earlier)
    own, read = key_of(job), structs.replace(job, main=answer.rows)
    key, content = write_of(read)
    outbox = ((("outbox", key[1]), "x"),) if it.phase in WITH_OUTBOX else ()
    marks = settle_keys(answer.rows, answer.rows)
    if own is not None:
        marks = {**marks, ("key", own): once_of(read, answer.rows)}
    writes = ((key, content), *marks.items())
    expects = add_fence(it, *versions(answer.rows, writes))
    return ask(it, Ask("main", (*writes, *outbox), expects), "put_done", main=answer.rows)


def put_done(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    if answer.kind == "failed":
        return end(it, "failed")
    own = write_of(job)[0][1]
    # The row is pending even if the outcome is unknown, because the outbox row may exist.
    updated = structs.replace(update_doubt(it, own, answer), pending=it.pending | {own})
    return finish_write(updated, job) if answer.kind == "ok" else end(updated, "unknown")


# Reads.


def get(it: Migration) -> Stepped:
    return ask(it, Ask("legacy"), "get_legacy") if it.phase in OF_LEGACY else ask(it, MAIN, "get_main")


def wanted_key(job: Job) -> Key:
    assert isinstance(job.request, ReadRow)
    return "row", job.request.id


def show_rows(job: Job, rows: StoreRows) -> Value | None:
    """Return the value of a read from these rows."""
    if isinstance(job.request, ReadRow):
        return row(rows, wanted_key(job)).value
    there = ((key[1], it.value) for key, it in rows if key[0] == "row")
    return RowsListed(tuple(sorted((own_id, content) for own_id, content in there if content is not None)))


def get_legacy(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    return end(it, "done", show_rows(job, answer.rows))


def get_main(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    """Read main; in dual_read ask legacy if main has no such row, or if main fails and legacy is complete."""
    if answer.kind != "ok":
        # With an empty outbox and no write to main in doubt, legacy has all rows of main.
        may_ask = it.phase == "dual_read" and not it.pending and not it.doubt
        return ask(it, Ask("legacy"), "get_instead") if may_ask else end(it, "failed")
    # Version 0 means that the row was never in main; a deleted row has a tombstone with a version.
    is_missed = isinstance(job.request, ReadRow) and row(answer.rows, wanted_key(job)).version == 0
    if is_missed and it.phase == "dual_read":
        return ask(it, Ask("legacy"), "get_missed")
    return end(it, "done", show_rows(job, answer.rows))


def get_instead(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    return end(it, "done", show_rows(job, answer.rows), "read:legacy")


def get_missed(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    """Copy the row from legacy to main if legacy has it.

    Main leads, so if legacy cannot be read the reply is that there is no such row.
    """
    found = row(answer.rows, wanted_key(job))
    if answer.kind != "ok" or found.value is None:
        return end(it, "done")
    copy = Ask("main", ((wanted_key(job), found.value),), add_fence(it, (wanted_key(job), 0)))
    return ask(it, copy, "get_copied", legacy=answer.rows)


def get_copied(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    return end(it, "done", row(job.legacy, wanted_key(job)).value, "read:legacy")


# A switch of the phase: set a new fence, read both stores, and write the new phase in one commit.


def aim(it: Migration) -> str:
    """Return the phase to which the request switches; empty if there is none."""
    assert it.job is not None
    request, (forward, back) = it.job.request, SWITCHES[it.phase]
    return (request.to or forward) if isinstance(request, AdvanceMigration) else back


def advance(it: Migration) -> Stepped:
    if not aim(it) or aim(it) not in SWITCHES[it.phase]:
        return end(it, "not_ready", "another phase")
    return ask(it, Ask("main", ((PHASE, it.phase),), add_fence(it)), "shut")


def shut(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    if answer.kind != "ok":
        return end(Migration(), "failed")
    # Writes to main in doubt conflict with the new fence, so none is in doubt any more.
    new = structs.replace(it, fence=it.fence + 1, doubt=frozenset())
    needs_legacy = (it.phase, aim(it)) in NEEDS
    return ask(new, Ask("legacy"), "see_both") if needs_legacy else ask(new, WHOLE_MAIN, "switch")


def switch(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    to = aim(it)
    needs = NEEDS.get((it.phase, to))
    if needs is not None and (missing := needs(answer.rows, job.legacy)):
        return end(it, "not_ready", missing)
    ids = frozenset(waiting(answer.rows))
    known = structs.replace(it, pending=ids, begun=begun_ids(answer.rows))
    if to == "done":
        return offer(known, list_leaving(job.request.kind, answer.rows))
    if to == "cleanup":  # only blocks may fail to fit into the memory
        given = texts_of(answer.rows) if job.request.kind == "blocks" else ()
        return ask(known, Ask("main", given=given), "offered", main=answer.rows)
    return set_phase(known)


def set_phase(it: Migration, dropped: Iterable[str] = ()) -> Stepped:
    outbox = ((("outbox", each), None) for each in dropped)
    return ask(it, Ask("main", ((PHASE, aim(it)), *outbox), add_fence(it)), "switched")


def need_equal(main: StoreRows, legacy: StoreRows) -> str:
    if waiting(main):
        return "mirror: the outbox holds what legacy may not know"
    return "reconcile: the stores differ" if differences(main, legacy) else ""


def need_empty(main: StoreRows, legacy: StoreRows) -> str:
    return "purge: legacy still has rows" if legacy else ""


NEEDS: Final[Mapping[tuple[str, str], Callable[[StoreRows, StoreRows], str]]] = {
    ("dual_write", "dual_read"): need_equal, ("rolling_back", "legacy"): need_equal,
    ("cleanup", "done"): need_empty,
}  # fmt: skip
"""The conditions of a switch; each check returns what is missing."""


def end_switch(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    """End the switch; if it failed or is unknown, the phase is read again before anything else."""
    if answer.kind != "ok":
        return end(Migration(), answer.kind)
    new = structs.replace(it, phase=aim(it), fence=it.fence + 1)
    return end(new, "done", new.phase)


# The hand-over: batch by batch, rows of main become rows of the memory, and the rows of the move are deleted.
#
#     cleanup   [a b] [c d] [e + key]
#               one commit each: handing_over, handing_over, done
#
# After a crash between two batches the phase is handing_over, and only another switch request continues.


def list_leaving(kind: str, main: StoreRows) -> StoreRows:
    """List all rows except the phase in the order in which they are deleted: rows with a text first."""
    held = {key: it for key, it in main if key != PHASE}
    texts = sorted(texts_of(main), key=lambda it: place_row(kind, *it))
    ordered = dict.fromkeys((*(("row", own_id) for own_id, _ in texts), *held))
    return tuple((key, held[key]) for key in ordered)


def texts_of(main: StoreRows) -> Pairs:
    """Return ids and texts of all rows that are not tombstones."""
    return tuple((key[1], held.value) for key, held in main if key[0] == "row" and held.value is not None)


def offer(it: Migration, main: StoreRows) -> Stepped:
    """Ask how the memory would store the next batch of rows."""
    return ask(it, Ask("main", given=texts_of(main[:HAND_OVER_ROW_COUNT_MAX])), "offered", main=main)


def see_offer(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    if answer.missing:
        return end(it, "not_ready", answer.missing)
    if aim(it) == "cleanup":  # cleanup empties legacy, so the outbox is dropped
        return set_phase(it, waiting(job.main))
    batch, rest = job.main[:HAND_OVER_ROW_COUNT_MAX], job.main[HAND_OVER_ROW_COUNT_MAX:]
    writes = ((PHASE, "handing_over" if rest else "done"), *((key, None) for key, _ in batch))
    expects = add_fence(it, *((key, held.version) for key, held in batch))
    return ask(it, Ask("main", writes, expects, given=texts_of(batch)), "handed_over", main=rest)


def end_batch(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    if answer.kind != "ok":
        return end(Migration(), answer.kind)
    new = structs.replace(it, phase="handing_over" if job.main else "done", fence=it.fence + 1)
    return offer(new, job.main) if job.main else end(new, "done", new.phase)


# Reconcile and mirror: bring the store that follows up to date.


def reconcile(it: Migration) -> Stepped:
    return ask(it, Ask("legacy"), "see_legacy") if it.phase == "dual_write" else end(it, "not_ready")


def see_main(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    differing = differences(answer.rows, job.legacy)
    if not differing:
        return end(it, "done")
    due = values(job.legacy)
    writes = tuple((key, due.get(key)) for key in differing)
    return ask(it, Ask("main", writes, add_fence(it, *versions(answer.rows, writes))), "reconciled")


def values(rows: StoreRows) -> dict[Key, str]:
    """Return the contents of the rows in a store; a tombstone counts as absent."""
    return {key: held.value for key, held in rows if key[0] == "row" and held.value is not None}


def differences(main: StoreRows, legacy: StoreRows) -> list[Key]:
    # A tombstone in main equals an absent row in legacy.
    keys = {key: None for key, _ in (*main, *legacy) if key[0] == "row"}
    in_main, in_legacy = values(main), values(legacy)
    return [key for key in sorted(keys) if in_main.get(key) != in_legacy.get(key)]


def mirror(it: Migration) -> Stepped:
    return ask(it, MAIN, "see_outbox") if it.phase in MIRRORED else end(it, "not_ready")


def see_outbox(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    ids = waiting(answer.rows)
    if not ids:
        return end(structs.replace(it, pending=frozenset()), "done")
    # Copy the current row, not its state when it entered the outbox, so that later writes are included.
    write = (("row", ids[0]), row(answer.rows, ("row", ids[0])).value)
    return ask(it, Ask("legacy", (write,)), "mirrored", main=answer.rows)


def take_from_outbox(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    key = ("outbox", waiting(job.main)[0])
    # A write in the meantime puts the outbox row again under a new version, so this commit conflicts and the
    # row stays. Such a write may also have been committed between two pages, the old row in one and the new
    # outbox row in the other; therefore the commit expects both.
    expects = add_fence(it, *((each, row(job.main, each).version) for each in (("row", key[1]), key)))
    return ask(it, Ask("main", ((key, None),), expects), "taken")


def end_take(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    return end(structs.replace(it, pending=frozenset(waiting(job.main)[1:])), "done")


# Purge: empty legacy, row by row.


def purge(it: Migration) -> Stepped:
    return ask(it, Ask("legacy"), "see_rest") if it.phase == "cleanup" else end(it, "not_ready")


def see_rest(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    if not answer.rows:
        return end(it, "done")
    return ask(it, Ask("legacy", ((answer.rows[0][0], None),)), "purged")


# Compare: read both stores and report differences. Rows on their way to one of them are unsettled.


def compare(it: Migration) -> Stepped:
    return ask(it, Ask("legacy"), "compare_legacy") if it.phase in COMPARED else end(it, "not_ready")


def compare_main(it: Migration, job: Job, answer: StoreResult) -> Stepped:
    return end(it, "done", report(it, answer.rows, job.legacy))


def report(it: Migration, main: StoreRows, legacy: StoreRows) -> StoresCompared:
    # The stores are read one after the other, so rows on their way between them may differ without fault.
    unsettled = {*waiting(main), *it.doubt}
    differing = [key for key in differences(main, legacy) if key[1] not in unsettled]
    in_main = {key[1] for key in values(main).keys() & differing}
    in_legacy = {key[1] for key in values(legacy).keys() & differing}
    return StoresCompared(
        it.phase,
        sum(key[0] == "row" and held.value is not None for key, held in main),
        len(legacy),
        missing_in_main=tuple(sorted(in_legacy - in_main)),
        missing_in_legacy=tuple(sorted(in_main - in_legacy)),
        different=tuple(sorted(in_main & in_legacy)),
        unsettled=tuple(sorted(unsettled)),
    )


FIRST: Final[Firsts] = complete(
    "first step",
    list_declared(vars(requests), MigrationRequest),
    {
        PutRow: put, DropRow: put, AddRow: put, ReadRow: get, ListRows: get,
        AdvanceMigration: advance, RollBack: advance,
        Reconcile: reconcile, Mirror: mirror, Purge: purge, CompareStores: compare,
    },
    "umi_core/migration/steps.py",
)  # fmt: skip
STEPS: Final[Steps] = {
    "find": find, "raise": read_main("read_outbox"), "read_outbox": read_outbox,
    "key_seen": key_seen, "key_main": key_main, "key_legacy": key_legacy, "key_noted": key_noted,
    "key_begun": key_begun, "add_legacy": add_legacy, "put_legacy": put_legacy, "put_look": put_look,
    "put_copy": put_copy, "put_copied": put_copied, "put_main": put_main, "put_done": put_done,
    "get_legacy": get_legacy, "get_main": get_main, "get_instead": get_instead, "get_missed": get_missed,
    "get_copied": get_copied,
    "shut": shut, "see_both": read_main("switch", WHOLE_MAIN), "switch": switch, "switched": end_switch,
    "offered": see_offer, "handed_over": end_batch,
    "see_legacy": read_main("see_main"), "see_main": see_main, "reconciled": finish,
    "see_outbox": see_outbox, "mirrored": take_from_outbox, "taken": end_take,
    "see_rest": see_rest, "purged": finish,
    "compare_legacy": read_main("compare_main"), "compare_main": compare_main,
}  # fmt: skip
SEE_FAILURES: Final = (
    "key_noted", "key_begun", "put_legacy", "put_look", "put_copy", "put_copied", "put_done",
    "get_main", "get_missed", "get_copied", "shut", "switched", "handed_over",
)  # fmt: skip
"""Steps that handle failures themselves; in any other step a failed question ends the request as failed."""
