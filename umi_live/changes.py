"""Decide by rules whether a new statement ends an old one about the same subject.

    Alice works at Acme Corp as an engineer.    ended by    Alice left Acme, now at StartupX.
    Ann is single.                              ended by    Ann got married to Bob.
    Ann likes tea.                              ended by    Ann no longer likes tea.
    Ann likes tea.                              stays with  Ann now likes coffee.
    Ann works at Acme.                          stays with  Ann also works at Beta.

Law 1. Only two values of one subject's *attribute* that has one value at a time exclude each other.
Law 2. A statement ends only if nothing of what it claims is still true.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from umi_core.data import Data
from umi_core.language.terms import split_terms
from umi_core.text import norm
from umi_live.rules import NAME, name_relative, simplify_sentence


class AttributeClaims(Data):
    """The values that a statement gives attributes, and which predicates it says have ended.

    `values`: attributes with their values. `gone`: attributes with values that they have no longer. `over`:
    predicates that hold no longer. `said`: the predicate of a statement of one clause. All are terms.
    `is_added`: it holds beside what was true. `is_change`: it says that something was otherwise before.
    `is_complete`: it says nothing else.
    """

    subject: str
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    over: tuple[tuple[str, ...], ...] = ()
    gone: tuple[tuple[str, tuple[str, ...]], ...] = ()
    said: tuple[str, ...] = ()
    is_added: bool = False
    is_change: bool = False
    is_complete: bool = False


PLACE: Final = rf"(?:the )?({NAME})"
ADVERBS: Final = (
    r"(?:(?:now|currently|just|recently|finally|officially|already|really|happily|has|have|been|"
    r"(?:is|am) now) )*"
)
OCCUPATION: Final = (  # "a regular at Joe's" is no workplace, so jobs are listed
    r"(?:[a-z]*(?:ologist|ographer|scientist|engineer|developer|programmer|designer)|accountant|actuary|"
    "administrator|analyst|architect|assistant|attorney|baker|barista|biologist|carpenter|cashier|chef|chemist|"
    "clerk|coach|consultant|cook|curator|dentist|director|doctor|driver|economist|editor|electrician|"
    "executive|gardener|intern|journalist|lawyer|lecturer|librarian|manager|mechanic|midwife|nurse|"
    "officer|paralegal|paramedic|pharmacist|physician|physicist|pilot|plumber|producer|professor|"
    "receptionist|recruiter|reporter|researcher|secretary|surgeon|teacher|technician|therapist|translator|"
    "tutor|vet|waiter|waitress|writer)"
)
MARRIAGE: Final = r"married|single(?![- ]\w)|divorced|engaged(?! in| with)|widowed|separated(?! by)"
JOB: Final = "(?:a |the |her |his |my |their )?(?:new )?(?:job|position|role|career)"
# What is true of an attribute that has one value at a time; the group is its value.
# In order: `works at` comes before `works as`, and a clause may match several, each with an attribute.
VALUES: Final = tuple((name, re.compile(pattern)) for name, pattern in (
    ("work", rf"(?:works?|working|(?:is|am) (?:working|employed)|started(?: working)?|"
             rf"(?:started|got|has|found|took) {JOB}) (?:at|for|by|with) {PLACE}"),
    ("work", rf"joined {PLACE}"),
    ("work", rf"(?:is|am) an? (?:[a-z-]+ ){{0,3}}{OCCUPATION} (?:at|for|with) {PLACE}"),
    ("work", rf"(?:switched|changed|moved) (?:jobs|companies|employers) (?:from {NAME} )?to {PLACE}"),
    ("work", rf"(?:left|quit) {NAME} (?:for|to join|and joined) {PLACE}"),
    ("home", rf"(?:lives?|living|(?:is|am) (?:living|based)|settled) in {PLACE}"),
    ("home", rf"(?:moved|relocated)(?: back)?(?: from {NAME})? to {PLACE}"),
    ("move", rf"(?:is|am|are) moving(?: from {NAME})? to {PLACE}"),
    ("marriage", f"(?:is|am|are|got) (?:newly )?((?:{MARRIAGE}).*)"),
    ("age", r"(?:(?:is|am) (?=\d+(?: years old)?\W*$)|turned (?=\d+\b))(\d+)"),
    ("title", "(?:works?|working|(?:is|am) (?:working|employed))(?: .+)? as (?:an? |the )?(.+)"),
    ("title", rf"(?:is|am) an? ((?:[a-z-]+ ){{0,3}}{OCCUPATION}) (?:at|for|with) [A-Z]"),
    ("title", "(?:was |got )?promoted to (?:an? |the )?(.+)"),
    ("project", "(?:is |am )?(?:works?|working) on (.+)"),
))  # fmt: skip
NOUNS: Final = {  # things of which a person has one at a time, each with its attribute
    "phone number": "phone", "mobile number": "phone", "number": "phone", "phone": "phone",
    "email address": "mail", "email": "mail", "e-mail": "mail", "mail": "mail",
    "home address": "address", "address": "address", "employer": "work",
    "job title": "title", "title": "title", "job": "title", "role": "title", "position": "title",
    "current project": "project", "project": "project",
    "nickname": "nickname", "username": "username", "password": "password", "favou?rite [a-z]+": "",
}  # fmt: skip
NOUN: Final = f"((?:new |current )?(?:{'|'.join(sorted(NOUNS, key=len, reverse=True))}))"
OWNED: Final = re.compile(rf"{NOUN} (?:is|was changed to|has changed to|changed to) (?:now )?(.+)")
CHANGED: Final = re.compile(rf"(?:changed|updated) (?:my|his|her|their|the) {NOUN} to (.+)")
LEFT: Final = re.compile(
    rf"(?:(?:left|quit|lost) {JOB} at|left|quit|resigned from|retired from|"
    rf"(?:was|got) (?:laid off|fired) (?:by|from)) {PLACE}"
)
SOLD: Final = re.compile("(?:sold|gave away) (?:my|our|his|her|their|the) (.+)")
MOVED: Final = re.compile(rf"moved (?:away from|out of|from) {PLACE}")
OVER: Final = re.compile(
    "(?:(?:is |am )?(?:no longer|not)|used to|stopped|gave up|quit(?= [a-z]+ing)|doesn't|does not|don't|"
    "do not|isn't) (.+)"
)
ANY_MORE: Final = re.compile(
    r"(?:,? any ?more|,? any longer|,? these days|,? now|,? yesterday|,? recently|,? (?:last|this) [a-z]+|"
    r",? (?:in|since) (?:[A-Z][a-z]+|\d{4})|,? (?:a|one|two|three|some) [a-z]+ ago)?[.!]*$"
)
INSTEAD: Final = re.compile(r"([a-z]+) .*\binstead of (.+)")
SWITCHED: Final = re.compile("(?:switched|changed) from (.+?) to ")
HABITS: Final = frozenset(
    "use own drink eat drive play take work studi wear smoke ride read practis practic run learn".split()
)
STATEMENT_COUNT_MAX: Final = 512  # of which the claims are kept
ADDED: Final = re.compile(r"\b(?:also|too|as well|second|another|part[- ]time|additionally|both)\b")
NOW: Final = re.compile(r"\b(?:now|currently|current|instead|no longer)\b")
CLAUSE: Final = re.compile(
    r"[,;] | (?:and|but) (?![A-Z][a-z])| (?:and|but) (?=[A-Z][\w-]* [a-z]+s )"
    r"| (?:because|which|who|while|although) "
)
VALUE_END: Final = re.compile(
    r"[,;]|[.!](?!\S)|\b(?:and|but|since|because|with|as|in|for|instead|now|at|last|this|so)\b"
)


def ends(now: AttributeClaims, before: AttributeClaims) -> bool:
    """Return whether nothing of an old statement is true if the new one is, by what both claim."""
    if now.subject != before.subject or not now.subject:
        return False
    # "no longer likes tea" against "likes tea with milk": what is over is the beginning of what was said.
    if any(starts_with(before.said, predicate) for predicate in now.over):
        return True
    if any(is_ended_habit(before.said, value) for attribute, value in now.gone if attribute == "habit"):
        return True
    return before.is_complete and bool(before.values) and all(is_replaced(it, now) for it in before.values)


def is_replaced(claim: tuple[str, tuple[str, ...]], now: AttributeClaims) -> bool:
    """Return whether a value holds no longer: it is gone, or the attribute has another one."""
    attribute, value = claim
    # With the employer goes the title: "left Acme" ends "works at Acme as an engineer", of which nothing is
    # true any more (law 2).
    related = ("work", "title") if attribute == "title" else (attribute,)
    # "We live in Leeds but are moving to York": once York is the home, neither is true.
    if attribute == "move" and any(name == "home" and agree(it, value) for name, it in now.values):
        return True
    if any(name in related and (name != attribute or agree(it, value)) for name, it in now.gone):
        return True
    if now.is_added or (attribute == "project" and not now.is_change):  # one may work on several
        return False
    others = [(name, it) for name, it in now.values if name in related]
    return bool(others) and not any(name == attribute and agree(it, value) for name, it in others)


def agree(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two values are one, or one of them says more: Acme, and Acme Corp."""
    return starts_with(one, other) or starts_with(other, one)


