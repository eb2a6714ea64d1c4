"""Persons: the words for the speaker and the listener, which a rewrite must keep.

Law 1. Person words of the asker's turns stay; those of others change sides: their `my flat` is `your flat`.
Law 2. The table is frozen: a changed word changes recorded runs.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from umi_core.language.languages import language_of, written_words
from umi_core.language.tables import LIGHT_WORDS, PERSON_ROWS, SAID_BY_OTHERS
from umi_core.language.words import words
from umi_core.values import Turn

ASKER: Final = "user"  # the role of the asker

PERSONS: Final = {word: person for person, row in PERSON_ROWS for word in row.split()}
FRENCH: Final = frozenset("je j m moi mon ma mes nous notre nos".split())
# Words that make a sentence be about its speaker, in any language. French ones are left out, because they are
# also words or names in other languages: "Ma wants a dog", "The Mon river".
SPEAKER_WORDS: Final = frozenset(
    word
    for word, person in PERSONS.items()
    if person in ("i", "me", "my", "we", "us", "our") and word not in FRENCH
)

ITALIAN: Final = frozenset("io mio mia miei mie".split())
# "Tell me where Bob lives" is not about its speaker.
TELLING: Final = re.compile(
    r"\b(?:tell|show|give|remind|let|help) (?:me|us)\b|\b(?:sage?|zeige?|gib|nenne?|erzähle?) mir\b|"
    r"\b(?:dis|donne|montre|rappelle)[- ]moi\b",
    re.IGNORECASE,
)

SHORT_NOT: Final = re.compile("n['’]t\\b")  # `can't` denies as `cannot` does
QUOTED: Final = re.compile('"[^"]*"|“[^”]*”|„[^“]*“|«[^»]*»|「[^」]*」')

Placed = tuple[str, str]  # a person and the word after it


def changes_person(rewrite: str, query: str, turns: tuple[Turn, ...], language: str = "") -> bool:
    """Check whether the rewrite lacks a person of the query, or adds one that no turn has with its next word.

    `Is it big?` -> `Is my flat big?` is refused unless a turn mentions `my flat` (or `your flat`, see Law 1).
    """
    kept, given = persons(query, language), persons(rewrite, language)
    asked, answered = Counter(person for person, _ in kept), Counter(person for person, _ in given)
    added = answered - asked
    if not is_within([person for person, _ in kept], [person for person, _ in given]):
        return True
    spoken = {*kept, *(placed for turn in turns for placed in said_in(turn, language))} if added else set()
    return any(person in added and (person, behind) not in spoken for person, behind in given)


def is_first_person(query: str) -> bool:
    """Check whether a query is about its speaker: `Where do I live?`, but not `Who lives in the US?`."""
    written = written_words(TELLING.sub(" ", query))
    own = SPEAKER_WORDS | ITALIAN | (FRENCH if language_of(query, written) == "fr" else frozenset())
    return any(it.text in own and (len(it.text) == 1 or not it.written.isupper()) for it in written)


def is_within(some: Sequence[str], others: Sequence[str]) -> bool:
    """Check whether `some` is a subsequence of `others`: all of its elements occur there, in this order."""
    # `in` consumes the iterator up to the match, so each element is searched after the one before.
    rest = iter(others)
    return all(one in rest for one in some)


def persons(text: str, language: str = "") -> list[Placed]:
    """Return each person of a text with the word after it; `language` excludes homographs: French `du`."""
    found, light = (
        (*words(SHORT_NOT.sub(" not", text.replace("M. ", ""))), ""),
        LIGHT_WORDS.get(language, frozenset()),
    )
    return [
        (PERSONS[word], behind) for word, behind in pairwise(found) if word in PERSONS and word not in light
    ]


def said_in(turn: Turn, language: str = "") -> Iterator[Placed]:
    """Yield the persons of a turn as the asker would name them, except those inside quotation marks."""
    for person, behind in persons(QUOTED.sub(" ", turn.text), language):
        seen = (person,) if turn.role == ASKER else SAID_BY_OTHERS[person]
        yield from ((it, behind) for it in seen)
