"""Operations: requests with their questions and answers, and the batches that were sent for them.

Law 1. Only answers that a memory accepts are observed. So a question without an answer has timed out once
the operation asks another one.
Law 2. After a conflict an operation reads and asks again, but keeps the answers about its text.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec import structs

from umi_core import errors
from umi_core.config import Config
from umi_core.conversations import list_spoken
from umi_core.data import Owner
from umi_core.kelpie.requests import AddArchival
from umi_core.language import extraction, memories
from umi_core.language.dates import add_dates, day_of, list_dated, name_day
from umi_core.language.extraction import (
    CONFIDENCE_PPM,
    Extraction,
    Mention,
    find_uncovered,
    is_pronoun,
    merge,
    notes_of_text,
    own_words,
)
from umi_core.language.memories import ExtractedFact, Memories
from umi_core.language.terms import list_spellings
from umi_core.language.words import auto_name
from umi_core.limits import EXTRACT_CONTENT_BYTES_MAX, QUERY_BYTES_MAX, TEXT_BYTES_MAX
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, AskModel, ByIds, Embed, Read
from umi_core.messages.requests import CreateEntity, Memorize, Remember
from umi_core.rows import Entity, Row
from umi_core.text import norm, size
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.states import make_fact_id
from umi_sim.judge.plain.requests import is_damaged
from umi_sim.judge.plain.scores import sound_vectors

READ_COUNT_MAX: Final = 64  # prompts and replies that are cached as read: judges read each several times
parse_extraction: Final = lru_cache(READ_COUNT_MAX)(extraction.parse_extraction)
parse_memories: Final = lru_cache(READ_COUNT_MAX)(memories.parse_memories)

DAYS_WAITED_MAX: Final = 400
OF_TEXT: Final = ("seen", "extract", "preprocess", "segment")
"""The steps whose answers are kept after a conflict."""


class Exchange(Owner):
    """One question and its answer, if any.

    `at_ms`: the time of the answer by the memory's clock; `position`: how many batches were durable then.
    """

    step: str
    event: str
    effect: Asked | None
    answer: Answer | None = None
    at_ms: int = 0
    position: int = 0

    @property
    def prompt(self) -> str:
        return self.effect.prompt if isinstance(self.effect, AskModel) else ""

    @property
    def question(self) -> str:
        """Return the prompt without the input `problem`, which describes an error in the last reply."""
        return self.prompt.partition("\nINPUT problem = ")[0]

    @property
    def text(self) -> str | None:
        """Return the reply of a model; None without one."""
        return self.answer.text if isinstance(self.answer, ModelReplied) else None

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Return the inputs of the prompt, by name."""
        return read_inputs(self.prompt)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the rows in the answer to a read."""
        return self.answer.rows if isinstance(self.answer, ReadDone) else ()

    @property
    def pairs(self) -> dict[tuple[str, str], None]:
        """Return the pairs of references, new and old, that the prompt asks a model to compare."""
        return {(it["new"], it["old"]): None for it in self.inputs.get("pairs", ())}

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts whose vectors the question requests."""
        return self.effect.texts if isinstance(self.effect, Embed) else ()

    def vectors(self, count: int, dims: int) -> tuple[tuple[int, ...] | None, ...]:
        """Return the vectors of `count` texts; None for each missing one."""
        known = self.answer.vectors if isinstance(self.answer, Embedded) else ()
        found = sound_vectors(known, count, dims)
        return (None,) * count if found is None else found


@lru_cache(READ_COUNT_MAX)
def read_inputs(prompt: str) -> Mapping[str, Any]:
    lines = (line for line in prompt.split("\n") if line.startswith("INPUT "))
    named = (line.removeprefix("INPUT ").partition(" = ") for line in lines)
    return {name: json.loads(value) for name, _, value in named}


NOT_ASKED: Final = Exchange("", "", None)


