"""Rewriting: a query made to stand alone, and its variants.

Law 1. A rewrite is adopted only if it passes the gate: it keeps the query's content words and persons, adds
only words of the turns, and leaves fewer references. Law 2. Total: any reply has a verdict. Law 3. If a
rewrite is not adopted the query is searched as it was given.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal, get_args

from umi_core.data import Data
from umi_core.json_text import Json, whole
from umi_core.language.languages import written_words
from umi_core.language.persons import changes_person
from umi_core.language.pronouns import LANGUAGES, ReferenceReading, read
from umi_core.language.replies import ArrayOf, UnusableReply, find_json
from umi_core.language.tables import BEFORE_NOUN, LIGHT_WORDS, TRIGGERS
from umi_core.language.words import content, words
from umi_core.limits import PPM, QUERY_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX, VARIANT_COUNT_MAX
from umi_core.messages.results import Resolution
from umi_core.text import norm, size
from umi_core.values import Turn

# Forms: whether a word stands in a text, perhaps with another ending: `raise` in `She raised the
# rent`.
#
# Law 1. A name has one form: a word with a capital is itself alone. Law 2. Three letters always
# stay. Law 3. The table is frozen: a changed ending changes recorded runs.


STEM_CHARS_MIN: Final = 3
ENDINGS: Final = {
    "en": "ies ing ed es s e y".split(),
    "de": "en em er es e n s".split(),
    "es": "os as es o a s e".split(),
}


def stem(word: str, language: str) -> str:
    """Return the word without its endings. Equal stems are taken for forms of one word."""
    # raise, raised, raises and raising all become `rai`: no word, but the same for all four.
    endings = ENDINGS.get(language, ())
    while found := next((it for it in endings if word.endswith(it)), ""):
        if len(word) - len(found) < STEM_CHARS_MIN:
            break
        word = word.removesuffix(found)
    return word


class Forms(Data):
    """The words of a text, and the stems of those without a capital."""

    words: frozenset[str]
    stems: frozenset[str]
    language: str

    def has(self, word: str, capitals: frozenset[str]) -> bool:
        """Check whether the word occurs; in another form too, unless it is among those with a capital."""
        return word in self.words or (word not in capitals and stem(word, self.language) in self.stems)


def forms_of(some: Iterable[str], capitals: frozenset[str], language: str) -> Forms:
    every = frozenset(some)
    return Forms(every, frozenset(stem(word, language) for word in every - capitals), language)


def resolve_without_model(
    query: str, turns: tuple[Turn, ...], enabled: bool, force: bool = False
) -> Resolution | None:
    """Return the resolution if no model is needed, else None; `force` needs one even without a term."""
    terms = tuple(dict.fromkeys(read(query).terms)) if enabled else ()
    if enabled and (terms or force) and turns:
        return None
    return Resolution("disabled" if not enabled else "no_context" if terms else "clear", query, terms)


def shown_turns(turns: tuple[Turn, ...], count_max: int = TURN_COUNT_MAX) -> tuple[Turn, ...]:
    """Return the last turns that say something, newest first, each cut to its first code points."""
    cut = [Turn(turn.role, turn.text[:TURN_CHARS_MAX]) for turn in turns]
    return tuple(reversed([turn for turn in cut if turn.text.strip()][-count_max:]))


# The gate.

Refusal = Literal[
    "empty_reply", "too_long", "dropped_words", "new_reference", "foreign_word", "nothing_added",
    "changed_person", "unresolved",
]  # fmt: skip
VERDICTS: Final[tuple[str, ...]] = ("resolved", "unchanged", *get_args(Refusal))
"""What may come of a reply."""


def judge_rewrite(reply: str, query: str, turns: tuple[Turn, ...], confidence_min_ppm: int) -> Resolution:
    """Judge a reply by the query that it rewrites and the turns that the model was shown."""
    rewrite, asked = collapse_blanks(clean_line(whole(reply))), read(query)
    terms = tuple(dict.fromkeys(asked.terms))
    is_same = bool(rewrite) and rewrite == collapse_blanks(clean_line(query))
    if is_same or collapse_blanks(reply) == collapse_blanks(query):
        return Resolution("unchanged", query, terms, turn_count=len(turns))
    given = read(rewrite, asked.language)
    reason = refusal(rewrite, given, query, asked, turns)
    # Two references in the query and one in the rewrite: half of them are resolved.
    gone = len(asked.terms) - len(given.terms)
    confidence_ppm = PPM * max(0, gone) // len(asked.terms) if asked.terms else PPM
    if not reason and confidence_ppm < confidence_min_ppm:
        reason = "unresolved"
    if reason:
        return Resolution("rejected", query, terms, reason, turn_count=len(turns))
    return Resolution("resolved", rewrite, terms, "", confidence_ppm, len(turns))


def refusal(
    rewrite: str, given: ReferenceReading, query: str, asked: ReferenceReading, turns: tuple[Turn, ...]
) -> Refusal | None:
    """Return the first reason against a rewrite, or None."""
    added = heavy(given.others, asked.terms)
    # The words of a reference are in the query, too, though they are no content: a rewrite may keep them.
    of_terms = tuple(word for term in asked.terms for word in words(term))
    whole_query = forms_of((*asked.others, *of_terms), asked.capitals, asked.language)
    told = forms_of(content(whole_query.words), asked.capitals, asked.language)
    reasons: tuple[tuple[Refusal, bool], ...] = (
        ("empty_reply", not rewrite),
        ("too_long", size(rewrite) > QUERY_BYTES_MAX),
        ("dropped_words", has_dropped(rewrite, given, asked)),
        # Counted: "he" twice in the rewrite and once in the query is a reference more.
        ("new_reference", bool(Counter(given.terms) - Counter(asked.terms))),
        ("foreign_word", has_foreign(given, added, whole_query, turns)),
        ("nothing_added", all(told.has(word, given.capitals) for word in added)),
        ("changed_person", changes_person(rewrite, query, turns)),
    )
    return next((reason for reason, holds in reasons if holds), None)


def has_dropped(rewrite: str, given: ReferenceReading, asked: ReferenceReading) -> bool:
    """Check whether a name or a content word is missing, except the noun of a demonstrative that is gone."""
    gone = (Counter(asked.terms) - Counter(given.terms)).keys()
    # "How is this initiative going?" may become "How is Atlas going?": `initiative` left with its `this`.
    free = frozenset(asked.pointed) if not gone.isdisjoint(BEFORE_NOUN) else frozenset[str]()
    kept = (*heavy(asked.others, asked.terms), *asked.names)
    present = forms_of(words(rewrite), given.capitals, asked.language)
    return not all(word in free or present.has(word, asked.capitals) for word in kept)


def has_foreign(
    given: ReferenceReading, added: tuple[str, ...], whole_query: Forms, turns: tuple[Turn, ...]
) -> bool:
    """Check whether a content word stands neither in the query nor in the turns."""
    written = [word for turn in turns for word in written_words(turn.text)]
    capitals = frozenset(word.text for word in written if word.is_capital)
    said = forms_of((word.text for word in written), capitals, given.language)
    return not all(any(it.has(word, given.capitals) for it in (whole_query, said)) for word in added)


def heavy(some_words: Iterable[str], terms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the content words; those of a language that some term belongs to lack its light words too."""
    languages = dict.fromkeys(LANGUAGES[term] for term in terms)
    return tuple(
        word
        for word in content(some_words)
        if not any(word in LIGHT_WORDS[language] for language in languages)
    )


