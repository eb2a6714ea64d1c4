"""Queries that say little: small words in any order and spelling, and rewrites that are nearly allowed.

Law 1. What a query refers to, whether a model is to be asked, and what becomes of its reply are the same for
the memory and for the plain reader.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

import attrs

from umi_core.config import Config
from umi_core.invariants import limits
from umi_core.invariants.broken import demand
from umi_core.language import forms, persons, pronouns, rewriting
from umi_core.values import Turn
from umi_sim.judge.invariants.readings import Question, check_read
from umi_sim.judge.plain import rewrites
from umi_sim.judge.plain.persons import MEANS, PERSONS, is_another_person
from umi_sim.judge.plain.references import (
    ANYTHING,
    ARTICLES,
    CLAUSES,
    NOTHING,
    POINTING,
    TERMS,
    References,
    references,
)
from umi_sim.judge.plain.spoken import LIGHT_WORDS, MARKS
from umi_sim.judge.trials.values import around
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

QUERIES: Final = 8  # of each run
OTHERS: Final = 8  # that are only looked at in one way, for each of them
NAMES: Final = (
    "Alice", "Bob", "Acme", "Zoë", "IT", "tea", "book", "walked", "walking", "walks", "cities",
    "city", "Haus",
    "Häuser", "casas", "casa", "niños", "laufen", "läuft", "2024", "I", "O'Neil", "Sheila's",
    "there's", "There’s",
    "rock-n-roll", "日本", "茶", "他们", "ǅ", "ß", "STRASSE", "e\u0301", "\u0378",
)  # fmt: skip
WORDS: Final = (
    *POINTING,
    *CLAUSES,
    *ARTICLES,
    *ANYTHING,
    "that",
    "that",
    "place",
    "thing",
    "hard",
    "true",
    "Monday",
)
ME: Final = (*("I", "my", "you", "your", "we") * 6, *(word for some in PERSONS for word in some))
THINGS: Final = ("Bob", "flat", "tea", "")
BETWEEN: Final = (" ",) * 12 + (
    ", ",
    ". ",
    "? ",
    ": ",
    "-",
    " - ",
    "\n",
    " (",
    ") ",
    "’ ",
    '"',
    " …",
    "¿",
    "; ",
)
LABELS: Final = ("", "", "", "Query: ", "rewritten query:", "Name : ", "```\n", "Resolved  Query: Query: ")
QUOTED: Final = (("", ""),) * 5 + (
    ('"', '"'),
    ("“", "”"),
    ("„", "“"),
    ("'", "'"),
    ("«", "»"),
    ("`", "`"),
    ("「", "」"),
)
ENDS: Final = ("", "", "?", ".", "\n```", "\nand more", " ", "\ud800")


@cache
def small_words() -> dict[str, tuple[str, ...]]:
    """By language, what decides what a word beside it refers to."""
    found: dict[str, tuple[str, ...]] = {}
    for language, terms in TERMS.items():
        words = f"{LIGHT_WORDS[language]} {MARKS.get(language, '')}".split()
        found[language] = (*terms.split(", "), *words)
    return found


def phrase(draw: Stream) -> str:
    """One that a pattern of nothing fits, or nearly."""
    told = draw.pick(NOTHING).replace(r"(?<=\| )", ", ").replace(r"(?= \|)", "?")
    told = told.replace("[^ |]+", draw.pick(WORDS))
    told = re.sub(r"\[([^]]*)\]", lambda match: draw.pick(match[1]), told)
    while found := re.search(r"\(\?:([^()]*)\)(\??)", told):
        chosen = "" if found[2] and draw.chance(1, 2) else draw.pick(found[1].split("|"))
        told = told[: found.start()] + chosen + told[found.end() :]
    return told.strip()


def spelt(word: str, draw: Stream) -> str:
    return draw.pick((word,) * 8 + (word.capitalize(), word.capitalize(), word.upper(), word + "'s"))


def line(draw: Stream) -> str:
    """Some words."""
    own = small_words()[draw.pick(tuple(TERMS))]
    told = ""
    for _ in range(draw.between(1, 7)):
        luck = draw.below(8)
        word = phrase(draw) if luck == 0 else draw.pick((own, own, ME, WORDS, WORDS, NAMES, NAMES)[luck - 1])
        told += spelt(word, draw) + draw.pick(BETWEEN)
    return (told.upper() if draw.chance(1, 32) else told).strip() or "it"


def turn(draw: Stream) -> Turn:
    said = "".join(f"{line(draw)}. " for _ in range(draw.pick((0, 1, 1, 2))))
    return Turn(draw.pick(("user", "assistant", "system", "tool")), said * (12 if draw.chance(1, 16) else 1))


def rewritten(query: str, turns: Sequence[Turn], draw: Stream) -> str:
    """The query with its references and a few words exchanged, left out or put in; seldom a very long one."""
    if draw.chance(1, 32):
        return "x" * draw.pick(around(limits.QUERY_BYTES_MAX))
    said = " ".join((query, *(each.text for each in turns))).split() or ["tea"]
    terms = references(query).terms
    told, lost, last = list[str](), draw.below(8), ""
    for at, word in enumerate(query.split()):
        luck = draw.below(4 if {word.casefold(), last} & {*terms} else 96)  # the noun behind a `this`, too
        last = word.casefold()
        told += [] if luck == 0 or at == lost else [draw.pick(said)] if luck < 3 else [word]
    if draw.chance(1, 4):
        told.insert(draw.below(len(told) + 1), draw.pick(draw.pick((said, said, NAMES))))
    left, right = draw.pick(QUOTED)
    return draw.pick(LABELS) + left + " ".join(told) + draw.pick(ENDS) + right


def try_queries(draw: Stream, config: Config) -> None:
    for _ in range(QUERIES):
        query, turns = line(draw), tuple(turn(draw) for _ in range(draw.pick((0, 1, 2, 3, 11))))
        is_on, is_forced = draw.chance(7, 8), draw.chance(1, 4)
        check_detected(query, turns, is_on, is_forced)
        shown = rewrites.shown_turns(turns)
        asked = Question(query=query, turns=shown)
        check_read("rewrite", rewritten(query, shown, draw), asked, config)
        for _ in range(OTHERS):
            check_persons(draw)
            check_references(line(draw), draw.pick((None, None, None, *TERMS, "")))
            check_form(draw)


def of_persons(draw: Stream) -> str:
    """Persons, and a few things that are theirs."""
    return " ".join(draw.pick(draw.pick((ME, THINGS))) for _ in range(draw.pick((0, 0, 1, 2, 5))))


def check_persons(draw: Stream) -> None:
    """A rewrite comes to this question last: few that are drawn come so far.

    What somebody says of a person, and what the rewrite adds, are of one pair of those that mean the same, or
    nearly so.
    """
    query, thing = of_persons(draw), draw.pick(THINGS)
    theirs, mine = draw.pick(MEANS) if draw.chance(7, 8) else (draw.pick(PERSONS), draw.pick(PERSONS))
    others = draw.pick((thing, thing, draw.pick(THINGS)))
    said = draw.pick(("", "so ")) + f"{draw.pick(theirs)} {others}"
    turns = (Turn(draw.pick(("user", "assistant", "tool")), said), Turn("user", of_persons(draw)))
    rewrite = f"{query} {draw.pick(mine)} {thing}"
    if draw.chance(1, 4):
        rewrite = of_persons(draw)
    wanted, got = is_another_person(rewrite, query, turns), persons.changes_person(rewrite, query, turns)
    told = f"{rewrite!r} of {query!r} after {turns} speaks of another person"
    demand(wanted == got, rules.PARSER_TOTAL, told, wanted, got)


ENDINGS: Final = ("", "s", "es", "ies", "ing", "ed", "e", "y", "en", "em", "er", "n", "os", "as", "o", "a")


def check_form(draw: Stream) -> None:
    """What is left of a word without its endings, of which there may be several."""
    word = draw.pick(("", "t", "te", "tea", "haus", "日本")) + draw.pick(ENDINGS) + draw.pick(ENDINGS)
    language = draw.pick((*TERMS, ""))
    wanted, got = rewrites.bare(word, language), forms.stem(word, language)
    demand(wanted == got, rules.PARSER_TOTAL, f"{word!r} without its endings in {language!r}", wanted, got)


def check_references(query: str, language: str | None) -> None:
    """What a text refers to, word by word: a gate that looks at all of it lets few differences be seen."""
    wanted, read = references(query, language), pronouns.read(query, language)
    got = References(
        read.terms, read.others, wanted.languages, read.language,
        tuple(word for word in read.others if word in read.names),
        tuple(word for word in read.others if word in read.capitals), read.pointed,
    )  # fmt: skip
    wanted = attrs.evolve(
        wanted, names=tuple(word for word in wanted.others if word in wanted.names),
        big=tuple(word for word in wanted.others if word in wanted.big),
    )  # fmt: skip
    demand(wanted == got, rules.PARSER_TOTAL, f"{query!r} refers to something else", wanted, got)


def check_detected(query: str, turns: tuple[Turn, ...], is_on: bool, is_forced: bool) -> None:
    shown = rewrites.shown_turns(turns)
    got = rewriting.shown_turns(turns)
    demand(got == shown, rules.PROMPT_INPUTS, f"the turns that a model is shown of {turns}", shown, got)
    wanted = rewrites.without_model(query, turns, is_on, is_forced)
    said = rewriting.detected(query, shown, is_on, is_forced)
    demand(wanted == said, rules.REWRITE_ONLY_IF_NEEDED, f"{query!r} without a model", wanted, said)
    for deep in (None, True, False):
        wants, does = rewrites.is_deep(query, deep), rewriting.is_deep(query, deep)
        demand(wants == does, rules.DEEP_BY_TRIGGER, f"{query!r} is asked in other ways", wants, does)
