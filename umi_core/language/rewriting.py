"""Rewriting: a model's rewrite of a query so that it stands alone, and variants of a query.

Law 1. A rewrite is adopted only if it passes the gate: it keeps the query's content words and persons, adds
only words of the turns, and has fewer open references. Law 2. Total: any reply has a verdict. Law 3. If no
rewrite is adopted, the original query is searched.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, zip_longest
from typing import Final, Literal, get_args

from umi_core.data import Data
from umi_core.json_text import Json, JsonNumber, whole
from umi_core.language.antecedents import (
    DEFINITE,
    GENDERS,
    IN_CHINESE,
    Talk,
    is_chinese,
)
from umi_core.language.languages import stem, written_words
from umi_core.language.persons import PERSONS, changes_person
from umi_core.language.pronouns import (
    ALONE,
    LANGUAGES,
    OPEN,
    TITLE_CHARS,
    ReferenceReading,
    may_have_noun,
    phrase,
    read,
    words_of,
)
from umi_core.language.replies import ArrayOf, UnusableReply, field, find_json, find_objects
from umi_core.language.tables import (
    GENERAL,
    INVERTED,
    JOINING,
    LIGHT_WORDS,
    MARKS,
    NOUNLESS,
    ONES,
    POINTING_CHARACTERS,
    PREPOSITIONS,
    SAME,
    STOP_WORDS,
    SUBJECTS,
    TRIGGERS,
    UNIQUE,
)
from umi_core.language.words import content, words
from umi_core.limits import PPM, QUERY_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX, VARIANT_COUNT_MAX
from umi_core.messages.results import Resolution
from umi_core.text import norm, size
from umi_core.values import Turn

# Forms: finding a word in a text even with another ending: `raise` occurs in `She raised the rent`.
#
# Law 1. A word with a capital is a name, and must match exactly. Law 2. A stem has at least three letters.
# Law 3. The table of endings is frozen: a changed ending changes recorded runs.


class Forms(Data):
    """The words of a text, and the stems of those without a capital."""

    words: frozenset[str]
    stems: frozenset[str]
    language: str

    def has(self, word: str, capitals: frozenset[str]) -> bool:
        """Check whether the word occurs, in any form unless it is a name: a word of `capitals`."""
        # In German every noun has a capital, so a capital does not show a name.
        is_name = word in capitals and self.language != "de"
        return word in self.words or (not is_name and stem(word, self.language) in self.stems)


def forms_of(some: Iterable[str], capitals: frozenset[str], language: str) -> Forms:
    every = frozenset(some)
    changing = every if language == "de" else every - capitals
    return Forms(every, frozenset(stem(word, language) for word in changing), language)


def read_query(query: str, turns: tuple[Turn, ...]) -> ReferenceReading:
    """Return the references of a query: pronouns and the like, and definites such as `the boss` of a turn."""
    return read(query, None, nouns_of(tuple(turn.text for turn in turns)))


@lru_cache(maxsize=64)
def nouns_of(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the words of the turns that may be nouns, and general nouns: `the place` may mean `Luigi's`."""
    nouns = frozenset(noun for text in texts for noun in nouns_in(text))
    return (frozenset(content(nouns | GENERAL)) - UNIQUE - SMALL_WORDS - NOUNLESS) if texts else frozenset()


def nouns_in(text: str) -> Iterator[str]:
    """Yield the words by which a definite may be resolved; a lone `the dog` does not resolve a later one."""
    line = written_words(text)
    for before, word, behind in zip((None, *line), line, (*line[1:], None), strict=False):
        is_definite = before is not None and word.is_joined and before.text in DEFINITE
        # `El mecánico, Paco`: here a name follows, so `el mecánico` can be replaced by it.
        if not is_definite or (behind is not None and behind.is_capital):
            yield word.text
    # `医生` can be replaced by `刘医生`.
    yield from (match[1] for match in TITLED.finditer(text))


