"""Extraction: the reply to `extract`, read as statements about the names that it lists.

Law 1. Total: every element is kept, merged into an equal one, or dropped with a reason.
Law 2. A reply that names nothing still keeps the text, as notes; one that passes over sentences keeps those,
as notes behind the entities. Law 3. A note is never filtered.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

# Coverage: which sentences of a text are told by nothing that was read in a reply.
#
#     I love green tea. I love hiking.     told: "I love green tea."
#
# `love` is in both sentences; `hiking` is what the second one has of its own, and nothing tells it. Words are
# compared by runs of three letters, so that another form of a word tells most of it: allergic, allergies.
#
# Law 1. What is told in the words of other sentences covers no sentence, in any language.
# Law 2. A sentence without a telling term says nothing that is worth keeping.
# Law 3. Similar is not enough for numbers and denials: "Ann weighs 86 kg" does not cover "Ann weighs 68 kg",
# nor does "Ann eats meat" cover "Ann does not eat meat".
# Law 4. Pure: texts in, texts out.


# Thai and Lao write a blank, and no stop; behind a semicolon or a word for "but" another claim begins.
BUT: Final = "but|aber|mais|pero|però|mas|maar|ale|но"
CLAUSE_END: Final = rf"(?<=[\u0e00-\u0eff])\s+(?=[\u0e00-\u0eff])|[;；]|(?i:(?<=\s)(?:{BUT})(?=\s))"
NUMBER: Final = re.compile("[0-9]+")
SHORT_NOT: Final = re.compile("[nN]['’][tT](?![0-9A-Za-z])")  # the end of don't
RUN_CHARS: Final = 3
SHARE: Final = 3  # a third of one thing in another one is enough

Terms = tuple[str, ...]
Traces = frozenset[str]
Exact = frozenset[str]
Clause = tuple[Terms, Exact]


def clauses(text: str) -> Iterator[tuple[Clause, str]]:
    """Yield the telling terms and exact parts of each clause of a text that has any, with its sentence."""
    for sentence in sentences(text):
        for clause in re.split(CLAUSE_END, sentence):
            if terms := telling(clause):
                yield (terms, exact_parts(clause)), sentence


def exact_parts(clause: str) -> Exact:
    """Return the numbers of a clause, without leading zeros, and "not" if it denies something."""
    numbers = frozenset(it[0].lstrip("0") or "0" for it in NUMBER.finditer(clause))
    denies = SHORT_NOT.search(clause) or not DENIALS.isdisjoint(words(clause))
    return numbers | {"not"} if denies else numbers


def telling(text: str) -> Terms:
    """Return the terms that say something, in order; none if there are only numbers and symbols."""
    meaningful = tuple(it for it in content(split_folded(text, with_single=False)) if it not in IDLE)
    return meaningful if any(classify(it[0]) in "wd" and not it.isdecimal() for it in meaningful) else ()


def traces_of(terms: Terms) -> Traces:
    """Return what forms of a word share: `tea` has ` te`, `tea` and `ea `; any other term is one trace."""
    return frozenset(
        run for term in terms for run in (split_runs(f" {term} ") if classify(term[0]) == "w" else (term,))
    )


def split_runs(text: str) -> Iterator[str]:
    return (text[at : at + RUN_CHARS] for at in range(len(text) - RUN_CHARS + 1))


def find_uncovered(text: str, covering: Iterable[str]) -> tuple[str, ...]:
    """Return the sentences of a text with a clause that is not told, each once."""
    stated: dict[Clause, str] = {}
    for clause, sentence in clauses(text):
        stated.setdefault(clause, sentence)
    traces = {terms: traces_of(terms) for terms, _ in stated}
    counts = Counter(chain.from_iterable(traces.values()))
    statements = {clause: traces_of(clause[0]) for each in covering for clause, _ in clauses(each)}
    with_trace: dict[str, list[Clause]] = {}  # most statements share no trace with a clause
    for statement, found in statements.items():
        for trace in found:
            with_trace.setdefault(trace, []).append(statement)

    def find_telling(some: Traces, mine: Traces) -> set[Clause]:
        """Return the statements that tell of the clause with the traces `mine`, and share one of `some`."""
        shared = dict.fromkeys(statement for it in some for statement in with_trace.get(it, ()))
        # What tells of something else covers nothing, though each of many statements shares a trace.
        return {it for it in shared if SHARE * len(statements[it] & mine) >= len(statements[it])}

    lost = list[str]()
    for (terms, exact), sentence in stated.items():
        mine = traces[terms]
        if own := frozenset(it for it in mine if counts[it] == 1):
            known = frozenset[str]().union(*(statements[it] for it in find_telling(own, mine)))
            is_told = SHARE * len(own & known) >= len(own)
            near = find_telling(mine, mine) if is_told and exact else set()
        else:  # "Ann likes Bob. Bob likes Ann.": the same words, so their order says which of them is told
            near = {it for it in statements if is_within(terms, it[0])}
            is_told = bool(near)
        is_exact = all(any(part in told for _, told in near) for part in exact)
        lost += [] if is_told and is_exact else [sentence]
    return tuple(unique(lost).values())


CONFIDENCE_PPM: Final = 500_000  # of what comes without one
SELF_CONFIDENCE_MIN_PPM: Final = 800_000
TEXT_SHOWN_BYTES_MAX: Final = 200
MALFORMED: Final = ("not_object", "no_name", "too_many")  # as reasons to drop an entity these degrade

Drop = Literal["not_object", "no_name", "pronoun", "low_confidence", "too_many"]
LinkDrop = Literal["unknown_endpoint", "self_link", "told", "too_many"]
Mend = Literal[
    "name control", "name cut", "type unknown", "type self unsure", "content missing", "content cut",
    "confidence missing", "merged", "link type missing", "link confidence missing",
]  # fmt: skip
SHAPES: Final = (*get_args(Drop), *(f"link {reason}" for reason in get_args(LinkDrop)), *get_args(Mend))
"""All that may be dropped or mended, in the order in which it is looked at."""

Dropped = tuple[tuple[int, str], ...]


class Mention(Data):
    """One statement about a name and `others`. Without `named` it is a note, and is about no entity."""

    type: EntityType
    name: EntityName
    content: Content
    confidence_ppm: Importance
    named: bool = True
    memory_type: MemoryType = "knowledge"
    others: Texts = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that it is about."""
        return (self.name, *self.others) if self.named else ()


