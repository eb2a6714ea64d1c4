"""Starts, and the steps of all requests by name: `begin` one, then let it have `heard` all answers."""

from typing import Final

import attrs

from umi_core.declared import complete, declared
from umi_core.messages import migration_requests
from umi_core.messages.migration_requests import MigrationRequest
from umi_core.migration import rows, switches, works
from umi_core.migration.machine import (
    PHASE,
    Answer,
    Ask,
    Came,
    Firsts,
    Job,
    Migration,
    Steps,
    ask,
    end,
    row,
    waiting,
)
from umi_core.migration.writes import begun_ids


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
    pending, begun = frozenset(waiting(answer.rows)), begun_ids(answer.rows)
    known = Migration(str(phase.value), phase.version, pending, begun=begun)
    return begin(known, job.request)


FIRST: Final[Firsts] = complete(
    "first step",
    declared(vars(migration_requests), MigrationRequest),
    {**rows.FIRST, **switches.FIRST, **works.FIRST},
    "umi_core/migration",
)
STEPS: Final[Steps] = {
    "find": find, "raise": raise_fence, "read_outbox": read_outbox,
    **rows.STEPS, **switches.STEPS, **works.STEPS,
}  # fmt: skip
