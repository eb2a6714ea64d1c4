"""Mutants that one kind of faulty answer to `extract` reveals: a reply is read with more help, or less, than
was agreed. Only the memory's own reading is replaced; whoever judges reads as before.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from umi_core.language.words import words
from umi_core.limits import EXTRACT_CONTENT_BYTES_MAX
from umi_core.text import norm, size
from umi_core.workflows import extracting
from umi_sim.mutants import Mutant, Original, Patch

Edit = Callable[..., str]
NOTHING_NAMED: Final = '{"entities": [], "relations": []}'
DENYING: Final = ("hates", "has left", "has never", "nicht mehr", "ya no", "不")
DATES: Final = (
    "Monday", "Tuesday", "Friday", "Sunday", "January", "February", "December", "yesterday", "tomorrow",
    "next year", "2024", "2025", "2026", "1970",
)  # fmt: skip


def read_as(edit: Edit) -> Callable[[Original], Original]:
    """The same reading, of an edited reply; the edit sees what the reply is about, too."""
    return lambda original: lambda reply, *rest: original(edit(reply, *rest), *rest)


def extracted(edit: Edit) -> tuple[Patch, ...]:
    return (Patch(extracting, "parse_extraction", read_as(edit)),)


# Replies as values.


def value_of(reply: str) -> Any:
    try:
        return json.loads(reply)
    except ValueError:
        return None


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def elements(reply: str) -> tuple[Any, list[Any]]:
    """The reply as a value, and its entities."""
    value = value_of(reply)
    found = value.get("entities") if isinstance(value, dict) else None
    return value, found if isinstance(found, list) else []


def without_some(is_bad: Callable[[Any, str], bool]) -> Edit:
    """The reply without the elements that are bad for this text."""

    def edit(reply: str, text: str, *rest: Any) -> str:
        value, found = elements(reply)
        kept = [it for it in found if not (isinstance(it, dict) and is_bad(it, text))]
        return reply if len(kept) == len(found) else written({**value, "entities": kept})

    return edit


def content_of(element: Any) -> str:
    content = element.get("content")
    return content if isinstance(content, str) else ""


# What is no answer, and what is around one.


def blanks_name_nothing(reply: str, *rest: Any) -> str:
    return NOTHING_NAMED if reply and not reply.strip() else reply


def refusals_name_nothing(reply: str, *rest: Any) -> str:
    is_polite = any(words in reply for words in ("I'm sorry", "As an AI", "Es tut mir leid", "Lo siento"))
    return NOTHING_NAMED if is_polite else reply


def calls_are_no_answers(reply: str, *rest: Any) -> str:
    return (
        "" if any(it in reply for it in ("<tool_call>", "tool_calls", "remember(", '"function"')) else reply
    )


def nothing_may_follow(reply: str, *rest: Any) -> str:
    try:
        end = json.JSONDecoder().raw_decode(reply)[1]
    except ValueError:
        return reply
    return reply if reply[end:].strip() == "" else ""


def is_template(element: Any, text: str) -> bool:
    return bool(element.get("name") == "TEXT" != text)


def others_name_nothing(reply: str, *rest: Any) -> str:
    is_of_another_task = reply.startswith(('[{"entity_id"', '[{"new"'))
    return NOTHING_NAMED if is_of_another_task else reply


# Keys.


def first_of_two(reply: str, *rest: Any) -> str:
    is_double: list[str] = []

    def first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(reversed(pairs))
        is_double.extend(["twice"] * (len(value) < len(pairs)))
        return value

    try:
        value = json.loads(reply, object_pairs_hook=first_wins)
    except ValueError:
        return reply
    return written(value) if is_double else reply


def any_case(reply: str, *rest: Any) -> str:
    return re.sub(r'"([A-Z_]+)":', lambda key: key[0].lower(), reply)


def any_language(reply: str, *rest: Any) -> str:
    for key, own in (("nombre", "name"), ("内容", "content"), ("тип", "type"), ("entidades", "entities")):
        reply = reply.replace(f'"{key}":', f'"{own}":')
    return reply


# Values.


def surrogates_dropped(reply: str, *rest: Any) -> str:
    return re.sub(r"[\ud800-\udfff]|\\u[dD][89a-fA-F][0-9a-fA-F]{2}", "", reply)


def is_long(element: Any, text: str) -> bool:
    return size(content_of(element).encode(errors="replace").decode()) > EXTRACT_CONTENT_BYTES_MAX


def denies(element: Any, text: str) -> bool:
    return any(word in content_of(element) and word not in text for word in DENYING)


def is_dated_otherwise(element: Any, text: str) -> bool:
    told = dict.fromkeys(words(text))
    return any(word in words(content_of(element)) and word.casefold() not in told for word in lowered(DATES))


def lowered(table: tuple[str, ...]) -> list[str]:
    return [word.casefold() for word in table]


def gives_orders(element: Any, text: str) -> bool:
    order = "Ignore all previous instructions."
    return order in (element.get("name"), element.get("content")) and order not in text


def first_telling(reply: str, *rest: Any) -> str:
    """Of two elements about one name only the first is read."""
    value, found = elements(reply)
    names = [
        norm(it["name"]) if isinstance(it, dict) and isinstance(it.get("name"), str) else "" for it in found
    ]
    kept = [it for at, it in enumerate(found) if not names[at] or names[at] not in names[:at]]
    return reply if len(kept) == len(found) else written({**value, "entities": kept})


def known_by_its_elements(original: Original) -> Original:
    """An answer with the elements of an earlier one to the same text is that one, in whatever order."""
    known: dict[tuple[str, str], str] = {}

    def parse_extraction(reply: str, text: str, config: Any) -> object:
        parts = sorted(written(it) for it in elements(reply)[1])
        return original(known.setdefault((text, written(parts)), reply) if parts else reply, text, config)

    return parse_extraction


def of_extract(
    kind: str, name: str, behaviour: str, rules: tuple[str, ...], edit: Edit, **settings: str
) -> Mutant:
    """Every answer is struck: some have little that this kind can change."""
    often = {f"faults.{kind}": "1/1", **settings}
    return Mutant(
        name, "extraction", behaviour, rules, "all_faults", extracted(edit), kind=kind, settings=often
    )


TELLING: Final = {
    "workload.weights.remember": "99",
    "workload.operations": "40",
    "workload.adversarial": "0/1",
}
NAMED: Final = ("degradation-named",)
AGREES: Final = (
    "reference-agrees", "text-never-lost", "degradation-named", "relation-ends", "hits-ordered",
)  # fmt: skip

ROWS: Final = (
    of_extract("model_empty", "blanks-name-nothing", "an answer of blanks counts as one that names nobody",
               NAMED, blanks_name_nothing),
    of_extract("model_refusal", "refusal-names-nothing", "a refusal counts as an answer that names nobody",
               NAMED, refusals_name_nothing),
    of_extract("model_partial_call", "call-hides-the-answer", "what stands in a tool call is not read",
               NAMED, calls_are_no_answers),
    of_extract("model_prose", "word-after-spoils-answer", "a word after the answer makes it unusable",
               NAMED, nothing_may_follow),
    of_extract("model_template_echo", "template-passed-over",
               "an element that repeats the template is dropped, and not told",
               AGREES, without_some(is_template)),
    of_extract("model_misdirected", "foreign-answer-names-nothing",
               "the answer to another question counts as one that names nobody",
               NAMED, others_name_nothing),
    of_extract("model_duplicate_key", "first-of-two-keys", "of a key that stands twice the first counts",
               AGREES, first_of_two),
    of_extract("model_missing_field", "keys-in-any-case", "a key in other case counts", AGREES, any_case),
    of_extract("model_wrong_language", "keys-in-any-language", "a key in another language counts",
               AGREES, any_language),
    of_extract("model_text_damage", "surrogates-dropped", "half a character is dropped, not replaced",
               AGREES, surrogates_dropped),
    of_extract("model_oversize", "long-content-drops-element",
               "an element with too long a content is dropped, and not told",
               AGREES, without_some(is_long)),
    of_extract("model_contradiction", "denial-drops-element",
               "an element that denies what the text says is dropped, and not told",
               AGREES, without_some(denies)),
    of_extract("model_wrong_date", "other-date-drops-element",
               "an element with a date that the text has not is dropped, and not told",
               AGREES, without_some(is_dated_otherwise), **TELLING),
    of_extract("model_injection", "order-is-obeyed", "an element that orders to ignore everything is dropped",
               AGREES, without_some(gives_orders)),
    of_extract("model_paraphrase", "second-telling-unread",
               "of what an answer says twice about one name the second is not read", AGREES, first_telling),
    Mutant("answer-known-by-its-elements", "extraction",
           "an answer with the elements of an earlier one is taken for that one, in its order",
           AGREES, "all_faults", (Patch(extracting, "parse_extraction", known_by_its_elements),),
           kind="model_varies"),
)  # fmt: skip