class Extraction(Data):
    """The statements of a reply; `dropped` names entities by their number in it, from 0, with the reason.

    `uncovered_count`: sentences that the reply passes over; each is a note. `mended`: names, of SHAPES, of
    what had to be put right; equal readings are equal, whatever it took. `told_count`: how many of `entities`
    the reply states; those behind them are notes of what it passes over.
    """

    entities: tuple[Mention, ...]
    dropped: Dropped
    partial: bool
    uncovered_count: int = 0
    mended: tuple[str, ...] = ()
    told_count: int = 0
    uncompared = ("mended", "told_count")

    @property
    def shapes(self) -> tuple[str, ...]:
        """Names, of SHAPES, of all that was not kept as it was."""
        return (*(reason for _, reason in self.dropped), *self.mended)


STATED: Final = ("name", "content")
PLACEHOLDERS: Final = ("TEXT", "NAME")  # what the form in a prompt has in place of a name


def parse_extraction(
    reply: str, text: str, config: Config, day: int | None = None
) -> Extraction | UnusableReply:
    """Read the statements of a reply, and notes of what it passes over, which may be all.

    `day`: the one from which words such as `yesterday` count in the text, since 1970.
    """
    payload = find_json(reply, ObjectWith("entities"))
    if isinstance(payload, UnusableReply):
        # The list alone, or under another name, or its elements without it.
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
    # A content of several sentences is several statements; equal ones become one below.
    stated = [add_date(it, day) for mention, _ in found for it in divide(mention)]
    merged = merge(stated)
    # After merging: a link is left out if one statement, as it is stored, tells of both ends already.
    links, link_mends = read_links(field(payload, "relations"), merged)
    mentions = merge((*stated, *links)) if links else merged
    partial = any(reason in MALFORMED for _, reason in dropped)
    again: list[Mend] = ["merged"] * (len(stated) - len(merged))
    mended = (*(mend for _, mends in found for mend in mends), *again, *link_mends)
    # Last, so that a sentence counts as passed over only if neither a statement nor a relation tells it.
    notes, count = rest_of(text, mentions)
    return Extraction((*mentions, *notes), dropped, partial, count, mended, len(mentions))


def add_date(mention: Mention, day: int | None) -> Mention:
    """Return the mention with its dates put right: a model may leave one out, or count wrong."""
    if day is None:
        return mention
    return structs.replace(mention, content=add_dates(mention.content, day, EXTRACT_CONTENT_BYTES_MAX))


