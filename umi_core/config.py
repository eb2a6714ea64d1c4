"""The settings of a memory, with the range of each."""

from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple, get_args

from umi_core import limits
from umi_core.data import Data, list_fields
from umi_core.errors import BadConfig, Error, Rejected
from umi_core.text import has_control, has_unwritable, is_text, norm, show_value, size, tidy
from umi_core.values import CATEGORIES, Pairs

DEFAULT_CATEGORIES: Final[Pairs] = tuple(CATEGORIES.items())


class Span(NamedTuple):
    """The closed range of a whole-number setting."""

    low: int
    high: int


class Config(Data):
    """The settings of a memory. Raises Rejected(BadConfig, ...) with every option out of its range.

    `categories`: the topics of the archive, each with a description. Prompts show them in this order.
    """

    tag = 85
    core_bytes_max: Annotated[int, Span(limits.CORE_BYTES_MIN, limits.CORE_BYTES_MAX)] = 32_768
    core_entry_count_max: Annotated[int, Span(0, limits.CORE_ENTRY_COUNT_MAX)] = 50
    working_bytes_max: Annotated[int, Span(1, limits.WORKING_BYTES_MAX)] = 1_048_576
    working_entry_count_max: Annotated[int, Span(1, limits.WORKING_ENTRY_COUNT_MAX)] = 10_000
    working_ttl_ms_default: Annotated[int, Span(limits.TTL_MS_MIN, limits.TTL_MS_MAX)] = limits.TTL_MS_DEFAULT
    embedding_dims: Annotated[int, Span(2, limits.EMBEDDING_DIMS_MAX)] = 64
    recall_limit_default: Annotated[int, Span(1, limits.RECALL_LIMIT_MAX)] = 10
    recall_min_score_ppm: Annotated[int, Span(0, limits.PPM)] = 300_000
    promote_score_min_ppm: Annotated[int, Span(0, limits.PPM)] = 700_000
    displace_margin_ppm: Annotated[int, Span(1, limits.PPM)] = (
        50_000  # not 0: two entries with equal scores would displace each other
    )
    extract_confidence_min_ppm: Annotated[int, Span(0, limits.PPM)] = 300_000
    route_confidence_min_ppm: Annotated[int, Span(0, limits.PPM)] = 600_000
    promote_confidence_min_ppm: Annotated[int, Span(0, limits.PPM)] = 800_000
    resolve_confidence_min_ppm: Annotated[int, Span(0, limits.PPM)] = 500_000
    evolve_confidence_min_ppm: Annotated[int, Span(0, limits.PPM)] = 300_000
    rebalance_interval_ms: Annotated[int, Span(1_000, 86_400_000)] = 60_000
    segment_line_count_min: Annotated[int, Span(2, 1_000)] = 40
    context_bytes_max: Annotated[int, Span(100, 1_000_000)] = limits.CONTEXT_BYTES_MAX
    resolve_turn_count_max: Annotated[int, Span(1, limits.TURN_COUNT_MAX)] = limits.TURN_COUNT_MAX
    resolve_cache_ms: Annotated[int, Span(1, 86_400_000)] = limits.RESOLVE_CACHE_MS
    cluster_ppm: Annotated[int, Span(1, limits.PPM)] = 700_000
    assign_ppm: Annotated[int, Span(1, limits.PPM)] = 700_000
    merge_ppm: Annotated[int, Span(1, limits.PPM)] = 850_000
    cluster_size_min: Annotated[int, Span(1, 1_000)] = 5
    subcategory_count_max: Annotated[int, Span(1, limits.SUBCATEGORY_COUNT_MAX)] = 10
    evolution_interval_ms: Annotated[int, Span(1_000, 30 * limits.DAY_MS)] = 21_600_000
    group_decay_ms: Annotated[int, Span(0, limits.ACCESS_PRUNE_MS)] = limits.ACCESS_PRUNE_MS  # 0: never
    upkeep_interval_ms: Annotated[int, Span(0, limits.DAY_MS)] = 0  # 0: never
    utc_offset_minutes: Annotated[int, Span(-720, 840)] = (
        0  # offset of the users' local time: dates in facts and queries are local
    )
    model_timeout_ms: Annotated[int, Span(1, 600_000)] = 30_000
    store_timeout_ms: Annotated[int, Span(1, 600_000)] = 10_000
    semantic_routing: bool = False
    auto_populate: bool = True
    auto_rebalance: bool = True
    resolve_cache: bool = True
    resolve_queries: bool = True
    auto_evolution: bool = True
    name_by_model: bool = True
    categories: Pairs = DEFAULT_CATEGORIES

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Config":
        """Return a configuration with these options by name, and defaults for the others."""
        return cls(**options)

    def __post_init__(self) -> None:
        options = zip(OPTIONS, values_of(self), strict=True)
        errors = [error for name, value in options if (error := check_option(name, value))]
        # Settings are compared only if all are in range, so that a text instead of a number raises no other
        # exception. A decision that promotes also routes, so its minimum cannot be the lower one.
        if not errors and self.promote_confidence_min_ppm < self.route_confidence_min_ppm:
            name, allowed = "promote_confidence_min_ppm", "at least route_confidence_min_ppm"
            errors = [bad(name, self.promote_confidence_min_ppm, allowed)]
        # Otherwise groups could merge whose members are too far apart for one group, and leave it again.
        if not errors and self.merge_ppm < self.cluster_ppm:
            errors = [bad("merge_ppm", self.merge_ppm, "at least cluster_ppm")]
        if error := check_categories(self.categories):
            errors.append(error)
        if errors:
            raise Rejected(*errors)

    @property
    def abouts(self) -> Mapping[str, str]:
        """The description of each category, by its name."""
        return dict(self.categories)

    def category_called(self, name: str) -> str | None:
        """Return the listed name that equals this one after `norm`; None if there is none."""
        return names_by_norm(self.categories).get(norm(name))


