"""Queries that say little: small words of every language in any order and spelling, and their rewrites."""

import re
from collections.abc import Sequence
from typing import Final

from tests.properties.laws import Draw, around
from tests.properties.queries_reference import references, shown_turns
from umi_core import limits
from umi_core.language.tables import (
    CLAUSE_OPENING,
    DETERMINERS,
    IDIOM_ROWS,
    INDEFINITE,
    MARKS,
    PERSON_ROWS,
    POINTING,
    SAID_BY_OTHERS,
    TERM_ROWS,
)
from umi_core.values import Turn

NAMES: Final = (
    "Alice", "Bob", "Acme", "Zoë", "IT", "tea", "book", "walked", "walking", "walks", "cities", "city",
    "Haus", "Häuser", "casas", "casa", "niños", "laufen", "läuft", "2024", "I", "O'Neil", "Sheila's",
    "there's", "There’s", "rock-n-roll", "日本", "茶", "他们", "ǅ", "ß", "STRASSE", "e\u0301", "\u0378",
)  # fmt: skip
WORDS: Final = (
    *sorted(POINTING), *sorted(CLAUSE_OPENING), *sorted(DETERMINERS), *sorted(INDEFINITE),
    "that", "that", "place", "thing", "hard", "true", "Monday",
)  # fmt: skip
PERSONS: Final = {person: row.split() for person, row in PERSON_ROWS}
OF_PERSONS: Final = (
    *("I", "my", "you", "your", "we") * 6, *(word for words in PERSONS.values() for word in words),
)  # fmt: skip
THINGS: Final = ("Bob", "flat", "tea", "")
BETWEEN: Final = (
    *(" ",) * 12, ", ", ". ", "? ", ": ", "-", " - ", "\n", " (", ") ", "’ ", '"', " …", "¿", "; ",
)  # fmt: skip
LABELS: Final = ("", "", "", "Query: ", "rewritten query:", "Name : ", "```\n", "Resolved  Query: Query: ")
QUOTES: Final = (*("",) * 5, '""', "“”", "„“", "''", "«»", "``", "「」")
ENDS: Final = ("", "", "?", ".", "\n```", "\nand more", " ", "\ud800")
LANGUAGES: Final = tuple(dict.fromkeys(language for language, _ in TERM_ROWS))
SMALL: Final = {  # by language, the words that decide what a word beside them refers to
    name: (
        *(term for language, row in TERM_ROWS if language == name for term in row.split(", ")),
        *sorted(MARKS.get(name, ())),
    )
    for name in LANGUAGES
}


def phrase(draw: Draw) -> str:
    """Draw a phrase that a pattern of empty references fits, or nearly."""
    idiom = draw.pick(draw.pick(IDIOM_ROWS).split(", ")).replace("^ ", ", ").replace(" $", "?")
    idiom = re.sub(r"\[[^]]*\]", lambda match: match[0][1:-1] if draw.chance(1, 2) else "", idiom)
    chosen = (draw.pick(part.split("/")) for part in idiom.replace("*", draw.pick(WORDS)).split())
    return " ".join(chosen)


def spelled(word: str, draw: Draw) -> str:
    capital = word.capitalize()
    return draw.pick((word,) * 8 + (capital, capital, word.upper(), word + "'s"))


def line(draw: Draw) -> str:
    own, found = SMALL[draw.pick(LANGUAGES)], ""
    for _ in range(draw.between(1, 7)):
        words = draw.pick((own, own, OF_PERSONS, WORDS, WORDS, NAMES, NAMES, ()))
        found += spelled(draw.pick(words) if words else phrase(draw), draw) + draw.pick(BETWEEN)
    return (found.upper() if draw.chance(1, 32) else found).strip() or "it"


def turn(draw: Draw) -> Turn:
    text = "".join(f"{line(draw)}. " for _ in range(draw.pick((0, 1, 1, 2))))
    return Turn(draw.pick(("user", "assistant", "system", "tool")), text * (12 if draw.chance(1, 16) else 1))


def asked(draw: Draw) -> tuple[str, tuple[Turn, ...], bool, bool]:
    """Draw a query, the turns before it, whether resolving is on, and whether it is forced."""
    turns = tuple(turn(draw) for _ in range(draw.pick((0, 1, 2, 3))))
    return line(draw), turns * (5 if draw.chance(1, 8) else 1), not draw.chance(1, 8), draw.chance(1, 4)


def rewritten(query: str, turns: Sequence[Turn], draw: Draw) -> str:
    """Return the query with its references and a few words exchanged, left out or put in."""
    if draw.chance(1, 32):
        return "x" * draw.pick(around(limits.QUERY_BYTES_MAX))
    known = " ".join((query, *(each.text for each in turns))).split() or ["tea"]
    terms, words, last = {*references(query).terms}, list[str](), ""
    for word in query.split():
        change = draw.below(4 if {word.casefold(), last} & terms else 32)  # the noun after `this` too
        last = word.casefold()
        words += [] if change == 0 else [draw.pick(known)] if change < 3 else [word]
    if draw.chance(1, 4):
        words.insert(draw.below(len(words) + 1), draw.pick(draw.pick((known, known, NAMES))))
    quotes = draw.pick(QUOTES)
    return draw.pick(LABELS) + quotes[:1] + " ".join(words) + draw.pick(ENDS) + quotes[1:]


def rewrites(draw: Draw) -> tuple[str, str, tuple[Turn, ...]]:
    query, turns, _, _ = asked(draw)
    shown = shown_turns(turns)
    return rewritten(query, shown, draw), query, shown


def persons(draw: Draw) -> str:
    """Draw words for persons, and a few things that are theirs."""
    return " ".join(draw.pick(draw.pick((OF_PERSONS, THINGS))) for _ in range(draw.pick((0, 0, 1, 2, 5))))


def speakers(draw: Draw) -> tuple[str, str, tuple[Turn, ...]]:
    """Draw a rewrite, its query and the turns before it.

    The words for a person in an earlier turn and in the rewrite often mean the same, or nearly so.
    """
    query, thing = persons(draw), draw.pick(THINGS)
    pronoun, meant = draw.pick(tuple(PERSONS)), draw.pick(tuple(PERSONS))
    theirs, mine = (
        PERSONS[pronoun],
        PERSONS[draw.pick(SAID_BY_OTHERS[pronoun]) if draw.chance(7, 8) else meant],
    )
    text = draw.pick(("", "so ")) + f"{draw.pick(theirs)} {draw.pick((thing, thing, draw.pick(THINGS)))}"
    before = Turn(draw.pick(("user", "assistant", "tool")), text), Turn("user", persons(draw))
    rewrite = persons(draw) if draw.chance(1, 4) else f"{query} {draw.pick(mine)} {thing}"
    return rewrite, query, before
