"""Read queries: references, persons, rewrites and variants."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

from tests.properties.replies_reference import array_of, payload_of
from tests.properties.text_reference import (
    KEPT,
    Spoken,
    byte_count,
    content_words,
    fold_name,
    language_of,
    name_places,
    one_line,
    replace_surrogates,
    spoken_words,
    words,
)
from umi_core import limits
from umi_core.data import Data
from umi_core.language.tables import (
    BEFORE_NOUN,
    CLAUSE_OPENING,
    DETERMINERS,
    HELPING,
    IDIOM_ROWS,
    INDEFINITE,
    LIGHT_WORDS,
    PERSON_ROWS,
    POINTING,
    SAID_BY_OTHERS,
    STOP_WORDS,
    TERM_ROWS,
    TRIGGERS,
)
from umi_core.messages.results import Resolution
from umi_core.values import Turn

# References: the words of a query that mean something said earlier, as M13.2 to M13.4 find them.
#
# What did he say about that?        he, that
# fix it like before, before noon    it, like before, before
# Is there a cache?                  none: it exists, nothing is pointed at
# Show me the IT budget              none: a name
# Where does Ella live?              none: a name, and no word of this language
# Is it true that cats sleep?        none: it is what follows that is true


PHRASE_WORDS: Final = 7  # that a term or a phrase has at most


class Term(Data):
    text: str
    language: str


class References(Data):
    """The terms of a text in order, repeated ones too; the words outside of them; the terms' languages.

    `spoken` is the language of the text. Of the other words `names` and `big` have a capital, and `nouns` may
    go with a demonstrative.
    """

    terms: tuple[str, ...]
    others: tuple[str, ...]
    languages: tuple[str, ...]
    spoken: str = ""
    names: tuple[str, ...] = ()
    big: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()


def references(text: str, language: str | None = None) -> References:
    """Find the references of a text. `language`: that of the query, if this is a rewrite of it."""
    spoken = spoken_words(text)
    own = language_of(text, spoken) if language is None else language
    names = name_places(text, spoken, own)
    found: list[Term] = []
    outside: list[int] = []
    nouns: list[str] = []
    place = 0
    while place < len(spoken):
        term, count = longest_at(spoken, place, own, names)
        if term is None:
            outside += range(place, place + count)
        else:
            found.append(term)
            nouns += nouns_behind(spoken, place, place + count, term)
        place += count
    return References(
        tuple(term.text for term in found),
        tuple(spoken[at].text for at in outside),
        tuple(dict.fromkeys(term.language for term in found)),
        own,
        tuple(spoken[at].text for at in outside if at in names),
        tuple(spoken[at].text for at in outside if spoken[at].is_big),
        tuple(nouns),
    )


def longest_at(spoken: list[Spoken], place: int, language: str, names: list[int]) -> tuple[Term | None, int]:
    """Return the term that begins here or None, and how many words it has, or an idiom in its place."""
    ahead = [it.text for it in spoken[place : place + PHRASE_WORDS]]
    nothing = words_of_nothing(spoken, place)
    for phrase, term in terms_by_first_word().get(ahead[0], ()):
        # Terms come longest first: once an idiom is as long, no shorter term can win against it.
        if len(phrase) <= nothing:
            break
        if ahead[: len(phrase)] == phrase and is_meant(term, len(phrase), spoken, place, language, names):
            return term, len(phrase)
    return None, max(nothing, 1)


@cache
def terms_by_first_word() -> dict[str, list[tuple[list[str], Term]]]:
    """Return the words of each term by the first of them, terms of most words first."""
    every = [(list(words(text)), Term(text, name)) for name, row in TERM_ROWS for text in row.split(", ")]
    found: dict[str, list[tuple[list[str], Term]]] = {}
    for phrase, term in sorted(every, key=lambda each: -len(each[0])):
        found.setdefault(phrase[0], []).append((phrase, term))
    return found


def words_of_nothing(spoken: list[Spoken], place: int) -> int:
    """Return the length of the longest idiom from here on that refers to nothing."""
    ahead = spoken[place : place + PHRASE_WORDS + 1]
    # `Well, is it raining?` at `is`:  "| is it raining |", so that `^` and `$` of an idiom can ask for the
    # bars
    before = "" if place == 0 or spoken[place].belongs else "| "
    line = (
        before + ahead[0].text + "".join(f" {it.text}" if it.belongs else f" | {it.text}" for it in ahead[1:])
    )
    matches = (each.match(f"{line} |", len(before)) for each in nothing_patterns())
    return max((len(match[0].split()) for match in matches if match), default=0)


@cache
def nothing_patterns() -> list[re.Pattern[str]]:
    """Return idioms as patterns over a line of words in which a bar is a mark (M13.3)."""
    return [re.compile(pattern_of(idiom)) for row in IDIOM_ROWS for idiom in row.split(", ")]


def pattern_of(idiom: str) -> str:
    r"""Return an idiom as a pattern.

    `is/was it [*] who` becomes `(?:is|was) (?:it) (?:[^ |]+ )?(?:who) `: a blank ends each word.
    """
    found = ""
    for part in idiom.split():
        bare = part.strip("[]")
        spelled = " ".join(words(bare)) if not bare.isascii() and "/" not in bare else bare.replace("/", "|")
        each = "[^ |]+" if bare == "*" else f"(?:{spelled})"
        if part in "^$":
            found += r"(?<=\| )" if part == "^" else r"(?=\|)"
        else:
            found += f"(?:{each} )?" if part != bare else f"{each} "
    return found


def is_meant(
    term: Term, count: int, spoken: list[Spoken], place: int, language: str, names: list[int]
) -> bool:
    """Return True if a term is of this language and points at something."""
    if term.language != "zh" and language != "" and term.language != language:
        return False
    if count > 1:
        return True
    exists = spoken[place].written.replace("’", "'").casefold() == "there's"
    return place not in names and not exists and not (term.text == "that" and joins(spoken, place, names))


def joins(spoken: list[Spoken], place: int, names: list[int]) -> bool:
    """Return True if a `that` joins a clause to what stands before it: `the place that serves ramen`."""
    if place == 0 or place + 1 == len(spoken):
        return False
    before, here, after = spoken[place - 1 : place + 2]
    if not here.belongs or not after.belongs or before.text in POINTING:
        return False
    is_noun = place >= 2 and spoken[place - 2].text in DETERMINERS
    opens = after.text in CLAUSE_OPENING or place + 1 in names
    return is_noun or before.text in INDEFINITE or opens


def nouns_behind(spoken: list[Spoken], place: int, end: int, term: Term) -> list[str]:
    if term.text not in BEFORE_NOUN:
        return []
    if term.language == "zh":
        return [it.text for it in spoken[end : end + 2] if it.belongs and not it.text.isascii()]
    has_room = place > 0 and end < len(spoken) and spoken[place].belongs and spoken[end].belongs
    if not has_room or spoken[place - 1].text in HELPING:
        return []
    return [spoken[end].text] if spoken[end].is_big == (term.language == "de") else []


# Persons in a rewrite, as in its query (M13.8).
#
# After `I left my charger` the speaker of that may ask `Is my charger there?`; anybody else asks for
# `your charger`.


Said = tuple[str, str]  # the words for a person, and the word that follows


def is_another_person(rewrite: str, query: str, turns: Sequence[Turn]) -> bool:
    asked, told = list(said_in(query)), list(said_in(rewrite))
    # The persons of the query must come again, in their order; others may stand between them.
    waiting = [person for person, _ in asked]
    for person, _ in told:
        if waiting and waiting[0] == person:
            waiting.pop(0)
    if waiting:
        return True
    known = asked + [said for turn in turns for said in seen_by_asker(turn)]
    return any(
        count(told, person) > count(asked, person) and (person, follower) not in known
        for person, follower in told
    )


def person_of(word: str) -> str:
    """Return the person that a word stands for; empty if for none."""
    return next((person for person, row in PERSON_ROWS if word in row.split()), "")


def said_in(text: str) -> Iterator[Said]:
    line = words(text)
    for place, word in enumerate(line):
        if person := person_of(word):
            yield person, line[place + 1] if place + 1 < len(line) else ""


def seen_by_asker(turn: Turn) -> Iterator[Said]:
    for person, follower in said_in(turn.text):
        if turn.role == "user":
            yield person, follower
        else:
            yield from ((mine, follower) for mine in SAID_BY_OTHERS[person])


def count(some: list[Said], person: str) -> int:
    return len([said for said in some if said[0] == person])


# Replies about a query: the gate of rewrites, other ways to ask, and when either is asked for.
#
# As M12.9 and M13.5 to M13.9 have it, and H4.12 for cleaning.


TURNS_SHOWN: Final = 10
TURN_CHARS: Final = 500
VARIANTS: Final = 3
ONE: Final = 1_000_000

ENDINGS: Final = {  # that may differ in two forms of a word, of which three letters stay
    "en": "ies ing ed es s e y",
    "de": "en em er es e n s",
    "es": "os as es o a s e",
}


# When a model is asked.


def shown_turns(turns: Sequence[Turn], count: int = TURNS_SHOWN) -> tuple[Turn, ...]:
    """Return the last turns that are not blank, newest first, each as far as it is shown."""
    shown = [Turn(turn.role, turn.text[:TURN_CHARS]) for turn in turns]
    return tuple([turn for turn in shown if turn.text.strip() != ""][: -count - 1 : -1])


def resolve_without_model(
    query: str, turns: Sequence[Turn], wanted: bool, forced: bool = False
) -> Resolution | None:
    """Return the resolution of a query about which no model is asked; None if one is."""
    terms = terms_of(references(query))
    if not wanted:
        return Resolution("disabled", query)
    if not terms and not (forced and shown_turns(turns)):
        return Resolution("clear", query)
    return None if shown_turns(turns) else Resolution("no_context", query, terms)


def terms_of(found: References) -> tuple[str, ...]:
    """Return each term once, by its first occurrence."""
    return tuple(dict.fromkeys(found.terms))


# The gate.


def read_rewrite(reply: str, query: str, turns: Sequence[Turn], floor_ppm: int) -> Resolution:
    """Return the resolution that a reply leads to, after these turns as they were shown."""
    asked = references(query)
    rewrite, terms = one_line(clean_line(replace_surrogates(reply))), terms_of(asked)
    is_same = rewrite != "" and rewrite == one_line(clean_line(query))
    if is_same or one_line(replace_surrogates(reply)) == one_line(query):
        return Resolution("unchanged", query, terms, turn_count=len(turns))
    reason = why_refused(rewrite, query, asked, turns)
    if reason is not None:
        return Resolution("rejected", query, terms, reason, turn_count=len(turns))
    # `What did he say about that?` has two; a rewrite that still has `that` has resolved 500,000 ppm.
    gone = len(asked.terms) - len(references(rewrite, asked.spoken).terms)
    gone_ppm = ONE * gone // len(asked.terms) if asked.terms else ONE  # nothing is left to refer
    if gone_ppm < floor_ppm:
        return Resolution("rejected", query, terms, "unresolved", turn_count=len(turns))
    return Resolution("resolved", rewrite, terms, "", gone_ppm, len(turns))


def why_refused(rewrite: str, query: str, asked: References, turns: Sequence[Turn]) -> str | None:
    """Return the first reason against a rewrite; None if there is none."""
    # The order of the reasons below is that of M13.8: the first one is told.
    given, light = references(rewrite, asked.spoken), light_words(asked)
    added = [word for word in given.others if word not in light]
    small_in_query = [word for word in words(query) if word not in asked.big]
    if rewrite == "":
        return "empty_reply"
    if byte_count(rewrite) > limits.QUERY_BYTES_MAX:
        return "too_long"
    if any(is_missing(word, rewrite, given, asked) for word in list_required_words(given, asked)):
        return "dropped_words"
    if any(given.terms.count(term) > asked.terms.count(term) for term in given.terms):
        return "new_reference"
    in_turns = [it for turn in turns for it in spoken_words(turn.text)]
    big_in_turns = [it.text for it in in_turns if it.is_big]
    small = small_in_query + [it.text for it in in_turns if it.text not in big_in_turns]
    exact = [*words(query), *(it.text for it in in_turns)]
    if not all(stands(word, exact, small, given.big, asked.spoken) for word in added):
        return "foreign_word"
    said, small_said = content_words(query), [word for word in small_in_query if word not in STOP_WORDS]
    if all(stands(word, said, small_said, given.big, asked.spoken) for word in added):
        return "nothing_added"
    return "changed_person" if is_another_person(rewrite, query, turns) else None


def list_required_words(given: References, asked: References) -> list[str]:
    """List the words a rewrite needs: names and content words, but for the noun of a dropped `this`."""
    light = light_words(asked)
    went = [term for term in BEFORE_NOUN if asked.terms.count(term) > given.terms.count(term)]
    kept = [word for word in asked.others if word in asked.names or word not in light]
    return [word for word in kept if not went or word not in asked.nouns]


def is_missing(word: str, rewrite: str, given: References, asked: References) -> bool:
    there = words(rewrite)
    return not stands(word, there, [it for it in there if it not in given.big], asked.big, asked.spoken)


def stands(word: str, exact: Sequence[str], small: Sequence[str], big: Sequence[str], language: str) -> bool:
    """Return True if a word is among the exact ones, or a form of a small one.

    A word with a capital has no other form.
    """
    if word in exact:
        return True
    return word not in big and bare(word, language) in [bare(it, language) for it in small]


@lru_cache(maxsize=KEPT)
def bare(word: str, language: str) -> str:
    """Return a word without endings."""
    # `houses` and `house` both become `hou`: what matters is that forms of a word meet, not what is left.
    for ending in ENDINGS.get(language, "").split():
        if word.endswith(ending):
            return bare(word[: -len(ending)], language) if len(word) - len(ending) >= 3 else word
    return word


def light_words(asked: References) -> list[str]:
    """Return words without content, in English and in the languages of the references."""
    return [*STOP_WORDS, *(word for language in asked.languages for word in LIGHT_WORDS[language])]


# Cleaning.

FENCE: Final = "```"
LABEL: Final = r"(?i)(?:(?:(?:expanded|rewritten|resolved)\s+)?query|name)\s*:"
QUOTES: Final = ('""', "''", "“”", "„“", "«»", "「」", "``")


def clean_line(text: str) -> str:
    """Return the line that was asked for, without fence, label and quotes, in any order."""
    before = None
    # A label may stand inside of quotes and quotes behind a
    # label, so it goes on until nothing is left to strip.
    while text != before:
        before = text
        text = without_quotes(without_label(first_line(without_fence(text.strip()))))
    return text


def without_fence(text: str) -> str:
    head, line_end, rest = text.partition("\n")
    is_fenced = head.startswith(FENCE) and line_end and rest.endswith(FENCE) and "`" not in head[len(FENCE) :]
    return rest.removesuffix(FENCE) if is_fenced else text


def first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def without_label(text: str) -> str:
    found = re.match(LABEL, text)
    return text[found.end() :].strip() if found else text


def without_quotes(text: str) -> str:
    inside = text[1:-1]
    is_quoted = len(text) > 1 and text[0] + text[-1] in QUOTES
    return text if not is_quoted or text[0] in inside or text[-1] in inside else inside


# Other ways to ask.


def is_deep(query: str, deep: bool | None) -> bool:
    """Return True if other ways to ask are wanted: by the caller, else by the words of the query."""
    return any(word in TRIGGERS for word in words(query)) if deep is None else deep


def read_variants(reply: str, query: str) -> tuple[str, ...] | None:
    """Return the query, and what else a model would ask; None if there is no payload."""
    elements = payload_of(reply, "[", array_of(str))
    if elements is None:
        return None
    texts = [query]
    for element in elements:
        text = one_line(element) if isinstance(element, str) else ""
        is_new = fold_name(text) not in [fold_name(it) for it in texts]
        if text != "" and byte_count(text) <= limits.QUERY_BYTES_MAX and is_new:
            texts.append(text)
    return tuple(texts[:VARIANTS])