TITLES: Final = "|".join(noun for noun in IN_CHINESE if len(noun) == TITLE_CHARS)
TITLED: Final = re.compile(rf"(?![跟和给对让叫被把向是])[\u3400-\u9fff]({TITLES})")
SMALL_WORDS: Final = frozenset[str]().union(*MARKS.values())


def resolve_without_model(
    query: str, turns: tuple[Turn, ...], enabled: bool, force: bool = False
) -> Resolution | None:
    """Return the resolution, or None if a model is needed; with `force` even for a query without terms."""
    terms = tuple(dict.fromkeys(read_query(query, turns).terms)) if enabled else ()
    if enabled and (terms or force) and turns:
        return None
    return Resolution("disabled" if not enabled else "no_context" if terms else "clear", query, terms)


def shown_turns(turns: tuple[Turn, ...], count_max: int = TURN_COUNT_MAX) -> tuple[Turn, ...]:
    """Return the last turns that are not blank, newest first, each cut to TURN_CHARS_MAX code points."""
    cut = [Turn(turn.role, turn.text[:TURN_CHARS_MAX]) for turn in turns]
    return tuple(reversed([turn for turn in cut if turn.text.strip()][-count_max:]))


# The gate: checks of a rewrite, by its own words and by what the model says that each reference means.

Refusal = Literal[
    "empty_reply", "too_long", "dropped_words", "new_reference", "foreign_word", "nothing_added",
    "changed_person", "misfit", "unnamed", "wrong_turn", "unresolved",
]  # fmt: skip
VERDICTS: Final[tuple[str, ...]] = ("resolved", "unchanged", *get_args(Refusal))
"""The possible verdicts on a reply."""


class Named(Data):
    """A model's statement of what a reference means, and the turn that has these words: 1 is the newest."""

    reference: str
    means: str
    turn: int


class NamedRewrite(Data):
    """A rewrite as a model gave it; `named` is None if the reply was a bare line without references."""

    text: str
    named: tuple[Named, ...] | None


def read_reply(reply: str) -> NamedRewrite:
    """Return the rewrite in a reply: from the requested JSON object, or else its first line."""
    found = find_objects(reply, ("query",)) or find_objects(reply, ("references",))
    if not found:
        return NamedRewrite(collapse_blanks(clean_line(whole(reply))), None)
    text, rows = field(found[-1], "query"), field(found[-1], "references")
    rows = rows if isinstance(rows, list) else [rows]
    named = tuple(it for row in rows if (it := read_named(row)))
    return NamedRewrite(collapse_blanks(clean_line(text)) if isinstance(text, str) else "", named)


def read_named(row: Json) -> Named | None:
    """Return the antecedent in a row; None without both texts. An unreadable turn number becomes 0."""
    if not isinstance(row, dict):
        return None
    reference, means, turn = field(row, "reference"), field(row, "means"), row.get("turn")
    counted = COUNT.fullmatch(
        turn.text if isinstance(turn, JsonNumber) else turn if isinstance(turn, str) else ""
    )
    number = int(counted[1]) if counted else 0
    texts = isinstance(reference, str) and isinstance(means, str)
    return Named(str(reference), str(means), number) if texts else None


COUNT: Final = re.compile("(?:[Tt]urn )?([0-9]{1,3})")


def judge_rewrite(reply: str, query: str, turns: tuple[Turn, ...], confidence_min_ppm: int) -> Resolution:
    """Return the verdict on a reply, given the query and the turns that the model was shown."""
    given_reply, asked = read_reply(reply), read_query(query, turns)
    rewrite, terms = given_reply.text, tuple(dict.fromkeys(asked.terms))
    is_same = bool(rewrite) and rewrite == collapse_blanks(clean_line(query))
    if is_same or collapse_blanks(reply) == collapse_blanks(query):
        return Resolution("unchanged", query, terms, turn_count=len(turns))
    change = Change(rewrite, read(rewrite, asked.language, asked.nouns), asked)
    reason = refusal(change, query, turns, given_reply.named or ())
    reason = reason or find_misnaming(change, given_reply.named, turns)
    if not reason and has_misfit(change, given_reply.named or (), turns):
        reason = "misfit"
    # If the query has two references and the rewrite one of them, the confidence is a half.
    dropped_count = len(asked.terms) - (Counter(change.left) & Counter(asked.terms)).total()
    confidence_ppm = PPM * dropped_count // len(asked.terms) if asked.terms else PPM
    if not reason and confidence_ppm < confidence_min_ppm:
        reason = "unresolved"
    if reason:
        return Resolution("rejected", query, terms, reason, turn_count=len(turns))
    return Resolution("resolved", rewrite, terms, "", confidence_ppm, len(turns))


