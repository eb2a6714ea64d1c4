"""Schedule: when a category with changed members is divided again, and when upkeep does work that an earlier
operation left undone, such as an outdated summary or a text that no model could read.

Law 1. Due work is derived from rows alone, so a restart neither forgets nor repeats it.
Law 2. A category is not due if its members have not changed, or are too few.
Law 3. A row is not due if it records no remaining work.
Law 4. A late answer to a commit may describe older rows than those already known. It can make work due, but
never cancels due work:

    evolve_category   plan: nothing is due ...... lands, its answer is lost ............ its outcome is learnt
    memorize                                                              one member more: due
"""

from collections.abc import Iterable, Mapping
from typing import Final

from umi_core.config import Config
from umi_core.domains import Moment
from umi_core.limits import DAY_MS
from umi_core.rows import Category, Reflection, Resource

UPKEEP_KINDS: Final = ("resource", "category", "reflection")  # kinds of rows that may need upkeep
PURGE: Final = "epoch"  # the key of a purge that is due: the row of a closed agent
Schedule = Mapping[str, Moment]  # due times by category name, or for upkeep by row id


def due_ms(category: Category, config: Config) -> int | None:
    # With too few members a category is due only while it has groups, so that these are dissolved.
    is_enough = category.member_count >= config.cluster_size_min or category.subcategory_ids
    if not config.auto_evolution or category.evolved_digest or not is_enough:
        return None
    last_ms = category.created_ms if category.evolved_ms is None else category.evolved_ms
    return last_ms + config.evolution_interval_ms


def update_divisions(
    schedule: Schedule, bodies: Iterable[object], config: Config, *, is_late: bool = False
) -> Schedule:
    """Return the due times after these rows were stored; `is_late`: newer versions may be known already."""
    times = {it.name: due_ms(it, config) for it in bodies if isinstance(it, Category)}
    return merge_schedule(schedule, times, is_late=is_late)


def merge_schedule(
    schedule: Schedule, changed: Mapping[str, int | None], *, is_late: bool = False
) -> Schedule:
    """Return the schedule with the `changed` due times; None means that nothing is due for that key."""
    if is_late:
        # A known due time may be newer than this one; a due time for a key without one does no harm.
        changed = {key: at_ms for key, at_ms in changed.items() if at_ms is not None and key not in schedule}
    news = {key: at_ms for key, at_ms in changed.items() if at_ms is not None}
    if not news and changed.keys().isdisjoint(schedule):
        return schedule
    # Sorted, so that equal schedules have equal order, whatever the order of commits.
    return dict(
        sorted(({key: at_ms for key, at_ms in schedule.items() if key not in changed} | news).items())
    )


def upkeep_ms(body: object, config: Config) -> int | None:
    """Return when the remaining work of this row is due; None if there is none."""
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
    """Return when the work of this row is retried if it fails now: after as long as it has been undone.

    Work that never succeeds is therefore retried less and less often, in the end once a day.
    """
    assert isinstance(body, Resource | Category | Reflection)
    # Undone for 3 hours: retried in 3 hours, then in 6, in 12, and from then on once a day.
    return now_ms + max(config.upkeep_interval_ms, min(now_ms - body.updated_ms, DAY_MS))


def update_upkeep(
    upkeep: Schedule, rows: Iterable[tuple[str, object]], config: Config, *, is_late: bool = False
) -> Schedule:
    """Return the schedule after rows, given as (id, body), were stored; the body of a deleted row is None."""
    times = {row_id: upkeep_ms(body, config) for row_id, body in rows}
    return merge_schedule(upkeep, times, is_late=is_late)


def without(schedule: Schedule, name: str) -> Schedule:
    if name not in schedule:
        return schedule
    return {key: at_ms for key, at_ms in schedule.items() if key != name}
