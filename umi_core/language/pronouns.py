"""Pronouns and other references: the words of a query that mean something in earlier turns.

Law 1. Whole words are matched, from left to right, the longest pattern first, without overlap.
Law 2. The tables are frozen: a changed term changes recorded runs.
Law 3. Only terms of the query's language count, and names never do: `Ella` of `Where does Ella live?`.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise, product, takewhile
from typing import Final

from umi_core.data import Data
from umi_core.language.languages import WrittenWord, language_of, split_enclitics, written_words
from umi_core.language.tables import (
    ACTING,
    ADJECTIVE_ENDINGS,
    ARTICLES,
    ASKED,
    ASKING,
    BEFORE_CLITIC,
    BEFORE_NOUN,
    BEHIND_CLITIC,
    CLAUSE_OPENING,
    DETERMINERS,
    ELLIPSIS_ROWS,
    HELPING,
    IDIOM_ROWS,
    INDEFINITE,
    MARKS,
    MEASURES,
    MENTIONING,
    NARROWING,
    NO_NOUN_CHARACTERS,
    NO_POINTERS,
    NO_THIRD,
    NOUNLESS,
    NOUNLESS_ARTICLES,
    NUMERALS,
    ONES,
    OTHERS,
    POINTERS,
    POINTING,
    POINTING_CHARACTERS,
    PREPOSITIONS,
    RANKED,
    REFLEXIVE,
    TERM_ROWS,
    THIRD_PERSON,
    TIME_NOUNS,
)
from umi_core.text import has_small, is_capital

LANGUAGES: Final = {term: language for language, row in TERM_ROWS for term in row.split(", ")}
IDIOMS: Final = tuple(idiom for row in IDIOM_ROWS for idiom in row.split(", "))
assert len(LANGUAGES) == sum(len(row.split(", ")) for _, row in TERM_ROWS)  # each term stands once


Option = frozenset[str] | None  # the words that fit at one place of a pattern; None if any word does


class Pattern(Data):
    """A sequence of words: a term, which refers to something, or an idiom, which does not."""

    places: tuple[Option, ...]
    term: str  # "" for an idiom
    is_behind_mark: bool = False
    is_before_mark: bool = False
    is_first: bool = False  # whether it must begin a sentence

    def fits(self, words: tuple[WrittenWord, ...], at: int) -> bool:
        end = at + len(self.places)
        if end > len(words) or any(
            option is not None and word.text not in option
            for word, option in zip(words[at:end], self.places, strict=True)
        ):
            return False
        # A mark may be inside a term ("just, now"), not inside an idiom: "Is it? Me too" is no `is it me`.
        is_whole = bool(self.term) or all(word.is_joined for word in words[at + 1 : end])
        is_behind = not self.is_behind_mark or (at > 0 and not words[at].is_joined)
        is_behind = is_behind and (not self.is_first or words[at].opens)
        return (
            is_whole and is_behind and not (self.is_before_mark and end < len(words) and words[end].is_joined)
        )


def phrase(text: str) -> tuple[str, ...]:
    return tuple(word.text for word in written_words(text))


def words_of(text: str, language: str) -> tuple[str, ...]:
    """Return the words of a text as `read` splits them: Spanish `cambiarla` becomes `cambiar` and `la`."""
    written = written_words(text)
    return tuple(word.text for word in (split_enclitics(written) if language == "es" else written))


OPEN: Final = " …"  # the end of an opening, whose question is incomplete: `and …` of `And Berlin?`
ALONE: Final = "… "  # the start of a verb whose subject is omitted: `… ladra` of `¿Por qué ladra?`
OPENINGS: Final = tuple(
    (language, count_max, opening)
    for language, count_max, row in ELLIPSIS_ROWS
    for opening in sorted(row.split(", "), key=len, reverse=True)
)


def is_dense(text: str) -> bool:
    """Check whether a word is a Chinese character."""
    return "\u3400" <= text <= "\u9fff"


TITLE_CHARS: Final = 2  # characters of a Chinese noun for persons: `医生`
COMPOUNDING: Final = frozenset("费证所室院们")  # characters that make such a noun another one: `律师费`
PLAIN_CE: Final = frozenset(["sera", "serait", "fut", "dont", "week"])
TELLING_WHICH: Final = frozenset("of i you we they he she that who which".split())
QUESTION_CHARS_MAX: Final = 4  # characters of a Chinese question that is only a topic: `小周呢？`


def patterns_of(idiom: str) -> Iterator[Pattern]:
    """Yield the patterns of an idiom, one for each way to leave out its parts in brackets.

    `^` and `$` demand a mark before and after it, `<` the start of a sentence.
    """
    parts = idiom.split()
    behind, before, first = parts[0] == "^", parts[-1] == "$", parts[0] == "<"
    parts = parts[behind or first : len(parts) - before]
    choices = [(part.strip("[]"), "") if part.startswith("[") else (part,) for part in parts]
    for chosen in product(*choices):
        places = tuple(each for part in chosen if part for each in options_of(part))
        yield Pattern(places, "", behind, before, first)


def options_of(part: str) -> Iterator[Option]:
    """Yield the words that fit at each place of a part: one place, or one per character in Chinese."""
    if part == "*":
        yield None
    elif "/" in part:
        yield frozenset(part.split("/"))
    else:
        yield from (frozenset([word]) for word in phrase(part))


@cache
def by_first_word(is_ascii: bool) -> dict[str, tuple[Pattern, ...]]:
    """Return the patterns by their first word, the longest first.

    `is_ascii`: return only patterns that an ASCII text can match, which saves time.
    """
    known = [term for term in LANGUAGES if term.isascii() or not is_ascii]
    terms = [Pattern(tuple(frozenset([word]) for word in phrase(term)), term) for term in known]
    idioms = [each for idiom in IDIOMS if idiom.isascii() or not is_ascii for each in patterns_of(idiom)]
    found: dict[str, list[Pattern]] = {}
    for pattern in (*idioms, *terms):
        assert pattern.places[0] is not None
        for word in pattern.places[0]:
            # By first word, so that each word of a text is compared with only a few patterns.
            found.setdefault(word, []).append(pattern)
    return {word: tuple(sorted(some, key=lambda it: -len(it.places))) for word, some in found.items()}


class ReferenceReading(Data):
    """A text read for references: its parts in order, each a term or a word outside of all terms.

    `names`: words outside of terms with a capital that their place does not explain. `capitals`: all words
    outside with a capital. `pointed`: nouns after a demonstrative (see `noun_behind`). `nouns`: of definites.
    """

    parts: tuple[tuple[str, bool], ...]  # with whether the part is a term
    language: str = ""
    names: frozenset[str] = frozenset()
    capitals: frozenset[str] = frozenset()
    pointed: tuple[str, ...] = ()
    nouns: frozenset[str] = frozenset()

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(text for text, is_term in self.parts if is_term)

    def noun_of(self, term: str) -> str:
        """Return the noun of a definite (`the boss`) or a demonstrative (`that job`); "" if it has none."""
        last = term.rpartition(" ")[2]
        if last in self.nouns:
            return last
        return self.pointed[0] if may_have_noun(term) and self.pointed else ""

    def is_subject(self, term: str) -> bool:
        """Check whether a term may be the subject: `él`, but not after a preposition, as in `a él`."""
        texts = ["", *(text for text, _ in self.parts)]
        before = next((it for it, behind in pairwise(texts) if behind == term), "")
        return term in ACTING and before not in PREPOSITIONS.get(self.language, ())

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(text for text, is_term in self.parts if not is_term)


@lru_cache(maxsize=64)  # each query is read several times: to ask a model, and to judge its reply
def read(text: str, language: str | None = None, nouns: frozenset[str] = frozenset()) -> ReferenceReading:
    """Return the references of a text. `What did he say about that?` has the terms `he` and `that`.

    `language`: of the query, if the text is its rewrite; None to detect it. `nouns`: of the turns; `the
    boss` is a reference if `boss` is among them.
    """
    written = written_words(text)
    spoken = language_of(text, written) if language is None else language
    written = split_enclitics(written) if spoken == "es" else written
    known, names = by_first_word(text.isascii()), names_in(text, written, spoken)
    parts: list[tuple[str, bool]] = []
    others: list[int] = []
    pointed: list[str] = []
    taken: list[str] = []
    at = 0
    while at < len(written):
        fitting = (it for it in known.get(written[at].text, ()) if it.fits(written, at))
        # The longest pattern wins and consumes its words: the `that` of `that place` is not read again.
        pattern = next((it for it in fitting if not it.term or counts(it, written, at, spoken, names)), None)
        end = at + (len(pattern.places) if pattern else 1)
        if pattern is not None:
            term = pattern.term
        else:
            term, end = find_open_term(written, at, spoken, nouns)
            if term in nouns and end - at == TITLE_CHARS:
                taken.append(term)
            if written[at].text in ARTICLES.get(spoken, ()):
                taken.extend(word.text for word in written[at + 1 : end] if word.text in nouns)
        if term:
            parts.append((term, True))
            pointed.extend(noun_behind(written, at, end, term))
        else:
            parts.extend((written[it].text, False) for it in range(at, end))
            others.extend(range(at, end))
        at = end
    return ReferenceReading(
        tuple(parts),
        spoken,
        frozenset(written[at].text for at in others if at in names),
        frozenset(written[at].text for at in others if written[at].is_capital),
        tuple(pointed),
        frozenset(taken),
    )


# Open terms: words that are references only in certain contexts.


def find_open_term(
    written: tuple[WrittenWord, ...], at: int, language: str, nouns: frozenset[str]
) -> tuple[str, int]:
    """Return the open term that begins here, "" if there is none, and the index after it."""
    text = written[at].text
    if count := count_nounless(written, at, language) or count_classified(written, at):
        return ("" if is_dense(text) else " ").join(
            word.text for word in written[at : at + count]
        ), at + count
    if at == 0 and (count := count_opening(written, language)):
        return " ".join(word.text for word in written[:count]) + OPEN, count
    if text == "呢" and at + 1 == len(written) <= QUESTION_CHARS_MAX:
        return text + OPEN, at + 1
    if lacks_noun(written, at, language):
        return text, at + 1
    if language == "es" and is_verb_alone(written, at):
        return ALONE + text, at + 1
    titled = "".join(word.text for word in written[at : at + TITLE_CHARS])
    is_compound = any(it.text in COMPOUNDING for it in written[at + TITLE_CHARS : at + TITLE_CHARS + 1])
    if titled in nouns and not (is_compound or written[at].is_joined) and is_dense(text):
        return titled, at + TITLE_CHARS
    if text in ARTICLES.get(language, ()) and is_taken_up(written, at + 1, language, nouns):
        return f"{text} {written[at + 1].text}", at + 2
    return "", at + 1


def count_opening(written: tuple[WrittenWord, ...], language: str) -> int:
    """Return how many words are the opening of an incomplete question: 1 for `And Berlin?`; 0 if none."""
    texts = tuple(word.text for word in written)
    for own, count_max, opening in OPENINGS:
        # Only openings that begin like the text are split: `où` needs a pattern that takes long to build.
        if own != (language or "zh") or not opening.startswith(texts[0]):
            continue
        first = phrase(opening)
        rest = texts[len(first) :]
        if texts[: len(first)] == first and len(rest) <= count_max and HELPING.isdisjoint(rest):
            return len(first)
    return 0


def count_nounless(written: tuple[WrittenWord, ...], at: int, language: str) -> int:
    """Return how many words an article and adjective without a noun have: 2 for `the latter`; 0 if none."""
    if written[at].text not in NOUNLESS_ARTICLES.get(language, ()):
        return 0
    phrase, ahead = written[at + 1 : at + 2], written[at + 2 : at + 3]
    if not phrase or not phrase[0].is_joined or phrase[0].is_capital:
        return 0
    # In German any adjective will do that no noun follows: `dem späteren`, but not `dem späteren Zug`.
    is_adjective = phrase[0].text.endswith(ADJECTIVE_ENDINGS["de"]) and phrase[0].text not in MARKS["de"]
    is_open = phrase[0].text in NOUNLESS or (language == "de" and is_adjective)
    is_last = not ahead or not ahead[0].is_joined or ahead[0].text in MARKS[language] | HELPING
    return 2 if is_open and is_last else 0


def count_classified(written: tuple[WrittenWord, ...], at: int) -> int:
    """Return how many characters a measure word and what counts it have: 3 for `那两本`; 0 if none."""
    if written[at].text not in POINTING_CHARACTERS:
        return 0
    end = at + 1
    while end < len(written) and written[end].text in NUMERALS:
        end += 1
    # `两个人` is followed by its noun, so it is a number and no reference.
    is_alone = written[at].text in "那这" or not any(
        it.is_joined and it.text not in NO_NOUN_CHARACTERS for it in written[end + 1 : end + 2]
    )
    measures = MEASURES if written[at].text in "那这" else MEASURES - RANKED
    return end + 1 - at if is_alone and end < len(written) and written[end].text in measures else 0


def lacks_noun(written: tuple[WrittenWord, ...], at: int, language: str) -> bool:
    """Check whether a word replaces a noun: `which one?`, `la` of `il la vend`, `das` of `Darf sie das?`."""
    text = written[at].text
    before = written[at - 1].text if written[at].is_joined else ""
    ahead = clause_behind(written, at)
    behind = ahead[0].text if ahead else ""
    match language:
        case "en":
            is_small = not ahead or behind in MARKS["en"] or behind in HELPING
            # After `the` or `which`, as in `the lighter one`, anything may follow; else only a small word.
            is_chosen = not POINTERS.isdisjoint(word.text for word in written[max(0, at - 2) : at])
            # Not `the one I finished`, which says itself what it means.
            is_pointing = before and before not in NO_POINTERS and behind not in TELLING_WHICH
            return text in ONES and bool(is_pointing) and (is_small or is_chosen)
        case "de":
            ahead = tuple(takewhile(lambda word: word.text not in MARKS["de"], ahead))
            is_article = text in ARTICLES["de"] and (at == 0 or written[at].is_joined)
            return is_article and not any(word.is_capital for word in ahead)
        case "es":
            if text in OTHERS:
                return not ahead or behind in BEHIND_CLITIC["es"]
            # `la` of `cambiarla`
            is_pronoun = before in BEFORE_CLITIC["es"] or behind in BEHIND_CLITIC["es"] or written[at].is_tied
            return text in ARTICLES["es"] and (is_pronoun or behind == "de")
        case "fr":
            if text == "ce":  # `ce train`, but not `est-ce que` or `ce soir`
                return not written[at].is_tied and behind not in MARKS["fr"] | TIME_NOUNS | PLAIN_CE
            # `il la vend` and `l'a vendue`, but not `vend-il la ferme`
            is_object = before in BEFORE_CLITIC["fr"] and not written[at - 1].is_tied
            is_object |= text == "l" and behind in BEHIND_CLITIC["fr"]
            return text in ARTICLES["fr"] and is_object
    return False


def is_verb_alone(written: tuple[WrittenWord, ...], at: int) -> bool:
    """Check whether this is a Spanish verb whose subject is omitted: `ladra` of `¿Por qué ladra?`."""
    word, before = written[at], tuple(it.text for it in written[:at])
    is_asked = at > 0 and before[0] in ASKING and ASKED.issuperset(before)
    is_third = word.text.endswith(THIRD_PERSON) and word.text not in NO_THIRD and not word.is_capital
    is_whole = "se" not in before or word.text in REFLEXIVE
    behind = takewhile(lambda it: it.is_joined, written[at + 1 :])
    is_alone = not any(it.is_capital or it.text in MENTIONING for it in behind)
    return is_asked and is_third and is_whole and is_alone


def clause_behind(written: tuple[WrittenWord, ...], at: int) -> tuple[WrittenWord, ...]:
    """Return up to three next words, stopping at a mark."""
    return tuple(takewhile(lambda word: word.is_joined, written[at + 1 : at + 4]))


def is_taken_up(written: tuple[WrittenWord, ...], at: int, language: str, nouns: frozenset[str]) -> bool:
    """Check whether this word is a noun of the turns that nothing narrows, as `of` does in `the boss of`."""
    noun, behind = written[at : at + 1], clause_behind(written, at)[:1]
    if not noun or not noun[0].is_joined or noun[0].text not in nouns:
        return False
    is_narrowed = any(word.text in NARROWING or word.text in ONES for word in behind)
    return noun[0].is_capital == (language == "de") and not is_narrowed


def names_in(text: str, written: tuple[WrittenWord, ...], language: str) -> frozenset[int]:
    """Return the indexes of words that may be names: with a capital that their place does not explain.

    The capital of a first word counts only if the language is unknown (`Su called`), or in Spanish before
    another capital, because `Ella` is a name and a pronoun. In a title no capital counts.
    """
    # Nor does any capital of a text in capitals only.
    is_mixed = has_small(text)
    in_text = [word for word in written if not word.opens]
    is_title = all(word.is_capital or not word.written[0].isalpha() for word in in_text)
    found = set[int]()
    for at, word in enumerate(written):
        # `NASA` is a name wherever it stands, but not in `WHAT DID NASA SAY`.
        is_acronym = is_mixed and len(word.text) > 1 and is_capital(word.written)
        is_full = language == "es" and any(it.is_capital and it.is_joined for it in written[at + 1 : at + 2])
        is_due = not language or is_full if word.opens else not is_title
        if word.text != "i" and (is_acronym or (is_mixed and word.is_capital and is_due)):
            found.add(at)
    return frozenset(found)


def counts(
    pattern: Pattern, written: tuple[WrittenWord, ...], at: int, language: str, names: frozenset[int]
) -> bool:
    """Check whether a term that matches here has the language of the text and is a reference."""
    own = LANGUAGES[pattern.term]
    # Chinese terms count in every text, and a text of unknown language takes terms of every language.
    if own != "zh" and language not in ("", own):
        return False
    if len(pattern.places) > 1:
        return True
    # The `il` of `Quand le train part-il ?` means the train of the query itself.
    verb = at - 1 - (at > 0 and written[at - 1].text == "t")
    own_nouns = (n for n in range(verb - 1) if written[n].text in ("le", "la", "les"))
    if written[at].is_tied and any(all(it.is_joined for it in written[n + 1 : at]) for n in own_nouns):
        return False
    # At the end of a clause, `sein` is a verb: `Wie warm soll es sein?`.
    if pattern.term == "sein" and at and not any(it.is_joined for it in written[at + 1 : at + 2]):
        return False
    # The `there` of `There's a cat` refers to no place.
    is_existing = written[at].written.casefold().replace("’", "'") == "there's"
    return not (at in names or is_existing or opens_clause(written, at, names))


def opens_clause(written: tuple[WrittenWord, ...], at: int, names: frozenset[int]) -> bool:
    """Check whether this `that` begins a relative clause: `the place that serves ramen`."""
    if written[at].text != "that" or not all(word.is_joined for word in written[at : at + 2]):
        return False
    before, behind = written[at - 1].text, [word.text for word in written[at + 1 : at + 2]]
    if before in POINTING or not behind:
        return False
    is_noun = before in INDEFINITE or (at > 1 and written[at - 2].text in DETERMINERS)
    return is_noun or behind[0] in CLAUSE_OPENING or at + 1 in names


def may_have_noun(term: str) -> bool:
    """Check whether a noun may follow a term and belong to it: `this plan`, `那本书`."""
    return term in BEFORE_NOUN or (term[0] in "那这" and term[-1] in MEASURES)


def noun_behind(written: tuple[WrittenWord, ...], at: int, end: int, term: str) -> Iterator[str]:
    """Yield the noun of a demonstrative, which its antecedent may replace, too: `plan` of `like this plan`.

    After an auxiliary and `that` in English, no noun is found, because it may be a verb: `Why did that fail?`
    """
    if term in ONES:
        # `cheaper` of `the cheaper one`, because a rewrite may be `the flat in Leith`.
        yield from (it.text for it in written[max(0, at - 1) : at] if written[at].is_joined and at > 1)
    if not may_have_noun(term):
        return
    if is_dense(term[0]):
        noun = written[end : end + 2]
        if not any(word.text in NO_NOUN_CHARACTERS or not word.is_joined for word in noun):
            yield from (word.text for word in noun)
        return
    is_free = at > 0 and written[at].is_joined and written[at - 1].text not in HELPING
    is_free |= LANGUAGES.get(term) != "en"
    for word in written[end : end + 1] if is_free else ():
        if word.is_joined and word.is_capital == (LANGUAGES.get(term) == "de"):
            yield word.text
