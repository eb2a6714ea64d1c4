"""Starts, and the steps of all requests by name: `begin` one, then let it have `heard` all answers."""

from collections.abc import Callable, Mapping
from typing import Final

import attrs

from umi_core.messages.migration_requests import (
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
)
from umi_core.migration.machine import PHASE, Answer, Ask, Came, Job, Migration, ask, end, row, waiting
from umi_core.migration.rows import (
    add_legacy,
    get,
    get_copied,
    get_instead,
    get_legacy,
    get_main,
    get_missed,
    put,
    put_copied,
    put_copy,
    put_done,
    put_legacy,
    put_look,
    put_main,
)
from umi_core.migration.switches import advance, see_both, shut, switch, switched
from umi_core.migration.works import (
    compare,
    compare_legacy,
    compare_main,
    mirror,
    purge,
    purged,
    reconcile,
    reconciled,
    see_legacy,
    see_main,
    see_outbox,
    see_rest,
    take_from_outbox,
    taken,
)


def begin(it: Migration, request: MigrationRequest) -> Came:
    """The first question of a request, or its reply."""
    assert it.job is None
    if not it.phase:
        return ask(attrs.evolve(it, job=Job(request, "")), Ask("main"), "find")
    return FIRST[type(request)](attrs.evolve(it, job=Job(request, "")))


def heard(it: Migration, answer: Answer) -> Came:
    """What follows an answer."""
    assert it.job is not None
    return STEPS[it.job.step](it, it.job, answer)


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


FIRST: Final[Mapping[type, Callable[[Migration], Came]]] = {
    PutRow: put, DropRow: put, AddRow: put, ReadRow: get, ListRows: get,
    AdvanceMigration: advance, RollBack: advance,
    Reconcile: reconcile, Mirror: mirror, Purge: purge, CompareStores: compare,
}  # fmt: skip
STEPS: Final[Mapping[str, Callable[[Migration, Job, Answer], Came]]] = {
    "find": find, "raise": raise_fence, "read_outbox": read_outbox,
    "add_legacy": add_legacy, "put_legacy": put_legacy, "put_look": put_look, "put_copy": put_copy,
    "put_copied": put_copied,
    "put_main": put_main, "put_done": put_done, "get_legacy": get_legacy, "get_main": get_main,
    "get_instead": get_instead, "get_missed": get_missed, "get_copied": get_copied,
    "see_legacy": see_legacy, "see_main": see_main, "reconciled": reconciled, "see_outbox": see_outbox,
    "mirrored": take_from_outbox, "taken": taken, "see_rest": see_rest, "purged": purged,
    "compare_legacy": compare_legacy, "compare_main": compare_main, "shut": shut, "see_both": see_both,
    "switch": switch, "switched": switched,
}  # fmt: skip
