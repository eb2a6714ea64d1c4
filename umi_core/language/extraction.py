"""Extraction: reading the reply to `extract` as statements about named entities.

Law 1. Total: every element of a reply is kept, merged with an equal one, or dropped with a reason.
Law 2. No sentence is lost: each one that no statement of the reply covers becomes a note after the
statements. If the reply has no statements, the whole text becomes notes. Law 3. No filter drops a note.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, TypeVar, get_args

from msgspec import structs

from umi_core.config import Config
from umi_core.data import Data
from umi_core.domains import Content, EntityName, EntityType, Importance, MemoryType, Texts
from umi_core.json_text import Json
from umi_core.language.dates import add_dates
from umi_core.language.persons import SPEAKER_WORDS, is_within
from umi_core.language.replies import (
    ArrayWith,
    ObjectWith,
    UnusableReply,
    confidence_ppm,
    field,
    find_json,
    find_rows,
    list_under,
)
from umi_core.language.sentences import sentences
from umi_core.language.tables import DENIALS, IDLE, NAME_PRONOUNS, TYPE_ALIASES
from umi_core.language.tagged import restore_characters
from umi_core.language.terms import classify, split_folded
from umi_core.language.words import auto_name, clean_name, content, words
from umi_core.limits import (
    ENTITY_NAME_BYTES_MAX,
    EXTRACT_CONTENT_BYTES_MAX,
    EXTRACT_ENTITY_COUNT_MAX,
    EXTRACT_LINK_COUNT_MAX,
    EXTRACT_SENTENCE_COUNT_MAX,
    LINK_TYPE_BYTES_MAX,
)
from umi_core.text import cut, norm, size, tidy, unique
from umi_core.values import ENTITY_TYPES

# Coverage: finding the sentences of a text that no statement of a reply repeats.
#
#     text: "I love green tea. I love hiking."    statement: "I love green tea."
#
# `love` is in both sentences. Only the second one has `hiking`, and the statement lacks it, so the second
# sentence is uncovered. Words are compared as trigrams, so other forms match: allergic, allergies.
#
# Law 1. A statement covers a clause by the trigrams that no other clause of the text has, in any language.
# Law 2. A clause without content words needs no cover: it says nothing worth keeping.
# Law 3. Numbers and negations must match exactly: "Ann weighs 86 kg" does not cover "Ann weighs 68 kg", nor
# does "Ann eats meat" cover "Ann does not eat meat".


# A new clause begins after a semicolon, before a word for "but", and after a blank in Thai and Lao, which
# write no full stops.
BUT: Final = "but|aber|mais|pero|però|mas|maar|ale|но"
CLAUSE_END: Final = rf"(?<=[\u0e00-\u0eff])\s+(?=[\u0e00-\u0eff])|[;；]|(?i:(?<=\s)(?:{BUT})(?=\s))"
NUMBER: Final = re.compile("[0-9]+")
SHORT_NOT: Final = re.compile("[nN]['’][tT](?![0-9A-Za-z])")  # `n't` of `don't`
RUN_CHARS: Final = 3  # letters of a trigram
SHARE: Final = 3  # two sets of trigrams match if at least a third of one is in the other

Terms = tuple[str, ...]
Traces = frozenset[str]
Exact = frozenset[str]
Clause = tuple[Terms, Exact]


@lru_cache(maxsize=256)  # a statement is compared with each part of its text
def clauses(text: str) -> tuple[tuple[Clause, str], ...]:
    """Return the content terms and exact parts of each clause with terms, and its sentence."""
    return tuple(
        ((terms, exact_parts(clause)), sentence)
        for sentence in sentences(text)
        for clause in re.split(CLAUSE_END, sentence)
        if (terms := telling(clause))
    )


def exact_parts(clause: str) -> Exact:
    """Return the parts that must match exactly: numbers without leading zeros, and "not" for a negation."""
    numbers = frozenset(it[0].lstrip("0") or "0" for it in NUMBER.finditer(clause))
    denies = SHORT_NOT.search(clause) or not DENIALS.isdisjoint(words(clause))
    return numbers | {"not"} if denies else numbers


def telling(text: str) -> Terms:
    """Return the content terms of a text in order; none if all of them are numbers and symbols."""
    meaningful = tuple(it for it in content(split_folded(text, with_single=False)) if it not in IDLE)
    return meaningful if any(classify(it[0]) in "wd" and not it.isdecimal() for it in meaningful) else ()


def traces_of(terms: Terms) -> Traces:
    """Return the trigrams of words: ` te`, `tea` and `ea ` of `tea`. A term of another class is one trace."""
    return frozenset(
        run for term in terms for run in (split_runs(f" {term} ") if classify(term[0]) == "w" else (term,))
    )


def split_runs(text: str) -> Iterator[str]:
    return (text[at : at + RUN_CHARS] for at in range(len(text) - RUN_CHARS + 1))


def find_uncovered(text: str, covering: Iterable[str]) -> tuple[str, ...]:
    """Return the sentences of a text with a clause that no text of `covering` repeats, each once."""
    stated: dict[Clause, str] = {}
    for clause, sentence in clauses(text):
        stated.setdefault(clause, sentence)
    traces = {terms: traces_of(terms) for terms, _ in stated}
    counts = Counter(chain.from_iterable(traces.values()))
    statements = {clause: traces_of(clause[0]) for each in covering for clause, _ in clauses(each)}
    with_trace: dict[str, list[Clause]] = {}  # an index: most statements share no trace with a given clause
    for statement, found in statements.items():
        for trace in found:
            with_trace.setdefault(trace, []).append(statement)

    def find_telling(some: Traces, mine: Traces) -> set[Clause]:
        """Return the statements that share a trace of `some` and have a third of their own traces in `mine`.

        `mine`: all traces of the clause.
        """
        shared = dict.fromkeys(statement for it in some for statement in with_trace.get(it, ()))
        # Without this limit, many unrelated statements together would cover any clause, trace by trace.
        return {it for it in shared if SHARE * len(statements[it] & mine) >= len(statements[it])}

    lost = list[str]()
    for (terms, exact), sentence in stated.items():
        mine = traces[terms]
        if own := frozenset(it for it in mine if counts[it] == 1):
            known = frozenset[str]().union(*(statements[it] for it in find_telling(own, mine)))
            is_covered = SHARE * len(own & known) >= len(own)
            related = find_telling(mine, mine) if is_covered and exact else set()
        else:  # "Ann likes Bob. Bob likes Ann.": only the order of the words tells the two clauses apart
            related = {it for it in statements if is_within(terms, it[0])}
            is_covered = bool(related)
        is_exact = all(any(part in stated_exactly for _, stated_exactly in related) for part in exact)
        lost += [] if is_covered and is_exact else [sentence]
    return tuple(unique(lost).values())


CONFIDENCE_PPM: Final = 500_000  # of an element that states no confidence
SELF_CONFIDENCE_MIN_PPM: Final = 800_000
TEXT_SHOWN_BYTES_MAX: Final = 200
MALFORMED: Final = ("not_object", "no_name", "too_many")  # an entity dropped for one of these degrades

Drop = Literal["not_object", "no_name", "pronoun", "low_confidence", "too_many"]
LinkDrop = Literal["unknown_endpoint", "self_link", "told", "too_many"]
ElementRepair = Literal[
    "name control", "name cut", "type unknown", "type self unsure", "content missing", "content cut",
    "confidence missing", "merged", "link type missing", "link confidence missing",
]  # fmt: skip
SHAPES: Final = (
    *get_args(Drop),
    *(f"link {reason}" for reason in get_args(LinkDrop)),
    *get_args(ElementRepair),
)
"""All reasons to drop an element and all repairs, in the order in which they are checked."""

Dropped = tuple[tuple[int, str], ...]


class Mention(Data):
    """One statement about an entity and `others`. If not `named`, it is a note, about no entity."""

    type: EntityType
    name: EntityName
    content: Content
    confidence_ppm: Importance
    named: bool = True
    memory_type: MemoryType = "knowledge"
    others: Texts = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all entities that the statement is about."""
        return (self.name, *self.others) if self.named else ()