class Part(Data):
    """A word or a term of a rewrite. `is_added`: a content word that the query does not have in any form."""

    text: str
    is_term: bool
    is_added: bool


class Change(Data):
    """A rewrite and its query. `given` and `asked`: the references of the rewrite and of the query."""

    rewrite: str
    given: ReferenceReading
    asked: ReferenceReading

    @property
    def parts(self) -> tuple[Part, ...]:
        of_terms = (word for term in self.asked.terms for word in phrase(term))
        known = forms_of((*self.asked.others, *of_terms), self.asked.capitals, self.asked.language)
        light = STOP_WORDS | JOINING | LIGHT_WORDS.get(self.asked.language, frozenset())
        return tuple(
            Part(text, is_term, not (is_term or text in light or known.has(text, self.given.capitals)))
            for text, is_term in self.given.parts
        )

    @property
    def left(self) -> tuple[str, ...]:
        """The terms of the rewrite that no added word explains, so that they are still open references."""
        found, is_behind, is_beside = list[str](), False, False
        is_any = any(it.is_added for it in self.parts)
        for part, behind in zip_longest(self.parts, self.parts[1:]):
            may_open = not SAME.isdisjoint(part.text.split())
            may_open = may_open or (may_have_noun(part.text) and bool(self.asked.pointed))
            # `the same` of `the same flat`
            is_plain = may_open and behind is not None and behind.is_added
            is_plain |= part.text.endswith(OPEN) and is_any
            # `那款` of `小米那款`
            is_plain |= is_beside and part.text[0] in POINTING_CHARACTERS
            # the inverted `il` of `Quand le train part-il ?`
            is_plain |= is_behind and part.text in INVERTED and self.asked.language == "fr"
            if part.is_term and not is_plain:
                found.append(part.text)
            is_behind = is_behind or part.is_added
            is_beside = part.is_added or (is_beside and part.text in LIGHT_WORDS["zh"])
        return tuple(found)

    @property
    def gone(self) -> tuple[str, ...]:
        """The terms of the query that the rewrite has replaced, in the order of the query."""
        left, found = Counter(self.left), list[str]()
        for term in self.asked.terms:
            if left[term]:
                left[term] -= 1
            else:
                found.append(term)
        return tuple(found)

    @property
    def runs(self) -> tuple[tuple[str, ...], ...]:
        """The added words, those of one phrase together; an article or a term begins another phrase.

        `Did he sell it?` -> `Did Tom sell the red car?`: (`tom`,) and (`red`, `car`).
        """
        runs: list[list[str]] = [[]]
        opening = OPENING_PHRASE.union(self.asked.others, PREPOSITIONS.get(self.asked.language, ()))
        for part in self.parts:
            if part.is_added and part.text not in PERSONS:
                runs[-1].append(part.text)
            elif not part.is_added and (part.is_term or part.text in opening):
                runs.append([])
        return tuple(tuple(run) for run in runs if run)


OPENING_PHRASE: Final = JOINING.union(GENDERS, ("the", "a", "an"))


