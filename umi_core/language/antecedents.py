"""Antecedents: whether the words that a rewrite puts in place of a reference may be what it stands for.

A kind is a letter, as tables.py says: `m` a man, `f` a woman, `n` a thing, `l` a place.

Law 1. A rewrite is refused only if its words or the turns show another kind: `she` is no Monday and no Bob; a
       word of which nothing is known fits.
Law 2. The tables are frozen: a changed word changes recorded runs.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from umi_core.data import Data
from umi_core.language.languages import WrittenWord, written_words
from umi_core.language.tables import (
    AGENT_ENDINGS,
    BEFORE_PLACE,
    BEFORE_PLACE_NOUN,
    CHINESE_ANIMALS,
    CHINESE_PERSON_ROWS,
    DAYS,
    DIAS,
    FIRST_NAME_ROWS,
    GENDER_ROWS,
    JOURS,
    MIXED,
    NAME_CHARACTERS,
    NAME_ENDINGS,
    NAME_STARTS,
    NAMING,
    NARROWING,
    NO_AGENTS,
    PERSON_NOUN_ROWS,
    PLACE_NOUNS,
    PLURALS,
    SUBJECTS,
    TAGE,
    TERM_KIND_ROWS,
    TIME_NOUNS,
)

Kinds = frozenset[str]

ANY: Final = frozenset("mfsSnltMF")
PERSONS: Final = frozenset("mfs")
THING: Final = frozenset("nlS")
NONE: Final = frozenset[str]()
MIXED_KINDS: Final = frozenset("snMF")


def letters_by_word(rows: tuple[tuple[str, str], ...], separator: str | None = None) -> dict[str, Kinds]:
    """Return the kinds of each word; a word of several rows has those of all."""
    found: dict[str, Kinds] = {}
    for letters, row in rows:
        for word in row.split(separator):
            found[word] = found.get(word, frozenset()) | frozenset(letters)
    return found


WANTED: Final = letters_by_word(TERM_KIND_ROWS, ", ")
NOUNS: Final = letters_by_word(PERSON_NOUN_ROWS)
FIRST_NAMES: Final = letters_by_word(FIRST_NAME_ROWS)
GENDERS: Final = letters_by_word(GENDER_ROWS)
# What shows before a name that it is a person's: `sister`, `Mr`, another name.
PERSON_WORDS: Final = {word: kinds for word, kinds in NOUNS.items() if word not in MIXED} | FIRST_NAMES
GOVERNING: Final = BEFORE_PLACE_NOUN | NARROWING
OWNERS: Final = frozenset("the a an my your our his her their new old".split())
IN_CHINESE: Final = letters_by_word(CHINESE_PERSON_ROWS)
TIMES: Final = frozenset("/".join((DAYS, TAGE, DIAS, JOURS)).split("/")) - {"may"} | TIME_NOUNS


class Talk(Data):
    """The turns of a talk and a rewrite of its last question, where the words of an antecedent stand."""

    texts: tuple[str, ...]
    language: str
    is_personal: bool = False  # the query has a verb of persons

    def may_mean(self, term: str, noun: str, run: tuple[str, ...], is_subject: bool) -> bool:
        """Check whether a reference may stand for these words. `noun`: of a demonstrative or definite."""
        wanted = wanted_by(term, noun)
        if wanted is None:
            return True
        if self.is_personal and is_subject and term in SUBJECTS:
            wanted = wanted & PERSONS
        if any(is_chinese(word) for word in run):
            return not wanted.isdisjoint(kinds_in_chinese("".join(run)))
        kinds = [kinds_of(word, self.texts, self.language) for word in run]
        if "s" in wanted and not wanted.isdisjoint("mf") and self.are_several(run):
            return True
        if noun or (term not in SUBJECTS and not wanted <= PERSONS):
            return any(not wanted.isdisjoint(it) for it in kinds)
        return any(not wanted.isdisjoint(it) and (is_sure(it) or not self.has_rival(wanted)) for it in kinds)

    def are_several(self, run: tuple[str, ...]) -> bool:
        """Check whether these may be two persons: `Tom und Nicole`."""
        kinds = (kinds_of(word, self.texts, self.language) for word in run)
        return sum("m" in it or "f" in it for it in kinds) > 1

    def has_rival(self, wanted: Kinds) -> bool:
        """Check whether the turns have a person that is known to fit."""
        said = dict.fromkeys(
            it.text for text in self.texts[:-1] for it in written_words(text) if it.is_capital
        )
        kinds = (kinds_of(word, self.texts, self.language) for word in said)
        return any(it <= PERSONS and not wanted.isdisjoint(it) for it in kinds)

    def names(self, noun: str, run: tuple[str, ...]) -> bool:
        """Check whether these words name what a noun of the turns means: `her boss, Mr Dunne`."""
        places = {
            (words, at + step)
            for words, at in places_of(noun, self.texts[:-1])
            for step in range(-NEAR, NEAR + 1)
        }
        found = (places_of(word, self.texts) for word in run)
        return any(is_name(some, self.language) and not places.isdisjoint(some) for some in found)


NEAR: Final = 6  # words between a noun and the name of what it means


def is_sure(kinds: Kinds) -> bool:
    """Check whether more is known than that this is a name."""
    return not {"m", "f", "n", "l"} <= kinds


def wanted_by(term: str, noun: str) -> Kinds | None:
    """Return the kinds that a term may stand for; None if any."""
    if noun:
        # `the boss` is a person, `that job` is none.
        return NOUNS.get(noun, ANY - {"m", "f", "t"})
    return WANTED.get(term)


@lru_cache(maxsize=1024)
def kinds_of(word: str, texts: tuple[str, ...], language: str) -> Kinds:
    """Return what a word may be, by its own look and by where it stands in the texts, a rewrite last."""
    if word in TIMES:
        return frozenset("t" if word not in TIME_NOUNS else "tn")
    if word in NOUNS:
        return (
            NOUNS[word] | (MIXED_KINDS if word in MIXED else NONE) | ({"l"} if word in PLACE_NOUNS else NONE)
        )
    placed, told = places_of(word, texts), places_of(word, texts[:-1])
    if word in FIRST_NAMES and is_capital_everywhere(placed):
        return FIRST_NAMES[word]
    if is_name(told or placed, language):
        return kinds_of_name(word, told, language)
    before = [it.text for words, at in told for it in words_before(words, at)]
    genders = [it for words, at in placed if (it := gender_before(words, at)) is not None]
    own = frozenset[str]().union(*genders) if genders else frozenset("MF")
    is_place = word in PLACE_NOUNS or not BEFORE_PLACE_NOUN.isdisjoint(before)
    is_plural = word.endswith(PLURALS.get(language, ("",))) and own != {"M"}
    is_agent = word.endswith(AGENT_ENDINGS.get(language, ())) and word not in NO_AGENTS
    persons = own_persons(own) if language in ("de", "fr") else frozenset("mf")
    return own | frozenset("n" + "l" * is_place + "S" * is_plural) | (persons if is_agent else NONE)


def own_persons(genders: Kinds) -> Kinds:
    """Return the persons of these genders: a `Lehrer` is a man."""
    return frozenset(map(str.lower, genders))


def gender_before(words: tuple[WrittenWord, ...], at: int) -> Kinds | None:
    """Return the gender that an article or an owner before a noun shows; None without either."""
    for place in range(at - 1, max(-1, at - 3), -1):
        text = words[place].text
        if text == "der" and place and words[place].is_joined and words[place - 1].text in GOVERNING:
            return frozenset("F")  # `in der Stadt`
        if text in GENDERS:
            return GENDERS[text]
        if not words[place].is_joined:
            break
    return None


def kinds_of_name(word: str, told: "Placed", language: str) -> Kinds:
    """Return the kinds of a name that no list has."""
    before = [list(words_before(words, at)) for words, at in told]
    persons = [PERSON_WORDS[it[0].text] for it in before if it and it[0].text in PERSON_WORDS]
    # `a woman from Osaka called Chiyo`
    for words, at in told:
        if at and words[at - 1].text in NAMING:
            persons.extend([NOUNS[it.text] for it in words[:at] if it.text in NOUNS][-1:])
    if persons:
        return frozenset[str]().union(*persons) & PERSONS
    if any(it.text in BEFORE_PLACE for some in before for it in some[:2]):
        return frozenset("l")
    owners = GENDERS.keys() if language in ("de", "es", "fr") else OWNERS
    if any(it[0].text in owners for it in before if it):
        return frozenset("nlMF" + "sS" * word.endswith("s"))
    if any(it[0].text in ("at", "on") for it in before if it):
        return frozenset("nls")
    genders = [gender for gender, endings in NAME_ENDINGS if word.endswith(endings)]
    return frozenset("nlsMF") | frozenset(genders[:1] or "mf")


Placed = list[tuple[tuple[WrittenWord, ...], int]]


def places_of(word: str, texts: tuple[str, ...]) -> Placed:
    every = map(written_words, texts)
    return [(words, at) for words in every for at, it in enumerate(words) if it.text == word]


def is_name(placed: Placed, language: str) -> bool:
    """Check whether a word has a capital wherever it stands; in German also that no article is before it."""
    is_noun = language == "de" and any(
        it.text in GENDERS for words, at in placed for it in words_before(words, at)
    )
    return bool(placed) and is_capital_everywhere(placed) and not is_noun


def is_capital_everywhere(placed: Placed) -> bool:
    return all(words[at].is_capital for words, at in placed)


def words_before(words: tuple[WrittenWord, ...], at: int) -> Iterator[WrittenWord]:
    """Yield the word before, and the two before that if they belong together: `at the old bakery`."""
    for place in range(at - 1, max(-1, at - 4), -1):
        yield words[place]
        if not words[place].is_joined or words[place].is_capital:
            return


# Chinese, whose words are not parted.


def is_chinese(word: str) -> bool:
    return "\u3400" <= word[0] <= "\u9fff"


NAME_CHARS_MAX: Final = 4  # a longer run is a clause


def kinds_in_chinese(text: str) -> Kinds:
    found = [kinds for part, kinds in IN_CHINESE.items() if part in text]
    plain = [kinds for kinds in found if len(kinds) == 1]
    plain += [frozenset(kind) for kind, some in NAME_CHARACTERS.items() if text[-1] in some]
    head = text if len(text) > NAME_CHARS_MAX else text[0]
    if not NAME_STARTS.isdisjoint(head):
        found.append(frozenset("mf"))
    other = THING if len(text) > NAME_CHARS_MAX or not CHINESE_ANIMALS.isdisjoint(text) else frozenset[str]()
    several = "s" if set("和跟与们") & set(text) else ""
    return (frozenset[str]().union(*(plain or found)) | other | frozenset(several)) or THING