class Extraction(Data):
    """The statements of a reply, and why entities were `dropped`, by their index in the reply from 0.

    `uncovered_count`: sentences of the text that the reply does not cover. `repairs`: named as
    in SHAPES; not compared, so readings that differ only in repairs are equal. `told_count`: how many of
    `entities` are statements of the reply; the notes of uncovered sentences follow them.
    """

    entities: tuple[Mention, ...]
    dropped: Dropped
    partial: bool
    uncovered_count: int = 0
    repairs: tuple[str, ...] = ()
    told_count: int = 0
    uncompared = ("repairs", "told_count")

    @property
    def shapes(self) -> tuple[str, ...]:
        """All drop reasons and repairs of this reply, named as in SHAPES."""
        return (*(reason for _, reason in self.dropped), *self.repairs)


STATED: Final = ("name", "content")
PLACEHOLDERS: Final = ("TEXT", "NAME")  # placeholders of the prompts' reply forms, which a model may copy


def parse_extraction(
    reply: str, text: str, config: Config, day: int | None = None
) -> Extraction | UnusableReply:
    """Read the statements of a reply, and add a note for each sentence of the text that they do not cover.

    `day`: the day from which words such as `yesterday` count, in days since 1970.
    """
    payload = find_json(reply, ObjectWith("entities"))
    if isinstance(payload, UnusableReply):
        # The reply may have the list alone, or under another key, or its elements outside of any list.
        listed = find_rows(reply, ArrayWith(STATED), STATED)
        if isinstance(listed, UnusableReply):
            return payload
        payload = {"entities": listed}
    floor_ppm = config.extract_confidence_min_ppm
    found, dropped = sift(
        list_under(payload, "entities"),
        EXTRACT_ENTITY_COUNT_MAX,
        lambda element: read_mention(element, text, floor_ppm),
    )
    # A content of several sentences becomes several statements; equal statements are merged below.
    stated = [add_date(it, day) for mention, _ in found for it in divide(mention)]
    merged = merge(stated)
    # After merging, because a link is dropped if one merged statement already has both of its names.
    links, link_repairs = read_links(field(payload, "relations"), merged)
    mentions = merge((*stated, *links)) if links else merged
    partial = any(reason in MALFORMED for _, reason in dropped)
    again: list[ElementRepair] = ["merged"] * (len(stated) - len(merged))
    repairs = (*(repair for _, repairs in found for repair in repairs), *again, *link_repairs)
    # Last, because a relation may also cover a sentence.
    notes, count = rest_of(text, mentions)
    return Extraction((*mentions, *notes), dropped, partial, count, repairs, len(mentions))


