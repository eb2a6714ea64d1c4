"""Mutants of what the model says (extraction, routing, rewriting, evolution) and of how a recall searches."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from umi_core.conditions import Where
from umi_core.engine import steps
from umi_core.engine.engine import Engine
from umi_core.engine.facts import Facts, View
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Learned, Step, retry
from umi_core.language import evolution, extraction, prompts
from umi_core.language import routing as route_replies
from umi_core.language.pronouns import LANGUAGES, phrase
from umi_core.language.replies import Unusable
from umi_core.language.rewriting import TRIGGERS, clean_line, collapsed
from umi_core.language.routing import Routes
from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import Read
from umi_core.messages.results import Resolution
from umi_core.policies import ranking
from umi_core.policies.routing import table_decision
from umi_core.rows import Entity
from umi_core.state import Operation
from umi_core.text import norm, size
from umi_core.workflows import evolving, extracting, recall, remember
from umi_core.workflows.drafting import Drafted
from umi_sim.mutants import Mutant, Original, Patch, row_of

# Extraction.


def fences_unread(original: Original) -> Original:
    return lambda reply, wanted: Unusable("no_json") if "```" in reply else original(reply, wanted)


def name_must_be_there(original: Original) -> Original:
    def read_mention(element: Any, text: str, floor_ppm: int) -> object:
        if isinstance(element, dict):
            element["name"]
        return original(element, text, floor_ppm)

    return read_mention


def filtered_late(original: Original) -> Original:
    def parse_extraction(reply: str, text: str, config: Any) -> object:
        read = original(reply, text, config)
        if isinstance(read, Unusable) or read.entities[0].named:
            return read
        return attrs.evolve(read, entities=())  # nobody vouched for the note

    return parse_extraction


def filled_again(original: Original) -> Original:
    def prompt(task: str, inputs: tuple[tuple[str, Any], ...]) -> str:
        text: str = original(task, inputs)
        for name, value in inputs:
            text = text.replace("{" + name + "}", repr(value)[:20])
        return text

    return prompt


# Routing.


def aborts_without_routes(registry: Registry) -> Registry:
    row = row_of(registry, "remember", "route")
    return registry.replace("remember", "route", attrs.evolve(row, on_failure=retry(2)))


def stranger_followed(original: Original) -> Original:
    def parse_routes(reply: str, asked: tuple[Entity, ...], config: Any) -> object:
        routes = original(reply, asked, config)
        if isinstance(routes, Unusable) or "unknown_id" not in routes.degraded:
            return routes
        first = attrs.evolve(routes.decisions[0], block="facts", promote=True, routed_by="model", cause=None)
        is_self = asked[0].type == "self"
        return routes if is_self else Routes((first, *routes.decisions[1:]), routes.degraded)

    return parse_routes


def system_obeyed(original: Original) -> Original:
    def refusal(entity: Any, row: Any, config: Any) -> object:
        return None if read_any_block(row) == "system" else original(entity, row, config)

    return refusal


def read_any_block(row: Any) -> str:
    block = row.get("block")
    return block.strip().casefold() if isinstance(block, str) else ""


def all_or_none(original: Original) -> Original:
    def parse_routes(reply: str, asked: tuple[Entity, ...], config: Any) -> object:
        routes = original(reply, asked, config)
        if isinstance(routes, Unusable) or not routes.degraded:
            return routes
        return Routes(tuple(table_decision(entity) for entity in asked), routes.degraded)

    return parse_routes


# Rewriting.


def found_inside_words(original: Original) -> Original:
    single = [words[0] for words in map(phrase, LANGUAGES) if len(words) == 1]

    def judged(reply: str, query: str, turns: Any, floor_ppm: int) -> object:
        found = original(reply, query, turns, floor_ppm)
        is_doubted = any(term in found.query.casefold() for term in single if term in query.casefold())
        if found.outcome != "resolved" or not is_doubted:
            return found
        return Resolution("rejected", query, found.terms, "unresolved")

    return judged


def adopted_unseen(original: Original) -> Original:
    def judged(reply: str, query: str, turns: Any, floor_ppm: int) -> object:
        found, line = original(reply, query, turns, floor_ppm), collapsed(clean_line(reply))
        if found.outcome != "rejected" or not line or size(line) > 1_000:
            return found
        return Resolution("resolved", line, found.terms, "", 1_000_000)

    return judged


def always_asked(original: Original) -> Original:
    def detected(query: str, turns: Any, enabled: bool) -> object:
        return None if enabled else original(query, turns, enabled)

    return detected


def turns_left_out(original: Original) -> Original:
    return lambda scope, query, turns: original(scope, query, ())


def terms_in_set_order(original: Original) -> Original:
    def detected(query: str, turns: Any, enabled: bool) -> object:
        found = original(query, turns, enabled)
        return found and attrs.evolve(found, terms=tuple(sorted(found.terms)))

    return detected


# Evolution.


def all_pairs_asked(original: Original) -> Original:
    def parse_evolution(reply: str, asked: tuple[tuple[str, str], ...], floor_ppm: int) -> object:
        new, old = [pair[0] for pair in asked], [pair[1] for pair in asked]
        known = tuple((one, other) for one in new for other in old)
        return original(reply, known, floor_ppm)

    return parse_evolution


def leaves_no_version(original: Original) -> Original:
    def rows_of(draft: Drafted, facts: Facts, view: View) -> object:
        return [write for write in original(draft, facts, view) if write.address.kind != "version"]

    return rows_of


def told_once_for_all(original: Original) -> Original:
    told: dict[tuple[str, str], None] = {}

    def drafted(mention: Any, request: Any, rows: Any, view: View) -> Drafted:
        draft: Drafted = original(mention, request, rows, view)
        key = (draft.entity.id, norm(draft.mention))
        if draft.old is not None and key in told:
            return attrs.evolve(draft, entity=draft.old, change="unchanged", is_row_changed=False)
        told[key] = None
        return draft

    return drafted


def cut_by_characters(original: Original) -> Original:
    def reason_of(element: Mapping[str, Any], bytes_max: int) -> str:
        reason = element.get("reason")
        text = reason[:bytes_max] if isinstance(reason, str) else ""
        if size(text) > bytes_max:
            raise ValueError("reason too long")
        return text

    return reason_of


# Search.


def unfiltered(ask: Original) -> Original:
    def ask_all(facts: Facts, view: View) -> Read | None:
        read = ask(facts, view)
        return read and Read(attrs.evolve(read.query, where=Where()))

    return ask_all


def filtered(take: Original) -> Original:
    def take_some(facts: Facts, answer: Answer | None, view: View) -> object:
        where = recall.where_of(facts)
        if isinstance(answer, ReadDone):
            rows = tuple(row for row in answer.rows if row.body is not None and where.admits(row.body))
            answer = attrs.evolve(answer, rows=rows)
        return take(facts, answer, view)

    return take_some


def filters_after_cut(registry: Registry) -> Registry:
    for step_id in ("by_vector", "by_words"):
        row = row_of(registry, "recall", step_id)
        assert row.ask is not None
        late = attrs.evolve(row, ask=unfiltered(row.ask), take=filtered(row.take))
        registry = registry.replace("recall", step_id, late)
    return registry


def unordered_ties(original: Original) -> Original:
    return lambda score_ppm, row: (-score_ppm, "")


def nothing_found(original: Original) -> Original:
    def give_up(engine: Engine, operation: Operation, row: Step, kind: str, reason: str) -> object:
        if (operation.workflow, row.id) == ("recall", "by_words"):
            return steps.learn(engine, operation, row, Learned(recall.WORD_LISTS.unit(())))
        return original(engine, operation, row, kind, reason)

    return give_up


def always_fused(original: Original) -> Original:
    return lambda lists, limit: original([*lists, ()] if len(lists) == 1 else lists, limit)


def triggers_inside_words(original: Original) -> Original:
    def is_deep(query: str, deep: bool | None) -> bool:
        return any(trigger in query.casefold() for trigger in TRIGGERS) if deep is None else deep

    return is_deep


ROWS: Final = (
    Mutant("fenced-answer-lost", "extraction", "an answer inside a Markdown fence is not understood",
           ("parser-keeps-the-good",), "babble",
           patches=(Patch(extraction, "find_json", fences_unread),)),
    Mutant("missing-name-raises", "extraction", "an element without a name raises instead of being dropped",
           ("parser-total",), "babble", patches=(Patch(extraction, "read_mention", name_must_be_there),)),
    Mutant("filter-after-substitute", "extraction", "the filter on confidence removes the substitute note",
           ("text-never-lost",), "model_storm",
           patches=(Patch(extracting, "parse_extraction", filtered_late),)),
    Mutant("placeholder-in-text-filled", "extraction", "a text that holds a placeholder gets it filled in",
           ("prompt-inputs",), "retries", patches=(Patch(prompts, "prompt", filled_again),)),
    Mutant("routing-failure-loses-text", "routing", "when the question about routes fails, nothing is stored",
           ("text-never-lost",), "model_storm", tables=aborts_without_routes),
    Mutant("route-to-system-obeyed", "routing", "a route that names the system block is followed",
           ("system-is-authored", "route-per-entity"), "babble",
           patches=(Patch(route_replies, "refusal", system_obeyed),)),
    Mutant("unknown-id-promoted", "routing", "a route for an id that was not asked about is followed",
           ("route-known-only", "route-per-entity"), "answers",
           patches=(Patch(remember, "parse_routes", stranger_followed),)),
    Mutant("one-bad-route-drops-all", "routing", "one malformed row sends every entity back to the table",
           ("route-per-entity",), "model_storm", patches=(Patch(remember, "parse_routes", all_or_none),)),
    Mutant("pronoun-found-inside-word", "rewriting", "a sound rewrite is rejected for the `he` in `the`",
           ("reference-agrees",), "conversation", patches=(Patch(recall, "judged", found_inside_words),)),
    Mutant("meaningless-rewrite-adopted", "rewriting", "a rewrite that keeps none of the words is adopted",
           ("rewrite-gate",), "conversation", patches=(Patch(recall, "judged", adopted_unseen),)),
    Mutant("asks-without-need", "rewriting", "the model is asked to resolve what refers to nothing",
           ("rewrite-only-if-needed",), "conversation", patches=(Patch(recall, "detected", always_asked),)),
    Mutant("rewrite-reused-elsewhere", "rewriting", "a rewrite is used again after other turns",
           ("cache-invisible", "rewrite-gate"), "calm",
           patches=(Patch(recall, "rewrite_key", turns_left_out),),
           settings={"workload.weights.remember": "1", "workload.weights.recall": "2"}),
    Mutant("ambiguous-words-in-set-order", "rewriting", "the references are listed in the order of a set",
           ("same-seed-same-trace", "reference-agrees"), "conversation",
           patches=(Patch(recall, "detected", terms_in_set_order),)),
    Mutant("unasked-pair-related", "evolution", "a row about a pair that was not asked about is stored",
           ("relation-ends",), "babble",
           patches=(Patch(evolving, "parse_evolution", all_pairs_asked),)),
    Mutant("second-fact-overwrites", "evolution", "a second text leaves neither the old one nor a version",
           ("version-chain", "reference-agrees"), "contradictions",
           patches=(Patch(remember, "rows_of", leaves_no_version),)),
    Mutant("reasserted-fact-stays-expired", "evolution", "after A, then B, then A again, B is current",
           ("reference-agrees", "once-only"), "contradictions",
           patches=(Patch(remember, "drafted", told_once_for_all),)),
    Mutant("reason-limit-mixed-up", "evolution", "a long reason is cut by characters and checked by bytes",
           ("parser-total",), "babble",
           patches=(Patch(evolution, "reason_of", cut_by_characters),)),
    Mutant("filter-after-cut", "retrieval", "filters are applied to the hits that are left after the cut",
           ("filter-before-cut", "error-is-not-empty", "fusion-rule"), "calm", tables=filters_after_cut,
           settings={"workload.weights.remember": "1", "workload.weights.recall": "2"}),
    Mutant("ties-by-arrival", "retrieval", "hits of equal score come in the order of storage",
           ("hits-ordered", "fusion-rule"), "calm", patches=(Patch(ranking, "order", unordered_ties),)),
    Mutant("read-error-is-empty", "retrieval", "a recall whose read failed replies success without hits",
           ("error-is-not-empty", "filter-before-cut", "session-keys-true"), "storage_storm",
           patches=(Patch(steps, "give_up", nothing_found),)),
    Mutant("fusion-of-one-list", "retrieval", "the one list that there is gets fused all the same",
           ("fusion-rule",), "model_storm", patches=(Patch(recall, "fused", always_fused),)),
    Mutant("trigger-inside-word", "retrieval", "whole foods start a deep search, for the `how` in `show`",
           ("deep-by-trigger",), "calm", patches=(Patch(recall, "is_deep", triggers_inside_words),)),
)  # fmt: skip
