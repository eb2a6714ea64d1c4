"""How well references of queries are resolved, and what that costs.

What the memory decides (which queries refer to something, which rewrites pass) is measured with the rewrites
of the corpus, right ones and wrong ones; what a model answers is measured besides.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from tools.measured.archive import CONFIG, word_vectors
from tools.measured.lab import Lab, Model
from tools.measured.labelled import Query
from tools.measured.table import Count, Row, mean
from umi_core.language.prompts import ask_rewrite
from umi_core.language.pronouns import read
from umi_core.language.rewriting import judge_rewrite, resolve_without_model, shown_turns
from umi_core.messages.requests import Recall
from umi_core.messages.results import Resolution
from umi_sim.services.model import truth

WRONG: Final = {  # kinds of wrong rewrites, and what is wrong with them
    "a word or a person is wrong": ("dropped", "foreign", "person"),
    "none was needed": ("needless",),
    "another thing is meant": ("entity",),
}
RESOLVED, RESOLVED_PERCENT_MIN = "**ambiguous queries resolved**", 80
REFERRING_MS, ADDED_MS_MAX = "**added time of a search that refers**", 200
TIMED_COUNT: Final = 20


def resolution(query: Query, model: Model) -> Resolution:
    """What becomes of a query: whether a model is asked, what it says, and whether that passes."""
    turns = shown_turns(query.turns)
    known = resolve_without_model(query.text, turns, True)
    if known is not None:
        return known
    reply = model("rewrite", ask_rewrite(query.text, turns))
    return judge_rewrite(reply, query.text, turns, CONFIG.resolve_confidence_min_ppm)


def is_asked(query: Query) -> bool:
    return resolve_without_model(query.text, shown_turns(query.turns), True) is None


def takes(query: Query, rewrite: str) -> bool:
    """Whether this rewrite would be searched for, if a model gave it."""
    return resolution(query, lambda task, prompt: rewrite).outcome == "resolved"


def verdict(query: Query, model: Model) -> str:
    """right, wrong, or abstained: the query is searched as it was given."""
    got = resolution(query, model)
    if got.outcome != "resolved":
        return "abstained"
    return "right" if query.is_meant(got.query) else "wrong"


def split(some: list[Query]) -> tuple[list[Query], list[Query]]:
    """Queries that refer to something, and those that do not."""
    return [it for it in some if it.refers], [it for it in some if not it.refers]


def detection_rows(some: list[Query]) -> Iterator[Row]:
    refers, clear = split(some)
    found = Count.of((it.text, is_asked(it)) for it in refers)
    yield Row.share("queries that refer, found", "memory", found)
    clear_count = Count.of((it.text, not is_asked(it)) for it in clear)
    yield Row.share("queries that refer to nothing: no model is asked", "memory", clear_count)


def gate_rows(some: list[Query]) -> Iterator[Row]:
    refers, _ = split(some)
    best = Count.of((it.text, any(takes(it, rewrite) for rewrite in it.right)) for it in refers)
    yield Row.share(RESOLVED, "memory, if the model is right", best, RESOLVED_PERCENT_MIN)
    taken = Count.of((rewrite, takes(it, rewrite)) for it in refers for rewrite in it.right)
    yield Row.share("right rewrites taken", "memory", taken)
    for what, kinds in WRONG.items():
        rewrites = [(it, rewrite) for it in some for kind, rewrite in it.wrong if kind in kinds]
        refused = Count.of((rewrite, not takes(it, rewrite)) for it, rewrite in rewrites)
        yield Row.share(f"wrong rewrites refused: {what}", "memory", refused)


def resolution_rows(some: list[Query], model: Model, name: str) -> Iterator[Row]:
    refers, clear = split(some)
    verdicts = [(it, verdict(it, model)) for it in refers]
    right = Count.of((f"{result}: {it.text}", result == "right") for it, result in verdicts)
    results = [word for _, word in verdicts]
    counts = f"; wrong {results.count('wrong')}, left as they are {results.count('abstained')}"
    yield Row.share(RESOLVED, name, right, RESOLVED_PERCENT_MIN, counts)
    kept = Count.of((it.text, resolution(it, model).outcome != "resolved") for it in clear)
    yield Row.share("queries that refer to nothing, left as they are", name, kept)


# Time.


def latency_rows(some: list[Query]) -> Iterator[Row]:
    refers, clear = split(some)
    added = mean(recall_ms(it, True) - recall_ms(it, False) for it in refers)
    virtual = "virtual, 150 ms a model call"
    yield time_row(REFERRING_MS, virtual, added)
    idle = mean(recall_ms(it, True) - recall_ms(it, False) for it in clear if not is_asked(it))
    yield Row("added time of one that does not", virtual, f"{idle:.0f} ms", "0 ms", idle == 0)
    own = mean(spent_ms(partial(answered_at_once, it), time.process_time_ns) for it in some)
    yield Row("of it the memory's own work", "processor", "under 1 ms" if own < 1 else f"{own:.1f} ms")


def real_latency_rows(some: list[Query], model: Model, name: str) -> Iterator[Row]:
    examples = [it for it in some if it.refers and is_asked(it)][:TIMED_COUNT]
    took = mean(spent_ms(partial(resolution, it, model), time.perf_counter_ns) for it in examples)
    yield time_row(REFERRING_MS, f"{name}, by the clock", took)


def time_row(metric: str, by: str, took_ms: float) -> Row:
    return Row(metric, by, f"{took_ms:.0f} ms", f"< {ADDED_MS_MAX} ms", took_ms < ADDED_MS_MAX)


def recall_ms(query: Query, is_resolved: bool) -> int:
    """How long a recall takes with the simulated model, in virtual time."""
    lab = Lab(truth, word_vectors, CONFIG)
    began_ms = lab.now_ms
    lab.ask(Recall(1, query.text, turns=query.turns, resolve=is_resolved, deep=False))
    return lab.now_ms - began_ms


def answered_at_once(query: Query) -> Resolution:
    read.cache_clear()
    return resolution(query, lambda task, prompt: query.right[0] if query.right else query.text)


def spent_ms(work: Callable[[], object], clock_ns: Callable[[], int]) -> float:
    began = clock_ns()
    work()
    return (clock_ns() - began) / 1e6
