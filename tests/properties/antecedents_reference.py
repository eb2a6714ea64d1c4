"""Read antecedents: whether words may be what a reference stands for, by tables and turns (M13.8d)."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from tests.properties.text_reference import Spoken, bare, spoken_words
from umi_core.data import Data
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
    FIRST_NAME_ROWS,
    GENDER_ROWS,
    JOURS,
    MARKS,
    MIXED,
    NAME_CHARACTERS,
    NAME_ENDINGS,
    NAME_STARTS,
    NAMING,
    NARROWING,
    NO_AGENTS,
    NUMBERS,
    OBJECTS,
    OFFERS,
    ONES,
    OTHERS,
    OWNED_BY_THINGS,
    PERSON_NOUN_ROWS,
    PERSONAL_VERBS,
    PLACE_ENDS,
    PLACE_NOUNS,
    PLURALS,
    POINTERS,
    PREPOSITIONS,
    SAME,
    STOP_WORDS,
    SUBJECTS,
    TAGE,
    TERM_KIND_ROWS,
    THING_VERBS,
    TIME_NOUNS,
    TRADING_VERBS,
)

# he      m          Mr Dunne, Helen's brother, Deepak if no other man is known
# it      n, M, F    the lamp, l'Ibis
# there   l          Leeds, the bakery
# they    m, f, s, S Tom und Nicole, the Petersons

OWNERS: Final = "the a an my your our his her their new old".split()
SHOWING: Final = [*OWNERS, *(word for _, row in GENDER_ROWS for word in row.split())]
SMALL: Final = [word for marks in MARKS.values() for word in marks]
DEFINITE: Final = [word for row in ARTICLES.values() for word in row if word not in OTHERS]
GENDERED: Final = ("de", "es", "fr")


def letters(rows: Sequence[tuple[str, str]], word: str, parted_by: str | None = None) -> str:
    """Return the letters of all rows that have a word."""
    return "".join(kinds for kinds, row in rows if word in row.split(parted_by))


def wanted_by(term: str, noun: str) -> str:
    if noun and is_chinese(noun):
        return letters(CHINESE_PERSON_ROWS, noun) or "nlS"
    if noun:
        return letters(PERSON_NOUN_ROWS, noun) or ("l" if noun in PLACE_NOUNS else "sSnlMF")
    return letters(TERM_KIND_ROWS, term, ", ")


def is_chinese(word: str) -> bool:
    return "\u3400" <= word[0] <= "\u9fff"


def only(kinds: str, allowed: str) -> str:
    return "".join(each for each in kinds if each in allowed)


class Asked(Data):
    """A query: the turns, newest first, the rewrite, the language, and the words outside references."""

    texts: tuple[str, ...]
    rewrite: str
    language: str
    words: tuple[str, ...]

    @property
    def every(self) -> tuple[str, ...]:
        return (*self.texts, self.rewrite)

    def kinds_of(self, word: str) -> str:
        return kinds_of(word, self.every, self.language)

    def lines(self) -> Iterator[list[Spoken]]:
        """Yield the sentences of the turns."""
        for text in self.texts:
            line = spoken_words(text)
            starts = [at for at, it in enumerate(line) if at == 0 or it.begins]
            for start, end in pairwise([*starts, len(line)]):
                yield line[start:end]


def may_mean(
    term: str, noun: str, run: Sequence[str], asked: Asked, is_subject: bool, owned: str = ""
) -> bool:
    """Return True if these words may be what a term means."""
    if term.startswith("… "):
        verb = [it.text for it in spoken_words(term)]
        # `El perro ladra` says who barks.
        doing = [line for line in asked.lines() if all(any(it.text == v for it in line[1:]) for v in verb)]
        if doing and not any(it.text in run for line in doing for it in line[1:]):
            return False
        if any(each in THING_VERBS for each in verb):
            wanted = "nlSMF"
        elif any(each in PERSONAL_VERBS for each in verb):
            wanted = "mfs"
        else:
            return True
    else:
        wanted = wanted_by(term, noun)
        if wanted == "":
            return True
        wanted = narrowed(wanted, term, asked, is_subject, owned)
    if any(is_chinese(word) for word in run):
        kinds = kinds_in_chinese("".join(run), asked.texts)
        is_guess = len(set(wanted)) == 1 and "m" in kinds and "f" in kinds
        return shares(wanted, kinds) and not (is_guess and is_chinese_known(wanted, run, asked))
    if "s" in wanted and are_several(run, asked.rewrite):
        return True
    if is_passed_over(term, noun, wanted, run, asked):
        return False
    is_of_persons = noun == "" and (term in SUBJECTS or all(each in "mfs" for each in wanted))
    for word in run:
        it = asked.kinds_of(word)
        if shares(wanted, it) and not (
            is_of_persons and not is_sure(it) and is_known_elsewhere(wanted, run, asked)
        ):
            return True
    return False


def narrowed(wanted: str, term: str, asked: Asked, is_subject: bool, owned: str) -> str:
    """Return what a term stands for beside the other words of the query."""
    if is_subject and term in SUBJECTS and any(word in PERSONAL_VERBS for word in asked.words):
        return only(wanted, "mfs")
    if term in OBJECTS:
        traded = [bare(verb, language) for language in GENDERED for verb in TRADING_VERBS]
        if any(bare(word, asked.language) in traded for word in asked.words):
            wanted = only(wanted, "SnltMF")
        if asked.language == "fr" and any(word.endswith("ée") for word in asked.words):
            wanted = only(wanted, "fsSltF")
    is_relative = letters(PERSON_NOUN_ROWS, owned) != "" and owned not in MIXED | OWNED_BY_THINGS
    return only(wanted, "mfs") if is_relative and shares(wanted, "mfs") else wanted


def is_passed_over(term: str, noun: str, wanted: str, run: Sequence[str], asked: Asked) -> bool:
    chooses = term in CHOICES and (term not in ONES or any(word in POINTERS for word in asked.words))
    if chooses and not is_offered(run, asked):
        return True
    is_same = any(word in SAME for word in term.split())
    if (chooses or is_same) and any(letters(FIRST_NAME_ROWS, word) for word in run):
        return True
    if (chooses or term in ACTING) and is_about_another(wanted, run, asked, chooses):
        return True
    if noun or not shares(wanted, "nMF") or shares(wanted, "lt"):
        return False
    is_person = any(all(it in "mfs" for it in asked.kinds_of(word)) for word in run)
    return not is_person and is_beside(wanted, run, asked)


def is_offered(run: Sequence[str], asked: Asked) -> bool:
    """Return True if no turn counts things or lets one choose, or these are among them."""
    near, found = list[str](), False
    for line in asked.lines():
        for at, it in enumerate(line):
            if it.text in NUMBERS and any(each.text in SMALL for each in line[at + 1 : at + 2]):
                continue
            if it.text in NUMBERS:
                near += [each.text for each in line[at + 1 :]]
            elif it.text in OFFERS:
                near += [each.text for each in line[max(0, at - 3) : at + 4]]
            found = found or it.text in OFFERS
    stems = [bare(word, asked.language) for word in near]
    return not found or any(bare(word, asked.language) in stems for word in run)


def is_about_another(wanted: str, run: Sequence[str], asked: Asked, chooses: bool) -> bool:
    """Return True if a turn says before a word of the query who or what does or is so, and not these."""
    own_words = [bare(it, asked.language) for it in asked.words if it not in STOP_WORDS and it not in SMALL]
    these, others = [bare(word, asked.language) for word in run], False
    for line in asked.lines():
        for at, it in enumerate(line):
            behind_article = at > 0 and line[at - 1].text in SHOWING
            big_noun = asked.language == "de" and it.is_big and not it.begins
            if behind_article or big_noun or bare(it.text, asked.language) not in own_words:
                continue
            if any(bare(each.text, asked.language) in these for each in line[:at]):
                return False
            if any(each.text in ACTING and each.text not in DEFINITE for each in line[:at]):
                continue
            for n, each in enumerate(line[:at]):
                is_noun = each.is_big or any(it.text in SHOWING for it in line[max(0, n - 2) : n])
                is_noun = is_noun and each.text not in [*SMALL, *MIXED, *SHOWING]
                kinds = asked.kinds_of(each.text)
                is_group = "s" in kinds and "s" not in wanted
                if is_noun and (chooses or is_sure(kinds)) and shares(kinds, wanted) and not is_group:
                    others = True
    return others and not any(word in ALSO for word in asked.words)


def is_beside(wanted: str, run: Sequence[str], asked: Asked) -> bool:
    """Return True if these stand behind prepositions alone, and something in their sentences does not."""
    small = PREPOSITIONS.get(asked.language, frozenset())
    found = False
    for line in asked.lines():
        if not any(it.text in run for it in line):
            continue
        for at, it in enumerate(line):
            if any(each.text in small for each in nearest(line, at)):
                continue
            if it.text in run:
                return False
            kinds = asked.kinds_of(it.text)
            if not shares(kinds, wanted):
                continue
            if it.is_big and all(each in "mfs" for each in kinds):
                found = True
            nouns = [letters(PERSON_NOUN_ROWS, each.text) for each in line[at : at + 2]]
            is_person = shares(kinds, "mfst") or any(nouns)
            is_many = "S" in kinds and "S" not in wanted
            if at > 0 and is_of_one(line[at - 1].text) and not is_person and not is_many:
                found = True
    return found


def is_of_one(word: str) -> bool:
    """Return True for an article or owner of one thing whose gender it shows."""
    return word in OWNERS or (len(set(letters(GENDER_ROWS, word))) == 1 and word not in ("die", "der", "du"))


def is_sure(kinds: str) -> bool:
    return not ("n" in kinds and "l" in kinds) or not shares(kinds, "mf")


def turns_since(run: Sequence[str], asked: Asked) -> list[str]:
    """Return the turns that are no older than the newest one with these words."""
    found = list[str]()
    for text in asked.texts:
        found.append(text)
        if any(it.text in run for it in spoken_words(text)):
            break
    return found


def is_chinese_known(wanted: str, run: Sequence[str], asked: Asked) -> bool:
    text = "\n".join(turns_since(run[-1:], asked))
    nouns = [part for kinds, row in CHINESE_PERSON_ROWS for part in row.split()]
    if any(part in text and set(letters(CHINESE_PERSON_ROWS, part)) == set(wanted) for part in nouns):
        return True
    known = "".join(char for kind in wanted for char in NAME_CHARACTERS.get(kind, ""))
    return any(
        text[at] in NAME_STARTS and any(char in known for char in text[at + 1 : at + 3])
        for at in range(len(text))
    )


def are_several(run: Sequence[str], rewrite: str) -> bool:
    """Return True if the rewrite joins two of these: `Tom und Nicole`."""
    line = [it.text for it in spoken_words(rewrite)]
    return any(
        line[at] in AND and line[at - 1] in run and line[at + 1] in run for at in range(1, len(line) - 1)
    )


def shares(some: str, others: str) -> bool:
    return any(each in others for each in some)


def is_known_elsewhere(wanted: str, run: Sequence[str], asked: Asked) -> bool:
    names = [it.text for text in turns_since(run, asked) for it in spoken_words(text) if it.is_big]
    kinds = [asked.kinds_of(word) for word in names]
    return any(shares(wanted, it) and all(each in "mfs" for each in it) for it in kinds)


def kinds_of(word: str, texts: Sequence[str], language: str) -> str:
    if word in TIME_NOUNS:
        return "tn"
    if word in "/".join((DAYS, TAGE, DIAS, JOURS)).split("/") and word != "may":
        return "t"
    every, earlier = list(uses(word, texts)), list(uses(word, texts[:-1]))
    shown = [found for line, at in every if (found := gender_at(line, at)) is not None]
    if noun := letters(PERSON_NOUN_ROWS, word):
        noun += ("nMF" if word in MIXED else "") + ("l" if word in PLACE_NOUNS else "")
        # `Der Hund` is no `sie`, as no article of it is feminine.
        other = "".join(each for each in "MF" if not any(each in it for it in shown))
        agrees = "".join(each for each in noun if each.upper() not in other or each in "snl")
        is_shown = language in GENDERED and any(shown)
        return agrees if is_shown and shares(agrees, "mfs") else noun
    given = letters(FIRST_NAME_ROWS, word) or letters(FIRST_NAME_ROWS, word.removesuffix("s"))
    if given and all(line[at].is_big for line, at in every):
        return given
    if is_name(earlier or every, language):
        return kinds_of_name(word, earlier, language)
    own = "".join(shown) if shown else "MF"
    kinds = own + "n"
    near = [it.text for use in earlier for it in nearest(*use) if (it.text, language) != ("a", "en")]
    if word in PLACE_NOUNS or any(it in BEFORE_PLACE_NOUN for it in near):
        kinds += "l"
    if word.endswith(PLURALS.get(language, ("",))) and set(own) != {"M"}:
        kinds += "S"
    if word.endswith(AGENT_ENDINGS.get(language, ())) and word not in NO_AGENTS:
        kinds += own.lower() if language in ("de", "fr") else "mf"
    return kinds


def kinds_of_name(word: str, uses_at: Sequence[tuple[list[Spoken], int]], language: str) -> str:
    before = [list(nearest(*use)) for use in uses_at]
    first = [its[0].text for its in before if its]
    persons = "".join(letters(PERSON_NOUN_ROWS, it) for it in first if it not in MIXED)
    persons += "".join(letters(FIRST_NAME_ROWS, it) for it in first)
    for line, at in uses_at:
        if at > 0 and line[at - 1].text in NAMING:
            nouns = [letters(PERSON_NOUN_ROWS, it.text) for it in line[:at]]
            persons += ([it for it in nouns if it] or [""])[-1]
    if persons:
        return "".join(each for each in persons if each in "mfs")
    if any(it.text in BEFORE_PLACE for its in before for it in its[:2]):
        return "l"
    owners = OWNERS
    if language in GENDERED:
        owners = " ".join(row for _, row in GENDER_ROWS).split()
    if any(it in owners for it in first):
        is_plural = word.endswith("s") or any(it in ("les", "los", "las") for it in first)
        return "nlMF" + ("sS" if is_plural else "")
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


def is_mentioned(noun: str, asked: Asked) -> bool:
    """Return True if the turns have a noun."""
    if is_chinese(noun) and any(noun in text for text in asked.texts):
        return True
    return any(it.text == noun for text in asked.texts for it in spoken_words(text))


def is_named(noun: str, run: Sequence[str], asked: Asked) -> bool:
    """Return True if a name of these words stands within six words of a noun, in one turn."""
    if any(is_chinese(word) for word in run):
        parts = [part for text in asked.texts for part in re.split("[，。？！；：、,.?!;:]", text)]
        return any(noun in part and "".join(run) in part for part in parts)
    for word in run:
        found = list(uses(word, asked.every))
        before = [line[at - 1].text for line, at in found if at > 0]
        # `My neighbour Claire has a cat`: Claire is the neighbour.
        if any(it != noun and letters(PERSON_NOUN_ROWS, it) for it in before):
            continue
        if not is_name(found, asked.language):
            continue
        for line, at in uses(word, asked.texts):
            if any(it.text == noun for it in line[max(0, at - 6) : at + 7]):
                return True
    return False


def kinds_in_chinese(text: str, texts: Sequence[str]) -> str:
    joined = "\n".join(texts)
    parts = [part for _, row in CHINESE_PERSON_ROWS for part in row.split() if part + text in joined]
    before = [it for part in parts if len(set(it := letters(CHINESE_PERSON_ROWS, part))) == 1]
    if before:
        return "".join(before)
    if text[-1] in PLACE_ENDS:
        return "nl"
    every = [kinds for kinds, row in CHINESE_PERSON_ROWS if any(part in text for part in row.split())]
    sure = [it for it in every if it != "mf"]
    sure += [kind for kind, some in NAME_CHARACTERS.items() if text[-1] in some]
    begins = any(char in NAME_STARTS for char in (text if len(text) > 4 else text[0]))
    is_doubled = len(text) == 2 and text[0] == text[1] and (text[0] != "大")
    is_big = len(text) == 2 and text[0] == "大" and text[1] in NAME_STARTS
    found = "".join(sure) or ("mf" if "mf" in every or begins or is_doubled or is_big else "")
    if len(text) > 4 or any(char in text for char in CHINESE_ANIMALS):
        found += "nlS"
    if any(text[:at] + each + text[at:] in joined for at in range(1, len(text)) for each in "和跟与、"):
        found += "mfs"
    elif any(char in text for char in "和跟与、们"):
        found += "s"
    return found or "nlS"