def add_date(mention: Mention, day: int | None) -> Mention:
    """Return the mention with its dates corrected: a model may omit a date or compute a wrong one."""
    if day is None:
        return mention
    return structs.replace(mention, content=add_dates(mention.content, day, EXTRACT_CONTENT_BYTES_MAX))


def rest_of(text: str, mentions: tuple[Mention, ...]) -> tuple[tuple[Mention, ...], int]:
    """Return notes of the sentences that no mention covers, and the number of these sentences."""
    if not mentions:
        return notes_of_text(text), 0
    lost = passed_over(text, mentions)
    return notes_of(lost), len(lost)


def notes_of(sentences: Sequence[str]) -> tuple[Mention, ...]:
    """Return a note of each sentence; sentences beyond the limit share notes, one sentence per line."""
    last = EXTRACT_ENTITY_COUNT_MAX - 1
    notes = list(sentences[:last])
    for place, sentence in enumerate(sentences[last:]):
        # A new note once one is full: a search hardly finds a very long note, and would show all of it.
        if place and size(notes[-1]) + size(sentence) < EXTRACT_CONTENT_BYTES_MAX:
            notes[-1] += f"\n{sentence}"
        else:
            notes.append(sentence)
    return tuple(fallback_note(note) for note in notes)


def passed_over(text: str, mentions: Iterable[Mention]) -> tuple[str, ...]:
    return find_uncovered(text, (stated for it in mentions for stated in (*it.names, it.content)))


