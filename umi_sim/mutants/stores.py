"""Mutants that one kind of misbehaving storage reveals: what it shows is believed too much."""

import heapq
from typing import Any, Final

import attrs

from umi_core.conditions import Where
from umi_core.engine import paging
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import EPOCH, OUTCOME, Learned, Taken, retry
from umi_core.limits import PAGE_ROW_COUNT_MAX, PPM, RECALL_LIMIT_MAX
from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import ByWords, Done, Read
from umi_core.policies.ranking import Ranked, fused, order, relevance
from umi_core.policies.similarity import words_relevance_ppm
from umi_core.rows import Entity, Row
from umi_core.values import Scope
from umi_core.workflows import recall
from umi_core.workflows.commits import PLAN, Plan
from umi_core.workflows.reads import WANTED
from umi_core.workflows.recover import BEFORE
from umi_sim.mutants import Mutant, Original, Patch, row_of

# Pages and orders.


def short_is_last(original: Original) -> Original:
    return lambda asked, answer: original(asked, answer) and len(answer.rows) == PAGE_ROW_COUNT_MAX


def twice_as_relevant(original: Original) -> Original:
    """What one search shows twice counts twice."""

    def in_order(asked: Read, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        kept: tuple[Row, ...] = original(asked, rows)
        return tuple(doubled(row) if rows.count(row) > 1 and row.score_ppm else row for row in kept)

    return in_order


def doubled(row: Row) -> Row:
    return attrs.evolve(row, score_ppm=min(PPM, 2 * (row.score_ppm or 0)))


def as_they_come(original: Original) -> Original:
    def in_order(asked: Read, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple(sorted(original(asked, rows), key=rows.index))

    return in_order


def zipped(original: Original) -> Original:
    """The two lists of a query are merged as if each were in order."""

    def ranking(facts: Facts, limit: int) -> tuple[Ranked, ...]:
        lists = []
        by_vector, by_words = facts[recall.VECTOR_LISTS], facts[recall.WORD_LISTS]
        for pair in zip(by_vector, by_words, strict=True):
            best: dict[str, Row] = {}
            for row in heapq.merge(*pair, key=lambda row: order(relevance(row), row)):
                best.setdefault(row.address.id, row)
            lists.append(tuple(best.values()))
        return fused([rows[: 2 * limit] for rows in lists], limit)

    return ranking


# What a search shows.

PLANNED: Final = Fact(PLAN.name, Plan | None)  # None: the receipt of an earlier request was found


def told_as_found(registry: Registry) -> Registry:
    """A remember looks its first entity up, and tells of it only if the search knows it."""
    row = row_of(registry, "remember", "reply")

    def ask(facts: Facts, view: View) -> Read | None:
        plan = facts[PLANNED]
        first = plan.accessed[:1] if plan is not None else ()
        if not first or not is_findable(first[0]):
            return None
        return Read(ByWords(view.scope, first[0].name, Where(), RECALL_LIMIT_MAX, 1))

    def take(facts: Facts, answer: Answer | None, view: View) -> Taken:
        taken = row.take(facts, None, view)
        if not isinstance(answer, ReadDone) or not isinstance(taken, Learned):
            return taken
        return Learned(OUTCOME(shown(taken.facts[OUTCOME.name], answer.rows)))

    found = attrs.evolve(
        row, requires=(*row.requires, PLANNED), effect=Read, ask=ask, take=take, on_failure=retry(3)
    )
    return registry.replace("remember", "reply", found)


def is_findable(entity: Entity) -> bool:
    return words_relevance_ppm(entity.name, entity.name, entity.content) > 0


def shown(outcome: Any, rows: tuple[Row, ...]) -> Done:
    value = outcome.value
    known = [row.address.id for row in rows]
    entities = value.entities if value.entities[0].id in known else value.entities[1:]
    return Done(attrs.evolve(value, entities=entities), outcome.degraded)


# What a process remembers beside its state.


def kept_at_hand(registry: Registry) -> Registry:
    """What a commit has stored is read from the process, until the next life."""
    known: dict[str, Entity] = {}
    commit, read = row_of(registry, "remember", "commit"), row_of(registry, "get_entity", "read")
    begin = row_of(registry, "recover", "head")
    forget = row_of(registry, "forget", "commit")

    def take_commit(facts: Facts, answer: Answer | None, view: View) -> Taken:
        bodies = (write.body for write in facts[PLAN].writes)
        known.update({body.id: body for body in bodies if isinstance(body, Entity)})
        return commit.take(facts, answer, view)

    def take_forget(facts: Facts, answer: Answer | None, view: View) -> Taken:
        known.clear()
        return forget.take(facts, answer, view)

    def take_read(facts: Facts, answer: Answer | None, view: View) -> Taken:
        taken, request = read.take(facts, answer, view), facts[WANTED]
        is_absent = isinstance(taken, Learned) and taken.facts[OUTCOME.name] == Done(None)
        found = known.get(request.entity_id) if is_absent and request.version is None else None
        return Learned(OUTCOME(Done(found))) if found else taken

    def take_head(facts: Facts, answer: Answer | None, view: View) -> Taken:
        known.clear()
        return begin.take(facts, answer, view)

    for workflow, row, take in (
        ("remember", commit, take_commit), ("get_entity", read, take_read), ("recover", begin, take_head),
        ("forget", forget, take_forget),
    ):  # fmt: skip
        registry = registry.replace(workflow, row.id, attrs.evolve(row, take=take))
    return registry


def epoch_at_hand(registry: Registry) -> Registry:
    """The epoch is counted in the process, and storage is believed only if it is ahead."""
    head, claim = row_of(registry, "recover", "head"), row_of(registry, "recover", "claim")
    known: dict[Scope, int] = {}

    def take_head(facts: Facts, answer: Answer | None, view: View) -> Taken:
        taken: Any = head.take(facts, answer, view)
        before = max(taken.facts[BEFORE.name], known.get(view.scope, 0))
        return Learned({**taken.facts, **BEFORE(before)})

    def take_claim(facts: Facts, answer: Answer | None, view: View) -> Taken:
        taken: Any = claim.take(facts, answer, view)
        known[view.scope] = taken.facts[EPOCH.name]
        return Learned(taken.facts)

    registry = registry.replace("recover", "head", attrs.evolve(head, take=take_head))
    return registry.replace("recover", "claim", attrs.evolve(claim, take=take_claim))


HITS: Final = ("hits-ordered", "fusion-rule", "filter-before-cut", "error-is-not-empty")
SEARCHING: Final = {"workload.weights.recall": "30", "workload.operations": "24"}
FORGETTING: Final = {"workload.weights.forget": "16", "workload.operations": "32"}
HIDING: Final = ("storage_damaged", "storage_misdirected")  # a search passes such rows over
DURABLE: Final = (
    "acknowledged-is-durable", "reference-agrees", "restart-invisible", "filter-before-cut", "once-only",
)  # fmt: skip

ROWS: Final = (
    Mutant("short-page-is-last", "storage", "a page that is shorter than it may be counts as the last one",
           ("version-chain", "relation-ends", "deleted-stays-deleted", "access-truth", "index-follows-row"),
           "all_faults", (Patch(paging, "has_more", short_is_last),), kind="storage_short_page",
           settings=FORGETTING),
    Mutant("row-twice-counts-twice", "storage", "what one search shows twice is twice as relevant", HITS,
           "all_faults", (Patch(paging, "in_order", twice_as_relevant),), kind="storage_repeat_row",
           settings=SEARCHING),
    Mutant("rows-as-they-come", "storage", "rows are used in the order in which storage gives them", HITS,
           "all_faults", (Patch(paging, "in_order", as_they_come), Patch(recall, "ranking", zipped)),
           kind="storage_shuffled", settings={**SEARCHING, "faults.storage_shuffled": "1/1"}),
    Mutant("told-as-found", "storage", "of what was stored only that is told which a search knows already",
           ("text-never-lost", "reference-agrees"), "all_faults", tables=told_as_found,
           kind="storage_index_lag", alike=HIDING, settings={"agents.in_flight": "1"}),
    Mutant("kept-at-hand", "storage", "what was stored is told from the process when storage has lost it",
           DURABLE, "all_faults", tables=kept_at_hand, kind="storage_ack_early"),
    Mutant("epoch-at-hand", "storage", "the epoch is counted in the process, whatever storage says",
           ("progress",), "all_faults", tables=epoch_at_hand, kind="storage_wiped",
           settings={"run.steps_max": "3000"}),
)  # fmt: skip