def refusal(change: Change, query: str, turns: tuple[Turn, ...], named: tuple[Named, ...]) -> Refusal | None:
    """Return the first reason against the words of a rewrite, or None.

    `Is she strict?` after the turn `Ann has a boss, Eva.`: `Is Eva?` dropped `strict`, `Is she strict there?`
    has a new reference, `Is Carla strict?` has a foreign word, `Is my boss Eva strict?` changes a person.
    """
    rewrite, given, asked = change.rewrite, change.given, change.asked
    added = heavy(given.others, asked)
    # A rewrite may also keep words of the query's references, although these are no content words.
    of_terms = tuple(word for term in asked.terms for word in phrase(term))
    whole_query = forms_of((*asked.others, *of_terms), asked.capitals, asked.language)
    known = forms_of(content(whole_query.words), asked.capitals, asked.language)
    # A rewrite may repeat a name of the query: `When they let her out, can Ann cook?` -> `let Ann out`.
    repeats = Counter(added) - Counter(heavy(asked.others, asked)) if change.gone else Counter()
    reasons: tuple[tuple[Refusal, bool], ...] = (
        ("empty_reply", not rewrite),
        ("too_long", size(rewrite) > QUERY_BYTES_MAX),
        ("dropped_words", has_dropped(change, named)),
        # References are counted: a rewrite with "he" twice has a new one if the query has it once.
        ("new_reference", has_new_reference(change, turns)),
        ("foreign_word", has_foreign(given, asked, added, whole_query, turns)),
        ("nothing_added", all(known.has(word, given.capitals) for word in added) and not repeats),
        ("changed_person", changes_person(rewrite, query, turns, asked.language)),
    )
    return next((reason for reason, holds in reasons if holds), None)


def has_misfit(change: Change, named: tuple[Named, ...], turns: tuple[Turn, ...]) -> bool:
    """Check whether a replaced reference cannot mean the added words: `Is he nice?` -> `Is Helen nice?`."""
    asked, gone, runs = change.asked, change.gone, change.runs
    pairs = name_pairs(change, named)
    if not (runs or pairs) or not gone:
        return False
    talk = talk_of(change, turns)
    # A rewrite has the subject first: `Pourquoi Léa l'a adopté ?`
    order = tuple(sorted(gone, key=lambda term: not asked.is_subject(term)))
    if not pairs and len(runs) == len(gone):
        pairs = list(zip(order, runs, strict=True))
    if pairs:
        fitting = all(fits(change, talk, term, run, at == 0) for at, (term, run) in enumerate(pairs))
        return not fitting or is_exchanged(change, talk, pairs)
    leading = order[:1] if asked.language in ("de", "fr") else gone
    is_led = any(fits(change, talk, term, runs[0], True) for term in leading)
    return not is_led or not all(any(fits(change, talk, term, run, False) for run in runs) for term in gone)


Pairs = list[tuple[str, tuple[str, ...]]]  # each reference with the words that replace it


def name_pairs(change: Change, named: tuple[Named, ...]) -> Pairs:
    """Return the replaced references with the words that the model names, in the order of the rewrite."""
    line = phrase(change.rewrite)
    found: dict[str, tuple[str, ...]] = {}
    for term in change.gone:
        some = [means_of(it, change) for it in named if names_term(it.reference, term, change.asked.language)]
        if some and not is_elliptic(term):
            found[term] = tuple(chain(*some))
    return sorted(
        found.items(), key=lambda it: next((at for at, word in enumerate(line) if word in it[1]), 0)
    )


def is_elliptic(term: str) -> bool:
    """Check whether words are omitted at a term: `and …` of `And Bonn?`, `… ladra` of `¿Por qué ladra?`."""
    return term.endswith(OPEN) or term.startswith(ALONE)


def is_exchanged(change: Change, talk: Talk, pairs: Pairs) -> bool:
    """Check whether a thing acts on a person although the reverse fits, too: `Le cours répète Tom`."""
    if len(pairs) != 2 or not change.asked.is_subject(pairs[0][0]):
        return False
    (subject, thing), (other, person) = pairs
    is_swapped = not talk.has_person(thing) and talk.has_person(person)
    return (
        is_swapped and fits(change, talk, subject, person, True) and fits(change, talk, other, thing, False)
    )


def talk_of(change: Change, turns: tuple[Turn, ...]) -> Talk:
    texts = (*(turn.text for turn in turns), change.rewrite)
    return Talk(texts, change.asked.language, change.asked.others)


