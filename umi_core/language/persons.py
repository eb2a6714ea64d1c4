"""Persons: the words for the speaker and the listener, which a rewrite may not change.

Law 1. Words of the asker stay as they are; those of another speaker change sides: their `my` is `your`.
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
# Words by which a sentence is about its speaker, in whatever language it is. French ones are words or names
# of others, too: "Ma wants a dog", "The Mon river".
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

Placed = tuple[str, str]  # a person and the word behind it


def changes_person(rewrite: str, query: str, turns: tuple[Turn, ...], language: str = "") -> bool:
    """Check whether a person of the query is missing, or an unmentioned one was added: `my flat`."""
    kept, given = persons(query, language), persons(rewrite, language)
    asked, answered = Counter(person for person, _ in kept), Counter(person for person, _ in given)
    added = answered - asked
    if not is_within([person for person, _ in kept], [person for person, _ in given]):
        return True
    # "Is it big?" may become "Is my flat big?" only if the asker spoke of "my flat", or another speaker of
    # "your flat": the word behind the person counts as well.
    spoken = {*kept, *(placed for turn in turns for placed in said_in(turn, language))} if added else set()
    return any(person in added and (person, behind) not in spoken for person, behind in given)


def is_first_person(query: str) -> bool:
    """Check whether a query speaks of its speaker: `Where do I live?`, but not `Who lives in the US?`."""
    written = written_words(TELLING.sub(" ", query))
    own = SPEAKER_WORDS | ITALIAN | (FRENCH if language_of(query, written) == "fr" else frozenset())
    return any(it.text in own and (len(it.text) == 1 or not it.written.isupper()) for it in written)


def is_within(some: Sequence[str], others: Sequence[str]) -> bool:
    """Check whether all of them are among the others, in their order."""
    # `in` consumes the iterator up to the match, so each is looked for behind the one before.
    rest = iter(others)
    return all(one in rest for one in some)


def persons(text: str, language: str = "") -> list[Placed]:
    """Return each person of a text, with the word behind it. French `du` is no German `you`."""
    found, light = (
        (*words(SHORT_NOT.sub(" not", text.replace("M. ", ""))), ""),
        LIGHT_WORDS.get(language, frozenset()),
    )
    return [
        (PERSONS[word], behind) for word, behind in pairwise(found) if word in PERSONS and word not in light
    ]


def said_in(turn: Turn, language: str = "") -> Iterator[Placed]:
    """Yield the persons that a turn speaks of, as the asker would name them; not those that it quotes."""
    for person, behind in persons(QUOTED.sub(" ", turn.text), language):
        seen = (person,) if turn.role == ASKER else SAID_BY_OTHERS[person]
        yield from ((it, behind) for it in seen)
