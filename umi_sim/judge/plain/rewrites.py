"""What a reply makes of a query: the gate of rewrites, other ways to ask, and when either is asked for.

As M12.9 and M13.5 to M13.9 have it, and H4.12 for cleaning.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from umi_core.invariants import limits
from umi_core.messages.results import Resolution
from umi_core.values import Turn
from umi_sim.judge.plain.persons import is_another_person
from umi_sim.judge.plain.references import TAKING_NOUNS, References, references
from umi_sim.judge.plain.replies import array_of, payload_of
from umi_sim.judge.plain.spoken import LIGHT_WORDS, spoken_words
from umi_sim.judge.plain.text import (
    KEPT,
    STOP_WORDS,
    byte_count,
    content_words,
    folded,
    made_whole,
    one_line,
    words,
)

TURNS_SHOWN: Final = 10
TURN_CHARS: Final = 500
VARIANTS: Final = 3
ONE: Final = 1_000_000

ENDINGS: Final = {  # that may differ in two forms of a word, of which three letters stay
    "en": "ies ing ed es s e y",
    "de": "en em er es e n s",
    "es": "os as es o a s e",
}


# When a model is asked.


def shown_turns(turns: Sequence[Turn], count: int = TURNS_SHOWN) -> tuple[Turn, ...]:
    """The last ones of which something is seen, newest first, each as far as it is shown."""
    shown = [Turn(turn.role, turn.text[:TURN_CHARS]) for turn in turns]
    return tuple([turn for turn in shown if turn.text.strip() != ""][: -count - 1 : -1])


def without_model(query: str, turns: Sequence[Turn], wanted: bool, forced: bool = False) -> Resolution | None:
    """The resolution of a query about which no model is asked; None if one is."""
    terms = terms_of(references(query))
    if not wanted:
        return Resolution("disabled", query)
    if not terms and not (forced and shown_turns(turns)):
        return Resolution("clear", query)
    return None if shown_turns(turns) else Resolution("no_context", query, terms)


def terms_of(found: References) -> tuple[str, ...]:
    """Each once, by its first occurrence."""
    return tuple(dict.fromkeys(found.terms))


# The gate.


def read_rewrite(reply: str, query: str, turns: Sequence[Turn], floor_ppm: int) -> Resolution:
    """What comes of a reply, after these turns as they were shown."""
    asked = references(query)
    rewrite, terms = one_line(clean_line(made_whole(reply))), terms_of(asked)
    is_same = rewrite != "" and rewrite == one_line(clean_line(query))
    if is_same or one_line(made_whole(reply)) == one_line(query):
        return Resolution("unchanged", query, terms, turn_count=len(turns))
    reason = why_refused(rewrite, query, asked, turns)
    if reason is not None:
        return Resolution("rejected", query, terms, reason, turn_count=len(turns))
    gone = len(asked.terms) - len(references(rewrite, asked.spoken).terms)
    gone_ppm = ONE * gone // len(asked.terms) if asked.terms else ONE  # nothing is left to refer
    if gone_ppm < floor_ppm:
        return Resolution("rejected", query, terms, "unresolved", turn_count=len(turns))
    return Resolution("resolved", rewrite, terms, "", gone_ppm, len(turns))


def why_refused(rewrite: str, query: str, asked: References, turns: Sequence[Turn]) -> str | None:
    """The first reason against a rewrite."""
    given, light = references(rewrite, asked.spoken), light_words(asked)
    added = [word for word in given.others if word not in light]
    small_in_query = [word for word in words(query) if word not in asked.big]
    if rewrite == "":
        return "empty_reply"
    if byte_count(rewrite) > limits.QUERY_BYTES_MAX:
        return "too_long"
    if any(is_missing(word, rewrite, given, asked) for word in kept_words(given, asked)):
        return "dropped_words"
    if any(given.terms.count(term) > asked.terms.count(term) for term in given.terms):
        return "new_reference"
    in_turns = [it for turn in turns for it in spoken_words(turn.text)]
    big_in_turns = [it.text for it in in_turns if it.is_big]
    small = small_in_query + [it.text for it in in_turns if it.text not in big_in_turns]
    exact = [*words(query), *(it.text for it in in_turns)]
    if not all(stands(word, exact, small, given.big, asked.spoken) for word in added):
        return "foreign_word"
    said, small_said = content_words(query), [word for word in small_in_query if word not in STOP_WORDS]
    if all(stands(word, said, small_said, given.big, asked.spoken) for word in added):
        return "nothing_added"
    return "changed_person" if is_another_person(rewrite, query, turns) else None


def kept_words(given: References, asked: References) -> list[str]:
    """What a rewrite may not lack: names, and what says something, but for the noun of a `this` that went."""
    light = light_words(asked)
    went = [term for term in TAKING_NOUNS if asked.terms.count(term) > given.terms.count(term)]
    kept = [word for word in asked.others if word in asked.names or word not in light]
    return [word for word in kept if not went or word not in asked.nouns]


def is_missing(word: str, rewrite: str, given: References, asked: References) -> bool:
    there = words(rewrite)
    return not stands(word, there, [it for it in there if it not in given.big], asked.big, asked.spoken)


def stands(word: str, exact: Sequence[str], small: Sequence[str], big: Sequence[str], language: str) -> bool:
    """Whether a word is among the exact ones, or, unless it has a capital, another form of a small one."""
    if word in exact:
        return True
    return word not in big and bare(word, language) in [bare(it, language) for it in small]


@lru_cache(maxsize=KEPT)
def bare(word: str, language: str) -> str:
    """A word without endings."""
    for ending in ENDINGS.get(language, "").split():
        if word.endswith(ending):
            return bare(word[: -len(ending)], language) if len(word) - len(ending) >= 3 else word
    return word


def light_words(asked: References) -> list[str]:
    """Words that say nothing by themselves, in English and in the languages of the references."""
    return [*STOP_WORDS, *" ".join(LIGHT_WORDS[language] for language in asked.languages).split()]


# Cleaning.

FENCE: Final = "```"
LABEL: Final = r"(?i)(?:(?:(?:expanded|rewritten|resolved)\s+)?query|name)\s*:"
QUOTES: Final = ('""', "''", "“”", "„“", "«»", "「」", "``")


def clean_line(text: str) -> str:
    """The line that was asked for, without fence, label and quotes, in whatever order they stand."""
    before = None
    while text != before:
        before = text
        text = without_quotes(without_label(first_line(without_fence(text.strip()))))
    return text


def without_fence(text: str) -> str:
    head, line_end, rest = text.partition("\n")
    is_fenced = head.startswith(FENCE) and line_end and rest.endswith(FENCE) and "`" not in head[len(FENCE) :]
    return rest.removesuffix(FENCE) if is_fenced else text


def first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def without_label(text: str) -> str:
    found = re.match(LABEL, text)
    return text[found.end() :].strip() if found else text


def without_quotes(text: str) -> str:
    inside = text[1:-1]
    is_quoted = len(text) > 1 and text[0] + text[-1] in QUOTES
    return text if not is_quoted or text[0] in inside or text[-1] in inside else inside


# Other ways to ask.

TRIGGERS: Final = (
    "who what when where why how "
    "yesterday today last recent before after week month year "
    "similar like connections associated linked related about regarding involving connected"
).split()


def is_deep(query: str, deep: bool | None) -> bool:
    """Whether other ways to ask are wanted: as the caller says, else by the words of the query."""
    return any(word in TRIGGERS for word in words(query)) if deep is None else deep


def read_variants(reply: str, query: str) -> tuple[str, ...] | None:
    """The query, and what else a model would ask; None if there is no payload."""
    elements = payload_of(reply, "[", array_of(str))
    if elements is None:
        return None
    texts = [query]
    for element in elements:
        text = one_line(element) if isinstance(element, str) else ""
        is_new = folded(text) not in [folded(it) for it in texts]
        if text != "" and byte_count(text) <= limits.QUERY_BYTES_MAX and is_new:
            texts.append(text)
    return tuple(texts[:VARIANTS])