def fits(change: Change, talk: Talk, term: str, run: tuple[str, ...], is_subject: bool) -> bool:
    """Check whether a reference may mean these words; `is_subject`: they come first in the rewrite."""
    asked, noun = change.asked, change.asked.noun_of(term)
    if is_subject and asked.language == "de" and term in SUBJECTS and not talk.are_several(run):
        # Of `der Laptop Beate` only the first noun is the subject.
        run = tuple(it for it in run if it in change.given.capitals and it not in PERSONS)[:1] or run
    # A rewrite of `the boss` keeps the noun (as in `der Kurs` -> `der Töpferkurs`) or names it: `Mr Dunne`.
    if noun and talk.has(noun):
        line = "".join(change.given.others) if is_chinese(noun) else ""
        is_kept = noun in line or any(it.endswith(noun) for it in change.given.others)
        if is_kept or not talk.names(noun, run):
            return is_kept
    return talk.may_mean(term, noun, run, is_subject)


def find_misnaming(
    change: Change, named: tuple[Named, ...] | None, turns: tuple[Turn, ...]
) -> Refusal | None:
    """Return the first reason against the meanings that the model gives for references, or None.

    `unnamed`: a replaced reference is in no row. `wrong_turn`: a turn lacks the words.
    """
    if named is None:
        return None
    language, none = change.asked.language, frozenset[str]()
    means = {it: means_of(it, change) for it in named}
    used, talk = forms_of(phrase(change.rewrite), none, language), talk_of(change, turns)
    for term in change.gone:
        some = [found for it, found in means.items() if names_term(it.reference, term, language)]
        # Without a row, the row of another reference will do: in `Il l'a, la sienne ?` two mean the same.
        others = (found for it, found in means.items() if names_other(it.reference, term, change))
        some = some or [it for it in others if fits(change, talk, term, it, False)]
        # An opening such as `And Berlin?` needs no row: the words that it leaves out are no single phrase.
        if not (any(used.has(word, none) for found in some for word in found) or is_elliptic(term)):
            return "unnamed"
    for it, found in means.items():
        spoken = phrase(turns[it.turn - 1].text) if 0 < it.turn <= len(turns) else ()
        known = forms_of(spoken, none, language)
        if not found or not all(known.has(word, none) for word in found):
            return "wrong_turn"
    return None


def means_of(named: Named, change: Change) -> tuple[str, ...]:
    """Return the content words that the model gives as the meaning of a reference."""
    return tuple(word for word in heavy(phrase(named.means), change.asked) if word not in PERSONS)


def names_other(reference: str, term: str, change: Change) -> bool:
    """Check whether a row of the model is about a replaced reference other than `term`."""
    return any(it != term and names_term(reference, it, change.asked.language) for it in change.gone)


def names_term(reference: str, term: str, language: str) -> bool:
    """Check whether one phrase contains the other: a row about `that job` is about the term `that`, too."""
    both = (f" {' '.join(words_of(it, language))} " for it in (reference, term))
    short, long = sorted(both, key=len)
    return short in long


def has_new_reference(change: Change, turns: tuple[Turn, ...]) -> bool:
    """Check whether an open reference of the rewrite is not in the query: `Is she in?` -> `Is Ann there?`.

    References of the turns may complete an opening: `And Ben?` becomes `When does Ben get here?`.
    """
    asked, is_open = change.asked, any(term.endswith(OPEN) for term in change.gone)
    told = frozenset(word for turn in turns for word in phrase(turn.text)) if is_open else frozenset[str]()
    left = [it for it in change.left if it.rpartition(" ")[2] not in asked.nouns and it not in told]
    return bool(Counter(left) - Counter(asked.terms))