def starts_with(terms: tuple[str, ...], beginning: tuple[str, ...]) -> bool:
    return bool(beginning) and terms[: len(beginning)] == beginning


def is_ended_habit(said: tuple[str, ...], value: tuple[str, ...]) -> bool:
    return bool(said) and said[0] in HABITS and starts_with(said[1:], value)


# What a statement claims.


@lru_cache(maxsize=STATEMENT_COUNT_MAX)  # a fact is compared with each later one that is like it
def claims_of(name: str, content: str) -> AttributeClaims:
    """Return what a statement about this name claims; nothing, if it is about something else."""
    first, *others = CLAUSE.split(simplify_sentence(content.strip()))
    # "My sister Mia lives in Lisbon" is about Mia, whoever else is named with it.
    relative = name_relative(first)
    name, predicate = relative or (name, predicate_of(first, name, is_speaker=True))
    if not predicate:
        return AttributeClaims("")
    clauses = [predicate, *(predicate_of(it, name, relative is None) or it for it in others)]
    is_added, is_change = [pattern.search(content) is not None for pattern in (ADDED, NOW)]
    over = tuple(filter(None, (terms_of(it) for clause in clauses for it in find_over(clause))))
    values = [tuple(find_values(clause)) for clause in clauses]
    gone = [tuple(find_gone(clause)) for clause in clauses]
    # A clause of which no attribute is known may claim anything,
    # so a statement with one can never be ended whole.
    is_complete = all(any(both) for both in zip(values, gone, strict=True))
    said = () if others else terms_of(predicate)
    return AttributeClaims(
        norm(name), sum(values, ()), over, sum(gone, ()), said, is_added, is_change, is_complete
    )


