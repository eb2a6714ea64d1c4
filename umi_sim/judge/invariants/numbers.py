"""Numbers: each bound of the memory is the one that docs/spec gives, also where no run comes near it.

Law 1. A bound that is not stated here, or by the limits that rules know, is named when this is imported.
"""

import re
from typing import Final

from umi_core import limits
from umi_core.declared import Incomplete
from umi_core.invariants import limits as known
from umi_core.invariants.broken import demand
from umi_sim.record import rules

OTHERS: Final = {
    "CORE_BYTES_MIN": 4_096, "CORE_BYTES_MAX": 32_768, "CORE_ENTRY_COUNT_MAX": 50,
    "WORKING_BYTES_MAX": 1_048_576, "WORKING_ENTRY_COUNT_MAX": 10_000,
    "TTL_MS_MIN": 1, "TTL_MS_DEFAULT": 3_600_000, "NOW_MS_MAX": 9_007_199_254_740_991,
    "SNAPSHOT_BYTES_MAX": 2_097_152, "SESSION_TEXT_BYTES_MAX": 200, "SESSION_NAMES_BYTES_MAX": 4_096,
    "EFFECTS_PER_STEP_MAX": 256, "LIFE_MAX": 1_048_575, "LIFE_NUMBER_COUNT": 4_294_967_296,
    "PROMPT_BYTES_MAX": 1_048_576, "CAPTION_BYTES_MAX": 200, "BEGINNING_BYTES_MAX": 500,
    "CATEGORY_LINK_COUNT_MAX": 3, "EVOLVE_MEMBER_COUNT_MAX": 1_000, "EVOLVE_COMPONENT_COUNT_MAX": 1_048_576,
    "SUBCATEGORY_COUNT_MAX": 100, "SUBCATEGORY_NAME_BYTES_MAX": 40, "KEYWORD_COUNT_MAX": 10,
    "NAMED_CONTENT_COUNT_MAX": 5, "EMBEDDING_DIMS_MAX": 4_096, "PAGE_ROW_COUNT_MAX": 1_000,
    "API_BLOCK_BYTES_DEFAULT": 20_000, "DESCRIPTION_BYTES_MAX": 4_096, "MESSAGE_BYTES_MAX": 100_000,
    "UNREADABLE_SHOWN_MAX": 10,
    "MESSAGE_COUNT_MAX": 100, "TAG_COUNT_MAX": 100, "TAG_BYTES_MAX": 256, "PAGE_ROWS_DEFAULT": 50,
    "SEARCH_DEPTH_MAX": 1_000, "SYSTEM_BYTES_MAX": 100_000, "PURGE_ROW_COUNT_MAX": 100,
    "PURGE_AGAIN_MS": 1_000, "FORGOTTEN_COUNT_MAX": 1_000, "REPAIR_COUNT_MAX": 16,
    "HALF_LIFE_MS": 604_800_000, "VARIANT_COUNT_MAX": 3, "RRF_K": 60, "RRF_SCALE": 1_000_000_000_000,
    "REVISION_COUNT_MAX": 1_000, "INTERCEPTOR_COUNT_MAX": 32,
}  # fmt: skip
NUMBERS: Final = OTHERS | {name: number for name, number in vars(known).items() if type(number) is int}
NAMES: Final = tuple(name for name in vars(limits) if re.fullmatch("[A-Z][A-Z0-9_]*", name))


def check_numbers() -> None:
    """Raises Broken at the first bound that is another."""
    for name in NAMES:
        wanted, got = NUMBERS[name], getattr(limits, name)
        demand(wanted == got, rules.REFERENCE_AGREES, f"the limit {name}", wanted, got)


def must_state(names: tuple[str, ...]) -> None:
    """Raises Incomplete if one of these bounds is stated nowhere."""
    if unknown := [name for name in names if name not in NUMBERS]:
        told = f"{', '.join(unknown)} of umi_core/limits.py are unknown to the judge"
        raise Incomplete(f"{told}: add them to OTHERS in umi_sim/judge/invariants/numbers.py")


must_state(NAMES)
