"""When the work is scheduled that rows say is still to be done."""

from typing import Any, Final

from umi_core.rows import Category, Reflection, Resource

A_DAY_MS: Final = 86_400_000


def division_ms(category: Category, config: Any) -> int | None:
    """When its members are to be divided anew."""
    if not config.auto_evolution or category.evolved_digest != "":
        return None
    if category.member_count < config.cluster_size_min and not category.subcategory_ids:
        return None
    since_ms = category.evolved_ms if category.evolved_ms is not None else category.created_ms
    return since_ms + int(config.evolution_interval_ms)


def again_ms(body: object, now_ms: int, config: Any) -> int:
    """When what is tried now, and fails, is tried again: after as long as it was left, within limits."""
    assert isinstance(body, Resource | Category | Reflection)
    wait_ms = int(config.upkeep_interval_ms)
    if now_ms - body.updated_ms > wait_ms:
        wait_ms = max(wait_ms, min(now_ms - body.updated_ms, A_DAY_MS))
    return now_ms + wait_ms