# Cleaning.

FENCE: Final = re.compile(r"```[^\n`]*\n(.*?)\n?```", re.DOTALL)
LABEL: Final = re.compile(r"(?:(?:(?:(?:expanded|rewritten|resolved)\s+)?query|name)\s*:\s*)+", re.IGNORECASE)
QUOTES: Final = (('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("`", "`"))


def clean_line(text: str) -> str:
    """Return the one line that a model was asked for, without fence, label and quotes around it."""
    before = None
    # Several layers, in any order: a fenced `Query: "..."` loses the fence, the label and the quotes.
    while text != before:
        before = text
        text = strip_quotes(strip_label(first_line(strip_fence(text.strip()))))
    return text


def strip_fence(text: str) -> str:
    match = FENCE.fullmatch(text)
    return match[1] if match else text


def first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def strip_label(text: str) -> str:
    match = LABEL.match(text)
    return text[match.end() :] if match else text


def strip_quotes(text: str) -> str:
    for left, right in QUOTES:
        inner = text[1:-1]
        if len(text) > 1 and text[0] == left and text[-1] == right and not {left, right} & set(inner):
            return inner
    return text


def collapse_blanks(text: str) -> str:
    return " ".join(text.split())


# Variants.


def is_deep(query: str, deep: bool | None) -> bool:
    """Check whether variants are wanted: as the caller says, else by a trigger among the words."""
    return any(word in TRIGGERS for word in words(query)) if deep is None else deep


VariantDrop = Literal["not_text", "blank", "too_long", "again", "too_many"]
SHAPES: Final[tuple[str, ...]] = get_args(VariantDrop)


class Variants(Data):
    """The query and what a model adds, each once; why other elements were dropped."""

    texts: tuple[str, ...]
    dropped: tuple[VariantDrop, ...] = ()
    beside = ("dropped",)


def parse_variants(reply: str, query: str) -> Variants | UnusableReply:
    """Return the query and what the model adds, each once."""
    payload = find_json(reply, ArrayOf(str))
    if isinstance(payload, UnusableReply):
        return payload
    # The query is the first variant, so a model cannot replace it, only add to it.
    variants = {norm(query): query}
    dropped: list[VariantDrop] = []
    for element in payload:
        text = collapse_blanks(element) if isinstance(element, str) else ""
        reason = variant_drop(element, text, variants)
        if reason:
            dropped.append(reason)
        else:
            variants[norm(text)] = text
    return Variants(tuple(variants.values()), tuple(dropped))


def variant_drop(element: Json, text: str, known: Mapping[str, str]) -> VariantDrop | None:
    """Return the first reason against an element; `text` is what stands in it."""
    reasons: tuple[tuple[VariantDrop, bool], ...] = (
        ("not_text", not isinstance(element, str)),
        ("blank", not text),
        ("too_long", size(text) > QUERY_BYTES_MAX),
        ("again", norm(text) in known),
        ("too_many", len(known) == VARIANT_COUNT_MAX),
    )
    return next((reason for reason, holds in reasons if holds), None)
