"""E-FILTER: a filter leaves out the hits that it excludes, and nothing else.

Both ends of a range belong to it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import structs

from umi_core.messages.effects import Done, Outcome
from umi_core.messages.results import Hit, Recalled
from umi_sim.judge.equivalences.lives import shorten_value
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.record.items import Args

QUERY_COUNT_MAX: Final = 8
"""For each agent; a query is repeated for each type and for two times of its hits, about six times."""

Ask = Callable[[Args], Outcome]


def compare_filtered(ask: Ask, queries: Sequence[str], limit: int) -> int:
    """Run E-FILTER: compare the results of queries, filtered by type and time, with the unfiltered ones."""
    compared = 0
    for query in queries[:: 1 + len(queries) // QUERY_COUNT_MAX]:
        # Neither paraphrases nor rewrites: a model might answer differently the second time.
        args: Args = {"query": query, "limit": limit, "deep": False, "resolve": False}
        unfiltered = hits_of(ask(args))
        # A full result may have been cut, so the filtered one may have hits that it lacks.
        if unfiltered is None or len(unfiltered) == limit:
            continue
        for given, wanted in list_filters(unfiltered):
            found = hits_of(ask({**args, **given}))
            if found != wanted:
                message = f'the hits of recall "{query}" with {shorten_value(given)}'
                raise Broken(rules.FILTER_EQUALS_WHOLE, message, shorten_value(wanted), shorten_value(found))
            compared += 1
    return compared


def hits_of(outcome: Outcome) -> tuple[Hit, ...] | None:
    """Return the hits without the other facts that they show; None if the recall failed or is degraded."""
    if isinstance(outcome, Done) and not outcome.degraded and isinstance(outcome.value, Recalled):
        bare = {"next_id": None, "next_content": "", "replaced": ()}
        return tuple(structs.replace(hit, **bare) for hit in outcome.value.hits)
    return None


def list_filters(unfiltered: tuple[Hit, ...]) -> Iterator[tuple[Args, tuple[Hit, ...]]]:
    """Yield filters, each with its result as it follows from the unfiltered one."""
    for kind in sorted({hit.type: None for hit in unfiltered}):
        yield {"types": (kind,)}, tuple(hit for hit in unfiltered if hit.type == kind)
        yield {"where": (("type", "ne", kind),)}, tuple(hit for hit in unfiltered if hit.type != kind)
    for hit in unfiltered[:1]:
        yield {"where": (("id", "eq", hit.id), ("name", "in", (hit.name,)))}, (hit,)
    times = sorted({hit.time_ms: None for hit in unfiltered})
    for at_ms in {times[0]: None, times[-1]: None} if times else ():
        yield {"time_range": (at_ms, None)}, tuple(hit for hit in unfiltered if at_ms <= hit.time_ms)
        yield {"time_range": (None, at_ms)}, tuple(hit for hit in unfiltered if hit.time_ms <= at_ms)
