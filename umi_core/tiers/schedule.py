"""Schedule: when categories whose members have changed are to be divided anew, and when work that an
operation left undone is to be done: a summary of other members, a text that was not read.

Law 1. Due work follows from the row alone, so a restart neither forgets nor repeats it.
Law 2. A category is not due if its members are as they were, or are too few.
Law 3. A row is not due if it says that no work is left.
Law 4. A commit whose answer comes late may tell of older rows than others that are known. It can make work
due, and cannot make it not due:

    evolve_category   plan: nothing is due ...... lands, its answer is lost ..................... told at last
    memorize                                                                 one member more: due
"""

from collections.abc import Iterable, Mapping
from typing import Final

from umi_core.config import Config
from umi_core.domains import Moment
from umi_core.limits import DAY_MS
from umi_core.rows import Category, Reflection, Resource

KEPT_UP: Final = ("resource", "category", "reflection")  # kinds of rows of which something may be left to do
PURGE: Final = "epoch"  # the row of a closed agent, of which the purge is left to do
Schedule = Mapping[str, Moment]  # by the name of the category; for upkeep by the id of the row


def due_ms(category: Category, config: Config) -> int | None:
    # With too few members it is due only while it has groups: they are dissolved then.
    is_enough = category.member_count >= config.cluster_size_min or category.subcategory_ids
    if not config.auto_evolution or category.evolved_digest or not is_enough:
        return None
    last_ms = category.created_ms if category.evolved_ms is None else category.evolved_ms
    return last_ms + config.evolution_interval_ms


def update_divisions(
    schedule: Schedule, bodies: Iterable[object], config: Config, *, is_late: bool = False
) -> Schedule:
    """Return the due dates when these rows are stored; `is_late`: there may be newer ones of them."""
    times = {it.name: due_ms(it, config) for it in bodies if isinstance(it, Category)}
    return merge_schedule(schedule, times, is_late=is_late)


def merge_schedule(
    schedule: Schedule, changed: Mapping[str, int | None], *, is_late: bool = False
) -> Schedule:
    """Return the due dates with the `changed` ones: a time, or None if nothing is due of a key any more."""
    if is_late:
        # A time that is known already may be newer than this one; a time for a key without one does no harm.
        changed = {key: at_ms for key, at_ms in changed.items() if at_ms is not None and key not in schedule}
    news = {key: at_ms for key, at_ms in changed.items() if at_ms is not None}
    if not news and changed.keys().isdisjoint(schedule):
        return schedule
    # Sorted, so that equal tables have one order, whichever commit came first.
    return dict(
        sorted(({key: at_ms for key, at_ms in schedule.items() if key not in changed} | news).items())
    )


def upkeep_ms(body: object, config: Config) -> int | None:
    """Return when the work that this row lacks is to be done; None if it lacks nothing."""
    match body:
        case Resource(pending=pending, parent_id=None) if pending:
            last_ms = body.updated_ms
        case Category(summary_dirty=True, member_count=count) if count:
            last_ms = body.updated_ms
        case Reflection(degraded=True) | Reflection(pending=True):
            last_ms = body.updated_ms
        case _:
            return None
    return last_ms + config.upkeep_interval_ms if config.upkeep_interval_ms else None


def again_ms(body: object, now_ms: int, config: Config) -> int:
    """Return when the work of this row is tried again if it fails now: after as long as it has been left.

    So work that never succeeds is tried ever less often, and at last once a day.
    """
    assert isinstance(body, Resource | Category | Reflection)
    # Left for 3 hours: tried again in 3 hours, then in 6, in 12, and from then on once a day.
    return now_ms + max(config.upkeep_interval_ms, min(now_ms - body.updated_ms, DAY_MS))


def update_upkeep(
    upkeep: Schedule, rows: Iterable[tuple[str, object]], config: Config, *, is_late: bool = False
) -> Schedule:
    """Return the work left to do when these rows, by their ids, are stored; None is a deleted row."""
    times = {row_id: upkeep_ms(body, config) for row_id, body in rows}
    return merge_schedule(upkeep, times, is_late=is_late)


def without(schedule: Schedule, name: str) -> Schedule:
    if name not in schedule:
        return schedule
    return {key: at_ms for key, at_ms in schedule.items() if key != name}