def rest_of(text: str, mentions: tuple[Mention, ...]) -> tuple[tuple[Mention, ...], int]:
    """Return a note of each sentence that no mention tells, and the number of these sentences."""
    if not mentions:
        return notes_of_text(text), 0
    lost = passed_over(text, mentions)
    return notes_of(lost), len(lost)


def notes_of(sentences: Sequence[str]) -> tuple[Mention, ...]:
    """Return a note of each sentence; of those beyond the limit notes of as many as one content may have, a
    sentence in each line."""
    last = EXTRACT_ENTITY_COUNT_MAX - 1
    notes = list(sentences[:last])
    for place, sentence in enumerate(sentences[last:]):
        # Not all in one: of a note as long as a book a search finds little, and shows everything.
        if place and size(notes[-1]) + size(sentence) < EXTRACT_CONTENT_BYTES_MAX:
            notes[-1] += f"\n{sentence}"
        else:
            notes.append(sentence)
    return tuple(fallback_note(note) for note in notes)


def passed_over(text: str, mentions: Iterable[Mention]) -> tuple[str, ...]:
    return find_uncovered(text, (stated for it in mentions for stated in (*it.names, it.content)))


def notes_of_text(text: str) -> tuple[Mention, ...]:
    """Return all of a text as notes, a sentence each; a long one is one note."""
    return merge(divide(fallback_note(text)))


def fallback_note(text: str) -> Mention:
    """Return a text as it stands, as a note that has no name of its own."""
    return Mention("note", auto_name(text), text, CONFIDENCE_PPM, named=False)


Mends = tuple[Mend, ...]
Read = TypeVar("Read", tuple[Mention, Mends], tuple[tuple[Mention, Mention], Mends])


def sift(elements: Json, count_max: int, read: Callable[[Json], Read | str]) -> tuple[list[Read], Dropped]:
    """Return the results of `read` for the elements of a list, and why it dropped the others, by index."""
    found: list[Read] = []
    dropped: list[tuple[int, str]] = []
    for index, element in enumerate(elements if isinstance(elements, list) else ()):
        # By position: elements that are dropped count, too, so a reply of rubbish is not read without end.
        result = read(element) if index < count_max else "too_many"
        if isinstance(result, str):
            dropped.append((index, result))
        else:
            found.append(result)
    return found, tuple(dropped)


# Entities.


def read_mention(element: Json, text: str, floor_ppm: int) -> tuple[Mention, Mends] | Drop:
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
    return mention, tuple(mends_of(element, mention))


def read_note(element: dict[str, Json]) -> tuple[Mention, Mends] | None:
    """Return what an element without a name states, if its type says that it is a note."""
    content, kind = field(element, "content"), named_type(field(element, "type"))
    if kind != "note" or not isinstance(content, str) or not content.strip():
        return None
    note = structs.replace(
        fallback_note(cut(content, EXTRACT_CONTENT_BYTES_MAX)), confidence_ppm=read_confidence(element)
    )
    return note, tuple(mends_of_content(element, note))


def mends_of(element: dict[str, Json], mention: Mention) -> Iterator[Mend]:
    """Yield the differences between the mention and its element."""
    name, kind = field(element, "name"), field(element, "type")
    assert isinstance(name, str)
    if clean_name(name) != tidy(name):
        yield "name control"
    if clean_name(name) != mention.name:
        yield "name cut"
    if mention.type == "note" and named_type(kind) != "note":
        yield "type self unsure" if named_type(kind) == "self" else "type unknown"
    yield from mends_of_content(element, mention)


def mends_of_content(element: dict[str, Json], mention: Mention) -> Iterator[Mend]:
    content = join_texts(field(element, "content"))
    if content != mention.content:
        yield "content cut" if isinstance(content, str) and content.strip() else "content missing"
    if confidence_ppm(field(element, "confidence")) is None:
        yield "confidence missing"


def read_name(value: Json) -> str:
    return cut(clean_name(value), ENTITY_NAME_BYTES_MAX).rstrip() if isinstance(value, str) else ""


def is_pronoun(name: str) -> bool:
    """Check whether a name consists of pronouns; one without any word does not."""
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
    """Return the texts of a list, a line for each, or the text of a row; any other value as it is."""
    value = field(value, "content") if isinstance(value, dict) else value
    is_list = isinstance(value, list) and value and all(isinstance(it, str) for it in value)
    return "\n".join(map(str, value)) if isinstance(value, list) and is_list else value


