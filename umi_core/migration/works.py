"""What brings the store that lags up to the truth, what compares both, and what empties legacy."""

from typing import Final

import attrs

from umi_core.messages.api_results import StoresCompared
from umi_core.messages.migration_requests import CompareStores, Mirror, Purge, Reconcile
from umi_core.migration.machine import (
    COMPARED,
    MIRRORED,
    Answer,
    Ask,
    Came,
    Firsts,
    Job,
    Key,
    Migration,
    Steps,
    Told,
    ask,
    end,
    fenced,
    row,
    waiting,
)

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
        return end(it, "done")
    writes = tuple((key, row(job.legacy, key).value) for key in differing)
    expects = tuple((key, row(answer.rows, key).version) for key in differing)
    return ask(it, Ask("main", writes, fenced(it, *expects)), "reconciled")


def reconciled(it: Migration, job: Job, answer: Answer) -> Came:
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


# Purge: legacy is emptied, row by row.


def purge(it: Migration) -> Came:
    return ask(it, Ask("legacy"), "see_rest") if it.phase == "cleanup" else end(it, "not_ready")


def see_rest(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    if not answer.rows:
        return end(it, "done")
    return ask(it, Ask("legacy", ((answer.rows[0][0], None),)), "purged")


def purged(it: Migration, job: Job, answer: Answer) -> Came:
    return end(it, "done" if answer.kind == "ok" else "failed")


# Compare: both stores, and what differs. What is on its way to one of them is not settled.


def compare(it: Migration) -> Came:
    return ask(it, Ask("legacy"), "compare_legacy") if it.phase in COMPARED else end(it, "not_ready")


def compare_legacy(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    return ask(it, Ask("main"), "compare_main", legacy=answer.rows)


def compare_main(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    return end(it, "done", report(it, answer.rows, job.legacy))


def report(it: Migration, main: Told, legacy: Told) -> StoresCompared:
    unsettled = sorted({*waiting(main), *it.doubt})
    differing = [key for key in differences(main, legacy) if key[1] not in unsettled]
    in_main = {key[1] for key in differing if row(main, key).value is not None}
    in_legacy = {key[1] for key in differing if row(legacy, key).value is not None}
    return StoresCompared(
        it.phase,
        sum(key[0] == "row" and held.value is not None for key, held in main),
        len(legacy),
        missing_in_main=tuple(sorted(in_legacy - in_main)),
        missing_in_legacy=tuple(sorted(in_main - in_legacy)),
        different=tuple(sorted(in_main & in_legacy)),
        unsettled=tuple(unsettled),
    )


FIRST: Final[Firsts] = {Reconcile: reconcile, Mirror: mirror, Purge: purge, CompareStores: compare}
STEPS: Final[Steps] = {
    "see_legacy": see_legacy, "see_main": see_main, "reconciled": reconciled,
    "see_outbox": see_outbox, "mirrored": take_from_outbox, "taken": taken,
    "see_rest": see_rest, "purged": purged,
    "compare_legacy": compare_legacy, "compare_main": compare_main,
}  # fmt: skip
