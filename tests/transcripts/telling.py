"""How a transcript tells effects, replies and operations: shortly, by name, and the same every day."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from tests.worlds import input_of
from umi_core.conditions import Condition
from umi_core.ids import fact_id
from umi_core.language.extraction import Mention
from umi_core.memory import Memory
from umi_core.messages.effects import (
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Degraded,
    Done,
    Effect,
    Embed,
    Failed,
    Outcome,
    Query,
    Read,
    Refused,
    Reply,
)
from umi_core.messages.results import Hit, Recalled, Remembered, Resolution, Retrieved
from umi_core.rows import Address, Ended, Entity, Relation
from umi_core.state import Queued
from umi_core.workflows.drafting import about_of

BRIEF_COUNT = 1_000
ID = re.compile(r"(ent|fct|idm|ses|rel|cat|res|mem)_([0-9a-f]{6})[0-9a-f]{18}")


def line_of(text: str, names: Mapping[str, str]) -> str:
    """Return the text with known facts by name, other ids by their first digits; long lines go on below."""
    text = ID.sub(lambda match: names.get(match[0], f"{match[1]}_{match[2]}..."), text)
    return "\n".join(textwrap.wrap(text, 108, subsequent_indent=" " * 12, break_long_words=False))


def named_facts(memory: Memory) -> Iterator[tuple[str, str]]:
    """Yield the ids of the facts that operations in flight tell, each with what it is called here."""
    for operation in memory.state.operations.values():
        known: Mapping[str, Any] = operation.facts
        mentions = [
            getattr(it, "mention", it) for key in ("mentions", "statements") for it in known.get(key, ())
        ]
        scope = memory.state.scope
        yield from ((fact_id(scope, about_of(it, scope), it.content), label(it)) for it in mentions)


def label(fact: Mention) -> str:
    """Return the name that it is about, `note` if there is none, and its last word."""
    *_, word = re.findall(r"\w+", fact.content)
    return f"{fact.name if fact.named else 'note'}.{word}"


def shown(effect: Effect) -> str:
    match effect:
        case AskModel(task, prompt):
            return f"> AskModel({effect.request_id}, {task}: {shown_prompt(task, prompt)})"
        case Embed(texts):
            return f"> Embed({effect.request_id}, {', '.join(map(brief, texts))})"
        case Read(query):
            return f"> Read({effect.request_id}, {shown_query(query)})"
        case Commit(writes, expects, key):
            read = " ".join(f"{place(one.address)}={one.version}" for one in expects)
            puts = " ".join(("" if one.body else "-") + place(one.address) for one in writes)
            return f"> Commit({effect.request_id}, key={key or None})\n    expects {read}\n    writes {puts}"
        case Reply(op_id, outcome):
            return f"> Reply({op_id}, {shown_outcome(outcome)})"


def shown_prompt(task: str, prompt: str) -> str:
    """What is asked: a text, the query with the turns it may refer to, or which statements."""
    match task:
        case "evolve":
            return ", ".join(f"{pair['new']} to {pair['old']}" for pair in input_of(prompt, "pairs"))
        case "rewrite" | "expand" | "decide_need" | "decide_enough" | "rank":
            return repr(input_of(prompt, "query"))
        case "summarise_category":
            facts = ", ".join(repr(fact["content"]) for fact in input_of(prompt, "facts"))
            return f"{input_of(prompt, 'category')} of {facts}"
    return repr(input_of(prompt, "text"))


def shown_query(query: Query) -> str:
    match query:
        case ByIds(addresses):
            return " ".join(place(address) for address in addresses)
        case ByFilter(_, _, (Condition("follows", "in", tuple(ids)), *_)):
            return f"what was told after {' '.join(map(str, ids))}"
        case ByFilter(_, kinds, where):
            return f"all {' '.join(kinds)}" + "".join(f" of {it.value}" for it in where)
        case CountRows():
            return "count"
        case ByVector(limit=limit, kind=kind):
            return f"by vector, {limit} rows{of_kind(kind)}"
        case ByWords(text=text, where=where, limit=limit, kind=kind):
            others = "".join(
                f" without {' '.join(map(str, it.value))}" for it in where if isinstance(it.value, tuple)
            )
            return f"by words {text!r}{others}, {limit} rows{of_kind(kind)}"


def of_kind(kind: str) -> str:
    return "" if kind == "entity" else f" of the kind {kind}"


def place(address: Address) -> str:
    """Kind and id; epoch, head and core are one row each, and a receipt is that of its commit."""
    return (
        address.kind
        if address.kind in ("epoch", "head", "core", "receipt")
        else f"{address.kind}:{address.id}"
    )


def shown_outcome(outcome: Outcome) -> str:
    match outcome:
        case Done(value, degraded):
            return f"Done: {shown_value(value)}{''.join(map(shown_lack, degraded))}"
        case Refused(error) | Failed(error):
            return f"{type(outcome).__name__} {type(error).__name__}: {error}"
    return "Unknown"


def shown_lack(lack: Degraded) -> str:
    times = f", {lack.count} times" if lack.count > 1 else ""
    return f", degraded {lack.name} ({lack.reason}{times})"


def brief(text: str) -> str:
    """Return the text as it is written in code; of a long one how it begins, and how long it is."""
    if len(text) <= BRIEF_COUNT:
        return repr(text)
    return f"{text[:40]!r}... of {len(text)} characters"


def shown_value(value: object) -> str:
    match value:
        case Remembered(entities, promoted=promoted, repeated=repeated):
            parts = [f"{one.change} {one.id}@{one.version}" for one in entities]
            parts += [shown_relation(relation) for relation in value.relations]
            parts += [f"ended {key}" for key in value.ended]
            parts += ["needs resolution"] if value.needs_resolution else []
            parts += [f"into core {' '.join(promoted)}"] if promoted else []
            return ", ".join([*parts, *(["repeated"] if repeated else [])])
        case Recalled(hits, resolution):
            return (", ".join(map(shown_hit, hits)) or "nothing") + shown_resolution(resolution)
        case Retrieved(hits=found, stop_reason=reason):
            return ", ".join((reason, *(f"{hit.level} {hit.text!r} {hit.score_ppm}" for hit in found)))
        case Entity(id=key, version=version, content=content):
            return f"{key}@{version} {brief(content)}"
        case Ended(fact=fact, by=by, how=how):
            return f"{shown_value(fact)}, ended by {by} ({how})"
    return str(value)


def shown_relation(relation: Relation) -> str:
    """From the old statement to the new one, or between two entities."""
    ends = [f"{key}@{version}" if version else key for key, version in (relation.source, relation.target)]
    return f"{relation.kind} {' -> '.join(ends)} by {relation.by}"


def shown_hit(hit: Hit) -> str:
    against = f" (contradicts {' '.join(hit.contradicts)})" if hit.contradicts else ""
    before = "".join(f", was {brief(content)}" for _, content in hit.replaced)
    after = before + (f", then {brief(hit.next_content)}" if hit.next_id else "")
    return f"{hit.id}@{hit.version} {brief(hit.content)} {hit.score_ppm}{against}{after}"


def shown_resolution(resolution: Resolution) -> str:
    """What became of references, if there are any."""
    if resolution.outcome == "clear":
        return ""
    terms = ", ".join(resolution.terms)
    return f"; {resolution.outcome}{' ' + terms if terms else ''}: {resolution.query!r}"


def standing(memory: Memory) -> Iterator[str]:
    """Where each operation in flight stands."""
    for operation in memory.state.operations.values():
        step = memory.registry.at(operation.workflow, operation.revision).steps[operation.row].id
        asleep = "" if operation.waiting is not None else f", asleep until {operation.due_ms}"
        asleep = ", waits for its turn" if isinstance(operation.progress, Queued) else asleep
        plan = f", plan {operation.plan_count}" if operation.plan_count > 1 else ""
        who = "in the background" if operation.op_id is None else f"op {operation.op_id}"
        yield f"{who}: {operation.workflow} at {step}, attempt {operation.attempt}{plan}{asleep}"