def notes_of_text(text: str) -> tuple[Mention, ...]:
    """Return a text as notes, one per sentence; a text of very many sentences becomes one note."""
    return merge(divide(fallback_note(text)))


def fallback_note(text: str) -> Mention:
    """Return a note with this text unchanged, under a name made from the text."""
    return Mention("note", auto_name(text), text, CONFIDENCE_PPM, named=False)


ElementRepairs = tuple[ElementRepair, ...]
Read = TypeVar("Read", tuple[Mention, ElementRepairs], tuple[tuple[Mention, Mention], ElementRepairs])


def sift(elements: Json, count_max: int, read: Callable[[Json], Read | str]) -> tuple[list[Read], Dropped]:
    """Return the results of `read` for the elements of a list, and the dropped indexes with reasons."""
    found: list[Read] = []
    dropped: list[tuple[int, str]] = []
    for index, element in enumerate(elements if isinstance(elements, list) else ()):
        # Dropped elements count towards the limit, too, so a reply of rubbish takes bounded time.
        result = read(element) if index < count_max else "too_many"
        if isinstance(result, str):
            dropped.append((index, result))
        else:
            found.append(result)
    return found, tuple(dropped)


# Entities.


def read_mention(element: Json, text: str, floor_ppm: int) -> tuple[Mention, ElementRepairs] | Drop:
    if not isinstance(element, dict):
        return "not_object"
    name = read_name(field(element, "name"))
    if not name or name in PLACEHOLDERS:
        return read_note(element) or "no_name"
    if is_pronoun(name):
        return "pronoun"
    confidence = read_confidence(element)
    if confidence < floor_ppm:
        return "low_confidence"
    content = read_content(field(element, "content"), text)
    mention = Mention(read_type(field(element, "type"), confidence), name, content, confidence)
    return mention, tuple(list_repairs(element, mention))


def read_note(element: dict[str, Json]) -> tuple[Mention, ElementRepairs] | None:
    """Return the note of an element without a name; None if it is not of type note or has no content."""
    content, kind = field(element, "content"), named_type(field(element, "type"))
    if kind != "note" or not isinstance(content, str) or not content.strip():
        return None
    note = structs.replace(
        fallback_note(cut(content, EXTRACT_CONTENT_BYTES_MAX)), confidence_ppm=read_confidence(element)
    )
    return note, tuple(list_content_repairs(element, note))


def list_repairs(element: dict[str, Json], mention: Mention) -> Iterator[ElementRepair]:
    """Yield the repairs that turned this element into this mention."""
    name, kind = field(element, "name"), field(element, "type")
    assert isinstance(name, str)
    if clean_name(name) != tidy(name):
        yield "name control"
    if clean_name(name) != mention.name:
        yield "name cut"
    if mention.type == "note" and named_type(kind) != "note":
        yield "type self unsure" if named_type(kind) == "self" else "type unknown"
    yield from list_content_repairs(element, mention)


def list_content_repairs(element: dict[str, Json], mention: Mention) -> Iterator[ElementRepair]:
    content = join_texts(field(element, "content"))
    if content != mention.content:
        yield "content cut" if isinstance(content, str) and content.strip() else "content missing"
    if confidence_ppm(field(element, "confidence")) is None:
        yield "confidence missing"


