"""Antecedents: whether a reference may mean the words that a rewrite puts in its place.

A kind is a letter (see tables.py): `m` a man, `f` a woman, `s` several, `n` a thing, `l` a place, `t` a time;
`M`, `F` and `S` are masculine, feminine and several things. A run is the words in the place of a reference.

Law 1. A rewrite is refused only if its words have another kind than the reference (`she` is no Monday and no
       Bob), or if the turns have a better antecedent. Words of unknown kind fit any reference.
Law 2. The tables are frozen: a changed word changes recorded runs.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

from umi_core.data import Data
from umi_core.language.languages import WrittenWord, stem, written_words
from umi_core.language.names import FIRST_NAME_ROWS
from umi_core.language.pronouns import phrase
from umi_core.language.tables import (
    ACTING,
    AND,
    ARTICLES,
    BEFORE_PLACE,
    BEFORE_PLACE_NOUN,
    CHINESE_PERSON_ROWS,
    CHOICES,
    DAYS,
    DIAS,
    FORMER,
    GENDER_ROWS,
    JOURS,
    LATTER,
    MARKS,
    MEASURES,
    MIXED,
    NAME_CHARACTERS,
    NAME_STARTS,
    NOUNLESS,
    NUMBERS,
    OBJECTS,
    OFFERS,
    ONES,
    OTHER_WORDS,
    OTHERS,
    PERSON_NOUN_ROWS,
    PERSONAL_VERBS,
    PLACE_ENDS,
    PLACE_NOUNS,
    PLURALS,
    POINTERS,
    PREPOSITIONS,
    QUANTIFIERS,
    SAME,
    SUBJECTS,
    TAGE,
    TERM_KIND_ROWS,
    TIME_NOUNS,
    TRADING_VERBS,
)
from umi_core.language.words import content

Kinds = frozenset[str]
GENDERED: Final = ("de", "es", "fr")
Line = tuple[WrittenWord, ...]  # a sentence

ANY: Final = frozenset("mfsSnltMF")
PERSONS: Final = frozenset("mfs")
THING: Final = frozenset("nlS")
NONE: Final = frozenset[str]()


def letters_by_word(rows: tuple[tuple[str, str], ...], separator: str | None = None) -> dict[str, Kinds]:
    """Return the kinds of each word: the letters of all rows that have the word."""
    found: dict[str, Kinds] = {}
    for letters, row in rows:
        for word in row.split(separator):
            found[word] = found.get(word, frozenset()) | frozenset(letters)
    return found


WANTED: Final = letters_by_word(TERM_KIND_ROWS, ", ")
NOUNS: Final = letters_by_word(PERSON_NOUN_ROWS)
FIRST_NAMES: Final = letters_by_word(FIRST_NAME_ROWS)
GENDERS: Final = letters_by_word(GENDER_ROWS)
# Words before a name that show that it is a person's: `sister`, `Mr`, a first name.
PERSON_WORDS: Final = (
    {word: kinds for word, kinds in NOUNS.items() if word not in MIXED}
    | FIRST_NAMES
    | letters_by_word((("m", "m hr sr"), ("f", "mme mlle sra srta")))
)
OWNERS: Final = frozenset("the a an my your our his her their new old".split())
IN_CHINESE: Final = letters_by_word(CHINESE_PERSON_ROWS)
SHOWING: Final = GENDERS.keys() | OWNERS
# Articles and owners before a single thing of known gender.
ONE: Final = OWNERS | {word for word, kinds in GENDERS.items() if len(kinds) == 1} - {"die", "der", "du"}
DEFINITE: Final = frozenset[str]().union(*ARTICLES.values()) - OTHERS
SMALL: Final = frozenset[str]().union(*MARKS.values())
TRADING_STEMS: Final = frozenset(stem(word, language) for language in GENDERED for word in TRADING_VERBS)
TIMES: Final = frozenset("/".join((DAYS, TAGE, DIAS, JOURS)).split("/")) - {"may"} | TIME_NOUNS


class Talk(Data):
    """The turns of a talk, newest first, and a rewrite of the query: where antecedents are looked up."""

    texts: tuple[str, ...]  # the turns, then the rewrite
    language: str
    asked: tuple[str, ...] = ()  # the words of the query outside of its references

    def may_mean(self, term: str, noun: str, run: tuple[str, ...], is_subject: bool) -> bool:
        """Check whether a reference may mean the run: `Is he nice?` -> `Is Tom nice?`, not `Is Ann nice?`.

        `noun`: of `that boss` or `the boss`, else "".
        """
        wanted = self.wanted_of(term, noun, is_subject)
        if self.is_out_of_rank(term, run):
            return False
        if wanted is None:
            return True
        if any(is_chinese(word) for word in run):
            kinds = kinds_in_chinese("".join(run), self.texts[:-1])
            is_open = len(wanted) > 1 or not kinds >= {"m", "f"}
            return not wanted.isdisjoint(kinds) and (is_open or not self.has_chinese(wanted))
        if "s" in wanted and self.are_several(run):
            return True
        every = [kinds_of(word, self.texts, self.language) for word in run]
        if self.is_passed_over(term, noun, wanted, run):
            return False
        is_open = term not in SUBJECTS and not wanted <= PERSONS
        # `They` is not one man or one woman, but may be one person of unknown gender.
        is_plural = WANTED.get(term, NONE) >= PERSONS and "n" not in WANTED[term]
        return any(
            not wanted.isdisjoint(it)
            and not (is_plural and len(it) == 1 and it <= PERSONS - {"s"})
            and (is_open or is_sure(it) or not self.has_rival(wanted))
            for it in every
        )

    def is_passed_over(self, term: str, noun: str, wanted: Kinds, run: tuple[str, ...]) -> bool:
        """Check whether the turns have a better antecedent than the run: `a lamp from the shop` for `it`."""
        is_choice = term in CHOICES and (term not in ONES or not POINTERS.isdisjoint(self.asked))
        is_choice |= not OTHER_WORDS.isdisjoint(phrase(term))
        if term in CHOICES and is_choice and not self.is_offered(run):
            return True
        # `the same` and `which` mean no person: `Is the same open?` is not `Is Sergio open?`
        is_thing_chosen = is_choice or not SAME.isdisjoint(term.split()) or self.is_unlisted(term, run)
        if is_thing_chosen and not FIRST_NAMES.keys().isdisjoint(run):
            return True
        if (is_choice or term in ACTING) and self.is_said_of_another(wanted, run, is_choice):
            return True
        if noun or wanted.isdisjoint("nMF") or not wanted.isdisjoint("lt"):
            return False
        is_person = any(kinds_of(word, self.texts, self.language) <= PERSONS for word in run)
        return not is_person and self.is_beside(wanted, run)

    def wanted_of(self, term: str, noun: str, is_subject: bool) -> Kinds | None:
        """Return the kinds that a term may mean in this query; None if any."""
        wanted = wanted_by(term, noun)
        if wanted is None:
            return None
        if is_subject and term in SUBJECTS and not PERSONAL_VERBS.isdisjoint(self.asked):
            return wanted & PERSONS
        if term in OBJECTS and any(stem(word, self.language) in TRADING_STEMS for word in self.asked):
            wanted -= PERSONS
        return wanted

    def has(self, noun: str) -> bool:
        """Check whether a turn has this noun."""
        return bool(places_of(noun, self.texts[:-1])) or any(
            noun in text for text in self.texts[:-1] if is_chinese(noun)
        )

    def are_several(self, run: tuple[str, ...]) -> bool:
        """Check whether the rewrite joins two of these words: `Tom und Nicole`."""
        line = [it.text for it in written_words(self.texts[-1])]
        joined = zip(line, line[1:], line[2:], strict=False)
        return any(word in AND | OFFERS and {before, behind} <= set(run) for before, word, behind in joined)

    def has_person(self, run: tuple[str, ...]) -> bool:
        """Check whether one of these words certainly means persons, or is a noun such as `team` or `dog`."""
        return any(kinds_of(word, self.texts, self.language) <= PERSONS or word in MIXED for word in run)

    def has_rival(self, wanted: Kinds) -> bool:
        """Check whether the turns name a person who fits: Tom for `he` if the run is Vlk."""
        named = (it.text for text in self.texts[:-1] for it in written_words(text) if it.is_capital)
        kinds = (kinds_of(word, self.texts, self.language) for word in named)
        return any(it <= PERSONS and not wanted.isdisjoint(it) for it in kinds)

    def has_chinese(self, wanted: Kinds) -> bool:
        """Check whether the turns have a noun for persons that fits: `姑娘` for `她`."""
        nouns = (noun for noun, kinds in IN_CHINESE.items() if kinds == wanted)
        return any(noun in text for noun in nouns for text in self.texts[:-1])

    def is_beside(self, wanted: Kinds, run: tuple[str, ...]) -> bool:
        """Check whether the run only describes another fitting word: `the shop` in `a lamp from the shop`."""
        lines = [line for line in lines_of(self.texts[:-1]) if any(it.text in run for it in line)]
        free = [(line, at) for line in lines for at in range(len(line)) if not self.is_governed(line, at)]
        if any(line[at].text in run for line, at in free):
            return False
        return any(self.stands_out(line, at, wanted) for line, at in free)

    def is_governed(self, line: Line, at: int) -> bool:
        """Check whether a preposition is among the words before a word: `from the shop`."""
        return any(it.text in PREPOSITIONS.get(self.language, ()) for it in words_before(line, at))

    def stands_out(self, line: Line, at: int, wanted: Kinds) -> bool:
        """Check whether this word fits and is a known person, or a single thing after an article or owner."""
        kinds = kinds_of(line[at].text, self.texts, self.language)
        is_person = line[at].is_capital and kinds <= PERSONS
        is_thing = at > 0 and line[at - 1].text in ONE and kinds.isdisjoint(PERSONS | {"t"})
        return not wanted.isdisjoint(kinds) and (is_person or is_thing)

    def is_said_of_another(self, wanted: Kinds, run: tuple[str, ...], is_choice: bool) -> bool:
        """Check whether the turns state what the query asks about another antecedent, and not about the run.

        `Is he strict?` -> `Is the brother strict?` after `Tom is strict. Her brother left.`
        """
        asked = {stem(word, self.language) for word in content(self.asked) if word not in SMALL}
        stems, is_other = {stem(word, self.language) for word in run}, False
        for text in self.texts[:-1]:
            spoken: list[Line] = []
            for line in clauses_of(text):
                spoken.append(line)
                for at, it in enumerate(line):
                    is_noun = at > 0 and line[at - 1].text in SHOWING
                    if is_noun or stem(it.text, self.language) not in asked:
                        continue
                    before, earlier = line[:at], spoken[:-1]
                    # Only a pronoun leads back to an earlier sentence: `Tom came. He is strict` is about Tom.
                    if not any(word.text in ACTING - DEFINITE for word in before):
                        earlier = earlier[max(n for n, it in enumerate(spoken) if n == 0 or it[0].opens) :]
                    if not self.has_doer(before, wanted, is_choice):
                        before = next(
                            (it for it in reversed(earlier) if self.has_doer(it, wanted, is_choice)), ()
                        )
                    if any(stem(word.text, self.language) in stems for word in (*before, *line)):
                        return False
                    is_other |= self.has_doer(before, wanted, is_choice)
        return is_other

    def has_doer(self, line: Line, wanted: Kinds, is_choice: bool) -> bool:
        """Check whether a clause has a name or a noun that may be the subject of a statement."""
        return any(self.may_do(line, at, wanted, is_choice) for at in range(len(line)))

    def may_do(self, line: Line, at: int, wanted: Kinds, is_choice: bool) -> bool:
        """Check whether this word is a name or a noun that fits, and of a known kind unless in a choice."""
        text = line[at].text
        is_noun = line[at].is_capital or any(it.text in SHOWING for it in line[max(0, at - 2) : at])
        kinds = kinds_of(text, self.texts, self.language)
        is_known = is_noun and text not in SMALL | MIXED | SHOWING | NOUNLESS | ONES
        # `The kids made it` is not about `he`: several are no single person.
        is_fit = not wanted.isdisjoint(kinds) and not (kinds - wanted).issuperset("s")
        return is_known and is_fit and (is_choice or is_sure(kinds))

    def is_offered(self, run: tuple[str, ...]) -> bool:
        """Check whether the run is a choice in the turns (`two flats`, `A or B`), or they offer no choice."""
        lines = lines_of(self.texts[:-1])
        offers = [(line, at) for line in lines for at, it in enumerate(line) if it.text in OFFERS]
        stems = {stem(word, self.language) for word in run}
        for line, at in offers:
            # Choices are after a number, or on both sides of `or`.
            is_count = line[at].text in NUMBERS
            near = line[at + 1 :] if is_count else line[max(0, at - 3) : at + 4]
            if not stems.isdisjoint(stem(word.text, self.language) for word in near):
                return True
        return not offers

    def is_unlisted(self, term: str, run: tuple[str, ...]) -> bool:
        """Check whether a rank such as `the latter` gets a word that no turn joins to another: `A and B`."""
        placed = [
            (line, at) for line in lines_of(self.texts[:-1]) for at, it in enumerate(line) if it.text in run
        ]
        return is_ranked(term) and not any(
            not self.is_governed(line, at) and any(it.text in JOINTS for it in line[max(0, at - 4) : at + 5])
            for line, at in placed
        )

    def is_out_of_rank(self, term: str, run: tuple[str, ...]) -> bool:
        """Check whether a rank gets the wrong one of two: `the latter` -> `Anna` after `Anna and Colm`."""
        ranks = {term, *phrase(term), RANKS_IN_CHINESE.get(term[:2], "")}
        rewritten = (it.text for it in written_words(self.texts[-1]))
        # A rewrite that keeps the rank is never wrong: `the second flat`.
        if ranks.isdisjoint(FORMER | LATTER) or not (FORMER | LATTER).isdisjoint(rewritten):
            return False
        name = run[: run.index("那") or None] if "那" in run else run  # `徐汇` of `徐汇那套`
        is_before, is_behind = sides_of(self.texts[:-1], name)
        return not (is_behind if ranks.isdisjoint(FORMER) else is_before)

    def names(self, noun: str, run: tuple[str, ...]) -> bool:
        """Check whether the run is the name of a noun in the turns: `Mr Dunne` of `her boss, Mr Dunne`."""
        if any(is_chinese(word) for word in run):
            text = "".join(run)
            beside = (noun + text, text + noun)
            return any(it in part for part in self.texts[:-1] for it in beside)
        for line, at in places_of(noun, self.texts[:-1]):
            near = {n: abs(n - at) for n, it in enumerate(line) if n != at and it.is_capital}
            named = {n for n in near if is_name(places_of(line[n].text, self.texts), self.language)}
            nearest = min((near[n] for n in named), default=0)
            if any(line[n].text in run and near[n] <= nearest + 1 for n in named):
                return True
        return False


@lru_cache(maxsize=64)
def lines_of(texts: tuple[str, ...]) -> tuple[Line, ...]:
    """Return the sentences of all texts."""
    lines: list[list[WrittenWord]] = []
    for text in texts:
        for at, word in enumerate(written_words(text)):
            if at == 0 or word.opens:
                lines.append([])
            lines[-1].append(word)
    return tuple(map(tuple, lines))


def sides_of(texts: tuple[str, ...], run: tuple[str, ...]) -> tuple[bool, bool]:
    """Return whether the run is before, and after, a separator: a word such as `and`, or else a mark."""
    lines = lines_of(texts[::-1])
    joined = [line for line in lines if any(it.text in JOINTS for it in line)]
    marked = [line for line in lines if not all(it.is_joined for it in line[1:])]
    for some in (joined, marked, [tuple(chain(*lines_of((text,)))) for text in texts[::-1]]):
        for line in some:
            joints = [at for at, it in enumerate(line) if it.text in JOINTS]
            joints = joints or [at for at, it in enumerate(line) if at and not it.is_joined]
            spoken = tuple(it.text for it in line)
            last = spoken.index(run[-1]) if run[-1] in spoken else -1
            # After the last of several marks: `B` of `Two flats, A, B`.
            is_behind = any if some is joined else all
            if last >= 0:
                return any(last < at for at in joints), bool(joints) and is_behind(
                    at <= last for at in joints
                )
    return True, True


JOINTS: Final = AND | OFFERS - NUMBERS | {"和", "跟", "与"}


@lru_cache(maxsize=64)
def clauses_of(text: str) -> tuple[Line, ...]:
    """Return the parts of a text between punctuation marks and words that join clauses."""
    clauses: list[list[WrittenWord]] = [[]]
    for word in written_words(text):
        if not word.is_joined or word.text in BUT:
            clauses.append([])
        clauses[-1].append(word)
    return tuple(tuple(it) for it in clauses if it)


RANKS_IN_CHINESE: Final = {"第一": "前者", "第二": "后者", "最后": "后者"}
PLURAL_ENDINGS: Final = ("s", "es", "n", "en", "e", "er")
BUT: Final = AND | frozenset("but aber pero mais because weil porque while während".split())


def is_sure(kinds: Kinds) -> bool:
    """Check whether the kinds are more specific than those of an unknown name."""
    return not {"n", "l"} <= kinds or kinds.isdisjoint("mf")


def wanted_by(term: str, noun: str) -> Kinds | None:
    """Return the kinds that a term may mean; None if any."""
    if noun:
        # `the boss` is a person, `that job` is not.
        if is_chinese(noun):
            return IN_CHINESE.get(noun, THING)
        kinds = "l" if noun in PLACE_NOUNS else "t" if noun in TIME_NOUNS else ANY - {"m", "f", "t"}
        return NOUNS.get(noun, frozenset(kinds))
    # `The two` means several; `the latter` may mean anything that `one` may.
    several = not QUANTIFIERS.isdisjoint((*phrase(term), term[-1]))
    return frozenset("sS") if several else WANTED["one"] if is_ranked(term) else WANTED.get(term)


def is_ranked(term: str) -> bool:
    """Check whether a term selects one of several: `the latter`, `dem anderen`."""
    return not (FORMER | LATTER | OTHER_WORDS).isdisjoint((term, *phrase(term)))


@lru_cache(maxsize=1024)
def kinds_of(word: str, texts: tuple[str, ...], language: str) -> Kinds:
    """Return the kinds that a word may have, by its form and its contexts; the last text is the rewrite."""
    if word in TIMES:
        return frozenset("t" if word not in TIME_NOUNS else "tn")
    placed, earlier = places_of(word, texts), places_of(word, texts[:-1])
    genders = [it for words, at in placed if (it := gender_before(words, at)) is not None]
    if word in NOUNS:
        kinds = NOUNS[word] | frozenset("nMF" * (word in MIXED) + "l" * (word in PLACE_NOUNS))
        other = frozenset("MF") - NONE.union(*genders) if any(genders) and language in GENDERED else NONE
        agreeing = kinds - other - frozenset(map(str.lower, sorted(other)))  # `der Hund` does not fit `sie`
        return kinds if agreeing.isdisjoint(PERSONS) else agreeing
    if any(word.endswith(it) and word.removesuffix(it) in NOUNS for it in PLURAL_ENDINGS):
        return frozenset("sS")  # `filles`, `Freunde`
    if word in FIRST_NAMES and is_capital_everywhere(placed):
        return FIRST_NAMES[word]
    if is_name(earlier or placed, language):
        return kinds_of_name(word, earlier, language)
    before = [it.text for words, at in earlier for it in words_before(words, at)]
    own = frozenset[str]().union(*genders) if genders else frozenset("MF")
    # `a` is an article in English, a preposition in Spanish.
    is_place = word in PLACE_NOUNS or not (BEFORE_PLACE_NOUN - {"a" * (language == "en")}).isdisjoint(before)
    is_plural = word.endswith(PLURALS.get(language, ("",)))
    return own | frozenset("n" + "l" * is_place + "S" * is_plural)


def gender_before(words: tuple[WrittenWord, ...], at: int) -> Kinds | None:
    """Return the genders that the article or owner before a noun allows; None if it has neither."""
    for place in range(at - 1, max(-1, at - 3), -1):
        text = words[place].text
        if text in GENDERS:
            return GENDERS[text]
        if not words[place].is_joined:
            break
    return None


def kinds_of_name(word: str, placed: "Placed", language: str) -> Kinds:
    """Return the kinds of a name that is in no table, by the words before it."""
    before = [list(words_before(words, at)) for words, at in placed]
    persons = [PERSON_WORDS[it[0].text] for it in before if it and it[0].text in PERSON_WORDS]
    if persons:
        return frozenset[str]().union(*persons) & PERSONS
    if any(it.text in BEFORE_PLACE for some in before for it in some[:2]):
        return frozenset("l")
    owners = GENDERS.keys() if language in GENDERED else OWNERS
    # A name that always has an article or owner is a thing; `the Henderson invoice` is no Henderson.
    owned = [it[0].text in owners for it in before if it]
    if owned and all(owned) and len(owned) == len(before):
        is_plural = word.endswith("s") or any(it[0].text in ("les", "los", "las") for it in before if it)
        return frozenset("nlMF" + "sS" * is_plural)
    if any(it[0].text in ("at", "on") for it in before if it):
        return frozenset("nls")
    return frozenset("nlmfs")


Placed = list[tuple[tuple[WrittenWord, ...], int]]


def places_of(word: str, texts: tuple[str, ...]) -> Placed:
    every = map(written_words, texts)
    return [(words, at) for words in every for at, it in enumerate(words) if it.text == word]


def is_name(placed: Placed, language: str) -> bool:
    """Check whether a word always has a capital and, in German, never an article or owner before it."""
    is_noun = language == "de" and any(
        it.text in GENDERS for words, at in placed for it in words_before(words, at)
    )
    return bool(placed) and is_capital_everywhere(placed) and not is_noun


def is_capital_everywhere(placed: Placed) -> bool:
    return all(words[at].is_capital for words, at in placed)


def words_before(words: tuple[WrittenWord, ...], at: int) -> Iterator[WrittenWord]:
    """Yield up to three words before a word, nearest first: `old`, `the` and `at` of `at the old bakery`.

    Stop after a word that follows a mark or has a capital.
    """
    for place in range(at - 1, max(-1, at - 4), -1):
        yield words[place]
        if not words[place].is_joined or words[place].is_capital:
            return


# Chinese, which writes no blanks between words.


def is_chinese(word: str) -> bool:
    return "\u3400" <= word[0] <= "\u9fff"


NAME_CHARS_MAX: Final = 3  # a longer run is no single name


def kinds_in_chinese(text: str, texts: tuple[str, ...]) -> Kinds:
    """Return the kinds of a run: by a noun before it (`丈夫汪涵`), by `和` inside, else by characters."""
    whole_text, text = "\n".join(texts), re.split("[那这]", text)[0] or text
    if re.search(f"{re.escape(text)}[那这][{''.join(sorted(MEASURES - {'个', '位'}))}]", whole_text):
        return THING  # `小米那款`: a measure word for things
    before = [kinds for noun, kinds in IN_CHINESE.items() if len(kinds) == 1 and noun + text in whole_text]
    if before or text[-1] in PLACE_ENDS:
        return NONE.union(*before) or frozenset("nl")
    found = [kinds for part, kinds in IN_CHINESE.items() if part in text]
    plain = [kinds for kinds in found if len(kinds) == 1]
    plain += [frozenset(kind) for kind, some in NAME_CHARACTERS.items() if text[-1] in some]
    head = text if len(text) > NAME_CHARS_MAX else text[0]
    is_nickname = text in (text[0] * 2, f"大{text[-1]}") and (text[0] != "大" or text[-1] in NAME_STARTS)
    if (
        not NAME_STARTS.isdisjoint(head) or is_nickname
    ):  # `小周` begins like a name; `乐乐`, `大刘` are nicknames
        found.append(frozenset("mf"))
    other = THING if len(text) > NAME_CHARS_MAX else NONE
    return (NONE.union(*(plain or found)) | other) or THING
