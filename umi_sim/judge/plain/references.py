"""References: the words of a query that mean something said earlier, as M13.2 to M13.4 find them.

What did he say about that?        he, that
fix it like before, before noon    it, like before, before
Is there a cache?                  none: it exists, nothing is pointed at
Show me the IT budget              none: a name
Where does Ella live?              none: a name, and no word of this language
Is it true that cats sleep?        none: it is what follows that is true
"""

import re
from functools import cache
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.judge.plain.spoken import Spoken, language_of, name_places, spoken_words
from umi_sim.judge.plain.text import words

PHRASE_WORDS: Final = 7  # that a term or a phrase has at most

# By language. Left out is what mostly refers to nothing: German `es`, Spanish `lo` and `el`.
TERMS: Final = {
    "en": "he, him, his, himself, she, her, hers, herself, it, its, itself, they, them, their, theirs, "
    "themselves, this, that, these, those, here, there, earlier, before, previously, yesterday, recently, "
    "again, last time, just now, the same, similar, like before, as usual, the other, another one, "
    "the first one, the second one, the third one, the last one, "
    "the issue, the problem, the error, the bug, the feature, the method, the function, the file, the code",
    "de": "er, ihn, ihm, sie, ihr, ihre, ihren, ihrem, ihrer, ihres, ihnen, sein, seine, seinen, seinem, "
    "seiner, seines, dies, diese, dieser, dieses, diesen, diesem, dort, dorthin, dahin, darüber, davon, "
    "dazu, daran, dafür, damit, darauf, dabei, danach, darin, daraus, dagegen, vorher, gestern, neulich, "
    "letztes mal, dasselbe, das gleiche, wie üblich, der andere, die andere, das andere, die anderen, "
    "das problem, der fehler",
    "es": "él, ella, ellos, ellas, su, sus, esto, eso, aquello, este, esta, estos, estas, ese, esa, esos, "
    "esas, aquel, aquella, ahí, allí, allá, ayer, anteriormente, otra vez, la última vez, lo mismo, "
    "como siempre, el otro, la otra, los otros, las otras, el problema, el error",
    "zh": "他, 她, 它, 他们, 她们, 它们, 这个, 那个, 这些, 那些, 这件事, 那件事, 这里, 那里, 这儿, 那儿, "
    "昨天, 之前, 上次, 一样的, 另一个, 那个问题, 这个问题",
}
BE: Final = "(?:is|are|was|were|isn|aren|wasn|weren)"
HELPS: Final = "(?:be|will|would|can|could|should|must|might|may|has|have|had|hasn|haven)"
TAGS: Final = "(?:don|doesn|didn|hasn|haven|hadn|won|can|couldn|wouldn|shouldn)"
DAYS: Final = (
    "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|"
    "august|september|october|november|december)"
)
SURE: Final = "(?:true|possible|impossible|ok|okay|fine|normal|necessary|rude|weird|likely|wrong)"
HARD: Final = "(?:hard|easy|difficult|nice|good|great|safe|fun|better)"
ANY: Final = "(?:[^ |]+ )"

# Phrases that hold a term and refer to nothing, in a line of words in which a bar is a mark (M13.3).
NOTHING: Final = (
    rf"there (?:{BE}|be|been)",
    rf"(?:{BE}|{HELPS}) there",
    "(?:hi|hey|hello) there",
    f"this {DAYS}",
    "this (?:week|weekend|month|year|morning|afternoon|evening|spring|summer|autumn|fall|winter|time)",
    "these days",
    "diesen (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)",
    "diesen (?:monat|morgen|abend|sommer|herbst|winter|frühling)",
    "diese (?:woche|nacht)",
    "dieses (?:jahr|mal|wochenende|frühjahr)",
    "este (?:lunes|martes|miércoles|jueves|viernes|sábado|domingo|año|mes|verano|otoño|invierno|fin)",
    "esta (?:semana|noche|mañana|tarde|vez|primavera)",
    "el otro día",
    "la otra (?:noche|tarde|vez)",
    "这 个 (?:月|星 期|周 末|学 期)",
    rf"those {ANY}?{ANY}?(?:who|that|which)",
    rf"it {ANY}?{ANY}?(?:rain|rains|raining|rained|snow|snows|snowing|snowed)",
    rf"that {ANY}(?:that|which|who)",
    "it far (?:from|to)",
    rf"it (?:(?:is|was|be) )?{ANY}?(?:nice|good|great|lovely) to (?:hear|see|meet|talk|have|know)",
    "it be that",
    rf"(?:is|was) it {ANY}?(?:who|that)",
    rf"it (?:is|was) {ANY}?(?:who|that)",
    rf"it {ANY}who",
    "is that so",
    "what (?:time|day|date|year|month) (?:is|was) it",
    rf"it (?:(?:is|was) )?(?:(?:already|still|only|just|almost) )?{DAYS}",
    "it (?:(?:is|has) )?been (?:a|ages|years|weeks|months|days|so|too|since)",
    rf"it (?:take|takes|took) {ANY}?{ANY}?to",
    rf"it (?:(?:is|was|be) )?{ANY}?{SURE} (?:to|that|if)",
    rf"it (?:(?:is|was|be) )?{ANY}?{HARD} to {ANY}(?:a|an|the|my|your|our)",
    rf"how {ANY}(?:is|was) it to",
    "it (?:matter|matters)",
    rf"it {ANY}?like to",
    "it (?:feel|feels|felt) to",
    "it (?:seems|turns|depends|looks)(?: like)?",
    "it just me",
    "is it me",
    "whose turn (?:is|was) it",
    "(?:make|made|making) it (?:to|home|back)",
    "how (?:(?:is|was) )?it going",
    "take it easy",
    rf"(?<=\| )(?:{BE}|{TAGS}) (?:it|he|she|they|there)(?= \|)",
    "其 [他它]",
    "吉 他",
)
HELPING: Final = (
    "is are was were be been being do does did has have had can could will would shall should may might must "
    "isn aren wasn weren don doesn didn es está son era"
).split()
POINTING: Final = (  # before a `that` that points
    *HELPING,
    *"about of with for from to in on at by like than as into over and or but what why how when where who "
    "which not just".split(),
)
CLAUSES: Final = (  # behind a `that` that points at nothing
    "i you we he she it they there the a an my your our his her their is are was were has have had do does "
    "did can could will would should may might must"
).split()
ARTICLES: Final = "the a an any some no every my your our his her their its".split()
ANYTHING: Final = (
    "anything something nothing everything anybody somebody nobody everybody anyone someone everyone one "
    "ones all"
).split()
TAKING_NOUNS: Final = (  # `this initiative`: the noun may go with the word before it
    "this that these those diese dieser dieses diesen diesem este esta estos estas ese esa esos esas "
    "这个 那个 这些 那些"
).split()


