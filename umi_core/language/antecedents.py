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
from itertools import chain, pairwise
from typing import Final

from umi_core.data import Data
from umi_core.language.languages import WrittenWord, stem, written_words
from umi_core.language.names import FIRST_NAME_ROWS, NAME_ENDINGS, NAMING
from umi_core.language.pronouns import ALONE, phrase
from umi_core.language.tables import (
    ACTING,
    AGENT_ENDINGS,
    ALSO,
    AND,
    ARTICLES,
    BEFORE_PLACE,
    BEFORE_PLACE_NOUN,
    CHINESE_ANIMALS,
    CHINESE_PERSON_ROWS,
    CHOICES,
    DAYS,
    DIAS,
    FORMER,
    GENDER_ROWS,
    HELPING,
    HIGHER,
    JOURS,
    LATTER,
    LOWER,
    MARKS,
    MEASURES,
    MIXED,
    NAME_CHARACTERS,
    NAME_STARTS,
    NARROWING,
    NO_AGENTS,
    NOUNLESS,
    NUMBERS,
    OBJECTS,
    OFFERS,
    ONES,
    OTHER_WORDS,
    OTHERS,
    OWNED_BY_THINGS,
    PERSON_NOUN_ROWS,
    PERSONAL_VERBS,
    PLACE_ENDS,
    PLACE_NOUNS,
    PLURALS,
    POINTERS,
    POINTING_CHARACTERS,
    PREPOSITIONS,
    QUANTIFIERS,
    RANKED,
    SAME,
    SUBJECTS,
    TAGE,
    TERM_KIND_ROWS,
    THING_VERBS,
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
THING_GENDERS: Final = frozenset("nMF")


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
GOVERNING: Final = BEFORE_PLACE_NOUN | NARROWING
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
    taken: Kinds = NONE  # words that other references mean
    is_named: bool = False  # the model has said what each reference means

    def without(self, taken: Kinds) -> "Talk":
        """Return the talk where other references mean the words `taken`."""
        return Talk(self.texts, self.language, self.asked, taken, self.is_named)

    def may_mean(self, term: str, noun: str, run: tuple[str, ...], is_subject: bool, owned: str = "") -> bool:
        """Check whether a reference may mean the run: `Is he nice?` -> `Is Tom nice?`, not `Is Ann nice?`.

        `noun`: of `that boss` or `the boss`, else "". `owned`: `brother` of `her brother`, else "".
        """
        wanted = self.wanted_of(term, noun, is_subject, owned)
        if self.is_out_of_rank(term, run) or self.is_other_number(term, run):
            return False
        # `那一章` must become a chapter: `第三章`.
        if term[0] in POINTING_CHARACTERS and term[-1] in RANKED and term[-1] not in "".join(run) + "次天首":
            return False
        if term.startswith(ALONE) and self.is_done_by_another(term, run):
            return False
        if wanted is None:
            return True
        if any(is_chinese(word) for word in run):
            kinds = kinds_in_chinese("".join(run), self.texts[:-1])
            is_open = len(wanted) > 1 or not kinds >= {"m", "f"}
            return not wanted.isdisjoint(kinds) and (is_open or not self.has_chinese(wanted, run))
        if "s" in wanted and self.are_several(run):
            return True
        every = [(word, kinds_of(word, self.texts, self.language)) for word in run]
        if wanted == {"s", "S"}:
            return any("S" in it or (it <= PERSONS and "s" in it) for _, it in every)
        if self.is_passed_over(term, noun, wanted, run):
            return False
        is_open = bool(noun) or (term not in SUBJECTS and not wanted <= PERSONS)
        # `They` is not one man or one woman, but may be one person of unknown gender.
        is_plural = WANTED.get(term, NONE) >= PERSONS and "n" not in WANTED[term]
        return any(
            not wanted.isdisjoint(it)
            and not (is_plural and len(it) == 1 and it <= PERSONS - {"s"})
            and (is_open or is_sure(it) or self.is_acting(word) or not self.has_rival(wanted, run))
            for word, it in every
        )

    def is_passed_over(self, term: str, noun: str, wanted: Kinds, run: tuple[str, ...]) -> bool:
        """Check whether the turns have a better antecedent than the run: `a lamp from the shop` for `it`."""
        is_choice = term in CHOICES and (term not in ONES or not POINTERS.isdisjoint(self.asked))
        is_thing = wanted.isdisjoint("mf") and "n" in wanted and not noun
        is_choice |= not OTHER_WORDS.isdisjoint(phrase(term))
        if term in CHOICES and is_choice and not self.is_offered(run):
            return True
        # `the same` and `which` mean no person: `Is the same open?` is not `Is Sergio open?`
        is_thing_chosen = is_choice or not SAME.isdisjoint(term.split()) or self.is_unlisted(term, run)
        if is_thing_chosen and not FIRST_NAMES.keys().isdisjoint(run):
            return True
        if (is_choice or term in ACTING or is_thing) and self.is_said_of_another(wanted, run, is_choice):
            return True
        if noun or wanted.isdisjoint("nMF") or not wanted.isdisjoint("lt"):
            return False
        is_person = any(kinds_of(word, self.texts, self.language) <= PERSONS for word in run)
        return not is_person and self.is_beside(wanted, run)

    def wanted_of(self, term: str, noun: str, is_subject: bool, owned: str) -> Kinds | None:
        """Return the kinds that a term may mean in this query; None if any."""
        wanted = wanted_by(term, noun)
        if term.startswith(ALONE):
            verb = frozenset(phrase(term))
            return THING | THING_GENDERS if THING_VERBS & verb else PERSONS if PERSONAL_VERBS & verb else None
        if wanted is None:
            return None
        if term == "there" and "in" in self.asked:
            wanted |= THING_GENDERS  # `Does it fit in there?`: a thing may also hold it
        if is_subject and term in SUBJECTS and not PERSONAL_VERBS.isdisjoint(self.asked):
            return wanted & PERSONS
        if term in OBJECTS and any(stem(word, self.language) in TRADING_STEMS for word in self.asked):
            wanted -= PERSONS
        # `Je l'ai achetée` shows that it is feminine.
        if term in OBJECTS and self.language == "fr" and any(word.endswith("ée") for word in self.asked):
            wanted -= frozenset("mMn")
        # Only a person has a brother: `her brother` is not the laptop's.
        is_relative = owned in NOUNS and owned not in MIXED | OWNED_BY_THINGS
        return wanted & PERSONS if is_relative and not wanted.isdisjoint(PERSONS) else wanted

    def has(self, noun: str) -> bool:
        """Check whether a turn has this noun."""
        return bool(places_of(noun, self.texts[:-1])) or any(
            noun in text for text in self.texts[:-1] if is_chinese(noun)
        )

    def is_acting(self, word: str) -> bool:
        """Check whether the model gave meanings and a turn treats a name as a person: `Krzyk has met Tom`."""
        verbs = HELPING | PERSONAL_VERBS | ACTS
        for words, at in places_of(word, self.texts[:-1]) if self.is_named else ():
            # `Mona und Tarik`: joined to a name. `Tarik hat`: before a verb of persons.
            pair = [*words[max(0, at - 2) : at][::-1], *words[at + 1 : at + 3]]
            is_pair = any(a.text in AND and b.is_capital for a, b in pairwise(pair))
            if is_pair or any(it.text in verbs for it in words[at + 1 : at + 2]):
                return True
        return False

    def is_noun(self, word: str) -> bool:
        """Check whether a word of the turns has a capital, or an article or owner before it."""
        places = places_of(word, self.texts[:-1])
        return is_chinese(word) or any(
            line[at].is_capital or any(it.text in SHOWING for it in words_before(line, at))
            for line, at in places
        )

    def is_farther(self, term: str, run: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Check whether another thing that fits is nearer to what another reference means.

        `Can he skip it?` -> `Can Sven skip the deck?` after `Mum wants the deck and I sent Sven the audit.`
        """
        wanted = wanted_by(term, "")
        if wanted is None or "n" not in wanted or not wanted.isdisjoint("ltmf"):
            return False
        clauses = [
            line
            for text in self.texts[:-1]
            for line in clauses_of(text)
            if any(it.text in other for it in line)
        ]
        talk = self.without(self.taken | frozenset(other))
        return not any(it.text in run for line in clauses for it in line) and any(
            talk.stands_out(line, at, wanted) for line in clauses for at in range(len(line))
        )

    def belongs_to_another(self, owned: str, run: tuple[str, ...]) -> bool:
        """Check whether the turns give `owned` another owner: `Leo's father` after `Mateo's father sings.`"""
        owners, found = {*run, *(word.removesuffix("s") for word in run)}, False  # Miriam of `Miriams Bruder`
        for words, at in places_of(owned, self.texts[:-1]):
            if any(it.text in owners for it in words):
                return False
            is_told = any(it.text in PREPOSITIONS.get(self.language, ()) for it in words[at + 1 : at + 2])
            near = (*words[:at], *(words[at + 2 : at + 4] if is_told else ()))
            found |= any(self.may_do(near, n, PERSONS, False) for n in range(len(near)))
        return found

    def are_several(self, run: tuple[str, ...]) -> bool:
        """Check whether the rewrite joins two of these words: `Tom und Nicole`."""
        line = [it.text for it in written_words(self.texts[-1])]
        joined = zip(line, line[1:], line[2:], strict=False)
        return any(word in AND | OFFERS and {before, behind} <= set(run) for before, word, behind in joined)

    def has_person(self, run: tuple[str, ...]) -> bool:
        """Check whether one of these words certainly means persons, or is a noun such as `team` or `dog`."""
        return any(kinds_of(word, self.texts, self.language) <= PERSONS or word in MIXED for word in run)

    def since(self, run: tuple[str, ...]) -> tuple[str, ...]:
        """Return the newest turn that has one of these words, and all later turns; all turns if none has."""
        earlier = self.texts[:-1]
        found = (at for at, text in enumerate(earlier) if any(it.text in run for it in written_words(text)))
        return earlier[: next(found, len(earlier)) + 1]

    def has_rival(self, wanted: Kinds, run: tuple[str, ...]) -> bool:
        """Check whether the turns since the run name a person who fits: Tom for `he` if the run is Vlk."""
        named = dict.fromkeys(
            it.text
            for text in self.since(run)
            for it in written_words(text)
            if it.is_capital and it.text not in self.taken
        )
        kinds = (kinds_of(word, self.texts, self.language) for word in named)
        return any(it <= PERSONS and not wanted.isdisjoint(it) for it in kinds)

    def has_chinese(self, wanted: Kinds, run: tuple[str, ...]) -> bool:
        """Check whether the turns have another person that is known to fit: `李娜` for `她`, not `司机`."""
        text, name = "\n".join(self.since(run[-1:])), "".join(run)
        # In `一个叫小美的姑娘` the noun `姑娘` means the run `小美` itself, so it is no other person.
        apart = "\n".join(part for part in CHINESE_MARK.split(text) if name not in part)
        nouns = (noun for noun, kinds in IN_CHINESE.items() if kinds == wanted)
        names = (text[at + 1 : at + 3] for at, char in enumerate(text) if char in NAME_STARTS)
        known = frozenset[str]().union(*(NAME_CHARACTERS.get(kind, NONE) for kind in wanted))
        return any(noun in apart for noun in nouns) or any(not known.isdisjoint(it) for it in names)

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
        kinds, before = kinds_of(line[at].text, self.texts, self.language), line[max(0, at - 1) : at]
        if line[at].text in self.taken:
            return False
        is_person = line[at].is_capital and kinds <= PERSONS
        # `old` of `the old man` is no thing, and `the shoes` do not fit `it`.
        is_man = any(it.text in NOUNS for it in line[at : at + 2]) or not kinds.isdisjoint(PERSONS | {"t"})
        is_thing = any(it.text in ONE for it in before) and not is_man and ("S" in wanted or "S" not in kinds)
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
                    is_noun = line[at - 1 : at] and line[at - 1].text in SHOWING
                    is_noun = is_noun or (self.language == "de" and it.is_capital and not it.opens)
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
        return is_other and ALSO.isdisjoint(self.asked)

    def has_doer(self, line: Line, wanted: Kinds, is_choice: bool) -> bool:
        """Check whether a clause has a name or a noun that may be the subject of a statement."""
        return any(self.may_do(line, at, wanted, is_choice) for at in range(len(line)))

    def may_do(self, line: Line, at: int, wanted: Kinds, is_choice: bool) -> bool:
        """Check whether this word is a name or a noun that fits, and of a known kind unless in a choice."""
        text = line[at].text
        is_noun = line[at].is_capital or any(it.text in SHOWING for it in line[max(0, at - 2) : at])
        kinds = kinds_of(text, self.texts, self.language)
        is_known = (
            is_noun
            and text not in SMALL | MIXED | SHOWING | NOUNLESS | ONES | self.taken
            and (is_choice or is_sure(kinds))
        )
        # `The kids made it` is not about `he`: several are no single person.
        return is_known and not wanted.isdisjoint(kinds) and not (kinds - wanted).issuperset("s")

    def is_done_by_another(self, term: str, run: tuple[str, ...]) -> bool:
        """Check whether the turns give the verb another subject: `El perro ladra`; `¿Por qué ladra Ana?`."""
        verbs, found = frozenset(phrase(term)), frozenset(run)
        # A sentence that begins with the verb has no subject: `Está furiosa`.
        earlier = [{it.text for it in line[1:]} for line in lines_of(self.texts[:-1])]
        doing = [line for line in earlier if verbs <= line]
        return bool(doing) and all(found.isdisjoint(line) for line in doing)

    def is_offered(self, run: tuple[str, ...]) -> bool:
        """Check whether the run is a choice in the turns (`two flats`, `A or B`), or they offer no choice."""
        lines = lines_of(self.texts[:-1])
        offers = [(line, at) for line in lines for at in range(len(line)) if is_offer(line, at)]
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

    def is_other_number(self, term: str, run: tuple[str, ...]) -> bool:
        """Check whether the run has the wrong of two numbers: B of `A 900, B 950` for `the cheaper one`."""
        # In `the cheaper one` and `便宜的那个` the comparative is outside of the term.
        beside = self.asked if term in ONES or is_chinese(term) else ()
        words = (*phrase(term), *beside, "".join(beside)[:2])
        is_lower, is_higher = not LOWER.isdisjoint(words), not HIGHER.isdisjoint(words)
        if is_lower == is_higher:
            return False
        for text in self.texts[:-1]:
            numbers = list(NUMBER.finditer(text))
            last = "".join(run) if is_chinese(run[-1]) else run[-1]
            end = text.casefold().find(last) + len(last)
            own = next((it for it in numbers if it.end() >= end), None)
            if len(numbers) == 2 and end >= len(last) and own:
                values = [int(re.sub("[.,:]", "", it[0])) for it in numbers]
                return values[numbers.index(own)] != (min if is_lower else max)(values)
        return False

    def names(self, noun: str, run: tuple[str, ...]) -> bool:
        """Check whether the run is the name of a noun in the turns: `Mr Dunne` of `her boss, Mr Dunne`."""
        if any(is_chinese(word) for word in run):
            text = "".join(run)
            parts = [part for it in self.texts[:-1] for part in CHINESE_MARK.split(it)]
            is_named = any(noun + it in part or it + noun in part for part in parts for it in NAME_STARTS)
            beside = [noun + text, text + noun] if is_named else [text]
            return any(noun in part and any(it in part for it in beside) for part in parts)
        for line, at in places_of(noun, self.texts[:-1]):
            near = {n: abs(n - at) for n in range(len(line)) if 0 < abs(n - at) <= NEAR}
            # In `My neighbour Claire has a cat` the name is the neighbour's, not the cat's.
            named = {n for n in near if line[n].is_capital and self.is_name_for(line, n, noun)}
            nearest = min((near[n] for n in named), default=0)
            if any(line[n].text in run and near[n] <= nearest + 1 for n in named):
                return True
        return False

    def is_name_for(self, line: Line, at: int, noun: str) -> bool:
        """Check whether a word is a name that does not follow another noun for persons."""
        before = {it.text for it in line[at - 1 : at]} - {noun}
        return is_name(places_of(line[at].text, self.texts), self.language) and not NOUNS.keys() & before


def is_offer(line: Line, at: int) -> bool:
    """Check whether a word offers a choice: `or`, or a number before a noun, as in `two flats`."""
    is_count = line[at].text in NUMBERS
    # `Two months` and `two of them` are no choices.
    if is_count and any(it.text.rstrip("esn") in TIME_STEMS for it in line[at + 1 : at + 2]):
        return False
    return line[at].text in OFFERS and not (
        is_count and any(it.text in SMALL for it in line[at + 1 : at + 2])
    )


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


TIME_STEMS: Final = frozenset(word.rstrip("esn") for word in TIME_NOUNS)
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
ACTS: Final = frozenset("a ont est va hat haben wird will says said wants thinks knows".split())
PLURAL_ENDINGS: Final = ("s", "es", "n", "en", "e", "er")
NUMBER: Final = re.compile("[0-9]+(?:[.,:][0-9]+)*")
BUT: Final = AND | frozenset("but aber pero mais because weil porque while während".split())
CHINESE_MARK: Final = re.compile("[，。？！；：、,.?!;:]")
NEAR: Final = 6  # the largest distance of a noun from its name, in words


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
        agreeing = kinds - other - own_persons(other)  # `der Hund` does not fit `sie`
        return kinds if agreeing.isdisjoint(PERSONS) else agreeing
    if any(word.endswith(it) and word.removesuffix(it) in NOUNS for it in PLURAL_ENDINGS):
        return frozenset("sS")  # `filles`, `Freunde`
    given = word if word in FIRST_NAMES else word.removesuffix("s")  # Miriam of `Miriams Bruder`
    if given in FIRST_NAMES and is_capital_everywhere(placed):
        return FIRST_NAMES[given]
    if is_name(earlier or placed, language):
        return kinds_of_name(word, earlier, language)
    before = [it.text for words, at in earlier for it in words_before(words, at)]
    own = frozenset[str]().union(*genders) if genders else frozenset("MF")
    # `a` is an article in English, a preposition in Spanish.
    is_place = word in PLACE_NOUNS or not (BEFORE_PLACE_NOUN - {"a" * (language == "en")}).isdisjoint(before)
    is_plural = word.endswith(PLURALS.get(language, ("",))) and own != {"M"}
    is_agent = word.endswith(AGENT_ENDINGS.get(language, ())) and word not in NO_AGENTS
    persons = own_persons(own) if language in ("de", "fr") else frozenset("mf")
    return own | frozenset("n" + "l" * is_place + "S" * is_plural) | (persons if is_agent else NONE)


def own_persons(genders: Kinds) -> Kinds:
    """Return the kinds of persons with these grammatical genders: `M` gives `m`, as for `der Lehrer`."""
    return frozenset(map(str.lower, genders))


def gender_before(words: tuple[WrittenWord, ...], at: int) -> Kinds | None:
    """Return the genders that the article or owner before a noun allows; None if it has neither."""
    for place in range(at - 1, max(-1, at - 3), -1):
        text = words[place].text
        if text == "der" and place and words[place].is_joined and words[place - 1].text in GOVERNING:
            return frozenset("F")  # after a preposition, `der` is feminine: `in der Stadt`
        if text in GENDERS:
            return GENDERS[text]
        if not words[place].is_joined:
            break
    return None


def kinds_of_name(word: str, placed: "Placed", language: str) -> Kinds:
    """Return the kinds of a name that is in no table, by the words before it and its ending."""
    before = [list(words_before(words, at)) for words, at in placed]
    persons = [PERSON_WORDS[it[0].text] for it in before if it and it[0].text in PERSON_WORDS]
    # `a woman from Osaka called Chiyo`
    for words, at in placed:
        if at and words[at - 1].text in NAMING:
            persons.extend([NOUNS[it.text] for it in words[:at] if it.text in NOUNS][-1:])
    genders = [gender for gender, endings in NAME_ENDINGS if word.endswith(endings)]
    if persons:
        kinds = frozenset[str]().union(*persons) & PERSONS
        # `the agent, Moira`: the noun allows both genders, the ending of the name shows one.
        return frozenset(genders[:1]) if {"m", "f"} <= kinds and genders else kinds
    if any(it.text in BEFORE_PLACE for some in before for it in some[:2]):
        return frozenset("l")
    owners = GENDERS.keys() if language in GENDERED else OWNERS
    # A name after an article or owner is a thing; in English only if it always has one, because of
    # `the Henderson invoice`, which does not make Henderson a thing.
    owned = [it[0].text in owners for it in before if it]
    if owned and all(owned) and len(owned) == len(before) if language == "en" else any(owned):
        is_plural = word.endswith("s") or any(it[0].text in ("les", "los", "las") for it in before if it)
        return frozenset("nlMF" + "sS" * is_plural)
    if any(it[0].text in ("at", "on") for it in before if it):
        return frozenset("nls")
    return frozenset("nl") | frozenset(genders[:1] or "mfs")


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


TOGETHER: Final = frozenset("和跟与、")
NAME_CHARS_MAX: Final = 3  # a longer run is no single name


def kinds_in_chinese(text: str, texts: tuple[str, ...]) -> Kinds:
    """Return the kinds of a run: by a noun before it (`丈夫汪涵`), by `和` inside, else by characters."""
    whole_text, text = "\n".join(texts), re.split("[那这]", text)[0] or text
    if re.search(f"{re.escape(text)}[那这][{''.join(sorted(MEASURES - {'个', '位'}))}]", whole_text):
        return THING  # `小米那款`: a measure word for things
    before = [kinds for noun, kinds in IN_CHINESE.items() if len(kinds) == 1 and noun + text in whole_text]
    if before or text[-1] in PLACE_ENDS:
        return NONE.union(*before) or frozenset("nl")
    joined = any(
        text[:at] + word + text[at:] in whole_text for at in range(1, len(text)) for word in TOGETHER
    )
    found = [kinds for part, kinds in IN_CHINESE.items() if part in text]
    plain = [kinds for kinds in found if len(kinds) == 1]
    plain += [frozenset(kind) for kind, some in NAME_CHARACTERS.items() if text[-1] in some]
    head = text if len(text) > NAME_CHARS_MAX else text[0]
    is_nickname = text in (text[0] * 2, f"大{text[-1]}") and (text[0] != "大" or text[-1] in NAME_STARTS)
    if (
        not NAME_STARTS.isdisjoint(head) or is_nickname
    ):  # `小周` begins like a name; `乐乐`, `大刘` are nicknames
        found.append(frozenset("mf"))
    other = THING if len(text) > NAME_CHARS_MAX or not CHINESE_ANIMALS.isdisjoint(text) else NONE
    several = PERSONS if joined else frozenset("s" * ("们" in text or not TOGETHER.isdisjoint(text)))
    return (NONE.union(*(plain or found)) | other | several) or THING
