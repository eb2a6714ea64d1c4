"""The move of an agent's rows from the store of an old server to the memory's own, phase by phase, and back.

    legacy -> dual_write -> dual_read -> umi_primary -> done
                  |             |  ^          |
               legacy        rolling_back <---+       rolling_back -> legacy

Law 1. One thing is done at a time, so a switch meets no write. Law 2. Every commit to main expects the
fence, the version of the row that holds the phase: what an earlier phase or life has on its way never lands.
Law 3. Until dual_read legacy has the truth, from then on main; whoever has it not is told later: legacy by
the outbox, which is written in the commit of the write, main by reconcile.
Law 4. A deleted row leaves a tombstone in main, so that legacy never brings it back.

Legacy has no atomic batches and no versions: of a write that may have happened nobody knows until somebody
looks. What this machine asks is of one agent and one kind of row; a host maps it to its two stores.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

import attrs

from umi_core.data import Data

Store = Literal["main", "legacy"]
Ended = Literal["done", "failed", "unknown", "not_ready"]
Key = tuple[str, str]  # a table of main (row, outbox, phase) and an id
PHASES: Final = ("legacy", "dual_write", "dual_read", "umi_primary", "rolling_back", "done")
PHASE: Final[Key] = ("phase", "phase")
OF_LEGACY: Final = ("legacy", "dual_write")  # in which legacy has the truth
WITH_OUTBOX: Final = ("dual_read", "umi_primary", "rolling_back")
MIRRORED: Final = ("dual_read", "rolling_back")
SWITCHES: Final = {
    "legacy": ("dual_write",), "dual_write": ("dual_read", "legacy"),
    "dual_read": ("umi_primary", "rolling_back"), "umi_primary": ("done", "rolling_back"),
    "rolling_back": ("legacy", "dual_read"), "done": (),
}  # fmt: skip


@attrs.frozen
class Held(Data):
    """A row of main; without a value it is a tombstone. Versions grow, and 0 is absent."""

    version: int
    value: str | None


Told = tuple[tuple[Key, Held], ...]  # rows, as a store tells them
NONE: Final = Held(0, None)


# What goes in and out.


@attrs.frozen
class Put(Data):
    """Without a value: delete."""

    id: str
    value: str | None


@attrs.frozen
class Get(Data):
    id: str


@attrs.frozen
class Advance(Data):
    to: str


@attrs.frozen
class Reconcile(Data):
    """In dual_write: main becomes what legacy is."""


@attrs.frozen
class Mirror(Data):
    """The oldest row of the outbox goes to legacy."""


Request = Put | Get | Advance | Reconcile | Mirror


@attrs.frozen
class Ask(Data):
    """Without writes: read all rows of a store. With writes: one batch to main, or one row to legacy.

    A write without a value deletes; of the table `row` of main it leaves a tombstone.
    """

    store: Store
    writes: tuple[tuple[Key, str | None], ...] = ()
    expects: tuple[tuple[Key, int], ...] = ()


@attrs.frozen
class Answer(Data):
    """`failed`: nothing has happened. `unknown`: nobody knows. `rows`: of a read that is ok."""

    kind: Literal["ok", "failed", "unknown"]
    rows: Told = ()


@attrs.frozen
class Reply(Data):
    """`unknown` of a Put: it may have happened. `degraded`: it is done, and one store does not know yet."""

    kind: Ended
    value: str | None = None
    degraded: str = ""


@attrs.frozen
class Job(Data):
    """What is under way: at which step, and what it has learnt."""

    request: Request
    step: str
    main: Told = ()
    legacy: Told = ()


@attrs.frozen
class Migration(Data):
    """The machine, all of it a value; a crash leaves `Migration()`.

    `phase` empty: it is not known, and is looked up before anything else. `fence`: the version of the phase
    row. `pending`: ids that legacy may not know. `doubt`: ids of writes that may still land. `is_dirty`: main
    may differ from legacy; after a start it always may. `is_clean`: a whole reconcile found no difference.
    """

    phase: str = ""
    fence: int = 0
    pending: frozenset[str] = frozenset()
    doubt: frozenset[str] = frozenset()
    is_dirty: bool = True
    is_clean: bool = False
    job: Job | None = None


Came = tuple[Migration, Ask | Reply]


def begin(it: Migration, request: Request) -> Came:
    """The first question of a request, or its reply."""
    assert it.job is None
    if not it.phase:
        return ask(attrs.evolve(it, job=Job(request, "")), Ask("main"), "find")
    return FIRST[type(request)](attrs.evolve(it, job=Job(request, "")))


def heard(it: Migration, answer: Answer) -> Came:
    """What follows an answer."""
    assert it.job is not None
    return STEPS[it.job.step](it, it.job, answer)


# The words that steps are written with.


def ask(
    it: Migration, question: Ask, step: str, *, main: Told | None = None, legacy: Told | None = None
) -> Came:
    """The next question; `main` and `legacy` are what was read, if a later step needs it."""
    assert it.job is not None
    seen = (it.job.main if main is None else main, it.job.legacy if legacy is None else legacy)
    return attrs.evolve(it, job=Job(it.job.request, step, *seen)), question


def end(it: Migration, kind: Ended, value: str | None = None, degraded: str = "") -> Came:
    return attrs.evolve(it, job=None), Reply(kind, value, degraded)


def row(rows: Told, key: Key) -> Held:
    return dict(rows).get(key, NONE)


def fenced(it: Migration, *expects: tuple[Key, int]) -> tuple[tuple[Key, int], ...]:
    return ((PHASE, it.fence), *expects)


def waiting(rows: Told) -> list[str]:
    """The ids in the outbox."""
    return sorted(key for (table, key), _ in rows if table == "outbox")


# A start: the phase, then a new fence, then what is in the outbox.


def find(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    phase = row(answer.rows, PHASE)
    write = (PHASE, phase.value or "legacy")
    return ask(it, Ask("main", (write,), ((PHASE, phase.version),)), "raise", main=answer.rows)


def raise_fence(it: Migration, job: Job, answer: Answer) -> Came:
    return ask(it, Ask("main"), "read_outbox") if answer.kind == "ok" else end(it, "failed")


def read_outbox(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    phase = row(answer.rows, PHASE)
    known = Migration(str(phase.value), phase.version, frozenset(waiting(answer.rows)))
    return begin(known, job.request)


# Put, while legacy has the truth: legacy, and in dual_write main after it.


def put(it: Migration) -> Came:
    if it.phase in OF_LEGACY:
        return ask(it, Ask("legacy"), "put_before")
    return ask(it, Ask("main"), "put_main")


def written(job: Job) -> Put:
    assert isinstance(job.request, Put)
    return job.request


def put_before(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    request = written(job)
    write = (("row", request.id), request.value)
    return ask(it, Ask("legacy", (write,)), "put_legacy", legacy=answer.rows)


def put_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind == "failed":
        return end(it, "failed")
    return mirrored(it) if answer.kind == "ok" else ask(it, Ask("legacy"), "put_look")


def put_look(it: Migration, job: Job, answer: Answer) -> Came:
    """Whether a write that may have happened has."""
    request, key = written(job), ("row", written(job).id)
    if answer.kind != "ok":
        return end(soiled(it), "unknown")
    if row(answer.rows, key).value == request.value:
        return mirrored(it)
    return end(it, "failed")


def mirrored(it: Migration) -> Came:
    return end(it, "done") if it.phase == "legacy" else ask(it, Ask("main"), "put_copy")


def soiled(it: Migration) -> Migration:
    return attrs.evolve(it, is_dirty=True, is_clean=False)


def put_copy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(soiled(it), "done", degraded="mirror:later")
    key = ("row", written(job).id)
    expects = fenced(it, (key, row(answer.rows, key).version))
    return ask(it, Ask("main", ((key, written(job).value),), expects), "put_copied")


def put_copied(it: Migration, job: Job, answer: Answer) -> Came:
    return end(it, "done") if answer.kind == "ok" else end(soiled(it), "done", degraded="mirror:later")


# Put, when main has the truth: one commit, with the outbox row for legacy.


def put_main(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    request, key = written(job), ("row", written(job).id)
    outbox = ((("outbox", request.id), "x"),) if it.phase in WITH_OUTBOX else ()
    expects = fenced(it, (key, row(answer.rows, key).version))
    return ask(it, Ask("main", ((key, request.value), *outbox), expects), "put_done", main=answer.rows)


def put_done(it: Migration, job: Job, answer: Answer) -> Came:
    own = frozenset((written(job).id,))
    if answer.kind == "failed":
        return end(it, "failed")
    told = attrs.evolve(it, pending=it.pending | own)
    if answer.kind == "ok":
        return end(attrs.evolve(told, doubt=it.doubt - own), "done")
    return end(attrs.evolve(told, doubt=it.doubt | own), "unknown")


# Get.


def get(it: Migration) -> Came:
    return ask(it, Ask("legacy"), "get_legacy") if it.phase in OF_LEGACY else ask(it, Ask("main"), "get_main")


def wanted(job: Job) -> Key:
    assert isinstance(job.request, Get)
    return "row", job.request.id


def get_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    return end(it, "done", row(answer.rows, wanted(job)).value)


def get_main(it: Migration, job: Job, answer: Answer) -> Came:
    """In dual_read legacy is asked when main has no such row, or cannot be read and legacy lacks nothing."""
    if answer.kind != "ok":
        may_ask = it.phase == "dual_read" and not it.pending and not it.doubt
        return ask(it, Ask("legacy"), "get_instead") if may_ask else end(it, "failed")
    found = row(answer.rows, wanted(job))
    if found.version == 0 and it.phase == "dual_read":
        return ask(it, Ask("legacy"), "get_missed")
    return end(it, "done", found.value)


def get_instead(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    return end(it, "done", row(answer.rows, wanted(job)).value, "read:legacy")


def get_missed(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    found = row(answer.rows, wanted(job))
    if found.value is None:
        return end(it, "done")
    copy = Ask("main", ((wanted(job), found.value),), fenced(it, (wanted(job), 0)))
    return ask(it, copy, "get_copied", legacy=answer.rows)


def get_copied(it: Migration, job: Job, answer: Answer) -> Came:
    return end(it, "done", row(job.legacy, wanted(job)).value, "read:legacy")


# Reconcile and mirror: what brings the one that lags up to the truth.


def reconcile(it: Migration) -> Came:
    return ask(it, Ask("legacy"), "see_legacy") if it.phase == "dual_write" else end(it, "not_ready")


def see_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    return ask(it, Ask("main"), "see_main", legacy=answer.rows) if answer.kind == "ok" else end(it, "failed")


def see_main(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    differing = differences(answer.rows, job.legacy)
    if not differing:
        return end(attrs.evolve(it, is_dirty=False, is_clean=True), "done")
    writes = tuple((key, row(job.legacy, key).value) for key in differing)
    expects = tuple((key, row(answer.rows, key).version) for key in differing)
    return ask(it, Ask("main", writes, fenced(it, *expects)), "reconciled")


def reconciled(it: Migration, job: Job, answer: Answer) -> Came:
    """Clean is only what a later pass finds so."""
    return end(it, "done" if answer.kind == "ok" else "failed")


def differences(main: Told, legacy: Told) -> list[Key]:
    keys = {key: None for key, _ in (*main, *legacy) if key[0] == "row"}
    return [key for key in sorted(keys) if row(main, key).value != row(legacy, key).value]


def mirror(it: Migration) -> Came:
    return ask(it, Ask("main"), "see_outbox") if it.phase in MIRRORED else end(it, "not_ready")


def see_outbox(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    ids = waiting(answer.rows)
    if not ids:
        return end(attrs.evolve(it, pending=frozenset()), "done")
    write = (("row", ids[0]), row(answer.rows, ("row", ids[0])).value)
    return ask(it, Ask("legacy", (write,)), "mirrored", main=answer.rows)


def take_from_outbox(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    key = ("outbox", waiting(job.main)[0])
    expects = fenced(it, (key, row(job.main, key).version))
    return ask(it, Ask("main", ((key, None),), expects), "taken")


def taken(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    return end(attrs.evolve(it, pending=frozenset(waiting(job.main)[1:])), "done")


# A switch: a new fence, a look, and the phase in one commit.


def advance(it: Migration) -> Came:
    assert it.job is not None
    assert isinstance(it.job.request, Advance)
    to = it.job.request.to
    is_early = (it.phase, to) == ("dual_write", "dual_read") and (it.is_dirty or not it.is_clean)
    if to not in SWITCHES[it.phase] or is_early:
        return end(it, "not_ready")
    return ask(it, Ask("main", ((PHASE, it.phase),), fenced(it)), "shut")


def shut(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(Migration(), "failed")
    return ask(attrs.evolve(it, fence=it.fence + 1, doubt=frozenset()), Ask("main"), "switch")


def switch(it: Migration, job: Job, answer: Answer) -> Came:
    assert isinstance(job.request, Advance)
    to = job.request.to
    if answer.kind != "ok":
        return end(it, "failed")
    if to == "legacy" and it.phase == "rolling_back" and waiting(answer.rows):
        return end(it, "not_ready")
    known = attrs.evolve(it, pending=frozenset(waiting(answer.rows)))
    return ask(known, Ask("main", ((PHASE, to),), fenced(it)), "switched")


def switched(it: Migration, job: Job, answer: Answer) -> Came:
    """Whether it happened is looked up before anything else is done, if that is not sure."""
    assert isinstance(job.request, Advance)
    if answer.kind != "ok":
        return end(Migration(), answer.kind)
    new = attrs.evolve(it, phase=job.request.to, fence=it.fence + 1, is_dirty=True, is_clean=False)
    return end(new, "done")


FIRST: Final[Mapping[type, Callable[[Migration], Came]]] = {
    Put: put, Get: get, Advance: advance, Reconcile: reconcile, Mirror: mirror,
}  # fmt: skip
STEPS: Final[Mapping[str, Callable[[Migration, Job, Answer], Came]]] = {
    "find": find, "raise": raise_fence, "read_outbox": read_outbox, "put_before": put_before,
    "put_legacy": put_legacy, "put_look": put_look, "put_copy": put_copy, "put_copied": put_copied,
    "put_main": put_main, "put_done": put_done, "get_legacy": get_legacy, "get_main": get_main,
    "get_instead": get_instead, "get_missed": get_missed, "get_copied": get_copied,
    "see_legacy": see_legacy, "see_main": see_main, "reconciled": reconciled, "see_outbox": see_outbox,
    "mirrored": take_from_outbox, "taken": taken, "shut": shut, "switch": switch, "switched": switched,
}  # fmt: skip