def read_name(value: Json) -> str:
    return cut(clean_name(value), ENTITY_NAME_BYTES_MAX).rstrip() if isinstance(value, str) else ""


def is_pronoun(name: str) -> bool:
    """Check whether a name has words and all of them are pronouns."""
    return bool(words(name)) and all(word in NAME_PRONOUNS for word in words(name))


def read_confidence(element: dict[str, Json]) -> int:
    confidence = confidence_ppm(field(element, "confidence"))
    return CONFIDENCE_PPM if confidence is None else confidence


def named_type(value: Json) -> str:
    key = norm(value) if isinstance(value, str) else ""
    return TYPE_ALIASES.get(key, key)


def read_type(value: Json, confidence: int) -> str:
    entity_type = named_type(value)
    if entity_type == "self" and confidence < SELF_CONFIDENCE_MIN_PPM:
        return "note"
    return entity_type if entity_type in ENTITY_TYPES else "note"


def read_content(value: Json, text: str) -> str:
    content = join_texts(value)
    if isinstance(content, str) and content.strip():
        return cut(restore_characters(content, text), EXTRACT_CONTENT_BYTES_MAX)
    return cut(text, TEXT_SHOWN_BYTES_MAX)


def join_texts(value: Json) -> Json:
    """Return the texts of a list joined by LF, or the content of an object; any other value unchanged."""
    value = field(value, "content") if isinstance(value, dict) else value
    is_list = isinstance(value, list) and value and all(isinstance(it, str) for it in value)
    return "\n".join(map(str, value)) if isinstance(value, list) and is_list else value


