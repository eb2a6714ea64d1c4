"""Rewriting: a query made to stand alone, and its variants.

Law 1. A rewrite is adopted only if it passes the gate: it keeps the query's content words and persons, adds
only words of the turns, and leaves fewer references. Law 2. Total: any reply has a verdict. Law 3. If a
rewrite is not adopted the query is searched as it was given.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal, get_args

import attrs

from umi_core.data import Data
from umi_core.json_text import Json, whole
from umi_core.language.antecedents import GENDERS, Talk
from umi_core.language.languages import written_words
from umi_core.language.persons import changes_person
from umi_core.language.pronouns import LANGUAGES, ReferenceReading, phrase, read
from umi_core.language.replies import ArrayOf, UnusableReply, find_json
from umi_core.language.tables import (
    BEFORE_NOUN,
    GENERAL,
    INVERTED,
    LIGHT_WORDS,
    MARKS,
    PERSONAL_VERBS,
    POSSESSIVE,
    SAME,
    SUBJECTS,
    STOP_WORDS,
    TRIGGERS,
    UNIQUE,
)
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
    "fr": "es e s x".split(),
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


@attrs.frozen
class Forms(Data):
    """The words of a text, and the stems of those without a capital."""

    words: frozenset[str]
    stems: frozenset[str]
    language: str

    def has(self, word: str, capitals: frozenset[str]) -> bool:
        """Check whether the word occurs; in another form too, unless it is among those with a capital."""
        # Nouns of German have a capital, and other forms.
        is_name = word in capitals and self.language != "de"
        return word in self.words or (not is_name and stem(word, self.language) in self.stems)


def forms_of(some: Iterable[str], capitals: frozenset[str], language: str) -> Forms:
    every = frozenset(some)
    changing = every if language == "de" else every - capitals
    return Forms(every, frozenset(stem(word, language) for word in changing), language)


def read_query(query: str, turns: tuple[Turn, ...]) -> ReferenceReading:
    """Return the references of a query: its terms, and definites whose noun the turns have."""
    return read(query, None, nouns_of(tuple(turn.text for turn in turns)))


@lru_cache(maxsize=64)
def nouns_of(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the words of the turns that may be nouns, and nouns that take up what was told in other words."""
    said = frozenset(word.text for text in texts for word in written_words(text))
    return (frozenset(content(said | GENERAL)) - UNIQUE - SMALL_WORDS) if texts else frozenset()


SMALL_WORDS: Final = frozenset[str]().union(*MARKS.values())


def resolve_without_model(
    query: str, turns: tuple[Turn, ...], enabled: bool, force: bool = False
) -> Resolution | None:
    """Return the resolution if no model is needed, else None; `force` needs one even without a term."""
    terms = tuple(dict.fromkeys(read_query(query, turns).terms)) if enabled else ()
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
    "changed_person", "misfit", "unresolved",
]  # fmt: skip
VERDICTS: Final[tuple[str, ...]] = ("resolved", "unchanged", *get_args(Refusal))
"""What may come of a reply."""


def judge_rewrite(reply: str, query: str, turns: tuple[Turn, ...], confidence_min_ppm: int) -> Resolution:
    """Judge a reply by the query that it rewrites and the turns that the model was shown."""
    rewrite, asked = collapse_blanks(clean_line(whole(reply))), read_query(query, turns)
    terms = tuple(dict.fromkeys(asked.terms))
    is_same = bool(rewrite) and rewrite == collapse_blanks(clean_line(query))
    if is_same or collapse_blanks(reply) == collapse_blanks(query):
        return Resolution("unchanged", query, terms, turn_count=len(turns))
    given = read(rewrite, asked.language, asked.nouns)
    reason = refusal(rewrite, given, query, asked, turns)
    # Two references in the query and one in the rewrite: half of them are resolved.
    gone = len(asked.terms) - len(open_terms(given, asked))
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
    added = heavy(given.others, asked)
    # The words of a reference are in the query, too, though they are no content: a rewrite may keep them.
    of_terms = tuple(word for term in asked.terms for word in phrase(term))
    whole_query = forms_of((*asked.others, *of_terms), asked.capitals, asked.language)
    told = forms_of(content(whole_query.words), asked.capitals, asked.language)
    reasons: tuple[tuple[Refusal, bool], ...] = (
        ("empty_reply", not rewrite),
        ("too_long", size(rewrite) > QUERY_BYTES_MAX),
        ("dropped_words", has_dropped(rewrite, given, asked)),
        # Counted: "he" twice in the rewrite and once in the query is a reference more.
        ("new_reference", bool(Counter(open_terms(given, asked)) - Counter(asked.terms))),
        ("foreign_word", has_foreign(given, added, whole_query, turns)),
        ("nothing_added", all(told.has(word, given.capitals) for word in added)),
        ("changed_person", changes_person(rewrite, query, turns, asked.language)),
        ("misfit", has_misfit(rewrite, given, asked, turns)),
    )
    return next((reason for reason, holds in reasons if holds), None)


# What a rewrite puts in place of the references.


