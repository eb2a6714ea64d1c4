"""Dues: when the members of which category are to be divided anew, because they are others than they were,
and when what an operation had to leave undone is to be done: a summary of others, a text that was not read.

Law 1. What is due follows from the row alone, so a restart neither forgets nor repeats it.
Law 2. Nothing is due of a category whose members are as they were, or that has too few of them.
Law 3. Nothing is due of a row that says that nothing is left to do.
Law 4. A commit whose answer comes late may tell of rows that are older than others that are known. It makes
something due, and keeps nothing from being due:

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
Dues = Mapping[str, Moment]  # by the name of the category; of what is left to do by the id of the row


def due_ms(category: Category, config: Config) -> int | None:
    is_enough = category.member_count >= config.cluster_size_min or category.subcategory_ids
    if not config.auto_evolution or category.evolved_digest or not is_enough:
        return None
    last_ms = category.created_ms if category.evolved_ms is None else category.evolved_ms
    return last_ms + config.evolution_interval_ms


def learnt(dues: Dues, bodies: Iterable[object], config: Config, *, is_late: bool = False) -> Dues:
    """What is due when these rows are stored; `is_late`: there may be newer ones of them."""
    told = {it.name: due_ms(it, config) for it in bodies if isinstance(it, Category)}
    return merged(dues, told, is_late=is_late)


def merged(dues: Dues, told: Mapping[str, int | None], *, is_late: bool = False) -> Dues:
    """What is due now that more is known of some keys: when, or None if nothing is."""
    if is_late:
        told = {key: at_ms for key, at_ms in told.items() if at_ms is not None and key not in dues}
    news = {key: at_ms for key, at_ms in told.items() if at_ms is not None}
    if not news and told.keys().isdisjoint(dues):
        return dues
    return dict(sorted(({key: at_ms for key, at_ms in dues.items() if key not in told} | news).items()))


def upkeep_ms(body: object, config: Config) -> int | None:
    """When what this row lacks is to be done; None if it lacks nothing."""
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
    """When what this row lacks, and what is done about now, is tried again if that fails: after as long as it
    has been left, so that what never succeeds is tried ever less often, and at last once a day."""
    assert isinstance(body, Resource | Category | Reflection)
    return now_ms + max(config.upkeep_interval_ms, min(now_ms - body.updated_ms, DAY_MS))


def noticed(
    upkeep: Dues, rows: Iterable[tuple[str, object]], config: Config, *, is_late: bool = False
) -> Dues:
    """What is left to do when these rows, by their ids, are stored; a body of None is gone."""
    told = {row_id: upkeep_ms(body, config) for row_id, body in rows}
    return merged(upkeep, told, is_late=is_late)


def without(dues: Dues, name: str) -> Dues:
    if name not in dues:
        return dues
    return {key: at_ms for key, at_ms in dues.items() if key != name}