OPTIONS: Final[dict[str, Span | None]] = {  # None: a flag
    field.name: next((it for it in get_args(field.type) if isinstance(it, Span)), None)
    for field in list_fields(Config)
    if field.name != "categories"
}


RANGES: Final = {name: (int, *ends) if ends else (bool, False, True) for name, ends in OPTIONS.items()}
values_of: Final = attrgetter(*OPTIONS)


def bad(name: str, value: object, allowed: str) -> BadConfig:
    return BadConfig(name, show_value(value), allowed)


def check_option(name: str, value: object) -> Error | None:
    """Return the error of a value for this option, or None; a bool is not a number, nor a number a bool."""
    kind, low, high = RANGES[name]
    # This covers flags, too: their range is False to True.
    if type(value) is kind and low <= value <= high:
        return None
    return bad(name, value, "true or false" if kind is bool else f"a whole number from {low} to {high}")


# Categories.

RESERVED: Final = ",;/<>&"  # separators of names in replies of models and in paths of groups
NAME_RULE: Final = (
    f"names in one line of 1 to {limits.CATEGORY_NAME_BYTES_MAX} bytes, without {' '.join(RESERVED)}"
)
ABOUT_RULE: Final = f"abouts in one line of at most {limits.CATEGORY_ABOUT_BYTES_MAX} bytes"


@lru_cache(maxsize=64)
def names_by_norm(categories: Pairs) -> Mapping[str, str]:
    return {norm(name): name for name, _ in categories}


def check_categories(value: Any) -> Error | None:
    """Return the first error of a list of categories, or None."""
    if value is DEFAULT_CATEGORIES:  # a check takes as long as some requests, and each start has this list
        return None
    count_max, seen = limits.CATEGORY_COUNT_MAX, dict[str, str]()
    if type(value) is not tuple or not all(type(it) is tuple and len(it) == 2 for it in value):
        return bad("categories", value, "a tuple of pairs, each a name and what belongs there")
    if not 1 <= len(value) <= count_max:
        return bad("categories", len(value), f"1 to {count_max} of them")
    for name, about in value:
        if (
            not is_line(name, limits.CATEGORY_NAME_BYTES_MAX)
            or not name
            or any(it in name for it in RESERVED)
        ):
            return bad("categories", name, NAME_RULE)
        if not is_line(about, limits.CATEGORY_ABOUT_BYTES_MAX):
            return bad("categories", about, ABOUT_RULE)
        if (key := norm(name)) in seen:
            return bad(
                "categories", name, f"names that differ in more than case, and {show_value(seen[key])} is one"
            )
        seen[key] = name
    return None


def is_line(value: Any, bytes_max: int) -> bool:
    """Check for a text of at most `bytes_max` bytes in one line, tidy as stored names are."""
    is_tidy = is_text(value) and value == tidy(value) and size(value) <= bytes_max
    return is_tidy and not has_control(value) and not has_unwritable(value)
