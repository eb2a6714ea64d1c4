"""Read antecedents: whether words may be what a reference stands for, by tables and turns (M13.8d)."""

from collections.abc import Iterator, Sequence
from typing import Final

from tests.properties.text_reference import Spoken, spoken_words
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

# he      m          Mr Dunne, Helen's brother, Deepak if no other man is known
# it      n, M, F    the lamp, l'Ibis
# there   l          Leeds, the bakery
# they    m, f, s, S Tom und Nicole, the Petersons

EVERY: Final = "mfsSnltMF"


def letters(rows: Sequence[tuple[str, str]], word: str, parted_by: str | None = None) -> str:
    """Return the letters of all rows that have a word."""
    return "".join(kinds for kinds, row in rows if word in row.split(parted_by))


def wanted_by(term: str, noun: str) -> str:
    if noun:
        return letters(PERSON_NOUN_ROWS, noun) or "sSnlMF"
    return letters(TERM_KIND_ROWS, term, ", ")


def may_mean(
    term: str, noun: str, run: Sequence[str], texts: Sequence[str], language: str, is_personal: bool
) -> bool:
    """Return True if these words may be what a term means; the last of the texts is the rewrite.

    `is_personal`: the term is the subject of a verb of persons.
    """
    wanted = wanted_by(term, noun)
    if wanted == "":
        return True
    if is_personal and term in SUBJECTS:
        wanted = "".join(each for each in wanted if each in "mfs")
    if any("\u3400" <= word[0] <= "\u9fff" for word in run):
        return shares(wanted, kinds_in_chinese("".join(run)))
    kinds = [kinds_of(word, texts, language) for word in run]
    if "s" in wanted and shares(wanted, "mf") and are_several(run, texts, language):
        return True
    is_of_persons = noun == "" and (term in SUBJECTS or all(each in "mfs" for each in wanted))
    for it in kinds:
        is_open = is_of_persons and all(each in it for each in "mfnl")
        if shares(wanted, it) and not (is_open and is_known_elsewhere(wanted, texts, language)):
            return True
    return False


def are_several(run: Sequence[str], texts: Sequence[str], language: str) -> bool:
    return len([word for word in run if shares(kinds_of(word, texts, language), "mf")]) > 1


def shares(some: str, others: str) -> bool:
    return any(each in others for each in some)


def is_known_elsewhere(wanted: str, texts: Sequence[str], language: str) -> bool:
    said = [it.text for text in texts[:-1] for it in spoken_words(text) if it.is_big]
    kinds = (kinds_of(word, texts, language) for word in said)
    return any(shares(wanted, it) and all(each in "mfs" for each in it) for it in kinds)


def kinds_of(word: str, texts: Sequence[str], language: str) -> str:
    if word in TIME_NOUNS:
        return "tn"
    if word in "/".join((DAYS, TAGE, DIAS, JOURS)).split("/") and word != "may":
        return "t"
    if noun := letters(PERSON_NOUN_ROWS, word):
        return noun + ("snMF" if word in MIXED else "") + ("l" if word in PLACE_NOUNS else "")
    every, told = list(uses(word, texts)), list(uses(word, texts[:-1]))
    given = letters(FIRST_NAME_ROWS, word)
    if given and all(line[at].is_big for line, at in every):
        return given
    if is_name(told or every, language):
        return kinds_of_name(word, told, language)
    shown = [found for line, at in every if (found := gender_at(line, at)) is not None]
    own = "".join(shown) if shown else "MF"
    kinds = own + "n"
    if word in PLACE_NOUNS or any(it.text in BEFORE_PLACE_NOUN for use in told for it in nearest(*use)):
        kinds += "l"
    if word.endswith(PLURALS.get(language, ("",))) and set(own) != {"M"}:
        kinds += "S"
    if word.endswith(AGENT_ENDINGS.get(language, ())) and word not in NO_AGENTS:
        kinds += own.lower() if language in ("de", "fr") else "mf"
    return kinds