class BatchContext(Owner):
    """The answers of an operation when it sent a batch. `at_ms`: when it planned the batch."""

    attempts: tuple[Exchange, ...]
    at_ms: int

    def tried(self, step: str) -> list[Exchange]:
        return [it for it in self.attempts if it.step == step]

    def last(self, step: str) -> Exchange | None:
        """Return the last attempt of a step, which is the one that counts."""
        return next(reversed(self.tried(step)), None)

    def questions(self, step: str) -> list[Exchange]:
        """Return the last attempt for each question of this step.

        If an interceptor withheld the answers from the memory, return the interceptor's own answer.
        """
        tried = self.tried(step)
        # `turned_away` records answers of interceptors without an effect. Otherwise the last attempt per
        # question counts:
        # p1 (timeout), p2 "x", p1 "y"  ->  p1 "y", p2 "x"
        kept_away = [it for it in tried if it.effect is None][-1:]
        return kept_away or list({it.question: it for it in tried}.values())

    def answers(self, step: str) -> list[Answer]:
        return [it.answer for it in self.tried(step) if it.answer is not None]

    def rows(self, step: str) -> list[Row]:
        """Return the rows in the answers to all reads of a step."""
        return [row for it in self.answers(step) if isinstance(it, ReadDone) for row in it.rows]

    def text(self, step: str) -> str | None:
        """Return the model's reply to the last attempt; None if that was not answered."""
        return (self.last(step) or NOT_ASKED).text

    def time_of(self, step: str) -> int:
        """Return the time of the last answer to this step; without one, the time of the plan."""
        times = [it.at_ms for it in self.tried(step) if it.answer is not None]
        return times[-1] if times else self.at_ms

    def vectors(self, count: int, dims: int) -> tuple[tuple[int, ...] | None, ...]:
        return (self.last("embed") or NOT_ASKED).vectors(count, dims)

    def without(self, steps: tuple[str, ...]) -> "BatchContext":
        """Return a copy without the answers to these steps."""
        return BatchContext(tuple(it for it in self.attempts if it.step not in steps), self.at_ms)


class ArchiveOperation(Owner):
    """One request, with its questions and answers.

    When it was issued, `began` was the number of events, `position` that of durable batches, `began_ms` the
    memory's clock, `asked_ms` the world time, and `listed` the categories with their descriptions; `ended`
    is the number of events at its end. `record`: the request that adds an archival record, whose text
    is remembered. `is_unasked`: it is upkeep, which never restores a replaced text. `attempts`: those of the
    present plan; `past`: those of earlier plans. `planned_ms`: when the present plan was first sent;
    `first_ms`: when the first question was sent. `plans`: by the event of each batch that was sent.
    `elsewhere`: the positions of other agents' archives when it was issued, if it is about them.
    """

    request: Any
    error: errors.Error | None
    began: int
    position: int
    began_ms: int
    asked_ms: int
    scope: Scope = Scope("", "")
    listed: Mapping[str, str] = {}
    record: AddArchival | None = None
    is_unasked: bool = False
    attempts: list[Exchange] = []
    past: list[Exchange] = []
    planned_ms: int | None = None
    first_ms: int | None = None
    plans: dict[str, BatchContext] = {}
    elsewhere: Mapping[str, int] = {}
    ended: int | None = None
    is_turned_away: bool = False
    is_refuted: bool = False

    @property
    def key(self) -> str | None:
        """Return the request key; keys of an agent server have a namespace of their own."""
        key = getattr(self.asked, "request_key", None)
        return f"api: {key}" if key and self.asked.key_space == "api" else key

    @property
    def asked(self) -> Any:
        return self.record or self.request

    def is_like(self, other: "ArchiveOperation") -> bool:
        is_same: bool = structs.replace(self.asked, op_id=0) == structs.replace(other.asked, op_id=0)
        return is_same

    @property
    def given_ms(self) -> int | None:
        """Return the time that the request gives for its text."""
        name = "happened_ms" if isinstance(self.request, Memorize) else "event_time_ms"
        given_ms: int | None = getattr(self.request, name, None)
        return given_ms

    @property
    def looked_up(self) -> list[str]:
        """Return the ids that the operation has looked up: those of the facts of its text."""
        asked = [it.effect.query for it in self.plan.tried("lookup") if isinstance(it.effect, Read)]
        return [it.id for query in asked if isinstance(query, ByIds) for it in query.addresses]

    # Questions and answers.

    def sent(self, step: str, event: str, effect: Asked, now_ms: int) -> None:
        self.first_ms = now_ms if self.first_ms is None else self.first_ms
        if effect.service == "storage" and effect.verb == "commit":
            # A batch that is sent again has the same rows, with the times of its first sending.
            self.planned_ms = now_ms if self.planned_ms is None else self.planned_ms
            self.plans[event] = BatchContext(tuple(self.attempts), self.planned_ms)
        else:
            self.attempts.append(Exchange(step, event, effect))

    def answered(self, step: str, event: str, effect: Asked, answer: Answer, now_ms: int) -> Exchange:
        it = next((it for it in self.attempts if it.event == event and it.answer is None), None)
        if it is None:
            it = Exchange(step, event, effect)
            self.attempts.append(it)
        it.answer, it.at_ms = answer, now_ms
        if step == "commit" and isinstance(answer, EffectFailed) and answer.kind == "conflict":
            # Rows have changed since they were read, but the answers
            # of models about the text are still valid.
            self.past += self.attempts
            self.attempts = [it for it in self.attempts if it.step in OF_TEXT]
            self.planned_ms = None
        return it

    @property
    def plan(self) -> BatchContext:
        """Return the answers from which a batch would be planned now."""
        return BatchContext(
            tuple(self.attempts), self.began_ms if self.planned_ms is None else self.planned_ms
        )


