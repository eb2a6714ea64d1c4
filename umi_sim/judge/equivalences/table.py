"""The table of what is compared over a life that has ended."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from umi_sim.judge.equivalences import OF_LIVES, RESTORE, afresh, failing, forged, moments, replays
from umi_sim.judge.equivalences.lives import RecordedLife
from umi_sim.record.broken import Broken
from umi_sim.record.rules import rule_named

COMPARISONS: Final[dict[str, Callable[[RecordedLife], int | Counter[str]]]] = {
    "E-REPLAY": replays.compare_replay,
    RESTORE: replays.compare_restored,
    "E-JUMP": moments.compare_jumps,
    "E-COMMUTE": moments.compare_orders,
    "E-FORGE": forged.forge,
    "E-BATCH": afresh.compare_batches,
    "E-FAIL": failing.compare_failing,
}
"""Each raises Broken, or returns the number of comparisons, or the count of each mark."""

# The names are in `OF_LIVES` as well, since this table imports every comparison, and most runs need none.
assert tuple(COMPARISONS) == OF_LIVES


def check(life: RecordedLife, names: tuple[str, ...], compared: Counter[str]) -> None:
    """Run these comparisons. Raises Broken for the first equivalence that does not hold."""
    for name, comparison in COMPARISONS.items():
        if name in names:
            try:
                matching = comparison(life)
            except Broken as broken:
                message = f"{life.agent}, life {life.number}: {broken.message}"
                raise Broken(rule_named(broken.rule), message, broken.expected, broken.got) from None
            compared.update(matching if isinstance(matching, Counter) else {f"equal: {name}": matching})
