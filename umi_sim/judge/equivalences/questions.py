"""One question, asked in two ways that must give the same: with and without the cache, filtered and not.

Law 1. A cache may save a question to the model; it changes no answer (E-CACHE). Law 2. A filter leaves out
the hits that it excludes, and nothing else; both ends of a range belong to it (E-FILTER).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import structs

from umi_core.memory import Memory
from umi_core.messages.answers import ModelReplied
from umi_core.messages.effects import AskModel, Done, Effect, Outcome, Reply
from umi_core.messages.requests import Recall
from umi_core.messages.results import Hit, Recalled
from umi_sim.judge.equivalences.lives import RecordedLife, shorten_value, twin
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.record.items import Args

QUERY_COUNT_MAX: Final = 8
"""For each agent; a query is repeated for each type and for two times of its hits, about six times."""

Ask = Callable[[Args], Outcome]


# E-CACHE.


def compare_cache(life: RecordedLife) -> int:
    """Run E-CACHE: repeat a resolved query, with the cache and with a model that replies the same."""
    compared = 0
    for _, step, memory in life.replay_steps():
        request = find_resolved(memory, step.value)
        if request is None or not isinstance(step.value, ModelReplied):
            continue
        known = twin(memory)
        known.step(step.now_ms, step.value)
        if known.state.tiers.rewrites == memory.state.tiers.rewrites:
            continue  # the answer was not put into the cache
        question = structs.replace(request, op_id="again")
        cached, uncached = (ask_twin(known, question, step.value.text, has) for has in (True, False))
        if cached != uncached:
            message = f"resolution and effects of a query with the cache, at {step.now_ms}"
            raise Broken(rules.CACHE_INVISIBLE, message, shorten_value(uncached), shorten_value(cached))
        compared += 1
    return compared


def find_resolved(memory: Memory, value: object) -> Recall | None:
    """Return the recall whose query this answer resolves; None if it resolves none."""
    request_id = value.request_id if isinstance(value, ModelReplied) else 0
    operation = memory.in_flight.get(request_id)
    if operation is None or not isinstance(operation.asked, AskModel) or operation.asked.task != "rewrite":
        return None
    request = operation.facts["request"]
    return request if isinstance(request, Recall) else None


def ask_twin(known: Memory, question: Recall, text: str, has_cache: bool) -> tuple[object, list[Effect]]:
    """Return the resolution of the query, and the effects without numbers of questions. `text`: the reply
    of the model, if it is asked.
    """
    memory = twin(known)
    memory.state.config = structs.replace(memory.state.config, resolve_cache=has_cache)
    now_ms = memory.state.seen_ms
    effects = list(memory.step(now_ms, question))
    # With the cache there is no question; without it the model replies as before.
    asks = [it for it in effects if isinstance(it, AskModel) and it.task == "rewrite"]
    for ask in asks[:1]:
        effects.remove(ask)
        effects += memory.step(now_ms, ModelReplied(ask.request_id, text))
    operation = memory.state.operations.get(memory.state.operation_count)
    resolution = operation.facts.get("resolution") if operation else None
    return resolution, [drop_numbers(it) for it in effects]


def drop_numbers(effect: Effect) -> Effect:
    """Return a question without its number; a reply without hook notes and calls, which a cache saves."""
    if isinstance(effect, Reply):
        return structs.replace(effect, calls=(), hooks=())
    return structs.replace(effect, request_id=0)


# E-FILTER.


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