def has_dropped(change: Change, named: Iterable[Named]) -> bool:
    """Check whether a name or a content word of the query is missing from the rewrite, or out of order.

    Words that belong to a reference may be replaced with it: the noun of a demonstrative, and words that the
    model lists as part of the reference. In English and Chinese the words that the model names for a
    reference must also stand at its place.
    """
    asked = change.asked
    gone = frozenset(change.gone)
    # `Did you hear about this plan?` -> `Did you hear about Atlas?`: `plan` goes with its `this`.
    is_pointed = any(may_have_noun(term) or term in ONES for term in gone)
    free = frozenset(asked.pointed if is_pointed else ())
    tokens = [(word, text if is_term else "") for text, is_term in asked.parts for word in phrase(text)]
    taken = {at for at, (word, term) in enumerate(tokens) if term in gone or word in free}
    needed: dict[int, frozenset[str]] = {}
    line = words_of(change.rewrite, asked.language)
    spoken = tuple(word for word, _ in tokens)
    for it in named:
        span, means = words_of(it.reference, asked.language), frozenset(means_of(it, change))
        is_placed = asked.language in ("en", "zh", "") and any(is_form(word, means, change) for word in line)
        for start in range(len(spoken) - len(span) + 1):
            places = range(start, start + len(span))
            if spoken[start : start + len(span)] == span and not taken.isdisjoint(places):
                taken.update(at for at in places if spoken[at] not in asked.names)
                if is_placed and not any(tokens[at][1].endswith(OPEN) for at in places):
                    needed[start] = means
    # `changes_person` checks persons: here `je l'ai` may become `j'ai`.
    for at, (word, _) in enumerate(tokens):
        if at not in taken and (word in asked.names or (word not in PERSONS and heavy((word,), asked))):
            needed[at] = frozenset([word])
    rest = iter(line)
    return not all(any(is_form(it, words, change) for it in rest) for _, words in sorted(needed.items()))


def is_form(word: str, some: frozenset[str], change: Change) -> bool:
    """Check whether a word of the rewrite is a form of one of these words."""
    known = forms_of(some, change.asked.capitals, change.asked.language)
    return known.has(word, change.given.capitals)


def has_foreign(
    given: ReferenceReading,
    asked: ReferenceReading,
    added: tuple[str, ...],
    whole_query: Forms,
    turns: tuple[Turn, ...],
) -> bool:
    """Check whether an added content word is neither in the query nor in the turns, in any form."""
    written = [word for turn in turns for word in written_words(turn.text)]
    capitals = frozenset(word.text for word in written if word.is_capital)
    spoken = forms_of((word.text for word in written), capitals, given.language)
    known = JOINING | PERSONS.keys()  # `changes_person` checks persons
    return not all(
        word in known or any(it.has(word, given.capitals) for it in (whole_query, spoken)) for word in added
    )


def heavy(some_words: Iterable[str], asked: ReferenceReading) -> tuple[str, ...]:
    """Return the content words, without the light words of the languages that the query's terms belong to."""
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
    """Return the first line of a reply, without a code fence, label and quotes around it."""
    before = None
    # Layers may come in any order: a fenced `Query: "..."` loses the fence, the label and the quotes.
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
    """Check whether variants are wanted: `deep` if the caller gave it, else whether a trigger word occurs."""
    return any(word in TRIGGERS for word in words(query)) if deep is None else deep


VariantDrop = Literal["not_text", "blank", "too_long", "again", "too_many"]
SHAPES: Final[tuple[str, ...]] = get_args(VariantDrop)


class Variants(Data):
    """The query and the variants of a model, without duplicates, and why other elements were dropped."""

    texts: tuple[str, ...]
    dropped: tuple[VariantDrop, ...] = ()
    uncompared = ("dropped",)


def parse_variants(reply: str, query: str) -> Variants | UnusableReply:
    """Return the query and the variants in a reply, without duplicates."""
    payload = find_json(reply, ArrayOf(str))
    if isinstance(payload, UnusableReply):
        return payload
    # The query is always the first variant, so a model can only add variants.
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
    """Return the first reason to drop an element, or None; `text`: its text, "" if it is not a string."""
    reasons: tuple[tuple[VariantDrop, bool], ...] = (
        ("not_text", not isinstance(element, str)),
        ("blank", not text),
        ("too_long", size(text) > QUERY_BYTES_MAX),
        ("again", norm(text) in known),
        ("too_many", len(known) == VARIANT_COUNT_MAX),
    )
    return next((reason for reason, holds in reasons if holds), None)