def find_day(op: ArchiveOperation, config: Config) -> int | None:
    """Return the day to which words such as `yesterday` in a text refer; None if it is not known."""
    request = op.request
    if isinstance(request, Memorize):
        return None if request.happened_ms is None else day_of(request.happened_ms, config)
    if request.event_time_ms is not None:
        return day_of(request.event_time_ms, config)
    first, last = (day_of(ms, config) for ms in (op.began_ms, op.first_ms or op.began_ms))
    # A request may wait for a recovery, or for its turn. Only its questions show on which day it continued.
    days = range(first, min(last, first + DAYS_WAITED_MAX) + 1)
    return first if last <= first else next((day for day in days if tells_day(op, day, config)), first)


def list_texts(query: str, op: ArchiveOperation, config: Config) -> tuple[str, ...]:
    """Return the texts of a search by words: the query with other spellings, and with dates."""
    first = list_spellings(query, QUERY_BYTES_MAX) or (query,)
    return tuple(dict.fromkeys((*first, *list_with_dates(query, op, config))))


def list_with_dates(query: str, op: ArchiveOperation, config: Config) -> tuple[str, ...]:
    """Return a query with its dates added, if it has any.

    They are relative to the day of the operation's first question, before which only a recovery can delay it.
    """
    day = day_of(op.began_ms if op.first_ms is None else op.first_ms, config)
    return list_dated(query, day, QUERY_BYTES_MAX)


def tells_day(op: ArchiveOperation, day: int, config: Config) -> bool:
    """Return whether the questions of a request fit one that continued on this day."""
    asked = [*op.past, *op.attempts]
    if days := [it.inputs["told"] for it in asked if it.step == "extract" and it.inputs]:
        return bool(days[0] == name_day(day))
    notes = notes_of_text(add_dates(op.request.text, day, TEXT_BYTES_MAX))
    ids = {make_fact_id(it, op.scope) for it in notes}
    reads = [it.effect.query for it in asked if it.step == "lookup" and isinstance(it.effect, Read)]
    return any(ids <= {it.id for it in query.addresses} for query in reads if isinstance(query, ByIds))


def read_stated(op: ArchiveOperation, config: Config) -> str:
    """Return the text of a statement with its dates added."""
    day = find_day(op, config)
    assert day is not None
    return add_dates(op.request.text, day, TEXT_BYTES_MAX)


def read_extracted(op: ArchiveOperation, plan: BatchContext, config: Config) -> Extraction | None:
    """Return the facts that a model found in the text; None, which means notes, without a usable answer."""
    request, reply = op.request, plan.text("extract")
    if not isinstance(request, Remember) or reply is None:
        return None
    stated = read_stated(op, config)
    found = parse_extraction(reply, stated, config, find_day(op, config))
    if not isinstance(found, Extraction):
        return None
    return found if request.speaker is None else own_words(found, stated, request.speaker)


def list_mentions(op: ArchiveOperation, found: Extraction | None, config: Config) -> tuple[Mention, ...]:
    return found.entities if found is not None else notes_of_text(read_stated(op, config))


# The facts of a memorized text, and facts given by a request.

LINKS_MAX: Final = 3
HOME: Final = {
    "profile": "facts", "event": "context", "knowledge": "facts", "behavior": "preferences",
    "skill": "skills",
}  # fmt: skip
ENTITY_TYPE: Final = {
    "profile": "person", "behavior": "preference", "event": "event", "knowledge": "topic", "skill": "topic",
}  # fmt: skip
Unit = tuple[str, str]  # a memory type, and the text that is read for it
Categorised = tuple[Mention, tuple[str, ...]]  # a statement and its categories


def read_units(plan: BatchContext, day: int | None = None) -> dict[Unit, tuple[ExtractedFact, ...] | None]:
    """Return the facts of the last answer by unit; None for a useless answer.

    `day`: the day to which words such as `yesterday` refer, if it is known.
    """
    units: dict[Unit, tuple[ExtractedFact, ...] | None] = {}
    for it in (it for it in plan.tried("extract") if it.inputs):  # without answers of interceptors
        unit = str(it.inputs["memory_type"]), str(it.inputs["text"])
        # A later attempt at the same unit replaces an earlier one.
        found = parse_memories(it.text) if it.text is not None else None
        units[unit] = date_facts(found.memories, day) if isinstance(found, Memories) else None
    return units