def merge(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """Return each statement once, in order of the first, with all names that it is about.

    "Ann works at Acme", told of Ann and of Acme, is one statement about both; so is "works at Acme". "likes
    tea", told of Ann and of Bob, is two, because the content does not say of whom.
    """
    same: dict[str, list[Mention]] = {}
    for it in mentions:
        same.setdefault(norm(it.content), []).append(it)
    return tuple(one for group in same.values() for one in statements_of(group))


def statements_of(group: Sequence[Mention]) -> Iterator[Mention]:
    """Yield what equal contents state: a statement for each name that the content leaves out, or else one.

    It has the type and the name that come first in ENTITY_TYPES, and the highest confidence.
    """
    by_name: dict[str, list[Mention]] = {}
    for it in sorted((it for it in group if it.named), key=lambda it: ENTITY_TYPES.index(it.type)):
        by_name.setdefault(norm(it.name), []).append(it)
    # The contents of a group are equal but for case and blanks, so the words of the first are those of all.
    content_words = set(words(group[0].content))
    inside = {key: its for key, its in by_name.items() if is_said(its[0].name, content_words)}
    for key in [key for key in by_name if key not in inside] or [next(iter(by_name), "")]:
        statements = [*by_name.get(key, ()), *(it for other in inside.values() for it in other)] or group
        others = tuple(its[0].name for other, its in inside.items() if other != key)
        sure_ppm = max(it.confidence_ppm for it in statements)
        yield structs.replace(statements[0], confidence_ppm=sure_ppm, others=others)


def is_said(name: str, spoken: set[str]) -> bool:
    """Return whether a statement of these words has all words of the name, of which there are some."""
    parts = words(name)
    return bool(parts) and spoken.issuperset(parts)


def divide(mention: Mention) -> tuple[Mention, ...]:
    """Return one mention for each sentence of a content: a model may write several statements into one.

    A content of many sentences is one text, say a list or a poem, and stays together.
    """
    found = sentences(mention.content)
    if len(found) > EXTRACT_SENTENCE_COUNT_MAX:
        return (mention,)
    return tuple(
        structs.replace(mention, name=mention.name if mention.named else auto_name(it), content=it)
        for it in found
    )


# Links: what a reply says of two names beside the list, as a statement about both.
#
#     {"source": "Ann", "target": "Acme", "type": "works_at"}    "Ann works at Acme"


def read_links(elements: Json, mentions: tuple[Mention, ...]) -> tuple[tuple[Mention, ...], list[str]]:
    """Return what links state, told of both ends, where no statement has both names in it already."""
    names = {
        norm(name): (name, it.type) for it in reversed(mentions) for name in it.names
    }  # the first spelling
    stated_words = [{word for text in (*it.names, it.content) for word in words(text)} for it in mentions]
    found, dropped = sift(elements, EXTRACT_LINK_COUNT_MAX, lambda it: read_link(it, names, stated_words))
    shapes = [*(f"link {why}" for _, why in dropped), *(mend for _, mends in found for mend in mends)]
    return tuple(it for pair, _ in found for it in pair), shapes


def read_link(
    element: Json, names: Mapping[str, tuple[str, str]], stated_words: Iterable[set[str]]
) -> tuple[tuple[Mention, Mention], Mends] | LinkDrop:
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
    mends: tuple[tuple[Mend, bool], ...] = (
        ("link type missing", bool(kind)), ("link confidence missing", has_confidence),
    )  # fmt: skip
    pair = Mention(source_type, source, stated, sure_ppm), Mention(target_type, target, stated, sure_ppm)
    return pair, tuple(mend for mend, is_sound in mends if not is_sound)


def read_link_type(value: Json) -> str:
    text = clean_name(value.replace("_", " ")) if isinstance(value, str) else ""
    return cut(text, LINK_TYPE_BYTES_MAX).rstrip()


# Attribution: what a speaker says as I and me belongs to their name, if the reply has passed over
# it.
#
# Law 1. Without such a sentence an extraction stays as it is. Law 2. No sentence is lost: those
# beyond the limit are notes.


def own_words(extraction: Extraction, text: str, speaker: str) -> Extraction:
    """Return the extraction with first-person sentences that it passes over, under the speaker's name."""
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
    """Return the name of the speaker as the reply spells it."""
    names = (name for it in mentions for name in it.names if norm(name) == norm(speaker))
    return next(names, tidy(speaker))


def is_in_first_person(sentence: str) -> bool:
    return not SPEAKER_WORDS.isdisjoint(words(sentence))
