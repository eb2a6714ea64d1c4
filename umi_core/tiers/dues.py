"""Dues: when the members of which category are to be divided anew, because they are others than they were.

Law 1. What is due follows from the row of the category alone, so a restart neither forgets nor repeats it.
Law 2. Nothing is due of a category whose members are as they were, or that has too few of them.
"""

from collections.abc import Iterable, Mapping

from umi_core.config import Config
from umi_core.domains import Moment
from umi_core.rows import Category

Dues = Mapping[str, Moment]  # by the name of the category


def due_ms(category: Category, config: Config) -> int | None:
    is_enough = category.member_count >= config.cluster_size_min or category.subcategory_ids
    if not config.auto_evolution or category.evolved_digest or not is_enough:
        return None
    last_ms = category.created_ms if category.evolved_ms is None else category.evolved_ms
    return last_ms + config.evolution_interval_ms


def learnt(dues: Dues, bodies: Iterable[object], config: Config) -> Dues:
    """What is due when these rows are stored."""
    told = {it.name: due_ms(it, config) for it in bodies if isinstance(it, Category)}
    if not told:
        return dues
    news = {name: at_ms for name, at_ms in told.items() if at_ms is not None}
    return dict(sorted(({key: at_ms for key, at_ms in dues.items() if key not in told} | news).items()))


def without(dues: Dues, name: str) -> Dues:
    if name not in dues:
        return dues
    return {key: at_ms for key, at_ms in dues.items() if key != name}