def date_facts(facts: tuple[ExtractedFact, ...], day: int | None) -> tuple[ExtractedFact, ...]:
    if day is None:
        return facts
    limit = EXTRACT_CONTENT_BYTES_MAX
    return tuple(structs.replace(it, content=add_dates(it.content, day, limit)) for it in facts)


def read_memorized(
    plan: BatchContext, scope: Scope, listed: Iterable[str], day: int | None
) -> dict[str, Categorised]:
    """Return the facts of a text by id, in the order of the answers, each with its categories."""
    extracts = [
        (norm(it.content), *categorise(it, kind, listed))
        for (kind, _), read in read_units(plan, day).items()
        for it in read or ()
    ]
    found: dict[str, Categorised] = {}
    for mention in merge(it for _, it, _ in extracts):
        key, names = norm(mention.content), [norm(name) for name in mention.names]
        # Ann's "likes tea" in two memory types is one fact, with the categories of both; Bob's is another.
        own = [
            every for same, it, every in extracts if same == key and (not it.named or norm(it.name) in names)
        ]
        found[make_fact_id(mention, scope)] = mention, tuple(name for every in own for name in every)
    return found


def count_uncovered(op: ArchiveOperation, config: Config) -> int:
    """Count the sentences that no fact covers, in the parts that were read for all requested types."""
    parts: dict[str, list[tuple[ExtractedFact, ...] | None]] = {}
    for (_, text), read in read_units(op.plan, find_day(op, config)).items():
        parts.setdefault(text, []).append(read)
    shown = list_spoken if op.request.modality == "conversation" else str
    count = 0
    for text, found in parts.items():
        told = [said for read in found for it in read or () for said in (it.name, it.content)]
        count += len(find_uncovered(shown(text), told)) if None not in found else 0
    return count


def categorise(extracted: ExtractedFact, kind: str, names: Iterable[str]) -> Categorised:
    is_named = extracted.name != "" and not is_pronoun(extracted.name)
    name = extracted.name if is_named else auto_name(extracted.content)
    known = {norm(name): name for name in names}
    listed = [known[key] for key in map(norm, extracted.categories) if key in known]
    # Categories are matched by normalised names and spelled as they
    # are listed. Without a match, the category of the type is used.
    categories = tuple(dict.fromkeys(listed))[:LINKS_MAX] or (default_category(kind, names),)
    return Mention(ENTITY_TYPE[kind], name, extracted.content, CONFIDENCE_PPM, is_named, kind), categories


def default_category(kind: str, listed: Iterable[str]) -> str:
    """Return the category of a memory type; if it is not listed, the first listed one."""
    names = list(listed)
    known = [name for name in names if norm(name) == HOME[kind]]
    return (known or names)[0]


def read_given(request: CreateEntity, listed: Iterable[str]) -> Categorised:
    """Return the fact of a request, with its named categories or the one of its memory type."""
    kind, content, named = request.memory_type, request.content, request.categories
    homes = (default_category(kind, listed),) if named is None else tuple(dict.fromkeys(named))
    return Mention(ENTITY_TYPE[kind], auto_name(content), content, CONFIDENCE_PPM, False, kind), homes


# The facts carried by a session, as read from the archive of the agent that saved it.


def read_carried(plan: BatchContext) -> dict[str, Entity]:
    """Return the facts by id, in the order of the question; the last ones that fit into one text."""
    asked = plan.last("facts")
    query = asked.effect.query if asked is not None and isinstance(asked.effect, Read) else None
    rows = asked.rows if asked is not None else ()
    found = {row.address.id: row.body for row in rows if not is_damaged(row)}
    keys = [it.id for it in query.addresses] if isinstance(query, ByIds) else []
    carried = {key: it for key in keys if isinstance(it := found.get(key), Entity)}
    # The first ones are dropped until the rest fits; each takes its bytes and a line end.
    while sum(size(it.content) + 1 for it in carried.values()) > TEXT_BYTES_MAX:
        del carried[next(iter(carried))]
    return carried


def as_mention(fact: Entity) -> Mention:
    """Return a carried fact as a statement."""
    is_named = fact.about != ()
    return Mention(fact.type, fact.name, fact.content, fact.confidence_ppm, is_named, others=fact.others)