def predicate_of(clause: str, name: str, is_speaker: bool) -> str:
    """Return what a clause says of this name, or of a pronoun; empty if it is about something else.

    `is_speaker`: whether I may be the name.
    """
    pronouns = "[Hh]e|[Ss]he|[Tt]hey" + ("|I|[Ww]e|The user|User" if is_speaker else "")
    owners = "[Hh]is|[Hh]er|[Tt]heir" + ("|[Mm]y|[Oo]ur|(?:The user|User)['\\u2019]s" if is_speaker else "")
    told = rf"{re.escape(name)}|{pronouns}|{re.escape(name)}['\u2019]s?|{owners}"
    match = re.match(rf"(?:{told})(?: |['\u2019]s )(.+)", clause)
    return match[1] if match else ""


def bare(predicate: str) -> str:
    """Return a predicate without the adverbs before its verb."""
    return re.sub(f"^{ADVERBS}", "", predicate)


def terms_of(predicate: str) -> tuple[str, ...]:
    # So "is working at Acme" and "working for the Acme" have the same terms.
    skipped = ("a", "an", "the", "is", "am", "be", "are", "to", "at", "in", "for")
    return tuple(it for it in split_terms(bare(ANY_MORE.sub("", predicate))) if it not in skipped)


def find_values(clause: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the attributes of which a clause tells the value."""
    said = bare(clause)
    if OVER.match(said):
        return
    # Before the adverbs go, of which `now` is one: "is now at Beta" would be left with "at Beta".
    if re.match(r"(?:is |am )?now at ", clause):
        said = "joined " + clause.partition("now at ")[2]
    for attribute, pattern in VALUES:
        if match := pattern.match(said):
            yield attribute, value_of(match[match.lastindex or 0])
    for pattern in (OWNED, CHANGED):
        if match := pattern.match(said):
            noun = re.sub("^(?:new|current) ", "", match[1])
            yield NOUNS.get(noun) or noun, value_of(match[2])


def find_gone(clause: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the values that something has no longer."""
    said = bare(clause)
    if match := LEFT.match(said):
        # "left Paris" and "left Acme" look alike: only the one that was said before agrees with a value.
        yield from (("work", value_of(match[1])), ("home", value_of(match[1])))
    if match := MOVED.match(said):
        yield "home", value_of(match[1])
    if match := SWITCHED.match(said):
        yield from ((name, value_of(match[1])) for name in ("work", "home", "title", "project", "habit"))
    if match := SOLD.match(said):
        yield "habit", value_of(match[1])
    if match := OVER.match(said):
        yield from find_values(match[1])


def find_over(clause: str) -> Iterator[str]:
    """Yield the predicates that a clause says are true no longer."""
    said = bare(clause)
    if match := OVER.match(said):
        yield match[1]
    if match := INSTEAD.match(said):
        yield f"{match[1]} {match[2]}"


def value_of(text: str) -> tuple[str, ...]:
    return tuple(split_terms(VALUE_END.split(text)[0]))