@attrs.frozen
class Term(Data):
    text: str
    language: str


@attrs.frozen
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
    """`language`: that of the query, if this is a rewrite of it."""
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
    """The term that begins here, if one does, and how many words it or what refers to nothing has."""
    ahead = [it.text for it in spoken[place : place + PHRASE_WORDS]]
    nothing = words_of_nothing(spoken, place)
    for phrase, term in terms_by_first_word().get(ahead[0], ()):
        if len(phrase) <= nothing:
            break
        if ahead[: len(phrase)] == phrase and is_meant(term, len(phrase), spoken, place, language, names):
            return term, len(phrase)
    return None, max(nothing, 1)


@cache
def terms_by_first_word() -> dict[str, list[tuple[list[str], Term]]]:
    """The words of each term, those of most words first, under the first of them."""
    every = [(list(words(text)), Term(text, name)) for name, row in TERMS.items() for text in row.split(", ")]
    found: dict[str, list[tuple[list[str], Term]]] = {}
    for phrase, term in sorted(every, key=lambda each: -len(each[0])):
        found.setdefault(phrase[0], []).append((phrase, term))
    return found


def words_of_nothing(spoken: list[Spoken], place: int) -> int:
    """How many words from here on are the longest phrase that refers to nothing."""
    ahead = spoken[place : place + PHRASE_WORDS + 1]
    before = "" if place == 0 or spoken[place].belongs else "| "
    line = (
        before + ahead[0].text + "".join(f" {it.text}" if it.belongs else f" | {it.text}" for it in ahead[1:])
    )
    matches = (each.match(f"{line} |", len(before)) for each in nothing_patterns())
    return max((len(match[0].split()) for match in matches if match), default=0)


@cache
def nothing_patterns() -> list[re.Pattern[str]]:
    return [re.compile(rf"{pattern}(?!\S)") for pattern in NOTHING]


def is_meant(
    term: Term, count: int, spoken: list[Spoken], place: int, language: str, names: list[int]
) -> bool:
    """Whether it is a word of this language that points at something."""
    if term.language != "zh" and language != "" and term.language != language:
        return False
    if count > 1:
        return True
    exists = spoken[place].written.replace("’", "'").casefold() == "there's"
    return place not in names and not exists and not (term.text == "that" and joins(spoken, place, names))


def joins(spoken: list[Spoken], place: int, names: list[int]) -> bool:
    """Whether a `that` joins a clause to what stands before it: `the place that serves ramen`."""
    if place == 0 or place + 1 == len(spoken):
        return False
    before, here, after = spoken[place - 1 : place + 2]
    if not here.belongs or not after.belongs or before.text in POINTING:
        return False
    is_noun = place >= 2 and spoken[place - 2].text in ARTICLES
    opens = after.text in CLAUSES or place + 1 in names
    return is_noun or before.text in ANYTHING or opens


def nouns_behind(spoken: list[Spoken], place: int, end: int, term: Term) -> list[str]:
    if term.text not in TAKING_NOUNS:
        return []
    if term.language == "zh":
        return [it.text for it in spoken[end : end + 2] if it.belongs and not it.text.isascii()]
    has_room = place > 0 and end < len(spoken) and spoken[place].belongs and spoken[end].belongs
    if not has_room or spoken[place - 1].text in HELPING:
        return []
    return [spoken[end].text] if spoken[end].is_big == (term.language == "de") else []