def merge(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """Return each statement once, in the order of first occurrence, with all names that it is about.

    "Ann works at Acme", listed under Ann and under Acme, is one statement about both; so is "works at Acme".
    "likes tea", listed under Ann and under Bob, is two statements, because the content names neither.
    """
    same: dict[str, list[Mention]] = {}
    for it in mentions:
        same.setdefault(norm(it.content), []).append(it)
    return tuple(one for group in same.values() for one in statements_of(group))


def statements_of(group: Sequence[Mention]) -> Iterator[Mention]:
    """Yield one statement per name that the content of this group does not contain, or one if it has all.

    A statement has the highest confidence of its mentions, and the type and name of the mention whose type
    comes first in ENTITY_TYPES.
    """
    by_name: dict[str, list[Mention]] = {}
    for it in sorted((it for it in group if it.named), key=lambda it: ENTITY_TYPES.index(it.type)):
        by_name.setdefault(norm(it.name), []).append(it)
    # The contents of a group differ only in case and blanks, so they all have the words of the first.
    content_words = set(words(group[0].content))
    inside = {key: its for key, its in by_name.items() if is_mentioned(its[0].name, content_words)}
    for key in [key for key in by_name if key not in inside] or [next(iter(by_name), "")]:
        statements = [*by_name.get(key, ()), *(it for other in inside.values() for it in other)] or group
        others = tuple(its[0].name for other, its in inside.items() if other != key)
        sure_ppm = max(it.confidence_ppm for it in statements)
        yield structs.replace(statements[0], confidence_ppm=sure_ppm, others=others)


def is_mentioned(name: str, spoken: set[str]) -> bool:
    """Check whether a name has words and all of them are among the words of a statement."""
    parts = words(name)
    return bool(parts) and spoken.issuperset(parts)


def divide(mention: Mention) -> tuple[Mention, ...]:
    """Return one mention per sentence of a content, because a model may put several statements into one.

    A content of more than EXTRACT_SENTENCE_COUNT_MAX sentences, such as a list or a poem, is not divided.
    """
    found = sentences(mention.content)
    if len(found) > EXTRACT_SENTENCE_COUNT_MAX:
        return (mention,)
    return tuple(
        structs.replace(mention, name=mention.name if mention.named else auto_name(it), content=it)
        for it in found
    )


# Links: the relations of a reply, each read as a statement about both of its names.
#
#     {"source": "Ann", "target": "Acme", "type": "works_at"}    "Ann works at Acme"


def read_links(elements: Json, mentions: tuple[Mention, ...]) -> tuple[tuple[Mention, ...], list[str]]:
    """Return two mentions for each link, one per end, unless a statement already has both names."""
    names = {
        norm(name): (name, it.type) for it in reversed(mentions) for name in it.names
    }  # the first spelling
    stated_words = [{word for text in (*it.names, it.content) for word in words(text)} for it in mentions]
    found, dropped = sift(elements, EXTRACT_LINK_COUNT_MAX, lambda it: read_link(it, names, stated_words))
    shapes = [*(f"link {why}" for _, why in dropped), *(repair for _, repairs in found for repair in repairs)]
    return tuple(it for pair, _ in found for it in pair), shapes


def read_link(
    element: Json, names: Mapping[str, tuple[str, str]], stated_words: Iterable[set[str]]
) -> tuple[tuple[Mention, Mention], ElementRepairs] | LinkDrop:
    link = element if isinstance(element, dict) else {}
    ends = [norm(read_name(field(link, end))) for end in ("source", "target")]
    if not names.keys() >= set(ends):
        return "unknown_endpoint"
    if ends[0] == ends[1]:
        return "self_link"
    (source, source_type), (target, target_type) = (names[end] for end in ends)
    if any(each.issuperset((*words(source), *words(target))) for each in stated_words):
        return "told"
    kind, sure_ppm = read_link_type(field(link, "type")), read_confidence(link)
    has_confidence = confidence_ppm(field(link, "confidence")) is not None
    stated = f"{source} {kind or 'relates to'} {target}"
    repairs: tuple[tuple[ElementRepair, bool], ...] = (
        ("link type missing", bool(kind)), ("link confidence missing", has_confidence),
    )  # fmt: skip
    pair = Mention(source_type, source, stated, sure_ppm), Mention(target_type, target, stated, sure_ppm)
    return pair, tuple(repair for repair, is_sound in repairs if not is_sound)


def read_link_type(value: Json) -> str:
    text = clean_name(value.replace("_", " ")) if isinstance(value, str) else ""
    return cut(text, LINK_TYPE_BYTES_MAX).rstrip()


# Attribution: first-person sentences that the reply does not cover become statements about the speaker.
#
# Law 1. Without such a sentence the extraction is unchanged. Law 2. No sentence is lost: sentences beyond
# the limit become notes.


def own_words(extraction: Extraction, text: str, speaker: str) -> Extraction:
    """Return the extraction with its uncovered first-person sentences stated of the speaker, not as notes."""
    mentions = extraction.entities[: extraction.told_count]
    lost = passed_over(text, mentions)
    # Sentences beyond the limit stay in `lost`, and become notes.
    own = tuple(sentence for sentence in lost if is_in_first_person(sentence))[:EXTRACT_ENTITY_COUNT_MAX]
    if not own:
        return extraction
    name = spell_speaker(speaker, mentions)
    stated = (Mention("person", name, sentence, CONFIDENCE_PPM) for sentence in own)
    rest = tuple(sentence for sentence in lost if sentence not in own)
    entities = (*mentions, *stated, *notes_of(rest))
    return structs.replace(
        extraction, entities=entities, uncovered_count=len(lost), told_count=len(mentions) + len(own)
    )


def spell_speaker(speaker: str, mentions: tuple[Mention, ...]) -> str:
    """Return the name of the speaker as the reply spells it, or tidied if the reply does not name them."""
    names = (name for it in mentions for name in it.names if norm(name) == norm(speaker))
    return next(names, tidy(speaker))


def is_in_first_person(sentence: str) -> bool:
    return not SPEAKER_WORDS.isdisjoint(words(sentence))