OPENING_PHRASE: Final = GENDERS.keys() | {"the", "a", "an"}


@attrs.frozen
class Part(Data):
    """A word or a term of a rewrite; `is_added`: it is no word of the query."""

    text: str
    is_term: bool
    is_added: bool


def parts_of(given: ReferenceReading, asked: ReferenceReading) -> list[Part]:
    known = forms_of(asked.others, asked.capitals, asked.language)
    light = STOP_WORDS | LIGHT_WORDS.get(asked.language, frozenset())
    return [
        Part(text, is_term, not (is_term or text in light or known.has(text, given.capitals)))
        for text, is_term in given.parts
    ]


def open_terms(given: ReferenceReading, asked: ReferenceReading) -> tuple[str, ...]:
    """Return the terms that a rewrite leaves open: `his` of `John and his boss` and `the same` of `the same
    flat` are none."""
    parts = parts_of(given, asked)
    found: list[str] = []
    for at, part in enumerate(parts):
        is_behind = any(it.is_added for it in parts[:at])
        is_before = any(it.is_added for it in parts[at + 1 : at + 2])
        is_bound = part.text in POSSESSIVE or (part.text in INVERTED and asked.language == "fr")
        is_told = is_before and (part.text in BEFORE_NOUN or not SAME.isdisjoint(part.text.split()))
        if part.is_term and not (is_behind and is_bound) and not is_told:
            found.append(part.text)
    return tuple(found)


def runs_of(given: ReferenceReading, asked: ReferenceReading) -> list[tuple[str, ...]]:
    """Return the words that were added, those of one place together."""
    runs: list[list[str]] = [[]]
    for part in parts_of(given, asked):
        if part.is_added:
            runs[-1].append(part.text)
        elif runs[-1] and (part.is_term or part.text in asked.others or part.text in OPENING_PHRASE):
            runs.append([])
    return [tuple(run) for run in runs if run]


def has_misfit(
    rewrite: str, given: ReferenceReading, asked: ReferenceReading, turns: tuple[Turn, ...]
) -> bool:
    """Check whether a reference that is gone cannot stand for what was put in its place."""
    left, gone = list(open_terms(given, asked)), list[str]()
    for term in asked.terms:
        if term in left:
            left.remove(term)
        else:
            gone.append(term)
    runs, is_personal = runs_of(given, asked), not PERSONAL_VERBS.isdisjoint(asked.others)
    talk = Talk((*(turn.text for turn in turns), rewrite), asked.language, is_personal)

    def fits(term: str, run: tuple[str, ...]) -> bool:
        noun = asked.noun_of(term)
        # `the boss` that the turns have keeps its noun, or gets a name.
        is_told = noun not in asked.nouns or noun in GENERAL or noun in given.others or talk.names(run)
        return is_told and talk.may_mean(term, noun, run)

    # `Pourquoi l'a-t-elle adopté ?` names the subject first when it is rewritten.
    subjects_first = sorted(gone, key=lambda term: term not in SUBJECTS)
    if len(runs) != len(gone):
        is_led = not runs or not gone or fits(gone[0], runs[0]) or fits(subjects_first[0], runs[0])
        return bool(runs) and not (is_led and all(any(fits(term, run) for run in runs) for term in gone))
    orders = (subjects_first,) if asked.language in ("de", "fr") else (gone, subjects_first)
    return not any(all(map(fits, order, runs)) for order in orders)


def has_dropped(rewrite: str, given: ReferenceReading, asked: ReferenceReading) -> bool:
    """Check whether a name or a content word is missing, except the noun of a demonstrative that is gone."""
    gone = (Counter(asked.terms) - Counter(given.terms)).keys()
    # "How is this initiative going?" may become "How is Atlas going?": `initiative` left with its `this`.
    free = frozenset(asked.pointed) if not gone.isdisjoint(BEFORE_NOUN) else frozenset[str]()
    kept = (*heavy(asked.others, asked), *asked.names)
    present = forms_of(phrase(rewrite), given.capitals, asked.language)
    return not all(word in free or present.has(word, asked.capitals) for word in kept)


def has_foreign(
    given: ReferenceReading, added: tuple[str, ...], whole_query: Forms, turns: tuple[Turn, ...]
) -> bool:
    """Check whether a content word stands neither in the query nor in the turns."""
    written = [word for turn in turns for word in written_words(turn.text)]
    capitals = frozenset(word.text for word in written if word.is_capital)
    said = forms_of((word.text for word in written), capitals, given.language)
    return not all(any(it.has(word, given.capitals) for it in (whole_query, said)) for word in added)


def heavy(some_words: Iterable[str], asked: ReferenceReading) -> tuple[str, ...]:
    """Return the content words; those of a language that some term belongs to lack its light words too."""
    languages = dict.fromkeys(LANGUAGES.get(term, asked.language or "zh") for term in asked.terms)
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


@attrs.frozen
class Variants(Data):
    """The query and what a model adds, each once; why other elements were dropped."""

    texts: tuple[str, ...]
    dropped: tuple[VariantDrop, ...] = attrs.field(default=(), eq=False)


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
