"""A switch of the phase: a new fence, a look at both stores, and the phase in one commit."""

from collections.abc import Callable, Mapping
from typing import Final

import attrs

from umi_core.messages.migration_requests import AdvanceMigration, RollBack
from umi_core.migration.machine import (
    BACK,
    FORWARD,
    PHASE,
    SWITCHES,
    Answer,
    Ask,
    Came,
    Firsts,
    Job,
    Migration,
    Steps,
    Told,
    ask,
    end,
    fenced,
    waiting,
)
from umi_core.migration.works import differences
from umi_core.migration.writes import begun_ids


def aim(it: Migration) -> str:
    """The phase that is to be next; empty if there is none."""
    assert it.job is not None
    request = it.job.request
    if isinstance(request, AdvanceMigration):
        return request.to or FORWARD[it.phase]
    return BACK.get(it.phase, "")


def advance(it: Migration) -> Came:
    if aim(it) not in SWITCHES[it.phase]:
        return end(it, "not_ready", "another phase")
    return ask(it, Ask("main", ((PHASE, it.phase),), fenced(it)), "shut")


def shut(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(Migration(), "failed")
    new = attrs.evolve(it, fence=it.fence + 1, doubt=frozenset())
    needs_legacy = (it.phase, aim(it)) in NEEDS
    return ask(new, Ask("legacy"), "see_both") if needs_legacy else ask(new, Ask("main"), "switch")


def see_both(it: Migration, job: Job, answer: Answer) -> Came:
    return ask(it, Ask("main"), "switch", legacy=answer.rows) if answer.kind == "ok" else end(it, "failed")


def switch(it: Migration, job: Job, answer: Answer) -> Came:
    if answer.kind != "ok":
        return end(it, "failed")
    to, ids = aim(it), waiting(answer.rows)
    needs = NEEDS.get((it.phase, to), nothing_needed)
    if missing := needs(answer.rows, job.legacy):
        return end(it, "not_ready", missing)
    dropped = tuple((("outbox", each), None) for each in ids) if to == "cleanup" else ()
    known = attrs.evolve(it, pending=frozenset(ids), begun=begun_ids(answer.rows))
    return ask(known, Ask("main", ((PHASE, to), *dropped), fenced(it)), "switched")


def nothing_needed(main: Told, legacy: Told) -> str:
    return ""


def need_equal(main: Told, legacy: Told) -> str:
    if waiting(main):
        return "mirror: the outbox holds what legacy may not know"
    return "reconcile: the stores differ" if differences(main, legacy) else ""


def need_empty(main: Told, legacy: Told) -> str:
    return "purge: legacy still has rows" if legacy else ""


NEEDS: Final[Mapping[tuple[str, str], Callable[[Told, Told], str]]] = {
    ("dual_write", "dual_read"): need_equal, ("rolling_back", "legacy"): need_equal,
    ("cleanup", "done"): need_empty,
}  # fmt: skip
"""What must be so at a switch; it returns what is missing."""


def switched(it: Migration, job: Job, answer: Answer) -> Came:
    """Whether it happened is looked up before anything else is done, if that is not sure."""
    if answer.kind != "ok":
        return end(Migration(), answer.kind)
    new = attrs.evolve(it, phase=aim(it), fence=it.fence + 1)
    return end(new, "done", new.phase)


FIRST: Final[Firsts] = {AdvanceMigration: advance, RollBack: advance}
STEPS: Final[Steps] = {"shut": shut, "see_both": see_both, "switch": switch, "switched": switched}
