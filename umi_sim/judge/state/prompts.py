"""Prompts: a question to a model has each input once, complete, in a line of its own; and records of calls.

Law 1. The line of an input has a name and a JSON value; no text of a user can begin such a line.
Law 2. Inputs that follow from the request alone are compared. Of other inputs only the names are compared,
and all references must exist in the prompt. Tasks of added workflows are not judged.
Law 3. The record of each question to a model or an embedder has its outcome, and sizes and hash of the text
that was sent, after interceptors. A late answer counts as none.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

from umi_core.config import Config
from umi_core.json_text import whole
from umi_core.language.dates import day_of, name_day
from umi_core.language.prompts import ROUTE_CONTEXT_BYTES_MAX
from umi_core.language.reasoning import strip_reasoning
from umi_core.limits import REPLY_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX
from umi_core.messages.answers import EffectFailed, Embedded, ModelReplied, Value
from umi_core.messages.effects import AskModel, Embed, ModelCall
from umi_core.messages.requests import (
    Descent,
    EndSession,
    EvolveCategory,
    LoadSession,
    Memorize,
    Recall,
    Remember,
    Retrieve,
    Search,
    Summarise,
)
from umi_core.messages.results import Resolution
from umi_core.state import Operation
from umi_core.text import cut, size
from umi_core.values import DESCRIBED_BY
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

RULE: Final = rules.PROMPT_INPUTS
INPUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "extract": ("text", "told"),
    "route": ("entities", "context", "told"),
    "evolve": ("new", "old", "pairs"),
    "rewrite": ("turns", "query"),
    "expand": ("query",),
    "memories": ("memory_type", "categories", "text"),
    "segment": ("text",),
    **dict.fromkeys(DESCRIBED_BY.values(), ("payload",)),
    "decide_need": ("turns", "query"),
    "decide_enough": ("query", "found"),
    "rank": ("query", "count", "candidates"),
    "summarise_category": ("category", "about", "facts"),
    "reflect": ("texts", "told"),
    "name_subcategory": ("category", "keywords", "contents"),
}
OF_JSON: Final = ("extract", "route", "evolve", "expand", "rank")  # other tasks have fewer kinds of problems
PROBLEMS: Final = {
    "empty": "The last reply was empty.",
    "too_long": f"The last reply had more than {REPLY_BYTES_MAX} bytes.",
    "no_json": "The last reply had no complete JSON of this form.",
}
OTHER_PROBLEM: Final = "The last reply was not of this form."
ASKING: Final = (
    Remember, LoadSession, Recall, Memorize, Summarise, EvolveCategory, EndSession, Retrieve, Search,
)  # fmt: skip
as_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def check_prompt(operation: Operation, config: Config, now_ms: int) -> None:
    """Check the question that this operation has just asked, if it asks a model about a request."""
    asked, request = operation.asked, operation.facts.get("request")
    if not isinstance(asked, AskModel) or not isinstance(request, ASKING):
        return
    if (expected := INPUTS.get(asked.task)) is None:
        return
    lines = [line.partition(" = ") for line in asked.prompt.split("\n") if line.startswith("INPUT ")]
    names = tuple(name.removeprefix("INPUT ") for name, _, _ in lines)
    # `speaker` and `summary` are inputs only if there is one.
    expected += (
        ("speaker",) if asked.task == "extract" and getattr(request, "speaker", None) is not None else ()
    )
    expected += (
        ("told",) if asked.task == "memories" and getattr(request, "happened_ms", None) is not None else ()
    )
    expected = (
        (*expected[:2], "summary", *expected[2:], "today") if "summary" in names else (*expected, "today")
    )
    demand(names == expected, RULE, f"the inputs of a prompt to {asked.task}", expected, names)
    values = {name: value for name, (_, _, value) in zip(names, lines, strict=True)}
    today = {"today": name_day(day_of(now_ms, config))}
    for name, wanted in (expect_inputs(asked.task, operation.facts, config) | today).items():
        demand(values[name] == as_json(wanted), RULE, f"the {name}", as_json(wanted), values[name])
    check_refs({name: read(value) for name, value in values.items()})


def check_asked_again(was: AskModel, now: object, reply: str | None) -> None:
    """Demand that the next attempt has the same question, and names the problem of an unreadable reply.

    `reply`: the reply to the attempt before; None if no model has replied.
    """
    message = "the question of the next attempt"
    before, mark, problem = getattr(now, "prompt", "").partition("\nINPUT problem = ")
    demand(before == was.prompt.partition(mark or "\n\n\n")[0], RULE, message, was, now)
    if reply is None:
        demand(now == was, RULE, message, was, now)
        return
    text = whole(strip_reasoning(reply))
    why = "empty" if not text.strip() else "too_long" if size(text) > REPLY_BYTES_MAX else "no_json"
    known = [why] if was.task in OF_JSON else [why, "empty", ""]
    expected = [as_json(PROBLEMS.get(it, OTHER_PROBLEM)) for it in known]
    holds = problem in expected or (was.task not in INPUTS and problem)
    demand(holds, RULE, "the problem of the last reply, as the next attempt names it", expected, problem)


def expect_inputs(task: str, facts: Mapping[str, object], config: Config) -> dict[str, object]:
    """Return the inputs of a prompt that follow from the request and its resolved query, by name."""
    match task, facts["request"], facts.get("resolution"):
        case "extract", Remember() as request, _:
            # The oracle of the archive, which knows the time of the request, judges the dates in the text.
            inputs = {"text": facts.get("stated"), "told": name_day(int(str(facts.get("stated_on"))))}
            return inputs if request.speaker is None else {**inputs, "speaker": request.speaker}
        case "route", Remember() | LoadSession(), _:
            inputs = {"told": name_day(int(str(facts.get("stated_on"))))}
            return {**inputs, "context": cut(str(facts.get("stated")), ROUTE_CONTEXT_BYTES_MAX)}
        case "rewrite" | "decide_need", (Recall() | Retrieve() | Search()) as request, _:
            cut_turns = [{"role": it.role, "text": it.text[:TURN_CHARS_MAX]} for it in request.turns]
            turns = [turn for turn in cut_turns if turn["text"].strip()][-TURN_COUNT_MAX:][::-1]
            numbered = [{"turn": at, **turn} for at, turn in enumerate(turns, start=1)]
            return {"turns": numbered if task == "rewrite" else turns, "query": request.query}
        case "memories", Memorize() as request, _:
            at_ms = request.happened_ms
            inputs = {} if at_ms is None else {"told": name_day(day_of(at_ms, config))}
            return {
                **inputs,
                "categories": [{"name": name, "about": about} for name, about in config.categories],
            }
        case task, Memorize() as request, _ if task == DESCRIBED_BY.get(request.modality):
            return {"payload": request.text}
        case "name_subcategory", EvolveCategory() as request, _:
            return {"category": request.category}
        case "expand", Recall(), Resolution(query=query):
            return {"query": query}
    return {}


def check_turns(given: Recall | Descent, kept: object, count_max: int = TURN_COUNT_MAX) -> None:
    """Demand that an operation keeps the last turns that are not blank, each cut to its limit."""
    if isinstance(kept, Recall | Descent) and kept.op_id == given.op_id:
        expected = [
            (it.role, it.text[:TURN_CHARS_MAX]) for it in given.turns if it.text[:TURN_CHARS_MAX].strip()
        ]
        got = [(it.role, it.text) for it in kept.turns]
        demand(got == expected[-count_max:], RULE, "the turns that are kept", expected[-count_max:], got)


def read(value: str) -> Any:  # any JSON
    try:
        return json.loads(value)
    except ValueError:
        raise Broken(RULE, "an input of a prompt", "JSON", value) from None


def check_refs(values: Mapping[str, Any]) -> None:  # any JSON
    """Demand that each pair has a new and an old statement, and that each statement is listed once."""
    for side in ("new", "old") if "pairs" in values else ():
        listed = [statement["ref"] for statement in values[side]]
        # For the pairs n1-o1 and n1-o2 the new statements are [n1] and the old ones [o1, o2].
        named = list(dict.fromkeys(pair[side] for pair in values["pairs"]))
        demand(sorted(listed) == sorted(named), RULE, f"the {side} statements", sorted(named), sorted(listed))


# Records of calls.


def check_opened(operation: Operation, now_ms: int) -> None:
    """Check the record of the question that this operation has just sent to a model or an embedder."""
    sent = operation.sent
    if not isinstance(sent, AskModel | Embed):
        return
    last = operation.calls[-1] if operation.calls else None
    got = (last.operation, *outline(last)) if last is not None else ()
    expected = (
        sent.task if isinstance(sent, AskModel) else "embed",
        *expect_outline(sent, operation, now_ms),
    )
    demand(got == expected, rules.WORKFLOW_CONTRACT, "the record of a call when it is sent", expected, got)


def outline(call: ModelCall) -> tuple[object, ...]:
    """Return the fields of a call that are known when it is sent."""
    at = (call.workflow, call.revision, call.unit, call.attempt, call.request_id, call.profile, call.asked_ms)
    return *at, call.outcome, call.prompt_hash, call.prompt_bytes, call.texts_count


def expect_outline(sent: AskModel | Embed, operation: Operation, now_ms: int) -> tuple[object, ...]:
    texts = sent.texts if isinstance(sent, Embed) else (sent.prompt,)
    sent_bytes = b"\n".join(text.encode(errors="surrogatepass") for text in texts)
    digest = blake2b(sent_bytes, digest_size=8).hexdigest()
    count = len(texts) if isinstance(sent, Embed) else 0
    it = operation
    at = (it.workflow, it.revision, it.unit, it.attempt, sent.request_id, sent.profile, now_ms)
    return *at, "open", digest, len(sent_bytes), count


def check_reported_calls(was: Iterable[ModelCall], now: Iterable[ModelCall]) -> None:
    """Demand that the calls before a step (`was`) are the first ones after it (`now`)."""
    expected, got = [call.request_id for call in was], [call.request_id for call in now]
    # After [q1, q2], the calls [q1, q2, q3] are valid and [q1, q3] are not.
    demand(
        got[: len(expected)] == expected,
        rules.WORKFLOW_CONTRACT,
        "the earlier calls of an operation",
        expected,
        got,
    )


def check_closed(value: Value, calls: Iterable[ModelCall]) -> None:
    """Demand that the call answered by `value` is recorded with that outcome.

    `calls`: the calls of the operation that waited for `value`.
    """
    if not isinstance(value, ModelReplied | Embedded | EffectFailed):
        return
    outcome = value.kind if isinstance(value, EffectFailed) else "ok"
    size = len(value.text.encode(errors="surrogatepass")) if isinstance(value, ModelReplied) else 0
    for call in calls:
        if call.request_id == value.request_id:
            recorded, expected = (call.outcome, call.reply_bytes), (outcome, size)
            message = "outcome and size in the record of an answered call"
            demand(recorded == expected, rules.WORKFLOW_CONTRACT, message, expected, recorded)