def kinds_of_name(word: str, told: Sequence[tuple[list[Spoken], int]], language: str) -> str:
    before = [list(nearest(*use)) for use in told]
    first = [its[0].text for its in before if its]
    persons = "".join(letters(PERSON_NOUN_ROWS, it) for it in first if it not in MIXED)
    persons += "".join(letters(FIRST_NAME_ROWS, it) for it in first)
    for line, at in told:
        if at > 0 and line[at - 1].text in NAMING:
            nouns = [letters(PERSON_NOUN_ROWS, it.text) for it in line[:at]]
            persons += ([it for it in nouns if it] or [""])[-1]
    if persons:
        return "".join(each for each in persons if each in "mfs")
    if any(it.text in BEFORE_PLACE for its in before for it in its[:2]):
        return "l"
    owners = ["the", "a", "an", "my", "your", "our", "his", "her", "their", "new", "old"]
    if language in ("de", "es", "fr"):
        owners = " ".join(row for _, row in GENDER_ROWS).split()
    if any(it in owners for it in first):
        return "nlMF" + ("sS" if word.endswith("s") else "")
    if any(it in ("at", "on") for it in first):
        return "nls"
    ends = [gender for gender, endings in NAME_ENDINGS if word.endswith(endings)]
    return "nlsMF" + (ends[0] if ends else "mf")


def gender_at(line: list[Spoken], at: int) -> str | None:
    """Return the genders that the article shows which is one or two words before; None without one."""
    for place in (at - 1, at - 2):
        if place < 0:
            return None
        text = line[place].text
        behind = line[place - 1].text if place > 0 and line[place].belongs else ""
        if text == "der" and behind in BEFORE_PLACE_NOUN | NARROWING:
            return "F"
        if any(text in row.split() for _, row in GENDER_ROWS):
            return letters(GENDER_ROWS, text)
        if not line[place].belongs:
            return None
    return None


def uses(word: str, texts: Sequence[str]) -> Iterator[tuple[list[Spoken], int]]:
    for text in texts:
        line = spoken_words(text)
        yield from ((line, at) for at in range(len(line)) if line[at].text == word)


def nearest(line: list[Spoken], at: int) -> Iterator[Spoken]:
    """Yield up to three words before a place, the nearest first, as far as a mark or a capital."""
    for it in reversed(line[max(0, at - 3) : at]):
        yield it
        if it.is_big or not it.belongs:
            break


def is_name(found: Sequence[tuple[list[Spoken], int]], language: str) -> bool:
    articles = " ".join(row for _, row in GENDER_ROWS).split() if language == "de" else []
    is_noun = any(it.text in articles for use in found for it in nearest(*use))
    return found != [] and not is_noun and all(line[at].is_big for line, at in found)


def is_named(noun: str, run: Sequence[str], texts: Sequence[str], language: str) -> bool:
    """Return True if a name of these words stands within six words of a noun, in one turn, or none has it."""
    if not any(it.text == noun for text in texts[:-1] for it in spoken_words(text)):
        return True
    named = [word for word in run if is_name(list(uses(word, texts)), language)]
    for text in texts[:-1]:
        line = [it.text for it in spoken_words(text)]
        for at, word in enumerate(line):
            if word in named and noun in line[max(0, at - 6) : at + 7]:
                return True
    return False


def kinds_in_chinese(text: str) -> str:
    every = [kinds for kinds, row in CHINESE_PERSON_ROWS if any(part in text for part in row.split())]
    sure = [it for it in every if it != "mf"]
    sure += [kind for kind, some in NAME_CHARACTERS.items() if text[-1] in some]
    begins = any(char in NAME_STARTS for char in (text if len(text) > 4 else text[0]))
    found = "".join(sure) or ("mf" if "mf" in every or begins else "")
    if len(text) > 4 or any(char in text for char in CHINESE_ANIMALS):
        found += "nlS"
    if any(char in text for char in "和跟与们"):
        found += "s"
    return found or "nlS"
