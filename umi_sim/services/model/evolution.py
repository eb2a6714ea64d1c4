"""Task evolve: the relation of a new statement to an old one, by five frozen predicates in four languages."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from typing import Final, TypeVar

from umi_core.data import Data
from umi_sim.kernel.characters import sentences
from umi_sim.services.model.cues import words_of
from umi_sim.services.model.names import name_spans
from umi_sim.services.model.prompts import Inputs, fitting, quote_json, whole

ROWS_BYTES_MAX: Final = 39_900
SHARED_NAMES_MIN: Final = 2
FACTS_MAX: Final = 20  # per statement; no statement in a prompt of the memory has more

# A phrase matches whole words of a sentence; the words after it are the value.
PREDICATE_ROWS: Final = (
    ("works at",
     "works at, work at, worked at, working at, works for, work for, joined, switched jobs to, "
     "changed jobs to, arbeitet bei, arbeite bei, arbeitet für, trabaja en, trabajo en, trabaja para",
     "在职于|任职于|就职于|工作在"),
    ("lives in",
     "lives in, live in, lived in, living in, moved to, wohnt in, wohne in, lebt in, lebe in, zog nach, "
     "vive en, vivo en, se mudó a", "住在|搬到"),
    ("likes",
     "likes, like, loves, love, prefers, prefer, mag, liebt, bevorzugt, le gusta, me gusta, le encanta, "
     "prefiere, prefiero", "喜欢|偏好"),
    ("owns",
     "owns, own, has a, has an, have a, have an, besitzt, besitze, hat ein, hat eine, hat einen, habe ein, "
     "habe eine, habe einen, tiene un, tiene una, tengo un, tengo una", "拥有|有一"),
    ("is", "is, am, are, was, were, ist, bin, sind, war, waren, es, soy, está, era", "是"),
)  # fmt: skip
EXCLUSIVE: Final = ("works at", "lives in", "is")  # have one value at a time, unlike `likes` and `owns`
# Phrases that end these predicates for the value after them: `Alice left Acme`.
ENDING_ROWS: Final = (
    (
        ("works at", "lives in"),
        "left, leaves, switched from, changed from, moved from, dejó, verließ, verlässt",
        "离开了?",
    ),
    (
        ("works at",),
        "quit, resigned from, retired from, fired from, laid off by, renunció a, kündigte bei",
        "辞去了?",
    ),
    (("lives in",), "moved away from, moved out of, zog weg aus, se fue de", "搬出了?"),
    (("owns",), "sold, lost, verkaufte, vendió, perdió", "卖掉了?"),
)
NOW: Final = (
    "now, since, no longer, not anymore, anymore, moved, left, became, instead, switched, changed, used to, "
    "jetzt, seit, nun, mittlerweile, "
    "inzwischen, nicht mehr, zog, verließ, ahora, desde, ya no, se mudó, dejó, actualmente"
)
NOW_DENSE: Final = re.compile("现在|如今|目前|不再|搬到|离开")
NEGATIONS: Final = frozenset(
    "not no never t cannot longer stopped nicht kein keine keinen nie niemals ya nunca jamás".split()
)
NEGATIONS_DENSE: Final = re.compile("[不没]")
VALUE_ENDS: Final = frozenset(
    "and but since because who which as instead anymore again und aber seit weil y pero desde porque".split()
)
FILLERS: Final = NEGATIONS | frozenset("now jetzt nun ahora mehr still noch auch also".split())
ADDED: Final = frozenset("also too auch ebenfalls también".split())
NOW_AT: Final = ("now", "at")  # "left Acme, now at Globex"
USED_TO: Final = ("used", "to")
VALUE_ENDS_DENSE: Final = re.compile("[，,、；]|现在|因为|而且|但是")
SKIPPED: Final = frozenset("a an the ein eine einen der die das den un una el la los las".split())

Phrase = tuple[str, ...]
T = TypeVar("T")
PREDICATES: Final = {
    tuple(phrase.split()): name for name, row, _ in PREDICATE_ROWS for phrase in row.split(", ")
}
PREDICATES_DENSE: Final = {name: re.compile(dense) for name, _, dense in PREDICATE_ROWS}
NOW_PHRASES: Final = {tuple(phrase.split()): "now" for phrase in NOW.split(", ")}
ENDINGS: Final = {tuple(phrase.split()): ended for ended, row, _ in ENDING_ROWS for phrase in row.split(", ")}
ENDINGS_DENSE: Final = tuple((ended, re.compile(dense)) for ended, _, dense in ENDING_ROWS)
PHRASE_WORDS_MAX: Final = max(map(len, (*PREDICATES, *NOW_PHRASES, *ENDINGS)))


class Assertion(Data):
    """A predicate with its value, asserted or denied. `is_ended`: the sentence says that it has ended."""

    predicate: str
    value: str
    is_denied: bool
    is_ended: bool = False


class ParsedStatement(Data):
    """A parsed statement: its name, lines, facts and names, and whether it reports a change."""

    name: str
    lines: tuple[str, ...]
    facts: tuple[Assertion, ...]
    names: tuple[str, ...]
    is_change: bool
    is_added: bool = False  # whether its facts hold in addition to the older ones ("also", "too")


NOTHING: Final = ParsedStatement("", (), (), (), False)


def evolve(given: Inputs) -> str:
    """Answer with one row for each pair of the prompt, in order."""
    new, old = statements(given.get("new")), statements(given.get("old"))
    asked = given.get("pairs")
    pairs = dict.fromkeys(
        (new_ref, old_ref)
        for pair in (asked if isinstance(asked, list) else ())
        if isinstance(pair, dict)
        and isinstance(new_ref := pair.get("new"), str)
        and isinstance(old_ref := pair.get("old"), str)
    )
    rows = (row(new_ref, old_ref, *verdict(new, old, new_ref, old_ref)) for new_ref, old_ref in pairs)
    return f"[{','.join(fitting(rows, ROWS_BYTES_MAX))}]"


def statements(value: object) -> dict[str, ParsedStatement]:
    """Return the statements by ref; if a ref occurs twice, the first one counts."""
    found: dict[str, ParsedStatement] = {}
    for element in value if isinstance(value, list) else ():
        ref = element.get("ref") if isinstance(element, dict) else None
        if isinstance(ref, str) and ref not in found:
            name, content = element.get("name"), element.get("content")
            found[ref] = parse_statement(*(it if isinstance(it, str) else "" for it in (name, content)))
    return found


@lru_cache(maxsize=256)  # a statement is shown in many questions
def parse_statement(name: str, text: str) -> ParsedStatement:
    lines = tuple(line for part in text.split("\n") if (line := key(part)))
    facts = (fact for line in sentences(text) for part in line.split(", ") for fact in facts_of(part))
    names = dict.fromkeys(map(key, (name, *(found for _, _, found in name_spans(text)))))
    is_change = bool(NOW_DENSE.search(text) or list(find_phrases(words_of(text), NOW_PHRASES)))
    return ParsedStatement(
        key(name),
        lines,
        tuple(islice(facts, FACTS_MAX)),
        tuple(filter(None, names)),
        is_change,
        not ADDED.isdisjoint(words_of(text)),
    )


def verdict(
    new: Mapping[str, ParsedStatement], old: Mapping[str, ParsedStatement], new_ref: str, old_ref: str
) -> tuple[str, str]:
    """Return the type of the relation between two statements, and the reason."""
    one, other = new.get(new_ref, NOTHING), old.get(old_ref, NOTHING)
    if not one.lines or not other.lines or sorted(one.lines) == sorted(other.lines):
        return "none", "They say the same." if one.lines and other.lines else "One of them says nothing."
    if predicate := conflict(one, other):
        is_change = one.is_change or any(fact.is_ended for fact in one.facts)
        how = "takes the place of" if is_change else "does not go with"
        return "update" if is_change else "contradict", f'What it says with "{predicate}" {how} the old.'
    if all(any(line in longer for longer in one.lines) for line in other.lines):
        return "extend", "It says the same and more."
    if one.name and one.name == other.name:
        return "extend", "It says more of the same name."
    if sum(name in other.names for name in one.names) >= SHARED_NAMES_MIN:
        return "derive", "Both are about the same two names."
    return "none", "They have nothing in common."


def conflict(new: ParsedStatement, old: ParsedStatement) -> str:
    """Return a predicate in which the statements exclude each other; empty if there is none."""
    # Facts in both statements cannot conflict: "works at Acme, likes tea", "works at Acme, likes coffee".
    fresh = [fact for fact in new.facts if fact not in old.facts]
    stale = [fact for fact in old.facts if fact not in new.facts]
    found = (one.predicate for one in fresh for other in stale if excludes(one, other, new.is_added))
    return next(found, "")


def excludes(one: Assertion, other: Assertion, is_added: bool) -> bool:
    if one.predicate != other.predicate:
        return False
    # `left Acme` excludes `works at Acme`, but no other value.
    if one.is_ended:
        return not other.is_denied and agree(one.value, other.value)
    if one.is_denied != other.is_denied:
        return agree(one.value, other.value)
    is_alone = one.predicate in EXCLUSIVE and not is_added
    return is_alone and not one.is_denied and not agree(one.value, other.value)


def agree(one: str, other: str) -> bool:
    """Return whether two values are equal, or one begins with the words of the other: acme, acme corp."""
    return f"{one} ".startswith(f"{other} ") or f"{other} ".startswith(f"{one} ")


CONFIDENCES: Final = {"contradict": "0.90", "update": "0.90", "extend": "0.70"}  # other types have 0.60


def row(new_ref: str, old_ref: str, kind: str, reason: str) -> str:
    return (
        f'{{"new":{quote_json(whole(new_ref))},"old":{quote_json(whole(old_ref))},"type":"{kind}",'
        f'"confidence":{CONFIDENCES.get(kind, "0.60")},"reason":{quote_json(reason)}}}'
    )


# Facts of a sentence.


def facts_of(sentence: str) -> Iterator[Assertion]:
    every = words_of(sentence)
    places = [at for at, word in enumerate(every) if word not in FILLERS]
    found = [every[at] for at in places]
    for start, end, predicate in find_phrases(found, PREDICATES):
        stop = next((at for at in range(end, len(found)) if found[at] in VALUE_ENDS), len(found))
        value = value_of(found[end:stop])
        # Fillers included: in `Ann does not like tea`, `not` is one of the three words before `like`.
        near = every[max(0, places[start] - 3) : places[stop] if stop < len(places) else len(every)]
        if value:
            is_denied = any(word in NEGATIONS for word in near) or USED_TO in pairwise(near)
            yield Assertion(predicate, value, is_denied)
    for at, pair in enumerate(pairwise(every)):
        if pair == NOW_AT and (value := value_of(every[at + 2 :])):
            yield Assertion("works at", value, False)
    for _, end, ended in find_phrases(found, ENDINGS):
        value = value_of(found[end:])
        yield from (Assertion(predicate, value, True, True) for predicate in ended if value)
    for ended, dense in ENDINGS_DENSE:
        if match := dense.search(sentence):
            value = key(VALUE_ENDS_DENSE.split(sentence[match.end() :])[0])
            yield from (Assertion(predicate, value, True, True) for predicate in ended if value)
    for predicate, dense in PREDICATES_DENSE.items():
        if match := dense.search(sentence):
            value = key(VALUE_ENDS_DENSE.split(sentence[match.end() :])[0])
            if value:
                yield Assertion(predicate, value, bool(NEGATIONS_DENSE.search(sentence[: match.start()])))


def value_of(found: list[str]) -> str:
    """Return the words up to the first one that ends a value, without articles."""
    return " ".join(word for word in takewhile(lambda it: it not in VALUE_ENDS, found) if word not in SKIPPED)


def find_phrases(found: list[str], table: Mapping[Phrase, T]) -> Iterator[tuple[int, int, T]]:
    """Yield the phrases of a table that occur, without overlap; in each place the longest one counts."""
    at = 0
    while at < len(found):
        lengths = range(PHRASE_WORDS_MAX, 0, -1)
        length = next((n for n in lengths if tuple(found[at : at + n]) in table), 0)
        if length:
            yield at, at + length, table[tuple(found[at : at + length])]
        at += max(1, length)


def key(text: str) -> str:
    """Return the words of a text in the form in which texts are compared."""
    return " ".join(words_of(text))
