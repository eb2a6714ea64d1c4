"""Settings: a memory takes those that M15 (docs/spec/memory.md) allows, to the ends of ranges, no others."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from umi_core.config import Config
from umi_core.errors import BadConfig, Rejected
from umi_core.invariants.broken import demand
from umi_sim.record import rules

TURNS: Final = 32
PPM: Final = (0, 1_000_000)
SOME_PPM: Final = (1, 1_000_000)
RANGES: Final = {
    "core_bytes_max": (4_096, 32_768), "core_entry_count_max": (0, 50), "working_bytes_max": (1, 1_048_576),
    "working_entry_count_max": (1, 10_000), "working_ttl_ms_default": (1, 604_800_000),
    "embedding_dims": (2, 4_096), "recall_limit_default": (1, 100), "recall_min_score_ppm": PPM,
    "promote_score_min_ppm": PPM, "displace_margin_ppm": (1, 1_000_000), "extract_confidence_min_ppm": PPM,
    "route_confidence_min_ppm": PPM, "promote_confidence_min_ppm": PPM, "resolve_confidence_min_ppm": PPM,
    "evolve_confidence_min_ppm": PPM, "rebalance_interval_ms": (1_000, 86_400_000),
    "model_timeout_ms": (1, 600_000), "store_timeout_ms": (1, 600_000), "segment_line_count_min": (2, 1_000),
    "cluster_ppm": SOME_PPM, "assign_ppm": SOME_PPM, "merge_ppm": SOME_PPM, "cluster_size_min": (1, 1_000),
    "subcategory_count_max": (1, 100), "evolution_interval_ms": (1_000, 2_592_000_000),
    "upkeep_interval_ms": (0, 86_400_000), "group_decay_ms": (0, 7_776_000_000),
    "context_bytes_max": (100, 1_000_000), "resolve_turn_count_max": (1, 10),
    "resolve_cache_ms": (1, 86_400_000),
}  # fmt: skip
FLAGS: Final = (
    "semantic_routing", "auto_populate", "auto_rebalance", "resolve_cache", "resolve_queries",
    "auto_evolution", "name_by_model",
)  # fmt: skip
ROUTE, PROMOTE = "route_confidence_min_ppm", "promote_confidence_min_ppm"
NEAR, MERGE = "cluster_ppm", "merge_ppm"
NORMAL_PPM: Final = {ROUTE: 600_000, PROMOTE: 800_000, NEAR: 700_000, MERGE: 850_000}


def check_settings(turn: int) -> None:
    """Raises Broken at the first setting that is refused and may be, or is taken and may not be.

    One in TURNS of them is tried, another one in the next turn.
    """
    for name, value in islice(settings(), turn % TURNS, None, TURNS):
        wanted = wrong_options(name, value)
        got = refused_options({name: value})
        demand(wanted == got, rules.REFERENCE_AGREES, f"a memory with {name} {value!r} refuses", wanted, got)


def settings() -> Iterator[tuple[str, object]]:
    for name, (low, high) in RANGES.items():
        yield from ((name, value) for value in (low - 1, low, high, high + 1, True, str(low)))
    yield from ((name, value) for name in FLAGS for value in (True, False, 1, None))


def wrong_options(name: str, value: object) -> list[str]:
    """One setting that is not as it mostly is; who is promoted is surer than who is routed, and groups that
    become one are nearer than members."""
    if name in FLAGS:
        return [] if type(value) is bool else [name]
    low, high = RANGES[name]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        return [name]
    now = {**NORMAL_PPM, name: value}
    return [high for high, low in ((PROMOTE, ROUTE), (MERGE, NEAR)) if now[high] < now[low]]


def refused_options(options: dict[str, object]) -> list[str]:
    try:
        Config(**options)  # type: ignore[arg-type]  # wrong ones are what it is about
    except Rejected as rejected:
        return [error.option for error in rejected.errors if isinstance(error, BadConfig)]
    return []
